package audio

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// filesOf are sounds in files, one a WAV.
func filesOf(t *testing.T, all ...[]byte) Files {
	t.Helper()
	dir, f := t.TempDir(), Files{}
	for i, data := range all {
		f.From = append(f.From, filepath.Join(dir, fmt.Sprintf("%d.wav", i)))
		if err := os.WriteFile(f.From[i], data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// noised is x with noise behind place `from` of y, repeated, so that the ratio of energies is snr decibels.
func noised(x, y []float32, from int, snr float64) []float32 {
	signal, power := 0.0, 0.0
	for i, v := range x {
		signal += float64(v) * float64(v)
		n := float64(y[(from+i)%len(y)])
		power += n * n
	}
	by := math.Sqrt(signal / power * math.Pow(10, -snr/10))
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(float64(v) + by*float64(y[(from+i)%len(y)]))
	}
	return out
}

// The noise of a row is an excerpt of a file that is drawn, from a place that is drawn, repeated where it is shorter, at the ratio that is drawn.
func TestNoiseIsAnExcerptOfASoundThatIsDrawn(t *testing.T) {
	x, long, short := noise(1000, 1), noise(5000, 2), noise(300, 3)
	noises := [][]float32{long, short, x}
	files := filesOf(t, floatWAV(8000, long), floatWAV(8000, short), floatWAV(8000, x))
	cfg := Config{Rate: 8000, Channels: 1, Length: 1200, Noise: &Noise{Low: 5, High: 20, P: 1, Files: files}}
	seen, ends := map[int]bool{}, 0
	for index := range uint64(40) {
		draw := Draw{Seed: 3, Epoch: 1, Index: index}
		got, info := decoded(t, cfg, Source{Bytes: floatWAV(8000, x)}, draw)
		_, u := draw.uniforms(drawNoise, 0)
		which, place := draw.uniforms(drawNoise, 2)
		y := noises[int(which*3)]
		begins := len(y) - 1000 + 1
		if begins < 1 {
			begins = len(y)
			ends++
		}
		compare(t, got[:1000], noised(x, y, int(place*float64(begins)), 5+15*u), 2e-6)
		if peakOf(got[1000:]) != 0 || info.Samples != 1000 {
			t.Error("there is noise behind the sound")
		}
		seen[int(which*3)] = true
	}
	if len(seen) != 3 || ends == 0 {
		t.Errorf("drawn were %v, short ones %d times", seen, ends)
	}
}

// A noise at another rate is resampled as a sound is, and its channels become the row's.
func TestNoiseHasTheRowsRateAndChannels(t *testing.T) {
	left, right, x := noise(6000, 4), noise(6000, 5), noise(500, 6)
	both, mean := make([]float32, 0, 12000), make([]float32, 6000)
	for i := range left {
		both, mean[i] = append(both, left[i], right[i]), (left[i]+right[i])/2
	}
	stereo := filesOf(t, wavBytes(tagFloat, 2, 16000, 32, bytesAs(both)))
	draw := Draw{Index: 7}
	_, place := draw.uniforms(drawNoise, 2)
	resampled := func(y []float32) []float32 {
		z, _ := decoded(t, Config{Rate: 8000, Channels: 1, Length: 3000}, Source{Bytes: floatWAV(16000, y)}, Draw{})
		return z
	}
	from := int(place * 2501)
	for _, channels := range []int{1, 2, 3} {
		cfg := Config{Rate: 8000, Channels: channels, Length: 500, Noise: &Noise{Low: 3, High: 3, P: 1, Files: stereo}}
		got, _ := decoded(t, cfg, Source{Bytes: floatWAV(8000, x)}, draw)
		for c := range channels {
			y := mean
			if channels == 2 {
				y = [][]float32{left, right}[c]
			}
			compare(t, got[500*c:][:500], noised(x, resampled(y), from, 3), 2e-6)
		}
	}
	silent, _ := decoded(t, Config{Rate: 8000, Channels: 1, Length: 500, Noise: &Noise{P: 1, Files: stereo}}, Source{Bytes: floatWAV(8000, make([]float32, 500))}, draw)
	compare(t, silent, make([]float32, 500), 0)
}

// What of the noises is kept in memory is bounded and decides no row, be there one worker or several.
func TestWhatIsKeptOfSoundsDecidesNoRow(t *testing.T) {
	var all [][]byte
	for i := range 9 {
		all = append(all, floatWAV(8000, noise(2000+100*i, uint64(i))))
	}
	files := filesOf(t, all...)
	rows := func(kept int64, workers int) []byte {
		files.KeptBytes = kept
		op, err := Compile(Config{Rate: 8000, Channels: 1, Length: 400, Noise: &Noise{Low: 1, High: 9, P: 0.9, Files: files}, Reverb: &Reverb{P: 0.5, Files: files}})
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, 60*op.RowBytes())
		var group sync.WaitGroup
		for k := range workers {
			group.Add(1)
			go func() {
				defer group.Done()
				w, _ := op.NewWorker()
				defer w.Close()
				for i := k; i < 60; i += workers {
					row := Row{out[i*op.RowBytes():][:op.RowBytes()]}
					if _, err := w.Decode(row, Source{Bytes: floatWAV(8000, noise(400, uint64(i)))}, Draw{Seed: 1, Index: uint64(i)}); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		group.Wait()
		for _, s := range []*sounds{op.noises, op.rooms} {
			total := int64(0)
			for e := s.used.Front(); e != nil; e = e.Next() {
				total += e.Value.(*sound).size()
			}
			if s.bytes != total || total > kept || len(s.kept) != s.used.Len() || kept == 1<<20 && len(s.kept) < 6 {
				t.Errorf("%d bytes of %d sounds are kept and %d counted, want at most %d", total, len(s.kept), s.bytes, kept)
			}
		}
		return out
	}
	want := rows(1<<20, 1)
	for _, kept := range []int64{1, 20000, 1 << 20} {
		if !bytes.Equal(rows(kept, 3), want) {
			t.Errorf("with %d bytes kept there are other rows", kept)
		}
	}
}

// A noise that does not decode makes the row that drew it bad, with its cause and its name, and is read again when it is drawn again.
func TestANoiseThatDoesNotDecodeIsNamed(t *testing.T) {
	x := noise(400, 1)
	files := filesOf(t, floatWAV(8000, x)[:60])
	op, err := Compile(Config{Rate: 8000, Channels: 1, Length: 400, Noise: &Noise{P: 1, Files: files}})
	if err != nil {
		t.Fatal(err)
	}
	w, _ := op.NewWorker()
	defer w.Close()
	decode := func() error {
		_, err := w.Decode(Row{make([]byte, op.RowBytes())}, Source{Bytes: floatWAV(8000, x)}, Draw{})
		return err
	}
	var bad *Error
	if err := decode(); !errors.As(err, &bad) || bad.Cause() != CauseTruncated || !strings.Contains(err.Error(), fmt.Sprintf("%q, a sound that is mixed in: audio: ", files.From[0])) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(files.From[0], floatWAV(8000, x), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := decode(); err != nil {
		t.Errorf("mended: got %v", err)
	}
	if err := os.Remove(files.From[0]); err != nil || decode() != nil {
		t.Error("what is kept is not used")
	}
}
