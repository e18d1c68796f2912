package spec

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Pivot is a place in what is turned, in pixels; not Given: the middle.
type Pivot struct {
	Given bool    `json:"given"`
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
}

// The symmetries that want square rows, where they are of rows.
const (
	rotate90  = "random_rotate90"
	transpose = "transpose"
)

// RandomRotation turns pictures to the left by degrees between low and high.
type RandomRotation struct {
	Degrees       [2]float64    `json:"degrees"`
	Center        Pivot         `json:"center"`
	Expand        bool          `json:"expand"` // the picture grows until all of it is there
	Interpolation Interpolation `json:"interpolation"`
	Fill          *Fill         `json:"fill,omitempty"`
	Arithmetic    `json:"arithmetic,omitempty"`
}

// RandomAffine turns pictures to the right, moves them by up to Translate of width and height to either side, scales and shears them.
type RandomAffine struct {
	Degrees       [2]float64    `json:"degrees"`
	Center        Pivot         `json:"center"`
	Translate     [2]float64    `json:"translate"`
	Scale         [2]float64    `json:"scale"`
	ShearX        [2]float64    `json:"shear_x"` // degrees
	ShearY        [2]float64    `json:"shear_y"`
	Interpolation Interpolation `json:"interpolation"`
	Fill          *Fill         `json:"fill,omitempty"`
	Arithmetic    `json:"arithmetic,omitempty"`
}

// RandomPerspective moves each corner of a picture inwards, by up to DistortionScale of half its sides.
type RandomPerspective struct {
	DistortionScale float64       `json:"distortion_scale"`
	P               float64       `json:"p"`
	Interpolation   Interpolation `json:"interpolation"`
	Fill            *Fill         `json:"fill,omitempty"`
	Arithmetic      `json:"arithmetic,omitempty"`
}

// RandomZoomOut puts a picture somewhere into one whose sides are longer by a number of SideRange.
type RandomZoomOut struct {
	SideRange [2]float64 `json:"side_range"`
	P         float64    `json:"p"`
	Fill      *Fill      `json:"fill,omitempty"`
}

// ElasticTransform takes each pixel from a place beside its own, as far off along x and y as Alpha says, alike among neighbours within some Sigma pixels.
type ElasticTransform struct {
	Alpha         [2]float64    `json:"alpha"`
	Sigma         float64       `json:"sigma"`
	P             float64       `json:"p"`
	Interpolation Interpolation `json:"interpolation"`
	Fill          *Fill         `json:"fill,omitempty"`
}

// Symmetry is a flip, or quarters of a turn, with a probability above 0.
type Symmetry struct{ Chance }

// warpers are the filters of what shears, moves and turns: Pillow's.
var warpers = []Interpolation{Nearest, Bilinear, Bicubic}

func (r *RandomRotation) Name() string    { return "random_rotation" }
func (r *RandomAffine) Name() string      { return "random_affine" }
func (r *RandomPerspective) Name() string { return "random_perspective" }
func (z *RandomZoomOut) Name() string     { return "random_zoom_out" }
func (e *ElasticTransform) Name() string  { return "elastic_transform" }

func (s *Symmetry) random() bool       { return s.P < 1 || s.Operation == rotate90 }
func (r *RandomRotation) random() bool { return r.Degrees[0] < r.Degrees[1] }

func (r *RandomAffine) random() bool {
	return r.Translate != [2]float64{} || slices.ContainsFunc([][2]float64{r.Degrees, r.Scale, r.ShearX, r.ShearY}, func(f [2]float64) bool { return f[0] < f[1] })
}

func (r *RandomPerspective) random() bool { return r.P > 0 && r.DistortionScale > 0 }
func (z *RandomZoomOut) random() bool     { return z.P > 0 && z.SideRange[1] > 1 }
func (e *ElasticTransform) random() bool  { return e.P > 0 && e.Alpha != [2]float64{} }

func (s *Symmetry) draws() any { return s.P }

func (s *Symmetry) read(d *reading, op *section) Step {
	if c := d.chance(op, s.Operation); c != nil {
		return &Symmetry{*c}
	}
	return nil
}

func (r *RandomRotation) draws() any {
	c := *r
	c.Interpolation, c.Fill, c.Arithmetic = "", nil, ""
	return c
}

func (r *RandomAffine) draws() any {
	c := *r
	c.Interpolation, c.Fill, c.Arithmetic = "", nil, ""
	return c
}

func (r *RandomPerspective) draws() any {
	c := *r
	c.Interpolation, c.Fill, c.Arithmetic = "", nil, ""
	return c
}

func (z *RandomZoomOut) draws() any {
	c := *z
	c.Fill = nil
	return c
}

func (e *ElasticTransform) draws() any {
	c := *e
	c.Interpolation, c.Fill = "", nil
	return c
}

func (r *RandomRotation) mixes() Interpolation    { return r.Interpolation }
func (r *RandomAffine) mixes() Interpolation      { return r.Interpolation }
func (r *RandomPerspective) mixes() Interpolation { return r.Interpolation }
func (e *ElasticTransform) mixes() Interpolation  { return e.Interpolation }

func (r *RandomRotation) fills() *Fill    { return r.Fill }
func (r *RandomAffine) fills() *Fill      { return r.Fill }
func (r *RandomPerspective) fills() *Fill { return r.Fill }
func (z *RandomZoomOut) fills() *Fill     { return z.Fill }
func (e *ElasticTransform) fills() *Fill  { return e.Fill }

func (r *RandomRotation) grows() (growth, bool) {
	return growth{"random_rotation.expand", "true", "random_rotation with expand"}, r.Expand
}

func (z *RandomZoomOut) grows() (growth, bool) { return growth{z.Name(), z.Name(), z.Name()}, true }

func (s *Symmetry) check(i *Image, at string, fail func(path, format string, args ...any)) {
	out, why := i.Transform.Output(), map[string]string{rotate90: "a quarter of a turn changes their sides", transpose: "lines become columns"}[s.Operation]
	switch {
	case why == "", slices.Contains(i.Transform.early(), Step(s)):
	case i.Open():
		fail(at, "got %s with shape: %s, want square rows, as %s; write it in front of resize, or center_crop in place of shape", s.Operation, i.Shape, why)
	case out.Height != out.Width:
		fail(at, "got %s with rows of %d x %d, want square ones, as %s; write center_crop: %d, or it in front of what crops or resizes", s.Operation, out.Height, out.Width, why, min(out.Height, out.Width))
	}
}

func (r *RandomPerspective) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkAffine(r, at, fail)
}

func (e *ElasticTransform) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if out := i.Transform.Output(); !i.Open() && e.reach() >= min(out.Height, out.Width) {
		fail(at, "got sigma %g for rows of %d x %d, want 4 sigma within the shorter side, as what is blurred is mirrored at the borders", e.Sigma, out.Height, out.Width)
	}
	i.checkMapped(e, at, fail)
}

// checkMapped refuses a step that moves points in no way that can be told, where they are to follow.
func (i *Image) checkMapped(s Step, at string, fail func(path, format string, args ...any)) {
	i.checkAffine(s, at, fail)
	const unfollowed = "given beside %s, which nothing can follow; leave one of them out, or take random_affine or random_perspective"
	section := sectionOf(at)
	switch {
	case i.Boxes != nil:
		fail(section+".boxes", unfollowed, s.Name())
	case i.Points != nil:
		fail(section+".points", unfollowed, s.Name())
	}
}

// checkAffine refuses a step that is no affine map where one is to be said.
func (i *Image) checkAffine(s Step, at string, fail func(path, format string, args ...any)) {
	if i.Affine {
		fail(sectionOf(at)+".affine", "got affine beside %s, which is no affine map; leave one of them out, or take random_affine", s.Name())
	}
}

// warped reads a map's filter and fill, and whose arithmetic it is by. On a tensor black is a fill like another, and none is v2's fill=None, which
// bilinear tells from it.
func (d *decoder) warped(s *section, by *Interpolation, fill **Fill, of *Arithmetic) {
	choice(s, "interpolation", by, warpers...)
	d.fill(s, fill)
	d.arithmetic(s, of)
	switch {
	case d.err != nil || *of != OfTorch:
	case *by == Bicubic:
		s.fail("interpolation", "got bicubic beside arithmetic: torch, want nearest or bilinear, which are all that torch has for tensors")
	case *by == Bilinear && *fill == nil && s.has("fill"):
		*fill = &Fill{Channels: 1}
	}
}

func (*RandomRotation) read(d *reading, op *section) Step {
	const key = "random_rotation"
	r := &RandomRotation{Interpolation: Nearest}
	if target(op.values[key]).Kind != yaml.MappingNode {
		r.Degrees = d.around(op, key, maxDegrees)
		return r
	}
	sec := d.needs(op, key, "degrees", "30")
	r.Degrees = d.around(&sec, "degrees", maxDegrees)
	d.center(&sec, &r.Center)
	sec.flag("expand", &r.Expand)
	d.warped(&sec, &r.Interpolation, &r.Fill, &r.Arithmetic)
	return r
}

func (*RandomAffine) read(d *reading, op *section) Step {
	const key = "random_affine"
	r := &RandomAffine{Scale: [2]float64{1, 1}, Interpolation: Nearest}
	sec := d.needs(op, key, "degrees", "30")
	r.Degrees = d.around(&sec, "degrees", maxDegrees)
	if sec.has("translate") {
		if share := d.each(&sec, "translate", "[x, y], shares of width and height", 2, 0, 1); d.err == nil {
			r.Translate = [2]float64(share)
		}
	}
	d.interval(&sec, "scale", &r.Scale, minScale, maxScale)
	d.shear(&sec, r)
	d.center(&sec, &r.Center)
	d.warped(&sec, &r.Interpolation, &r.Fill, &r.Arithmetic)
	return r
}

func (*RandomPerspective) read(d *reading, op *section) Step {
	const key = "random_perspective"
	op.switchedOn(key)
	r := &RandomPerspective{DistortionScale: 0.5, P: 0.5, Interpolation: Bilinear}
	scale, shown, sec := d.short(op, key, "distortion_scale")
	if scale != nil && d.err == nil {
		r.DistortionScale, _ = d.number(scale, shown, 0, 1)
	}
	sec.number("p", &r.P, 0, 1)
	d.warped(sec, &r.Interpolation, &r.Fill, &r.Arithmetic)
	return r
}

func (*RandomZoomOut) read(d *reading, op *section) Step {
	const key = "random_zoom_out"
	op.switchedOn(key)
	z := &RandomZoomOut{SideRange: [2]float64{1, 4}, P: 0.5}
	sides, shown, sec := d.short(op, key, "side_range")
	if sides != nil && d.err == nil {
		lowHigh(d.decoder, sides, shown, &z.SideRange, d.from(1, maxZoomOut))
	}
	sec.number("p", &z.P, 0, 1)
	d.fill(sec, &z.Fill)
	return z
}

func (*ElasticTransform) read(d *reading, op *section) Step {
	const key = "elastic_transform"
	op.switchedOn(key)
	e := &ElasticTransform{Alpha: [2]float64{50, 50}, Sigma: 5, P: 1, Interpolation: Bilinear}
	alpha, shown, sec := d.short(op, key, "alpha")
	d.numberOrPair(alpha, shown, &e.Alpha, 0, maxAlpha)
	sec.number("sigma", &e.Sigma, 0, maxElasticSigma)
	sec.number("p", &e.P, 0, 1)
	choice(sec, "interpolation", &e.Interpolation, Bilinear, Nearest)
	d.fill(sec, &e.Fill)
	return e
}

// reach is how far the blur goes to either side.
func (e *ElasticTransform) reach() int {
	if e.Sigma == 0 {
		return 0
	}
	return (int(8*e.Sigma+1) | 1) / 2
}

// center reads [x, y].
func (d *decoder) center(s *section, to *Pivot) {
	if !s.has("center") {
		return
	}
	if at := d.each(s, "center", "[x, y] in pixels from the top left corner of what is turned", 2, -maxSide, maxSide); d.err == nil {
		*to = Pivot{true, at[0], at[1]}
	}
}

// each reads a list of n numbers.
func (d *decoder) each(s *section, key, want string, n int, low, high float64) (all []float64) {
	items := s.items(key, want, maxChannels)
	if d.err == nil && len(items) != n {
		s.fail(key, "got a list of %d, want %s", len(items), want)
	}
	for i, item := range items {
		f, _ := d.number(item, fmt.Sprintf("%s[%d]", join(s.shown, key), i), low, high)
		all = append(all, f)
	}
	return all
}

// shear reads one range, along x, or two, along x and along y, in one list.
func (d *decoder) shear(s *section, r *RandomAffine) {
	const key = "shear"
	if !s.has(key) {
		return
	}
	if n := target(s.values[key]); n.Kind != yaml.SequenceNode || len(n.Content) == 2 {
		r.ShearX = d.around(s, key, maxShear)
		return
	}
	all := d.each(s, key, "[low, high] along x, or [x low, x high, y low, y high]", 4, -maxShear, maxShear)
	if d.err != nil {
		return
	}
	r.ShearX, r.ShearY = [2]float64(all[:2]), [2]float64(all[2:])
	if r.ShearX[0] > r.ShearX[1] || r.ShearY[0] > r.ShearY[1] {
		s.fail(key, "got %v, want [x low, x high, y low, y high], each low before its high", all)
	}
}
