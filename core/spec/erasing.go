package spec

import (
	"fmt"
	"slices"

	"github.com/spdl/spdl/core/tensor"
	"go.yaml.in/yaml/v3"
)

// maxErased bounds what a part of a row of floats may become (core/media).
const maxErased = 10000

// RandomErasing makes a part of the finished row, of a random area (a share of the row's) and shape, Value or noise; or several parts Value.
type RandomErasing struct {
	P     float64    `json:"p"`
	Scale [2]float64 `json:"scale"` // low, high
	Ratio [2]float64 `json:"ratio"`
	Value []float64  `json:"value"`           // in the row's units, one or one a channel; nil: 0
	Noise bool       `json:"noise"`           // standard normal numbers instead
	Parts *Parts     `json:"parts,omitempty"` // in the place of Scale and Ratio
}

func defaultErasing() *RandomErasing {
	return &RandomErasing{P: 0.5, Scale: [2]float64{0.02, 0.33}, Ratio: [2]float64{0.3, 3.3}}
}

func (d *decoder) randomErasing(op *section) *RandomErasing {
	const key = "random_erasing"
	r := defaultErasing()
	if target(op.values[key]).Kind != yaml.MappingNode {
		op.number(key, &r.P, 0, 1)
		return r.orNone()
	}
	sec := d.section(op.values[key], join(op.table, key), join(op.shown, key), join(op.place, key))
	sec.number("p", &r.P, 0, 1)
	d.interval(&sec, "scale", &r.Scale, 0, 1)
	if d.err == nil && r.Scale[1] == 0 {
		sec.fail("scale", "got [0, 0], want a share above 0; leave random_erasing out for none")
	}
	d.interval(&sec, "ratio", &r.Ratio, minRatio, maxRatio)
	if sec.has("value") {
		d.erased(&sec, r)
	}
	d.erasedParts(&sec, r)
	return r.orNone()
}

// erasedParts reads the parts, if there are several.
func (d *decoder) erasedParts(sec *section, r *RandomErasing) {
	if !sec.has("holes") {
		for _, key := range []string{"height", "width", "pixels"} {
			if sec.has(key) {
				sec.fail(key, "given without holes, which says how many parts there are; without it one is as large as scale and ratio say")
			}
		}
		return
	}
	for _, key := range []string{"scale", "ratio"} {
		if sec.has(key) {
			sec.fail(key, "given beside holes, which are as large as height and width say; leave one of them out")
		}
	}
	parts := d.parts(sec)
	switch r.Parts = &parts; {
	case d.err == nil && parts.Holes[1] == 0:
		sec.fail("holes", "got 0, want 1 or more; leave random_erasing out for none")
	case d.err == nil && r.Noise:
		sec.fail("value", "got random beside holes, want a number; noise is of one part, by scale and ratio")
	}
}

// orNone is nil where nothing happens.
func (r *RandomErasing) orNone() *RandomErasing {
	if r.P == 0 {
		return nil
	}
	return r
}

// erased reads a number, one a channel, or random. Zeros are nil, as if nothing had been said.
func (d *decoder) erased(s *section, r *RandomErasing) {
	const key, want = "value", "random, a number, or a list of one a channel"
	n, shown := s.values[key], join(s.shown, key)
	given := []*yaml.Node{n}
	switch v := target(n); {
	case v.Kind == yaml.ScalarNode && v.Value == "random":
		r.Noise = true
		return
	case v.Kind == yaml.SequenceNode:
		given = s.items(key, want, maxChannels)
		if n := len(given); d.err == nil && n != 1 && n != 3 {
			s.fail(key, "got a list of %d, want %s", n, want)
		}
	case v.Kind != yaml.ScalarNode || isNull(v) || v.ShortTag() == "!!str":
		s.fail(key, "got %s, want %s", describe(n), want)
	}
	for i, item := range given {
		at := shown
		if item != n {
			at = fmt.Sprintf("%s[%d]", shown, i)
		}
		v, _ := d.number(item, at, -maxErased, maxErased)
		r.Value = append(r.Value, v)
	}
	if !slices.ContainsFunc(r.Value, func(v float64) bool { return v != 0 }) {
		r.Value = nil
	}
}

// checkErasing holds it against the rows' type and channels.
func (i *Image) checkErasing(section string, fail func(path, format string, args ...any)) {
	r, at := i.Transform.RandomErasing, section+".transform.random_erasing"
	switch {
	case r == nil:
	case i.Mode == Index:
		fail(at, "got random_erasing with mode index, where what is put there would be the number of a class; leave it out")
	case r.Noise && i.DType == tensor.U8:
		fail(at+".value", "got random, which is noise around 0, for rows of u8; add normalize or dtype: f32, or write a number")
	case len(r.Value) > 1 && len(r.Value) != i.Channels():
		fail(at+".value", "got %d numbers, want one for mode %s", len(r.Value), i.Mode)
	}
	if r == nil || i.DType != tensor.U8 {
		return
	}
	for _, v := range r.Value {
		if v < 0 || v > 255 || v != float64(uint8(v)) {
			fail(at+".value", "got %g for rows of u8, want a whole number from 0 to 255", v)
		}
	}
}
