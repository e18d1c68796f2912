package media

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"
)

// upTo are the grids of at most n tiles, by their tiles, as InternVL tries them.
func upTo(n int) (all []Grid) {
	for tiles := 1; tiles <= n; tiles++ {
		for columns := 1; columns <= tiles; columns++ {
			if tiles%columns == 0 {
				all = append(all, Grid{tiles / columns, columns})
			}
		}
	}
	return all
}

// part is a tile's part of a picture as large as the grid, in the row's layout.
func part(op *Op, whole []byte, g Grid, side, k int) (tile []byte) {
	planes, pixel := 1, op.Channels()*op.DType().ItemBytes()
	if op.c.layout == 1 {
		planes, pixel = op.Channels(), op.DType().ItemBytes()
	}
	high, wide := g.Rows*side, g.Columns*side
	for p := range planes {
		for y := range side {
			at := ((p*high+k/g.Columns*side+y)*wide + k%g.Columns*side) * pixel
			tile = append(tile, whole[at:at+side*pixel]...)
		}
	}
	return tile
}

// Tiles are the parts of what the picture is when it is resized to the size of their grid, whatever its format, its orientation and the row's type and layout; behind
// them comes the picture resized to one, and then zeros.
func TestTilesAreThePartsOfAPictureOfTheGridsSize(t *testing.T) {
	const side = 24
	for name, cfg := range map[string]Config{
		"bytes": {}, "planes": {Layout: NCHW, DType: F32, Normalize: imagenet}, "halves": {DType: F16, Interpolation: Lanczos}, "grey": {Mode: Gray, Layout: NCHW}, "upright": {Orient: true, Interpolation: CV2Area},
	} {
		for file, data := range map[string][]byte{"JPEG": testJPEG(t, 150, 70), "PNG": testPNG(t, 50, 120), "turned": slope(t, 90, 40, 6), "progressive": testdata(t, "progressive.jpg"), "small": testPNG(t, 5, 9)} {
			for _, portable := range []bool{false, true} {
				w := worker(t, &Options{Portable: portable})
				cfg.Resize, cfg.Tiles = Square(side), &Tiles{Grids: upTo(6), Whole: WholeLast}
				op := compiled(t, cfg)
				row := bytes.Repeat([]byte{0xa5}, op.RowBytes())
				info, err := w.Row(row, data, op, Draw{})
				if err != nil {
					t.Fatalf("%s, %s: %v", name, file, err)
				}
				g, size := info.Grid, len(row)/op.Tiles()
				if n := g.Rows * g.Columns; op.Tiles() != 7 || info.Tiles != n+1 && (n != 1 || info.Tiles != 1) {
					t.Fatalf("%s, %s: got %d tiles of %+v, and room for %d", name, file, info.Tiles, g, op.Tiles())
				}
				resized := func(to Size) []byte {
					c := cfg
					c.Tiles, c.Resize = nil, to
					one := compiled(t, c)
					picture := make([]byte, one.RowBytes())
					if _, err := w.Row(picture, data, one, Draw{}); err != nil {
						t.Fatal(err)
					}
					return picture
				}
				whole := resized(Size{g.Rows * side, g.Columns * side})
				for k := range g.Rows * g.Columns {
					if !bytes.Equal(row[k*size:][:size], part(op, whole, g, side, k)) {
						t.Errorf("%s, %s: tile %d of %+v is another", name, file, k, g)
					}
				}
				if k := g.Rows * g.Columns; k > 1 && !bytes.Equal(row[k*size:][:size], resized(Square(side))) {
					t.Errorf("%s, %s: the whole picture is another", name, file)
				}
				if len(bytes.Trim(row[info.Tiles*size:], "\x00")) > 0 {
					t.Errorf("%s, %s: what is behind %d tiles is not zero", name, file, info.Tiles)
				}
			}
		}
	}
}

// Which grid a picture gets, whether the whole picture is there, and where.
func TestGridsAreChosenByTheRule(t *testing.T) {
	w := worker(t, nil)
	squares := []Grid{{1, 2}, {2, 1}, {2, 2}, {3, 1}, {1, 3}}
	for _, c := range []struct {
		name  string
		tiles Tiles
		w, h  int
		grid  Grid
		n     int
	}{
		{"a square that one tile has enough of", Tiles{Grids: upTo(12), Whole: WholeLast}, 22, 22, Grid{1, 1}, 1},
		{"a square of more than half of four", Tiles{Grids: upTo(12), Whole: WholeLast}, 23, 23, Grid{2, 2}, 5},
		{"a square of more than half of nine", Tiles{Grids: upTo(12), Whole: WholeLast}, 34, 34, Grid{3, 3}, 10},
		{"without the whole", Tiles{Grids: upTo(12)}, 80, 20, Grid{1, 4}, 4},
		{"upright", Tiles{Grids: upTo(12), Whole: WholeLast}, 20, 80, Grid{4, 1}, 5},
		{"between two of as many tiles the last", Tiles{Grids: []Grid{{2, 1}, {1, 2}}}, 50, 40, Grid{1, 2}, 2},
		{"but the first where it is small", Tiles{Grids: []Grid{{2, 1}, {1, 2}}}, 10, 8, Grid{2, 1}, 2},
		{"most pixels", Tiles{By: LLaVANeXT, Grids: squares, Whole: WholeFirst}, 100, 30, Grid{1, 3}, 4},
		{"least empty", Tiles{By: LLaVANeXT, Grids: squares, Whole: WholeFirst}, 16, 14, Grid{1, 2}, 3},
		{"a line", Tiles{By: LLaVANeXT, Grids: squares, Whole: WholeFirst}, 400, 1, Grid{1, 2}, 3},
		{"first also of one tile", Tiles{By: LLaVANeXT, Grids: []Grid{{1, 1}}, Whole: WholeFirst}, 40, 40, Grid{1, 1}, 2},
		{"enlarged least", Tiles{By: MLlama, Grids: upTo(4)}, 20, 10, Grid{1, 2}, 2},
		{"and in the fewest tiles", Tiles{By: MLlama, Grids: upTo(4)}, 10, 16, Grid{1, 1}, 1},
		{"reduced least", Tiles{By: MLlama, Grids: upTo(4)}, 500, 90, Grid{1, 4}, 4},
		{"whole tiles", Tiles{By: Idefics3, Grids: []Grid{{4, 4}}, Whole: WholeLast, Longest: 64}, 100, 50, Grid{2, 4}, 9},
		{"a square one, rounded up to even", Tiles{By: Idefics3, Grids: []Grid{{3, 3}}, Whole: WholeLast, Longest: 33}, 50, 50, Grid{3, 3}, 10},
		{"a line of them", Tiles{By: Idefics3, Grids: []Grid{{4, 4}}, Whole: WholeLast, Longest: 60}, 1, 300, Grid{4, 1}, 5},
	} {
		op := compiled(t, Config{Resize: Square(16), Tiles: &c.tiles})
		info, err := w.Row(make([]byte, op.RowBytes()), testPNG(t, c.w, c.h), op, Draw{})
		if err != nil || info.Grid != c.grid || info.Tiles != c.n || info.Row != Square(16) {
			t.Errorf("%s: got %d tiles of %+v, %v; want %d of %+v", c.name, info.Tiles, info.Grid, err, c.n, c.grid)
		}
	}
}

// A picture that keeps its shape has black around: in the middle of the grid, or to the right and below; whole tiles, too.
func TestTilesBeyondAPictureAreBlack(t *testing.T) {
	w, white := worker(t, nil), image.NewGray(image.Rect(0, 0, 64, 2))
	for i := range white.Pix {
		white.Pix[i] = 255
	}
	var line bytes.Buffer
	if err := png.Encode(&line, white); err != nil {
		t.Fatal(err)
	}
	lit := func(tile []byte) string {
		lines := ""
		for y := range 16 {
			lines += fmt.Sprint(bytes.Count(tile[y*16:][:16], []byte{255}), " ")
		}
		return lines
	}
	for _, c := range []struct {
		tiles Tiles
		want  []string
	}{
		{Tiles{By: LLaVANeXT, Grids: []Grid{{2, 2}}}, []string{strings.Repeat("0 ", 15) + "16 ", strings.Repeat("0 ", 15) + "16 ", strings.Repeat("0 ", 16), strings.Repeat("0 ", 16)}},
		{Tiles{By: MLlama, Grids: []Grid{{2, 2}}}, []string{"16 " + strings.Repeat("0 ", 15), "16 " + strings.Repeat("0 ", 15), strings.Repeat("0 ", 16), strings.Repeat("0 ", 16)}},
	} {
		op := compiled(t, Config{Resize: Square(16), Tiles: &c.tiles, Mode: Gray})
		row := make([]byte, op.RowBytes())
		if _, err := w.Row(row, line.Bytes(), op, Draw{}); err != nil {
			t.Fatal(err)
		}
		for k, want := range c.want {
			if got := lit(row[k*256:][:256]); got != want {
				t.Errorf("rule %d, tile %d: got lines with %s, want %s", c.tiles.By, k, got, want)
			}
		}
	}
}

func TestTilesThatCannotBeAreRefused(t *testing.T) {
	one := &Tiles{Grids: []Grid{{1, 2}}}
	for want, cfg := range map[string]Config{
		"want the size of one in Resize":                                    {Out: Square(8), Tiles: one},
		"and no crop or padding":                                            {Resize: Square(8), Out: Square(7), Tiles: one},
		"tiles: got 0 grids, want 1 to 512":                                 {Resize: Square(8), Tiles: &Tiles{}},
		"tiles: got a grid of 0 x 1, want 1 to 64 tiles":                    {Resize: Square(8), Tiles: &Tiles{Grids: []Grid{{0, 1}}}},
		"tiles: got a grid of 13 x 5, want 1 to 64 tiles":                   {Resize: Square(8), Tiles: &Tiles{Grids: []Grid{{13, 5}}}},
		"tiles: rule 9 or whole 0 is not one of the named values":           {Resize: Square(8), Tiles: &Tiles{By: 9, Grids: upTo(1)}},
		"tiles: got steps, want none: they are cut from the picture as it":  {Resize: Square(8), Tiles: one, Steps: Steps(Chance{Flip, 0.5})},
		"got steps, want none: they are cut from the picture":               {Resize: Square(8), Tiles: one, Steps: Steps(&Jitter{P: 1, Hue: &[2]float64{0, 0.1}})},
		"tiles: got a longer side of 9 for rule 0, want one for Idefics3":   {Resize: Square(8), Tiles: &Tiles{Grids: upTo(1), Longest: 9}},
		"tiles: got a longer side of 0 for rule 3, want one":                {Resize: Square(8), Tiles: &Tiles{By: Idefics3, Grids: upTo(1)}},
		"tiles: got a longer side of 17 for rule 3, want one for Idefics3 ": {Resize: Square(8), Tiles: &Tiles{By: Idefics3, Grids: []Grid{{2, 2}}, Longest: 17}},
		"which fits into its one grid, also if it is rounded up":            {Resize: Square(7), Tiles: &Tiles{By: Idefics3, Grids: []Grid{{3, 3}}, Longest: 21}},
	} {
		if _, err := Compile(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, ok, err := worker(t, nil).Plan(testJPEG(t, 40, 30), compiled(t, Config{Resize: Square(8), Tiles: one}), Draw{}); ok || err != nil {
		t.Errorf("a plan of tiles: got %v, %v", ok, err)
	}
}

func TestTilesAllocateNothing(t *testing.T) {
	w := worker(t, nil)
	for _, tiles := range []Tiles{{Grids: upTo(12), Whole: WholeLast}, {By: Idefics3, Grids: []Grid{{4, 4}}, Whole: WholeLast, Longest: 60}} {
		op, data := compiled(t, Config{Resize: Square(16), Tiles: &tiles}), testJPEG(t, 120, 90)
		row := make([]byte, op.RowBytes())
		if n := testing.AllocsPerRun(100, func() { _, _ = w.Row(row, data, op, Draw{}) }); n > 0 {
			t.Errorf("got %v allocations a row, want none", n)
		}
	}
}
