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
		if f.Zeros && (i < 0 || i >= len(x)) {
			return 0
		}
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
		{FFT: 512, Hop: 100, Zeros: true}, {FFT: 4096, Hop: 512, Zeros: true, Magnitude: true}, {FFT: 61, Hop: 60, Zeros: true},
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

// Decibels count from their reference, or from the row's largest, and end at their floor, or top_db below the largest, whichever is higher.
func TestDecibelsHaveAReferenceAndAFloor(t *testing.T) {
	x := []float32{0, 1e-7, 0, 1e-3, 0, 0.5, 0, 2} // the window is 0, 1: |X|^2 of both bins is the second sample's square
	rows := func(f Features) []float32 {
		f.FFT, f.Win, f.Hop, f.Inside, f.Log = 2, 2, 2, true, Decibel
		got, _ := decoded(t, Config{Rate: 16000, Channels: 1, Length: len(x), Features: &f}, Source{Bytes: floatWAV(16000, x)}, Draw{})
		return got[:4]
	}
	six := float32(20 * math.Log10(2))
	for _, c := range []struct {
		f    Features
		want []float32
	}{
		{Features{}, []float32{-100, -60, -six, six}},
		{Features{OfLargest: true}, []float32{-100 - six, -60 - six, -2 * six, 0}},
		{Features{OfLargest: true, TopDB: 30}, []float32{-30, -30, -2 * six, 0}},
		{Features{OfLargest: true, Floor: 1e-4}, []float32{-40 - six, -40 - six, -2 * six, 0}},
		{Features{Reference: 100}, []float32{-120, -80, -20 - six, six - 20}},
		{Features{Reference: 1e-20, Floor: 1e-10}, []float32{0, 40, 100 - six, 100 + six}},
		{Features{Magnitude: true, Reference: 2, Floor: 1e-5}, []float32{-100 - six, -60 - six, -2 * six, 0}},
	} {
		compare(t, rows(c.f), c.want, 1e-5)
	}
}

// Bands of floats of 64 bits are librosa's filters.mel (0.11), to which these weights belong; those of 32 are torchaudio's, which differ at a triangle's foot.
func TestBandsOfDoublesAreLibrosas(t *testing.T) {
	f := Features{Kind: Mel, FFT: 2048, Mels: 128, Scale: Slaney, SlaneyNorm: true, High: 11025, Doubles: true}
	of := func(b filterbank, band int) (int32, []float32) {
		at := int32(0)
		for _, n := range b.count[:band] {
			at += n
		}
		return b.first[band], b.weight[at : at+b.count[band]]
	}
	for _, c := range []struct {
		band  int
		first int32
		want  []float32
	}{{0, 1, []float32{0.0161828529, 0.0323657058, 0.028990088, 0.0128072351}}, {1, 3, []float32{0.00977923535, 0.0259620883, 0.0353937037, 0.0192108527, 0.00302799908}}, {40, 96, []float32{0.000401402009, 0.0140937418, 0.0277860817, 0.0295276381, 0.016194718, 0.00286179688}}, {90, 363, []float32{0.000119485871, 0.00107720948, 0.00203493307, 0.00299265678, 0.00395038025, 0.00490810396, 0.00586582767, 0.00682355091, 0.00778127462, 0.00873899832, 0.00904903933, 0.00811645482, 0.0071838717, 0.00625128811, 0.00531870453, 0.00438612094, 0.00345353712, 0.00252095331, 0.00158836995, 0.000655786193}}} {
		first, got := of(f.doubleBands(22050), c.band)
		if first != c.first {
			t.Errorf("band %d begins at bin %d, want %d", c.band, first, c.first)
		}
		compare(t, got, c.want, 1e-9)
	}
}
