package spec

import "go.yaml.in/yaml/v3"

// The decoders' limits (core/media).
const (
	maxSlant           = 20
	maxRainBlur        = 31
	minDim             = 0.01
	minSnow, maxSnow   = 0.01, 100
	minFlare, maxFlare = 1, 32
	minSun, maxSun     = 2, 2000
	minShot, maxShot   = 0.01, 100
	maxPCA             = 100
)

// More operations of albumentations'.
const (
	randomFog   = "random_fog"
	randomRain  = "random_rain"
	randomSnow  = "random_snow"
	randomFlare = "random_sun_flare"
	shotNoise   = "shot_noise"
	fancyPCA    = "fancy_pca"
)

// Rains are how many lines there are for one of the row's, times and over.
var Rains = map[string][2]int{"default": {1, 3}, "drizzle": {1, 4}, "heavy": {1, 1}, "torrential": {2, 1}}

// RandomFog makes rows whiter by discs around their middle.
type RandomFog struct {
	Intensity [2]float64 `json:"intensity"`
	Alpha     float64    `json:"alpha"`
	P         float64    `json:"p"`
}

// RandomRain adds lines that are blurred, and takes light away.
type RandomRain struct {
	Type       string     `json:"type"` // of Rains
	Slant      [2]float64 `json:"slant"`
	Length     int        `json:"length"` // 0: an eighth of the row's height
	Blur       int        `json:"blur"`
	Brightness float64    `json:"brightness"`
	P          float64    `json:"p"`
	Fill       *Fill      `json:"fill,omitempty"`
}

// RandomSnow makes lighter what is darker than a point.
type RandomSnow struct {
	Point      [2]float64 `json:"snow_point"`
	Brightness float64    `json:"brightness"`
	P          float64    `json:"p"`
}

// RandomSunFlare puts the sun into a part of the row, and circles on a line through it.
type RandomSunFlare struct {
	ROI     [4]float64 `json:"roi"` // left, top, right and bottom, as shares of its sides
	Angle   [2]float64 `json:"angle"`
	Circles [2]int     `json:"circles"`
	Radius  int        `json:"radius"`
	P       float64    `json:"p"`
	Fill    *Fill      `json:"fill,omitempty"`
}

// ShotNoise is of light that comes in pieces.
type ShotNoise struct {
	Scale [2]float64 `json:"scale"`
	P     float64    `json:"p"`
}

// FancyPCA moves colours along the directions in which they differ.
type FancyPCA struct {
	Alpha float64 `json:"alpha"`
	P     float64 `json:"p"`
}

func (f *RandomFog) Name() string      { return randomFog }
func (r *RandomRain) Name() string     { return randomRain }
func (s *RandomSnow) Name() string     { return randomSnow }
func (f *RandomSunFlare) Name() string { return randomFlare }
func (s *ShotNoise) Name() string      { return shotNoise }
func (p *FancyPCA) Name() string       { return fancyPCA }

func (f *RandomFog) random() bool      { return f.P > 0 && f.Alpha > 0 }
func (r *RandomRain) random() bool     { return r.P > 0 }
func (s *RandomSnow) random() bool     { return drawn(s.P, s.Point) }
func (f *RandomSunFlare) random() bool { return f.P > 0 }
func (s *ShotNoise) random() bool      { return s.P > 0 }
func (p *FancyPCA) random() bool       { return p.P > 0 && p.Alpha > 0 }

func (r *RandomRain) fills() *Fill     { return r.Fill }
func (f *RandomSunFlare) fills() *Fill { return f.Fill }

func (f *RandomFog) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkColours(at, fail)
}

func (r *RandomRain) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkColours(at, fail)
}

func (s *RandomSnow) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkColours(at, fail)
}

func (f *RandomSunFlare) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkColours(at, fail)
}

func (*RandomFog) read(d *reading, op *section) Step {
	f := &RandomFog{Intensity: [2]float64{0.3, 1}, Alpha: 0.08, P: 0.5}
	intensity, shown, sec := d.short(op, randomFog, "intensity")
	d.numberOrRange(intensity, shown, &f.Intensity, 0, 1)
	sec.number("alpha", &f.Alpha, 0, 1)
	sec.number("p", &f.P, 0, 1)
	return f
}

// brightFill reads a fill that is a colour unless it is said.
func (d *decoder) brightFill(s *section, usual uint8) (f *Fill) {
	if !s.has("fill") {
		return &Fill{Channels: 1, Values: [3]uint8{usual, usual, usual}}
	}
	d.fill(s, &f)
	return f
}

func (*RandomRain) read(d *reading, op *section) Step {
	r := &RandomRain{Type: "default", Slant: [2]float64{-10, 10}, Blur: 7, Brightness: 0.7, P: 0.5}
	sec := d.below(op, randomRain)
	choice(&sec, "type", &r.Type, "default", "drizzle", "heavy", "torrential")
	d.numberOrRange(sec.values["slant"], join(sec.shown, "slant"), &r.Slant, -maxSlant, maxSlant)
	whole(&sec, "length", &r.Length, 1, maxSide)
	whole(&sec, "blur", &r.Blur, 1, maxRainBlur)
	if d.err == nil && r.Blur%2 == 0 {
		sec.fail("blur", "got %d, want an odd number, as a kernel has a middle", r.Blur)
	}
	sec.number("brightness", &r.Brightness, minDim, 1)
	sec.number("p", &r.P, 0, 1)
	r.Fill = d.brightFill(&sec, 200)
	return r
}

func (*RandomSnow) read(d *reading, op *section) Step {
	s := &RandomSnow{Point: [2]float64{0.1, 0.3}, Brightness: 2.5, P: 0.5}
	point, shown, sec := d.short(op, randomSnow, "snow_point")
	d.numberOrRange(point, shown, &s.Point, 0, 1)
	sec.number("brightness", &s.Brightness, minSnow, maxSnow)
	sec.number("p", &s.P, 0, 1)
	return s
}

// roi reads a part of the row.
func (d *decoder) roi(sec *section, to *[4]float64) {
	if !sec.has("roi") {
		return
	}
	all := d.each(sec, "roi", "[left, top, right, bottom] as shares of the sides", len(to), 0, 1)
	if d.err != nil {
		return
	}
	*to = [4]float64(all)
	if to[0] >= to[2] || to[1] >= to[3] {
		sec.fail("roi", "got %v, want left before right and top before bottom", all)
	}
}

func (*RandomSunFlare) read(d *reading, op *section) Step {
	f := &RandomSunFlare{ROI: [4]float64{0, 0, 1, 0.5}, Angle: [2]float64{0, 1}, Circles: [2]int{6, 10}, Radius: 400, P: 0.5}
	sec := d.below(op, randomFlare)
	d.roi(&sec, &f.ROI)
	d.numberOrRange(sec.values["angle"], join(sec.shown, "angle"), &f.Angle, 0, 1)
	oneOrRange(d.decoder, sec.values["circles"], join(sec.shown, "circles"), "a whole number from 1 to 32", &f.Circles, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, minFlare, maxFlare)
		return v
	})
	whole(&sec, "radius", &f.Radius, minSun, maxSun)
	sec.number("p", &f.P, 0, 1)
	f.Fill = d.brightFill(&sec, 255)
	return f
}

func (*ShotNoise) read(d *reading, op *section) Step {
	s := &ShotNoise{Scale: [2]float64{0.1, 0.3}, P: 0.5}
	scale, shown, sec := d.short(op, shotNoise, "scale")
	d.numberOrRange(scale, shown, &s.Scale, minShot, maxShot)
	sec.number("p", &s.P, 0, 1)
	return s
}

func (*FancyPCA) read(d *reading, op *section) Step {
	p := &FancyPCA{Alpha: 0.1, P: 0.5}
	alpha, shown, sec := d.short(op, fancyPCA, "alpha")
	if alpha != nil && d.err == nil {
		p.Alpha, _ = d.number(alpha, shown, 0, maxPCA)
	}
	sec.number("p", &p.P, 0, 1)
	return p
}
