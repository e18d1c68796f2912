package media

import (
	"bytes"
	"fmt"
	"math"
	"testing"
)

// squares is what becomes of a picture, whose lines lie one behind the other, as patches.
func squares(op *Op, dense []byte, size Size, p Patches) (row []byte) {
	planes, pixel := 1, op.Channels()*op.DType().ItemBytes()
	if op.c.layout == 1 {
		planes, pixel = op.Channels(), op.DType().ItemBytes()
	}
	patch := func(top, left int) {
		for c := range planes {
			for range p.Temporal {
				for y := range p.Size {
					at := ((c*size.H+top+y)*size.W + left) * pixel
					row = append(row, dense[at:at+p.Size*pixel]...)
				}
			}
		}
	}
	block := p.Size * p.Merge
	for top := 0; top < size.H; top += block {
		for left := 0; left < size.W; left += block {
			for down := range p.Merge {
				for across := range p.Merge {
					patch(top+down*p.Size, left+across*p.Size)
				}
			}
		}
	}
	return row
}

// Patches are the squares of the picture that the same op gives without them, block by block, whatever its format and the row's type and layout, and what is done to
// it; all behind them stays.
func TestPatchesAreTheSquaresOfThePicture(t *testing.T) {
	for name, cfg := range map[string]Config{
		"bytes": {}, "planes": {Layout: NCHW, DType: F32, Normalize: imagenet}, "halves": {DType: F16, Interpolation: Bicubic}, "bf16": {DType: BF16, Layout: NCHW}, "grey": {Mode: Gray, Layout: NCHW, DType: F32},
		"upright": {Orient: true, Interpolation: CV2Area, Steps: Steps(Chance{Flip, 0.5}, Chance{VFlip, 0.5})}, "retouched": {Layout: NCHW, Steps: Steps(&Rotation{Degrees: [2]float64{-30, 30}}, Chance{Flip, 0.5})}, "torch": {Interpolation: TorchBicubic, DType: F32},
	} {
		for file, data := range map[string][]byte{"JPEG": testJPEG(t, 150, 70), "PNG": testPNG(t, 50, 120), "turned": slope(t, 90, 40, 6), "progressive": testdata(t, "progressive.jpg"), "small": testPNG(t, 5, 9)} {
			for _, p := range []Patches{{4, 1, 1}, {4, 2, 2}, {3, 4, 1}, {2, 3, 3}} {
				for _, portable := range []bool{false, true} {
					w, draw := worker(t, &Options{Portable: portable}), Draw{Seed: 3, Index: 2}
					cfg.ResizeArea = &ResizeArea{Min: 900, Max: 6000, Multiple: 24}
					cfg.Open = &Open{Room: Size{80, 100}, Dense: true}
					cfg.Patches = nil
					plain := compiled(t, cfg)
					dense := make([]byte, plain.RowBytes())
					if _, err := w.Row(dense, data, plain, draw); err != nil {
						t.Fatal(err)
					}
					cfg.Patches = &p
					op := compiled(t, cfg)
					row := bytes.Repeat([]byte{0xa5}, op.RowBytes())
					info, err := w.Row(row, data, op, draw)
					if err != nil || len(row) != p.Temporal*len(dense) {
						t.Fatalf("%s, %s: %d bytes, %v", name, file, len(row), err)
					}
					want := squares(op, dense, info.Row, p)
					if want = append(want, bytes.Repeat([]byte{0xa5}, len(row)-len(want))...); !bytes.Equal(row, want) {
						t.Fatalf("%s, %s, portable %v, %+v: other bytes than the picture's of %v", name, file, portable, p, info.Row)
					}
					if g := info.Grid; g != (Grid{info.Row.H / p.Size, info.Row.W / p.Size}) || info.Tiles != g.Rows*g.Columns {
						t.Fatalf("%s, %s, %+v: got %d patches of %+v for a picture of %v", name, file, p, info.Tiles, g, info.Row)
					}
				}
			}
		}
	}
}

// upTo100 is SigLIP 2's rule.
func upTo100(of Size, multiple, most int) Size {
	side := func(n int, by float64) int {
		return max(multiple, int(math.Ceil(float64(n)*by/float64(multiple)))*multiple)
	}
	low, high := 1e-6, 100.0
	for high-low >= 1e-5 {
		by := (low + high) / 2
		if side(of.H, by)*side(of.W, by) <= most {
			low = by
		} else {
			high = by
		}
	}
	return Size{side(of.H, low), side(of.W, low)}
}

// A resize by multiples that are rounded up gives the sides that SigLIP 2's processor gives: as many pixels as there may be, unless the picture had to grow more than a hundredfold.
func TestAResizeByMultiplesUpGivesTheSidesOfSigLIP2(t *testing.T) {
	w := worker(t, nil)
	for _, c := range []struct{ multiple, most int }{{16, 65536}, {16, 256}, {14, 14 * 14 * 100}, {3, 9 * 49}} {
		op := compiled(t, Config{ResizeArea: &ResizeArea{Max: c.most, Multiple: c.multiple, Up: true}, Open: &Open{Room: Size{300, 300}, Dense: true}})
		row := make([]byte, op.RowBytes())
		for _, of := range []Size{{1, 1}, {1, 150}, {16, 16}, {42, 42}, {70, 98}, {13, 200}, {200, 13}, {101, 203}, {640, 480}, {333, 777}} {
			info, err := w.Row(row, slope(t, of.W, of.H, 1), op, Draw{})
			if want := upTo100(of, c.multiple, c.most); err != nil || info.Row != want || info.Row.H*info.Row.W > c.most {
				t.Errorf("%+v: %v becomes %v, %v, want %v", c, of, info.Row, err, want)
			}
		}
	}
}

// What does not make whole patches is refused.
func TestPatchesWantAPictureOfWholeOnes(t *testing.T) {
	open, area := &Open{Room: Size{64, 64}, Dense: true}, &ResizeArea{Min: 1, Max: 900, Multiple: 8}
	for _, cfg := range []Config{
		{Patches: &Patches{4, 1, 1}, Out: Square(8)}, {Patches: &Patches{4, 1, 1}, Open: open}, {Patches: &Patches{4, 1, 1}, Open: open, ResizeShort: 8}, {Patches: &Patches{3, 1, 1}, Open: open, ResizeArea: area},
		{Patches: &Patches{4, 4, 1}, Open: open, ResizeArea: area}, {Patches: &Patches{0, 1, 1}, Open: open, ResizeArea: area}, {Patches: &Patches{4, 0, 1}, Open: open, ResizeArea: area},
		{Patches: &Patches{4, 1, 0}, Open: open, ResizeArea: area}, {Patches: &Patches{4, 1, MaxPatch + 1}, Open: open, ResizeArea: area}, {Patches: &Patches{4, 1, 1}, Open: &Open{Room: Size{64, 64}}, ResizeArea: area},
		{Patches: &Patches{4, 1, 1}, Open: open, ResizeArea: area, Erase: &Erase{P: 1, Scale: [2]float64{0.1, 0.3}, Ratio: [2]float64{0.5, 2}}},
		{Open: open, ResizeArea: &ResizeArea{Min: 1, Max: 900, Multiple: 8, Up: true}}, {Open: open, ResizeArea: &ResizeArea{Max: 900, Multiple: 8}},
	} {
		if _, err := Compile(cfg); err == nil {
			t.Errorf("%s: compiled", fmt.Sprintf("%+v", cfg))
		}
	}
}
