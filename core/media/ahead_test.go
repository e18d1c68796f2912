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
	for _, step := range early {
		if step == StepZoomOut || step == StepIoUCrop { // which a row has not
			continue
		}
		for _, mode := range []Mode{RGB, Gray} {
			if mode == Gray && (step == StepJitter || step == StepDistort) { // which change hue and saturation
				continue
			}
			cfg := of(step)
			cfg.Mode, cfg.Order = mode, []Step{step}
			want := made(t, w, data, cfg, Draw{Seed: 3, Index: 4})
			cfg.Ahead = 1
			if !bytes.Equal(made(t, w, data, cfg, Draw{Seed: 3, Index: 4}), want) {
				t.Errorf("step %d, mode %d, ahead: not what it makes of the row", step, mode)
			}
			cfg.Ahead, cfg.Resized, cfg.Resize = 0, 1, Square(60)
			if !bytes.Equal(made(t, w, data, cfg, Draw{Seed: 3, Index: 4}), want) {
				t.Errorf("step %d, mode %d, behind a resize: not what it makes of the row", step, mode)
			}
		}
	}
}

// Colours that change ahead of a resize are the picture's: what comes out is what the resize makes of a file of such a row. So it is between turns.
func TestColoursAheadAreThoseOfTheWholePicture(t *testing.T) {
	w, data, draw := worker(t, nil), testJPEG(t, 60, 60), Draw{Seed: 3, Index: 4}
	for _, steps := range [][]Step{{StepJitter}, {StepDistort}, {StepJitter, StepRotation}, {StepRotation, StepDistort}, {StepDistort, StepFlip, StepJitter}} {
		cfg := of(steps...)
		cfg.Order = steps
		between := asPNG(t, made(t, w, data, cfg, draw), 60, 60)
		cfg.Ahead, cfg.ResizeShort, cfg.Out = len(steps), 40, Square(40)
		behind := cfg
		behind.Ahead = 0
		got := made(t, w, data, cfg, draw)
		if want := made(t, w, between, Config{ResizeShort: 40, Out: Square(40)}, draw); !bytes.Equal(got, want) {
			t.Errorf("%v ahead: not what the resize makes of them", steps)
		}
		if bytes.Equal(got, made(t, w, data, behind, draw)) {
			t.Errorf("%v ahead: what they make of the row", steps)
		}
	}
}

// What a worker keeps of one row's axes and sheets is not taken for the next one's.
func TestAWorkerMakesRowsWithAndWithoutStepsAheadByTurns(t *testing.T) {
	w := worker(t, nil)
	files := [][]byte{testJPEG(t, 90, 60), testJPEG(t, 33, 120), testJPEG(t, 300, 200)}
	both := of(StepRotation, StepAffine)
	both.Order, both.Ahead, both.Resized, both.ResizeShort = []Step{StepRotation, StepAffine}, 1, 1, 70
	both.Rotation.Expand = true
	first, plain := both, of()
	first.Affine, first.Order, first.Resized = nil, []Step{StepRotation}, 0
	plain.ResizeShort = 70
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
	cfg := Config{Out: Square(60), Flip: 1, Order: []Step{StepFlip}}
	behind := compiled(t, cfg)
	cfg.Ahead = 1
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
		"media: ahead, resized: got 2 and 0, want numbers of the 1 steps of order": {Order: []Step{StepFlip}, Ahead: 2},
		"media: ahead, resized: got -1 and 1, want numbers":                        {Order: []Step{StepFlip}, Ahead: -1, Resized: 1},
		"media: ahead, resized: got 1 and -1, want numbers":                        {Order: []Step{StepFlip}, Ahead: 1, Resized: -1},
		"media: ahead, resized: got step 6, want a flip, quarters, transpose, rotation, affine, perspective, zoom out, IoU crop, jitter, distort or remap": {Order: []Step{StepElastic}, Ahead: 1},
		"media: quarters: got rows of 8 x 9, want square ones, or it ahead or resized":                                                                     {Order: []Step{StepFlip, StepQuarters}, Ahead: 1, Quarters: 1, Out: Size{8, 9}},
		"media: ahead, resized: got step 10, want a flip":                                                                                                  {Order: []Step{StepFlip, StepPermute}, Ahead: 2},
		"media: resized: got 1 steps, want a resize that they come behind":                                                                                 {Order: []Step{StepFlip}, Resized: 1},
		"media: resized: got 2 steps, want a resize that they come behind, and no random crop":                                                             {Order: []Step{StepFlip, StepVFlip}, Resized: 2, Random: &RandomCrop{}},
		"media: zoom out: got one of a row, whose size is fixed, want it ahead or resized":                                                                 {Order: []Step{StepFlip}, Ahead: 1, ZoomOut: &ZoomOut{Sides: [2]float64{1, 2}}},
		"media: zoom out: sides: got [0.5 2], want 1 <= smallest <= largest <= 16":                                                                         {Order: []Step{StepZoomOut}, Ahead: 1, ZoomOut: &ZoomOut{Sides: [2]float64{0.5, 2}}},
		"media: zoom out: got probability 2":                                                                                                               {Order: []Step{StepZoomOut}, Ahead: 1, ZoomOut: &ZoomOut{P: 2, Sides: [2]float64{1, 2}}},
		"media: rotation: got expand of a row, whose size is fixed, want it ahead or resized":                                                              {Order: []Step{StepFlip, StepRotation}, Ahead: 1, Rotation: turn},
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
	cfg := of(StepRotation, StepAffine, StepPerspective)
	cfg.Order, cfg.Ahead, cfg.Resized, cfg.ResizeShort = []Step{StepRotation, StepPerspective, StepAffine}, 2, 1, 40
	cfg.Rotation.Expand = true
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
