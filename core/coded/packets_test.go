//go:build !noffmpeg

package coded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/mux"
	"github.com/spdl/spdl/core/spec"
)

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

// frames are n pictures of 64 x 48 that differ.
func frames(n int) []byte { return pictures(n, 64, 48) }

func pictures(n, width, height int) []byte {
	out := make([]byte, 0, n*width*height*3)
	for k := range n {
		for i := range width * height * 3 {
			out = append(out, byte(128+90*math.Sin(float64(i)/700+float64(k)/3)))
		}
	}
	return out
}

// tone is [channels, n] float32 as bytes, of 16-bit values.
func tone(n, channels int) []byte {
	out := make([]float32, 0, n*channels)
	for c := range channels {
		for i := range n {
			out = append(out, float32(math.Round(9000*math.Sin(float64(i)*0.05*float64(c+1))+3000*math.Sin(float64(i*i)*1e-6)))/32768)
		}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), 4*len(out))
}

// file is a container with the tracks that are described: 4 s of pictures at 25 a second, and of sound at rate.
func file(t *testing.T, path, video, audio string, rate int) {
	t.Helper()
	m := must[*Muxing](t)(Create([]byte(`{}`), path))
	defer m.Abort()
	v, a := -1, -1
	if video != "" {
		v = must[int](t)(m.Add([]byte(fmt.Sprintf(`{"video": {"width": 64, "height": 48, "rate": 25, %s}}`, video))))
	}
	if audio != "" {
		a = must[int](t)(m.Add([]byte(fmt.Sprintf(`{"audio": {"rate": %d, "channels": 2, %s}}`, rate, audio))))
	}
	if v >= 0 {
		ok(t, m.Write(v, frames(100), nil))
	}
	if a >= 0 {
		ok(t, m.Write(a, tone(4*rate, 2), nil))
	}
	must[[]byte](t)(m.Close(nil))
}

func demuxed(t *testing.T, path, description string) *av.Packets {
	t.Helper()
	d := must[*Demuxing](t)(OpenDemuxing([]byte(description), mux.Source{Path: path}))
	defer d.Close()
	p := must[*av.Packets](t)(d.Next())
	t.Cleanup(p.Close)
	if _, err := d.Next(); err != io.EOF {
		t.Fatalf("after the only piece: %v", err)
	}
	return p
}

// Packets of an address are those of the file; what cannot be read is named.
func TestPacketsOfAnAddress(t *testing.T) {
	dir := t.TempDir()
	file(t, filepath.Join(dir, "a.flac"), "", `"codec": "flac"`, 16000)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	want, got := demuxed(t, filepath.Join(dir, "a.flac"), `{"audio": {}}`), demuxed(t, server.URL+"/a.flac", `{"audio": {}}`)
	if got.Len() != want.Len() || !bytes.Equal(got.At(3).Bytes, want.At(3).Bytes) {
		t.Errorf("%d packets, want the file's %d", got.Len(), want.Len())
	}
	_, err := OpenDemuxing([]byte(`{"audio": {}}`), mux.Source{Path: server.URL + "/b.flac?key=secret"})
	if err == nil || !strings.Contains(err.Error(), "/b.flac?...") || !strings.Contains(err.Error(), "404") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// same says that packets decode to what the file does.
func same(t *testing.T, what string, p *av.Packets, path, ofPackets, ofFile string, bound float64) {
	t.Helper()
	want := must[*load.Media](t)(load.Load([]byte(ofFile), load.Source{Path: path}, nil))
	for range 2 { // packets may be decoded again
		got := must[*load.Media](t)(load.Load([]byte(ofPackets), load.Source{Packets: p}, nil))
		for i, w := range want.Tensors {
			g := got.Tensors[i]
			if fmt.Sprint(g.Shape) != fmt.Sprint(w.Shape) {
				t.Fatalf("%s: %s of %v, want %v", what, w.Name, g.Shape, w.Shape)
			}
			if bound == 0 && !bytes.Equal(g.Data, w.Data) {
				t.Errorf("%s: %s differs", what, w.Name)
			}
			if far := furthest(g.Data, w.Data); bound > 0 && far > bound {
				t.Errorf("%s: %s differs by %g, want at most %g", what, w.Name, far, bound)
			}
		}
	}
}

// apart is how far the packets of a file's sound may be from the file: a file of MP3, AAC or Opus is decoded here, and its packets by FFmpeg, which
// rounds elsewhere.
func apart(name string) float64 {
	if ext := filepath.Ext(name); ext == ".mp3" || ext == ".m4a" || ext == ".opus" {
		return 4e-6
	}
	return 0
}

// furthest is the largest difference of two arrays of float32.
func furthest(a, b []byte) float64 {
	x, y := unsafe.Slice((*float32)(unsafe.Pointer(&a[0])), len(a)/4), unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4)
	far := 0.0
	for i := range x {
		far = max(far, math.Abs(float64(x[i]-y[i])))
	}
	return far
}

// Packets of a video decode to the file's own frames and times, bit for bit: all of them, and those of a window, wherever key frames lie.
func TestPacketsOfAVideoDecodeToItsFrames(t *testing.T) {
	for name, video := range map[string]string{
		"a.mp4": `"codec": "libx264", "options": {"g": "12", "bf": "3"}`, "a.mkv": `"codec": "libx264", "options": {"g": "30", "x264-params": "open-gop=1"}`,
		"a.mov": `"codec": "mpeg4"`, "a.ts": `"codec": "libx264", "options": {"g": "12"}`, "a.webm": `"codec": "vp8"`, "a.avi": `"codec": "mjpeg"`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			file(t, path, video, "", 0)
			whole := demuxed(t, path, `{"video": {}}`)
			if whole.Len() != 100 || whole.Window != nil {
				t.Fatalf("%d packets", whole.Len())
			}
			same(t, "all", whole, path, `{"video": {}}`, `{"video": {}}`, 0)
			same(t, "chosen", whole, path, `{"video": {"select": {"kind": "indices", "indices": [70, 3, -1]}}}`,
				`{"video": {"select": {"kind": "indices", "indices": [70, 3, -1]}}}`, 0)
			for _, window := range []string{`{"start": "1s", "duration": "500ms"}`, `{"start": "2.93s", "duration": "40ms"}`, `{"start": "3.5s"}`, `{"start": "0s", "duration": "1s"}`, `{"start": "1.2s", "duration": "1h"}`} {
				section := fmt.Sprintf(`{"video": {"window": %s}}`, window)
				p := demuxed(t, path, section)
				same(t, window, p, path, `{"video": {}}`, section, 0)
				if p.Window == nil || p.Len() > 100 {
					t.Errorf("%s: %d packets of window %v", window, p.Len(), p.Window)
				}
			}
			if p := demuxed(t, path, `{"video": {"window": {"start": "1s", "duration": "500ms"}}}`); (name == "a.mp4" || name == "a.webm") && p.Len() > 60 {
				t.Errorf("%d packets for half a second", p.Len())
			}
		})
	}
}

// Packets of a sound decode to the file's own samples: all, and a window of it where its codec's memory is short, or to within what the codec forgets.
func TestPacketsOfASoundDecodeToItsSamples(t *testing.T) {
	for name, c := range map[string]struct {
		audio string
		rate  int
		bound float64
	}{
		"a.flac": {`"codec": "flac"`, 22050, 0}, "a.wav": {`"codec": "pcm_s16le"`, 8000, 0}, "a.m4a": {`"codec": "aac", "bit_rate": 128000, "options": {"aac_pns": "0"}`, 44100, 1e-4},
		"a.mp3": {`"codec": "libmp3lame"`, 44100, 1e-4}, "a.ogg": {`"codec": "libvorbis"`, 44100, 1e-4}, "a.opus": {`"codec": "libopus"`, 48000, 2e-2},
		"a.mka": {`"codec": "libopus"`, 48000, 0}, "a.mp4": {`"codec": "alac"`, 44100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			file(t, path, "", c.audio, c.rate)
			whole := demuxed(t, path, `{"audio": {}}`)
			same(t, "all", whole, path, `{"audio": {}}`, `{"audio": {}}`, apart(name))
			same(t, "resampled", whole, path, `{"audio": {"rate": 16000, "channels": 1}}`, `{"audio": {"rate": 16000, "channels": 1}}`, apart(name))
			for _, window := range []string{`{"start": "1s", "duration": "250ms"}`, `{"start": "2.503s", "duration": "1.1s"}`, `{"start": "3.3s"}`, `{"start": "0s", "duration": "100ms"}`} {
				section := fmt.Sprintf(`{"audio": {"window": %s}}`, window)
				p := demuxed(t, path, section)
				same(t, window, p, path, `{"audio": {}}`, section, c.bound)
				if p.Len() >= whole.Len() && name != "a.mka" { // whose clock is coarser than samples
					t.Errorf("%s: %d packets of %d", window, p.Len(), whole.Len())
				}
			}
		})
	}
}

// Pieces of a stream follow one another without loss, whether counted in packets or in seconds.
func TestPiecesAreTheWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mp4")
	file(t, path, `"codec": "libx264", "options": {"g": "10"}`, `"codec": "aac"`, 16000)
	for _, kind := range []string{"video", "audio"} {
		whole := demuxed(t, path, fmt.Sprintf(`{"%s": {}}`, kind))
		for _, piece := range []string{`"packets": 7`, `"length": "300ms"`, `"packets": 1`, `"length": "1h"`} {
			d := must[*Demuxing](t)(OpenDemuxing([]byte(fmt.Sprintf(`{"%s": {%s}}`, kind, piece)), mux.Source{Path: path}))
			n := 0
			for {
				p, err := d.Next()
				if err == io.EOF {
					break
				}
				ok(t, err)
				for i := range p.Len() {
					if g, w := p.At(i), whole.At(n); !bytes.Equal(g.Bytes, w.Bytes) || g.PTS != w.PTS || g.Key != w.Key {
						t.Fatalf("%s in %s: packet %d differs", kind, piece, n)
					}
					n++
				}
				p.Close()
			}
			d.Close()
			if n != whole.Len() {
				t.Errorf("%s in %s: %d packets, want %d", kind, piece, n, whole.Len())
			}
		}
	}
}

// A slice shares the packets it was cut of and outlives them; a group of pictures decodes by itself.
func TestSliceOutlivesItsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mp4")
	file(t, path, `"codec": "libx264", "options": {"g": "20", "keyint_min": "20", "sc_threshold": "0", "bf": "0"}`, "", 0)
	d := must[*Demuxing](t)(OpenDemuxing([]byte(`{"video": {}}`), mux.Source{Path: path}))
	whole := must[*av.Packets](t)(d.Next())
	part := must[*av.Packets](t)(whole.Slice(40, 60))
	defer part.Close()
	d.Close()
	whole.Close()
	got := must[*load.Media](t)(load.Load([]byte(`{"video": {}}`), load.Source{Packets: part}, nil))
	want := must[*load.Media](t)(load.Load([]byte(`{"video": {"window": {"start": "1.6s", "duration": "800ms"}}}`), load.Source{Path: path}, nil))
	if len(got.Tensors[0].Data) != 20*64*48*3 || !bytes.Equal(got.Tensors[0].Data, want.Tensors[0].Data) {
		t.Errorf("%d bytes of another clip", len(got.Tensors[0].Data))
	}
}

// What is known of a stream is told without decoding it.
func TestStreamsAreDescribed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mp4")
	file(t, path, `"codec": "libx264"`, `"codec": "aac"`, 16000)
	for kind, want := range map[string]av.Codec{
		"video": {Kind: "video", Name: "h264", Width: 64, Height: 48, PixelFormat: "yuv420p", FrameRate: [2]int{25, 1}, Stream: 0},
		"audio": {Kind: "audio", Name: "aac", SampleRate: 16000, Channels: 2, SampleFormat: "fltp", ChannelLayout: "stereo", Stream: 1},
	} {
		d := must[*Demuxing](t)(OpenDemuxing([]byte(fmt.Sprintf(`{"%s": {}}`, kind)), mux.Source{Path: path}))
		defer d.Close()
		p := must[*av.Packets](t)(d.Stream())
		defer p.Close()
		got := p.Codec()
		want.Container, want.TimeBase, want.BitRate, want.SampleAspectRatio = got.Container, got.TimeBase, got.BitRate, got.SampleAspectRatio
		if got != want || p.Len() != 0 || got.TimeBase[1] < 25 || got.BitRate <= 0 {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if _, err := load.Load([]byte(fmt.Sprintf(`{"%s": {}}`, kind)), load.Source{Packets: p}, nil); err == nil {
			t.Errorf("no packets were decoded")
		}
	}
}

func TestDemuxingRefusesWhatMakesNoSense(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mp4")
	file(t, path, `"codec": "libx264"`, "", 0)
	for description, want := range map[string]string{
		`{}`:                            "want one of video, audio",
		`{"video": {}, "audio": {}}`:    "want one of video, audio",
		`{"vidoe": {}}`:                 `vidoe: unknown key; did you mean "video"?`,
		`{"video": {}, "packets": 50}`:  `packets: unknown key here; it belongs inside a section`,
		`{"video": {"packest": 3}}`:     `did you mean "packets"`,
		`{"video": {"packets": -1}}`:    "video.packets: got -1",
		`{"video": {"length": "-1s"}}`:  "video.length: got -1s",
		`{"video": {"stream": -1}}`:     "video.stream: got -1",
		`{"video": {"length": "soon"}}`: `got text "soon", want a time such as "1.5s"`,
		`{"video": {"length": 3}}`:      `got 3, want a time such as "1.5s"`,
		`{"video": {"window": {"start": "1s", "duration": "0s"}}}`: "video.window.duration: got 0s",
		`{"video": {"window": {"start": "1s"}, "packets": 2}}`:     "comes in one piece",
		`nonsense`:                              `got text "nonsense", want a mapping of video, audio`,
		``:                                      "description: is empty, want video, audio",
		`{"video": {}} {}`:                      "got more after the description, want one JSON object",
		`{"VIDEO": {}}`:                         `VIDEO: unknown key; did you mean "video"?`,
		`{"video": []}`:                         "video: got an empty list, want a mapping of stream, window",
		`{"video": {"stream": 1, "stream": 2}}`: "video.stream: given twice; keep one",
	} {
		_, err := OpenDemuxing([]byte(description), mux.Source{Path: path})
		var described *spec.Error
		if !errors.As(err, &described) || !bytes.Contains([]byte(err.Error()), []byte(want)) {
			t.Errorf("%s: error %v, want %s", description, err, want)
		}
	}
	for description, cause := range map[string]string{`{"audio": {}}`: av.CauseNoStream, `{"audio": {"stream": 0}}`: av.CauseNoStream, `{"video": {"stream": 9}}`: av.CauseNoStream} {
		_, err := OpenDemuxing([]byte(description), mux.Source{Path: path})
		var e *av.Error
		if !errors.As(err, &e) || e.Cause() != cause {
			t.Errorf("%s: error %v, want cause %s", description, err, cause)
		}
	}
	if _, err := OpenDemuxing([]byte(`{"video": {}}`), mux.Source{Path: path + "0"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	p := demuxed(t, path, `{"video": {}}`)
	for description, want := range map[string]string{`{"audio": {}}`: "the packets are of another kind", `{"image": {}}`: "want video or audio", `{"npy": {}}`: "npy"} {
		if _, err := load.Load([]byte(description), load.Source{Packets: p}, nil); err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
			t.Errorf("%s: error %v, want %s", description, err, want)
		}
	}
}

// sameWindows holds the packets of windows, wherever in a file they lie, to the frames that the file itself gives of them, bit for bit.
func sameWindows(t *testing.T, path string, step int, lengths ...int) {
	t.Helper()
	name := filepath.Base(path)
	whole := must[*load.Media](t)(load.Load([]byte(`{"video": {}}`), load.Source{Path: path}, nil))
	pts, lasts := batch.Float64s(whole.Tensors[1].Data), batch.Float64s(whole.Tensors[2].Data)
	n, compared := len(pts), 0
	for first := 0; first < n; first += step {
		for _, length := range lengths {
			last := min(first+length, n) - 1
			if lasts[first] == 0 { // never on show
				continue
			}
			from := pts[first] + 0.3*lasts[first]
			to := max(pts[last]+0.5*lasts[last], from+0.001)
			window := fmt.Sprintf(`{"video": {"window": {"start": "%.9fs", "duration": "%.9fs"}}}`, from, to-from)
			want := must[*load.Media](t)(load.Load([]byte(window), load.Source{Path: path}, nil))
			packets := demuxed(t, path, window)
			got, err := load.Load([]byte(`{"video": {}}`), load.Source{Packets: packets}, nil)
			if err != nil {
				t.Errorf("%s, frames %d to %d: %v", name, first, last, err)
			} else if !bytes.Equal(got.Tensors[0].Data, want.Tensors[0].Data) || !slices.Equal(batch.Float64s(got.Tensors[1].Data), batch.Float64s(want.Tensors[1].Data)) {
				t.Errorf("%s, frames %d to %d: %v at %v, want %v at %v", name, first, last,
					got.Tensors[0].Shape, batch.Float64s(got.Tensors[1].Data), want.Tensors[0].Shape, batch.Float64s(want.Tensors[1].Data))
			}
			compared++
		}
	}
	if compared < 6 {
		t.Errorf("%s: %d windows compared", name, compared)
	}
}

// The packets of a window give the frames that the file itself gives of it, bit for bit, of every trap file and wherever the window lies.
func TestPacketsOfAWindowAreTheFilesWindow(t *testing.T) {
	const testdata = "../media/video/testdata/"
	entries, err := os.ReadDir(testdata)
	ok(t, err)
	for _, entry := range entries {
		name := entry.Name()
		switch filepath.Ext(name) {
		case ".py", ".json", ".m4a":
			continue
		}
		switch name {
		case "pictureless":
			name = "pictureless/vc2.ts"
		case "no_frames.mp4", "two_sizes.ts": // one row has one size
			continue
		case "joined.ts": // its packets have the clocks of both recordings
			continue
		}
		sameWindows(t, testdata+name, 1, 1, 4, 9)
	}
}

// Of an intra refresh a decoder gives nothing until all is refreshed, which may take longer than from one key frame to the next.
func TestPacketsOfAnIntraRefreshBeginWherePicturesAreWhole(t *testing.T) {
	for name, params := range map[string]string{"a.mp4": "keyint=25", "a.ts": "keyint=50:bframes=0", "a.mkv": "keyint=25:ref=1", "b.mkv": "keyint=25:interlaced=1",
		"b.mp4": "keyint=10:bframes=0", "c.mkv": "keyint=16:bframes=0"} {
		path := filepath.Join(t.TempDir(), name)
		m := must[*Muxing](t)(Create([]byte(`{}`), path))
		track := must[int](t)(m.Add([]byte(fmt.Sprintf(`{"video": {"width": 320, "height": 48, "rate": 25, "codec": "libx264", "options": {"x264-params": "intra-refresh=1:%s"}}}`, params))))
		ok(t, m.Write(track, pictures(75, 320, 48), nil)) // 20 columns to refresh
		must[[]byte](t)(m.Close(nil))
		sameWindows(t, path, 3, 1, 12)
	}
}

// What is no file with a length is not demuxed, and nobody waits for who writes into a FIFO.
func TestFIFOsAndDirectoriesAreNotDemuxed(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "got a fifo, socket or device, want a regular file, or its bytes", dir: "got a directory, want a regular file"} {
		for _, description := range []string{`{"video": {}}`, `{"audio": {}}`} {
			if _, err := OpenDemuxing([]byte(description), mux.Source{Path: path}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", description, err, want)
			}
		}
	}
}
