//go:build !noffmpeg

package mux

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Pictures of lossless formats come back bit for bit through another decoder.
func TestPicturesComeBack(t *testing.T) {
	dir := t.TempDir()
	pixels := pictures(1, 31, 17, 3)
	ok(t, Save(dir+"/a.png", pixels, Picture{Width: 31, Height: 17}))
	ok(t, Save(dir+"/a.jpg", pixels, Picture{Width: 31, Height: 17, PixelFormat: "yuvj444p", Quality: 1}))
	for file, bound := range map[string]float64{"a.png": 100, "a.jpg": 38} {
		f := must[*os.File](t)(os.Open(filepath.Join(dir, file)))
		img, _, err := image.Decode(f)
		f.Close()
		ok(t, err)
		var got []byte
		for y := range 17 {
			for x := range 31 {
				r, g, b, _ := img.At(x, y).RGBA()
				got = append(got, byte(r>>8), byte(g>>8), byte(b>>8))
			}
		}
		if p := psnr(t, pixels, got); p < bound {
			t.Errorf("%s: PSNR %.1f, want %g", file, p, bound)
		}
	}
	for codec, magic := range map[string]string{"bmp": "BM", "tiff": "II*\x00", "webp": "RIFF", "png": "\x89PNG", "mjpeg": "\xff\xd8"} {
		b := must[[]byte](t)(Encode(pixels, Picture{Codec: codec, Width: 31, Height: 17}))
		if !strings.HasPrefix(string(b), magic) {
			t.Errorf("%s begins with % x", codec, b[:8])
		}
	}
}

// A picture at the end of what may be read is read to its end and no further, of any width.
func TestNothingBehindAPictureIsRead(t *testing.T) {
	page := os.Getpagesize()
	memory := must[[]byte](t)(syscall.Mmap(-1, 0, 17*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE))
	defer syscall.Munmap(memory)
	ok(t, syscall.Mprotect(memory[16*page:], syscall.PROT_NONE))
	for _, from := range []struct {
		format string
		bytes  int
	}{{"rgb24", 3}, {"gray", 1}, {"rgba", 4}} {
		for _, codec := range []string{"mjpeg", "png", "bmp", "webp"} {
			for w := 1; w <= 70; w++ {
				given := memory[16*page-w*6*from.bytes : 16*page : 16*page]
				copy(given, pictures(1, w, 6, from.bytes))
				p := Picture{Codec: codec, Width: w, Height: 6, Input: from.format}
				got, want := must[[]byte](t)(Encode(given, p)), must[[]byte](t)(Encode(bytes.Clone(given), p))
				if !bytes.Equal(got, want) {
					t.Errorf("%s of %s, %d wide: other bytes at the end of memory", codec, from.format, w)
				}
			}
		}
	}
}

func TestSequenceIsNumberedFiles(t *testing.T) {
	dir := t.TempDir()
	frames := pictures(3, 16, 8, 3)
	s := must[*Images](t)(CreateImages(dir+"/%06d.png", 7, Picture{Width: 16, Height: 8}))
	ok(t, s.Write(frames[:2*16*8*3]))
	ok(t, s.Write(frames[2*16*8*3:]))
	for i := range 3 {
		want := must[[]byte](t)(Encode(frames[i*16*8*3:][:16*8*3], Picture{Codec: "png", Width: 16, Height: 8}))
		if got := must[[]byte](t)(os.ReadFile(fmt.Sprintf("%s/%06d.png", dir, 7+i))); !bytes.Equal(got, want) {
			t.Errorf("picture %d differs", i)
		}
	}
	if s.Next() != 10 {
		t.Errorf("next is %d", s.Next())
	}
}

func TestPicturesThatCannotBeAreRefused(t *testing.T) {
	dir := t.TempDir()
	p := Picture{Width: 16, Height: 8}
	for _, pattern := range []string{"a.png", "a%s.png", "%d-%d.png"} {
		_, err := CreateImages(dir+"/"+pattern, 0, p)
		refuses(t, err, CauseInvalid, "one number in the name")
	}
	_, err := CreateImages(dir+"/%d.doc", 0, p)
	refuses(t, err, CauseUnsupported, "no codec of pictures goes by the ending")
	s := must[*Images](t)(CreateImages(dir+"/%d.png", 0, p))
	refuses(t, s.Write(make([]byte, 7)), CauseInvalid, "7 bytes, want 384")
	refuses(t, Save(dir+"/a.png", make([]byte, 2*384), p), CauseInvalid, "768 bytes, want 384")
	refuses(t, Save(dir+"/no/a.png", make([]byte, 384), p), CauseWrite, "no such file")
	p.Codec = "libx264"
	_, err = Encode(make([]byte, 384), p)
	refuses(t, err, CauseUnsupported, "no pictures that stand alone")
	p.Options = map[string]string{"levle": "1"}
	_, err = Encode(make([]byte, 384), p)
	refuses(t, err, CauseInvalid, `no option "levle"`)
	isEmpty(t, dir)
}
