package media

import "testing"

// Where a random crop lies is drawn from uniforms of an address of its own, over every place with the zeros on both sides.
func TestARandomCropLiesAnywhere(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 40, 30)
	const address, height, width, out, padding = 6, 30, 40, 24, 3
	op, seen := compiled(t, Config{Out: Square(out), Anywhere: true, Pad: Around(padding)}), map[[2]int]bool{}
	for i := range uint64(4000) {
		draw := Draw{Seed: 9, Epoch: i % 2, Index: i}
		plan, _, err := w.Plan(data, op, draw)
		if err != nil {
			t.Fatal(err)
		}
		u := draw.Uniforms(address, 0)
		y, x := int(u[0]*(height+2*padding-out+1))-padding, int(u[1]*(width+2*padding-out+1))-padding
		if plan.Y != y || plan.X != x {
			t.Fatalf("row %d: got %d, %d; want %d, %d", i, plan.Y, plan.X, y, x)
		}
		seen[[2]int{y, x}] = true
	}
	if want := (height + 2*padding - out + 1) * (width + 2*padding - out + 1); len(seen) != want {
		t.Errorf("got %d places, want %d", len(seen), want)
	}
	if plan, _, _ := w.Plan(data, compiled(t, Config{Out: Square(48), Anywhere: true, Pad: Around(padding)}), Draw{}); plan.Y != -9 || plan.X != -4 {
		t.Errorf("got %d, %d; want a picture that is too small in the middle", plan.Y, plan.X)
	}
}

// A crop by its height has every height from one number to another, is its ratio times as wide, cut, and lies anywhere; a picture that is smaller bounds it.
func TestACropByItsHeightLiesAnywhere(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 40, 30)
	const address, height, width, low, high, ratio = 1, 30, 40, 26, 33, 1.3
	op := compiled(t, Config{Out: Square(8), Random: &RandomCrop{Height: [2]int{low, high}, Ratio: [2]float64{ratio, ratio}}})
	heights, places := map[int]bool{}, map[[2]int]bool{}
	for i := range uint64(4000) {
		draw := Draw{Seed: 9, Epoch: i % 2, Index: i}
		plan, _, err := w.Plan(data, op, draw)
		if err != nil {
			t.Fatal(err)
		}
		u, at := draw.Uniforms(address, 0), draw.Uniforms(address, 1)
		drawn := low + int(u[0]*(high-low+1))
		h, wide := min(drawn, height), min(int(float64(drawn)*ratio), width)
		if want := (Box{int(at[0] * float64(height-h+1)), int(at[1] * float64(width-wide+1)), h, wide}); plan.Box != want {
			t.Fatalf("row %d: got %v, want %v", i, plan.Box, want)
		}
		heights[drawn] = true
		if h == low {
			places[[2]int{plan.Box.Y, plan.Box.X}] = true
		}
	}
	if len(heights) != high-low+1 || len(places) != (height-low+1)*(width-33+1) {
		t.Errorf("got %d heights and %d places, want %d and %d", len(heights), len(places), high-low+1, (height-low+1)*(width-33+1))
	}
	narrow := compiled(t, Config{Out: Square(8), Random: &RandomCrop{Height: [2]int{5, 5}, Ratio: [2]float64{0.01, 0.01}}})
	if plan, _, err := w.Plan(data, narrow, Draw{}); err != nil || plan.Box.W != 1 || plan.Box.H != 5 {
		t.Errorf("got %v, error %v; want one column of 5 pixels", plan.Box, err)
	}
}
