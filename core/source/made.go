package source

import (
	"fmt"
	"slices"

	"github.com/spdl/spdl/core/spelling"
	"github.com/spdl/spdl/core/template"
)

// made is a path of a table that no column holds: it is made of columns, by a template.
type made struct {
	place  int // among tableReader.wanted, where it is in place of a column
	text   string
	pieces []template.Piece
	parts  []int // by piece: which of tableReader.parts it takes; of a constant nothing

	each []string // in place of pieces: columns with a path or none each, which are lines then

	path []byte // of the row in hand
}

// planMade finds the paths that are made of columns: where their place has a template in place of a column's name.
func (r *tableReader) planMade() error {
	names, columns := r.wanted(), r.firstColumn()
	for place, name := range names {
		isPath := place == 0 && !r.c.Alone || place > 1 && (place < columns || r.rows.columns[place-columns].Type == Array)
		if m := r.several(place); m != nil && m.Each {
			if err := r.planEach(place, m); err != nil {
				return err
			}
			continue
		}
		if !isPath || !template.Is(name) {
			continue
		}
		pieces, err := template.Parse(name)
		if err != nil {
			return fmt.Errorf("path %w", err)
		}
		m := made{place: place, text: name, pieces: pieces, parts: make([]int, len(pieces))}
		for i, p := range pieces {
			if p.Column == "" {
				continue
			}
			m.parts[i] = r.part(p.Column)
		}
		r.made = append(r.made, m)
	}
	return nil
}

// part is the place of a column that paths are made of.
func (r *tableReader) part(column string) int {
	at := slices.Index(r.parts, column)
	if at < 0 {
		at = len(r.parts)
		r.parts = append(r.parts, column)
	}
	return at
}

// planEach has the paths of several columns be those of a medium.
func (r *tableReader) planEach(place int, m *Medium) error {
	all := made{place: place, each: m.From}
	for _, column := range m.From {
		if template.Is(column) {
			return fmt.Errorf("%s: many.of: got %.200q, want names of columns", m.Name, column)
		}
		all.parts = append(all.parts, r.part(column))
	}
	r.made, r.lined[place] = append(r.made, all), true
	return nil
}

// join makes lines of the columns that have a path.
func (m *made) join(parts [][]byte) (err error) {
	m.path = m.path[:0]
	for i, at := range m.parts {
		if len(parts[at]) == 0 {
			continue
		}
		if m.path, err = appendPath(m.path, parts[at]); err != nil {
			return fmt.Errorf("column %q: %w", m.each[i], err)
		}
	}
	return nil
}

// makePaths puts the paths that are made of columns into a row that has these. They are the row's until the next one.
func (r *tableReader) makePaths(row *cells) error {
	for i := range r.made {
		m := &r.made[i]
		if m.each != nil {
			if err := m.join(row.parts); err != nil {
				return err
			}
		} else if err := m.fill(row.parts); err != nil {
			return fmt.Errorf("path %.200q: %w", m.text, err)
		}
		switch columns := r.firstColumn(); {
		case m.place == 0:
			row.path = m.path
		case m.place < columns:
			row.others[m.place-2] = m.path
		default:
			row.columns[m.place-columns] = m.path
		}
	}
	return nil
}

func (m *made) fill(parts [][]byte) error {
	m.path = m.path[:0]
	for i, p := range m.pieces {
		if p.Column == "" {
			m.path = append(m.path, p.Text...)
			continue
		}
		value := parts[m.parts[i]]
		switch {
		case len(value) == 0:
			return fmt.Errorf("column %q is empty, want a value", p.Column)
		case p.Number == "" && len(m.path)+len(value) >= maxPath:
			return fmt.Errorf("column %q: got %d bytes, want at most %d in a whole path", p.Column, len(value), maxPath-1)
		case p.Number == "":
			m.path = append(m.path, value...)
			continue
		}
		v, err := wholeNumber(trim(value))
		if err != nil {
			return fmt.Errorf("column %q: %w", p.Column, err)
		}
		m.path = fmt.Appendf(m.path, p.Number, v)
	}
	return nil
}

// partsThere refuses a first line of JSON without a column that paths are made of, of which it has to have a value.
func (r *tableReader) partsThere(seen []bool, has []string) error {
	for k, there := range seen {
		if there || !r.fills(k) {
			continue
		}
		return lacking("no column %q; the columns are %s%s", r.parts[k], describeParts(has), r.wantedBy(k, has))
	}
	return nil
}

// fills says that a path is made of a column by a template: without its value there is none.
func (r *tableReader) fills(part int) bool {
	return slices.ContainsFunc(r.made, func(m made) bool { return m.takes(r.parts[part]) })
}

// takes says that a template has a column's value in it.
func (m *made) takes(column string) bool {
	return slices.ContainsFunc(m.pieces, func(p template.Piece) bool { return p.Column == column })
}

// wantedBy says of a column that a table does not have which path is made of it.
func (r *tableReader) wantedBy(part int, has []string) string {
	for i := range r.made {
		m := &r.made[i]
		if !m.takes(r.parts[part]) {
			continue
		}
		why := fmt.Sprintf("; path %.200q is made of it", m.text)
		if near := spelling.Nearest(r.parts[part], has); near != "" {
			why += fmt.Sprintf("; did you mean {%s}?", near)
		}
		return why
	}
	return ""
}
