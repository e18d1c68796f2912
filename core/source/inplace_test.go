package source

import (
	"archive/tar"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The media of a sample in these tests: what is small and what is large, in places whose files are read as they are, and what they are called there.
const (
	smallWords = "a few words"
	largeAt    = 64
)

var largeWords = strings.Repeat("many words, ", 20)

// inPlaceSources are sources of one sample of two media, a.mp4 and a.wav, the column txt, and an array as large as a large medium, by place.
func inPlaceSources(t *testing.T, video, sound string) map[string]Source {
	t.Helper()
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir, archive := t.TempDir(), t.TempDir()
	array := npy(false, 1, 100)
	parts := []part{{"a.mp4", video}, {"a.npy", array}, {"a.txt", "text"}, {"a.wav", sound}}
	for _, p := range parts {
		must(t, os.WriteFile(filepath.Join(dir, p.name), []byte(p.content), 0o644))
	}
	must(t, os.WriteFile(filepath.Join(dir, "a.csv"), []byte("path,sound,npy,txt\na.mp4,a.wav,a.npy,text\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(archive, "a.tar"), tarOf(t, tar.FormatPAX, parts...), 0o644))
	must(t, os.WriteFile(filepath.Join(archive, "a.zip"), []byte(zipOf(t, parts)), 0o644))

	columns := []Column{{Name: "npy", Type: Array}, {Name: "txt"}}
	media := func(from string) []Medium { return []Medium{{Name: "video"}, {Name: "audio", From: []string{from}}} }
	all, opened := map[string]Source{}, func(s Source, err error) Source {
		t.Helper()
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		return s
	}
	all["folder"] = opened(OpenFolder(FolderConfig{Dir: dir, Extensions: []string{"mp4"}, Media: media("wav"), Columns: columns, InPlace: largeAt}))
	all["table"] = opened(OpenList(ListConfig{File: filepath.Join(dir, "a.csv"), Others: media("sound")[1:], NoLabels: true, Columns: columns, InPlace: largeAt}))
	for _, kind := range []string{"tar", "zip"} {
		all[kind] = opened(OpenShards(context.Background(), ShardsConfig{
			Shards: []string{filepath.Join(archive, "a."+kind)}, InPlace: largeAt, Columns: columns,
			Media: []Medium{{Name: "video", From: []string{"mp4"}}, {Name: "audio", From: []string{"wav"}}},
		}))
	}
	return all
}

// medium is part k of a sample, wherever it lies.
func medium(t *testing.T, b *Buffer, k int) string {
	t.Helper()
	f := b.InPlace(k)
	if f == nil {
		return string(b.Part(k))
	}
	if len(b.Part(k)) > 0 {
		t.Errorf("part %d lies in a file and has bytes, too", k)
	}
	content := make([]byte, f.Size)
	n, err := unix.Pread(f.FD, content, f.Offset)
	must(t, err)
	return string(content[:n])
}

// Large media stay in their files, in folders, tables and archives; small ones and columns beside them are read as ever.
func TestLargeMediaStayInTheirFiles(t *testing.T) {
	for what, sizes := range map[string][2]string{"both": {largeWords, largeWords + "!"}, "the first": {largeWords, smallWords}, "the second": {smallWords, largeWords}, "none": {smallWords, smallWords}} {
		for place, s := range inPlaceSources(t, sizes[0], sizes[1]) {
			t.Run(place+" "+what, func(t *testing.T) {
				before := len(readDir(t, "/proc/self/fd"))
				var b Buffer
				for range 2 {
					must(t, s.Read(context.Background(), 0, &b))
					for k, want := range sizes {
						if got := medium(t, &b, k); got != want || (b.InPlace(k) != nil) != (len(want) >= largeAt) {
							t.Errorf("part %d: got %q, in place %v", k, got, b.InPlace(k) != nil)
						}
					}
					if got := shorts(b.Value(0)); len(got) != 100 || got[99] != 100 || string(b.Value(1)) != "text" {
						t.Errorf("columns: got %v and %q", got, b.Value(1))
					}
					must(t, b.Unchanged())
				}
				b.drop()
				if now := len(readDir(t, "/proc/self/fd")); now != before {
					t.Errorf("%d descriptors, were %d", now, before)
				}
			})
		}
	}
}

// In files of records and of columns media are ranges, too, which stay where they are.
func TestMediaOfDataSetsStayInTheirFiles(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	for dir, column := range map[string]string{"testdata/mds/all": "photo", "testdata/litdata/all": "photo", "testdata/arrow/saved": "image.bytes"} {
		open := func(inPlace int64) Source {
			s, err := OpenShards(context.Background(), ShardsConfig{Shards: []string{dir}, Media: []Medium{{Name: "image", From: []string{column}}}, InPlace: inPlace})
			must(t, err)
			t.Cleanup(func() { must(t, s.Close()) })
			return s
		}
		whole, placed := open(0), open(1)
		var a, b Buffer
		good := 0
		for i := range whole.Len() {
			if whole.Read(context.Background(), i, &a) != nil { // null
				continue
			}
			must(t, placed.Read(context.Background(), i, &b))
			if got := medium(t, &b, 0); b.InPlace(0) == nil || got != string(a.Part(0)) {
				t.Errorf("%s: sample %d: got %d bytes in place (%v), want %d", dir, i, len(got), b.InPlace(0) != nil, len(a.Part(0)))
			}
			good++
		}
		b.drop()
		if good == 0 {
			t.Errorf("%s: nothing was read", dir)
		}
	}
}

func readDir(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	return entries
}

// A video's file is one and the same for its sound, and is closed once.
func TestMediaOfOneFileShareItInPlace(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a.mp4"), []byte(largeWords), 0o644))
	s, err := OpenFolder(FolderConfig{Dir: dir, Extensions: []string{"mp4"}, Media: []Medium{{Name: "video"}, {Name: "audio", From: []string{"mp4"}}}, InPlace: largeAt})
	must(t, err)
	defer s.Close()
	var b Buffer
	must(t, s.Read(context.Background(), 0, &b))
	if b.InPlace(0) == nil || b.InPlace(0) != b.InPlace(1) {
		t.Errorf("got %v and %v, want one file", b.InPlace(0), b.InPlace(1))
	}
	other, err := os.Open(dir) // takes the number of a descriptor that is closed once too often
	must(t, err)
	defer other.Close()
	b.drop()
	if b.InPlace(0) != nil || unix.Fstat(int(other.Fd()), &unix.Stat_t{}) != nil {
		t.Error("the buffer closed what is not its own")
	}
}

// A file that is written between its opening and its decoding makes a bad sample.
func TestFileThatChangesInPlaceIsChanged(t *testing.T) {
	for place, s := range inPlaceSources(t, largeWords, smallWords) {
		var b Buffer
		must(t, s.Read(context.Background(), 0, &b))
		later := time.Now().Add(time.Hour)
		must(t, os.Chtimes(b.InPlace(0).Name, later, later))
		var bad *Error
		if err := b.Unchanged(); !errors.As(err, &bad) || bad.Cause != Changed {
			t.Errorf("%s: got %v, want changed", place, err)
		}
		b.drop()
		if err := s.Read(context.Background(), 0, &b); place == "tar" || place == "zip" {
			wantBad(t, err, Changed) // since the archive was opened
		} else {
			must(t, err)
		}
		b.drop()
	}
}

// What is no regular file is refused in place as it is where it is read.
func TestOtherFilesAreNotPlaced(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a.mp4"), []byte(largeWords), 0o644))
	s, err := OpenFolder(FolderConfig{Dir: dir, Extensions: []string{"mp4"}, InPlace: largeAt})
	must(t, err)
	defer s.Close()
	var b Buffer
	must(t, os.Remove(filepath.Join(dir, "a.mp4")))
	wantBad(t, s.Read(context.Background(), 0, &b), Missing)
	must(t, unix.Mkfifo(filepath.Join(dir, "a.mp4"), 0o644))
	wantBad(t, s.Read(context.Background(), 0, &b), NotRegular)
	must(t, os.Remove(filepath.Join(dir, "a.mp4")))
	must(t, os.WriteFile(filepath.Join(dir, "a.mp4"), nil, 0o644))
	wantBad(t, s.Read(context.Background(), 0, &b), Empty)
}
