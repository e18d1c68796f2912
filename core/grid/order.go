package grid

import (
	"encoding/binary"
	"fmt"
)

// permutes says that numbers are those of n axes, each once.
func permutes(order []int, n int) bool {
	seen := make([]bool, n)
	for _, axis := range order {
		if axis < 0 || axis >= n || seen[axis] {
			return false
		}
		seen[axis] = true
	}
	return len(order) == n
}

// transposed is the filter of chunks that have their axes in another order: axis i of what lies there is axis order[i] of the array.
func (a *Array) transposed(order []int) filter {
	size := int(a.DType.Bytes())
	strides, lengths, jumps := make([]int, len(order)), make([]int, len(order)), make([]int, len(order))
	for i, stride := len(order)-1, size; i >= 0; i-- {
		strides[i] = stride
		stride *= int(a.chunk[i])
	}
	for i, axis := range order {
		lengths[i], jumps[i] = int(a.chunk[axis]), strides[axis]
	}
	want := int(a.chunkBytes)
	return filter{name: "order", most: 1, undo: func(dst, src []byte) (int, error) {
		if len(src) != want || len(dst) < want {
			return 0, fmt.Errorf("got %d bytes, want %d", len(src), want)
		}
		at, to, last := make([]int, len(order)), 0, len(order)-1
		for len(src) > 0 {
			for k := range lengths[last] {
				copy(dst[to+k*jumps[last]:to+k*jumps[last]+size], src)
				src = src[size:]
			}
			for i := last - 1; i >= 0; i-- {
				if at[i]++; at[i] < lengths[i] {
					to += jumps[i]
					break
				}
				at[i] = 0
				to -= (lengths[i] - 1) * jumps[i]
			}
		}
		return want, nil
	}}
}

// undelta adds up the differences of whole numbers of so many bytes.
func undelta(size int) func(dst, src []byte) (int, error) {
	return func(dst, src []byte) (int, error) {
		if len(dst) < len(src) || len(src)%size != 0 {
			return 0, fmt.Errorf("got %d bytes, want a multiple of %d, and at most %d", len(src), size, len(dst))
		}
		var sum, word [8]byte
		for i := 0; i < len(src); i += size {
			copy(word[:], src[i:i+size])
			binary.LittleEndian.PutUint64(sum[:], binary.LittleEndian.Uint64(sum[:])+binary.LittleEndian.Uint64(word[:]))
			copy(dst[i:i+size], sum[:])
		}
		return len(src), nil
	}
}
