package source

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
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
	head, err := in.Read()
	if err == io.EOF {
		return r.empty()
	}
	if err != nil {
		return csvError(err)
	}
	width := len(head)
	places, err := r.places(append([]string(nil), head...))
	if err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	row := r.cells()
	cell := func(record []string, at int) []byte {
		if at < 0 {
			return nil
		}
		return []byte(record[at])
	}
	for {
		record, err := in.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return csvError(err)
		}
		if len(record) != width {
			line, _ := in.FieldPos(0)
			return fmt.Errorf("line %d: got %d fields, want %d as in the heading line; quote fields that have commas, and leave none out", line, len(record), width)
		}
		row.path, row.label = cell(record, places[0]), cell(record, places[1])
		for k := range row.others {
			row.others[k] = cell(record, places[2+k])
		}
		for c := range row.columns {
			row.columns[c] = cell(record, places[2+len(row.others)+c])
		}
		if err := r.add(&row); err != nil {
			line, _ := in.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// csvError names the line as other errors of tables do, and says how quotes are written.
func csvError(err error) error {
	var e *csv.ParseError
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("line %d: byte %d of line %d: %w; want fields with quotes, commas or line ends within quotes, and quotes in them twice", e.StartLine, e.Column, e.Line, e.Err)
}
