package media

/*
#include "row.h"
*/
import "C"

import (
	"fmt"
	"math"
)

// Limits of Rotation and Affine.
const (
	MaxDegrees         = 360
	MaxShear           = 80 // degrees
	MinScale, MaxScale = 0.01, 100
)

// Center is a place in a row, or in the picture that is there ahead of it, in pixels from its top left corner; nil: the middle.
type Center struct{ X, Y float64 }

// c is what the kernel knows of it.
func (c *Center) c() C.media_center {
	if c == nil {
		return C.media_center{}
	}
	return C.media_center{given: 1, x: C.double(c.X), y: C.double(c.Y)}
}

func (c *Center) check(name string) error {
	if c != nil && !(math.Abs(c.X) <= MaxSide && math.Abs(c.Y) <= MaxSide) {
		return fmt.Errorf("%s: got a center at %v, %v, want -%d to %d", name, c.X, c.Y, MaxSide, MaxSide)
	}
	return nil
}

// Rotation is torchvision's RandomRotation on a PIL image, or by torch on a tensor of bytes, which has no Bicubic: to the left by degrees between two,
// around Center. Where there are no pixels the row is Fill. Bare is v2's fill=None: of a tensor that is Bilinear, edges are mixed with black once, and
// not with the fill thereafter; else it is a black Fill. So have Affine, Perspective and Augment.
type Rotation struct {
	Degrees       [2]float64
	Center        *Center
	Expand        bool          // ahead of the geometry alone: the picture becomes as large as all of it needs
	Interpolation Interpolation // Nearest, Bilinear or Bicubic
	Fill          Fill
	Bare          bool
}

// Affine is torchvision's RandomAffine on a PIL image: to the right by Degrees, moved by up to Translate of width and height to either
// side, scaled, and sheared by degrees along x and y, around Center.
type Affine struct {
	Degrees        [2]float64
	Center         *Center
	Translate      [2]float64
	Scale          [2]float64 // zero: as it is
	ShearX, ShearY [2]float64
	Interpolation  Interpolation // Nearest, Bilinear or Bicubic
	Fill           Fill
	Bare           bool
}

func (a *Affine) scale() [2]float64 {
	if a.Scale == ([2]float64{}) {
		return [2]float64{1, 1}
	}
	return a.Scale
}

// Perspective is torchvision's RandomPerspective on a PIL image: with probability P each corner of the row moves inwards, by up to
// Scale of half the row's sides.
type Perspective struct {
	P, Scale      float64
	Interpolation Interpolation // Nearest, Bilinear or Bicubic
	Fill          Fill
	Bare          bool
}

// ZoomOut is torchvision's RandomZoomOut on a PIL image, ahead of the geometry or between a resize and a crop: with probability P the picture lies
// somewhere in one whose sides are longer by a number of Sides, 1 to MaxZoomOut, and that is Fill elsewhere.
type ZoomOut struct {
	P     float64
	Sides [2]float64
	Fill  Fill
}

// MaxZoomOut bounds ZoomOut's Sides.
const MaxZoomOut = 16

// Elastic is torchvision's ElasticTransform on a PIL image, with probability P: each pixel is taken from a place beside its own, by Alpha along
// x and y, alike among neighbours within some Sigma pixels.
type Elastic struct {
	P             float64
	Alpha         [2]float64
	Sigma         float64
	Interpolation Interpolation // Nearest or Bilinear
	Fill          Fill
}

// Limits of Elastic. Of MaxElasticSigma the blur is as large as Blur's may be.
const (
	MaxAlpha        = 1e4
	MaxElasticSigma = (MaxKernel - 1) / 8.0
)

func cRange(r [2]float64) [2]C.double { return [2]C.double{C.double(r[0]), C.double(r[1])} }

func cPair(n [2]int) [2]C.uint32_t { return [2]C.uint32_t{C.uint32_t(n[0]), C.uint32_t(n[1])} }

// taken is how pixels come from elsewhere; bare: there is no fill.
func taken(by Interpolation, fill Fill, bare bool) C.media_taken {
	return C.media_taken{filter: C.uint32_t(by), fill: fill.or(bare)}
}

func (r *Rotation) kind() C.uint32_t { return C.MEDIA_DO_ROTATION }

func (r *Rotation) fill(to *C.media_step) {
	*own[C.media_rotation_step](to) = C.media_rotation_step{degrees: cRange(r.Degrees), expand: flag(r.Expand), center: r.Center.c(), by: taken(r.Interpolation, r.Fill, r.Bare)}
}

func (r *Rotation) check(in place) error {
	if r.Expand && !in.early {
		return fmt.Errorf("rotation: got expand of a row, whose size is fixed, want it ahead or resized")
	}
	if err := in.filter("rotation", r.Interpolation); err != nil {
		return err
	}
	if err := r.Center.check("rotation"); err != nil {
		return err
	}
	return ordered("rotation: degrees", r.Degrees, -MaxDegrees, MaxDegrees)
}

func (p *Perspective) kind() C.uint32_t { return C.MEDIA_DO_PERSPECTIVE }

func (p *Perspective) fill(to *C.media_step) {
	to.p = C.double(p.P)
	*own[C.media_perspective_step](to) = C.media_perspective_step{scale: C.double(p.Scale), by: taken(p.Interpolation, p.Fill, p.Bare)}
}

func (p *Perspective) check(in place) error {
	if !(p.Scale >= 0 && p.Scale <= 1) {
		return fmt.Errorf("perspective: got scale %v, want 0 to 1", p.Scale)
	}
	return in.filter("perspective", p.Interpolation)
}

func (z *ZoomOut) kind() C.uint32_t { return C.MEDIA_DO_ZOOM_OUT }

func (z *ZoomOut) fill(to *C.media_step) {
	to.p = C.double(z.P)
	*own[C.media_zoom_out_step](to) = C.media_zoom_out_step{sides: cRange(z.Sides), fill: z.Fill.c()}
}

func (z *ZoomOut) check(in place) error {
	if !in.early {
		return fmt.Errorf("zoom out: got one of a row, whose size is fixed, want it ahead or resized")
	}
	return ordered("zoom out: sides", z.Sides, 1, MaxZoomOut)
}

func (e *Elastic) kind() C.uint32_t { return C.MEDIA_DO_ELASTIC }

func (e *Elastic) fill(to *C.media_step) {
	to.p = C.double(e.P)
	*own[C.media_elastic_step](to) = C.media_elastic_step{alpha: cRange(e.Alpha), sigma: C.double(e.Sigma), by: taken(e.Interpolation, e.Fill, false)}
}

func (e *Elastic) least() int { return reach(e.Sigma) + 1 }

// reach is how far the blur of an elastic map goes to either side, in pixels.
func reach(sigma float64) int {
	if sigma == 0 {
		return 0
	}
	return (int(8*sigma+1) | 1) / 2
}

func (e *Elastic) check(in place) error {
	if err := in.filter("elastic", e.Interpolation); err != nil {
		return err
	}
	switch out := in.known(); {
	case e.Interpolation == Bicubic:
		return fmt.Errorf("elastic: want interpolation nearest or bilinear")
	case !(min(e.Alpha[0], e.Alpha[1]) >= 0 && max(e.Alpha[0], e.Alpha[1]) <= MaxAlpha):
		return fmt.Errorf("elastic: got alpha %v, want 0 to %v", e.Alpha, MaxAlpha)
	case !(e.Sigma >= 0 && e.Sigma <= MaxElasticSigma):
		return fmt.Errorf("elastic: got sigma %v, want 0 to %v", e.Sigma, MaxElasticSigma)
	case reach(e.Sigma) >= min(out.H, out.W):
		return fmt.Errorf("elastic: got sigma %v for a row of %d x %d, want 4 sigma within the shorter side", e.Sigma, out.H, out.W)
	}
	return nil
}

func (a *Affine) kind() C.uint32_t { return C.MEDIA_DO_AFFINE }

func (a *Affine) fill(to *C.media_step) {
	*own[C.media_affine_step](to) = C.media_affine_step{
		degrees: cRange(a.Degrees), x: C.double(a.Translate[0]), y: C.double(a.Translate[1]), scale: cRange(a.scale()), shear_x: cRange(a.ShearX), shear_y: cRange(a.ShearY),
		center: a.Center.c(), by: taken(a.Interpolation, a.Fill, a.Bare),
	}
}

func (a *Affine) check(in place) error {
	if err := in.filter("affine", a.Interpolation); err != nil {
		return err
	}
	if err := a.Center.check("affine"); err != nil {
		return err
	}
	for _, share := range a.Translate {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("affine: got translate %v, want shares of 0 to 1", a.Translate)
		}
	}
	for _, f := range []struct {
		name        string
		got         [2]float64
		least, most float64
	}{
		{"degrees", a.Degrees, -MaxDegrees, MaxDegrees}, {"scale", a.scale(), MinScale, MaxScale}, {"shear along x", a.ShearX, -MaxShear, MaxShear}, {"shear along y", a.ShearY, -MaxShear, MaxShear},
	} {
		if err := ordered("affine: "+f.name, f.got, f.least, f.most); err != nil {
			return err
		}
	}
	return nil
}

// warps reports whether Pillow's Image.transform has the filter.
func (by Interpolation) warps() bool { return by == Nearest || by == Bilinear || by == Bicubic }

func ordered(name string, got [2]float64, least, most float64) error {
	if !(got[0] >= least && got[0] <= got[1] && got[1] <= most) {
		return fmt.Errorf("%s: got %v, want %v <= smallest <= largest <= %v", name, got, least, most)
	}
	return nil
}
