package spec

import (
	"fmt"
	"math"
	"slices"
)

// Open reports whether pictures keep the sizes that the transform gives them, which differ from row to row.
func (i *Image) Open() bool { return i.Shape == Padded || i.Shape == Ragged }

// shape reads how rows lie whose pictures differ in size. What is said above of another shape is not of this one.
func (d *decoder) shape(s *section, i *Image) {
	above := i.Shape
	choice(s, "shape", &i.Shape, Fixed, Padded, Ragged)
	if i.Shape == Fixed {
		i.Shape = ""
	}
	if i.Shape != above {
		i.Room, i.MultipleOf = Extent{}, 0
	}
	if s.has("room") {
		short := 0
		short, i.Room = d.extent(s.values["room"], join(s.shown, "room"))
		if i.Room.square(short); i.Room == ofBucket {
			s.fail("room", "got %s, want [H, W] in pixels", bucket)
		}
	}
	whole(s, "multiple_of", &i.MultipleOf, 1, maxMultiple)
}

const maxMultiple = 1024

// patched reads patches, of which rows are as open as those of ragged pictures, however they lie.
func (d *decoder) patched(s *section, i *Image) {
	above := i.Patches
	if i.Patches = over(s, "patches", above, d.patches); i.Patches == nil {
		if above != nil && !s.has("shape") {
			i.Shape, i.Room = "", Extent{}
		}
		return
	}
	if s.has("shape") {
		s.fail("shape", "given beside patches, whose own shape says how rows of fewer lie; leave it out")
	}
	i.Shape = Ragged
}

// divide says what is done to the whole picture of a row that keeps its size, where no geometry stands behind it: all up to the last step that
// gives the picture another size.
func (i *Image) divide() {
	t := &i.Transform
	if !i.Open() || t.geometric() {
		return
	}
	for k := len(t.Steps); k > 0; k-- {
		if slices.ContainsFunc(Flat(t.Steps[k-1:k]), grows) && !slices.ContainsFunc(t.Steps[:k], ofRows) {
			t.Ahead, t.Steps = t.Steps[:k:k], t.Steps[k:]
			return
		}
	}
}

// geometric reports whether anything crops, pads or resizes.
func (t *Transform) geometric() bool {
	return t.Resize != nil || t.RandomResize != nil || t.RandomShortestSize != nil || t.ScaleJitter != nil || t.Pad != nil || t.CenterCrop != nil || t.RandomCrop != nil || t.RandomResizedCrop != nil
}

// ofRows says of a step, or of one of its group, that it is of a row alone.
func ofRows(s Step) bool {
	return slices.ContainsFunc(Flat([]Step{s}), func(s Step) bool { return !slices.Contains(ofPictures, s.Name()) })
}

// checkShape holds the shape of rows against what the transform makes, and finds their room.
func (i *Image) checkShape(section string, fail func(path, format string, args ...any)) {
	t := &i.Transform
	out := t.Output()
	switch {
	case i.Patches != nil && out != (Extent{}):
		return // said by checkPatches
	case !i.Open() && i.Room != (Extent{}):
		fail(section+".room", "given with shape: fixed, whose rows have the size that the transform says; leave it out, or write shape: padded or ragged")
	case i.Shape != Padded && i.MultipleOf > 0:
		fail(section+".multiple_of", "given without shape: padded, want it where a batch's rows are padded to one size; leave it out")
	case !i.Open():
	case out != (Extent{}):
		fail(section+".shape", "got %s with a transform that gives every row one size, %d x %d; leave shape out, or resize by {size: 800, max_size: 1333}, which keeps each picture's own", i.Shape, out.Height, out.Width)
	case i.Room == (Extent{}):
		if i.Room = i.largest(); i.Room == (Extent{}) {
			fail(section+".room", "is missing: %s leaves open how large a picture may become; want what a row has room for, such as room: [1333, 1333]", t.sizing())
		}
	}
	if p := i.Patches; p != nil && p.Size > 0 {
		n := p.Size * p.Size
		if i.Room = (Extent{i.Room.Height * i.Room.Width / n * n, 1}); i.Room.Height == 0 {
			fail(section+".room", "got less than a patch of %d x %[1]d, want room for as many as a picture becomes", p.Size)
		}
	}
	if n := i.MultipleOf; i.Open() && n > 0 {
		i.Room = Extent{(i.Room.Height + n - 1) / n * n, (i.Room.Width + n - 1) / n * n}
	}
	if i.Shape == Padded && max(i.Room.Height, i.Room.Width) > maxSide {
		fail(section+".room", "got %d x %d, want sides of at most %d; write a smaller one: a picture that does not fit is a bad sample", i.Room.Height, i.Room.Width, maxSide)
	}
}

// largest is the room that all pictures fit into: of ragged rows a number of pixels. Zero: the transform does not bound it.
func (i *Image) largest() Extent {
	t := &i.Transform
	switch {
	case t.Resize != nil && t.Resize.MaxSize > 0 && t.Resize.Short > 0 && i.Shape == Ragged:
		return Extent{t.Resize.Short, t.Resize.MaxSize}
	case t.Resize != nil && t.Resize.MaxSize > 0:
		return Extent{t.Resize.MaxSize, t.Resize.MaxSize}
	case t.Resize != nil && t.Resize.Area != nil && i.Shape == Ragged:
		return Extent{t.Resize.Area.most(), 1}
	case t.RandomShortestSize != nil && t.RandomShortestSize.MaxSize > 0:
		most := t.RandomShortestSize.MaxSize
		if i.Shape == Ragged {
			return Extent{min(slices.Max(t.RandomShortestSize.MinSize), most), most}
		}
		return Extent{most, most}
	case t.ScaleJitter != nil:
		high := func(side int) int { return int(math.Ceil(float64(side) * t.ScaleJitter.Scale[1])) }
		return Extent{high(t.ScaleJitter.Height), high(t.ScaleJitter.Width)}
	}
	return Extent{}
}

// sizing is what decides how large pictures become, in words.
func (t *Transform) sizing() string {
	switch {
	case t.Resize != nil && t.Resize.Area != nil:
		return "resize by min_pixels and max_pixels"
	case t.Resize != nil && t.Resize.Fit.Cover:
		return "resize with fit: cover"
	case t.Resize != nil:
		return fmt.Sprintf("resize: %d without max_size", t.Resize.Short)
	case t.RandomResize != nil:
		return "random_resize"
	case t.RandomShortestSize != nil:
		return randomShortestSize + " without max_size"
	}
	return "a transform without resize"
}

// known are the names of what a batch says of its pictures.
func (i *Image) known() (all []string) {
	switch name, _ := i.pieces(); {
	case name != "":
		all = append(all, "count", "grid", "size")
	case i.Open():
		all = append(all, "extent")
	}
	if i.Many != nil {
		all = append(all, "count")
	}
	if i.Affine {
		all = append(all, "affine", "size")
	}
	return all
}
