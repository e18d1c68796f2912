package spec

import "go.yaml.in/yaml/v3"

// The decoders' limits (core/media).
const (
	maxCutoff                                      = 100
	maxShadows, minCorners, maxCorners             = 16, 3, 64
	minKelvin, minDaylight, whiteKelvin, maxKelvin = 3000, 4000, 6000, 15000
)

// More operations of albumentations'.
const (
	cv2Autocontrast = "cv2_autocontrast"
	saltAndPepper   = "salt_and_pepper"
	planckian       = "planckian_jitter"
	erasing         = "erasing"
	randomShadow    = "random_shadow"

	byCDF, byPIL        = "cdf", "pil"
	blackbody, cied     = "blackbody", "cied"
	uniformly, normally = "uniform", "gaussian"
)

// CV2Autocontrast stretches each channel's values, once Cutoff of a hundred of its pixels are cut off at both ends.
type CV2Autocontrast struct {
	Method string  `json:"method"`
	Cutoff float64 `json:"cutoff"`
	P      float64 `json:"p"`
}

// SaltAndPepper makes a share of the pixels white or black.
type SaltAndPepper struct {
	Amount [2]float64 `json:"amount"`
	White  [2]float64 `json:"salt_vs_pepper"`
	P      float64    `json:"p"`
}

// PlanckianJitter makes colours those of a light of a temperature.
type PlanckianJitter struct {
	Mode     string     `json:"mode"`
	Kelvin   [2]float64 `json:"temperature"`
	Sampling string     `json:"sampling"`
	P        float64    `json:"p"`
}

// Erasing makes a part of a share of the row's area one colour.
type Erasing struct {
	Scale [2]float64 `json:"scale"`
	Ratio [2]float64 `json:"ratio"` // width / height
	P     float64    `json:"p"`
	Fill  *Fill      `json:"fill,omitempty"`
}

// RandomShadow makes polygons in a part of the row darker.
type RandomShadow struct {
	ROI       [4]float64 `json:"roi"` // left, top, right and bottom, as shares of its sides
	Count     [2]int     `json:"count"`
	Corners   int        `json:"corners"`
	Intensity [2]float64 `json:"intensity"`
	P         float64    `json:"p"`
}

func (a *CV2Autocontrast) Name() string { return cv2Autocontrast }
func (s *SaltAndPepper) Name() string   { return saltAndPepper }
func (p *PlanckianJitter) Name() string { return planckian }
func (e *Erasing) Name() string         { return erasing }
func (s *RandomShadow) Name() string    { return randomShadow }

func (a *CV2Autocontrast) random() bool { return chance(a.P) }
func (s *SaltAndPepper) random() bool   { return s.P > 0 && s.Amount[1] > 0 }
func (p *PlanckianJitter) random() bool { return p.P > 0 }
func (e *Erasing) random() bool         { return e.P > 0 }
func (s *RandomShadow) random() bool    { return s.P > 0 && s.Count[1] > 0 && s.Intensity[1] > 0 }

func (e *Erasing) fills() *Fill { return e.Fill }

func (p *PlanckianJitter) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkColours(at, fail)
}

func (*CV2Autocontrast) read(d *reading, op *section) Step {
	a := &CV2Autocontrast{Method: byCDF, P: 0.5}
	cutoff, shown, sec := d.short(op, cv2Autocontrast, "cutoff")
	if cutoff != nil && d.err == nil {
		a.Cutoff, _ = d.number(cutoff, shown, 0, maxCutoff)
	}
	choice(sec, "method", &a.Method, byCDF, byPIL)
	sec.number("p", &a.P, 0, 1)
	return a
}

func (*SaltAndPepper) read(d *reading, op *section) Step {
	s := &SaltAndPepper{Amount: [2]float64{0.01, 0.06}, White: [2]float64{0.4, 0.6}, P: 0.5}
	amount, shown, sec := d.short(op, saltAndPepper, "amount")
	d.numberOrRange(amount, shown, &s.Amount, 0, 1)
	d.numberOrRange(sec.values["salt_vs_pepper"], join(sec.shown, "salt_vs_pepper"), &s.White, 0, 1)
	sec.number("p", &s.P, 0, 1)
	return s
}

func (*PlanckianJitter) read(d *reading, op *section) Step {
	p := &PlanckianJitter{Mode: blackbody, Sampling: uniformly, P: 0.5}
	sec := d.below(op, planckian)
	choice(&sec, "mode", &p.Mode, blackbody, cied)
	choice(&sec, "sampling", &p.Sampling, uniformly, normally)
	least := float64(minKelvin)
	if p.Mode == cied {
		least = minDaylight
	}
	p.Kelvin = [2]float64{least, maxKelvin}
	d.interval(&sec, "temperature", &p.Kelvin, least, maxKelvin)
	if d.err == nil && (p.Kelvin[0] > whiteKelvin || p.Kelvin[1] < whiteKelvin) {
		sec.fail("temperature", "got [%g, %g], want %d between them, as colours are moved to either side of white", p.Kelvin[0], p.Kelvin[1], whiteKelvin)
	}
	sec.number("p", &p.P, 0, 1)
	return p
}

func (*Erasing) read(d *reading, op *section) Step {
	e := &Erasing{Scale: [2]float64{0.02, 0.33}, Ratio: [2]float64{0.3, 3.3}, P: 0.5}
	scale, shown, sec := d.short(op, erasing, "scale")
	d.numberOrRange(scale, shown, &e.Scale, 0, 1)
	d.interval(sec, "ratio", &e.Ratio, minRatio, maxRatio)
	sec.number("p", &e.P, 0, 1)
	d.fill(sec, &e.Fill)
	return e
}

func (*RandomShadow) read(d *reading, op *section) Step {
	s := &RandomShadow{ROI: [4]float64{0, 0.5, 1, 1}, Count: [2]int{1, 2}, Corners: 5, Intensity: [2]float64{0.5, 0.5}, P: 0.5}
	intensity, shown, sec := d.short(op, randomShadow, "intensity")
	d.numberOrRange(intensity, shown, &s.Intensity, 0, 1)
	d.roi(sec, &s.ROI)
	oneOrRange(d.decoder, sec.values["count"], join(sec.shown, "count"), "a whole number from 0 to 16", &s.Count, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, 0, maxShadows)
		return v
	})
	whole(sec, "corners", &s.Corners, minCorners, maxCorners)
	sec.number("p", &s.P, 0, 1)
	return s
}
