package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/tensor"
)

// arrowCoding is a type of Arrow's as a part's mark has it. Values are as texts what those of Parquet are.
func arrowCoding(name string) (e coding) {
	e.name = name
	if why, is := strings.CutPrefix(name, "?"); is {
		e.name = why
		return e
	}
	if of, is := strings.CutPrefix(name, "list:"); is {
		return arrowListCoding(of)
	}
	switch name {
	case "binary":
		e.kind = encodedBytes
		return e
	case "string":
		e.kind = encodedText
		return e
	case "bool":
		e.bit = true
	}
	if of, is := strings.CutPrefix(name, "decimal"); is {
		_, scale, _ := strings.Cut(of, ":")
		n, err := strconv.ParseInt(scale, 10, 32)
		if err == nil {
			e.kind, e.text = encodedDecimal, arrowDecimals(int32(n))
		}
		return e
	}
	if e.dtype = numberOfArrow(name); e.dtype != 0 {
		e.kind, e.shape, e.text = encodedNumber, tensor.Shape{}, arrowTexts(name, e.dtype)
	}
	return e
}

// unreadOfArrow says why values of a type are not read, and what makes of them what is.
func (e *coding) unreadOfArrow() error {
	remedy := "leave it out, or cast it to a type that is"
	switch {
	case strings.Contains(e.name, "several lengths"):
		remedy = "pad the inner lists, or make one list of them and a column of their lengths"
	case strings.HasPrefix(e.name, "list"):
		remedy = "leave it out, or write it as one text a row: a sample has one value in a column, or a list of numbers"
	}
	return fmt.Errorf("it is %s, which is not read here; %s", e.name, remedy)
}

// arrowListCoding is that of lists of numbers, each of which is an array: "int32", or "float32x3x4" of lists of lists.
func arrowListCoding(of string) (e coding) {
	dims := strings.Split(of, "x")
	e.name = "list<" + dims[0] + ">"
	e.lists = []int64{}
	for _, d := range dims[1:] {
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil {
			return e
		}
		e.name = "list<" + e.name + ">"
		e.lists = append(e.lists, n)
	}
	if e.dtype, e.bit = encodedType(dims[0]), dims[0] == "bool"; e.bit {
		e.dtype = tensor.U8
	}
	if e.dtype != 0 {
		e.kind = encodedArray
	}
	return e
}

// bitRange is what an index has as the number of a list of bits: how many they are, and at which bit of their first byte they begin.
func bitRange(from, n int64) int64 { return n<<3 | from }

// bitValues are those of a bit, which the index tells.
var bitValues = [2][]byte{{0}, {1}}

// bitsOf are a value's bits, a byte each.
func (e *coding) bitsOf(m indexMember, value []byte) ([]byte, error) {
	if e.lists == nil {
		return bitValues[m.value&1], nil
	}
	from, n := m.value&7, m.value>>3
	if n < 0 || (from+n+7)/8 > int64(len(value)) {
		return nil, fmt.Errorf("damaged: got %d bytes, want %d bits", len(value), n)
	}
	all := make([]byte, n)
	for i := range all {
		at := from + int64(i)
		all[i] = value[at/8] >> (at % 8) & 1
	}
	return all, nil
}

// arrowTexts makes texts of numbers: what dates, times and timestamps mean, else digits.
func arrowTexts(name string, dtype tensor.DType) func(value []byte, number bool) ([]byte, error) {
	element, unit, each := arrowElement(name)
	cell := cellsOf(element, false)
	return func(value []byte, _ bool) ([]byte, error) {
		switch v, _ := wholeOf(value, dtype); {
		case len(value) != dtype.Bytes():
			return nil, fmt.Errorf("damaged: got %d bytes, want %d", len(value), dtype.Bytes())
		case dtype == tensor.F16:
			return floatText(tensor.Half(binary.LittleEndian.Uint16(value)), 64), nil
		case dtype == tensor.F32:
			return floatText(float64(math.Float32frombits(binary.LittleEndian.Uint32(value))), 32), nil
		case dtype == tensor.F64:
			return floatText(math.Float64frombits(binary.LittleEndian.Uint64(value)), 64), nil
		case dtype == tensor.U64:
			return strconv.AppendUint(nil, binary.LittleEndian.Uint64(value), 10), nil
		case each > 1 && (v > math.MaxInt64/each || v < math.MinInt64/each):
			return nil, fmt.Errorf("got the time %d%s, want one nearer to now; read it as a number", v, unit)
		case name == "date64":
			return cell(parquet.Int32Value(int32(v / (1000 * secondsOfDay))))
		case name == "date32":
			return cell(parquet.Int32Value(int32(v)))
		default:
			return cell(parquet.Int64Value(v * each))
		}
	}
}

// arrowElement says what a type is as a schema of Parquet does. Seconds, which Parquet has not, are each so many of the unit that it says.
func arrowElement(name string) (e *format.SchemaElement, unit string, each int64) {
	kind, unit, _ := strings.Cut(name, "[")
	utc := strings.HasSuffix(unit, "Z")
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "Z"), "]")
	units := format.TimeUnit{Millis: &format.MilliSeconds{}}
	switch each = 1; unit {
	case "s":
		each = 1000
	case "us":
		units = format.TimeUnit{Micros: &format.MicroSeconds{}}
	case "ns":
		units = format.TimeUnit{Nanos: &format.NanoSeconds{}}
	}
	is, stored := &format.LogicalType{}, format.Int64
	switch kind {
	case "date32", "date64":
		is.Date, stored = &format.DateType{}, format.Int32
	case "time32", "time64":
		is.Time = &format.TimeType{Unit: units}
	case "timestamp":
		is.Timestamp = &format.TimestampType{IsAdjustedToUTC: utc, Unit: units}
	default:
		is, each = nil, 1
	}
	return &format.SchemaElement{Type: &stored, LogicalType: is}, unit, each
}

// arrowDecimals makes texts of decimals, which Parquet has with the first byte first.
func arrowDecimals(scale int32) func(value []byte, number bool) ([]byte, error) {
	return func(value []byte, number bool) ([]byte, error) {
		turned := slices.Clone(value)
		slices.Reverse(turned)
		return decimal(scale, number)(parquet.FixedLenByteArrayValue(turned))
	}
}

// unit is the bytes of what a list has each of; 0: of lists of no length, or of none.
func (e *coding) unit() int64 {
	unit := int64(e.dtype.Bytes())
	for _, d := range e.lists {
		unit *= max(d, 0)
	}
	return unit
}

// readList makes an array of a row's list.
func (e *coding) readList(a *array.Array) error {
	n := int64(0)
	if unit := e.unit(); unit > 0 {
		n = int64(len(a.Data)) / unit
	} else if len(a.Data) > 0 {
		return errors.New("damaged: got numbers in lists of no length")
	}
	a.Shape = append(a.Shape[:0], n)
	for _, d := range e.lists {
		a.Shape = append(a.Shape, max(d, 0))
	}
	return fits(a)
}

// refusesShape says why a column of lists of another shape is none of these; nil: it may be.
func (e *coding) refusesShape(c *Column) error {
	if e.lists == nil || c.Type != List {
		return nil
	}
	if deep := len(e.lists) + 1; deep != c.dims() {
		return fmt.Errorf("it is %s, of %s, want numbers of shape %s; say a shape of %d, such as [-1%s]", e.name, dimensions(deep), c.shown(), deep, strings.Repeat(", 4", deep-1))
	}
	for k, have := range e.lists {
		if want, _ := c.most(k + 1); have > 0 && have != want {
			return fmt.Errorf("it is %s, each of length %d, want shape %s", e.name, have, c.shown())
		}
	}
	return nil
}

// Lengths are those of lists of Arrow, whose indexes tell them. A row without a list has the length 0: it is in no packed row.
func (s *shards) Lengths(column string) func(i int64) int64 {
	c := slices.IndexFunc(s.columns, func(c Column) bool { return c.Name == column && c.Shaped() && c.MaxLength > 0 })
	if c < 0 {
		return nil
	}
	for k := range s.all {
		if part := s.all[k].column[c]; part < 0 || s.all[k].encoded[part] == nil || s.all[k].encoded[part].lists == nil {
			return nil
		}
	}
	return func(i int64) int64 {
		sh, k := s.find(i)
		m, there := s.member(sh, k, sh.column[c])
		e := sh.encoded[sh.column[c]]
		switch unit := e.unit(); {
		case !there || unit == 0:
			return 0
		case e.bit:
			return m.value >> 3 / unit
		default:
			return int64(m.size) / unit
		}
	}
}
