package source

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// csvText hands a table to the library, which makes one LF of each CR LF, within quotes, too: there it is handed one CR more. It takes quotes in
// no other place, so their number tells what is within.
type csvText struct {
	left   []byte
	quoted bool
	added  bool // the CR before left
}

func (t *csvText) Read(to []byte) (n int, err error) {
	for ; n < len(to) && len(t.left) > 0; n++ {
		to[n] = t.left[0]
		if t.added = t.quoted && !t.added && bytes.HasPrefix(t.left, []byte("\r\n")); t.added {
			continue
		}
		t.quoted = t.quoted != (t.left[0] == '"')
		t.left = t.left[1:]
	}
	if n == 0 && len(to) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// csvReader is the table for the library; as it is, where nothing quoted can end a line.
func csvReader(text []byte) io.Reader {
	if bytes.IndexByte(text, '"') < 0 || !bytes.Contains(text, []byte("\r\n")) {
		return bytes.NewReader(text)
	}
	return &csvText{left: text}
}

func (r *tableReader) csv(text []byte) error {
	in := csv.NewReader(csvReader(text))
	in.ReuseRecord, in.FieldsPerRecord = true, -1 // they are counted here
	if r.c.Separator != 0 {
		in.Comma = rune(r.c.Separator)
	}
	return r.records("quote fields that have "+r.c.separators()+", and leave none out", func() (record []string, line int, err error) {
		record, err = in.Read()
		if err == nil {
			line, _ = in.FieldPos(0)
		} else if err != io.EOF {
			err = csvError(err)
		}
		return record, line, err
	})
}

// heading is what the table's columns are called: by its first line, or as its reader was told.
func (r *tableReader) heading(next func() (record []string, line int, err error)) (width int, places []int, err error) {
	if names := r.c.Names; names != nil {
		places, err = r.places(names)
		return len(names), places, err
	}
	head, line, err := next()
	if err == io.EOF {
		return 0, nil, r.empty()
	}
	if err != nil {
		return 0, nil, err
	}
	if places, err = r.places(slices.Clone(head)); err != nil {
		err = fmt.Errorf("line %d: %w", line, err)
	}
	return len(head), places, err
}

// records reads a heading, where the table has one, and the rows behind it. What next returns is valid until it is called again; remedy is for rows of another length.
func (r *tableReader) records(remedy string, next func() (record []string, line int, err error)) error {
	width, places, err := r.heading(next)
	if err != nil {
		return err
	}
	as := "as in the heading line"
	if r.c.Names != nil {
		as = "as source.heading names"
	}
	row := r.cells()
	cells := row.wanted()
	for {
		record, line, err := next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(record) != width {
			return fmt.Errorf("line %d: got %d fields, want %d %s; %s", line, len(record), width, as, remedy)
		}
		for k, at := range places {
			if at >= 0 {
				*cells[k] = []byte(record[at])
			}
		}
		if err := r.add(&row); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// fields reads a table whose fields have tabs or the like between them and are as they are: quotes mean nothing. Where it is blanks, several count as one, and the last field
// has the rest of its line. Blank lines are passed over.
func (r *tableReader) fields(text []byte) error {
	var record []string
	n, width := 0, len(r.c.Names)
	remedy := "a field holds no line end and none of the " + r.c.separators() + ", and none is left out"
	if r.c.Separator == ' ' {
		remedy = "none is left out, and the last one alone holds blanks"
	}
	return r.records(remedy, func() ([]string, int, error) {
		for len(text) > 0 {
			var line []byte
			line, text, _ = bytes.Cut(text, []byte("\n"))
			line = bytes.TrimSuffix(line, []byte("\r"))
			if n++; len(bytes.TrimSpace(line)) > 0 || len(line) > 0 && r.c.Separator != ' ' {
				if r.c.Separator == ' ' {
					record = appendBlanks(record[:0], string(line), width)
					width = max(width, len(record)) // the heading's, for all lines
				} else {
					record = append(record[:0], strings.Split(string(line), string(cmp.Or(r.c.Separator, '\t')))...)
				}
				return record, n, nil
			}
		}
		return nil, n, io.EOF
	})
}

// appendBlanks appends a line's fields, at most n of them where n is not 0: the last has what is left, with the blanks in it.
func appendBlanks(to []string, line string, n int) []string {
	const blanks = " \t"
	line = strings.Trim(line, blanks)
	for line != "" {
		at := strings.IndexAny(line, blanks)
		if at < 0 || len(to)+1 == n {
			return append(to, line)
		}
		to, line = append(to, line[:at]), strings.TrimLeft(line[at:], blanks)
	}
	return to
}

// csvError names the line as other errors of tables do, and says how quotes are written.
func csvError(err error) error {
	var e *csv.ParseError
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("line %d: byte %d of line %d: %w; want fields with quotes, commas or line ends within quotes, and quotes in them twice", e.StartLine, e.Column, e.Line, e.Err)
}
