package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/minio/highwayhash"
	"github.com/parquet-go/parquet-go/format"
)

// A file of Riegeli's is chunks, one behind the other. At every multiple of riegeliBlock there is a header of the block, in whatever it interrupts, for who looks for
// a chunk; who knows where one begins passes over them. A chunk is a header, all numbers little-endian: its hash u64, the size of the data u64, their hash u64, a
// byte of its type and 7 of the number of its records, and the bytes of these, u64; and the data. Those of a simple chunk are a byte of the compression, the sizes of
// the records, which are behind their own size, and the records. Sizes are varints; what is compressed has its size unpacked before it.
const (
	riegeliBlock     = 64 << 10
	riegeliBlockHead = 8 + 8 + 8
	riegeliHead      = 8 + 8 + 8 + 8 + 8

	riegeliSimple     = 'r'
	riegeliTransposed = 't'

	maxChunk = 1 << 30 // bytes of one, stored and unpacked
)

// riegeliCodecs are the compressions of chunks, by what stands for them, but for 0, none.
var riegeliCodecs = map[byte]format.CompressionCodec{'b': format.Brotli, 'z': format.Zstd, 's': format.Snappy}

// riegeliKey is that of the hashes.
var riegeliKey = []byte("Riegeli/records\nRiegeli/records\n")

// riegeliBegins is the hash of the chunk that every file begins with, and so where it stands.
var riegeliBegins = []byte{0x91, 0xba, 0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9}

var (
	errTransposed = errors.New("its records are transposed, which is not read; write the file without transpose, as ArrayRecordWriter(path, \"group_size:1\") does")
	errChunkCut   = errors.New("damaged: it is longer than its place; write or copy the file again")
)

// isRiegeli says that a file begins as Riegeli's do.
func isRiegeli(w *window) bool {
	head, err := w.bytes(0, riegeliBlockHead+len(riegeliBegins))
	return err == nil && bytes.Equal(head[riegeliBlockHead:], riegeliBegins)
}

// badChunk is why a chunk is not read.
type badChunk struct {
	cause Cause
	text  string
}

func (e *badChunk) Error() string { return e.text }

func errHash(what string, got, want uint64) error {
	return &badChunk{Checksum, fmt.Sprintf("its %s has the hash %016x, want %016x; the file is damaged: write or copy it again", what, got, want)}
}

func errLargeChunk(what string, got, want int64) error {
	return &badChunk{TooLarge, fmt.Sprintf("it %s %d bytes, want at most %d; write the file with smaller groups (group_size:1)", what, got, want)}
}

// recordChunk is a chunk unpacked. Its memory is used again.
type recordChunk struct {
	values []byte // the records, one behind the other; where they were not packed, in what was taken
	ends   []uint32
	memory *Buffer // for what is unpacked; nil: its own
	sizes  []byte  // unpacked
	packed []byte  // values that were, which are there without memory
}

// n is the number of records.
func (c *recordChunk) n() int { return len(c.ends) }

// record is one of them.
func (c *recordChunk) record(k int) []byte {
	from := uint32(0)
	if k > 0 {
		from = c.ends[k-1]
	}
	return c.values[from:c.ends[k]:c.ends[k]]
}

// size is the memory that the records take, with what holds a few that are kept.
func (c *recordChunk) size() int64 { return int64(cap(c.values) + 4*cap(c.ends) + 512) }

// take unpacks the chunk that begins a range of a file, from at on. What it has of the range is changed, and is the chunk's from then on.
func (c *recordChunk) take(interrupted []byte, at int64) error {
	c.ends, c.values = c.ends[:0], nil
	stored := uninterrupted(interrupted[:0], interrupted, at)
	if len(stored) < riegeliHead {
		return errChunkCut
	}
	le := binary.LittleEndian
	head, behind := stored[:riegeliHead], stored[riegeliHead:]
	if got, want := highwayhash.Sum64(head[8:], riegeliKey), le.Uint64(head); got != want {
		return errHash("header", got, want)
	}
	if le.Uint64(head[8:]) > uint64(len(behind)) {
		return errChunkCut
	}
	data := behind[:le.Uint64(head[8:])]
	if got, want := highwayhash.Sum64(data, riegeliKey), le.Uint64(head[16:]); got != want {
		return errHash("data", got, want)
	}
	switch kind := head[24]; kind {
	case riegeliSimple:
		return c.unpack(data, le.Uint64(head[24:])>>8, le.Uint64(head[32:]), int64(len(interrupted)))
	case riegeliTransposed:
		return errTransposed
	default:
		return fmt.Errorf("damaged: it is a chunk of type %q, want one of records; write or copy the file again", kind)
	}
}

// uninterrupted appends a range of a file, from at on, without the blocks' headers in it.
func uninterrupted(to, data []byte, at int64) []byte {
	for len(data) > 0 {
		in := int(at % riegeliBlock)
		n := min(len(data), riegeliBlock-in)
		if skip := riegeliBlockHead - in; skip > 0 {
			data, at, n = data[min(skip, n):], at+int64(min(skip, n)), n-min(skip, n)
		}
		to = append(to, data[:n]...)
		data, at = data[n:], at+int64(n)
	}
	return to
}

// unpack takes the data of a simple chunk of n records, which are size bytes. By the format it takes a byte of the file for each record at least.
func (c *recordChunk) unpack(data []byte, n, size uint64, stored int64) (err error) {
	if n > uint64(stored) {
		return fmt.Errorf("damaged: it says that it has %d records, in %d bytes; write or copy the file again", n, stored)
	}
	if most := roomOfChunk(stored); size > uint64(most) {
		return errLargeChunk("unpacks to", int64(min(size, math.MaxInt64)), most)
	}
	if len(data) == 0 {
		return errChunkCut
	}
	as, data := data[0], data[1:]
	length, k := binary.Uvarint(data)
	if k <= 0 || length > uint64(len(data)-k) {
		return errChunkCut
	}
	sizes, values := data[k:][:length], data[k:][length:]
	if as == 0 {
		if c.values = values; uint64(len(values)) != size {
			return fmt.Errorf("damaged: it has %d bytes of records, and says %d; write or copy the file again", len(values), size)
		}
		return c.divide(sizes, n, size)
	}
	if c.sizes, err = unpackPart(c.sizes, sizes, as, 0, n*binary.MaxVarintLen64); err == nil {
		err = c.divide(c.sizes, n, size)
	}
	if err != nil {
		return err
	}
	if c.memory != nil {
		c.packed = c.memory.room(int(size))
	}
	c.packed, err = unpackPart(c.packed, values, as, size, size)
	c.values = c.packed
	return err
}

// roomOfChunk is the most that one of so many bytes takes unpacked: it has room for a sample of any size that is read.
func roomOfChunk(stored int64) int64 { return min(DefaultMaxFileBytes+packedRatio*stored, maxChunk) }

// divide takes the sizes of n records, which are size bytes together.
func (c *recordChunk) divide(sizes []byte, n, size uint64) error {
	at := uint64(0)
	for range n {
		one, k := binary.Uvarint(sizes)
		if k <= 0 || one > size-at {
			return fmt.Errorf("damaged: the sizes of its %d records are not theirs; write or copy the file again", n)
		}
		sizes, at = sizes[k:], at+one
		c.ends = append(c.ends, uint32(at))
	}
	if len(sizes) > 0 || at != size {
		return fmt.Errorf("damaged: its %d records have %d bytes by their sizes, and %d bytes of sizes are left, want %d and none; write or copy the file again", n, at, len(sizes), size)
	}
	return nil
}

// unpackPart unpacks a part of a chunk, which says that it has at least and at most so many bytes, into memory that is used again.
func unpackPart(to, packed []byte, as byte, least, most uint64) ([]byte, error) {
	codec, known := riegeliCodecs[as]
	if !known {
		return to[:0], fmt.Errorf("its compression is %q, want none, brotli, zstd or snappy; write the file with one of them", as)
	}
	size, k := binary.Uvarint(packed)
	if k <= 0 || size < least || size > most {
		return to[:0], fmt.Errorf("damaged: a part of it says that it unpacks to %d bytes, want %d to %d; write or copy the file again", size, least, most)
	}
	to, err := unpack(to, codec, packed[k:], int(size))
	if err == nil && uint64(len(to)) != size {
		err = fmt.Errorf("got %d bytes, want %d", len(to), size)
	}
	if err != nil {
		return to[:0], fmt.Errorf("it cannot be unpacked (%v): %w; write or copy the file again", codec, err)
	}
	return to, nil
}
