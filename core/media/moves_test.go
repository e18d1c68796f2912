package media

import (
	"math"
	"testing"
)

// The moves of a row come to its map, one behind the other, whatever is done ahead of the geometry, by it and behind it; and the last of
// them ends in the row.
func TestMovesComeToTheMapOfTheRow(t *testing.T) {
	w := worker(t, nil)
	turned, sheared := &Rotation{Degrees: [2]float64{-40, 40}}, &Affine{Degrees: [2]float64{-20, 20}, Scale: [2]float64{0.7, 1.4}, ShearX: [2]float64{-15, 15}}
	for name, cfg := range map[string]Config{
		"as it is":        {Out: Size{90, 200}},
		"short, middle":   {ResizeShort: 60, Out: Square(50)},
		"around it":       {Out: Square(240)},
		"letterbox":       {Resize: Size{}, Out: Square(64), Contain: &Contain{Letterbox: true}},
		"random":          {Random: &RandomCrop{}, Out: Size{48, 40}},
		"turned ahead":    {ResizeShort: 60, Out: Square(50), Rotation: turned, Affine: sheared, Order: []Step{StepFlip, StepRotation}, Ahead: 2},
		"grown":           {Random: &RandomCrop{}, Out: Square(50), ZoomOut: &ZoomOut{P: 0.5, Sides: [2]float64{1, 3}}, Order: []Step{StepZoomOut, StepRotation}, Rotation: turned, Ahead: 1, Resized: 0},
		"between":         {ResizeShort: 60, Out: Square(50), Anywhere: true, Rotation: turned, Order: []Step{StepRotation, StepFlip}, Resized: 2},
		"turned, sheared": {Resize: Size{80, 120}, Rotation: turned, Affine: sheared},
	} {
		cfg.Flip, cfg.VFlip, cfg.Orient = 0.5, 0.5, true
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
	row(Config{Out: Size{90, 200}, Elastic: &Elastic{P: 1, Alpha: [2]float64{50, 50}, Sigma: 5}}, 0)
	if _, told := w.Moves(nil); told {
		t.Error("an elastic map is told of")
	}
	for i := range uint64(20) {
		pixels, _ := row(Config{Out: Size{90, 200}, Perspective: &Perspective{P: 1, Scale: 0.5, Interpolation: Bilinear}}, i)
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
