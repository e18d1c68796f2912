package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// CV2Affine is albumentations' Affine, by cv2.warpAffine: with probability P to the left by Degrees, moved, scaled and sheared, around the middle. Of each
// range a number is drawn, along x and y, in albumentations' order: scaled, turned, sheared, moved.
type CV2Affine struct {
	P              float64
	Degrees        [2]float64
	ShiftX, ShiftY [2]float64 // of width and height
	Pixels         bool       // no shares, but pixels, whole numbers from the first to the last
	ScaleX, ScaleY [2]float64
	KeepRatio      bool // ScaleY is not drawn, but what ScaleX came to
	ShearX, ShearY [2]float64
	Fit            bool          // of Degrees alone: both sides shrink until all of the picture is there (SafeRotate)
	Interpolation  Interpolation // CV2Nearest or CV2Linear
	Padding        Padding
	Fill           Fill // of Constant
}

func (a *CV2Affine) fill(op *C.media_op) {
	if a == nil {
		return
	}
	op.cv2_affine_p, op.cv2_affine_angle = C.double(a.P), cRange(a.Degrees)
	op.cv2_affine_shift = [2][2]C.double{cRange(a.ShiftX), cRange(a.ShiftY)}
	op.cv2_affine_pixels, op.cv2_affine_keeps, op.cv2_affine_fits = flag(a.Pixels), flag(a.KeepRatio), flag(a.Fit)
	op.cv2_affine_scale = [2][2]C.double{cRange(a.ScaleX), cRange(a.ScaleY)}
	op.cv2_affine_shear = [2][2]C.double{cRange(a.ShearX), cRange(a.ShearY)}
	op.cv2_affine_filter, op.cv2_affine_border, op.cv2_affine_fill = C.uint32_t(a.Interpolation), C.uint32_t(a.Padding), a.Fill.c()
}

func (a *CV2Affine) check(mode Mode) error {
	const name = "OpenCV's affine"
	if a == nil {
		return nil
	}
	switch {
	case a.Interpolation != CV2Nearest && a.Interpolation != CV2Linear:
		return fmt.Errorf("%s: want interpolation cv2_nearest or cv2_linear", name)
	case a.Interpolation != CV2Nearest && mode == Index:
		return fmt.Errorf("%s: want interpolation cv2_nearest with mode index, as cv2_linear mixes numbers of classes", name)
	case a.Padding > Symmetric:
		return fmt.Errorf("%s: padding: %d is not one of the named values", name, a.Padding)
	}
	shift := 1.0
	if a.Pixels {
		shift = MaxSide
	}
	for _, f := range []struct {
		name        string
		got         [2]float64
		least, most float64
	}{
		{"degrees", a.Degrees, -MaxDegrees, MaxDegrees}, {"shift along x", a.ShiftX, -shift, shift}, {"shift along y", a.ShiftY, -shift, shift},
		{"scale along x", a.ScaleX, MinScale, MaxScale}, {"scale along y", a.ScaleY, MinScale, MaxScale},
		{"shear along x", a.ShearX, -MaxShear, MaxShear}, {"shear along y", a.ShearY, -MaxShear, MaxShear},
	} {
		if err := ordered(name+": "+f.name, f.got, f.least, f.most); err != nil {
			return err
		}
	}
	return nil
}
