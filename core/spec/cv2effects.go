package spec

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// The decoders' limits (core/media).
const (
	maxEffect  = 100
	maxDropped = 2
	minHole    = 1e-3

	maxIntensity = 10
)

// More operations of albumentations'.
const (
	sharpen        = "sharpen"
	emboss         = "emboss"
	sepia          = "to_sepia"
	toneCurve      = "random_tone_curve"
	channelDropout = "channel_dropout"
	cv2Equalize    = "cv2_equalize"
	gridDropout    = "grid_dropout"
	pixelDropout   = "pixel_dropout"
	downscale      = "downscale"
	multiplication = "multiplicative_noise"
	morphological  = "morphological"
	isoNoise       = "iso_noise"
)

// Effect is a Sharpen or an Emboss: a kernel of 3 x 3 of which an effect has a share, Alpha. By is how strong that is: a lightness, or a strength.
type Effect struct {
	Operation string     `json:"-"`
	Alpha     [2]float64 `json:"alpha"`
	By        [2]float64 `json:"by"`
	P         float64    `json:"p"`
}

// RandomToneCurve bends the way from dark to bright by normal numbers times Scale.
type RandomToneCurve struct {
	Scale      float64 `json:"scale"`
	PerChannel bool    `json:"per_channel"`
	P          float64 `json:"p"`
}

// ChannelDropout makes some of three channels one number.
type ChannelDropout struct {
	Channels [2]int  `json:"channels"`
	Fill     int     `json:"fill"`
	P        float64 `json:"p"`
}

// GridDropout makes a part of each cell of a grid one colour.
type GridDropout struct {
	Ratio    float64 `json:"ratio"`
	Grid     [2]int  `json:"grid"`      // down and across; zeros: by UnitSize
	UnitSize [2]int  `json:"unit_size"` // zeros: a tenth of the row's sides
	Anywhere bool    `json:"random_offset"`
	Shift    [2]int  `json:"shift"` // across and down
	P        float64 `json:"p"`
	Fill     *Fill   `json:"fill,omitempty"`
}

// PixelDropout makes pixels, or values of them, one colour, each with a chance of its own.
type PixelDropout struct {
	Share      float64 `json:"share"`
	PerChannel bool    `json:"per_channel"`
	P          float64 `json:"p"`
	Fill       *Fill   `json:"fill,omitempty"`
}

// Downscale makes rows smaller by a number between two, and as large as they were.
type Downscale struct {
	Scale [2]float64 `json:"scale"`
	P     float64    `json:"p"`
}

// MultiplicativeNoise multiplies values by numbers between two.
type MultiplicativeNoise struct {
	Multiplier  [2]float64 `json:"multiplier"`
	PerChannel  bool       `json:"per_channel"`
	Elementwise bool       `json:"elementwise"`
	P           float64    `json:"p"`
}

// ISONoise is a camera's, of hue and lightness.
type ISONoise struct {
	Intensity  [2]float64 `json:"intensity"`
	ColorShift [2]float64 `json:"color_shift"`
	P          float64    `json:"p"`
}

// Morphological makes each value the largest around it, as far as an ellipse reaches, or the smallest.
type Morphological struct {
	Erosion bool    `json:"erosion"`
	Size    [2]int  `json:"kernel_size"` // width and height
	P       float64 `json:"p"`
}

func (e *Effect) Name() string          { return e.Operation }
func (t *RandomToneCurve) Name() string { return toneCurve }
func (c *ChannelDropout) Name() string  { return channelDropout }

func (g *GridDropout) Name() string  { return gridDropout }
func (p *PixelDropout) Name() string { return pixelDropout }
func (d *Downscale) Name() string    { return downscale }

func (m *MultiplicativeNoise) Name() string { return multiplication }
func (m *Morphological) Name() string       { return morphological }
func (n *ISONoise) Name() string            { return isoNoise }

func (e *Effect) random() bool          { return drawn(e.P, e.Alpha, e.By) }
func (t *RandomToneCurve) random() bool { return drawn(t.P, [2]float64{0, t.Scale}) }
func (c *ChannelDropout) random() bool  { return c.P > 0 }

func (g *GridDropout) random() bool  { return g.P > 0 }
func (p *PixelDropout) random() bool { return p.P > 0 && p.Share > 0 }
func (d *Downscale) random() bool    { return drawn(d.P, d.Scale) }

func (m *MultiplicativeNoise) random() bool { return drawn(m.P, m.Multiplier) }
func (m *Morphological) random() bool       { return chance(m.P) }
func (n *ISONoise) random() bool            { return n.P > 0 }

// A mask grows and shrinks with what its picture shows.
func (m *Morphological) draws() any { return *m }

func (g *GridDropout) fills() *Fill  { return g.Fill }
func (p *PixelDropout) fills() *Fill { return p.Fill }

func (g *GridDropout) check(i *Image, at string, fail func(path, format string, args ...any)) {
	out := i.Transform.Output()
	switch {
	case i.Open():
	case g.UnitSize[1] > min(out.Height, out.Width):
		fail(at, "got a unit_size of %d for rows of %d x %d, want no more than the shorter side", g.UnitSize[1], out.Height, out.Width)
	case g.Grid[0] > out.Height || g.Grid[1] > out.Width:
		fail(at, "got a grid of %d x %d for rows of %d x %d, want cells of a pixel or more", g.Grid[0], g.Grid[1], out.Height, out.Width)
	}
}

func (n *ISONoise) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if i.Mode != RGB {
		fail(at, colourless, i.Mode)
	}
}

func (c *ChannelDropout) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if i.Mode != RGB {
		fail(at, "got mode %s, whose pictures have one channel; leave it out, or use mode rgb", i.Mode)
	}
}

func (e *Effect) read(d *reading, op *section) Step {
	key := e.Operation
	e = &Effect{Operation: key, Alpha: [2]float64{0.2, 0.5}, By: [2]float64{0.5, 1}, P: 0.5}
	by := "lightness"
	if key == emboss {
		by, e.By = "strength", [2]float64{0.2, 0.7}
	}
	alpha, shown, sec := d.short(op, key, "alpha")
	d.numberOrRange(alpha, shown, &e.Alpha, 0, 1)
	d.numberOrRange(sec.values[by], join(sec.shown, by), &e.By, 0, maxEffect)
	sec.number("p", &e.P, 0, 1)
	return e
}

func (*RandomToneCurve) read(d *reading, op *section) Step {
	t := &RandomToneCurve{Scale: 0.1, P: 0.5}
	scale, shown, sec := d.short(op, toneCurve, "scale")
	if scale != nil && d.err == nil {
		t.Scale, _ = d.number(scale, shown, 0, 1)
	}
	sec.flag("per_channel", &t.PerChannel)
	sec.number("p", &t.P, 0, 1)
	return t
}

func (*ChannelDropout) read(d *reading, op *section) Step {
	c := &ChannelDropout{Channels: [2]int{1, 1}, P: 0.5}
	channels, shown, sec := d.short(op, channelDropout, "channels")
	oneOrRange(d.decoder, channels, shown, "a whole number from 1 to 2", &c.Channels, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, 1, maxDropped)
		return v
	})
	whole(sec, "fill", &c.Fill, 0, 255)
	sec.number("p", &c.P, 0, 1)
	return c
}

func (*GridDropout) read(d *reading, op *section) Step {
	g := &GridDropout{Ratio: 0.5, Anywhere: true, P: 0.5}
	ratio, shown, sec := d.short(op, gridDropout, "ratio")
	if ratio != nil && d.err == nil {
		g.Ratio, _ = d.number(ratio, shown, minHole, 1)
	}
	d.wholePair(sec.values["grid"], join(sec.shown, "grid"), "[rows, columns]", &g.Grid, 1, maxSide)
	if sec.has("unit_size") {
		oneOrRange(d.decoder, sec.values["unit_size"], join(sec.shown, "unit_size"), "a whole number from 2 to 16384", &g.UnitSize, func(n *yaml.Node, shown string) (v int) {
			d.wholeAt(n, shown, &v, 2, maxSide)
			return v
		})
		if d.err == nil && sec.has("grid") {
			sec.fail("unit_size", "given beside grid, which says how many cells there are; leave one of them out")
		}
	}
	sec.flag("random_offset", &g.Anywhere)
	d.wholePair(sec.values["shift"], join(sec.shown, "shift"), "[across, down]", &g.Shift, 0, maxSide)
	if d.err == nil && g.Shift != [2]int{} && g.Anywhere {
		sec.fail("shift", "given without random_offset: false, by which holes lie anywhere in their cells; write random_offset: false, or leave it out")
	}
	sec.number("p", &g.P, 0, 1)
	d.fill(sec, &g.Fill)
	return g
}

// wholePair reads two whole numbers between least and most, where there is something to read.
func (d *decoder) wholePair(n *yaml.Node, shown, want string, to *[2]int, least, most int) {
	if n == nil || d.err != nil {
		return
	}
	items := d.items(n, shown, want, maxChannels)
	if d.err == nil && len(items) != 2 {
		d.fail(n, shown, "got a list of %d, want %s", len(items), want)
	}
	for i, item := range items {
		if d.err == nil {
			d.wholeAt(item, fmt.Sprintf("%s[%d]", shown, i), &to[i], least, most)
		}
	}
}

func (*PixelDropout) read(d *reading, op *section) Step {
	p := &PixelDropout{Share: 0.01, P: 0.5}
	share, shown, sec := d.short(op, pixelDropout, "share")
	if share != nil && d.err == nil {
		p.Share, _ = d.number(share, shown, 0, 1)
	}
	sec.flag("per_channel", &p.PerChannel)
	sec.number("p", &p.P, 0, 1)
	d.fill(sec, &p.Fill)
	return p
}

func (*Downscale) read(d *reading, op *section) Step {
	s := &Downscale{Scale: [2]float64{0.25, 0.25}, P: 0.5}
	scale, shown, sec := d.short(op, downscale, "scale")
	d.numberOrRange(scale, shown, &s.Scale, minScale, 1)
	sec.number("p", &s.P, 0, 1)
	return s
}

func (*MultiplicativeNoise) read(d *reading, op *section) Step {
	m := &MultiplicativeNoise{Multiplier: [2]float64{0.9, 1.1}, P: 0.5}
	by, shown, sec := d.short(op, multiplication, "multiplier")
	d.numberOrRange(by, shown, &m.Multiplier, 0, maxFactor)
	sec.flag("per_channel", &m.PerChannel)
	sec.flag("elementwise", &m.Elementwise)
	sec.number("p", &m.P, 0, 1)
	return m
}

func (*Morphological) read(d *reading, op *section) Step {
	m := &Morphological{Size: [2]int{2, 3}, P: 0.5}
	size, shown, sec := d.short(op, morphological, "kernel_size")
	if size != nil && target(size).Kind == yaml.ScalarNode && !isNull(target(size)) {
		d.wholeAt(size, shown, &m.Size[0], 1, maxKernel)
		m.Size[1] = m.Size[0]
	} else {
		d.wholePair(size, shown, "a whole number from 1 to 255, or [width, height]", &m.Size, 1, maxKernel)
	}
	operation := dilation
	choice(sec, "operation", &operation, dilation, erosion)
	m.Erosion = operation == erosion
	sec.number("p", &m.P, 0, 1)
	return m
}

// The words of morphological's operation.
const (
	dilation = "dilation"
	erosion  = "erosion"
)

func (*ISONoise) read(d *reading, op *section) Step {
	n := &ISONoise{Intensity: [2]float64{0.1, 0.5}, ColorShift: [2]float64{0.01, 0.05}, P: 0.5}
	intensity, shown, sec := d.short(op, isoNoise, "intensity")
	d.numberOrRange(intensity, shown, &n.Intensity, 0, maxIntensity)
	d.numberOrRange(sec.values["color_shift"], join(sec.shown, "color_shift"), &n.ColorShift, 0, 1)
	sec.number("p", &n.P, 0, 1)
	return n
}
