package audio

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// numbered is a WAV at 8 kHz, two channels, sample i of which is i + 1 in the first and -i in the second.
func numbered(n int) []byte {
	values := make([]int16, 0, 2*n)
	for i := range n {
		values = append(values, int16(i+1), int16(-i))
	}
	return wavBytes(1, 2, 8000, 16, bytesAs(values))
}

// silenced is the WAV of what numbered's sound has from one sample up to another, which may both lie outside of it.
func silenced(n, from, to int) []byte {
	values := make([]int16, 2*(to-from))
	for i := max(from, 0); i < min(to, n); i++ {
		values[2*(i-from)], values[2*(i-from)+1] = int16(i+1), int16(-i)
	}
	return wavBytes(1, 2, 8000, 16, bytesAs(values))
}

// What is heard from one moment to another is a row as of a sound that is that part, with silence where there is none, whatever becomes of it.
func TestWhatIsShownIsARowWithSilence(t *testing.T) {
	const n = 4000
	file := numbered(n)
	mel := &Features{Kind: Mel, FFT: 64, Hop: 32, Mels: 8}
	for name, cfg := range map[string]Config{
		"as it is": {Channels: 2}, "mean": {Channels: 1}, "up": {Channels: 2, Rate: 16000}, "down": {Channels: 1, Rate: 7350}, "i16": {Channels: 2, DType: 0}, "first": {Select: []int{1}},
		"start": {Channels: 2, Rate: 8000, Length: 300, Crop: CropStart}, "middle": {Channels: 2, Rate: 11025, Length: 300, Crop: CropCentre},
		"anywhere": {Channels: 2, Rate: 11025, Length: 300, Crop: CropRandom}, "level": {Channels: 1, Normalize: Normalize{To: ToStandard}},
		"mel": {Rate: 8000, Channels: 1, Length: 9000, Features: mel},
	} {
		w := workerOf(t, cfg)
		for _, part := range [][2]int{{0, n}, {100, 900}, {-400, 400}, {3700, 4500}, {-900, -100}, {-1, 0}, {n, n + 800}, {5000, 5800}, {-300, 4300}, {-1, 2}} {
			src := Source{Bytes: file, Shown: &[2]float64{float64(part[0]) / 8000, float64(part[1]) / 8000}}
			whole := Source{Bytes: silenced(n, part[0], part[1])}
			draw := Draw{Seed: 3, Index: uint64(part[1])}
			if cfg.Features != nil && part[1]-part[0] < 64 {
				continue // less than a spectrum
			}
			if cfg.Features != nil {
				row, want := make([]byte, w.op.RowBytes()), make([]byte, w.op.RowBytes())
				a, err := w.Decode(Row{Data: row}, src, draw)
				b, err2 := w.Decode(Row{Data: want}, whole, draw)
				if err != nil || err2 != nil || a.Samples != b.Samples || !bytes.Equal(row, want) {
					t.Fatalf("%s %v: %v, %v, %d and %d steps", name, part, err, err2, a.Samples, b.Samples)
				}
				continue
			}
			got, info, err := w.Wave(src, draw)
			if err != nil {
				t.Fatalf("%s %v: %v", name, part, err)
			}
			row := slices.Clone(got.Data)
			want, of, err := w.Wave(whole, draw)
			if err != nil || !slices.Equal(row, want.Data) || info.Samples != of.Samples || info.Start != of.Start {
				t.Errorf("%s %v: %+v, want %+v, %v", name, part, info, of, err)
			}
		}
		w.Close()
	}
}

// The second at which an MP4's sound begins is that of its edits, and what is shown is found by it.
func TestSoundOfAnMP4BeginsWhereItsEditsSay(t *testing.T) {
	packets := drawnAAC(rand.New(rand.NewPCG(7, 7)), aacStereo, 60, aacWith{windows: true})
	for what, c := range map[string]struct {
		edits []mp4Edit
		start float64
	}{
		"no edit": {nil, 0}, "priming": {[]mp4Edit{{100000, 1024}}, 0}, "later": {[]mp4Edit{{500, -1}, {100000, 1024}}, 0.5}, "twice later": {[]mp4Edit{{500, -1}, {250, -1}, {100000, 2112}}, 0.75},
	} {
		file := aacStereo.mp4(packets, aacFile{edits: c.edits})
		s, err := Probe(Source{Bytes: file})
		if err != nil || math.Abs(s.Start-c.start) > 1e-9 {
			t.Errorf("%s: begins at %v, want %v, %v", what, s.Start, c.start, err)
		}
		w := workerOf(t, Config{})
		all, _, err := w.Wave(Source{Bytes: file}, Draw{})
		if err != nil {
			t.Fatal(what, err)
		}
		whole := slices.Clone(all.Data[:all.Frames])
		from := c.start - 0.1
		got, _, err := w.Wave(Source{Bytes: file, Shown: &[2]float64{from, from + 0.3}}, Draw{})
		if err != nil || got.Frames != 13230 || slices.Max(got.Data[:4410]) != 0 || !slices.Equal(got.Data[4410:13230], whole[:8820]) {
			t.Errorf("%s: %d samples, %v", what, got.Frames, err)
		}
		w.Close()
	}
}

// What is no moment, or nothing of a sound, is refused with a cause, and a filter with words.
func TestWhatCannotBeShownIsRefused(t *testing.T) {
	file := numbered(100)
	w := workerOf(t, Config{})
	defer w.Close()
	for shown, cause := range map[[2]float64]string{
		{0, math.Inf(1)}: CauseOutside, {-2e9, 1}: CauseOutside, {1, 2e9}: CauseOutside, {1, 1}: CauseNoFrames, {1, 0}: CauseNoFrames, {1, 1 + 1e-5}: CauseNoFrames,
	} {
		_, _, err := w.Wave(Source{Bytes: file, Shown: &shown}, Draw{})
		var e *Error
		if !errors.As(err, &e) || e.Cause() != cause {
			t.Errorf("%v: %v, want cause %s", shown, err, cause)
		}
	}
	if _, _, err := w.Wave(Source{Bytes: file, Shown: &[2]float64{math.NaN(), 1}}, Draw{}); !hasCause(err, CauseOutside) {
		t.Error(err)
	}
	w2 := workerOf(t, Config{Channels: 2, Rate: 8000, Length: 10})
	defer w2.Close()
	if _, err := w2.Decode(Row{Data: make([]byte, w2.op.RowBytes())}, Source{Bytes: file, Shown: &[2]float64{-1e9, 1e9}}, Draw{}); !hasCause(err, CauseTooLarge) {
		t.Error(err)
	}
	if !haveFFmpeg {
		return
	}
	w3 := workerOf(t, Config{Filter: "anull"})
	defer w3.Close()
	if _, _, err := w3.Wave(Source{Bytes: file, Shown: &[2]float64{0, 1}}, Draw{}); err == nil || err.Error() != "audio: shown: what comes out of filters is on no clock; leave the filter out" {
		t.Error(err)
	}
}
