package media

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// spread is a dense picture of size by an op's layout as a row of room has it, zeros around it.
func spread(op *Op, dense []byte, size, room Size) []byte {
	planes, pixel := 1, op.Channels()*op.DType().ItemBytes()
	if Layout(op.c.layout) == NCHW {
		planes, pixel = op.Channels(), op.DType().ItemBytes()
	}
	row := make([]byte, planes*room.H*room.W*pixel)
	for p := range planes {
		for y := range size.H {
			copy(row[(p*room.H+y)*room.W*pixel:], dense[(p*size.H+y)*size.W*pixel:][:size.W*pixel])
		}
	}
	return row
}

// An open row has the bytes that a row of the picture's own size has, whatever is done to it: padded they lie at the top left and all else is
// zero, dense they come first and all else stays.
func TestAnOpenRowHasTheBytesOfARowOfThatSize(t *testing.T) {
	w := worker(t, nil)
	room := Size{90, 110}
	for name, cfg := range map[string]Config{
		"plain":            {ResizeShort: 40, Longest: 100},
		"flipped":          {ResizeShort: 40, Longest: 100, Steps: Steps(Chance{Flip, 0.5}, Chance{VFlip, 0.5})},
		"by area":          {ResizeArea: &ResizeArea{Min: 3000, Max: 4000, Multiple: 7}, Interpolation: Bicubic},
		"random":           {RandomResize: &RandomResize{20, 45}},
		"shortest":         {RandomShortest: &RandomShortest{Sizes: []int{20, 31, 45}, Longest: 70}},
		"jitter":           {ScaleJitter: &ScaleJitter{Size: Size{45, 50}, Scale: [2]float64{0.5, 2}}},
		"covering":         {Resize: Size{30, 50}, Cover: true, Interpolation: Bicubic, Steps: Steps(Chance{Flip, 0.5})},
		"unresized":        {},
		"ahead":            {ResizeShort: 40, Longest: 100, Ahead: Steps(&ZoomOut{P: 1, Sides: [2]float64{1, 2}})},
		"unresized, ahead": {Ahead: Steps(&Jitter{P: 1, Brightness: &[2]float64{0.4, 0.6}}, &ZoomOut{P: 1, Sides: [2]float64{1.01, 1.02}}), Steps: Steps(Chance{Flip, 1})},
		"retouched":        {ResizeShort: 40, Longest: 100, Erase: &Erase{P: 1, Scale: [2]float64{0.1, 0.3}, Ratio: [2]float64{0.5, 2}}, Steps: Steps(Chance{Flip, 0.5}, &Rotation{Degrees: [2]float64{-30, 30}}, &Blur{P: 1, Size: 5, Sigma: [2]float64{1, 2}})},
		"augmented":        {ResizeShort: 40, Longest: 100, Steps: Steps(&Augment{Kind: TrivialAugmentWide, Bins: 31})},
	} {
		for layout := range Layout(2) {
			for dtype := range DType(4) {
				for mode := range Mode(2) {
					cfg := cfg
					cfg.Layout, cfg.DType, cfg.Mode, cfg.Orient = layout, dtype, mode, true
					for dense := range 2 {
						cfg.Open = &Open{Room: room, Dense: dense == 1}
						op := compiled(t, cfg)
						for i := range uint64(4) {
							data, draw := slope(t, 88, 51, 1+int(i)*2), Draw{Seed: 5, Index: i}
							row := bytes.Repeat([]byte{0xa5}, op.RowBytes())
							info, err := w.Row(row, data, op, draw)
							if err != nil {
								t.Fatalf("%s: %v", name, err)
							}
							closed := cfg
							closed.Open, closed.Out = nil, info.Row
							if cfg.ResizeArea != nil {
								closed.ResizeArea, closed.Resize, closed.Out = nil, info.Row, Size{}
							}
							of := compiled(t, closed)
							want := make([]byte, of.RowBytes())
							if _, err := w.Row(want, data, of, draw); err != nil {
								t.Fatal(err)
							}
							if dense == 1 {
								want = append(want, bytes.Repeat([]byte{0xa5}, len(row)-len(want))...)
							} else {
								want = spread(op, want, info.Row, room)
							}
							if !bytes.Equal(row, want) {
								t.Fatalf("%s, layout %d, dtype %d, mode %d, open %+v, picture %d of %v: other bytes than a row of that size", name, layout, dtype, mode, *cfg.Open, i, info.Row)
							}
						}
					}
				}
			}
		}
	}
}

// A picture that becomes more than an open row has room for is refused with what it becomes, what there is room for and the key that gives more;
// so is one too small for what mirrors it.
func TestAnOpenRowRefusesWhatItHasNoRoomFor(t *testing.T) {
	w := worker(t, nil)
	for _, c := range []struct {
		cfg   Config
		w, h  int
		cause string
		want  []string
	}{
		{Config{ResizeShort: 40, Open: &Open{Room: Size{40, 60}}}, 122, 80, CauseTooLarge, []string{"becomes 40 x 61", "at most 40 x 60", "image.room"}},
		{Config{ResizeShort: 40, Open: &Open{Room: Size{40, 61}}}, 122, 80, "", nil},
		{Config{ResizeShort: 40, Open: &Open{Room: Size{40, 60}, Dense: true}}, 122, 80, CauseTooLarge, []string{"becomes 40 x 61", "2400 pixels", "image.room"}},
		{Config{ResizeShort: 40, Open: &Open{Room: Size{2, 1220}, Dense: true}}, 122, 80, "", nil}, // as many pixels
		{Config{ResizeShort: 8, Open: &Open{Room: Size{40, 40}}, Steps: Steps(&Blur{P: 1, Size: 17, Sigma: [2]float64{1, 2}})}, 122, 80, CauseTooSmall, []string{"becomes 8 x 12", "at least 9"}},
		{Config{ResizeArea: &ResizeArea{Min: 1, Max: 400, Multiple: 2}, Open: &Open{Room: Size{40, 400}}}, 202, 1, CauseTooOblong, []string{"200 times"}},
	} {
		op := compiled(t, c.cfg)
		_, err := w.Row(make([]byte, op.RowBytes()), slope(t, c.w, c.h, 1), op, Draw{})
		var limit *LimitError
		if c.cause == "" && err == nil {
			continue
		}
		if !errors.As(err, &limit) || limit.Cause() != c.cause {
			t.Errorf("%+v: got %v, want cause %q", c.cfg, err, c.cause)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: got %q, want %q in it", c.cfg, err, want)
			}
		}
	}
}

// smart is Qwen2-VL's smart_resize, written again from its definition.
func smart(h, w, factor, least, most int) Size {
	near := func(n int) int { return int(math.RoundToEven(float64(n)/float64(factor))) * factor }
	high, wide := near(h), near(w)
	switch {
	case high*wide > most:
		beta := math.Sqrt(float64(h*w) / float64(most))
		fit := func(n int) int { return max(factor, int(math.Floor(float64(n)/beta/float64(factor)))*factor) }
		return Size{fit(h), fit(w)}
	case high*wide < least:
		beta := math.Sqrt(float64(least) / float64(h*w))
		fit := func(n int) int { return int(math.Ceil(float64(n)*beta/float64(factor))) * factor }
		return Size{fit(h), fit(w)}
	}
	return Size{high, wide}
}

// A resize by area gives the sides that smart_resize gives.
func TestAResizeByAreaGivesTheSidesOfSmartResize(t *testing.T) {
	w := worker(t, nil)
	for _, a := range []ResizeArea{{56 * 56, 28 * 28 * 1280, 28, false}, {3136, 10000, 28, false}, {100 * 100, 160 * 160, 32, false}, {1, 5000, 1, false}, {20000, 20000, 14, false}} {
		op := compiled(t, Config{ResizeArea: &a, Open: &Open{Room: Size{1200, 1200}, Dense: true}})
		row := make([]byte, op.RowBytes())
		for _, of := range []Size{{1, 1}, {1, 150}, {14, 14}, {42, 42}, {70, 98}, {13, 200}, {200, 13}, {101, 203}, {640, 480}, {333, 777}} {
			info, err := w.Row(row, slope(t, of.W, of.H, 1), op, Draw{})
			if want := smart(of.H, of.W, a.Multiple, a.Min, a.Max); err != nil || info.Row != want {
				t.Errorf("%+v: %v becomes %v, %v, want %v", a, of, info.Row, err, want)
			}
		}
	}
}

// What fixes the size of rows, or needs it beforehand, is refused beside an open one.
func TestAnOpenRowTakesNothingThatFixesItsSize(t *testing.T) {
	open := &Open{Room: Size{64, 64}}
	for _, cfg := range []Config{
		{Open: open, Out: Square(8)}, {Open: open, Resize: Square(8)}, {Open: open, Contain: &Contain{}}, {Open: open, Random: &RandomCrop{}}, {Open: open, Anywhere: true},
		{Open: open, Pad: Around(1)}, {Open: open, Steps: Steps(Chance{Quarters, 0.5})}, {Open: &Open{}}, {Open: &Open{Room: Square(MaxSide + 1)}}, {Open: open, Resized: Steps(flip)},
		{Out: Square(8), ResizeArea: &ResizeArea{}}, {Out: Square(8), ResizeArea: &ResizeArea{Min: 9, Max: 8, Multiple: 1}}, {Out: Square(8), ResizeArea: &ResizeArea{Min: 1, Max: 8}},
		{Out: Square(8), RandomShortest: &RandomShortest{}}, {Out: Square(8), RandomShortest: &RandomShortest{Sizes: []int{8, 0}}}, {Out: Square(8), RandomShortest: &RandomShortest{Sizes: []int{8}, Longest: MaxSide + 1}},
		{Out: Square(8), RandomShortest: &RandomShortest{Sizes: make([]int, MaxSizes+1)}},
	} {
		if _, err := Compile(cfg); err == nil {
			t.Errorf("%s: compiled", fmt.Sprintf("%+v", cfg))
		}
	}
}

// An open row allocates nothing, as others do.
func TestAnOpenRowAllocatesNothing(t *testing.T) {
	w, data := worker(t, nil), slope(t, 88, 51, 1)
	op := compiled(t, Config{ResizeShort: 40, Open: &Open{Room: Size{90, 110}}})
	row := make([]byte, op.RowBytes())
	if n := testing.AllocsPerRun(20, func() { _, _ = w.Row(row, data, op, Draw{}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
