package source

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/spdl/spdl/tests/damage"
)

// forged is a Parquet file of one column, image, whose pages say what they like.
type forged struct {
	rows     int64
	codec    format.CompressionCodec
	optional bool
	pages    [][]byte
	edit     func(m *format.FileMetaData)
	index    []byte
}

func thriftOf(t testing.TB, v any) []byte {
	t.Helper()
	var protocol thrift.CompactProtocol
	b, err := thrift.Marshal(&protocol, v)
	must(t, err)
	return b
}

func (f *forged) bytes(t testing.TB) []byte {
	t.Helper()
	kind, repetition := format.ByteArray, format.Required
	if f.optional {
		repetition = format.Optional
	}
	file := append([]byte("PAR1"), bytes.Join(f.pages, nil)...)
	c := format.ColumnChunk{MetaData: format.ColumnMetaData{Codec: f.codec, NumValues: f.rows, DataPageOffset: 4, TotalCompressedSize: int64(len(file)) - 4}}
	if f.index != nil {
		c.OffsetIndexOffset, c.OffsetIndexLength = int64(len(file)), int32(len(f.index))
		file = append(file, f.index...)
	}
	m := &format.FileMetaData{Version: 1, NumRows: f.rows,
		Schema:    []format.SchemaElement{{Name: "root", NumChildren: 1}, {Name: "image", Type: &kind, RepetitionType: &repetition}},
		RowGroups: []format.RowGroup{{NumRows: f.rows, Columns: []format.ColumnChunk{c}}}}
	if f.edit != nil {
		f.edit(m)
	}
	return withFooter(file, thriftOf(t, m))
}

func withFooter(file, footer []byte) []byte {
	file = append(file, footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
}

// dataPage is one of plain values, or of another encoding, that says to unpack to so many bytes, or to what its body has.
func dataPage(t testing.TB, e format.Encoding, n int32, body []byte, size int) []byte {
	h := format.PageHeader{Type: format.DataPage, CompressedPageSize: int32(len(body)), UncompressedPageSize: int32(cmp.Or(size, len(body))),
		DataPageHeader: &format.DataPageHeader{NumValues: n, Encoding: e, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE}}
	return append(thriftOf(t, &h), body...)
}

func wordsPage(t testing.TB, n int32, body []byte) []byte {
	h := format.PageHeader{Type: format.DictionaryPage, CompressedPageSize: int32(len(body)), UncompressedPageSize: int32(len(body)),
		DictionaryPageHeader: &format.DictionaryPageHeader{NumValues: n}}
	return append(thriftOf(t, &h), body...)
}

// plain is a value as pages have it.
func plain(value []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(value))), value...)
}

func uvarints(all ...uint64) (b []byte) {
	for _, v := range all {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// readForged opens a file and reads its first sample.
func readForged(file string) error {
	s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}})
	if err != nil {
		return err
	}
	var b Buffer
	return errors.Join(s.Read(background, 0, &b), s.Close())
}

// What a page claims, or unpacks to, takes no memory beyond what a page has room for: it is a bad sample.
func TestPagesThatUnpackToMoreAreBadSamples(t *testing.T) {
	const allowed = 48 << 20
	zeros := plain(make([]byte, 64<<20))
	runs := bytes.Repeat(uvarints(1<<24<<1, 0), 64) // each of 16 million values
	deltas := func(n uint64) []byte { return uvarints(128, 4, n, 0) }
	prefixes := append(uvarints(128, 4, 2, 1<<31, 0, 0, 0, 0, 0), deltas(0)...) // two lengths of 2^30
	header := func(h format.PageHeader) []byte { return thriftOf(t, &h) }
	smallest := append([]byte{0x15, 0, 0x15, 10, 0x15, 10, 0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0x1c, 0x18}, uvarints(math.MaxInt32)...)
	type bomb struct {
		f    forged
		want string
	}
	tests := map[string]bomb{
		"a size":               {forged{rows: 1, codec: format.Zstd, pages: [][]byte{dataPage(t, format.Plain, 1, []byte("xx"), math.MaxInt32)}}, "a page of 2 bytes: got 2147483"},
		"a number of values":   {forged{rows: 1, pages: [][]byte{dataPage(t, format.Plain, math.MaxInt32, plain([]byte("x")), 0)}}, "2147483647 values"},
		"a packed size":        {forged{rows: 1, pages: [][]byte{header(format.PageHeader{CompressedPageSize: math.MaxInt32, DataPageHeader: &format.DataPageHeader{NumValues: 1}})}}, "a page has 2147483647 bytes"},
		"a smallest value":     {forged{rows: 1, pages: [][]byte{smallest}}, "ends before its fields"},
		"words":                {forged{rows: 1, pages: [][]byte{wordsPage(t, math.MaxInt32, plain([]byte("x"))), dataPage(t, format.RLEDictionary, 1, []byte{1, 2, 0}, 0)}}, "a page of 5 bytes: got"},
		"runs of words":        {forged{rows: 1, pages: [][]byte{wordsPage(t, 1, plain([]byte("x"))), dataPage(t, format.RLEDictionary, 1, append([]byte{0}, runs...), 0)}}, "more values than the page"},
		"runs of levels":       {forged{rows: 1, optional: true, pages: [][]byte{dataPage(t, format.Plain, 1, plain(runs), 0)}}, "more values than the page"},
		"lengths":              {forged{rows: 1, pages: [][]byte{dataPage(t, format.DeltaLengthByteArray, 1, deltas(math.MaxInt32), 0)}}, "more values than the page"},
		"numbers of prefixes":  {forged{rows: 1, pages: [][]byte{dataPage(t, format.DeltaByteArray, 1, append(deltas(0), deltas(math.MaxInt32)...), 0)}}, "more values than the page"},
		"lengths of prefixes":  {forged{rows: 2, pages: [][]byte{dataPage(t, format.DeltaByteArray, 2, prefixes, 0)}}, "texts that share their beginnings: got"},
		"a dictionary":         {forged{rows: 1, pages: [][]byte{dataPage(t, format.RLEDictionary, 1, []byte{1, 2, 0}, 0)}}, "its pages need a dictionary, and it has none"},
		"a far dictionary":     {forged{rows: 1, pages: [][]byte{dataPage(t, format.Plain, 0, nil, 0), dataPage(t, format.RLEDictionary, 1, []byte{1, 2, 0}, 0)}}, "its pages need a dictionary, and it has none"},
		"an index and a claim": {forged{rows: 1, index: uvarints(0x19, 0xfc, math.MaxInt32), pages: [][]byte{dataPage(t, format.Plain, 1, nil, math.MaxInt32)}}, "a page of 0 bytes"},
	}
	for _, codec := range []compress.Codec{&parquet.Zstd, &parquet.Gzip, &parquet.Snappy, &parquet.Brotli, &parquet.Lz4Raw} {
		packed, err := codec.Encode(nil, zeros)
		must(t, err)
		want := "more than it says"
		if codec == &parquet.Lz4Raw {
			want = "lz4"
		}
		tests["a page of "+codec.String()] = bomb{forged{rows: 1, codec: codec.CompressionCodec(), pages: [][]byte{dataPage(t, format.Plain, 1, packed, 1000)}}, want}
	}
	var unsized bytes.Buffer // Zstandard that does not say how long it becomes
	w, err := zstd.NewWriter(&unsized)
	must(t, err)
	_, err = io.CopyN(w, damage.Zeros{}, 64<<20)
	must(t, errors.Join(err, w.Close()))
	tests["a page of ZSTD without its size"] = bomb{forged{rows: 1, codec: format.Zstd, pages: [][]byte{dataPage(t, format.Plain, 1, unsized.Bytes(), 1000)}}, "more than it says"}
	for name, test := range tests {
		file := t.TempDir() + "/a.parquet"
		write(t, file, string(test.f.bytes(t)))
		var err error
		peak := damage.PeakBytes(t, func() { err = readForged(file) })
		t.Logf("%s: %.1f MiB, %v", name, float64(peak)/(1<<20), err)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), test.want) || peak > allowed {
			t.Errorf("%s: got %v with %d MiB of memory, want %q and at most %d", name, err, peak>>20, test.want, allowed>>20)
		}
	}
}

// What a footer claims takes no memory: a file whose end does not fit to its size is refused when it is opened.
func TestFootersThatClaimMoreAreRefused(t *testing.T) {
	const allowed = 96 << 20
	sound := forged{rows: 1, pages: [][]byte{dataPage(t, format.Plain, 1, plain([]byte("x")), 0)}}
	edited := func(edit func(m *format.FileMetaData)) []byte {
		f := sound
		f.edit = edit
		return f.bytes(t)
	}
	empty := append([]byte{0x15, 2, 0x19, 0xfc}, uvarints(4<<20)...) // a schema of many elements of no byte but their end
	deep := func(m *format.FileMetaData) {
		m.Schema = append(make([]format.SchemaElement, 100_000), m.Schema[1])
		for k := range m.Schema[:100_000] {
			m.Schema[k] = format.SchemaElement{Name: "g", NumChildren: 1}
		}
	}
	long := sound.bytes(t)
	binary.LittleEndian.PutUint32(long[len(long)-8:], math.MaxUint32)
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"its length":       {long, "a footer of 4294967295 bytes"},
		"a list":           {withFooter([]byte("PAR1"), append([]byte{0x15, 2, 0x19, 0xfc}, uvarints(math.MaxInt32)...)), "ends before its fields"},
		"a text":           {withFooter([]byte("PAR1"), append([]byte{0x15, 2, 0x58}, uvarints(math.MaxInt32)...)), "ends before its fields"},
		"empty elements":   {withFooter([]byte("PAR1"), append(append(empty, make([]byte, 4<<20)...), 0)), "bytes unpacked, want at most"},
		"another type":     {withFooter([]byte("PAR1"), []byte{0x15, 2, 0x15, 2, 0}), "damaged: missing required field"},
		"nested lists":     {withFooter([]byte("PAR1"), append([]byte{0xf9}, bytes.Repeat([]byte{0x19}, 1<<20)...)), "not those of the format"},
		"children":         {edited(func(m *format.FileMetaData) { m.Schema[0].NumChildren = math.MaxInt32 }), "no tree"},
		"deep columns":     {edited(deep), "damaged: got 100001 columns"},
		"deeper than read": {edited(func(m *format.FileMetaData) { deep(m); m.Schema = m.Schema[100_001-40:] }), "more than 32 groups"},
		"rows":             {edited(func(m *format.FileMetaData) { m.RowGroups[0].NumRows = math.MaxInt64 }), "rows in a file of"},
		"no rows":          {edited(func(m *format.FileMetaData) { m.RowGroups[0].NumRows = -1 }), "a row group has -1 rows"},
		"cut":              {sound.bytes(t)[:60], "truncated, or no Parquet: the file ends in "},
		"cut to its head":  {[]byte("PAR1"), "truncated: got a file of 4 bytes, want a footer; write or copy it again"},
		"columns":          {edited(func(m *format.FileMetaData) { m.RowGroups[0].Columns = nil }), "a row group has 0 columns"},
	} {
		file := t.TempDir() + "/a.parquet"
		write(t, file, string(test.file))
		var err error
		peak := damage.PeakBytes(t, func() { err = readForged(file) })
		t.Logf("%s: %.1f MiB, %v", name, float64(peak)/(1<<20), err)
		if err == nil || !strings.Contains(err.Error(), test.want) || peak > allowed {
			t.Errorf("%s: got %v with %d MiB of memory, want %q and at most %d", name, err, peak>>20, test.want, allowed>>20)
		}
	}
	file := t.TempDir() + "/a.parquet"
	write(t, file, string(sound.bytes(t)))
	must(t, readForged(file))
}

// A dictionary's values that are repeated very often take the memory of those that are read, and of texts what the file has room for.
func TestRepeatedValuesTakeTheMemoryOfSome(t *testing.T) {
	const rows, word, allowed = 4000, 1 << 20, 512 << 20 // 4 GB, if they were written out
	run := append([]byte{1}, append(uvarints(rows<<1), 0)...)
	f := forged{rows: rows, codec: format.Zstd}
	packed := func(b []byte) []byte {
		packed, err := parquet.Zstd.Encode(nil, b)
		must(t, err)
		return packed
	}
	value := plain(bytes.Repeat([]byte{7}, word))
	words := format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: int32(len(value)), CompressedPageSize: int32(len(packed(value))),
		DictionaryPageHeader: &format.DictionaryPageHeader{NumValues: 1}}
	f.pages = [][]byte{append(thriftOf(t, &words), packed(value)...), dataPage(t, format.RLEDictionary, rows, packed(run), len(run))}
	file := t.TempDir() + "/a.parquet"
	write(t, file, string(f.bytes(t)))
	s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}})
	must(t, err)
	defer s.Close()
	var b Buffer
	peak := damage.PeakBytes(t, func() {
		for _, i := range []int64{rows - 1, 0, rows / 2} {
			if err = s.Read(background, i, &b); err != nil {
				return
			}
		}
	})
	t.Logf("samples: %.1f MiB", float64(peak)/(1<<20))
	if err != nil || len(b.Bytes()) != word || peak > allowed {
		t.Errorf("samples: got %v, %d bytes, with %d MiB of memory, want at most %d", err, len(b.Bytes()), peak>>20, allowed>>20)
	}
	peak = damage.PeakBytes(t, func() {
		_, err = OpenParquet(background, ShardsConfig{Shards: []string{file}, Columns: []Column{{Name: "image"}}})
	})
	t.Logf("texts: %.1f MiB, %v", float64(peak)/(1<<20), err)
	if err == nil || !strings.Contains(err.Error(), "the texts of the rows: got") || peak > allowed {
		t.Errorf("texts: got %v with %d MiB of memory, want at most %d", err, peak>>20, allowed>>20)
	}
}

// A large page is read, however it is packed: of bytes that nothing can pack, and of zeros that take a thousandth.
func TestLargePagesAreRead(t *testing.T) {
	type row struct{ Image []byte }
	random := make([]byte, 2<<20)
	for k := range random {
		random[k] = byte(rand.Uint32())
	}
	rows := []row{{random}, {make([]byte, 24<<20)}, {[]byte("small")}}
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Zstd, &parquet.Gzip, &parquet.Snappy, &parquet.Brotli, &parquet.Lz4Raw} {
		for version := 1; version <= 2; version++ {
			file := t.TempDir() + "/a.parquet"
			writeParquet(t, file, rows, 3, parquet.Compression(codec), parquet.PageBufferSize(64<<20), parquet.DataPageVersion(version))
			s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: []Medium{{From: []string{"Image"}}}})
			must(t, err)
			var b Buffer
			for i := range rows {
				must(t, s.Read(background, int64(i), &b))
				if !bytes.Equal(b.Bytes(), rows[i].Image) {
					t.Errorf("%v, pages of version %d: sample %d has %d bytes", codec, version, i, len(b.Bytes()))
				}
			}
			must(t, s.Close())
		}
	}
}

// Every encoding that the library writes is read as it was, with values and without.
func TestEncodingsOfParquetAreRead(t *testing.T) {
	type row struct {
		Image []byte  `parquet:"image,delta"`
		Path  string  `parquet:"path,delta"`
		Words string  `parquet:"words,dict"`
		Maybe *string `parquet:"maybe,optional,dict"`
		Label int64   `parquet:"label,delta"`
		Split float32 `parquet:"split,split"`
		Yes   bool    `parquet:"yes"`
	}
	var rows []row
	yes := "yes"
	for i := range 5000 {
		r := row{Image: bytes.Repeat([]byte{byte(i)}, 1+i%7), Path: "a/b/" + strings.Repeat("c", i%9), Words: strings.Repeat("w", i%3), Label: int64(i * i), Split: float32(i), Yes: i%3 == 0}
		if i%5 == 0 {
			r.Maybe = &yes
		}
		rows = append(rows, r)
	}
	for version := 1; version <= 2; version++ {
		file := t.TempDir() + "/a.parquet"
		writeParquet(t, file, rows, 3000, parquet.PageBufferSize(4000), parquet.DataPageVersion(version), parquet.Compression(&parquet.Zstd))
		columns := []Column{{Name: "path"}, {Name: "words"}, {Name: "split"}, {Name: "yes"}, {Name: "maybe"}}
		columns = columns[:3+version] // the library's pages of version 1 cannot say that a value is missing: it does not read them either
		s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Columns: columns})
		must(t, err)
		for i := range s.Len() {
			b, text := read(t, s, i)
			r, got := rows[i], ""
			for k := range columns {
				got += string(b.Value(k)) + " "
			}
			want := fmt.Sprintf("%s %s %v %s ", r.Path, r.Words, r.Split, map[bool]string{true: "1", false: "0"}[r.Yes])
			if version == 2 && r.Maybe != nil {
				want += *r.Maybe + " "
			} else if version == 2 {
				want += " "
			}
			if text != string(r.Image) || s.Label(i) != r.Label || got != want {
				t.Fatalf("pages of version %d: sample %d: %q %d %q, want %q", version, i, text, s.Label(i), got, want)
			}
		}
		must(t, s.Close())
	}
}

// Bytes of any kind are a structure or an error, and never more memory than they have room for.
func TestRandomThriftTakesNoMemory(t *testing.T) {
	sound := thriftOf(t, &format.PageHeader{Type: format.DataPage, CompressedPageSize: 5, DataPageHeader: &format.DataPageHeader{NumValues: 7, Statistics: format.Statistics{MinValue: []byte("m")}}})
	for i := range damage.Count(20_000) {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		data := make([]byte, r.IntN(400))
		for k := range data {
			data[k] = byte(r.Uint32())
		}
		for k := range min(len(data), len(sound)*(i%2)) {
			if data[k] = sound[k]; r.IntN(20) == 0 {
				data[k] ^= 1 << r.IntN(8)
			}
		}
		for _, v := range []any{new(format.FileMetaData), new(format.PageHeader), new(format.OffsetIndex)} {
			if n, err := unmarshal("x", data, v); err == nil && (n == 0 || n > len(data)) {
				t.Fatalf("%x: %d bytes", data, n)
			}
		}
		_ = encodedWithin(format.DeltaByteArray, format.ByteArray, data, 100, 1<<20)
		_ = runsWithin(data, 3, 100)
	}
	h := new(format.PageHeader)
	if n, err := unmarshal("x", append(bytes.Clone(sound), "behind"...), h); err != nil || n != len(sound) || h.DataPageHeader.NumValues != 7 {
		t.Fatal(n, err, h)
	}
	if _, err := unmarshal("x", sound[:len(sound)-1], h); !errors.Is(err, errThriftShort) {
		t.Fatal(err)
	}
}

// exactAlone says of statistics, which end with a smallest value, whether that is exact, and of no largest one: pyarrow writes so where the largest has too many bytes to be there.
func exactAlone(t testing.TB, b []byte) []byte {
	t.Helper()
	said := bytes.Replace(b, []byte("\x01m\x00"), []byte("\x01m\x21\x00"), 1)
	if len(said) == len(b) {
		t.Fatalf("%x: it has no such statistics", b)
	}
	return said
}

// Fields of newer versions of the format are passed over, whatever they are, and those behind them are read.
func TestFieldsThatNobodyKnowsArePassedOver(t *testing.T) {
	least, value := format.Statistics{MinValue: []byte("m")}, plain([]byte("x"))
	header := exactAlone(t, thriftOf(t, &format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(len(value)), CompressedPageSize: int32(len(value)),
		DataPageHeader: &format.DataPageHeader{NumValues: 1, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE, Statistics: least}}))
	f := forged{rows: 1, pages: [][]byte{append(header, value...)}, edit: func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].MetaData.Statistics = least }}
	data := f.bytes(t)
	n := len(data) - footerEndBytes - int(binary.LittleEndian.Uint32(data[len(data)-footerEndBytes:]))
	file := t.TempDir() + "/a.parquet"
	write(t, file, string(withFooter(data[:n:n], exactAlone(t, data[n:len(data)-footerEndBytes]))))
	must(t, readForged(file))

	for name, newer := range map[string]string{
		"a boolean":                        "\x11",
		"two":                              "\x12\x11",
		"a number":                         "\x16\x80\x01",
		"a text":                           "\x18\x02ab",
		"a list of booleans":               "\x19\x21\x01\x02",
		"a structure, of a list and so on": "\x1c\x11\x19\x1c\x15\x02\x00\x1712345678\x00",
		"one whose number is far":          "\x01\xd0\x0f",
	} {
		statistics := "\x18\x01M\x18\x01m" + newer + "\x06\x06\x0e\x00" // its largest and smallest value, and behind what is newer how many are null
		h := new(format.PageHeader)
		data := "\x15\x00\x15\x02\x15\x02\x2c\x15\x04\x15\x00\x15\x06\x15\x06\x1c" + statistics + "\x00\x00behind"
		if got, err := unmarshal("x", []byte(data), h); err != nil || got != len(data)-len("behind") {
			t.Fatalf("%s: %d bytes, %v", name, got, err)
		}
		if d := h.DataPageHeader; d == nil || d.NumValues != 2 || string(d.Statistics.Max) != "M" || string(d.Statistics.Min) != "m" || d.Statistics.NullCount != 7 {
			t.Errorf("%s: got %+v", name, d)
		}
	}
}

// A field that has another type than it should is passed over, as a list of other things is: what is behind it is read.
func TestFieldsOfOtherTypesArePassedOver(t *testing.T) {
	h, data := new(format.PageHeader), "\x15\x00\x15\x02\x15\x04\x18\x02no\x1c\x15\x04\x15\x00\x15\x06\x15\x06\x00\x00" // a checksum that is a text
	if got, err := unmarshal("x", []byte(data), h); err != nil || got != len(data) || h.CRC != 0 || h.DataPageHeader.NumValues != 2 {
		t.Fatal(got, err, h)
	}
	m, data := new(format.FileMetaData), "\x15\x02\x19\x0c\x16\x04\x19\x0c\x19\x25\x02\x04\x18\x02me\x00" // keys and values that are numbers
	if got, err := unmarshal("x", []byte(data), m); err != nil || got != len(data) || m.NumRows != 2 || m.KeyValueMetadata != nil || m.CreatedBy != "me" {
		t.Fatal(got, err, m)
	}
}
