package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
)

// encodedMark is behind the name of a part that is a column of MDS, litData or Arrow, or of a record of RecordIO, or a whole one of ArrayRecord, and before its encoding.
const encodedMark = "\x00:"

// encodedAs is what an encoding makes of a value.
type encodedAs int

const (
	encodedUnknown encodedAs = iota // none that is read, among them programs (pkl) and lists of pictures
	encodedText
	encodedBytes   // a file, or whatever
	encodedPicture // a file
	encodedNumber
	encodedArray
	encodedPixels // of PIL: a width, a height and a mode, and the rows
	encodedDecimal
)

// coding says how the values of a column lie in their bytes, all numbers little-endian.
type coding struct {
	name  string
	kind  encodedAs
	dtype tensor.DType // of numbers and arrays; 0: each array has its own
	shape tensor.Shape // of arrays; nil: each has its own
	head  *litDataHead // of arrays of litData

	// Of Arrow: what numbers and decimals are as texts, also where a number is wanted; of a list how long the lists in it are, nil of no list; that a value is a bit.
	text     func(value []byte, number bool) ([]byte, error)
	lists    []int64
	bit      bool
	columnar bool // a column's values lie together
}

// encodedTypes are those of numbers and of elements, by their names and as an array's first byte has them.
var encodedTypes = []struct {
	name  string
	code  byte
	dtype tensor.DType
}{
	{"uint8", 8, tensor.U8}, {"int8", 9, tensor.I8}, {"uint16", 16, tensor.U16}, {"int16", 17, tensor.I16}, {"float16", 18, tensor.F16}, {"uint32", 32, tensor.U32},
	{"int32", 33, tensor.I32}, {"float32", 34, tensor.F32}, {"uint64", 64, tensor.U64}, {"int64", 65, tensor.I64}, {"float64", 66, tensor.F64}, {"int", 0, tensor.I64},
}

func encodedType(name string) (t tensor.DType) {
	for _, e := range encodedTypes {
		if e.name == name {
			t = e.dtype
		}
	}
	return t
}

// encodingOf reads an encoding's name. What is not known is no error before it is wanted.
func encodingOf(name string) (e coding, err error) {
	if of, ok := strings.CutPrefix(name, litDataMark); ok {
		return litDataCoding(of), nil
	}
	if of, ok := strings.CutPrefix(name, recMark); ok {
		return recCoding(of), nil
	}
	if of, ok := strings.CutPrefix(name, arrowMark); ok {
		e = arrowCoding(of)
		e.columnar = true
		return e, nil
	}
	e.name = name
	if name == rawRecord {
		e.kind = encodedBytes
		return e, nil
	}
	kind, rest, _ := strings.Cut(name, ":")
	switch kind {
	case "bytes":
		e.kind = encodedBytes
	case "str", "json", "str_int", "str_float", "str_decimal":
		e.kind = encodedText
	case "jpeg", "png":
		e.kind = encodedPicture
	case "pil":
		e.kind = encodedPixels
	case "ndarray":
		e.kind = encodedArray
		return e, e.array(rest)
	default:
		if e.dtype = encodedType(name); e.dtype != 0 {
			e.kind, e.shape = encodedNumber, tensor.Shape{}
		}
	}
	if rest != "" {
		e.kind = encodedUnknown
	}
	return e, nil
}

// array takes the type and the shape of arrays that have one: "", "float32" or "float32:3,4".
func (e *coding) array(of string) error {
	dtype, shape, shaped := strings.Cut(of, ":")
	if of == "" {
		return nil
	}
	if e.dtype = encodedType(dtype); e.dtype == 0 || dtype == "int" {
		return fmt.Errorf("got arrays of %.20q, want one of MDS's types, such as float32", dtype)
	}
	if !shaped {
		return nil
	}
	e.shape = tensor.Shape{}
	for _, text := range strings.Split(shape, ",") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("got the shape %.40q, want whole numbers of 1 or more", shape)
		}
		e.shape = append(e.shape, n)
	}
	if n, err := e.shape.Bytes(e.dtype); err != nil || n > math.MaxUint32 {
		return fmt.Errorf("got the shape %.40q, want less than 4 GiB", shape)
	}
	return nil
}

// size is the bytes of every value, or 0 where they differ.
func (e *coding) size() int64 {
	if e.shape == nil {
		return 0
	}
	n, _ := e.shape.Bytes(e.dtype) // checked as it was read
	return n
}

// whole says that values are whole numbers, or of RecordIO may be.
func (e *coding) whole() bool {
	return e.kind == encodedNumber && !e.dtype.Float() || e.name == "str_int" || e.name == recLabels
}

// number is a value that is a whole number; ok is false where an i64 does not hold it.
func (e *coding) number(value []byte) (v int64, ok bool) {
	if e.kind == encodedText {
		return parseLabel(bytes.TrimSpace(value))
	}
	if len(value) != e.dtype.Bytes() {
		return 0, false
	}
	if v, ok = wholeOf(value, e.dtype); !ok {
		v = 0
	}
	return v, ok
}

// file says that values are files, as media are.
func (e *coding) file() bool { return e.kind == encodedPicture || e.kind == encodedBytes }

// picture says that a column of that name is a picture without a word.
func (e *coding) picture(name string) bool {
	return e.kind == encodedPicture || e.name == rawRecord || e.kind == encodedBytes && (name == "img" || name == "bytes" && e.columnar || slices.Contains(ImageExtensions, name) || slices.Contains(recordImages, name+bytesMark))
}

// encodedNamed is the place of a column of MDS among the parts, or -1.
func (x *index) encodedNamed(name string) int {
	return slices.IndexFunc(x.parts, func(p string) bool { return strings.HasPrefix(p, name+encodedMark) })
}

// encodingMarked is the encoding in a part's name; nil of a part of another kind.
func encodingMarked(part string) *coding {
	_, name, ok := strings.Cut(part, encodedMark)
	if !ok {
		return nil
	}
	e, err := encodingOf(name)
	if err != nil {
		e.kind = encodedUnknown
	}
	return &e
}

// takes are the types of columns that an encoding has values for, by what it makes of them.
var takes = map[encodedAs][]ColumnType{
	encodedText: {Text, Int64, Float64, List}, encodedBytes: {Text, Int64, Float64, Array, List}, encodedPicture: {Text}, encodedNumber: {Int64, Float64, Array, List}, encodedArray: {Array, List}, encodedPixels: {Array},
	encodedDecimal: {Text, Int64, Float64},
}

var columnTypeNames = [...]string{Text: "text", Int64: "i64", Float64: "f64", Array: "npy", List: "list"}

// refuses says why no column of a type is made of values of the encoding; nil: it is.
func (e *coding) refuses(c *Column) error {
	if e.kind == encodedUnknown {
		return e.unread()
	}
	types := takes[e.kind]
	if e.text != nil && e.kind == encodedNumber {
		types = append([]ColumnType{Text}, types...)
	}
	if !slices.Contains(types, c.Type) {
		var names []string
		for _, t := range types {
			names = append(names, columnTypeNames[t])
		}
		return fmt.Errorf("it is %s, want type %s", e.name, strings.Join(names, ", "))
	}
	if c.Member != "" && e.kind != encodedText && e.kind != encodedBytes {
		return fmt.Errorf("it is %s, in which nothing is called %q", e.name, c.Member)
	}
	return e.refusesShape(c)
}

// unread says why values of the encoding are not read at all.
func (e *coding) unread() error {
	if e.columnar {
		return e.unreadOfArrow()
	}
	why := "which is not known here"
	switch {
	case e.name == "pkl", e.name == "pickle", strings.HasPrefix(e.name, "graph"):
		why = "a pickle, which may run any program"
	case e.name == "jpeg_array", e.name == "jpegarray", strings.HasPrefix(e.name, "list["):
		why = "several pictures in one value"
	}
	return fmt.Errorf("it is %s, %s; leave it out, or %s", e.name, why, byProgram)
}

var errPixels = errors.New("it is pil, pixels without a file around them; a column of type npy has them")

// has says that some part of the shard may be a medium.
func (sh *shard) has(m int) bool {
	return slices.ContainsFunc(sh.rank[m], func(r uint32) bool { return r > 0 })
}

// checkEncodings refuses columns, media and a label that are of an encoding which cannot be that.
func (s *shards) checkEncodings(sh *shard, c *ShardsConfig) error {
	refused := func(key, name string, err error) error {
		return fmt.Errorf("%s: column %q of %q: %w", key, name, store.Shown(sh.name), err)
	}
	for k := range s.columns {
		if part := sh.column[k]; part >= 0 && sh.encoded[part] != nil {
			if err := sh.encoded[part].refuses(&s.columns[k]); err != nil {
				return refused("source.columns", s.columns[k].From, err)
			}
		}
	}
	if part := sh.index.encodedNamed(c.Label); c.Label != "" && sh.label < 0 && part >= 0 && s.labels == LabelsOfPart {
		remedy := ""
		if sh.encoded[part].columnar && sh.encoded[part].kind == encodedText {
			remedy = "; labels: names takes them as names of classes"
		}
		return refused("source.label", c.Label, fmt.Errorf("it is %s, want whole numbers%s", sh.encoded[part].name, remedy))
	}
	for m := range s.media {
		if pixels := slices.IndexFunc(sh.encoded, func(e *coding) bool { return e != nil && e.kind == encodedPixels }); pixels >= 0 && s.media[m].From == nil && !sh.has(m) {
			return refused(s.keyOf(m), partShown(sh.index.parts[pixels]), errPixels)
		}
		for _, name := range s.media[m].From {
			if s.media[m].Many > 0 && sh.has(m) {
				break
			}
			part := sh.index.encodedNamed(name)
			if part < 0 || sh.encoded[part].file() {
				continue
			}
			err := fmt.Errorf("it is %s, want the bytes of a file", sh.encoded[part].name)
			switch sh.encoded[part].kind {
			case encodedUnknown:
				err = sh.encoded[part].unread()
			case encodedPixels:
				err = errPixels
			}
			return refused(s.keyOf(m), name, err)
		}
	}
	return nil
}

// encodingMarked is the encoding in a part's name, one for all shards.
func (s *shards) encodingMarked(part string) *coding {
	if !strings.Contains(part, encodedMark) {
		return nil
	}
	e, known := s.codings[part]
	if !known {
		if s.codings == nil {
			s.codings = map[string]*coding{}
		}
		e = encodingMarked(part)
		s.codings[part] = e
	}
	return e
}

// read is a value as an array, a number as one without dimensions; a views its memory.
func (e *coding) read(value []byte, a *array.Array) error {
	a.DType, a.Shape, a.Data = e.dtype, append(a.Shape[:0], e.shape...), value
	a.Bool, a.Fortran, a.Swapped = false, false, false
	if e.kind == encodedPixels {
		return readPixels(value, a)
	}
	if e.lists != nil {
		return e.readList(a)
	}
	if e.head != nil {
		if err := e.head.read(a); err != nil {
			return err
		}
		return fits(a)
	}
	if e.dtype == 0 {
		if len(value) == 0 {
			return errors.New("damaged: got no bytes, want an array")
		}
		for _, t := range encodedTypes {
			if t.code == value[0] && t.code != 0 {
				a.DType = t.dtype
			}
		}
		if a.DType == 0 {
			return fmt.Errorf("damaged: got an array of type %d, which MDS does not have", value[0])
		}
		a.Data = value[1:]
	}
	if e.shape == nil {
		if err := readShape(a); err != nil {
			return err
		}
	}
	return fits(a)
}

// readShape takes the shape that an array begins with: a byte with the number of dimensions and how wide each is written, and these.
func readShape(a *array.Array) error {
	if len(a.Data) == 0 {
		return errors.New("damaged: got an array without a shape")
	}
	dims, width := int(a.Data[0]>>2), 1<<(a.Data[0]&3)
	if a.Data = a.Data[1:]; len(a.Data) < dims*width {
		return fmt.Errorf("damaged: got %d bytes, want %d for %d dimensions", len(a.Data), dims*width, dims)
	}
	for range dims {
		var wide [8]byte
		copy(wide[:], a.Data[:width])
		a.Data = a.Data[width:]
		n := binary.LittleEndian.Uint64(wide[:])
		if n > math.MaxUint32 {
			return fmt.Errorf("damaged: got a dimension of %d", n)
		}
		a.Shape = append(a.Shape, int64(n))
	}
	return nil
}

// fits compares an array's bytes with its shape.
func fits(a *array.Array) error {
	want, err := a.Shape.Bytes(a.DType)
	if err == nil && want != int64(len(a.Data)) {
		err = fmt.Errorf("damaged: got %d bytes, want %d for %v of %v", len(a.Data), want, a.Shape, a.DType)
	}
	a.Data = slices.Clip(a.Data)
	return err
}

// pixelModes are PIL's modes whose pixels are numbers.
var pixelModes = map[string]struct {
	dtype  tensor.DType
	colors int64
}{
	"L": {tensor.U8, 0}, "P": {tensor.U8, 0}, "LA": {tensor.U8, 2}, "RGB": {tensor.U8, 3}, "YCbCr": {tensor.U8, 3}, "LAB": {tensor.U8, 3}, "HSV": {tensor.U8, 3},
	"RGBA": {tensor.U8, 4}, "CMYK": {tensor.U8, 4}, "RGBX": {tensor.U8, 4}, "I;16": {tensor.U16, 0}, "I": {tensor.I32, 0}, "F": {tensor.F32, 0},
}

// readPixels reads a picture of PIL as an array: its rows, columns and, where there are several, colours.
func readPixels(value []byte, a *array.Array) error {
	const head = 3 * 4
	if len(value) < head {
		return fmt.Errorf("damaged: got %d bytes, want a width, a height and a mode", len(value))
	}
	width, height, n := binary.LittleEndian.Uint32(value), binary.LittleEndian.Uint32(value[4:]), binary.LittleEndian.Uint32(value[8:])
	if int64(n) > int64(len(value)-head) {
		return fmt.Errorf("damaged: got a mode of %d bytes", n)
	}
	mode := value[head : head+int(n)]
	is, known := pixelModes[string(mode)]
	if !known {
		return fmt.Errorf("got a picture of PIL's mode %.20q, want one whose pixels are numbers, such as L or RGB", mode)
	}
	a.DType, a.Shape, a.Data = is.dtype, append(a.Shape[:0], int64(height), int64(width)), value[head+int(n):]
	if is.colors > 0 {
		a.Shape = append(a.Shape, is.colors)
	}
	return fits(a)
}

// setEncoded appends the value of the buffer's next column from a value of an encoding. stays is as setPart has it.
func (b *Buffer) setEncoded(c *Column, value []byte, e *coding, stays bool) error {
	if e.kind == encodedText || e.file() {
		return b.setPart(c, value, stays)
	}
	if e.kind == encodedDecimal || e.text != nil && c.Type == Text {
		text, err := e.text(value, c.Type != Text)
		if err != nil {
			return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: %v", c.Name, err)}
		}
		return b.setText(c, text)
	}
	err := e.read(value, &b.array)
	if err == nil && c.Type == Array {
		return b.takeArray(c, stays)
	}
	if err == nil {
		err = b.setElements(c, &b.array)
	}
	if err != nil {
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: %v", c.Name, err)}
	}
	return nil
}

// setElements appends the value of the buffer's next column from the elements of an array, which a list has one behind the other.
func (b *Buffer) setElements(c *Column, a *array.Array) error {
	from, width := len(b.values), a.DType.Bytes()
	as := *c
	switch c.Type {
	case Int64:
		as.DType = tensor.I64
	case Float64:
		as.DType = tensor.F64
	}
	if err := c.holds(int64(len(a.Data) / width)); err != nil {
		return err
	}
	elements := texts{bytes: b.values}
	r := listRows{c: &as, to: &elements}
	for data := a.Data; len(data) > 0; data = data[width:] {
		if err := r.encodedElement(data[:width], a.DType); err != nil {
			b.values = elements.bytes[:from]
			return err
		}
	}
	b.values = elements.bytes
	b.took(from)
	return nil
}

// encodedElement appends a number as it lies in memory.
func (r *listRows) encodedElement(data []byte, t tensor.DType) error {
	switch t {
	case tensor.F16:
		return r.float(tensor.Half(binary.LittleEndian.Uint16(data)))
	case tensor.F32:
		return r.float(float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
	case tensor.F64:
		return r.float(math.Float64frombits(binary.LittleEndian.Uint64(data)))
	case tensor.U64:
		return r.unsigned(binary.LittleEndian.Uint64(data))
	}
	v, _ := wholeOf(data, t)
	return r.whole(v)
}
