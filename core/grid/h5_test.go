package grid

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixtures are the files that testdata/make.py wrote with all kinds of datasets.
func fixtures(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*.h5")
	must(t, err)
	all = slices.DeleteFunc(all, func(name string) bool {
		return slices.Contains([]string{"small", "robomimic", "media", "packed"}, strings.Split(strings.TrimSuffix(filepath.Base(name), ".h5"), "_")[0])
	})
	if len(all) == 0 {
		t.Fatal("no files in testdata")
	}
	return all
}

// fixture is an open file of testdata, and its bytes.
func fixture(t testing.TB, name string) (*HDF5, []byte) {
	t.Helper()
	data, err := os.ReadFile(name)
	must(t, err)
	f, err := OpenHDF5(bytes.NewReader(data), int64(len(data)))
	must(t, err)
	return f, data
}

// valueOfElement is element k as make.py has it, little-endian.
func valueOfElement(k int64, d tensor.DType, isBool bool) []byte {
	n := (k*37 + 11) % 101
	switch {
	case isBool:
		n %= 2
	case d.Float() || d.Code() == tensor.CodeInt:
		n -= 50
	}
	bits := uint64(n)
	switch d {
	case tensor.F64:
		bits = math.Float64bits(float64(n) / 4)
	case tensor.F32:
		bits = uint64(math.Float32bits(float32(n) / 4))
	case tensor.F16:
		bits = 0
		for h := range uint64(1 << 16) {
			if tensor.Half(uint16(h)) == float64(n)/4 && h != 1<<15 {
				bits = h
				break
			}
		}
	}
	return binary.LittleEndian.AppendUint64(nil, bits)[:d.Bytes()]
}

// rows are rows of an array as they come, in little-endian.
func rows(t testing.TB, a *Array, data []byte, first, n int64, c *Cache) []byte {
	t.Helper()
	row, err := a.Shape[1:].Bytes(a.DType)
	must(t, err)
	got := bytes.Repeat([]byte{0xa5}, int(n*row))
	if a.At >= 0 {
		copy(got, data[a.At+first*row:])
	} else {
		must(t, a.ReadRows(got, first, c))
	}
	if size := a.DType.Bytes(); a.Swapped {
		for at := 0; at < len(got); at += size {
			slices.Reverse(got[at : at+size])
		}
	}
	return got
}

// Every dataset of every kind of file has the elements that were written: all at once, row by row and window by window, with and without a cache.
func TestDatasetsAreReadAsTheyWereWritten(t *testing.T) {
	for _, file := range fixtures(t) {
		f, data := fixture(t, file)
		seen := 0
		for _, name := range f.Names(1 << 10) {
			if strings.HasPrefix(name, "/refused") || strings.HasPrefix(name, "/fill") {
				continue
			}
			a, err := f.Dataset(name)
			if err != nil {
				t.Errorf("%s: %s: %v", file, name, err)
				continue
			}
			seen++
			wholeOf(t, file+name, a, data, func(k int64) []byte { return valueOfElement(k, a.DType, strings.HasSuffix(name, "bool")) })
		}
		t.Logf("%s: %d datasets", file, seen)
		if seen < 60 {
			t.Errorf("%s: got %d datasets", file, seen)
		}
	}
}

// wholeOf compares an array with its elements.
func wholeOf(t *testing.T, name string, a *Array, data []byte, element func(k int64) []byte) {
	t.Helper()
	n, err := a.Shape.Elements()
	must(t, err)
	var want []byte
	for k := range n {
		want = append(want, element(k)...)
	}
	row := int64(len(want)) / a.Shape[0]
	c := NewCache(1000)
	for _, window := range []int64{a.Shape[0], 1, 3} {
		for first := int64(0); first+window <= a.Shape[0]; first++ {
			for k, cache := range []*Cache{nil, c} {
				if got := rows(t, a, data, first, window, cache); !bytes.Equal(got, want[first*row:(first+window)*row]) {
					t.Fatalf("%s: %d rows from %d on, way %d, of %v of %v: got %x, want %x", name, window, first, k, a.Shape, a.DType, got, want[first*row:(first+window)*row])
				}
			}
		}
	}
	if c.used > 1000 && c.latest.Len() > 1 {
		t.Errorf("%s: the cache holds %d bytes", name, c.used)
	}
}

// Elements that were never written are what the dataset says they are.
func TestElementsThatWereNeverWritten(t *testing.T) {
	for _, file := range fixtures(t) {
		f, data := fixture(t, file)
		for _, name := range f.Names(1 << 10) {
			if !strings.HasPrefix(name, "/fill") {
				continue
			}
			a, err := f.Dataset(name)
			must(t, err)
			n, err := a.Shape.Elements()
			must(t, err)
			row := n / a.Shape[0]
			wholeOf(t, file+name, a, data, func(k int64) []byte {
				v := uint64(7)
				if k >= n-row && !strings.HasSuffix(name, "contiguous") {
					v = 9
				}
				if a.DType == tensor.F64 {
					v = math.Float64bits(float64(v))
				}
				return binary.LittleEndian.AppendUint64(nil, v)[:a.DType.Bytes()]
			})
		}
	}
}

// Paths are found through groups and soft links; patterns are matched with what is there.
func TestPathsAndPatternsOfDatasets(t *testing.T) {
	for _, file := range fixtures(t) {
		f, _ := fixture(t, file)
		for pattern, want := range map[string]string{
			"/data/demo_7/actions": "[/data/demo_7/actions]", "data/demo_7/actions/": "[/data/demo_7/actions]", "/soft": "[/soft]", "none": "[/none]",
			"/data/demo_1*/actions": "[/data/demo_1/actions /data/demo_10/actions /data/demo_11/actions /data/demo_12/actions /data/demo_13/actions /data/demo_14/actions " +
				"/data/demo_15/actions /data/demo_16/actions /data/demo_17/actions /data/demo_18/actions /data/demo_19/actions]",
			"/d*/demo_[23]/ac?ions": "[/data/demo_2/actions /data/demo_3/actions]", "/none*": "[]", "/data/*/none*": "[]",
		} {
			got, err := f.Match(pattern)
			if err != nil || fmt.Sprint(got) != want {
				t.Errorf("%s: %s: got %v, %v; want %s", file, pattern, got, err, want)
			}
		}
		a, err := f.Dataset("/soft")
		must(t, err)
		if a.Shape.String() != "4x2" {
			t.Errorf("%s: soft link: got %v", file, a.Shape)
		}
	}
}
