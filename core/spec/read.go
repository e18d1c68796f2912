package spec

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/core/spelling"
	"go.yaml.in/yaml/v3"
)

// Ratio is a whole number, or [numerator, denominator], both above 0; 0/0: not given.
type Ratio struct{ Num, Den int }

// Read reads a small description, such as of a track that is written, into a struct by its tags json, as strictly as Parse: every key is
// known and given once, every number whole and in the range that a tag such as range:"1,64" says. file stands for it in errors, which are
// *Error. Besides structs, pointers, texts, numbers and maps of texts there may be Ratio, time.Duration ("1.5s"), and any,
// which stays nil and is for another reader.
func Read(file string, document []byte, to any) error {
	v := reflect.ValueOf(to).Elem()
	if len(document) > maxDocument {
		return tooLarge(file, int64(len(document)))
	}
	d := &decoder{file: file, pos: map[string]place{}, empty: "is empty, want " + strings.Join(names(v.Type()), ", ")}
	if root := d.document(document); d.err == nil {
		d.into(root, "", v, "")
	}
	if d.err != nil {
		return d.err
	}
	return nil
}

// TopKeys are the keys of a description's top level; nil where it has none.
func TopKeys(document []byte) (keys []string) {
	d := &decoder{}
	if root := d.document(document); root != nil && root.Kind == yaml.MappingNode {
		for i := 0; i < len(root.Content); i += 2 {
			keys = append(keys, root.Content[i].Value)
		}
	}
	return keys
}

// names are the keys of a struct.
func names(t reflect.Type) (all []string) {
	for i := range t.NumField() {
		all = append(all, t.Field(i).Tag.Get("json"))
	}
	return all
}

// below are the keys of the structs within one.
func below(t reflect.Type) (all []string) {
	for i := range t.NumField() {
		f := t.Field(i).Type
		for f.Kind() == reflect.Pointer {
			f = f.Elem()
		}
		if f.Kind() == reflect.Struct && f != reflect.TypeFor[Ratio]() {
			all = append(append(all, names(f)...), below(f)...)
		}
	}
	return all
}

func (d *decoder) into(n *yaml.Node, shown string, v reflect.Value, limits string) {
	switch to := v.Addr().Interface().(type) {
	case *Ratio:
		d.ratio(n, shown, to)
	case *time.Duration:
		d.span(n, shown, to)
	case *bool:
		text, ok := d.scalar(n, shown, "true or false", "!!bool")
		*to = ok && strings.EqualFold(text, "true")
	case *string:
		*to = d.plain(n, shown)
	case *map[string]string:
		*to = d.texts(n, shown)
	case *int, *int64:
		low, high := rangeOf(limits)
		if i, ok := d.whole(n, shown, low, high); ok {
			v.SetInt(i)
		}
	case *any:
	default:
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			d.into(n, shown, v.Elem(), limits)
			return
		}
		d.mapping(n, shown, v)
	}
}

// mapping reads a mapping into a struct.
func (d *decoder) mapping(n *yaml.Node, shown string, v reflect.Value) {
	known, given := names(v.Type()), map[string]bool{}
	for key, value := range d.pairs(n, shown, "a mapping of "+strings.Join(known, ", ")) {
		at := -1
		for i, name := range known {
			if name == key.Value {
				at = i
			}
		}
		path := fmt.Sprintf("%.100s", join(shown, key.Value))
		switch near := spelling.Nearest(key.Value, known); {
		case given[key.Value]:
			d.fail(key, path, "given twice; keep one")
		case at >= 0:
			f := v.Type().Field(at)
			d.into(value, path, v.Field(at), f.Tag.Get("range"))
		case near != "":
			d.fail(key, path, "unknown key; did you mean %q?", near)
		case spelling.Nearest(key.Value, below(v.Type())) == key.Value:
			d.fail(key, path, "unknown key here; it belongs inside a section; valid here: %s", strings.Join(known, ", "))
		case len(known) == 0:
			d.fail(key, path, "unknown key; none is valid here: %s: {}", shown)
		default:
			d.fail(key, path, "unknown key; valid here: %s", strings.Join(known, ", "))
		}
		given[key.Value] = true
	}
}

// pairs are the keys of a mapping with their values; one without content has none.
func (d *decoder) pairs(n *yaml.Node, shown, want string) func(func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		m := target(n)
		if m.Kind != yaml.MappingNode {
			d.fail(n, shown, "got %s, want %s", describe(n), want)
			return
		}
		for i := 0; i+1 < len(m.Content) && d.err == nil && yield(m.Content[i], m.Content[i+1]); i += 2 {
		}
	}
}

// plain is a text, which may be empty.
func (d *decoder) plain(n *yaml.Node, shown string) string {
	text, _ := d.scalar(n, shown, "text", "!!str")
	if strings.ContainsRune(text, 0) {
		d.fail(n, shown, "got text %.60q, want text without a zero byte", text)
	}
	return text
}

func (d *decoder) texts(n *yaml.Node, shown string) map[string]string {
	all := map[string]string{}
	for key, value := range d.pairs(n, shown, "a mapping of texts") {
		path := join(shown, key.Value)
		if _, given := all[key.Value]; given {
			d.fail(key, path, "given twice; keep one")
		}
		all[d.plain(key, path)] = d.plain(value, path)
	}
	return all
}

// rangeOf reads the tag range.
func rangeOf(limits string) (low, high int64) {
	first, last, ok := strings.Cut(limits, ",")
	if !ok {
		panic("spec: a number without its range")
	}
	low, err := strconv.ParseInt(first, 10, 64)
	if err == nil {
		high, err = strconv.ParseInt(last, 10, 64)
	}
	if err != nil {
		panic(err)
	}
	return low, high
}

func (d *decoder) ratio(n *yaml.Node, shown string, to *Ratio) {
	v, got := target(n), describe(n)
	terms := v.Content
	if v.Kind == yaml.ScalarNode {
		terms = []*yaml.Node{v, {Kind: yaml.ScalarNode, Value: "1"}}
	}
	values := make([]int, 0, 2)
	for _, t := range terms {
		i, err := strconv.ParseInt(target(t).Value, 10, 32)
		if err != nil || i < 1 || !decimal.MatchString(target(t).Value) || target(t).ShortTag() != "!!int" {
			got = describe(t)
			break
		}
		values = append(values, int(i))
	}
	if v.Kind == yaml.MappingNode || len(terms) != 2 || len(values) != 2 {
		d.fail(n, shown, "got %s, want a whole number or [numerator, denominator], from 1 to %d", got, math.MaxInt32)
		return
	}
	*to = Ratio{values[0], values[1]}
}

func (d *decoder) span(n *yaml.Node, shown string, to *time.Duration) {
	const want = `a time such as "1.5s"`
	text, ok := d.scalar(n, shown, want, "!!str", "!!int", "!!float")
	t, err := time.ParseDuration(text)
	if ok && err != nil {
		d.fail(n, shown, "got %s, want %s", describe(n), want)
	}
	*to = t
}
