package media

/*
#include "row.h"
*/
import "C"

// Light is albumentations' RandomBrightnessContrast: with probability P values are multiplied by a contrast and a brightness of 255 is added, each
// drawn between two numbers.
type Light struct {
	P                    float64
	Brightness, Contrast [2]float64
}

// Gamma is albumentations' RandomGamma: with probability P values of 0 to 1 are raised to a power between two.
type Gamma struct {
	P     float64
	Gamma [2]float64
}

// Bounds of the two.
const (
	MaxLight           = 10
	MinGamma, MaxGamma = 0.01, 100
)

func (l *Light) kind() C.uint32_t { return C.MEDIA_DO_LIGHT }

func (l *Light) fill(to *C.media_step) {
	to.p = C.double(l.P)
	*own[C.media_light_step](to) = C.media_light_step{brightness: cRange(l.Brightness), contrast: cRange(l.Contrast)}
}

func (l *Light) check(place) error {
	if err := ordered("light: brightness", l.Brightness, -MaxLight, MaxLight); err != nil {
		return err
	}
	return ordered("light: contrast", l.Contrast, -MaxLight, MaxLight)
}

func (g *Gamma) kind() C.uint32_t { return C.MEDIA_DO_GAMMA }

func (g *Gamma) fill(to *C.media_step) {
	to.p = C.double(g.P)
	*own[C.media_gamma_step](to) = C.media_gamma_step{power: cRange(g.Gamma)}
}

func (g *Gamma) check(place) error { return ordered("gamma", g.Gamma, MinGamma, MaxGamma) }
