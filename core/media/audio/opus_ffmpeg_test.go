//go:build !noffmpeg

package audio

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// opusIsLibopuses says that a sound is read here and has libopus' samples, to within the rounding of floats as large as those around them: every frame is
// compared on its own, with what overlaps it.
func opusIsLibopuses(t *testing.T, what string, data []byte) {
	t.Helper()
	got, want, read := byBoth(t, what, data)
	if read != asOpus || len(got) != len(want) {
		t.Fatalf("%s: FFmpeg read it, or %d samples are %d", what, len(want), len(got))
	}
	for at := 0; at < len(want); at += opusFrame {
		end := min(at+opusFrame, len(want))
		loud := float64(peakOf(want[max(0, at-2*opusFrame):min(end+opusFrame, len(want))]))
		compare(t, got[at:end], want[at:end], 3e-6*loud+1e-9)
	}
}

// Frames of all widths, channels and sizes have the samples of the reference decoder, which FFmpeg has, but for the rounding of floats: random bytes say
// everything that a frame can say.
func TestOpusIsLibopuses(t *testing.T) {
	for _, k := range opusKinds() {
		for most := 2; most <= 1275; most = 2*most + 30 {
			t.Run(fmt.Sprintf("%v up to %d bytes", k, most), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(most), uint64(k.width*2+k.channels)))
				for range 3 {
					opusIsLibopuses(t, "drawn", k.ogg(drawnOpus(r, k, 100, most), opusFile{skip: 312, lost: r.IntN(960)}))
				}
			})
		}
	}
	opusIsLibopuses(t, "of an encoder", testdata(t, "music.ogg"))
}

// Packets of several frames, and pages that packets go on from, are FFmpeg's.
func TestPacketsOfOpusAreFFmpegs(t *testing.T) {
	for _, k := range opusKinds() {
		packets := packed(k, drawnOpus(rand.New(rand.NewPCG(12, uint64(k.width))), k, 16, 700))
		for _, f := range []opusFile{{skip: 312}, {skip: 3000, each: 2, lost: 100}, {skip: 312, each: 3, split: true, tags: 70000}} {
			opusIsLibopuses(t, fmt.Sprintf("%v %+v", k, f), k.ogg(packets, f))
		}
	}
}

// What is odd, damaged or of another kind is FFmpeg's, whatever that makes of it.
func TestOddOpusIsFFmpegs(t *testing.T) {
	files := oddOpuses()
	files["an encoder's speech"] = testdata(t, "opus.ogg")
	w := workerOf(t, Config{})
	defer w.Close()
	sounds := 0
	for what, file := range files {
		got, _, err := w.Wave(Source{Bytes: file}, Draw{})
		samples, read := slices.Clone(got.Data), w.in.reading
		w.in.notOwn = true
		want, _, want2 := w.Wave(Source{Bytes: file}, Draw{})
		if read != byFFmpeg || (err == nil) != (want2 == nil) || !slices.Equal(samples, want.Data) {
			t.Errorf("%s: %v, %v, %v", what, read, err, want2)
		}
		if err == nil {
			sounds++
		}
	}
	if sounds < 5 {
		t.Errorf("%d of %d files are sounds", sounds, len(files))
	}
}
