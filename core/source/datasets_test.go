package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

const hdf5s = "../grid/testdata/"

// hdf5Copy is a file of core/grid's testdata where it may be damaged.
func hdf5Copy(t *testing.T, name string) (path string, data []byte) {
	t.Helper()
	data, err := os.ReadFile(hdf5s + name)
	must(t, err)
	return writtenTo(t, filepath.Join(t.TempDir(), name), data), data
}

// Datasets of an HDF5 file are arrays one behind the other, as files are: none of their windows lies across two of them, and keys name them.
func TestDatasetsAreArraysOneBehindTheOther(t *testing.T) {
	for _, name := range []string{"earliest.h5", "latest.h5", "userblock.h5"} {
		file := []string{hdf5s + name}
		s := arraysOf(t, ArraysConfig{Label: "y", Arrays: []ArrayFiles{{Name: "x", Files: file, Dataset: []string{"/data/demo_{0..29}/actions"}}, {Name: "y", Files: file, Dataset: []string{"labels"}}}})
		columns := s.(Columnar).Columns()
		if got := fmt.Sprint(s.Len(), columns[0].Shape, columns[0].DType, columns[1].Shape, columns[1].DType, " ", string(s.Key(4, nil)), " ", string(s.Key(464, nil))); got != "465 2 f32 scalar i16 "+name+"/data/demo_2/actions:1 "+name+"/data/demo_29/actions:29" {
			t.Errorf("%s: got %s", name, got)
		}
		for i := range int64(465) {
			if want := (i*37+11)%101 - 50; s.Label(i) != want || elements(t, s, i, 1)[0] != uint64(uint16(want)) {
				t.Fatalf("%s: label %d is %d, want %d", name, i, s.Label(i), want)
			}
		}
		whole, rows := elements(t, s, 463, 0), elements(t, s, 464, 0) // rows 28 and 29 of the last
		w := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: file, Dataset: []string{"/data/demo_{28,29}/actions", "soft"}, Window: 3, Step: 1}}})
		if got := elements(t, w, 54, 0); w.Len() != 27+28+2 || !slices.Equal(got[2:], append(whole, rows...)) {
			t.Errorf("%s: %d windows, the last but two %v, want %v and %v", name, w.Len(), got, whole, rows)
		}
		one := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: file, Dataset: []string{"/data/demo_1*/actions"}}}})
		if got := string(one.Key(2, nil)); one.Len() != 2+11+12+13+14+15+16+17+18+19+20 || got != name+"/data/demo_10/actions:0" {
			t.Errorf("%s: of a pattern %d samples, the third %s", name, one.Len(), got)
		}
	}
}

// Files that have the same datasets lie one behind the other, each with all of its own.
func TestDatasetsOfSeveralFiles(t *testing.T) {
	files := []string{hdf5s + "{earliest,latest}.h5"}
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: files, Dataset: []string{"/data/demo_0/actions", "/data/demo_2/actions"}}}})
	var keys []string
	for i := range s.Len() {
		keys = append(keys, string(s.Key(i, nil)))
	}
	if got := strings.Join(keys, " "); got != "earliest.h5/data/demo_0/actions:0 earliest.h5/data/demo_2/actions:0 earliest.h5/data/demo_2/actions:1 earliest.h5/data/demo_2/actions:2 "+
		"latest.h5/data/demo_0/actions:0 latest.h5/data/demo_2/actions:0 latest.h5/data/demo_2/actions:1 latest.h5/data/demo_2/actions:2" {
		t.Errorf("got %s", got)
	}
	if n := len(s.(*arrays).files); n != 2 {
		t.Errorf("%d files are open", n)
	}
}

// Samples that share chunks are read alike by many goroutines at once, in any order, with room for one chunk only.
func TestSharedChunksAreReadAtOnce(t *testing.T) {
	defer func(n int64) { chunkCacheBytes = n }(chunkCacheBytes)
	chunkCacheBytes = 300
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{hdf5s + "latest.h5"}, Dataset: []string{"/filters/all"}, Window: 2, Step: 1}}})
	var want [][]byte
	for i := range s.Len() {
		var b Buffer
		must(t, s.Read(background, i, &b))
		want = append(want, slices.Clone(b.Value(0)))
	}
	var readers sync.WaitGroup
	for r := range int64(8) {
		readers.Add(1)
		go func() {
			defer readers.Done()
			var b Buffer
			for k := range int64(500) {
				i := (k*5 + r) % s.Len()
				if err := s.Read(background, i, &b); err != nil || !bytes.Equal(b.Value(0), want[i]) {
					t.Errorf("sample %d: %v", i, err)
					return
				}
			}
		}()
	}
	readers.Wait()
}

// A window of shards is one of chunks, where several samples have one: the chunks are what is unpacked.
func TestChunksAreShards(t *testing.T) {
	file := []string{hdf5s + "earliest.h5"}
	for dataset, want := range map[string]string{"/layouts/shrunk": "[0 2 4 6 8]", "/labels": "[0 50 100 150 200 250 300 350 400 450]", "/layouts/extensible": "[]", "/types/contiguous/u8": "[]"} {
		s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: file, Dataset: []string{dataset}}}})
		if got := fmt.Sprint(s.(Sharded).Shards()); got != want {
			t.Errorf("%s: got %s, want %s", dataset, got, want)
		}
	}
	two := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: file, Dataset: []string{"/filters/{gzip,lzf}"}, Window: 2, Step: 2}}})
	if got := fmt.Sprint(two.Len(), two.(Sharded).Shards()); got != "6 [0 2 3 5]" {
		t.Errorf("got %s", got)
	}
}

// Of a dataset, equal fingerprints are those of the same rows, whatever else the file has; identities are of the place and of the file.
func TestFingerprintsAndIdentitiesOfDatasets(t *testing.T) {
	path, _ := hdf5Copy(t, "earliest.h5")
	open := func(path, dataset string) Source {
		return arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{path}, Dataset: []string{dataset}}}})
	}
	print := func(path, dataset string) Fingerprint {
		f, _ := open(path, dataset).(Fingerprinted).Fingerprint()
		return f
	}
	base := print(path, "/data/demo_3/actions")
	if print(hdf5s+"earliest.h5", "/data/demo_3/actions") != base || print(path, "/data/demo_4/actions") == base || print(path, "/soft") == base {
		t.Error("fingerprints do not tell datasets")
	}
	seen := map[string]bool{}
	for _, dataset := range []string{"/filters/gzip", "/filters/lzf", "/filters/none"} {
		s := open(path, dataset)
		for i := range s.Len() {
			id := string(s.(Versioned).Identity(i, nil))
			if id == "" || seen[id] {
				t.Errorf("%s, sample %d: %q", dataset, i, id)
			}
			seen[id] = true
		}
	}
}

// A chunk that does not unpack is a bad sample, and so is one of a file that was written again; the others are read.
func TestDamagedChunksAreBadSamples(t *testing.T) {
	for dataset, cause := range map[string]Cause{"/filters/gzip": Value, "/filters/lzf": Value, "/labels": Checksum} {
		path, data := hdf5Copy(t, "earliest.h5")
		one := ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{path}, Dataset: []string{dataset}}}}
		whole := arraysOf(t, one).(*arrays).all[0].files[0].chunks
		at := whole.Places()[0]
		for k := at[0]; k < at[0]+at[1]; k++ {
			data[k] ^= 0x5a
		}
		if dataset == "/labels" { // the deflated bytes stay, and what is behind them is another checksum
			data, _ = os.ReadFile(hdf5s + "earliest.h5")
			data[at[0]+at[1]-1] ^= 1
		}
		writtenTo(t, path, data)
		s := arraysOf(t, one)
		var b Buffer
		var e *Error
		if err := s.Read(background, 0, &b); !errors.As(err, &e) || e.Cause != cause || e.In != path+dataset || !strings.Contains(err.Error(), "chunk 0") {
			t.Errorf("%s: got %v", dataset, err)
		}
		must(t, s.Read(background, s.Len()-1, &b))
		writtenTo(t, path, data[:len(data)-1])
		if err := s.Read(background, s.Len()-1, &b); !errors.As(err, &e) || e.Cause != Changed {
			t.Errorf("%s: cut: got %v", dataset, err)
		}
	}
}

// What is no array of numbers, or packed as nobody reads it here, is refused with where it is and what to do.
func TestDatasetsThatAreNoSamplesAreRefused(t *testing.T) {
	npy := npyFile(t, filepath.Join(t.TempDir(), "x.npy"), tensor.F32, 5, 2)
	path, data := hdf5Copy(t, "latest.h5")
	cut := writtenTo(t, filepath.Join(filepath.Dir(path), "cut.h5"), data[:len(data)-8])
	for dataset, want := range map[string]string{
		"/refused/compound": "got compounds (structures, or complex numbers), want numbers, texts, or lists of numbers", "/refused/complex": "got compounds (structures, or complex numbers), want numbers",
		"/refused/lists": "got lists of any length of u8, whose max_length is missing: the most that one has; where they are encoded pictures, say image: {from: x}", "/refused/references": "got references, want numbers",
		"/refused/scalar": "got a scalar, want an array whose first axis counts samples", "/refused/null": "got a dataset without elements", "/refused/scaleoffset": "packed by the filter scaleoffset, want gzip, lzf, zstd, lz4, blosc, shuffle, bitshuffle or fletcher32; write it again, as h5repack -f GZIP=4 does",
		"/refused/virtual": "made of parts of other datasets (a virtual dataset), which is not read here; name those", "/refused/external": "its elements lie in other files (external storage)",
		"/none": "there is no such dataset; there are /data/demo_0/actions, /data/demo_1/actions, ", "/data": "got a group, want a dataset; there are ", "/data/demo_0/back": "there is no such dataset", "/loop": "leads from link to link, more than 16 times",
		"/outside": `"outside" is a link to another file, which is not followed; name that file`, "/none*/x": `no samples: dataset "/none*/x": none is named so`, "/data/demo_{1..}/x": "want two whole numbers", "/data/demo_{0,0}/actions": `dataset "/data/demo_0/actions": named twice`, "/[": "syntax error in pattern",
		"/types/chunked/{u8,i8}": "got samples of 3 of i8, want 3 of u8, as \"" + path + "/types/chunked/u8\" has",
	} {
		refusedArray(t, ArrayFiles{Name: "x", Files: []string{path}, Dataset: []string{dataset}}, `source: array "x": "`+path+`": `, want)
	}
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{path}}, "got an HDF5 file; say which of its arrays with dataset, such as dataset: \"/data/demo_0/actions\", a pattern of several, or a list")
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{path}, DType: tensor.U8}, "got an HDF5 file; say which")
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{npy}, Dataset: []string{"/x"}}, "got no HDF5 file by its first bytes, which dataset goes with; leave dataset out")
	refusedArray(t, ArrayFiles{Name: "x", Files: []string{cut}, Dataset: []string{"/labels"}}, fmt.Sprintf("truncated: got %d bytes, want %d; it was not closed, or not copied to its end", len(data)-8, len(data)))
}

func refusedArray(t *testing.T, a ArrayFiles, wants ...string) {
	t.Helper()
	s, err := OpenArrays(ArraysConfig{Arrays: []ArrayFiles{a}})
	if err == nil {
		t.Errorf("%v of %v: opened", a.Dataset, a.Files)
		_ = s.Close()
		return
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", a.Dataset, err, want)
		}
	}
}
