package media

/*
#include "row.h"
*/
import "C"

// Shifts are what is added to the three numbers of a pixel with probability P, each drawn between two and then without what is behind the point.
type Shifts struct {
	P  float64
	By [3][2]float64
}

// HSV is albumentations' HueSaturationValue, of 180 hues.
type HSV Shifts

// RGBShift is albumentations'.
type RGBShift Shifts

// MaxShift bounds Shifts.
const MaxShift = 255

func (s *Shifts) fill(to *C.media_step) {
	to.p = C.double(s.P)
	for i, r := range s.By {
		own[C.media_shifts_step](to).by[i] = cRange(r)
	}
}

func (s *Shifts) check(name string) error {
	for _, by := range s.By {
		if err := ordered(name, by, -MaxShift, MaxShift); err != nil {
			return err
		}
	}
	return nil
}

func (s *HSV) kind() C.uint32_t { return C.MEDIA_DO_HSV }

func (s *HSV) fill(to *C.media_step) { (*Shifts)(s).fill(to) }

func (s *HSV) check(place) error { return (*Shifts)(s).check("shift of HSV") }

func (s *RGBShift) kind() C.uint32_t { return C.MEDIA_DO_RGB_SHIFT }

func (s *RGBShift) fill(to *C.media_step) { (*Shifts)(s).fill(to) }

func (s *RGBShift) check(place) error { return (*Shifts)(s).check("shift of RGB") }
