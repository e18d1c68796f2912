package spec

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"
)

// The decoders' limits (core/media).
const (
	maxOps             = 16
	maxBins            = 1000
	maxKernel          = 255
	minSigma, maxSigma = 1e-3, 1000
	maxDegrees         = 360
	maxShear           = 80
	minScale, maxScale = 0.01, 100
	maxZoomOut         = 16
	maxAlpha           = 1e4
	maxElasticSigma    = (maxKernel - 1) / 8.0
)

// Arithmetic is by whose numbers colours change, and pixels move: "" is torchvision's on a PIL image, Pillow's. A step that has it embeds it.
type Arithmetic string

// OfTorch is v2's on a tensor of bytes.
const OfTorch Arithmetic = "torch"

func (a Arithmetic) byTorch() bool { return a == OfTorch }

// Chance is a step of which there is nothing to say but its probability, above 0, and, of some, whose arithmetic it is.
type Chance struct {
	Operation string
	P         float64
	Arithmetic
}

// ColorJitter changes colours by factors between low and high, in an order that is drawn; nil is left out.
type ColorJitter struct {
	P          float64     `json:"p"` // probability that it happens
	Brightness *[2]float64 `json:"brightness"`
	Contrast   *[2]float64 `json:"contrast"`
	Saturation *[2]float64 `json:"saturation"`
	Hue        *[2]float64 `json:"hue"`
	Arithmetic `json:"arithmetic,omitempty"`
}

// RandomPhotometricDistort makes each of a jitter's changes with probability P.
type RandomPhotometricDistort ColorJitter

// GaussianBlur is by a kernel of KernelSize, with a sigma between low and high.
type GaussianBlur struct {
	KernelSize int        `json:"kernel_size"`
	Sigma      [2]float64 `json:"sigma"`
	P          float64    `json:"p"`
}

// Solarize inverts values from Threshold on.
type Solarize struct {
	Threshold float64 `json:"threshold"`
	P         float64 `json:"p"`
}

// Posterize leaves the upper Bits of 8.
type Posterize struct {
	Bits int     `json:"bits"`
	P    float64 `json:"p"`
}

// AdjustSharpness is 0 for a smoothed picture, 1 for the picture, 2 for one twice as sharp.
type AdjustSharpness struct {
	Factor     float64 `json:"factor"`
	P          float64 `json:"p"`
	Arithmetic `json:"arithmetic,omitempty"`
}

// GaussianNoise is of values from 0 to 1, its standard deviation between low and high.
type GaussianNoise struct {
	Mean  float64    `json:"mean"`
	Sigma [2]float64 `json:"sigma"`
	P     float64    `json:"p"`
}

// JPEG writes a row at a quality between low and high, and reads it again.
type JPEG struct {
	Quality [2]int  `json:"quality"`
	BGR     bool    `json:"bgr,omitempty"` // the row is taken for one of BGR
	P       float64 `json:"p"`
}

// permutation is the chance that draws more than whether it happens.
const permutation = "random_channel_permutation"

func (c *Chance) Name() string                   { return c.Operation }
func (j *ColorJitter) Name() string              { return "color_jitter" }
func (j *RandomPhotometricDistort) Name() string { return "random_photometric_distort" }
func (b *GaussianBlur) Name() string             { return "gaussian_blur" }
func (s *Solarize) Name() string                 { return "solarize" }
func (p *Posterize) Name() string                { return "posterize" }
func (a *AdjustSharpness) Name() string          { return "adjust_sharpness" }
func (g *GaussianNoise) Name() string            { return "gaussian_noise" }
func (j *JPEG) Name() string                     { return "jpeg" }

func (c *Chance) random() bool                   { return c.P < 1 || c.Operation == permutation }
func (j *ColorJitter) random() bool              { return true }
func (j *RandomPhotometricDistort) random() bool { return true }
func (b *GaussianBlur) random() bool             { return chance(b.P) || b.P > 0 && b.Sigma[0] < b.Sigma[1] }
func (s *Solarize) random() bool                 { return chance(s.P) }
func (p *Posterize) random() bool                { return chance(p.P) }
func (a *AdjustSharpness) random() bool          { return chance(a.P) }
func (g *GaussianNoise) random() bool            { return true }
func (j *JPEG) random() bool                     { return chance(j.P) || j.P > 0 && j.Quality[0] < j.Quality[1] }

// MarshalJSON is the probability alone, where nothing else is said.
func (c *Chance) MarshalJSON() ([]byte, error) {
	if c.Arithmetic == "" {
		return json.Marshal(c.P)
	}
	return json.Marshal(struct {
		P          float64    `json:"p"`
		Arithmetic Arithmetic `json:"arithmetic"`
	}{c.P, c.Arithmetic})
}

// ByTorch says that a step is v2's on a tensor of bytes.
func ByTorch(s Step) bool {
	of, has := s.(interface{ byTorch() bool })
	return has && of.byTorch()
}

func (c *Chance) check(i *Image, at string, fail func(path, format string, args ...any)) {
	switch {
	case i.Mode == RGB:
	case c.Operation == permutation:
		fail(at, "got mode %s, whose pictures have one channel; leave it out, or use mode rgb", i.Mode)
	case c.Operation == "grayscale", c.Operation == cv2Gray, c.Operation == sepia:
		fail(at, colourless, i.Mode)
	}
}

const colourless = "got mode %s, whose pictures have no colours; leave it out, or use mode rgb"

func (j *ColorJitter) check(i *Image, at string, fail func(path, format string, args ...any)) {
	switch {
	case i.Mode == RGB:
	case j.Saturation != nil:
		fail(at+".saturation", colourless, i.Mode)
	case j.Hue != nil:
		fail(at+".hue", colourless, i.Mode)
	}
}

func (j *RandomPhotometricDistort) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if i.Mode != RGB {
		fail(at, "got mode %s, whose pictures have no colours; write color_jitter: {brightness: 0.125, contrast: 0.5}, or use mode rgb", i.Mode)
	}
}

func (j *JPEG) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if j.BGR && i.Mode != RGB {
		fail(at+".channels", "got bgr with mode %s, whose pictures have one channel; leave it out", i.Mode)
	}
}

func (b *GaussianBlur) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if out := i.Transform.Output(); !i.Open() && b.KernelSize/2 >= min(out.Height, out.Width) {
		fail(at, "got kernel_size %d for rows of %d x %d, want less than twice the shorter side, as pixels are mirrored at the borders", b.KernelSize, out.Height, out.Width)
	}
}

// chance reads the probability of the operation; nil: it never happens.
func (d *decoder) chance(op *section, name string) *Chance {
	c := &Chance{Operation: name}
	if op.number(name, &c.P, 0, 1); c.P == 0 {
		return nil
	}
	return c
}

// read takes a mapping, too, of grayscale and autocontrast: of p and of whose arithmetic it is.
func (c *Chance) read(d *reading, op *section) Step {
	name := c.Operation
	if name != "grayscale" && name != "autocontrast" || target(op.values[name]).Kind != yaml.MappingNode {
		if c = d.chance(op, name); c == nil {
			return nil
		}
		return c
	}
	c = &Chance{Operation: name}
	sec := d.needs(op, name, "p", "0.2")
	sec.number("p", &c.P, 0, 1)
	d.arithmetic(&sec, &c.Arithmetic)
	if c.P == 0 {
		return nil
	}
	return c
}

func (d *decoder) arithmetic(s *section, to *Arithmetic) {
	of := Arithmetic(Pillow)
	choice(s, "arithmetic", &of, Pillow, OfTorch)
	if of != Pillow {
		*to = of
	}
}

func (*ColorJitter) read(d *reading, op *section) Step {
	const key = "color_jitter"
	sec := d.section(op.values[key], join(op.table, key), join(op.shown, key), join(op.place, key))
	j := &ColorJitter{P: 1}
	sec.number("p", &j.P, 0, 1)
	if d.err == nil && !sec.has("brightness") && !sec.has("contrast") && !sec.has("saturation") && !sec.has("hue") {
		op.fail(key, "got nothing to change, want one or more of brightness, contrast, saturation and hue, such as {brightness: 0.4}")
	}
	j.Brightness = d.factor(&sec, "brightness", 1, 0, maxFactor)
	j.Contrast = d.factor(&sec, "contrast", 1, 0, maxFactor)
	j.Saturation = d.factor(&sec, "saturation", 1, 0, maxFactor)
	j.Hue = d.factor(&sec, "hue", 0, -maxTurn, maxTurn)
	d.arithmetic(&sec, &j.Arithmetic)
	return j
}

func (*Solarize) read(d *reading, op *section) Step {
	s := &Solarize{P: 0.5}
	sec := d.needs(op, "solarize", "threshold", "128")
	sec.number("threshold", &s.Threshold, 0, 256)
	sec.number("p", &s.P, 0, 1)
	return s
}

func (*Posterize) read(d *reading, op *section) Step {
	p := &Posterize{P: 0.5}
	sec := d.needs(op, "posterize", "bits", "4")
	whole(&sec, "bits", &p.Bits, 0, 8)
	sec.number("p", &p.P, 0, 1)
	return p
}

func (*AdjustSharpness) read(d *reading, op *section) Step {
	a := &AdjustSharpness{P: 0.5}
	sec := d.needs(op, "adjust_sharpness", "factor", "2")
	sec.number("factor", &a.Factor, 0, maxFactor)
	sec.number("p", &a.P, 0, 1)
	d.arithmetic(&sec, &a.Arithmetic)
	return a
}

func (*GaussianBlur) read(d *reading, op *section) Step {
	const key = "gaussian_blur"
	b := &GaussianBlur{Sigma: [2]float64{0.1, 2}, P: 1}
	size, shown, sec := d.short(op, key, "kernel_size")
	if d.err == nil && size == nil {
		op.fail(key, "kernel_size is missing, want one, such as {kernel_size: 23}")
	}
	d.wholeAt(size, shown, &b.KernelSize, 1, maxKernel)
	if d.err == nil && b.KernelSize%2 == 0 {
		d.fail(size, shown, "got %d, want an odd number, as a kernel has a middle", b.KernelSize)
	}
	sec.number("p", &b.P, 0, 1)
	d.numberOrRange(sec.values["sigma"], join(sec.shown, "sigma"), &b.Sigma, minSigma, maxSigma)
	return b
}

// photometricDistort reads random_photometric_distort: torchvision's ranges where none is said.
func (*RandomPhotometricDistort) read(d *reading, op *section) Step {
	const key = "random_photometric_distort"
	op.switchedOn(key)
	p, shown, sec := d.short(op, key, "p")
	j := &RandomPhotometricDistort{P: 0.5, Brightness: &[2]float64{0.875, 1.125}, Contrast: &[2]float64{0.5, 1.5}, Saturation: &[2]float64{0.5, 1.5}, Hue: &[2]float64{-0.05, 0.05}}
	if p != nil && d.err == nil {
		j.P, _ = d.number(p, shown, 0, 1)
	}
	d.factors(sec, (*ColorJitter)(j))
	d.arithmetic(sec, &j.Arithmetic)
	return j
}

// factors reads those that are said, in the place of the usual.
func (d *decoder) factors(sec *section, j *ColorJitter) {
	for _, f := range []struct {
		key                 string
		to                  **[2]float64
		asItIs, least, most float64
	}{
		{"brightness", &j.Brightness, 1, 0, maxFactor}, {"contrast", &j.Contrast, 1, 0, maxFactor}, {"saturation", &j.Saturation, 1, 0, maxFactor}, {"hue", &j.Hue, 0, -maxTurn, maxTurn},
	} {
		if sec.has(f.key) {
			*f.to = d.factor(sec, f.key, f.asItIs, f.least, f.most)
		}
	}
}

func (*GaussianNoise) read(d *reading, op *section) Step {
	g := &GaussianNoise{Sigma: [2]float64{0.1, 0.1}, P: 1}
	sigma, shown, sec := d.short(op, "gaussian_noise", "sigma")
	d.numberOrRange(sigma, shown, &g.Sigma, 0, 1)
	sec.number("mean", &g.Mean, -1, 1)
	sec.number("p", &g.P, 0, 1)
	return g
}

func (*JPEG) read(d *reading, op *section) Step {
	j := &JPEG{P: 1}
	quality, shown, sec := d.short(op, "jpeg", "quality")
	if d.err == nil && quality == nil {
		op.fail("jpeg", "quality is missing, want one, such as {quality: [30, 95]}")
	}
	oneOrRange(d.decoder, quality, shown, "a whole number from 1 to 100", &j.Quality, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, 1, 100)
		return v
	})
	order := "rgb"
	choice(sec, "channels", &order, "rgb", "bgr")
	j.BGR = order == "bgr"
	sec.number("p", &j.P, 0, 1)
	return j
}
