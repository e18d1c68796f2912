package media

import (
	"bytes"
	"testing"
)

// everything is a transform with all that is drawn.
func everything() Config {
	cfg := train
	cfg.VFlip, cfg.Grayscale, cfg.Erase = 0.5, 0.2, &Erase{P: 0.3}
	cfg.Jitter = &Jitter{
		P: 0.8, Brightness: &[2]float64{0.6, 1.4}, Contrast: &[2]float64{0.6, 1.4}, Saturation: &[2]float64{0.6, 1.4}, Hue: &[2]float64{-0.1, 0.1},
	}
	cfg.Rotation = &Rotation{Degrees: [2]float64{-10, 10}, Interpolation: Nearest}
	cfg.Affine = &Affine{Degrees: [2]float64{-5, 5}, Translate: [2]float64{0.1, 0.1}, Interpolation: Nearest}
	cfg.Augment = &Augment{Kind: RandAugment, Ops: 2, Magnitude: 9, Bins: 31, Interpolation: Nearest}
	cfg.Blur = &Blur{P: 0.5, Size: 5, Sigma: [2]float64{0.1, 2}}
	cfg.Solarize, cfg.Posterize, cfg.Sharpness = &Solarize{P: 0.2, Threshold: 128}, &Posterize{P: 0.2, Bits: 4}, &Sharpness{P: 0.5, Factor: 2}
	cfg.Invert, cfg.Autocontrast, cfg.Equalize = 0.2, 0.2, 0.2
	return cfg
}

// What is drawn besides leaves crops and flips as they were without it, and what never happens changes nothing.
func TestColoursAndVerticalFlipsLeaveOtherDrawsAlone(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 90, 70)
	never := everything()
	never.VFlip, never.Grayscale, never.Erase, never.Jitter.P = 0, 0, nil, 0
	never.Rotation, never.Affine = nil, nil
	never.Augment, never.Blur.P, never.Solarize.P, never.Posterize.P, never.Sharpness.P = nil, 0, 0, 0, 0
	never.Invert, never.Autocontrast, never.Equalize = 0, 0, 0
	plain, all, none := compiled(t, train), compiled(t, everything()), compiled(t, never)
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
		return Config{Jitter: j}
	}
	plain, _ := made(Config{}, Draw{})
	grey, _ := made(Config{Grayscale: 1}, Draw{})
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
		if got, _ := made(Config{Grayscale: p}, draw); !bytes.Equal(got, want) {
			t.Fatalf("row %d, of chance %v grey: other bytes", i, p)
		}
		if _, info := made(Config{VFlip: p}, draw); info.VFlip != (draw.Uniforms(vflip, 0)[0] < p) {
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
		"vertical flip": {VFlip: 0.5}, "jitter": {Jitter: &Jitter{P: 0.5, Hue: &[2]float64{0, 0.5}}}, "grayscale": {Grayscale: 0.5}, "erase": {Erase: &Erase{P: 0.5}},
		"rotation": {Rotation: &Rotation{}}, "affine": {Affine: &Affine{}}, "augment": {Augment: &Augment{Kind: AutoAugment}}, "blur": {Blur: &Blur{P: 0.5, Size: 3, Sigma: [2]float64{1, 1}}}, "solarize": {Solarize: &Solarize{P: 0.5}},
		"posterize": {Posterize: &Posterize{P: 0.5}}, "invert": {Invert: 0.5}, "sharpness": {Sharpness: &Sharpness{P: 0.5}}, "autocontrast": {Autocontrast: 0.5},
		"equalize": {Equalize: 0.5}, "quarters": {Quarters: 0.5, Out: Square(50)}, "distort": {Distort: &Jitter{P: 0.5}}, "permute": {Permute: 0.5},
		"transpose": {Transpose: 0.5, Out: Square(50)}, "sharpen": {Sharpen: &Effect{P: 0.5}}, "emboss": {Emboss: &Effect{P: 0.5}}, "sepia": {Sepia: 0.5}, "tone curve": {ToneCurve: &ToneCurve{P: 0.5}},
		"drop channels": {DropChannels: &DropChannels{0.5, [2]int{1, 1}, 0}}, "OpenCV's equalize": {CV2Equalize: 0.5}, "OpenCV's perspective": {CV2Perspective: &CV2Perspective{P: 0.5, Bent: Bent{Interpolation: CV2Linear}}}, "grid holes": {GridHoles: &GridHoles{P: 0.5, Ratio: 1}}, "specks": {Specks: &Specks{P: 0.5}}, "downscale": {Downscale: &Downscale{0.5, [2]float64{1, 1}}}, "multiply": {Multiply: &Multiply{P: 0.5}}, "shuffle": {Shuffle: &Shuffle{0.5, [2]int{2, 2}}}, "morph": {Morph: &Morph{0.5, false, [2]int{2, 2}}}, "ISO": {ISO: &ISO{P: 0.5}}, "unsharp": {Unsharp: &Unsharp{Kernel: Kernel{0.5, [2]int{3, 3}}}},
		"optical": {Optical: &Optical{P: 0.5, Bent: Bent{Interpolation: CV2Linear}}}, "grid": {Grid: &GridDistortion{P: 0.5, Steps: 2, Bent: Bent{Interpolation: CV2Linear}}},
		"noise": {Noise: &Noise{P: 0.5}}, "jpeg": {JPEG: &JPEG{P: 0.5, Quality: [2]int{50, 60}}},
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
