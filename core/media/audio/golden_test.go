package audio

import (
	"encoding/binary"
	"math"
	"os"
	"testing"
)

// testdata is a file of testdata.
func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// golden reads floats that tests/exact/make_audio.py wrote.
func golden(t *testing.T, name string) []float32 {
	t.Helper()
	b := testdata(t, name+".f32")
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}

// The first channel of a signal becomes what torchaudio made of it.
func TestRowsAreTorchaudios(t *testing.T) {
	const frames = 3999
	first := Config{Select: []int{0}, Length: frames}
	for _, c := range []struct {
		name      string
		cfg       Config
		tolerance float64
	}{
		{"resample_11025", Config{Rate: 11025}, 1e-6},
		{"resample_2999", Config{Rate: 2999}, 1e-6},
		{"kaiser_16000", Config{Rate: 16000, Window: Window{Duration: 900.0 / 8000},
			Resample: Resample{Method: SincKaiser, Width: 64, Rolloff: 0.9475937167399596, Beta: 14.769656459379492}}, 1e-6},
		{"spectrogram", Config{Rate: 8000, Features: &Features{FFT: 120}}, 2e-4},
		{"mel_slaney", Config{Rate: 8000, Features: &Features{Kind: Mel, FFT: 200, Hop: 80, Mels: 24, Scale: Slaney, SlaneyNorm: true}}, 1e-6},
		{"mel_htk_db", Config{Rate: 8000, Features: &Features{Kind: Mel, FFT: 256, Mels: 40, Log: Decibel, TopDB: 80}}, 1e-4},
		{"mfcc", Config{Rate: 8000, Features: &Features{Kind: MFCC, FFT: 256, Hop: 160, Mels: 40, Coefficients: 13}}, 1e-4},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := golden(t, c.name)
			c.cfg.Select, c.cfg.Length = first.Select, frames
			if c.cfg.Features == nil {
				c.cfg.Length = len(want)
			}
			got, _ := decoded(t, c.cfg, Source{Path: "testdata/signal.wav"}, Draw{})
			compare(t, got, want, c.tolerance)
		})
	}
}

// Integrated loudness is torchaudio's, of one channel and of two.
func TestLoudnessIsTorchaudios(t *testing.T) {
	for i, want := range golden(t, "loudness") {
		op, err := Compile(Config{Channels: i + 1, Select: []int{0, 1}[:i+1]})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := op.NewWorker()
		defer w.Close()
		wave, _, err := w.Wave(Source{Path: "testdata/signal.wav"}, Draw{})
		if err != nil {
			t.Fatal(err)
		}
		for j := range wave.Data {
			wave.Data[j] *= 0.3
		}
		got, err := w.loudness(planes{wave.Data, int64(wave.Frames), int64(wave.Frames)}, i+1, wave.Rate)
		if err != nil || math.Abs(got-float64(want)) > 1e-3 {
			t.Errorf("%d channels: %v LUFS, %v; torchaudio has %v", i+1, got, err, want)
		}
	}
}
