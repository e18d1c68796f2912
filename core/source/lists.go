package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/tensor"
)

// listReader reads the numbers of a JSON list, of lists of lists where its column has several dimensions, as elements of the column's type.
type listReader struct {
	c    *Column
	text []byte // what is left
	to   []byte // the elements so far, row-major
}

// appendList appends the elements of a list to dst.
func appendList(dst []byte, c *Column, text []byte) ([]byte, error) {
	r := listReader{c: c, text: text, to: dst}
	if r.blanks(); len(r.text) == 0 {
		return dst, errors.New("got nothing, want a list of numbers such as [1, 2], or []")
	}
	err := r.value(0)
	if r.blanks(); err == nil && len(r.text) > 0 {
		err = fmt.Errorf("got %.20q behind the list", r.text)
	}
	if err != nil {
		return dst, err
	}
	return r.to, nil
}

// value reads what is below dim lists: another list, or a number.
func (r *listReader) value(dim int) error {
	if dim == r.c.dims() {
		return r.number()
	}
	if !r.take('[') {
		return fmt.Errorf("got %.20q, want a list of numbers of shape %s", r.text, r.c.shown())
	}
	for n := int64(0); ; n++ {
		if r.take(']') {
			return r.c.shorter(dim, n)
		}
		if err := r.c.longer(dim, n+1); err != nil {
			return err
		}
		if n > 0 && !r.take(',') {
			return fmt.Errorf("got %.20q in a list, want a comma or its end", r.text)
		}
		if err := r.value(dim + 1); err != nil {
			return err
		}
	}
}

// dims is how many lists are around a number of a column of lists.
func (c *Column) dims() int { return len(c.Shape) + min(c.MaxLength, 1) }

// most is how long a list of dimension dim may be, and whether it has to be that long.
func (c *Column) most(dim int) (n int64, exactly bool) {
	switch {
	case c.MaxLength == 0:
		return c.Shape[dim], true
	case dim == 0:
		return int64(c.MaxLength), false
	}
	return c.Shape[dim-1], true
}

// longer refuses a list of dimension dim that has n values or more, if that is too many.
func (c *Column) longer(dim int, n int64) error {
	switch most, exactly := c.most(dim); {
	case n <= most:
		return nil
	case exactly:
		return fmt.Errorf("got a list of more than %d, want shape %s", most, c.shown())
	default:
		return fmt.Errorf("got a list of more than %d, want at most that; raise max_length of the column", most)
	}
}

// shorter refuses a list of dimension dim that has n values and no more, if those are too few.
func (c *Column) shorter(dim int, n int64) error {
	if most, exactly := c.most(dim); exactly && n < most {
		return fmt.Errorf("got a list of %d, want shape %s", n, c.shown())
	}
	return nil
}

func (r *listReader) number() (err error) {
	r.blanks()
	if name := r.notFinite(); name != nil {
		r.to, err = appendElement(r.to, r.c.DType, name)
		return err
	}
	n := 0
	for n < len(r.text) && strings.IndexByte("+-.0123456789eE", r.text[n]) >= 0 {
		n++
	}
	text := r.text[:n]
	if n == 0 {
		other := r.text
		if end := bytes.IndexAny(other, ",]"); end > 0 && other[0] != '[' {
			other = other[:end]
		}
		return fmt.Errorf("got %.20q, want a number", bytes.TrimSpace(other))
	}
	r.text = r.text[n:]
	r.to, err = appendElement(r.to, r.c.DType, text)
	return err
}

// notFinite steps over the name of a number that is not finite, if it comes next, as it is or in the quotes that jsonFields puts around it.
func (r *listReader) notFinite() []byte {
	text, quoted := bytes.CutPrefix(r.text, []byte{'"'})
	for _, name := range notFinite {
		rest, found := bytes.CutPrefix(text, name)
		if found && quoted {
			rest, found = bytes.CutPrefix(rest, []byte{'"'})
		}
		if found {
			r.text = rest
			return name
		}
	}
	return nil
}

// appendElement appends a number as an element of a type.
func appendElement(dst []byte, t tensor.DType, text []byte) ([]byte, error) {
	var bits uint64
	switch t.Code() {
	case tensor.CodeFloat:
		v, err := number(text)
		if err != nil {
			return dst, err
		}
		if bits = math.Float64bits(v); t == tensor.F32 {
			if bits = uint64(math.Float32bits(float32(v))); math.IsInf(float64(float32(v)), 0) && !math.IsInf(v, 0) {
				return dst, fmt.Errorf("got %.40q, want a number that f32 holds", text)
			}
		}
	case tensor.CodeUint:
		v, err := strconv.ParseUint(string(text), 10, int(t.Bits()))
		if err != nil {
			signed, whole := wholeNumber(text)
			if whole != nil || signed < 0 || t.Bits() < 64 && signed>>t.Bits() != 0 {
				return dst, fmt.Errorf("got %.40q, want a whole number that %v holds", text, t)
			}
			v = uint64(signed)
		}
		bits = v
	default:
		v, err := wholeNumber(text)
		if err != nil || v<<(64-t.Bits())>>(64-t.Bits()) != v {
			return dst, fmt.Errorf("got %.40q, want a whole number that %v holds", text, t)
		}
		bits = uint64(v)
	}
	var all [8]byte
	binary.LittleEndian.PutUint64(all[:], bits)
	return append(dst, all[:t.Bytes()]...), nil
}

func (r *listReader) blanks() { r.text = bytes.TrimLeft(r.text, " \t\r\n") }

// take steps over a byte, if it comes next.
func (r *listReader) take(c byte) bool {
	if r.blanks(); len(r.text) == 0 || r.text[0] != c {
		return false
	}
	r.text = r.text[1:]
	return true
}

// setList appends the value of the buffer's next column from a list of numbers.
func (b *Buffer) setList(c *Column, text []byte) error {
	from := len(b.values)
	var err error
	if b.values, err = appendList(b.values, c, text); err != nil {
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: %v", c.Name, err)}
	}
	b.took(from)
	return nil
}
