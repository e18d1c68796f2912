package media

import (
	"bytes"
	"testing"
)

// exactly is an odd size that is drawn each time.
func exactly(size int) *Kernel { return &Kernel{1, [2]int{size, size}} }

// vectored are operations that have vectors, OpenCV's and those by tables, by what they are told; of three channels alone those that are.
func vectored(i uint64) (all, rgb map[string]Config) {
	odd := 1 + 2*int(i%16)
	turned := CV2Affine{P: 1, Degrees: [2]float64{-180, 180}, ShiftX: [2]float64{-0.6, 0.6}, ShiftY: [2]float64{-0.6, 0.6}, ScaleX: [2]float64{0.2, 3}, ScaleY: [2]float64{0.2, 3},
		Interpolation: CV2Linear, Padding: Padding(i % 4), Fill: Fill{9, 99, 199}}
	nearest, far := turned, turned
	nearest.Interpolation = CV2Nearest
	far.ShiftX, far.ShiftY, far.ScaleX, far.ScaleY = [2]float64{-1, 1}, [2]float64{-1, 1}, [2]float64{MinScale, 0.1}, [2]float64{MinScale, 0.1}
	all = map[string]Config{
		"box_blur":          {Steps: Steps((*BoxBlur)(exactly(odd)))},
		"median_blur":       {Steps: Steps((*Median)(exactly(odd)))},
		"cv2_gaussian_blur": {Steps: Steps(&CV2Blur{1, [2]float64{0.1, 6}, [2]int{0, 9}})},
		"motion_blur":       {Steps: Steps(&Motion{*exactly(odd), [2]float64{0, 360}, [2]float64{-1, 1}, true})},
		"cv2_affine":        {Steps: Steps(&turned)},
		"affine, nearest":   {Steps: Steps(&nearest)},
		"affine, far":       {Steps: Steps(&far)},
		"sharpen":           {Steps: Steps(&Sharpen{1, [2]float64{0, 1}, [2]float64{0, 3}})},
		"unsharp":           {Steps: Steps(&Unsharp{*exactly(odd), [2]float64{0, 3 * float64(i%2)}, [2]float64{0, 1}, int(i % 30)})},
		"morph":             {Steps: Steps(&Morph{1, i%2 == 0, [2]int{1 + int(i%8), 1 + int(i%11)}})},
		"emboss":            {Steps: Steps(&Emboss{1, [2]float64{0, 1}, [2]float64{0, 3}})},
		"perspective":       {Steps: Steps(&CV2Perspective{1, [2]float64{0, 0.5}, Bent{CV2Linear, Padding(i % 4), Fill{9, 99, 199}}})},
		"optical":           {Steps: Steps(&Optical{1, [2]float64{-1, 1}, Bent{CV2Linear, Padding(i % 4), Fill{9, 99, 199}}})},
		"elastic":           {Steps: Steps(&CV2Elastic{1, 400, 3, i%2 == 0, i%3 == 0, i%5 < 2, Bent{CV2Linear, Padding(i % 4), Fill{9, 99, 199}}})},
		"piecewise":         {Steps: Steps(&Piecewise{1, [2]float64{0, 1}, [2]int{2, 9}, [2]int{2, 9}, false, CV2Linear})},
		"grid":              {Steps: Steps(&GridDistortion{1, 1, [2]float64{-1, 1}, i%3 == 0, Bent{CV2Linear, Padding(i % 4), Fill{9, 99, 199}}})},
		"solarize":          {Steps: Steps(&Solarize{P: 1, Threshold: float64(i * 2)})},
		"brightness":        {Steps: Steps(&Light{1, [2]float64{-1, 1}, [2]float64{0, 2}})},
		"gamma":             {Steps: Steps(&Gamma{1, [2]float64{0.1, 3}})},
		"tone_curve":        {Steps: Steps(&ToneCurve{1, 0.3, false})},
		"multiplied":        {Steps: Steps(&Multiply{P: 1, By: [2]float64{0, 3}, Elements: i%2 == 0, Each: i%3 == 0})},
		"pixel_dropout":     {Steps: Steps(&Specks{P: 1, Share: 0.3, Each: i%2 == 0})},
		"clahe":             {Steps: Steps(&CLAHE{1, [2]float64{1, 5}, 1 + int(i%9), 1 + int(i%7)})},
	}
	shift := [3][2]float64{{-255, 255}, {-255, 255}, {-255, 255}}
	range2 := &[2]float64{0, 3}
	rgb = map[string]Config{
		"hue_saturation_value": {Steps: Steps(&HSV{1, shift})},
		"hue alone":            {Steps: Steps(&HSV{1, [3][2]float64{{-90, 90}}})},
		"hue all but none":     {Steps: Steps(&HSV{1, [3][2]float64{{-1e-18, -1e-18}}})},
		"rgb_shift":            {Steps: Steps(&RGBShift{1, shift})},
		"contrast":             {Steps: Steps(&CV2Jitter{P: 1, Contrast: range2})},
		"saturation":           {Steps: Steps(&CV2Jitter{P: 1, Saturation: range2})},
		"hue":                  {Steps: Steps(&CV2Jitter{P: 1, Hue: &[2]float64{-0.5, 0.5}})},
		"cv2_grayscale":        {Steps: Steps(Chance{CV2Gray, 1})},
		"to_sepia":             {Steps: Steps(Chance{Sepia, 1})},
		"grayscale":            {Steps: Steps(Chance{Grayscale, 1})},
		"grey of tensors":      {Steps: []Placed{{Step: Chance{Grayscale, 1}, ByTorch: true}}},
		"colours of tensors":   {Steps: []Placed{{Step: &Jitter{P: 1, Saturation: range2, Hue: &[2]float64{-0.5, 0.5}}, ByTorch: true}}},
		"each channel's curve": {Steps: Steps(&ToneCurve{1, 0.3, true})},
		"equalize":             {Steps: Steps(Chance{Equalize, 1})},
		"channel_dropout":      {Steps: Steps(&DropChannels{1, [2]int{1, 2}, byte(i)})},
		"iso_noise":            {Steps: Steps(&ISO{1, [2]float64{0, 1}, [2]float64{0, 3}})},
	}
	return all, rgb
}

// Vectors make the bytes that are made without them: of rows of any width, down to one pixel, in colour, in planes and in grey, of noise and of few values.
func TestOperationsAreTheSameWithoutVectors(t *testing.T) {
	best, narrow, portable := worker(t, nil), worker(t, &Options{narrow: true}), worker(t, &Options{Portable: true})
	same := func(name string, size Size, channels int, cfg Config, seed uint64) {
		t.Helper()
		pixels := splitmix(seed, size.W*size.H*channels)
		if seed%3 == 1 { // few values, many of them equal
			for k := range pixels {
				pixels[k] = pixels[k] & 0xc1
			}
		}
		cfg.Out = size
		draw := Draw{Seed: 3, Index: seed}
		want := resized(t, portable, pixels, size, channels, cfg, draw)
		for _, w := range []*Worker{best, narrow} {
			if !bytes.Equal(resized(t, w, pixels, size, channels, cfg, draw), want) {
				t.Errorf("%s: %v of %d channels in layout %d, draw %d: other bytes of %s than without vectors", name, size, channels, cfg.Layout, seed, w.ISA())
			}
		}
	}
	for i := range uint64(96) {
		size := Size{1 + int(i*7%41), 1 + int(i*13%83)}
		if i%12 == 0 {
			size.W += 128 // more columns than one table has places of
		}
		all, rgb := vectored(i)
		for name, cfg := range all {
			same(name, size, 1, cfg, i)
			rgb[name] = cfg
		}
		for name, cfg := range rgb {
			cfg.Layout = Layout(i / 2 % 2)
			same(name, size, 3, cfg, i)
		}
	}
}

// Pillow's maps make the same pixels, too.
func TestMapsAreTheSameWithoutVectors(t *testing.T) {
	best, portable := worker(t, nil), worker(t, &Options{Portable: true})
	for i := range uint64(120) {
		size, by, fill := Size{1 + int(i*7%37), 1 + int(i*13%71)}, []Interpolation{Bilinear, Bicubic}[i%2], Fill{9, 99, 199}
		for name, cfg := range map[string]Config{
			"rotation":    {Steps: Steps(&Rotation{Degrees: [2]float64{-180, 180}, Interpolation: by, Fill: fill})},
			"affine":      {Steps: Steps(&Affine{Degrees: [2]float64{-90, 90}, Scale: [2]float64{0.3, 3}, Translate: [2]float64{0.5, 0.5}, Interpolation: by, Fill: fill})},
			"perspective": {Steps: Steps(&Perspective{P: 1, Scale: 0.9, Interpolation: by, Fill: fill})},
		} {
			cfg.Out, cfg.Layout = size, Layout(i/2%2)
			for _, channels := range []int{1, 3} {
				pixels, draw := splitmix(i, size.W*size.H*channels), Draw{Index: i}
				if !bytes.Equal(resized(t, best, pixels, size, channels, cfg, draw), resized(t, portable, pixels, size, channels, cfg, draw)) {
					t.Errorf("%s: %v of %d channels, draw %d: other bytes than without vectors", name, size, channels, i)
				}
			}
		}
	}
}

// Each of the saturations, of each of the hues, comes back from HSV as without vectors, and so does each value.
func TestColoursAreTheSameWithoutVectors(t *testing.T) {
	best, portable, size := worker(t, nil), worker(t, &Options{Portable: true}), Size{512, 521}
	pixels := make([]byte, size.W*size.H*3)
	for step, n := uint32(1), 0; n < 63; n++ {
		for k := range size.W * size.H { // all 2^24 colours, mixed, in 63 pictures
			c := step
			step = (step*5 + 12345) & (1<<24 - 1)
			pixels[3*k], pixels[3*k+1], pixels[3*k+2] = byte(c>>16), byte(c>>8), byte(c)
		}
		for _, cfg := range []Config{{Steps: Steps(&HSV{1, [3][2]float64{{-180, 180}, {-60, 60}, {-60, 60}}})}, {Steps: Steps(&CV2Jitter{P: 1, Saturation: &[2]float64{0, 2}})}} {
			cfg.Out = size
			draw := Draw{Index: uint64(n)}
			if !bytes.Equal(resized(t, best, pixels, size, 3, cfg, draw), resized(t, portable, pixels, size, 3, cfg, draw)) {
				t.Fatalf("picture %d, %+v: other bytes than without vectors", n, cfg)
			}
		}
	}
}
