package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// A chunk of litData whose samples are compressed some at a time begins with litDataFrames, two u16, the first of them a version, and three u32: the number
// of its samples, how many a frame has, and the number of frames. The offsets of the samples follow, as if they were not compressed and from the first one
// on; the frames' places; and the frames, which are zstd's, one behind the other.
const (
	framesHead   = 8 + 2*2 + 3*4
	framesPlace  = 4 + 4 + 8 + 4 + 4 // first sample, samples, where it begins, bytes, bytes unpacked
	framesFormat = 1
)

// unpackFrames has the chunk as it was before, whatever size is thought to be.
func unpackFrames(packed io.Reader, _ int64) (io.Reader, error) {
	le := binary.LittleEndian
	var head [framesHead]byte
	if _, err := io.ReadFull(packed, head[:]); err != nil {
		return nil, err
	}
	if string(head[:len(litDataFrames)]) != litDataFrames || le.Uint16(head[8:]) != framesFormat {
		return nil, fmt.Errorf("it begins with %q, want frames of version %d", head[:10], framesFormat)
	}
	n, frames := int64(le.Uint32(head[12:])), int64(le.Uint32(head[20:]))
	offsets, err := exactly(packed, offsetBytes*(n+1))
	if err != nil {
		return nil, err
	}
	places, err := exactly(packed, framesPlace*frames)
	if err != nil {
		return nil, err
	}
	for at := int64(framesHead + len(offsets) + len(places)); len(places) > 0; places = places[framesPlace:] {
		if begin := int64(le.Uint64(places[8:])); begin != at {
			return nil, fmt.Errorf("a frame begins at %d, want %d, behind the one before it", begin, at)
		}
		at += int64(le.Uint32(places[16:]))
	}
	table := le.AppendUint32(nil, uint32(n))
	for first, all := offsetBytes*(n+2), offsets; len(all) > 0; all = all[offsetBytes:] {
		at := first + int64(le.Uint32(all))
		if at > math.MaxUint32 {
			return nil, fmt.Errorf("a sample lies at %d unpacked, want less than 4 GiB", at)
		}
		table = le.AppendUint32(table, uint32(at))
	}
	samples, err := unpackers["zstd"](packed, anyBytes)
	if err != nil {
		return nil, err
	}
	most := int64(le.Uint32(offsets[len(offsets)-offsetBytes:]))
	return io.MultiReader(bytes.NewReader(table), io.LimitReader(samples, most+1)), nil // one more is found where the chunk is looked at
}
