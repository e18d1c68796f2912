package media

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/bits"
	"slices"
	"strings"
	"testing"
)

// happens says of every step that it happens.
var happens = map[Step]func(c *Config){
	StepFlip:     func(c *Config) { c.Flip = 1 },
	StepVFlip:    func(c *Config) { c.VFlip = 1 },
	StepQuarters: func(c *Config) { c.Quarters = 1 },
	StepRotation: func(c *Config) {
		c.Rotation = &Rotation{Degrees: [2]float64{10, 40}, Interpolation: Bilinear, Fill: Fill{9, 99, 199}}
	},
	StepAffine: func(c *Config) {
		c.Affine = &Affine{Degrees: [2]float64{-30, -10}, Scale: [2]float64{0.8, 0.9}, Translate: [2]float64{0.2, 0.2}}
	},
	StepPerspective: func(c *Config) {
		c.Perspective = &Perspective{P: 1, Scale: 0.5, Interpolation: Bilinear, Fill: Fill{9, 99, 199}}
	},
	StepElastic: func(c *Config) {
		c.Elastic = &Elastic{P: 1, Alpha: [2]float64{90, 120}, Sigma: 3, Fill: Fill{9, 99, 199}}
	},
	StepAugment: func(c *Config) {
		c.Augment = &Augment{Kind: RandAugment, Ops: 2, Magnitude: 20, Bins: 31, Interpolation: Nearest}
	},
	StepJitter: func(c *Config) {
		c.Jitter = &Jitter{P: 1, Brightness: &[2]float64{0.4, 0.6}, Hue: &[2]float64{0.1, 0.2}}
	},
	StepDistort: func(c *Config) {
		c.Distort = &Jitter{P: 1, Contrast: &[2]float64{0.4, 0.6}, Saturation: &[2]float64{2, 3}}
	},
	StepPermute:      func(c *Config) { c.Permute = 1 },
	StepGrayscale:    func(c *Config) { c.Grayscale = 1 },
	StepBlur:         func(c *Config) { c.Blur = &Blur{P: 1, Size: 5, Sigma: [2]float64{1, 2}} },
	StepSolarize:     func(c *Config) { c.Solarize = &Solarize{P: 1, Threshold: 100} },
	StepPosterize:    func(c *Config) { c.Posterize = &Posterize{P: 1, Bits: 3} },
	StepInvert:       func(c *Config) { c.Invert = 1 },
	StepSharpness:    func(c *Config) { c.Sharpness = &Sharpness{P: 1, Factor: 3} },
	StepAutocontrast: func(c *Config) { c.Autocontrast = 1 },
	StepEqualize:     func(c *Config) { c.Equalize = 1 },
	StepNoise:        func(c *Config) { c.Noise = &Noise{P: 1, Sigma: [2]float64{0.1, 0.2}} },
	StepJPEG:         func(c *Config) { c.JPEG = &JPEG{P: 1, Quality: [2]int{5, 40}} },
	StepLight:        func(c *Config) { c.Light = &Light{1, [2]float64{0.1, 0.2}, [2]float64{0.5, 0.7}} },
	StepGamma:        func(c *Config) { c.Gamma = &Gamma{1, [2]float64{0.5, 0.7}} },
	StepCV2Gray:      func(c *Config) { c.CV2Gray = 1 },
	StepCV2Affine: func(c *Config) {
		one := [2]float64{1, 1}
		c.CV2Affine = &CV2Affine{P: 1, Degrees: [2]float64{10, 40}, ScaleX: one, ScaleY: one, Interpolation: CV2Linear, Fill: Fill{9, 99, 199}}
	},
	StepHSV:      func(c *Config) { c.HSV = &Shifts{1, [3][2]float64{{20, 30}, {-40, -30}, {10, 20}}} },
	StepRGBShift: func(c *Config) { c.RGBShift = &Shifts{1, [3][2]float64{{20, 30}, {-40, -30}, {10, 20}}} },
	StepBoxBlur:  func(c *Config) { c.BoxBlur = &Kernel{1, [2]int{3, 5}} },
	StepMedian:   func(c *Config) { c.Median = &Kernel{1, [2]int{3, 5}} },
	StepCV2Blur:  func(c *Config) { c.CV2Blur = &CV2Blur{1, [2]float64{1, 2}, [2]int{}} },
	StepMotion: func(c *Config) {
		c.Motion = &Motion{Kernel: Kernel{1, [2]int{5, 7}}, Angle: [2]float64{0, 360}, Direction: [2]float64{-1, 1}, Shifted: true}
	},
	StepCLAHE:        func(c *Config) { c.CLAHE = &CLAHE{1, [2]float64{2, 4}, 8, 8} },
	StepTranspose:    func(c *Config) { c.Transpose = 1 },
	StepSharpen:      func(c *Config) { c.Sharpen = &Effect{1, [2]float64{0.2, 0.5}, [2]float64{0.5, 1}} },
	StepEmboss:       func(c *Config) { c.Emboss = &Effect{1, [2]float64{0.2, 0.5}, [2]float64{0.2, 0.7}} },
	StepSepia:        func(c *Config) { c.Sepia = 1 },
	StepToneCurve:    func(c *Config) { c.ToneCurve = &ToneCurve{1, 0.2, true} },
	StepDropChannels: func(c *Config) { c.DropChannels = &DropChannels{1, [2]int{1, 2}, 9} },
	StepCV2Equalize:  func(c *Config) { c.CV2Equalize = 1 },
	StepOptical:      func(c *Config) { c.Optical = &Optical{1, [2]float64{0.3, 0.6}, Bent{Interpolation: CV2Linear}} },
	StepCV2Perspective: func(c *Config) {
		c.CV2Perspective = &CV2Perspective{1, [2]float64{0.1, 0.2}, Bent{CV2Linear, Constant, Fill{9, 99, 199}}}
	},
	StepGridHoles: func(c *Config) {
		c.GridHoles = &GridHoles{P: 1, Ratio: 0.4, Anywhere: true, Fill: Fill{9, 99, 199}}
	},
	StepSpecks:    func(c *Config) { c.Specks = &Specks{P: 1, Share: 0.3, Fill: Fill{9, 99, 199}} },
	StepDownscale: func(c *Config) { c.Downscale = &Downscale{1, [2]float64{0.2, 0.4}} },
	StepMultiply:  func(c *Config) { c.Multiply = &Multiply{P: 1, By: [2]float64{0.3, 0.8}, Elements: true} },
	StepShuffle:   func(c *Config) { c.Shuffle = &Shuffle{1, [2]int{3, 4}} },
	StepMorph:     func(c *Config) { c.Morph = &Morph{1, true, [2]int{4, 5}} },
	StepISO:       func(c *Config) { c.ISO = &ISO{1, [2]float64{0.1, 0.5}, [2]float64{0.5, 1}} },
	StepUnsharp: func(c *Config) {
		c.Unsharp = &Unsharp{Kernel: Kernel{1, [2]int{3, 7}}, Alpha: [2]float64{0.3, 0.5}, Threshold: 3}
	},
	StepGrid: func(c *Config) {
		c.Grid = &GridDistortion{1, 5, [2]float64{-0.4, 0.4}, true, Bent{Interpolation: CV2Linear}}
	},
	StepRemap: func(c *Config) { c.Remap = reversed() },
	StepHoles: func(c *Config) {
		c.Holes = &Holes{1, [2]int{2, 3}, [2]float64{0.2, 0.4}, [2]float64{0.1, 0.4}, false, Fill{9, 99, 199}}
	},
	StepCV2Jitter: func(c *Config) {
		c.CV2Jitter = &Jitter{P: 1, Contrast: &[2]float64{0.4, 0.6}, Hue: &[2]float64{0.1, 0.2}}
	},
}

// reversed are the values with their bits in another order.
func reversed() *[256]uint8 {
	all := &[256]uint8{}
	for v := range all {
		all[v] = bits.Reverse8(uint8(v))
	}
	return all
}

// of is a configuration in which these steps happen, in the order of the fields, of rows of 60 x 60.
func of(all ...Step) (c Config) {
	c.Out = Square(60)
	for _, s := range all {
		happens[s](&c)
	}
	return c
}

// asPNG is a row of RGB as a file.
func asPNG(t *testing.T, row []byte, w, h int) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		copy(img.Pix[4*i:], row[3*i:3*i+3])
		img.Pix[4*i+3] = 255
	}
	var file bytes.Buffer
	if err := png.Encode(&file, img); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// Draws do not depend on the order, so two steps at once make what the second makes of the first one's row.
func TestStepsAreDoneInTheOrderThatIsGiven(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 60)
	draw, pairs, differ := Draw{Seed: 3, Index: 4}, 0, 0
	for a := range happens {
		between := asPNG(t, made(t, w, data, of(a), draw), 60, 60)
		for b := range happens {
			if a == b {
				continue
			}
			pairs++
			cfg := of(a, b)
			cfg.Order = []Step{a, b}
			got, want := made(t, w, data, cfg, draw), made(t, w, between, of(b), draw)
			if !bytes.Equal(got, want) {
				t.Errorf("step %d, then %d: not what the second makes of the first one's row", a, b)
			}
			cfg.Order = []Step{b, a}
			if !bytes.Equal(got, made(t, w, data, cfg, draw)) {
				differ++
			}
		}
	}
	if differ < pairs/2 || pairs < 20*21 {
		t.Errorf("of %d pairs %d differ from their opposites: the order decides nothing", pairs, differ)
	}
}

// Without an order, and with one that says no more, rows are what they were before there was one.
func TestTheOrderOfTheFieldsNeedNotBeGiven(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 60)
	for a := range steps {
		for b := a + 1; b < steps; b++ {
			if happens[a] == nil || happens[b] == nil { // which are of no row
				continue
			}
			cfg := of(a, b)
			want := made(t, w, data, cfg, Draw{Seed: 3})
			for _, order := range [][]Step{{a, b}, {a}} {
				if cfg.Order = order; !bytes.Equal(made(t, w, data, cfg, Draw{Seed: 3}), want) {
					t.Errorf("order %v is not that of the fields", order)
				}
			}
		}
	}
}

// A point is followed through flips that come late, and what is told of the row says that it is flipped.
func TestALateFlipIsToldAndFollowed(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 50)
	cfg := of(StepRotation, StepFlip)
	cfg.Out = Size{50, 60}
	row := make([]byte, 3*60*50)
	info := func(order ...Step) Info {
		cfg.Order = order
		got, err := w.Row(row, data, compiled(t, cfg), Draw{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	alone := cfg
	alone.Flip = 0
	before, err := w.Row(row, data, compiled(t, alone), Draw{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	late, want := info(StepRotation, StepFlip), before.Affine
	x := want[0]
	want[0] = [3]float64{-x[0], -x[1], 60 - x[2]}
	if !late.Flip || late.Affine != want {
		t.Errorf("flipped after it was turned: got %v, %v, want true, %v", late.Flip, late.Affine, want)
	}
	if early := info(StepFlip, StepRotation); !early.Flip || early.Affine == late.Affine {
		t.Errorf("flipped before it was turned: got %v, %v as of the other order", early.Flip, early.Affine)
	}
}

// What torch does otherwise on a tensor is done so wherever the step stands, by the very draws, and on every instruction set.
func TestStepsByTorchHaveOtherNumbersAndTheSameDraws(t *testing.T) {
	best, portable, size := worker(t, nil), worker(t, &Options{Portable: true}), Size{41, 57}
	pixels := splitmix(4, size.H*size.W*3)
	for i := range pixels { // values of 50 to 152: an autocontrast by their distance differs where that is a whole part of 255
		pixels[i] = pixels[i]/5*2 + 50
	}
	for _, s := range byTorch {
		for _, channels := range []int{3, 1} {
			if channels == 1 && (s == StepJitter || s == StepDistort || s == StepGrayscale) {
				continue // which are of colours
			}
			differ := false
			for i := range uint64(40) {
				cfg := Config{Out: size, Layout: Layout(i % 2), Order: []Step{s}}
				happens[s](&cfg)
				if j := cfg.Jitter; j != nil {
					j.Contrast, j.Saturation = &[2]float64{0.5, 1.5}, &[2]float64{0.5, 1.5}
				}
				draw := Draw{Seed: 7, Index: i}
				of := resized(t, best, pixels, size, channels, cfg, draw)
				cfg.ByTorch = []Step{s}
				row := resized(t, best, pixels, size, channels, cfg, draw)
				if !bytes.Equal(row, resized(t, portable, pixels, size, channels, cfg, draw)) {
					t.Errorf("step %d of %d channels, draw %d: other bytes than without vectors", s, channels, i)
				}
				for k := range row {
					differ = differ || row[k] != of[k]
					if s >= StepJitter && max(row[k], of[k])-min(row[k], of[k]) > 32 { // what moves pixels puts others there
						t.Fatalf("step %d of %d channels, draw %d: got %d, where a PIL image has %d", s, channels, i, row[k], of[k])
					}
				}
			}
			if !differ && s != StepSharpness {
				t.Errorf("step %d of %d channels: no byte is another than a PIL image's", s, channels)
			}
		}
	}
	if _, err := Compile(Config{Out: size, ByTorch: []Step{StepFlip}}); err == nil || !strings.Contains(err.Error(), "by torch: got step 0, want rotation, affine, perspective, augment, jitter, distort, grayscale, sharpness or autocontrast") {
		t.Errorf("a flip by torch: got %v", err)
	}
}

func TestAnOrderThatIsNoneIsRefused(t *testing.T) {
	for want, order := range map[string][]Step{
		"media: order: got step 8 twice, want each once":             {StepJitter, StepFlip, StepJitter},
		fmt.Sprintf("media: order: got step %d, want one of", steps): {steps},
	} {
		if _, err := Compile(Config{Resize: Square(4), Order: order}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", order, err, want)
		}
	}
	if got := complete([]Step{StepEqualize}); len(got) != int(steps) || got[0] != StepEqualize || !slices.Contains(got, StepInvert) {
		t.Errorf("the whole order is %v", got)
	}
}

// Of a choice one step is done, each as often as it is to be, and of what is done together all or nothing; what each draws is what it draws without.
func TestStepsOfGroupsAreDoneByOneDraw(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 60)
	choice := of(StepJitter, StepBlur, StepEqualize)
	choice.Groups = []Member{{Step: StepJitter, Group: 2, Low: 0, High: 0.2}, {Step: StepBlur, Group: 2, Low: 0.2, High: 0.7}, {Step: StepEqualize, Group: 2, Low: 0.7, High: 1}}
	both := of(StepInvert, StepSharpness, StepNoise)
	both.Groups = []Member{{Step: StepInvert, Group: 1, Low: 0, High: 0.3}, {Step: StepNoise, Group: 1, Low: 0, High: 0.3}}
	const n, groups = 400, 20
	var chosen [3]int
	done := 0
	for i := range uint64(n) {
		draw := Draw{Seed: 5, Epoch: i / 7, Index: i}
		number := func(group uint32) float64 { return draw.Uniforms(drawLater, groups+group)[0] }
		u := number(2)
		want := 0
		for _, upto := range []float64{0.2, 0.7} {
			if u >= upto {
				want++
			}
		}
		chosen[want]++
		if got, alone := made(t, w, data, choice, draw), made(t, w, data, of([]Step{StepJitter, StepBlur, StepEqualize}[want]), draw); !bytes.Equal(got, alone) {
			t.Fatalf("draw %d, of number %v: not what step %d makes alone", i, u, want)
		}
		alone := of(StepSharpness)
		if number(1) < 0.3 {
			done++
			alone = of(StepInvert, StepSharpness, StepNoise)
		}
		if !bytes.Equal(made(t, w, data, both, draw), made(t, w, data, alone, draw)) {
			t.Fatalf("draw %d, of number %v: not all, or not nothing", i, number(1))
		}
	}
	for i, share := range []float64{0.2, 0.5, 0.3} {
		if got := float64(chosen[i]) / n; got < share-0.08 || got > share+0.08 {
			t.Errorf("step %d of the choice was drawn in %v of all, want %v", i, got, share)
		}
	}
	if got := float64(done) / n; got < 0.22 || got > 0.38 {
		t.Errorf("what is done together was in %v of all, want 0.3", got)
	}
}

// A flip or a turn of a group is done where its number says, at once or late, ahead or behind, and what is told of the row says the same.
func TestFlipsAndTurnsOfGroupsAreToldAndFollowed(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 60)
	member := func(s Step, group int, low, high float64) Member {
		return Member{Step: s, Group: group, Low: low, High: high}
	}
	row := func(cfg Config, draw Draw) (string, Info) {
		op := compiled(t, cfg)
		row := make([]byte, op.RowBytes())
		info, err := w.Row(row, data, op, draw)
		if err != nil {
			t.Fatal(err)
		}
		return string(row), info
	}
	flips, turns := 0, 0
	for i := range uint64(60) {
		draw := Draw{Seed: 5, Index: i}
		u := draw.Uniforms(drawLater, 20+2)[0]
		for ahead := range 2 {
			cfg := of(StepFlip, StepRotation, StepAffine)
			cfg.Order, cfg.Ahead = []Step{StepFlip, StepRotation, StepAffine}, 3*ahead
			cfg.Groups = []Member{member(StepFlip, 2, 0, 0.3), member(StepRotation, 2, 0.3, 0.7), member(StepAffine, 2, 0.7, 1)}
			one := StepFlip
			if u >= 0.7 {
				one = StepAffine
			} else if u >= 0.3 {
				one = StepRotation
			}
			alone := of(one)
			alone.Order, alone.Ahead = []Step{one}, ahead
			got, told := row(cfg, draw)
			want, of := row(alone, draw)
			if got != want || told != of || told.Flip != (one == StepFlip) {
				t.Fatalf("draw %d, of number %v, %d ahead: got %+v, want what step %d makes alone, %+v", i, u, 3*ahead, told, one, of)
			}
			if told.Flip {
				flips++
			} else {
				turns++
			}
		}
	}
	if flips < 10 || turns < 40 {
		t.Errorf("of 120 rows %d were flipped and %d turned", flips, turns)
	}
	cfg := of(StepFlip)
	cfg.Groups = []Member{member(StepFlip, 1, 0, 0)} // never
	for _, late := range []bool{false, true} {
		if late {
			cfg.Order, cfg.Invert = []Step{StepInvert, StepFlip}, 1
		}
		replayed := Draw{Replay: true, Flip: true}
		if _, told := row(cfg, replayed); !told.Flip || told.Affine[0][0] != -1 {
			t.Errorf("a flip that is replayed: got %+v", told)
		}
		if _, told := row(cfg, Draw{}); told.Flip || told.Affine[0][0] != 1 {
			t.Errorf("a flip that is left out: got %+v", told)
		}
	}
}

// Steps whose order is drawn make what the same make in that order, and all orders come.
func TestAnOrderIsDrawn(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 60)
	shuffled := []Step{StepFlip, StepRotation, StepEqualize}
	orders := map[[3]Step]int{}
	for i := range uint64(240) {
		draw := Draw{Seed: 5, Index: i}
		left, order := slices.Clone(shuffled), []Step{StepInvert}
		for k := range 3 {
			at := int(draw.Uniforms(drawLater, uint32(48+k))[0] * float64(len(left)))
			order = append(order, left[at])
			left = slices.Delete(left, at, at+1)
		}
		orders[[3]Step(order[1:])]++
		cfg := of(StepInvert, StepFlip, StepRotation, StepEqualize, StepSharpness)
		cfg.Order = append([]Step{StepInvert}, append(slices.Clone(shuffled), StepSharpness)...)
		cfg.Shuffled = [2]int{1, 3}
		want := cfg
		want.Order, want.Shuffled = append(order, StepSharpness), [2]int{}
		if !bytes.Equal(made(t, w, data, cfg, draw), made(t, w, data, want, draw)) {
			t.Fatalf("draw %d: not what comes of the order %v", i, order)
		}
		cfg.Order, cfg.Shuffled = cfg.Order[1:], [2]int{0, 2} // a flip that is the first, or not
		want = cfg
		if want.Shuffled = [2]int{}; int(draw.Uniforms(drawLater, 48)[0]*2) == 1 {
			want.Order = []Step{StepRotation, StepFlip, StepEqualize, StepSharpness}
		}
		if !bytes.Equal(made(t, w, data, cfg, draw), made(t, w, data, want, draw)) {
			t.Fatalf("draw %d, of two: not what comes of the order %v", i, want.Order)
		}
	}
	for order, n := range orders {
		if n < 20 || len(orders) != 6 {
			t.Errorf("%v came %d times of 240, of %d orders", order, n, len(orders))
		}
	}
	for want, wrong := range map[string]Config{
		"media: shuffled: got 2 from 1 on, want a part of the 2 steps of order":               {Shuffled: [2]int{1, 2}},
		"media: shuffled: got 2 from 0 on, of which some are ahead of what others are behind": {Shuffled: [2]int{0, 2}, Ahead: 1},
	} {
		wrong.Resize, wrong.Order = Square(4), []Step{StepFlip, StepVFlip}
		if _, err := Compile(wrong); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestGroupsThatAreNoneAreRefused(t *testing.T) {
	for want, groups := range map[string][]Member{
		"media: groups: got step 21, want one of a row":             {{Step: StepZoomOut, Group: 1, Low: 0, High: 1}},
		"media: groups: got step 15 twice, want each once":          {{Step: StepInvert, Group: 1, Low: 0, High: 1}, {Step: StepInvert, Group: 2, Low: 0, High: 1}},
		"media: groups: got group 0, want 1 to 16":                  {{Step: StepInvert, Group: 0, Low: 0, High: 1}},
		"media: groups: got group 17, want 1 to 16":                 {{Step: StepInvert, Group: 17, Low: 0, High: 1}},
		"media: groups: got 0.5 to 0.4, want 0 <= low <= high <= 1": {{Step: StepInvert, Group: 1, Low: 0.5, High: 0.4}},
		"media: groups: got NaN to 0.4, want 0 <= low <= high <= 1": {{Step: StepInvert, Group: 1, Low: nan(), High: 0.4}},
		"media: groups: got 0 to 2, want 0 <= low <= high <= 1":     {{Step: StepInvert, Group: 1, Low: 0, High: 2}},
	} {
		if _, err := Compile(Config{Resize: Square(4), Groups: groups}); err == nil || err.Error() != want {
			t.Errorf("%v: got %v, want %q", groups, err, want)
		}
	}
}
