package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A medium of several pictures in a table: a list of paths a row, or a path in each of several columns. A row's are held as one text, a line end behind each; an empty line is
// a path that is null.

// several is the medium that a place among tableReader.wanted is the path of, if it is one of several pictures; else nil.
func (r *tableReader) several(place int) *Medium {
	switch {
	case place == 0 && r.c.First.Many > 0:
		return &r.c.First
	case place > 1 && place < r.firstColumn() && r.c.Others[place-2].Many > 0:
		return &r.c.Others[place-2]
	}
	return nil
}

// addPaths checks the paths of a row and adds them. lines: they are lines already, and not as the table has them.
func (r *tableReader) addPaths(to *texts, m *Medium, cell []byte, lines bool) error {
	column := m.From[0]
	if !lines {
		var err error
		if cell, err = pathLines(cell); err != nil {
			return fmt.Errorf("column %q: %w", column, err)
		}
	}
	for n, rest := 0, cell; len(rest) > 0; n++ {
		var path []byte
		path, rest, _ = bytes.Cut(rest, []byte("\n"))
		if len(path) == 0 {
			continue
		}
		if err := r.checkPath(column, path); err != nil {
			return fmt.Errorf("picture %d: %w", n+1, err)
		}
	}
	to.add(cell)
	return nil
}

// pathLines are the paths of a cell: a list of them in JSON, or one; none where it is empty.
func pathLines(cell []byte) (lines []byte, err error) {
	if text := bytes.TrimLeft(cell, jsonBlanks); len(text) > 0 && text[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("got %.60q, want a list of paths in JSON, as json.dumps writes it: %w", cell, err)
		}
		for k, value := range list {
			if string(value) == "null" {
				lines = append(lines, '\n')
				continue
			}
			if len(value) == 0 || value[0] != '"' {
				return nil, fmt.Errorf("picture %d: got %.40s, want a path", k+1, value)
			}
			path, err := jsonText(value)
			if err == nil {
				lines, err = appendPath(lines, path)
			}
			if err != nil {
				return nil, fmt.Errorf("picture %d: %w", k+1, err)
			}
		}
		return lines, nil
	}
	if len(cell) == 0 {
		return nil, nil
	}
	return appendPath(nil, cell)
}

// appendPath makes a path one more line.
func appendPath(lines, path []byte) ([]byte, error) {
	switch {
	case len(path) == 0:
		return nil, errors.New("got an empty text, want a path")
	case bytes.IndexByte(path, '\n') >= 0:
		return nil, fmt.Errorf("got a line end in path %.200q", path)
	}
	return append(append(lines, path...), '\n'), nil
}

// countPaths is how many pictures a row's lines are.
func countPaths(lines []byte) int { return bytes.Count(lines, []byte("\n")) }

// readSeveral makes the files that lines name the sample's next part.
func (t *table) readSeveral(ctx context.Context, m *Medium, lines []byte, b *Buffer) error {
	first, all := len(b.parts), countPaths(lines)
	n, err := m.tooMany(all)
	for k := 0; k < n && err == nil; k++ {
		var path []byte
		path, lines, _ = bytes.Cut(lines, []byte("\n"))
		if len(path) == 0 {
			return &Error{Cause: Empty, Detail: fmt.Sprintf("%s: picture %d of %d: got null, want a path; leave it out of the list", m.Name, k+1, all)}
		}
		if err = t.readNext(ctx, path, b); err != nil {
			return m.picture(err, k, all, "file", path)
		}
	}
	if err == nil {
		b.bundle(first, len(b.parts))
	}
	return err
}

// appendIdentities is what tells the files that lines name from all others.
func (p *place) appendIdentities(m *Medium, lines, dst []byte) []byte {
	dst = fmt.Appendf(dst, "%d %t\x00", m.Many, m.Cut)
	for len(lines) > 0 {
		var path []byte
		path, lines, _ = bytes.Cut(lines, []byte("\n"))
		if len(path) == 0 {
			return nil
		}
		if dst = p.identity(path, dst); dst == nil {
			return nil
		}
	}
	return dst
}

// pathsOf reads the lists of paths of a column of a row group: the lines of each row.
func (f *parquetFile) pathsOf(group, column int) (all texts, err error) {
	if e := &f.elements[column]; e.Type == nil || *e.Type != format.ByteArray || len(f.nestings[column].levels) != 1 {
		return all, errors.New("holds lists of something else than paths, want a list of texts a row")
	}
	rows, row, begun := f.meta.RowGroups[group].NumRows, int64(0), false
	within, most := f.nestings[column].levels[0], f.columns[column].MaxDefinitionLevel()
	var lines []byte
	end := func() {
		if begun {
			f.texts.Add(-int64(len(lines)) - rowBytes)
			all.add(lines)
		}
		begun, lines = true, lines[:0]
	}
	err = f.eachPage(group, column, func(page parquet.Page) (bool, error) {
		return false, eachValue(page, func(v parquet.Value) error {
			if v.RepetitionLevel() == 0 {
				end()
				if row++; row > rows {
					return errLevels
				}
			}
			if v.DefinitionLevel() < within { // an empty list, or null
				return nil
			}
			if left := f.texts.Load() - int64(len(lines)) - rowBytes; left < 0 {
				return &unpacks{"the paths of the rows", room(f.size) - left, room(f.size)}
			}
			if v.DefinitionLevel() < most { // null in the list
				lines = append(lines, '\n')
				return nil
			}
			with, err := appendPath(lines, bytesOf(v))
			if err != nil {
				return fmt.Errorf("row %d of row group %d: picture %d: %w", row-1, group, countPaths(lines)+1, err)
			}
			lines = with
			return nil
		})
	})
	if end(); err == nil && row != rows {
		err = fmt.Errorf("parquet: damaged: got %d lists of %d rows", row, rows)
	}
	return all, err
}

// eachValue calls take with each value of a page.
func eachValue(page parquet.Page, take func(v parquet.Value) error) error {
	var values [valuesAtOnce]parquet.Value
	left := page.NumValues()
	for in := page.Values(); left > 0; {
		n, err := in.ReadValues(values[:])
		for _, v := range values[:n] {
			if err := take(v); err != nil {
				return err
			}
		}
		if left -= int64(n); left > 0 && err != nil {
			return fmt.Errorf("parquet: %w; %d values are missing", err, left)
		}
	}
	return nil
}
