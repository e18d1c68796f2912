package spec

import "go.yaml.in/yaml/v3"

// maxSteps is the decoders' limit (core/media).
const maxSteps = 64

// albumentations' maps of OpenCV's beside its affine one.
const (
	cv2Perspective    = "cv2_perspective"
	cv2Elastic        = "cv2_elastic_transform"
	opticalDistortion = "optical_distortion"
	gridDistortion    = "grid_distortion"
	piecewiseAffine   = "piecewise_affine"
	gridShuffle       = "random_grid_shuffle"
)

// Bent is what is drawn for a row that is bent, a number between two.
type Bent struct {
	Limit [2]float64 `json:"limit"`
	Taken
}

// Taken is how pixels are taken from where a map has them, by a probability.
type Taken struct {
	P             float64       `json:"p"`
	Interpolation Interpolation `json:"interpolation"`
	Padding       string        `json:"padding_mode,omitempty"` // "": Fill
	Fill          *Fill         `json:"fill,omitempty"`
}

// CV2Perspective is a picture seen from aside, whose corners move inwards by normal numbers times one of a range.
type CV2Perspective struct {
	Scale [2]float64 `json:"scale"`
	Taken
}

// OpticalDistortion is a row seen through a lens.
type OpticalDistortion struct{ Bent }

// GridDistortion is a row whose columns and lines are stretched and squeezed in NumSteps parts.
type GridDistortion struct {
	NumSteps   int  `json:"num_steps"`
	Normalized bool `json:"normalized"`
	Bent
}

// CV2Elastic takes each pixel from a place beside its own, as far off as Alpha says, alike among neighbours within some Sigma pixels.
type CV2Elastic struct {
	Alpha       float64 `json:"alpha"`
	Sigma       float64 `json:"sigma"`
	Approximate bool    `json:"approximate,omitempty"`
	Same        bool    `json:"same_dxdy,omitempty"`
	Numbers     string  `json:"noise_distribution,omitempty"` // Uniform; "": normal ones
	Taken
}

// PiecewiseAffine is a row whose pixels go with the points of a grid, which move.
type PiecewiseAffine struct {
	Scale         [2]float64    `json:"scale"`
	Rows          [2]int        `json:"rows"`
	Columns       [2]int        `json:"columns"`
	Pixels        bool          `json:"pixels,omitempty"`
	P             float64       `json:"p"`
	Interpolation Interpolation `json:"interpolation"`
}

// RandomGridShuffle puts the tiles of a grid in other places.
type RandomGridShuffle struct {
	Grid [2]int  `json:"grid"` // down and across
	P    float64 `json:"p"`
}

func (r *RandomGridShuffle) Name() string { return gridShuffle }
func (r *RandomGridShuffle) random() bool { return r.P > 0 && r.Grid != [2]int{1, 1} }
func (r *RandomGridShuffle) draws() any   { return *r }

func (p *CV2Perspective) Name() string    { return cv2Perspective }
func (e *CV2Elastic) Name() string        { return cv2Elastic }
func (o *OpticalDistortion) Name() string { return opticalDistortion }
func (g *GridDistortion) Name() string    { return gridDistortion }

func (p *PiecewiseAffine) Name() string         { return piecewiseAffine }
func (p *PiecewiseAffine) random() bool         { return p.P > 0 && p.Scale[1] > 0 }
func (p *PiecewiseAffine) mixes() Interpolation { return p.Interpolation }

func (p *PiecewiseAffine) draws() any {
	own := *p
	own.Interpolation = ""
	return own
}

func (p *PiecewiseAffine) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if n := p.Rows[1] * p.Columns[1]; n > maxPoints {
		fail(at, "got up to %d rows of %d columns, want at most %d points together", p.Rows[1], p.Columns[1], maxPoints)
	}
	i.checkMapped(p, at, fail)
}

// maxPoints is the decoders' limit (core/media).
const maxPoints = 128

func (*PiecewiseAffine) read(d *reading, op *section) Step {
	op.switchedOn(piecewiseAffine)
	p := &PiecewiseAffine{Scale: [2]float64{0.03, 0.05}, Rows: [2]int{4, 4}, Columns: [2]int{4, 4}, P: 0.5, Interpolation: CV2Linear}
	scale, shown, sec := d.short(op, piecewiseAffine, "scale")
	most := 1.0
	if sec.flag("pixels", &p.Pixels); p.Pixels {
		most = maxAlpha
	}
	d.numberOrRange(scale, shown, &p.Scale, 0, most)
	for key, to := range map[string]*[2]int{"rows": &p.Rows, "columns": &p.Columns} {
		oneOrRange(d.decoder, sec.values[key], join(sec.shown, key), "a whole number from 2 to 64", to, func(n *yaml.Node, shown string) (v int) {
			d.wholeAt(n, shown, &v, 2, maxSteps)
			return v
		})
	}
	sec.number("p", &p.P, 0, 1)
	choice(sec, "interpolation", &p.Interpolation, CV2Linear, CV2Nearest)
	return p
}

func (p *CV2Perspective) random() bool    { return p.P > 0 && p.Scale != [2]float64{} }
func (e *CV2Elastic) random() bool        { return e.P > 0 && e.Alpha > 0 }
func (o *OpticalDistortion) random() bool { return drawn(o.P, o.Limit) }
func (g *GridDistortion) random() bool    { return drawn(g.P, g.Limit) }

func (t *Taken) mixes() Interpolation { return t.Interpolation }
func (t *Taken) fills() *Fill         { return t.Fill }

// own is without what each section has for itself.
func (b Bent) own() Bent { return Bent{b.Limit, Taken{P: b.P}} }

func (p *CV2Perspective) draws() any    { return CV2Perspective{p.Scale, Taken{P: p.P}} }
func (o *OpticalDistortion) draws() any { return o.own() }
func (g *GridDistortion) draws() any    { return GridDistortion{g.NumSteps, g.Normalized, g.own()} }

func (p *CV2Perspective) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkAffine(p, at, fail)
}

func (e *CV2Elastic) draws() any {
	own := *e
	own.Taken = Taken{P: e.P}
	return own
}

func (e *CV2Elastic) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkMapped(e, at, fail)
}

func (o *OpticalDistortion) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkMapped(o, at, fail)
}

func (g *GridDistortion) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if out := i.Transform.Output(); !i.Open() && g.NumSteps > min(out.Height, out.Width) {
		fail(at, "got num_steps %d for rows of %d x %d, want no more than the shorter side, as each step has a pixel or more", g.NumSteps, out.Height, out.Width)
	}
	i.checkMapped(g, at, fail)
}

func (r *RandomGridShuffle) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if out := i.Transform.Output(); !i.Open() && (r.Grid[0] > out.Height || r.Grid[1] > out.Width) {
		fail(at, "got a grid of %d x %d for rows of %d x %d, want tiles of a pixel or more", r.Grid[0], r.Grid[1], out.Height, out.Width)
	}
	i.checkMapped(r, at, fail)
}

func (*RandomGridShuffle) read(d *reading, op *section) Step {
	op.switchedOn(gridShuffle)
	r := &RandomGridShuffle{Grid: [2]int{3, 3}, P: 0.5}
	grid, shown, sec := d.short(op, gridShuffle, "grid")
	d.wholePair(grid, shown, "[rows, columns]", &r.Grid, 1, maxSteps)
	sec.number("p", &r.P, 0, 1)
	return r
}

// taken reads how pixels are taken, and the probability.
func (d *decoder) taken(sec *section) Taken {
	t := Taken{P: 0.5, Interpolation: CV2Linear}
	sec.number("p", &t.P, 0, 1)
	choice(sec, "interpolation", &t.Interpolation, CV2Linear, CV2Nearest)
	border := Border{}
	d.border(sec, &border)
	t.Padding, t.Fill = border.Mode, border.Fill
	return t
}

func (*CV2Perspective) read(d *reading, op *section) Step {
	op.switchedOn(cv2Perspective)
	p := &CV2Perspective{Scale: [2]float64{0.05, 0.1}}
	scale, shown, sec := d.short(op, cv2Perspective, "scale")
	d.numberOrRange(scale, shown, &p.Scale, 0, 1)
	p.Taken = d.taken(sec)
	return p
}

// maxCV2ElasticSigma is the decoders' limit (core/media).
const maxCV2ElasticSigma = 128

// Uniform numbers, in place of normal ones, are those of an elastic map.
const Uniform = "uniform"

func (*CV2Elastic) read(d *reading, op *section) Step {
	op.switchedOn(cv2Elastic)
	e := &CV2Elastic{Alpha: 1, Sigma: 50}
	alpha, shown, sec := d.short(op, cv2Elastic, "alpha")
	if alpha != nil {
		e.Alpha, _ = d.number(alpha, shown, 0, maxAlpha)
	}
	sec.number("sigma", &e.Sigma, 1, maxCV2ElasticSigma)
	sec.flag("approximate", &e.Approximate)
	sec.flag("same_dxdy", &e.Same)
	numbers := "gaussian"
	if choice(sec, "noise_distribution", &numbers, numbers, Uniform); numbers == Uniform {
		e.Numbers = Uniform
	}
	e.Taken = d.taken(sec)
	return e
}

// bent reads a map's keys, of which the range is main.
func (d *decoder) bent(op *section, key string, most float64) (Bent, *section) {
	op.switchedOn(key)
	b := Bent{Limit: [2]float64{-most, most}}
	limit, _, sec := d.short(op, key, "limit")
	switch {
	case sec.has("limit"):
		b.Limit = d.around(sec, "limit", 1)
	case limit != nil:
		b.Limit = d.around(op, key, 1)
	}
	b.Taken = d.taken(sec)
	return b, sec
}

func (*OpticalDistortion) read(d *reading, op *section) Step {
	b, _ := d.bent(op, opticalDistortion, 0.05)
	return &OpticalDistortion{b}
}

func (*GridDistortion) read(d *reading, op *section) Step {
	b, sec := d.bent(op, gridDistortion, 0.3)
	g := &GridDistortion{NumSteps: 5, Normalized: true, Bent: b}
	whole(sec, "num_steps", &g.NumSteps, 1, maxSteps)
	sec.flag("normalized", &g.Normalized)
	return g
}
