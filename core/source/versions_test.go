package source

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source/store"
)

// keptSource is a source behind a cache of its own.
func keptSource(t *testing.T, s Source) (Source, *Cache) {
	t.Helper()
	k := openK(t, CacheConfig{Dir: t.TempDir()})
	behind, err := k.Wrap(s)
	must(t, err)
	return behind, k
}

// all is the bytes of every sample, one after the other.
func all(t *testing.T, s Source) (text string) {
	t.Helper()
	for i := range s.Len() {
		_, one := read(t, s, i)
		text += one + " "
	}
	return text
}

// Files of a folder, a list and a table are kept, each in its version: one that is written again is read again, the others are not.
func TestCacheKeepsLocalFilesByVersion(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		write(t, fmt.Sprintf("%s/tree/%d.jpg", dir, i), fmt.Sprint("p", i))
		write(t, fmt.Sprintf("%s/tree/%d.txt", dir, i), fmt.Sprint("t", i))
	}
	write(t, dir+"/l.tsv", "tree/0.jpg\n"+dir+"/tree/1.jpg\ntree/2.jpg\n")
	write(t, dir+"/t.csv", "path\ntree/0.jpg\ntree/1.jpg\ntree/2.jpg\n")
	sources := map[string]Source{
		"folder": openF(t, FolderConfig{Dir: dir + "/tree", Extensions: []string{"jpg"}, Columns: []Column{{Name: "txt"}}}),
		"list":   openL(t, ListConfig{File: dir + "/l.tsv"}), "table": openL(t, ListConfig{File: dir + "/t.csv"}),
	}
	caches := map[string]*Cache{}
	for name := range sources {
		sources[name], caches[name] = keptSource(t, sources[name])
		for range 2 {
			if got := all(t, sources[name]); got != "p0 p1 p2 " {
				t.Fatalf("%s: %q", name, got)
			}
		}
	}
	write(t, dir+"/tree/1.jpg", "P1")
	later := time.Now().Add(time.Hour)
	must(t, os.Chtimes(dir+"/tree/1.jpg", later, later))
	must(t, os.Chtimes(dir+"/tree/2.txt", later, later)) // a column's file counts as well
	for name, s := range sources {
		if got := all(t, s); got != "p0 P1 p2 " {
			t.Errorf("%s: %q", name, got)
		}
		misses := uint64(4)
		if name == "folder" {
			misses++
		}
		if n := caches[name].Stats(); n.Misses != misses || n.Hits != 9-misses {
			t.Errorf("%s: %+v", name, n)
		}
	}
	must(t, os.Remove(dir+"/tree/0.jpg"))
	for name, s := range sources {
		var b Buffer
		if err := s.Read(background, 0, &b); err == nil {
			t.Errorf("%s: a file that is gone came from the cache", name)
		}
	}
}

// A file that is written while it is read is not kept as what it was.
func TestCacheDoesNotKeepWhatChangedMeanwhile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jpg")
	write(t, file, "old")
	inner := openF(t, FolderConfig{Dir: filepath.Dir(file)})
	s, k := keptSource(t, &meddler{Source: inner, versions: inner.(Versioned), meddle: func() {
		write(t, file, "new")
		later := time.Now().Add(time.Hour)
		must(t, os.Chtimes(file, later, later))
	}})
	if _, got := read(t, s, 0); got != "new" || k.Stats().Stored != 0 {
		t.Errorf("%q, %+v", got, k.Stats())
	}
}

// meddler changes things between the look at a version and the reading.
type meddler struct {
	Source
	versions Versioned
	meddle   func()
}

func (m *meddler) Identity(i int64, dst []byte) []byte {
	dst = m.versions.Identity(i, dst)
	if m.meddle != nil {
		m.meddle()
		m.meddle = nil
	}
	return dst
}

// What a list names by URL is fetched once as long as the list is the same, and Parquet's rows as long as the file is.
func TestCacheKeepsWhatListsAndParquetName(t *testing.T) {
	o := serveObjects(t, map[string]string{"/a.jpg": "A", "/b c.jpg": "B"})
	client := storeClient(t, store.Options{})
	dir := t.TempDir()
	write(t, dir+"/l.tsv", o.URL+"/a.jpg\n"+o.URL+"/b%20c.jpg\n")
	k := openK(t, CacheConfig{Dir: dir + "/cache"})
	open := func() Source {
		s, err := k.Wrap(openL(t, ListConfig{File: dir + "/l.tsv", Store: client}))
		must(t, err)
		return s
	}
	for range 2 {
		if got := all(t, open()); got != "A B " {
			t.Fatalf("%q", got)
		}
	}
	if n := k.Stats(); n.Misses != 2 || n.Hits != 2 {
		t.Errorf("%+v", n)
	}
	o.change(func() { o.data["/a.jpg"] = "AA" })
	write(t, dir+"/l.tsv", o.URL+"/b%20c.jpg\n"+o.URL+"/a.jpg\n")
	if got := all(t, open()); got != "B AA " {
		t.Errorf("after the list has changed: %q", got)
	}
	writeParquet(t, dir+"/x.parquet", []struct {
		Image []byte `parquet:"image"`
	}{{[]byte("p")}, {[]byte("q")}}, 1)
	p, err := OpenParquet(background, ShardsConfig{Shards: []string{dir + "/x.parquet"}})
	must(t, err)
	defer p.Close()
	s, k := keptSource(t, p)
	for range 2 {
		if got := all(t, s); got != "p q " {
			t.Errorf("%q", got)
		}
	}
	if n := k.Stats(); n.Misses != 2 || n.Hits != 2 {
		t.Errorf("parquet: %+v", n)
	}
}
