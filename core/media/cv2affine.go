package media

/*
#include "row.h"
*/
import "C"

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

func (a *CV2Affine) kind() C.uint32_t { return C.MEDIA_DO_CV2_AFFINE }

func (a *CV2Affine) fill(to *C.media_step) {
	to.p = C.double(a.P)
	*own[C.media_cv2_affine_step](to) = C.media_cv2_affine_step{
		degrees: cRange(a.Degrees), shift: [2][2]C.double{cRange(a.ShiftX), cRange(a.ShiftY)}, pixels: flag(a.Pixels),
		scale: [2][2]C.double{cRange(a.ScaleX), cRange(a.ScaleY)}, fits: flag(a.Fit), keeps: flag(a.KeepRatio),
		shear: [2][2]C.double{cRange(a.ShearX), cRange(a.ShearY)}, by: Bent{a.Interpolation, a.Padding, a.Fill}.c(),
	}
}

func (a *CV2Affine) check(in place) error {
	const name = "OpenCV's affine"
	if err := (Bent{a.Interpolation, a.Padding, a.Fill}).check(name, in.Mode); err != nil {
		return err
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
