package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// keptOf opens what is kept of a source.
func keptOf(t *testing.T, src Source, what string) *Sizes {
	t.Helper()
	s, note := OpenSizes(src, what)
	if note != "" {
		t.Fatal(note)
	}
	return s
}

func wantSize(t *testing.T, s *Sizes, i int64, w, h int) {
	t.Helper()
	gotW, gotH, ok := s.Known(i)
	if gotW != w && ok || ok != (w > 0) || ok && gotH != h {
		t.Errorf("sample %d: got %d x %d, known: %v; want %d x %d", i, gotW, gotH, ok, w, h)
	}
}

// What was told is there the next time, for the same samples and the same question, of files that have not changed since; a damaged file is as none.
func TestSizesAreKeptByWhatTheSamplesAre(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := tree(t, "a.png", "b.png", "c.png")
	src := openF(t, FolderConfig{Dir: dir})
	s := keptOf(t, src, "a picture")
	wantSize(t, s, 0, 0, 0)
	s.Tell(0, 640, 480)
	s.Tell(2, 1, 70000)
	must(t, s.Keep())
	again := keptOf(t, src, "a picture")
	wantSize(t, again, 0, 640, 480)
	wantSize(t, again, 1, 0, 0)
	wantSize(t, again, 2, 1, 70000)
	must(t, os.Chtimes(filepath.Join(dir, "c.png"), time.Time{}, time.Unix(9, 9)))
	wantSize(t, again, 0, 640, 480)
	wantSize(t, again, 2, 0, 0)
	wantSize(t, keptOf(t, src, "another"), 0, 0, 0)
	wantSize(t, keptOf(t, openF(t, FolderConfig{Dir: tree(t, "a.png", "b.png", "d.png")}), "a picture"), 0, 0, 0)
	for _, damage := range []func(all []byte) []byte{
		func(all []byte) []byte { return all[:len(all)-1] },
		func(all []byte) []byte { all[20] ^= 1; return all },
		func(all []byte) []byte { return append(all, 0) },
		func([]byte) []byte { return nil },
	} {
		must(t, s.Keep())
		all, err := os.ReadFile(s.path)
		must(t, err)
		must(t, os.WriteFile(s.path, damage(all), 0o600))
		wantSize(t, keptOf(t, src, "a picture"), 0, 0, 0)
	}
}

// A source that does not know its samples, and a machine without a place to keep things, keep nothing and say so.
func TestSizesThatAreNotKeptSayWhy(t *testing.T) {
	src := openF(t, FolderConfig{Dir: tree(t, "a.png")})
	unknown := struct{ Source }{src}
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	s, note := OpenSizes(unknown, "")
	if !strings.Contains(note, "does not know which samples it has") {
		t.Errorf("got %q", note)
	}
	s.Tell(0, 5, 6)
	must(t, s.Keep())
	t.Setenv("SPDL_CACHE_DIR", "")
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	if _, note := OpenSizes(src, ""); !strings.Contains(note, "the sizes of pictures are not kept") || !strings.Contains(note, "set SPDL_CACHE_DIR") {
		t.Errorf("got %q", note)
	}
}

// nameless is a source of samples that are named and have no version, as objects of a store are that tells no ETag.
type nameless struct{ outer }

func (nameless) Identity(int64, []byte) []byte { return nil }

// A sample without an identity may be another picture the next time, so that it is looked at again.
func TestSizesOfSamplesWithoutAnIdentityAreNotKept(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	src := nameless{outer{openF(t, FolderConfig{Dir: tree(t, "a.png")})}}
	s := keptOf(t, src, "")
	s.Tell(0, 640, 480)
	must(t, s.Keep())
	wantSize(t, s, 0, 0, 0)
	wantSize(t, keptOf(t, src, ""), 0, 0, 0)
}
