package spec

// The decoders' limits (core/media).
const (
	maxLight           = 10
	minGamma, maxGamma = 0.01, 100
)

// RandomBrightnessContrast multiplies values by a contrast and adds a share of 255, each between low and high.
type RandomBrightnessContrast struct {
	Brightness [2]float64 `json:"brightness"`
	Contrast   [2]float64 `json:"contrast"`
	P          float64    `json:"p"`
}

// RandomGamma raises values of 0 to 1 to a power between low and high.
type RandomGamma struct {
	Gamma [2]float64 `json:"gamma"`
	P     float64    `json:"p"`
}

// cv2Gray is the chance that makes OpenCV's grey.
const cv2Gray = "cv2_grayscale"

func (b *RandomBrightnessContrast) Name() string { return "random_brightness_contrast" }
func (g *RandomGamma) Name() string              { return "random_gamma" }

func (b *RandomBrightnessContrast) random() bool {
	return chance(b.P) || b.P > 0 && (b.Brightness[0] < b.Brightness[1] || b.Contrast[0] < b.Contrast[1])
}
func (g *RandomGamma) random() bool { return chance(g.P) || g.P > 0 && g.Gamma[0] < g.Gamma[1] }

func (*RandomBrightnessContrast) read(d *reading, op *section) Step {
	b := &RandomBrightnessContrast{Brightness: [2]float64{-0.2, 0.2}, Contrast: [2]float64{0.8, 1.2}, P: 0.5}
	sec := d.below(op, "random_brightness_contrast")
	read := func(key string, to *[2]float64, asItIs float64) {
		if !sec.has(key) {
			return
		}
		*to = [2]float64{asItIs, asItIs}
		if f := d.factor(&sec, key, asItIs, -maxLight, maxLight); f != nil {
			*to = *f
		}
	}
	read("brightness", &b.Brightness, 0)
	read("contrast", &b.Contrast, 1)
	sec.number("p", &b.P, 0, 1)
	return b
}

func (*RandomGamma) read(d *reading, op *section) Step {
	g := &RandomGamma{Gamma: [2]float64{0.8, 1.2}, P: 0.5}
	gamma, shown, sec := d.short(op, "random_gamma", "gamma")
	d.numberOrRange(gamma, shown, &g.Gamma, minGamma, maxGamma)
	sec.number("p", &g.P, 0, 1)
	return g
}
