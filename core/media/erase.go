package media

/*
#include "row.h"
*/
import "C"

import (
	"fmt"
	"math"
)

// MaxErased bounds what a part of a row of floats may become.
const MaxErased = 10000

// Erase is torchvision's RandomErasing: with probability P a part of the finished row, of Scale of its area and Ratio of height to width,
// becomes Value, or Noise.
type Erase struct {
	P     float64
	Scale [2]float64 // zero: 0.02 to 0.33
	Ratio [2]float64 // zero: 0.3 to 3.3
	Value []float64  // in the row's own units, one a channel or one for all; nil: 0
	Noise bool       // standard normal numbers instead
	Parts *Parts     // in the place of the one part that Scale and Ratio say, albumentations' CoarseDropout's
}

// Parts are some of a row, which may lie on each other.
type Parts struct {
	Count         [2]int // 0 to MaxHoles; of Erase the most is 1 and more
	Height, Width [2]float64
	Pixels        bool // no shares of the row's sides, but whole pixels
}

// MaxHoles bounds Parts' Count.
const MaxHoles = C.MEDIA_MAX_HOLES

func (p *Parts) check(name string) error {
	if n := p.Count; n[0] < 0 || n[0] > n[1] || n[1] > MaxHoles {
		return fmt.Errorf("%s: got %v, want 0 <= fewest <= most <= %d", name, n, MaxHoles)
	}
	most := 1.0
	if p.Pixels {
		most = MaxSide
	}
	if err := ordered(name+": height", p.Height, 0, most); err != nil {
		return err
	}
	return ordered(name+": width", p.Width, 0, most)
}

func (p *Parts) c() C.media_holes_step {
	return C.media_holes_step{n: cPair(p.Count), height: cRange(p.Height), width: cRange(p.Width), pixels: flag(p.Pixels)}
}

func (e *Erase) ranges() (scale, ratio [2]float64) {
	scale, ratio = e.Scale, e.Ratio
	if scale == ([2]float64{}) {
		scale = [2]float64{0.02, 0.33}
	}
	if ratio == ([2]float64{}) {
		ratio = [2]float64{0.3, 3.3}
	}
	return scale, ratio
}

func (e *Erase) fill(op *C.media_op) {
	if e == nil {
		return
	}
	scale, ratio := e.ranges()
	op.erase_p, op.erase_noise = C.double(e.P), flag(e.Noise)
	op.erase_scale_min, op.erase_scale_max = C.double(scale[0]), C.double(scale[1])
	op.erase_ratio_min, op.erase_ratio_max = C.double(ratio[0]), C.double(ratio[1])
	if e.Parts != nil {
		op.erase_holes = e.Parts.c()
	}
	for ch := range op.erase_value {
		if n := len(e.Value); n > 0 {
			op.erase_value[ch] = C.float(e.Value[ch%n])
		}
	}
}

func (cfg *Config) checkErase() error {
	e := cfg.Erase
	if e == nil {
		return nil
	}
	scale, ratio := e.ranges()
	if !(e.P >= 0 && e.P <= 1) {
		return fmt.Errorf("erase: got probability %v, want 0 to 1", e.P)
	}
	if !(scale[0] >= 0 && scale[0] <= scale[1] && scale[1] <= 1) {
		return fmt.Errorf("erase: got scale %v, want 0 <= smallest <= largest <= 1", scale)
	}
	if err := ordered("erase: ratio", ratio, 1e-3, 1e3); err != nil {
		return err
	}
	if e.Parts != nil {
		if err := e.Parts.check("erase: parts"); err != nil {
			return err
		}
		if e.Parts.Count[1] == 0 {
			return fmt.Errorf("erase: parts: got at most 0, want 1 or more")
		}
	}
	switch n := len(e.Value); {
	case cfg.Mode == Index && e.P > 0:
		return fmt.Errorf("mode index: want no erasing, as what is put there would be the number of a class")
	case e.Noise && cfg.DType == U8:
		return fmt.Errorf("erase: noise is of floats, got dtype u8")
	case e.Noise && e.Parts != nil:
		return fmt.Errorf("erase: got noise and parts, want one part of it")
	case e.Noise && n > 0:
		return fmt.Errorf("erase: got a value beside noise, want one of them")
	case n > 1 && n != cfg.channels():
		return fmt.Errorf("erase: got %d values, want 1 or %d", n, cfg.channels())
	}
	for _, v := range e.Value {
		if !(math.Abs(v) <= MaxErased) {
			return fmt.Errorf("erase: got value %v, want -%d to %d", v, MaxErased, MaxErased)
		}
		if cfg.DType == U8 && !(v >= 0 && v <= 255 && v == math.Trunc(v)) {
			return fmt.Errorf("erase: got value %v, want a whole number from 0 to 255 of dtype u8", v)
		}
	}
	return nil
}
