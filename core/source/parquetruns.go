package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

var (
	errRuns     = errors.New("damaged: its encoded values are not whole")
	errManyRuns = errors.New("damaged: its encoding has more values than the page")
)

// plainDictionary is what older writers call both a dictionary and the values that refer to it.
const plainDictionary format.Encoding = 2

// encodingSlack is how many values an encoding may have beyond those of its page: the last ones are padded to whole groups.
const encodingSlack = 1024

// encodedWithin tells that the values of a page become n values at most, and texts of so many bytes: some bytes of runs, deltas or
// prefixes may stand for very many, and the library's decoders follow them before they look at the page's own number.
func encodedWithin(e format.Encoding, kind format.Type, data []byte, n, most int64) error {
	switch e {
	case format.Plain, format.ByteStreamSplit:
		return nil
	case plainDictionary, format.RLEDictionary:
		if len(data) == 0 {
			return nil
		}
		return runsWithin(data[1:], int(data[0]), n)
	case format.RLE:
		if kind == format.Boolean && len(data) >= 4 {
			return runsWithin(data[4:], 1, n)
		}
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		_, err := deltasWithin(data, n)
		return err
	case format.DeltaByteArray:
		return prefixesWithin(data, n, most)
	}
	return errEncoding(e)
}

func errEncoding(e format.Encoding) error {
	return fmt.Errorf("encoding %v is not read here; write the column with PLAIN or a dictionary", e)
}

// unsplit makes plain values of those that lie split: the first bytes of all, then the second ones. The library does so with floats alone.
func unsplit(data []byte, width int) ([]byte, error) {
	if width <= 0 {
		return nil, errEncoding(format.ByteStreamSplit)
	}
	if len(data)%width != 0 {
		return nil, errRuns
	}
	n := len(data) / width
	values := make([]byte, len(data))
	for b := range width {
		for k, c := range data[b*n:][:n] {
			values[k*width+b] = c
		}
	}
	return values, nil
}

// bitsOfRuns makes plain booleans of runs, which runsWithin has found sound. The library takes a run for as many whole bytes.
func bitsOfRuns(data []byte) (bits []byte, err error) {
	if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
		return nil, errRuns
	}
	n := 0
	add := func(bit byte) {
		if n%8 == 0 {
			bits = append(bits, 0)
		}
		bits[n/8] |= bit << (n % 8)
		n++
	}
	for data = data[4:][:binary.LittleEndian.Uint32(data)]; len(data) > 0; {
		head, k := binary.Uvarint(data)
		size := uint64(1)
		if head&1 != 0 {
			size = head >> 1
		}
		if k <= 0 || size > uint64(len(data)-k) {
			return nil, errRuns
		}
		values := data[k:][:size]
		data = data[k:][size:]
		if head&1 == 0 {
			for range head >> 1 {
				add(values[0] & 1)
			}
			continue
		}
		for _, eight := range values {
			for b := range 8 {
				add(eight >> b & 1)
			}
		}
	}
	return bits, nil
}

// levelsWithin tells that definition levels become n at most.
func levelsWithin(data []byte, most int, n int64) error {
	return runsWithin(data, bits.Len(uint(most)), n)
}

// present counts those of n values whose definition level is the highest: the others are null. levelsWithin has found the levels sound.
func present(levels []byte, highest int, n int64) int64 {
	return levelsAt(levels, bits.Len(uint(highest)), highest, n)
}

// levelsAt counts those of n levels, of so many bits each, that are this one. levelsWithin has found them sound.
func levelsAt(levels []byte, width, level int, n int64) (total int64) {
	for n > 0 && len(levels) > 0 {
		head, k := binary.Uvarint(levels)
		levels = levels[max(k, 0):]
		count, size := min(head>>1, uint64(n)), 1
		if head&1 != 0 {
			count = min(8*(head>>1), uint64(n))
			size = min(width*int(head>>1), len(levels))
			total += packedAt(levels[:size], width, level, count)
		} else if len(levels) > 0 && int(levels[0]) == level {
			total += int64(count)
		}
		n -= int64(count)
		levels = levels[min(size, len(levels)):]
	}
	return total
}

// packedAt is levelsAt for levels that lie one behind the other.
func packedAt(packed []byte, width, level int, count uint64) (total int64) {
	left, has := 0, 0
	for _, b := range packed {
		left |= int(b) << has
		for has += 8; has >= width && count > 0; has -= width {
			if left&(1<<width-1) == level {
				total++
			}
			left >>= width
			count--
		}
	}
	return total
}

// runsWithin walks the mix of runs and packed groups of eight that Parquet calls RLE.
func runsWithin(data []byte, width int, n int64) error {
	for total := int64(0); len(data) > 0; {
		head, k := binary.Uvarint(data)
		if k <= 0 || width > 32 {
			return errRuns
		}
		data = data[k:]
		count, size := head>>1, uint64(width+7)/8
		if head&1 != 0 {
			count, size = 8*count, uint64(width)*count
		}
		if count > 1<<32 {
			return errManyRuns
		}
		if total += int64(count); total > n+encodingSlack {
			return errManyRuns
		}
		data = data[min(size, uint64(len(data))):]
	}
	return nil
}

// deltasWithin walks numbers that are packed as their differences, and returns what lies behind them.
func deltasWithin(data []byte, n int64) (rest []byte, err error) {
	var head [4]uint64 // the sizes of a block and of how many parts it is, the number of values, the first of them
	for i := range head {
		k := 0
		if head[i], k = binary.Uvarint(data); k <= 0 {
			return nil, errRuns
		}
		data = data[k:]
	}
	block, parts, total := head[0], head[1], head[2]
	if block == 0 || block > 1<<16 || parts == 0 || parts > block {
		return nil, errRuns
	}
	if total > uint64(n)+encodingSlack {
		return nil, errManyRuns
	}
	if total > 0 {
		total--
	}
	for total > 0 && len(data) > 0 {
		_, k := binary.Uvarint(data)
		if k <= 0 || uint64(len(data)-k) < parts {
			return nil, errRuns
		}
		widths := data[k : k+int(parts)]
		data = data[k+int(parts):]
		for _, width := range widths {
			size := block / parts * uint64(width) / 8
			data = data[min(size, uint64(len(data))):]
			if total -= min(total, block/parts); total == 0 {
				break
			}
		}
	}
	return data, nil
}

// prefixesWithin adds up texts that begin as those before them do.
func prefixesWithin(data []byte, n, most int64) error {
	total := int64(0)
	for range 2 { // the lengths of what they share, then those of what they do not
		rest, err := deltasWithin(data, n)
		if err != nil {
			return err
		}
		lengths, err := (&delta.BinaryPackedEncoding{}).DecodeInt32(nil, data[:len(data)-len(rest)])
		if err != nil {
			return err
		}
		for _, length := range lengths {
			if length < 0 {
				return errRuns
			}
			total += int64(length)
		}
		data = rest
	}
	if total > most {
		return &unpacks{"texts that share their beginnings", total, most}
	}
	return nil
}
