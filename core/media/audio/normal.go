package audio

/*
#include "effects.h"
*/
import "C"

import "math"

// cmvnFloor is the least variance that a bin is divided by the root of.
const cmvnFloor = 1e-10

func standardize(x []float32, minus, by float64) {
	C.audio_standardize(floats(x), C.size_t(len(x)), C.double(minus), C.double(by))
}

// normalize brings features, [channels, bins, steps], to the scale that is asked for.
func (f *features) normalize(x []float32, channels, steps int) {
	bins := f.cfg.bins()
	for line := range channels * bins {
		bin := x[line*steps : (line+1)*steps]
		switch {
		case f.cfg.CMVN != NoCMVN:
			minus, by := f.cfg.CMVN.of(bin)
			standardize(bin, minus, by)
		case len(f.cfg.Mean) > 0:
			b := line % bins
			standardize(bin, f.cfg.Mean[b%len(f.cfg.Mean)], 1/f.cfg.Std[b%len(f.cfg.Std)])
		}
	}
}

// of is what is taken off a bin, and what the rest is multiplied by.
func (c CMVN) of(bin []float32) (minus, by float64) {
	n := C.size_t(len(bin))
	mean := float64(C.audio_sum(floats(bin), n)) / float64(len(bin))
	if c == Mean {
		return mean, 1
	}
	variance := float64(C.audio_deviation(floats(bin), n, C.double(mean))) / float64(len(bin))
	return mean, 1 / math.Sqrt(max(variance, cmvnFloor))
}
