package media

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// masksOf are the masks of outlines in a grey picture of w by h, as they are in a row of op.
func masksOf(t testing.TB, wk *Worker, op *Op, w, h int, draw Draw, outlines string) []byte {
	t.Helper()
	row := make([]byte, op.RowBytes())
	if _, err := wk.Row(row, greys(t, w, h, nil), op, draw); err != nil {
		t.Fatal(err)
	}
	var o Outlines
	if err := o.Read([]byte(outlines)); err != nil {
		t.Fatal(err)
	}
	all, err := wk.Masks(nil, op, &o, slices.Repeat([]bool{true}, o.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// greys is a PNG of w by h numbers.
func greys(t testing.TB, w, h int, numbers []byte) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, w, h))
	copy(m.Pix, numbers)
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// walked draws a polygon by the rule itself: all points of its sides on a grid five times as fine, one after the other; where the column changes from
// 5 n + 2 to 5 n + 3, or back, the mask of column n changes; and then all pixels down the columns.
func walked(xy []float64, w, h int) []byte {
	// Go may make one operation of a product and a sum, as it does on aarch64, but for a product that is converted.
	fine := func(v float64) int { return int(float64(5*v) + 0.5) }
	along := func(from, to, steps, at int) int {
		return int(float64(from) + float64(float64(to-from)/float64(steps)*float64(at)) + 0.5)
	}
	var us, vs []int
	for i := 0; i < len(xy); i += 2 {
		k := (i + 2) % len(xy)
		ax, ay, bx, by := fine(xy[i]), fine(xy[i+1]), fine(xy[k]), fine(xy[k+1])
		dx, dy := max(ax-bx, bx-ax), max(ay-by, by-ay)
		steps := max(dx, dy)
		back := dx >= dy && ax > bx || dx < dy && ay > by
		if back {
			ax, ay, bx, by = bx, by, ax, ay
		}
		for step := range steps + 1 {
			at := step
			if back {
				at = steps - step
			}
			switch {
			case steps == 0:
				us, vs = append(us, ax), append(vs, ay)
			case dx >= dy:
				us, vs = append(us, ax+at), append(vs, along(ay, by, dx, at))
			default:
				us, vs = append(us, along(ax, bx, dy, at)), append(vs, ay+at)
			}
		}
	}
	changes := make([]int, w*h+1)
	for i := 1; i < len(us); i++ {
		n := float64(min(us[i], us[i-1]))
		if us[i] == us[i-1] {
			continue
		}
		if n = (n+0.5)/5 - 0.5; n != math.Floor(n) || n < 0 || n > float64(w-1) {
			continue
		}
		y := min(max((float64(min(vs[i], vs[i-1]))+0.5)/5-0.5, 0), float64(h))
		changes[int(n)*h+int(math.Ceil(y))]++
	}
	mask, on := make([]byte, w*h), 0
	for x := range w {
		for y := range h {
			on ^= changes[x*h+y] & 1
			mask[y*w+x] = byte(on)
		}
	}
	return mask
}

// drawnPolygon is one of a few points, whole, on halves, on fifths or anywhere, which may lie outside, on one another or in a line.
func drawnPolygon(r *rand.Rand, w, h int) []float64 {
	xy := make([]float64, 2*(3+r.IntN(12)))
	far := []float64{0, 0, 1, 30}[r.IntN(4)]
	grid := []float64{0, 1, 2, 5, 10}[r.IntN(5)]
	for i := range xy {
		side := float64(w)
		if i%2 == 1 {
			side = float64(h)
		}
		if xy[i] = -far*side + r.Float64()*(1+2*far)*side; grid > 0 {
			xy[i] = math.Round(xy[i]*grid) / grid
		}
	}
	if r.IntN(6) == 0 {
		copy(xy[2:], xy[:4])
	}
	return xy
}

// Polygons are drawn as their definition says, wherever their points are, and a mask has all of several.
func TestPolygonsAreDrawnByTheirDefinition(t *testing.T) {
	r, wk := rand.New(rand.NewPCG(1, 2)), worker(t, nil)
	drawn := 0
	for range 600 {
		w, h := 1+r.IntN(90), 1+r.IntN(90)
		one, other := drawnPolygon(r, w, h), drawnPolygon(r, w, h)
		outlines, err := json.Marshal([][][]float64{{one}, {one, other}})
		if err != nil {
			t.Fatal(err)
		}
		got := masksOf(t, wk, compiled(t, Config{Out: Size{h, w}}), w, h, Draw{}, string(outlines))
		want, also := walked(one, w, h), walked(other, w, h)
		if !bytes.Equal(got[:w*h], want) {
			t.Fatalf("%v in %d x %d: got %v, want %v", one, w, h, got[:w*h], want)
		}
		for i := range also {
			also[i] |= want[i]
			drawn += int(also[i])
		}
		if !bytes.Equal(got[w*h:], also) {
			t.Fatalf("%v and %v in %d x %d: got %v, want %v", one, other, w, h, got[w*h:], also)
		}
	}
	if drawn == 0 {
		t.Error("nothing was drawn")
	}
}

// A polygon of points as far away as may be costs no more than the columns that it crosses.
func TestAPolygonMayReachFarBeyondItsPicture(t *testing.T) {
	const far = MaxOutline
	outlines := fmt.Sprintf("[[[%d,%d,%d,%d,%d,%d,%d,%d]], [[%d,%d,%d,%d,%d,%d]]]", -far, -far, far, -far, far, far, -far, far, -far, -far, far, far, -far, far)
	got := masksOf(t, worker(t, nil), compiled(t, Config{Out: Size{30, 40}}), 40, 30, Draw{}, outlines)
	if bytes.IndexByte(got[:30*40], 0) >= 0 {
		t.Errorf("around all of it: got %v", got[:30*40])
	}
	for i, v := range got[30*40:] {
		if x, y := i%40, i/40; (x < y) != (v == 1) && x != y {
			t.Fatalf("half of it: got %d at (%d, %d)", v, x, y)
		}
	}
}

// packedRuns writes runs as pycocotools does, by its definition.
func packedRuns(runs []int) (text string) {
	for i, v := range runs {
		if i > 2 {
			v -= runs[i-2]
		}
		for more := true; more; {
			c := v & 31
			v >>= 5
			if more = v != 0 && c&16 == 0 || v != -1 && c&16 != 0; more {
				c |= 32
			}
			text += string(rune(c + 48))
		}
	}
	return text
}

// Runs are what they say down the columns, as a list of counts or packed, and packed whatever is escaped in their text.
func TestRunsAreDrawnDownTheColumns(t *testing.T) {
	r, wk := rand.New(rand.NewPCG(3, 4)), worker(t, nil)
	escaped := 0
	for range 200 {
		w, h := 1+r.IntN(60), 1+r.IntN(60)
		var runs []int
		want, left := make([]byte, w*h), w*h
		for left > 0 {
			n := min(r.IntN(1+[]int{3, 40, 900}[r.IntN(3)]), left)
			for i := w*h - left; i < w*h-left+n; i++ {
				want[i%h*w+i/h] = byte(len(runs) & 1)
			}
			runs, left = append(runs, n), left-n
		}
		list, err := json.Marshal(runs)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := json.Marshal(packedRuns(runs)) // which has < and > as \u003c and \u003e
		if err != nil {
			t.Fatal(err)
		}
		escaped += bytes.Count(packed, []byte(`\`))
		outlines := fmt.Sprintf(`[{"size": [%d, %d], "counts": %s}, {"counts": %s, "size": [%[1]d,%[2]d]}]`, h, w, list, packed)
		got := masksOf(t, wk, compiled(t, Config{Out: Size{h, w}}), w, h, Draw{}, outlines)
		if !bytes.Equal(got[:w*h], want) || !bytes.Equal(got[w*h:], want) {
			t.Fatalf("%s: got %v, want %v twice", outlines, got, want)
		}
	}
	if escaped == 0 {
		t.Error("no character was escaped")
	}
}

// A mask is where a picture of its numbers would be, by the nearest pixel, whatever is done to the picture, and is 0 where there is none: its colours, and
// what lies around it, are the picture's alone.
func TestMasksGoWhereThePicturesPixelsGo(t *testing.T) {
	const w, h = 120, 80
	const outlines = `[[[20.5, 10, 100, 30.2, 60, 75, 10, 40]], [[0, 0, 120, 0, 120, 80, 0, 80]]]`
	wk := worker(t, nil)
	whole := masksOf(t, wk, compiled(t, Config{Out: Size{h, w}}), w, h, Draw{}, outlines)
	grey := Fill{114, 114, 114}
	turned := &Rotation{Degrees: [2]float64{-40, 40}, Interpolation: Bilinear, Fill: grey}
	moved := unmoved(func(a *CV2Affine) {
		a.Degrees, a.ShiftX, a.Interpolation = [2]float64{-40, 40}, [2]float64{-0.2, 0.2}, CV2Linear
	})
	for name, cfg := range map[string]Config{
		"larger":         {Resize: Size{200, 170}, Interpolation: Bicubic, Fill: grey},
		"cropped":        {ResizeShort: 60, Out: Size{50, 44}, Anywhere: true, Steps: Steps(Chance{Flip, 0.5})},
		"around it":      {Out: Square(150), Fill: grey, Steps: Steps(Chance{VFlip, 0.5})},
		"mirrored":       {Out: Square(100), Anywhere: true, Pad: Around(20), Padding: Reflect},
		"letterbox":      {Out: Square(64), Contain: &Contain{Letterbox: true}, Interpolation: CV2Linear, Fill: grey},
		"random":         {Random: &RandomCrop{AnyFilter: true}, Out: Size{48, 40}, Steps: Steps(Chance{Flip, 0.5}, &Jitter{P: 1, Brightness: &[2]float64{0.5, 2}})},
		"turned":         {Random: &RandomCrop{}, Out: Square(50), Steps: Steps(turned, &Perspective{P: 0.5, Scale: 0.4, Interpolation: Bilinear, Fill: grey}, Chance{Grayscale, 1})},
		"turned ahead":   {ResizeShort: 60, Out: Square(50), Ahead: Steps(Chance{Flip, 0.5}, turned)},
		"zoomed out":     {Resize: Square(70), Ahead: Steps(&ZoomOut{P: 0.7, Sides: [2]float64{1, 3}, Fill: grey})},
		"between":        {Resize: Size{90, 100}, Out: Square(60), Anywhere: true, Resized: Steps(turned, Chance{Flip, 0.5})},
		"by OpenCV":      {Resize: Size{80, 140}, Interpolation: CV2Area, Steps: Steps(moved)},
		"its own size":   {ResizeShort: 60, Open: &Open{Room: Square(200), Dense: true}, Steps: Steps(Chance{Flip, 0.5})},
		"padded":         {ResizeShort: 60, Open: &Open{Room: Square(200)}},
		"floats, planes": {Resize: Size{90, 100}, DType: F32, Layout: NCHW, Normalize: &Normalize{Mean: []float64{0.5, 0.5, 0.5}, Std: []float64{0.25, 0.25, 0.25}}, Erase: &Erase{P: 1, Scale: [2]float64{0.3, 0.4}, Ratio: [2]float64{1, 1}}},
	} {
		op, of := compiled(t, cfg), cfg
		of.Mode, of.DType, of.Layout, of.Normalize, of.Erase, of.Fill = Index, U8, NHWC, nil, nil, Fill{}
		of.Ahead, of.Resized, of.Steps = ofNumbers(cfg.Ahead), ofNumbers(cfg.Resized), ofNumbers(cfg.Steps)
		if of.Random != nil {
			of.Random = &RandomCrop{}
		}
		nearest := TorchNearest
		if CV2Linear <= cfg.Interpolation && cfg.Interpolation <= CV2Lanczos4 {
			nearest = CV2Nearest
		}
		of.Interpolation = nearest
		if of.Open != nil {
			of.Open = &Open{Room: of.Open.Room, Dense: true}
		}
		numbers := compiled(t, of)
		for i := range uint64(12) {
			draw := Draw{Seed: 5, Index: i}
			got := masksOf(t, wk, op, w, h, draw, outlines)
			for k := range 2 {
				want := make([]byte, numbers.RowBytes())
				info, err := wk.Row(want, greys(t, w, h, whole[k*w*h:]), numbers, draw)
				if err != nil {
					t.Fatal(err)
				}
				n := info.Row.H * info.Row.W
				if len(got) != 2*n || !bytes.Equal(got[k*n:][:n], want[:n]) {
					t.Fatalf("%s, row %d, mask %d: it lies elsewhere than its picture", name, i, k)
				}
			}
		}
	}
}

// A crop that boxes decide, and what an augmentation turns and shears, takes masks along: they stay within their boxes.
func TestMasksStayWithinTheirBoxes(t *testing.T) {
	const w, h = 120, 80
	boxes := []Rect{{20, 10, 60, 50}, {70, 30, 110, 70}}
	const outlines = `[[[20, 10, 60, 10, 60, 50, 20, 50]], [[70, 30, 110, 30, 110, 70, 70, 70]]]`
	wk, seen := worker(t, nil), 0
	for name, cfg := range map[string]Config{
		"by boxes":  {Resize: Size{64, 64}, Ahead: Steps(&IoUCrop{Scale: [2]float64{0.3, 1}, Ratio: [2]float64{0.5, 2}, Options: []float64{0, 0.1, 0.3}, Trials: 40})},
		"augmented": {Out: Size{h, w}, Steps: Steps(&Augment{Kind: TrivialAugmentWide, Bins: 31, Fill: Fill{255, 255, 255}})},
	} {
		op := compiled(t, cfg)
		size := op.Shape()[0] * op.Shape()[1]
		for i := range uint64(200) {
			if err := wk.Boxes(boxes, false); err != nil {
				t.Fatal(err)
			}
			draw := Draw{Seed: 1, Index: i}
			if _, err := wk.Row(make([]byte, op.RowBytes()), testJPEG(t, w, h), op, draw); err != nil {
				t.Fatal(err)
			}
			moves, told := wk.Moves(nil)
			if !told {
				t.Fatalf("%s: nothing is told of row %d", name, i)
			}
			var o Outlines
			if err := o.Read([]byte(outlines)); err != nil {
				t.Fatal(err)
			}
			all, err := wk.Masks(nil, op, &o, []bool{true, true})
			if err != nil {
				t.Fatal(err)
			}
			for k := range boxes {
				box := boxes[k]
				if _, there := box.Follow(moves); !there {
					continue // which is dropped, and may lie in the row still
				}
				for p, v := range all[k*size:][:size] {
					x, y := float64(p%op.Shape()[1])+0.5, float64(p/op.Shape()[1])+0.5
					if v != 0 && (x < box[0]-1 || x > box[2]+1 || y < box[1]-1 || y > box[3]+1) {
						t.Fatalf("%s, row %d: mask %d has (%v, %v), beyond %v", name, i, k, x, y, box)
					}
					seen += int(v)
				}
				if box.Area() > 40 && bytes.IndexByte(all[k*size:][:size], 1) < 0 {
					t.Fatalf("%s, row %d: mask %d is gone, its box is %v", name, i, k, box)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no mask had a pixel")
	}
}

// Masks of objects that are not kept are left out, and the others are where they would be.
func TestMasksOfWhatIsNotKeptAreLeftOut(t *testing.T) {
	wk, op := worker(t, nil), compiled(t, Config{Out: Size{30, 40}})
	const outlines = `[[[0,0,9,0,9,9,0,9]], [[10,10,20,10,20,20,10,20]], {"size":[30,40],"counts":[5,1195]}]`
	all := masksOf(t, wk, op, 40, 30, Draw{}, outlines)
	var o Outlines
	if err := o.Read([]byte(outlines)); err != nil {
		t.Fatal(err)
	}
	if _, err := wk.Row(make([]byte, op.RowBytes()), greys(t, 40, 30, nil), op, Draw{}); err != nil {
		t.Fatal(err)
	}
	got, err := wk.Masks([]byte{7}, op, &o, []bool{true, false, true})
	if want := slices.Concat([]byte{7}, all[:1200], all[2400:]); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v, want what was there, the first and the third", len(got), err)
	}
}

// wrongOutlines are texts that are no outlines, of a picture of 30 x 40, and what is said of each.
var wrongOutlines = map[string]string{
	``:                                    `got "", want a list with the outlines of each object`,
	`{}`:                                  `got "{}", want a list with the outlines of each object`,
	`[] 1`:                                `got "1" behind the list`,
	`[5]`:                                 `outline 0: got "5]", want a list of polygons [[x, y, x, y, x, y]], or runs {"size": [height, width], "counts": ...}`,
	`[[]]`:                                `outline 0: got no polygon, want at least one; leave out an object that has none, with its box`,
	`[[1,2,3,4,5,6]]`:                     `outline 0: polygon 0: got "1,2,3,4,5,6]]", want a list of x, y, x, y, ...`,
	`[[[1,2,3,4]]]`:                       `outline 0: polygon 0: got 4 numbers, want x and y of each point, and 3 points at least`,
	`[[[1,2,3,4,5,6,7]]]`:                 `outline 0: polygon 0: got 7 numbers, want x and y of each point`,
	`[[[1,2,3,4,5,6],[1]]]`:               `outline 0: polygon 1: got 1 numbers`,
	`[[[1,2,3,4,5,6]],[[1,2,3,4,5,NaN]]]`: `outline 1: polygon 0: got "NaN]]]", want a number`,
	`[[[1,2,3,4,5,1e7]]]`:                 `outline 0: polygon 0: got 1e+07, want a pixel, from -1000000 to 1000000`,
	`[[[1,2,3,4,5,1e999]]]`:               `outline 0: polygon 0: got "1e999", want a number`,
	`[[[1,2,3,4,5,--6]]]`:                 `outline 0: polygon 0: got "--6", want a number`,
	`[[[1,2,3,4,5 6]]]`:                   `got "6]]]" in a list, want a comma or its end`,
	`[[[1,2,3,4,5,6`:                      `got "" in a list, want a comma or its end`,
	`[{}]`:                                `outline 0: got runs without size or without counts, want both`,
	`[{"size":[30,40]}]`:                  `outline 0: got runs without size or without counts, want both`,
	`[{"counts":[1200]}]`:                 `outline 0: got runs without size or without counts, want both`,
	`[{"size":[30,40],"counts":[1199]}]`:  `outline 0: got counts that come to 1199, want 30 x 40 = 1200`,
	`[{"size":[30,40],"counts":[]}]`:      `outline 0: got counts that come to 0, want 30 x 40 = 1200`,
	`[{"size":[40,30],"counts":[1200]}]`:  `outline 0: got size [40, 30], want the picture's, [30, 40]`,
	`[{"size":[30,40],"counts":[1200],"counts":[]}]`:      `outline 0: got key "counts", want size and counts, each once`,
	`[{"size":[30,40],"counts":[1200],"area":3}]`:         `outline 0: got key "area", want size and counts, each once`,
	`[{"size":[30,40] "counts":[1200]}]`:                  `in runs, want a comma or their end`,
	`[{size:[30,40]}]`:                                    `outline 0: got "size:[30,40]}]", want "size" or "counts"`,
	`[{"size":[30],"counts":[1200]}]`:                     `outline 0: got size of 1 numbers, want [height, width]`,
	`[{"size":[30,40,2],"counts":[1200]}]`:                `outline 0: got 2 as number 2 of size, want [height, width]`,
	`[{"size":[0,40],"counts":[]}]`:                       `outline 0: got 0 as number 0 of size, want [height, width]`,
	`[{"size":[4000000000,4000000000],"counts":[1]}]`:     `outline 0: got counts that come to 1, want 4000000000 x 4000000000 = 16000000000000000000`,
	`[{"size":[30,40],"counts":[-3,1203]}]`:               `outline 0: got "-3", want a whole number from 0 on`,
	`[{"size":[30,40],"counts":[1.5]}]`:                   `outline 0: got "1.5", want a whole number from 0 on`,
	`[{"size":[30,40],"counts":7}]`:                       `outline 0: got "7}]", want counts as a list of numbers or as a text`,
	`[{"size":[30,40],"counts":"`:                         `outline 0: counts: the text has no end`,
	`[{"size":[30,40],"counts":"P"}]`:                     `outline 0: counts: the text ends within a number`,
	`[{"size":[30,40],"counts":"5 "}]`:                    `outline 0: counts: got character ' ', want pycocotools' from "0" to "o", 7 a number at most`,
	`[{"size":[30,40],"counts":"oooooooooooo"}]`:          `outline 0: counts: got character 'o'`,
	`[{"size":[30,40],"counts":"\n"}]`:                    `outline 0: counts: got "\\n\"}]", want characters from "0" to "o"`,
	`[{"size":[30,40],"counts":"@"}]`:                     `outline 0: counts: got -16 as number 0, want the length of a run`,
	`[[[1,2,3,4,5,6]], {"size":[30,40],"counts":"0111"}]`: `outline 1: got counts that come to 4, want 30 x 40 = 1200`,
}

// What is no outline is refused with its place, what it is and what is wanted; and the memory is good for the next picture.
func TestOutlinesThatAreWrongAreRefused(t *testing.T) {
	wk, op := worker(t, nil), compiled(t, Config{Out: Size{30, 40}})
	var o Outlines
	for text, want := range wrongOutlines {
		if _, err := wk.Row(make([]byte, op.RowBytes()), greys(t, 40, 30, nil), op, Draw{}); err != nil {
			t.Fatal(err)
		}
		err := o.Read([]byte(text))
		if err == nil {
			_, err = wk.Masks(nil, op, &o, slices.Repeat([]bool{true}, o.Len()))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
		if err := o.Read([]byte(" [ ] ")); err != nil || o.Len() != 0 {
			t.Errorf("behind %s: got %d objects, %v", text, o.Len(), err)
		}
	}
}

// Reading outlines and drawing masks where there is room for them takes no memory.
func TestMasksAllocateNothing(t *testing.T) {
	wk, op := worker(t, nil), compiled(t, Config{Resize: Size{50, 60}})
	text := []byte(`[[[0.5,0,9,0,9,9,0,9],[3,3,20,4,9,9]], {"size":[30,40],"counts":[5,1195]}, {"counts":"` + packedRuns([]int{100, 20, 1080}) + `","size":[30,40]}]`)
	data, row, room, kept := greys(t, 40, 30, nil), make([]byte, op.RowBytes()), make([]byte, 0, 3*50*60), []bool{true, true, true}
	var o Outlines
	if n := testing.AllocsPerRun(100, func() {
		if _, err := wk.Row(row, data, op, Draw{}); err != nil {
			t.Fatal(err)
		}
		if err := o.Read(text); err != nil {
			t.Fatal(err)
		}
		if got, err := wk.Masks(room, op, &o, kept); err != nil || len(got) != cap(room) {
			t.Fatal(len(got), err)
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// Whatever a text says, it is refused or its masks are of 0 and 1.
func FuzzOutlines(f *testing.F) {
	for text := range wrongOutlines {
		f.Add([]byte(text))
	}
	f.Add([]byte(`[[[0.5,-3,9e2,0,9,9,0,9],[3,3,20,4,9,9]], {"size":[30,40],"counts":[5,1195]}, {"counts":"\\u003cab","size":[30,40]}]`))
	wk, op := worker(f, nil), compiled(f, Config{Out: Size{30, 40}})
	data, row := greys(f, 40, 30, nil), make([]byte, op.RowBytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		var o Outlines
		if o.Read(text) != nil || o.Len() > 1000 {
			return
		}
		if _, err := wk.Row(row, data, op, Draw{}); err != nil {
			t.Fatal(err)
		}
		all, err := wk.Masks(nil, op, &o, slices.Repeat([]bool{true}, o.Len()))
		if err != nil {
			return
		}
		if len(all) != o.Len()*30*40 || slices.Max(append(all, 0)) > 1 {
			t.Errorf("got %d bytes of %d objects, the largest %d", len(all), o.Len(), slices.Max(append(all, 0)))
		}
	})
}

// ofNumbers are the steps that move pixels, by the nearest of them and with no fill.
func ofNumbers(all []Placed) (to []Placed) {
	for _, s := range all {
		switch step := s.Step.(type) {
		case *Rotation:
			s.Step = &Rotation{Degrees: step.Degrees, Interpolation: Nearest}
		case *Perspective:
			s.Step = &Perspective{P: step.P, Scale: step.Scale, Interpolation: Nearest}
		case *ZoomOut:
			s.Step = &ZoomOut{P: step.P, Sides: step.Sides}
		case *CV2Affine:
			still := *step
			still.Interpolation, still.Fill = CV2Nearest, Fill{}
			s.Step = &still
		case Chance:
			if step.Of == Grayscale {
				continue
			}
		case *Jitter:
			continue
		}
		to = append(to, s)
	}
	return to
}
