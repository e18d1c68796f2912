package spec

import (
	"slices"
	"strings"

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

// The values of Augment.Kind, which are the keys of the four, and of Augment.Policy.
const (
	RandAugment        = "rand_augment"
	TrivialAugmentWide = "trivial_augment_wide"
	AutoAugment        = "auto_augment"
	TimmRandAugment    = "timm_rand_augment"

	PolicyImageNet = "imagenet"
	PolicyCIFAR10  = "cifar10"
	PolicySVHN     = "svhn"
)

// Augment draws operations out of torchvision's: NumOps of them by one magnitude, or one by any, or a pair of a policy; or out of timm's.
type Augment struct {
	Kind          string
	NumOps        int    // of RandAugment and TimmRandAugment
	Magnitude     int    // of RandAugment: which of the bins; of TimmRandAugment one of 10, or more
	Bins          int    // of RandAugment and TrivialAugmentWide: num_magnitude_bins
	Policy        string // of AutoAugment
	Interpolation Interpolation
	Fill          *Fill

	// Of TimmRandAugment: that an operation happens, how its magnitude is drawn, whether larger ones do more of all, and whether bilinear or bicubic
	// is drawn, too.
	P            float64
	MagnitudeStd float64
	MagnitudeMax float64
	Uniform      bool // any magnitude up to the one that is given
	Increasing   bool
	AnyFilter    bool
}

// GaussianBlur is by a kernel of KernelSize, with a sigma between low and high.
type GaussianBlur struct {
	KernelSize int
	Sigma      [2]float64
	P          float64
}

// Solarize inverts values from Threshold on.
type Solarize struct{ Threshold, P float64 }

// Posterize leaves the upper Bits of 8.
type Posterize struct {
	Bits int
	P    float64
}

// AdjustSharpness is 0 for a smoothed picture, 1 for the picture, 2 for one twice as sharp.
type AdjustSharpness struct{ Factor, P float64 }

// GaussianNoise is of values from 0 to 1, its standard deviation between low and high.
type GaussianNoise struct {
	Mean  float64
	Sigma [2]float64
	P     float64
}

// JPEG writes a row at a quality between low and high, and reads it again.
type JPEG struct {
	Quality [2]int
	P       float64
}

// Retouches change a row's pixels once it is cropped and flipped, besides ColorJitter and Grayscale. Nil and zero leave out.
type Retouches struct {
	RandomRotate90           float64 // probability
	RandomRotation           *RandomRotation
	RandomAffine             *RandomAffine
	RandomPerspective        *RandomPerspective
	RandomZoomOut            *RandomZoomOut
	ElasticTransform         *ElasticTransform
	Augment                  *Augment
	RandomPhotometricDistort *ColorJitter // P is of each change
	RandomChannelPermutation float64      // probability
	GaussianBlur             *GaussianBlur
	Solarize                 *Solarize
	Posterize                *Posterize
	Invert                   float64 // probability
	AdjustSharpness          *AdjustSharpness
	Autocontrast             float64 // probability
	Equalize                 float64 // probability
	GaussianNoise            *GaussianNoise
	JPEG                     *JPEG
}

// moving are the operations that are there and put pixels elsewhere, in their order.
func (r *Retouches) moving() (all []string) {
	if r.RandomRotate90 > 0 {
		all = append(all, "random_rotate90")
	}
	if r.RandomRotation != nil {
		all = append(all, "random_rotation")
	}
	if r.RandomAffine != nil {
		all = append(all, "random_affine")
	}
	if r.RandomPerspective != nil {
		all = append(all, "random_perspective")
	}
	if r.RandomZoomOut != nil {
		all = append(all, "random_zoom_out")
	}
	if r.ElasticTransform != nil {
		all = append(all, "elastic_transform")
	}
	if r.Augment != nil {
		all = append(all, r.Augment.Kind)
	}
	return all
}

// changing are those that change pixels where they are, in their order.
func (r *Retouches) changing() (all []string) {
	for _, op := range []struct {
		name  string
		given bool
	}{
		{"random_photometric_distort", r.RandomPhotometricDistort != nil}, {"random_channel_permutation", r.RandomChannelPermutation > 0},
		{"gaussian_blur", r.GaussianBlur != nil}, {"solarize", r.Solarize != nil}, {"posterize", r.Posterize != nil}, {"invert", r.Invert > 0},
		{"adjust_sharpness", r.AdjustSharpness != nil}, {"autocontrast", r.Autocontrast > 0}, {"equalize", r.Equalize > 0},
		{"gaussian_noise", r.GaussianNoise != nil}, {"jpeg", r.JPEG != nil},
	} {
		if op.given {
			all = append(all, op.name)
		}
	}
	return all
}

// random reports whether rows differ by chance: what always happens, and always alike, is none.
func (r *Retouches) random() bool {
	open := func(p float64) bool { return p > 0 && p < 1 }
	b, s, p, a := r.GaussianBlur, r.Solarize, r.Posterize, r.AdjustSharpness
	return r.Augment != nil || r.RandomRotation.random() || r.RandomAffine.random() || r.RandomPerspective.random() || r.RandomZoomOut.random() || r.ElasticTransform.random() || b != nil && (open(b.P) || b.P > 0 && b.Sigma[0] < b.Sigma[1]) || s != nil && open(s.P) || p != nil && open(p.P) ||
		r.RandomRotate90 > 0 || r.RandomPhotometricDistort != nil || r.RandomChannelPermutation > 0 || r.GaussianNoise != nil || r.JPEG.random() ||
		a != nil && open(a.P) || open(r.Invert) || open(r.Autocontrast) || open(r.Equalize)
}

func (j *JPEG) random() bool {
	return j != nil && (j.P > 0 && j.P < 1 || j.P > 0 && j.Quality[0] < j.Quality[1])
}

// retouch reads the operation where it is one of them.
func (d *decoder) retouch(op *section, r *Retouches) {
	switch {
	case op.has("random_rotation"):
		r.RandomRotation = d.randomRotation(op)
	case op.has("random_affine"):
		r.RandomAffine = d.randomAffine(op)
	case op.switchedOn("random_perspective"):
		r.RandomPerspective = d.randomPerspective(op)
	case op.switchedOn("random_zoom_out"):
		r.RandomZoomOut = d.randomZoomOut(op)
	case op.switchedOn("elastic_transform"):
		r.ElasticTransform = d.elasticTransform(op)
	case op.has(TimmRandAugment):
		r.Augment = d.timmRandAugment(op)
	case op.switchedOn(RandAugment) || op.switchedOn(TrivialAugmentWide) || op.switchedOn(AutoAugment):
		r.Augment = d.augment(op)
	case op.switchedOn("random_photometric_distort"):
		r.RandomPhotometricDistort = d.photometricDistort(op)
	case op.has("gaussian_blur"):
		r.GaussianBlur = d.gaussianBlur(op)
	case op.has("gaussian_noise"):
		r.GaussianNoise = d.gaussianNoise(op)
	case op.has("jpeg"):
		r.JPEG = d.jpeg(op)
	case op.has("solarize"):
		s := &Solarize{P: 0.5}
		sec := d.needs(op, "solarize", "threshold", "128")
		sec.number("threshold", &s.Threshold, 0, 256)
		sec.number("p", &s.P, 0, 1)
		r.Solarize = s
	case op.has("posterize"):
		p := &Posterize{P: 0.5}
		sec := d.needs(op, "posterize", "bits", "4")
		whole(&sec, "bits", &p.Bits, 0, 8)
		sec.number("p", &p.P, 0, 1)
		r.Posterize = p
	case op.has("adjust_sharpness"):
		a := &AdjustSharpness{P: 0.5}
		sec := d.needs(op, "adjust_sharpness", "factor", "2")
		sec.number("factor", &a.Factor, 0, maxFactor)
		sec.number("p", &a.P, 0, 1)
		r.AdjustSharpness = a
	}
	op.number("random_rotate90", &r.RandomRotate90, 0, 1)
	op.number("random_channel_permutation", &r.RandomChannelPermutation, 0, 1)
	op.number("invert", &r.Invert, 0, 1)
	op.number("autocontrast", &r.Autocontrast, 0, 1)
	op.number("equalize", &r.Equalize, 0, 1)
}

func (d *decoder) augment(op *section) *Augment {
	for _, key := range []string{RandAugment, AutoAugment} {
		if op.has(key) && strings.HasPrefix(target(op.values[key]).Value, "rand-") {
			op.fail(key, "got %.60q, which is timm's; write %s: %[1]s", target(op.values[key]).Value, TimmRandAugment)
			return nil
		}
	}
	a := &Augment{Kind: RandAugment, NumOps: 2, Magnitude: 9, Bins: 31, Interpolation: Nearest}
	var sec *section
	var plain *yaml.Node
	var shown string
	switch {
	case op.has(RandAugment):
		plain, shown, sec = d.short(op, a.Kind, "magnitude")
		whole(sec, "num_ops", &a.NumOps, 1, maxOps)
		whole(sec, "num_magnitude_bins", &a.Bins, 2, maxBins)
		d.wholeAt(plain, shown, &a.Magnitude, 0, a.Bins-1)
	case op.has(TrivialAugmentWide):
		a = &Augment{Kind: TrivialAugmentWide, Bins: 31, Interpolation: Nearest}
		plain, shown, sec = d.short(op, a.Kind, "num_magnitude_bins")
		d.wholeAt(plain, shown, &a.Bins, 2, maxBins)
	default:
		a = &Augment{Kind: AutoAugment, Policy: PolicyImageNet, Interpolation: Nearest}
		plain, shown, sec = d.short(op, a.Kind, "policy")
		if plain != nil {
			a.Policy, _ = oneOf(d, plain, shown, PolicyImageNet, PolicyCIFAR10, PolicySVHN)
		}
	}
	choice(sec, "interpolation", &a.Interpolation, warpers...)
	d.fill(sec, &a.Fill)
	return a
}

// wholeAt reads a whole number where there is one.
func (d *decoder) wholeAt(n *yaml.Node, shown string, dst *int, low, high int) {
	if n == nil || d.err != nil {
		return
	}
	v, _ := d.whole(n, shown, int64(low), int64(high))
	*dst = int(v)
}

// needs is the mapping of an operation with a key that has no default.
func (d *decoder) needs(op *section, key, main, example string) section {
	sec := d.section(op.values[key], join(op.table, key), join(op.shown, key), join(op.place, key))
	if d.err == nil && !sec.has(main) {
		op.fail(key, "%s is missing, want one, such as {%s: %s}", main, main, example)
	}
	return sec
}

func (d *decoder) gaussianBlur(op *section) *GaussianBlur {
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

// checkRetouches holds them against the rest of their section.
func (i *Image) checkRetouches(section string, fail func(path, format string, args ...any)) {
	const mixes = "got interpolation %s with mode index, want nearest, as others mix numbers of classes"
	r, out := &i.Transform.Retouches, i.Transform.Output()
	if r.RandomRotate90 > 0 && out.Height != out.Width {
		fail(section+".transform.random_rotate90", "got random_rotate90 with rows of %d x %d, want square ones, as a quarter of a turn changes their sides; write center_crop: %d", out.Height, out.Width, min(out.Height, out.Width))
	}
	if i.Mode == Index {
		for _, name := range append(r.moving(), r.changing()...) {
			if slices.Contains(turns, name) || slices.Contains(movers, name) {
				continue
			}
			fail(section+".transform."+name, "got %s with mode index, whose numbers of classes are no colours; leave it out: only the picture's section needs it", name)
		}
	}
	if a := r.RandomRotation; a != nil && i.Mode == Index && a.Interpolation != Nearest {
		fail(section+".transform.random_rotation", mixes, a.Interpolation)
	}
	if a := r.RandomAffine; a != nil && i.Mode == Index && a.Interpolation != Nearest {
		fail(section+".transform.random_affine", mixes, a.Interpolation)
	}
	if p := r.RandomPerspective; p != nil && i.Mode == Index && p.Interpolation != Nearest {
		fail(section+".transform.random_perspective", mixes+"; write {interpolation: nearest}", p.Interpolation)
	}
	if e := r.ElasticTransform; e != nil && i.Mode == Index && e.Interpolation != Nearest {
		fail(section+".transform.elastic_transform", mixes+"; write {interpolation: nearest}", e.Interpolation)
	}
	if e := r.ElasticTransform; e != nil && e.reach() >= min(out.Height, out.Width) {
		fail(section+".transform.elastic_transform", "got sigma %g for rows of %d x %d, want 4 sigma within the shorter side, as what is blurred is mirrored at the borders", e.Sigma, out.Height, out.Width)
	}
	for _, name := range r.moving() {
		if i.Affine && (name == "random_perspective" || name == "elastic_transform") {
			fail(section+".affine", "got affine beside %s, which is no affine map; leave one of them out, or take random_affine", name)
		}
	}
	if b := r.GaussianBlur; b != nil && b.KernelSize/2 >= min(out.Height, out.Width) {
		fail(section+".transform.gaussian_blur", "got kernel_size %d for rows of %d x %d, want less than twice the shorter side, as pixels are mirrored at the borders",
			b.KernelSize, out.Height, out.Width)
	}
}
