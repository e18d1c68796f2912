package spec

// maxSteps is the decoders' limit (core/media).
const maxSteps = 64

// albumentations' maps that bend a row.
const (
	opticalDistortion = "optical_distortion"
	gridDistortion    = "grid_distortion"
)

// Bent is what is drawn for a row that is bent, a number between two, and how pixels are then taken.
type Bent struct {
	Limit         [2]float64    `json:"limit"`
	P             float64       `json:"p"`
	Interpolation Interpolation `json:"interpolation"`
	Padding       string        `json:"padding_mode,omitempty"` // "": Fill
	Fill          *Fill         `json:"fill,omitempty"`
}

// OpticalDistortion is a row seen through a lens.
type OpticalDistortion struct{ Bent }

// GridDistortion is a row whose columns and lines are stretched and squeezed in NumSteps parts.
type GridDistortion struct {
	NumSteps   int  `json:"num_steps"`
	Normalized bool `json:"normalized"`
	Bent
}

func (o *OpticalDistortion) Name() string { return opticalDistortion }
func (g *GridDistortion) Name() string    { return gridDistortion }

func (o *OpticalDistortion) random() bool { return drawn(o.P, o.Limit) }
func (g *GridDistortion) random() bool    { return drawn(g.P, g.Limit) }

func (b *Bent) mixes() Interpolation { return b.Interpolation }
func (b *Bent) fills() *Fill         { return b.Fill }

// own is without what each section has for itself.
func (b Bent) own() Bent { return Bent{Limit: b.Limit, P: b.P} }

func (o *OpticalDistortion) draws() any { return o.own() }
func (g *GridDistortion) draws() any    { return GridDistortion{g.NumSteps, g.Normalized, g.own()} }

func (o *OpticalDistortion) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkMapped(o, at, fail)
}

func (g *GridDistortion) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if out := i.Transform.Output(); !i.Open() && g.NumSteps > min(out.Height, out.Width) {
		fail(at, "got num_steps %d for rows of %d x %d, want no more than the shorter side, as each step has a pixel or more", g.NumSteps, out.Height, out.Width)
	}
	i.checkMapped(g, at, fail)
}

// bent reads a map's keys, of which the range is main.
func (d *decoder) bent(op *section, key string, most float64) (Bent, *section) {
	op.switchedOn(key)
	b := Bent{Limit: [2]float64{-most, most}, P: 0.5, Interpolation: CV2Linear}
	limit, _, sec := d.short(op, key, "limit")
	switch {
	case sec.has("limit"):
		b.Limit = d.around(sec, "limit", 1)
	case limit != nil:
		b.Limit = d.around(op, key, 1)
	}
	sec.number("p", &b.P, 0, 1)
	choice(sec, "interpolation", &b.Interpolation, CV2Linear, CV2Nearest)
	border := Border{}
	d.border(sec, &border)
	b.Padding, b.Fill = border.Mode, border.Fill
	return b, sec
}

func (d *decoder) opticalDistortion(op *section) *OpticalDistortion {
	b, _ := d.bent(op, opticalDistortion, 0.05)
	return &OpticalDistortion{b}
}

func (d *decoder) gridDistortion(op *section) *GridDistortion {
	b, sec := d.bent(op, gridDistortion, 0.3)
	g := &GridDistortion{NumSteps: 5, Normalized: true, Bent: b}
	whole(sec, "num_steps", &g.NumSteps, 1, maxSteps)
	sec.flag("normalized", &g.Normalized)
	return g
}
