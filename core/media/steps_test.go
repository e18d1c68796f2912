package media

import (
	"bytes"
	"image"
	"image/png"
	"math/bits"
	"slices"
	"testing"
)

// rotated, affine and flipped happen to a picture, or a row.
func rotated() *Rotation {
	return &Rotation{Degrees: [2]float64{10, 40}, Interpolation: Bilinear, Fill: Fill{9, 99, 199}}
}

func sheared() *Affine {
	return &Affine{Degrees: [2]float64{-30, -10}, Scale: [2]float64{0.8, 0.9}, Translate: [2]float64{0.2, 0.2}}
}

func tilted() *Perspective {
	return &Perspective{P: 1, Scale: 0.5, Interpolation: Bilinear, Fill: Fill{9, 99, 199}}
}

var flip, invert, equalize = Chance{Flip, 1}, Chance{Invert, 1}, Chance{Equalize, 1}

// happening is one of every kind that may be done to a row, and happens.
var happening = []Step{
	flip, Chance{VFlip, 1}, Chance{Quarters, 1}, rotated(), sheared(), tilted(),
	&Elastic{P: 1, Alpha: [2]float64{90, 120}, Sigma: 3, Fill: Fill{9, 99, 199}},
	&Augment{Kind: RandAugment, Ops: 2, Magnitude: 20, Bins: 31, Interpolation: Nearest},
	&Jitter{P: 1, Brightness: &[2]float64{0.4, 0.6}, Hue: &[2]float64{0.1, 0.2}},
	&Distort{P: 1, Contrast: &[2]float64{0.4, 0.6}, Saturation: &[2]float64{2, 3}},
	Chance{Permute, 1}, Chance{Grayscale, 1}, &Blur{P: 1, Size: 5, Sigma: [2]float64{1, 2}}, &Solarize{P: 1, Threshold: 100}, &Posterize{P: 1, Bits: 3}, invert,
	&Sharpness{P: 1, Factor: 3}, Chance{Autocontrast, 1}, equalize, &Noise{P: 1, Sigma: [2]float64{0.1, 0.2}}, &JPEG{P: 1, Quality: [2]int{5, 40}},
	&Light{1, [2]float64{0.1, 0.2}, [2]float64{0.5, 0.7}}, &Gamma{1, [2]float64{0.5, 0.7}}, Chance{CV2Gray, 1},
	&CV2Affine{P: 1, Degrees: [2]float64{10, 40}, ScaleX: [2]float64{1, 1}, ScaleY: [2]float64{1, 1}, Interpolation: CV2Linear, Fill: Fill{9, 99, 199}},
	&HSV{1, [3][2]float64{{20, 30}, {-40, -30}, {10, 20}}}, &RGBShift{1, [3][2]float64{{20, 30}, {-40, -30}, {10, 20}}},
	&CV2Jitter{P: 1, Contrast: &[2]float64{0.4, 0.6}, Hue: &[2]float64{0.1, 0.2}},
	&BoxBlur{1, [2]int{3, 5}}, &Median{1, [2]int{3, 5}}, &CV2Blur{1, [2]float64{1, 2}, [2]int{}},
	&Motion{Kernel: Kernel{1, [2]int{5, 7}}, Angle: [2]float64{0, 360}, Direction: [2]float64{-1, 1}, Shifted: true},
	&Holes{1, Parts{[2]int{2, 3}, [2]float64{0.2, 0.4}, [2]float64{0.1, 0.4}, false}, Fill{9, 99, 199}},
	&CLAHE{1, [2]float64{2, 4}, 8, 8}, Chance{Transpose, 1}, &Sharpen{1, [2]float64{0.2, 0.5}, [2]float64{0.5, 1}}, &Emboss{1, [2]float64{0.2, 0.5}, [2]float64{0.2, 0.7}},
	Chance{Sepia, 1}, &ToneCurve{1, 0.2, true}, &DropChannels{1, [2]int{1, 2}, 9}, Chance{CV2Equalize, 1},
	&CV2Elastic{P: 1, Alpha: 300, Sigma: 4, Bent: Bent{Interpolation: CV2Linear}},
	&Optical{1, [2]float64{0.3, 0.6}, Bent{Interpolation: CV2Linear}}, &GridDistortion{1, 5, [2]float64{-0.4, 0.4}, true, Bent{Interpolation: CV2Linear}},
	&Piecewise{1, [2]float64{0.2, 0.4}, [2]int{3, 5}, [2]int{4, 4}, false, CV2Linear},
	&CV2Perspective{1, [2]float64{0.1, 0.2}, Bent{CV2Linear, Constant, Fill{9, 99, 199}}},
	&GridHoles{P: 1, Ratio: 0.4, Anywhere: true, Fill: Fill{9, 99, 199}}, &Specks{P: 1, Share: 0.3, Fill: Fill{9, 99, 199}}, &Downscale{1, [2]float64{0.2, 0.4}},
	reversed(), &Multiply{P: 1, By: [2]float64{0.3, 0.8}, Elements: true}, &Unsharp{Kernel: Kernel{1, [2]int{3, 7}}, Alpha: [2]float64{0.3, 0.5}, Threshold: 3},
	&Shuffle{1, [2]int{3, 4}}, &Morph{1, true, [2]int{4, 5}}, &ISO{1, [2]float64{0.1, 0.5}, [2]float64{0.5, 1}},
	&CV2Autocontrast{P: 1, Cutoff: 5}, &Salt{1, [2]float64{0.1, 0.2}, [2]float64{0.3, 0.6}}, &Planckian{P: 1, Kelvin: [2]float64{3000, 6000}}, &Erasing{1, [2]float64{0.1, 0.3}, [2]float64{0.5, 2}, Fill{9, 99, 199}},
	&Shadow{1, Rect{0, 0, 1, 1}, [2]int{1, 2}, 5, [2]float64{0.5, 0.7}},
	&AdvancedBlur{1, [2]int{5, 9}, [2]float64{1, 2}, [2]float64{0.5, 1}, [2]float64{-90, 90}, [2]float64{0.5, 8}, [2]float64{0.5, 2}}, &Defocus{1, [2]int{3, 5}, [2]float64{0.1, 0.5}}, &Ringing{1, [2]int{7, 9}, [2]float64{0.5, 1}},
	&Glass{1, 0.7, 4, 2, false}, &ZoomBlur{1, [2]float64{1.2, 1.4}, [2]float64{0.05, 0.1}}, &Fog{1, [2]float64{0.5, 1}, 0.2}, &Rain{1, [2]float64{-10, 10}, 1, 1, 9, 3, 0.7, Fill{200, 210, 220}},
	&Snow{1, [2]float64{0.5, 1}, 2}, &Flare{1, Rect{0, 0, 1, 1}, [2]float64{0, 1}, [2]int{2, 6}, 100, Fill{255, 250, 200}}, &Shot{1, [2]float64{0.1, 0.3}}, &PCA{1, 3},
}

// name is that of a step's kind.
func name(s Step) string { return kinds[s.kind()].name }

// reversed are the values with their bits in another order.
func reversed() *Remap {
	all := &Remap{}
	for v := range all {
		all[v] = bits.Reverse8(uint8(v))
	}
	return all
}

// of is a configuration in which these steps happen, in this order, of rows of 60 x 60.
func of(all ...Step) Config { return Config{Out: Square(60), Steps: Steps(all...)} }

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
	for i, a := range happening {
		between := asPNG(t, made(t, w, data, of(a), draw), 60, 60)
		for k, b := range happening {
			if i == k {
				continue
			}
			pairs++
			got := made(t, w, data, of(a, b), draw)
			if !bytes.Equal(got, made(t, w, between, of(b), draw)) {
				t.Errorf("%s, then %s: not what the second makes of the first one's row", name(a), name(b))
			}
			if !bytes.Equal(got, made(t, w, data, of(b, a), draw)) {
				differ++
			}
		}
	}
	if differ < pairs/2 || pairs < 20*21 {
		t.Errorf("of %d pairs %d differ from their opposites: the order decides nothing", pairs, differ)
	}
}

// One of every kind is tried here, but for those that are of no row.
func TestEveryKindOfStepIsTried(t *testing.T) {
	tried := map[string]bool{"zoom out": true, "IoU crop": true}
	for _, s := range append(happening, cutting...) {
		tried[name(s)] = true
	}
	for _, of := range kinds {
		if !tried[of.name] {
			t.Errorf("%s is not", of.name)
		}
	}
	if len(tried) != len(kinds) {
		t.Errorf("got %d names of %d kinds", len(tried), len(kinds))
	}
}

// A step that is there again draws other numbers than the first, those of its own address.
func TestAStepMayBeThereAgain(t *testing.T) {
	const jitter = 4 // its operation
	w, data, differ := worker(t, nil), testJPEG(t, 60, 60), 0
	brighter := func(low, high float64) *Jitter { return &Jitter{P: 1, Brightness: &[2]float64{low, high}} }
	for i := range uint64(20) {
		draw := Draw{Seed: 3, Index: i}
		first, second := 0.4+0.8*draw.Uniforms(jitter, 1)[0], 0.4+0.8*draw.Uniforms(jitter, 1<<20|1)[0]
		between := asPNG(t, made(t, w, data, of(brighter(first, first)), Draw{}), 60, 60)
		want := made(t, w, between, of(brighter(second, second)), Draw{})
		if got := made(t, w, data, of(brighter(0.4, 1.2), invert, brighter(0.4, 1.2), invert, invert), draw); !bytes.Equal(got, made(t, w, between, of(invert, brighter(second, second)), Draw{})) {
			t.Fatalf("draw %d, with others in between: not by %v, then %v", i, first, second)
		}
		if got := made(t, w, data, of(brighter(0.4, 1.2), brighter(0.4, 1.2)), draw); !bytes.Equal(got, want) {
			t.Fatalf("draw %d: not by %v, then %v", i, first, second)
		}
		if first != second {
			differ++
		}
	}
	if differ == 0 {
		t.Error("both were always the same")
	}
}

// Two flips are none, whether they are part of the geometry or not, and what is told says so.
func TestAFlipMayBeThereAgain(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 60)
	row, plain, seen := make([]byte, 3*60*60), made(t, w, data, of(), Draw{}), map[bool]int{}
	for i := range uint64(40) {
		draw := Draw{Seed: 9, Index: i}
		for _, cfg := range []Config{of(Chance{Flip, 0.5}, Chance{Flip, 0.5}), of(invert, Chance{Flip, 0.5}, Chance{Flip, 0.5}, invert), {Out: Square(60), Ahead: Steps(Chance{Flip, 0.5}), Steps: Steps(Chance{Flip, 0.5})}} {
			info, err := w.Row(row, data, compiled(t, cfg), draw)
			if err != nil {
				t.Fatal(err)
			}
			const operation = 2
			once := draw.Uniforms(operation, 0)[0] < 0.5 != (draw.Uniforms(operation, 1<<20)[0] < 0.5)
			if info.Flip != once || (info.Affine[0][0] == -1) != once || bytes.Equal(row, plain) == once {
				t.Fatalf("draw %d of %d steps: got flip %v and affine %v, want %v", i, len(cfg.Steps), info.Flip, info.Affine, once)
			}
			seen[once]++
		}
	}
	if seen[true] < 20 || seen[false] < 20 {
		t.Errorf("of 120 rows %d were flipped", seen[true])
	}
}

// A row may have as many retouches as its steps come to.
func TestManyStepsFit(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 60)
	var all []Step
	for range MaxAlike {
		all = append(all, &Augment{Kind: AugMix, Magnitude: 3, Mix: Mix{Width: MaxMix, Depth: MaxMix, Alpha: 1}}, &Holes{P: 1, Parts: Parts{Count: [2]int{MaxHoles, MaxHoles}, Height: [2]float64{0.1, 0.1}, Width: [2]float64{0.1, 0.1}}},
			&Jitter{P: 1, Brightness: &[2]float64{0.9, 1.1}, Hue: &[2]float64{0.1, 0.2}}, Chance{Permute, 0.5})
	}
	if len(all) != MaxOrder {
		t.Fatalf("got %d steps, want %d", len(all), MaxOrder)
	}
	made(t, w, data, of(all...), Draw{Seed: 1})
	for want, wrong := range map[string]Config{
		"media: steps: got 65, want at most 64":                  of(append(all, invert)...),
		"media: jitter: got it more than 16 times":               of(append(slices.DeleteFunc(slices.Clone(all), func(s Step) bool { return s == Step(Chance{Permute, 0.5}) }), &Jitter{})...),
		"media: shuffle: got it ahead of a crop, want it behind": {Out: Square(60), Ahead: Steps(&Shuffle{1, [2]int{3, 4}})},
	} {
		if _, err := Compile(wrong); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A point is followed through flips that come late, and what is told of the row says that it is flipped.
func TestALateFlipIsToldAndFollowed(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 50)
	row := make([]byte, 3*60*50)
	info := func(order ...Step) Info {
		got, err := w.Row(row, data, compiled(t, Config{Out: Size{50, 60}, Steps: Steps(order...)}), Draw{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	late, want := info(rotated(), flip), info(rotated()).Affine
	x := want[0]
	want[0] = [3]float64{-x[0], -x[1], 60 - x[2]}
	if !late.Flip || late.Affine != want {
		t.Errorf("flipped after it was turned: got %v, %v, want true, %v", late.Flip, late.Affine, want)
	}
	if early := info(flip, rotated()); !early.Flip || early.Affine == late.Affine {
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
	tried := 0
	for _, s := range happening {
		of := kinds[s.kind()]
		if !of.byTorch {
			continue
		}
		tried++
		if of.name == "jitter" {
			s = &Jitter{P: 1, Brightness: &[2]float64{0.4, 0.6}, Contrast: &[2]float64{0.5, 1.5}, Saturation: &[2]float64{0.5, 1.5}, Hue: &[2]float64{0.1, 0.2}}
		}
		for _, channels := range []int{3, 1} {
			if channels == 1 && (of.colours || of.name == "jitter") {
				continue
			}
			differ := false
			for i := range uint64(40) {
				cfg := Config{Out: size, Layout: Layout(i % 2), Steps: Steps(s)}
				draw := Draw{Seed: 7, Index: i}
				pil := resized(t, best, pixels, size, channels, cfg, draw)
				cfg.Steps = []Placed{{Step: s, ByTorch: true}}
				row := resized(t, best, pixels, size, channels, cfg, draw)
				if !bytes.Equal(row, resized(t, portable, pixels, size, channels, cfg, draw)) {
					t.Errorf("%s of %d channels, draw %d: other bytes than without vectors", of.name, channels, i)
				}
				for k := range row {
					differ = differ || row[k] != pil[k]
					if of.values && of.name != "augmentation" && max(row[k], pil[k])-min(row[k], pil[k]) > 32 { // what moves pixels puts others there
						t.Fatalf("%s of %d channels, draw %d: got %d, where a PIL image has %d", of.name, channels, i, row[k], pil[k])
					}
				}
			}
			if !differ && of.name != "sharpness" {
				t.Errorf("%s of %d channels: no byte is another than a PIL image's", of.name, channels)
			}
		}
	}
	if tried != 9 {
		t.Errorf("%d kinds of steps are done by torch, want 9", tried)
	}
	if _, err := Compile(Config{Out: size, Steps: []Placed{{Step: flip, ByTorch: true}}}); err == nil || err.Error() != "media: horizontal flip: by torch: want a step whose numbers on a tensor are not those on a picture" {
		t.Errorf("a flip by torch: got %v", err)
	}
}

// Of a choice one step is done, each as often as it is to be, and of what is done together all or nothing; what each draws is what it draws without.
func TestStepsOfGroupsAreDoneByOneDraw(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 60)
	jitter, blur, sharper, noise := &Jitter{P: 1, Brightness: &[2]float64{0.4, 0.6}, Hue: &[2]float64{0.1, 0.2}}, &Blur{P: 1, Size: 5, Sigma: [2]float64{1, 2}}, &Sharpness{P: 1, Factor: 3}, &Noise{P: 1, Sigma: [2]float64{0.1, 0.2}}
	choice, both := of(), of()
	choice.Steps = []Placed{{Step: jitter, Member: Member{Group: 2, Low: 0, High: 0.2}}, {Step: blur, Member: Member{Group: 2, Low: 0.2, High: 0.7}}, {Step: equalize, Member: Member{Group: 2, Low: 0.7, High: 1}}}
	both.Steps = []Placed{{Step: invert, Member: Member{Group: 1, Low: 0, High: 0.3}}, {Step: sharper}, {Step: noise, Member: Member{Group: 1, Low: 0, High: 0.3}}}
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
		if got, alone := made(t, w, data, choice, draw), made(t, w, data, of([]Step{jitter, blur, equalize}[want]), draw); !bytes.Equal(got, alone) {
			t.Fatalf("draw %d, of number %v: not what step %d makes alone", i, u, want)
		}
		alone := of(sharper)
		if number(1) < 0.3 {
			done++
			alone = of(invert, sharper, noise)
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
			turn, shear := rotated(), sheared()
			all := []Placed{{Step: flip, Member: Member{Group: 2, Low: 0, High: 0.3}}, {Step: turn, Member: Member{Group: 2, Low: 0.3, High: 0.7}}, {Step: shear, Member: Member{Group: 2, Low: 0.7, High: 1}}}
			one := Step(flip)
			if u >= 0.7 {
				one = shear
			} else if u >= 0.3 {
				one = turn
			}
			cfg, alone := Config{Out: Square(60), Steps: all}, of(one)
			if ahead == 1 {
				cfg, alone = Config{Out: Square(60), Ahead: all}, Config{Out: Square(60), Ahead: Steps(one)}
			}
			got, told := row(cfg, draw)
			want, of := row(alone, draw)
			if got != want || told != of || told.Flip != (one == Step(flip)) {
				t.Fatalf("draw %d, of number %v, %d ahead: got %+v, want what %s makes alone, %+v", i, u, 3*ahead, told, name(one), of)
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
	never := Placed{Step: flip, Member: Member{Group: 1}}
	for _, steps := range [][]Placed{{never}, {{Step: invert}, never}} {
		cfg := Config{Out: Square(60), Steps: steps}
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
	turn, sharper := rotated(), &Sharpness{P: 1, Factor: 3}
	shuffled, orders := []Step{flip, turn, equalize}, map[[3]Step]int{}
	placed := func(all ...Step) (to []Placed) {
		for _, s := range all {
			to = append(to, Placed{Step: s, Shuffled: true})
		}
		return to
	}
	for i := range uint64(240) {
		draw := Draw{Seed: 5, Index: i}
		left, order := slices.Clone(shuffled), []Step{invert}
		for k := range 3 {
			at := int(draw.Uniforms(drawLater, uint32(48+k))[0] * float64(len(left)))
			order = append(order, left[at])
			left = slices.Delete(left, at, at+1)
		}
		orders[[3]Step(order[1:])]++
		cfg, want := of(), of(append(order, sharper)...)
		cfg.Steps = slices.Concat(Steps(invert), placed(shuffled...), Steps(sharper))
		if !bytes.Equal(made(t, w, data, cfg, draw), made(t, w, data, want, draw)) {
			t.Fatalf("draw %d: not what comes of the order %v", i, order)
		}
		cfg.Steps = slices.Concat(placed(flip, turn), Steps(equalize, sharper)) // a flip that is the first, or not
		want = of(flip, turn, equalize, sharper)
		if int(draw.Uniforms(drawLater, 48)[0]*2) == 1 {
			want = of(turn, flip, equalize, sharper)
		}
		if !bytes.Equal(made(t, w, data, cfg, draw), made(t, w, data, want, draw)) {
			t.Fatalf("draw %d, of two: not what comes of the order %v", i, want.Steps)
		}
	}
	for order, n := range orders {
		if n < 20 || len(orders) != 6 {
			t.Errorf("%v came %d times of 240, of %d orders", order, n, len(orders))
		}
	}
	const want = "media: shuffled: got step 2 of them, and others further ahead, want steps that are next to each other, on one side of a crop"
	for _, wrong := range []Config{
		{Steps: slices.Concat(placed(flip), Steps(invert), placed(turn))},
		{Ahead: placed(flip, turn), Steps: placed(invert)},
	} {
		wrong.Resize = Square(4)
		if _, err := Compile(wrong); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestGroupsThatAreNoneAreRefused(t *testing.T) {
	for want, m := range map[string]Member{
		"media: groups: invert: got group 0, want 1 to 16":                                                                         {Group: 0, Low: 0, High: 1},
		"media: groups: invert: got group 17, want 1 to 16":                                                                        {Group: 17, Low: 0, High: 1},
		"media: groups: invert: got 0.5 to 0.4, want 0 <= low <= high <= 1":                                                        {Group: 1, Low: 0.5, High: 0.4},
		"media: groups: invert: got NaN to 0.4, want 0 <= low <= high <= 1":                                                        {Group: 1, Low: nan(), High: 0.4},
		"media: groups: invert: got 0 to 2, want 0 <= low <= high <= 1":                                                            {Group: 1, Low: 0, High: 2},
		"media: groups: invert: got number 2 of 2 of which 1 are picked, want one of at most 64, and fewer to pick than there are": {Group: 1, Pick: 1, Of: 2, Which: 2},
	} {
		if _, err := Compile(Config{Resize: Square(4), Steps: []Placed{{Step: invert, Member: m}}}); err == nil || err.Error() != want {
			t.Errorf("%v: got %v, want %q", m, err, want)
		}
	}
	zoom := Placed{Step: &ZoomOut{P: 1, Sides: [2]float64{1, 2}}, Member: Member{Group: 1, Low: 0, High: 1}}
	if _, err := Compile(Config{Out: Square(4), Ahead: []Placed{zoom}}); err == nil || err.Error() != "media: groups: got zoom out, want a step of a row" {
		t.Errorf("a zoom of a group: got %v", err)
	}
}

// do adds steps to a configuration's.
func do(c *Config, all ...Step) { c.Steps = append(c.Steps, Steps(all...)...) }
