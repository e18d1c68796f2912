package media

import (
	"bytes"
	"testing"
)

// everything is a transform with all that is drawn: what has a probability has it times so much.
func everything(often float64) Config {
	cfg := train
	if often > 0 {
		cfg.Erase = &Erase{P: 0.3}
		do(&cfg, Chance{VFlip, 0.5}, &Rotation{Degrees: [2]float64{-10, 10}, Interpolation: Nearest}, &Affine{Degrees: [2]float64{-5, 5}, Translate: [2]float64{0.1, 0.1}, Interpolation: Nearest},
			&Augment{Kind: RandAugment, Ops: 2, Magnitude: 9, Bins: 31, Interpolation: Nearest})
	}
	do(&cfg, &Jitter{P: 0.8 * often, Brightness: &[2]float64{0.6, 1.4}, Contrast: &[2]float64{0.6, 1.4}, Saturation: &[2]float64{0.6, 1.4}, Hue: &[2]float64{-0.1, 0.1}}, Chance{Grayscale, 0.2 * often},
		&Blur{P: 0.5 * often, Size: 5, Sigma: [2]float64{0.1, 2}}, &Solarize{P: 0.2 * often, Threshold: 128}, &Posterize{P: 0.2 * often, Bits: 4}, Chance{Invert, 0.2 * often},
		&Sharpness{P: 0.5 * often, Factor: 2}, Chance{Autocontrast, 0.2 * often}, Chance{Equalize, 0.2 * often})
	return cfg
}

// What is drawn besides leaves crops and flips as they were without it, and what never happens changes nothing.
func TestColoursAndVerticalFlipsLeaveOtherDrawsAlone(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 90, 70)
	plain, all, none := compiled(t, train), compiled(t, everything(1)), compiled(t, everything(0))
	row, without := make([]byte, plain.RowBytes()), make([]byte, plain.RowBytes())
	for i := range uint64(200) {
		draw := Draw{Seed: 11, Epoch: i % 3, Index: i}
		before, err := w.Row(without, data, plain, draw)
		if err != nil {
			t.Fatal(err)
		}
		info, err := w.Row(row, data, all, draw)
		if err != nil || info.Box != before.Box || info.Flip != before.Flip || before.VFlip {
			t.Fatalf("row %d: got %+v, %v; without colours %+v", i, info, err, before)
		}
		if _, err := w.Row(row, data, none, draw); err != nil || !bytes.Equal(row, without) {
			t.Fatalf("row %d: error %v, or other bytes by what never happens", i, err)
		}
	}
}

// Factors and chances are uniforms of an address of their own: which, is for good, as other draws would be other pictures.
func TestDrawsOfColoursHaveTheirAddresses(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 50)
	const low, high, p, jitter, gray, vflip = 0.25, 2.5, 0.4, 4, 5, 3
	made := func(cfg Config, draw Draw) ([]byte, Info) {
		cfg.Out = Size{50, 60}
		op := compiled(t, cfg)
		row := make([]byte, op.RowBytes())
		info, err := w.Row(row, data, op, draw)
		if err != nil {
			t.Fatal(err)
		}
		return row, info
	}
	only := func(p float64, which int, f *[2]float64) Config {
		j := &Jitter{P: p}
		*[]**[2]float64{&j.Brightness, &j.Contrast, &j.Saturation, &j.Hue}[which] = f
		return Config{Steps: Steps(j)}
	}
	plain, _ := made(Config{}, Draw{})
	grey, _ := made(Config{Steps: Steps(Chance{Grayscale, 1})}, Draw{})
	happened := map[string]int{}
	for i := range uint64(100) {
		draw := Draw{Seed: 5, Epoch: 1, Index: i}
		for which := range 4 {
			least, most := low, high
			if which == 3 {
				least, most = -0.5, 0.5
			}
			f := least + draw.Uniforms(jitter, uint32(1+which/2))[which%2]*(most-least)
			want, _ := made(only(1, which, &[2]float64{f, f}), Draw{})
			if got, _ := made(only(1, which, &[2]float64{least, most}), draw); !bytes.Equal(got, want) {
				t.Fatalf("row %d, factor %d: want that of %v", i, which, f)
			}
			if draw.Uniforms(jitter, 0)[0] >= p {
				want = plain
			} else {
				happened["jitter"]++
			}
			if got, _ := made(only(p, which, &[2]float64{least, most}), draw); !bytes.Equal(got, want) {
				t.Fatalf("row %d, factor %d of chance %v: other bytes", i, which, p)
			}
		}
		want := plain
		if draw.Uniforms(gray, 0)[0] < p {
			want = grey
			happened["gray"]++
		}
		if got, _ := made(Config{Steps: Steps(Chance{Grayscale, p})}, draw); !bytes.Equal(got, want) {
			t.Fatalf("row %d, of chance %v grey: other bytes", i, p)
		}
		if _, info := made(Config{Steps: Steps(Chance{VFlip, p})}, draw); info.VFlip != (draw.Uniforms(vflip, 0)[0] < p) {
			t.Fatalf("row %d: flipped %v", i, info.VFlip)
		} else if info.VFlip {
			happened["vflip"]++
		}
	}
	for _, what := range []string{"jitter", "gray", "vflip"} {
		if n := happened[what]; n == 0 || n == 100 || n == 400 {
			t.Errorf("%s happened %d times", what, n)
		}
	}
}

// An op that changes colours, erases, or flips top to bottom, is for no decoder elsewhere, and no row is a copy of its picture.
func TestChangedRowsAreNeitherPlannedNorCopied(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 50)
	for name, cfg := range map[string]Config{
		"vertical flip": {Steps: Steps(Chance{VFlip, 0.5})}, "jitter": {Steps: Steps(&Jitter{P: 0.5, Hue: &[2]float64{0, 0.5}})}, "grayscale": {Steps: Steps(Chance{Grayscale, 0.5})}, "erase": {Erase: &Erase{P: 0.5}},
		"rotation": {Steps: Steps(&Rotation{})}, "affine": {Steps: Steps(&Affine{})}, "augment": {Steps: Steps(&Augment{Kind: AutoAugment})}, "blur": {Steps: Steps(&Blur{P: 0.5, Size: 3, Sigma: [2]float64{1, 1}})}, "solarize": {Steps: Steps(&Solarize{P: 0.5})},
		"posterize": {Steps: Steps(&Posterize{P: 0.5})}, "invert": {Steps: Steps(Chance{Invert, 0.5})}, "sharpness": {Steps: Steps(&Sharpness{P: 0.5})}, "autocontrast": {Steps: Steps(Chance{Autocontrast, 0.5})},
		"equalize": {Steps: Steps(Chance{Equalize, 0.5})}, "quarters": {Out: Square(50), Steps: Steps(Chance{Quarters, 0.5})}, "distort": {Steps: Steps(&Distort{P: 0.5})}, "permute": {Steps: Steps(Chance{Permute, 0.5})},
		"transpose": {Out: Square(50), Steps: Steps(Chance{Transpose, 0.5})}, "sharpen": {Steps: Steps(&Sharpen{P: 0.5})}, "emboss": {Steps: Steps(&Emboss{P: 0.5})}, "sepia": {Steps: Steps(Chance{Sepia, 0.5})}, "tone curve": {Steps: Steps(&ToneCurve{P: 0.5})},
		"drop channels": {Steps: Steps(&DropChannels{0.5, [2]int{1, 1}, 0})}, "OpenCV's equalize": {Steps: Steps(Chance{CV2Equalize, 0.5})}, "OpenCV's perspective": {Steps: Steps(&CV2Perspective{P: 0.5, Bent: Bent{Interpolation: CV2Linear}})}, "grid holes": {Steps: Steps(&GridHoles{P: 0.5, Ratio: 1})}, "specks": {Steps: Steps(&Specks{P: 0.5})}, "downscale": {Steps: Steps(&Downscale{0.5, [2]float64{1, 1}})}, "multiply": {Steps: Steps(&Multiply{P: 0.5})}, "shuffle": {Steps: Steps(&Shuffle{0.5, [2]int{2, 2}})}, "morph": {Steps: Steps(&Morph{0.5, false, [2]int{2, 2}})}, "ISO": {Steps: Steps(&ISO{P: 0.5})}, "OpenCV's autocontrast": {Steps: Steps(&CV2Autocontrast{P: 0.5})}, "salt": {Steps: Steps(&Salt{P: 0.5})}, "shadow": {Steps: Steps(&Shadow{0.5, Rect{0, 0, 1, 1}, [2]int{1, 2}, 5, [2]float64{0.5, 0.7}})}, "advanced blur": {Steps: Steps(&AdvancedBlur{0.5, [2]int{3, 7}, [2]float64{1, 1}, [2]float64{1, 1}, [2]float64{}, [2]float64{1, 1}, [2]float64{1, 1}})}, "defocus": {Steps: Steps(&Defocus{P: 0.5, Radius: [2]int{3, 3}})}, "ringing": {Steps: Steps(&Ringing{0.5, [2]int{3, 7}, [2]float64{1, 1}})}, "glass": {Steps: Steps(&Glass{0.5, 1, 2, 1, true})}, "zoom blur": {Steps: Steps(&ZoomBlur{0.5, [2]float64{1, 2}, [2]float64{0.1, 0.2}})}, "fog": {Steps: Steps(&Fog{P: 0.5, Intensity: [2]float64{1, 1}, Alpha: 0.1})}, "rain": {Steps: Steps(&Rain{P: 0.5, Times: 1, Over: 1, Blur: 1, Brightness: 1})}, "snow": {Steps: Steps(&Snow{P: 0.5, Much: 2})}, "flare": {Steps: Steps(&Flare{P: 0.5, Part: Rect{0, 0, 1, 1}, Count: [2]int{1, 1}, Radius: 9})}, "shot": {Steps: Steps(&Shot{0.5, [2]float64{0.1, 0.1}})}, "PCA": {Steps: Steps(&PCA{0.5, 1})}, "planckian": {Steps: Steps(&Planckian{P: 0.5, Kelvin: [2]float64{3000, 7000}})}, "erasing": {Steps: Steps(&Erasing{P: 0.5, Ratio: [2]float64{1, 1}})}, "unsharp": {Steps: Steps(&Unsharp{Kernel: Kernel{0.5, [2]int{3, 3}}})},
		"OpenCV's elastic": {Steps: Steps(&CV2Elastic{P: 0.5, Alpha: 9, Sigma: 2, Bent: Bent{Interpolation: CV2Linear}})},
		"optical":          {Steps: Steps(&Optical{P: 0.5, Bent: Bent{Interpolation: CV2Linear}})}, "piecewise": {Steps: Steps(&Piecewise{P: 0.5, Scale: [2]float64{0.1, 0.2}, Rows: [2]int{2, 4}, Columns: [2]int{3, 3}, Interpolation: CV2Linear})}, "grid": {Steps: Steps(&GridDistortion{P: 0.5, Steps: 2, Bent: Bent{Interpolation: CV2Linear}})},
		"noise": {Steps: Steps(&Noise{P: 0.5})}, "jpeg": {Steps: Steps(&JPEG{P: 0.5, Quality: [2]int{50, 60}})},
	} {
		if cfg.Out == (Size{}) {
			cfg.Out = Size{50, 60}
		}
		op := compiled(t, cfg)
		if _, ok, err := w.Plan(data, op, Draw{}); ok || err != nil || op.Copies(int(op.c.out_w), 50) {
			t.Errorf("%s: planned %v, copied %v, error %v; want none", name, ok, op.Copies(60, 50), err)
		}
	}
	if compiled(t, Config{Out: Size{50, 60}, Anywhere: true, Pad: Around(1)}).Copies(60, 50) {
		t.Error("a row with zeros around its picture is a copy of it")
	}
	if op := compiled(t, Config{Out: Size{50, 60}}); !op.Copies(60, 50) {
		t.Error("a row that is its picture is no copy")
	}
}
