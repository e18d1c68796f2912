package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// chosen finds the frames that a sample names itself, in a column: one number, to which others are added, or a list.
type chosen struct {
	name    string
	column  int
	dtype   tensor.DType
	indices bool      // they are, and no times
	times   []float64 // added to one number
	behind  []int     // the same of indices
}

// chosenOf is what a medium's frames are chosen by; nil: no column says it.
func chosenOf(m *spec.Medium, columns []spec.Column) *chosen {
	if m.Video == nil || m.Video.Select.Column == "" {
		return nil
	}
	by := &m.Video.Select
	k := slices.IndexFunc(columns, func(c spec.Column) bool { return c.Name == by.Column })
	c := &chosen{name: by.Column, column: k, dtype: columns[k].DType, indices: by.Kind == spec.SelectIndices, times: by.Times, behind: by.Indices}
	switch columns[k].Type {
	case spec.TypeI64:
		c.dtype = tensor.I64
	case spec.TypeF64:
		c.dtype = tensor.F64
	default:
		return c
	}
	if len(c.times)+len(c.behind) == 0 {
		c.times, c.behind = []float64{0}, []int{0}
	}
	return c
}

// maxIndex is the largest index of a frame that a column may name.
const maxIndex = math.MaxInt32

// of is what the sample names, in the memory of times and indices.
func (c *chosen) of(sample encoded, times *[]float64, indices *[]int) error {
	value, size := sample.Value(c.column), c.dtype.Bytes()
	if len(value) < size {
		return &windowError{fmt.Sprintf("select: column %q: got an empty list, want what names a frame or more", c.name)}
	}
	*times, *indices = (*times)[:0], (*indices)[:0]
	for ; len(value) >= size; value = value[size:] {
		x := elementOf(value, c.dtype)
		most, what := float64(maxSeconds), "seconds"
		if c.indices {
			most, what = maxIndex, "an index"
		}
		if !(x >= 0 && x <= most) {
			return &windowError{fmt.Sprintf("select: column %q: got %g, want %s from 0 up to %g", c.name, x, what, most)}
		}
		c.add(x, times, indices)
	}
	return nil
}

// add appends what one number names.
func (c *chosen) add(x float64, times *[]float64, indices *[]int) {
	switch {
	case c.indices && len(c.behind) == 0:
		*indices = append(*indices, int(x))
	case c.indices:
		for _, by := range c.behind {
			*indices = append(*indices, int(x)+by)
		}
	case len(c.times) == 0:
		*times = append(*times, x)
	default:
		for _, by := range c.times {
			*times = append(*times, x+by)
		}
	}
}

// elementOf reads a number of an array.
func elementOf(b []byte, t tensor.DType) float64 {
	ne := binary.NativeEndian
	switch t {
	case tensor.U8:
		return float64(b[0])
	case tensor.I8:
		return float64(int8(b[0]))
	case tensor.U16:
		return float64(ne.Uint16(b))
	case tensor.I16:
		return float64(int16(ne.Uint16(b)))
	case tensor.F16:
		return tensor.Half(ne.Uint16(b))
	case tensor.U32:
		return float64(ne.Uint32(b))
	case tensor.I32:
		return float64(int32(ne.Uint32(b)))
	case tensor.F32:
		return float64(math.Float32frombits(ne.Uint32(b)))
	case tensor.U64:
		return float64(ne.Uint64(b))
	case tensor.I64:
		return float64(int64(ne.Uint64(b)))
	}
	return math.Float64frombits(ne.Uint64(b))
}
