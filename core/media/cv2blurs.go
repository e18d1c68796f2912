package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// Kernel is what is done with probability P to each pixel by those around it: as far as a square reaches whose size is an odd number between two.
type Kernel struct {
	P    float64
	Size [2]int // 1 to MaxKernel
}

// CV2Blur is albumentations' GaussianBlur: with probability P, by a sigma between two. Size is that of the kernel, a whole number between two, of an even
// one the next; 0: what sigma needs, int(3.5 sigma) to either side.
type CV2Blur struct {
	P     float64
	Sigma [2]float64 // MinSigma to MaxCV2Sigma
	Size  [2]int     // 0 to MaxKernel
}

// MaxCV2Sigma bounds CV2Blur's Sigma: its kernel is then one of MaxKernel.
const MaxCV2Sigma = (MaxKernel - 1) / 7.0

// Motion is albumentations' MotionBlur: the mean along a way through the kernel, at an angle in degrees, to the right at 0 and down at 90, that lies behind the
// middle (direction -1), ahead of it (1) or on both sides. Shifted: moved in the kernel by up to a quarter of its size.
type Motion struct {
	Kernel
	Angle, Direction [2]float64
	Shifted          bool
}

// Unsharp is albumentations' UnsharpMask: with probability P the row is as much sharper as Alpha, a number between two, says, where it differs by more than
// Threshold from what a kernel and a sigma between two make of it.
type Unsharp struct {
	Kernel
	Sigma     [2]float64 // 0 to MaxSigma; 0: what OpenCV has for the kernel's size
	Alpha     [2]float64 // 0 to 1
	Threshold int        // 0 to 255
}

// Holes are albumentations' CoarseDropout: with probability P a number of rectangles between two, each with a height and a width of its own, become Fill.
type Holes struct {
	P             float64
	Count         [2]int // 0 to MaxHoles
	Height, Width [2]float64
	Pixels        bool // no shares of the row's sides, but whole pixels
	Fill          Fill
}

// MaxHoles bounds Holes' Count.
const MaxHoles = C.MEDIA_MAX_HOLES

// CLAHE is albumentations': with probability P the histogram of each of so many tiles is equalized, of which no value counts more than a limit between
// two times the mean.
type CLAHE struct {
	P            float64
	Limit        [2]float64 // MinLimit to MaxLimit
	Across, Down int        // tiles, 1 to MaxCLAHETiles
}

// Limits of CLAHE.
const (
	MinLimit, MaxLimit = 1e-3, 1000
	MaxCLAHETiles      = 64
)

// cv2Blurs fills in what the kernel knows of them.
func (cfg *Config) cv2Blurs(op *C.media_op) {
	if b := cfg.BoxBlur; b != nil {
		op.box_blur_p, op.box_blur_size = C.double(b.P), b.c()
	}
	if m := cfg.Median; m != nil {
		op.median_p, op.median_size = C.double(m.P), m.c()
	}
	if b := cfg.CV2Blur; b != nil {
		op.cv2_blur_p, op.cv2_blur_sigma = C.double(b.P), cRange(b.Sigma)
		op.cv2_blur_size = [2]C.uint32_t{C.uint32_t(b.Size[0]), C.uint32_t(b.Size[1])}
	}
	if u := cfg.Unsharp; u != nil {
		op.unsharp_p, op.unsharp_size, op.unsharp_sigma, op.unsharp_alpha, op.unsharp_threshold = C.double(u.P), u.c(), cRange(u.Sigma), cRange(u.Alpha), C.uint32_t(u.Threshold)
	}
	if m := cfg.Motion; m != nil {
		op.motion_p, op.motion_size, op.motion_shifts = C.double(m.P), m.c(), flag(m.Shifted)
		op.motion_angle, op.motion_direction = cRange(m.Angle), cRange(m.Direction)
	}
}

func (c *CLAHE) fill(op *C.media_op) {
	if c == nil {
		return
	}
	op.clahe_p, op.clahe_limit = C.double(c.P), cRange(c.Limit)
	op.clahe_tiles = [2]C.uint32_t{C.uint32_t(c.Across), C.uint32_t(c.Down)}
}

func (k *Kernel) c() [2]C.uint32_t {
	return [2]C.uint32_t{C.uint32_t(k.Size[0]), C.uint32_t(k.Size[1])}
}

func (h *Holes) fill(op *C.media_op) {
	if h == nil {
		return
	}
	op.holes_p, op.holes_min, op.holes_max = C.double(h.P), C.uint32_t(h.Count[0]), C.uint32_t(h.Count[1])
	op.holes_height, op.holes_width = cRange(h.Height), cRange(h.Width)
	op.holes_pixels, op.holes_fill = flag(h.Pixels), h.Fill.c()
}

// cv2BlurChances are the probabilities of these.
func (cfg *Config) cv2BlurChances() (all []chance) {
	for _, k := range cfg.kernels() {
		all = append(all, chance{k.name, k.P})
	}
	if cfg.CV2Blur != nil {
		all = append(all, chance{"OpenCV's blur", cfg.CV2Blur.P})
	}
	if cfg.Holes != nil {
		all = append(all, chance{"holes", cfg.Holes.P})
	}
	if cfg.CLAHE != nil {
		all = append(all, chance{"CLAHE", cfg.CLAHE.P})
	}
	return all
}

type named struct {
	name string
	*Kernel
}

func (cfg *Config) kernels() (all []named) {
	if cfg.BoxBlur != nil {
		all = append(all, named{"box blur", cfg.BoxBlur})
	}
	if cfg.Median != nil {
		all = append(all, named{"median", cfg.Median})
	}
	if cfg.Motion != nil {
		all = append(all, named{"motion", &cfg.Motion.Kernel})
	}
	if cfg.Unsharp != nil {
		all = append(all, named{"unsharp", &cfg.Unsharp.Kernel})
	}
	return all
}

// checkCV2Blurs wants numbers in range.
func (cfg *Config) checkCV2Blurs() error {
	for _, k := range cfg.kernels() {
		if s := k.Size; s[0] < 1 || s[0] > s[1] || s[1] > MaxKernel || s[0]%2 == 0 || s[1]%2 == 0 {
			return fmt.Errorf("%s: got sizes %v, want odd numbers, 1 <= smallest <= largest <= %d", k.name, s, MaxKernel)
		}
	}
	if b := cfg.CV2Blur; b != nil {
		if s := b.Size; s[0] < 0 || s[0] > s[1] || s[1] > MaxKernel {
			return fmt.Errorf("OpenCV's blur: got sizes %v, want 0 <= smallest <= largest <= %d", s, MaxKernel)
		}
		if err := ordered("OpenCV's blur: sigma", b.Sigma, MinSigma, MaxCV2Sigma); err != nil {
			return err
		}
	}
	if m := cfg.Motion; m != nil {
		if err := ordered("motion: angle", m.Angle, -MaxDegrees, MaxDegrees); err != nil {
			return err
		}
		if err := ordered("motion: direction", m.Direction, -1, 1); err != nil {
			return err
		}
	}
	if err := cfg.Unsharp.check(); err != nil {
		return err
	}
	if c := cfg.CLAHE; c != nil {
		if min(c.Across, c.Down) < 1 || max(c.Across, c.Down) > MaxCLAHETiles {
			return fmt.Errorf("CLAHE: got %d x %d tiles, want 1 to %d across and down", c.Down, c.Across, MaxCLAHETiles)
		}
		if err := ordered("CLAHE: limit", c.Limit, MinLimit, MaxLimit); err != nil {
			return err
		}
	}
	return cfg.Holes.check()
}

func (u *Unsharp) check() error {
	switch {
	case u == nil:
		return nil
	case u.Threshold < 0 || u.Threshold > 255:
		return fmt.Errorf("unsharp: got threshold %d, want 0 to 255", u.Threshold)
	}
	if err := ordered("unsharp: sigma", u.Sigma, 0, MaxSigma); err != nil {
		return err
	}
	return ordered("unsharp: alpha", u.Alpha, 0, 1)
}

func (h *Holes) check() error {
	if h == nil {
		return nil
	}
	if n := h.Count; n[0] < 0 || n[0] > n[1] || n[1] > MaxHoles {
		return fmt.Errorf("holes: got %v, want 0 <= fewest <= most <= %d", n, MaxHoles)
	}
	most := 1.0
	if h.Pixels {
		most = MaxSide
	}
	if err := ordered("holes: height", h.Height, 0, most); err != nil {
		return err
	}
	return ordered("holes: width", h.Width, 0, most)
}
