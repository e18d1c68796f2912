package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	packedRatio   = 64       // bytes in memory for a byte of a Parquet file, at most
	packedFloor   = 64 << 20 // and what any part of one may take, however small it is
	maxThriftDeep = 32       // structures in structures: Parquet has 8
)

// room is the memory that so many bytes of a file may take once they are unpacked.
func room(packed int64) int64 {
	if packed > math.MaxInt64/(2*packedRatio) {
		return math.MaxInt64
	}
	return packedFloor + packedRatio*packed
}

// roomOfPage is that of a page, which has room for a sample of any size that is read.
func roomOfPage(h *format.PageHeader) int64 {
	return DefaultMaxFileBytes + packedRatio*int64(h.CompressedPageSize)
}

// unpacks is the refusal of a part of a file that would take more memory than it may.
type unpacks struct {
	what      string
	got, want int64
}

func (e *unpacks) Error() string {
	return fmt.Sprintf("%s: got %d bytes unpacked, want at most %d; write the file with smaller pages and row groups", e.what, e.got, e.want)
}

var (
	errThriftShort = errors.New("damaged: it ends before its fields do")
	errThriftType  = errors.New("damaged: its structures are not those of the format")
)

// unmarshal reads a structure of compact Thrift that begins a part of a file, and tells its bytes. The library's reader takes the
// memory of every list and text before it has a byte of them, so what they claim is looked at first.
func unmarshal(what string, data []byte, v any) (int, error) {
	c := claims{data: data}
	most := room(int64(len(data)))
	if err := c.structure(reflect.TypeOf(v).Elem(), 0); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	if c.memory > most {
		return 0, &unpacks{what, c.memory, most}
	}
	var protocol thrift.CompactProtocol
	if err := thrift.Unmarshal(&protocol, data[:c.at], v); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return c.at, nil
}

// claims walks a structure as the library's reader does, without taking memory for it. It follows it in its errors, too, so that it never reads other
// claims than were looked at here.
type claims struct {
	data   []byte
	at     int
	memory int64 // of what is read
}

// fieldsOf are the types of a structure's fields by their numbers.
func fieldsOf(t reflect.Type) map[int64]reflect.Type {
	if known, ok := thriftFields.Load(t); ok {
		return known.(map[int64]reflect.Type)
	}
	fields := map[int64]reflect.Type{}
	for i := range t.NumField() {
		number, _, _ := strings.Cut(t.Field(i).Tag.Get("thrift"), ",")
		if id, err := strconv.ParseInt(number, 10, 16); err == nil {
			fields[id] = t.Field(i).Type
		}
	}
	thriftFields.Store(t, fields)
	return fields
}

var thriftFields sync.Map // reflect.Type: map[int64]reflect.Type

// structure walks one of a type, or of one that is not known, for which there is nil.
func (c *claims) structure(t reflect.Type, deep int) error {
	if deep > maxThriftDeep {
		return errThriftType
	}
	var fields map[int64]reflect.Type
	if t != nil {
		fields = fieldsOf(t)
	}
	for id := int64(0); ; {
		head, err := c.byte()
		if err != nil || head == 0 {
			return err
		}
		if delta := int64(head >> 4); delta != 0 {
			id += delta
		} else if id, err = c.varint(); err != nil {
			return err
		}
		if id < 1 || id > math.MaxInt16 {
			return errThriftType
		}
		kind, field := thrift.Type(head&0xf), fields[id]
		for field != nil && field.Kind() == reflect.Pointer {
			field = field.Elem()
			c.memory += int64(field.Size())
		}
		boolean := kind == thrift.TRUE || kind == thrift.FALSE
		switch {
		case field == nil && boolean:
			err = c.pass(1) // it has no byte, but the library takes one, and is followed: of two it knows none, as in newer statistics, it takes the second
		case field != nil && kind != thrift.TypeOf(field) && !(boolean && field.Kind() == reflect.Bool):
			// the library takes what it holds for the next field
		case !boolean:
			err = c.value(kind, field, deep)
		}
		if err != nil {
			return err
		}
	}
}

func (c *claims) value(kind thrift.Type, t reflect.Type, deep int) (err error) {
	switch kind {
	case thrift.TRUE, thrift.FALSE, thrift.I8:
		return c.pass(1)
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = c.varint()
		return err
	case thrift.DOUBLE:
		return c.pass(8)
	case thrift.BINARY:
		n, err := c.uvarint()
		if err != nil {
			return err
		}
		if t != nil {
			c.memory += int64(min(n, uint64(len(c.data))))
		}
		return c.pass(n)
	case thrift.LIST, thrift.SET:
		return c.list(t, deep)
	case thrift.STRUCT:
		return c.structure(t, deep+1)
	}
	return errThriftType // maps are in no structure of Parquet
}

func (c *claims) list(t reflect.Type, deep int) error {
	if deep > maxThriftDeep {
		return errThriftType
	}
	head, err := c.byte()
	n := uint64(head >> 4)
	if err == nil && n == 0xf {
		n, err = c.uvarint()
	}
	if err != nil {
		return err
	}
	if n > uint64(len(c.data)-c.at) { // each takes a byte at least
		return errThriftShort
	}
	kind := thrift.Type(head & 0xf)
	if kind == thrift.TRUE {
		kind = thrift.BOOL
	}
	var item reflect.Type
	if t != nil && n > 0 {
		if item = t.Elem(); kind != thrift.TypeOf(item) {
			return nil // the library takes its items for the next field
		}
		c.memory += int64(n) * int64(item.Size())
	}
	for range n {
		if err := c.value(kind, item, deep+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *claims) byte() (byte, error) {
	if c.at >= len(c.data) {
		return 0, errThriftShort
	}
	c.at++
	return c.data[c.at-1], nil
}

func (c *claims) pass(n uint64) error {
	if n > uint64(len(c.data)-c.at) {
		return errThriftShort
	}
	c.at += int(n)
	return nil
}

func (c *claims) uvarint() (uint64, error) {
	v, n := binary.Uvarint(c.data[c.at:])
	if n <= 0 {
		return 0, errThriftShort
	}
	c.at += n
	return v, nil
}

func (c *claims) varint() (int64, error) {
	u, err := c.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}
