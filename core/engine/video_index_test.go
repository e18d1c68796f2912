//go:build !noffmpeg

package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// newVideoEngine is an engine for two videos of five frames, twice over.
func newVideoEngine(t *testing.T, video, rest string) (*Engine, error) {
	t.Helper()
	dir := t.TempDir()
	for i := range 2 {
		must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.y4m", i)), y4m(5+i), 0o644))
	}
	text := fmt.Sprintf("name: %s\nsource: {folder: %s}\nbatch: 2\norder: {shuffle: false, epochs: 2}\nvideo: {frames: 3, transform: [resize: [8, 8]]%s}\n%s", testName(), dir, video, rest)
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	leavesNothing(t)
	return New(s, nil)
}

// drain reads every batch and says which frames the rows have.
func drain(t *testing.T, e *Engine) (text string, s RingStats) {
	t.Helper()
	r := serve(t, e)
	reader := r.attach(shm.AttachOptions{})
	for batches := 0; batches < 2; {
		l, err := reader.Acquire(testContext(t))
		if errors.Is(err, shm.EndEpoch) {
			continue
		}
		if err != nil {
			t.Fatal(err, r.Stats().Rings[0].Bad)
		}
		text += levels(l, 0, 3, 8*8*3) + levels(l, 1, 3, 8*8*3)
		must(l.Release())
		batches++
	}
	return text, r.Stats().Rings[0]
}

// epochs serves the two videos to the end, and leaves nothing for the next engine to meet.
func epochs(t *testing.T, video, rest string) (text string, s RingStats) {
	t.Helper()
	t.Run("", func(t *testing.T) {
		e, err := newVideoEngine(t, video, rest)
		if err != nil {
			t.Fatal(err)
		}
		text, s = drain(t, e)
	})
	return text, s
}

// An index is made once for what a video holds, and read in the next epoch and by the next engine; what is delivered is the same.
func TestVideoIndicesAreKeptAcrossEpochsAndEngines(t *testing.T) {
	want, s := epochs(t, "", "")
	if s.Video != nil {
		t.Errorf("without a directory there is nothing to count, got %+v", s.Video)
	}
	kept := filepath.Join(t.TempDir(), "made", "here")
	for i, counts := range [][2]uint64{{2, 2}, {0, 4}} {
		got, s := epochs(t, "", "cache: {video_index_dir: "+kept+"}\n")
		if got != want {
			t.Errorf("engine %d: got %q, want %q", i, got, want)
		}
		// Workers may meet at a sample of two epochs; made and read are four together.
		if c := s.Video; c == nil || c.IndexMade+c.IndexRead != 4 || c.IndexMade < counts[0] || i == 1 && c.IndexMade > 0 || c.IndexUnkept > 0 {
			t.Errorf("engine %d: %+v, want %v made and read", i, c, counts)
		}
	}
	files, err := os.ReadDir(kept)
	if err != nil || len(files) != 2 {
		t.Errorf("%d files are kept (%v), want one for each video", len(files), err)
	}
}

// A damaged index is made again, and a directory that takes none costs nothing but the time.
func TestVideoIndicesThatFailCostNoSample(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept")
	run := func() (string, RingStats) { return epochs(t, "", "cache: {video_index_dir: "+kept+"}\n") }
	want, _ := run()
	files, err := filepath.Glob(filepath.Join(kept, "*"))
	must(err)
	for _, name := range files {
		must(os.WriteFile(name, []byte("spdlvidx, and then nothing of the kind"), 0o600))
	}
	if got, s := run(); got != want || s.Video.IndexMade < 2 || s.Bad.Total > 0 {
		t.Errorf("damaged indices: got %q, %+v, want %q made again", got, s.Video, want)
	}
	for _, name := range files { // where a directory lies no file can be put
		must(os.Remove(name))
		must(os.MkdirAll(filepath.Join(name, "in the way"), 0o700))
	}
	if got, s := run(); got != want || s.Video.IndexUnkept != 4 || s.Bad.Total > 0 {
		t.Errorf("nothing can be kept: got %q, %+v, want %q and 4 unkept", got, s.Video, want)
	}
	blocked := filepath.Join(t.TempDir(), "file")
	must(os.WriteFile(blocked, nil, 0o600))
	if _, err := newVideoEngine(t, "", "cache: {video_index_dir: "+blocked+"}\n"); err == nil || !strings.Contains(err.Error(), "cache.video_index_dir") {
		t.Errorf("a file for a directory: got %v", err)
	}
}

// What decodes is counted where a device is asked for, and the rows are those of the processor where there is none.
func TestHardwareFallsBackAndIsCounted(t *testing.T) {
	want, _ := epochs(t, ", hardware: none", "")
	got, s := epochs(t, ", hardware: auto", "")
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if c := s.Video; c == nil || c.OnDevice+c.OnProcessor != 4 || c.OnDevice > 0 { // no device decodes raw video
		t.Errorf("got %+v, want 4 samples on the processor", c)
	}
}

// Filters and devices that cannot be are refused before the first batch, with what is wrong.
func TestVideoThatCannotBeIsRefusedAtOpen(t *testing.T) {
	for video, want := range map[string]string{
		", filter: movie=x":   `video: filter: "movie=x": got filter "movie"`,
		", filter: 'crop=x'":  `video: filter: "crop=x"`,
		", filter: loop=-1:1": "loop never ends",
	} {
		if _, err := newVideoEngine(t, video, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", video, err, want)
		}
	}
	e, err := newVideoEngine(t, ", hardware: qsv", "")
	if err == nil {
		must(e.Close())
		t.Skip("there is a device of Intel's")
	}
	if !strings.Contains(err.Error(), "hardware: got qsv, which is not here") || !strings.Contains(err.Error(), "auto or none") {
		t.Errorf("got %v, want the device's name and what to do", err)
	}
}
