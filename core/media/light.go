package media

/*
#include "row.h"
*/
import "C"

import "fmt"

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

// light fills in what the kernel knows of them.
func (cfg *Config) light(op *C.media_op) {
	if l := cfg.Light; l != nil {
		op.light_p = C.double(l.P)
		op.brightness_min, op.brightness_max = C.double(l.Brightness[0]), C.double(l.Brightness[1])
		op.contrast_min, op.contrast_max = C.double(l.Contrast[0]), C.double(l.Contrast[1])
	}
	if g := cfg.Gamma; g != nil {
		op.gamma_p, op.gamma_min, op.gamma_max = C.double(g.P), C.double(g.Gamma[0]), C.double(g.Gamma[1])
	}
	op.cv2_gray_p = C.double(cfg.CV2Gray)
}

// lightChances are their probabilities.
func (cfg *Config) lightChances() []chance {
	all := []chance{{"OpenCV's grey", cfg.CV2Gray}}
	if cfg.Light != nil {
		all = append(all, chance{"light", cfg.Light.P})
	}
	if cfg.Gamma != nil {
		all = append(all, chance{"gamma", cfg.Gamma.P})
	}
	return all
}

// checkLight wants numbers in range.
func (cfg *Config) checkLight() error {
	if l := cfg.Light; l != nil {
		if err := ordered("light: brightness", l.Brightness, -MaxLight, MaxLight); err != nil {
			return err
		}
		if err := ordered("light: contrast", l.Contrast, -MaxLight, MaxLight); err != nil {
			return err
		}
	}
	if g := cfg.Gamma; g != nil {
		if err := ordered("gamma", g.Gamma, MinGamma, MaxGamma); err != nil {
			return err
		}
	}
	if cfg.CV2Gray > 0 && cfg.Mode != RGB {
		return fmt.Errorf("OpenCV's grey: want mode RGB")
	}
	return nil
}
