package grid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// textsOf are the first texts or lists of a dataset, as they are in the file but for their padding.
func textsOf(t testing.TB, a *Array, data []byte) (all [][]byte) {
	t.Helper()
	for i := range a.Shape[0] {
		one := rows(t, a, data, i, 1, nil)
		if a.Lists == nil {
			all = append(all, a.Text.Cut(one))
			continue
		}
		list := make([]byte, a.Lists.Bytes(one))
		must(t, a.Lists.Read(list, one))
		all = append(all, list)
	}
	return all
}

// madeTexts are TEXTS of testdata/make_media.py, cut to what texts of one length have room for.
func madeTexts(most int) (all []string) {
	for _, text := range []string{"", "a cat", "zwei Hunde", "ein Bär und drei Äpfel", strings.Repeat("x", 5000), "end"} {
		all = append(all, text[:min(most, len(text))])
	}
	return all
}

// Texts are as they were written, whatever they are padded with and wherever they lie; those that were never written are empty.
func TestTextsAreReadAsTheyWereWritten(t *testing.T) {
	f, data := fixture(t, "testdata/media.h5")
	for name, most := range map[string]int{"utf8": 5000, "ascii": 5000, "zeros": 40, "terminated": 40, "spaces": 40, "unwritten": 0} {
		a, err := f.Dataset("/texts/" + name)
		must(t, err)
		for i, got := range textsOf(t, a, data) {
			if want := madeTexts(most)[i]; string(got) != want {
				t.Errorf("%s: text %d is %.60q, want %.60q", name, i, got, want)
			}
		}
	}
}

// Lists of numbers have their own lengths and byte order, and each of a heap's many objects is found.
func TestListsAreReadAsTheyWereWritten(t *testing.T) {
	f, data := fixture(t, "testdata/media.h5")
	for _, name := range []string{"i64", "i16_big", "f32"} {
		a, err := f.Dataset("/lists/" + name)
		must(t, err)
		for n, got := range textsOf(t, a, data) {
			var want []byte
			for k := range n {
				one := valueOfElement(int64(k), a.Lists.DType, false)
				if a.Lists.Swapped {
					slices.Reverse(one)
				}
				want = append(want, one...)
			}
			if !bytes.Equal(got, want) || a.Lists.Swapped != strings.HasSuffix(name, "big") {
				t.Errorf("%s: list %d is %x, want %x", name, n, got, want)
			}
		}
	}
	many, err := f.Dataset("/lists/many")
	must(t, err)
	for k, got := range textsOf(t, many, data) {
		if !bytes.Equal(got, bytes.Repeat([]byte{byte(k % 251)}, k%97)) {
			t.Fatalf("list %d is %x", k, got)
		}
	}
	for name, want := range map[string]string{"/lists/nested": "lists: got types within types"} {
		if _, err := f.Dataset(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	pairs, err := f.Dataset("/lists/pairs")
	must(t, err)
	if got := fmt.Sprint(pairs.Lists.Shape, pairs.Lists.DType, pairs.Lists.Bytes([]byte{3, 0, 0, 0})); got != "2 i32 24" {
		t.Errorf("got %s", got)
	}
}

// Elements are the same however they are packed.
func TestPackedChunksAreWhatWasPacked(t *testing.T) {
	f, data := fixture(t, "testdata/packed.h5")
	seen := 0
	for _, name := range f.Names(1 << 10) {
		if !strings.HasPrefix(name, "/packed") {
			continue
		}
		a, err := f.Dataset(name)
		must(t, err)
		seen++
		if strings.HasSuffix(name, "long") {
			got := rows(t, a, data, 0, a.Shape[0], nil)
			for k := range int64(len(got) / 2) {
				if !bytes.Equal(got[2*k:2*k+2], valueOfElement(k, a.DType, false)) {
					t.Fatalf("%s: element %d is another", name, k)
				}
			}
			continue
		}
		wholeOf(t, name, a, data, func(k int64) []byte { return valueOfElement(k, a.DType, false) })
	}
	if seen != 14*3+4 {
		t.Errorf("got %d datasets", seen)
	}
	far, err := f.Dataset("/far")
	must(t, err)
	plain, err := f.Dataset("/far_plain")
	must(t, err)
	if at := far.Places()[0]; at[1] > 6000 {
		t.Errorf("of %d bytes: nothing was found far behind", at[1])
	}
	for i := range far.Shape[0] {
		if !bytes.Equal(rows(t, far, data, i, 1, nil), rows(t, plain, data, 0, 1, nil)) {
			t.Errorf("row %d is another", i)
		}
	}
	for name, want := range map[string]string{"blosc2": "packed by the filter blosc2, want gzip, lzf, zstd, lz4, blosc, shuffle, bitshuffle or fletcher32", "bzip2": "packed by the filter bzip2", "zfp": "packed by the filter zfp"} {
		if _, err := f.Dataset("/refused/" + name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	snappy, err := f.Dataset("/refused/snappy")
	must(t, err)
	if err := snappy.ReadRows(make([]byte, 16), 0, nil); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "blosc: packed with snappy within, which is not read; write it again with blosclz, lz4, zstd or zlib") {
		t.Errorf("got %v", err)
	}
}

// A heap is believed in nothing: whatever it says, the list is read or refused, within the file and in bounded time.
func TestForgedHeapsAreRefused(t *testing.T) {
	whole, err := os.ReadFile("testdata/small_texts.h5")
	must(t, err)
	heap := bytes.Index(whole, []byte(heapMagic))
	read := func(data []byte, ref []byte) error {
		f, err := OpenHDF5(bytes.NewReader(data), int64(len(data)))
		must(t, err)
		a, err := f.Dataset("/a")
		must(t, err)
		if ref == nil {
			ref = []byte{3, 0, 0, 0, byte(heap), byte(heap >> 8), 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}
		}
		return a.Lists.Read(make([]byte, a.Lists.Bytes(ref)), ref)
	}
	must(t, read(whole, nil))
	ref := func(length uint32, addr uint64, number uint32) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, length), addr), number)
	}
	must(t, read(whole, ref(0, 1<<63, 9))) // of no elements nothing is looked up
	for what, of := range map[string][]byte{
		"there is no object 77 in it": ref(3, uint64(heap), 77), "there is no object 0 in it": ref(3, uint64(heap), 0), "got an object of 5 bytes, want 6": ref(6, uint64(heap), 1), "got one at 18446744073709551615": ref(3, 1<<64-1, 1),
		fmt.Sprintf("got one at %d, want one within the %d bytes", len(whole)-8, len(whole)): ref(3, uint64(len(whole)-8), 1), `got "\x89HDF" of version`: ref(3, 0, 1),
	} {
		if err := read(whole, of); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want %q", err, what)
		}
	}
	forge := func(at int, v uint64, want string) {
		t.Helper()
		data := slices.Clone(whole)
		binary.LittleEndian.PutUint64(data[heap+at:], v)
		if err := read(data, nil); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d at %d: got %v, want %q", v, at, err, want)
		}
	}
	forge(4, 2, "of version 2")
	forge(8, 8, "and 8 bytes, want GCOL")
	forge(8, 1<<40, "want GCOL of version 1 that ends within the file")
	forge(8, 1<<64-1, "want GCOL of version 1 that ends within the file")
	forge(8, 16, "there is no object 1 in it")
	forge(16, 0, "there is no object 1 in it")
	forge(24, 1<<63, "object 1 has 9223372036854775807 bytes, and there are ")
	forge(24, 5000, "object 1 has 5000 bytes, and there are ")
	// As many objects without a byte as there is room for.
	data := append(slices.Clone(whole), make([]byte, 4<<20)...)
	copy(data[len(whole):], heapMagic+"\x01\x00\x00\x00")
	binary.LittleEndian.PutUint64(data[len(whole)+8:], 4<<20)
	for at := len(whole) + 16; at < len(data); at += 16 {
		data[at] = 2
	}
	if err := read(data, ref(3, uint64(len(whole)), 1)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "there is no object 1 in it") {
		t.Errorf("got %v", err)
	}
}

// Filters that say what cannot be are refused when the dataset is opened, and chunks of them when they are read.
func TestForgedFiltersAreRefused(t *testing.T) {
	for want, values := range map[string][]uint64{
		"got elements of 0 bytes in blocks of 0": {0, 4, 0, 0, 2}, "in blocks of 12, want at least 1, and a multiple of 8": {0, 4, 4, 12, 2}, "in blocks of 4294967288": {0, 4, 4, 1<<32 - 8, 2}, "with compressor 7, want none, lz4 (2) or zstd (3)": {0, 4, 4, 0, 7},
	} {
		if _, err := bitShuffleOf(values, 4); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", values, err, want)
		}
	}
	bits, err := bitShuffleOf([]uint64{0, 4, 4, 8, 2}, 4)
	must(t, err)
	plain, err := bitShuffleOf(nil, 4)
	must(t, err)
	head := func(n uint64, block uint32, rest ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, n), block), rest...)
	}
	for _, src := range [][]byte{nil, head(64, 0), head(1<<63, 32), head(64, 32), head(64, 1<<31), head(64, 33, 0, 0, 0, 1, 0), head(64, 32, 255, 255, 255, 255, 0), head(4, 32)} {
		for _, undo := range []func(dst, src []byte) (int, error){bits.undo, unlz4Blocks} {
			if _, err := undo(make([]byte, 128), src); !errors.Is(err, errBlocks) {
				t.Errorf("%x: got %v", src, err)
			}
		}
	}
	for _, n := range []int{3, 132} {
		if _, err := plain.undo(make([]byte, 128), make([]byte, n)); !errors.Is(err, errBlocks) {
			t.Errorf("%d bytes: got %v", n, err)
		}
	}
	for _, src := range []string{"\x05a", "\x00a\x20", "\x00a\xe0", "\x00a\xe0\xff\xff", "\x00a\x20\x01", "\x00a\x3f\xff", "\x00a\x3f\xff\x00", "\x00a\x3f\xff\x00\x01", "\x00a\xe0\xff\xff\x00\x00"} {
		if n, err := unblosclz(make([]byte, 64), []byte(src)); err == nil {
			t.Errorf("%q: %d bytes", src, n)
		}
	}
	if n, err := unblosclz(make([]byte, 64), []byte("\x00a\x20\x00")); n != 4 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
}
