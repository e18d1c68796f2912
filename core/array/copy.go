package array

import (
	"fmt"
	"slices"

	"github.com/spdl/spdl/core/tensor"
)

// Dense reports that Data is row-major and little-endian already, so that it can be used where it lies.
func (a *Array) Dense() bool { return !a.Swapped && (!a.Fortran || oneLine(a.Shape)) }

// oneLine reports that an array has at most one dimension longer than 1, so that both orders of the indexes are the same.
func oneLine(s tensor.Shape) bool {
	long := 0
	for _, d := range s {
		if d == 0 {
			return true
		}
		if d > 1 {
			long++
		}
	}
	return long < 2
}

// CopyTo writes the elements row-major and little-endian. dst has room for len(a.Data) bytes; more stays as it is.
func (a *Array) CopyTo(dst []byte) {
	if len(dst) < len(a.Data) {
		panic(fmt.Sprintf("array: copy of %d bytes into %d", len(a.Data), len(dst)))
	}
	dst = dst[:len(a.Data)]
	size := a.DType.Bytes()
	if a.Fortran && !oneLine(a.Shape) {
		t := transposition{a.Shape, size, a.Data}
		t.copy(dst, 0, 0, int64(size))
	} else {
		copy(dst, a.Data)
	}
	if a.Swapped {
		for at := 0; at < len(dst); at += size {
			slices.Reverse(dst[at : at+size])
		}
	}
}

// transposition copies an array whose first index runs fastest.
type transposition struct {
	shape tensor.Shape
	size  int
	src   []byte
}

// copy writes the part of the array whose first dim indexes lead to from. stride is the distance of dimension dim's neighbours in
// src. It returns the rest of dst.
func (t *transposition) copy(dst []byte, dim int, from, stride int64) []byte {
	n := t.shape[dim]
	if dim < len(t.shape)-1 {
		for i := range n {
			dst = t.copy(dst, dim+1, from+i*stride, stride*n)
		}
		return dst
	}
	for range n {
		dst = dst[copy(dst[:t.size], t.src[from:from+int64(t.size)]):]
		from += stride
	}
	return dst
}
