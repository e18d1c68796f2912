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

// BoxBlur is albumentations' Blur: it becomes the mean of these.
type BoxBlur Kernel

// Median is albumentations' MedianBlur.
type Median Kernel

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
	P float64
	Parts
	Fill Fill
}

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

func (k *Kernel) fill(to *C.media_step) {
	to.p = C.double(k.P)
	own[C.media_kernel_step](to).size = cPair(k.Size)
}

func (k *Kernel) check(name string) error {
	if s := k.Size; s[0] < 1 || s[0] > s[1] || s[1] > MaxKernel || s[0]%2 == 0 || s[1]%2 == 0 {
		return fmt.Errorf("%s: got sizes %v, want odd numbers, 1 <= smallest <= largest <= %d", name, s, MaxKernel)
	}
	return nil
}

func (b *BoxBlur) kind() C.uint32_t { return C.MEDIA_DO_BOX_BLUR }

func (b *BoxBlur) fill(to *C.media_step) { (*Kernel)(b).fill(to) }

func (b *BoxBlur) check(place) error { return (*Kernel)(b).check("box blur") }

func (m *Median) kind() C.uint32_t { return C.MEDIA_DO_MEDIAN }

func (m *Median) fill(to *C.media_step) { (*Kernel)(m).fill(to) }

func (m *Median) check(place) error { return (*Kernel)(m).check("median") }

func (b *CV2Blur) kind() C.uint32_t { return C.MEDIA_DO_CV2_BLUR }

func (b *CV2Blur) fill(to *C.media_step) {
	to.p = C.double(b.P)
	*own[C.media_cv2_blur_step](to) = C.media_cv2_blur_step{sigma: cRange(b.Sigma), size: cPair(b.Size)}
}

func (b *CV2Blur) check(place) error {
	if s := b.Size; s[0] < 0 || s[0] > s[1] || s[1] > MaxKernel {
		return fmt.Errorf("OpenCV's blur: got sizes %v, want 0 <= smallest <= largest <= %d", s, MaxKernel)
	}
	return ordered("OpenCV's blur: sigma", b.Sigma, MinSigma, MaxCV2Sigma)
}

func (m *Motion) kind() C.uint32_t { return C.MEDIA_DO_MOTION }

func (m *Motion) fill(to *C.media_step) {
	to.p = C.double(m.P)
	*own[C.media_motion_step](to) = C.media_motion_step{size: cPair(m.Size), shifts: flag(m.Shifted), angle: cRange(m.Angle), direction: cRange(m.Direction)}
}

func (m *Motion) check(place) error {
	if err := m.Kernel.check("motion"); err != nil {
		return err
	}
	if err := ordered("motion: angle", m.Angle, -MaxDegrees, MaxDegrees); err != nil {
		return err
	}
	return ordered("motion: direction", m.Direction, -1, 1)
}

func (u *Unsharp) kind() C.uint32_t { return C.MEDIA_DO_UNSHARP }

func (u *Unsharp) fill(to *C.media_step) {
	to.p = C.double(u.P)
	*own[C.media_unsharp_step](to) = C.media_unsharp_step{size: cPair(u.Size), threshold: C.uint32_t(u.Threshold), sigma: cRange(u.Sigma), alpha: cRange(u.Alpha)}
}

func (u *Unsharp) check(place) error {
	if err := u.Kernel.check("unsharp"); err != nil {
		return err
	}
	if u.Threshold < 0 || u.Threshold > 255 {
		return fmt.Errorf("unsharp: got threshold %d, want 0 to 255", u.Threshold)
	}
	if err := ordered("unsharp: sigma", u.Sigma, 0, MaxSigma); err != nil {
		return err
	}
	return ordered("unsharp: alpha", u.Alpha, 0, 1)
}

func (c *CLAHE) kind() C.uint32_t { return C.MEDIA_DO_CLAHE }

func (c *CLAHE) fill(to *C.media_step) {
	to.p = C.double(c.P)
	*own[C.media_clahe_step](to) = C.media_clahe_step{limit: cRange(c.Limit), tiles: cPair([2]int{c.Across, c.Down})}
}

func (c *CLAHE) check(place) error {
	if min(c.Across, c.Down) < 1 || max(c.Across, c.Down) > MaxCLAHETiles {
		return fmt.Errorf("CLAHE: got %d x %d tiles, want 1 to %d across and down", c.Down, c.Across, MaxCLAHETiles)
	}
	return ordered("CLAHE: limit", c.Limit, MinLimit, MaxLimit)
}

func (h *Holes) kind() C.uint32_t { return C.MEDIA_DO_HOLES }

func (h *Holes) fill(to *C.media_step) {
	to.p = C.double(h.P)
	of := h.Parts.c()
	of.fill = h.Fill.c()
	*own[C.media_holes_step](to) = of
}

func (h *Holes) check(place) error { return h.Parts.check("holes") }
