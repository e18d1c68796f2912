//go:build !noffmpeg

package audio

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// byBoth is what our decoder makes of a sound and what FFmpeg makes of it.
func byBoth(t *testing.T, what string, data []byte) (ours, theirs []float32, read reading) {
	t.Helper()
	w := workerOf(t, Config{})
	defer w.Close()
	a, _, err := w.Wave(Source{Bytes: data}, Draw{})
	ours, read = slices.Clone(a.Data), w.in.reading
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	origin := w.in.origin
	w.in.notOwn = true
	b, _, err := w.Wave(Source{Bytes: data}, Draw{})
	if err != nil {
		t.Fatalf("%s: FFmpeg: %v", what, err)
	}
	if math.Abs(origin-w.in.origin)*float64(b.Rate) > 0.01 {
		t.Errorf("%s: the first sample is heard at %vs, FFmpeg has %vs", what, origin, w.in.origin)
	}
	return ours, slices.Clone(b.Data), read
}

// oursIsFFmpegs says that a sound is read here and has FFmpeg's samples, but for the rounding of floats.
func oursIsFFmpegs(t *testing.T, as reading, what string, data []byte) {
	t.Helper()
	got, want, read := byBoth(t, what, data)
	if read != as {
		t.Fatalf("%s: FFmpeg read it", what)
	}
	nearFFmpegs(t, got, want)
}

func nearFFmpegs(t *testing.T, got, want []float32) {
	t.Helper()
	compare(t, got, want, 1e-5*math.Max(1, float64(peakOf(want))))
}

// Streams of all rates, windows, tables and ways to code two channels have FFmpeg's samples, but for the rounding of floats.
func TestMP3IsFFmpegs(t *testing.T) {
	for _, k := range mp3Kinds() {
		if k.hertz() == 24000 { // TestMP3Of24kHz
			continue
		}
		for name, with := range map[string]mp3With{
			"long": {}, "windows": {windows: true}, "middle": {windows: true, middle: true},
			"intensity": {windows: true, intensity: true}, "all": {true, true, true, true},
		} {
			t.Run(fmt.Sprintf("%v %s", k, name), func(t *testing.T) {
				r := rand.New(rand.NewPCG(10, uint64(k.version*10+k.rate)))
				oursIsFFmpegs(t, asMP3, k.String(), drawnMP3(r, k, 100, with))
			})
		}
	}
}

// How many samples there are, and which is the first, is what FFmpeg makes of a header's count and of LAME's delays.
func TestLengthsOfMP3AreFFmpegs(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, k := range []mp3Kind{mp3Stereo, {1, 0, true, 8, false}} {
		sound := drawnMP3(r, k, 20, mp3With{})
		for what, file := range map[string][]byte{
			"bare": sound, "counted": k.counted("Info", "LAME", 20, 576, 1000, sound), "Xing": k.counted("Xing", "Lavf", 20, 1105, 2000, sound),
			"Lavc": k.counted("Xing", "Lavc", 20, 0, 0, sound), "little padding": k.counted("Info", "LAME", 20, 576, 300, sound),
			"another encoder": k.counted("Info", "Gogo", 20, 576, 1000, sound), "not counted": k.counted("Info", "LAME", 0, 576, 1000, sound),
			"more than counted": k.counted("Info", "LAME", 19, 576, 1000, sound), "one less, behind the sound": k.counted("Info", "LAME", 21, 576, 529+1152, sound),
			"long delay": k.counted("Info", "LAME", 20, 4000, 2000, sound),
		} {
			got, want, read := byBoth(t, what, file)
			if len(got) != len(want) {
				t.Errorf("%v, %s: %d samples, FFmpeg has %d", k, what, len(got), len(want))
				continue
			}
			nearFFmpegs(t, got, want)
			if read != asMP3 && what != "more than counted" {
				t.Errorf("%v, %s: FFmpeg read it", k, what)
			}
		}
	}
}

// Of a stream that was cut out of another one, what the first frames lack is silent.
func TestMP3ThatWasCutOutOfAnother(t *testing.T) {
	for _, k := range []mp3Kind{mp3Stereo, {1, 0, false, 8, false}} {
		r := rand.New(rand.NewPCG(8, 8))
		for range 20 {
			frames := drawnFrames(r, k, 30, mp3With{reservoir: true})
			oursIsFFmpegs(t, asMP3, k.String(), slices.Concat(frames[5:]...))
		}
	}
}

// What is not as encoders write it is FFmpeg's: noise before and between frames, another rate, and a file that was cut.
func TestOddMP3IsFFmpegs(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	sound := drawnMP3(r, mp3Stereo, 20, mp3With{})
	other := drawnMP3(r, mp3Kind{0, 1, false, 14, false}, 20, mp3With{})
	w := workerOf(t, Config{Channels: 1})
	defer w.Close()
	for what, file := range map[string][]byte{
		"noise before": slices.Concat(make([]byte, 100), sound), "noise between": slices.Concat(sound, bytes.Repeat([]byte{7}, 999), sound),
		"cut": sound[:len(sound)-500], "another rate": slices.Concat(sound, other),
	} {
		for range 2 {
			got, info, err := w.Wave(Source{Bytes: file}, Draw{})
			if w.in.reading != byFFmpeg {
				t.Errorf("%s: FFmpeg was not asked: %+v, %v", what, info, err)
			}
			if what == "noise before" && (err != nil || got.Frames != 20*1152) {
				t.Errorf("%s: %d frames, %v", what, got.Frames, err)
			}
			if _, _, err := w.Wave(Source{Bytes: sound}, Draw{}); err != nil || w.in.reading != asMP3 {
				t.Errorf("after %s, a sound one: %v", what, err)
			}
		}
	}
}
