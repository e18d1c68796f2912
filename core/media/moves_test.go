package media

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// The moves of a row come to its map, one behind the other, whatever is done ahead of the geometry, by it and behind it; and the last of
// them ends in the row.
func TestMovesComeToTheMapOfTheRow(t *testing.T) {
	w := worker(t, nil)
	moved := unmoved(func(a *CV2Affine) {
		a.Degrees, a.ShiftX, a.ScaleY, a.ShearX = [2]float64{-40, 40}, [2]float64{-0.2, 0.2}, [2]float64{0.5, 2}, [2]float64{-15, 15}
	})
	turned, sheared := &Rotation{Degrees: [2]float64{-40, 40}}, &Affine{Degrees: [2]float64{-20, 20}, Scale: [2]float64{0.7, 1.4}, ShearX: [2]float64{-15, 15}}
	for name, cfg := range map[string]Config{
		"as it is":        {Out: Size{90, 200}},
		"short, middle":   {ResizeShort: 60, Out: Square(50)},
		"around it":       {Out: Square(240)},
		"letterbox":       {Resize: Size{}, Out: Square(64), Contain: &Contain{Letterbox: true}},
		"random":          {Random: &RandomCrop{}, Out: Size{48, 40}},
		"turned ahead":    {ResizeShort: 60, Out: Square(50), Ahead: Steps(Chance{Flip, 0.5}, turned), Steps: Steps(sheared)},
		"grown":           {Random: &RandomCrop{}, Out: Square(50), Ahead: Steps(&ZoomOut{P: 0.5, Sides: [2]float64{1, 3}}), Steps: Steps(turned)},
		"between":         {ResizeShort: 60, Out: Square(50), Anywhere: true, Resized: Steps(turned, Chance{Flip, 0.5})},
		"turned, sheared": {Resize: Size{80, 120}, Steps: Steps(turned, sheared)},
		"by OpenCV":       {Resize: Size{80, 120}, Steps: Steps(moved)},
		"by it, ahead":    {ResizeShort: 60, Out: Square(50), Ahead: Steps(moved)},
	} {
		cfg.Orient = true
		do(&cfg, Chance{Flip, 0.5}, Chance{VFlip, 0.5})
		op := compiled(t, cfg)
		row := make([]byte, op.RowBytes())
		for i := range uint64(16) {
			info, err := w.Row(row, slope(t, 200, 90, 1+int(i)%8), op, Draw{Seed: 3, Index: i})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			moves, told := w.Moves(nil)
			if !told || len(moves) == 0 {
				t.Fatalf("%s: %d moves, %v", name, len(moves), told)
			}
			if out := op.Shape(); moves[len(moves)-1].Size != (Size{out[0], out[1]}) {
				t.Errorf("%s: ends in %v, want %v", name, moves[len(moves)-1].Size, out)
			}
			for _, at := range [][2]float64{{0, 0}, {70, 20}, {12.5, 80}} {
				x, y := at[0], at[1]
				for k := range moves {
					x, y = moves[k].Point(x, y)
				}
				a := info.Affine
				wantX, wantY := a[0][0]*at[0]+a[0][1]*at[1]+a[0][2], a[1][0]*at[0]+a[1][1]*at[1]+a[1][2]
				if math.Abs(x-wantX) > 1e-9 || math.Abs(y-wantY) > 1e-9 {
					t.Errorf("%s, row %d: %v comes to (%v, %v), the map says (%v, %v)", name, i, at, x, y, wantX, wantY)
				}
			}
		}
	}
}

// Of what nobody can tell there are no moves; a perspective, which is no affine map, has them, and takes the picture's corners to where
// its pixels go.
func TestMovesTellOfAPerspectiveAndOfNoElasticMap(t *testing.T) {
	w := worker(t, nil)
	row := func(cfg Config, i uint64) ([]byte, *Op) {
		op := compiled(t, cfg)
		dst := make([]byte, op.RowBytes())
		if _, err := w.Row(dst, slope(t, 200, 90, 1), op, Draw{Index: i}); err != nil {
			t.Fatal(err)
		}
		return dst, op
	}
	row(Config{Out: Size{90, 200}, Steps: Steps(&Elastic{P: 1, Alpha: [2]float64{50, 50}, Sigma: 5})}, 0)
	if _, told := w.Moves(nil); told {
		t.Error("an elastic map is told of")
	}
	for i := range uint64(40) {
		pixels, _ := row(Config{Out: Size{90, 200}, Steps: []Placed{{Step: &Perspective{P: 1, Scale: 0.5, Interpolation: Bilinear}, ByTorch: i%2 == 1}}}, i)
		moves, told := w.Moves(nil)
		if !told {
			t.Fatal("a perspective is not told of")
		}
		for _, at := range [][2]float64{{100, 45}, {60, 30}, {140.5, 60}} {
			x, y := at[0]+0.5, at[1]+0.5
			for k := range moves {
				x, y = moves[k].Point(x, y)
			}
			got := pixels[3*(200*int(y)+int(x)):]
			if got[2] == 255 && (math.Abs(float64(got[0])-at[0]) > 3 || math.Abs(float64(got[1])-at[1]) > 3) {
				t.Errorf("row %d: the pixel at %v comes to (%.1f, %.1f), where that of (%d, %d) is", i, at, x, y, got[0], got[1])
			}
		}
	}
}

// A box is the least one around its corners after each move, cut at the edges in between, and its share is what was never cut away.
func TestBoxesFollowMoveByMove(t *testing.T) {
	half := Move{Map: [9]float64{0.5, 0, 0, 0, 0.5, 0, 0, 0, 1}, Size: Size{H: 50, W: 100}}
	crop := Move{Map: [9]float64{1, 0, -40, 0, 1, -10, 0, 0, 1}, Size: Size{H: 30, W: 30}}
	quarter := Move{Map: [9]float64{0, -1, 30, 1, 0, 0, 0, 0, 1}, Size: Size{H: 30, W: 30}}
	turn := Move{Map: [9]float64{math.Sqrt2 / 2, -math.Sqrt2 / 2, 15, math.Sqrt2 / 2, math.Sqrt2 / 2, 15 - 15*math.Sqrt2, 0, 0, 1}, Size: Size{H: 30, W: 30}} // by 45 degrees around the middle
	with := func(m Move) Move { m.Centres = true; return m }
	for name, c := range map[string]struct {
		moves []Move
		from  Rect
		want  Rect
		share float64
		gone  bool
	}{
		"halved":           {[]Move{half}, Rect{20, 40, 60, 80}, Rect{10, 20, 30, 40}, 1, false},
		"cut":              {[]Move{half, crop}, Rect{60, 0, 100, 40}, Rect{0, 0, 10, 10}, 0.25, false},
		"away":             {[]Move{half, crop}, Rect{0, 0, 20, 20}, Rect{0, 0, 0, 0}, 0, false},
		"then turned":      {[]Move{half, crop, quarter}, Rect{60, 0, 100, 40}, Rect{20, 0, 30, 10}, 0.25, false},
		"cut, then turned": {[]Move{crop, turn}, Rect{-1000, 10, 1000, 40}, Rect{0, 0, 30, 30}, 30. / 2000 * 900 / 1800, false},
		"its centre in":    {[]Move{with(crop)}, Rect{30, 10, 60, 30}, Rect{0, 0, 20, 20}, 2. / 3, false},
		"its centre out":   {[]Move{with(crop)}, Rect{30, 10, 50, 30}, Rect{}, 0, true},
	} {
		got := c.from
		share, there := got.Follow(c.moves)
		if there == c.gone || math.Abs(share-c.share) > 1e-12 {
			t.Errorf("%s: share %v, there %v, want %v, %v", name, share, there, c.share, !c.gone)
		}
		for i := range got {
			if there && math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
				break
			}
		}
	}
}

// iouCropOf is torchvision's RandomIoUCrop.make_params on the same draws: the crop of a picture of w x h, and which boxes it keeps; not taken: as it is.
func iouCropOf(c *IoUCrop, draw Draw, w, h int, boxes []Rect) (crop Rect, kept []bool, taken bool) {
	const later, first, each = 15, 1 << 16, 4096
	drawn := func(u float64) float32 {
		return float32(c.Scale[0]) + float32(c.Scale[1]-c.Scale[0])*float32(u)
	}
	for round := range uint32(64) {
		block := first + each*round
		least := c.Options[int(draw.Uniforms(later, block)[0]*float64(len(c.Options)))]
		if least >= 1 {
			return crop, nil, false
		}
		for trial := range uint32(c.Trials) {
			size, at := draw.Uniforms(later, block+1+2*trial), draw.Uniforms(later, block+2+2*trial)
			cw, ch := int(float32(w)*drawn(size[0])), int(float32(h)*drawn(size[1]))
			if ratio := float64(cw) / float64(ch); !(c.Ratio[0] <= ratio && ratio <= c.Ratio[1]) {
				continue
			}
			left, top := int(float32(w-cw)*float32(at[0])), int(float32(h-ch)*float32(at[1]))
			crop = Rect{float64(left), float64(top), float64(left + cw), float64(top + ch)}
			kept = make([]bool, len(boxes))
			best, any := 0.0, false
			for i, b := range boxes {
				x, y := (b[0]+b[2])/2, (b[1]+b[3])/2
				if kept[i] = crop[0] < x && x < crop[2] && crop[1] < y && y < crop[3]; kept[i] {
					both := Rect{max(b[0], crop[0]), max(b[1], crop[1]), min(b[2], crop[2]), min(b[3], crop[3])}
					best, any = max(best, both.Area()/(b.Area()+crop.Area()-both.Area())), true
				}
			}
			if any && best >= least {
				return crop, kept, true
			}
		}
	}
	return crop, nil, false
}

// A crop by boxes is torchvision's on the same draws, in pixels and in shares of the sides, ahead of the geometry, behind a flip and behind a resize; it keeps
// the boxes whose centres it has, and without boxes the picture stays whole.
func TestACropByBoxesIsTorchvisions(t *testing.T) {
	w := worker(t, nil)
	iou := &IoUCrop{Scale: [2]float64{0.3, 1}, Ratio: [2]float64{0.5, 2}, Options: []float64{0, 0.1, 0.3, 0.5, 0.7, 0.9, 1}, Trials: 40}
	boxes := []Rect{{10, 10, 60, 50}, {150, 20, 190, 80}, {90, 40, 110, 60}}
	crops := 0
	for name, c := range map[string]struct {
		cfg  Config
		to   func(Rect) Rect // where the boxes are when it is drawn
		w, h int
	}{
		"ahead":  {Config{Resize: Size{64, 64}, Ahead: Steps(iou)}, func(r Rect) Rect { return r }, 200, 90},
		"behind": {Config{Resize: Size{64, 64}, Ahead: Steps(flip, iou)}, func(r Rect) Rect { return Rect{200 - r[2], r[1], 200 - r[0], r[3]} }, 200, 90},
		"halved": {Config{Resize: Size{45, 100}, Out: Square(40), Resized: Steps(iou)}, func(r Rect) Rect { return Rect{r[0] / 2, r[1] / 2, r[2] / 2, r[3] / 2} }, 100, 45},
	} {
		op := compiled(t, c.cfg)
		row := make([]byte, op.RowBytes())
		var there, shares []Rect
		for _, b := range boxes {
			there, shares = append(there, c.to(b)), append(shares, Rect{b[0] / 200, b[1] / 90, b[2] / 200, b[3] / 90})
		}
		for i := range uint64(60) {
			draw := Draw{Seed: 9, Index: i}
			given, at, of := boxes, there, i%3 == 1
			if of {
				given = shares
			} else if i%3 == 2 {
				given, at = nil, nil
			}
			if err := w.Boxes(given, of); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Row(row, slope(t, 200, 90, 1), op, draw); err != nil {
				t.Fatal(err)
			}
			crop, kept, taken := iouCropOf(iou, draw, c.w, c.h, at)
			moves, _ := w.Moves(nil)
			var got *Move
			for k := range moves {
				if moves[k].Centres {
					got = &moves[k]
				}
			}
			if (got != nil) != taken {
				t.Fatalf("%s, row %d: cropped %v, want %v", name, i, got != nil, taken)
			}
			if !taken {
				continue
			}
			crops++
			if got.Map[2] != -crop[0] || got.Map[5] != -crop[1] || got.Size != (Size{int(crop[3] - crop[1]), int(crop[2] - crop[0])}) {
				t.Errorf("%s, row %d: got %v of %v, want %v", name, i, got.Map, got.Size, crop)
			}
			for k, b := range boxes {
				if _, in := b.Follow(moves); in != kept[k] {
					t.Errorf("%s, row %d: box %d is there: %v, want %v", name, i, k, in, kept[k])
				}
			}
		}
	}
	if crops < 60 {
		t.Errorf("only %d crops", crops)
	}
}

// Without an option that leaves the picture as it is, and without a box, the search for a crop ends.
func TestACropByBoxesThatAreNotThereEnds(t *testing.T) {
	w := worker(t, nil)
	op := compiled(t, Config{Resize: Size{8, 8}, Ahead: Steps(&IoUCrop{Scale: [2]float64{0.3, 1}, Ratio: [2]float64{0.5, 2}, Options: []float64{0.5}, Trials: MaxTrials})})
	if _, err := w.Row(make([]byte, op.RowBytes()), slope(t, 40, 30, 1), op, Draw{}); err != nil {
		t.Fatal(err)
	}
	if moves, _ := w.Moves(nil); slices.ContainsFunc(moves, func(m Move) bool { return m.Centres }) {
		t.Error("a picture without boxes is cropped by them")
	}
}

// Numbers of a crop by boxes that are out of range are refused.
func TestACropByBoxesOutOfRangeIsRefused(t *testing.T) {
	good := IoUCrop{Scale: [2]float64{0.3, 1}, Ratio: [2]float64{0.5, 2}, Options: []float64{0.5}, Trials: 40}
	for want, change := range map[string]func(*IoUCrop){
		"IoU crop: scale: got [1 0.3]":               func(c *IoUCrop) { c.Scale = [2]float64{1, 0.3} },
		"IoU crop: ratio: got [0 2]":                 func(c *IoUCrop) { c.Ratio[0] = 0 },
		"IoU crop: got 0 options and 40 trials":      func(c *IoUCrop) { c.Options = nil },
		"IoU crop: got 1 options and 0 trials":       func(c *IoUCrop) { c.Trials = 0 },
		"IoU crop: got option -1, want 0 or more":    func(c *IoUCrop) { c.Options = []float64{-1} },
		"IoU crop: got 17 options and 40 trials, wa": func(c *IoUCrop) { c.Options = make([]float64, 17) },
	} {
		iou := good
		change(&iou)
		if _, err := Compile(Config{Resize: Size{8, 8}, Ahead: Steps(&iou)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Compile(Config{Resize: Size{8, 8}, Steps: Steps(&good)}); err == nil || !strings.Contains(err.Error(), "IoU crop: got one of a row") {
		t.Errorf("one of a row: got %v", err)
	}
}
