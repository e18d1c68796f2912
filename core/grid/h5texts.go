package grid

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/spdl/spdl/core/tensor"
)

// Ways in which texts of one length are padded.
const (
	padTerminated = 0 // a zero ends them
	padZero       = 1
	padSpace      = 2
)

// TextType is what texts, or opaque bytes, of one length are.
type TextType struct {
	Opaque  bool // bytes all of which count
	padding uint64
}

// Cut is a text without its padding.
func (t *TextType) Cut(b []byte) []byte {
	switch {
	case t.Opaque:
	case t.padding == padZero:
		return bytes.TrimRight(b, "\x00")
	case t.padding == padSpace:
		return bytes.TrimRight(b, " ")
	default:
		if end := bytes.IndexByte(b, 0); end >= 0 {
			return b[:end]
		}
	}
	return b
}

// Lists are lists of any length that lie in heaps of a file: the elements of their array are references to them, each of how many elements
// the list has, the address of a heap and the list's number there. They are used by any number of goroutines.
type Lists struct {
	DType   tensor.DType
	Swapped bool
	Shape   tensor.Shape // of what a list is of; empty: numbers
	Text    bool         // they are texts, whose elements are bytes

	r                        io.ReaderAt
	size, base               int64
	offsetBytes, lengthBytes int
	one                      int64 // bytes of an element
}

const (
	heapMagic   = "GCOL"
	heapWindow  = 4 << 10 // which a heap is looked through by, and as large as the smallest
	mostInHeap  = 1 << 16 // objects, whose numbers have 16 bits
	heapAligned = 8
)

var errHeap = fmt.Errorf("%w: the heap of a list", ErrDamaged)

// heaps lets lists be read of the file, whose references have so many bytes.
func (f *HDF5) heaps(l *Lists, size int64) (err error) {
	if want := int64(8 + f.offsetBytes); size != want {
		return fmt.Errorf("got references to lists of %d bytes, want %d", size, want)
	}
	l.r, l.size, l.base, l.offsetBytes, l.lengthBytes = f.r, f.size, f.base, f.offsetBytes, f.lengthBytes
	l.one, err = l.Shape.Bytes(l.DType)
	if err == nil && (l.one < 1 || l.one > maxChunkBytes) {
		err = fmt.Errorf("got lists of %v of %v, want at least one number, and at most 1 GiB", l.Shape, l.DType)
	}
	return err
}

// Bytes is how many bytes the list of a reference has, by that.
func (l *Lists) Bytes(ref []byte) int64 {
	n := int64(binary.LittleEndian.Uint32(ref))
	if n > math.MaxInt64/l.one {
		return math.MaxInt64
	}
	return n * l.one
}

// Read fills dst, which is Bytes long, with the list of a reference.
func (l *Lists) Read(dst, ref []byte) error {
	if len(dst) == 0 {
		return nil
	}
	h := heapReader{Lists: l, window: borrow(heapWindow)}
	defer giveBack(h.window)
	c := cursor{b: ref, at: 4}
	addr := c.number(l.offsetBytes)
	at, size, err := h.find(addr, c.number(4))
	switch {
	case err != nil:
		return err
	case size < int64(len(dst)):
		return fmt.Errorf("%w at %d: got an object of %d bytes, want %d", errHeap, addr, size, len(dst))
	}
	return h.read(dst, at)
}

// heapReader looks through one heap.
type heapReader struct {
	*Lists
	window *[]byte
	at, n  int64 // what of the file the window holds
}

// read fills dst from a place in the file on.
func (h *heapReader) read(dst []byte, at int64) error {
	if at >= h.at && at+int64(len(dst)) <= h.at+h.n {
		copy(dst, (*h.window)[at-h.at:])
		return nil
	}
	n, err := h.r.ReadAt(dst, at)
	if n == len(dst) {
		return nil
	}
	return err
}

// head is n bytes of the file, which are few, and as many behind them as there is room for.
func (h *heapReader) head(at, n int64) (c cursor, err error) {
	if at < h.at || at+n > h.at+h.n {
		h.at, h.n = at, min(h.size-at, heapWindow)
		read, err := h.r.ReadAt((*h.window)[:h.n], at)
		if int64(read) < h.n {
			h.n = 0
			return c, err
		}
	}
	return cursor{b: (*h.window)[at-h.at : at-h.at+n]}, nil
}

// find is where the object of a number lies.
func (h *heapReader) find(addr, number uint64) (at, size int64, err error) {
	first := int64(8+h.lengthBytes+heapAligned-1) / heapAligned * heapAligned
	if addr > uint64(h.size-h.base) || int64(addr) > h.size-h.base-first {
		return 0, 0, fmt.Errorf("%w: got one at %d, want one within the %d bytes", errHeap, addr, h.size-h.base)
	}
	begin := h.base + int64(addr)
	c, err := h.head(begin, first)
	if err != nil {
		return 0, 0, err
	}
	magic, version := c.bytes(len(heapMagic)), c.number(1)
	c.skip(3)
	whole := int64(min(c.number(h.lengthBytes), math.MaxInt64))
	if string(magic) != heapMagic || version != 1 || whole < first || whole > h.size-begin {
		return 0, 0, fmt.Errorf("%w at %d: got %q of version %d and %d bytes, want %s of version 1 that ends within the file", errHeap, addr, magic, version, whole, heapMagic)
	}
	// Objects lie one behind the other, each behind a head of 16 bytes at least, and what is left over behind all of them.
	at, end := begin+first, begin+whole
	for range mostInHeap {
		if at > end-first {
			break
		}
		if c, err = h.head(at, first); err != nil {
			return 0, 0, err
		}
		is := c.number(2)
		c.skip(6)
		size = int64(min(c.number(h.lengthBytes), math.MaxInt64))
		at += first
		if is == 0 {
			break
		}
		if size > end-at {
			return 0, 0, fmt.Errorf("%w at %d: object %d has %d bytes, and there are %d", errHeap, addr, is, size, end-at)
		}
		if is == number {
			return at, size, nil
		}
		at += (size + heapAligned - 1) / heapAligned * heapAligned
	}
	return 0, 0, fmt.Errorf("%w at %d: there is no object %d in it", errHeap, addr, number)
}
