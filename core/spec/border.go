package spec

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Border is what lies beyond a picture: Fill, or the picture's own pixels.
type Border struct {
	Mode string // "": Fill
	Fill *Fill
}

// The words of padding_mode, torchvision's. The value of Border.Mode is one of the last three.
const (
	constant  = "constant"
	Edge      = "edge"
	Reflect   = "reflect"
	Symmetric = "symmetric"
)

// Sides are pixels around a picture.
type Sides struct {
	Left   int `json:"left"`
	Top    int `json:"top"`
	Right  int `json:"right"`
	Bottom int `json:"bottom"`
}

// Pad puts pixels around a picture that Resize has brought to its Extent.
type Pad struct {
	Sides
	Border
}

const sidesWant = "N, [left and right, top and bottom] or [left, top, right, bottom] in pixels"

func (d *decoder) border(s *section, to *Border) {
	const key = "padding_mode"
	mode := constant
	choice(s, key, &mode, constant, Edge, Reflect, Symmetric)
	if mode != constant {
		to.Mode = mode
		if s.has("fill") {
			s.fail("fill", "given beside padding_mode: %s, which puts the picture's own pixels there; leave one of them out", mode)
		}
	}
	d.fill(s, &to.Fill)
}

// sides reads as many pixels as torchvision's padding has: one number for all, two, or four.
func (d *decoder) sides(n *yaml.Node, shown string, to *Sides) {
	if n == nil || d.err != nil {
		return
	}
	v := target(n)
	if v.Kind != yaml.SequenceNode {
		if v.Kind != yaml.ScalarNode || isNull(v) {
			d.fail(n, shown, "got %s, want %s", describe(n), sidesWant)
			return
		}
		side, _ := d.whole(n, shown, 0, maxSide)
		*to = Sides{int(side), int(side), int(side), int(side)}
		return
	}
	var all []int
	for i, item := range v.Content[:min(len(v.Content), 4)] {
		side, _ := d.whole(item, fmt.Sprintf("%s[%d]", shown, i), 0, maxSide)
		all = append(all, int(side))
	}
	switch len(v.Content) {
	case 2:
		*to = Sides{all[0], all[1], all[0], all[1]}
	case 4:
		*to = Sides{all[0], all[1], all[2], all[3]}
	default:
		d.fail(n, shown, "got a list of %d, want %s", len(v.Content), sidesWant)
	}
}

func (d *decoder) pad(op *section) *Pad {
	p := &Pad{}
	sides, shown, sec := d.short(op, "pad", "padding")
	if d.err == nil && sides == nil {
		op.fail("pad", "padding is missing, want padding: %s", sidesWant)
	}
	d.sides(sides, shown, &p.Sides)
	d.border(sec, &p.Border)
	return p
}

// padCrop gives a random crop the padding that stands in front of it, as it is written of the crop itself.
func (d *decoder) padCrop(op *section, t *Transform) {
	c := t.RandomCrop
	if t.Pad == nil || d.err != nil {
		return
	}
	if c.Padding != (Sides{}) || c.Border != (Border{}) {
		op.fail("random_crop", "got padding, padding_mode or fill of its own behind pad; leave pad out, or these")
	}
	c.Padding, c.Border, t.Pad = t.Pad.Sides, t.Pad.Border, nil
}

// bordered is an operation that may have to put something beyond the picture.
type bordered struct {
	name string
	*Border
}

func (t *Transform) borders() (all []bordered) {
	if p := t.Pad; p != nil {
		all = append(all, bordered{"pad", &p.Border})
	}
	if c := t.CenterCrop; c != nil {
		all = append(all, bordered{"center_crop", &c.Border})
	}
	if c := t.RandomCrop; c != nil {
		all = append(all, bordered{"random_crop", &c.Border})
	}
	return all
}

// checkPad wants a size that padding can be added to.
func (i *Image) checkPad(section string, fail func(path, format string, args ...any)) {
	t := &i.Transform
	out := t.Output()
	switch {
	case t.Pad == nil:
	case t.Resize == nil || !t.Resize.Exact() || t.CenterCrop != nil:
		fail(section+".transform.pad", "got pad without a size to add to; write it behind resize: [H, W], or in front of random_crop; a center_crop that is larger than the picture pads it, too")
	case out.Height > maxSide || out.Width > maxSide:
		fail(section+".transform.pad", "got rows of %d x %d with it, want sides of at most %d", out.Height, out.Width, maxSide)
	}
}

// sides are what Pad adds.
func (t *Transform) sides() Sides {
	if t.Pad == nil {
		return Sides{}
	}
	return t.Pad.Sides
}
