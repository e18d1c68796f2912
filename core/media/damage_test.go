//go:build !noffmpeg

package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

// wholePictures is every small picture there is to be damaged, by name.
func wholePictures(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for _, pattern := range []string{"testdata/damaged/*", "testdata/*.jpg", "heif/testdata/*"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found[name] = b
		}
	}
	for _, name := range []string{"tiles", "packed tiles of 16 bits", "BigTIFF in tiles", "CMYK in planes and in tiles", "12 bits, big-endian"} {
		found["tiff, "+name] = tiffCases()[name].file(t, nil)
	}
	found["packed.exr"] = exrFile(t, "Y", exrByZIP, exrSide, exrRamp)
	found["deep.pgm"] = append([]byte("P5\n# deep\n9 7\n1000\n"), make([]byte, 2*9*7)...)
	return found
}

// damageOps are operations that go every way through the kernel.
func damageOps(t *testing.T) []*Op {
	t.Helper()
	var ops []*Op
	for i, cfg := range allConfigs() {
		if i%7 == 0 {
			cfg.Orient, cfg.MaxPixels = i%2 == 0, 1<<20
			ops = append(ops, compiled(t, cfg))
		}
	}
	for i, tiles := range []Tiles{{Grids: upTo(4), Whole: WholeLast}, {By: Idefics3, Grids: []Grid{{3, 3}}, Whole: WholeLast, Longest: 25}} {
		ops = append(ops, compiled(t, Config{Resize: Square(9), Tiles: &tiles, Orient: i > 0, MaxPixels: 1 << 20}))
	}
	return ops
}

// fresh is a worker that the caller closes.
func fresh(t *testing.T, portable bool) *Worker {
	t.Helper()
	w, err := NewWorker(&Options{Portable: portable})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// wantNamed fails for an error without a cause.
func wantNamed(t *testing.T, what string, err error) (refused bool) {
	t.Helper()
	var named interface{ Cause() string }
	if err != nil && (!errors.As(err, &named) || named.Cause() == "") {
		t.Fatalf("%s: an error without a cause: %v", what, err)
	}
	return err != nil
}

// A picture with bits flipped, its checksums wrong or right, is a row or a named cause, and one that is cut is refused by name or the very
// row that it would have been; of a worker that has seen other damage and of a new one, and the first gives the whole picture after all.
func TestDamagedPicturesAreRowsOrNamed(t *testing.T) {
	ops := damageOps(t)
	for name, whole := range wholePictures(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			kept, tried, cutsTaken := worker(t, nil), 0, 0
			try := func(what string, bad []byte) ([]byte, *Op, Draw) {
				w, op, draw := kept, ops[tried%len(ops)], Draw{Index: uint64(tried)}
				if tried++; tried%2 == 0 {
					w = fresh(t, tried%4 == 0)
					defer w.Close()
				}
				row := make([]byte, op.RowBytes())
				if _, err := w.Row(row, bad, op, draw); wantNamed(t, what, err) {
					return nil, op, draw
				}
				return row, op, draw
			}
			n := damage.Count(60)
			damage.Cuts(whole, n, func(what string, bad []byte) {
				if row, op, draw := try(what, bad); row != nil {
					cutsTaken++
					wantRow(t, what, row, whole, op, draw)
				}
			})
			damage.Flips(whole, n, func(what string, bad []byte) { try(what, bad) })
			if cutsTaken > min(n, len(whole))/4 {
				t.Errorf("%d of %d cut files were taken", cutsTaken, min(n, len(whole)))
			}
			row := make([]byte, ops[0].RowBytes())
			if _, err := kept.Row(row, whole, ops[0], Draw{}); err != nil {
				t.Fatal(err)
			}
			wantRow(t, "after all that damage", row, whole, ops[0], Draw{})
		})
	}
}

// wantRow fails unless the row is that of a new worker.
func wantRow(t *testing.T, what string, row, whole []byte, op *Op, draw Draw) {
	t.Helper()
	w, want := fresh(t, false), make([]byte, op.RowBytes())
	defer w.Close()
	if _, err := w.Row(want, whole, op, draw); err != nil || !bytes.Equal(row, want) {
		t.Errorf("%s: the row is not that of the whole picture (%v)", what, err)
	}
}

// gifOfHalf has half of a GIF's first picture, in blocks that end as they should.
func gifOfHalf(d []byte) []byte {
	at := 13 + 3<<(d[10]&7+1)
	for d[at] == 0x21 {
		for at += 2; d[at] != 0; at += int(d[at]) + 1 {
		}
		at++
	}
	at += 11
	var coded []byte
	for from := at; d[from] != 0; from += int(d[from]) + 1 {
		coded = append(coded, d[from+1:from+1+int(d[from])]...)
	}
	out := bytes.Clone(d[:at])
	for part := range slices.Chunk(coded[:len(coded)/2], 255) {
		out = append(append(out, byte(len(part))), part...)
	}
	return append(out, 0, ';')
}

// tiffOfHalf says that strips have half of their bytes.
func tiffOfHalf(d []byte) []byte {
	le, d := binary.LittleEndian, bytes.Clone(d)
	at := int(le.Uint32(d[4:]))
	for e := range slices.Chunk(d[at+2:at+2+12*int(le.Uint16(d[at:]))], 12) {
		values, width := e[8:], map[uint16]int{3: 2, 4: 4}[le.Uint16(e[2:])]
		n := int(le.Uint32(e[4:]))
		if le.Uint16(e) != tiffStripBytes {
			continue
		}
		if n*width > 4 {
			values = d[le.Uint32(e[8:]):]
		}
		for i := range n {
			if v := values[i*width:]; width == 2 {
				le.PutUint16(v, le.Uint16(v)/2)
			} else {
				le.PutUint32(v, le.Uint32(v)/2)
			}
		}
	}
	return d
}

// A file whose container is sound and whose pixels stop in the middle is refused; decoders return what they have without a word.
func TestPicturesFilledHalfwayAreRefused(t *testing.T) {
	half := func(head, tail int) func([]byte) []byte {
		return func(d []byte) []byte { return slices.Concat(d[:head+(len(d)-head-tail)/2], d[len(d)-tail:]) }
	}
	op, w := compiled(t, eval), worker(t, nil)
	for name, cut := range map[string]func([]byte) []byte{
		"palette.gif":    gifOfHalf,
		"interlaced.gif": gifOfHalf,
		"raw.tif":        tiffOfHalf,
		"lzw.tif":        tiffOfHalf,
		"packbits.tif":   tiffOfHalf,
		"deflate.tif":    tiffOfHalf,
		"rgb.qoi":        half(14, 8),
		"raw.psd":        half(40, 0),
		"rgb.sgi":        half(512, 0),
		"rgba.dds":       half(128, 0),
		"rgb.ppm":        half(13, 0),
		"rgb.sun": func(d []byte) []byte {
			d = half(32, 0)(d)
			binary.BigEndian.PutUint32(d[16:], uint32(len(d)-32))
			return d
		},
		"palette.bmp": func(d []byte) []byte {
			d = bytes.Clone(d[:len(d)-1])
			binary.LittleEndian.PutUint32(d[2:], uint32(len(d)))
			return d
		},
	} {
		whole, err := os.ReadFile(filepath.Join("testdata/damaged", name))
		if err != nil {
			t.Fatal(err)
		}
		row := make([]byte, op.RowBytes())
		if _, err := w.Row(row, whole, op, Draw{}); err != nil {
			t.Fatal(err)
		}
		_, err = w.Row(row, cut(whole), op, Draw{})
		if wrong := new(FormatError); !errors.As(err, &wrong) {
			t.Errorf("%s, half of it: got %v, want a refusal", name, err)
		}
	}
}

// FFmpeg takes the lines of a BMP that lacks some bytes for lines without padding.
func TestBMPsThatLackBytesAreRefused(t *testing.T) {
	le, op := binary.LittleEndian, compiled(t, eval)
	file := append([]byte("BM"), make([]byte, 12+40+3*12-3)...) // 3 lines of 9 bytes, and 3 of padding
	le.PutUint32(file[2:], uint32(len(file)))
	le.PutUint32(file[10:], 54)
	le.PutUint32(file[14:], 40)
	le.PutUint32(file[18:], 3)
	le.PutUint32(file[22:], 3)
	le.PutUint16(file[26:], 1)
	le.PutUint16(file[28:], 24)
	if _, err := worker(t, nil).Row(make([]byte, op.RowBytes()), file, op, Draw{}); wantNamed(t, "a BMP", err) == false {
		t.Error("a BMP that lacks 3 bytes was decoded")
	}
}
