package grid

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Flags of a frame of Blosc's.
const (
	bloscShuffled    = 1
	bloscStored      = 2
	bloscBitShuffled = 4
	bloscWhole       = 16 // blocks are not split by the bytes of elements
	bloscHeader      = 16
)

// bloscs are the compressors within, by their numbers; nil: not read.
var bloscs = [8]struct {
	name   string
	unpack func(dst, src []byte) (int, error)
}{{"blosclz", unblosclz}, {"lz4", unlz4Block}, {"snappy", nil}, {"zlib", inflate}, {"zstd", unzstd}}

var errBlosc = errors.New("the frame is damaged")

// blosc is a frame of Blosc's first version: blocks, each of one or more streams, whose elements may be shuffled.
type blosc struct {
	flags     byte
	element   int
	blockSize int
	src       []byte
	scratch   []byte // of a block
}

func unblosc(dst, src []byte) (int, error) {
	if len(src) < bloscHeader || src[0] < 1 || src[0] > 2 {
		return 0, errors.New("got no frame of Blosc's first version")
	}
	b := blosc{flags: src[2], element: int(src[3]), blockSize: int(binary.LittleEndian.Uint32(src[8:])), src: src}
	n, packed := int(binary.LittleEndian.Uint32(src[4:])), int(binary.LittleEndian.Uint32(src[12:]))
	switch {
	case n > len(dst) || packed > len(src) || packed < bloscHeader || b.element == 0:
		return 0, errBlosc
	case b.flags&bloscStored != 0:
		if packed != bloscHeader+n {
			return 0, errBlosc
		}
		return copy(dst, src[bloscHeader:packed]), nil
	case n == 0:
		return 0, nil
	case b.blockSize < 1 || b.blockSize > n:
		return 0, errBlosc
	case bloscs[b.flags>>5].unpack == nil:
		return 0, fmt.Errorf("packed with %s within, which is not read; write it again with blosclz, lz4, zstd or zlib", bloscs[b.flags>>5].name)
	}
	b.src = src[:packed]
	blocks := (n-1)/b.blockSize + 1
	if blocks > (packed-bloscHeader)/4 {
		return 0, errBlosc
	}
	scratch := borrow(int64(b.blockSize))
	defer giveBack(scratch)
	b.scratch = *scratch
	for k := range blocks {
		at := int(binary.LittleEndian.Uint32(src[bloscHeader+4*k:]))
		if err := b.block(dst[k*b.blockSize:min((k+1)*b.blockSize, n)], at); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// block unpacks one from a place in the frame on.
func (b *blosc) block(dst []byte, at int) error {
	to := dst
	shuffled := b.flags&bloscShuffled != 0 && b.element > 1
	if shuffled || b.flags&bloscBitShuffled != 0 {
		to = b.scratch[:len(dst)]
	}
	streams := 1
	if b.flags&bloscWhole == 0 && b.element <= 16 && b.blockSize/b.element >= 128 && len(dst) == b.blockSize {
		streams = b.element
	}
	size := len(dst) / streams
	if size*streams != len(dst) {
		return errBlosc
	}
	for k := range streams {
		if at < bloscHeader || at > len(b.src)-4 {
			return errBlosc
		}
		packed := int(binary.LittleEndian.Uint32(b.src[at:]))
		if at += 4; packed > len(b.src)-at {
			return errBlosc
		}
		part := to[k*size : (k+1)*size]
		if packed == size {
			copy(part, b.src[at:])
		} else if n, err := bloscs[b.flags>>5].unpack(part, b.src[at:at+packed]); err != nil || n != size {
			return errors.Join(errBlosc, err)
		}
		at += packed
	}
	switch {
	case shuffled:
		_, err := unshuffle(b.element)(dst, to)
		return err
	case b.flags&bloscBitShuffled != 0:
		unshuffleBits(dst, to, b.element)
	}
	return nil
}

// unshuffleBits turns the first bits of all elements, the second ones and so on into the elements. Blosc shuffles only where their number is
// a multiple of eight.
func unshuffleBits(dst, src []byte, size int) {
	n := len(src) / size
	if n%8 != 0 {
		copy(dst, src)
		return
	}
	clear(dst[:n*size])
	for row := range 8 * size {
		for i, bits := range src[row*n/8 : (row+1)*n/8] {
			for bit := 0; bits != 0; bit, bits = bit+1, bits>>1 {
				dst[(8*i+bit)*size+row/8] |= bits & 1 << (row % 8)
			}
		}
	}
	copy(dst[n*size:], src[n*size:])
}
