package tensor

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// Shape is the length of each dimension, outermost first.
type Shape []int64

// Elements is the product of the dimensions; 1 for the empty shape. A negative dimension or a product past
// int64 is an error.
func (s Shape) Elements() (int64, error) {
	n, zero := uint64(1), false
	for i, d := range s {
		if d < 0 {
			return 0, fmt.Errorf("tensor: shape %v: dimension %d is %d, want 0 or more", s, i, d)
		}
		if d == 0 {
			zero = true
			continue
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, fmt.Errorf("tensor: shape %v: more than 2^63-1 elements", s)
		}
		n = lo
	}
	if zero {
		return 0, nil
	}
	return int64(n), nil
}

// Bytes is the dense size of a tensor of this shape in bytes, or an error where Elements has one or the size
// passes int64.
func (s Shape) Bytes(d DType) (int64, error) {
	n, err := s.Elements()
	if err != nil {
		return 0, err
	}
	hi, lo := bits.Mul64(uint64(n), uint64(d.Bytes()))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, fmt.Errorf("tensor: shape %v of %v: more than 2^63-1 bytes", s, d)
	}
	return int64(lo), nil
}

// Strides is the row-major distance in bytes between neighbours of each dimension of a dense tensor.
func (s Shape) Strides(d DType) []int64 {
	strides := make([]int64, len(s))
	step := int64(d.Bytes())
	for i := len(s) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(s[i], 1)
	}
	return strides
}

// String shows the shape as "32x224x224x3"; the empty shape is "scalar".
func (s Shape) String() string {
	if len(s) == 0 {
		return "scalar"
	}
	var b strings.Builder
	for i, d := range s {
		if i > 0 {
			b.WriteByte('x')
		}
		fmt.Fprintf(&b, "%d", d)
	}
	return b.String()
}
