package source

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/spdl/spdl/core/tensor"
)

// ColumnType is the type of a column's values.
type ColumnType int

const (
	Text    ColumnType = iota // bytes, of any length up to Column.MaxBytes
	Int64                     //
	Float64                   //
	Array                     // an .npy file, or a member of an .npz file, of one type and shape in all samples
)

// DefaultColumnBytes is the room of one value of a text column when a config does not say.
const DefaultColumnBytes = 1024

// Column is one more value of each sample, beside the picture and the label.
type Column struct {
	Name     string // in the batch
	From     string // the part, column or field that it is read from; "" is Name. Of arrays also PART[MEMBER]
	Type     ColumnType
	MaxBytes int // longest text; 0 is DefaultColumnBytes

	// Of arrays, once the source is open; before, what must be so. Zero and nil: as the first good sample has it.
	DType  tensor.DType
	Shape  tensor.Shape
	Member string // of an .npz file; "" of an .npy file
}

// Width is the bytes of one value; 0: they have any length.
func (c *Column) Width() int {
	switch c.Type {
	case Text:
		return 0
	case Array:
		n, err := c.Shape.Bytes(c.DType)
		if err != nil {
			panic(err) // the source checked it when it was opened
		}
		return int(n)
	}
	return 8
}

// Columnar is a source whose samples have columns. Read fills Buffer.Value(c) for each of them.
type Columnar interface{ Columns() []Column }

// Sharded is a source that is read best shard by shard.
type Sharded interface {
	// Shards is the index of each shard's first sample, ascending; shards without samples are left out.
	Shards() []int64
}

// complete fills in what columns leave open.
func completeColumns(columns []Column) []Column {
	all := append([]Column(nil), columns...)
	for i := range all {
		c := &all[i]
		if c.From == "" {
			c.From = c.Name
		}
		if c.MaxBytes == 0 {
			c.MaxBytes = DefaultColumnBytes
		}
		if c.Type == Array {
			c.From, c.Member = memberOf(c.From)
		}
	}
	return all
}

// setText appends the value of the buffer's next column from what a text says.
func (b *Buffer) setText(c *Column, text []byte) error {
	switch c.Type {
	case Int64:
		text := trim(text)
		v, ok := parseLabel(text)
		if !ok {
			return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: got %.40q, want a whole number", c.Name, text)}
		}
		b.setInt(v)
	case Float64:
		text := trim(text)
		v, err := number(text)
		if err != nil {
			return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: %v", c.Name, err)}
		}
		b.setFloat(v)
	case Array:
		return b.setArray(c, text)
	default:
		return b.setBytes(c, text)
	}
	return nil
}

func (b *Buffer) setBytes(c *Column, text []byte) error {
	if len(text) > c.MaxBytes {
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: got %d bytes, want at most %d; raise max_bytes of the column", c.Name, len(text), c.MaxBytes)}
	}
	b.values = append(b.values, text...)
	b.ends = append(b.ends, len(b.values))
	return nil
}

func (b *Buffer) setInt(v int64) {
	b.values = binary.NativeEndian.AppendUint64(b.values, uint64(v))
	b.ends = append(b.ends, len(b.values))
}

func (b *Buffer) setFloat(v float64) { b.setInt(int64(math.Float64bits(v))) }

// trim cuts blanks and line ends off a short text.
func trim(text []byte) []byte {
	for len(text) > 0 && strings.IndexByte(" \t\r\n", text[0]) >= 0 {
		text = text[1:]
	}
	for len(text) > 0 && strings.IndexByte(" \t\r\n", text[len(text)-1]) >= 0 {
		text = text[:len(text)-1]
	}
	return text
}
