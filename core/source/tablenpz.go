package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/tensor"
)

// A table of NumPy's is an .npz file with an array for each column, whose first dimension is the table's rows. Where rows have lengths of their own, NAME has all of them, one
// behind the other, and NAME.offsets where each begins, and the end: a number more than there are rows. Texts are such a column of bytes, u8. Lists stay where the file has them in memory.
const offsetsEnding = ".offsets"

// npzColumn is one of its columns.
type npzColumn struct {
	dtype tensor.DType
	shape tensor.Shape // of what one place along the first dimension has
	width int          // bytes of that
	data  []byte       // row-major, little-endian
	ends  []int64      // of each row, in places; nil: a row is one place
	rows  int
	text  []byte // of the number in hand
}

// npzTable is a table's arrays and the names of its columns.
type npzTable struct {
	arrays *array.NPZ
	names  []string // of columns
}

func openNPZTable(file []byte) (t npzTable, err error) {
	if t.arrays, err = array.OpenNPZ(file); err != nil {
		return t, err
	}
	all := t.arrays.Names()
	for _, name := range all {
		if of, is := strings.CutSuffix(name, offsetsEnding); !is || !slices.Contains(all, of) {
			t.names = append(t.names, name)
		}
	}
	return t, nil
}

// column reads one of the columns.
func (t *npzTable) column(name string) (*npzColumn, error) {
	a, err := t.arrays.ArrayWithin(name, maxListBytes)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) == 0 {
		return nil, fmt.Errorf("column %q: got a scalar, want an array whose first dimension is the rows", name)
	}
	c := &npzColumn{dtype: a.DType, shape: slices.Clone(a.Shape[1:]), rows: int(a.Shape[0])}
	width, err := c.shape.Bytes(c.dtype)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", name, err)
	}
	c.width, c.data = int(width), littleEndian(&a)
	if slices.Contains(t.arrays.Names(), name+offsetsEnding) {
		if c.ends, err = t.offsets(name+offsetsEnding, int64(c.rows)); err != nil {
			return nil, fmt.Errorf("column %q: %w", name, err)
		}
		c.rows = len(c.ends)
	}
	return c, nil
}

// offsets are where the rows of a column end, which has so many places.
func (t *npzTable) offsets(name string, places int64) ([]int64, error) {
	a, err := t.arrays.ArrayWithin(name, maxListBytes)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 1 || a.Shape[0] < 1 || a.Bool || a.DType.Code() == tensor.CodeFloat {
		return nil, fmt.Errorf("%s: got %v of %v, want whole numbers, a number more than there are rows", name, a.Shape, a.DType)
	}
	data, width := littleEndian(&a), a.DType.Bytes()
	all := make([]int64, a.Shape[0])
	for i := range all {
		all[i] = wholeAt(data[i*width:], a.DType)
		if i > 0 && all[i] < all[i-1] || all[i] < 0 || i == 0 && all[i] != 0 {
			return nil, fmt.Errorf("%s: got %d at %d, want them from 0 on, none less than the one before", name, all[i], i)
		}
	}
	if end := all[len(all)-1]; end != places {
		return nil, fmt.Errorf("%s: got %d at the end, want %d, how many its rows have together", name, end, places)
	}
	return all[1:], nil
}

// littleEndian are an array's elements, row-major: where they lie, if they are.
func littleEndian(a *array.Array) []byte {
	if a.Dense() {
		return a.Data
	}
	data := make([]byte, len(a.Data))
	a.CopyTo(data)
	return data
}

// wholeAt is the whole number that begins some bytes.
func wholeAt(data []byte, t tensor.DType) int64 {
	var all [8]byte
	n := copy(all[:], data[:t.Bytes()])
	v := int64(binary.LittleEndian.Uint64(all[:]))
	if t.Code() == tensor.CodeInt {
		v = v << (64 - 8*n) >> (64 - 8*n)
	}
	return v
}

// span is where row i lies among the places.
func (c *npzColumn) span(i int) (from, to int64) {
	if c.ends == nil {
		return int64(i), int64(i) + 1
	}
	if i > 0 {
		from = c.ends[i-1]
	}
	return from, c.ends[i]
}

// isNumber says that a row is a number.
func (c *npzColumn) isNumber() bool { return c.ends == nil && len(c.shape) == 0 }

// described is what a row is, for messages.
func (c *npzColumn) described() string {
	switch {
	case c.isNumber():
		return fmt.Sprintf("a number of %v", c.dtype)
	case c.isText():
		return "a text"
	case c.ends == nil:
		return fmt.Sprintf("%v of %v", c.shape, c.dtype)
	}
	return fmt.Sprintf("%v of %v", append(tensor.Shape{-1}, c.shape...), c.dtype)
}

// isText says that a row is the bytes of a text.
func (c *npzColumn) isText() bool { return c.ends != nil && c.dtype == tensor.U8 && len(c.shape) == 0 }

// cell is the text of row i, of a number its shortest digits. It is valid until the next one is asked for.
func (c *npzColumn) cell(i int) []byte {
	if c.ends != nil {
		from, to := c.span(i)
		return c.data[from:to:to]
	}
	at := c.data[i*c.width:]
	switch v := wholeAt(at, c.dtype); {
	case c.dtype == tensor.F64:
		c.text = strconv.AppendFloat(c.text[:0], math.Float64frombits(uint64(v)), 'g', -1, 64)
	case c.dtype == tensor.F32:
		c.text = strconv.AppendFloat(c.text[:0], float64(math.Float32frombits(uint32(v))), 'g', -1, 64)
	case c.dtype == tensor.F16:
		c.text = strconv.AppendFloat(c.text[:0], tensor.Half(uint16(v)), 'g', -1, 64)
	case c.dtype == tensor.U64:
		c.text = strconv.AppendUint(c.text[:0], uint64(v), 10)
	default:
		c.text = strconv.AppendInt(c.text[:0], v, 10)
	}
	return c.text
}

// lists are the rows as the values of a column of lists.
func (c *npzColumn) lists(of *Column) (t texts, err error) {
	inner, places := c.shape, int64(1) // of a list's entry; how many are in a place
	if c.ends == nil && len(c.shape) > 0 {
		places, inner = c.shape[0], c.shape[1:]
	}
	want := of.Shape
	if of.MaxLength == 0 {
		want = of.Shape[min(1, len(of.Shape)):]
	}
	if c.dtype != of.DType || !slices.Equal(inner, want) || c.isNumber() || of.dims() == 0 {
		return t, fmt.Errorf("got %s a row, want %s of %v; arrays are not converted: say the dtype and the shape that it has", c.described(), of.shown(), of.DType)
	}
	t = texts{bytes: c.data, ends: make([]int64, c.rows)}
	for i := range t.ends {
		from, to := c.span(i)
		n := (to - from) * places
		if err := errors.Join(of.longer(0, n), of.shorter(0, n)); err != nil {
			return t, fmt.Errorf("row %d: %w", i, err)
		}
		t.ends[i] = to * int64(c.width)
	}
	return t, nil
}

// npz reads a table of NumPy's.
func (r *tableReader) npz(file []byte) error {
	t, err := openNPZTable(file)
	if err != nil {
		return err
	}
	places, err := r.places(t.names)
	if err != nil {
		return err
	}
	row, all, rows := r.cells(), make([]*npzColumn, len(places)), -1
	row.lists = slices.Repeat([]int{-1}, len(r.rows.columns))
	for k, at := range places {
		if at < 0 {
			continue
		}
		c, err := t.column(t.names[at])
		if err != nil {
			return err
		}
		if rows >= 0 && c.rows != rows {
			return fmt.Errorf("column %q: got %d rows, want %d, as columns before it have", t.names[at], c.rows, rows)
		}
		rows = c.rows
		if all[k], err = r.npzCells(k, c, row.lists); err != nil {
			return fmt.Errorf("column %q: %w", t.names[at], err)
		}
	}
	return r.npzRows(&row, all, rows)
}

// npzCells is a wanted column as its cells are read; nil: it has lists, which the rows have then.
func (r *tableReader) npzCells(k int, c *npzColumn, lists []int) (*npzColumn, error) {
	column := k - r.firstColumn()
	if column >= 0 && column < len(r.rows.columns) && r.rows.columns[column].Type == List {
		all, err := c.lists(&r.rows.columns[column])
		r.rows.texts[column], lists[column] = all, k
		return nil, err
	}
	switch {
	case r.numbers()[k] && !c.isNumber():
		return nil, fmt.Errorf("got %s a row, want a number", c.described())
	case !c.isNumber() && !c.isText():
		return nil, fmt.Errorf("got %s a row, want a text, which is bytes (u8) with %s beside them, or a number", c.described(), offsetsEnding)
	}
	return c, nil
}

// npzRows takes the rows one by one.
func (r *tableReader) npzRows(row *cells, all []*npzColumn, rows int) error {
	wanted := row.wanted()
	for i := range rows {
		for k, c := range all {
			if c != nil {
				*wanted[k] = c.cell(i)
			}
		}
		if err := r.add(row); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}
