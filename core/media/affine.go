package media

/*
#include "row.h"
*/
import "C"

import (
	"fmt"
	"math"
	"slices"
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
func (c *Center) c() (is C.uint32_t, x, y C.double) {
	if c == nil {
		return 0, 0, 0
	}
	return 1, C.double(c.X), C.double(c.Y)
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

// warp fills in what the kernel knows of them.
func (cfg *Config) warp(op *C.media_op) {
	between := func(f [2]float64) C.media_factor {
		return C.media_factor{on: 1, low: C.double(f[0]), high: C.double(f[1])}
	}
	op.quarters_p, op.transpose_p = C.double(cfg.Quarters), C.double(cfg.Transpose)
	if r := cfg.Rotation; r != nil {
		op.rotation, op.rotation_filter, op.rotation_fill = between(r.Degrees), C.uint32_t(r.Interpolation), r.Fill.or(r.Bare)
		op.rotation_centered, op.rotation_x, op.rotation_y = r.Center.c()
		op.rotation_expand = flag(r.Expand)
	}
	if a := cfg.Affine; a != nil {
		op.affine, op.affine_filter, op.affine_fill = 1, C.uint32_t(a.Interpolation), a.Fill.or(a.Bare)
		op.affine_centered, op.affine_center_x, op.affine_center_y = a.Center.c()
		op.affine_angle, op.affine_scale = between(a.Degrees), between(a.scale())
		op.affine_x, op.affine_y = C.double(a.Translate[0]), C.double(a.Translate[1])
		op.affine_shear_x, op.affine_shear_y = between(a.ShearX), between(a.ShearY)
	}
	if p := cfg.Perspective; p != nil {
		op.perspective_p, op.perspective_scale = C.double(p.P), C.double(p.Scale)
		op.perspective_filter, op.perspective_fill = C.uint32_t(p.Interpolation), p.Fill.or(p.Bare)
	}
	if z := cfg.ZoomOut; z != nil {
		op.zoom_out_p, op.zoom_out_min, op.zoom_out_max, op.zoom_out_fill = C.double(z.P), C.double(z.Sides[0]), C.double(z.Sides[1]), z.Fill.c()
	}
	cfg.IoUCrop.fill(op)
	if e := cfg.Elastic; e != nil {
		op.elastic_p, op.elastic_x, op.elastic_y, op.elastic_sigma = C.double(e.P), C.double(e.Alpha[0]), C.double(e.Alpha[1]), C.double(e.Sigma)
		op.elastic_filter, op.elastic_fill = C.uint32_t(e.Interpolation), e.Fill.c()
	}
}

// sideways are what turns a row's sides into each other: a picture's, ahead of the geometry or behind a resize, may be any.
func (cfg *Config) sideways() (all []chance) {
	before := cfg.Order[:min(max(0, cfg.Ahead)+max(0, cfg.Resized), len(cfg.Order))]
	if cfg.Quarters > 0 && !slices.Contains(before, StepQuarters) {
		all = append(all, chance{"quarters", cfg.Quarters})
	}
	if cfg.Transpose > 0 && !slices.Contains(before, StepTranspose) {
		all = append(all, chance{"transpose", cfg.Transpose})
	}
	return all
}

func (cfg *Config) checkWarps() error {
	for _, c := range cfg.sideways() {
		if out := cfg.out(); out.H != out.W {
			return fmt.Errorf("%s: got rows of %d x %d, want square ones, or it ahead or resized", c.name, out.H, out.W)
		}
	}
	if r := cfg.Rotation; r != nil {
		if err := checkWarp("rotation", r.Interpolation, cfg.Mode); err != nil {
			return err
		}
		if err := r.Center.check("rotation"); err != nil {
			return err
		}
		if err := ordered("rotation: degrees", r.Degrees, -MaxDegrees, MaxDegrees); err != nil {
			return err
		}
	}
	if p := cfg.Perspective; p != nil {
		if err := checkWarp("perspective", p.Interpolation, cfg.Mode); err != nil {
			return err
		}
		if !(p.Scale >= 0 && p.Scale <= 1) {
			return fmt.Errorf("perspective: got scale %v, want 0 to 1", p.Scale)
		}
	}
	if z := cfg.ZoomOut; z != nil {
		if err := ordered("zoom out: sides", z.Sides, 1, MaxZoomOut); err != nil {
			return err
		}
	}
	if err := cfg.IoUCrop.check(); err != nil {
		return err
	}
	if err := cfg.Elastic.check(cfg.Mode, cfg.known()); err != nil {
		return err
	}
	if err := cfg.CV2Affine.check(cfg.Mode); err != nil {
		return err
	}
	if err := cfg.checkMaps(); err != nil {
		return err
	}
	return cfg.Affine.check(cfg.Mode)
}

// reach is how far the blur of an elastic map goes to either side, in pixels.
func reach(sigma float64) int {
	if sigma == 0 {
		return 0
	}
	return (int(8*sigma+1) | 1) / 2
}

func (e *Elastic) check(mode Mode, out Size) error {
	if e == nil {
		return nil
	}
	if err := checkWarp("elastic", e.Interpolation, mode); err != nil {
		return err
	}
	switch {
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

func (a *Affine) check(mode Mode) error {
	if a == nil {
		return nil
	}
	if err := checkWarp("affine", a.Interpolation, mode); err != nil {
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

func checkWarp(name string, by Interpolation, mode Mode) error {
	switch {
	case !by.warps():
		return fmt.Errorf("%s: want interpolation nearest, bilinear or bicubic", name)
	case by != Nearest && mode == Index:
		return fmt.Errorf("%s: want interpolation nearest with mode index, as others mix numbers of classes", name)
	}
	return nil
}

func ordered(name string, got [2]float64, least, most float64) error {
	if !(got[0] >= least && got[0] <= got[1] && got[1] <= most) {
		return fmt.Errorf("%s: got %v, want %v <= smallest <= largest <= %v", name, got, least, most)
	}
	return nil
}
