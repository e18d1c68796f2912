package audio

/*
#include "effects.h"
*/
import "C"

import "math"

// Mask is SpecAugment's (Park et al., 2019), in the words of torchaudio.functional.mask_along_axis: it is u * Param long, u drawn from [0, 1),
// and begins at v * (size - u * Param), both rounded down, of an axis of that size: a bin, or a step that the row really has.
type Mask struct {
	Param int
	Count int     // of masks, each drawn for itself
	P     float64 // of a time mask: Param is at most this share of the steps, rounded down
	IID   bool    // channels have masks of their own
}

// MaxMasks bounds a Mask's Count.
const MaxMasks = 64

func (f *Features) checkMasks() error {
	if m := f.FrequencyMask; m != nil {
		if m.Param < 1 || m.Param > f.bins() {
			return wrong("features.frequency_mask.freq_mask_param", "got %d, want 1 to the number of bins, %d", m.Param, f.bins())
		}
		if err := m.check("features.frequency_mask"); err != nil {
			return err
		}
	}
	if m := f.TimeMask; m != nil {
		if m.Param < 1 {
			return wrong("features.time_mask.time_mask_param", "got %d, want 1 or more", m.Param)
		}
		if !(m.P >= 0 && m.P <= 1) {
			return wrong("features.time_mask.p", "got %v, want 0 to 1", m.P)
		}
		if err := m.check("features.time_mask"); err != nil {
			return err
		}
	}
	if v := f.MaskValue; math.IsNaN(v) || math.IsInf(v, 0) || f.MaskMean && v != 0 {
		return wrong("features.mask_value", "got %v, want a finite number, or the mean alone", v)
	}
	return nil
}

func (m *Mask) check(key string) error {
	if m.Count < 1 || m.Count > MaxMasks {
		return wrong(key+".count", "got %d, want 1 to %d", m.Count, MaxMasks)
	}
	return nil
}

// checkTimeMask is checkMasks for rows of so many frames; 0: they have no bound.
func (f *Features) checkTimeMask(frames int64) error {
	if steps := f.steps(frames); frames > 0 && f.TimeMask != nil && int64(f.TimeMask.Param) > steps {
		return wrong("features.time_mask.time_mask_param", "got %d, want 1 to the number of a row's steps, %d", f.TimeMask.Param, steps)
	}
	return nil
}

// FitTimeMask makes the longest time mask no longer than a row of Length, where that is not asked for but what a sound has.
func (cfg *Config) FitTimeMask() {
	if cfg.Features == nil || cfg.Features.TimeMask == nil {
		return
	}
	f, m := *cfg.Features, *cfg.Features.TimeMask
	full := f.withDefaults(cfg.Rate)
	m.Param = min(m.Param, max(1, int(full.steps(int64(cfg.Length)))))
	f.TimeMask = &m
	cfg.Features = &f
}

// mask covers parts of features, [channels, bins, steps], of which held steps are the row's own.
func (f *features) mask(x []float32, channels, steps, held int, draw Draw) {
	if f.cfg.FrequencyMask == nil && f.cfg.TimeMask == nil {
		return
	}
	bins := f.cfg.bins()
	value := float32(f.cfg.MaskValue)
	if f.cfg.MaskMean {
		value = meanOf(x, channels*bins, steps, held)
	}
	if m := f.cfg.TimeMask; m != nil {
		param := min(m.Param, held)
		if m.P < 1 {
			param = min(param, int(float64(held)*m.P))
		}
		m.each(draw, drawTimeMask, param, held, channels, func(channel, first, end int) {
			for bin := range bins {
				fill(x[(channel*bins+bin)*steps:][first:end], value)
			}
		})
	}
	if m := f.cfg.FrequencyMask; m != nil {
		m.each(draw, drawFrequencyMask, m.Param, bins, channels, func(channel, first, end int) {
			for bin := first; bin < end; bin++ {
				fill(x[(channel*bins+bin)*steps:][:held], value)
			}
		})
	}
}

// each calls cover with every mask of every channel. Mask i of channel c has block MaxMasks * c + i of its operation; that of channel 0 is
// the others', too, unless they have their own.
func (m *Mask) each(draw Draw, op uint32, param, size, channels int, cover func(channel, first, end int)) {
	for c := range channels {
		for i := range m.Count {
			block := i
			if m.IID {
				block += MaxMasks * c
			}
			u, v := draw.uniforms(op, uint32(block))
			width := u * float64(param)
			first := int(v * (float64(size) - width))
			cover(c, first, first+int(width))
		}
	}
}

func fill(x []float32, value float32) {
	for i := range x {
		x[i] = value
	}
}

// meanOf is the mean of the first held of each of so many lines, which are steps apart.
func meanOf(x []float32, lines, steps, held int) float32 {
	sum := 0.0
	for l := range lines {
		sum += float64(C.audio_sum(floats(x[l*steps:]), C.size_t(held)))
	}
	return float32(sum / float64(lines*held))
}
