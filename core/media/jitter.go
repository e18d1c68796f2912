package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// MaxFactor bounds brightness, contrast and saturation.
const MaxFactor = 1000

// Jitter is torchvision's ColorJitter on a PIL image: what is not nil is applied, in an order that is drawn, each by a
// factor drawn between two numbers. 1 leaves brightness, contrast and saturation as they are, 0 the hue, which goes once
// around from -0.5 to 0.5.
type Jitter struct {
	P                                     float64 // probability that it happens at all
	Brightness, Contrast, Saturation, Hue *[2]float64
}

func (cfg *Config) colours(op *C.media_op) {
	op.gray_p, op.permute_p = C.double(cfg.Grayscale), C.double(cfg.Permute)
	if j := cfg.Jitter; j != nil {
		op.jitter_p, op.jitter = C.double(j.P), j.factors()
	}
	if j := cfg.Distort; j != nil {
		op.distort_p, op.distort = C.double(j.P), j.factors()
	}
}

func (j *Jitter) factors() (all [C.MEDIA_JITTERS]C.media_factor) {
	for i, f := range []*[2]float64{j.Brightness, j.Contrast, j.Saturation, j.Hue} {
		if f != nil {
			all[i] = C.media_factor{on: 1, low: C.double(f[0]), high: C.double(f[1])}
		}
	}
	return all
}

// checkColours wants factors in range, and colours where they change.
func (cfg *Config) checkColours() error {
	if cfg.Grayscale > 0 && cfg.Mode != RGB {
		return fmt.Errorf("grayscale: want mode RGB")
	}
	if (cfg.Permute > 0 || cfg.Distort != nil) && cfg.Mode != RGB {
		return fmt.Errorf("distort, permute: want mode RGB, as grey has one channel")
	}
	if err := cfg.Distort.check("distort"); err != nil {
		return err
	}
	j := cfg.Jitter
	if j == nil {
		return nil
	}
	if cfg.Mode == Index {
		return fmt.Errorf("mode index: want no jitter, as numbers of classes are no colours")
	}
	if (j.Saturation != nil || j.Hue != nil) && cfg.Mode != RGB {
		return fmt.Errorf("jitter: saturation and hue want mode RGB, as grey has neither")
	}
	return j.check("jitter")
}

// check wants factors in range.
func (j *Jitter) check(name string) error {
	if j == nil {
		return nil
	}
	names := []string{"brightness", "contrast", "saturation", "hue"}
	for i, f := range []*[2]float64{j.Brightness, j.Contrast, j.Saturation, j.Hue} {
		least, most := 0.0, float64(MaxFactor)
		if i == 3 {
			least, most = -0.5, 0.5
		}
		if f != nil && !(f[0] >= least && f[0] <= f[1] && f[1] <= most) {
			return fmt.Errorf("%s: got %s %v, want %v <= smallest <= largest <= %v", name, names[i], *f, least, most)
		}
	}
	return nil
}
