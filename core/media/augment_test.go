package media

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"runtime"
	"testing"
)

const (
	drawAugment, drawBlur, drawTones = 8, 9, 10 // their operations in the kernel's draws
	identity, sharpness              = 0, 9     // in RandAugment's order
)

// made is the row of a 60 x 50 picture.
func made(t *testing.T, w *Worker, data []byte, cfg Config, draw Draw) []byte {
	t.Helper()
	if cfg.Out == (Size{}) {
		cfg.Out = Size{50, 60}
	}
	op := compiled(t, cfg)
	row := make([]byte, op.RowBytes())
	if _, err := w.Row(row, data, op, draw); err != nil {
		t.Fatal(err)
	}
	return row
}

// Operations, signs and magnitudes are uniforms of an address of their own, for good: rows of equal draws are equal, and others differ.
func TestDrawsOfAugmentationsHaveTheirAddresses(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 50)
	plain := made(t, w, data, Config{}, Draw{})
	for name, augment := range map[string]Augment{
		"rand_augment":         {Kind: RandAugment, Ops: 1, Magnitude: 2, Bins: 4, Interpolation: Nearest},
		"trivial_augment_wide": {Kind: TrivialAugmentWide, Bins: 4, Interpolation: Nearest},
	} {
		rows := map[string][]byte{}
		for i := range uint64(600) {
			draw := Draw{Seed: 5, Epoch: 1, Index: i}
			u, bin := draw.Uniforms(drawAugment, 0), draw.Uniforms(drawAugment, 1)[0]
			op, negative := int(u[0]*14), u[1] < 0.5
			which := fmt.Sprint(op, op > identity && op <= sharpness && negative)
			if augment.Kind == TrivialAugmentWide {
				which = fmt.Sprint(which, int(bin*4))
			}
			got := made(t, w, data, Config{Steps: Steps(&augment)}, draw)
			if before, ok := rows[which]; ok && !bytes.Equal(got, before) {
				t.Fatalf("%s, row %d: other bytes than those of %s before", name, i, which)
			}
			if op == identity && !bytes.Equal(got, plain) {
				t.Fatalf("%s, row %d: the identity changed it", name, i)
			}
			rows[which] = got
		}
		distinct := map[[32]byte]bool{}
		for _, row := range rows {
			distinct[sha256.Sum256(row)] = true
		}
		if len(rows) < 23 || len(distinct) < 21 {
			t.Errorf("%s: %d draws made %d rows", name, len(rows), len(distinct))
		}
	}
}

// RandAugment's n-th operation is drawn from block n: fewer of them are the first of more.
func TestOperationsOfOneRowAreDrawnOneByOne(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 50)
	augment := func(ops int) Config {
		return Config{Steps: Steps(&Augment{Kind: RandAugment, Ops: ops, Magnitude: 9, Bins: 31, Interpolation: Nearest})}
	}
	same := 0
	for i := range uint64(300) {
		draw := Draw{Seed: 3, Index: i}
		one, two := made(t, w, data, augment(1), draw), made(t, w, data, augment(2), draw)
		if int(draw.Uniforms(drawAugment, 1)[0]*14) == identity {
			same++
			if !bytes.Equal(one, two) {
				t.Fatalf("row %d: the second operation, identity, changed it", i)
			}
		}
	}
	if same == 0 {
		t.Error("the second operation was never identity")
	}
}

// What is blurred, and what happens by chance, is a uniform of its address.
func TestDrawsOfBlurAndTonesHaveTheirAddresses(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 50)
	const p = 0.4
	tones := []func(p float64) Config{ // by block
		func(p float64) Config { return Config{Steps: Steps(&Solarize{P: p, Threshold: 128})} },
		func(p float64) Config { return Config{Steps: Steps(&Posterize{P: p, Bits: 2})} },
		func(p float64) Config { return Config{Steps: Steps(Chance{Invert, p})} },
		func(p float64) Config { return Config{Steps: Steps(&Sharpness{P: p, Factor: 3})} },
		func(p float64) Config { return Config{Steps: Steps(Chance{Autocontrast, p})} },
		func(p float64) Config { return Config{Steps: Steps(Chance{Equalize, p})} },
	}
	plain := made(t, w, data, Config{}, Draw{})
	blur := func(p, low, high float64) Config {
		return Config{Steps: Steps(&Blur{P: p, Size: 7, Sigma: [2]float64{low, high}})}
	}
	happened := make([]int, len(tones)+1)
	for i := range uint64(100) {
		draw := Draw{Seed: 5, Epoch: 1, Index: i}
		for block, tone := range tones {
			want := plain
			if draw.Uniforms(drawTones, uint32(block))[0] < p {
				want = made(t, w, data, tone(1), Draw{})
				happened[block]++
			}
			if got := made(t, w, data, tone(p), draw); !bytes.Equal(got, want) {
				t.Fatalf("row %d, block %d of chance %v: other bytes", i, block, p)
			}
		}
		u, want := draw.Uniforms(drawBlur, 0), plain
		if sigma := 0.5 + u[1]*2; u[0] < p {
			want = made(t, w, data, blur(1, sigma, sigma), Draw{})
			happened[len(tones)]++
		}
		if got := made(t, w, data, blur(p, 0.5, 2.5), draw); !bytes.Equal(got, want) {
			t.Fatalf("row %d, blur of chance %v: other bytes", i, p)
		}
	}
	for block, n := range happened {
		if n == 0 || n == 100 {
			t.Errorf("block %d happened %d times", block, n)
		}
	}
}

// What lies too far from the middle to count is left out, and changes no byte.
func TestABlurIsTheSameInALargerKernel(t *testing.T) {
	w, data := worker(t, nil), testPNG(t, 60, 50)
	blurred := func(size int) []byte {
		op := compiled(t, Config{Resize: Square(160), Steps: Steps(&Blur{P: 1, Size: size, Sigma: [2]float64{2, 2}})})
		row := make([]byte, op.RowBytes())
		if _, err := w.Row(row, data, op, Draw{}); err != nil {
			t.Fatal(err)
		}
		return row
	}
	if !bytes.Equal(blurred(255), blurred(41)) {
		t.Error("of sigma 2, 255 taps make other bytes than 41")
	}
}

// A blur needs floats of as many lines as its kernel has, and not of a whole row: they stay, where a large buffer is given back after each sample.
func TestABlurOfALargeRowTakesNoNewMemory(t *testing.T) {
	w, data := worker(t, nil), testPNG(t, 60, 50)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	op := compiled(t, Config{Resize: Size{1600, 2000}, Interpolation: Nearest, Steps: Steps(&Blur{P: 1, Size: 3, Sigma: [2]float64{1, 1}})})
	row := make([]byte, op.RowBytes())
	for i := range 2 {
		before := usage(t).Minflt
		if _, err := w.Row(row, data, op, Draw{}); err != nil {
			t.Fatal(err)
		}
		if faults := usage(t).Minflt - before; i > 0 && faults > 1000 {
			t.Errorf("a second row took %d new pages", faults)
		}
	}
}

// The policies are tables, and their rows stay what they are: tests/exact holds them beside torchvision's.
func TestRowsOfPoliciesStayWhatTheyAre(t *testing.T) {
	w, data := worker(t, nil), testPNG(t, 60, 50)
	for policy, want := range map[Policy]string{ImageNet: "4a2eb338e5be450e", CIFAR10: "9ba016f8e19dbe19", SVHN: "825f7aad770727b9"} {
		sum, distinct := sha256.New(), map[string]bool{}
		for i := range uint64(200) {
			row := made(t, w, data, Config{Steps: Steps(&Augment{Kind: AutoAugment, Policy: policy, Interpolation: Nearest})}, Draw{Seed: 1, Index: i})
			sum.Write(row)
			distinct[string(row)] = true
		}
		if got := fmt.Sprintf("%x", sum.Sum(nil)[:8]); got != want || len(distinct) < 30 {
			t.Errorf("policy %d: %d rows of 200 differ, with the sum %s, want %s", policy, len(distinct), got, want)
		}
	}
}

// Angles, ways, scales and shears are uniforms of an address of their own: of a range of one number the row is that of the drawn one.
func TestDrawsOfWarpsHaveTheirAddresses(t *testing.T) {
	const rotation, affine = 11, 12
	w, data := worker(t, nil), testJPEG(t, 60, 50)
	at := func(least, most, u float64) [2]float64 { f := least + u*(most-least); return [2]float64{f, f} }
	for i := range uint64(60) {
		draw := Draw{Seed: 5, Epoch: 1, Index: i}
		got := made(t, w, data, Config{Steps: Steps(&Rotation{Degrees: [2]float64{-40, 70}})}, draw)
		if want := made(t, w, data, Config{Steps: Steps(&Rotation{Degrees: at(-40, 70, draw.Uniforms(rotation, 0)[0])})}, Draw{}); !bytes.Equal(got, want) {
			t.Fatalf("row %d: another angle", i)
		}
		turn, size, shear := draw.Uniforms(affine, 0), draw.Uniforms(affine, 1), draw.Uniforms(affine, 2)
		got = made(t, w, data, Config{Steps: Steps(&Affine{Degrees: [2]float64{-40, 70}, Scale: [2]float64{0.5, 2}, ShearX: [2]float64{-20, 30}, ShearY: [2]float64{0, 10}})}, draw)
		want := made(t, w, data, Config{Steps: Steps(&Affine{Degrees: at(-40, 70, turn[0]), Scale: at(0.5, 2, size[1]), ShearX: at(-20, 30, shear[0]), ShearY: at(0, 10, shear[1])})}, Draw{})
		if !bytes.Equal(got, want) {
			t.Fatalf("row %d: another affine map", i)
		}
	}
}
