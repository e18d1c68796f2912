package grid

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/core/tensor"
)

const (
	maxChunkBytes = 1 << 30 // unpacked
	maxRank       = 32
)

// Array is where the elements of an array lie, and what they are.
type Array struct {
	DType   tensor.DType // of an element; U8 for booleans
	Swapped bool         // elements are big-endian
	Shape   tensor.Shape
	At      int64 // where in the file the elements lie one behind the other; -1: in chunks

	// At most one of these is not nil. The last axis of Shape is then an element's bytes as they lie: a text with its padding, or a reference.
	Text  *TextType
	Lists *Lists

	chunk      []int64 // elements of a chunk along each axis
	grid       []int64 // chunks along each axis
	chunkBytes int64
	rowBytes   int64  // of a row of the array
	fill       []byte // what elements are that were never written, over and over; nil: zero
	filters    []filter
	whole      bool // chunks cannot be read in part, though they have no filter
	chunks     chunks
}

// chunks is where the chunks of an array lie, packed. They are numbered in C's order of the grid.
type chunks interface {
	// place is where a chunk lies; false: it was never written.
	place(index int64) (p place, found bool, err error)
	// read fills dst from byte off of a chunk on; false: it was never written.
	read(p place, off int64, dst []byte) error
}

// place is where a chunk lies.
type place struct {
	index int64
	at    int64
	size  uint32 // packed
	skip  uint32 // filters that were left out, a bit each
}

// cut makes the grid of an array with chunks of a shape.
func (a *Array) cut(chunk []int64) error {
	if len(chunk) != len(a.Shape) {
		return fmt.Errorf("got chunks of %d dimensions, want %d, as the array has", len(chunk), len(a.Shape))
	}
	a.At, a.chunk, a.chunkBytes = -1, chunk, int64(a.DType.Bytes())
	a.grid = make([]int64, len(chunk))
	total := int64(1)
	for i, c := range chunk {
		if c < 1 || c > maxChunkBytes/a.chunkBytes {
			return fmt.Errorf("got chunks of %v of %v, want at least one element, and at most 1 GiB, which a read of any row would have to unpack; write it again in smaller ones", tensor.Shape(chunk), a.DType)
		}
		a.chunkBytes *= c
		a.grid[i] = (a.Shape[i]-1)/c + 1
		if a.Shape[i] == 0 {
			a.grid[i] = 0
		}
		if a.grid[i] > 0 && total > math.MaxInt64/a.grid[i] {
			return errors.New("got more than 2^63-1 chunks")
		}
		total *= a.grid[i]
	}
	row, err := a.Shape[1:].Bytes(a.DType)
	a.rowBytes = row
	return err
}

// number is a chunk's number by its place in the grid; false: the array ends before it.
func (a *Array) number(at []int64) (index int64, inside bool) {
	for i, k := range at {
		if k < 0 || k >= a.grid[i] {
			return 0, false
		}
		index = index*a.grid[i] + k
	}
	return index, true
}

// ChunkRows is how many rows a chunk has.
func (a *Array) ChunkRows() int64 { return a.chunk[0] }

// ChunkBytes is how many bytes a chunk has, unpacked.
func (a *Array) ChunkBytes() int64 { return a.chunkBytes }

// ReadRows fills dst with as many rows as it has room for, the first of them number first, with elements as the file has them. Chunks
// that have to be unpacked are taken from the cache, and put there; nil: they are unpacked for this call alone. Rows of chunks without
// filters are read where they lie.
func (a *Array) ReadRows(dst []byte, first int64, c *Cache) error {
	if len(dst) == 0 {
		return nil
	}
	n := int64(len(dst)) / a.rowBytes
	for k := first / a.chunk[0]; k*a.chunk[0] < first+n; k++ {
		lo, hi := max(first-k*a.chunk[0], 0), min(first+n-k*a.chunk[0], a.chunk[0])
		from := k*a.chunk[0] + lo - first
		if err := a.readLayer(dst[from*a.rowBytes:(from+hi-lo)*a.rowBytes], k, lo, hi, c); err != nil {
			return err
		}
	}
	return nil
}

// readLayer fills dst with rows lo to hi of the chunks that are number k along the first axis.
func (a *Array) readLayer(dst []byte, k, lo, hi int64, c *Cache) error {
	at := make([]int64, len(a.grid))
	at[0] = k
	if slices.Equal(a.chunk[1:], a.Shape[1:]) { // the chunk is as wide as the array
		return a.slab(dst, at, lo, hi, c)
	}
	scratch := borrow((hi - lo) * (a.chunkBytes / a.chunk[0]))
	defer giveBack(scratch)
	for more := true; more; more = a.next(at) {
		if err := a.slab(*scratch, at, lo, hi, c); err != nil {
			return err
		}
		a.scatter(dst, *scratch, at, hi-lo)
	}
	return nil
}

// next moves to the next chunk of a layer; false: that was the last.
func (a *Array) next(at []int64) bool {
	for i := len(at) - 1; i > 0; i-- {
		if at[i]++; at[i] < a.grid[i] {
			return true
		}
		at[i] = 0
	}
	return false
}

// slab fills dst with rows lo to hi of a chunk.
func (a *Array) slab(dst []byte, at []int64, lo, hi int64, c *Cache) error {
	index, _ := a.number(at)
	p, found, err := a.chunks.place(index)
	row := a.chunkBytes / a.chunk[0]
	switch {
	case err != nil:
		return err
	case !found:
		a.fillWith(dst)
		return nil
	case a.stored(p) && int64(p.size) != a.chunkBytes:
		return fmt.Errorf("%w: chunk %d: got %d bytes, want %d", ErrDamaged, p.index, p.size, a.chunkBytes)
	case a.stored(p):
		return a.chunks.read(p, lo*row, dst)
	}
	if err := a.believable(p); err != nil {
		return err
	}
	switch {
	case c == nil && int64(len(dst)) == a.chunkBytes:
		return a.unpack(dst, p)
	case c == nil:
		whole := borrow(a.chunkBytes)
		defer giveBack(whole)
		err := a.unpack(*whole, p)
		copy(dst, (*whole)[lo*row:])
		return err
	}
	whole, err := c.chunk(chunkKey{a, index}, func() ([]byte, error) {
		whole := make([]byte, a.chunkBytes)
		return whole, a.unpack(whole, p)
	})
	if err == nil {
		copy(dst, whole[lo*row:])
	}
	return err
}

// scatter puts rows of a chunk, without what of it lies beyond the array, where they belong in rows of the array.
func (a *Array) scatter(dst, src []byte, at []int64, rows int64) {
	size := int64(a.DType.Bytes())
	var copyAxis func(i int, dst, src []byte, dstBytes, srcBytes int64)
	copyAxis = func(i int, dst, src []byte, dstBytes, srcBytes int64) {
		from, n := at[i]*a.chunk[i], min(a.chunk[i], a.Shape[i]-at[i]*a.chunk[i])
		if i == 0 {
			from, n = 0, rows
		} else {
			dstBytes, srcBytes = dstBytes/a.Shape[i], srcBytes/a.chunk[i]
		}
		if i == len(at)-1 {
			copy(dst[from*size:(from+n)*size], src)
			return
		}
		for k := range n {
			copyAxis(i+1, dst[(from+k)*dstBytes:], src[k*srcBytes:], dstBytes, srcBytes)
		}
	}
	copyAxis(0, dst, src, a.rowBytes, a.chunkBytes/a.chunk[0])
}

// fillWith makes elements what those are that were never written.
func (a *Array) fillWith(dst []byte) {
	if a.fill == nil {
		clear(dst)
		return
	}
	for n := copy(dst, a.fill); n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}
