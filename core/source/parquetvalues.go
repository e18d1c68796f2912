package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
	"github.com/spdl/spdl/core/tensor"
)

const (
	maxDecimalBytes  = 32 // of the widest decimals that anybody writes
	maxDecimalDigits = 76 // which they have
	secondsOfDay     = 24 * 60 * 60
	julian1970       = 2440588 // the number of 1970-01-01 where days are counted on from 4713 BC
	isoMoment        = "2006-01-02T15:04:05.999999999"
)

// cellOf makes a cell of a table of a column's value, which is not null.
type cellOf func(v parquet.Value) ([]byte, error)

// cellsOf makes them of what the schema says that values are, as numbers or as texts. Dates and times are the stored numbers, or ISO 8601.
func cellsOf(e *format.SchemaElement, number bool) cellOf {
	if e.Type == nil {
		return bare(number)
	}
	is := meaning(e)
	switch kind := *e.Type; {
	case kind == format.Int96:
		return int96(number)
	case is.Decimal != nil && kind != format.Boolean && kind != format.Float && kind != format.Double:
		return decimal(is.Decimal.Scale, number)
	case is.Float16 != nil && kind == format.FixedLenByteArray:
		return half
	case is.UUID != nil && kind == format.FixedLenByteArray:
		return uuid
	case kind != format.Int32 && kind != format.Int64:
		return bare(number)
	case is.Integer != nil && !is.Integer.IsSigned:
		return unsigned
	case number:
		return bare(number)
	case is.Date != nil && kind == format.Int32:
		return date
	case is.Time != nil:
		return clock(is.Time.Unit)
	case is.Timestamp != nil:
		return moment(is.Timestamp)
	}
	return bare(number)
}

// meaning is what values stand for. Older writers say it in another field, with fewer kinds.
func meaning(e *format.SchemaElement) format.LogicalType {
	if e.LogicalType != nil {
		return *e.LogicalType
	}
	if e.ConvertedType == nil {
		return format.LogicalType{}
	}
	millis, micros := format.TimeUnit{Millis: &format.MilliSeconds{}}, format.TimeUnit{Micros: &format.MicroSeconds{}}
	switch *e.ConvertedType {
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return format.LogicalType{Integer: &format.IntType{}}
	case deprecated.Decimal:
		d := &format.DecimalType{}
		if e.Scale != nil {
			d.Scale = *e.Scale
		}
		return format.LogicalType{Decimal: d}
	case deprecated.Date:
		return format.LogicalType{Date: &format.DateType{}}
	case deprecated.TimeMillis:
		return format.LogicalType{Time: &format.TimeType{Unit: millis}}
	case deprecated.TimeMicros:
		return format.LogicalType{Time: &format.TimeType{Unit: micros}}
	case deprecated.TimestampMillis:
		return format.LogicalType{Timestamp: &format.TimestampType{IsAdjustedToUTC: true, Unit: millis}}
	case deprecated.TimestampMicros:
		return format.LogicalType{Timestamp: &format.TimestampType{IsAdjustedToUTC: true, Unit: micros}}
	}
	return format.LogicalType{}
}

// bare takes values as they are stored. A number has all the digits of its double; a text is the shortest that gives the value again.
func bare(number bool) cellOf {
	bits := 32 // of a float
	if number {
		bits = 64
	}
	return func(v parquet.Value) ([]byte, error) {
		switch v.Kind() {
		case parquet.Boolean:
			if v.Boolean() {
				return []byte("1"), nil
			}
			return []byte("0"), nil
		case parquet.Int32, parquet.Int64:
			return strconv.AppendInt(nil, signed(v), 10), nil
		case parquet.Float:
			return floatText(float64(v.Float()), bits), nil
		case parquet.Double:
			return floatText(v.Double(), 64), nil
		}
		return bytesOf(v), nil
	}
}

// bytesOf are those of a text or medium; nil for null.
func bytesOf(v parquet.Value) []byte {
	if v.IsNull() {
		return nil
	}
	return v.ByteArray()
}

// signed is an integer of either size.
func signed(v parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

func unsigned(v parquet.Value) ([]byte, error) {
	if v.Kind() == parquet.Int32 {
		return strconv.AppendUint(nil, uint64(v.Uint32()), 10), nil
	}
	return strconv.AppendUint(nil, v.Uint64(), 10), nil
}

// floatText has an exponent only below 0.0001 and beyond 2^53, where a double does not tell neighbouring whole numbers.
func floatText(v float64, bits int) []byte {
	form, size := byte('g'), math.Abs(v)
	if size == 0 || size >= 1e-4 && size <= maxWhole {
		form = 'f'
	}
	if v == math.Trunc(v) {
		bits = 64 // as a float of 32 bits 123456792 is 123456790
	}
	return strconv.AppendFloat(nil, v, form, -1, bits)
}

func half(v parquet.Value) ([]byte, error) {
	b := v.ByteArray()
	if len(b) != 2 {
		return nil, fmt.Errorf("got a float16 of %d bytes, want 2", len(b))
	}
	return floatText(tensor.Half(binary.LittleEndian.Uint16(b)), 64), nil
}

// decimal gives the digits behind the point that the column has; as a number it gives none where they are zeros.
func decimal(scale int32, number bool) cellOf {
	return func(v parquet.Value) ([]byte, error) {
		if scale < 0 || scale > maxDecimalDigits {
			return nil, fmt.Errorf("got a decimal with %d digits behind the point, want 0 to %d", scale, maxDecimalDigits)
		}
		unscaled, err := unscaledOf(v)
		if err != nil {
			return nil, err
		}
		return pointed(unscaled, int(scale), number), nil
	}
}

// unscaledOf is a decimal without its point: a whole number, or one as bytes, the first of which has the sign.
func unscaledOf(v parquet.Value) (*big.Int, error) {
	if k := v.Kind(); k == parquet.Int32 || k == parquet.Int64 {
		return big.NewInt(signed(v)), nil
	}
	b := v.ByteArray()
	if len(b) == 0 || len(b) > maxDecimalBytes {
		return nil, fmt.Errorf("got a decimal of %d bytes, want 1 to %d", len(b), maxDecimalBytes)
	}
	n := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n, nil
}

// pointed sets the point before the last digits of a number; a short one loses it with the zeros that alone stand behind it.
func pointed(unscaled *big.Int, scale int, short bool) []byte {
	digits := new(big.Int).Abs(unscaled).Append(nil, 10)
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = append(bytes.Repeat([]byte("0"), missing), digits...)
	}
	whole, fraction := digits[:len(digits)-scale], digits[len(digits)-scale:]
	var text []byte
	if unscaled.Sign() < 0 {
		text = append(text, '-')
	}
	text = append(text, whole...)
	if scale == 0 || short && len(bytes.Trim(fraction, "0")) == 0 {
		return text
	}
	return append(append(text, '.'), fraction...)
}

func uuid(v parquet.Value) ([]byte, error) {
	b := v.ByteArray()
	if len(b) != 16 {
		return nil, fmt.Errorf("got a UUID of %d bytes, want 16", len(b))
	}
	return fmt.Appendf(nil, "%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

func date(v parquet.Value) ([]byte, error) {
	return time.Unix(int64(v.Int32())*secondsOfDay, 0).UTC().AppendFormat(nil, time.DateOnly), nil
}

// clock is the time of a day.
func clock(unit format.TimeUnit) cellOf {
	return func(v parquet.Value) ([]byte, error) {
		t := since1970(signed(v), unit)
		if s := t.Unix(); s < 0 || s >= secondsOfDay {
			return nil, fmt.Errorf("got the time of day %d, want one within a day", signed(v))
		}
		return t.AppendFormat(nil, "15:04:05.999999999"), nil
	}
}

// moment ends in Z where it is one in UTC, and not one of a place that nobody names.
func moment(is *format.TimestampType) cellOf {
	form := isoMoment
	if is.IsAdjustedToUTC {
		form += "Z"
	}
	return func(v parquet.Value) ([]byte, error) {
		return since1970(signed(v), is.Unit).AppendFormat(nil, form), nil
	}
}

func since1970(n int64, unit format.TimeUnit) time.Time {
	switch {
	case unit.Millis != nil:
		return time.UnixMilli(n).UTC()
	case unit.Micros != nil:
		return time.UnixMicro(n).UTC()
	}
	return time.Unix(0, n).UTC()
}

// int96 is a moment as Spark and Impala have stored it: nanoseconds of a day, and the number of that day. As a number it is nanoseconds since 1970.
func int96(number bool) cellOf {
	first, last := time.Unix(0, math.MinInt64).UTC(), time.Unix(0, math.MaxInt64).UTC()
	return func(v parquet.Value) ([]byte, error) {
		i := v.Int96()
		t := time.Unix((int64(i[2])-julian1970)*secondsOfDay, int64(i[1])<<32|int64(i[0])).UTC()
		switch {
		case !number:
			return t.AppendFormat(nil, isoMoment), nil
		case t.Before(first) || t.After(last):
			return nil, fmt.Errorf("got the time %s, want one from %s to %s; read it as text", t.Format(isoMoment), first.Format(isoMoment), last.Format(isoMoment))
		}
		return strconv.AppendInt(nil, t.UnixNano(), 10), nil
	}
}
