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

// Shuffle is albumentations' RandomGridShuffle: with probability P the tiles of a grid change places with others of their size.
type Shuffle struct {
	P    float64
	Grid [2]int // down and across, 1 to MaxSteps, and no more than the row's height and width
}

// MaxSteps bounds GridDistortion's Steps and Shuffle's Grid.
const MaxSteps = C.MEDIA_MAX_STEPS

func (p *CV2Perspective) fill(op *C.media_op) {
	if p == nil {
		return
	}
	op.cv2_perspective_p, op.cv2_perspective_scale = C.double(p.P), cRange(p.Scale)
	op.cv2_perspective_filter, op.cv2_perspective_border, op.cv2_perspective_fill = C.uint32_t(p.Interpolation), C.uint32_t(p.Padding), p.Fill.c()
}

func (o *Optical) fill(op *C.media_op) {
	if o == nil {
		return
	}
	op.optical_p, op.optical_limit = C.double(o.P), cRange(o.Limit)
	op.optical_filter, op.optical_border, op.optical_fill = C.uint32_t(o.Interpolation), C.uint32_t(o.Padding), o.Fill.c()
}

func (g *GridDistortion) fill(op *C.media_op) {
	if g == nil {
		return
	}
	op.grid_p, op.grid_limit = C.double(g.P), cRange(g.Limit)
	op.grid_steps, op.grid_normalized = C.uint32_t(g.Steps), flag(g.Normalized)
	op.grid_filter, op.grid_border, op.grid_fill = C.uint32_t(g.Interpolation), C.uint32_t(g.Padding), g.Fill.c()
}

func (s *Shuffle) fill(op *C.media_op) {
	if s != nil {
		op.shuffle_p, op.shuffle_grid = C.double(s.P), [2]C.uint32_t{C.uint32_t(s.Grid[0]), C.uint32_t(s.Grid[1])}
	}
}

func (s *Shuffle) check(out Size) error {
	if s == nil {
		return nil
	}
	if g := s.Grid; min(g[0], g[1]) < 1 || max(g[0], g[1]) > MaxSteps || g[0] > out.H || g[1] > out.W {
		return fmt.Errorf("shuffle: got a grid of %d x %d for rows of %d x %d, want 1 to %d down and across, and tiles of a pixel or more", g[0], g[1], out.H, out.W, MaxSteps)
	}
	return nil
}

func (b *Bent) check(name string, by [2]float64, least float64, mode Mode) error {
	switch {
	case b.Interpolation != CV2Nearest && b.Interpolation != CV2Linear:
		return fmt.Errorf("%s: want interpolation cv2_nearest or cv2_linear", name)
	case b.Interpolation != CV2Nearest && mode == Index:
		return fmt.Errorf("%s: want interpolation cv2_nearest with mode index, as cv2_linear mixes numbers of classes", name)
	case b.Padding > Symmetric:
		return fmt.Errorf("%s: padding: %d is not one of the named values", name, b.Padding)
	}
	return ordered(name, by, least, 1)
}

// checkMaps wants numbers in range, and a grid whose cells have pixels.
func (cfg *Config) checkMaps() error {
	if p := cfg.CV2Perspective; p != nil {
		if err := p.check("OpenCV's perspective", p.Scale, 0, cfg.Mode); err != nil {
			return err
		}
	}
	if o := cfg.Optical; o != nil {
		if err := o.check("optical", o.Limit, -1, cfg.Mode); err != nil {
			return err
		}
	}
	if err := cfg.Shuffle.check(cfg.known()); err != nil {
		return err
	}
	g := cfg.Grid
	if g == nil {
		return nil
	}
	if out := cfg.known(); g.Steps < 1 || g.Steps > MaxSteps || g.Steps > min(out.H, out.W) {
		return fmt.Errorf("grid: got %d steps for rows of %d x %d, want 1 to %d, and no more than the shorter side", g.Steps, out.H, out.W, MaxSteps)
	}
	return g.check("grid", g.Limit, -1, cfg.Mode)
}
