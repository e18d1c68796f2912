package grid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// readAll reads a few rows of the first datasets of a file, whatever it says.
func readAll(data []byte, unchecked bool) (errs []error) {
	f, err := OpenHDF5(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return []error{err}
	}
	f.unchecked = unchecked
	c := NewCache(1 << 16)
	for _, name := range append(f.Names(8), "/a", "/b", "/c/d", "/c/e") {
		a, err := f.Dataset(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		row, err := a.Shape[1:].Bytes(a.DType)
		if err != nil || row == 0 || row > 1<<16 || a.At < 0 && a.ChunkBytes() > 1<<16 {
			continue
		}
		for first := int64(0); first < min(a.Shape[0], 64); first++ {
			for _, c := range []*Cache{nil, c} {
				b, err := make([]byte, row), error(nil)
				if at := a.At + first*row; a.At < 0 {
					err = a.ReadRows(b, first, c)
				} else if at <= int64(len(data))-row {
					copy(b, data[at:])
				}
				if err == nil && a.Lists != nil {
					err = readLists(a.Lists, b)
				}
				if err != nil {
					errs = append(errs, err)
				}
			}
		}
	}
	_, err = f.Match("/*/*")
	return append(errs, err)
}

// readLists reads the lists of references, but for very long ones.
func readLists(l *Lists, refs []byte) error {
	size := 8 + l.offsetBytes
	for ; len(refs) >= size; refs = refs[size:] {
		if n := l.Bytes(refs); n <= 1<<16 {
			if err := l.Read(make([]byte, n), refs); err != nil {
				return err
			}
		}
	}
	return nil
}

// FuzzHDF5: no file ends the process, whatever it says, nor leads outside of itself.
func FuzzHDF5(f *testing.F) {
	for _, name := range []string{"small_earliest", "small_latest", "small_texts"} {
		data, err := os.ReadFile("testdata/" + name + ".h5")
		must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { readAll(data, true) })
}

// A file that ends anywhere, or of which any byte is another, is read or refused, in bounded time and memory.
func TestBrokenFilesAreReadOrRefused(t *testing.T) {
	for _, name := range []string{"small_earliest", "small_latest", "small_texts"} {
		whole, err := os.ReadFile("testdata/" + name + ".h5")
		must(t, err)
		for _, err := range readAll(whole, false) {
			must(t, err)
		}
		for n := range len(whole) {
			if err := errors.Join(readAll(whole[:n], false)...); err == nil {
				t.Fatalf("%s: cut to %d bytes: nothing was said", name, n)
			}
		}
		for at := range whole {
			data := slices.Clone(whole)
			data[at] = []byte{0, 0x7f, 0xff}[at%3]
			readAll(data, true)
		}
	}
}

// Every structure with a checksum is held against it.
func TestChecksumsOfStructures(t *testing.T) {
	whole, err := os.ReadFile("testdata/small_latest.h5")
	must(t, err)
	for _, name := range []string{"FAHD", "FADB", "EAHD", "EAIB", "BTHD", "BTLF", "OHDR"} {
		at := bytes.LastIndex(whole, []byte(name))
		if at < 0 {
			t.Errorf("the file has no %s", name)
			continue
		}
		data := slices.Clone(whole)
		data[at+16] ^= 0x40
		if err := errors.Join(readAll(data, false)...); err == nil || !strings.Contains(err.Error(), "checksum of what lies at") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Blocks that lead back to themselves end, and so do indexes whose blocks lie over each other.
func TestLoopsOfStructuresEnd(t *testing.T) {
	whole, err := os.ReadFile("testdata/small_earliest.h5")
	must(t, err)
	seen := 0
	for at := range len(whole) - 8 {
		if string(whole[at:at+4]) != "TREE" {
			continue
		}
		for _, where := range []int{8, 16, 24 + 8, 24 + 32} { // siblings, and children of both kinds
			data := slices.Clone(whole)
			data[at+5] = 1 // a level above
			binary.LittleEndian.PutUint64(data[at+where:], uint64(at))
			readAll(data, true)
			seen++
		}
	}
	if seen == 0 {
		t.Error("the file has no B-tree")
	}
}

// A chunk whose few bytes cannot be what it says has no memory made for it.
func TestBombsAreNotUnpacked(t *testing.T) {
	f, _ := fixture(t, "testdata/earliest.h5")
	a, err := f.Dataset("/labels")
	must(t, err)
	a.chunkBytes = 1 << 30
	if err := a.believable(place{size: 1 << 16}); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
	must(t, a.believable(place{size: 1 << 21}))
}

// Elements that are said to be larger than their chunk, which take no time.
func TestShuffledElementsLargerThanTheirChunk(t *testing.T) {
	dst := make([]byte, 3)
	n, err := unshuffle(1<<30)(dst, []byte("abc"))
	if must(t, err); string(dst[:n]) != "abc" {
		t.Errorf("got %q", dst[:n])
	}
	if _, err := unshuffle(1<<30)(dst, []byte("abcd")); err == nil {
		t.Error("more bytes than there is room for")
	}
}

// A layout that ends before it says what it is.
func TestLayoutsThatEndEarlyAreRefused(t *testing.T) {
	f, _ := fixture(t, "testdata/small_latest.h5")
	for n := range 4 {
		body := []byte{3, 1, 0, 0}[:n]
		if _, err := f.array([]h5Message{{kind: msgDatatype, body: []byte("\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x08\x00")}, {kind: msgDataspace, body: append([]byte{2, 1, 0, 1}, 3, 0, 0, 0, 0, 0, 0, 0)}, {kind: msgLayout, body: body}}); err == nil {
			t.Errorf("of %d bytes: nothing was said", n)
		}
	}
}
