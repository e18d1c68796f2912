//go:build !noffmpeg

package mux

import (
	"math"
	"testing"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/video"
)

// pictures are smooth, with something that moves: n of [h, w, c].
func pictures(n, w, h, c int) []byte {
	out := make([]byte, 0, n*w*h*c)
	for t := range n {
		for y := range h {
			for x := range w {
				for k := range c {
					v := 128 + 60*math.Sin(float64(x+3*t)/9+float64(k)) + 50*math.Cos(float64(y-2*t)/11)
					out = append(out, byte(v))
				}
			}
		}
	}
	return out
}

// tone is n frames of 16-bit values, as floats.
func tone(n, channels int) []float32 {
	out := make([]float32, 0, n*channels)
	for i := range n {
		for c := range channels {
			out = append(out, float32(math.Round(9000*math.Sin(float64(i)*0.05*float64(c+1))))/32768)
		}
	}
	return out
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writeVideo makes a file of one track.
func writeVideo(t *testing.T, path string, cfg Config, v Video, frames []byte) {
	t.Helper()
	m := must[*Muxer](t)(Create(path, cfg))
	defer m.Abort()
	track := must[*VideoTrack](t)(m.AddVideo(v))
	ok(t, track.Write(frames))
	ok(t, m.Close())
}

// readVideo is all frames of a file and their times.
func readVideo(t *testing.T, path string, c video.Colour) ([]byte, []float64) {
	t.Helper()
	src := video.Source{Path: path}
	index, s, err := video.Scan(src)
	ok(t, err)
	op := must[*video.Op](t)(video.Compile(video.Config{
		Image: media.Config{Out: media.Size{H: s.Height, W: s.Width}}, Frames: index.Len(), Select: video.Selection{Kind: video.All}, Colour: c,
	}))
	w := must[*video.Worker](t)(op.NewWorker())
	defer w.Close()
	row := video.Row{Data: make([]byte, op.RowBytes()), PTS: make([]float64, op.Frames()), Duration: make([]float64, op.Frames())}
	must[video.Info](t)(w.Decode(row, src, video.Draw{}))
	return row.Data, row.PTS
}
