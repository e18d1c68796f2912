package media

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

// codedPictures is a JPEG of every kind that has Huffman codes of its own way: subsampled or not, tables of the standard and
// of the file, one to four components, restarts, codes of any length.
func codedPictures(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{"noise": testJPEG(t, 150, 200)}
	for _, name := range []string{"baseline", "full_chroma", "grey", "cmyk", "restarts"} {
		all[name] = testdata(t, "damaged/"+name+".jpg")
	}
	for _, quality := range []int{1, 50, 100} {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, testPicture(67, 45), &jpeg.Options{Quality: quality}); err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprintf("quality %d", quality)] = b.Bytes()
	}
	return all
}

func TestSoundBaselineCodesAreOurs(t *testing.T) {
	best, library, op := worker(t, nil), worker(t, &Options{Portable: true}), compiled(t, eval)
	row := make([]byte, op.RowBytes())
	for name, data := range codedPictures(t) {
		if _, err := best.Row(row, data, op, Draw{}); err != nil || !best.own() {
			t.Errorf("%s: error %v, own codes %v", name, err, best.own())
		}
		if _, err := library.Row(row, data, op, Draw{}); err != nil || library.own() {
			t.Errorf("%s, left to libjpeg: error %v, own codes %v", name, err, library.own())
		}
	}
	for _, name := range []string{"progressive.jpg", "arithmetic.jpg", "arithmetic_progressive.jpg"} {
		if _, err := best.Row(row, testdata(t, name), op, Draw{}); err != nil || best.own() {
			t.Errorf("%s: error %v, own codes %v", name, err, best.own())
		}
	}
}

// asTheLibrary fails the test unless best makes of data, sound or not, the row or the error that library makes. It returns best's error, and
// whether a decoder of ours had the data.
func asTheLibrary(t *testing.T, what string, best, library *Worker, cfg Config, data []byte, draw Draw) (own bool, err error) {
	t.Helper()
	cfg.MaxPixels = 1 << 20
	op := compiled(t, cfg)
	a, b := make([]byte, op.RowBytes()), make([]byte, op.RowBytes())
	_, err = best.Row(a, data, op, draw)
	own = best.own()
	switch _, want := library.Row(b, data, op, draw); {
	case fmt.Sprint(err) != fmt.Sprint(want):
		t.Errorf("%s: got error %v, want %v", what, err, want)
	case err == nil && !bytes.Equal(a, b):
		t.Errorf("%s: another row than the library's", what)
	}
	return own, err
}

// Sound or damaged, a JPEG is the row or the error that it is with libjpeg's own decoder of Huffman codes.
func TestHuffmanCodesMeanWhatLibjpegSays(t *testing.T) {
	configs := allConfigs()
	best, library := worker(t, nil), worker(t, &Options{Portable: true})
	tried, refused, left := 0, 0, 0
	same := func(what string, data []byte) {
		cfg := configs[tried%len(configs)]
		tried++
		switch own, err := asTheLibrary(t, what, best, library, cfg, data, Draw{Index: uint64(tried)}); {
		case err != nil:
			refused++
		case !own:
			left++
		}
	}
	for name, whole := range codedPictures(t) {
		for range configs {
			same(name, whole)
		}
		n := damage.Count(400)
		damage.Cuts(whole, n, func(what string, bad []byte) { same(name+" "+what, bad) })
		damage.Flips(whole, n, func(what string, bad []byte) { same(name+" "+what, bad) })
	}
	if refused == 0 || left == 0 {
		t.Errorf("of %d pictures %d were refused and %d left to libjpeg, want some of either", tried, refused, left)
	}
	t.Logf("%d pictures, %d refused, %d left to libjpeg", tried, refused, left)
}
