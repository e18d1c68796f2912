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

// GridHoles are albumentations' GridDropout: with probability P a hole in each cell of a grid becomes Fill, whose sides are Ratio of the cell's, cut, but one pixel or
// more, and less than the cell.
type GridHoles struct {
	P, Ratio float64 // Ratio: above 0, to 1
	Cells    [2]int  // down and across, 1 to MaxSide; zeros: by Unit
	Unit     [2]int  // the sides of a cell are a number between two, 2 to MaxSide; zeros: a tenth of the row's, or 2
	Anywhere bool    // in its cell; else moved by Shift, across and down, 0 to MaxSide, as far as it stays in the row
	Shift    [2]int
	Fill     Fill
}

// Specks are albumentations' PixelDropout: with probability P each pixel, or each value of it by itself, becomes Fill with a chance of Share.
type Specks struct {
	P, Share float64
	Each     bool
	Fill     Fill
}

// Downscale is albumentations', by the nearest pixel: with probability P the row is made smaller by a number between two, and as large as it was.
type Downscale struct {
	P     float64
	Scale [2]float64 // MinScale to 1
}

// Morph is albumentations' Morphological: with probability P each value becomes the largest of its channel around it, as far as an ellipse reaches, or the smallest
// (Erode).
type Morph struct {
	P     float64
	Erode bool
	Size  [2]int // the ellipse's width and height, 1 to MaxKernel
}

// ISO is albumentations' ISONoise: with probability P the hue gets normal numbers, and the lightness Poisson's, as of a camera at an Intensity between two; Shift is how
// much of that the hue has.
type ISO struct {
	P         float64
	Shift     [2]float64 // 0 to 1
	Intensity [2]float64 // 0 to MaxIntensity
}

// MaxIntensity bounds ISO's Intensity.
const MaxIntensity = 10

// Multiply is albumentations' MultiplicativeNoise: with probability P values are multiplied by numbers between two: all by one, those of each channel by another
// (Each), those of each pixel (Elements), or each by its own (both).
type Multiply struct {
	P              float64
	By             [2]float64 // 0 to MaxFactor
	Each, Elements bool
}

func (g *GridHoles) fill(op *C.media_op) {
	if g == nil {
		return
	}
	pair := func(n [2]int) [2]C.uint32_t { return [2]C.uint32_t{C.uint32_t(n[0]), C.uint32_t(n[1])} }
	op.grid_holes_p, op.grid_holes_ratio, op.grid_holes_fill = C.double(g.P), C.double(g.Ratio), g.Fill.c()
	op.grid_holes_cells, op.grid_holes_unit, op.grid_holes_shift, op.grid_holes_anywhere = pair(g.Cells), pair(g.Unit), pair(g.Shift), flag(g.Anywhere)
}

func (g *GridHoles) check() error {
	if g == nil {
		return nil
	}
	within := func(n [2]int, least int) bool { return n[0] >= least && n[1] >= least && max(n[0], n[1]) <= MaxSide }
	switch {
	case !(g.Ratio > 0 && g.Ratio <= 1):
		return fmt.Errorf("grid holes: got ratio %v, want above 0, to 1", g.Ratio)
	case g.Cells != [2]int{} && (!within(g.Cells, 1) || g.Unit != [2]int{}):
		return fmt.Errorf("grid holes: got %v cells beside unit %v, want 1 to %d, or zeros, of one of them", g.Cells, g.Unit, MaxSide)
	case g.Unit != [2]int{} && (!within(g.Unit, 2) || g.Unit[0] > g.Unit[1]):
		return fmt.Errorf("grid holes: got unit %v, want 2 <= smallest <= largest <= %d", g.Unit, MaxSide)
	case !within(g.Shift, 0):
		return fmt.Errorf("grid holes: got shift %v, want 0 to %d", g.Shift, MaxSide)
	}
	return nil
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
	if s := cfg.Specks; s != nil {
		op.specks_p, op.specks_share, op.specks_each, op.specks_fill = C.double(s.P), C.double(s.Share), flag(s.Each), s.Fill.c()
	}
	if d := cfg.Downscale; d != nil {
		op.downscale_p, op.downscale_scale = C.double(d.P), cRange(d.Scale)
	}
	if m := cfg.Multiply; m != nil {
		op.multiply_p, op.multiply_by, op.multiply_each, op.multiply_elements = C.double(m.P), cRange(m.By), flag(m.Each), flag(m.Elements)
	}
	if m := cfg.Morph; m != nil {
		op.morph_p, op.morph_erodes, op.morph_size = C.double(m.P), flag(m.Erode), [2]C.uint32_t{C.uint32_t(m.Size[0]), C.uint32_t(m.Size[1])}
	}
	if n := cfg.ISO; n != nil {
		op.iso_p, op.iso_shift, op.iso_intensity = C.double(n.P), cRange(n.Shift), cRange(n.Intensity)
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
	if cfg.GridHoles != nil {
		all = append(all, chance{"grid holes", cfg.GridHoles.P})
	}
	if cfg.Specks != nil {
		all = append(all, chance{"specks", cfg.Specks.P})
	}
	if cfg.Downscale != nil {
		all = append(all, chance{"downscale", cfg.Downscale.P})
	}
	if cfg.Multiply != nil {
		all = append(all, chance{"multiply", cfg.Multiply.P})
	}
	if cfg.ISO != nil {
		all = append(all, chance{"ISO", cfg.ISO.P})
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
	if s := cfg.Specks; s != nil && !(s.Share >= 0 && s.Share <= 1) {
		return fmt.Errorf("specks: got a share of %v, want 0 to 1", s.Share)
	}
	if d := cfg.Downscale; d != nil {
		if err := ordered("downscale: scale", d.Scale, MinScale, 1); err != nil {
			return err
		}
	}
	if m := cfg.Multiply; m != nil {
		if err := ordered("multiply", m.By, 0, MaxFactor); err != nil {
			return err
		}
	}
	if m := cfg.Morph; m != nil && (min(m.Size[0], m.Size[1]) < 1 || max(m.Size[0], m.Size[1]) > MaxKernel) {
		return fmt.Errorf("morph: got an ellipse of %d x %d, want 1 to %d", m.Size[0], m.Size[1], MaxKernel)
	}
	if n := cfg.ISO; n != nil {
		if err := ordered("ISO: shift", n.Shift, 0, 1); err != nil {
			return err
		}
		if err := ordered("ISO: intensity", n.Intensity, 0, MaxIntensity); err != nil {
			return err
		}
	}
	if err := cfg.GridHoles.check(); err != nil {
		return err
	}
	if t := cfg.ToneCurve; t != nil && !(t.Scale >= 0 && t.Scale <= 1) {
		return fmt.Errorf("tone curve: got scale %v, want 0 to 1", t.Scale)
	}
	if (cfg.Sepia > 0 || cfg.DropChannels != nil || cfg.ISO != nil) && cfg.Mode != RGB {
		return fmt.Errorf("sepia, drop channels, ISO: want mode RGB, as grey has one channel")
	}
	if d := cfg.DropChannels; d != nil && !(1 <= d.Count[0] && d.Count[0] <= d.Count[1] && d.Count[1] <= 2) {
		return fmt.Errorf("drop channels: got %v, want 1 <= fewest <= most <= 2, of three", d.Count)
	}
	return nil
}
