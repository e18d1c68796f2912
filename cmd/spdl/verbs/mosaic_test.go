package verbs

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// quarters is a PNG of four colours, each a quarter of it.
func quarters(t *testing.T, file string, w, h int) {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetRGBA(x, y, quarterColours[2*y/h*2+2*x/w])
		}
	}
	f, err := os.Create(file)
	if err == nil {
		err = png.Encode(f, m)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

var quarterColours = []color.RGBA{{200, 30, 30, 255}, {30, 160, 30, 255}, {30, 30, 200, 255}, {200, 160, 20, 255}}

// Tiles are shown in their places, with the whole picture beside them, whichever way they lie: of four tiles each has its quarter of the picture.
func TestViewShowsTilesInTheirPlaces(t *testing.T) {
	name, dir := home(t), t.TempDir()
	quarters(t, filepath.Join(dir, "a.png"), 200, 200)
	quarters(t, filepath.Join(dir, "b.png"), 300, 300)
	for _, section := range []string{
		"tiles: {size: 96, min: 4, max: 4}", "tiles: {size: 96, min: 4, max: 4, shape: padded}, layout: NCHW", "tiles: {size: 96, min: 4, max: 4, shape: ragged}, transform: [normalize: imagenet]",
		"tiles: {size: 96, kind: llava_next, grid_pinpoints: [192]}", "tiles: {size: 96, kind: mllama}, dtype: f16, layout: NCHW", "tiles: {size: 96, kind: idefics3, longest_edge: 192, shape: ragged}",
	} {
		file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), "source: {folder: "+dir+"}\nbatch: 2\nimage: {"+section+"}\n")
		m, near := sheetOf(t, []byte(good(t, "view", file, "--out", "-")))
		each := 2 * 96 * 96 // two pictures, of which a tile is that large
		if !strings.Contains(section, "mllama") {
			each += 2 * 48 * 48
		}
		for _, c := range quarterColours {
			if n := near(c); n < each*9/10 || n > each {
				t.Errorf("%s: %d pixels of %v on %v, want %d", section, n, c, m.Bounds(), each)
			}
		}
		if out := good(t, "check", file); !strings.Contains(out, "count   ") || !strings.Contains(out, "grid ") {
			t.Errorf("%s:\n%s", section, out)
		}
	}
}

// A masked row has no tiles, and is shown as such.
func TestViewShowsRowsWithoutTiles(t *testing.T) {
	name, dir := home(t), t.TempDir()
	quarters(t, filepath.Join(dir, "a.png"), 200, 200)
	writeFile(t, filepath.Join(dir, "b.png"), "no picture")
	file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), fmt.Sprintf("source: {folder: %s}\nbatch: 2\nimage: {tiles: 96}\nbad_sample: {policy: mask}\n", dir))
	_, near := sheetOf(t, []byte(good(t, "view", file, "--out", "-")))
	if n := near(warned); n == 0 {
		t.Error("the masked row has no frame")
	}
}
