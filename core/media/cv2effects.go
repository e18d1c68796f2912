package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// Effect is albumentations' Sharpen or Emboss: with probability P a kernel of 3 x 3 that is the picture's own pixel and a share of an effect, Alpha, which is
// stronger By a number; each is drawn between two.
type Effect struct {
	P     float64
	Alpha [2]float64 // 0 to 1
	By    [2]float64 // 0 to MaxEffect: Sharpen's lightness, Emboss's strength
}

// MaxEffect bounds Effect's By.
const MaxEffect = 100

// ToneCurve is albumentations' RandomToneCurve: with probability P values go by a curve of Bezier's whose two points in the middle are moved by normal numbers
// times Scale, of each channel by others or of all by the same.
type ToneCurve struct {
	P, Scale float64 // Scale: 0 to 1
	Each     bool
}

// DropChannels is albumentations' ChannelDropout: with probability P as many channels as are drawn between two numbers become Fill.
type DropChannels struct {
	P     float64
	Count [2]int // 1 to 2, of three
	Fill  uint8
}

// cv2Effects fills in what the kernel knows of them.
func (cfg *Config) cv2Effects(op *C.media_op) {
	if e := cfg.Sharpen; e != nil {
		op.sharpen_p, op.sharpen_alpha, op.sharpen_lightness = C.double(e.P), cRange(e.Alpha), cRange(e.By)
	}
	if e := cfg.Emboss; e != nil {
		op.emboss_p, op.emboss_alpha, op.emboss_strength = C.double(e.P), cRange(e.Alpha), cRange(e.By)
	}
	if t := cfg.ToneCurve; t != nil {
		op.tone_curve_p, op.tone_curve_scale, op.tone_curve_each = C.double(t.P), C.double(t.Scale), flag(t.Each)
	}
	if d := cfg.DropChannels; d != nil {
		op.drop_channels_p, op.drop_fill = C.double(d.P), C.uint32_t(d.Fill)
		op.drop_channels = [2]C.uint32_t{C.uint32_t(d.Count[0]), C.uint32_t(d.Count[1])}
	}
	op.sepia_p, op.cv2_equalize_p = C.double(cfg.Sepia), C.double(cfg.CV2Equalize)
}

type effect struct {
	name string
	*Effect
}

// effects are those that are kernels.
func (cfg *Config) effects() []effect {
	return []effect{{"sharpen", cfg.Sharpen}, {"emboss", cfg.Emboss}}
}

// cv2EffectChances are their probabilities.
func (cfg *Config) cv2EffectChances() []chance {
	all := []chance{{"sepia", cfg.Sepia}, {"OpenCV's equalize", cfg.CV2Equalize}}
	for _, e := range cfg.effects() {
		if e.Effect != nil {
			all = append(all, chance{e.name, e.P})
		}
	}
	if cfg.ToneCurve != nil {
		all = append(all, chance{"tone curve", cfg.ToneCurve.P})
	}
	if cfg.DropChannels != nil {
		all = append(all, chance{"drop channels", cfg.DropChannels.P})
	}
	return all
}

// checkCV2Effects wants numbers in range, and colours where they change.
func (cfg *Config) checkCV2Effects() error {
	for _, e := range cfg.effects() {
		if e.Effect == nil {
			continue
		}
		if err := ordered(e.name+": alpha", e.Alpha, 0, 1); err != nil {
			return err
		}
		if err := ordered(e.name, e.By, 0, MaxEffect); err != nil {
			return err
		}
	}
	if t := cfg.ToneCurve; t != nil && !(t.Scale >= 0 && t.Scale <= 1) {
		return fmt.Errorf("tone curve: got scale %v, want 0 to 1", t.Scale)
	}
	if (cfg.Sepia > 0 || cfg.DropChannels != nil) && cfg.Mode != RGB {
		return fmt.Errorf("sepia, drop channels: want mode RGB, as grey has one channel")
	}
	if d := cfg.DropChannels; d != nil && !(1 <= d.Count[0] && d.Count[0] <= d.Count[1] && d.Count[1] <= 2) {
		return fmt.Errorf("drop channels: got %v, want 1 <= fewest <= most <= 2, of three", d.Count)
	}
	return nil
}
