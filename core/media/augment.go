package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// Augmentation is a way to draw operations for a row.
type Augmentation uint8

const (
	RandAugment        Augmentation = iota + 1 // a number of them, all by one magnitude
	TrivialAugmentWide                         // one, and its magnitude
	AutoAugment                                // one of a policy's pairs
	TimmRandAugment                            // timm's RandAugment: a number of operations, each by a magnitude of its own, or not
	AugMix                                     // the picture, mixed with what chains of operations make of it
)

// Policy is one of those that were learnt for a data set.
type Policy uint8

const (
	ImageNet Policy = iota
	CIFAR10
	SVHN
)

// Limits of Augment and Blur.
const (
	MaxOps  = C.MEDIA_MAX_OPS
	MaxBins = 1000

	MaxMagnitude    = 30 // timm's
	MaxMagnitudeStd = 100

	MaxMix      = C.MEDIA_MAX_MIX
	MaxSeverity = 10
	MinAlpha    = 0.1
	MaxMixAlpha = 1000

	MaxKernel = C.MEDIA_MAX_KERNEL
	MinSigma  = 1e-3
	MaxSigma  = 1000
)

// Augment is torchvision's RandAugment, TrivialAugmentWide, AutoAugment or AugMix, or timm's RandAugment, on a PIL image, or but for timm's on a tensor: what shears, moves and turns leaves
// Fill where there are no pixels. In grey pictures Color does nothing.
type Augment struct {
	Kind          Augmentation
	Ops           int           // of RandAugment and timm's: how many operations, one after the other
	Magnitude     int           // of RandAugment: which of the Bins, from 0; of timm's 0 to MaxMagnitude, of 10; of AugMix how many of 10, from the least
	Bins          int           // of RandAugment and TrivialAugmentWide
	Policy        Policy        // of AutoAugment
	Interpolation Interpolation // Nearest, Bilinear or Bicubic
	Fill          Fill
	Bare          bool       // as Rotation's
	Timm          TimmLevels // of timm's
	Mix           Mix        // of AugMix
}

// Mix says what AugMix mixes: the picture and Width chains of Depth operations, or of one to three where that is 0, by shares of a Dirichlet distribution.
type Mix struct {
	Width, Depth int
	Alpha        float64
	Fewer        bool // brightness, colour, contrast and sharpness are left out
}

// TimmLevels say by what magnitudes timm's operations are done: normal numbers around Magnitude of this deviation, or any up to it, cut at Max.
type TimmLevels struct {
	P          float64 // that an operation happens
	Std, Max   float64
	Uniform    bool
	Increasing bool // larger magnitudes do more, of all operations
	AnyFilter  bool // Bilinear or Bicubic is drawn for each
}

// Blur is torchvision's GaussianBlur of Size x Size pixels, within 1, by a sigma between two.
type Blur struct {
	P     float64 // probability that it happens
	Size  int     // odd
	Sigma [2]float64
}

// Solarize inverts values from Threshold on, with probability P.
type Solarize struct{ P, Threshold float64 }

// Posterize leaves the upper Bits of each value, with probability P.
type Posterize struct {
	P    float64
	Bits int
}

// Sharpness blends with Pillow's SMOOTH, with probability P: 0 is that alone, 1 the picture as it is.
type Sharpness struct{ P, Factor float64 }

// Noise is torchvision's GaussianNoise, with probability P, of this mean and of a standard deviation between two: of values from 0 to 1.
type Noise struct {
	P, Mean float64
	Sigma   [2]float64
}

// JPEG is torchvision's JPEG on a PIL image: with probability P the row is written at a quality between two, and read again.
type JPEG struct {
	P       float64
	Quality [2]int
	BGR     bool // it is taken for one of BGR
}

func (a *Augment) kind() C.uint32_t { return C.MEDIA_DO_AUGMENT }

func (a *Augment) fill(to *C.media_step) {
	t, m := &a.Timm, &a.Mix
	*own[C.media_augment_step](to) = C.media_augment_step{
		kind: C.uint32_t(a.Kind), policy: C.uint32_t(a.Policy), ops: C.uint32_t(a.Ops), magnitude: C.uint32_t(a.Magnitude), bins: C.uint32_t(a.Bins), by: taken(a.Interpolation, a.Fill, a.Bare),
		happens: C.double(t.P), deviation: C.double(t.Std), most: C.double(t.Max), uniform: flag(t.Uniform), increasing: flag(t.Increasing), any_filter: flag(t.AnyFilter),
		width: C.uint32_t(m.Width), depth: C.uint32_t(m.Depth), alpha: C.double(m.Alpha), fewer: flag(m.Fewer),
	}
}

func (b *Blur) kind() C.uint32_t { return C.MEDIA_DO_BLUR }

func (b *Blur) fill(to *C.media_step) {
	to.p = C.double(b.P)
	*own[C.media_blur_step](to) = C.media_blur_step{sigma: cRange(b.Sigma), size: C.uint32_t(b.Size)}
}

func (b *Blur) least() int { return b.Size/2 + 1 }

func (s *Solarize) kind() C.uint32_t { return C.MEDIA_DO_SOLARIZE }

func (s *Solarize) fill(to *C.media_step) {
	to.p = C.double(s.P)
	*own[C.double](to) = C.double(s.Threshold)
}

func (s *Solarize) check(place) error {
	if !(s.Threshold >= 0 && s.Threshold <= 256) {
		return fmt.Errorf("solarize: got threshold %v, want 0 to 256", s.Threshold)
	}
	return nil
}

func (p *Posterize) kind() C.uint32_t { return C.MEDIA_DO_POSTERIZE }

func (p *Posterize) fill(to *C.media_step) {
	to.p = C.double(p.P)
	*own[C.double](to) = C.double(p.Bits)
}

func (p *Posterize) check(place) error {
	if p.Bits < 0 || p.Bits > 8 {
		return fmt.Errorf("posterize: got %d bits, want 0 to 8", p.Bits)
	}
	return nil
}

func (s *Sharpness) kind() C.uint32_t { return C.MEDIA_DO_SHARPNESS }

func (s *Sharpness) fill(to *C.media_step) {
	to.p = C.double(s.P)
	*own[C.double](to) = C.double(s.Factor)
}

func (s *Sharpness) check(place) error {
	if !(s.Factor >= 0 && s.Factor <= MaxFactor) {
		return fmt.Errorf("sharpness: got factor %v, want 0 to %d", s.Factor, MaxFactor)
	}
	return nil
}

func (n *Noise) kind() C.uint32_t { return C.MEDIA_DO_NOISE }

func (n *Noise) fill(to *C.media_step) {
	to.p = C.double(n.P)
	*own[C.media_noise_step](to) = C.media_noise_step{mean: C.double(n.Mean * 255), sigma: cRange([2]float64{n.Sigma[0] * 255, n.Sigma[1] * 255})}
}

func (n *Noise) check(place) error {
	if !(n.Mean >= -1 && n.Mean <= 1 && n.Sigma[0] >= 0 && n.Sigma[0] <= n.Sigma[1] && n.Sigma[1] <= 1) {
		return fmt.Errorf("noise: got mean %v and sigma %v, want -1 <= mean <= 1 and 0 <= smallest <= largest <= 1", n.Mean, n.Sigma)
	}
	return nil
}

func (j *JPEG) kind() C.uint32_t { return C.MEDIA_DO_JPEG }

func (j *JPEG) fill(to *C.media_step) {
	to.p = C.double(j.P)
	*own[C.media_jpeg_step](to) = C.media_jpeg_step{quality: cPair(j.Quality), bgr: flag(j.BGR)}
}

func (j *JPEG) check(place) error {
	if !(j.Quality[0] >= 1 && j.Quality[0] <= j.Quality[1] && j.Quality[1] <= 100) {
		return fmt.Errorf("jpeg: got quality %v, want 1 <= lowest <= highest <= 100", j.Quality)
	}
	return nil
}

// Remap is what becomes of each value, such as of a mask's numbers.
type Remap [256]uint8

func (r *Remap) kind() C.uint32_t { return C.MEDIA_DO_REMAP }

func (r *Remap) check(place) error { return nil }

func (r *Remap) fill(to *C.media_step) { *own[Remap](to) = *r }

func (a *Augment) check(in place) error {
	if a.Kind < RandAugment || a.Kind > AugMix || a.Policy > SVHN {
		return fmt.Errorf("augment: kind %d or policy %d is not one of the named values", a.Kind, a.Policy)
	}
	if err := in.filter("augment", a.Interpolation); err != nil {
		return err
	}
	switch a.Kind {
	case AutoAugment:
		return nil
	case TimmRandAugment:
		return a.checkTimm(in)
	case AugMix:
		return a.checkMix(in)
	}
	if a.Bins < 2 || a.Bins > MaxBins {
		return fmt.Errorf("augment: got %d magnitude bins, want 2 to %d", a.Bins, MaxBins)
	}
	if a.Kind != RandAugment {
		return nil
	}
	if a.Ops < 1 || a.Ops > MaxOps {
		return fmt.Errorf("augment: got %d operations, want 1 to %d", a.Ops, MaxOps)
	}
	if a.Magnitude < 0 || a.Magnitude >= a.Bins {
		return fmt.Errorf("augment: got magnitude %d, want 0 to %d, as there are %d bins", a.Magnitude, a.Bins-1, a.Bins)
	}
	return nil
}

func (a *Augment) checkTimm(in place) error {
	t := &a.Timm
	switch {
	case in.byTorch:
		return fmt.Errorf("by torch: got timm's augmentation, whose operations are on PIL images alone")
	case a.Ops < 1 || a.Ops > MaxOps:
		return fmt.Errorf("augment: got %d operations, want 1 to %d", a.Ops, MaxOps)
	case a.Magnitude < 0 || a.Magnitude > MaxMagnitude || !(t.Max >= 0 && t.Max <= MaxMagnitude):
		return fmt.Errorf("augment: got magnitude %d of at most %v, want 0 to %d", a.Magnitude, t.Max, MaxMagnitude)
	case !(t.P >= 0 && t.P <= 1 && t.Std >= 0 && t.Std <= MaxMagnitudeStd):
		return fmt.Errorf("augment: got probability %v and deviation %v, want 0 to 1 and 0 to %d", t.P, t.Std, MaxMagnitudeStd)
	}
	return nil
}

func (a *Augment) checkMix(in place) error {
	m := &a.Mix
	switch {
	case in.early:
		return fmt.Errorf("augment: got AugMix ahead of a crop, want it behind")
	case a.Magnitude < 1 || a.Magnitude > MaxSeverity:
		return fmt.Errorf("augment: got severity %d, want 1 to %d", a.Magnitude, MaxSeverity)
	case m.Width < 1 || m.Width > MaxMix || m.Depth < 0 || m.Depth > MaxMix:
		return fmt.Errorf("augment: got a mix of %d chains of %d operations, want 1 to %d chains of 0, by chance, to %[3]d", m.Width, m.Depth, MaxMix)
	case !(m.Alpha >= MinAlpha && m.Alpha <= MaxMixAlpha):
		return fmt.Errorf("augment: got alpha %v, want %v to %v", m.Alpha, MinAlpha, MaxMixAlpha)
	}
	return nil
}

func (b *Blur) check(in place) error {
	out := in.known()
	if b.Size < 1 || b.Size > MaxKernel || b.Size%2 == 0 {
		return fmt.Errorf("blur: got size %d, want an odd number from 1 to %d", b.Size, MaxKernel)
	}
	if b.Size/2 >= min(out.H, out.W) {
		return fmt.Errorf("blur: got size %d for a row of %d x %d, want less than twice the shorter side", b.Size, out.H, out.W)
	}
	if !(b.Sigma[0] >= MinSigma && b.Sigma[0] <= b.Sigma[1] && b.Sigma[1] <= MaxSigma) {
		return fmt.Errorf("blur: got sigma %v, want %v <= smallest <= largest <= %v", b.Sigma, MinSigma, MaxSigma)
	}
	return nil
}
