package audio

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// speedReference is torchaudio's resampling with its defaults and with the filters of torchaudio.transforms, which are doubles but for the
// phase's share of a tap's place.
func speedReference(x []float32, from, to int) []float32 {
	g := gcd(from, to)
	from, to = from/g, to/g
	base := float64(min(from, to)) * 0.99
	y := make([]float32, (len(x)*to+from-1)/from)
	for j := range y {
		phase, block := j%to, j/to
		sum := 0.0
		for i, v := range x {
			t := (float64(float32(-phase)/float32(to)) + float64(i-block*from)/float64(from)) * base
			if math.Abs(t) >= 6 {
				continue
			}
			k := 1.0
			if t != 0 {
				k = math.Sin(math.Pi*t) / (math.Pi * t)
			}
			window := math.Cos(t * math.Pi / 12)
			sum += k * window * window * base / float64(from) * float64(v)
		}
		y[j] = float32(sum)
	}
	return y
}

// A sound at factor f is what torchaudio's definition gives: as if it had int(f * rate) samples a second, resampled to the row's rate.
func TestSpeedIsTorchaudiosSpeedPerturbation(t *testing.T) {
	for _, c := range []struct {
		stored, rate int // rate 0: as stored
		factor       float64
		read         int
	}{
		{16000, 16000, 0.9, 14400}, {16000, 16000, 1.1, 17600}, {16000, 0, 1.1, 17600}, {16000, 16000, 1, 16000}, {48000, 48000, 1.13, 54239}, {22050, 22050, 0.95, 20947},
		{44100, 16000, 1.1, 48510}, {22050, 16000, 0.9, 19845}, {8000, 16000, 2, 16000}, {8000, 8000, 10, 80000}, {8000, 8000, 0.1, 800},
	} {
		t.Run(fmt.Sprintf("%d to %d at %v", c.stored, c.rate, c.factor), func(t *testing.T) {
			x := noise(1500, 8)
			want := x
			to := cmp.Or(c.rate, c.stored)
			if c.read != to {
				want = speedReference(x, c.read, to)
			}
			cfg := Config{Rate: c.rate, Channels: 1, Length: len(want), Speed: []float64{c.factor}}
			got, info := decoded(t, cfg, Source{Bytes: floatWAV(c.stored, x)}, Draw{})
			compare(t, got, want, 1e-6)
			if info.Samples != len(want) || info.Rate != c.stored || info.Frames != 1500 {
				t.Errorf("%+v, want %d samples", info, len(want))
			}
		})
	}
}

// Each sample draws one of the factors, all about equally often, the same again for the same draw; and what else is drawn stays as it was.
func TestEachSampleDrawsASpeed(t *testing.T) {
	src := Source{Bytes: floatWAV(8000, noise(4000, 2))}
	w := workerOf(t, Config{Speed: []float64{0.8, 1, 1.25, 1.25}})
	defer w.Close()
	frames := func(d Draw) int {
		wave, _, err := w.Wave(src, d)
		if err != nil {
			t.Fatal(err)
		}
		return wave.Frames
	}
	seen := map[int]int{}
	for i := range uint64(400) {
		n := frames(Draw{Seed: 5, Index: i})
		seen[n]++
		if again := frames(Draw{Seed: 5, Index: i}); again != n {
			t.Fatalf("sample %d: %d frames, and then %d", i, n, again)
		}
	}
	if len(seen) != 3 || seen[5000] < 70 || seen[4000] < 70 || seen[3200] < 160 {
		t.Errorf("of 400: %v, want about 100 of 5000 and of 4000 frames and 200 of 3200", seen)
	}
	if frames(Draw{Index: 1}) == frames(Draw{Index: 1, Epoch: 1}) && frames(Draw{Index: 2}) == frames(Draw{Index: 2, Epoch: 1}) && frames(Draw{Index: 3}) == frames(Draw{Index: 3, Epoch: 1}) {
		t.Error("three samples have the speeds of the epoch before")
	}
	crop := Config{Channels: 1, Length: 1000, Crop: CropRandom}
	_, plain := decoded(t, crop, src, Draw{Seed: 3, Index: 9})
	crop.Speed = []float64{1, 1}
	_, sped := decoded(t, crop, src, Draw{Seed: 3, Index: 9})
	if plain.Start != sped.Start {
		t.Errorf("the crop begins at %d beside speeds, at %d without", sped.Start, plain.Start)
	}
}

// A crop of a sound at another speed is cut from the whole at that speed, bit for bit, and no more is read than it is made of.
func TestCropIsCutFromTheSoundAtItsSpeed(t *testing.T) {
	src := Source{Bytes: floatWAV(16000, noise(8000, 4))}
	for _, speed := range []float64{0.9, 1.1} {
		whole := workerOf(t, Config{Speed: []float64{speed}})
		wave, _, err := whole.Wave(src, Draw{})
		if err != nil {
			t.Fatal(err)
		}
		for index := range uint64(9) {
			cfg := Config{Channels: 1, Length: 500, Crop: Crop(1 + index%3), Speed: []float64{speed}}
			got, info := decoded(t, cfg, src, Draw{Index: index})
			compare(t, got, wave.Data[info.Start:][:500], 0)
			w := workerOf(t, cfg)
			j, err := w.plan(src, Draw{Index: index})
			if err != nil || j.hi-j.lo > int64(500*speed)+60 {
				t.Errorf("%v times: frames %d to %d are read for a row of 500 (%v)", speed, j.lo, j.hi, err)
			}
			w.Close()
		}
		whole.Close()
	}
}

// With every way to resample a sound gets the length that its speed says.
func TestSpeedGoesThroughEveryResampler(t *testing.T) {
	for _, method := range []Method{SincHann, SincKaiser, SWResample} {
		if method == SWResample && !haveFFmpeg {
			continue
		}
		got, info := decoded(t, Config{Rate: 16000, Channels: 1, Length: 2000, Speed: []float64{1.1}, Resample: Resample{Method: method}},
			Source{Bytes: floatWAV(16000, noise(1650, 3))}, Draw{})
		if info.Samples != 1500 || rms(got[:1500]) < 0.2 {
			t.Errorf("method %d: %+v, loud %v", method, info, rms(got[:1500]))
		}
	}
}

// Speeds beyond what can be are refused by their key, and a sound whose rate leaves nothing of them is a bad sample.
func TestSpeedsThatCannotBeAreRefused(t *testing.T) {
	for want, factors := range map[string][]float64{
		"speed.factors: got 0 at 1, want 0.1 to 10": {1, 0},
		"speed.factors: got 11 at 0":                {11},
		"speed.factors: got 17, want at most 16":    make([]float64, 17),
	} {
		_, err := Compile(Config{Speed: factors})
		var config *ConfigError
		if !errors.As(err, &config) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", factors, err, want)
		}
	}
	refused(t, Config{Channels: 1, Length: 10, Speed: []float64{0.1}}, Source{Bytes: floatWAV(9, noise(5, 1))}, CauseUnsupported)
}

// Sounds of several rates at several speeds find their filters again.
func TestEverySpeedKeepsItsFilters(t *testing.T) {
	op, err := Compile(Config{Rate: 16000, Speed: []float64{0.9, 0.95, 1.05, 1.1}})
	if err != nil {
		t.Fatal(err)
	}
	w, _ := op.NewWorker()
	defer w.Close()
	for index := range uint64(400) {
		if _, _, err := w.Wave(Source{Bytes: floatWAV(8000+1000*int(index%10), noise(50, 1))}, Draw{Index: index}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(op.banks.kept); n < 36 || n > 40 {
		t.Errorf("%d filters are kept of 40", n)
	}
}
