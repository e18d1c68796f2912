package grid

import (
	"errors"
	"fmt"
)

// Numbers of HDF5's filters.
const (
	filterDeflate  = 1
	filterShuffle  = 2
	filterFletcher = 3
	filterLZF      = 32000
)

// filterNames are those that are known and not read.
var filterNames = map[uint64]string{4: "szip", 5: "nbit", 6: "scaleoffset", 307: "bzip2", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32013: "zfp", 32015: "zstd", 32017: "sz", 32026: "blosc2"}

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
		return filter{"deflate", 1040, inflate}, nil
	case filterShuffle:
		if len(values) > 0 {
			size = int(values[0])
		}
		if size < 1 || size > maxChunkBytes {
			return filter{}, fmt.Errorf("got shuffled elements of %d bytes", size)
		}
		return filter{"shuffle", 1, unshuffle(size)}, nil
	case filterFletcher:
		return filter{"fletcher32", 1, fletcher}, nil
	case filterLZF:
		return filter{"lzf", 100, unlzf}, nil
	}
	name, known := filterNames[id]
	if !known {
		name = fmt.Sprintf("number %d", id)
	}
	return filter{}, fmt.Errorf("packed by the filter %s, want gzip, lzf, shuffle or fletcher32; write it again, as h5repack -f GZIP=4 does", name)
}
