package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

const maxLineBytes = 16 << 20

const jsonBlanks = " \t\r\n"

// jsonLines reads a table that has an object a line.
func (r *tableReader) jsonLines(text []byte) error {
	line := 0
	return r.objects(func() (object []byte, err error) {
		for len(text) > 0 {
			object, text, _ = bytes.Cut(text, []byte("\n"))
			if line++; len(bytes.TrimSpace(object)) > 0 {
				return object, nil
			}
		}
		return nil, io.EOF
	}, func() string { return fmt.Sprintf("line %d", line) })
}

// jsonList reads a table that is one list of objects, from behind its bracket, which stands in the given line.
func (r *tableReader) jsonList(text []byte, line int) error {
	n, next, last := 0, line, false // next is the line in which text begins
	return r.objects(func() (object []byte, err error) {
		at := len(text) - len(bytes.TrimLeft(text, jsonBlanks))
		line, text = next+bytes.Count(text[:at], []byte("\n")), text[at:]
		switch {
		case last && len(text) == 0:
			return nil, io.EOF
		case last:
			return nil, fmt.Errorf("got %.40q behind the list's end, want nothing", text)
		}
		length, ok := jsonEntry(text)
		if !ok {
			return nil, errors.New("the list has no end, want ] behind its last object; copy or write the file again")
		}
		object, last = text[:length], text[length] == ']'
		next, text = line+bytes.Count(object, []byte("\n")), text[length+1:]
		if n++; last && n == 1 && len(object) == 0 {
			return nil, io.EOF // of an empty list
		}
		return object, nil
	}, func() string { return fmt.Sprintf("line %d, object %d of the list", line, n) })
}

// jsonEntry is how long a list's first entry is, up to the comma or the bracket behind it; false: neither is there.
func jsonEntry(text []byte) (length int, ok bool) {
	depth, within := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case within && c == '\\':
			i++
		case c == '"':
			within = !within
		case within:
		case depth == 0 && (c == ',' || c == ']'):
			return i, true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return 0, false
}

// objects reads the rows of a table of JSON. where names the place of the one that next has returned.
func (r *tableReader) objects(next func() (object []byte, err error), where func() string) error {
	row, names := r.cells(), r.wanted()
	cells := row.wanted()
	for k := range cells {
		if !r.wants(k) {
			cells[k] = nil
		}
	}
	r.hasLabel = r.wants(1) // a line without one has -1
	var has []string        // the keys of the first object
	seen := make([]bool, len(names))
	for {
		object, err := next()
		if err == io.EOF {
			break
		}
		var fields map[string]json.RawMessage
		if err == nil {
			fields, err = jsonLine(object, names, cells, seen)
		}
		if has == nil {
			has = slices.Sorted(maps.Keys(fields))
		}
		if err == nil && r.rows.n == 0 {
			err = r.partsThere(seen[len(seen)-len(r.parts):], has)
		}
		if err == nil && r.rows.n == 0 && r.wants(0) && !seen[0] && r.several(0) == nil {
			err = lacking("no column %q; the columns are %s; %s", names[0], describeParts(has), pathRemedy)
		}
		if err == nil {
			err = r.add(&row)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", where(), err)
		}
	}
	for k, name := range names {
		if r.rows.n > 0 && !seen[k] && r.needs(k) {
			return lacking("no column %q in any line; the columns of the first are %s", name, describeParts(has))
		}
	}
	if !seen[1] {
		r.rows.labels = nil
	}
	return nil
}

// jsonLine takes the named fields of an object, and notes which of them it has.
func jsonLine(line []byte, names []string, cells []*[]byte, seen []bool) (map[string]json.RawMessage, error) {
	if len(line) > maxLineBytes {
		return nil, fmt.Errorf("got %d bytes, want at most %d; leave out what nobody reads, and put large values into files", len(line), maxLineBytes)
	}
	fields, err := jsonFields(line)
	if err != nil {
		return nil, err
	}
	for k, name := range names {
		if cells[k] == nil { // a path or label that nobody wants
			continue
		}
		value := jsonField(fields, name)
		seen[k] = seen[k] || value != nil
		text, err := jsonText(value)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", name, err)
		}
		*cells[k] = text
	}
	return fields, nil
}

// jsonObject is a part of a sample that was read as JSON, for all columns that are made of it.
type jsonObject struct {
	part   []byte // where it lies
	fields map[string]json.RawMessage
}

// read makes the object that of a part, unless it is.
func (o *jsonObject) read(part []byte) error {
	if o.fields != nil && len(part) == len(o.part) && unsafe.SliceData(part) == unsafe.SliceData(o.part) {
		return nil
	}
	*o = jsonObject{part: part}
	if len(part) > maxLineBytes {
		return fmt.Errorf("got %d bytes of JSON, want at most %d", len(part), maxLineBytes)
	}
	var err error
	if o.fields, err = jsonFields(bytes.TrimPrefix(part, []byte("\ufeff"))); err == nil && o.fields == nil {
		err = errors.New("got null, want a JSON object")
	}
	return err
}

// jsonFields are an object's values; none of null. NaN, Infinity and -Infinity, which are no JSON and which Python's json writes, are read as
// the texts of these names, so that they are numbers of type f64.
func jsonFields(text []byte) (fields map[string]json.RawMessage, err error) {
	if err = json.Unmarshal(text, &fields); err == nil {
		return fields, nil
	}
	if quoted := quoteNotFinite(text); quoted != nil {
		fields = nil
		err = json.Unmarshal(quoted, &fields)
	}
	var other *json.UnmarshalTypeError
	switch {
	case errors.As(err, &other) && other.Value == "array":
		return nil, errors.New("got a list, want a JSON object")
	case errors.As(err, &other):
		return nil, fmt.Errorf("got a %s, want a JSON object", other.Value)
	case err != nil:
		return nil, fmt.Errorf("want a JSON object: %w", err)
	}
	return fields, nil
}

var notFinite = [][]byte{[]byte("NaN"), []byte("Infinity"), []byte("-Infinity")}

// quoteNotFinite is a JSON text with these names in quotes where they are no part of a string; nil: it has none.
func quoteNotFinite(text []byte) (quoted []byte) {
	from, within := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case within && text[i] == '\\':
			i++
		case text[i] == '"':
			within = !within
		case !within:
			for _, name := range notFinite {
				if bytes.HasPrefix(text[i:], name) {
					quoted = append(append(quoted, text[from:i]...), '"')
					quoted = append(append(quoted, name...), '"')
					from, i = i+len(name), i+len(name)-1
					break
				}
			}
		}
	}
	if quoted == nil {
		return nil
	}
	return append(quoted, text[from:]...)
}

// jsonMember is one value of a JSON object as text, by the rules of a table's line. There may be none; null is none.
func jsonMember(fields map[string]json.RawMessage, name string) (text []byte, there bool, err error) {
	value := jsonField(fields, name)
	if value == nil || string(value) == "null" {
		return nil, false, nil
	}
	if text, err = jsonText(value); err != nil {
		err = fmt.Errorf("%q: %w", name, err)
	}
	return text, true, err
}

// jsonField is the value called so, else of a name a.b that of b in the object a, and of a[0] the first in the list a; nil: there is none.
func jsonField(fields map[string]json.RawMessage, name string) json.RawMessage {
	if value, ok := fields[name]; ok {
		return value
	}
	outer, rest, below := strings.Cut(name, ".")
	value, ok := fields[outer]
	if !ok {
		value = jsonElement(fields, outer)
	}
	if !below {
		return value
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(value, &inner) != nil {
		return nil
	}
	return jsonField(inner, rest)
}

// jsonElement is of a name a[2] the third value in the list a, of a[2][0] the first in that; nil: there is none.
func jsonElement(fields map[string]json.RawMessage, name string) json.RawMessage {
	key, places, _ := strings.Cut(name, "[")
	value := fields[key]
	for _, place := range strings.Split(places, "[") {
		text, closed := strings.CutSuffix(place, "]")
		at, err := strconv.ParseUint(text, 10, 31)
		var list []json.RawMessage
		if !closed || err != nil || json.Unmarshal(value, &list) != nil || int(at) >= len(list) {
			return nil
		}
		value = list[at]
	}
	return value
}

// jsonText is a string's content, and everything else as it is written; null is nothing.
func jsonText(value json.RawMessage) ([]byte, error) {
	switch {
	case len(value) == 0 || string(value) == "null":
		return nil, nil
	case value[0] != '"':
		return value, nil
	}
	return jsonString(value[1 : len(value)-1])
}

// jsonString is what is between quotes. Bytes that are no UTF-8, of paths say, stay as they are; the library has what is between them, as it would
// make U+FFFD of each.
func jsonString(raw []byte) (text []byte, err error) {
	if half := halfCharacter(raw); half != nil {
		return nil, fmt.Errorf("got %s, half of a character; write bytes that are no UTF-8 as they are, without an escape", half)
	}
	for {
		n := validPrefix(raw)
		var s string
		if err := json.Unmarshal(slices.Concat([]byte{'"'}, raw[:n], []byte{'"'}), &s); err != nil {
			return nil, err
		}
		if text = append(text, s...); n == len(raw) {
			return text, nil
		}
		text, raw = append(text, raw[n]), raw[n+1:]
	}
}

// validPrefix is how many bytes are UTF-8, from the first on.
func validPrefix(text []byte) (n int) {
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

// halfCharacter is the first escape, such as \ud800, that is one half of a character without the other.
func halfCharacter(raw []byte) []byte {
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return nil
		}
		raw = raw[at:]
		size := 2
		if r := escaped(raw); utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, escaped(raw[6:])) == utf8.RuneError {
				return raw[:6]
			}
			size = 12
		}
		raw = raw[min(size, len(raw)):]
	}
}

// escaped is the number of an escape \uXXXX that begins a text, or -1.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 32)
	if err != nil {
		return -1
	}
	return rune(n)
}
