package coded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spdl/spdl/core/media/mux"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/spelling"
)

func wrong(path, format string, args ...any) error {
	return &spec.Error{File: "description", Path: path, Text: fmt.Sprintf(format, args...)}
}

// MisuseError says what cannot be done with a Muxing, or with an array that it was given.
type MisuseError struct{ Text string }

func (e *MisuseError) Error() string { return "coded: " + e.Text }

func misuse(format string, args ...any) error { return &MisuseError{fmt.Sprintf(format, args...)} }

// parse reads a description, all of whose keys must be known.
func parse(document []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(document))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	if err == nil {
		return nil
	}
	const unknown = `json: unknown field "`
	if key, ok := strings.CutPrefix(err.Error(), unknown); ok {
		key = strings.TrimSuffix(key, `"`)
		if near := spelling.Nearest(key, keys(reflect.TypeOf(to).Elem())); near == key {
			return wrong("", "got the key %q at a level where it is not known; it belongs inside the section beside it, or outside", key)
		} else if near != "" {
			return wrong("", "got the key %q, which is not known; did you mean %q", key, near)
		}
		return wrong("", "got the key %q, which is not known", key)
	}
	return wrong("", "%s", strings.TrimPrefix(err.Error(), "json: "))
}

// keys are the names of a struct's fields and of those within.
func keys(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var all []string
	for i := range t.NumField() {
		f := t.Field(i)
		if name := f.Tag.Get("json"); name != "" {
			all = append(all, name)
		}
		all = append(all, keys(f.Type)...)
	}
	return all
}

// ratio is a number, or [numerator, denominator].
type ratio mux.Rational

// UnmarshalJSON reads either form.
func (r *ratio) UnmarshalJSON(text []byte) error {
	var pair [2]int
	if json.Unmarshal(text, &r.Num) == nil {
		r.Den = 1
		return nil
	}
	if json.Unmarshal(text, &pair) != nil || pair[0] < 1 || pair[1] < 1 {
		return fmt.Errorf("got %s, want a whole number or [numerator, denominator], both above 0", text)
	}
	r.Num, r.Den = pair[0], pair[1]
	return nil
}

// span is a text such as "1.5s".
type span time.Duration

// UnmarshalJSON reads Go's durations.
func (s *span) UnmarshalJSON(text []byte) error {
	var word string
	if err := json.Unmarshal(text, &word); err != nil {
		return fmt.Errorf(`got %s, want a time such as "1.5s"`, text)
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		return fmt.Errorf(`got %q, want a time such as "1.5s"`, word)
	}
	*s = span(d)
	return nil
}

func (s span) seconds() float64 { return time.Duration(s).Seconds() }

func (s span) String() string { return time.Duration(s).String() }
