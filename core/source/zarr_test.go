package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/tensor"
)

// zarrDir is an array of Zarr's second version, u16 elements 0, 1, 2 ... in chunks of 3 rows, unpacked; the chunk that is number missing is not there.
func zarrDir(t *testing.T, dir string, rows, width, missing int) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	writtenTo(t, filepath.Join(dir, ".zarray"), fmt.Appendf(nil, `{"zarr_format":2,"shape":[%d,%d],"chunks":[3,%d],"dtype":"<u2","order":"C","compressor":null,"filters":null,"fill_value":77}`, rows, width, width))
	all := append(counting(rows*width, tensor.U16), make([]byte, 6*width)...)
	for k := range (rows + 2) / 3 {
		if k != missing {
			writtenTo(t, filepath.Join(dir, fmt.Sprintf("%d.0", k)), all[k*6*width:(k+1)*6*width])
		}
	}
	return dir
}

// Arrays of Zarr are directories, named as files are: their rows and windows are samples, and chunks that are not there are the fill value.
func TestZarrsAreArrays(t *testing.T) {
	root := filepath.Join(t.TempDir(), "replay_buffer.zarr")
	zarrDir(t, filepath.Join(root, "data", "action"), 8, 2, 1)
	zarrDir(t, filepath.Join(root, "data", "state"), 8, 1, -1)
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "action", Files: []string{root + "/data/action"}, Window: 3, Step: 2}, {Name: "state", Files: []string{root + "/data/st*e"}, Within: 3, Step: 2}}})
	if got := fmt.Sprint(s.Len(), " ", string(s.Key(2, nil)), elements(t, s, 1, 0), elements(t, s, 2, 0), elements(t, s, 2, 1)); got != "3 action:2[4 5 77 77 77 77] [77 77 77 77 12 13] [4]" {
		t.Errorf("got %s", got)
	}
	if !InChunks(&ArrayFiles{Files: []string{root + "/data/*"}}) || InChunks(&ArrayFiles{Files: []string{root + "/data/action/.zarray"}}) {
		t.Error("it is not told which arrays have chunks")
	}
}

// Equal arrays have equal fingerprints wherever they lie; an array that was described anew makes bad samples, and so does a chunk that was cut.
func TestChangedZarrsMakeBadSamples(t *testing.T) {
	print := func(rows int) Fingerprint {
		dir := zarrDir(t, filepath.Join(t.TempDir(), "x"), rows, 2, -1)
		f, _ := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{dir}}}}).(Fingerprinted).Fingerprint()
		return f
	}
	if one, other := print(8), print(8); one != other || one == print(7) {
		t.Error("fingerprints do not tell arrays")
	}
	dir := zarrDir(t, filepath.Join(t.TempDir(), "x"), 8, 2, -1)
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{dir}}}})
	ids := []string{string(s.(Versioned).Identity(0, nil)), string(s.(Versioned).Identity(1, nil))}
	if ids[0] == "" || ids[0] == ids[1] {
		t.Errorf("identities %q", ids)
	}
	writtenTo(t, filepath.Join(dir, "1.0"), []byte("short"))
	var b Buffer
	var e *Error
	if err := s.Read(background, 4, &b); !errors.As(err, &e) || e.Cause != Value || !strings.Contains(err.Error(), "chunk 1: got 5 bytes, want 12") {
		t.Errorf("cut: got %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "1.0")))
	must(t, os.Mkdir(filepath.Join(dir, "1.0"), 0o700))
	if err := s.Read(background, 4, &b); !errors.As(err, &e) || e.Cause != Value {
		t.Errorf("a directory: got %v", err)
	}
	must(t, s.Read(background, 0, &b))
	must(t, os.Chtimes(filepath.Join(dir, ".zarray"), time.Now(), time.Now().Add(time.Hour)))
	if err := s.Read(background, 0, &b); !errors.As(err, &e) || e.Cause != Changed || s.(Versioned).Identity(0, nil) != nil {
		t.Errorf("described anew: got %v", err)
	}
}

// Directories that are no arrays are refused, with what is in a group, and so are keys that do not go with an array.
func TestZarrsThatAreNoSamplesAreRefused(t *testing.T) {
	root := t.TempDir()
	dir := zarrDir(t, filepath.Join(root, "x"), 8, 2, -1)
	writtenTo(t, filepath.Join(root, ".zgroup"), []byte(`{"zarr_format":2}`))
	stored := writtenTo(t, filepath.Join(t.TempDir(), "x.zarr.zip"), []byte("PK\x03\x04"))
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{root}}, "got a directory, want a regular file, or an array of Zarr: no array of Zarr, but a group; name an array in it, such as "+dir)
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{t.TempDir()}}, "got a directory, want a regular file, or an array of Zarr: no array of Zarr")
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{dir}, DType: tensor.U8}, "got an array of Zarr, which says its type itself; leave dtype out")
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{dir}, Dataset: []string{"x"}}, "got an array of Zarr, which file names itself; leave dataset out")
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{stored}}, "zip: no directory at the end of its 4 bytes; it was not closed, or not copied to its end")
	writtenTo(t, filepath.Join(dir, ".zarray"), []byte(`{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"|O","order":"C"}`))
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{dir}}, `"`+dir+`": .zarray: dtype: got "|O", want booleans, whole numbers or floats of 8 to 64 bits`)
	if slices.Contains(DatasetsOf(dir, 3), Dataset{Path: "x"}) {
		t.Error("a directory has datasets of HDF5")
	}
}

// Arrays in an archive are named by its path and theirs, by braces and globs, too; the archive is opened once, and its version is theirs.
func TestZarrsInArchivesAreArrays(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("../grid/testdata/store.zarr.zip")
	must(t, err)
	path := writtenTo(t, filepath.Join(dir, "store.zarr.zip"), data)
	s := arraysOf(t, ArraysConfig{
		Arrays:   []ArrayFiles{{Name: "plain", Files: []string{path + "/data/plain"}, Window: 4, Step: 1, PadBefore: 1}, {Name: "shards", Files: []string{dir + "/*.zarr.zip/data?/sh*"}, Within: 4, Step: 1, PadBefore: 1}},
		Episodes: &Episodes{Numbers: Numbers{File: path + "/meta/episode_ends"}},
	})
	row := func(k uint64) (all []uint64) { // as testdata/make.py has them
		for i := range uint64(7) {
			all = append(all, uint64(uint32((((7*k+i)*37+11)%101)-50)))
		}
		return all
	}
	want := slices.Concat(row(0), row(0), row(1), row(2))
	if got := elements(t, s, 0, 0); s.Len() != 7 || !slices.Equal(got, want) || !slices.Equal(elements(t, s, 6, 1), row(9)) || string(s.Key(6, nil)) != "plain:6" {
		t.Errorf("%d samples, the first %v, want %v; the last %v, %s", s.Len(), got, want, elements(t, s, 6, 1), s.Key(6, nil))
	}
	if !InChunks(&ArrayFiles{Files: []string{path + "/data/{plain,action}"}}) || ZarrIn(path) != path+"/data/action" {
		t.Errorf("it is not told what is in it: %s", ZarrIn(path))
	}
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{path}}, "no array of Zarr, but a group; name an array in it, such as data/action")
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{path + "/data/none"}}, "no array of Zarr; name one of those in the archive, such as data/action")
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{path + "/none*"}}, "none*\": no file is named so")
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{path + "/data/plain"}, DType: tensor.U8}, "got an array of Zarr, which says its type itself; leave dtype out")
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{path + "/data/plain"}, Dataset: []string{"x"}}, "got an array of Zarr, which file names itself; leave dataset out")
	writtenTo(t, path, data)
	var b Buffer
	var e *Error
	if err := s.Read(background, 0, &b); !errors.As(err, &e) || e.Cause != Changed || s.(Versioned).Identity(0, nil) != nil {
		t.Errorf("written again: got %v", err)
	}
}

// What lies within a file is on that file's file system.
func TestAnArchiveTellsItsFileSystem(t *testing.T) {
	path := writtenTo(t, filepath.Join(t.TempDir(), "x.zip"), nil)
	for _, within := range []string{"/data/x", "/data/*"} {
		if got, want := NetworkFileSystem(path+within), NetworkFileSystem(path); got != want {
			t.Errorf("%s: got %q, want %q", within, got, want)
		}
	}
}
