package grid

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reads counts those of a file.
type reads struct {
	*bytes.Reader
	n int
}

func (r *reads) ReadAt(b []byte, off int64) (int, error) {
	r.n++
	return r.Reader.ReadAt(b, off)
}

func zipOf(t testing.TB, data []byte) (*ZarrZip, *reads) {
	t.Helper()
	r := &reads{Reader: bytes.NewReader(data)}
	z, err := OpenZarrZip(r, int64(len(data)))
	must(t, err)
	return z, r
}

// Arrays in an archive have the elements that were written last, stored and deflated; a stored chunk is one read.
func TestZarrsInArchives(t *testing.T) {
	for _, name := range []string{"store.zarr.zip", "store_deflated.zarr.zip"} {
		data, err := os.ReadFile("testdata/" + name)
		must(t, err)
		z, r := zipOf(t, data)
		names, err := z.Names("*/*")
		want := "[data/action data/plain data3/action data3/shards meta/episode_ends]"
		if name == "store_deflated.zarr.zip" {
			want = strings.Replace(want, " data3/shards", "", 1)
		}
		if err != nil || fmt.Sprint(names) != want {
			t.Errorf("%s: %v, %v", name, names, err)
		}
		for _, at := range names[:len(names)-1] {
			a, err := z.Array(at)
			must(t, err)
			wholeOf(t, at, a, nil, func(k int64) []byte { return valueOfElement(k, a.DType, false) })
			before := r.n
			must(t, a.ReadRows(make([]byte, a.rowBytes), 2, nil))
			wants := map[string]int{"data3/action": 3, "data3/shards": 1}[at] // which has three chunks beside each other, and an index that was read before
			if got := r.n - before; got != max(wants, 1) {
				t.Errorf("%s: %s: a row took %d reads", name, at, got)
			}
		}
		if found, err := z.Names("data*/a*"); err != nil || fmt.Sprint(found) != "[data/action data3/action]" {
			t.Errorf("by a pattern: %v, %v", found, err)
		}
	}
}

// What is in no archive, or in one that is not read, is refused by its name.
func TestZarrsInArchivesThatAreNotReadAreRefused(t *testing.T) {
	made := func(change func(h *zip.FileHeader)) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for name, text := range map[string]string{"x/.zarray": `{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":"|u1","order":"C"}`, "x/0": "abcd"} {
			h := &zip.FileHeader{Name: name}
			change(h)
			out, err := w.CreateHeader(h)
			must(t, err)
			_, err = out.Write([]byte(text))
			must(t, err)
		}
		must(t, w.Close())
		return b.Bytes()
	}
	whole := made(func(*zip.FileHeader) {})
	a, err := first(zipOf(t, whole)).Array("x")
	must(t, err)
	got := make([]byte, 4)
	if must(t, a.ReadRows(got, 0, nil)); string(got) != "abcd" {
		t.Errorf("got %q", got)
	}
	other := bytes.Replace(whole, []byte("abcd"), []byte("abce"), 1)
	if a, err = first(zipOf(t, other)).Array("x"); err != nil || !errors.Is(a.ReadRows(got, 0, nil), ErrChecksum) {
		t.Errorf("another member: %v", err)
	}
	encrypted := made(func(h *zip.FileHeader) {
		if h.Name == "x/0" {
			h.Flags |= 1
		}
	})
	if _, err := first(zipOf(t, encrypted)).Array("x"); err == nil || !strings.Contains(err.Error(), `.zarray: member "x/0": it is encrypted; store it as it is (zip -0)`) {
		t.Errorf("encrypted: %v", err)
	}
	lzma := bytes.Replace(whole, []byte("PK\x01\x02\x14\x00\x14\x00\x08\x00\x00\x00"), []byte("PK\x01\x02\x14\x00\x14\x00\x08\x00\x0e\x00"), 2)
	if _, err := first(zipOf(t, lzma)).Array("x"); err == nil || !strings.Contains(err.Error(), "got compression method 14, want stored (0), which is best, or deflated (8)") {
		t.Errorf("packed in another way: %v", err)
	}
	if _, err := first(zipOf(t, whole)).Array("y"); !errors.Is(err, ErrNoZarr) || !strings.Contains(err.Error(), "no array of Zarr; name one of those in the archive, such as x") {
		t.Errorf("another name: %v", err)
	}
	for text, want := range map[string]string{string(whole[:len(whole)-20]): "zip: no directory at the end of its", "": "zip: no directory"} {
		if _, err := OpenZarrZip(strings.NewReader(text), int64(len(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: got %v, want %s", len(text), err, want)
		}
	}
	data, err := os.ReadFile("testdata/store.zarr.zip")
	must(t, err)
	stored, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	must(t, err)
	var again bytes.Buffer
	w := zip.NewWriter(&again)
	for _, name := range []string{"data3/shards/zarr.json", "data3/shards/c/0/0"} {
		text, err := fs.ReadFile(stored, name)
		must(t, err)
		out, err := w.Create(name) // deflated
		must(t, err)
		_, err = out.Write(text)
		must(t, err)
	}
	must(t, w.Close())
	if _, err := first(zipOf(t, again.Bytes())).Array("data3/shards"); err == nil || !strings.Contains(err.Error(), `member "data3/shards/c/0/0": it is a shard, and deflated`) {
		t.Errorf("a deflated shard: %v", err)
	}
}

func first(z *ZarrZip, _ *reads) *ZarrZip { return z }

// A path is cut where a file ends in .zip, and at no directory of such a name.
func TestPathsIntoArchives(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.zip", "b.zarr.zip")
	must(t, os.Mkdir(filepath.Join(dir, "a.zip"), 0o700))
	must(t, os.WriteFile(file, nil, 0o600))
	for name, want := range map[string][2]string{
		file: {file, "."}, file + "/data/x": {file, "data/x"}, file + "/data/c.zip/": {file, "data/c.zip"}, file + ".old/x": {}, filepath.Join(dir, "a.zip"): {}, filepath.Join(dir, "a.zip", "x"): {}, "none.zip/x": {}, "x": {},
	} {
		if archive, within := InZip(name); archive != want[0] || within != want[1] {
			t.Errorf("%s: got %q, %q", name, archive, within)
		}
	}
}

// FuzzZarrZip: no archive ends the process, nor makes more memory than its chunks may have.
func FuzzZarrZip(f *testing.F) {
	for _, name := range []string{"store.zarr.zip", "store_deflated.zarr.zip"} {
		data, err := os.ReadFile("testdata/" + name)
		must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		z, err := OpenZarrZip(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		names, err := z.Names("*/*")
		must(t, err)
		for _, name := range names {
			a, err := z.Array(name)
			if err != nil || a.Shape[0] == 0 || a.rowBytes > 1<<20 || a.ChunkBytes() > 1<<20 {
				continue
			}
			_ = a.ReadRows(make([]byte, a.rowBytes), a.Shape[0]-1, nil) // whatever it says
		}
	})
}
