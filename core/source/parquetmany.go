package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A medium of several pictures in Parquet: a list of bytes a row in a column, or of {bytes, path} as Hugging Face's Sequence(Image()) is, or columns with
// a picture or null each.

// severalColumns are those of a medium of several pictures, by their places.
func (f *parquetFile) severalColumns(m *Medium) (columns []int, err error) {
	from := m.columns()
	if m.Each {
		for _, name := range from {
			at, err := f.medium([]string{name})
			if err != nil {
				return nil, err
			}
			columns = append(columns, f.column(at))
		}
		return columns, nil
	}
	for _, name := range from {
		if strings.Contains(name, numberMark) {
			if columns, err = f.numberedColumns(name); columns != nil || err != nil {
				return columns, err
			}
			continue
		}
		for _, name := range []string{name, name + ".bytes"} {
			if at := f.list(name); at >= 0 {
				if e := &f.elements[at]; describeKind(e) != "bytes" || len(f.nestings[at].levels) != 1 || numbersOf(e) != noNumbers {
					return nil, fmt.Errorf("column %q holds no list of bytes a row; paths are read with list: FILE", name)
				}
				return []int{at}, nil
			}
		}
		if f.column(name) >= 0 || f.column(name+".bytes") >= 0 {
			at, err := f.medium([]string{name})
			return []int{f.column(at)}, err
		}
	}
	return nil, lacking("no column %s; the columns are %s; say in from which holds lists of pictures, or in many.of which columns are one each", strings.Join(from, " or "), f.describe())
}

// numberedColumns are those whose names have a number where a pattern has its mark, in the order of the numbers.
func (f *parquetFile) numberedColumns(pattern string) (columns []int, err error) {
	byNumber := map[int]string{}
	for _, name := range f.leaves() {
		n, is := numberIn(pattern, strings.TrimSuffix(name, ".bytes"))
		if !is {
			continue
		}
		if other, twice := byNumber[n]; twice {
			return nil, fmt.Errorf("columns %q and %q are both number %d of %q", other, name, n, pattern)
		}
		if !f.isBytes(name) {
			return nil, fmt.Errorf("column %q holds no bytes", name)
		}
		byNumber[n] = name
	}
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		columns = append(columns, f.column(byNumber[n]))
	}
	return columns, nil
}

// readSeveral makes a row's pictures in a medium's columns the sample's next part.
func (s *parquetShards) readSeveral(g *rowGroup, k int, i int64, b *Buffer) error {
	m := &s.media[k]
	pages, all := make([]*page, len(g.columns[k])), 0
	for c, column := range g.columns[k] {
		p, err := s.page(g, column, i-g.first, true)
		if err != nil {
			return err
		}
		from, to := p.pictures(i - g.first)
		pages[c], all = p, all+int(to-from)
	}
	left, err := m.tooMany(all)
	if err != nil {
		return err
	}
	first := len(b.parts)
	for c, p := range pages {
		from, to := p.pictures(i - g.first)
		for at := from; at < min(to, from+int64(left)); at++ {
			data := p.values.at(at)
			column := []byte(g.file.nestings[g.columns[k][c]].name)
			switch n := len(b.parts) - first; {
			case len(data) == 0:
				return m.picture(&Error{Cause: Empty, Detail: "got no bytes; where a column beside it names a file instead, as in Hugging Face's {bytes, path}, list: FILE with path: images.path reads that"}, n, all, "column", column)
			case int64(len(data)) > s.maxBytes:
				return m.picture(&Error{Cause: TooLarge, Detail: fmt.Sprintf("got %d bytes, want at most %d", len(data), s.maxBytes)}, n, all, "column", column)
			}
			copy(b.behind(len(data)), data)
			b.holdNext(len(data))
		}
		left -= int(min(to-from, int64(left)))
	}
	b.bundle(first, len(b.parts))
	return nil
}

// pictures is which of the page's values are those of a row of the group.
func (p *page) pictures(row int64) (from, to int64) {
	if row -= p.first; row > 0 {
		from = p.ends[row-1]
	}
	return from, p.ends[row]
}

// decodeSeveral makes values of the pages that begin with number k, up to the next one in the table, or of some of their rows, among which is the one that is wanted.
func (g *rowGroup) decodeSeveral(column int, from *chunkPart, t *pageTable, k int, row int64) (p *page, err error) {
	defer damaged(&err)
	in, err := from.pages(t, k)
	if err != nil {
		return nil, err
	}
	in.end = t.end(k)
	pages := in.open()
	defer func() { err = errors.Join(err, pages.Close()) }()
	next := t.rows
	if k+1 < len(t.pages) {
		next = t.pages[k+1].FirstRowIndex
	}
	p = &page{group: g, column: column, several: true, first: t.pages[k].FirstRowIndex}
	fill := severalRows{page: p, first: p.first, next: p.first, wanted: row, most: math.MaxInt, within: 0, whole: in.column.MaxDefinitionLevel()}
	if levels := g.file.nestings[column].levels; len(levels) > 0 {
		fill.within, fill.list = levels[0], true
	}
	for !fill.enough {
		data, err := pages.ReadPage()
		if err == io.EOF && in.err == io.EOF {
			break
		}
		if err != nil {
			return nil, in.failed(err)
		}
		if data.Dictionary() != nil && fill.next == fill.first { // it may repeat values very often: of the rows before the wanted one none is kept
			p.first, fill.most = row, keptWordBytes
		}
		err = eachValue(data, fill.take)
		parquet.Release(data)
		if err != nil && err != errRowsThere {
			return nil, err
		}
	}
	if fill.next > p.first && !fill.enough {
		fill.end()
	}
	if !fill.enough && fill.next != next {
		return nil, errors.New("the row group has not the rows that it says")
	}
	return p, nil
}

// severalRows takes the values of a column as a page's.
type severalRows struct {
	page   *page
	first  int64 // row that the pages begin with
	next   int64 // row that is to begin next
	wanted int64
	most   int // bytes behind which no row is begun, once the wanted one is there
	list   bool
	within int // the definition level from which on a value is in the list, or there
	whole  int // that of a value that is not null
	enough bool
}

var errRowsThere = errors.New("the rows that are wanted are there")

func (r *severalRows) take(v parquet.Value) error {
	p := r.page
	switch {
	case v.RepetitionLevel() == 0:
		if r.next > p.first {
			r.end()
		}
		if r.next > r.wanted && len(p.values.bytes) > r.most {
			r.enough = true
			return errRowsThere
		}
		r.next++
	case r.next == r.first:
		return errLevels
	}
	level := v.DefinitionLevel()
	if there := level >= r.within && (r.list || level > 0 || r.whole == 0); r.next > p.first && there {
		p.values.add(bytesOf(v))
	}
	return nil
}

// end ends the row in hand.
func (r *severalRows) end() {
	r.page.ends = append(r.page.ends, int64(len(r.page.values.ends)))
	r.page.n++
}

// listTable is the table of a column of lists, of which only the pages themselves tell which rows they have. It is of the whole chunk; pages that go on with a row of
// the page before them are one with that.
func (c *chunk) listTable() (*pageTable, error) {
	t, err := c.table()
	if err != nil || t.rows == c.rows {
		return t, err
	}
	from, to, err := c.span()
	if err != nil {
		return nil, err
	}
	in, err := c.pages(from)
	if err != nil {
		return nil, err
	}
	if c.file.file == nil { // all of them will be read
		in.stretch = stretchBytes
	}
	t = &pageTable{last: -1}
	for values := int64(0); values < c.meta.MetaData.NumValues && in.at < to; {
		at := in.at
		h, err := in.header()
		if err != nil {
			return nil, err
		}
		packed, err := in.bytes(in.at, int64(h.CompressedPageSize))
		if err != nil {
			return nil, err
		}
		in.at += int64(h.CompressedPageSize)
		n, data := valuesOf(h)
		if !data || n == 0 {
			continue
		}
		rows, begins, err := in.rowsOf(h, packed)
		if err != nil {
			return nil, err
		}
		if values += n; begins {
			t.pages = append(t.pages, format.PageLocation{Offset: at, FirstRowIndex: t.rows})
		} else if t.pages == nil {
			return nil, errLevels
		}
		last := &t.pages[len(t.pages)-1]
		if in.at-last.Offset > math.MaxInt32 {
			return nil, errors.New("a row and those beside it take more than 2 GiB; write the file with smaller pages")
		}
		last.CompressedPageSize = int32(in.at - last.Offset)
		t.rows += rows
	}
	if t.next = in.at; t.rows != c.rows {
		return nil, fmt.Errorf("damaged: got %d lists of %d rows", t.rows, c.rows)
	}
	return t, nil
}

// rowsOf counts the rows that begin in a page, and says whether its first value begins one.
func (p *pages) rowsOf(h *format.PageHeader, packed []byte) (rows int64, begins bool, err error) {
	deep, n := p.column.MaxRepetitionLevel(), int64(0)
	levels := packed
	if h.DataPageHeaderV2 != nil {
		n = int64(h.DataPageHeaderV2.NumValues)
		size := int64(h.DataPageHeaderV2.RepetitionLevelsByteLength)
		if size < 0 || size > int64(len(packed)) {
			return 0, false, errRuns
		}
		levels = packed[:size]
	} else {
		n = int64(h.DataPageHeader.NumValues)
		if h.DataPageHeader.RepetitionLevelEncoding == format.BitPacked {
			return 0, false, errEncoding(format.BitPacked)
		}
		data, err := unpack(nil, p.meta.MetaData.Codec, packed, int(h.UncompressedPageSize))
		if err != nil {
			return 0, false, err
		}
		if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
			return 0, false, errRuns
		}
		levels = data[4:][:binary.LittleEndian.Uint32(data)]
	}
	if err := levelsWithin(levels, deep, n); err != nil {
		return 0, false, err
	}
	width := bits.Len(uint(deep))
	return levelsAt(levels, width, 0, n), levelsAt(levels, width, 0, 1) == 1, nil
}

// numberMark is where a pattern has a number.
const numberMark = "*"

// numberIn is the number that a name has where a pattern has its mark.
func numberIn(pattern, name string) (n int, is bool) {
	before, behind, _ := strings.Cut(pattern, numberMark)
	digits, is := strings.CutPrefix(name, before)
	if is {
		digits, is = strings.CutSuffix(digits, behind)
	}
	if !is || len(digits) == 0 || len(digits) > 9 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}
