package media

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"testing"
)

// A plan for a decoder elsewhere is what a row would have been made of.
func TestPlansAreWhatRowsAreMadeOf(t *testing.T) {
	w := worker(t, nil)
	for name, cfg := range map[string]Config{
		"train": train, "eval": eval, "zeros around": {Out: Size{300, 20}}, "exactly": {Resize: Size{10, 90}, Orient: true},
		"anywhere": {Out: Size{80, 70}, Anywhere: true, Pad: Around(9)},
	} {
		op := compiled(t, cfg)
		dst := make([]byte, op.RowBytes())
		for i := range uint64(20) {
			data, draw := testJPEG(t, 90+int(i), 140-int(i)), Draw{Seed: 1, Epoch: 2, Index: i}
			plan, ok, err := w.Plan(data, op, draw)
			if err != nil || !ok {
				t.Fatalf("%s: got %v, %v; want a plan", name, ok, err)
			}
			info, err := w.Row(dst, data, op, draw)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Box != info.Box || plan.Flip != info.Flip || plan.Width != info.Width || plan.Height != info.Height {
				t.Fatalf("%s: got %+v, the row was made of %+v", name, plan, info)
			}
		}
	}
	op := compiled(t, Config{ResizeShort: 64, Out: Size{56, 40}})
	plan, _, _ := w.Plan(testJPEG(t, 100, 200), op, Draw{})
	if plan.Resized != (Size{H: 128, W: 64}) || plan.Y != 36 || plan.X != 12 {
		t.Errorf("got %+v, want 128 x 64, and the row from 36, 12 on", plan)
	}
}

// One side decides about the other by torchvision's rule, or by albumentations', whose middle begins further to the front by half a pixel, too.
func TestSidesAreRoundedAsAsked(t *testing.T) {
	w := worker(t, nil)
	for name, c := range map[string]struct {
		cfg     Config
		h, w    int
		resized Size
		y, x    int
	}{
		"shorter, down":              {Config{ResizeShort: 32, Out: Square(32)}, 67, 40, Size{53, 32}, 10, 0},
		"shorter, to the nearest":    {Config{ResizeShort: 32, NearestSide: true, Out: Square(32)}, 67, 40, Size{54, 32}, 11, 0},
		"a half to even":             {Config{ResizeShort: 8, NearestSide: true, Out: Square(8)}, 16, 41, Size{8, 20}, 0, 6},
		"longer, down":               {Config{Longest: 32, Out: Square(8)}, 40, 67, Size{19, 32}, 6, 12},
		"longer, to the nearest":     {Config{Longest: 32, NearestSide: true, Out: Square(8)}, 40, 37, Size{32, 30}, 12, 11},
		"longer, a pixel at least":   {Config{Longest: 8, NearestSide: true, Out: Square(8)}, 100, 3, Size{8, 1}, 0, -3},
		"longer, down, one at least": {Config{Longest: 8, Out: Square(8)}, 100, 3, Size{8, 1}, 0, -3},
		"DETR's, unbounded":          {Config{ResizeShort: 32, Longest: 60, DETRSides: true, Out: Square(32)}, 67, 40, Size{53, 32}, 10, 0},
		"DETR's, to the nearest":     {Config{ResizeShort: 32, Longest: 50, DETRSides: true, Out: Square(30)}, 67, 40, Size{50, 30}, 10, 0},
		"DETR's, short of the bound": {Config{ResizeShort: 30, Longest: 49, DETRSides: true, Out: Square(8)}, 5, 30, Size{8, 48}, 0, 20},
		"DETR's, of the longer":      {Config{Longest: 48, DETRSides: true, Out: Square(48)}, 67, 40, Size{48, 28}, 0, -10},
		"YOLOS', to 16":              {Config{ResizeShort: 40, Longest: 70, YOLOSSides: true, Out: Square(32)}, 67, 40, Size{64, 32}, 16, 0},
		"YOLOS', as it is":           {Config{ResizeShort: 30, Longest: 60, YOLOSSides: true, Out: Square(16)}, 3, 61, Size{16, 48}, 0, 16},
		"DETR's, as it is":           {Config{ResizeShort: 30, Longest: 60, DETRSides: true, Out: Square(8)}, 3, 61, Size{3, 61}, -2, 26},
		"the middle, to even":        {Config{ResizeShort: 40, Out: Square(37)}, 40, 40, Size{40, 40}, 2, 2},
		"the middle, down":           {Config{ResizeShort: 40, Out: Square(37), MiddleDown: true}, 40, 40, Size{40, 40}, 1, 1},
		"around a smaller one":       {Config{ResizeShort: 40, Out: Square(43), MiddleDown: true}, 40, 40, Size{40, 40}, -1, -1},
	} {
		plan, ok, err := w.Plan(testJPEG(t, c.w, c.h), compiled(t, c.cfg), Draw{})
		if err != nil || !ok || plan.Resized != c.resized || plan.Y != c.y || plan.X != c.x {
			t.Errorf("%s: got %+v, %v, %v; want %v from %d, %d on", name, plan, ok, err, c.resized, c.y, c.x)
		}
	}
}

// What decoders elsewhere may not take, or not alike, is not for them; what is damaged at its head or end is refused as by Row.
func TestPlansAreForPlainJPEGsAlone(t *testing.T) {
	w, op, oriented := worker(t, nil), compiled(t, Config{Resize: Square(8)}), compiled(t, Config{Resize: Square(8), Orient: true})
	var grey bytes.Buffer
	if err := jpeg.Encode(&grey, image.NewGray(image.Rect(0, 0, 20, 20)), nil); err != nil {
		t.Fatal(err)
	}
	plain := testJPEG(t, 40, 30)
	turned := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0}, plain[2:]...)
	adobe := append([]byte{0xff, 0xd8, 0xff, 0xee, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0}, plain[2:]...) // its components are R, G and B
	for name, c := range map[string]struct {
		data []byte
		op   *Op
		ok   bool
	}{
		"plain": {plain, op, true}, "turned, which is to be ignored": {turned, op, true}, "turned": {turned, oriented, false},
		"grey": {grey.Bytes(), op, false}, "progressive": {testdata(t, "progressive.jpg"), op, false}, "arithmetic": {testdata(t, "arithmetic.jpg"), op, false},
		"of red, green and blue": {adobe, op, false}, "a PNG": {testPNG(t, 10, 10), op, false},
		"mirrored around": {plain, compiled(t, Config{Out: Square(50), Padding: Reflect}), false}, "nothing known": {[]byte("hello"), op, false},
	} {
		if _, ok, err := w.Plan(c.data, c.op, Draw{}); err != nil || ok != c.ok {
			t.Errorf("%s: got %v, %v; want %v", name, ok, err, c.ok)
		}
	}
	small := compiled(t, Config{Resize: Square(8), MaxPixels: 100})
	for name, c := range map[string]struct {
		data  []byte
		op    *Op
		cause string
	}{
		"empty": {nil, op, CauseEmpty}, "cut": {plain[:len(plain)-20], op, CauseTruncated}, "its head": {plain[:30], op, CauseTruncated},
		"too large": {plain, small, CauseTooManyPixels},
	} {
		_, ok, err := w.Plan(c.data, c.op, Draw{})
		var named interface{ Cause() string }
		if ok || !errors.As(err, &named) || named.Cause() != c.cause {
			t.Errorf("%s: got %v, %v; want cause %s", name, ok, err, c.cause)
		}
	}
	if row, err := w.Row(make([]byte, op.RowBytes()), plain, op, Draw{}); err != nil {
		t.Errorf("a worker that planned does not decode any more: %v, %v", row, err)
	}
}

func TestPlanAllocatesNothing(t *testing.T) {
	w, op, data := worker(t, nil), compiled(t, train), testJPEG(t, 120, 90)
	if n := testing.AllocsPerRun(100, func() { _, _, _ = w.Plan(data, op, Draw{Index: 3}) }); n > 0 {
		t.Errorf("got %v allocations a plan, want none", n)
	}
}

// How large a picture is as it is seen is what decoding it would say, of every format and orientation; what is no picture is refused as by Row.
func TestSeenIsTheSizeThatRowTells(t *testing.T) {
	w := worker(t, nil)
	plain := testJPEG(t, 40, 30)
	turned := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0}, plain[2:]...)
	pictures := map[string][]byte{"plain": plain, "turned": turned, "progressive": testdata(t, "progressive.jpg"), "arithmetic": testdata(t, "arithmetic.jpg"), "PNG": testPNG(t, 10, 20)}
	for orientation := 1; orientation <= 8; orientation++ {
		pictures[fmt.Sprintf("PNG turned by %d", orientation)] = slope(t, 7, 5, orientation)
	}
	for name, data := range pictures {
		for _, orient := range []bool{false, true} {
			look, err := Look(orient, 0)
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.Seen(data, look)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if head, ok := w.Head(data, look); !ok || head != got {
				t.Errorf("%s, orient %v: its head says %v (%v), want %v", name, orient, head, ok, got)
			}
			op := compiled(t, Config{Resize: Square(8), Orient: orient})
			info, err := w.Row(make([]byte, op.RowBytes()), data, op, Draw{})
			if want := info.Seen(); err != nil || got != want {
				t.Errorf("%s, orient %v: got %v, want %v (%v)", name, orient, got, want, err)
			}
		}
	}
	look, err := Look(false, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"empty": nil, "no picture": []byte("hello"), "too large": plain, "cut": plain[:30]} {
		if _, err := w.Seen(data, look); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if head, ok := w.Head(data, look); ok {
			t.Errorf("%s: its head says %v", name, head)
		}
	}
}
