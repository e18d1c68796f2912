package array

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

// What is written is read back: names, types, shapes and bytes; elements begin where NumPy begins them.
func TestAWrittenArchiveIsReadBack(t *testing.T) {
	arrays := []Named{
		{"image", tensor.U8, []int64{2, 1, 3}, []byte{1, 2, 3, 4, 5, 6}},
		{"label", tensor.I64, []int64{1}, []byte{7, 0, 0, 0, 0, 0, 0, 0}},
		{"half", tensor.BF16, []int64{2}, []byte{1, 2, 3, 4}},
		{"none", tensor.F32, []int64{0, 5}, nil},
		{"one", tensor.F64, nil, make([]byte, 8)},
	}
	var file bytes.Buffer
	if err := WriteNPZ(&file, arrays); err != nil {
		t.Fatal(err)
	}
	z, err := OpenNPZ(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range arrays {
		got, err := z.Array(want.Name)
		if err != nil || z.Names()[i] != want.Name {
			t.Fatalf("%s: %v, %v", want.Name, err, z.Names())
		}
		if want.DType == tensor.BF16 {
			want.DType = tensor.U16
		}
		if got.DType != want.DType || got.Fortran || got.Swapped || !slices.Equal(got.Shape, want.Shape) || !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s: got %+v, want %+v", want.Name, got, want)
		}
		if n := len(want.header()); n%npyAlign != 0 {
			t.Errorf("%s: elements begin at %d", want.Name, n)
		}
	}
}

// Elements that are not what the shape takes are refused with both.
func TestAnArrayOfOtherBytesThanItsShapeIsNotWritten(t *testing.T) {
	err := WriteNPZ(&bytes.Buffer{}, []Named{{"x", tensor.F32, []int64{2, 2}, make([]byte, 15)}})
	if err == nil || !strings.Contains(err.Error(), `member "x.npy": got 15 bytes of elements, want 16`) {
		t.Errorf("got %v", err)
	}
}
