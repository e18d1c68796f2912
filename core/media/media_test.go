package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// testJPEG is a picture of w by h pixels with something in every coefficient.
func testJPEG(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, testPicture(w, h), &jpeg.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func testPNG(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, testPicture(w, h)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func testPicture(w, h int) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.Set(x, y, color.RGBA{uint8(x*7 ^ y*3), uint8(x*y/5 + 20), uint8(255 - x + y*2), 255})
		}
	}
	return m
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	d, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func worker(t testing.TB, o *Options) *Worker {
	t.Helper()
	w, err := NewWorker(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func compiled(t testing.TB, cfg Config) *Op {
	t.Helper()
	op, err := Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

var (
	imagenet = &Normalize{Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}}
	eval     = Config{ResizeShort: 64, Out: Square(56), DType: F32, Layout: NCHW, Normalize: imagenet}
	train    = Config{Random: &RandomCrop{}, Out: Square(56), Layout: NCHW, Steps: Steps(Chance{Flip, 0.5})}
)

// Every refusal of bytes has its type, its stable cause and a message that
// names format, size and remedy.
func TestBadBytesAreNamed(t *testing.T) {
	good := testJPEG(t, 80, 60)
	patched := func(marker byte, at int, b byte) []byte {
		d := bytes.Clone(good)
		d[bytes.Index(d, []byte{0xff, marker})+at] = b
		return d
	}
	broken := bytes.Clone(good)
	for i := len(broken) / 2; i < len(broken)/2+40; i++ {
		broken[i] = 0xff
	}
	huge := func(w, h uint32) []byte {
		d := testPNG(t, 8, 8)
		binary.BigEndian.PutUint32(d[16:], w)
		binary.BigEndian.PutUint32(d[20:], h)
		return d
	}
	for _, c := range []struct {
		name, cause, text string
		data              []byte
	}{
		{"no bytes", CauseEmpty, "no bytes", nil},
		{"one byte", CauseNotAnImage, "not an image", []byte{0xff}},
		{"text", CauseNotAnImage, "not an image", []byte("just some text in a file named .jpg")},
		{"html", CauseNotAnImage, `it begins with "<!DOCTYPE ht"; read are JPEG, PNG`, []byte("<!DOCTYPE html><html><body>404</body></html>")},
		{"wav", CauseNotAnImage, "not an image: it is a WAV file, which the section audio reads, in Python spdl.io.load_audio", []byte("RIFF\x24\x08\x00\x00WAVEfmt ")},
		{"mp3", CauseNotAnImage, "not an image: it is an MP3 file, which the section audio reads", []byte("\xff\xfb\x90\x44\x00\x00\x00\x00")},
		{"m4a", CauseNotAnImage, "not an image: it is an M4A file, which the section audio reads", []byte("\x00\x00\x00\x1cftypM4A \x00\x00\x02\x00")},
		{"mp4", CauseNotAnImage, "not an image: it is an MP4 or QuickTime file, which the section video reads, in Python spdl.io.load_video", []byte("\x00\x00\x00\x1cftypisom\x00\x00\x02\x00")},
		{"matroska", CauseNotAnImage, "not an image: it is a Matroska or WebM file, which the section video reads", []byte("\x1aE\xdf\xa3\x01\x00\x00\x00\x00\x00\x00\x1f")},
		{"start of a jpeg", CauseTruncated, "jpeg: the data stop early", good[:2]},
		{"half a jpeg", CauseTruncated, "jpeg 80x60: the data stop early: no end marker", good[:len(good)/2]},
		{"damaged jpeg", CauseCorrupt, "jpeg 80x60: the data are damaged: ", broken},
		{"no such table", CauseCorrupt, "jpeg", patched(0xda, 6, 0x33)},
		{"lossless jpeg", CauseUnsupported, "jpeg: unsupported: Unsupported JPEG process", patched(0xc0, 1, 0xc3)},
		{"12 bit jpeg", CauseUnsupported, "jpeg: unsupported: Unsupported JPEG data precision 12", patched(0xc0, 4, 12)},
		{"100000 x 100000 png", CauseTooManyPixels, "png 100000x100000: too many pixels: want at most 178956970 pixels; raise image.max_pixels", huge(100000, 100000)},
		{"half a png", CauseTruncated, "png 80x60: the data stop early", testPNG(t, 80, 60)[:900]},
		{"damaged png", CauseCorrupt, "png 8x9: the data are damaged: ", huge(8, 9)},
		{"scan after scan", CauseTooManyScans, "jpeg 61x47: too many scans", manyScans(t)},
	} {
		t.Run(c.name, func(t *testing.T) {
			op := compiled(t, eval)
			_, err := worker(t, nil).Row(make([]byte, op.RowBytes()), c.data, op, Draw{})
			var caused interface{ Cause() string }
			if !errors.As(err, &caused) {
				t.Fatalf("got %v, want an error with a cause", err)
			}
			if caused.Cause() != c.cause || !strings.Contains(err.Error(), c.text) || !strings.HasPrefix(err.Error(), "media: ") {
				t.Fatalf("got cause %q, %q; want %q and %q", caused.Cause(), err, c.cause, c.text)
			}
		})
	}
}

// manyScans repeats the first scan of a progressive file a thousand times.
func manyScans(t *testing.T) []byte {
	d := testdata(t, "progressive.jpg")
	sos := bytes.Index(d, []byte{0xff, 0xda})
	next := sos + 2
	for d[next] != 0xff || d[next+1] == 0 {
		next++
	}
	out := bytes.Clone(d[:next])
	for range 1000 {
		out = append(out, d[sos:next]...)
	}
	return append(out, d[next:]...)
}

// A header that claims more pixels than the limit is refused with its size,
// whatever the format, and before memory is taken for the picture.
func TestPixelLimitHoldsForEveryFormat(t *testing.T) {
	cfg := eval
	cfg.MaxPixels = 80 * 60
	op := compiled(t, cfg)
	w := worker(t, nil)
	row := make([]byte, op.RowBytes())
	gif := append([]byte("GIF89a\x51\x00\x3c\x00\x00\x00\x00,"), make([]byte, 40)...)
	bmp := append([]byte("BM"), make([]byte, 80)...)
	bmp[14] = 40
	binary.LittleEndian.PutUint32(bmp[18:], 81)
	binary.LittleEndian.PutUint32(bmp[22:], 60)
	for format, data := range map[string][]byte{
		"jpeg": testJPEG(t, 81, 60), "png": testPNG(t, 81, 60), "gif": gif, "bmp": bmp,
	} {
		_, err := w.Row(row, data, op, Draw{})
		var limit *LimitError
		if !errors.As(err, &limit) || limit.Width != 81 || limit.Height != 60 || limit.Format != format {
			t.Errorf("%s of 81 x 60: got %v, want a LimitError that says so", format, err)
		}
	}
	for format, data := range map[string][]byte{"jpeg": testJPEG(t, 80, 60), "png": testPNG(t, 80, 60)} {
		if _, err := w.Row(row, data, op, Draw{}); err != nil {
			t.Errorf("%s of exactly the limit: %v", format, err)
		}
	}
}

// A JPEG's sides beyond what libjpeg takes are a limit, not damage.
func TestJPEGOf65535PixelsASideIsALimit(t *testing.T) {
	d := testJPEG(t, 80, 60)
	at := bytes.Index(d, []byte{0xff, 0xc0})
	copy(d[at+5:], []byte{0xff, 0xff, 0xff, 0xff})
	op := compiled(t, eval)
	_, err := worker(t, nil).Row(make([]byte, op.RowBytes()), d, op, Draw{})
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Cause() != CauseTooManyPixels {
		t.Fatalf("got %v, want a LimitError", err)
	}
}

func TestReplayBoxOutsideThePictureIsRefused(t *testing.T) {
	op := compiled(t, train)
	w := worker(t, nil)
	for _, b := range []Box{{0, 0, 61, 80}, {0, 0, 60, 81}, {-1, 0, 5, 5}, {59, 0, 2, 1}, {0, 0, 0, 5}, {0, 0, 1 << 40, 1 << 40}} {
		_, err := w.Row(make([]byte, op.RowBytes()), testJPEG(t, 80, 60), op, Draw{Replay: true, Box: b})
		if err == nil || !strings.Contains(err.Error(), "outside the picture of 60 x 80") {
			t.Errorf("box %v: got %v", b, err)
		}
	}
}

func TestDestinationOfAnotherSizeIsRefused(t *testing.T) {
	op := compiled(t, eval)
	for _, n := range []int{0, op.RowBytes() - 1, op.RowBytes() + 1} {
		if _, err := worker(t, nil).Row(make([]byte, n), testJPEG(t, 8, 8), op, Draw{}); err == nil {
			t.Errorf("%d bytes of destination were taken, want %d", n, op.RowBytes())
		}
	}
}

func TestCompileNamesWhatIsWrong(t *testing.T) {
	with := func(change func(*Config)) Config {
		cfg := Config{ResizeShort: 64, Out: Square(56)}
		change(&cfg)
		return cfg
	}
	for want, cfg := range map[string]Config{
		"no fixed size":   {ResizeShort: 64},
		"got 2 of resize": with(func(c *Config) { c.Resize = Square(5) }),
		"got rounding to the nearest with a shorte": {ResizeShort: 5, Longest: 9, NearestSide: true, Out: Square(5)},
		"got DETR's rounding with a shorter side o": {ResizeShort: 5, DETRSides: true, Out: Square(5)},
		"a longest of 9, want the longest, and no ": {Longest: 9, DETRSides: true, NearestSide: true, Out: Square(5)},
		"got YOLOS' rounding with a shorter side o": {Longest: 5, YOLOSSides: true, Out: Square(5)},
		"rounding to the nearest with a shorter si": {Out: Square(5), NearestSide: true},
		"got a longest side of 16385":               {Longest: 16385, Out: Square(5)},
		"shorter side -1":                           with(func(c *Config) { c.ResizeShort = -1 }),
		"shorter side 16385":                        with(func(c *Config) { c.ResizeShort = 16385 }),
		"resize: got 0 x 5":                         {Resize: Size{0, 5}, Out: Square(5)},
		"row: got 0 x 5":                            with(func(c *Config) { c.Out = Size{0, 5} }),
		"row: got 20000 x 5":                        with(func(c *Config) { c.Out = Size{20000, 5} }),
		"got probability 1.5":                       with(func(c *Config) { do(c, Chance{Flip, 1.5}) }),
		"got probability NaN":                       with(func(c *Config) { do(c, Chance{Flip, nan()}) }),
		"scale jitter: got 0 x 5":                   {Out: Square(5), ScaleJitter: &ScaleJitter{Size{0, 5}, [2]float64{1, 2}}},
		"scale jitter: scale: got":                  {Out: Square(5), ScaleJitter: &ScaleJitter{Square(5), [2]float64{2, 1}}},
		"pad: got -1":                               with(func(c *Config) { c.Anywhere, c.Pad = true, Around(-1) }),
		"pad: got 16385":                            with(func(c *Config) { c.Anywhere, c.Pad = true, Around(16385) }),
		"anywhere and padding are of a crop to Out": {Random: &RandomCrop{}, Anywhere: true, Out: Square(5)},
		"erase: got probability 2":                  with(func(c *Config) { c.Erase = &Erase{P: 2} }),
		"erase: got scale":                          with(func(c *Config) { c.Erase = &Erase{P: 1, Scale: [2]float64{0.5, 0.4}} }),
		"erase: ratio: got":                         with(func(c *Config) { c.Erase = &Erase{P: 1, Ratio: [2]float64{1e-4, 1}} }),
		"erase: noise is of floats":                 {Out: Square(5), Erase: &Erase{P: 1, Noise: true}},
		"erase: got a value beside noise":           {Out: Square(5), DType: F32, Erase: &Erase{P: 1, Noise: true, Value: []float64{1}}},
		"erase: got 2 values, want 1 or 3":          {Out: Square(5), Erase: &Erase{P: 1, Value: []float64{1, 2}}},
		"erase: got value 10001":                    {Out: Square(5), DType: F32, Erase: &Erase{P: 1, Value: []float64{10001}}},
		"erase: got value NaN":                      {Out: Square(5), DType: F32, Erase: &Erase{P: 1, Value: []float64{nan()}}},
		"erase: got value 0.5, want a whole number": {Out: Square(5), Erase: &Erase{P: 1, Value: []float64{0.5}}},
		"mode index: want no erasing":               {Out: Square(5), Mode: Index, Erase: &Erase{P: 0.1}},
		"vertical flip: got probability -1":         with(func(c *Config) { do(c, Chance{VFlip, -1}) }),
		"grayscale: got probability 2":              with(func(c *Config) { do(c, Chance{Grayscale, 2}) }),
		"jitter: got probability NaN":               with(func(c *Config) { do(c, &Jitter{P: nan()}) }),
		"jitter: got brightness [-1 1], want 0":     with(func(c *Config) { do(c, &Jitter{Brightness: &[2]float64{-1, 1}}) }),
		"jitter: got contrast [2 1]":                with(func(c *Config) { do(c, &Jitter{Contrast: &[2]float64{2, 1}}) }),
		"jitter: got saturation [0 1001]":           with(func(c *Config) { do(c, &Jitter{Saturation: &[2]float64{0, 1001}}) }),
		"jitter: got hue [-0.6 0], want -0.5":       with(func(c *Config) { do(c, &Jitter{Hue: &[2]float64{-0.6, 0}}) }),
		"jitter: got hue [NaN 0]":                   with(func(c *Config) { do(c, &Jitter{Hue: &[2]float64{nan(), 0}}) }),
		"jitter: saturation and hue want mode": with(func(c *Config) {
			c.Mode = Gray
			do(c, &Jitter{Hue: &[2]float64{0, 0.1}})
		}),
		"grayscale: want mode RGB": with(func(c *Config) {
			c.Mode = Luma
			do(c, Chance{Grayscale, 0.1})
		}),
		"mode index: want no jitter, as numbers o":  {Out: Square(5), Mode: Index, Steps: Steps(&Jitter{P: 1, Contrast: &[2]float64{0, 1}})},
		"rotation: want interpolation nearest, b":   with(func(c *Config) { do(c, &Rotation{Interpolation: Lanczos}) }),
		"rotation: degrees: got [1 0], want -360":   with(func(c *Config) { do(c, &Rotation{Degrees: [2]float64{1, 0}}) }),
		"rotation: degrees: got [NaN 0]":            with(func(c *Config) { do(c, &Rotation{Degrees: [2]float64{nan(), 0}}) }),
		"rotation: want interpolation nearest with": {Out: Square(5), Mode: Index, Steps: Steps(&Rotation{})},
		"affine: want interpolation nearest with m": {Out: Square(5), Mode: Index, Steps: Steps(&Affine{})},
		"affine: got translate [0 2], want shares ": with(func(c *Config) { do(c, &Affine{Translate: [2]float64{0, 2}}) }),
		"affine: scale: got [0 1], want 0.01":       with(func(c *Config) { do(c, &Affine{Scale: [2]float64{0, 1}}) }),
		"affine: shear along x: got [0 81]":         with(func(c *Config) { do(c, &Affine{ShearX: [2]float64{0, 81}}) }),
		"affine: shear along y: got [-81 0]":        with(func(c *Config) { do(c, &Affine{ShearY: [2]float64{-81, 0}}) }),
		"affine: degrees: got [0 361]":              with(func(c *Config) { do(c, &Affine{Degrees: [2]float64{0, 361}}) }),
		"augment: kind 0 or policy 0 is not":        with(func(c *Config) { do(c, &Augment{}) }),
		"augment: kind 6 or policy 0":               with(func(c *Config) { do(c, &Augment{Kind: 6}) }),
		"augment: kind 3 or policy 3":               with(func(c *Config) { do(c, &Augment{Kind: AutoAugment, Policy: 3}) }),
		"augment: want interpolation nearest":       with(func(c *Config) { do(c, &Augment{Kind: AutoAugment, Interpolation: Lanczos}) }),
		"augment: got 1 magnitude bins, want 2":     with(func(c *Config) { do(c, &Augment{Kind: TrivialAugmentWide, Bins: 1}) }),
		"augment: got 1001 magnitude bins":          with(func(c *Config) { do(c, &Augment{Kind: RandAugment, Ops: 1, Bins: 1001}) }),
		"augment: got severity 11, want 1 to 10":    with(func(c *Config) { do(c, &Augment{Kind: AugMix, Magnitude: 11}) }),
		"augment: got a mix of 3 chains of 9 operations, want 1 to 8 chains of 0, by chance, to 8": with(func(c *Config) {
			do(c, &Augment{Kind: AugMix, Magnitude: 3, Mix: Mix{Width: 3, Depth: 9, Alpha: 1}})
		}),
		"augment: got alpha 0.01, want 0.1 to 1000": with(func(c *Config) {
			do(c, &Augment{Kind: AugMix, Magnitude: 3, Mix: Mix{Width: 3, Alpha: 0.01}})
		}),
		"augment: got 0 operations, want 1 to 16": with(func(c *Config) { do(c, &Augment{Kind: RandAugment, Bins: 31}) }),
		"augment: got 17 operations":              with(func(c *Config) { do(c, &Augment{Kind: RandAugment, Bins: 31, Ops: 17}) }),
		"augment: got magnitude 31, want 0 to 30": with(func(c *Config) { do(c, &Augment{Kind: RandAugment, Bins: 31, Ops: 1, Magnitude: 31}) }),
		"augment: got magnitude -1, want 0 to 30": with(func(c *Config) { do(c, &Augment{Kind: RandAugment, Bins: 31, Ops: 1, Magnitude: -1}) }),
		"blur: got probability 2":                 with(func(c *Config) { do(c, &Blur{P: 2}) }),
		"blur: got size 4, want an odd number":    with(func(c *Config) { do(c, &Blur{Size: 4}) }),
		"blur: got size 257":                      with(func(c *Config) { do(c, &Blur{Size: 257}) }),
		"blur: got size 113 for a row of 56 x 56": with(func(c *Config) { do(c, &Blur{Size: 113, Sigma: [2]float64{1, 1}}) }),
		"blur: got sigma [0 1], want 0.001":       with(func(c *Config) { do(c, &Blur{Size: 111, Sigma: [2]float64{0, 1}}) }),
		"blur: got sigma [2 1]":                   with(func(c *Config) { do(c, &Blur{Size: 3, Sigma: [2]float64{2, 1}}) }),
		"blur: got sigma [NaN 1]":                 with(func(c *Config) { do(c, &Blur{Size: 3, Sigma: [2]float64{nan(), 1}}) }),
		"blur: got sigma [1 1001]":                with(func(c *Config) { do(c, &Blur{Size: 3, Sigma: [2]float64{1, 1001}}) }),
		"light: brightness: got [1 0], want -10":  with(func(c *Config) { do(c, &Light{P: 1, Brightness: [2]float64{1, 0}}) }),
		"light: contrast: got [0 11], want -10":   with(func(c *Config) { do(c, &Light{P: 1, Contrast: [2]float64{0, 11}}) }),
		"light: got probability 2":                with(func(c *Config) { do(c, &Light{P: 2}) }),
		"gamma: got [0 1], want 0.01":             with(func(c *Config) { do(c, &Gamma{P: 1, Gamma: [2]float64{0, 1}}) }),
		"gamma: got probability NaN":              with(func(c *Config) { do(c, &Gamma{P: nan(), Gamma: [2]float64{1, 1}}) }),
		"OpenCV's grey: want mode RGB": with(func(c *Config) {
			c.Mode = Gray
			do(c, Chance{CV2Gray, 0.1})
		}),
		"shift of HSV: want mode RGB": with(func(c *Config) {
			c.Mode = Gray
			do(c, &HSV{P: 1})
		}),
		"shift of HSV: got [1 0], want -255":   with(func(c *Config) { do(c, &HSV{P: 1, By: [3][2]float64{1: {1, 0}}}) }),
		"shift of HSV: got probability 2":      with(func(c *Config) { do(c, &HSV{P: 2}) }),
		"shift of RGB: got [0 256], want -255": with(func(c *Config) { do(c, &RGBShift{P: 1, By: [3][2]float64{2: {0, 256}}}) }),
		"OpenCV's jitter: saturation and hue want": with(func(c *Config) {
			c.Mode = Gray
			do(c, &CV2Jitter{P: 1, Hue: &[2]float64{0, 0.1}})
		}),
		"OpenCV's jitter: got hue [0 1]":             with(func(c *Config) { do(c, &CV2Jitter{P: 1, Hue: &[2]float64{0, 1}}) }),
		"OpenCV's affine: want interpolation cv2":    with(func(c *Config) { do(c, &CV2Affine{P: 1}) }),
		"OpenCV's affine: degrees: got [0 361]":      with(func(c *Config) { do(c, unmoved(func(a *CV2Affine) { a.Degrees[1] = 361 })) }),
		"OpenCV's affine: shift along y: got [0 2]":  with(func(c *Config) { do(c, unmoved(func(a *CV2Affine) { a.ShiftY[1] = 2 })) }),
		"OpenCV's affine: scale along x: got [0 1]":  with(func(c *Config) { do(c, unmoved(func(a *CV2Affine) { a.ScaleX[0] = 0 })) }),
		"OpenCV's affine: shear along x: got [NaN":   with(func(c *Config) { do(c, unmoved(func(a *CV2Affine) { a.ShearX[0] = nan() })) }),
		"OpenCV's affine: padding: 4 is not one of":  with(func(c *Config) { do(c, unmoved(func(a *CV2Affine) { a.Padding = 4 })) }),
		"OpenCV's affine: got probability NaN":       with(func(c *Config) { do(c, unmoved(func(a *CV2Affine) { a.P = nan() })) }),
		"box blur: got sizes [2 3], want odd numbe":  with(func(c *Config) { do(c, &BoxBlur{1, [2]int{2, 3}}) }),
		"median: got sizes [5 3], want odd numbers":  with(func(c *Config) { do(c, &Median{1, [2]int{5, 3}}) }),
		"motion: got sizes [3 257], want odd":        with(func(c *Config) { do(c, &Motion{Kernel: Kernel{1, [2]int{3, 257}}}) }),
		"motion: direction: got [-2 0], want -1 <=":  with(func(c *Config) { do(c, &Motion{Kernel: Kernel{1, [2]int{3, 3}}, Direction: [2]float64{-2, 0}}) }),
		"motion: angle: got [0 NaN]":                 with(func(c *Config) { do(c, &Motion{Kernel: Kernel{1, [2]int{3, 3}}, Angle: [2]float64{0, nan()}}) }),
		"median: got probability 2":                  with(func(c *Config) { do(c, &Median{2, [2]int{3, 3}}) }),
		"OpenCV's blur: got sizes [0 256], want":     with(func(c *Config) { do(c, &CV2Blur{1, [2]float64{1, 1}, [2]int{0, 256}}) }),
		"OpenCV's blur: sigma: got [0 1], want 0.0":  with(func(c *Config) { do(c, &CV2Blur{1, [2]float64{0, 1}, [2]int{}}) }),
		"OpenCV's blur: got probability NaN":         with(func(c *Config) { do(c, &CV2Blur{nan(), [2]float64{1, 1}, [2]int{}}) }),
		"CLAHE: got 0 x 8 tiles, want 1 to 64":       with(func(c *Config) { do(c, &CLAHE{1, [2]float64{1, 1}, 8, 0}) }),
		"CLAHE: got 8 x 65 tiles, want 1 to 64":      with(func(c *Config) { do(c, &CLAHE{1, [2]float64{1, 1}, 65, 8}) }),
		"CLAHE: limit: got [0 1], want 0.001 <=":     with(func(c *Config) { do(c, &CLAHE{1, [2]float64{0, 1}, 8, 8}) }),
		"CLAHE: got probability 2":                   with(func(c *Config) { do(c, &CLAHE{2, [2]float64{1, 1}, 8, 8}) }),
		"erase: parts: got [1 33], want 0 <= fewest": with(func(c *Config) { c.Erase = &Erase{P: 1, Parts: &Parts{Count: [2]int{1, 33}}} }),
		"erase: parts: got at most 0":                with(func(c *Config) { c.Erase = &Erase{P: 1, Parts: &Parts{}} }),
		"erase: got noise and parts":                 with(func(c *Config) { c.DType, c.Erase = F32, &Erase{P: 1, Noise: true, Parts: &Parts{Count: [2]int{1, 1}}} }),
		"holes: got [1 33], want 0 <= fewest":        with(func(c *Config) { do(c, &Holes{P: 1, Parts: Parts{Count: [2]int{1, 33}}}) }),
		"holes: height: got [0 2], want 0 <=":        with(func(c *Config) { do(c, &Holes{P: 1, Parts: Parts{Height: [2]float64{0, 2}}}) }),
		"holes: width: got [-1 2], want 0 <=":        with(func(c *Config) { do(c, &Holes{P: 1, Parts: Parts{Pixels: true, Width: [2]float64{-1, 2}}}) }),
		"holes: got probability -1":                  with(func(c *Config) { do(c, &Holes{P: -1}) }),
		"solarize: got probability -1":               with(func(c *Config) { do(c, &Solarize{P: -1}) }),
		"solarize: got threshold 257, want 0 to 2":   with(func(c *Config) { do(c, &Solarize{Threshold: 257}) }),
		"posterize: got probability NaN":             with(func(c *Config) { do(c, &Posterize{P: nan()}) }),
		"posterize: got 9 bits, want 0 to 8":         with(func(c *Config) { do(c, &Posterize{Bits: 9}) }),
		"invert: got probability 2":                  with(func(c *Config) { do(c, Chance{Invert, 2}) }),
		"sharpness: got probability 2":               with(func(c *Config) { do(c, &Sharpness{P: 2}) }),
		"sharpness: got factor 1001, want 0":         with(func(c *Config) { do(c, &Sharpness{Factor: 1001}) }),
		"autocontrast: got probability 2":            with(func(c *Config) { do(c, Chance{Autocontrast, 2}) }),
		"equalize: got probability 2":                with(func(c *Config) { do(c, Chance{Equalize, 2}) }),
		"permute: got probability 2":                 with(func(c *Config) { do(c, Chance{Permute, 2}) }),
		"distort: got probability -1":                with(func(c *Config) { do(c, &Distort{P: -1}) }),
		"distort: got contrast [2 1]":                with(func(c *Config) { do(c, &Distort{Contrast: &[2]float64{2, 1}}) }),
		"distort: want mode RGB, as grey has one": with(func(c *Config) {
			c.Mode = Gray
			do(c, &Distort{P: 1})
		}),
		"quarters: got probability NaN":            with(func(c *Config) { do(c, Chance{Quarters, nan()}) }),
		"quarters: got rows of 5 x 6, want square": {Out: Size{5, 6}, Steps: Steps(Chance{Quarters, 0.5})},
		"groups: invert: got number 2 of 2 of which 1 are picked": with(func(c *Config) {
			c.Steps = []Placed{{Step: invert, Member: Member{Group: 1, Pick: 1, Of: 2, Which: 2}}}
		}),
		"groups: invert: got number 0 of 2 of which 3 are picked": with(func(c *Config) { c.Steps = []Placed{{Step: invert, Member: Member{Group: 1, Pick: 3, Of: 2}}} }),
		"grid holes: got ratio 0":                                 with(func(c *Config) { do(c, &GridHoles{P: 1}) }),
		"grid holes: got [0 1] cells":                             with(func(c *Config) { do(c, &GridHoles{P: 1, Ratio: 1, Cells: [2]int{0, 1}}) }),
		"grid holes: got [1 1] cells beside unit [2 2]":           with(func(c *Config) { do(c, &GridHoles{P: 1, Ratio: 1, Cells: [2]int{1, 1}, Unit: [2]int{2, 2}}) }),
		"grid holes: got unit [1 2]":                              with(func(c *Config) { do(c, &GridHoles{P: 1, Ratio: 1, Unit: [2]int{1, 2}}) }),
		"grid holes: got shift [-1 0]":                            with(func(c *Config) { do(c, &GridHoles{P: 1, Ratio: 1, Shift: [2]int{-1, 0}}) }),
		"grid holes: got probability 2":                           with(func(c *Config) { do(c, &GridHoles{P: 2, Ratio: 1}) }),
		"specks: got a share of 2":                                with(func(c *Config) { do(c, &Specks{P: 1, Share: 2}) }),
		"specks: got probability 2":                               with(func(c *Config) { do(c, &Specks{P: 2}) }),
		"downscale: scale: got [0 1]":                             with(func(c *Config) { do(c, &Downscale{1, [2]float64{0, 1}}) }),
		"downscale: got probability 2":                            with(func(c *Config) { do(c, &Downscale{2, [2]float64{1, 1}}) }),
		"multiply: got [-1 1], want 0":                            with(func(c *Config) { do(c, &Multiply{P: 1, By: [2]float64{-1, 1}}) }),
		"multiply: got [1 1001]":                                  with(func(c *Config) { do(c, &Multiply{P: 1, By: [2]float64{1, 1001}}) }),
		"multiply: got probability 2":                             with(func(c *Config) { do(c, &Multiply{P: 2}) }),
		"unsharp: got sizes [2 3], want odd numbers":              with(func(c *Config) { do(c, &Unsharp{Kernel: Kernel{1, [2]int{2, 3}}}) }),
		"unsharp: sigma: got [0 1001], want 0 <=":                 with(func(c *Config) { do(c, &Unsharp{Kernel: Kernel{1, [2]int{3, 3}}, Sigma: [2]float64{0, 1001}}) }),
		"unsharp: alpha: got [0 2], want 0 <=":                    with(func(c *Config) { do(c, &Unsharp{Kernel: Kernel{1, [2]int{3, 3}}, Alpha: [2]float64{0, 2}}) }),
		"unsharp: got threshold 256, want 0 to 255":               with(func(c *Config) { do(c, &Unsharp{Kernel: Kernel{1, [2]int{3, 3}}, Threshold: 256}) }),
		"unsharp: got probability 2":                              with(func(c *Config) { do(c, &Unsharp{Kernel: Kernel{2, [2]int{3, 3}}}) }),
		"shuffle: got a grid of 0 x 1 for rows of 56":             with(func(c *Config) { do(c, &Shuffle{1, [2]int{0, 1}}) }),
		"shuffle: got a grid of 65 x 1 for rows of 99":            {Out: Square(99), Steps: Steps(&Shuffle{1, [2]int{65, 1}})},
		"shuffle: got a grid of 5 x 7 for rows of 5 x 6":          {Out: Size{5, 6}, Steps: Steps(&Shuffle{1, [2]int{5, 7}})},
		"shuffle: got probability 2":                              with(func(c *Config) { do(c, &Shuffle{2, [2]int{1, 1}}) }),
		"morph: got an ellipse of 0 x 3, want 1":                  with(func(c *Config) { do(c, &Morph{1, false, [2]int{0, 3}}) }),
		"morph: got an ellipse of 3 x 256, want 1":                with(func(c *Config) { do(c, &Morph{1, true, [2]int{3, 256}}) }),
		"morph: got probability 2":                                with(func(c *Config) { do(c, &Morph{2, false, [2]int{1, 1}}) }),
		"transpose: got rows of 5 x 6, want square":               {Out: Size{5, 6}, Steps: Steps(Chance{Transpose, 0.5})},
		"sharpen: alpha: got [0 2]":                               with(func(c *Config) { do(c, &Sharpen{1, [2]float64{0, 2}, [2]float64{1, 1}}) }),
		"emboss: got [1 101]":                                     with(func(c *Config) { do(c, &Emboss{1, [2]float64{0, 1}, [2]float64{1, 101}}) }),
		"emboss: got probability 2":                               with(func(c *Config) { do(c, &Emboss{P: 2}) }),
		"tone curve: got scale 2":                                 with(func(c *Config) { do(c, &ToneCurve{P: 1, Scale: 2}) }),
		"ISO: shift: got [0 1.1], want 0 <=":                      with(func(c *Config) { do(c, &ISO{P: 1, Shift: [2]float64{0, 1.1}}) }),
		"ISO: intensity: got [0 11], want 0 <=":                   with(func(c *Config) { do(c, &ISO{P: 1, Intensity: [2]float64{0, 11}}) }),
		"ISO: got probability 2":                                  with(func(c *Config) { do(c, &ISO{P: 2}) }),
		"cut: got 3, 0 to 3, 9, want":                             with(func(c *Config) { do(c, &Cut{1, 3, 0, 3, 9}) }),
		"cut: got 0, 0 to 9, 16385":                               with(func(c *Config) { do(c, &Cut{1, 0, 0, 9, MaxSide + 1}) }),
		"cut: got one of a row":                                   with(func(c *Config) { do(c, &Cut{1, 0, 0, 9, 9}) }),
		"cut: got probability 2":                                  with(func(c *Config) { do(c, &Cut{2, 0, 0, 9, 9}) }),
		"cut borders: got 1.1, want 0 to 1":                       with(func(c *Config) { do(c, &CutBorders{1, 0.6, 0.5, 0, 0}) }),
		"cut borders: got -1, want 0":                             with(func(c *Config) { do(c, &CutBorders{1, 0, 0, -1, 0}) }),
		"cut borders: got one of a row":                           with(func(c *Config) { do(c, &CutBorders{P: 1}) }),
		"cut sides: got [-2 0], want -1 <=":                       with(func(c *Config) { do(c, &CutSides{P: 1, By: [4][2]float64{{}, {}, {-2, 0}}}) }),
		"cut sides: got padding 2, want Constant or Edge":         with(func(c *Config) { do(c, &CutSides{P: 1, Padding: Reflect}) }),
		"cut sides: got interpolation 0, want one of":             with(func(c *Config) { do(c, &CutSides{P: 1, KeepSize: true}) }),
		"cut sides: got one of a row":                             with(func(c *Config) { do(c, &CutSides{P: 1}) }),
		"cut safely: erosion: got 2, want 0 to 1":                 with(func(c *Config) { do(c, &CutSafely{P: 1, Erosion: 2}) }),
		"cut safely: got 0 x 9, want sides":                       with(func(c *Config) { do(c, &CutSafely{P: 1, Sized: Sized{Size: Size{0, 9}}}) }),
		"cut safely: got interpolation 0":                         with(func(c *Config) { do(c, &CutSafely{P: 1, Sized: Sized{Size: Size{9, 9}}}) }),
		"cut safely: got one of a row":                            with(func(c *Config) { do(c, &CutSafely{P: 1}) }),
		"cut around: got 0 x 0, want sides":                       with(func(c *Config) { do(c, &CutAround{P: 1}) }),
		"cut around: erosion: got -1":                             with(func(c *Config) { do(c, &CutAround{P: 1, Size: Square(9), Erosion: -1}) }),
		"cut around: got one of a row":                            with(func(c *Config) { do(c, &CutAround{P: 1, Size: Square(9)}) }),
		"random crop: got height beside scale": with(func(c *Config) {
			do(c, &CutResized{P: 1, Crop: RandomCrop{Height: [2]int{1, 2}, Scale: [2]float64{1, 1}}})
		}),
		"cut resized: got any filter":                            with(func(c *Config) { do(c, &CutResized{P: 1, Crop: RandomCrop{AnyFilter: true}}) }),
		"cut resized: got one of a row":                          with(func(c *Config) { do(c, &CutResized{P: 1}) }),
		"rescale: got [0 1], want 0.01":                          with(func(c *Config) { do(c, &Rescale{1, [2]float64{0, 1}, CV2Linear}) }),
		"rescale: got interpolation 1":                           with(func(c *Config) { do(c, &Rescale{1, [2]float64{1, 1}, Bicubic}) }),
		"rescale: got one of a row":                              with(func(c *Config) { do(c, &Rescale{1, [2]float64{1, 1}, CV2Linear}) }),
		"rescale: want interpolation CV2Nearest with mode index": {Out: Square(9), Mode: Index, Interpolation: Nearest, Ahead: Steps(&Rescale{1, [2]float64{1, 1}, CV2Linear})},
		"steps: got more than 8 that take a part":                {Out: Square(9), Ahead: Steps(slices.Repeat([]Step{&Cut{1, 0, 0, 9, 9}}, MaxParts+1)...)},
		"OpenCV's autocontrast: got cutoff 101, want 0 to 100":   with(func(c *Config) { do(c, &CV2Autocontrast{P: 1, Cutoff: 101}) }),
		"salt: amount: got [0 2], want 0 <=":                     with(func(c *Config) { do(c, &Salt{P: 1, Amount: [2]float64{0, 2}}) }),
		"salt: white: got [1 0], want 0 <=":                      with(func(c *Config) { do(c, &Salt{P: 1, White: [2]float64{1, 0}}) }),
		"planckian: got [2000 7000], want 3000":                  with(func(c *Config) { do(c, &Planckian{P: 1, Kelvin: [2]float64{2000, 7000}}) }),
		"planckian: got [3000 7000], want 4000":                  with(func(c *Config) { do(c, &Planckian{P: 1, Kelvin: [2]float64{3000, 7000}, Daylight: true}) }),
		"planckian: got [6500 7000] kelvin, want 6000 between":   with(func(c *Config) { do(c, &Planckian{P: 1, Kelvin: [2]float64{6500, 7000}}) }),
		"erasing: scale: got [0 2], want 0":                      with(func(c *Config) { do(c, &Erasing{P: 1, Scale: [2]float64{0, 2}, Ratio: [2]float64{1, 1}}) }),
		"erasing: ratio: got [0 1], want 0.001":                  with(func(c *Config) { do(c, &Erasing{P: 1, Ratio: [2]float64{0, 1}}) }),
		"erasing: got probability 2":                             with(func(c *Config) { do(c, &Erasing{P: 2, Ratio: [2]float64{1, 1}}) }),
		"salt: got probability 2":                                with(func(c *Config) { do(c, &Salt{P: 2}) }),
		"shadow: got a part of [0 0 0 1], want":                  with(func(c *Config) { do(c, &Shadow{P: 1, Part: Rect{0, 0, 0, 1}}) }),
		"shadow: got [2 1] of them, want":                        with(func(c *Config) { do(c, &Shadow{P: 1, Part: Rect{0, 0, 1, 1}, Count: [2]int{2, 1}}) }),
		"shadow: got 2 corners, want 3":                          with(func(c *Config) { do(c, &Shadow{P: 1, Part: Rect{0, 0, 1, 1}, Corners: 2}) }),
		"shadow: intensity: got [0 2], want":                     with(func(c *Config) { do(c, &Shadow{P: 1, Part: Rect{0, 0, 1, 1}, Corners: 3, Intensity: [2]float64{0, 2}}) }),
		"advanced blur: got sizes [4 5], want odd":               with(func(c *Config) { do(c, &AdvancedBlur{P: 1, Size: [2]int{4, 5}}) }),
		"advanced blur: got beta [2 3], want 0":                  with(func(c *Config) { do(c, &AdvancedBlur{P: 1, Size: [2]int{3, 3}, Beta: [2]float64{2, 3}}) }),
		"advanced blur: sigma x: got [0 1], want 0.001": with(func(c *Config) {
			do(c, &AdvancedBlur{P: 1, Size: [2]int{3, 3}, Beta: [2]float64{1, 1}, SigmaX: [2]float64{0, 1}})
		}),
		"defocus: got radius [0 3], want":       with(func(c *Config) { do(c, &Defocus{P: 1, Radius: [2]int{0, 3}}) }),
		"defocus: alias: got [0 11], want":      with(func(c *Config) { do(c, &Defocus{P: 1, Radius: [2]int{1, 3}, Alias: [2]float64{0, 11}}) }),
		"ringing: got sizes [3 33], want":       with(func(c *Config) { do(c, &Ringing{P: 1, Size: [2]int{3, 33}}) }),
		"ringing: cutoff: got [0 0], want 0.01": with(func(c *Config) { do(c, &Ringing{P: 1, Size: [2]int{3, 3}}) }),
		"glass: got sigma 0, want 0.1":          with(func(c *Config) { do(c, &Glass{P: 1}) }),
		"glass: got delta 65, want 1 to 64":     with(func(c *Config) { do(c, &Glass{P: 1, Sigma: 1, Delta: 65}) }),
		"glass: got 0 times, want 1 to 16":      with(func(c *Config) { do(c, &Glass{P: 1, Sigma: 1, Delta: 4}) }),
		"zoom: most: got [0 1], want 1":         with(func(c *Config) { do(c, &ZoomBlur{P: 1, Most: [2]float64{0, 1}}) }),
		"zoom: step: got [0 0], want 0.005":     with(func(c *Config) { do(c, &ZoomBlur{P: 1, Most: [2]float64{1, 1}}) }),
		"fog: got alpha 2, want 0 to 1":         with(func(c *Config) { do(c, &Fog{P: 1, Alpha: 2}) }),
		"fog: intensity: got [0 2], want":       with(func(c *Config) { do(c, &Fog{P: 1, Intensity: [2]float64{0, 2}}) }),
		"rain: got 0 / 0 lines":                 with(func(c *Config) { do(c, &Rain{P: 1}) }),
		"rain: got length -1, want":             with(func(c *Config) { do(c, &Rain{P: 1, Times: 1, Over: 1, Length: -1}) }),
		"rain: got blur 2, want an odd":         with(func(c *Config) { do(c, &Rain{P: 1, Times: 1, Over: 1, Blur: 2}) }),
		"rain: got brightness 0, want":          with(func(c *Config) { do(c, &Rain{P: 1, Times: 1, Over: 1, Blur: 1}) }),
		"rain: slant: got [-21 0], want": with(func(c *Config) {
			do(c, &Rain{P: 1, Times: 1, Over: 1, Blur: 1, Brightness: 1, Slant: [2]float64{-21, 0}})
		}),
		"snow: got brightness 0, want":         with(func(c *Config) { do(c, &Snow{P: 1}) }),
		"snow: point: got [0 2], want":         with(func(c *Config) { do(c, &Snow{P: 1, Much: 1, Point: [2]float64{0, 2}}) }),
		"flare: got a part of [0 0 0 0], want": with(func(c *Config) { do(c, &Flare{P: 1}) }),
		"flare: got [0 1] circles, want":       with(func(c *Config) { do(c, &Flare{P: 1, Part: Rect{0, 0, 1, 1}, Count: [2]int{0, 1}}) }),
		"flare: got radius 1, want":            with(func(c *Config) { do(c, &Flare{P: 1, Part: Rect{0, 0, 1, 1}, Count: [2]int{1, 1}, Radius: 1}) }),
		"flare: angle: got [0 2], want": with(func(c *Config) {
			do(c, &Flare{P: 1, Part: Rect{0, 0, 1, 1}, Count: [2]int{1, 1}, Radius: 9, Angle: [2]float64{0, 2}})
		}),
		"shot: got [0 1], want 0.01": with(func(c *Config) { do(c, &Shot{P: 1, Scale: [2]float64{0, 1}}) }),
		"PCA: got alpha 101, want":   with(func(c *Config) { do(c, &PCA{P: 1, Alpha: 101}) }),
		"sepia: want mode RGB, as grey has one ch": with(func(c *Config) {
			c.Mode = Gray
			do(c, Chance{Sepia, 1})
		}),
		"drop channels: got [0 1]":                     with(func(c *Config) { do(c, &DropChannels{P: 1, Count: [2]int{0, 1}}) }),
		"tone curve: got probability -1":               with(func(c *Config) { do(c, &ToneCurve{P: -1}) }),
		"drop channels: got probability 2":             with(func(c *Config) { do(c, &DropChannels{2, [2]int{1, 1}, 0}) }),
		"noise: got probability 2":                     with(func(c *Config) { do(c, &Noise{P: 2}) }),
		"noise: got mean 2 and sigma [0 0], want":      with(func(c *Config) { do(c, &Noise{Mean: 2}) }),
		"noise: got mean 0 and sigma [0 1.5], want":    with(func(c *Config) { do(c, &Noise{Sigma: [2]float64{0, 1.5}}) }),
		"noise: got mean 0 and sigma [1 0], want":      with(func(c *Config) { do(c, &Noise{Sigma: [2]float64{1, 0}}) }),
		"jpeg: got probability 2":                      with(func(c *Config) { do(c, &JPEG{P: 2, Quality: [2]int{1, 1}}) }),
		"jpeg: got quality [0 9], want 1":              with(func(c *Config) { do(c, &JPEG{Quality: [2]int{0, 9}}) }),
		"jpeg: got quality [9 8], want 1":              with(func(c *Config) { do(c, &JPEG{Quality: [2]int{9, 8}}) }),
		"jpeg: got quality [9 101], want 1":            with(func(c *Config) { do(c, &JPEG{Quality: [2]int{9, 101}}) }),
		"OpenCV's affine: want interpolation cv2_n":    {Out: Square(5), Mode: Index, Steps: Steps(unmoved(func(*CV2Affine) {}))},
		"mode index: want no OpenCV's jitter":          {Out: Square(5), Mode: Index, Steps: Steps(&CV2Jitter{P: 1})},
		"mode index: want no jpeg":                     {Out: Square(5), Mode: Index, Steps: Steps(&JPEG{P: 1, Quality: [2]int{9, 9}})},
		"mode index: want no noise":                    {Out: Square(5), Mode: Index, Steps: Steps(&Noise{P: 1})},
		"mode index: want no augmentation, as nu":      {Out: Square(5), Mode: Index, Steps: Steps(&Augment{Kind: AutoAugment})},
		"mode index: want no equalize":                 {Out: Square(5), Mode: Index, Steps: Steps(Chance{Equalize, 0.5})},
		"mode index: want interpolation nearest":       {Random: &RandomCrop{AnyFilter: true}, Interpolation: Nearest, Mode: Index, Out: Square(5)},
		"got scale [0.5 0.1]":                          {Random: &RandomCrop{Scale: [2]float64{0.5, 0.1}}, Out: Square(5)},
		"got scale [0.5 2]":                            {Random: &RandomCrop{Scale: [2]float64{0.5, 2}}, Out: Square(5)},
		"got ratio [0 1]":                              {Random: &RandomCrop{Ratio: [2]float64{0, 1}}, Out: Square(5)},
		"random crop: got height [0 1], want 1":        {Random: &RandomCrop{Ratio: [2]float64{1, 1}, Height: [2]int{0, 1}}, Out: Square(5)},
		"random crop: got height [9 8], want 1":        {Random: &RandomCrop{Ratio: [2]float64{1, 1}, Height: [2]int{9, 8}}, Out: Square(5)},
		"random crop: got height [1 16385], want 1":    {Random: &RandomCrop{Ratio: [2]float64{1, 1}, Height: [2]int{1, 16385}}, Out: Square(5)},
		"random crop: got height beside scale [0 0]":   {Random: &RandomCrop{Height: [2]int{1, 2}}, Out: Square(5)},
		"random crop: got height beside scale [0.5 1]": {Random: &RandomCrop{Scale: [2]float64{0.5, 1}, Ratio: [2]float64{1, 1}, Height: [2]int{1, 2}}, Out: Square(5)},
		"is not one of the named":                      with(func(c *Config) { c.Mode = 9 }),
		"dtype is u8":                                  with(func(c *Config) { c.Normalize = imagenet }),
		"got 3 means and 3 stds, wan":                  with(func(c *Config) { c.Normalize, c.DType, c.Mode = imagenet, F32, Gray }),
		"got std 0":                                    with(func(c *Config) { c.Normalize, c.DType = &Normalize{imagenet.Mean, []float64{1, 0, 1}}, F32 }),
		"got mean NaN":                                 with(func(c *Config) { c.Normalize, c.DType = &Normalize{[]float64{nan(), 0, 0}, imagenet.Std}, F32 }),
	} {
		if _, err := Compile(cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "media: ") {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func nan() float64 { z := 0.0; return z / z }

func TestRowSaysItsShapeAndSize(t *testing.T) {
	for _, c := range []struct {
		cfg   Config
		shape [3]int
		bytes int
	}{
		{Config{Resize: Size{5, 7}}, [3]int{5, 7, 3}, 105},
		{Config{Resize: Size{5, 7}, Layout: NCHW, DType: F16}, [3]int{3, 5, 7}, 210},
		{Config{Resize: Size{5, 7}, Mode: Gray, DType: BF16}, [3]int{5, 7, 1}, 70},
		{Config{Resize: Size{9, 9}, Out: Size{5, 7}, DType: F32}, [3]int{5, 7, 3}, 420},
	} {
		op := compiled(t, c.cfg)
		if op.Shape() != c.shape || op.RowBytes() != c.bytes {
			t.Errorf("got %v, %d bytes; want %v, %d", op.Shape(), op.RowBytes(), c.shape, c.bytes)
		}
	}
}

// JPEG to row allocates nothing in Go, whatever the operation.
func TestRowAllocatesNothing(t *testing.T) {
	w := worker(t, nil)
	data := testJPEG(t, 200, 150)
	for name, cfg := range map[string]Config{"eval": eval, "train": train, "everything": everything(1)} {
		op := compiled(t, cfg)
		row := make([]byte, op.RowBytes())
		var index uint64
		n := testing.AllocsPerRun(100, func() {
			index++
			if _, err := w.Row(row, data, op, Draw{Seed: 1, Index: index}); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations a row, want 0", name, n)
		}
	}
}

// allConfigs covers every type, layout, mode, filter and geometry once.
func allConfigs() []Config {
	var all []Config
	for i := range 144 {
		cfg := Config{Out: Size{31, 45}, DType: DType(i % 4), Layout: Layout(i / 4 % 2), Mode: Mode(i / 8 % 3), Interpolation: Interpolation(i / 24 % 3), Steps: Steps(Chance{Flip, 0.5})}
		switch i % 5 {
		case 0:
			cfg.ResizeShort = 40
		case 1:
			cfg.Resize = Size{50, 60}
		case 2:
			cfg.Random = &RandomCrop{}
		case 4:
			cfg.ScaleJitter = &ScaleJitter{Size{40, 60}, [2]float64{0.3, 2}}
		case 3:
			cfg.Resize, cfg.Out = Size{20, 100}, Size{31, 9}
		}
		if i%11 < 5 {
			cfg.Erase = &Erase{P: 0.5, Noise: cfg.DType != U8}
		}
		if cfg.Random == nil && i%2 == 0 {
			cfg.Anywhere, cfg.Pad, cfg.Padding = true, Around(i%60), Padding(i/2%4)
		}
		if cfg.DType != U8 && i%3 == 0 {
			cfg.Normalize = &Normalize{imagenet.Mean[:3-2*min(1, int(cfg.Mode))], imagenet.Std[:3-2*min(1, int(cfg.Mode))]}
		}
		if i%7 < 4 {
			jitter := &Jitter{P: 0.8, Brightness: &[2]float64{0.5, 2}, Contrast: &[2]float64{0.5, 2}}
			do(&cfg, Chance{VFlip, 0.5}, jitter)
			if i%7 < 3 && cfg.Mode == RGB {
				jitter.Saturation, jitter.Hue = &[2]float64{0, 2}, &[2]float64{-0.5, 0.5}
				do(&cfg, Chance{Grayscale, 0.2})
			}
		}
		turn := &Rotation{Degrees: [2]float64{-40, 40}, Interpolation: Interpolation(i / 10 % 2 * 2), Expand: i%15 == 9 || i%15 == 14}
		if i%5 == 4 {
			do(&cfg, &Augment{Kind: Augmentation(1 + i/5%3), Ops: 3, Magnitude: 5, Bins: 7, Policy: Policy(i / 15 % 3), Interpolation: Interpolation(i / 5 % 2 * 2)})
			do(&cfg, &Blur{P: 0.5, Size: 5, Sigma: [2]float64{0.1, 2}})
		}
		switch i % 15 {
		case 4:
			do(&cfg, turn)
		case 9:
			cfg.Ahead = Steps(turn)
		case 14:
			cfg.Resized = Steps(Chance{Flip, 0.5}, turn)
		}
		all = append(all, cfg)
	}
	for i := range 120 { // OpenCV's filters
		cfg := Config{Out: Size{31, 45}, Layout: Layout(i / 5 % 2), Mode: Mode(i / 10 % 2), Interpolation: CV2Linear + Interpolation(i%5), Steps: Steps(Chance{Flip, 0.5}, Chance{VFlip, 0.5})}
		switch i / 20 {
		case 0:
			cfg.Resize = Size{50, 60}
		case 1:
			cfg.Random = &RandomCrop{}
		case 2:
			cfg.Contain = &Contain{Letterbox: true}
		case 3:
			cfg.Resize = Size{75, 100} // some are halved
		case 4:
			cfg.RandomResize = &RandomResize{8, 60}
			cfg.Resized = Steps(&Rotation{Degrees: [2]float64{-40, 40}, Interpolation: Bilinear, Expand: true})
		case 5:
			cfg.ScaleJitter, cfg.Anywhere, cfg.DType = &ScaleJitter{Size{40, 60}, [2]float64{0.3, 2}}, true, F32
		}
		all = append(all, cfg)
	}
	return all
}

// The nearest pixel is Pillow's (tests/exact): that under the centre of the new one. None is mixed of several.
func TestNearestTakesWholePixels(t *testing.T) {
	w := worker(t, nil)
	under := func(i, in, out int) int { // by sums, which may end on the other side of an edge than a product
		scale := float64(in) / float64(out)
		at := scale / 2
		for range i {
			at += scale
		}
		return int(at)
	}
	for _, size := range []Size{{40, 60}, {1, 1}, {200, 3}} {
		levels := image.NewGray(image.Rect(0, 0, size.W, size.H))
		for i := range levels.Pix {
			levels.Pix[i] = byte(i*7 + i/size.W)
		}
		var b bytes.Buffer
		if err := png.Encode(&b, levels); err != nil {
			t.Fatal(err)
		}
		for _, out := range []Size{{40, 60}, {10, 15}, {80, 240}, {7, 9}, {1, 1}, {131, 5}} {
			op := compiled(t, Config{Resize: out, Mode: Gray, Interpolation: Nearest})
			row := make([]byte, op.RowBytes())
			if _, err := w.Row(row, b.Bytes(), op, Draw{}); err != nil {
				t.Fatal(err)
			}
			for i, got := range row {
				y, x := under(i/out.W, size.H, out.H), under(i%out.W, size.W, out.W)
				if want := levels.GrayAt(x, y).Y; got != want {
					t.Fatalf("%v to %v, pixel %d: got %d, want %d", size, out, i, got, want)
				}
			}
		}
	}
}

// What is neither resized nor mixed has the picture's own pixels, of every width and on every instruction set.
func TestACropHasThePicturesPixels(t *testing.T) {
	const h, w = 9, 45
	picture := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range picture.Pix {
		picture.Pix[i] = byte(i*31 + i/97)
		if i%4 == 3 {
			picture.Pix[i] = 255
		}
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		t.Fatal(err)
	}
	for _, worker := range []*Worker{worker(t, nil), worker(t, &Options{Portable: true})} {
		for width := 1; width <= w; width++ {
			for _, flips := range []bool{false, true} {
				cfg := Config{Out: Size{h - 2, width}, MiddleDown: true, Layout: NHWC}
				if flips {
					cfg.Steps = Steps(Chance{Flip, 1})
				}
				op := compiled(t, cfg)
				row := make([]byte, op.RowBytes())
				if _, err := worker.Row(row, file.Bytes(), op, Draw{}); err != nil {
					t.Fatal(err)
				}
				for i, got := range row {
					x, y := i/3%width, i/3/width
					if flips {
						x = width - 1 - x
					}
					if want := picture.Pix[picture.PixOffset((w-width)/2+x, 1+y)+i%3]; got != want {
						t.Fatalf("%s, %d wide, flipped %v, byte %d: got %d, want %d", worker.ISA(), width, flips, i, got, want)
					}
				}
			}
		}
	}
}

// The vector paths give the bytes of the portable one.
func TestEveryInstructionSetGivesTheSameBytes(t *testing.T) {
	best, portable := worker(t, nil), worker(t, &Options{Portable: true})
	if best.ISA() == portable.ISA() {
		t.Skipf("this processor has nothing but %s", best.ISA())
	}
	for _, size := range []Size{{150, 200}, {31, 45}, {7, 300}, {1, 1}, {600, 33}} {
		data := testJPEG(t, size.W, size.H)
		for i, cfg := range allConfigs() {
			op := compiled(t, cfg)
			a, b := make([]byte, op.RowBytes()), make([]byte, op.RowBytes())
			draw := Draw{Seed: 7, Index: uint64(i)}
			if _, err := best.Row(a, data, op, draw); err != nil {
				t.Fatal(err)
			}
			if _, err := portable.Row(b, data, op, draw); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a, b) {
				t.Fatalf("%v, config %d: %s differs from %s", size, i, best.ISA(), portable.ISA())
			}
		}
	}
}

// A row does not depend on the worker, on its thread, or on what the worker
// decoded before, failures included.
func TestRowsDependOnNothingButTheirInputs(t *testing.T) {
	inputs := [][]byte{testJPEG(t, 90, 70), testPNG(t, 60, 80), testJPEG(t, 33, 200), testdata(t, "progressive.jpg"), testdata(t, "arithmetic.jpg")}
	op := compiled(t, everything(1))
	want := make([][]byte, len(inputs))
	for i, data := range inputs {
		want[i] = make([]byte, op.RowBytes())
		if _, err := worker(t, nil).Row(want[i], data, op, Draw{Seed: 3, Index: uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for g := range 4 {
		w := worker(t, nil)
		wg.Add(1)
		go func() {
			defer wg.Done()
			row := make([]byte, op.RowBytes())
			for n := range 60 {
				i := (n*7 + g) % len(inputs)
				cut := inputs[(i+1)%len(inputs)]
				if _, err := w.Row(row, cut[:len(cut)*2/3], op, Draw{}); err == nil {
					t.Error("a cut file was decoded")
				}
				if _, err := w.Row(row, inputs[i], op, Draw{Seed: 3, Index: uint64(i)}); err != nil || !bytes.Equal(row, want[i]) {
					t.Errorf("goroutine %d, row %d: error %v or other bytes", g, n, err)
				}
			}
		}()
	}
	wg.Wait()
}

func TestArithmeticCodedFilesDecode(t *testing.T) {
	op := compiled(t, Config{Resize: Size{47, 61}})
	w := worker(t, nil)
	a, b := make([]byte, op.RowBytes()), make([]byte, op.RowBytes())
	if _, err := w.Row(a, testdata(t, "arithmetic.jpg"), op, Draw{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Row(b, testdata(t, "arithmetic_progressive.jpg"), op, Draw{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) || bytes.Equal(a, make([]byte, len(a))) {
		t.Error("sequential and progressive files of one picture differ, or are black")
	}
}

func TestContentDecidesTheFormat(t *testing.T) {
	for want, data := range map[string]string{
		"png": "\x89PNG\r\n\x1a\n....", "gif": "GIF89a......", "tiff": "II*\x00........",
		"avif": "\x00\x00\x00\x1cftypavif", "heif": "\x00\x00\x00\x1cftypheic", "ppm": "P6 2 2 255 ......", "qoi": "qoif........", "pbm": "P4\n1 1\n\x80",
		"": "not a picture at all",
	} {
		if got := sniff([]byte(data)); got != want {
			t.Errorf("%q: got %q, want %q", data, got, want)
		}
	}
}

// avifenc --premultiply made it; libavif divides by alpha, we do not.
func TestAnAVIFOfPremultipliedColoursIsRefusedByName(t *testing.T) {
	op := compiled(t, eval)
	_, err := worker(t, nil).Row(make([]byte, op.RowBytes()), testdata(t, "premultiplied.avif"), op, Draw{})
	var unsupported *UnsupportedError
	if !errors.As(err, &unsupported) {
		t.Fatalf("got %v, want an UnsupportedError", err)
	}
}

func TestAnAVIFWithoutAStillPictureIsUnsupported(t *testing.T) {
	op := compiled(t, eval)
	_, err := worker(t, nil).Row(make([]byte, op.RowBytes()), []byte("\x00\x00\x00\x18ftypavif............"), op, Draw{})
	var unsupported *UnsupportedError
	if !errors.As(err, &unsupported) || unsupported.Format != "avif" {
		t.Fatalf("got %v, want an UnsupportedError for avif", err)
	}
}

// DLPack's codes: 1 is unsigned integer, 2 float, 4 bfloat.
func TestTypesCarryDLPackCodes(t *testing.T) {
	for d, want := range map[DType]string{U8: "1/8/1", F16: "2/16/1", BF16: "4/16/1", F32: "2/32/1"} {
		code, bits, lanes := d.DLPack()
		if got := fmt.Sprintf("%d/%d/%d", code, bits, lanes); got != want {
			t.Errorf("dtype %d: got %s, want %s", d, got, want)
		}
	}
}

// FuzzRow: any bytes give a row or an error with a cause, equal in plain C.
func FuzzRow(f *testing.F) {
	f.Add(testJPEG(f, 40, 30), uint16(0))
	f.Add(testPNG(f, 40, 30), uint16(1))
	for _, name := range []string{"progressive.jpg", "arithmetic.jpg", "arithmetic_progressive.jpg", "damaged/lossy.webp", "damaged/lossless.webp", "damaged/alpha.webp"} {
		f.Add(testdata(f, name), uint16(2))
	}
	configs := allConfigs()
	best, portable := worker(f, nil), worker(f, &Options{Portable: true})
	f.Fuzz(func(t *testing.T, data []byte, pick uint16) {
		cfg := configs[int(pick)%len(configs)]
		cfg.MaxPixels = 1 << 20
		cfg.Orient = pick&0x8000 != 0
		op := compiled(t, cfg)
		a, b := make([]byte, op.RowBytes()), make([]byte, op.RowBytes())
		_, err := best.Row(a, data, op, Draw{Index: uint64(pick)})
		_, again := portable.Row(b, data, op, Draw{Index: uint64(pick)})
		if (err == nil) != (again == nil) || err == nil && !bytes.Equal(a, b) {
			t.Fatalf("%s and %s differ: errors %v and %v", best.ISA(), portable.ISA(), err, again)
		}
		var caused interface{ Cause() string }
		if err != nil && (!errors.As(err, &caused) || caused.Cause() == "") {
			t.Fatalf("%v has no cause", err)
		}
	})
}

func BenchmarkRow(b *testing.B) {
	for name, data := range map[string][]byte{"jpeg": testJPEG(b, 500, 375), "png": testPNG(b, 500, 375)} {
		b.Run(name, func(b *testing.B) {
			w, op := worker(b, nil), compiled(b, eval)
			row := make([]byte, op.RowBytes())
			b.ReportAllocs()
			for range b.N {
				if _, err := w.Row(row, data, op, Draw{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
