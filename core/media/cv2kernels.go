package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// AdvancedBlur is albumentations': with probability P each pixel becomes a mean by a kernel that is a bell with sigmas of its own along two ways, turned by an angle in degrees, pointed or flat
// by Beta, every number of which is multiplied by one of Noise. Size is an odd number between two.
type AdvancedBlur struct {
	P              float64
	Size           [2]int     // 3 to MaxWide
	SigmaX, SigmaY [2]float64 // MinSigma to MaxSigma
	Angle          [2]float64 // -MaxDegrees to MaxDegrees
	Beta           [2]float64 // MinBeta to 1, and 1 to MaxBeta: on either side of 1 as often
	Noise          [2]float64 // MinGrain to MaxGrain
}

// Defocus is albumentations': with probability P each pixel becomes the mean of a disk of a Radius between two, which a sigma of Alias blurs.
type Defocus struct {
	P      float64
	Radius [2]int     // 1 to MaxDisk
	Alias  [2]float64 // 0 to MaxAlias; 0: what OpenCV has for its kernel
}

// Ringing is albumentations' RingingOvershoot: with probability P a kernel, whose Size is an odd number between two, leaves nothing of waves that are shorter than Cutoff, radians a pixel, says.
type Ringing struct {
	P      float64
	Size   [2]int     // 3 to MaxWide
	Cutoff [2]float64 // MinCutoff to MaxCutoffRadians
}

// Glass is albumentations' GlassBlur: with probability P pixels change places with some that are up to Delta away, so many Times, between two blurs of Sigma; Exact: one after the other.
type Glass struct {
	P, Sigma     float64 // MinGlass to MaxGlass
	Delta, Times int     // 1 to MaxDelta; 1 to MaxTimes
	Exact        bool
}

// ZoomBlur is albumentations': with probability P the mean of the row and of its middle, larger by 1 and each Step on, up to Most; each is drawn between two.
type ZoomBlur struct {
	P          float64
	Most, Step [2]float64 // 1 to MaxZoom; MinZoomStep to 1
}

// Limits of these.
const (
	MaxWide = C.MEDIA_MAX_WIDE
	MaxDisk = C.MEDIA_MAX_DISK

	MaxAlias                    = 10
	MinBeta, MaxBeta            = 0, 100
	MinGrain, MaxGrain          = 0.01, 10
	MinCutoff, MaxCutoffRadians = 0.01, 3.1415926535897932
	MinGlass, MaxGlass          = 0.1, 10
	MaxDelta, MaxTimes          = 64, 16
	MinZoomStep, MaxZoom        = 0.005, 3
)

func (b *AdvancedBlur) kind() C.uint32_t { return C.MEDIA_DO_ADVANCED }
func (d *Defocus) kind() C.uint32_t      { return C.MEDIA_DO_DEFOCUS }
func (r *Ringing) kind() C.uint32_t      { return C.MEDIA_DO_RINGING }
func (g *Glass) kind() C.uint32_t        { return C.MEDIA_DO_GLASS }
func (z *ZoomBlur) kind() C.uint32_t     { return C.MEDIA_DO_ZOOM }

func (b *AdvancedBlur) fill(to *C.media_step) {
	to.p = C.double(b.P)
	*own[C.media_advanced_step](to) = C.media_advanced_step{
		size: cPair(b.Size), sigma_x: cRange(b.SigmaX), sigma_y: cRange(b.SigmaY), angle: cRange(b.Angle), beta: cRange(b.Beta), noise: cRange(b.Noise),
	}
}

func (d *Defocus) fill(to *C.media_step) {
	to.p = C.double(d.P)
	*own[C.media_defocus_step](to) = C.media_defocus_step{radius: cPair(d.Radius), alias: cRange(d.Alias)}
}

func (r *Ringing) fill(to *C.media_step) {
	to.p = C.double(r.P)
	*own[C.media_ringing_step](to) = C.media_ringing_step{size: cPair(r.Size), cutoff: cRange(r.Cutoff)}
}

func (g *Glass) fill(to *C.media_step) {
	to.p = C.double(g.P)
	*own[C.media_glass_step](to) = C.media_glass_step{sigma: C.double(g.Sigma), delta: C.uint32_t(g.Delta), times: C.uint32_t(g.Times), exact: flag(g.Exact)}
}

func (z *ZoomBlur) fill(to *C.media_step) {
	to.p = C.double(z.P)
	*own[C.media_zoom_step](to) = C.media_zoom_step{most: cRange(z.Most), step: cRange(z.Step)}
}

// wide checks the size of a kernel that is no line.
func wide(name string, s [2]int) error {
	if s[0] < 3 || s[0] > s[1] || s[1] > MaxWide || s[0]%2 == 0 || s[1]%2 == 0 {
		return fmt.Errorf("%s: got sizes %v, want odd numbers, 3 <= smallest <= largest <= %d", name, s, MaxWide)
	}
	return nil
}

func (b *AdvancedBlur) check(place) error {
	if err := wide("advanced blur", b.Size); err != nil {
		return err
	}
	if !(b.Beta[0] >= MinBeta && b.Beta[0] <= 1 && b.Beta[1] >= 1 && b.Beta[1] <= MaxBeta) {
		return fmt.Errorf("advanced blur: got beta %v, want %d <= smallest <= 1 <= largest <= %d", b.Beta, MinBeta, MaxBeta)
	}
	for _, of := range []struct {
		name        string
		got         [2]float64
		least, most float64
	}{
		{"sigma x", b.SigmaX, MinSigma, MaxSigma}, {"sigma y", b.SigmaY, MinSigma, MaxSigma}, {"angle", b.Angle, -MaxDegrees, MaxDegrees}, {"noise", b.Noise, MinGrain, MaxGrain},
	} {
		if err := ordered("advanced blur: "+of.name, of.got, of.least, of.most); err != nil {
			return err
		}
	}
	return nil
}

func (d *Defocus) check(place) error {
	if r := d.Radius; r[0] < 1 || r[0] > r[1] || r[1] > MaxDisk {
		return fmt.Errorf("defocus: got radius %v, want 1 <= smallest <= largest <= %d", r, MaxDisk)
	}
	return ordered("defocus: alias", d.Alias, 0, MaxAlias)
}

func (r *Ringing) check(place) error {
	if err := wide("ringing", r.Size); err != nil {
		return err
	}
	return ordered("ringing: cutoff", r.Cutoff, MinCutoff, MaxCutoffRadians)
}

func (g *Glass) check(place) error {
	switch {
	case !(g.Sigma >= MinGlass && g.Sigma <= MaxGlass):
		return fmt.Errorf("glass: got sigma %v, want %v to %d", g.Sigma, MinGlass, MaxGlass)
	case g.Delta < 1 || g.Delta > MaxDelta:
		return fmt.Errorf("glass: got delta %d, want 1 to %d", g.Delta, MaxDelta)
	case g.Times < 1 || g.Times > MaxTimes:
		return fmt.Errorf("glass: got %d times, want 1 to %d", g.Times, MaxTimes)
	}
	return nil
}

func (z *ZoomBlur) check(place) error {
	if err := ordered("zoom: most", z.Most, 1, MaxZoom); err != nil {
		return err
	}
	return ordered("zoom: step", z.Step, MinZoomStep, 1)
}
