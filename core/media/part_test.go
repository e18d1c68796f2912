package media

import (
	"math"
	"slices"
	"testing"
)

// cutting is one of every kind that takes a part of a picture, and happens.
var cutting = []Step{
	&Cut{1, 10, 5, 50, 40}, &CutBorders{1, 0.3, 0.3, 0.4, 0.4},
	&CutSides{P: 1, By: [4][2]float64{{-9, 9}, {-9, 9}, {-9, 9}, {-9, 9}}, Pixels: true},
	&CutSafely{P: 1, Erosion: 0.2, Sized: Sized{Size{30, 44}, CV2Linear}}, &CutAround{1, 0.3, Size{20, 25}},
	&CutResized{1, RandomCrop{Height: [2]int{20, 40}, Ratio: [2]float64{1, 1}}, Sized{Size{33, 31}, CV2Area}}, &Rescale{1, [2]float64{0.5, 1.7}, CV2Cubic},
}

// placesPNG is a picture whose pixels say where they are: red is twice the column, and green twice the line.
func placesPNG(t *testing.T, w, h int) []byte {
	row := make([]byte, 3*w*h)
	for i := range w * h {
		row[3*i], row[3*i+1] = uint8(2*(i%w)), uint8(2*(i/w))
	}
	return asPNG(t, row, w, h)
}

// Whatever parts are taken one after the other, ahead of a resize and behind it, with flips between them: a pixel comes from where the map says, which is where
// the moves take it, and a box of the picture follows.
func TestPixelsPointsAndBoxesOfPartsAgree(t *testing.T) {
	w := worker(t, nil)
	data, picture := placesPNG(t, 80, 64), Size{64, 80}
	boxes, seen := []Rect{{10, 12, 30, 40}, {35, 20, 60, 50}}, 0
	for i := range 120 {
		a, b, c := cutting[i%len(cutting)], cutting[i/len(cutting)%len(cutting)], []Step{flip, Chance{Transpose, 1}, sheared(), Chance{VFlip, 1}}[i%4]
		cfg := Config{Out: Square(40), Ahead: Steps(a, c, b)}
		if i%2 == 1 {
			cfg.Resize, cfg.Interpolation, cfg.Ahead, cfg.Resized = Size{70, 90}, CV2Linear, Steps(a, c), Steps(b)
		}
		op := compiled(t, cfg)
		if err := w.Boxes(boxes, false); err != nil {
			t.Fatal(err)
		}
		row := make([]byte, op.RowBytes())
		info, err := w.Row(row, data, op, Draw{Seed: 7, Index: uint64(i)})
		if err != nil {
			t.Fatalf("%v: %v", cfg, err)
		}
		moves, told := w.Moves(nil)
		if !told {
			t.Fatal("moves are not told")
		}
		for y := 2; y < 64; y += 9 {
			for x := 2; x < 80; x += 9 {
				px, py := float64(x)+0.5, float64(y)+0.5
				ax := info.Affine[0][0]*px + info.Affine[0][1]*py + info.Affine[0][2]
				ay := info.Affine[1][0]*px + info.Affine[1][1]*py + info.Affine[1][2]
				mx, my, within := px, py, true
				for k := range moves {
					mx, my = moves[k].Point(mx, my)
					within = within && mx > 1 && my > 1 && mx < float64(moves[k].Size.W)-1 && my < float64(moves[k].Size.H)-1
				}
				if math.Abs(ax-mx)+math.Abs(ay-my) > 1e-6 {
					t.Fatalf("%d: the map takes %v, %v to %v, %v, and the moves to %v, %v", i, px, py, ax, ay, mx, my)
				}
				if !within || mx < 2 || my < 2 || mx > 38 || my > 38 {
					continue
				}
				seen++
				at := 3 * (int(my)*40 + int(mx))
				if d := math.Abs(float64(row[at])/2-float64(x)) + math.Abs(float64(row[at+1])/2-float64(y)); d > 5 {
					t.Errorf("%d %T %T: the pixel of %d, %d shows %v, %v", i, a, b, x, y, row[at]/2, row[at+1]/2)
				}
			}
		}
		box := Rect{0, 0, float64(picture.W), float64(picture.H)}
		if _, there := box.Follow(moves); !there || box[0] < 0 || box[2] > 40 || box[1] < 0 || box[3] > 40 {
			t.Errorf("%d: all of the picture comes to %v", i, box)
		}
	}
	if seen < 300 {
		t.Errorf("looked at %d pixels", seen)
	}
}

// A part that is the first thing that happens has nothing else decoded: the row is that of the part alone, whatever is drawn.
func TestAPartThatComesFirstIsACrop(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 90, 70)
	want := made(t, w, data, Config{Resize: Square(20), Interpolation: CV2Linear}, Draw{})
	part := made(t, w, data, Config{Resize: Square(20), Interpolation: CV2Linear, Ahead: Steps(&Cut{1, 0, 0, 90, 70}, &Cut{1, 0, 0, 500, 500})}, Draw{})
	if !slices.Equal(want, part) {
		t.Error("a part that is all of the picture changes it")
	}
	if other := made(t, w, data, Config{Resize: Square(20), Interpolation: CV2Linear, Ahead: Steps(&Cut{1, 5, 6, 90, 70}, &Cut{1, 4, 3, 50, 40})}, Draw{}); !slices.Equal(other,
		made(t, w, data, Config{Resize: Square(20), Interpolation: CV2Linear, Ahead: Steps(&Cut{1, 9, 9, 55, 46})}, Draw{})) {
		t.Error("a part of a part is not the part that it is")
	}
}

// Each happens as often as it says, and draws for itself where it is there again.
func TestPartsHappenByTheirChance(t *testing.T) {
	w, data := worker(t, nil), placesPNG(t, 60, 60)
	op, n := compiled(t, Config{Out: Square(60), Ahead: Steps(&Rescale{0.3, [2]float64{0.5, 0.9}, CV2Nearest}, &Rescale{0.3, [2]float64{0.5, 0.9}, CV2Nearest})}), map[int]int{}
	for i := range 400 {
		if _, err := w.Row(make([]byte, op.RowBytes()), data, op, Draw{Seed: 3, Index: uint64(i)}); err != nil {
			t.Fatal(err)
		}
		moves, _ := w.Moves(nil)
		times := 0
		for _, m := range moves {
			if m.Map[0] < 1 {
				times++
			}
		}
		n[times]++
	}
	if n[0] < 160 || n[0] > 232 || n[1] < 130 || n[2] < 15 || n[2] > 60 {
		t.Errorf("of 400 %v were scaled so often, want about 196, 168 and 36", n)
	}
}
