package audio

import (
	"fmt"
	"math"
	"testing"
)

// spectrumReference is the power of the windowed, reflected signal by the definition of the DFT, [bins][steps].
func spectrumReference(x []float32, f Features) [][]float64 {
	pad := f.FFT / 2
	if f.Inside {
		pad = 0
	}
	at := func(i int) float64 {
		if i < 0 {
			i = -i
		}
		if i >= len(x) {
			i = 2*(len(x)-1) - i
		}
		return float64(x[i])
	}
	window := f.window()
	steps := (len(x)+2*pad-f.FFT)/f.Hop + 1
	out := make([][]float64, f.FFT/2+1)
	for k := range out {
		out[k] = make([]float64, steps)
		for s := range steps {
			re, im := 0.0, 0.0
			for i, w := range window {
				v := at(s*f.Hop+i-pad) * float64(w)
				angle := -2 * math.Pi * float64(k*i%f.FFT) / float64(f.FFT)
				re += v * math.Cos(angle)
				im += v * math.Sin(angle)
			}
			out[k][s] = re*re + im*im
			if f.Magnitude {
				out[k][s] = math.Sqrt(out[k][s])
			}
		}
	}
	return out
}

// Spectra of every size are the DFT's, whatever factors the size has: 2, 4, odd ones, primes up to the bound.
func TestSpectrogramIsTheDFT(t *testing.T) {
	for _, f := range []Features{
		{}, {FFT: 512, Win: 400, Hop: 160}, {FFT: 256, Magnitude: true}, {FFT: 240, Inside: true}, {FFT: 2}, {FFT: 6, Hop: 1}, {FFT: 61 * 4}, {FFT: 61},
		{FFT: 343, Unit: true}, {FFT: 4}, {FFT: 8}, {FFT: 90, Win: 31, Hop: 7},
	} {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) {
			x := noise(1111, 3)
			full := f.withDefaults(16000)
			want := spectrumReference(x, full)
			got, info := decoded(t, Config{Rate: 16000, Channels: 1, Length: len(x), Features: &f}, Source{Bytes: floatWAV(16000, x)}, Draw{})
			if info.Samples != len(want[0]) || len(got) != len(want)*len(want[0]) {
				t.Fatalf("%d values in %d steps, want %d in %d", len(got), info.Samples, len(want)*len(want[0]), len(want[0]))
			}
			most := 0.0
			for _, row := range want {
				for _, v := range row {
					most = max(most, v)
				}
			}
			for k, row := range want {
				for s, v := range row {
					if d := math.Abs(float64(got[k*info.Samples+s]) - v); !(d <= 2e-6*most) {
						t.Fatalf("bin %d step %d: got %v, want %v", k, s, got[k*info.Samples+s], v)
					}
				}
			}
		})
	}
}

// Both layouts hold the same values, more than one channel come one by one, and what lies beyond the sample is zero.
func TestFeaturesLieWhereTheLayoutSays(t *testing.T) {
	x := noise(1600, 9)
	src := Source{Bytes: wavBytes(3, 2, 16000, 32, bytesAs(x))}
	f := &Features{Kind: Mel, Mels: 23, Log: NaturalLog}
	for _, channels := range []int{1, 2} {
		cfg := Config{Rate: 16000, Channels: channels, Length: 2000, Features: f}
		first, info := decoded(t, cfg, src, Draw{})
		cfg.Layout = TimeFirst
		last, _ := decoded(t, cfg, src, Draw{})
		op, _ := Compile(cfg)
		steps := int(op.Shape()[0])
		if steps != 11 || info.Samples != 5 || op.TimeAxis() != 0 {
			t.Fatalf("%d steps of %v, %d valid", steps, op.Shape(), info.Samples)
		}
		for s := range steps {
			for l := range channels * 23 {
				a, b := first[l*steps+s], last[s*channels*23+l]
				if a != b || (s >= info.Samples) != (a == 0) {
					t.Fatalf("step %d line %d: %v and %v", s, l, a, b)
				}
			}
		}
	}
}

// A signal too short for one spectrum is a named refusal.
func TestTooShortForASpectrumIsRefused(t *testing.T) {
	refused(t, Config{Rate: 16000, Channels: 1, Length: 1000, Features: &Features{}}, Source{Bytes: floatWAV(16000, noise(200, 1))}, CauseTooShort)
	decoded(t, Config{Rate: 16000, Channels: 1, Length: 1000, Features: &Features{}}, Source{Bytes: floatWAV(16000, noise(201, 1))}, Draw{})
	refused(t, Config{Rate: 16000, Channels: 1, Length: 1000, Features: &Features{Inside: true}}, Source{Bytes: floatWAV(16000, noise(399, 1))}, CauseTooShort)
}

// The logarithms are right to a few parts in ten million over all that a power can be, and keep their floor.
func TestLogarithmsAreAccurate(t *testing.T) {
	f := &Features{FFT: 2, Win: 2, Hop: 2, Inside: true, Magnitude: true, Log: NaturalLog}
	var x []float32
	for e := -60.0; e < 60; e += 0.37 {
		x = append(x, 0, float32(math.Exp2(e/4))) // the window is 0, 1: |X| of both bins is the second sample
	}
	cfg := Config{Rate: 16000, Channels: 1, Length: len(x), Features: f}
	got, info := decoded(t, cfg, Source{Bytes: floatWAV(16000, x)}, Draw{})
	for s := range info.Samples {
		want := math.Log(float64(x[2*s+1]) + 1e-6)
		if d := math.Abs(float64(got[s]) - want); !(d <= 4e-7*max(1, math.Abs(want))) {
			t.Fatalf("ln(%v): got %v, want %v", x[2*s+1], got[s], want)
		}
	}
	f.Log = Decibel
	got, _ = decoded(t, cfg, Source{Bytes: floatWAV(16000, x)}, Draw{})
	for s := range info.Samples {
		want := 20 * math.Log10(float64(x[2*s+1]))
		if d := math.Abs(float64(got[s]) - want); !(d <= 4e-7*max(10, math.Abs(want))) {
			t.Fatalf("dB(%v): got %v, want %v", x[2*s+1], got[s], want)
		}
	}
	f.TopDB = 20
	got, _ = decoded(t, cfg, Source{Bytes: floatWAV(16000, x)}, Draw{})
	most := got[info.Samples-1]
	for s := range info.Samples {
		if got[s] < most-20 {
			t.Fatalf("%v is more than 20 dB below %v", got[s], most)
		}
	}
}
