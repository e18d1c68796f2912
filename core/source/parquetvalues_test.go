package source

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// stored is a value of a column as Plain has it, what it is as text, and as a number: digits, "" for a refusal.
type stored struct {
	plain                []byte
	text, whole, float64 string
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func i32(v int64) []byte { return le32(uint32(v)) }
func i64(v int64) []byte { return le64(uint64(v)) }

// same is a number that is written alike everywhere.
func same(plain []byte, text string) stored { return stored{plain, text, text, text} }

// converted is the older way to say what values are.
func converted(c deprecated.ConvertedType) *deprecated.ConvertedType { return &c }

// kindOfColumn is a type that columns have, and values of it.
type kindOfColumn struct {
	kind   format.Type
	length int32 // of fixed values
	is     format.LogicalType
	old    *deprecated.ConvertedType
	scale  int32 // beside old
	values []stored
}

func kindsOfColumns() map[string]kindOfColumn {
	unsignedIs := format.LogicalType{Integer: &format.IntType{BitWidth: 32}}
	dec := func(scale int32) format.LogicalType {
		return format.LogicalType{Decimal: &format.DecimalType{Scale: scale, Precision: 38}}
	}
	millis, micros, nanos := format.TimeUnit{Millis: &format.MilliSeconds{}}, format.TimeUnit{Micros: &format.MicroSeconds{}}, format.TimeUnit{Nanos: &format.NanoSeconds{}}
	at := func(u format.TimeUnit, utc bool) format.LogicalType {
		return format.LogicalType{Timestamp: &format.TimestampType{Unit: u, IsAdjustedToUTC: utc}}
	}
	u32 := []stored{same(le32(0), "0"), same(le32(1<<31), "2147483648"), same(le32(math.MaxUint32), "4294967295")}
	u64 := []stored{same(le64(1<<63-1), "9223372036854775807"), {le64(1 << 63), "9223372036854775808", "", "9223372036854775808"}, {le64(math.MaxUint64), "18446744073709551615", "", "18446744073709551615"}}
	cents := []stored{{i32(150), "1.50", "", "1.5"}, {i32(-5), "-0.05", "", "-0.05"}, {i32(1200), "12.00", "12", "12"}, {i32(0), "0.00", "0", "0"}}
	days := []stored{{i32(18262), "2020-01-01", "18262", "18262"}, {i32(-1), "1969-12-31", "-1", "-1"}}
	second := []stored{{i64(1577836800123), "2020-01-01T00:00:00.123", "1577836800123", "1577836800123"}, {i64(-1000), "1969-12-31T23:59:59", "-1000", "-1000"}}
	zulu := func(v []stored) (z []stored) {
		for _, s := range v {
			s.text += "Z"
			z = append(z, s)
		}
		return z
	}
	wide := make([]byte, 16)
	new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil), big.NewInt(1)).FillBytes(wide)
	id := []byte{0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40, 0x00}
	return map[string]kindOfColumn{
		"u32":             {kind: format.Int32, is: unsignedIs, values: u32},
		"u32 of old":      {kind: format.Int32, old: converted(deprecated.Uint32), values: u32},
		"u8 of old":       {kind: format.Int32, old: converted(deprecated.Uint8), values: u32[:1]},
		"u64":             {kind: format.Int64, is: unsignedIs, values: u64},
		"u64 of old":      {kind: format.Int64, old: converted(deprecated.Uint64), values: u64},
		"i32":             {kind: format.Int32, is: format.LogicalType{Integer: &format.IntType{BitWidth: 32, IsSigned: true}}, values: []stored{same(i32(math.MinInt32), "-2147483648")}},
		"i64":             {kind: format.Int64, values: []stored{same(i64(math.MinInt64), "-9223372036854775808"), same(i64(math.MaxInt64), "9223372036854775807")}},
		"decimal of i32":  {kind: format.Int32, is: dec(2), values: cents},
		"decimal of old":  {kind: format.Int32, old: converted(deprecated.Decimal), scale: 2, values: cents},
		"decimal of i64":  {kind: format.Int64, is: dec(3), values: []stored{{i64(-9007199254740993000), "-9007199254740993.000", "-9007199254740993", "-9007199254740993"}}},
		"decimal, whole":  {kind: format.Int64, is: dec(0), values: []stored{same(i64(-77), "-77")}},
		"decimal, fixed":  {kind: format.FixedLenByteArray, length: 3, is: dec(2), values: []stored{{[]byte{0, 0, 150}, "1.50", "", "1.5"}, {[]byte{0xff, 0xff, 0xff}, "-0.01", "", "-0.01"}, {[]byte{0x80, 0, 0}, "-83886.08", "", "-83886.08"}}},
		"decimal, wide":   {kind: format.FixedLenByteArray, length: 16, is: dec(38), values: []stored{{wide, "0." + strings.Repeat("9", 38), "", "1"}}},
		"decimal, bytes":  {kind: format.ByteArray, is: dec(1), values: []stored{{plain([]byte{0xff}), "-0.1", "", "-0.1"}, {plain([]byte{1, 0}), "25.6", "", "25.6"}}},
		"float16":         {kind: format.FixedLenByteArray, length: 2, is: format.LogicalType{Float16: &format.Float16Type{}}, values: []stored{same([]byte{0, 0x3c}, "1"), {[]byte{0x80, 0xc4}, "-4.5", "", "-4.5"}, {[]byte{1, 0}, "5.960464477539063e-08", "", "5.960464477539063e-08"}, same([]byte{0xff, 0x7b}, "65504"), {[]byte{0, 0xfc}, "-Inf", "", "-Inf"}, {[]byte{0, 0x7e}, "NaN", "", "NaN"}, {[]byte{0, 0}, "0", "0", "0"}}},
		"f32":             {kind: format.Float, values: []stored{{le32(math.Float32bits(0.1)), "0.1", "", "0.10000000149011612"}, same(le32(math.Float32bits(123456789)), "123456792"), same(le32(math.Float32bits(1e6)), "1000000"), {le32(math.Float32bits(1e-7)), "1e-07", "", "1.0000000116860974e-07"}}},
		"f64":             {kind: format.Double, values: []stored{same(le64(math.Float64bits(1e15)), "1000000000000000"), same(le64(math.Float64bits(-1<<53)), "-9007199254740992"), {le64(math.Float64bits(1<<53 + 2)), "9.007199254740994e+15", "", "9007199254740994"}, {le64(math.Float64bits(1234567.5)), "1234567.5", "", "1234567.5"}, {le64(math.Float64bits(math.Inf(1))), "+Inf", "", "+Inf"}, {le64(math.Float64bits(1e300)), "1e+300", "", "1e+300"}}},
		"date":            {kind: format.Int32, is: format.LogicalType{Date: &format.DateType{}}, values: days},
		"date of old":     {kind: format.Int32, old: converted(deprecated.Date), values: days},
		"ms":              {kind: format.Int64, is: at(millis, false), values: second},
		"ms, UTC":         {kind: format.Int64, is: at(millis, true), values: zulu(second)},
		"ms of old":       {kind: format.Int64, old: converted(deprecated.TimestampMillis), values: zulu(second)},
		"us":              {kind: format.Int64, is: at(micros, false), values: []stored{{i64(1577836800000001), "2020-01-01T00:00:00.000001", "1577836800000001", "1577836800000001"}}},
		"us of old":       {kind: format.Int64, old: converted(deprecated.TimestampMicros), values: []stored{{i64(1577836800000000), "2020-01-01T00:00:00Z", "1577836800000000", "1577836800000000"}}},
		"ns":              {kind: format.Int64, is: at(nanos, false), values: []stored{{i64(1577836800000000001), "2020-01-01T00:00:00.000000001", "1577836800000000001", "1577836800000000001"}}},
		"time in ms":      {kind: format.Int32, is: format.LogicalType{Time: &format.TimeType{Unit: millis}}, values: []stored{{i32(3723004), "01:02:03.004", "3723004", "3723004"}, {i32(0), "00:00:00", "0", "0"}}},
		"time in us, old": {kind: format.Int64, old: converted(deprecated.TimeMicros), values: []stored{{i64(86399999999), "23:59:59.999999", "86399999999", "86399999999"}}},
		"time in ns":      {kind: format.Int64, is: format.LogicalType{Time: &format.TimeType{Unit: nanos}}, values: []stored{{i64(1), "00:00:00.000000001", "1", "1"}}},
		"int96":           {kind: format.Int96, values: []stored{{append(le64(5), le32(2458850)...), "2020-01-01T00:00:00.000000005", "1577836800000000005", "1577836800000000005"}, {append(le64(0), le32(1)...), "-4713-11-25T00:00:00", "", ""}}},
		"uuid":            {kind: format.FixedLenByteArray, length: 16, is: format.LogicalType{UUID: &format.UUIDType{}}, values: []stored{{id, "123e4567-e89b-12d3-a456-426614174000", "", ""}}},
		"bool":            {kind: format.Boolean, values: []stored{same([]byte{1}, "1"), same([]byte{0}, "0")}},
		"string":          {kind: format.ByteArray, is: format.LogicalType{UTF8: &format.StringType{}}, values: []stored{{plain([]byte("a\xff\r\n")), "a\xff\r\n", "", ""}, same(plain([]byte("7")), "7"), {plain([]byte("7.0")), "7.0", "7", "7"}}},
		"enum":            {kind: format.ByteArray, is: format.LogicalType{Enum: &format.EnumType{}}, values: []stored{{plain([]byte("RED")), "RED", "", ""}}},
		"json":            {kind: format.ByteArray, is: format.LogicalType{Json: &format.JsonType{}}, values: []stored{{plain([]byte(`{"a": 1}`)), `{"a": 1}`, "", ""}}},
		"bson":            {kind: format.ByteArray, is: format.LogicalType{Bson: &format.BsonType{}}, values: []stored{{plain([]byte("\x05\x00\x00\x00\x00")), "\x05\x00\x00\x00\x00", "", ""}}},
		"fixed bytes":     {kind: format.FixedLenByteArray, length: 3, values: []stored{{[]byte("a\x00b"), "a\x00b", "", ""}}},
	}
}

// column is one of the type, with one value.
func (k *kindOfColumn) column(name string, value []byte) forgedColumn {
	c := columnOf(name, k.kind, value)
	c.element.TypeLength, c.element.ConvertedType = &k.length, k.old
	if k.old != nil {
		c.element.Scale, c.element.Precision = &k.scale, new(int32)
		return c
	}
	if k.is != (format.LogicalType{}) {
		c.element.LogicalType = &k.is
	}
	return c
}

// wantNumber checks a column of numbers, or a label, against its digits; "" wants a refusal.
func wantNumber(t *testing.T, what, want string, c ListConfig, got func(s Source) string) {
	t.Helper()
	s, err := OpenList(c)
	if want == "" {
		if err == nil || !strings.Contains(err.Error(), "row 0") || !strings.Contains(err.Error(), "want ") {
			t.Errorf("%s: got %v, want a refusal", what, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer s.Close()
	if g := got(s); g != want {
		t.Errorf("%s: got %s, want %s", what, g, want)
	}
}

// What a column's values stand for is what is read: as text, as numbers and as labels, in a table and beside media.
func TestParquetValuesAreWhatTheyStandFor(t *testing.T) {
	dir := tree(t, "a.jpg")
	file := dir + "/t.parquet"
	word := func(s Source, c int) uint64 {
		b, _ := read(t, s, 0)
		return binary.NativeEndian.Uint64(b.Value(c))
	}
	for name, k := range kindsOfColumns() {
		for _, v := range k.values {
			what := fmt.Sprintf("%s % x", name, v.plain)
			forgeTable(t, file, 1, pathColumn("a.jpg"), k.column("n", v.plain))
			text := []Column{{Name: "n"}}
			shards, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: []Medium{{From: []string{"path"}}}, Columns: text})
			must(t, err)
			for _, s := range []Source{openL(t, ListConfig{File: file, Columns: text}), shards} {
				if b, _ := read(t, s, 0); string(b.Value(0)) != v.text {
					t.Errorf("%s as text: got %q, want %q", what, b.Value(0), v.text)
				}
			}
			must(t, shards.Close())
			wantNumber(t, what+" as i64", v.whole, ListConfig{File: file, Columns: []Column{{Name: "n", Type: Int64}}}, func(s Source) string { return strconv.FormatInt(int64(word(s, 0)), 10) })
			wantNumber(t, what+" as label", v.whole, ListConfig{File: file, Label: "n"}, func(s Source) string { return strconv.FormatInt(s.Label(0), 10) })
			wantNumber(t, what+" as f64", v.float64, ListConfig{File: file, Columns: []Column{{Name: "n", Type: Float64}}}, func(s Source) string {
				want, err := strconv.ParseFloat(v.float64, 64)
				must(t, err)
				if got := math.Float64frombits(word(s, 0)); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					return strconv.FormatFloat(got, 'g', -1, 64)
				}
				return v.float64
			})
		}
	}
}

// Values that their types cannot be are refused with the column and the row.
func TestParquetValuesThatCannotBe(t *testing.T) {
	file := tree(t, "a.jpg") + "/t.parquet"
	decimalOf := func(scale int32) format.LogicalType {
		return format.LogicalType{Decimal: &format.DecimalType{Scale: scale, Precision: 5}}
	}
	for want, k := range map[string]kindOfColumn{
		"got a decimal with 2000000000 digits behind the point, want 0 to 76": {kind: format.Int32, is: decimalOf(2e9), values: []stored{{plain: i32(1)}}},
		"got a decimal with -1 digits behind the point, want 0 to 76":         {kind: format.Int32, is: decimalOf(-1), values: []stored{{plain: i32(1)}}},
		"got a decimal of 33 bytes, want 1 to 32":                             {kind: format.ByteArray, is: decimalOf(1), values: []stored{{plain: plain(make([]byte, 33))}}},
		"got a decimal of 0 bytes, want 1 to 32":                              {kind: format.ByteArray, is: decimalOf(1), values: []stored{{plain: plain(nil)}}},
		"got a float16 of 3 bytes, want 2":                                    {kind: format.FixedLenByteArray, length: 3, is: format.LogicalType{Float16: &format.Float16Type{}}, values: []stored{{plain: make([]byte, 3)}}},
		"got a UUID of 15 bytes, want 16":                                     {kind: format.FixedLenByteArray, length: 15, is: format.LogicalType{UUID: &format.UUIDType{}}, values: []stored{{plain: make([]byte, 15)}}},
		"got the time of day 86400000, want one within a day":                 {kind: format.Int32, is: format.LogicalType{Time: &format.TimeType{Unit: format.TimeUnit{Millis: &format.MilliSeconds{}}}}, values: []stored{{plain: i32(86400000)}}},
		"got the time of day -1, want one within a day":                       {kind: format.Int64, old: converted(deprecated.TimeMicros), values: []stored{{plain: i64(-1)}}},
	} {
		forgeTable(t, file, 1, pathColumn("a.jpg"), k.column("n", k.values[0].plain))
		_, err := OpenList(ListConfig{File: file, Columns: []Column{{Name: "n"}}})
		if want = `column "n": row 0 of row group 0: ` + want; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	forgeTable(t, file, 1, pathColumn("a.jpg"), columnOf("n", format.Int96, append(le64(0), le32(1)...)))
	_, err := OpenList(ListConfig{File: file, Columns: []Column{{Name: "n", Type: Int64}}})
	if want := "got the time -4713-11-25T00:00:00, want one from 1677-09-21T00:12:43.145224192 to 2262-04-11T23:47:16.854775807; read it as text"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// Random values that the library writes from Go's types are read as Go has them.
func TestRandomParquetValues(t *testing.T) {
	type row struct {
		Path  string    `parquet:"path"`
		U32   uint32    `parquet:"u32"`
		U64   uint64    `parquet:"u64"`
		Cents int64     `parquet:"cents,decimal(2:18)"`
		Fixed [5]byte   `parquet:"fixed,decimal(4:10)"`
		When  time.Time `parquet:"when,timestamp(microsecond)"`
		Day   int32     `parquet:"day,date"`
		Null  *uint32   `parquet:"null,optional"`
	}
	const n = 300
	r := rand.New(rand.NewPCG(1, 2))
	var rows []row
	var want [][]string
	for range n {
		v := row{Path: "a.jpg", U32: r.Uint32(), U64: r.Uint64(), Cents: int64(r.Uint64()) / 10,
			When: time.UnixMicro(r.Int64N(4e15)).UTC(), Day: int32(r.IntN(40000)), Null: nil}
		fixed := r.Int64N(1<<40) - 1<<39
		copy(v.Fixed[:], binary.BigEndian.AppendUint64(nil, uint64(fixed))[3:])
		null := ""
		if r.IntN(2) == 0 {
			v.Null, null = &v.U32, fmt.Sprint(v.U32)
		}
		rows = append(rows, v)
		want = append(want, []string{fmt.Sprint(v.U32), fmt.Sprint(v.U64), big.NewRat(v.Cents, 100).FloatString(2),
			big.NewRat(fixed, 10000).FloatString(4), v.When.Format(time.RFC3339Nano), time.Unix(int64(v.Day)*86400, 0).UTC().Format("2006-01-02"), null})
	}
	file := tree(t, "a.jpg") + "/t.parquet"
	writeParquet(t, file, rows, 100)
	var columns []Column
	for _, name := range []string{"u32", "u64", "cents", "fixed", "when", "day", "null"} {
		columns = append(columns, Column{Name: name})
	}
	s := openL(t, ListConfig{File: file, Columns: columns})
	for i := range s.Len() {
		b, _ := read(t, s, i)
		for c := range columns {
			if got := string(b.Value(c)); got != want[i][c] {
				t.Fatalf("row %d, %s: got %q, want %q", i, columns[c].Name, got, want[i][c])
			}
		}
	}
}

// split lays the first bytes of all values first, then the second ones.
func split(width int, values ...[]byte) (all []byte) {
	for b := range width {
		for _, v := range values {
			all = append(all, v[b])
		}
	}
	return all
}

// Columns whose bytes lie split are read, of numbers and of values of fixed length, with nulls and without.
func TestSplitColumns(t *testing.T) {
	file := tree(t, "a.jpg") + "/t.parquet"
	kinds := kindsOfColumns()
	for name, width := range map[string]int{"u32": 4, "f32": 4, "i64": 8, "f64": 8, "float16": 2, "decimal, fixed": 3} {
		k := kinds[name]
		v, w := k.values[0], k.values[1]
		for _, nulls := range []bool{false, true} {
			n := k.column("n", split(width, v.plain, w.plain, v.plain))
			want := []string{v.text, w.text, v.text}
			if nulls {
				optional := format.Optional
				n = k.column("n", append(plain([]byte{1<<1 | 1, 0b101}), split(width, v.plain, w.plain)...))
				n.element.RepetitionType, want = &optional, []string{v.text, "", w.text}
			}
			n.encoding = format.ByteStreamSplit
			forgeTable(t, file, 3, pathColumn("a.jpg", "a.jpg", "a.jpg"), n)
			s, err := OpenList(ListConfig{File: file, Columns: []Column{{Name: "n"}}})
			if err != nil {
				t.Errorf("%s, nulls %v: %v", name, nulls, err)
				continue
			}
			for i := range want {
				if b, _ := read(t, s, int64(i)); string(b.Value(0)) != want[i] {
					t.Errorf("%s, nulls %v, row %d: got %q, want %q", name, nulls, i, b.Value(0), want[i])
				}
			}
			must(t, s.Close())
		}
	}
}

// Encodings that are not read are refused with what to write instead.
func TestEncodingsThatAreNotRead(t *testing.T) {
	file := tree(t, "a.jpg") + "/t.parquet"
	for want, n := range map[string]forgedColumn{
		"encoding BYTE_STREAM_SPLIT is not read here; write the column with PLAIN or a dictionary": {encoding: format.ByteStreamSplit, values: plain([]byte("x"))},
		"encoding BIT_PACKED is not read here; write the column with PLAIN or a dictionary":        {encoding: format.BitPacked, values: []byte{1}},
		"encoded values are not whole":                {encoding: format.ByteStreamSplit, values: make([]byte, 7), element: columnOf("n", format.Int64, nil).element},
		"write the column with PLAIN or a dictionary": {encoding: format.DeltaBinaryPacked, values: []byte{128, 1, 4, 1, 0}, element: columnOf("n", format.Double, nil).element},
	} {
		if n.element.Name == "" {
			n.element = columnOf("n", format.ByteArray, nil).element
		}
		forgeTable(t, file, 1, pathColumn("a.jpg"), n)
		_, err := OpenList(ListConfig{File: file, Columns: []Column{{Name: "n"}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Booleans in runs, as newer writers have them, are read as they were, whatever the runs' lengths.
func TestBooleansInRuns(t *testing.T) {
	file := t.TempDir() + "/t.parquet"
	for runs, want := range map[string]string{
		string(uvarints(5<<1, 1, 3<<1, 0, 1<<1|1, 0b10110)): "1111100001101000",
		string(uvarints(3<<1, 1, 1<<1|1, 0b1, 5<<1, 1)):     "1111000000011111",
		string(uvarints(16<<1, 1)):                          "1111111111111111",
	} {
		n := columnOf("n", format.Boolean, plain([]byte(runs)))
		n.encoding = format.RLE
		forgeTable(t, file, 16, n)
		s := openL(t, ListConfig{File: file, Alone: true, Columns: []Column{{Name: "n"}}})
		got := ""
		for i := range s.Len() {
			var b Buffer
			must(t, s.Read(background, i, &b))
			got += string(b.Value(0))
		}
		if got != want {
			t.Errorf("% x: got %s, want %s", runs, got, want)
		}
	}
	for _, bad := range [][]byte{uvarints(16 << 1), uvarints(2<<1|1, 0), {0x80}} {
		n := columnOf("n", format.Boolean, plain(bad))
		n.encoding = format.RLE
		forgeTable(t, file, 16, n)
		if _, err := OpenList(ListConfig{File: file, Alone: true, Columns: []Column{{Name: "n"}}}); err == nil || !strings.Contains(err.Error(), "not whole") {
			t.Errorf("% x: got %v", bad, err)
		}
	}
}

// A page that has fewer values than it says is refused: what lies behind them in memory is nobody's.
func TestPagesOfFewerValuesAreRefused(t *testing.T) {
	file := t.TempDir() + "/t.parquet"
	optional := format.Optional
	nulls := columnOf("n", format.Int64, append(plain([]byte{1<<1 | 1, 0b1101}), make([]byte, 16)...))
	nulls.element.RepetitionType = &optional
	runs := columnOf("n", format.Int64, append(plain(uvarints(4<<1, 1)), make([]byte, 24)...))
	runs.element.RepetitionType = &optional
	fixed := columnOf("n", format.FixedLenByteArray, make([]byte, 11))
	fixed.element.TypeLength = new(int32)
	*fixed.element.TypeLength = 3
	for k, n := range []forgedColumn{columnOf("n", format.Int64, make([]byte, 24)), columnOf("n", format.Int32, make([]byte, 15)), columnOf("n", format.Boolean, nil), nulls, runs, fixed} {
		forgeTable(t, file, 4, n)
		if _, err := OpenList(ListConfig{File: file, Alone: true, Columns: []Column{{Name: "n"}}}); err == nil || !strings.Contains(err.Error(), "not whole") && !strings.Contains(err.Error(), "cannot decode") {
			t.Errorf("%d: got %v", k, err)
		}
	}
}
