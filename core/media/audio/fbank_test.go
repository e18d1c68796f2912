package audio

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// fbankReference is Kaldi's definition in doubles, [bands][frames].
func fbankReference(x []float32, rate, win, hop, mels int, low, high float64, window WindowType, scale float64) [][]float64 {
	points := 2
	for points < win {
		points *= 2
	}
	mel := func(hz float64) float64 { return 1127 * math.Log(1+hz/700) }
	out := make([][]float64, mels)
	for first := 0; first+win <= len(x); first += hop {
		mean := 0.0
		for _, v := range x[first : first+win] {
			mean += float64(v) * scale / float64(win)
		}
		frame := make([]float64, points)
		before := float64(x[first])*scale - mean
		for i := range win {
			v := float64(x[first+i])*scale - mean
			turn := math.Cos(2 * math.Pi * float64(i) / float64(win-1))
			shape := map[WindowType]float64{Povey: math.Pow(0.5-0.5*turn, 0.85), Hanning: 0.5 - 0.5*turn, Hamming: 0.54 - 0.46*turn}[window]
			frame[i] = (v - 0.97*before) * shape
			before = v
		}
		power := make([]float64, points/2)
		for k := range power {
			re, im := 0.0, 0.0
			for i, v := range frame {
				s, c := math.Sincos(-2 * math.Pi * float64(k*i%points) / float64(points))
				re, im = re+v*c, im+v*s
			}
			power[k] = re*re + im*im
		}
		step := (mel(high) - mel(low)) / float64(mels+1)
		for m := range mels {
			left := mel(low) + float64(m)*step
			sum := 0.0
			for k, p := range power {
				at := (mel(float64(k)*float64(rate)/float64(points)) - left) / step
				sum += p * max(0, min(at, 2-at))
			}
			out[m] = append(out[m], math.Log(max(sum, 1.1920928955078125e-07)))
		}
	}
	return out
}

// A filter bank is Kaldi's, at several rates, windows and sizes, of speech-like sound with an offset: within 2e-4 of a band's power and a
// thousandth of the floor, for the triangles' weights are float32.
func TestFbankIsKaldis(t *testing.T) {
	for _, c := range []struct {
		rate      int
		f         Features
		win, hop  int
		low, high float64
	}{
		{16000, Features{}, 400, 160, 20, 8000},
		{16000, Features{Int16: true, Window: Hamming, Mels: 128}, 400, 160, 20, 8000},
		{8000, Features{Mels: 23, Window: Hanning, High: 3700}, 200, 80, 20, 3700},
		{22050, Features{Low: 60, Mels: 40}, 551, 220, 60, 11025},
		{44100, Features{Win: 1024, Hop: 512}, 1024, 512, 20, 22050},
	} {
		c.f.Kind = Fbank
		t.Run(fmt.Sprintf("%d %+v", c.rate, c.f), func(t *testing.T) {
			x := noise(c.rate*9/10, 21)
			for i := range x {
				x[i] = 0.1 + 0.3*x[i]*float32(1+math.Sin(float64(i)/500))/2
			}
			scale := 1.0
			if c.f.Int16 {
				scale = 32768
			}
			full := c.f.withDefaults(c.rate)
			want := fbankReference(x, c.rate, c.win, c.hop, full.Mels, c.low, c.high, c.f.Window, scale)
			got, info := decoded(t, Config{Rate: c.rate, Channels: 1, Length: len(x), Features: &c.f}, Source{Bytes: floatWAV(c.rate, x)}, Draw{})
			if steps := len(want[0]); info.Samples != steps || len(got) != full.Mels*steps {
				t.Fatalf("%d values in %d steps, want %d in %d", len(got), info.Samples, full.Mels*steps, steps)
			}
			for m, band := range want {
				for s, v := range band {
					have, power := math.Exp(float64(got[m*info.Samples+s])), math.Exp(v)
					if !(math.Abs(have-power) <= 2e-4*power+1e-3*fbankFloor) {
						t.Fatalf("band %d step %d: got %v, want %v", m, s, got[m*info.Samples+s], v)
					}
				}
			}
		})
	}
}

// Both layouts hold the same, silence is the floor, what lies beyond a short sound is zero, and channels come one by one.
func TestFbankOfShortAndSilentSounds(t *testing.T) {
	cfg := Config{Rate: 16000, Channels: 2, Length: 16000, Features: &Features{Kind: Fbank}}
	x := noise(5000, 3)
	for i := range x {
		if i%2 == 1 {
			x[i] = 0
		}
	}
	src := Source{Bytes: wavBytes(3, 2, 16000, 32, bytesAs(x))}
	first, info := decoded(t, cfg, src, Draw{})
	cfg.Layout = TimeFirst
	last, _ := decoded(t, cfg, src, Draw{})
	const steps, bands = 98, 80
	if info.Samples != (2500-400)/160+1 || len(first) != 2*bands*steps {
		t.Fatalf("%d steps, %d values", info.Samples, len(first))
	}
	floor := float32(math.Log(1.0 / (1 << 23)))
	for s := range steps {
		for l := range 2 * bands {
			a, b := first[l*steps+s], last[s*2*bands+l]
			silent := l >= bands
			switch {
			case a != b:
				t.Fatalf("step %d line %d: %v and %v", s, l, a, b)
			case s >= info.Samples && a != 0:
				t.Fatalf("step %d line %d, beyond the sound: %v", s, l, a)
			case s < info.Samples && silent && math.Abs(float64(a-floor)) > 1e-5:
				t.Fatalf("step %d line %d, of silence: %v, want %v", s, l, a, floor)
			}
		}
	}
	short := Config{Rate: 16000, Channels: 1, Length: 16000, Features: &Features{Kind: Fbank}}
	refused(t, short, Source{Bytes: floatWAV(16000, noise(399, 1))}, CauseTooShort)
	if _, info := decoded(t, short, Source{Bytes: floatWAV(16000, noise(400, 1))}, Draw{}); info.Samples != 1 {
		t.Errorf("%d steps of one frame", info.Samples)
	}
}

// Mirrored frames are those that a sound has which goes on backwards at its ends, in turns, as often as the frame is long; there is one for each hop.
func TestMirroredFramesGoOnBackwards(t *testing.T) {
	const rate, win, hop = 16000, 400, 160
	for _, n := range []int{80, 81, 239, 240, 399, 400, 1000, 4321} {
		x := noise(n, uint64(n))
		around := append(slices.Clone(x), x...) // twice the sound is one turn
		slices.Reverse(around[n:])
		steps, wide := (n+hop/2)/hop, make([]float32, 0, n+2*win)
		for at := hop/2 - win/2; at < (steps-1)*hop+win; at++ {
			wide = append(wide, around[((at%(2*n))+2*n)%(2*n)])
		}
		features := Features{Kind: Fbank, Mirrored: true}
		got, info := decoded(t, Config{Rate: rate, Channels: 1, Length: 5000, Features: &features}, Source{Bytes: floatWAV(rate, x)}, Draw{})
		inside, of := decoded(t, Config{Rate: rate, Channels: 1, Length: 6000, Features: &Features{Kind: Fbank}}, Source{Bytes: floatWAV(rate, wide)}, Draw{})
		if info.Samples != steps || of.Samples < steps || len(got) != 80*31 {
			t.Fatalf("%d samples: %d steps of %d values, want %d", n, info.Samples, len(got), steps)
		}
		for band := range 80 {
			compare(t, got[band*31:][:steps], inside[band*36:][:steps], 0)
		}
	}
	refused(t, Config{Rate: rate, Channels: 1, Length: 5000, Features: &Features{Kind: Fbank, Mirrored: true}}, Source{Bytes: floatWAV(rate, noise(79, 1))}, CauseTooShort)
}

// Silence behind a mirrored sound fills up the row, and what is told is the sound's own steps.
func TestMirroredFramesOfSilence(t *testing.T) {
	features := Features{Kind: Fbank, Mirrored: true, Silence: true}
	row, info := decoded(t, Config{Rate: 16000, Channels: 1, Length: 4000, Features: &features}, Source{Bytes: floatWAV(16000, noise(1000, 1))}, Draw{})
	if info.Samples != 6 || len(row) != 80*25 || math.Abs(float64(row[24])-math.Log(fbankFloor)) > 1e-5 {
		t.Errorf("%d steps of %d values, the last %v", info.Samples, len(row), row[24])
	}
}

func TestFbankThatCannotBeIsRefused(t *testing.T) {
	for want, f := range map[string]Features{
		"features: window type, int16 and mirrored frames are a filter bank's; want kind fbank": {Kind: Mel, Mirrored: true},
		"features.f_min: got 9000 Hz, want 0 to less than f_max, 8000 Hz":                       {Kind: Fbank, Low: 9000},
		"features.win_length: got 1, want at least 2":                                           {Kind: Fbank, Win: 1},
	} {
		_, err := Compile(Config{Rate: 16000, Channels: 1, Length: 16000, Features: &f})
		if err == nil || err.Error() != "audio: "+want && err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
