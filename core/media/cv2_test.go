package media

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"
)

// foreignFilters are those that are not Pillow's.
var foreignFilters = map[string]Interpolation{"cv2_linear": CV2Linear, "cv2_nearest": CV2Nearest, "cv2_area": CV2Area, "cv2_cubic": CV2Cubic, "cv2_lanczos4": CV2Lanczos4, "torch_nearest": TorchNearest,
	"torch_bilinear": TorchBilinear, "torch_bicubic": TorchBicubic, "torch_lanczos": TorchLanczos}

// splitmix is the picture of tests/exact/shapes.py: its values channel by channel.
func splitmix(seed uint64, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		z := (uint64(i) + seed<<32) * 0x9E3779B97F4A7C15
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		out[i] = byte(z >> 56)
		if seed%3 == 0 {
			out[i] = out[i] >> 7 * 255
		}
	}
	return out
}

// resized is the row that the worker makes of pixels of that many channels.
func resized(t testing.TB, w *Worker, pixels []byte, size Size, channels int, cfg Config, draw Draw) []byte {
	t.Helper()
	if channels == 1 {
		cfg.Mode = Gray
	}
	op := compiled(t, cfg)
	rgbx := make([]byte, size.W*size.H*4+PictureSlack)
	for i := range size.W * size.H * 4 {
		rgbx[i] = pixels[i/4*channels+min(i%4, channels-1)]
	}
	row := make([]byte, op.RowBytes())
	p := Picture{Pixels: unsafe.Pointer(&rgbx[0]), StrideBytes: size.W * 4, Width: size.W, Height: size.H}
	if _, err := w.Picture(row, &p, op, draw); err != nil {
		t.Fatal(err)
	}
	return row
}

// The bytes are those of cv2.resize, whose digests tests/exact/make_cv2.py has written, on every instruction set and in both layouts.
func TestRowsAreOpenCVs(t *testing.T) { rowsAreThoseOf(t, "cv2.tsv", 500) }

// The bytes are those of torch's interpolate, of bytes and antialiased: tests/exact/make_torch.py.
func TestRowsAreTorchs(t *testing.T) { rowsAreThoseOf(t, "torch.tsv", 300) }

// rowsAreThoseOf holds rows against at least so many digests of a table.
func rowsAreThoseOf(t *testing.T, table string, least int) {
	best, portable := worker(t, nil), worker(t, &Options{Portable: true})
	lines := strings.Split(strings.TrimSpace(string(testdata(t, table))), "\n")[1:]
	for _, line := range lines {
		var name, want string
		var seed uint64
		var channels int
		var in, out Size
		if _, err := fmt.Sscan(line, &name, &seed, &channels, &in.W, &in.H, &out.W, &out.H, &want); err != nil {
			t.Fatal(err)
		}
		pixels := splitmix(seed, in.W*in.H*channels)
		for _, w := range []*Worker{best, portable} {
			cfg := Config{Resize: out, Interpolation: foreignFilters[name]}
			row := resized(t, w, pixels, in, channels, cfg, Draw{})
			if sum := sha256.Sum256(row); hex.EncodeToString(sum[:8]) != want {
				t.Errorf("%s: %s: other bytes", w.ISA(), line)
			}
			cfg.Layout = NCHW
			if planes := resized(t, w, pixels, in, channels, cfg, Draw{}); !bytes.Equal(interleaved(planes, channels), row) {
				t.Errorf("%s: %s: other bytes in planes", w.ISA(), line)
			}
		}
	}
	if len(lines) < least {
		t.Errorf("got %d lines, want all", len(lines))
	}
}

func interleaved(planes []byte, channels int) []byte {
	out, n := make([]byte, len(planes)), len(planes)/channels
	for i := range out {
		out[i] = planes[i%channels*n+i/channels]
	}
	return out
}

// cut is the part of a picture of three channels.
func cut(pixels []byte, size Size, x, y, w, h int) []byte {
	var out []byte
	for r := y; r < y+h; r++ {
		out = append(out, pixels[(r*size.W+x)*3:(r*size.W+x+w)*3]...)
	}
	return out
}

func mirrored(row []byte, width int) []byte {
	out := make([]byte, len(row))
	for i := range len(row) / 3 {
		copy(out[3*(i/width*width+width-1-i%width):], row[3*i:3*i+3])
	}
	return out
}

// Torch's nearest takes the pixel that a product of floats of 32 bits falls into, which is another one than OpenCV's where the product is all but whole.
func TestTorchsNearestPicksByFloats(t *testing.T) {
	w, others := worker(t, nil), 0
	for _, c := range [][2]Size{{{60, 90}, {50, 70}}, {{90, 60}, {300, 301}}, {{64, 64}, {64, 31}}, {{33, 41}, {53, 37}}, {{375, 500}, {50, 70}}, {{1, 7}, {9, 3}}} {
		in, out := c[0], c[1]
		pixels := splitmix(5, in.W*in.H*3)
		from := func(p, in, out int) int { return min(int(float32(p)*(float32(in)/float32(out))), in-1) }
		var want []byte
		for y := range out.H {
			for x := range out.W {
				at := 3 * (from(y, in.H, out.H)*in.W + from(x, in.W, out.W))
				want = append(want, pixels[at:at+3]...)
			}
		}
		if got := resized(t, w, pixels, in, 3, Config{Resize: out, Interpolation: TorchNearest}, Draw{}); !bytes.Equal(got, want) {
			t.Errorf("%v to %v: other pixels", in, out)
		}
		if !bytes.Equal(want, resized(t, w, pixels, in, 3, Config{Resize: out, Interpolation: CV2Nearest}, Draw{})) {
			others++
		}
	}
	if others == 0 {
		t.Error("none of the sizes tells torch's nearest from OpenCV's")
	}
}

// A crop is resized by itself: no filter sees what lies around it, as in cv2.resize(picture[y:y+h, x:x+w], size).
func TestACropSeesNothingAroundIt(t *testing.T) {
	w, in, out := worker(t, nil), Size{60, 80}, Size{33, 21}
	pixels := splitmix(7, in.W*in.H*3)
	for name, f := range foreignFilters {
		for i, box := range [][4]int{{0, 0, 80, 60}, {5, 7, 42, 33}, {79, 59, 1, 1}, {10, 3, 21, 33}, {38, 0, 42, 60}, {3, 4, 70, 5}, {2, 1, 11, 50}} {
			part := cut(pixels, in, box[0], box[1], box[2], box[3])
			want := resized(t, w, part, Size{box[3], box[2]}, 3, Config{Resize: out, Interpolation: f}, Draw{})
			draw := Draw{Replay: true, Box: Box{X: box[0], Y: box[1], W: box[2], H: box[3]}, Flip: i%2 == 1}
			if draw.Flip {
				want = mirrored(want, out.W)
			}
			if got := resized(t, w, pixels, in, 3, Config{Random: &RandomCrop{}, Out: out, Interpolation: f, Steps: Steps(Chance{Flip, 0.5})}, draw); !bytes.Equal(got, want) {
				t.Errorf("%s: box %v: other bytes than of the crop alone", name, box)
			}
		}
	}
}

// A crop of a resized picture is that part of the whole, mirrored or not, decoded in part or whole, resized ahead of a flip or as it is cropped.
func TestAPartOfAResizedPictureIsThatOfTheWhole(t *testing.T) {
	w, in := worker(t, nil), Size{150, 200}
	data := testJPEG(t, in.W, in.H)
	whole := make([]byte, in.W*in.H*3)
	if _, err := w.Row(whole, data, compiled(t, Config{Out: in}), Draw{}); err != nil {
		t.Fatal(err)
	}
	for name, f := range foreignFilters {
		for _, size := range []Size{{75, 100}, {50, 50}, {61, 77}, {150, 90}, {190, 233}, {31, 40}, {300, 400}} {
			all := resized(t, w, whole, in, 3, Config{Resize: size, Interpolation: f}, Draw{})
			out := Size{min(30, size.H-1), min(38, size.W-1)}
			x, y := int(math.RoundToEven(float64(size.W-out.W)/2)), int(math.RoundToEven(float64(size.H-out.H)/2))
			flipped, early := mirrored(cut(all, size, x, y, out.W, out.H), out.W), cut(mirrored(all, size.W), size, x, y, out.W, out.H)
			cfg := Config{Resize: size, Out: out, Interpolation: f, Steps: Steps(Chance{Flip, 1})}
			for i, want := range [][]byte{flipped, early} {
				got := make([]byte, len(want))
				if _, err := w.Row(got, data, compiled(t, cfg), Draw{}); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s to %v, flipped ahead of the crop %d: other bytes than those of the whole", name, size, i)
				}
				cfg.Resized, cfg.Steps = Steps(flip), nil
			}
		}
	}
}

// A letterbox has YOLO's sides and place: both sides by one scale, half to even, and of the fill the smaller half before the picture.
func TestALetterboxIsYOLOs(t *testing.T) {
	w, out, unlike := worker(t, nil), Size{48, 64}, 0
	row := make([]byte, out.W*out.H*3)
	for n := range 4000 {
		in := Size{1 + n*7%331, 1 + n*13%317}
		rgbx := make([]byte, in.W*in.H*4+PictureSlack)
		affine := func(c Contain) [2][3]float64 {
			p := Picture{Pixels: unsafe.Pointer(&rgbx[0]), StrideBytes: in.W * 4, Width: in.W, Height: in.H}
			info, err := w.Picture(row, &p, compiled(t, Config{Contain: &c, Out: out, Interpolation: CV2Nearest}), Draw{})
			if err != nil {
				t.Fatal(err)
			}
			return info.Affine
		}
		shrink := n%2 == 1
		r := min(float64(out.H)/float64(in.H), float64(out.W)/float64(in.W))
		if shrink {
			r = min(r, 1)
		}
		width, height := max(1, int(math.RoundToEven(float64(in.W)*r))), max(1, int(math.RoundToEven(float64(in.H)*r)))
		left, top := math.RoundToEven(float64(out.W-width)/2-0.1), math.RoundToEven(float64(out.H-height)/2-0.1)
		want := [2][3]float64{{float64(width) / float64(in.W), 0, left}, {0, float64(height) / float64(in.H), top}}
		if got := affine(Contain{Letterbox: true, Shrink: shrink}); got != want {
			t.Fatalf("%v: got %v, want %v", in, got, want)
		}
		want[0][2], want[1][2] = 0, 0
		if got := affine(Contain{Letterbox: true, Shrink: shrink, Corner: true}); got != want {
			t.Fatalf("%v: got %v at the corner, want %v", in, got, want)
		}
		if affine(Contain{Shrink: shrink}) != affine(Contain{Letterbox: true, Shrink: shrink}) {
			unlike++
		}
	}
	if unlike == 0 {
		t.Error("no picture tells it from ImageOps.pad")
	}
}
