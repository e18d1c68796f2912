package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/tensor"
)

// arrayProbes is how many samples are tried for one that tells the type and shape of an array column.
const arrayProbes = 16

// maxArrayDims is one less than a tensor of a ring has, whose first dimension is the batch.
const maxArrayDims = 7

// memberOf cuts "npz[name]" into the part and what is meant in it; the second is empty where there are no brackets, or nothing in them.
func memberOf(from string) (part, member string) {
	if at := strings.IndexByte(from, '['); at > 0 && at < len(from)-2 && strings.HasSuffix(from, "]") {
		return from[:at], from[at+1 : len(from)-1]
	}
	return from, ""
}

// setArray appends the value of an array column from the bytes of an .npy or .npz file. A column that has no type or shape yet takes
// those of the array. One that is row-major and little-endian is not copied where the file stays where it is.
func (b *Buffer) setArray(c *Column, file []byte, stays bool) error {
	a := &b.array
	err := a.Parse(file)
	if c.Member != "" {
		var z *array.NPZ
		if z, err = array.OpenNPZ(file); err == nil {
			*a, err = z.ArrayWithin(c.Member, c.mostBytes())
		}
	}
	if err != nil {
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q", c.Name), Err: err}
	}
	return b.takeArray(c, stays)
}

// takeArray is setArray of an array that is in the buffer.
func (b *Buffer) takeArray(c *Column, stays bool) error {
	a := &b.array
	shape := a.Shape
	switch {
	case c.MaxLength > 0 && len(shape) == 0:
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: got a scalar, want an array of %s", c.Name, c.shown())}
	case c.MaxLength > 0 && shape[0] > int64(c.MaxLength):
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: got %v, want a length of at most %d; raise max_length of the column", c.Name, shape, c.MaxLength)}
	case c.MaxLength > 0:
		shape = shape[1:]
	case len(a.Data) == 0:
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: got %v, want at least one element; a shape of -1 and max_length take an empty array", c.Name, shape)}
	}
	if len(shape) > maxArrayDims {
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: got %v, want at most %d dimensions", c.Name, a.Shape, maxArrayDims)}
	}
	if c.DType == 0 {
		c.DType = a.DType
	}
	if c.Shape == nil {
		c.Shape = append(tensor.Shape{}, shape...) // not nil for a scalar
	}
	if a.DType != c.DType || !slices.Equal(shape, c.Shape) {
		remedy := ""
		if a.DType != c.DType {
			remedy = fmt.Sprintf("; arrays are not converted: say dtype: %v where all are of it", a.DType)
		}
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: got %v of %v, want %s of %v%s", c.Name, a.Shape, a.DType, c.shown(), c.DType, remedy)}
	}
	if stays && len(a.Data) > 0 && a.Dense() {
		b.columns = append(b.columns, value{lies: a.Data})
		return nil
	}
	from := len(b.values)
	b.values = slices.Grow(b.values, len(a.Data))[:from+len(a.Data)]
	a.CopyTo(b.values[from:])
	b.took(from)
	return nil
}

// shown is the shape of an array column as a description has it.
func (c *Column) shown() string {
	switch {
	case c.MaxLength == 0:
		return c.Shape.String()
	case len(c.Shape) == 0:
		return "-1"
	}
	return "-1x" + c.Shape.String()
}

// maxFirstBytes is what an array of an .npz may have that is to tell the shape of its column.
const maxFirstBytes = 1 << 30

// mostBytes is what an array of the column has.
func (c *Column) mostBytes() int64 {
	if c.DType == 0 || c.Shape == nil {
		return maxFirstBytes
	}
	return int64(c.Most())
}

// settleArrays reads samples until one has told the types and shapes of the array columns that nobody gave.
func settleArrays(ctx context.Context, s Source, columns []Column) error {
	open := func(c Column) bool { return c.Type == Array && (c.DType == 0 || c.Shape == nil) }
	var b Buffer
	var last error
	for i := range min(s.Len(), arrayProbes) {
		k := slices.IndexFunc(columns, open)
		if k < 0 {
			return nil
		}
		// A sample that fails half-way may have told some columns; those are not believed.
		before := slices.Clone(columns)
		if last = s.Read(ctx, i, &b); last != nil {
			copy(columns, before)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	k := slices.IndexFunc(columns, open)
	if k < 0 {
		return nil
	}
	remedy := "say dtype and shape, or mend what is wrong with them"
	if last == nil {
		remedy, last = "say dtype and shape", errors.New("it has none, but the default")
	}
	return fmt.Errorf("source.columns[%d] (%q): none of the first %d samples tells its type and shape; %s, the last: %w",
		k, columns[k].Name, min(s.Len(), arrayProbes), remedy, last)
}

// side is the buffer beside b for the file of column c.
func (b *Buffer) side(c int) *Buffer {
	for len(b.sides) <= c {
		b.sides = append(b.sides, &Buffer{pool: b.pool, beside: true})
	}
	return b.sides[c]
}

// setFile appends the value of the buffer's next column from a file of its own, which read puts into a buffer beside b.
func (b *Buffer) setFile(c *Column, read func(side *Buffer) error) error {
	side := b.side(len(b.columns))
	err := read(side)
	return b.setRead(c, side.Bytes(), err)
}

// setRead appends the value of the buffer's next column from the bytes of a file, which stay where they are, or from why it could not be read.
func (b *Buffer) setRead(c *Column, file []byte, err error) error {
	if err == nil {
		return b.setPart(c, file, true)
	}
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case e.Cause == Empty && c.Type == Text:
		return b.setPart(c, nil, false) // as an empty member of an archive
	case e.Cause == Missing:
		return b.setDefault(c, func() string { return "its file is not there" })
	}
	named := *e
	named.Detail = strings.TrimSuffix(fmt.Sprintf("column %q: %s", c.Name, e.Detail), ": ")
	return &named
}
