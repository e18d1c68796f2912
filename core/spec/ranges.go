package spec

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// from reads a number between least and most.
func (d *decoder) from(least, most float64) func(n *yaml.Node, shown string) float64 {
	return func(n *yaml.Node, shown string) float64 {
		v, _ := d.number(n, shown, least, most)
		return v
	}
}

// lowHigh reads [low, high], each end by read.
func lowHigh[T int | float64](d *decoder, n *yaml.Node, shown string, dst *[2]T, read func(n *yaml.Node, shown string) T) {
	switch v := target(n); {
	case v.Kind != yaml.SequenceNode:
		d.fail(n, shown, "got %s, want [low, high]", describe(n))
	case len(v.Content) != 2:
		d.fail(n, shown, "got a list of %d, want [low, high]", len(v.Content))
	default:
		dst[0] = read(v.Content[0], shown+"[0]")
		dst[1] = read(v.Content[1], shown+"[1]")
	}
	if d.err == nil && dst[0] > dst[1] {
		d.fail(n, shown, "got [%v, %v], want low before high", dst[0], dst[1])
	}
}

// oneOrRange reads x for both ends, or [low, high], where there is something to read. want says what read takes.
func oneOrRange[T int | float64](d *decoder, n *yaml.Node, shown, want string, dst *[2]T, read func(n *yaml.Node, shown string) T) {
	if n == nil || d.err != nil {
		return
	}
	switch v := target(n); {
	case v.Kind == yaml.SequenceNode:
		lowHigh(d, n, shown, dst, read)
	case v.Kind != yaml.ScalarNode || isNull(v):
		d.fail(n, shown, "got %s, want %s, or [low, high]", describe(n), want)
	default:
		x := read(n, shown)
		*dst = [2]T{x, x}
	}
}

// numberOrRange is oneOrRange of numbers between least and most.
func (d *decoder) numberOrRange(n *yaml.Node, shown string, dst *[2]float64, least, most float64) {
	oneOrRange(d, n, shown, fmt.Sprintf("a number from %g to %g", least, most), dst, d.from(least, most))
}

// numberOrPair reads x for both, or [x, y], each between least and most.
func (d *decoder) numberOrPair(n *yaml.Node, shown string, dst *[2]float64, least, most float64) {
	if n == nil || d.err != nil {
		return
	}
	read, both := d.from(least, most), []*yaml.Node{n, n}
	if v := target(n); v.Kind != yaml.ScalarNode || isNull(v) {
		want := fmt.Sprintf("a number from %g to %g, or [x, y]", least, most)
		both = d.items(n, shown, want, maxChannels)
		if d.err == nil && len(both) != 2 {
			d.fail(n, shown, "got a list of %d, want %s", len(both), want)
		}
	}
	for i := range dst {
		if d.err == nil {
			dst[i] = read(both[i], shown)
		}
	}
}

// interval reads [low, high], between least and most.
func (d *decoder) interval(s *section, key string, dst *[2]float64, least, most float64) {
	if s.has(key) {
		lowHigh(d, s.values[key], join(s.shown, key), dst, d.from(least, most))
	}
}

// factor reads [low, high], or x for as much to either side of what leaves a picture as it is, where least allows; nil is that alone.
func (d *decoder) factor(s *section, key string, asItIs, least, most float64) *[2]float64 {
	if !s.has(key) {
		return nil
	}
	var f [2]float64
	switch n := target(s.values[key]); {
	case n.Kind == yaml.SequenceNode:
		lowHigh(d, n, join(s.shown, key), &f, d.from(least, most))
	case n.Kind != yaml.ScalarNode || isNull(n):
		s.fail(key, "got %s, want a number from 0 to %g, or [low, high]", describe(n), most-asItIs)
	default:
		x := 0.0
		s.number(key, &x, 0, most-asItIs)
		f = [2]float64{max(least, asItIs-x), asItIs + x}
	}
	if f == [2]float64{asItIs, asItIs} {
		return nil
	}
	return &f
}

// around reads x for [-x, x], or [low, high].
func (d *decoder) around(s *section, key string, most float64) [2]float64 {
	if f := d.factor(s, key, 0, -most, most); f != nil {
		return *f
	}
	return [2]float64{}
}
