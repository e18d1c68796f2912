package media

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

// The addresses of the draws: operation 15, by block.
const (
	drawLater      = 15
	blockWhen      = 4
	blockChannels  = 5
	blockPermute   = 6
	blockNoise     = 7
	blockQuarters  = 9
	blockJPEG      = 10
	distortFactors = 4
)

var permutations = [6][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}

func permuted(row []byte, which int) []byte {
	out := slices.Clone(row)
	for i := 0; i < len(row); i += 3 {
		for ch, from := range permutations[which] {
			out[i+ch] = row[i+from]
		}
	}
	return out
}

// A distortion is each of four changes by a chance of its own, contrast before saturation or at the end, and the channels' places.
func TestADistortionIsMadeOfItsDraws(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 50)
	const p = 0.5
	ranges := [distortFactors][2]float64{{0.875, 1.125}, {0.5, 1.5}, {0.5, 1.5}, {-0.05, 0.05}}
	cfg := Config{Steps: Steps(&Distort{P: p, Brightness: &ranges[0], Contrast: &ranges[1], Saturation: &ranges[2], Hue: &ranges[3]})}
	one := func(kind int, factor float64) Config {
		j, f := &Jitter{P: 1}, &[2]float64{factor, factor}
		*[]**[2]float64{&j.Brightness, &j.Contrast, &j.Saturation, &j.Hue}[kind] = f
		return Config{Steps: Steps(j)}
	}
	happened := map[int]int{}
	for i := range uint64(200) {
		draw := Draw{Seed: 5, Epoch: 1, Index: i}
		order := []int{0, 2, 3, 1}
		if draw.Uniforms(drawLater, blockWhen)[0] < 0.5 {
			order = []int{0, 1, 2, 3}
			happened[10]++
		}
		want := made(t, w, data, Config{}, draw)
		for _, kind := range order {
			u := draw.Uniforms(drawLater, uint32(kind))
			if u[0] >= p {
				continue
			}
			low, high := ranges[kind][0], ranges[kind][1]
			want = made(t, w, asPNG(t, want, 60, 50), one(kind, low+u[1]*(high-low)), draw)
			happened[kind]++
		}
		if u := draw.Uniforms(drawLater, blockChannels); u[0] < p {
			want = permuted(want, int(u[1]*6))
			happened[4]++
		}
		if !bytes.Equal(made(t, w, data, cfg, draw), want) {
			t.Fatalf("row %d is not what its draws say", i)
		}
	}
	for _, what := range []int{0, 1, 2, 3, 4, 10} {
		if n := happened[what]; n < 60 || n > 140 {
			t.Errorf("draw %d: %d of 200, want about a half", what, n)
		}
	}
}

func TestChannelsChangePlaces(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 50)
	plain, seen := made(t, w, data, Config{}, Draw{}), map[int]bool{}
	for i := range uint64(100) {
		draw, want := Draw{Seed: 2, Index: i}, plain
		if u := draw.Uniforms(drawLater, blockPermute); u[0] < 0.7 {
			which := int(u[1] * 6)
			want, seen[which] = permuted(plain, which), true
		}
		if !bytes.Equal(made(t, w, data, Config{Steps: Steps(Chance{Permute, 0.7})}, draw), want) {
			t.Fatalf("row %d is not what its draw says", i)
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d of 6 permutations came", len(seen))
	}
}

// Quarters turn to the left, and a point goes along.
func TestSquareRowsAreTurnedByQuarters(t *testing.T) {
	const n = 50
	w, data := worker(t, nil), testJPEG(t, n, n)
	square := Config{Out: Square(n)}
	plain := made(t, w, data, square, Draw{})
	turning := square
	do(&turning, Chance{Quarters, 0.8})
	op, seen := compiled(t, turning), map[int]bool{}
	for i := range uint64(60) {
		draw, quarters := Draw{Seed: 2, Index: i}, 0
		if u := draw.Uniforms(drawLater, blockQuarters); u[0] < 0.8 {
			quarters = int(u[1] * 4)
		}
		seen[quarters] = true
		want, at := slices.Clone(plain), [2]float64{10, 20}
		for range quarters {
			from := slices.Clone(want)
			for y := range n {
				for x := range n {
					copy(want[3*(y*n+x):][:3], from[3*(x*n+n-1-y):][:3])
				}
			}
			at = [2]float64{at[1], n - at[0]}
		}
		row := make([]byte, op.RowBytes())
		info, err := w.Row(row, data, op, draw)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(row, want) {
			t.Fatalf("row %d is not turned by %d quarters", i, quarters)
		}
		a := info.Affine
		if got := [2]float64{a[0][0]*10 + a[0][1]*20 + a[0][2], a[1][0]*10 + a[1][1]*20 + a[1][2]}; got != at {
			t.Fatalf("row %d, %d quarters: the point (10, 20) lies at %v, want %v", i, quarters, got, at)
		}
	}
	if len(seen) != 4 {
		t.Errorf("turned by %v", seen)
	}
}

// noiseOf is what noise adds to a row that is grey all over, which it does not reach the ends of.
func noiseOf(t *testing.T, cfg Config, draw Draw) []float64 {
	t.Helper()
	grey := bytes.Repeat([]byte{128}, 3*60*60)
	cfg.Out = Square(60)
	var all []float64
	for _, v := range made(t, worker(t, nil), asPNG(t, grey, 60, 60), cfg, draw) {
		all = append(all, float64(v)-128)
	}
	return all
}

func TestNoiseIsNormalAndAnotherInEachSampleAndFrame(t *testing.T) {
	cfg := Config{Steps: Steps(&Noise{P: 1, Mean: 0.02, Sigma: [2]float64{0.1, 0.1}})}
	all := noiseOf(t, cfg, Draw{Seed: 1})
	var sum, squares float64
	for _, v := range all {
		sum += v
		squares += v * v
	}
	n := float64(len(all))
	mean := sum / n
	if deviation := math.Sqrt(squares/n - mean*mean); math.Abs(mean-5.1) > 1 || math.Abs(deviation-25.5) > 0.6 {
		t.Errorf("mean %v, deviation %v, want 5.1 and 25.5", mean, deviation)
	}
	for name, other := range map[string]Draw{"seed": {Seed: 2}, "epoch": {Seed: 1, Epoch: 1}, "sample": {Seed: 1, Index: 1}, "frame": {Seed: 1, Frame: 1}} {
		same := 0
		for i, v := range noiseOf(t, cfg, other) {
			if v == all[i] {
				same++
			}
		}
		if same > len(all)/20 {
			t.Errorf("another %s has %d of %d values of the same noise", name, same, len(all))
		}
	}
	wide := Config{Steps: Steps(&Noise{P: 1, Mean: -1, Sigma: [2]float64{0, 0}})}
	if darkest := noiseOf(t, wide, Draw{}); slices.Max(darkest) != -128 {
		t.Errorf("all black, and the largest value is %v", slices.Max(darkest)+128)
	}
	draw := Draw{Seed: 1}
	sigma := 0.1 + draw.Uniforms(drawLater, blockNoise)[1]*0.2
	drawn, fixed := Config{Steps: Steps(&Noise{P: 1, Sigma: [2]float64{0.1, 0.3}})}, Config{Steps: Steps(&Noise{P: 1, Sigma: [2]float64{sigma, sigma}})}
	if !slices.Equal(noiseOf(t, drawn, draw), noiseOf(t, fixed, draw)) {
		t.Error("sigma is not that of its draw")
	}
}

// Of what is written more coarsely less is left, and every quality of the range comes.
func TestARowIsWrittenAndReadAtTheQualityThatIsDrawn(t *testing.T) {
	w, data := worker(t, nil), testPNG(t, 60, 50)
	at := func(q int) Config { return Config{Steps: Steps(&JPEG{P: 1, Quality: [2]int{q, q}})} }
	seen := map[int]bool{}
	for i := range uint64(80) {
		draw, want := Draw{Seed: 9, Index: i}, made(t, w, data, Config{}, Draw{})
		if u := draw.Uniforms(drawLater, blockJPEG); u[0] < 0.9 {
			quality := 20 + int(u[1]*6)
			want, seen[quality] = made(t, w, data, at(quality), Draw{}), true
		}
		if !bytes.Equal(made(t, w, data, Config{Steps: Steps(&JPEG{P: 0.9, Quality: [2]int{20, 25}})}, draw), want) {
			t.Fatalf("row %d is not what its draw says", i)
		}
	}
	if len(seen) != 6 {
		t.Errorf("of the qualities 20 to 25 came %v", seen)
	}
}

// Any size of row fits into the room for its file, at any quality.
func TestRowsOfAnySizeAreWrittenAsAJPEG(t *testing.T) {
	w := worker(t, nil)
	for _, size := range []Size{{1, 1}, {1, 17}, {16, 1}, {15, 33}, {224, 224}} {
		for _, mode := range []Mode{RGB, Gray} {
			noise := Config{Out: size, Mode: mode, Steps: Steps(&Noise{P: 1, Sigma: [2]float64{1, 1}}, &JPEG{P: 1, Quality: [2]int{100, 100}})}
			made(t, w, testPNG(t, size.W, size.H), noise, Draw{})
		}
	}
}
