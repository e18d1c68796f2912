package media

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

var numbersOf = Config{Out: Size{12, 33}, Mode: Index}

func hasNumbers(p *pngPicture) bool { return pngChannels[p.colour] == 1 && p.depth <= 8 }

// A mask's row is what its file stores: numbers of colours, with those that the palette lacks, and greys that are not spread.
func TestNumbersAreThoseThatAPNGStores(t *testing.T) {
	own, library := worker(t, nil), worker(t, &Options{Portable: true})
	tried := 0
	for _, p := range pngKinds() {
		if !hasNumbers(p) {
			continue
		}
		want := make([]byte, len(p.samples))
		for i, v := range p.samples {
			want[i] = byte(v)
		}
		cfg := numbersOf
		cfg.Out = Size{p.h, p.w}
		op, got := compiled(t, cfg), make([]byte, len(want))
		try := func(how string, w *Worker, ours bool) {
			if _, err := w.Row(got, p.encode(t), op, Draw{}); err != nil || w.own() != ours || !bytes.Equal(got, want) {
				t.Errorf("%v, %s: error %v, ours %v, got %v, want %v", p, how, err, w.own(), got, want)
			}
			tried++
		}
		try("ours", own, true)
		try("the library", library, false)
		p.interlace = 1
		try("interlaced", own, false)
		p.interlace, p.extra = 0, nil
		if p.colour == pngGrey {
			p.extra = [][]byte{{'t', 'R', 'N', 'S', 0, 1}}
			try("one grey transparent", own, true)
			try("one grey transparent, the library", library, false)
		}
	}
	t.Logf("%d rows", tried)
}

// Resized, cropped, flipped and turned, a mask has the numbers of the pixels that the same picture in greys has.
func TestNumbersKeepTheirPlaces(t *testing.T) {
	w := worker(t, nil)
	greys := noisePNG(97, 81, 8, pngGrey)
	mask := *greys
	mask.colour, mask.palette = pngPalette, [][3]byte{{1, 2, 3}}
	turn := [][]byte{append([]byte("eXIfMM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), 6, 0, 0, 0, 0, 0, 0)}
	greys.extra, mask.extra = turn, turn
	for i, cfg := range []Config{
		{ResizeShort: 40, Out: Size{32, 32}}, {Resize: Size{20, 30}}, {Random: &RandomCrop{}, Out: Size{24, 24}, Steps: Steps(Chance{Flip, 0.5})}, {Out: Size{100, 120}}, {Resize: Size{99, 200}, Layout: NCHW},
	} {
		for index := range uint64(8) {
			draw := Draw{Seed: 1, Index: index}
			cfg.Interpolation, cfg.Orient = Nearest, true
			cfg.Mode = Gray
			op := compiled(t, cfg)
			want, got := make([]byte, op.RowBytes()), make([]byte, op.RowBytes())
			if _, err := w.Row(want, greys.encode(t), op, draw); err != nil {
				t.Fatal(err)
			}
			cfg.Mode = Index
			if _, err := w.Row(got, mask.encode(t), compiled(t, cfg), draw); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d: error %v, or other numbers than the greys", i, err)
			}
		}
	}
}

func TestFilesWithoutNumbersAreRefusedByName(t *testing.T) {
	op := compiled(t, numbersOf)
	row := make([]byte, op.RowBytes())
	for _, w := range []*Worker{worker(t, nil), worker(t, &Options{Portable: true})} {
		refused := func(data []byte, cause, part string) {
			t.Helper()
			_, err := w.Row(row, data, op, Draw{})
			var known interface{ Cause() string }
			if !errors.As(err, &known) || known.Cause() != cause || !strings.Contains(err.Error(), part) {
				t.Errorf("got %v, want %s with %q", err, cause, part)
			}
		}
		for _, p := range pngKinds() {
			if !hasNumbers(p) {
				refused(p.encode(t), CauseUnsupported, "media: png: unsupported: got ")
			}
		}
		grey := noisePNG(33, 12, 16, pngGrey).encode(t)
		refused(grey, CauseUnsupported, "got greys of 16 bits, want, for mode index, a PNG with a palette or of greys of up to 8 bits")
		refused(testJPEG(t, 33, 12), CauseUnsupported, "jpeg: unsupported: want, for mode index")
		refused([]byte("RIFF\x00\x00\x00\x00WEBPVP8 "), CauseUnsupported, "webp: unsupported: want, for mode index")
		refused([]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"), CauseUnsupported, "gif: unsupported: want, for mode index")
		refused([]byte("no picture at all"), CauseNotAnImage, "")
		mask := noisePNG(33, 12, 8, pngPalette).encode(t)
		refused(mask[:len(mask)/2], CauseTruncated, "png 33x12")
		refused(withSums(flipped(mask, len(mask)-40)), CauseCorrupt, "png 33x12: the data are damaged")
	}
	if _, ok, err := worker(t, nil).Plan(testJPEG(t, 33, 12), op, Draw{}); ok || err != nil {
		t.Errorf("a device would decode a JPEG as a mask: %v, %v", ok, err)
	}
}

// Damaged, a mask is the row or the error that it is with Go's decoder.
func TestDamagedMasksAreWhatTheLibrarySays(t *testing.T) {
	own, library := worker(t, nil), worker(t, &Options{Portable: true})
	small := noisePNG(9, 11, 8, pngPalette)
	cfg, refused := numbersOf, 0
	cfg.Out = Size{11, 9}
	try := func(name string, data []byte) {
		if _, err := asTheLibrary(t, name, own, library, cfg, data, Draw{}); err != nil {
			refused++
		}
	}
	damage.Cuts(small.encode(t), damage.Count(400), try)
	damage.Flips(small.encode(t), damage.Count(400), try)
	if refused == 0 {
		t.Error("no damaged mask was refused")
	}
}

func flipped(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 0x55
	return data
}

func TestNumbersAreNeitherMixedNorScaled(t *testing.T) {
	for part, change := range map[string]func(c *Config){
		"interpolation nearest": func(c *Config) { c.ResizeShort = 40 },
		"dtype u8":              func(c *Config) { c.DType = F32 },
	} {
		cfg := numbersOf
		change(&cfg)
		if _, err := Compile(cfg); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%+v: got %v, want an error with %q", cfg, err, part)
		}
	}
}
