package spec

import (
	"math"

	"go.yaml.in/yaml/v3"
)

// The decoders' limits (core/media).
const (
	minWide, maxWide     = 3, 31
	maxDisk              = 15
	maxAlias             = 10
	maxBeta              = 100
	minGrain, maxGrain   = 0.01, 10
	minCutoff            = 0.01
	minGlass, maxGlass   = 0.1, 10
	maxDelta, maxTimes   = 64, 16
	minZoomStep, maxZoom = 0.005, 3
)

// More operations of albumentations'.
const (
	advancedBlur = "advanced_blur"
	defocus      = "defocus"
	ringing      = "ringing_overshoot"
	glassBlur    = "glass_blur"
	zoomBlur     = "zoom_blur"

	fast, exactly = "fast", "exact"
)

// AdvancedBlur is by a bell with a sigma of its own either way, turned, pointed or flat, with noise.
type AdvancedBlur struct {
	Size   [2]int     `json:"kernel_size"`
	SigmaX [2]float64 `json:"sigma_x"`
	SigmaY [2]float64 `json:"sigma_y"`
	Rotate [2]float64 `json:"rotate"`
	Beta   [2]float64 `json:"beta"`
	Noise  [2]float64 `json:"noise"`
	P      float64    `json:"p"`
}

// Defocus is by a disk.
type Defocus struct {
	Radius [2]int     `json:"radius"`
	Alias  [2]float64 `json:"alias_blur"`
	P      float64    `json:"p"`
}

// RingingOvershoot leaves nothing of short waves.
type RingingOvershoot struct {
	Size   [2]int     `json:"kernel_size"`
	Cutoff [2]float64 `json:"cutoff"`
	P      float64    `json:"p"`
}

// GlassBlur lets pixels change places between two blurs.
type GlassBlur struct {
	Mode       string  `json:"mode"`
	Sigma      float64 `json:"sigma"`
	MaxDelta   int     `json:"max_delta"`
	Iterations int     `json:"iterations"`
	P          float64 `json:"p"`
}

// ZoomBlur is the mean of the row and of larger ones.
type ZoomBlur struct {
	Max  [2]float64 `json:"max_factor"`
	Step [2]float64 `json:"step_factor"`
	P    float64    `json:"p"`
}

func (b *AdvancedBlur) Name() string     { return advancedBlur }
func (d *Defocus) Name() string          { return defocus }
func (r *RingingOvershoot) Name() string { return ringing }
func (g *GlassBlur) Name() string        { return glassBlur }
func (z *ZoomBlur) Name() string         { return zoomBlur }

func (b *AdvancedBlur) random() bool { return b.P > 0 }
func (d *Defocus) random() bool {
	return drawn(d.P, d.Alias) || d.P > 0 && d.Radius[0] < d.Radius[1]
}
func (r *RingingOvershoot) random() bool {
	return drawn(r.P, r.Cutoff) || r.P > 0 && r.Size[0] < r.Size[1]
}
func (g *GlassBlur) random() bool { return g.P > 0 }
func (z *ZoomBlur) random() bool  { return drawn(z.P, z.Max, z.Step) }

// wide reads the size of a kernel that is no line, or two.
func (d *decoder) wide(n *yaml.Node, shown string, to *[2]int) {
	oneOrRange(d, n, shown, "an odd number from 3 to 31", to, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, minWide, maxWide)
		if d.err == nil && v%2 == 0 {
			d.fail(n, shown, "got %d, want an odd number, as a kernel has a middle", v)
		}
		return v
	})
}

func (*AdvancedBlur) read(d *reading, op *section) Step {
	b := &AdvancedBlur{Size: [2]int{3, 7}, SigmaX: [2]float64{0.2, 1}, SigmaY: [2]float64{0.2, 1}, Rotate: [2]float64{-90, 90}, Beta: [2]float64{0.5, 8}, Noise: [2]float64{0.9, 1.1}, P: 0.5}
	size, shown, sec := d.short(op, advancedBlur, "kernel_size")
	d.wide(size, shown, &b.Size)
	d.numberOrRange(sec.values["sigma_x"], join(sec.shown, "sigma_x"), &b.SigmaX, minSigma, maxSigma)
	d.numberOrRange(sec.values["sigma_y"], join(sec.shown, "sigma_y"), &b.SigmaY, minSigma, maxSigma)
	d.numberOrRange(sec.values["rotate"], join(sec.shown, "rotate"), &b.Rotate, -maxDegrees, maxDegrees)
	d.interval(sec, "beta", &b.Beta, 0, maxBeta)
	if d.err == nil && (b.Beta[0] > 1 || b.Beta[1] < 1) {
		sec.fail("beta", "got [%g, %g], want 1 between them, as it lies on either side of that as often", b.Beta[0], b.Beta[1])
	}
	d.numberOrRange(sec.values["noise"], join(sec.shown, "noise"), &b.Noise, minGrain, maxGrain)
	sec.number("p", &b.P, 0, 1)
	return b
}

func (*Defocus) read(d *reading, op *section) Step {
	b := &Defocus{Radius: [2]int{3, 10}, Alias: [2]float64{0.1, 0.5}, P: 0.5}
	radius, shown, sec := d.short(op, defocus, "radius")
	oneOrRange(d.decoder, radius, shown, "a whole number from 1 to 15", &b.Radius, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, 1, maxDisk)
		return v
	})
	d.numberOrRange(sec.values["alias_blur"], join(sec.shown, "alias_blur"), &b.Alias, 0, maxAlias)
	sec.number("p", &b.P, 0, 1)
	return b
}

func (*RingingOvershoot) read(d *reading, op *section) Step {
	r := &RingingOvershoot{Size: [2]int{7, 15}, Cutoff: [2]float64{math.Pi / 4, math.Pi / 2}, P: 0.5}
	size, shown, sec := d.short(op, ringing, "kernel_size")
	d.wide(size, shown, &r.Size)
	d.numberOrRange(sec.values["cutoff"], join(sec.shown, "cutoff"), &r.Cutoff, minCutoff, math.Pi)
	sec.number("p", &r.P, 0, 1)
	return r
}

func (*GlassBlur) read(d *reading, op *section) Step {
	g := &GlassBlur{Mode: fast, Sigma: 0.7, MaxDelta: 4, Iterations: 2, P: 0.5}
	sigma, shown, sec := d.short(op, glassBlur, "sigma")
	if sigma != nil && d.err == nil {
		g.Sigma, _ = d.number(sigma, shown, minGlass, maxGlass)
	}
	whole(sec, "max_delta", &g.MaxDelta, 1, maxDelta)
	whole(sec, "iterations", &g.Iterations, 1, maxTimes)
	choice(sec, "mode", &g.Mode, fast, exactly)
	sec.number("p", &g.P, 0, 1)
	return g
}

func (*ZoomBlur) read(d *reading, op *section) Step {
	z := &ZoomBlur{Max: [2]float64{1, 1.31}, Step: [2]float64{0.01, 0.03}, P: 0.5}
	most, shown, sec := d.short(op, zoomBlur, "max_factor")
	d.numberOrRange(most, shown, &z.Max, 1, maxZoom)
	d.numberOrRange(sec.values["step_factor"], join(sec.shown, "step_factor"), &z.Step, minZoomStep, 1)
	sec.number("p", &z.P, 0, 1)
	return z
}
