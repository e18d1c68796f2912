package main

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/spdl/spdl/core/media"
)

// config is media's, whose steps are lists of them by name.
type config struct {
	media.Config
	Ahead, Resized, Steps steps
}

func (c *config) media() media.Config {
	c.Config.Ahead, c.Config.Resized, c.Config.Steps = c.Ahead, c.Resized, c.Steps
	return c.Config
}

// steps are such as [{"Blur": {"P": 1, "Size": 3}}, {"Flip": 0.5}, {"Rotation": {"Degrees": [0, 9]}, "ByTorch": true}].
type steps []media.Placed

var chances = map[string]media.Simple{
	"Flip": media.Flip, "VFlip": media.VFlip, "Quarters": media.Quarters, "Transpose": media.Transpose, "Permute": media.Permute, "Grayscale": media.Grayscale, "Invert": media.Invert,
	"Autocontrast": media.Autocontrast, "Equalize": media.Equalize, "CV2Gray": media.CV2Gray, "Sepia": media.Sepia, "CV2Equalize": media.CV2Equalize,
}

// kinds are the others, by the names of their types.
var kinds = map[string]reflect.Type{}

func init() {
	for _, s := range []media.Step{
		&media.Rotation{}, &media.Affine{}, &media.Perspective{}, &media.ZoomOut{}, &media.IoUCrop{}, &media.Elastic{}, &media.Augment{}, &media.Jitter{}, &media.Distort{}, &media.Blur{},
		&media.Solarize{}, &media.Posterize{}, &media.Sharpness{}, &media.Noise{}, &media.JPEG{}, &media.Light{}, &media.Gamma{}, &media.CV2Affine{}, &media.HSV{}, &media.RGBShift{}, &media.CV2Jitter{},
		&media.BoxBlur{}, &media.Median{}, &media.CV2Blur{}, &media.Motion{}, &media.Holes{}, &media.CLAHE{}, &media.Sharpen{}, &media.Emboss{}, &media.ToneCurve{}, &media.DropChannels{},
		&media.Optical{}, &media.GridDistortion{}, &media.Piecewise{}, &media.CV2Elastic{}, &media.CV2Perspective{}, &media.GridHoles{}, &media.Specks{}, &media.Downscale{}, &media.Remap{}, &media.Multiply{}, &media.Unsharp{}, &media.Shuffle{},
		&media.Morph{}, &media.ISO{}, &media.CV2Autocontrast{}, &media.Salt{}, &media.Planckian{}, &media.Erasing{}, &media.Shadow{}, &media.AdvancedBlur{}, &media.Defocus{}, &media.Ringing{}, &media.Glass{}, &media.ZoomBlur{},
		&media.Fog{}, &media.Rain{}, &media.Snow{}, &media.Flare{}, &media.Shot{}, &media.PCA{}, &media.Cut{}, &media.CutBorders{}, &media.CutSides{}, &media.CutSafely{}, &media.CutAround{}, &media.CutResized{}, &media.Rescale{},
	} {
		of := reflect.TypeOf(s).Elem()
		kinds[of.Name()] = of
	}
}

func (all *steps) UnmarshalJSON(text []byte) error {
	var given []map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	for _, one := range given {
		var p media.Placed
		for name, value := range one {
			var err error
			if of, is := chances[name]; is {
				c := media.Chance{Of: of}
				err = json.Unmarshal(value, &c.P)
				p.Step = c
			} else if of, is := kinds[name]; is {
				made := reflect.New(of)
				err = json.Unmarshal(value, made.Interface())
				p.Step = made.Interface().(media.Step)
			} else if name == "ByTorch" {
				err = json.Unmarshal(value, &p.ByTorch)
			} else {
				err = fmt.Errorf("rowtool: no step is %s", name)
			}
			if err != nil {
				return err
			}
		}
		*all = append(*all, p)
	}
	return nil
}
