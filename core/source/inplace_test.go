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

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/tests/leak"
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
	members := []Medium{{Name: "video", From: []string{"mp4"}}, {Name: "audio", From: []string{"wav"}}}
	for _, kind := range []string{"tar", "zip"} {
		all[kind] = opened(OpenShards(context.Background(), ShardsConfig{Shards: []string{filepath.Join(archive, "a."+kind)}, InPlace: largeAt, Columns: columns, Media: members}))
	}

	// The same in a store.
	bucket := serveBucket(t, map[string]string{
		"tree/a.mp4": video, "tree/a.npy": array, "tree/a.txt": "text", "tree/a.wav": sound, "tree/a.csv": "path,sound,npy,txt\na.mp4,a.wav,a.npy,text\n",
		"a.tar": string(tarOf(t, tar.FormatPAX, parts...)), "a.zip": zipOf(t, parts),
	})
	client := bucket.client(t)
	all[inStore+"folder"] = opened(OpenFolder(FolderConfig{Dir: "s3://bucket/tree", Extensions: []string{"mp4"}, Media: media("wav"), Columns: columns, InPlace: largeAt, Store: client}))
	all[inStore+"table"] = opened(OpenList(ListConfig{File: "s3://bucket/tree/a.csv", Others: media("sound")[1:], NoLabels: true, Columns: columns, InPlace: largeAt, Store: client}))
	for _, kind := range []string{"tar", "zip"} {
		all[inStore+kind] = opened(OpenShards(context.Background(), ShardsConfig{Shards: []string{"s3://bucket/a." + kind}, InPlace: largeAt, Columns: columns, Media: members, Store: client}))
	}
	inPlaceBucket = bucket
	return all
}

// inStore begins the names of places that lie in a store: inPlaceBucket, that of the latest inPlaceSources.
const inStore = "store's "

var inPlaceBucket *bucket

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
	if from := f.Object(); from != nil {
		n, err := from.ReadAt(content, f.Offset)
		must(t, err)
		return string(content[:n])
	}
	n, err := unix.Pread(f.FD, content, f.Offset)
	must(t, err)
	return string(content[:n])
}

// Large media stay in their files, in folders, tables and archives; small ones and columns beside them are read as ever.
func TestLargeMediaStayInTheirFiles(t *testing.T) {
	for what, sizes := range map[string][2]string{"both": {largeWords, largeWords + "!"}, "the first": {largeWords, smallWords}, "the second": {smallWords, largeWords}, "none": {smallWords, smallWords}} {
		for place, s := range inPlaceSources(t, sizes[0], sizes[1]) {
			t.Run(place+" "+what, func(t *testing.T) {
				since := leak.Descriptors()
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
					must(t, b.Unread())
				}
				b.drop()
				must(t, since())
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
		if strings.HasPrefix(place, inStore) {
			continue
		}
		var b Buffer
		must(t, s.Read(context.Background(), 0, &b))
		later := time.Now().Add(time.Hour)
		must(t, os.Chtimes(b.InPlace(0).Name, later, later))
		var bad *Error
		if err := b.Unread(); !errors.As(err, &bad) || bad.Cause != Changed {
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

// An object that is written between its opening and its decoding makes a bad sample, and so does one that is gone; what was read before of its version
// is what it was.
func TestObjectThatChangesInPlaceIsChanged(t *testing.T) {
	for cause, change := range map[Cause]func(path string){
		Changed: func(path string) { inPlaceBucket.etag[path] = "2" },
		Missing: func(path string) { delete(inPlaceBucket.data, path) },
	} {
		for place, s := range inPlaceSources(t, largeWords, smallWords) {
			path := map[string]string{inStore + "folder": "/bucket/tree/a.mp4", inStore + "table": "/bucket/tree/a.mp4", inStore + "tar": "/bucket/a.tar", inStore + "zip": "/bucket/a.zip"}[place]
			if path == "" {
				continue
			}
			var read, unread Buffer
			must(t, s.Read(context.Background(), 0, &read))
			if got := medium(t, &read, 0); got != largeWords {
				t.Errorf("%s: got %q", place, got)
			}
			must(t, s.Read(context.Background(), 0, &unread))
			client := inPlaceBucket.client(t) // one that has no blocks
			unread.placed[0].file.object = client.Reader(&store.Object{URL: "s3:/" + path, Size: int64(len(inPlaceBucket.data[path])), ETag: `"v1"`})
			inPlaceBucket.change(func() { change(path) })
			must(t, read.Unread())
			if got := medium(t, &read, 0); got != largeWords {
				t.Errorf("%s: got %q after the change", place, got)
			}
			if _, err := unread.InPlace(0).Object().ReadAt(make([]byte, 10), 0); err == nil {
				t.Errorf("%s: it was read", place)
			}
			var bad *Error
			if err := unread.Unread(); !errors.As(err, &bad) || bad.Cause != cause || !strings.Contains(bad.Detail, path[1:]) {
				t.Errorf("%s: got %v, want %s", place, err, cause)
			}
			inPlaceBucket.change(func() { inPlaceBucket.etag[path], inPlaceBucket.data[path] = "", largeWords })
		}
	}
}

// A version of an object has a number that another one has not; without a name for it there is none.
func TestObjectsInPlaceHaveVersions(t *testing.T) {
	client := storeClient(t, store.Options{})
	versions := map[int64]int{}
	for _, o := range []store.Object{{ETag: `"a"`}, {ETag: `"b"`}, {Modified: "today"}, {ETag: `"a"`}, {}} {
		o.URL, o.Size = "https://user:secret@host/a.mp4?signature=secret", 10
		var b Buffer
		b.placeObject(client, &o, 0, 10)
		f := b.InPlace(0)
		versions[f.Version]++
		if f.Name != "https://host/a.mp4?..." {
			t.Errorf("got the name %q", f.Name)
		}
	}
	if len(versions) != 4 || versions[0] != 1 {
		t.Errorf("got %v", versions)
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
