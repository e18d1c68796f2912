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
// memory of every list and text before it has a byte of them, so what they claim is looked at first. It finds no end of a field that it does not
// know and that is a boolean, as newer statistics have them, nor of one of another type than it wants: it is given the others alone.
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
	if err := thrift.Unmarshal(&protocol, c.known, v); err != nil {
		return 0, fmt.Errorf("%s: damaged: %w", what, err)
	}
	return c.at, nil
}

// claims walks a structure, without taking memory for what it claims, and copies what the library knows of it.
type claims struct {
	data   []byte
	at     int
	known  []byte
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
	for id, before := int64(0), int64(0); ; {
		head, err := c.byte()
		if err != nil {
			return err
		}
		if head == 0 {
			c.keep(t, 0)
			return nil
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
		if field = c.fitting(kind, field); field != nil {
			c.field(kind, id, id-before)
			before = id
		}
		if kind != thrift.TRUE && kind != thrift.FALSE { // these are in the head
			err = c.value(kind, field, deep)
		}
		if err != nil {
			return err
		}
	}
}

// fitting is a field's type; nil where what comes is of another one.
func (c *claims) fitting(kind thrift.Type, t reflect.Type) reflect.Type {
	switch {
	case t == nil:
	case kind == thrift.TRUE && t.Kind() == reflect.Bool:
		return t
	case kind != thrift.TypeOf(t):
	case kind == thrift.LIST && c.at < len(c.data) && c.data[c.at]>>4 > 0 && itemsOf(c.data[c.at]) != thrift.TypeOf(t.Elem()):
	default:
		return t
	}
	return nil
}

// itemsOf is the type of what is in a list that begins so.
func itemsOf(head byte) thrift.Type {
	if kind := thrift.Type(head & 0xf); kind != thrift.TRUE {
		return kind
	}
	return thrift.BOOL
}

// keep copies bytes of what is known.
func (c *claims) keep(t reflect.Type, b ...byte) {
	if t != nil {
		c.known = append(c.known, b...)
	}
}

// field begins one that is known, behind the one that was kept before.
func (c *claims) field(kind thrift.Type, id, delta int64) {
	if delta > 0 && delta < 0x10 {
		c.known = append(c.known, byte(delta)<<4|byte(kind))
	} else {
		c.known = binary.AppendVarint(append(c.known, byte(kind)), id)
	}
}

// value walks one that is no structure's boolean.
func (c *claims) value(kind thrift.Type, t reflect.Type, deep int) error {
	switch kind {
	case thrift.LIST, thrift.SET:
		return c.list(t, deep)
	case thrift.STRUCT:
		return c.structure(t, deep+1)
	}
	from := c.at
	n, err := c.plain(kind)
	if err == nil && t != nil && kind == thrift.BINARY {
		c.memory += int64(min(n, uint64(len(c.data))))
	}
	if err == nil {
		err = c.pass(n)
	}
	if err == nil {
		c.keep(t, c.data[from:c.at]...)
	}
	return err
}

// plain goes to the last bytes of a value, and tells how many these are.
func (c *claims) plain(kind thrift.Type) (n uint64, err error) {
	switch kind {
	case thrift.BOOL, thrift.I8: // a boolean in a list
		return 1, nil
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = c.varint()
		return 0, err
	case thrift.DOUBLE:
		return 8, nil
	case thrift.BINARY:
		return c.uvarint()
	}
	return 0, errThriftType // maps are in no structure of Parquet
}

func (c *claims) list(t reflect.Type, deep int) error {
	if deep > maxThriftDeep {
		return errThriftType
	}
	from := c.at
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
	c.keep(t, c.data[from:c.at]...)
	var item reflect.Type
	if t != nil {
		item = t.Elem()
		c.memory += int64(n) * int64(item.Size())
	}
	for range n {
		if err := c.value(itemsOf(head), item, deep+1); err != nil {
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
