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
	Array                     // an .npy file, or a member of an .npz file, of one type in all samples, and one shape but for Column.MaxLength
	List                      // the same out of JSON: a list of numbers, or of lists of them. DType and Shape, or MaxLength, are given
)

// DefaultColumnBytes is the room of one value of a text column when a config does not say.
const DefaultColumnBytes = 1024

// Column is one more value of each sample, beside the picture and the label.
type Column struct {
	Name     string // in the batch
	From     string // the part, column or field that it is read from; "" is Name. Of arrays and of parts also PART[MEMBER]
	Type     ColumnType
	MaxBytes int    // longest text; 0 is DefaultColumnBytes
	Default  []byte // of parts, but no arrays of one shape: what a sample gets that has none, as its text; nil: it is a bad one

	// Of arrays, once the source is open; before, what must be so. Zero and nil: as the first good sample has it.
	DType tensor.DType
	Shape tensor.Shape

	// MaxLength makes an array ragged: its first dimension, 0 to MaxLength, is each sample's own, and Shape is that of the others.
	MaxLength int
	Padded    bool // what a batch makes of a ragged array: the source looks at it no further

	// Member is set when the source is open: the array of an .npz file, "" of an .npy file; or else the key in a part that is JSON, "" for
	// the part itself.
	Member string
}

// Shaped reports whether values are arrays.
func (c *Column) Shaped() bool { return c.Type == Array || c.Type == List }

// Width is the bytes of one value; 0: they have any length.
func (c *Column) Width() int {
	if c.Type == Text || c.MaxLength > 0 {
		return 0
	}
	return c.Most()
}

// Most is the bytes of the longest value.
func (c *Column) Most() int {
	switch c.Type {
	case Text:
		return c.MaxBytes
	case Array, List:
		n, err := c.Shape.Bytes(c.DType)
		if err != nil {
			panic(err) // the source checked it when it was opened
		}
		return int(n) * max(c.MaxLength, 1)
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

// partColumns is completeColumns where a column is a part of each sample, which may be JSON.
func partColumns(columns []Column) []Column {
	all := completeColumns(columns)
	for i := range all {
		if c := &all[i]; c.Type != Array {
			c.From, c.Member = memberOf(c.From)
		}
	}
	return all
}

// setPart appends the value of the buffer's next column from the part of a sample that it is read from. stays says that the part's memory is
// the buffer's and left as it is, so that an array may stay there.
func (b *Buffer) setPart(c *Column, part []byte, stays bool) error {
	switch {
	case c.Type == Array:
		return b.setArray(c, part, stays)
	case c.Member == "":
		return b.setText(c, part)
	}
	var text []byte
	there := false
	err := b.object.read(part)
	if err == nil {
		text, there, err = jsonMember(b.object.fields, c.Member)
	}
	if err == nil && !there {
		return b.setDefault(c, func() string { return fmt.Sprintf("no %q in %s, or null", c.Member, c.From) })
	}
	if err == nil && c.Type == Int64 { // 640.0 is whole in JSON
		var v int64
		if v, err = wholeNumber(text); err == nil {
			b.setInt(v)
			return nil
		}
	}
	if err != nil {
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: %s: %v", c.Name, c.From, err)}
	}
	return b.setText(c, text)
}

// setDefault appends the value of the buffer's next column for a sample that has none. Where it has no default, why says what is missing.
func (b *Buffer) setDefault(c *Column, why func() string) error {
	switch {
	case c.Default != nil && c.Shaped():
		b.took(len(b.values)) // an empty one
		return nil
	case c.Default != nil:
		return b.setText(c, c.Default)
	}
	return &Error{Cause: Part, Detail: fmt.Sprintf("column %q: %s", c.Name, why())}
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
	case List:
		return b.setList(c, text)
	default:
		return b.setBytes(c, text)
	}
	return nil
}

func (b *Buffer) setBytes(c *Column, text []byte) error {
	if len(text) > c.MaxBytes {
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: got %d bytes, want at most %d; raise max_bytes of the column", c.Name, len(text), c.MaxBytes)}
	}
	from := len(b.values)
	b.values = append(b.values, text...)
	b.took(from)
	return nil
}

func (b *Buffer) setInt(v int64) {
	from := len(b.values)
	b.values = binary.NativeEndian.AppendUint64(b.values, uint64(v))
	b.took(from)
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
