//go:build !noffmpeg

package video

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"unsafe"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/tests/among"
)

// found is what PyAV finds in a file of testdata (testdata/make.py).
type found struct {
	TimeBase [2]int64 `json:"time_base"`
	PTS      []int64  `json:"pts"`
	Number   []int    `json:"number"`
	Size     [][2]int `json:"size"`
}

func (f *found) seconds(i int) float64 {
	return float64(f.PTS[i]) * float64(f.TimeBase[0]) / float64(f.TimeBase[1])
}

func golden(t *testing.T) map[string]*found {
	t.Helper()
	b, err := os.ReadFile("testdata/frames.json")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*found{}
	if err := json.Unmarshal(b, &files); err != nil {
		t.Fatal(err)
	}
	return files
}

// asStored is a row of frames as large as the file's.
func asStored(f *found, frames int, s Selection) Config {
	image := media.Config{Out: media.Size{H: f.Size[0][1], W: f.Size[0][0]}}
	if len(f.Size) > 1 {
		image.Resize = image.Out
	}
	return Config{Image: image, Frames: frames, Select: s, AsSent: true, Hardware: os.Getenv("SPDL_TEST_HARDWARE")}
}

type row struct {
	Row
	info Info
	op   *Op
}

// workerOf is a worker of a new op, which the caller closes.
func workerOf(t *testing.T, cfg Config) *Worker {
	t.Helper()
	op, err := Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w, err := op.NewWorker()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func decode(t *testing.T, cfg Config, src Source, draw Draw) (row, error) {
	t.Helper()
	w := workerOf(t, cfg)
	defer w.Close()
	return decodeWith(w, src, draw)
}

func decodeWith(w *Worker, src Source, draw Draw) (row, error) {
	op := w.op
	r := row{op: op, Row: Row{make([]byte, op.RowBytes()), make([]float64, op.Frames()), make([]float64, op.Frames())}}
	for i := range r.Data {
		r.Data[i] = 0xa5
	}
	var err error
	r.info, err = w.Decode(r.Row, src, draw)
	return r, err
}

func mustDecode(t *testing.T, cfg Config, src Source, draw Draw) row {
	t.Helper()
	r, err := decode(t, cfg, src, draw)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// number reads off which frame a picture of the row is: eight blocks of black or white.
func (r *row) number(t int) int {
	s := r.op.Shape()
	h, w, frame := int(s[1]), int(s[2]), r.op.image.RowBytes()
	n, block := 0, w/8
	for bit := range 8 {
		sum, count := 0, 0
		for y := h/2 - 3; y < h/2+3; y++ {
			for x := bit*block + 2; x < (bit+1)*block-2; x++ {
				sum += int(r.Data[t*frame+(y*w+x)*3+1])
				count++
			}
		}
		if sum/count > 92 { // green is half of the number's grey, plus 40
			n |= 1 << bit
		}
	}
	return n
}

func (r *row) numbers() []int {
	out := make([]int, r.info.Frames)
	for t := range out {
		out[t] = r.number(t)
	}
	return out
}

func file(t *testing.T, name string) Source {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return Source{Bytes: b}
}

func names(files map[string]*found) []string {
	out := make([]string, 0, len(files))
	for name := range files {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// Every frame of every trap file comes in the order and at the time that an
// independent reader finds, from memory and from a path.
func TestEveryFrameIsTheIndependentReaders(t *testing.T) {
	files := golden(t)
	for _, name := range names(files) {
		f := files[name]
		for _, src := range []Source{file(t, name), {Path: filepath.Join("testdata", name)}} {
			r := mustDecode(t, asStored(f, len(f.PTS)+3, Selection{}), src, Draw{})
			if got := r.numbers(); !slices.Equal(got, f.Number) {
				t.Errorf("%s: got frames %v, want %v", name, got, f.Number)
			}
			for i := range f.PTS {
				if i < r.info.Frames && r.PTS[i] != f.seconds(i) && !strings.HasPrefix(name, "no_times") {
					t.Errorf("%s: frame %d at %vs, want %vs", name, i, r.PTS[i], f.seconds(i))
				}
			}
			for i, v := range r.Data[r.info.Frames*r.op.image.RowBytes():] {
				if v != 0 {
					t.Fatalf("%s: byte %d past the last frame is %d, want 0", name, i, v)
				}
			}
		}
	}
}

// Each single frame, decoded alone, has the bytes that it has among all.
func TestAFrameAloneIsTheFrameAmongAll(t *testing.T) {
	files := golden(t)
	for _, name := range names(files) {
		f, src := files[name], file(t, name)
		all := mustDecode(t, asStored(f, len(f.PTS), Selection{}), src, Draw{})
		frame := all.op.image.RowBytes()
		for i := range f.PTS {
			one := mustDecode(t, asStored(f, 1, Selection{Kind: AtIndices, Indices: []int{i}}), src, Draw{})
			if !slices.Equal(one.Data, all.Data[i*frame:(i+1)*frame]) {
				t.Errorf("%s: frame %d alone differs: it shows %d", name, i, one.number(0))
			}
		}
	}
}

// Frames chosen in any order, with repeats, and read back from a path whose index is
// on disk, are those frames.
func TestChosenFramesComeInTheOrderAskedFor(t *testing.T) {
	files := golden(t)
	dir := t.TempDir()
	for _, name := range names(files) {
		f := files[name]
		n := len(f.PTS)
		indices := []int{n - 1, 0, n / 2, n / 2, -1, 1, n - 3, 2}
		want := make([]int, len(indices))
		for i, at := range indices {
			want[i] = f.Number[(at+n)%n]
		}
		cfg := asStored(f, 0, Selection{Kind: AtIndices, Indices: indices})
		path := Source{Path: filepath.Join("testdata", name)}
		memory := file(t, name)
		placed, distant := placed(t, memory.Bytes), distant(t, memory.Bytes)
		for round, src := range []Source{memory, path, placed, distant, path, path, memory, memory, placed, placed, distant, distant} {
			cfg.IndexCache, cfg.FileIndexCache = "", ""
			if round >= 4 { // made, then read
				cfg.IndexCache, cfg.FileIndexCache = dir, filepath.Join(dir, "of", "files")
			}
			r := mustDecode(t, cfg, src, Draw{})
			if got := r.numbers(); !slices.Equal(got, want) {
				t.Errorf("%s, round %d: got frames %v, want %v", name, round, got, want)
			}
		}
	}
}

// placed is a video that lies between other bytes of an open file.
func placed(t *testing.T, data []byte) Source {
	t.Helper()
	f, offset := among.Others(t, data)
	return Source{File: &av.File{FD: int(f.Fd()), Offset: offset, Size: int64(len(data)), Name: f.Name(), Version: 1}}
}

// distant is one that lies between other bytes of what only Go can read.
func distant(t *testing.T, data []byte) Source {
	t.Helper()
	f, offset := among.Others(t, data)
	return Source{File: &av.File{From: f, FD: -1, Offset: offset, Size: int64(len(data)), Name: f.Name(), Version: 1}}
}

// Only the groups that hold chosen frames are decoded.
func TestOnlyGroupsWithChosenFramesAreDecoded(t *testing.T) {
	f := golden(t)["bframes.mp4"] // 40 frames, a key frame every ten
	for _, test := range []struct{ at, most int }{{0, 1}, {10, 1}, {25, 8}, {39, 10}} {
		r := mustDecode(t, asStored(f, 1, Selection{Kind: AtIndices, Indices: []int{test.at}}), file(t, "bframes.mp4"), Draw{})
		if r.info.Decoded > test.most {
			t.Errorf("frame %d: the decoder gave %d frames, want at most %d", test.at, r.info.Decoded, test.most)
		}
	}
}

// A group that is entered at a recovery point is decoded once: what the decoder holds back at its end is pushed out, not sought from the group before.
func TestAnOpenGroupIsEnteredAtItsOwnKeyFrame(t *testing.T) {
	f := golden(t)["opengroup.mkv"] // 40 frames, a key frame every ten, none but the first an IDR picture
	for _, at := range []int{11, 13, 15, 21, 25} {
		r := mustDecode(t, asStored(f, 1, Selection{Kind: AtIndices, Indices: []int{at}}), file(t, "opengroup.mkv"), Draw{})
		if r.info.Decoded > 8 {
			t.Errorf("frame %d: the decoder gave %d frames, want at most 8", at, r.info.Decoded)
		}
	}
}

// A recording without any key frame says so; with one, its frames before that are not there (the golden files cut.*).
func TestARecordingWithoutAKeyFrameIsRefusedByName(t *testing.T) {
	b, err := os.ReadFile("testdata/cut_mpeg2.ts")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(Config{}, Source{Bytes: b[:12*188]}, Draw{})
	if causeOf(err) != "corrupt" || !strings.Contains(err.Error(), "no key frame says how large") {
		t.Errorf("got %v, want it refused", err)
	}
}

// Of AV1 only what the chosen frames are made of is decoded, whether the packets are in memory or are read from a file whose index is on disk
// (TestAFrameAloneIsTheFrameAmongAll says that the frames are the same).
func TestOfAV1OnlyWhatChosenFramesAreMadeOfIsDecoded(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name          string
		frames        []int
		decoded, most int // those that are shown; hidden ones are not counted
	}{
		{"av1.mp4", []int{9}, 1, 8},
		{"av1.mp4", []int{19}, 1, 8},
		{"layers.mp4", []int{0}, 1, 1},
		{"layers.mp4", []int{63}, 1, 4},
		{"layers.mp4", []int{99}, 1, 16},
		{"layers.mp4", []int{40, 7}, 2, 6},
		{"layers.mp4", []int{90, 91, 92, 93}, 4, 12},
	} {
		f := golden(t)[c.name]
		for _, src := range []Source{file(t, c.name), {Path: filepath.Join("testdata", c.name)}, {Path: filepath.Join("testdata", c.name)}} {
			cfg := asStored(f, len(c.frames), Selection{Kind: AtIndices, Indices: c.frames})
			cfg.IndexCache = dir
			r := mustDecode(t, cfg, src, Draw{})
			if r.info.Decoded < c.decoded || r.info.Decoded > c.most {
				t.Errorf("%s, frames %v: the decoder gave %d frames, want %d to %d", c.name, c.frames, r.info.Decoded, c.decoded, c.most)
			}
			for i, n := range c.frames {
				if got := r.number(i); got != n {
					t.Errorf("%s: frame %d shows %d", c.name, n, got)
				}
			}
		}
	}
}

// rawVideo is a YUV4MPEG2 of two frames of any bytes, or all white.
func rawVideo(w, h int, kind string, halvedX, halvedY, white bool) []byte {
	b := fmt.Appendf(nil, "YUV4MPEG2 W%d H%d F10:1 Ip A1:1 C%s\n", w, h, kind)
	cw, ch := w, h
	if halvedX {
		cw = (w + 1) / 2
	}
	if halvedY {
		ch = (h + 1) / 2
	}
	noise := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	for range 2 {
		b = append(b, "FRAME\n"...)
		for i := range w*h + 2*cw*ch {
			switch {
			case !white:
				b = append(b, byte(16+noise.IntN(220)))
			case i < w*h:
				b = append(b, 235)
			default:
				b = append(b, 128)
			}
		}
	}
	return b
}

// Frames of any width are whole to their last column, have the same bytes in every layout, and nothing is written outside of a row.
func TestEveryWidthIsWholeAndStaysInItsRow(t *testing.T) {
	const guard = 256
	for _, kind := range []struct {
		name             string
		halvedX, halvedY bool
	}{{"420jpeg", true, true}, {"422", true, false}, {"444", false, false}} {
		for w := 1; w <= 70; w++ {
			for _, h := range []int{5, 6} {
				for _, white := range []bool{true, false} {
					src := Source{Bytes: rawVideo(w, h, kind.name, kind.halvedX, kind.halvedY, white)}
					var first []byte
					for _, axes := range []Axes{THWC, TCHW} {
						for _, colour := range []Colour{Torchcodec, Accurate} {
							op, err := Compile(Config{Image: media.Config{Out: media.Size{H: h, W: w}}, Frames: 2, Axes: axes, Colour: colour})
							if err != nil {
								t.Fatal(err)
							}
							worker, err := op.NewWorker()
							if err != nil {
								t.Fatal(err)
							}
							n := op.RowBytes()
							memory := bytes.Repeat([]byte{0x5a}, n+2*guard)
							row := memory[guard : guard+n : guard+n]
							_, err = worker.Decode(Row{Data: row}, src, Draw{})
							worker.Close()
							if err != nil {
								t.Fatalf("%s, %dx%d: %v", kind.name, w, h, err)
							}
							for i, v := range memory {
								if inside := i >= guard && i < guard+n; !inside && v != 0x5a {
									t.Fatalf("%s, %dx%d, axes %d, colour %d: a byte is written %d behind the row's start of %d", kind.name, w, h, axes, colour, i-guard, n)
								} else if inside && white && v < 250 { // what swscale makes of white
									t.Fatalf("%s, %dx%d, axes %d, colour %d: byte %d of a white row is %d", kind.name, w, h, axes, colour, i-guard, v)
								}
							}
							if colour != Torchcodec {
								continue
							}
							if axes == THWC {
								first = row
								continue
							}
							for i, v := range first {
								if pixel, c := i/3, i%3; row[(pixel/(w*h)*3+c)*w*h+pixel%(w*h)] != v {
									t.Fatalf("%s, %dx%d: byte %d is another with the colours first", kind.name, w, h, i)
								}
							}
						}
					}
				}
			}
		}
	}
}

// With decoder threads the bytes are the same.
func TestThreadsDoNotChangeFrames(t *testing.T) {
	files := golden(t)
	for _, name := range names(files) {
		f := files[name]
		cfg := asStored(f, len(f.PTS), Selection{Kind: Every, Step: 3})
		one := mustDecode(t, cfg, file(t, name), Draw{})
		cfg.Threads = 4
		four := mustDecode(t, cfg, file(t, name), Draw{})
		if !slices.Equal(one.Data, four.Data) {
			t.Errorf("%s: four threads give other bytes", name)
		}
	}
}

// A worker that has seen other files and damaged ones gives the same bytes.
func TestAWorkerRemembersNothing(t *testing.T) {
	files := golden(t)
	cfg := Config{Image: media.Config{Resize: media.Square(24)}, Select: Selection{Kind: Uniform, Count: 4}}
	w := workerOf(t, cfg)
	defer w.Close()
	for _, name := range names(files) {
		fresh := mustDecode(t, cfg, file(t, name), Draw{})
		broken := file(t, name)
		for i := len(broken.Bytes) / 2; i < len(broken.Bytes); i += 7 {
			broken.Bytes[i] ^= 0x55
		}
		_, _ = decodeWith(w, broken, Draw{}) // whether it fails is another test's business
		used, err := decodeWith(w, file(t, name), Draw{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(used.Data, fresh.Data) {
			t.Errorf("%s: a used worker gives other bytes", name)
		}
	}
}

// A packet that no frame comes of shows the picture before it, whatever else is chosen.
func TestADroppedPictureShowsTheOneBefore(t *testing.T) {
	f := &found{Size: [][2]int{{64, 48}}}
	want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 14, 15, 16, 17, 18, 19}
	for _, s := range []Selection{{}, {Kind: AtIndices, Indices: []int{14}}, {Kind: AtIndices, Indices: []int{20, 14, 15, 13}}} {
		r := mustDecode(t, asStored(f, 30, s), file(t, "hole.mp4"), Draw{})
		got, expected := r.numbers(), want
		if s.Kind == AtIndices {
			expected = nil
			for _, i := range s.Indices {
				expected = append(expected, want[i])
			}
		}
		if !slices.Equal(got, expected) || r.info.Of != len(want) {
			t.Errorf("got frames %v of %d, want %v of %d", got, r.info.Of, expected, len(want))
		}
	}
}

// The end of VC-2's sequence, a packet without a picture, is no frame: 4 are PyAV's and ffprobe's.
func TestAPacketWithoutAPictureIsNoFrame(t *testing.T) {
	f := &found{Size: [][2]int{{64, 48}}}
	for _, name := range []string{"pictureless/vc2.ts", "vc2.mkv"} {
		r := mustDecode(t, asStored(f, 9, Selection{}), file(t, name), Draw{})
		if want := []int{0, 1, 2, 3}; !slices.Equal(r.numbers(), want) || r.info.Of != len(want) {
			t.Errorf("%s: frames %v of %d, want %v of %d", name, r.numbers(), r.info.Of, want, len(want))
		}
	}
}

// Vector instructions give the bytes of plain C, at odd sizes and depths too.
func TestVectorColoursArePlainCs(t *testing.T) {
	files := golden(t)
	for _, name := range names(files) {
		f, row := files[name], [2]row{}
		for i, size := range []media.Size{{}, media.Square(20)} {
			cfg := asStored(f, len(f.PTS), Selection{})
			cfg.Image.Resize, cfg.Colour = size, Accurate
			if size != (media.Size{}) {
				cfg.Image.Out = size
			} else if len(f.Size) > 1 {
				continue
			}
			for plain := range row {
				op, err := Compile(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if plain == 1 {
					op.cfg.Colour = portable
				}
				w, err := op.NewWorker()
				if err != nil {
					t.Fatal(err)
				}
				row[plain], err = decodeWith(w, file(t, name), Draw{})
				w.Close()
				if err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(row[0].Data, row[1].Data) {
				t.Errorf("%s, size %d: vectors give other bytes", name, i)
			}
		}
	}
}

func ExampleWorker_Decode() {
	op, err := Compile(Config{
		Image:  media.Config{ResizeShort: 32, Out: media.Square(32)},
		Select: Selection{Kind: Uniform, Count: 4},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	worker, err := op.NewWorker()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer worker.Close()
	row := Row{Data: make([]byte, op.RowBytes()), PTS: make([]float64, op.Frames())}
	info, err := worker.Decode(row, Source{Path: "testdata/bframes.mp4"}, Draw{})
	fmt.Println(op.Shape(), info.Frames, "of", info.Of, row.PTS, err)
	// Output: [4 32 32 3] 4 of 40 [0 0.43333333333333335 0.8666666666666667 1.3] <nil>
}

// What is drawn is drawn once for all frames of a row, colours and vertical flips, too: each is what a picture of its pixels becomes.
func TestColoursAreDrawnOncePerRow(t *testing.T) {
	files := golden(t)
	name := names(files)[0]
	f := files[name]
	plain := asStored(f, 4, Selection{Kind: Uniform, Count: 4})
	drawn := plain
	drawn.Image.Erase = &media.Erase{P: 0.5}
	drawn.Image.Steps = media.Steps(media.Chance{Of: media.VFlip, P: 0.5}, &media.Augment{Kind: media.RandAugment, Ops: 2, Magnitude: 9, Bins: 31, Interpolation: media.Nearest},
		&media.Jitter{P: 0.9, Brightness: &[2]float64{0.5, 2}, Contrast: &[2]float64{0.5, 2}, Saturation: &[2]float64{0, 3}, Hue: &[2]float64{-0.5, 0.5}},
		media.Chance{Of: media.Grayscale, P: 0.3}, &media.Blur{P: 0.5, Size: 5, Sigma: [2]float64{0.1, 2}}, media.Chance{Of: media.Autocontrast, P: 0.3}, media.Chance{Of: media.Equalize, P: 0.3},
		&media.Noise{P: 0.7, Sigma: [2]float64{0.05, 0.1}}) // in each frame another
	op, err := media.Compile(drawn.Image)
	if err != nil {
		t.Fatal(err)
	}
	w, err := media.NewWorker(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	before := mustDecode(t, plain, file(t, name), Draw{})
	width, height, n := f.Size[0][0], f.Size[0][1], before.op.image.RowBytes()
	pixels, want, flips := make([]byte, 4*width*height+media.PictureSlack), make([]byte, n), 0
	for i := range uint64(12) {
		got := mustDecode(t, drawn, file(t, name), Draw{Seed: 2, Index: i})
		for frame := range got.info.Frames {
			for at := range width * height {
				copy(pixels[4*at:], before.Data[frame*n+3*at:][:3])
			}
			info, err := w.Picture(want, &media.Picture{Pixels: unsafe.Pointer(&pixels[0]), StrideBytes: 4 * width, Width: width, Height: height, Orientation: 1}, op, media.Draw{Seed: 2, Index: i, Frame: uint32(frame)})
			if err != nil || !bytes.Equal(want, got.Data[frame*n:][:n]) {
				t.Fatalf("%s, row %d, frame %d: error %v, or other bytes than of a picture", name, i, frame, err)
			}
			if info.VFlip {
				flips++
			}
		}
	}
	if flips == 0 || flips == 12*4 {
		t.Errorf("%d of %d frames were flipped", flips, 12*4)
	}
}
