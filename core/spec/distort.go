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
	d.ends(sigma, shown, 0, 1, func(n *yaml.Node, shown string, i int) { g.Sigma[i], _ = d.number(n, shown, 0, 1) })
	sec.number("mean", &g.Mean, -1, 1)
	sec.number("p", &g.P, 0, 1)
	if d.err == nil && g.Sigma[0] > g.Sigma[1] {
		d.fail(sigma, shown, "got [%g, %g], want low before high", g.Sigma[0], g.Sigma[1])
	}
	return g
}

func (d *decoder) jpeg(op *section) *JPEG {
	j := &JPEG{P: 1}
	quality, shown, sec := d.short(op, "jpeg", "quality")
	if d.err == nil && quality == nil {
		op.fail("jpeg", "quality is missing, want one, such as {quality: [30, 95]}")
	}
	d.ends(quality, shown, 1, 100, func(n *yaml.Node, shown string, i int) { d.wholeAt(n, shown, &j.Quality[i], 1, 100) })
	sec.number("p", &j.P, 0, 1)
	if d.err == nil && j.Quality[0] > j.Quality[1] {
		d.fail(quality, shown, "got [%d, %d], want low before high", j.Quality[0], j.Quality[1])
	}
	return j
}

// ends reads both ends of x, or of [low, high], where there is something to read.
func (d *decoder) ends(n *yaml.Node, shown string, least, most float64, read func(n *yaml.Node, shown string, i int)) {
	if n == nil || d.err != nil {
		return
	}
	v := target(n)
	switch {
	case v.Kind == yaml.SequenceNode && len(v.Content) != 2:
		d.fail(n, shown, "got a list of %d, want [low, high]", len(v.Content))
	case v.Kind == yaml.SequenceNode:
		read(v.Content[0], shown+"[0]", 0)
		read(v.Content[1], shown+"[1]", 1)
	case v.Kind != yaml.ScalarNode || isNull(v):
		d.fail(n, shown, "got %s, want a number from %g to %g, or [low, high]", describe(n), least, most)
	default:
		read(n, shown, 0)
		read(n, shown, 1)
	}
}
