package audio

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// plainMels are features before they are normalised, and how many steps they have.
func plainMels(t *testing.T, cfg Config, src Source) ([]float32, int) {
	t.Helper()
	f := *cfg.Features
	f.CMVN, f.Mean, f.Std = NoCMVN, nil, nil
	cfg.Features = &f
	got, info := decoded(t, cfg, src, Draw{})
	return got, info.Samples
}

// Each bin of each channel is normalised by the mean, and by the mean square, of its own steps, and not of what lies behind them.
func TestCMVNIsOfARowsOwnSteps(t *testing.T) {
	src := Source{Bytes: wavBytes(3, 2, 16000, 32, bytesAs(noise(6000, 9)))}
	for _, cmvn := range []CMVN{Mean, MeanVariance} {
		cfg := Config{Rate: 16000, Channels: 2, Length: 5000, Features: &Features{Kind: Mel, Mels: 13, Log: NaturalLog, CMVN: cmvn}}
		plain, steps := plainMels(t, cfg, src)
		got, _ := decoded(t, cfg, src, Draw{})
		capacity := len(got) / 26
		for line := range 26 {
			x := plain[line*capacity:][:steps]
			mean, square := 0.0, 0.0
			for _, v := range x {
				mean += float64(v) / float64(steps)
			}
			for _, v := range x {
				square += (float64(v) - mean) * (float64(v) - mean) / float64(steps)
			}
			want := make([]float32, capacity)
			for i, v := range x {
				want[i] = float32(float64(v) - mean)
				if cmvn == MeanVariance {
					want[i] = float32((float64(v) - mean) / math.Sqrt(square))
				}
			}
			compare(t, got[line*capacity:][:capacity], want, 1e-5)
		}
	}
}

// A bin that never changes has no variance to divide by: it becomes zeros.
func TestCMVNOfSilenceIsZeros(t *testing.T) {
	cfg := Config{Rate: 16000, Channels: 1, Length: 2000, Features: &Features{Kind: Mel, Mels: 5, Log: Decibel, CMVN: MeanVariance}}
	got, _ := decoded(t, cfg, Source{Bytes: floatWAV(16000, make([]float32, 2000))}, Draw{})
	compare(t, got, make([]float32, len(got)), 0)
}

// A data set's mean and deviation, one for all bins or one for each, are taken off and divided by.
func TestGlobalNormalisationIsByBin(t *testing.T) {
	src := Source{Bytes: wavBytes(3, 2, 16000, 32, bytesAs(noise(4000, 2)))}
	for _, c := range []struct{ mean, std []float64 }{{[]float64{-3.5}, []float64{2.25}}, {[]float64{1, -2, 3}, []float64{4}}, {[]float64{0}, []float64{1, 2, 0.125}}} {
		cfg := Config{Rate: 16000, Channels: 2, Length: 4000, Layout: TimeFirst, Features: &Features{Kind: MFCC, Mels: 20, Coefficients: 3, Mean: c.mean, Std: c.std}}
		plain, steps := plainMels(t, cfg, src)
		got, _ := decoded(t, cfg, src, Draw{})
		want := make([]float32, len(plain))
		for i, v := range plain[:6*steps] {
			bin := i % 3
			want[i] = float32((float64(v) - c.mean[bin%len(c.mean)]) / c.std[bin%len(c.std)])
		}
		compare(t, got, want, 1e-5)
	}
}

// slaneyBands are librosa's filters of Slaney's scale and norm, by their definition in doubles: [mels][bins].
func slaneyBands(rate, fft, mels int) [][]float64 {
	hz := func(mel float64) float64 {
		if mel < 15 {
			return mel * 200 / 3
		}
		return 1000 * math.Exp((mel-15)*math.Log(6.4)/27)
	}
	top := 15 + 27*math.Log(float64(rate)/2/1000)/math.Log(6.4)
	bands := make([][]float64, mels)
	for m := range bands {
		low, mid, high := hz(top*float64(m)/float64(mels+1)), hz(top*float64(m+1)/float64(mels+1)), hz(top*float64(m+2)/float64(mels+1))
		bands[m] = make([]float64, fft/2+1)
		for k := range bands[m] {
			f := float64(k) * float64(rate) / float64(fft)
			bands[m][k] = max(0, min((f-low)/(mid-low), (high-f)/(high-mid))) * 2 / (high - low)
		}
	}
	return bands
}

// Whisper's features are its own definition's: silence up to the row's length, no last step, log10, 8 below the largest, (x + 4) / 4.
func TestWhispersFeaturesAreItsDefinition(t *testing.T) {
	const length = 16000
	for _, c := range []struct{ mels, n, steps int }{{80, 9000, 57}, {128, 16000, 100}, {80, 1, 1}, {80, 160, 1}, {80, 161, 2}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			x := make([]float32, length)
			copy(x, noise(c.n, 12))
			power := spectrumReference(x, Features{FFT: 400, Win: 400, Hop: 160})
			want, most := make([]float64, c.mels*100), math.Inf(-1)
			for m, band := range slaneyBands(16000, 400, c.mels) {
				for s := range 100 {
					sum := 0.0
					for k, w := range band {
						sum += w * power[k][s]
					}
					want[m*100+s] = math.Log10(max(sum, 1e-10))
					most = max(most, want[m*100+s])
				}
			}
			for i, v := range want {
				want[i] = (max(v, most-8) + 4) / 4
			}
			cfg := Config{Rate: 16000, Channels: 1, Length: length, Features: &Features{Kind: Whisper, Mels: c.mels}}
			got, info := decoded(t, cfg, Source{Bytes: floatWAV(16000, x[:c.n])}, Draw{})
			if info.Samples != c.steps || len(got) != len(want) {
				t.Fatalf("%d values, %d steps of sound; want %d and %d", len(got), info.Samples, len(want), c.steps)
			}
			for i, v := range want {
				if d := math.Abs(float64(got[i]) - v); !(d <= 1e-4) {
					t.Fatalf("band %d step %d: got %v, want %v", i/100, i%100, got[i], v)
				}
			}
			cfg.Layout = TimeFirst
			turned, _ := decoded(t, cfg, Source{Bytes: floatWAV(16000, x[:c.n])}, Draw{})
			for i, v := range turned {
				if v != got[i%c.mels*100+i/c.mels] {
					t.Fatalf("time first: value %d is another", i)
				}
			}
		})
	}
}

// Decimal logarithms are right, with their floor.
func TestLog10OfMels(t *testing.T) {
	src := Source{Bytes: floatWAV(16000, noise(3000, 2))}
	cfg := Config{Rate: 16000, Channels: 1, Length: 3000, Features: &Features{Kind: Mel, Mels: 20}}
	plain, _ := decoded(t, cfg, src, Draw{})
	cfg.Features = &Features{Kind: Mel, Mels: 20, Log: Log10}
	got, _ := decoded(t, cfg, src, Draw{})
	want := make([]float32, len(plain))
	for i, v := range plain {
		want[i] = float32(math.Log10(float64(v)))
	}
	compare(t, got, want, 1e-6)
	got, _ = decoded(t, cfg, Source{Bytes: floatWAV(16000, make([]float32, 3000))}, Draw{})
	for i, v := range got {
		if math.Abs(float64(v)+10) > 1e-6 {
			t.Fatalf("silence: value %d is %v, want -10", i, v)
		}
	}
}

// What cannot be is refused by its key.
func TestNormalisationThatCannotBeIsRefused(t *testing.T) {
	for want, cfg := range map[string]Config{
		"features.padding: got NaN, want a finite number":                             {Features: &Features{Kind: Mel, Padding: math.NaN()}},
		"features.padding: got 1, want a finite number, or silence alone":             {Features: &Features{Kind: Mel, Padding: 1, Silence: true}},
		"features.normalize: given beside cmvn":                                       {Features: &Features{Kind: Mel, CMVN: Mean, Mean: []float64{1}, Std: []float64{1}}},
		"features.normalize.mean: got 2 values, want 1, or one for each of the 5":     {Features: &Features{Kind: Mel, Mels: 5, Mean: []float64{1, 2}, Std: []float64{1}}},
		"features.normalize.std: got 0 values":                                        {Features: &Features{Kind: Mel, Mels: 5, Mean: []float64{1}}},
		"features.normalize.std: got 0, want a finite number above 0":                 {Features: &Features{Kind: Mel, Mean: []float64{1}, Std: []float64{0}}},
		"features.normalize.mean: got NaN":                                            {Features: &Features{Kind: Mel, Mean: []float64{math.NaN()}, Std: []float64{1}}},
		"features.normalize.mean: got 3 values, want 1, or one for each of the 201":   {Features: &Features{Mean: []float64{1, 2, 3}, Std: []float64{1}}},
		"rate: got 8000 Hz with features of kind whisper, want 16000":                 {Rate: 8000, Features: &Features{Kind: Whisper}},
		"channels: got 2 with features of kind whisper, want 1":                       {Channels: 2, Features: &Features{Kind: Whisper}},
		"features: a row of 200 frames is shorter than one spectrum, which needs 201": {Channels: 1, Length: 200, Features: &Features{Kind: Whisper}},
	} {
		if cfg.Rate == 0 {
			cfg.Rate = 16000
		}
		_, err := Compile(cfg)
		var config *ConfigError
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &config) && !strings.Contains(want, "shorter") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
