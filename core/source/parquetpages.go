package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	aheadBytes = 16 << 10 // read with the header of a page
	valueBytes = 32       // in memory, for a value of a page beside its own bytes, and more than it takes
)

// chunk is a column of a row group: some pages, one after the other.
type chunk struct {
	file   *parquetFile
	place  chunkPlace
	column *parquet.Column
	meta   *format.ColumnChunk
	rows   int64
}

// span is where its pages are in the file.
func (c *chunk) span() (from, to int64, err error) {
	m := &c.meta.MetaData
	if from = m.DataPageOffset; m.DictionaryPageOffset != 0 {
		from = m.DictionaryPageOffset
	}
	if to = from + m.TotalCompressedSize; from < 0 || to < from || to > c.file.size {
		return 0, 0, fmt.Errorf("damaged: its pages are at bytes %d to %d of %d", from, to, c.file.size)
	}
	return from, to, nil
}

// pages reads from one of the pages on.
func (c *chunk) pages(at int64) (*pages, error) {
	from, to, err := c.span()
	if err == nil && (at < from || at > to) {
		err = fmt.Errorf("damaged: a page is at byte %d, the column at %d to %d", at, from, to)
	}
	return &pages{chunk: c, at: at, end: to}, err
}

// pages reads the pages of a chunk one after the other. What is read is looked at before it is unpacked, and unpacked before the library
// decodes it: a page never takes more memory than it has room for.
type pages struct {
	*chunk
	at, end    int64 // of the next page, of the last
	known      int64 // bytes of the next, if that is known
	stretch    int64 // how many bytes are read at a time, if they are more than a page's header needs
	ahead      []byte
	aheadAt    int64
	words      int64    // bytes of the dictionary with its header, if that is known
	dictionary bool     // the library has it
	ready      [][]byte // what it is to have next
	err        error
}

// bytes are n of the file's from at on, or fewer where the chunk ends. They hold until the next call.
func (p *pages) bytes(at, n int64) ([]byte, error) {
	n = min(n, p.end-at)
	if at >= p.aheadAt && at+n <= p.aheadAt+int64(len(p.ahead)) {
		return p.ahead[at-p.aheadAt:][:n], nil
	}
	to := make([]byte, max(n, min(max(aheadBytes, p.stretch), p.end-at)))
	got, err := p.file.at.ReadAt(to, at)
	if int64(got) < n {
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	p.ahead, p.aheadAt = to[:got], at
	return to[:n], nil
}

// header reads the next page's, and goes behind it.
func (p *pages) header() (*format.PageHeader, error) {
	for n := max(int64(1<<10), p.known); ; n *= 16 { // a page may have its smallest and largest value in its header
		data, err := p.bytes(p.at, n)
		if err != nil {
			return nil, err
		}
		if len(data) == 0 {
			return nil, io.EOF
		}
		h := new(format.PageHeader)
		size, err := unmarshal("page header", data, h)
		if errors.Is(err, errThriftShort) && int64(len(data)) == n {
			continue
		}
		if err != nil {
			return nil, err
		}
		p.at += int64(size)
		if h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > p.end-p.at {
			return nil, fmt.Errorf("damaged: a page has %d bytes, and its column %d more", h.CompressedPageSize, p.end-p.at)
		}
		return h, p.check(h)
	}
}

// check refuses a page that has more values than rows are left, or more to unpack than it has room for.
func (p *pages) check(h *format.PageHeader) error {
	n, data := valuesOf(h)
	if h.DictionaryPageHeader != nil {
		n = int64(h.DictionaryPageHeader.NumValues)
	}
	got := int64(h.UncompressedPageSize)
	each, all := valueBytes+p.width(), p.rows
	if p.column.MaxRepetitionLevel() > 0 {
		each, all = listBytes+p.width(), p.meta.MetaData.NumValues
	}
	switch most := roomOfPage(h); {
	case got < 0 || n < 0 || data && n > all:
		return fmt.Errorf("damaged: a page of %d values and %d bytes, in a row group of %d rows", n, got, p.rows)
	case got+n*each > most:
		return &unpacks{fmt.Sprintf("a page of %d bytes", h.CompressedPageSize), got + n*each, most}
	}
	return nil
}

// width is how many bytes a value of fixed length has.
func (p *pages) width() int64 {
	if t := p.column.Type(); t.Kind() == parquet.FixedLenByteArray {
		return int64(max(0, t.Length()))
	}
	return 0
}

// valuesOf is how many values a page of data has.
func valuesOf(h *format.PageHeader) (n int64, data bool) {
	switch {
	case h.Type == format.DataPage && h.DataPageHeader != nil:
		return int64(h.DataPageHeader.NumValues), true
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2 != nil:
		return int64(h.DataPageHeaderV2.NumValues), true
	}
	return 0, false
}

// ReadAt makes pages an io.ReaderAt that is read from its beginning to its end: the pages as the library is to have them, unpacked. It
// gives what is left of one at most.
func (p *pages) ReadAt(to []byte, _ int64) (n int, err error) {
	for len(p.ready) == 0 {
		if err := p.next(); err != nil {
			p.err = err
			return 0, err
		}
	}
	n = copy(to, p.ready[0])
	if p.ready[0] = p.ready[0][n:]; len(p.ready[0]) == 0 {
		p.ready = p.ready[1:]
	}
	return n, nil
}

// open hands the pages to the library. What ends them is told by failed.
func (p *pages) open() parquet.Pages {
	return p.file.RowGroups()[0].ColumnChunks()[p.column.Index()].(*parquet.FileColumnChunk).PagesFrom(p)
}

// failed is why a page could not be read: what was found here, else what the library says.
func (p *pages) failed(err error) error {
	switch {
	case p.err != nil && p.err != io.EOF:
		return p.err
	case errors.Is(err, encoding.ErrNotSupported):
		return fmt.Errorf("%w; write the column with PLAIN or a dictionary", err)
	}
	return err
}

// next makes the next page of data ready, or of a dictionary; io.EOF behind the last.
func (p *pages) next() error {
	h, err := p.header()
	if err != nil {
		return err
	}
	packed, err := p.bytes(p.at, int64(h.CompressedPageSize))
	if err != nil {
		return err
	}
	p.at, p.known = p.at+int64(h.CompressedPageSize), 0
	if got := crc32.ChecksumIEEE(packed); h.CRC != 0 && uint32(h.CRC) != got {
		return fmt.Errorf("damaged: a page has the checksum %08x, want %08x", got, uint32(h.CRC))
	}
	switch n, data := valuesOf(h); {
	case data && n == 0: // Arrow writes such; without levels the library does not take them
	case data && h.Type == format.DataPage:
		return p.dataV1(h, packed)
	case data:
		return p.dataV2(h, packed)
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader != nil:
		return p.wordsOf(h, packed)
	}
	return nil
}

// send makes a page ready that is unpacked.
func (p *pages) send(h *format.PageHeader, parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if size > math.MaxInt32 {
		return errRuns
	}
	h.CompressedPageSize, h.UncompressedPageSize, h.CRC = int32(size), int32(size), 0
	var protocol thrift.CompactProtocol
	head, err := thrift.Marshal(&protocol, h)
	if err != nil {
		return err
	}
	for _, part := range append([][]byte{head}, parts...) {
		if len(part) > 0 {
			p.ready = append(p.ready, part)
		}
	}
	return nil
}

// wordsOf makes a dictionary ready.
func (p *pages) wordsOf(h *format.PageHeader, packed []byte) error {
	if e := h.DictionaryPageHeader.Encoding; e != format.Plain && e != plainDictionary {
		return fmt.Errorf("damaged: a dictionary has the encoding %v", e)
	}
	data, err := unpack(nil, p.meta.MetaData.Codec, packed, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	p.dictionary = true
	return p.send(h, data)
}

// needed makes the dictionary ready that values refer to, where the pages are read from the middle of the chunk.
func (p *pages) needed(e format.Encoding) error {
	if p.dictionary || e != plainDictionary && e != format.RLEDictionary {
		return nil
	}
	from, _, err := p.span()
	if err != nil {
		return err
	}
	first := &pages{chunk: p.chunk, at: from, end: p.end, known: p.words, ahead: p.ahead, aheadAt: p.aheadAt}
	switch h, err := first.header(); {
	case err != nil:
		return err
	case h.Type != format.DictionaryPage || h.DictionaryPageHeader == nil:
		return errors.New("damaged: its pages need a dictionary, and it has none")
	}
	first.at = from
	if err := first.next(); err != nil {
		return err
	}
	p.ready, p.dictionary = append(p.ready, first.ready...), true
	return nil
}

func (p *pages) dataV1(h *format.PageHeader, packed []byte) error {
	d := h.DataPageHeader
	if err := p.needed(d.Encoding); err != nil {
		return err
	}
	data, err := unpack(nil, p.meta.MetaData.Codec, packed, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	values, n := data, int64(d.NumValues)
	var defined []byte // definition levels
	for _, l := range []struct {
		most int
		as   format.Encoding
	}{{p.column.MaxRepetitionLevel(), d.RepetitionLevelEncoding}, {p.column.MaxDefinitionLevel(), d.DefinitionLevelEncoding}} {
		if l.most == 0 {
			continue
		}
		if len(values) < 4 || int64(binary.LittleEndian.Uint32(values)) > int64(len(values)-4) {
			return errRuns
		}
		size := 4 + int(binary.LittleEndian.Uint32(values))
		if l.as != format.BitPacked { // which has no runs; any other one is read as runs, and writers differ in what they say
			if err := levelsWithin(values[4:size], l.most, n); err != nil {
				return err
			}
		}
		defined = values[4:size]
		values = values[size:]
	}
	if err := p.within(d.Encoding, values, n, h); err != nil {
		return err
	}
	levels := data[:len(data)-len(values)]
	if values, err = p.plain(&d.Encoding, values); err != nil {
		return err
	}
	if d.DefinitionLevelEncoding != format.BitPacked && p.short(d.Encoding, values, defined, n) {
		return errRuns
	}
	d.Statistics = format.Statistics{}
	return p.send(h, levels, values)
}

func (p *pages) dataV2(h *format.PageHeader, packed []byte) error {
	d := h.DataPageHeaderV2
	if err := p.needed(d.Encoding); err != nil {
		return err
	}
	repeats, levels := int64(d.RepetitionLevelsByteLength), int64(d.RepetitionLevelsByteLength)+int64(d.DefinitionLevelsByteLength)
	if repeats < 0 || levels < repeats || levels > int64(len(packed)) || d.NumNulls < 0 || d.NumNulls > d.NumValues {
		return errRuns
	}
	n, values := int64(d.NumValues), packed[levels:]
	if deep := p.column.MaxRepetitionLevel(); deep > 0 {
		if err := levelsWithin(packed[:repeats], deep, n); err != nil {
			return err
		}
	}
	if deep := p.column.MaxDefinitionLevel(); deep > 0 {
		if err := levelsWithin(packed[repeats:levels], deep, n); err != nil {
			return err
		}
	}
	if (d.IsCompressed == nil || *d.IsCompressed) && len(values) > 0 {
		var err error
		if values, err = unpack(nil, p.meta.MetaData.Codec, values, int(h.UncompressedPageSize)); err != nil {
			return err
		}
	}
	if err := p.within(d.Encoding, values, n, h); err != nil {
		return err
	}
	values, err := p.plain(&d.Encoding, values)
	if err != nil {
		return err
	}
	if p.short(d.Encoding, values, packed[repeats:levels], n) {
		return errRuns
	}
	d.Statistics, d.IsCompressed = format.Statistics{}, new(bool)
	return p.send(h, packed[:levels], values)
}

// plain makes values plain that lie split, and booleans in runs.
func (p *pages) plain(e *format.Encoding, values []byte) ([]byte, error) {
	switch {
	case *e == format.RLE && p.column.Type().Kind() == parquet.Boolean:
		*e = format.Plain
		return bitsOfRuns(values)
	case *e != format.ByteStreamSplit:
		return values, nil
	}
	*e = format.Plain
	switch p.column.Type().Kind() {
	case parquet.Int32, parquet.Float:
		return unsplit(values, 4)
	case parquet.Int64, parquet.Double:
		return unsplit(values, 8)
	}
	return unsplit(values, int(p.width())) // no width: they are of no fixed length
}

// short tells that plain values of one length, of which some of n may be null, are fewer than their definition levels say. The library would
// take what lies behind them in memory.
func (p *pages) short(e format.Encoding, values, levels []byte, n int64) bool {
	bits := 8 * p.width()
	switch p.column.Type().Kind() {
	case parquet.Boolean:
		bits = 1
	case parquet.Int32, parquet.Float:
		bits = 32
	case parquet.Int64, parquet.Double:
		bits = 64
	case parquet.Int96:
		bits = 96
	}
	if e != format.Plain || bits == 0 {
		return false
	}
	if highest := p.column.MaxDefinitionLevel(); highest > 0 {
		n = present(levels, highest, n)
	}
	return int64(len(values)) < (n*bits+7)/8
}

func (p *pages) within(e format.Encoding, values []byte, n int64, h *format.PageHeader) error {
	return encodedWithin(e, format.Type(p.column.Type().Kind()), values, n, roomOfPage(h))
}
