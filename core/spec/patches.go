package spec

import (
	"math"

	"github.com/spdl/spdl/core/tensor"
)

// Patches says that a row is the patches of a picture that keeps its shape, each a line: what vision transformers of pictures of any size take. They lie
// line by line of blocks of Merge x Merge, which a model makes one token of, and in a block line by line.
type Patches struct {
	Size     int `json:"size"`
	Merge    int `json:"merge"`
	Temporal int `json:"temporal"` // how often a patch has its pixels: of models of videos the frames of one
	Shape    Cut `json:"shape"`
}

const (
	maxPatch    = 1024 // media.MaxPatch
	maxTemporal = 16
)

// patches reads the side of a patch, or a mapping with that.
func (d *decoder) patches(s *section) *Patches {
	p := &Patches{Merge: 1, Temporal: 1, Shape: Ragged}
	n, shown, sec := d.short(s, "patches", "size")
	if n == nil && d.err == nil {
		s.fail("patches", "size is missing, want the side of a patch in pixels, such as patches: 16, or {size: 14, merge: 2, temporal: 2}")
	}
	d.wholeAt(n, shown, &p.Size, 1, maxPatch)
	whole(sec, "merge", &p.Merge, 1, maxPatch)
	whole(sec, "temporal", &p.Temporal, 1, maxTemporal)
	choice(sec, "shape", &p.Shape, Fixed, Padded, Ragged)
	return p
}

// Room is how many patches a row has room for, once the ring is checked.
func (i *Image) patchRoom() int {
	return i.Room.Height * i.Room.Width / (i.Patches.Size * i.Patches.Size)
}

// patchShape is the shape of a row: a line for each patch.
func (i *Image) patchShape() tensor.Shape {
	p := i.Patches
	return tensor.Shape{int64(i.patchRoom()), int64(i.Channels() * p.Temporal * p.Size * p.Size)}
}

// checkPatches holds patches against the transform, which must make whole ones.
func (i *Image) checkPatches(section string, fail func(path, format string, args ...any)) {
	p, t := i.Patches, &i.Transform
	if p == nil {
		return
	}
	a := (*ByArea)(nil)
	if t.Resize != nil {
		a = t.Resize.Area
	}
	by := p.Size * p.Merge
	switch {
	case a == nil:
		fail(section+".patches", "given with a transform that does not resize by pixels, want whole patches: [resize: {min_pixels: %d, max_pixels: %d, multiple_of: %d, interpolation: bicubic}], say", 4*by*by, 1280*by*by, by)
	case t.Output() != (Extent{}):
		fail(section+".patches", "given with a transform that crops, want pictures of their own size; leave the crop out")
	case a.MultipleOf%by != 0:
		fail(section+".transform.resize", "got multiple_of %d beside patches of %d, %d of them in a line of a block, want a multiple of %d", a.MultipleOf, p.Size, p.Merge, by)
	case t.RandomErasing != nil:
		fail(section+".transform.random_erasing", "given beside patches, of which lines are finished one by one; leave it out, or take coarse_dropout, ahead of normalize")
	}
}

// multiplesUp is h x w by SigLIP 2's rule: the largest scale, looked for in halves, by which both sides, rounded up to whole multiples, have no more pixels
// than MaxPixels, as core/media does it.
func (a *ByArea) multiplesUp(h, w int) (int, int) {
	const near = 1e-5
	m := float64(a.MultipleOf)
	up := func(side int, by float64) float64 { return max(m, math.Ceil(float64(side)*by/m)*m) }
	low, high := near/10, 100.0
	for high-low >= near {
		if by := (low + high) / 2; up(h, by)*up(w, by) <= float64(a.MaxPixels) {
			low = by
		} else {
			high = by
		}
	}
	return int(up(h, low)), int(up(w, low))
}
