package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// MaxFactor bounds brightness, contrast and saturation.
const MaxFactor = 1000

// Jitter is torchvision's ColorJitter on a PIL image: what is not nil is applied, in an order that is drawn, each by a
// factor drawn between two numbers. 1 leaves brightness, contrast and saturation as they are, 0 the hue, which goes once
// around from -0.5 to 0.5.
type Jitter struct {
	P                                     float64 // probability that it happens at all
	Brightness, Contrast, Saturation, Hue *[2]float64
}

// Distort is torchvision's RandomPhotometricDistort: each of what is not nil happens with probability P, and so does a change of the channels' places.
type Distort Jitter

// CV2Jitter is albumentations' ColorJitter: as Jitter, by OpenCV's arithmetic.
type CV2Jitter Jitter

func (j *Jitter) kind() C.uint32_t { return C.MEDIA_DO_JITTER }

func (j *Jitter) fill(to *C.media_step) {
	to.p = C.double(j.P)
	by := &own[C.media_jitter_step](to).by
	for i, f := range j.factors() {
		if f != nil {
			by[i] = C.media_factor{on: 1, low: C.double(f[0]), high: C.double(f[1])}
		}
	}
}

func (j *Jitter) check(in place) error { return j.inRange("jitter", in.Mode) }

func (j *Jitter) factors() [C.MEDIA_JITTERS]*[2]float64 {
	return [...]*[2]float64{j.Brightness, j.Contrast, j.Saturation, j.Hue}
}

// inRange wants that of the factors, and of colours that there are some.
func (j *Jitter) inRange(name string, mode Mode) error {
	if (j.Saturation != nil || j.Hue != nil) && mode != RGB {
		return fmt.Errorf("%s: saturation and hue want mode RGB, as grey has neither", name)
	}
	names := []string{"brightness", "contrast", "saturation", "hue"}
	for i, f := range j.factors() {
		least, most := 0.0, float64(MaxFactor)
		if i == 3 {
			least, most = -0.5, 0.5
		}
		if f != nil && !(f[0] >= least && f[0] <= f[1] && f[1] <= most) {
			return fmt.Errorf("%s: got %s %v, want %v <= smallest <= largest <= %v", name, names[i], *f, least, most)
		}
	}
	return nil
}

func (j *Distort) kind() C.uint32_t { return C.MEDIA_DO_DISTORT }

func (j *Distort) fill(to *C.media_step) { (*Jitter)(j).fill(to) }

func (j *Distort) check(in place) error { return (*Jitter)(j).inRange("distort", in.Mode) }

func (j *CV2Jitter) kind() C.uint32_t { return C.MEDIA_DO_CV2_JITTER }

func (j *CV2Jitter) fill(to *C.media_step) { (*Jitter)(j).fill(to) }

func (j *CV2Jitter) check(in place) error { return (*Jitter)(j).inRange("OpenCV's jitter", in.Mode) }
