package grid

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/spdl/spdl/core/tensor"
)

// sharding is the codec of version 3 by which a file has several chunks, and an index of them.
const sharding = "sharding_indexed"

const (
	entryBytes     = 16       // of an index: where a chunk lies in the file, and how long it is
	maxShardChunks = 1 << 22  // of one file
	shardIndexes   = 16 << 20 // bytes of indexes that are held for an array
)

// zarrShards are chunks of which a file has several. The array's grid is that of the chunks; those beyond its edge are of no number in it.
type zarrShards struct {
	zarrChunks
	grid    []int64 // files along each axis
	per     []int64 // chunks of a file along each axis
	chunks  int64   // of a file
	atStart bool    // that is where the index lies, and not at the end
	order   binary.ByteOrder
	summed  bool // the index has a checksum behind it

	indexes *Cache
}

// shards reads how an array's files are cut into chunks, which take the place of its own.
func (z *zarrJSON) shards(a *Array, keys *zarrChunks) error {
	c, outer := &z.Codecs[0].Configuration, z.Grid.Configuration.ChunkShape
	if len(outer) != len(z.Shape) || len(c.ChunkShape) != len(z.Shape) {
		return fmt.Errorf("codecs: got shards of %v in chunks of %v, want %d dimensions, as the array has", tensor.Shape(outer), tensor.Shape(c.ChunkShape), len(z.Shape))
	}
	s := &zarrShards{zarrChunks: *keys, chunks: 1, indexes: NewCache(shardIndexes)}
	for i, n := range outer {
		inner := c.ChunkShape[i]
		if inner < 1 || n < 1 || n%inner != 0 || n/inner > maxShardChunks/s.chunks {
			return fmt.Errorf("codecs: got shards of %v in chunks of %v, want whole chunks, and at most %d a shard", tensor.Shape(outer), tensor.Shape(c.ChunkShape), maxShardChunks)
		}
		s.chunks *= n / inner
		s.per, s.grid = append(s.per, n/inner), append(s.grid, max((z.Shape[i]-1)/n+1, 1))
	}
	switch c.Location {
	case "", "end":
	case "start":
		s.atStart = true
	default:
		return fmt.Errorf("codecs: index_location: got %.40q, want \"start\" or \"end\"", c.Location)
	}
	switch {
	case len(c.Index) == 1 && c.Index[0].Name == "bytes":
	case len(c.Index) == 2 && c.Index[0].Name == "bytes" && c.Index[1].Name == "crc32c":
		s.summed = true
	default:
		return errors.New("codecs: index_codecs: want bytes, or bytes and crc32c")
	}
	s.order = binary.LittleEndian
	if c.Index[0].Configuration.Endian == "big" {
		s.order = binary.BigEndian
	}
	if err := a.cut(c.ChunkShape); err != nil {
		return fmt.Errorf("codecs: %w", err)
	}
	a.chunks = s
	return a.codecs(c.Codecs)
}

// within is the file that has a chunk, and the chunk's number in it.
func (s *zarrShards) within(index int64) (file, k int64) {
	var at [maxRank]int64
	for i := len(s.grid) - 1; i >= 0; i-- {
		at[i] = index % s.a.grid[i]
		index /= s.a.grid[i]
	}
	for i := range s.grid {
		file, k = file*s.grid[i]+at[i]/s.per[i], k*s.per[i]+at[i]%s.per[i]
	}
	return file, k
}

func (s *zarrShards) place(index int64) (p place, found bool, err error) {
	file, k := s.within(index)
	entries, err := s.indexes.chunk(chunkKey{s.a, file}, func() ([]byte, error) { return s.index(file) })
	if err == errNoShard {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	at, n := s.entry(entries, k)
	return place{index: index, at: int64(at), size: uint32(n)}, at != math.MaxUint64, nil
}

// entry is where chunk k lies; both are the largest number where it was never written.
func (s *zarrShards) entry(entries []byte, k int64) (at, n uint64) {
	e := entries[k*entryBytes:]
	return s.order.Uint64(e), s.order.Uint64(e[8:])
}

// errNoShard is an index's whose file is not there. It is not kept, as other errors are not.
var errNoShard = errors.New("no such shard")

// index reads a file's index, each of whose chunks lies in the file.
func (s *zarrShards) index(file int64) ([]byte, error) {
	name := s.name(file, s.grid)
	size, found, err := s.files.size(name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errNoShard
	}
	length, at := s.chunks*entryBytes, int64(0)
	if s.summed {
		length += 4
	}
	if size < length {
		return nil, fmt.Errorf("%w: shard %q: got %d bytes, want %d for the index of its %d chunks at least", ErrDamaged, name, size, length, s.chunks)
	}
	if !s.atStart {
		at = size - length
	}
	b := make([]byte, length)
	if err := s.files.read(name, at, b); err != nil {
		return nil, err
	}
	if s.summed {
		if _, err := crc32c(b, b); err != nil {
			return nil, fmt.Errorf("%w: shard %q: its index: %w", ErrDamaged, name, err)
		}
	}
	for k := range s.chunks {
		at, n := s.entry(b, k)
		if absent := at == math.MaxUint64 && n == math.MaxUint64; !absent && (at > uint64(size) || n > uint64(size)-at || n > math.MaxUint32) {
			return nil, fmt.Errorf("%w: shard %q: its index: chunk %d: got %d bytes at %d, of a file of %d", ErrDamaged, name, k, n, at, size)
		}
	}
	return b, nil
}

func (s *zarrShards) read(p place, off int64, dst []byte) error {
	file, _ := s.within(p.index)
	return s.files.read(s.name(file, s.grid), p.at+off, dst)
}
