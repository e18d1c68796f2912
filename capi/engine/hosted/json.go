package hosted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// A SpecError says what is wrong with a description, and where.
type SpecError struct {
	Line, Col int    // from 1
	Path      string // such as stages[2].failures; "" for the document
	Text      string // got, want and remedy
}

func (e *SpecError) Error() string {
	where := fmt.Sprintf("pipeline: description:%d:%d", e.Line, e.Col)
	if e.Path != "" {
		where += ": " + e.Path
	}
	return where + ": " + e.Text
}

const (
	maxDescription = 1 << 20
	maxDepth       = 32
)

// A node is one value of a JSON document with its place. Unlike encoding/json's own structs it keeps places and refuses
// keys given twice.
type node struct {
	path   string
	offset int64
	value  any // string, json.Number, bool, nil, []*node or []member
}

type member struct {
	key    string
	offset int64
	value  *node
}

// document reads one JSON value.
type document struct {
	text    []byte
	decoder *json.Decoder
}

func parse(text string) (*node, *document, error) {
	d := &document{text: []byte(text)}
	if len(text) > maxDescription {
		return nil, d, d.errorAt(0, "", "got %d bytes, want at most %d", len(text), maxDescription)
	}
	d.decoder = json.NewDecoder(bytes.NewReader(d.text))
	d.decoder.UseNumber()
	root, err := d.read("", 0)
	if err != nil {
		return nil, d, err
	}
	at := d.decoder.InputOffset()
	if _, err := d.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, d, d.errorAt(at, "", "got more after the description, want one JSON object")
	}
	return root, d, nil
}

func (d *document) errorAt(offset int64, path, format string, args ...any) error {
	before := d.text[:min(offset, int64(len(d.text)))]
	line := bytes.Count(before, []byte("\n"))
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
	return &SpecError{Line: line + 1, Col: column + 1, Path: path, Text: fmt.Sprintf(format, args...)}
}

func (d *document) errorf(n *node, format string, args ...any) error {
	return d.errorAt(n.offset, n.path, format, args...)
}

// token returns the next token, of the value at path, and where it begins.
func (d *document) token(path string) (json.Token, int64, error) {
	from := d.decoder.InputOffset()
	t, err := d.decoder.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, 0, d.errorAt(d.after(from), "", "not JSON: %v", err)
	case err != nil:
		return nil, 0, d.errorAt(int64(len(d.text)), "", "not JSON: it ends too early")
	}
	// The decoder would put U+FFFD in its place, and the host would not find the stage that it named.
	if raw := d.text[from:d.decoder.InputOffset()]; !utf8.Valid(raw) {
		at := invalid(raw)
		return nil, 0, d.errorAt(from+int64(at), path, "got byte 0x%02x, which is not UTF-8; write text in UTF-8", raw[at])
	}
	return t, d.after(from), nil
}

// invalid is where the first byte is that is not UTF-8.
func invalid(text []byte) int {
	at := 0
	for {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
}

// after is where the token behind an offset begins.
func (d *document) after(offset int64) int64 {
	rest := d.text[offset:]
	return offset + int64(len(rest)-len(bytes.TrimLeft(rest, " \t\r\n,:")))
}

func (d *document) read(path string, depth int) (*node, error) {
	t, offset, err := d.token(path)
	if err != nil {
		return nil, err
	}
	n := &node{path: path, offset: offset, value: t}
	if depth > maxDepth {
		return nil, d.errorf(n, "nested deeper than %d", maxDepth)
	}
	switch t {
	case json.Delim('{'):
		n.value, err = d.readObject(path, depth)
	case json.Delim('['):
		n.value, err = d.readList(path, depth)
	}
	return n, err
}

func (d *document) readObject(path string, depth int) ([]member, error) {
	members := []member{}
	for d.decoder.More() {
		t, offset, err := d.token(path)
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		at := key
		if path != "" {
			at = path + "." + key
		}
		for _, m := range members {
			if m.key == key {
				return nil, d.errorAt(offset, at, "given twice; keep one")
			}
		}
		value, err := d.read(at, depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, member{key, offset, value})
	}
	_, _, err := d.token(path)
	return members, err
}

func (d *document) readList(path string, depth int) ([]*node, error) {
	list := []*node{}
	for d.decoder.More() {
		value, err := d.read(fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, _, err := d.token(path)
	return list, err
}

// got says what a value is.
func (n *node) got() string {
	switch v := n.value.(type) {
	case string:
		return fmt.Sprintf("text %.60q", v)
	case json.Number:
		return fmt.Sprintf("%.60s", v.String())
	case bool:
		return fmt.Sprint(v)
	case nil:
		return "null"
	case []*node:
		return "a list"
	}
	return "an object"
}
