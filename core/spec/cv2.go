package spec

import (
	"math"
	"slices"

	"go.yaml.in/yaml/v3"
)

// maxShift is the decoders' limit (core/media).
const maxShift = 255

// Operations of albumentations' by OpenCV's arithmetic.
const (
	cv2Affine = "cv2_affine"
	hsvShift  = "hue_saturation_value"
	rgbShift  = "rgb_shift"
	cv2Jitter = "cv2_color_jitter"

	alongWant = "[low, high] of both, or [x low, x high, y low, y high]"
)

// CV2Affine scales pictures, turns them to the left, shears and moves them, by a number of each range, along x and along y.
type CV2Affine struct {
	Degrees       [2]float64    `json:"degrees"`
	Translate     [2][2]float64 `json:"translate"`
	Pixels        bool          `json:"pixels"` // of Translate: no shares of width and height
	Scale         [2][2]float64 `json:"scale"`
	KeepRatio     bool          `json:"keep_ratio"` // what x has counts for y, too
	Fit           bool          `json:"fit"`        // of Degrees alone: both sides shrink until all of the picture is there
	Shear         [2][2]float64 `json:"shear"`      // degrees
	P             float64       `json:"p"`
	Interpolation Interpolation `json:"interpolation"`
	Padding       string        `json:"padding_mode,omitempty"` // "": Fill
	Fill          *Fill         `json:"fill,omitempty"`
}

// HueSaturationValue adds a number of each range to the hue, of 180, the saturation and the value.
type HueSaturationValue struct {
	Hue        [2]float64 `json:"hue"`
	Saturation [2]float64 `json:"saturation"`
	Value      [2]float64 `json:"value"`
	P          float64    `json:"p"`
}

// RGBShift adds a number of each range to red, green and blue.
type RGBShift struct {
	Red   [2]float64 `json:"red"`
	Green [2]float64 `json:"green"`
	Blue  [2]float64 `json:"blue"`
	P     float64    `json:"p"`
}

// CV2ColorJitter is a ColorJitter by OpenCV's arithmetic.
type CV2ColorJitter ColorJitter

func (a *CV2Affine) Name() string          { return cv2Affine }
func (h *HueSaturationValue) Name() string { return hsvShift }
func (r *RGBShift) Name() string           { return rgbShift }
func (j *CV2ColorJitter) Name() string     { return cv2Jitter }

// drawn reports whether something with this probability, and numbers of these ranges, differs from row to row.
func drawn(p float64, ranges ...[2]float64) bool {
	return chance(p) || p > 0 && slices.ContainsFunc(ranges, func(r [2]float64) bool { return r[0] < r[1] })
}

func (a *CV2Affine) random() bool {
	return drawn(a.P, a.Degrees, a.Translate[0], a.Translate[1], a.Scale[0], a.Scale[1], a.Shear[0], a.Shear[1])
}
func (h *HueSaturationValue) random() bool { return drawn(h.P, h.Hue, h.Saturation, h.Value) }
func (r *RGBShift) random() bool           { return drawn(r.P, r.Red, r.Green, r.Blue) }
func (j *CV2ColorJitter) random() bool     { return true }

func (a *CV2Affine) draws() any {
	c := *a
	c.Interpolation, c.Padding, c.Fill = "", "", nil
	return c
}

func (a *CV2Affine) mixes() Interpolation { return a.Interpolation }
func (a *CV2Affine) fills() *Fill         { return a.Fill }

func (h *HueSaturationValue) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkColours(at, fail)
}

func (r *RGBShift) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkColours(at, fail)
}

func (j *CV2ColorJitter) check(i *Image, at string, fail func(path, format string, args ...any)) {
	(*ColorJitter)(j).check(i, at, fail)
}

// checkColours refuses what changes colours where there are none.
func (i *Image) checkColours(at string, fail func(path, format string, args ...any)) {
	if i.Mode != RGB {
		fail(at, colourless, i.Mode)
	}
}

func (*CV2Affine) read(d *reading, op *section) Step {
	a := &CV2Affine{Scale: [2][2]float64{{1, 1}, {1, 1}}, P: 0.5, Interpolation: CV2Linear}
	sec := d.below(op, cv2Affine)
	a.Degrees = d.around(&sec, "degrees", maxDegrees)
	d.alongAxes(&sec, "translate", &a.Translate, -1, 1)
	if a.Pixels = sec.has("translate_px"); a.Pixels {
		d.alongAxes(&sec, "translate_px", &a.Translate, -maxSide, maxSide)
		if sec.has("translate") {
			sec.fail("translate_px", "given beside translate, which are shares of width and height; leave one of them out")
		}
		for _, r := range a.Translate {
			if d.err == nil && (r[0] != math.Trunc(r[0]) || r[1] != math.Trunc(r[1])) {
				sec.fail("translate_px", "got %g to %g, want whole numbers of pixels; translate takes shares of width and height", r[0], r[1])
			}
		}
	}
	d.alongAxes(&sec, "scale", &a.Scale, minScale, maxScale)
	d.alongAxes(&sec, "shear", &a.Shear, -maxShear, maxShear)
	sec.flag("keep_ratio", &a.KeepRatio)
	if a.KeepRatio && d.err == nil && a.Scale[0] != a.Scale[1] {
		sec.fail("keep_ratio", "got true beside a scale of x and another of y, want the same of both; leave keep_ratio out, or give scale as [low, high]")
	}
	sec.flag("fit", &a.Fit)
	for _, key := range []string{"translate", "translate_px", "scale", "shear", "keep_ratio"} {
		if a.Fit && d.err == nil && sec.has(key) {
			sec.fail("fit", "got true beside %s, want degrees alone, as it is by them that the picture is shrunk; leave one of them out", key)
		}
	}
	sec.number("p", &a.P, 0, 1)
	choice(&sec, "interpolation", &a.Interpolation, CV2Linear, CV2Nearest)
	border := Border{}
	d.border(&sec, &border)
	a.Padding, a.Fill = border.Mode, border.Fill
	return a
}

// alongAxes reads a range for x and for y, [low, high], or one for each in one list of four. A number is, of what may be negative, as much to either side, else itself.
func (d *decoder) alongAxes(s *section, key string, to *[2][2]float64, least, most float64) {
	if !s.has(key) {
		return
	}
	switch n := target(s.values[key]); {
	case n.Kind == yaml.SequenceNode && len(n.Content) == 4:
		all := d.each(s, key, alongWant, 4, least, most)
		if d.err != nil {
			return
		}
		*to = [2][2]float64{{all[0], all[1]}, {all[2], all[3]}}
		if to[0][0] > to[0][1] || to[1][0] > to[1][1] {
			s.fail(key, "got %v, want [x low, x high, y low, y high], each low before its high", all)
		}
	case n.Kind == yaml.SequenceNode && len(n.Content) != 2:
		s.fail(key, "got a list of %d, want %s", len(n.Content), alongWant)
	case least < 0:
		both := d.around(s, key, most)
		*to = [2][2]float64{both, both}
	default:
		d.numberOrRange(s.values[key], join(s.shown, key), &to[0], least, most)
		to[1] = to[0]
	}
}

// shifts reads ranges of what is added; a number is as much to either side.
func (d *decoder) shifts(sec *section, p *float64, keys [3]string, to [3]*[2]float64) {
	for i, key := range keys {
		if sec.has(key) {
			*to[i] = d.around(sec, key, maxShift)
		}
	}
	sec.number("p", p, 0, 1)
}

func (*HueSaturationValue) read(d *reading, op *section) Step {
	h := &HueSaturationValue{Hue: [2]float64{-20, 20}, Saturation: [2]float64{-30, 30}, Value: [2]float64{-20, 20}, P: 0.5}
	sec := d.below(op, hsvShift)
	d.shifts(&sec, &h.P, [3]string{"hue", "saturation", "value"}, [3]*[2]float64{&h.Hue, &h.Saturation, &h.Value})
	return h
}

func (*RGBShift) read(d *reading, op *section) Step {
	r := &RGBShift{Red: [2]float64{-20, 20}, Green: [2]float64{-20, 20}, Blue: [2]float64{-20, 20}, P: 0.5}
	sec := d.below(op, rgbShift)
	d.shifts(&sec, &r.P, [3]string{"red", "green", "blue"}, [3]*[2]float64{&r.Red, &r.Green, &r.Blue})
	return r
}

func (*CV2ColorJitter) read(d *reading, op *section) Step {
	j := &CV2ColorJitter{P: 0.5, Brightness: &[2]float64{0.8, 1.2}, Contrast: &[2]float64{0.8, 1.2}, Saturation: &[2]float64{0.8, 1.2}, Hue: &[2]float64{-0.5, 0.5}}
	sec := d.below(op, cv2Jitter)
	sec.number("p", &j.P, 0, 1)
	d.factors(&sec, (*ColorJitter)(j))
	return j
}
