package media

/*
#include "row.h"
*/
import "C"

import (
	"fmt"
	"slices"
)

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

// retouch fills in what the kernel knows of the configs above.
func (cfg *Config) retouch(op *C.media_op) {
	if a := cfg.Augment; a != nil {
		op.augment, op.augment_policy, op.augment_filter = C.uint32_t(a.Kind), C.uint32_t(a.Policy), C.uint32_t(a.Interpolation)
		op.augment_fill = a.Fill.or(a.Bare)
		op.augment_ops, op.augment_magnitude, op.augment_bins = C.uint32_t(a.Ops), C.uint32_t(a.Magnitude), C.uint32_t(a.Bins)
		t := &a.Timm
		op.augment_p, op.augment_std, op.augment_max = C.double(t.P), C.double(t.Std), C.double(t.Max)
		op.augment_uniform, op.augment_increasing, op.augment_any_filter = flag(t.Uniform), flag(t.Increasing), flag(t.AnyFilter)
		m := &a.Mix
		op.mix_width, op.mix_depth, op.mix_alpha, op.mix_fewer = C.uint32_t(m.Width), C.uint32_t(m.Depth), C.double(m.Alpha), flag(m.Fewer)
	}
	if b := cfg.Blur; b != nil {
		op.blur_p, op.blur_size = C.double(b.P), C.uint32_t(b.Size)
		op.sigma_min, op.sigma_max = C.double(b.Sigma[0]), C.double(b.Sigma[1])
	}
	if s := cfg.Solarize; s != nil {
		op.solarize_p, op.solarize_threshold = C.double(s.P), C.double(s.Threshold)
	}
	if p := cfg.Posterize; p != nil {
		op.posterize_p, op.posterize_bits = C.double(p.P), C.uint32_t(p.Bits)
	}
	if s := cfg.Sharpness; s != nil {
		op.sharpness_p, op.sharpness_factor = C.double(s.P), C.double(s.Factor)
	}
	if n := cfg.Noise; n != nil {
		op.noise_p, op.noise_mean = C.double(n.P), C.double(n.Mean*255)
		op.noise_min, op.noise_max = C.double(n.Sigma[0]*255), C.double(n.Sigma[1]*255)
	}
	if j := cfg.JPEG; j != nil {
		op.jpeg_p, op.jpeg_min, op.jpeg_max, op.jpeg_bgr = C.double(j.P), C.uint32_t(j.Quality[0]), C.uint32_t(j.Quality[1]), flag(j.BGR)
	}
	op.invert_p, op.autocontrast_p, op.equalize_p = C.double(cfg.Invert), C.double(cfg.Autocontrast), C.double(cfg.Equalize)
}

// remap fills in what becomes of values.
func (cfg *Config) remap(op *C.media_op) {
	if cfg.Remap == nil {
		return
	}
	op.remap = 1
	for v, to := range cfg.Remap {
		op.remapped[v] = C.uint8_t(to)
	}
}

// chance is one of the row's probabilities.
type chance struct {
	name string
	p    float64
}

// chances are those of what is done to a row's bytes.
func (cfg *Config) chances() []chance {
	all := []chance{{"permute", cfg.Permute}, {"grayscale", cfg.Grayscale}, {"invert", cfg.Invert}, {"autocontrast", cfg.Autocontrast}, {"equalize", cfg.Equalize}}
	if cfg.Jitter != nil {
		all = append(all, chance{"jitter", cfg.Jitter.P})
	}
	if cfg.Distort != nil {
		all = append(all, chance{"distort", cfg.Distort.P})
	}
	if cfg.Blur != nil {
		all = append(all, chance{"blur", cfg.Blur.P})
	}
	if cfg.Solarize != nil {
		all = append(all, chance{"solarize", cfg.Solarize.P})
	}
	if cfg.Posterize != nil {
		all = append(all, chance{"posterize", cfg.Posterize.P})
	}
	if cfg.Sharpness != nil {
		all = append(all, chance{"sharpness", cfg.Sharpness.P})
	}
	if cfg.Noise != nil {
		all = append(all, chance{"noise", cfg.Noise.P})
	}
	if cfg.JPEG != nil {
		all = append(all, chance{"jpeg", cfg.JPEG.P})
	}
	return slices.Concat(all, cfg.lightChances(), cfg.cv2ColourChances(), cfg.cv2BlurChances(), cfg.cv2EffectChances())
}

// checkRetouches wants numbers in range, and colours where values change.
func (cfg *Config) checkRetouches() error {
	if cfg.Mode == Index {
		return cfg.checkIndex()
	}
	if a := cfg.Augment; a != nil {
		if err := a.check(); err != nil {
			return err
		}
	}
	if b := cfg.Blur; b != nil {
		if err := b.check(cfg.known()); err != nil {
			return err
		}
	}
	if s := cfg.Solarize; s != nil && !(s.Threshold >= 0 && s.Threshold <= 256) {
		return fmt.Errorf("solarize: got threshold %v, want 0 to 256", s.Threshold)
	}
	if p := cfg.Posterize; p != nil && (p.Bits < 0 || p.Bits > 8) {
		return fmt.Errorf("posterize: got %d bits, want 0 to 8", p.Bits)
	}
	if s := cfg.Sharpness; s != nil && !(s.Factor >= 0 && s.Factor <= MaxFactor) {
		return fmt.Errorf("sharpness: got factor %v, want 0 to %d", s.Factor, MaxFactor)
	}
	if n := cfg.Noise; n != nil && !(n.Mean >= -1 && n.Mean <= 1 && n.Sigma[0] >= 0 && n.Sigma[0] <= n.Sigma[1] && n.Sigma[1] <= 1) {
		return fmt.Errorf("noise: got mean %v and sigma %v, want -1 <= mean <= 1 and 0 <= smallest <= largest <= 1", n.Mean, n.Sigma)
	}
	if j := cfg.JPEG; j != nil && !(j.Quality[0] >= 1 && j.Quality[0] <= j.Quality[1] && j.Quality[1] <= 100) {
		return fmt.Errorf("jpeg: got quality %v, want 1 <= lowest <= highest <= 100", j.Quality)
	}
	return cfg.checkLight()
}

// checkIndex refuses what would make other numbers of numbers of classes.
func (cfg *Config) checkIndex() error {
	if cfg.Augment != nil {
		return fmt.Errorf("mode index: want no augmentation, as numbers of classes are no colours")
	}
	for _, c := range cfg.chances() {
		if c.p > 0 {
			return fmt.Errorf("mode index: want no %s, as numbers of classes are no colours", c.name)
		}
	}
	return nil
}

func (a *Augment) check() error {
	if a.Kind < RandAugment || a.Kind > AugMix || a.Policy > SVHN {
		return fmt.Errorf("augment: kind %d or policy %d is not one of the named values", a.Kind, a.Policy)
	}
	if !a.Interpolation.warps() {
		return fmt.Errorf("augment: want interpolation nearest, bilinear or bicubic")
	}
	switch a.Kind {
	case AutoAugment:
		return nil
	case TimmRandAugment:
		return a.checkTimm()
	case AugMix:
		return a.checkMix()
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

func (a *Augment) checkTimm() error {
	t := &a.Timm
	switch {
	case a.Ops < 1 || a.Ops > MaxOps:
		return fmt.Errorf("augment: got %d operations, want 1 to %d", a.Ops, MaxOps)
	case a.Magnitude < 0 || a.Magnitude > MaxMagnitude || !(t.Max >= 0 && t.Max <= MaxMagnitude):
		return fmt.Errorf("augment: got magnitude %d of at most %v, want 0 to %d", a.Magnitude, t.Max, MaxMagnitude)
	case !(t.P >= 0 && t.P <= 1 && t.Std >= 0 && t.Std <= MaxMagnitudeStd):
		return fmt.Errorf("augment: got probability %v and deviation %v, want 0 to 1 and 0 to %d", t.P, t.Std, MaxMagnitudeStd)
	}
	return nil
}

func (a *Augment) checkMix() error {
	m := &a.Mix
	switch {
	case a.Magnitude < 1 || a.Magnitude > MaxSeverity:
		return fmt.Errorf("augment: got severity %d, want 1 to %d", a.Magnitude, MaxSeverity)
	case m.Width < 1 || m.Width > MaxMix || m.Depth < 0 || m.Depth > MaxMix:
		return fmt.Errorf("augment: got a mix of %d chains of %d operations, want 1 to %d chains of 0, by chance, to %[3]d", m.Width, m.Depth, MaxMix)
	case !(m.Alpha >= MinAlpha && m.Alpha <= MaxMixAlpha):
		return fmt.Errorf("augment: got alpha %v, want %v to %v", m.Alpha, MinAlpha, MaxMixAlpha)
	}
	return nil
}

func (b *Blur) check(out Size) error {
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
