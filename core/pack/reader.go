package pack

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/tensor"
)

// noLabel is that of a sample without one, as its readers have it, too.
const noLabel = -1

// member is one file of an archive.
type member struct {
	ending string
	data   []byte
}

// reader reads samples, on one goroutine at a time.
type reader struct {
	c       *Config
	columns []source.Column
	pool    *source.Pool
	buffer  *source.Buffer
	key     []byte
}

func newReader(c *Config, pool *source.Pool) *reader {
	return &reader{c: c, columns: columnsOf(c), pool: pool, buffer: pool.Get()}
}

// columnsOf are the source's, where they are written.
func columnsOf(c *Config) []source.Column {
	if columnar, ok := c.Source.(source.Columnar); ok && c.Columns != nil {
		return columnar.Columns()
	}
	return nil
}

func (r *reader) close() { r.pool.Put(r.buffer) }

// read makes a sample's members; what it returns is wrong with the sample.
func (r *reader) read(ctx context.Context, s *packed) error {
	if err := r.c.Source.Read(ctx, s.index, r.buffer); err != nil {
		return err
	}
	r.key = r.c.Source.Key(s.index, r.key[:0])
	for k := range r.c.Parts {
		m, shrunk, err := r.part(k, r.buffer.Part(k))
		if err != nil {
			return fmt.Errorf("pack: sample %d %q: %w", s.index, r.key, err)
		}
		s.members, s.shrunk = append(s.members, m), s.shrunk || shrunk
	}
	if label := r.c.Source.Label(s.index); label != noLabel {
		s.members = append(s.members, member{"cls", strconv.AppendInt(nil, label, 10)})
	}
	for i := range r.columns {
		m, err := column(&r.columns[i], r.c.Columns[i], r.buffer.Value(i))
		if err != nil {
			return fmt.Errorf("pack: sample %d %q: column %q: %w", s.index, r.key, r.columns[i].Name, err)
		}
		s.members = append(s.members, m)
	}
	if r.c.Keys {
		s.members = append(s.members, member{"key.txt", append([]byte(nil), r.key...)})
	}
	return nil
}

// part is one of the sample's media: a copy of its bytes, or a smaller picture.
func (r *reader) part(k int, data []byte) (m member, shrunk bool, err error) {
	part := &r.c.Parts[k]
	if r.c.Smaller != nil {
		m.data, err = r.c.Smaller.of(data)
		if m.ending = part.Prefix + "jpg"; err != nil || m.data != nil {
			return m, true, err
		}
	}
	m.ending = part.Ending
	if m.ending == "" {
		name := ""
		if k == 0 { // the key is the path of the first
			name = string(r.key)
		}
		ending := endingOf(data, name)
		if ending == "" {
			return m, false, fmt.Errorf("it begins with %+q, and neither that nor its name says what it is", data[:min(len(data), 12)])
		}
		m.ending = part.Prefix + ending
	}
	m.data = append([]byte(nil), data...)
	return m, false, nil
}

// column is a value as WebDataset's readers take it: text, digits or an .npy file.
func column(c *source.Column, ending string, value []byte) (member, error) {
	switch c.Type {
	case source.Int64:
		return member{ending, strconv.AppendInt(nil, int64(binary.NativeEndian.Uint64(value)), 10)}, nil
	case source.Float64:
		return member{ending, strconv.AppendFloat(nil, math.Float64frombits(binary.NativeEndian.Uint64(value)), 'g', -1, 64)}, nil
	case source.Array, source.List:
		shape := c.Shape
		if c.MaxLength > 0 {
			step, err := c.Shape.Bytes(c.DType)
			if err != nil {
				return member{}, err
			}
			shape = append(tensor.Shape{int64(len(value)) / step}, c.Shape...)
		}
		data, err := array.AppendNPY(nil, &array.Named{DType: c.DType, Shape: shape, Data: value})
		return member{ending, data}, err
	}
	return member{ending, append([]byte(nil), value...)}, nil
}
