package grid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// filter is one of the steps by which a chunk was packed.
type filter struct {
	name string
	most int64 // bytes that one byte may become
	// packed is the most that n bytes may be, packed; nil: little more than n.
	packed func(n int64) int64
	// undo puts what src was made of into dst's memory, from its beginning on and no further than its end.
	undo func(dst, src []byte) (n int, err error)
}

var (
	// ErrDamaged is returned for a chunk that does not unpack to its elements.
	ErrDamaged = errors.New("damaged")
	// ErrChecksum is returned for a chunk whose bytes are not those that its own checksum says.
	ErrChecksum = errors.New("the checksum is another")
)

// slack is what a filter may add to a chunk, such as a checksum.
const slack = 64

// stored says that a chunk's elements lie as they are.
func (a *Array) stored(p place) bool {
	if a.whole {
		return false
	}
	for i := range a.filters {
		if p.skip>>i&1 == 0 {
			return false
		}
	}
	return true
}

// believable refuses a chunk that cannot unpack to what it should, before there is memory for it.
func (a *Array) believable(p place) error {
	most := int64(p.size) + slack
	for i, f := range a.filters {
		if p.skip>>i&1 == 0 && most <= a.chunkBytes {
			most *= f.most
		}
	}
	if most < a.chunkBytes {
		return fmt.Errorf("%w: chunk %d: got %d bytes packed, which cannot be the %d that it has", ErrDamaged, p.index, p.size, a.chunkBytes)
	}
	return nil
}

// mostPacked is how long a chunk may be that does not compress, whichever filters it leaves out.
func (a *Array) mostPacked() int64 {
	most := a.chunkBytes
	for _, f := range a.filters {
		if f.packed != nil {
			most = max(most, f.packed(most))
		}
	}
	return most + most/4 + 4096
}

// unpack fills dst with a whole chunk.
func (a *Array) unpack(dst []byte, p place) error {
	if most := a.mostPacked(); int64(p.size) > most {
		return fmt.Errorf("%w: chunk %d: got %d bytes packed, want at most %d for the %d that it has", ErrDamaged, p.index, p.size, most, a.chunkBytes)
	}
	packed := borrow(int64(p.size))
	defer giveBack(packed)
	if err := a.chunks.read(p, 0, *packed); err != nil {
		return err
	}
	src, spare := *packed, [2]*[]byte{}
	defer func() { giveBack(spare[0]); giveBack(spare[1]) }()
	to := 0 // the spare memory that src is not in, whichever filters are left out
	for i := len(a.filters) - 1; i >= 0; i-- {
		if p.skip>>i&1 != 0 {
			continue
		}
		if spare[to] == nil {
			spare[to] = borrow(max(a.chunkBytes+slack, int64(p.size))) // what does not compress is longer packed
		}
		n, err := a.filters[i].undo(*spare[to], src)
		if err != nil {
			return fmt.Errorf("%w: chunk %d: %s: %w", ErrDamaged, p.index, a.filters[i].name, err)
		}
		src, to = (*spare[to])[:n], 1-to
	}
	if len(src) != len(dst) {
		return fmt.Errorf("%w: chunk %d: unpacks to %d bytes, want %d", ErrDamaged, p.index, len(src), len(dst))
	}
	copy(dst, src)
	return nil
}

// scratch is memory that was used before.
var scratch sync.Pool

// borrow is memory of n bytes with anything in it.
func borrow(n int64) *[]byte {
	if b, _ := scratch.Get().(*[]byte); b != nil && int64(cap(*b)) >= n {
		*b = (*b)[:n]
		return b
	}
	b := make([]byte, n)
	return &b
}

func giveBack(b *[]byte) {
	if b != nil {
		scratch.Put(b)
	}
}

// inflaters are readers of zlib's format.
var inflaters sync.Pool

func inflate(dst, src []byte) (n int, err error) {
	in := bytes.NewReader(src)
	z, _ := inflaters.Get().(io.ReadCloser)
	if z == nil {
		z, err = zlib.NewReader(in)
	} else {
		err = z.(zlib.Resetter).Reset(in, nil)
	}
	if err != nil {
		return 0, err
	}
	defer inflaters.Put(z)
	if n, err = filled(dst, z); err == zlib.ErrChecksum {
		err = ErrChecksum
	}
	return n, err
}

// filled reads a stream to its end, and refuses one that is longer than dst.
func filled(dst []byte, r io.Reader) (n int, err error) {
	n, err = io.ReadFull(r, dst)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return n, err
	}
	var one [1]byte
	switch more, err := io.ReadFull(r, one[:]); {
	case more > 0:
		return n, fmt.Errorf("unpacks to more than %d bytes", len(dst))
	case err != io.EOF:
		return n, err // of a stream that was cut, too
	}
	return n, nil
}

// unshuffle turns all first bytes of elements, all second ones and so on into the elements.
func unshuffle(size int) func(dst, src []byte) (int, error) {
	return func(dst, src []byte) (int, error) {
		if len(dst) < len(src) {
			return 0, fmt.Errorf("got %d bytes, want at most %d", len(src), len(dst))
		}
		n := len(src) / size
		if n < 2 { // of one element the order is its own, and size may be anything
			return copy(dst, src), nil
		}
		for k := range size {
			plane := src[k*n : (k+1)*n]
			for i, b := range plane {
				dst[i*size+k] = b
			}
		}
		copy(dst[n*size:], src[n*size:])
		return len(src), nil
	}
}

// fletcher checks HDF5's fletcher32, which is the last four bytes.
func fletcher(dst, src []byte) (int, error) {
	n := len(src) - 4
	if n < 0 || n > len(dst) {
		return 0, fmt.Errorf("got %d bytes, want 4 to %d", len(src), len(dst)+4)
	}
	if got, want := fletcher32(src[:n]), binary.LittleEndian.Uint32(src[n:]); got != want {
		return 0, fmt.Errorf("%w: got %08x, want %08x", ErrChecksum, got, want)
	}
	return copy(dst, src[:n]), nil
}

// fletcher32 is HDF5's: of 16-bit words, the first byte of each the higher one.
func fletcher32(b []byte) uint32 {
	const words = 360 // that the sums hold before they have to be folded
	var low, high uint32
	for len(b) > 1 {
		for range min(words, len(b)/2) {
			low += uint32(b[0])<<8 | uint32(b[1])
			high += low
			b = b[2:]
		}
		low, high = low&0xffff+low>>16, high&0xffff+high>>16
	}
	if len(b) == 1 {
		low += uint32(b[0]) << 8
		high += low
		low, high = low&0xffff+low>>16, high&0xffff+high>>16
	}
	low, high = low&0xffff+low>>16, high&0xffff+high>>16
	return high<<16 | low
}

var errLZF = errors.New("the stream is damaged")

// unlzf is LibLZF's format: a byte below 32 is followed by so many bytes and one more, another says how much of what came before comes again.
func unlzf(dst, src []byte) (n int, err error) {
	for len(src) > 0 {
		control := int(src[0])
		src = src[1:]
		if control < 32 {
			if control++; control > len(src) || control > len(dst)-n {
				return n, errLZF
			}
			n += copy(dst[n:], src[:control])
			src = src[control:]
			continue
		}
		length := control >> 5
		if length == 7 && len(src) > 0 {
			length += int(src[0])
			src = src[1:]
		}
		if len(src) == 0 {
			return n, errLZF
		}
		from := n - (control&31<<8 | int(src[0])) - 1
		src = src[1:]
		if length += 2; from < 0 || length > len(dst)-n {
			return n, errLZF
		}
		for range length {
			dst[n] = dst[from]
			n, from = n+1, from+1
		}
	}
	return n, nil
}
