package audio

import (
	"fmt"
	"os"
	"testing"
)

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Every pair of rates and every parameter gives what torchaudio's definition, written out whole, gives.
func TestResampleIsTheDefinition(t *testing.T) {
	for _, c := range []struct {
		from, to int
		r        Resample
	}{
		{44100, 16000, Resample{}}, {16000, 44100, Resample{}}, {48000, 16000, Resample{}}, {8000, 16000, Resample{}}, {22050, 16000, Resample{}},
		{44100, 48000, Resample{}}, {11025, 8000, Resample{Method: SincKaiser}}, {16000, 8000, Resample{Width: 64, Rolloff: 0.9475937167399596, Method: SincKaiser}},
		{48000, 44100, Resample{Width: 16, Rolloff: 0.85}}, {44100, 16001, Resample{}}, {96000, 7, Resample{Width: 2}}, {7, 96, Resample{}}, {3, 2, Resample{Width: 1}},
	} {
		t.Run(fmt.Sprintf("%d to %d %+v", c.from, c.to, c.r), func(t *testing.T) {
			x := noise(1500, uint64(c.from))
			want := resampleReference(x, c.from, c.to, c.r)
			cfg := Config{Rate: c.to, Channels: 1, Length: len(want), Resample: c.r}
			got, info := decoded(t, cfg, Source{Bytes: floatWAV(c.from, x)}, Draw{})
			compare(t, got, want, 1e-6)
			if info.Samples != len(want) {
				t.Errorf("%d frames, want %d", info.Samples, len(want))
			}
		})
	}
}

// A crop of a resampled signal is the crop of the whole signal resampled, bit for bit, wherever it lies.
func TestCropIsCutFromTheResampledSignal(t *testing.T) {
	x := noise(3000, 5)
	src := Source{Bytes: floatWAV(44100, x)}
	whole, _ := decoded(t, Config{Rate: 16000, Channels: 1, Length: 1089}, src, Draw{})
	starts := map[int64]bool{}
	for index := range uint64(64) {
		for _, crop := range []Crop{CropRandom, CropStart, CropCentre} {
			got, info := decoded(t, Config{Rate: 16000, Channels: 1, Length: 1000, Crop: crop}, src, Draw{Index: index})
			compare(t, got, whole[info.Start:info.Start+1000], 0)
			starts[info.Start] = true
		}
	}
	if len(starts) < 30 {
		t.Fatalf("only %d different crops", len(starts))
	}
}

// Channels are resampled one by one, and mixing before resampling is what the rule says.
func TestChannelsAreResampledOneByOne(t *testing.T) {
	a, b := noise(900, 1), noise(900, 2)
	both, mid := make([]float32, 0, 1800), make([]float32, 900)
	for i := range a {
		both = append(both, a[i], b[i])
		mid[i] = (a[i] + b[i]) / 2
	}
	src := Source{Bytes: wavBytes(3, 2, 44100, 32, bytesAs(both))}
	want := append(resampleReference(a, 44100, 16000, Resample{}), resampleReference(b, 44100, 16000, Resample{})...)
	got, _ := decoded(t, Config{Rate: 16000, Channels: 2, Length: len(want) / 2}, src, Draw{})
	compare(t, got, want, 1e-6)
	got, _ = decoded(t, Config{Rate: 16000, Channels: 1, Length: len(want) / 2}, src, Draw{})
	compare(t, got, resampleReference(mid, 44100, 16000, Resample{}), 1e-6)
}

// Rates without a common divisor would need filters beyond the limit: refused with the way out, not made.
func TestHugeFilterBanksAreRefused(t *testing.T) {
	err := refused(t, Config{Rate: 767999, Channels: 1, Length: 10, Crop: CropStart}, Source{Bytes: floatWAV(3000, noise(10, 1))}, CauseUnsupported)
	want := "audio: wav: unsupported: resampling 3000 to 767999 Hz needs 767999 filters of 16 taps, want at most 4194304 taps in all; take a rate with a common divisor, or swresample"
	if err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}

// However many rates come in, an Op keeps at most maxBanks filters, and a rate seen again gives the same filter.
func TestBanksAreBounded(t *testing.T) {
	s := banks{most: maxBanks}
	for rate := 8001; rate < 8100; rate++ {
		if _, err := s.get(bankOf{from: rate}, 8000, Resample{}.withDefaults()); err != nil {
			t.Fatal(err)
		}
		if len(s.kept) > maxBanks {
			t.Fatalf("%d banks kept", len(s.kept))
		}
	}
	a, _ := s.get(bankOf{from: 16000}, 8000, Resample{}.withDefaults())
	b, _ := s.get(bankOf{from: 16000}, 8000, Resample{}.withDefaults())
	if a != b {
		t.Fatal("made twice")
	}
}
