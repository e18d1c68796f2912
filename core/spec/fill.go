package spec

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Fill is what lies where there is no pixel, in the numbers of a u8 row. Nil is black.
type Fill struct {
	Channels int `json:"-"` // that were given; 1: one number for all
	Values   [3]uint8
}

const fillWant = "a whole number from 0 to 255, or a list of one a channel"

// fill reads it; what is black is nil, as if it had been left out.
func (d *decoder) fill(s *section, dst **Fill) {
	const key = "fill"
	if !s.has(key) {
		return
	}
	given := []*yaml.Node{s.values[key]}
	if target(given[0]).Kind == yaml.SequenceNode {
		given = s.items(key, fillWant, maxChannels)
		if n := len(given); d.err == nil && n != 1 && n != 3 {
			s.fail(key, "got a list of %d, want %s", n, fillWant)
		}
	} else if target(given[0]).Kind != yaml.ScalarNode || isNull(target(given[0])) {
		s.fail(key, "got %s, want %s", describe(given[0]), fillWant)
	}
	if d.err != nil {
		return
	}
	f := &Fill{Channels: len(given)}
	for i := range f.Values {
		at, shown := min(i, len(given)-1), join(s.shown, key)
		if len(given) > 1 {
			shown = fmt.Sprintf("%s[%d]", shown, at)
		}
		v, _ := d.whole(given[at], shown, 0, 255)
		f.Values[i] = uint8(v)
	}
	if f.Values != [3]uint8{} {
		*dst = f
	}
}

// filled is an operation that puts a fill where it has no pixel.
type filled struct {
	name string
	fill *Fill
}

// fills are those that are not black.
func (t *Transform) fills() (all []filled) {
	add := func(name string, f *Fill) {
		if f != nil {
			all = append(all, filled{name, f})
		}
	}
	if r := t.Resize; r != nil {
		add("resize", r.Fill)
	}
	for _, b := range t.borders() {
		add(b.name, b.Fill)
	}
	for at, s := range t.placed("") {
		if f, is := s.(filler); is {
			add(strings.TrimPrefix(at, ".transform."), f.fills())
		}
	}
	return all
}

// checkFills wants as many numbers as there are channels.
func (i *Image) checkFills(section string, fail func(path, format string, args ...any)) {
	for _, f := range i.Transform.fills() {
		if f.fill.Channels > 1 && f.fill.Channels != i.Channels() {
			fail(section+".transform."+f.name+".fill", "got %d numbers, want one for mode %s", f.fill.Channels, i.Mode)
		}
	}
}
