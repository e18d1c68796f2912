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
