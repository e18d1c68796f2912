package source

import (
	"io"
	"math"
	"sort"

	"github.com/parquet-go/parquet-go/format"
)

// Where the data pages of a chunk begin, its file's own index says, if it has one; most writers write none. Else the pages' headers say it, each of
// which tells where the next one is. A header that lies in a store costs a request, so a small chunk is read whole when its first page is wanted, and of a
// large one the headers are read, up to the wanted page's. Whoever reads on from page to page gets several of them in one read, twice as many each time.
const (
	stretchBytes   = 8 << 20  // of one read of a store; a chunk of so many is small
	stretchDecoded = 32 << 20 // of the pages that come with the wanted one
	nearPages      = 2        // several threads that read one after the other may come a little out of order
	maxRun         = 1 << 10
)

// pageTable is where some of a chunk's data pages are: from the first on, as far as anybody has wanted them.
type pageTable struct {
	pages []format.PageLocation // with values, ascending; the sizes have the headers in them
	rows  int64                 // of these pages
	next  int64                 // where the next page begins, whatever it is
	last  int                   // that was read last; -1: none
	run   int                   // how many are read at once: twice as many each time that somebody has read on
}

// table is what is known of the chunk's pages: by the file's own index, or by what was read of it before this start, or nothing yet.
func (c *chunk) table() (*pageTable, error) {
	from, to, err := c.span()
	if err != nil {
		return nil, err
	}
	if t := c.file.tables.of(c); t != nil {
		return t, nil
	}
	if index := c.ownIndex(); index != nil {
		return &pageTable{pages: index, rows: c.rows, next: to, last: -1}, nil
	}
	return &pageTable{next: from, last: -1}, nil
}

// tableOf is what is known of the chunk's pages as they are to be read: of lists all, as their headers do not tell their rows.
func (c *chunk) tableOf() (*pageTable, error) {
	if c.column.MaxRepetitionLevel() > 0 {
		return c.listTable()
	}
	return c.table()
}

func (c *chunk) ownIndex() []format.PageLocation {
	at, n := c.meta.OffsetIndexOffset, int64(c.meta.OffsetIndexLength)
	if at <= 0 || n <= 0 || n > c.file.size-at {
		return nil
	}
	data := make([]byte, n)
	if _, err := c.file.at.ReadAt(data, at); err != nil && err != io.EOF {
		return nil
	}
	var index format.OffsetIndex
	if _, err := unmarshal("index of pages", data, &index); err != nil || !c.areIn(index.PageLocations, c.rows) {
		return nil
	}
	return index.PageLocations
}

// areIn says that pages lie in the chunk, one behind the other, and have these rows.
func (c *chunk) areIn(pages []format.PageLocation, rows int64) bool {
	at, to, err := c.span()
	if err != nil || rows > c.rows {
		return false
	}
	for k, p := range pages {
		if p.Offset < at || p.CompressedPageSize <= 0 || int64(p.CompressedPageSize) > to-p.Offset ||
			p.FirstRowIndex >= rows || (k == 0) != (p.FirstRowIndex == 0) || k > 0 && p.FirstRowIndex <= pages[k-1].FirstRowIndex {
			return false
		}
		at = p.Offset + int64(p.CompressedPageSize)
	}
	return len(pages) > 0
}

// pageOf is the number of the page with a row.
func pageOf(pages []format.PageLocation, row int64) int {
	return sort.Search(len(pages), func(k int) bool { return pages[k].FirstRowIndex > row }) - 1
}

// end is where page k ends.
func (t *pageTable) end(k int) int64 { return t.pages[k].Offset + int64(t.pages[k].CompressedPageSize) }

// near says that the page with a row is one of the next behind that which was read last. Where the page is not known its row says so, by those of the
// page before.
func (t *pageTable) near(row int64) bool {
	switch n := len(t.pages); {
	case t.last < 0:
		return false
	case row < t.rows:
		k := pageOf(t.pages, row)
		return k > t.last && k <= t.last+nearPages
	default:
		return n <= t.last+nearPages && row-t.rows < nearPages*(t.rows-t.pages[n-1].FirstRowIndex)
	}
}

// late says that page k lies shortly before that which was read last: who reads on from there still does.
func (t *pageTable) late(k int) bool { return k >= 0 && k < t.last && k >= t.last-nearPages }

// along is how many bytes to read where the next pages are not known, by what they took so far; 0: they are too large to be read together.
func (t *pageTable) along() int64 {
	most := int64(0)
	for k := max(len(t.pages)-nearPages, 0); k < len(t.pages); k++ {
		most = max(most, int64(t.pages[k].CompressedPageSize))
	}
	if 2*most > stretchBytes {
		return 0
	}
	return min(most*int64(t.run), stretchBytes)
}

// step reads the header of the next page, and takes the page if it has values.
func (t *pageTable) step(in *pages) error {
	in.at = t.next
	h, err := in.header()
	if err != nil {
		return err
	}
	in.at += int64(h.CompressedPageSize)
	if n, data := valuesOf(h); data && n > 0 {
		t.pages = append(t.pages, format.PageLocation{Offset: t.next, CompressedPageSize: int32(min(in.at-t.next, math.MaxInt32)), FirstRowIndex: t.rows})
		t.rows += n
	}
	t.next = in.at
	return nil
}

// chunkPart is some bytes of a chunk that were read at once; none of a local file.
type chunkPart struct {
	*chunk
	at   int64
	data []byte
}

// fetch learns where the page with a row is, and reads what is to be read of it at once.
func (c *chunk) fetch(t *pageTable, row int64) (*chunkPart, error) {
	s := &chunkPart{chunk: c}
	from, to, err := c.span()
	if err != nil {
		return nil, err
	}
	remote, known := c.file.file == nil, -1
	if row < t.rows {
		known = pageOf(t.pages, row)
	}
	near := t.near(row)
	switch {
	case near:
		t.run = min(2*t.run, maxRun)
	case !t.late(known):
		t.run = 1
	}
	if known < 0 && remote {
		n := int64(0)
		if near {
			n = t.along()
		} else if t.pages == nil && to-from <= stretchBytes {
			n = to - from
		}
		if err := s.read(t.next, min(t.next+n, to)); err != nil {
			return nil, err
		}
		s.learn(t)
	}
	in, err := c.pages(t.next)
	if err != nil {
		return nil, err
	}
	in.ahead, in.aheadAt = s.data, s.at
	for row >= t.rows {
		if err := t.step(in); err != nil {
			return nil, err
		}
	}
	k := pageOf(t.pages, row)
	if !remote || s.has(t.pages[k].Offset, t.end(k)) {
		return s, nil
	}
	first, last := k, k
	if near && t.end(k)-t.pages[t.last+1].Offset <= stretchBytes {
		first = t.last + 1 // also those that somebody else will ask for next
	}
	for !t.late(k) && last+1 < len(t.pages) && last+1-first < t.run && t.end(last+1)-t.pages[first].Offset <= stretchBytes {
		last++
	}
	return s, s.read(t.pages[first].Offset, t.end(last))
}

func (s *chunkPart) read(from, to int64) error {
	if from == to {
		return nil
	}
	data := make([]byte, to-from)
	if n, err := s.file.at.ReadAt(data, from); n < len(data) {
		return err
	}
	s.at, s.data = from, data
	return nil
}

func (s *chunkPart) has(from, to int64) bool { return from >= s.at && to <= s.at+int64(len(s.data)) }

// learn goes through the headers that the part has. What is wrong with one is told to who wants its page.
func (s *chunkPart) learn(t *pageTable) {
	in := &pages{chunk: s.chunk, end: s.at + int64(len(s.data)), ahead: s.data, aheadAt: s.at}
	for t.next < in.end && t.rows < s.rows {
		if t.step(in) != nil {
			return
		}
	}
}

// pages reads page k.
func (s *chunkPart) pages(t *pageTable, k int) (*pages, error) {
	in, err := s.chunk.pages(t.pages[k].Offset)
	if err != nil {
		return nil, err
	}
	from, _, err := s.span()
	in.known, in.words = int64(t.pages[k].CompressedPageSize), t.pages[0].Offset-from
	if in.ahead, in.aheadAt = s.data, s.at; s.has(in.at, t.end(k)) {
		in.end = t.end(k)
	}
	return in, err
}

// others are the pages that the part has but for one, those behind it first.
func (s *chunkPart) others(t *pageTable, k int) (others []int) {
	for at := k + 1; at < len(t.pages) && s.has(t.pages[at].Offset, t.end(at)); at++ {
		others = append(others, at)
	}
	for at := k - 1; at >= 0 && s.has(t.pages[at].Offset, t.end(at)); at-- {
		others = append(others, at)
	}
	return others
}
