package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// Sized is what a part of a picture is resized to, by OpenCV's filters.
type Sized struct {
	Size          Size // zero: it keeps its own
	Interpolation Interpolation
}

// Cut is albumentations' Crop: with probability P the part from Left, Top to Right, Bottom, in pixels, as far as the picture goes. It and those below are of
// pictures ahead of the geometry, or between a resize and a crop.
type Cut struct {
	P                        float64
	Left, Top, Right, Bottom int // 0 to MaxSide
}

// CutBorders is albumentations' RandomCropFromBorders: with probability P up to so large a share of a side is cut off at each, of both ends of which there is
// no more than all.
type CutBorders struct {
	P                        float64
	Left, Right, Top, Bottom float64 // 0 to 1
}

// CutSides is albumentations' CropAndPad: with probability P each side moves outwards, where Fill or what Padding says is, or inwards, by a number between two.
type CutSides struct {
	P             float64
	By            [4][2]float64 // of top, right, bottom and left, shares of height and width, -1 to 1
	Pixels        bool          // pixels in their place, whole numbers from the first to the last, -MaxSide to MaxSide
	Same          bool          // one number is drawn for all, between the first two
	KeepSize      bool          // what comes out is resized to the size that the picture had
	Interpolation Interpolation // of that
	Padding       Padding       // Constant or Edge
	Fill          Fill
}

// CutSafely is albumentations' BBoxSafeRandomCrop and RandomSizedBBoxSafeCrop: with probability P a part that has all boxes (Worker.Boxes) or, of more than one, what
// is left of what they fill together once Erosion of that is gone; of a picture without boxes a part of its shape, and at least 1 - Erosion as high.
type CutSafely struct {
	P, Erosion float64 // Erosion: 0 to 1
	Sized      Sized
}

// CutAround is albumentations' AtLeastOneBBoxRandomCrop: with probability P a part of Size, or as large as the picture is, anywhere where one of the boxes, which is
// drawn, lies in it, but for Erosion of its sides; of a picture without boxes anywhere.
type CutAround struct {
	P, Erosion float64 // Erosion: 0 to 1
	Size       Size
}

// CutResized is RandomCrop's part of a picture, with probability P.
type CutResized struct {
	P     float64
	Crop  RandomCrop // without AnyFilter
	Sized Sized
}

// Rescale is albumentations' RandomScale: with probability P both sides are multiplied by a number between two, and cut to whole pixels.
type Rescale struct {
	P             float64
	By            [2]float64 // MinScale to MaxScale
	Interpolation Interpolation
}

// MaxParts bounds how many of these there are.
const MaxParts = C.MEDIA_MAX_PARTS

// parts is how many there are.
func parts(op *C.media_op) (n int) {
	for _, s := range op.steps[:op.n_steps] {
		if s.kind >= C.MEDIA_DO_CUT {
			n++
		}
	}
	return n
}

func (s *Sized) c() C.media_sized {
	return C.media_sized{h: C.uint32_t(s.Size.H), w: C.uint32_t(s.Size.W), filter: C.uint32_t(s.Interpolation)}
}

func (s *Sized) check(name string, in place) error {
	if s.Size != (Size{}) && !s.Size.valid() {
		return fmt.Errorf("%s: got %d x %d, want sides of 1 to %d", name, s.Size.H, s.Size.W, MaxSide)
	}
	if s.Size == (Size{}) {
		return in.part(name)
	}
	return in.partBy(name, s.Interpolation)
}

// part wants a step that changes a picture's size ahead of the row.
func (in place) part(name string) error {
	if !in.early {
		return fmt.Errorf("%s: got one of a row, whose size is fixed, want it ahead or resized", name)
	}
	return nil
}

// partBy wants one of OpenCV's filters as well.
func (in place) partBy(name string, by Interpolation) error {
	switch {
	case by < CV2Linear || by > CV2Lanczos4:
		return fmt.Errorf("%s: got interpolation %d, want one of OpenCV's", name, by)
	case by != CV2Nearest && in.Mode == Index:
		return fmt.Errorf("%s: want interpolation CV2Nearest with mode index, as others mix numbers of classes", name)
	}
	return in.part(name)
}

// share wants a number of 0 to 1.
func share(name string, got float64) error {
	if !(got >= 0 && got <= 1) {
		return fmt.Errorf("%s: got %v, want 0 to 1", name, got)
	}
	return nil
}

func (c *Cut) kind() C.uint32_t        { return C.MEDIA_DO_CUT }
func (c *CutBorders) kind() C.uint32_t { return C.MEDIA_DO_CUT_BORDERS }
func (c *CutSides) kind() C.uint32_t   { return C.MEDIA_DO_CUT_SIDES }
func (c *CutSafely) kind() C.uint32_t  { return C.MEDIA_DO_CUT_SAFELY }
func (c *CutAround) kind() C.uint32_t  { return C.MEDIA_DO_CUT_AROUND }
func (c *CutResized) kind() C.uint32_t { return C.MEDIA_DO_CUT_RESIZED }
func (r *Rescale) kind() C.uint32_t    { return C.MEDIA_DO_RESCALE }

func (c *Cut) fill(to *C.media_step) {
	to.p = C.double(c.P)
	*own[C.media_cut_step](to) = C.media_cut_step{left: C.uint32_t(c.Left), top: C.uint32_t(c.Top), right: C.uint32_t(c.Right), bottom: C.uint32_t(c.Bottom)}
}

func (c *CutBorders) fill(to *C.media_step) {
	to.p = C.double(c.P)
	*own[C.media_cut_borders_step](to) = C.media_cut_borders_step{left: C.double(c.Left), right: C.double(c.Right), top: C.double(c.Top), bottom: C.double(c.Bottom)}
}

func (c *CutSides) fill(to *C.media_step) {
	to.p = C.double(c.P)
	of := own[C.media_cut_sides_step](to)
	*of = C.media_cut_sides_step{pixels: flag(c.Pixels), same: flag(c.Same), keeps: flag(c.KeepSize), taken: Bent{c.Interpolation, c.Padding, c.Fill}.c()}
	for i, by := range c.By {
		of.by[i] = cRange(by)
	}
}

func (c *CutSafely) fill(to *C.media_step) {
	to.p = C.double(c.P)
	*own[C.media_cut_safely_step](to) = C.media_cut_safely_step{erosion: C.double(c.Erosion), to: c.Sized.c()}
}

func (c *CutAround) fill(to *C.media_step) {
	to.p = C.double(c.P)
	*own[C.media_cut_around_step](to) = C.media_cut_around_step{h: C.uint32_t(c.Size.H), w: C.uint32_t(c.Size.W), erosion: C.double(c.Erosion)}
}

func (c *CutResized) fill(to *C.media_step) {
	to.p = C.double(c.P)
	*own[C.media_cut_resized_step](to) = C.media_cut_resized_step{crop: c.Crop.c(), to: c.Sized.c()}
}

func (r *Rescale) fill(to *C.media_step) {
	to.p = C.double(r.P)
	*own[C.media_rescale_step](to) = C.media_rescale_step{by: cRange(r.By), filter: C.uint32_t(r.Interpolation)}
}

func (c *Cut) check(in place) error {
	if min(c.Left, c.Top) < 0 || c.Left >= c.Right || c.Top >= c.Bottom || max(c.Right, c.Bottom) > MaxSide {
		return fmt.Errorf("cut: got %d, %d to %d, %d, want 0 <= left < right <= %d, and likewise top and bottom", c.Left, c.Top, c.Right, c.Bottom, MaxSide)
	}
	return in.part("cut")
}

func (c *CutBorders) check(in place) error {
	for _, v := range []float64{c.Left, c.Right, c.Top, c.Bottom, c.Left + c.Right, c.Top + c.Bottom} {
		if err := share("cut borders", v); err != nil {
			return err
		}
	}
	return in.part("cut borders")
}

func (c *CutSides) check(in place) error {
	most := 1.0
	if c.Pixels {
		most = MaxSide
	}
	for i, by := range c.By {
		if c.Same && i > 0 {
			break
		}
		if err := ordered("cut sides", by, -most, most); err != nil {
			return err
		}
	}
	if c.Padding > Edge {
		return fmt.Errorf("cut sides: got padding %d, want Constant or Edge", c.Padding)
	}
	if !c.KeepSize {
		return in.part("cut sides")
	}
	return in.partBy("cut sides", c.Interpolation)
}

func (c *CutSafely) check(in place) error {
	if err := share("cut safely: erosion", c.Erosion); err != nil {
		return err
	}
	return c.Sized.check("cut safely", in)
}

func (c *CutAround) check(in place) error {
	if !c.Size.valid() {
		return fmt.Errorf("cut around: got %d x %d, want sides of 1 to %d", c.Size.H, c.Size.W, MaxSide)
	}
	if err := share("cut around: erosion", c.Erosion); err != nil {
		return err
	}
	return in.part("cut around")
}

func (c *CutResized) check(in place) error {
	if err := c.Crop.check(); err != nil {
		return err
	}
	if c.Crop.AnyFilter {
		return fmt.Errorf("cut resized: got any filter, want the one that Sized has")
	}
	return c.Sized.check("cut resized", in)
}

func (r *Rescale) check(in place) error {
	if err := ordered("rescale", r.By, MinScale, MaxScale); err != nil {
		return err
	}
	return in.partBy("rescale", r.Interpolation)
}
