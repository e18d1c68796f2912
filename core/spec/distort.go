package spec

import "go.yaml.in/yaml/v3"

// photometricDistort reads random_photometric_distort: torchvision's ranges where none is said.
func (d *decoder) photometricDistort(op *section) *ColorJitter {
	p, shown, sec := d.short(op, "random_photometric_distort", "p")
	j := &ColorJitter{P: 0.5, Brightness: &[2]float64{0.875, 1.125}, Contrast: &[2]float64{0.5, 1.5}, Saturation: &[2]float64{0.5, 1.5}, Hue: &[2]float64{-0.05, 0.05}}
	if p != nil && d.err == nil {
		j.P, _ = d.number(p, shown, 0, 1)
	}
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
	return j
}

func (d *decoder) gaussianNoise(op *section) *GaussianNoise {
	g := &GaussianNoise{Sigma: [2]float64{0.1, 0.1}, P: 1}
	sigma, shown, sec := d.short(op, "gaussian_noise", "sigma")
	d.numberOrRange(sigma, shown, &g.Sigma, 0, 1)
	sec.number("mean", &g.Mean, -1, 1)
	sec.number("p", &g.P, 0, 1)
	return g
}

func (d *decoder) jpeg(op *section) *JPEG {
	j := &JPEG{P: 1}
	quality, shown, sec := d.short(op, "jpeg", "quality")
	if d.err == nil && quality == nil {
		op.fail("jpeg", "quality is missing, want one, such as {quality: [30, 95]}")
	}
	oneOrRange(d, quality, shown, "a whole number from 1 to 100", &j.Quality, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, 1, 100)
		return v
	})
	sec.number("p", &j.P, 0, 1)
	return j
}
