package media

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// The draws of a step do not depend on where it stands: ahead of a crop that takes all of the picture it makes what it makes of the row.
func TestAStepAheadOfNoGeometryIsTheStepOfTheRow(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 60)
	tried := 0
	for _, step := range happening {
		if !kinds[step.kind()].early {
			continue
		}
		tried++
		for _, mode := range []Mode{RGB, Gray} {
			if of := kinds[step.kind()]; mode == Gray && (of.colours || name(step) == "jitter" || name(step) == "OpenCV's jitter") { // which are of colours
				continue
			}
			want := made(t, w, data, Config{Out: Square(60), Mode: mode, Steps: Steps(step)}, Draw{Seed: 3, Index: 4})
			if !bytes.Equal(made(t, w, data, Config{Out: Square(60), Mode: mode, Ahead: Steps(step)}, Draw{Seed: 3, Index: 4}), want) {
				t.Errorf("%s, mode %d, ahead: not what it makes of the row", name(step), mode)
			}
			if !bytes.Equal(made(t, w, data, Config{Resize: Square(60), Out: Square(60), Mode: mode, Resized: Steps(step)}, Draw{Seed: 3, Index: 4}), want) {
				t.Errorf("%s, mode %d, behind a resize: not what it makes of the row", name(step), mode)
			}
		}
	}
	if tried != 62 {
		t.Errorf("%d kinds of steps are done ahead, want 62", tried)
	}
}

// Colours that change ahead of a resize are the picture's: what comes out is what the resize makes of a file of such a row. So it is between turns.
func TestColoursAheadAreThoseOfTheWholePicture(t *testing.T) {
	w, data, draw := worker(t, nil), testJPEG(t, 60, 60), Draw{Seed: 3, Index: 4}
	jitter, distort := &Jitter{P: 1, Brightness: &[2]float64{0.4, 0.6}, Hue: &[2]float64{0.1, 0.2}}, &Distort{P: 1, Contrast: &[2]float64{0.4, 0.6}, Saturation: &[2]float64{2, 3}}
	for _, steps := range [][]Step{{jitter}, {distort}, {jitter, rotated()}, {rotated(), distort}, {distort, flip, jitter}, {jitter, distort, jitter},
		{&Augment{Kind: RandAugment, Ops: 3, Magnitude: 20, Bins: 31, Interpolation: Nearest}, jitter, &Augment{Kind: TrivialAugmentWide, Bins: 31, Interpolation: Bilinear}},
		{invert, &CLAHE{1, [2]float64{2, 4}, 8, 8}, rotated(), &Noise{P: 1, Sigma: [2]float64{0.1, 0.2}}, &JPEG{P: 1, Quality: [2]int{5, 40}}}, {&Holes{1, Parts{[2]int{2, 3}, [2]float64{0.2, 0.4}, [2]float64{0.1, 0.4}, false}, Fill{9, 99, 199}}, &Motion{Kernel: Kernel{1, [2]int{5, 7}}, Angle: [2]float64{0, 360}, Direction: [2]float64{-1, 1}}}} {
		between := asPNG(t, made(t, w, data, of(steps...), draw), 60, 60)
		got := made(t, w, data, Config{ResizeShort: 40, Out: Square(40), Ahead: Steps(steps...)}, draw)
		if want := made(t, w, between, Config{ResizeShort: 40, Out: Square(40)}, draw); !bytes.Equal(got, want) {
			t.Errorf("%v ahead: not what the resize makes of them", steps)
		}
		if bytes.Equal(got, made(t, w, data, Config{ResizeShort: 40, Out: Square(40), Steps: Steps(steps...)}, draw)) {
			t.Errorf("%v ahead: what they make of the row", steps)
		}
	}
}

// What a worker keeps of one row's axes and sheets is not taken for the next one's.
func TestAWorkerMakesRowsWithAndWithoutStepsAheadByTurns(t *testing.T) {
	w := worker(t, nil)
	files := [][]byte{testJPEG(t, 90, 60), testJPEG(t, 33, 120), testJPEG(t, 300, 200)}
	turn := rotated()
	turn.Expand = true
	both := Config{Out: Square(60), ResizeShort: 70, Ahead: Steps(turn), Resized: Steps(sheared())}
	first, plain := Config{Out: Square(60), ResizeShort: 70, Ahead: Steps(turn)}, Config{Out: Square(60), ResizeShort: 70}
	for i := range 12 {
		for _, cfg := range []Config{both, plain, first} {
			data, draw := files[i%3], Draw{Seed: 3, Index: uint64(i)}
			if !bytes.Equal(made(t, w, data, cfg, draw), made(t, worker(t, nil), data, cfg, draw)) {
				t.Errorf("row %d: not what a new worker makes", i)
			}
		}
	}
}

// A flip ahead is told of, and a decoder elsewhere is not asked for it: it flips last.
func TestAFlipAheadIsNotTheGeometrys(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 61, 40)
	cfg := Config{Out: Square(60), Steps: Steps(Chance{Flip, 1})}
	behind := compiled(t, cfg)
	cfg.Ahead, cfg.Steps = cfg.Steps, nil
	ahead := compiled(t, cfg)
	if _, ok, err := w.Plan(data, behind, Draw{}); !ok || err != nil {
		t.Fatalf("a flip behind: got %v, %v, want a plan", ok, err)
	}
	if _, ok, err := w.Plan(data, ahead, Draw{}); ok || err != nil {
		t.Errorf("a flip ahead: got %v, %v, want no plan", ok, err)
	}
	info, err := w.Row(make([]byte, ahead.RowBytes()), data, ahead, Draw{})
	if want := [2][3]float64{{-1, 0, 61}, {0, 1, 10}}; err != nil || !info.Flip || info.Affine != want {
		t.Errorf("got %v, %v, %v, want true, %v", info.Flip, info.Affine, err, want)
	}
	cfg.Out = Size{40, 61}
	if compiled(t, cfg).Copies(61, 40) {
		t.Error("a row that is flipped ahead is said to be a copy")
	}
}

func TestStepsAheadThatAreNoneAreRefused(t *testing.T) {
	turn := &Rotation{Degrees: [2]float64{1, 2}, Interpolation: Nearest, Expand: true}
	for want, cfg := range map[string]Config{
		"media: OpenCV's elastic: got it ahead of a crop, want it behind":                      {Ahead: Steps(&CV2Elastic{Alpha: 1, Sigma: 2})},
		"media: elastic: got it ahead of a crop, want it behind":                               {Ahead: Steps(&Elastic{})},
		"media: blur: got it ahead of a crop, want it behind":                                  {Resize: Square(9), Resized: Steps(&Blur{P: 1, Size: 3, Sigma: [2]float64{1, 1}})},
		"media: augment: got AugMix ahead of a crop, want it behind":                           {Ahead: Steps(&Augment{Kind: AugMix, Magnitude: 3, Interpolation: Nearest, Mix: Mix{Width: 3, Alpha: 1}})},
		"media: quarters: got rows of 8 x 9, want square ones, or it ahead or resized":         {Out: Size{8, 9}, Steps: Steps(Chance{Quarters, 1})},
		"media: resized: got 1 steps, want a resize that they come behind":                     {Resized: Steps(flip)},
		"media: resized: got 2 steps, want a resize that they come behind, and no random crop": {Random: &RandomCrop{}, Resized: Steps(flip, flip)},
		"media: zoom out: got one of a row, whose size is fixed, want it ahead or resized":     {Steps: Steps(&ZoomOut{Sides: [2]float64{1, 2}})},
		"media: zoom out: sides: got [0.5 2], want 1 <= smallest <= largest <= 16":             {Ahead: Steps(&ZoomOut{Sides: [2]float64{0.5, 2}})},
		"media: zoom out: got probability 2":                                                   {Ahead: Steps(&ZoomOut{P: 2, Sides: [2]float64{1, 2}})},
		"media: rotation: got expand of a row, whose size is fixed, want it ahead or resized":  {Steps: Steps(turn)},
	} {
		if cfg.Out == (Size{}) {
			cfg.Out = Square(8)
		}
		if _, err := Compile(cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", cfg, err, want)
		}
	}
}

// Damage in the middle of a picture, which libjpeg leaves by a jump out of a stage, ends its sample alone; odd sizes are as good as others.
func TestDamagedPicturesAheadOfTheirCropEndTheirSamplesAlone(t *testing.T) {
	w := worker(t, nil)
	turn := rotated()
	turn.Expand = true
	cfg := Config{Out: Square(60), ResizeShort: 40, Ahead: Steps(turn, tilted()), Resized: Steps(sheared())}
	for _, cfg.Mode = range []Mode{RGB, Gray} {
		op := compiled(t, cfg)
		row := make([]byte, op.RowBytes())
		for i, size := range [][2]int{{1, 1}, {1, 70}, {70, 1}, {2, 2}, {17, 33}, {300, 200}} {
			data, draw := testJPEG(t, size[0], size[1]), Draw{Seed: 3, Index: uint64(i)}
			want := made(t, w, data, cfg, draw)
			cut := append(slices.Clone(data[:len(data)*3/4]), 0xff, 0xd9)
			if _, err := w.Row(row, cut, op, draw); err == nil && size[0] > 100 {
				t.Errorf("%v: a picture that is cut was taken", size)
			}
			if !bytes.Equal(made(t, w, data, cfg, draw), want) {
				t.Errorf("%v: another row behind a damaged picture", size)
			}
		}
	}
}
