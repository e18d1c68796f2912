//go:build !noffmpeg

package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/tests/leak"
)

func graph(t *testing.T, text string) *Graph {
	t.Helper()
	g, err := OpenGraph([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

const size4x2 = "video_size=4x2:pix_fmt=gray:time_base=1/10:pixel_aspect=1/1"

// level is a 4x2 picture of one grey.
func level(v byte) []byte {
	p := make([]byte, 8)
	for i := range p {
		p[i] = v
	}
	return p
}

// all is every frame that an output has, as far as the first byte of each, with the times.
func all(t *testing.T, g *Graph, output string) (out []string) {
	t.Helper()
	for {
		m, err := g.Next(output, nil)
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		n := int(m.Tensors[0].Shape[0])
		pts := batch.Float64s(m.Tensors[1].Data)
		for i := range n {
			out = append(out, fmt.Sprintf("%d@%.1f", m.Tensors[0].Data[i*len(m.Tensors[0].Data)/n], pts[i]))
		}
	}
}

func add(t *testing.T, g *Graph, input string, data []byte, seconds ...float64) {
	t.Helper()
	if err := g.Add(input, data, seconds); err != nil {
		t.Fatal(err)
	}
}

// Frames go in at the inputs of their names, meet, and come out at each output with their times.
func TestAGraphHasSeveralInputsAndOutputs(t *testing.T) {
	g := graph(t, `{"graph": "buffer@a=`+size4x2+`[a];buffer@b=`+size4x2+`[b];[a][b]hstack,split[x][y];[x]buffersink@x;[y]vflip,buffersink@y"}`)
	add(t, g, "buffer@a", append(level(10), level(20)...), 0.5, 0.7)
	if got := all(t, g, "buffersink@x"); got != nil {
		t.Errorf("%v came out of one input", got)
	}
	add(t, g, "buffer@b", append(level(30), level(40)...), 0.5, 0.7)
	g.Flush()
	m, err := g.Next("buffersink@x", nil)
	if err != nil || fmt.Sprint(m.Tensors[0].Shape, m.Tensors[0].Data[:8]) != "2x2x8x1 [10 10 10 10 30 30 30 30]" {
		t.Fatalf("%v %v", m, err)
	}
	if got := fmt.Sprint(all(t, g, "buffersink@y")); got != "[10@0.5 20@0.7]" {
		t.Error(got)
	}
	if got := g.Info(); len(got.Inputs) != 2 || len(got.Outputs) != 2 || !strings.Contains(got.Dump, "hstack") || got.Inputs[1].Name != "buffer@b" {
		t.Errorf("%+v", got)
	}
}

// Without times frames follow one another by the input's frame rate, or a tick apart; with the names left out the only ends are meant.
func TestAGraphCountsTheFramesThatHaveNoTimes(t *testing.T) {
	for rate, want := range map[string]string{"": "[1@0.0 2@0.1 3@0.2]", ":frame_rate=5": "[1@0.0 2@0.2 3@0.4]"} {
		g := graph(t, `{"graph": "buffer=`+size4x2+rate+`,null,buffersink"}`)
		add(t, g, "", append(level(1), level(2)...))
		add(t, g, "", level(3))
		if got := fmt.Sprint(all(t, g, "")); got != want {
			t.Errorf("%q: %s, want %s", rate, got, want)
		}
	}
}

func floats(v ...float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, f := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return out
}

// Samples keep their layout, and come out as long as they went in, however long the pieces are.
func TestAGraphTakesSamplesInEveryLayout(t *testing.T) {
	const head = `{"graph": "abuffer=time_base=1/8000:sample_rate=8000:channel_layout=stereo:sample_fmt=`
	for format, want := range map[string]string{"fltp": "2x3000 f32", "flt": "3000x2 f32"} {
		g := graph(t, head+format+`,volume=2,abuffersink"}`)
		wave := make([]float32, 6000)
		for i := range wave {
			wave[i] = float32(i) / 20000
		}
		add(t, g, "", floats(wave...))
		g.Flush()
		m, err := g.Next("", nil)
		if err != nil || fmt.Sprint(m.Tensors[0].Shape, " ", m.Tensors[0].DType) != want {
			t.Fatalf("%s: %v %v", format, m, err)
		}
		for i := range wave {
			if v := math.Float32frombits(binary.LittleEndian.Uint32(m.Tensors[0].Data[4*i:])); v != wave[i]*2 {
				t.Fatalf("%s: sample %d is %g, want %g", format, i, v, wave[i]*2)
			}
		}
	}
}

// Sound becomes pictures, and sound and pictures may go through one graph.
func TestAGraphMakesPicturesOfSound(t *testing.T) {
	g := graph(t, `{"graph": "abuffer=time_base=1/8000:sample_rate=8000:channel_layout=mono:sample_fmt=fltp,asplit[a][b];[a]showwaves=s=16x8:rate=10,format=rgb24,buffersink;[b]abuffersink"}`)
	add(t, g, "", floats(make([]float32, 8000)...))
	g.Flush()
	out := g.Info().Outputs
	m, err := g.Next(out[0].Name, nil)
	if err != nil || m.Tensors[0].Name != "video" || fmt.Sprint(m.Tensors[0].Shape[1:]) != "8x16x3" || m.Tensors[0].Shape[0] < 9 {
		t.Fatalf("%v %v", m, err)
	}
	if m, err = g.Next(out[1].Name, nil); err != nil || fmt.Sprint(m.Tensors[0].Name, m.Tensors[0].Shape) != "audio1x8000" {
		t.Fatalf("%v %v", m, err)
	}
}

// Formats with smaller planes are arrays of stacked rows, and come out as they went in.
func TestAGraphHasAnArrayOfEveryPixelFormat(t *testing.T) {
	for format, want := range map[string]string{
		"rgb24": "1x4x6x3 u8", "rgba": "1x4x6x4 u8", "gray": "1x4x6x1 u8", "gray16le": "1x4x6x1 u16", "yuv444p": "1x3x4x6 u8", "gbrp": "1x3x4x6 u8",
		"yuv420p": "1x1x6x6 u8", "yuv422p": "1x1x8x6 u8", "nv12": "1x1x6x6 u8", "yuv420p10le": "1x1x6x6 u16", "grayf32le": "1x4x6x1 f32", "rgb48le": "1x4x6x3 u16",
	} {
		g := graph(t, `{"graph": "buffer=video_size=6x4:time_base=1/1:pix_fmt=`+format+`,null,buffersink"}`)
		picture := make([]byte, g.Info().Inputs[0].FrameBytes())
		for i := range picture {
			picture[i] = byte(i & 3)
		}
		add(t, g, "", picture)
		m, err := g.Next("", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(m.Tensors[0].Shape, " ", m.Tensors[0].DType); got != want || string(m.Tensors[0].Data) != string(picture) {
			t.Errorf("%s: %s, want %s with the same bytes", format, got, want)
		}
	}
}

// What no graph can be is the description's fault, by name.
func TestAGraphIsRefusedByName(t *testing.T) {
	in := "buffer=" + size4x2
	for description, want := range map[string]string{
		`{"graph": ""}`:                                         "want 1 to 4096",
		`{"graph": "hflip"}`:                                    "an input of Parsed_hflip_0 is open; want buffer=",
		`{"graph": "` + in + `,hflip"}`:                         "an output of Parsed_hflip_1 is open; want buffersink",
		`{"graph": "` + in + `,movie=a.mp4,buffersink"}`:        `got filter "movie", want one whose result`,
		`{"graph": "color=red,buffersink"}`:                     `got filter "color", want one whose result`,
		`{"graph": "` + in + `,tpad=stop=-1,buffersink"}`:       "tpad never ends",
		`{"graph": "` + in + `,scale=9000:9000,buffersink"}`:    "scale gives pictures of 9000x9000, want at most 67108864 pixels",
		`{"graph": "` + in + `,format=pal8,buffersink"}`:        "",
		`{"graph": "` + in + `,hflip,abuffersink"}`:             "",
		`{"graph": "` + in + `,format=monow,buffersink"}`:       "pictures of monow, 4x2: it has no array; put format=pix_fmts=rgb24 there",
		`{"graph": "buffer=video_size=4x2,buffersink"}`:         "",
		`{"graph": "` + in + `,buffersink", "threads": 0}`:      "threads: got 0, want a whole number from 1 to 64",
		`{"graph": "` + in + `,buffersink", "timeout": "0s"}`:   `timeout: got "0s"`,
		`{"graph": "` + in + `,buffersink", "max_bytes": 0}`:    "max_bytes: got 0",
		`{"graph": "` + in + `,buffersink", "max_pixels": -1}`:  "max_pixels: got -1",
		`{"graph": "` + in + `,buffersink", "max_frames": 1}`:   `max_frames: unknown key; valid here: graph`,
		`{"graph": "` + in + `[a];` + in + `[b];[a][b]hstack"}`: "is open; want buffersink",
	} {
		g, err := OpenGraph([]byte(description))
		var described *spec.Error
		if !errors.As(err, &described) || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%s: %v %v, want %q", description, g, err, want)
		}
	}
}

// What does not fit an input is refused before any of it goes in, and the graph is as it was.
func TestAGraphRefusesWhatDoesNotFit(t *testing.T) {
	g := graph(t, `{"graph": "buffer@a=`+size4x2+`[a];buffer@b=`+size4x2+`[b];[a][b]hstack,buffersink"}`)
	for want, err := range map[string]error{
		"got 7 bytes, want a multiple of 8: a picture of gray, 4x2": g.Add("buffer@a", make([]byte, 7), nil),
		"got 1 times for 2 frames":                                  g.Add("buffer@a", make([]byte, 16), []float64{0}),
		"got a frame at NaN s":                                      g.Add("buffer@a", make([]byte, 8), []float64{math.NaN()}),
		`got the input "", want one of buffer@a, buffer@b`:          g.Add("", make([]byte, 8), nil),
		`got the input "buffer@c", want one of buffer@a, buffer@b`:  g.Add("buffer@c", make([]byte, 8), nil),
		`got the output "x", want one of Parsed_buffersink_3`:       func() error { _, err := g.Next("x", nil); return err }(),
	} {
		var misfit *av.MismatchError
		if !errors.As(err, &misfit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	add(t, g, "buffer@a", level(1))
	add(t, g, "buffer@b", level(2))
	if got := fmt.Sprint(all(t, g, "")); got != "[1@0.0]" {
		t.Error(got)
	}
	if err := g.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := g.Add("buffer@a", level(1), nil); err == nil || !strings.Contains(err.Error(), "it was flushed; open another graph") {
		t.Error(err)
	}
}

// Times that fall are refused before a frame goes in, within a call and from one to the next, of pictures and of sounds.
func TestTimesInAGraphDoNotFall(t *testing.T) {
	g := graph(t, `{"graph": "buffer@a=`+size4x2+`,buffersink;abuffer=sample_rate=10:sample_fmt=flt:channel_layout=mono:time_base=1/10,abuffersink"}`)
	two := append(level(1), level(2)...)
	add(t, g, "buffer@a", two, 0.5, 0.5)
	input := g.Info().Inputs[1].Name
	add(t, g, input, make([]byte, 20), 3)
	for want, err := range map[string]error{
		"input buffer@a: got a time of 0.7 s after one of 0.9 s, want times that do not fall; open another graph": g.Add("buffer@a", two, []float64{0.9, 0.7}),
		"input buffer@a: got a time of 0.4 s after one of 0.5 s":                                                  g.Add("buffer@a", two, []float64{0.4, 0.7}),
		"got a time of 2 s after one of 3 s":                                                                      g.Add(input, make([]byte, 20), []float64{2}),
	} {
		var misfit *av.MismatchError
		if !errors.As(err, &misfit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	add(t, g, "buffer@a", level(3), 0.7)
	add(t, g, input, make([]byte, 20))
	if got := fmt.Sprint(all(t, g, g.Info().Outputs[0].Name)); got != "[1@0.5 2@0.5 3@0.7]" {
		t.Error(got)
	}
}

// What waits in a graph is bounded, wherever it waits; taking it, or feeding the other input, lets the graph go on with nothing lost.
func TestWhatWaitsInAGraphIsBounded(t *testing.T) {
	full := func(g *Graph, input, want string) (went int) {
		t.Helper()
		for ; went < 100000; went++ {
			if err := g.Add(input, level(byte(went)), nil); err != nil {
				var e *av.Error
				if !errors.As(err, &e) || e.Cause() != av.CauseTooMuch || !strings.Contains(err.Error(), want) {
					t.Fatalf("after %d frames: %v, want %q", went, err, want)
				}
				return went
			}
		}
		t.Fatal("nothing was refused: " + want)
		return 0
	}
	two := graph(t, `{"max_bytes": 100000, "graph": "buffer@a=`+size4x2+`[a];buffer@b=`+size4x2+`[b];[a]scale=40:20[c];[b]scale=40:20[d];[c][d]hstack,buffersink"}`)
	n := full(two, "buffer@a", "input buffer@a is ahead of buffer@b by more than the 100000 bytes")
	if n > 100000/800 {
		t.Errorf("%d frames of 800 bytes waited for the other input", n)
	}
	got := 0
	for range n {
		add(t, two, "buffer@b", level(7))
		got += len(all(t, two, ""))
	}
	if got != n {
		t.Errorf("%d frames came out, want %d", got, n)
	}
	add(t, two, "buffer@a", level(7))

	many := graph(t, `{"max_bytes": 10000, "graph": "abuffer=time_base=1/8000:sample_rate=8000:channel_layout=mono:sample_fmt=fltp,areverse,abuffersink"}`)
	if err := many.Add("", floats(make([]float32, 8000)...), nil); err == nil || !strings.Contains(err.Error(), "since a frame came out, want at most 10000") ||
		!strings.Contains(err.Error(), "(2048 of 8000 went in)") {
		t.Error(err)
	}

	kept := graph(t, `{"max_bytes": 100000, "graph": "buffer=`+size4x2+`,reverse,buffersink"}`)
	full(kept, "", "bytes went in since a frame came out, want at most 100000")

	untaken := graph(t, `{"max_bytes": 100000, "graph": "buffer=`+size4x2+`,split[x][y];[x]buffersink@x;[y]vflip,buffersink@y"}`)
	n = full(untaken, "", "output buffersink@x: ")
	if got := len(all(t, untaken, "buffersink@x")); got != n {
		t.Errorf("%d frames came out, want %d", got, n)
	}
	if got := len(all(t, untaken, "buffersink@y")); got != n {
		t.Errorf("%d frames came out of the other, want %d", got, n)
	}
	add(t, untaken, "", level(1))
}

// A graph that is opened, fed and given up with frames in it leaves no memory.
func TestGraphsLeaveNothing(t *testing.T) {
	one := func(int) {
		g, err := OpenGraph([]byte(`{"graph": "buffer@a=` + size4x2 + `[a];buffer@b=` + size4x2 + `[b];[a]split[x][y];[x][b]hstack,buffersink@m;[y]scale=400:400,buffersink@n"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		for i := range 10 {
			if err := g.Add("buffer@a", level(byte(i)), nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := OpenGraph([]byte(`{"graph": "buffer=` + size4x2 + `,scale=9000:9000,buffersink"}`)); err == nil {
			t.Fatal("a large one was taken")
		}
	}
	if err := leak.After(100, 1<<19, one); err != nil { // a graph with its frames has more than a megabyte
		t.Error(err)
	}
}
