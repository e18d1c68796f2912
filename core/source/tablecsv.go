package source

import (
	"bytes"
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
	return r.records("quote fields that have commas, and leave none out", func() (record []string, line int, err error) {
		record, err = in.Read()
		if err == nil {
			line, _ = in.FieldPos(0)
		} else if err != io.EOF {
			err = csvError(err)
		}
		return record, line, err
	})
}

// records reads a heading and the rows behind it. What next returns is valid until it is called again; remedy is for rows of another length.
func (r *tableReader) records(remedy string, next func() (record []string, line int, err error)) error {
	head, line, err := next()
	if err == io.EOF {
		return r.empty()
	}
	if err != nil {
		return err
	}
	width := len(head)
	places, err := r.places(slices.Clone(head))
	if err != nil {
		return fmt.Errorf("line %d: %w", line, err)
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
			return fmt.Errorf("line %d: got %d fields, want %d as in the heading line; %s", line, len(record), width, remedy)
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

// tabs reads a table whose fields have tabs between them and are as they are: quotes mean nothing. Blank lines are passed over.
func (r *tableReader) tabs(text []byte) error {
	var record []string
	n := 0
	return r.records("a field holds no tab and no line end, and none is left out", func() ([]string, int, error) {
		for len(text) > 0 {
			var line []byte
			line, text, _ = bytes.Cut(text, []byte("\n"))
			line = bytes.TrimSuffix(line, []byte("\r"))
			if n++; len(line) > 0 {
				record = append(record[:0], strings.Split(string(line), "\t")...)
				return record, n, nil
			}
		}
		return nil, n, io.EOF
	})
}

// csvError names the line as other errors of tables do, and says how quotes are written.
func csvError(err error) error {
	var e *csv.ParseError
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("line %d: byte %d of line %d: %w; want fields with quotes, commas or line ends within quotes, and quotes in them twice", e.StartLine, e.Column, e.Line, e.Err)
}
