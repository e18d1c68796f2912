//go:build !noffmpeg

package video

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"testing"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/mux"
)

const lostWidth, lostHeight, lostFrames = 64, 48, 36

// movement is a picture of a film in which all moves, so that one that is missing is seen.
func movement(n int) []byte {
	out := make([]byte, 0, lostWidth*lostHeight*3)
	for y := range lostHeight {
		for x := range lostWidth {
			v := 128 + 60*math.Sin(float64(x+3*n)/9) + 50*math.Cos(float64(y-2*n)/7)
			out = append(out, byte(v), byte(255-v), byte(v/2))
		}
	}
	return out
}

// film is a moving one of H.264, made with x264's options.
func film(t *testing.T, options map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "film.mp4")
	m, err := mux.Create(path, mux.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Abort()
	track, err := m.AddVideo(mux.Video{Codec: "libx264", Width: lostWidth, Height: lostHeight, Rate: mux.Rational{Num: 24, Den: 1}, Options: options})
	if err != nil {
		t.Skip(err) // of an FFmpeg without the encoder
	}
	for n := range lostFrames {
		if err := track.Write(movement(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// without copies a film but for the packets that are lost, counted from 0 in the order in which they are decoded.
func without(t *testing.T, path, ending string, lost ...int) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "lost."+ending)
	in, err := mux.OpenInput(mux.Source{Path: path}, mux.KindVideo)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	m, err := mux.Create(to, mux.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Abort()
	track, err := m.AddCopy(in, mux.Copy{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		p, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(lost) > 0 && i == lost[0] {
			lost = lost[1:]
			continue
		}
		if err := track.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}

// Where packets of H.264 are missing a frame is that of decoding all, whichever are asked for: what a decoder shows in the place of a missing picture
// hangs on all that it has had.
func TestAFrameBesideMissingPacketsIsThatOfDecodingAll(t *testing.T) {
	for _, test := range []struct {
		name, ending string
		options      map[string]string
		threads      int
	}{
		{"closed groups", "mp4", map[string]string{"g": "18", "bf": "2", "sc_threshold": "0"}, 1},
		{"closed groups, several threads", "mkv", map[string]string{"g": "18", "bf": "2", "sc_threshold": "0"}, 3},
		{"open groups", "mp4", map[string]string{"g": "12", "bf": "3", "sc_threshold": "0", "x264-params": "open-gop=1"}, 1},
		{"B-frames that are referred to", "ts", map[string]string{"g": "18", "bf": "3", "b-pyramid": "normal", "sc_threshold": "0"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := film(t, test.options)
			all := Config{Image: media.Config{Out: media.Size{H: lostHeight, W: lostWidth}}, Frames: lostFrames, Threads: test.threads}
			one := all
			one.Frames = 1
			for lost := 1; lost < lostFrames; lost += 3 {
				cut := Source{Path: without(t, path, test.ending, lost, lost+7)}
				want, err := decode(t, all, cut, Draw{})
				if err != nil {
					if causeOf(err) == "" {
						t.Errorf("without packet %d: %v", lost, err)
					}
					continue
				}
				for i := range want.info.Frames {
					one.Select = Selection{Kind: AtIndices, Indices: []int{i}}
					got, err := decode(t, one, cut, Draw{})
					if size := lostWidth * lostHeight * 3; err != nil || !bytes.Equal(got.Data, want.Data[i*size:][:size]) {
						t.Errorf("without packet %d: frame %d of %d is another (%v)", lost, i, want.info.Frames, err)
					}
				}
			}
			if t.Failed() {
				t.Log(fmt.Sprint(test.options))
			}
		})
	}
}
