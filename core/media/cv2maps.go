package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// Bent is how pixels are taken from where a map has them.
type Bent struct {
	Interpolation Interpolation // CV2Nearest or CV2Linear
	Padding       Padding
	Fill          Fill // of Constant
}

// CV2Perspective is albumentations' Perspective, by cv2.warpPerspective: with probability P the row, or a picture ahead of its crop, is seen from aside. Its corners
// move inwards by normal numbers times one of Scale, as shares of its sides.
type CV2Perspective struct {
	P     float64
	Scale [2]float64 // 0 to 1
	Bent
}

// Optical is albumentations' OpticalDistortion by a camera: with probability P a lens bends the row by a number between two, outwards below 0.
type Optical struct {
	P     float64
	Limit [2]float64 // -1 to 1
	Bent
}

// GridDistortion is albumentations': with probability P the row's columns are stretched and squeezed in Steps parts, each by 1 and a number between two, and
// its lines, too. Normalized: so that all of it is there, and nothing beyond.
type GridDistortion struct {
	P          float64
	Steps      int        // 1 to MaxSteps, and no more than the row's shorter side
	Limit      [2]float64 // -1 to 1
	Normalized bool
	Bent
}

// Piecewise is albumentations' PiecewiseAffine: with probability P the points of a grid move by normal numbers, times one of Scale over 3, and each pixel goes with
// those that are near.
type Piecewise struct {
	P             float64
	Scale         [2]float64 // shares of the shorter side, 0 to 1, or pixels, 0 to MaxAlpha
	Rows, Columns [2]int     // of the grid, 2 to MaxSteps, and together MaxPoints at most
	Pixels        bool
	Interpolation Interpolation // CV2Nearest or CV2Linear
}

// MaxPoints bounds the points of Piecewise.
const MaxPoints = C.MEDIA_MAX_POINTS

// CV2Elastic is albumentations' ElasticTransform: with probability P the row is of rubber. Numbers of each pixel along x and y, normal ones over the largest or, with
// Uniform, of -1 to 1, blurred by Sigma, times Alpha, say how far beside its place it is taken from.
type CV2Elastic struct {
	P           float64
	Alpha       float64 // pixels, 0 to MaxAlpha
	Sigma       float64 // 1 to MaxCV2ElasticSigma
	Approximate bool    // the blur has 17 taps, not 4 Sigma to either side
	Same        bool    // along y as along x
	Uniform     bool
	Bent
}

// MaxCV2ElasticSigma bounds CV2Elastic's.
const MaxCV2ElasticSigma = (C.MEDIA_MAX_TAPS - 1) / 8

// Shuffle is albumentations' RandomGridShuffle: with probability P the tiles of a grid change places with others of their size.
type Shuffle struct {
	P    float64
	Grid [2]int // down and across, 1 to MaxSteps, and no more than the row's height and width
}

// MaxSteps bounds GridDistortion's Steps and Shuffle's Grid.
const MaxSteps = C.MEDIA_MAX_STEPS

func (b Bent) c() C.media_taken {
	return C.media_taken{filter: C.uint32_t(b.Interpolation), border: C.uint32_t(b.Padding), fill: b.Fill.c()}
}

func (b Bent) check(name string, mode Mode) error {
	switch {
	case b.Interpolation != CV2Nearest && b.Interpolation != CV2Linear:
		return fmt.Errorf("%s: want interpolation cv2_nearest or cv2_linear", name)
	case b.Interpolation != CV2Nearest && mode == Index:
		return fmt.Errorf("%s: want interpolation cv2_nearest with mode index, as cv2_linear mixes numbers of classes", name)
	case b.Padding > Symmetric:
		return fmt.Errorf("%s: padding: %d is not one of the named values", name, b.Padding)
	}
	return nil
}

func (p *CV2Perspective) kind() C.uint32_t { return C.MEDIA_DO_CV2_PERSPECTIVE }

func (p *CV2Perspective) fill(to *C.media_step) {
	to.p = C.double(p.P)
	*own[C.media_cv2_perspective_step](to) = C.media_cv2_perspective_step{scale: cRange(p.Scale), by: p.c()}
}

func (p *CV2Perspective) check(in place) error {
	if err := p.Bent.check("OpenCV's perspective", in.Mode); err != nil {
		return err
	}
	return ordered("OpenCV's perspective", p.Scale, 0, 1)
}

func (o *Optical) kind() C.uint32_t { return C.MEDIA_DO_OPTICAL }

func (o *Optical) fill(to *C.media_step) {
	to.p = C.double(o.P)
	*own[C.media_optical_step](to) = C.media_optical_step{limit: cRange(o.Limit), by: o.c()}
}

func (o *Optical) check(in place) error {
	if err := o.Bent.check("optical", in.Mode); err != nil {
		return err
	}
	return ordered("optical", o.Limit, -1, 1)
}

func (g *GridDistortion) kind() C.uint32_t { return C.MEDIA_DO_GRID }

func (g *GridDistortion) fill(to *C.media_step) {
	to.p = C.double(g.P)
	*own[C.media_grid_step](to) = C.media_grid_step{limit: cRange(g.Limit), steps: C.uint32_t(g.Steps), normalized: flag(g.Normalized), by: g.c()}
}

func (g *GridDistortion) least() int { return g.Steps }

// check wants a grid whose cells have pixels.
func (g *GridDistortion) check(in place) error {
	if out := in.known(); g.Steps < 1 || g.Steps > MaxSteps || g.Steps > min(out.H, out.W) {
		return fmt.Errorf("grid: got %d steps for rows of %d x %d, want 1 to %d, and no more than the shorter side", g.Steps, out.H, out.W, MaxSteps)
	}
	if err := g.Bent.check("grid", in.Mode); err != nil {
		return err
	}
	return ordered("grid", g.Limit, -1, 1)
}

func (p *Piecewise) kind() C.uint32_t { return C.MEDIA_DO_PIECEWISE }

func (p *Piecewise) fill(to *C.media_step) {
	to.p = C.double(p.P)
	*own[C.media_piecewise_step](to) = C.media_piecewise_step{
		scale: cRange(p.Scale), rows: cPair(p.Rows), columns: cPair(p.Columns), pixels: flag(p.Pixels), by: Bent{Interpolation: p.Interpolation}.c(),
	}
}

func (p *Piecewise) check(in place) error {
	for _, side := range [][2]int{p.Rows, p.Columns} {
		if side[0] < 2 || side[1] > MaxSteps || side[0] > side[1] {
			return fmt.Errorf("piecewise: got %d to %d rows or columns, want 2 to %d", side[0], side[1], MaxSteps)
		}
	}
	if p.Rows[1]*p.Columns[1] > MaxPoints {
		return fmt.Errorf("piecewise: got up to %d x %d points, want at most %d", p.Rows[1], p.Columns[1], MaxPoints)
	}
	if err := (Bent{Interpolation: p.Interpolation}).check("piecewise", in.Mode); err != nil {
		return err
	}
	most := 1.0
	if p.Pixels {
		most = MaxAlpha
	}
	return ordered("piecewise", p.Scale, 0, most)
}

func (e *CV2Elastic) kind() C.uint32_t { return C.MEDIA_DO_CV2_ELASTIC }

func (e *CV2Elastic) fill(to *C.media_step) {
	to.p = C.double(e.P)
	*own[C.media_cv2_elastic_step](to) = C.media_cv2_elastic_step{
		alpha: C.double(e.Alpha), sigma: C.double(e.Sigma), approximate: flag(e.Approximate), same: flag(e.Same), uniform: flag(e.Uniform), by: e.c(),
	}
}

func (e *CV2Elastic) check(in place) error {
	switch {
	case !(e.Alpha >= 0 && e.Alpha <= MaxAlpha):
		return fmt.Errorf("OpenCV's elastic: got alpha %v, want 0 to %v", e.Alpha, MaxAlpha)
	case !(e.Sigma >= 1 && e.Sigma <= MaxCV2ElasticSigma):
		return fmt.Errorf("OpenCV's elastic: got sigma %v, want 1 to %v", e.Sigma, MaxCV2ElasticSigma)
	}
	return e.Bent.check("OpenCV's elastic", in.Mode)
}

func (s *Shuffle) kind() C.uint32_t { return C.MEDIA_DO_SHUFFLE }

func (s *Shuffle) fill(to *C.media_step) {
	to.p = C.double(s.P)
	own[C.media_shuffle_step](to).grid = cPair(s.Grid)
}

func (s *Shuffle) least() int { return max(s.Grid[0], s.Grid[1]) }

func (s *Shuffle) check(in place) error {
	out := in.known()
	if g := s.Grid; min(g[0], g[1]) < 1 || max(g[0], g[1]) > MaxSteps || g[0] > out.H || g[1] > out.W {
		return fmt.Errorf("shuffle: got a grid of %d x %d for rows of %d x %d, want 1 to %d down and across, and tiles of a pixel or more", g[0], g[1], out.H, out.W, MaxSteps)
	}
	return nil
}
