package grid

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// Numbers of HDF5's filters.
const (
	filterDeflate    = 1
	filterShuffle    = 2
	filterFletcher   = 3
	filterLZF        = 32000
	filterBlosc      = 32001
	filterLZ4        = 32004
	filterBitShuffle = 32008
	filterZstd       = 32015
)

// filterNames are those that are known and not read.
var filterNames = map[uint64]string{4: "szip", 5: "nbit", 6: "scaleoffset", 307: "bzip2", 32013: "zfp", 32017: "sz", 32026: "blosc2"}

// filtersOf reads a pipeline of filters, in the order in which chunks were packed. size is that of an element.
func filtersOf(body []byte, size int) (all []filter, err error) {
	c := cursor{b: body}
	version, n := c.number(1), c.number(1)
	if version != 1 && version != 2 || n > 32 {
		return nil, fmt.Errorf("got %d filters of version %d, want at most 32 of version 1 or 2", n, version)
	}
	if version == 1 {
		c.skip(6)
	}
	for range n {
		one, err := filterOf(&c, version, size)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func filterOf(c *cursor, version uint64, size int) (filter, error) {
	id, nameBytes := c.number(2), uint64(0)
	if version == 1 || id >= 256 {
		nameBytes = c.number(2)
	}
	c.skip(2)
	values := make([]uint64, c.number(2))
	if c.skip(int(nameBytes)); version == 1 {
		c.skip(int(-nameBytes & 7))
	}
	for i := range values {
		if values[i] = c.number(4); c.short {
			return filter{}, errors.New("the filters are truncated")
		}
	}
	if version == 1 && len(values)%2 == 1 {
		c.skip(4)
	}
	switch id {
	case filterDeflate:
		return filter{name: "deflate", most: 1040, undo: inflate}, nil
	case filterShuffle:
		if len(values) > 0 {
			size = int(values[0])
		}
		if size < 1 || size > maxChunkBytes {
			return filter{}, fmt.Errorf("got shuffled elements of %d bytes", size)
		}
		return filter{name: "shuffle", most: 1, undo: unshuffle(size)}, nil
	case filterFletcher:
		return filter{name: "fletcher32", most: 1, undo: fletcher}, nil
	case filterLZF:
		return filter{name: "lzf", most: 100, undo: unlzf}, nil
	case filterBlosc:
		return filter{name: "blosc", most: 1 << 29, undo: unblosc}, nil
	case filterLZ4:
		return filter{name: "lz4", most: 256, undo: unlz4Blocks}, nil
	case filterBitShuffle:
		return bitShuffleOf(values, size)
	case filterZstd:
		return filter{name: "zstd", most: 1 << 29, undo: unzstd}, nil
	}
	name, known := filterNames[id]
	if !known {
		name = fmt.Sprintf("number %d", id)
	}
	return filter{}, fmt.Errorf("packed by the filter %s, want gzip, lzf, zstd, lz4, blosc, shuffle, bitshuffle or fletcher32; write it again, as h5repack -f GZIP=4 does", name)
}

func unlz4Block(dst, src []byte) (int, error) { return lz4.UncompressBlock(src, dst) }

// lz4OrStored is unlz4Block but for a block that is as long as what it has, which is not packed.
func lz4OrStored(dst, src []byte) (int, error) {
	if len(src) == len(dst) {
		return copy(dst, src), nil
	}
	return unlz4Block(dst, src)
}

// unlz4Blocks is the format of the filter lz4: how many bytes there are in all and in a block, and the blocks.
func unlz4Blocks(dst, src []byte) (int, error) {
	n, block, src, err := blocksOf(dst, src)
	for at := 0; err == nil && at < n; at += block {
		src, err = unpackBlock(dst[at:min(at+block, n)], src, lz4OrStored)
	}
	return n, err
}

var errBlocks = errors.New("the blocks are damaged")

// blocksOf is the head before blocks: how many bytes they unpack to, and each of them but the last.
func blocksOf(dst, src []byte) (n, block int, rest []byte, err error) {
	if len(src) < 12 {
		return 0, 0, nil, errBlocks
	}
	all, each := binary.BigEndian.Uint64(src), binary.BigEndian.Uint32(src[8:])
	if all > uint64(len(dst)) || each == 0 || each > maxChunkBytes {
		return 0, 0, nil, fmt.Errorf("%w: got %d bytes in blocks of %d, want at most %d", errBlocks, all, each, len(dst))
	}
	return int(all), int(each), src[12:], nil
}

// unpackBlock fills dst with a block, which is behind its size as it is packed, and returns what is behind it.
func unpackBlock(dst, src []byte, unpack func(dst, src []byte) (int, error)) (rest []byte, err error) {
	if len(src) < 4 {
		return nil, errBlocks
	}
	size := binary.BigEndian.Uint32(src)
	if src = src[4:]; uint64(size) > uint64(len(src)) {
		return nil, errBlocks
	}
	if n, err := unpack(dst, src[:size]); err != nil || n != len(dst) {
		return nil, errors.Join(errBlocks, err)
	}
	return src[size:], nil
}

// bitShuffled is the filter bitshuffle: blocks of elements whose bits are transposed, packed each by itself or not at all.
type bitShuffled struct {
	size   int // of an element
	block  int // elements of one; 0: as the library chooses
	unpack func(dst, src []byte) (int, error)
}

// bitShuffleOf reads what the filter says of itself: the version in two numbers, the size of an element, that of a block, and what packs it.
func bitShuffleOf(values []uint64, size int) (filter, error) {
	b := bitShuffled{size: size}
	packed := uint64(0)
	for i, to := range []*int{2: &b.size, 3: &b.block} {
		if to != nil && i < len(values) {
			*to = int(values[i])
		}
	}
	if len(values) > 4 {
		packed = values[4]
	}
	if b.size < 1 || b.size > maxChunkBytes || b.block > maxChunkBytes/b.size || b.block%8 != 0 {
		return filter{}, fmt.Errorf("bitshuffle: got elements of %d bytes in blocks of %d, want at least 1, and a multiple of 8", b.size, b.block)
	}
	if b.block == 0 {
		b.block = max(8192/b.size/8*8, 128)
	}
	switch packed {
	case 0:
		return filter{name: "bitshuffle", most: 1, undo: b.undo}, nil
	case 2:
		b.unpack = unlz4Block
		return filter{name: "bitshuffle", most: 256, undo: b.undo, packed: b.packed}, nil
	case 3:
		b.unpack = unzstd
		return filter{name: "bitshuffle", most: 1 << 29, undo: b.undo, packed: b.packed}, nil
	}
	return filter{}, fmt.Errorf("packed by the filter bitshuffle with compressor %d, want none, lz4 (2) or zstd (3); write it again with one of them", packed)
}

// packed counts for every block its size ahead of it, and what a frame of LZ4 or zstd has around bytes that do not compress.
func (b *bitShuffled) packed(n int64) int64 {
	const around = 4 + 32
	return n + (n/int64(b.block*b.size)+1)*around
}

// undo unpacks blocks. The last one may have fewer elements, a multiple of 8 too, and up to 7 elements behind it are as they are.
func (b *bitShuffled) undo(dst, src []byte) (n int, err error) {
	n, block := len(src), b.block*b.size
	if b.unpack != nil {
		if n, block, src, err = blocksOf(dst, src); err != nil {
			return 0, err
		}
	}
	if n > len(dst) || n%b.size != 0 || block%(8*b.size) != 0 {
		return 0, fmt.Errorf("%w: got %d bytes in blocks of %d, want at most %d of elements of %d", errBlocks, n, block, len(dst), b.size)
	}
	scratch := borrow(int64(min(block, n)))
	defer giveBack(scratch)
	end := n - n%(8*b.size)
	for at := 0; at < end; at += block {
		to := dst[at:min(at+block, end)]
		shuffled := src
		if b.unpack == nil {
			src = src[len(to):]
		} else {
			shuffled = (*scratch)[:len(to)]
			if src, err = unpackBlock(shuffled, src, b.unpack); err != nil {
				return 0, err
			}
		}
		unshuffleBits(to, shuffled[:len(to)], b.size)
	}
	if len(src) < n-end {
		return 0, errBlocks
	}
	return end + copy(dst[end:n], src), nil
}
