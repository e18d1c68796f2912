//go:build !noffmpeg

package video

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/media/mux"
)

// A kept index is made once, made anew when the video or the index changes, and
// never changes a frame.
func TestIndexCacheFollowsTheVideo(t *testing.T) {
	files := golden(t)
	dir, videos := t.TempDir(), t.TempDir()
	path := filepath.Join(videos, "v.mp4")
	put := func(name string, when time.Time) *found {
		b := file(t, name).Bytes
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		return files[name]
	}
	for _, cache := range []string{dir, Beside} {
		f := put("bframes.mp4", time.Unix(1000, 0))
		read := func(f *found) {
			t.Helper()
			cfg := asStored(f, 60, Selection{})
			cfg.IndexCache = cache
			r := mustDecode(t, cfg, Source{Path: path}, Draw{})
			if got := r.numbers(); !slices.Equal(got, f.Number) {
				t.Errorf("cache %q: got frames %v, want %v", cache, got, f.Number)
			}
		}
		read(f)
		kept, err := cachePath(cache, path, -1, true)
		if err != nil {
			t.Fatal(err)
		}
		first, err := os.Stat(kept)
		if err != nil {
			t.Fatal(err)
		}
		read(f)
		if again, err := os.Stat(kept); err != nil || !os.SameFile(first, again) {
			t.Errorf("cache %q: the index was made twice (%v)", cache, err)
		}
		if err := os.WriteFile(kept, []byte("spdlvidx and then nothing of the kind"), 0o644); err != nil {
			t.Fatal(err)
		}
		read(f)
		read(put("edit.mp4", time.Unix(2000, 0)))
		if err := os.Remove(kept); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(videos); err != nil || len(left) != 1 {
		t.Errorf("got %v beside the video (%v), want nothing", left, err)
	}
}

// An index that cannot be kept is an error with its path: a cache that never works
// would be paid for with every sample.
func TestAnIndexThatCannotBeKeptIsAnError(t *testing.T) {
	cfg := small()
	cfg.IndexCache = filepath.Join(t.TempDir(), "missing")
	if _, err := decode(t, cfg, Source{Path: "testdata/bframes.mp4"}, Draw{}); err == nil {
		t.Fatal("a cache in a missing directory was taken")
	}
}

// Without an index, videos whose headers are true give the same frames as with one.
func TestApproximateIsExactWhereHeadersAreTrue(t *testing.T) {
	files := golden(t)
	for _, name := range []string{"bframes.mp4", "opengroup.mkv", "opengroup_hevc.mp4", "av1.mp4", "odd.webm", "planar444.mp4", "turned90.mp4", "motion.mov"} {
		f := files[name]
		for _, s := range []Selection{{Kind: Uniform, Count: 5}, {Kind: Every, Step: 3}, {Kind: AtIndices, Indices: []int{7, 1, 1, -1}}} {
			cfg := asStored(f, 40, s)
			exact := mustDecode(t, cfg, file(t, name), Draw{})
			cfg.Approximate = true
			for _, src := range []Source{file(t, name), {Path: filepath.Join("testdata", name)}} {
				got := mustDecode(t, cfg, src, Draw{})
				if a, b := got.numbers(), exact.numbers(); !slices.Equal(a, b) {
					t.Errorf("%s, kind %d: got frames %v, want %v", name, s.Kind, a, b)
				}
			}
		}
	}
}

// Whatever headers say, what comes without an index is a whole frame of the video, none before one that was asked for earlier, or an error by name.
func TestApproximateShowsWholeFrames(t *testing.T) {
	files := golden(t)
	for _, name := range names(files) {
		f, shown := files[name], 0
		all := mustDecode(t, asStored(f, len(f.PTS), Selection{}), file(t, name), Draw{})
		frame := all.op.image.RowBytes()
		for _, s := range []Selection{{}, {Kind: Uniform, Count: 5}, {Kind: FPS, Rate: 9}, {Kind: AtIndices, Indices: []int{1, 2, -1}}, {Kind: AtIndices, Indices: []int{-3}}} {
			cfg := asStored(f, 2*len(f.PTS), s)
			cfg.Approximate = true
			got, err := decode(t, cfg, file(t, name), Draw{})
			if err != nil {
				if cause := causeOf(err); cause != "unsupported" && cause != "corrupt" {
					t.Errorf("%s, kind %d: got cause %q of %v", name, s.Kind, cause, err)
				}
				continue
			}
			last := -1
			for i, n := range got.numbers() {
				at := max(last, 0)
				for at < len(f.Number) && (f.Number[at] != n || !slices.Equal(got.Data[i*frame:(i+1)*frame], all.Data[at*frame:(at+1)*frame])) {
					at++
				}
				if at == len(f.Number) {
					t.Errorf("%s, kind %d: place %d shows number %d, not a frame of the video from %d on", name, s.Kind, i, n, last)
					break
				}
				last, shown = at, shown+1
			}
		}
		if shown == 0 && !strings.HasPrefix(name, "no_times") {
			t.Errorf("%s: nothing was shown", name)
		}
	}
}

// Packets have no bytes to be known by: no index is kept of them, nor one of others taken.
func TestPacketsHaveNoKeptIndex(t *testing.T) {
	cfg := small()
	cfg.IndexCache = t.TempDir()
	for _, name := range []string{"bframes.mp4", "opengroup.mkv"} {
		in, err := mux.OpenInput(mux.Source{Path: filepath.Join("testdata", name)}, mux.KindVideo)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		packets, err := in.Take(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer packets.Close()
		got, want := mustDecode(t, cfg, Source{Packets: packets}, Draw{}), mustDecode(t, small(), file(t, name), Draw{})
		if !slices.Equal(got.Data, want.Data) || got.info.Of != want.info.Of {
			t.Errorf("%s: %d of %d frames are others than those of the file, which has %d", name, got.info.Frames, got.info.Of, want.info.Of)
		}
	}
	if kept, err := os.ReadDir(cfg.IndexCache); err != nil || len(kept) > 0 {
		t.Errorf("%d indices were kept (%v), want none", len(kept), err)
	}
}

// A sample costs no Go allocation in the steady state.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	cfg := small()
	w := workerOf(t, cfg)
	op := w.op
	defer w.Close()
	src := file(t, "bframes.mp4")
	dst := Row{Data: make([]byte, op.RowBytes()), PTS: make([]float64, op.Frames())}
	one := func() {
		if _, err := w.Decode(dst, src, Draw{}); err != nil {
			t.Fatal(err)
		}
	}
	one()
	if n := testing.AllocsPerRun(50, one); n > 0 {
		t.Errorf("got %v allocations a sample, want none", n)
	}
}
