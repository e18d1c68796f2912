package array

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/spdl/spdl/core/tensor"
)

const npyAlign = 64 // NumPy's own: elements begin at a multiple of it

// Named is a dense, row-major, little-endian array to be written.
type Named struct {
	Name  string
	DType tensor.DType
	Shape []int64
	Data  []byte
}

// WriteNPZ writes a .npz file that numpy.load reads: the arrays as they are, not deflated. NumPy has no bfloat16, whose bits
// are written as u16.
func WriteNPZ(w io.Writer, arrays []Named) error {
	z := zip.NewWriter(w)
	for _, a := range arrays {
		if err := a.write(z); err != nil {
			return fmt.Errorf("array: npz: member %q: %w", a.Name+npyEnding, err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("array: npz: %w", err)
	}
	return nil
}

// AppendNPY appends a .npy file that numpy.load reads to dst; the array's name is nowhere in it.
func AppendNPY(dst []byte, a *Named) ([]byte, error) {
	if err := a.check(); err != nil {
		return dst, fmt.Errorf("array: npy: %w", err)
	}
	return append(append(dst, a.header()...), a.Data...), nil
}

func (a *Named) check() error {
	if want, err := tensor.Shape(a.Shape).Bytes(a.DType); err != nil || want != int64(len(a.Data)) {
		return fmt.Errorf("got %d bytes of elements, want %d for %v of %v", len(a.Data), want, a.Shape, a.DType)
	}
	return nil
}

func (a *Named) write(z *zip.Writer) error {
	if err := a.check(); err != nil {
		return err
	}
	file, err := z.CreateHeader(&zip.FileHeader{Name: a.Name + npyEnding, Method: zip.Store})
	if err == nil {
		_, err = file.Write(a.header())
	}
	if err == nil {
		_, err = file.Write(a.Data)
	}
	return err
}

// header is that of a .npy file, version 1.0.
func (a *Named) header() []byte {
	kind := map[uint8]string{tensor.CodeInt: "<i", tensor.CodeUint: "<u", tensor.CodeFloat: "<f", tensor.CodeBfloat: "<u"}[a.DType.Code()]
	var shape strings.Builder
	for _, n := range a.Shape {
		fmt.Fprintf(&shape, "%d, ", n)
	}
	text := fmt.Sprintf("{'descr': '%s%d', 'fortran_order': False, 'shape': (%s), }", kind, a.DType.Bytes(), shape.String())
	before := len(npyMagic) + 4
	text += strings.Repeat(" ", npyAlign-1-(before+len(text))%npyAlign) + "\n"
	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	return append(b, text...)
}
