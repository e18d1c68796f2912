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

// Sharpen and Emboss are these two.
type (
	Sharpen Effect
	Emboss  Effect
)

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

func (g *GridHoles) kind() C.uint32_t { return C.MEDIA_DO_GRID_HOLES }

func (g *GridHoles) fill(to *C.media_step) {
	to.p = C.double(g.P)
	*own[C.media_grid_holes_step](to) = C.media_grid_holes_step{ratio: C.double(g.Ratio), cells: cPair(g.Cells), unit: cPair(g.Unit), anywhere: flag(g.Anywhere), shift: cPair(g.Shift), fill: g.Fill.c()}
}

func (g *GridHoles) least() int { return max(g.Unit[1], g.Cells[0], g.Cells[1]) }

func (g *GridHoles) check(place) error {
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

func (e *Effect) fill(to *C.media_step) {
	to.p = C.double(e.P)
	*own[C.media_effect_step](to) = C.media_effect_step{alpha: cRange(e.Alpha), by: cRange(e.By)}
}

func (e *Effect) check(name string) error {
	if err := ordered(name+": alpha", e.Alpha, 0, 1); err != nil {
		return err
	}
	return ordered(name, e.By, 0, MaxEffect)
}

func (e *Sharpen) kind() C.uint32_t { return C.MEDIA_DO_SHARPEN }

func (e *Sharpen) fill(to *C.media_step) { (*Effect)(e).fill(to) }

func (e *Sharpen) check(place) error { return (*Effect)(e).check("sharpen") }

func (e *Emboss) kind() C.uint32_t { return C.MEDIA_DO_EMBOSS }

func (e *Emboss) fill(to *C.media_step) { (*Effect)(e).fill(to) }

func (e *Emboss) check(place) error { return (*Effect)(e).check("emboss") }

func (t *ToneCurve) kind() C.uint32_t { return C.MEDIA_DO_TONE_CURVE }

func (t *ToneCurve) fill(to *C.media_step) {
	to.p = C.double(t.P)
	*own[C.media_tone_curve_step](to) = C.media_tone_curve_step{scale: C.double(t.Scale), each: flag(t.Each)}
}

func (t *ToneCurve) check(place) error {
	if !(t.Scale >= 0 && t.Scale <= 1) {
		return fmt.Errorf("tone curve: got scale %v, want 0 to 1", t.Scale)
	}
	return nil
}

func (d *DropChannels) kind() C.uint32_t { return C.MEDIA_DO_DROP_CHANNELS }

func (d *DropChannels) fill(to *C.media_step) {
	to.p = C.double(d.P)
	*own[C.media_drop_channels_step](to) = C.media_drop_channels_step{n: cPair(d.Count), fill: C.uint32_t(d.Fill)}
}

func (d *DropChannels) check(place) error {
	if !(1 <= d.Count[0] && d.Count[0] <= d.Count[1] && d.Count[1] <= 2) {
		return fmt.Errorf("drop channels: got %v, want 1 <= fewest <= most <= 2, of three", d.Count)
	}
	return nil
}

func (s *Specks) kind() C.uint32_t { return C.MEDIA_DO_SPECKS }

func (s *Specks) fill(to *C.media_step) {
	to.p = C.double(s.P)
	*own[C.media_specks_step](to) = C.media_specks_step{share: C.double(s.Share), each: flag(s.Each), fill: s.Fill.c()}
}

func (s *Specks) check(place) error {
	if !(s.Share >= 0 && s.Share <= 1) {
		return fmt.Errorf("specks: got a share of %v, want 0 to 1", s.Share)
	}
	return nil
}

func (d *Downscale) kind() C.uint32_t { return C.MEDIA_DO_DOWNSCALE }

func (d *Downscale) fill(to *C.media_step) {
	to.p = C.double(d.P)
	own[C.media_downscale_step](to).scale = cRange(d.Scale)
}

func (d *Downscale) check(place) error { return ordered("downscale: scale", d.Scale, MinScale, 1) }

func (m *Multiply) kind() C.uint32_t { return C.MEDIA_DO_MULTIPLY }

func (m *Multiply) fill(to *C.media_step) {
	to.p = C.double(m.P)
	*own[C.media_multiply_step](to) = C.media_multiply_step{by: cRange(m.By), each: flag(m.Each), elements: flag(m.Elements)}
}

func (m *Multiply) check(place) error { return ordered("multiply", m.By, 0, MaxFactor) }

func (m *Morph) kind() C.uint32_t { return C.MEDIA_DO_MORPH }

func (m *Morph) fill(to *C.media_step) {
	to.p = C.double(m.P)
	*own[C.media_morph_step](to) = C.media_morph_step{erodes: flag(m.Erode), size: cPair(m.Size)}
}

func (m *Morph) check(place) error {
	if min(m.Size[0], m.Size[1]) < 1 || max(m.Size[0], m.Size[1]) > MaxKernel {
		return fmt.Errorf("morph: got an ellipse of %d x %d, want 1 to %d", m.Size[0], m.Size[1], MaxKernel)
	}
	return nil
}

func (n *ISO) kind() C.uint32_t { return C.MEDIA_DO_ISO }

func (n *ISO) fill(to *C.media_step) {
	to.p = C.double(n.P)
	*own[C.media_iso_step](to) = C.media_iso_step{shift: cRange(n.Shift), intensity: cRange(n.Intensity)}
}

func (n *ISO) check(place) error {
	if err := ordered("ISO: shift", n.Shift, 0, 1); err != nil {
		return err
	}
	return ordered("ISO: intensity", n.Intensity, 0, MaxIntensity)
}
