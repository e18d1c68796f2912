package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// CV2Autocontrast is albumentations' AutoContrast: with probability P each channel's values, once Cutoff of a hundred of its pixels are cut off at both ends, reach from 0
// to 255, each by how many pixels have smaller ones, or, Even, as far apart as they were.
type CV2Autocontrast struct {
	P, Cutoff float64 // Cutoff: 0 to MaxCutoff
	Even      bool
}

// MaxCutoff bounds CV2Autocontrast's Cutoff.
const MaxCutoff = 100

// Salt is albumentations' SaltAndPepper: with probability P as many pixels as a share of Amount says become white, of these a share of White, or black.
type Salt struct {
	P             float64
	Amount, White [2]float64 // 0 to 1
}

// Planckian is albumentations' PlanckianJitter: with probability P colours are as by a light of a temperature between Kelvin, whose first is no more than WhiteKelvin and its
// second no less.
type Planckian struct {
	P        float64
	Kelvin   [2]float64 // MinKelvin, of Daylight MinDaylight, to MaxKelvin
	Daylight bool       // the CIE's, not a black body's
	Normal   bool       // normal numbers around WhiteKelvin, of which three standard deviations reach to either end
}

// Temperatures, in kelvin.
const (
	MinKelvin, MinDaylight, WhiteKelvin, MaxKelvin = 3000, 4000, 6000, 15000
)

// Erasing is albumentations': with probability P a part of Scale of the row's area, whose width / height lies in Ratio, becomes Fill.
type Erasing struct {
	P            float64
	Scale, Ratio [2]float64 // 0 to 1; 0.001 to 1000
	Fill         Fill
}

// Shadow is albumentations' RandomShadow: with probability P as many polygons as are drawn between two numbers, of Corners anywhere in a part of the row, become
// darker by an Intensity between two; 1: black.
type Shadow struct {
	P         float64
	Part      Rect   // as shares of the row's sides, 0 to 1
	Count     [2]int // 0 to MaxShadows
	Corners   int    // 3 to MaxCorners
	Intensity [2]float64
}

// Limits of Shadow.
const (
	MaxShadows = C.MEDIA_MAX_SHADOWS
	MaxCorners = C.MEDIA_MAX_CORNERS
)

func (a *CV2Autocontrast) kind() C.uint32_t { return C.MEDIA_DO_CV2_AUTOCONTRAST }
func (s *Salt) kind() C.uint32_t            { return C.MEDIA_DO_SALT }
func (p *Planckian) kind() C.uint32_t       { return C.MEDIA_DO_PLANCKIAN }
func (e *Erasing) kind() C.uint32_t         { return C.MEDIA_DO_ERASING }
func (s *Shadow) kind() C.uint32_t          { return C.MEDIA_DO_SHADOW }

func (a *CV2Autocontrast) fill(to *C.media_step) {
	to.p = C.double(a.P)
	*own[C.media_cv2_autocontrast_step](to) = C.media_cv2_autocontrast_step{cutoff: C.double(a.Cutoff), even: flag(a.Even)}
}

func (s *Salt) fill(to *C.media_step) {
	to.p = C.double(s.P)
	*own[C.media_salt_step](to) = C.media_salt_step{amount: cRange(s.Amount), white: cRange(s.White)}
}

func (p *Planckian) fill(to *C.media_step) {
	to.p = C.double(p.P)
	*own[C.media_planckian_step](to) = C.media_planckian_step{kelvin: cRange(p.Kelvin), daylight: flag(p.Daylight), normal: flag(p.Normal)}
}

func (e *Erasing) fill(to *C.media_step) {
	to.p = C.double(e.P)
	*own[C.media_erasing_step](to) = C.media_erasing_step{scale: cRange(e.Scale), ratio: cRange(e.Ratio), fill: e.Fill.c()}
}

func (s *Shadow) fill(to *C.media_step) {
	to.p = C.double(s.P)
	of := own[C.media_shadow_step](to)
	*of = C.media_shadow_step{n: cPair(s.Count), corners: C.uint32_t(s.Corners), intensity: cRange(s.Intensity)}
	for i, edge := range s.Part {
		of.roi[i] = C.double(edge)
	}
}

func (s *Shadow) check(place) error {
	switch p := s.Part; {
	case !(p[0] >= 0 && p[0] < p[2] && p[2] <= 1 && p[1] >= 0 && p[1] < p[3] && p[3] <= 1):
		return fmt.Errorf("shadow: got a part of %v, want 0 <= left < right <= 1, and likewise top and bottom", p)
	case s.Count[0] < 0 || s.Count[0] > s.Count[1] || s.Count[1] > MaxShadows:
		return fmt.Errorf("shadow: got %v of them, want 0 <= fewest <= most <= %d", s.Count, MaxShadows)
	case s.Corners < 3 || s.Corners > MaxCorners:
		return fmt.Errorf("shadow: got %d corners, want 3 to %d", s.Corners, MaxCorners)
	}
	return ordered("shadow: intensity", s.Intensity, 0, 1)
}

func (a *CV2Autocontrast) check(place) error {
	if !(a.Cutoff >= 0 && a.Cutoff <= MaxCutoff) {
		return fmt.Errorf("OpenCV's autocontrast: got cutoff %v, want 0 to %d", a.Cutoff, MaxCutoff)
	}
	return nil
}

func (s *Salt) check(place) error {
	if err := ordered("salt: amount", s.Amount, 0, 1); err != nil {
		return err
	}
	return ordered("salt: white", s.White, 0, 1)
}

func (p *Planckian) check(place) error {
	least := float64(MinKelvin)
	if p.Daylight {
		least = MinDaylight
	}
	if err := ordered("planckian", p.Kelvin, least, MaxKelvin); err != nil {
		return err
	}
	if p.Kelvin[0] > WhiteKelvin || p.Kelvin[1] < WhiteKelvin {
		return fmt.Errorf("planckian: got %v kelvin, want %d between them", p.Kelvin, WhiteKelvin)
	}
	return nil
}

func (e *Erasing) check(place) error {
	if err := ordered("erasing: scale", e.Scale, 0, 1); err != nil {
		return err
	}
	return ordered("erasing: ratio", e.Ratio, 1e-3, 1e3)
}
