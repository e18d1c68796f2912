package audio

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

// normalReference is value i of a channel's noise by normal_isa.h's definition, in doubles.
func normalReference(key [4]uint32, channel uint32, i int) float64 {
	words := philox([4]uint32{uint32(i / 4), 0, channel, 0}, [2]uint32{key[0], key[1]})
	v, w := words[i%4/2*2], words[i%4/2*2+1]
	r := math.Sqrt(-2 * math.Log((float64(v>>8)+1)/(1<<24)))
	sin, cos := math.Sincos(2 * math.Pi * float64(w>>8) / (1 << 24))
	return r * []float64{cos, sin}[i%2]
}

// noisy is a signal with noise, and the noise alone.
func noisy(t *testing.T, cfg Config, x []float32, rate int, draw Draw) (got, added []float32) {
	t.Helper()
	cfg.Channels, cfg.Length = 1, len(x)
	got, _ = decoded(t, cfg, Source{Bytes: floatWAV(rate, x)}, draw)
	added = slices.Clone(got)
	for i := range added {
		added[i] -= x[i]
	}
	return got, added
}

func ratioDB(signal, noise []float32) float64 { return 20 * math.Log10(rms(signal)/rms(noise)) }

// White noise is Box and Muller's of words that have an address, and of it a sample gets as much as torchaudio's add_noise gives for the
// ratio that is drawn.
func TestNoiseIsAddNoiseAtTheRatioDrawn(t *testing.T) {
	for _, n := range []int{1, 3, 31, 32, 33, 5000} {
		x := noise(n, 7)
		draw := Draw{Seed: 9, Epoch: 2, Index: uint64(n)}
		got, _ := noisy(t, Config{Noise: &Noise{Low: 3, High: 17, P: 1}}, x, 16000, draw)
		_, u := draw.uniforms(drawNoise, 0)
		want, white := slices.Clone(x), make([]float64, n)
		signal, power := 0.0, 0.0
		for i := range x {
			white[i] = normalReference(draw.words(drawNoise, 1), 0, i)
			signal += float64(x[i]) * float64(x[i])
			power += white[i] * white[i]
		}
		original := 10 * (math.Log10(signal) - math.Log10(power))
		for i := range x {
			want[i] += float32(math.Pow(10, (original-(3+14*u))/20) * white[i])
		}
		compare(t, got, want, 3e-6)
	}
}

// Channels have noise of their own, each at the ratio; what is silent stays so.
func TestEachChannelHasItsNoise(t *testing.T) {
	const n = 4000
	loud, both := noise(n, 1), make([]float32, 3*n)
	for i, v := range loud {
		both[3*i], both[3*i+1] = v, 0.1*v
	}
	cfg := Config{Channels: 3, Length: n, Noise: &Noise{Low: 10, High: 10, P: 1}}
	got, _ := decoded(t, cfg, Source{Bytes: wavBytes(3, 3, 8000, 32, bytesAs(both))}, Draw{})
	first, second := slices.Clone(got[:n]), slices.Clone(got[n:2*n])
	product := 0.0
	for i, v := range loud {
		first[i] -= v
		second[i] -= 0.1 * v
		product += float64(first[i]) * float64(second[i]) / n
	}
	if a, b := ratioDB(loud, first), ratioDB(loud, second)-20; math.Abs(a-10) > 1e-3 || math.Abs(b-10) > 1e-3 {
		t.Errorf("ratios of %v and %v dB, want 10", a, b)
	}
	if c := product / rms(first) / rms(second); math.Abs(c) > 0.06 {
		t.Errorf("the channels' noises are alike by %v", c)
	}
	if peakOf(got[2*n:]) != 0 {
		t.Error("noise in a channel that is silent")
	}
}

// Noise is as normal as its first four moments say, another in each sample and epoch, and does not follow its sample's other draws.
func TestNoiseIsNormal(t *testing.T) {
	const n = 200000
	w := workerOf(t, Config{Noise: &Noise{P: 1}})
	defer w.Close()
	x := make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	src := Source{Bytes: floatWAV(8000, x)}
	at := func(d Draw) []float32 {
		wave, _, err := w.Wave(src, d)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Clone(wave.Data)
		for i := range got {
			got[i]--
		}
		return got
	}
	a := at(Draw{Seed: 1, Index: 1})
	var moment [5]float64
	for _, v := range a {
		for p := range moment {
			moment[p] += math.Pow(float64(v), float64(p)) / n
		}
	}
	if math.Abs(moment[1]) > 0.01 || math.Abs(moment[2]-1) > 0.01 || math.Abs(moment[3]) > 0.03 || math.Abs(moment[4]-3) > 0.06 {
		t.Errorf("moments %v, want about 0, 1, 0 and 3", moment[1:])
	}
	if most := peakOf(a); most < 4 || most > 6 {
		t.Errorf("the largest of %d is %v", n, most)
	}
	for _, d := range []Draw{{Seed: 1, Index: 2}, {Seed: 1, Epoch: 1, Index: 1}, {Seed: 2, Index: 1}, {Seed: 1, Index: 1 << 40}} {
		same := 0.0
		for i, v := range at(d) {
			same += float64(v) * float64(a[i]) / n
		}
		if math.Abs(same) > 0.012 {
			t.Errorf("%+v: alike by %v", d, same)
		}
	}
	if !slices.Equal(a, at(Draw{Seed: 1, Index: 1})) {
		t.Error("another noise for the same draw")
	}
}

// Colours fall by 0, 3 and 6 dB an octave, and have the ratio that is asked for.
func TestNoiseHasItsColour(t *testing.T) {
	const n, rate = 1 << 17, 16000
	x := make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	for colour, slope := range map[Colour]float64{White: 0, Pink: -3.01, Brown: -6.02} {
		_, added := noisy(t, Config{Noise: &Noise{Low: 20, High: 20, P: 1, Colour: colour}}, x, rate, Draw{Index: 3})
		if r := ratioDB(x, added); math.Abs(r-20) > 1e-3 {
			t.Errorf("colour %d: %v dB, want 20", colour, r)
		}
		f := &Features{FFT: 1024, Inside: true}
		bins, info := decoded(t, Config{Rate: rate, Channels: 1, Length: n, Features: f}, Source{Bytes: floatWAV(rate, added)}, Draw{})
		level := func(hz float64) float64 { // of a band of an eighth on either side
			sum, count := 0.0, 0
			for k := int(hz / rate * 1024 * 0.875); k <= int(hz/rate*1024*1.125); k++ {
				for s := range info.Samples {
					sum += float64(bins[k*info.Samples+s])
					count++
				}
			}
			return 10 * math.Log10(sum/float64(count))
		}
		for hz := 250.0; hz < 3000; hz *= 2 { // from 4 kHz on what a filter in steps of a sixteen-thousandth does is seen
			if got := level(2*hz) - level(hz); math.Abs(got-slope) > 0.8 {
				t.Errorf("colour %d: %v dB from %v to %v Hz, want %v", colour, got, hz, 2*hz, slope)
			}
		}
	}
}

// The gain is 10^(dB / 20) of the decibels drawn, after the level: it is not undone, and nothing is clipped but by i16.
func TestGainIsDrawnInDecibels(t *testing.T) {
	x := noise(300, 5)
	src := Source{Bytes: floatWAV(8000, x)}
	low, high := 1e9, -1e9
	for index := range uint64(200) {
		draw := Draw{Seed: 4, Index: index}
		got, _ := decoded(t, Config{Channels: 1, Length: 300, Gain: &Gain{Low: -12, High: 18, P: 1}}, src, draw)
		_, u := draw.uniforms(drawGain, 0)
		want := slices.Clone(x)
		for i := range want {
			want[i] *= float32(math.Pow(10, (-12+30*u)/20))
		}
		compare(t, got, want, 1e-6)
		db := -ratioDB(x, got)
		low, high = min(low, db), max(high, db)
	}
	if low > -11 || high < 17 {
		t.Errorf("200 samples have gains of %v to %v dB, want about -12 to 18", low, high)
	}
	got, _ := decoded(t, Config{Channels: 1, Length: 300, Normalize: Normalize{To: ToPeak, Level: 0.8}, Gain: &Gain{Low: 6, High: 6, P: 1}}, src, Draw{})
	if p := peakOf(got); math.Abs(float64(p)-0.8*math.Pow(10, 0.3)) > 1e-6 {
		t.Errorf("a peak of %v, want 0.8 and 6 dB", p)
	}
	got, _ = decoded(t, Config{Channels: 1, Length: 300, DType: tensor.I16, Gain: &Gain{Low: 40, High: 40, P: 1}}, src, Draw{})
	if slices.Max(got) != 32767 || slices.Min(got) != -32768 {
		t.Errorf("i16 from %v to %v", slices.Min(got), slices.Max(got))
	}
}

// What has a probability happens as often, and not together with what else is drawn.
func TestEffectsHappenAsOftenAsTheyShould(t *testing.T) {
	x := noise(64, 5)
	src := Source{Bytes: floatWAV(8000, x)}
	w := workerOf(t, Config{Gain: &Gain{Low: 6, High: 6, P: 0.25}, Invert: 0.5, Noise: &Noise{Low: 60, High: 60, P: 0.75}})
	defer w.Close()
	seen := map[string]int{}
	for index := range uint64(4000) {
		wave, _, err := w.Wave(src, Draw{Index: index})
		if err != nil {
			t.Fatal(err)
		}
		ratio := float64(wave.Data[10] / x[10])
		clean := slices.ContainsFunc([]float64{1, -1, 1.9952623, -1.9952623}, func(v float64) bool { return math.Abs(ratio-v) < 1e-6 })
		seen[fmt.Sprint(math.Abs(ratio) > 1.5, ratio < 0, !clean)]++
	}
	for i, gain := range []float64{0.75, 0.25} {
		for j, sign := range []float64{0.5, 0.5} {
			for k, noise := range []float64{0.25, 0.75} {
				want := 4000 * gain * sign * noise
				if n := float64(seen[fmt.Sprint(i == 1, j == 1, k == 1)]); math.Abs(n-want) > 5*math.Sqrt(want) {
					t.Errorf("gain %v, turned %v, noise %v: %v of 4000, want about %v", i == 1, j == 1, k == 1, n, want)
				}
			}
		}
	}
}

// Pre-emphasis is x[i] - c x[i-1] of the row, whose first sample stays; it comes after the level and the gain.
func TestPreEmphasisIsTorchaudios(t *testing.T) {
	x := noise(100, 6)
	want := slices.Clone(x)
	for i := 1; i < len(x); i++ {
		want[i] = x[i] - float32(float32(0.97)*x[i-1])
	}
	got, _ := decoded(t, Config{Channels: 1, Length: 120, PreEmphasis: 0.97}, Source{Bytes: floatWAV(8000, x)}, Draw{})
	compare(t, got[:100], want, 1e-7)
	if peakOf(got[100:]) != 0 {
		t.Error("something behind the end")
	}
	crop, _ := decoded(t, Config{Channels: 1, Length: 10, Crop: CropCentre, PreEmphasis: 1}, Source{Bytes: floatWAV(8000, x)}, Draw{})
	if crop[0] != x[45] || crop[1] != x[46]-x[45] {
		t.Errorf("a crop begins with %v, want %v", crop[:2], []float32{x[45], x[46] - x[45]})
	}
	both, _ := decoded(t, Config{Channels: 2, Length: 100, PreEmphasis: 0.97, Layout: TimeFirst}, Source{Bytes: floatWAV(8000, x)}, Draw{})
	for i, v := range want {
		if both[2*i] != both[2*i+1] || math.Abs(float64(both[2*i]-v)) > 1e-7 {
			t.Fatalf("frame %d of two channels: %v, want %v", i, both[2*i:][:2], v)
		}
	}
}

// Standardised rows are (x - mean) / sqrt(variance + 1e-7) over all their channels, in doubles; silence is zeros.
func TestStandardisedRowsHaveMeanZeroAndVarianceOne(t *testing.T) {
	x := noise(2*777, 8)
	for i := range x {
		x[i] = 0.01*x[i] + 0.3*float32(1-i%2)
	}
	mean, square := 0.0, 0.0
	for _, v := range x {
		mean += float64(v) / float64(len(x))
	}
	for _, v := range x {
		square += (float64(v) - mean) * (float64(v) - mean) / float64(len(x))
	}
	want := make([]float32, len(x))
	for i, v := range x {
		want[i] = float32((float64(v) - mean) / math.Sqrt(square+1e-7))
	}
	cfg := Config{Channels: 2, Length: 777, Layout: TimeFirst, Normalize: Normalize{To: ToStandard}}
	got, _ := decoded(t, cfg, Source{Bytes: wavBytes(3, 2, 8000, 32, bytesAs(x))}, Draw{})
	compare(t, got, want, 1e-6)
	silent, _ := decoded(t, Config{Channels: 1, Length: 9, Normalize: Normalize{To: ToStandard}}, Source{Bytes: floatWAV(8000, make([]float32, 9))}, Draw{})
	compare(t, silent, make([]float32, 9), 0)
}

// Two workers, on different samples before, make the same row: all that is drawn has an address.
func TestEffectsDependOnTheirDrawAlone(t *testing.T) {
	op, err := Compile(Config{
		Rate: 16000, Channels: 2, Length: 3000, Crop: CropRandom, Speed: []float64{0.9, 1, 1.1}, Noise: &Noise{High: 30, P: 0.8, Colour: Pink},
		Gain: &Gain{Low: -6, High: 6, P: 0.5}, Invert: 0.5, PreEmphasis: 0.97, Normalize: Normalize{To: ToPeak},
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := func(first, step int) [][]byte {
		w, _ := op.NewWorker()
		defer w.Close()
		all := make([][]byte, 21)
		for i := range all {
			at := (first + i*step) % len(all)
			all[at] = make([]byte, op.RowBytes())
			if _, err := w.Decode(Row{Data: all[at]}, Source{Bytes: floatWAV(16000, noise(2500+100*at, uint64(at)))}, Draw{Seed: 3, Epoch: 1, Index: uint64(at)}); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	if !slices.EqualFunc(rows(0, 1), rows(5, 4), bytes.Equal) {
		t.Error("another order, other rows")
	}
}

// Effects that cannot be are refused by their key.
func TestEffectsThatCannotBeAreRefused(t *testing.T) {
	nan := math.NaN()
	for want, cfg := range map[string]Config{
		"gain.db: got 3 to 1 dB, want low before high, from -100 to 100": {Gain: &Gain{Low: 3, High: 1}},
		"gain.db: got NaN":                        {Gain: &Gain{Low: nan}},
		"gain.p: got 2, want a probability":       {Gain: &Gain{P: 2}},
		"noise.snr_db: got -101":                  {Noise: &Noise{Low: -101}},
		"noise.p: got NaN":                        {Noise: &Noise{P: nan}},
		"noise.color: 3 is not":                   {Noise: &Noise{Colour: 3}},
		"polarity_inversion: got -1, want":        {Invert: -1},
		"pre_emphasis: got 1.1, want 0 to 1":      {PreEmphasis: 1.1},
		"normalize.to: got level 0 and dtype i16": {DType: tensor.I16, Normalize: Normalize{To: ToStandard}},
		"normalize.to: got level 1 and dtype f32": {Normalize: Normalize{To: ToStandard, Level: 1}},
	} {
		_, err := Compile(cfg)
		var config *ConfigError
		if !errors.As(err, &config) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
