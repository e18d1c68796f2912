package spec

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// remapClasses is the one operation that is of masks alone.
const remapClasses = "remap_classes"

// RemapClasses gives the classes of a mask other numbers.
type RemapClasses struct {
	Numbers []int `json:"numbers"` // what the first ones become, 1 to 256 of them; the others stay; nil: as reduce says
}

// reduce is the word for a list that says nothing.
const reduce = "reduce"

// Table is what becomes of each number. By reduce 0, which is no class, becomes 255, and all others, but for that, one less.
func (r *RemapClasses) Table() *[256]uint8 {
	t := &[256]uint8{}
	for i := range t {
		switch {
		case i < len(r.Numbers):
			t[i] = uint8(r.Numbers[i])
		case r.Numbers != nil || i == 255:
			t[i] = uint8(i)
		default:
			t[i] = uint8(i - 1)
		}
	}
	return t
}

func (r *RemapClasses) Name() string { return remapClasses }
func (r *RemapClasses) random() bool { return false }

// check wants numbers of classes, and not colours.
func (r *RemapClasses) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if i.Mode != Index {
		fail(at, "got it with mode %s, whose values are no numbers of classes, want mode: index, of a mask's section", i.Mode)
	}
}

func (*RemapClasses) read(d *reading, op *section) Step {
	r := &RemapClasses{}
	const want = "reduce, or a list of what the numbers 0, 1, 2 and so on become, such as [255, 0, 1]"
	if n := op.values[remapClasses]; target(n).Kind == yaml.ScalarNode {
		if target(n).Value != reduce {
			op.fail(remapClasses, "got %s, want %s", describe(n), want)
		}
		return r
	}
	items := op.items(remapClasses, want, 256)
	if d.err == nil && len(items) == 0 {
		op.fail(remapClasses, "got no numbers, want %s", want)
	}
	for i, n := range items {
		v, _ := d.whole(n, fmt.Sprintf("%s[%d]", join(op.shown, remapClasses), i), 0, 255)
		r.Numbers = append(r.Numbers, int(v))
	}
	return r
}
