package verbs

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Patches are shown as the picture that they are of, whichever way they lie: each quarter has its colour.
func TestViewPutsPatchesTogether(t *testing.T) {
	name, dir := home(t), t.TempDir()
	quarters(t, filepath.Join(dir, "a.png"), 96, 96)
	writeFile(t, filepath.Join(dir, "b.png"), "no picture")
	const resize = "{resize: {min_pixels: 9216, max_pixels: 9216, multiple_of: 48}}"
	for _, section := range []string{
		"patches: 8, transform: [" + resize + "]", "patches: {size: 8, merge: 3, shape: padded}, layout: NCHW, transform: [" + resize + "]",
		"patches: {size: 12, merge: 2, temporal: 2, shape: fixed}, transform: [" + resize + ", normalize: imagenet]", "patches: {size: 16, temporal: 2}, layout: NCHW, dtype: bf16, transform: [" + resize + "]",
	} {
		file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), fmt.Sprintf("source: {folder: %s}\nbatch: 2\nbad_sample: {policy: mask}\nimage: {%s}\n", dir, section))
		m, near := sheetOf(t, []byte(good(t, "view", file, "--out", "-")))
		for _, c := range quarterColours {
			if n, each := near(c), 48*48; n < each*9/10 || n > each {
				t.Errorf("%s: %d pixels of %v on %v, want %d", section, n, c, m.Bounds(), each)
			}
		}
		if near(warned) == 0 {
			t.Errorf("%s: the masked row has no frame", section)
		}
		if out := good(t, "check", file); !strings.Contains(out, "count   ") || !strings.Contains(out, "grid ") {
			t.Errorf("%s:\n%s", section, out)
		}
	}
}
