package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// Shifts are what is added to the three numbers of a pixel with probability P, each drawn between two and then without what is behind the point.
type Shifts struct {
	P  float64
	By [3][2]float64
}

// MaxShift bounds Shifts.
const MaxShift = 255

// cv2Colours fills in what the kernel knows of them.
func (cfg *Config) cv2Colours(op *C.media_op) {
	if s := cfg.HSV; s != nil {
		op.hsv_p, op.hsv = C.double(s.P), s.c()
	}
	if s := cfg.RGBShift; s != nil {
		op.rgb_shift_p, op.rgb_shift = C.double(s.P), s.c()
	}
	if j := cfg.CV2Jitter; j != nil {
		op.cv2_jitter_p, op.cv2_jitter = C.double(j.P), j.factors()
	}
}

func (s *Shifts) c() (by [3][2]C.double) {
	for i, r := range s.By {
		by[i] = cRange(r)
	}
	return by
}

func cRange(r [2]float64) [2]C.double { return [2]C.double{C.double(r[0]), C.double(r[1])} }

// cv2ColourChances are their probabilities.
func (cfg *Config) cv2ColourChances() (all []chance) {
	if cfg.HSV != nil {
		all = append(all, chance{"shift of HSV", cfg.HSV.P})
	}
	if cfg.RGBShift != nil {
		all = append(all, chance{"shift of RGB", cfg.RGBShift.P})
	}
	if cfg.CV2Jitter != nil {
		all = append(all, chance{"OpenCV's jitter", cfg.CV2Jitter.P})
	}
	return all
}

// checkCV2Colours wants numbers in range, and colours where they change.
func (cfg *Config) checkCV2Colours() error {
	for _, s := range []struct {
		name string
		*Shifts
	}{{"shift of HSV", cfg.HSV}, {"shift of RGB", cfg.RGBShift}} {
		if s.Shifts == nil {
			continue
		}
		if cfg.Mode != RGB {
			return fmt.Errorf("%s: want mode RGB", s.name)
		}
		for _, by := range s.By {
			if err := ordered(s.name, by, -MaxShift, MaxShift); err != nil {
				return err
			}
		}
	}
	j := cfg.CV2Jitter
	if j != nil && (j.Saturation != nil || j.Hue != nil) && cfg.Mode != RGB {
		return fmt.Errorf("OpenCV's jitter: saturation and hue want mode RGB, as grey has neither")
	}
	return j.check("OpenCV's jitter")
}
