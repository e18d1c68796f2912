package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// Fog is albumentations' RandomFog: with probability P discs around the row's middle make it whiter, each by Alpha times an intensity between two, by which there are more and larger ones.
type Fog struct {
	P         float64
	Intensity [2]float64 // 0 to 1
	Alpha     float64    // 0 to 1
}

// Rain is albumentations' RandomRain: with probability P lines of a colour are added, blurred by a square of Blur, Times / Over times as many as the row is high, which go down by Length and to
// the right by a Slant between two; and values are multiplied by Brightness.
type Rain struct {
	P           float64
	Slant       [2]float64 // -MaxSlant to MaxSlant pixels
	Times, Over int        // 1 to MaxRain
	Length      int        // pixels, 1 to MaxSide; 0: an eighth of the row's height. Of a lower row they begin at its top
	Blur        int        // odd, 1 to MaxRainBlur
	Brightness  float64    // above 0, to 1
	Fill        Fill       // the colour
}

// Snow is albumentations' RandomSnow, of method bleach: with probability P the lightness below a Point between two is multiplied by Much.
type Snow struct {
	P     float64
	Point [2]float64 // 0 to 1, which are a third of white and five sixths
	Much  float64    // MinSnow to MaxSnow
}

// Flare is albumentations' RandomSunFlare, of method overlay: with probability P there is a sun of a Radius anywhere in a part of the row, and as many circles as are drawn between two numbers
// on a line through it, at an angle between two, which are of 2 pi.
type Flare struct {
	P      float64
	Part   Rect       // as shares of the row's sides, 0 to 1
	Angle  [2]float64 // 0 to 1
	Count  [2]int     // 1 to MaxFlares
	Radius int        // pixels, 2 to MaxSun
	Fill   Fill       // the sun's colour
}

// Shot is albumentations' ShotNoise: with probability P there is a whole number of Poisson's of each value's light over a Scale between two, times it.
type Shot struct {
	P     float64
	Scale [2]float64 // MinShot to MaxShot
}

// PCA is albumentations' FancyPCA: with probability P colours move along the directions in which the row's differ, by normal numbers times Alpha.
type PCA struct{ P, Alpha float64 } // Alpha: 0 to MaxPCA

// Limits of these.
const (
	MaxFlares = C.MEDIA_MAX_FLARES
	MaxSun    = C.MEDIA_MAX_RADIUS

	MaxSlant, MaxRain, MaxRainBlur = 20, 16, 31
	MinSnow, MaxSnow               = 0.01, 100
	MinShot, MaxShot               = 0.01, 100
	MaxPCA                         = 100
)

func (f *Fog) kind() C.uint32_t   { return C.MEDIA_DO_FOG }
func (r *Rain) kind() C.uint32_t  { return C.MEDIA_DO_RAIN }
func (s *Snow) kind() C.uint32_t  { return C.MEDIA_DO_SNOW }
func (f *Flare) kind() C.uint32_t { return C.MEDIA_DO_FLARE }
func (s *Shot) kind() C.uint32_t  { return C.MEDIA_DO_SHOT }
func (p *PCA) kind() C.uint32_t   { return C.MEDIA_DO_PCA }

func (f *Fog) fill(to *C.media_step) {
	to.p = C.double(f.P)
	*own[C.media_fog_step](to) = C.media_fog_step{intensity: cRange(f.Intensity), alpha: C.double(f.Alpha)}
}

func (r *Rain) fill(to *C.media_step) {
	to.p = C.double(r.P)
	*own[C.media_rain_step](to) = C.media_rain_step{
		slant: cRange(r.Slant), times: C.uint32_t(r.Times), over: C.uint32_t(r.Over), length: C.uint32_t(r.Length), size: C.uint32_t(r.Blur), brightness: C.double(r.Brightness), fill: r.Fill.c(),
	}
}

func (s *Snow) fill(to *C.media_step) {
	to.p = C.double(s.P)
	*own[C.media_snow_step](to) = C.media_snow_step{point: cRange(s.Point), much: C.double(s.Much)}
}

func (f *Flare) fill(to *C.media_step) {
	to.p = C.double(f.P)
	of := own[C.media_flare_step](to)
	*of = C.media_flare_step{angle: cRange(f.Angle), n: cPair(f.Count), radius: C.uint32_t(f.Radius), fill: f.Fill.c()}
	for i, edge := range f.Part {
		of.roi[i] = C.double(edge)
	}
}

func (s *Shot) fill(to *C.media_step) {
	to.p = C.double(s.P)
	*own[C.media_shot_step](to) = C.media_shot_step{scale: cRange(s.Scale)}
}

func (p *PCA) fill(to *C.media_step) {
	to.p = C.double(p.P)
	*own[C.double](to) = C.double(p.Alpha)
}

func (f *Fog) check(place) error {
	if !(f.Alpha >= 0 && f.Alpha <= 1) {
		return fmt.Errorf("fog: got alpha %v, want 0 to 1", f.Alpha)
	}
	return ordered("fog: intensity", f.Intensity, 0, 1)
}

func (r *Rain) check(place) error {
	switch {
	case r.Times < 1 || r.Times > MaxRain || r.Over < 1 || r.Over > MaxRain:
		return fmt.Errorf("rain: got %d / %d lines for each of the row's, want 1 to %d of either", r.Times, r.Over, MaxRain)
	case r.Length < 0 || r.Length > MaxSide:
		return fmt.Errorf("rain: got length %d, want 0 to %d", r.Length, MaxSide)
	case r.Blur < 1 || r.Blur > MaxRainBlur || r.Blur%2 == 0:
		return fmt.Errorf("rain: got blur %d, want an odd number, 1 to %d", r.Blur, MaxRainBlur)
	case !(r.Brightness > 0 && r.Brightness <= 1):
		return fmt.Errorf("rain: got brightness %v, want more than 0, up to 1", r.Brightness)
	}
	return ordered("rain: slant", r.Slant, -MaxSlant, MaxSlant)
}

func (s *Snow) check(place) error {
	if !(s.Much >= MinSnow && s.Much <= MaxSnow) {
		return fmt.Errorf("snow: got brightness %v, want %v to %d", s.Much, MinSnow, MaxSnow)
	}
	return ordered("snow: point", s.Point, 0, 1)
}

func (f *Flare) check(place) error {
	switch p := f.Part; {
	case !(p[0] >= 0 && p[0] < p[2] && p[2] <= 1 && p[1] >= 0 && p[1] < p[3] && p[3] <= 1):
		return fmt.Errorf("flare: got a part of %v, want 0 <= left < right <= 1, and likewise top and bottom", p)
	case f.Count[0] < 1 || f.Count[0] > f.Count[1] || f.Count[1] > MaxFlares:
		return fmt.Errorf("flare: got %v circles, want 1 <= fewest <= most <= %d", f.Count, MaxFlares)
	case f.Radius < 2 || f.Radius > MaxSun:
		return fmt.Errorf("flare: got radius %d, want 2 to %d", f.Radius, MaxSun)
	}
	return ordered("flare: angle", f.Angle, 0, 1)
}

func (s *Shot) check(place) error { return ordered("shot", s.Scale, MinShot, MaxShot) }

func (p *PCA) check(place) error {
	if !(p.Alpha >= 0 && p.Alpha <= MaxPCA) {
		return fmt.Errorf("PCA: got alpha %v, want 0 to %d", p.Alpha, MaxPCA)
	}
	return nil
}
