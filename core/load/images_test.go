package load

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/spec"
)

// painted is a PNG of h x w in one colour.
func painted(t *testing.T, h, w int, c byte) Source {
	t.Helper()
	p := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range h * w {
		p.Set(i%w, i/w, color.RGBA{c, c, c, 255})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, p); err != nil {
		t.Fatal(err)
	}
	return Source{Bytes: out.Bytes()}
}

// red is the first channel of a row, line by line.
func red(m *Media, row int) (lines []string) {
	t := m.Tensors[0]
	h, w := int(t.Shape[1]), int(t.Shape[2])
	for y := range h {
		var line []byte
		for x := range w {
			line = append(line, t.Data[((row*h+y)*w+x)*3])
		}
		lines = append(lines, fmt.Sprint(line))
	}
	return lines
}

// A batch has the rows that its pictures decode to one by one, in their order, whatever the number of threads.
func TestABatchHasTheRowsOfItsPictures(t *testing.T) {
	var sources []Source
	for i := range 20 {
		sources = append(sources, painted(t, 20+i, 30, byte(i)))
	}
	for _, threads := range []int{0, 1, 7} {
		m, err := LoadBatch([]byte(fmt.Sprintf(`{"image": {"layout": "NCHW"}, "batch": {"height": 8, "width": 6, "threads": %d}}`, threads)), sources, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, src := range sources {
			one, err := Load([]byte(`{"image": {"layout": "NCHW", "transform": [{"resize": [8, 6]}]}}`), src, nil)
			if err != nil || !bytes.Equal(one.Tensors[0].Data, m.Tensors[0].Data[i*3*8*6:][:3*8*6]) {
				t.Fatalf("%d threads: row %d is another picture: %v", threads, i, err)
			}
		}
		if info := m.Info.(BatchInfo); len(info.Rows) != 20 || len(info.Failures) != 0 || fmt.Sprint(m.Tensors[0].Shape) != "20x3x8x6" {
			t.Errorf("%+v %v", info, m.Tensors[0].Shape)
		}
	}
}

// Another aspect is padded with black in the middle, cropped, or not kept.
func TestABatchFitsPicturesOfAnotherAspect(t *testing.T) {
	sources := []Source{painted(t, 4, 8, 200), painted(t, 8, 4, 100)}
	black, white := "[0 0 0 0]", "[200 200 200 200]"
	for fit, want := range map[string][2]string{
		"pad":  {fmt.Sprint([]string{black, white, white, black}), fmt.Sprint([]string{"[0 100 100 0]", "[0 100 100 0]", "[0 100 100 0]", "[0 100 100 0]"})},
		"crop": {fmt.Sprint([]string{white, white, white, white}), fmt.Sprint([]string{"[100 100 100 100]", "[100 100 100 100]", "[100 100 100 100]", "[100 100 100 100]"})},
		"fill": {fmt.Sprint([]string{white, white, white, white}), fmt.Sprint([]string{"[100 100 100 100]", "[100 100 100 100]", "[100 100 100 100]", "[100 100 100 100]"})},
	} {
		m, err := LoadBatch([]byte(fmt.Sprintf(`{"image": {}, "batch": {"height": 4, "width": 4, "fit": %q}}`, fit)), sources, nil)
		if err != nil {
			t.Fatal(err)
		}
		for row, lines := range want {
			if got := fmt.Sprint(red(m, row)); got != lines {
				t.Errorf("%s, row %d: %s, want %s", fit, row, got, lines)
			}
		}
	}
	m, err := LoadBatch([]byte(`{"image": {"layout": "NCHW"}, "batch": {"height": 4, "width": 4, "fit": "pad"}}`), sources[:1], nil)
	if err != nil || !bytes.Equal(m.Tensors[0].Data[16:20], make([]byte, 4)) || m.Tensors[0].Data[20] != 200 {
		t.Errorf("planes: %v %v", m, err)
	}
	if m, err = LoadBatch([]byte(`{"image": {}, "batch": {"width": 4, "fit": "pad"}}`), sources[:1], nil); err != nil || fmt.Sprint(m.Tensors[0].Shape) != "1x4x4x3" {
		t.Errorf("a width alone: %v %v", m, err)
	}
}

// Without strict what fails is left out and named; with it, it fails the call.
func TestABatchLeavesOutWhatFailsAndSaysWhich(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.png")
	if err := os.WriteFile(bad, []byte("no picture at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	cut := painted(t, 16, 16, 3)
	cut.Bytes = cut.Bytes[:len(cut.Bytes)/2]
	sources := []Source{{Path: bad}, painted(t, 4, 4, 1), cut, {Path: bad + "x"}, painted(t, 4, 4, 2)}
	m, err := LoadBatch([]byte(`{"image": {}, "batch": {"height": 2, "width": 2, "strict": false}}`), sources, nil)
	if err != nil {
		t.Fatal(err)
	}
	info := m.Info.(BatchInfo)
	if fmt.Sprint(info.Rows) != "[1 4]" || red(m, 0)[0] != "[1 1]" || red(m, 1)[0] != "[2 2]" || m.Tensors[0].Shape[0] != 2 || len(m.Tensors[0].Data) != 24 {
		t.Errorf("rows %v and %v of %d bytes", red(m, 0), red(m, 1), len(m.Tensors[0].Data))
	}
	if f := info.Failures; len(f) != 3 || f[0].Sample != 0 || f[1].Sample != 2 || f[2].Sample != 3 ||
		!strings.Contains(f[0].Error, fmt.Sprintf("sample 0 of 5, %q: ", bad)) || !strings.Contains(f[2].Error, "no such file") {
		t.Errorf("%+v", f)
	}
	var wrong *Error
	if _, err := LoadBatch([]byte(`{"image": {}, "batch": {"height": 2, "width": 2}}`), sources, nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "load: sample 0 of 5, ") {
		t.Errorf("with strict: %v", err)
	}
	if _, err := LoadBatch([]byte(`{"image": {}, "batch": {"strict": false}}`), sources[2:3], nil); err == nil || !strings.Contains(err.Error(), "sample 0 of 1") {
		t.Errorf("a batch of nothing: %v", err)
	}
	_, err = LoadBatch([]byte(`{"image": {}}`), []Source{painted(t, 4, 4, 1), painted(t, 4, 5, 1)}, nil)
	if err == nil || !strings.Contains(err.Error(), "sample 1 of 2: it becomes 4x5x3, and sample 0 4x4x3; give the batch a height and a width") {
		t.Error(err)
	}
}

// A wrong description is refused before a picture is read.
func TestABatchIsRefusedByName(t *testing.T) {
	for description, want := range map[string]string{
		`{}`:                                               "image: want a mapping",
		`{"image": {}, "batch": null}`:                     "batch: got nothing, want a mapping of height",
		`{"image": {}, "batch": {"hight": 1}}`:             `batch.hight: unknown key; did you mean "height"?`,
		`{"image": {}, "batch": {"width": "5"}}`:           `batch.width: got text "5", want a whole number`,
		`{"image": {}, "batch": {"height": -1}}`:           "batch.height: got -1, want a whole number",
		`{"image": {}, "batch": {"width": 99999}}`:         "batch.width: got 99999, want a whole number from 0 to 16384",
		`{"image": {}, "batch": {"width": 4294967300}}`:    "batch.width: got 4294967300, want",
		`{"image": {}, "batch": {"width": 4, "width": 5}}`: "batch.width: given twice",
		`{"image": {}} x`:                                  "batch",
		`{"image": 3}`:                                     "image: want a mapping",
		`{"image": {}, "batch": {"threads": -1}}`:          "batch.threads: got -1",
		`{"image": {}, "batch": {"fit": "squeeze"}}`:       `batch.fit: got "squeeze", want pad, crop or fill`,
		`{"image": {"transform": [{"resize": [2, 2]}]}, "batch": {"height": 2}}`: "got a size, and a transform",
		`{"image": {"tiles": 8}}`:       "image.tiles: pictures of one batch would have different numbers of them; leave it out",
		`{"image": {"layuot": "NCHW"}}`: `image.layuot: unknown key; did you mean "layout"?`,
		`{"image": {"transform": [{"normalize": {"mean": [1], "std": [1]}}]}}`: "got 1 values, want 3",
	} {
		_, err := LoadBatch([]byte(description), []Source{painted(t, 2, 2, 1)}, nil)
		var described *spec.Error
		if !errors.As(err, &described) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", description, err, want)
		}
	}
	if _, err := LoadBatch([]byte(`{"image": {}}`), nil, nil); err == nil || !strings.Contains(err.Error(), "want one or more") {
		t.Error(err)
	}
}
