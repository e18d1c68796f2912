package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/format"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/tests/leak"
	"github.com/zeebo/xxh3"
)

// chunked is a Parquet file in a store, without an index of pages, whose one row group has pages of so many bytes, with two rows each.
type chunked struct {
	o    *objects
	c    ShardsConfig
	rows int64
	each int
}

func chunkOf(t *testing.T, pages, size int) *chunked {
	x := &chunked{rows: int64(2 * pages), each: size / 2}
	f := forged{rows: x.rows}
	for i := range pages {
		f.pages = append(f.pages, dataPage(t, format.Plain, 2, append(plain(x.value(int64(2*i))), plain(x.value(int64(2*i+1)))...), 0))
	}
	return x.served(t, &f)
}

func (x *chunked) served(t *testing.T, f *forged) *chunked {
	x.o = serveObjects(t, map[string]string{"/x.parquet": string(f.bytes(t))})
	x.c = ShardsConfig{Shards: []string{x.o.URL + "/x.parquet"}, IndexDir: t.TempDir(), Store: storeClient(t, store.Options{Retries: 1})}
	return x
}

func (x *chunked) value(i int64) []byte {
	return append(fmt.Appendf(nil, "%08d", i), bytes.Repeat([]byte{byte(i)}, x.each-8)...)
}

// open opens the file, and says how many requests, and bytes, reading some samples takes then.
func (x *chunked) open(t *testing.T) (s *parquetShards, takes func(samples ...int64) (requests int, bytes int64)) {
	t.Helper()
	s = openP(t, x.c)
	return s, func(samples ...int64) (int, int64) {
		t.Helper()
		requests, before := x.o.requests, x.c.Store.Stats().Bytes
		for _, i := range samples {
			if _, text := read(t, s, i); text != string(x.value(i)) {
				t.Fatalf("sample %d: got %.20q of %d bytes", i, text, len(text))
			}
		}
		return x.o.requests - requests, int64(x.c.Store.Stats().Bytes - before)
	}
}

func (x *chunked) all() (samples []int64) {
	for i := range x.rows {
		samples = append(samples, i)
	}
	return samples
}

// A small chunk of a store is one request, whichever of its rows is wanted first.
func TestASmallChunkIsReadWhole(t *testing.T) {
	x := chunkOf(t, 40, 50<<10)
	_, takes := x.open(t)
	if n, _ := takes(33); n != 1 {
		t.Errorf("%d requests for the first sample, want 1", n)
	}
	if n, _ := takes(x.all()...); n != 0 {
		t.Errorf("%d more requests for all, want none", n)
	}
}

// Of a large chunk the headers are read up to the wanted page's, and never again; pages that are read one after the other come several at a time.
func TestALargeChunkIsProbedOrReadInStretches(t *testing.T) {
	const page = 512 << 10
	x := chunkOf(t, 40, page)
	s, takes := x.open(t)
	if n, size := takes(41, 40); n != 21+1 || size > 21*aheadBytes+page+100 {
		t.Errorf("%d requests and %d bytes for a sample of page 20, want the headers of 21 and the page", n, size)
	}
	if n, size := takes(70); n != 15+1 || size > 15*aheadBytes+page+100 {
		t.Errorf("%d requests and %d bytes for one of page 35, want 15 headers more and the page", n, size)
	}
	if n, size := takes(10); n != 1 || size > page+100 {
		t.Errorf("%d requests and %d bytes for one of a page whose place is known", n, size)
	}
	must(t, s.Close())

	_, takes = x.open(t) // what was learned is kept
	if n, _ := takes(70, 12); n != 2 {
		t.Errorf("%d requests after a new start, want one a page", n)
	}

	x.c.IndexDir = t.TempDir()
	s, takes = x.open(t)
	// the header and the page of the first, then 2, 4, 8, 15, as many as fit into a stretch, and the other 10
	if n, _ := takes(x.all()...); n != 2+5 {
		t.Errorf("%d requests to read %d pages in order, want 7", n, x.rows/2)
	}
	must(t, s.Close())
	_, takes = x.open(t)
	if n, _ := takes(x.all()...); n != 1+5 {
		t.Errorf("%d requests to read them again in order, want 6", n)
	}
}

// Who reads on and skips a page, or comes a little out of order, as several threads do, reads on all the same; a shuffle does not, but for what lies near by
// chance.
func TestReadingOnIsNotByEachPage(t *testing.T) {
	const page = 512 << 10
	for _, known := range []bool{false, true} {
		x := chunkOf(t, 40, page)
		s, takes := x.open(t)
		if known {
			takes(79)
			must(t, s.Close())
			s, takes = x.open(t)
		}
		var order []int64
		for i := int64(0); i < 80; i += 4 {
			order = append(order, i+2, i, i+1, i+3)
		}
		if n, size := takes(order...); n > 12 || size > 42*page {
			t.Errorf("known %v: %d requests and %d bytes, want a few and each page once", known, n, size)
		}
		must(t, s.Close())
		_, takes = x.open(t)
		apart := []int64{40, 2, 60, 20, 70, 10, 50, 30, 79, 6}
		if n, size := takes(apart...); n != len(apart) || size > int64(len(apart))*(page+100) {
			t.Errorf("%d requests and %d bytes for %d samples that lie apart", n, size, len(apart))
		}
	}
}

// As many threads as an engine has read an epoch in order with few requests, and each page about once.
func TestThreadsThatReadInOrder(t *testing.T) {
	x := chunkOf(t, 80, 512<<10)
	x.o.fault = func(http.ResponseWriter, *http.Request) bool {
		time.Sleep(5 * time.Millisecond) // as a store takes a while, all threads wait at once
		return false
	}
	for _, most := range []int{40, 30} { // without anything known, and with all
		s, _ := x.open(t)
		before, size := x.o.requests, x.c.Store.Stats().Bytes
		var next atomic.Int64
		var all sync.WaitGroup
		for range 16 {
			all.Add(1)
			go func() {
				defer all.Done()
				var b Buffer
				for i := next.Add(1) - 1; i < x.rows; i = next.Add(1) - 1 {
					if err := s.Read(background, i, &b); err != nil || !bytes.Equal(b.Bytes(), x.value(i)) {
						t.Errorf("sample %d: %v", i, err)
					}
				}
			}()
		}
		all.Wait()
		if n, size := x.o.requests-before, x.c.Store.Stats().Bytes-size; n > most || size > 50<<20 {
			t.Errorf("%d requests and %d bytes for 80 pages, want at most %d", n, size, most)
		}
		must(t, s.Close())
	}
}

// Pages that are so large that a stretch holds none are read one by one, in order, too.
func TestLargePagesAreNoStretch(t *testing.T) {
	const page = 5 << 20
	x := chunkOf(t, 4, page)
	_, takes := x.open(t)
	if n, size := takes(x.all()...); n != 2*4 || size > 4*(page+aheadBytes+100) {
		t.Errorf("%d requests and %d bytes, want a header and a page each", n, size)
	}
}

// A dictionary comes with a small chunk; of a large one it is one request more for a page that refers to it.
func TestDictionariesOfAStore(t *testing.T) {
	for _, c := range []struct{ each, requests int }{
		{1000, 1},
		{2 << 20, 2 + 1 + 1}, // two headers, the page, the dictionary
	} {
		x := &chunked{rows: 6, each: c.each}
		words := wordsPage(t, 2, append(plain(x.value(0)), plain(x.value(1))...))
		f := forged{rows: 6, pages: [][]byte{words, dataPage(t, format.RLEDictionary, 2, []byte{1, 3, 0b10}, 0)},
			edit: func(m *format.FileMetaData) {
				chunk := &m.RowGroups[0].Columns[0].MetaData
				chunk.DictionaryPageOffset, chunk.DataPageOffset = 4, 4+int64(len(words))
			}}
		for i := int64(2); i < 6; i += 2 {
			f.pages = append(f.pages, dataPage(t, format.Plain, 2, append(plain(x.value(i)), plain(x.value(i+1))...), 0))
		}
		x.served(t, &f)
		_, takes := x.open(t)
		if n, _ := takes(1, 0); n != c.requests {
			t.Errorf("values of %d bytes: %d requests for a page that refers to a dictionary, want %d", c.each, n, c.requests)
		}
		takes(x.all()...)
	}
}

// What is wrong with one page of a chunk that was read whole is no fault of the others', before it and behind it.
func TestADamagedPageOfASmallChunkIsItsOwn(t *testing.T) {
	x := chunkOf(t, 5, 1000)
	data := x.o.data["/x.parquet"]
	at := strings.Index(data, string(x.value(4))) - 4
	x.o.data["/x.parquet"] = data[:at] + "\xff\xff\xff\x7f" + data[at+4:]
	s, takes := x.open(t)
	takes(8, 0)
	remoteCause(t, s, 4, IO)
	takes(9, 1, 2, 7)
}

// So it is where the library panics on it: a page of a column that may be null, without a word on what is null.
func TestAPageThatPanicsIsItsOwn(t *testing.T) {
	x := &chunked{rows: 2, each: 100}
	page := func(i int64, levels []byte) []byte {
		body := append(levels, plain(x.value(i))...)
		h := format.PageHeader{Type: format.DataPageV2, CompressedPageSize: int32(len(body)), UncompressedPageSize: int32(len(body)), DataPageHeaderV2: &format.DataPageHeaderV2{
			NumValues: 1, NumRows: 1, Encoding: format.Plain, DefinitionLevelsByteLength: int32(len(levels)), IsCompressed: new(bool)}}
		return append(thriftOf(t, &h), body...)
	}
	x.served(t, &forged{rows: 2, optional: true, pages: [][]byte{page(0, []byte{2, 1}), page(1, nil)}})
	s, takes := x.open(t)
	takes(0)
	remoteCause(t, s, 1, IO)
}

// Positions that are kept of another version, or damaged, or could not be true, are learned again.
func TestKeptPositionsThatAreWrongAreLearnedAgain(t *testing.T) {
	x := chunkOf(t, 20, 512<<10)
	s, takes := x.open(t)
	takes(39)
	must(t, s.Close())
	names := leak.Names(t, x.c.IndexDir)
	path := ""
	for _, name := range names {
		if strings.HasSuffix(name, tablesEnding) {
			path = filepath.Join(x.c.IndexDir, name)
		}
	}
	data, err := os.ReadFile(path)
	must(t, err)
	mended := func(at int, v uint64) []byte {
		bad := bytes.Clone(data)
		binary.LittleEndian.PutUint64(bad[at:], v)
		return mendTables(bad, version{})
	}
	pages := tablesHead + tableHead
	for what, bad := range map[string][]byte{
		"empty": nil, "short": data[:len(data)-1], "a bit": append(bytes.Clone(data[:len(data)-1]), data[len(data)-1]^1),
		"another version": mended(len(tablesMagic)+8, 5), "beyond the file": mended(pages, 1<<40), "no bytes": mended(pages+8, 0), "rows that fall": mended(pages+tablePage+16, 0),
		"more rows": mended(tablesHead+24, 41), "the next page before": mended(tablesHead+16, 4), "pages without end": mended(tablesHead+32, 1<<60),
	} {
		must(t, os.WriteFile(path, bad, 0o600))
		s, takes := x.open(t)
		if n, _ := takes(39); n != 20+1 {
			t.Errorf("%s: %d requests, want %d", what, n, 21)
		}
		must(t, s.Close())
	}
	x.o.change(func() { x.o.etag["/x.parquet"] = "+" })
	if _, takes = x.open(t); true {
		if n, _ := takes(39); n != 21 {
			t.Errorf("another version: %d requests", n)
		}
	}
}

// mendTables makes the head right, so that the rest counts; of a version, if it is one.
func mendTables(data []byte, v version) []byte {
	le, head := binary.LittleEndian, len(tablesMagic)
	if data = bytes.Clone(data); len(data) < tablesHead {
		return data
	}
	copy(data, tablesMagic)
	if v != (version{}) {
		le.PutUint64(data[head+8:], uint64(v.size))
		le.PutUint64(data[head+16:], v.tag)
	}
	le.PutUint64(data[head:], xxh3.Hash(data[head+8:]))
	return data
}

// FuzzKeptPages: whatever is kept of pages, even with a right check sum, lies in the chunk or is not taken.
func FuzzKeptPages(f *testing.F) {
	file := &parquetFile{size: 1000, version: version{1000, 7}, tables: &pageTables{path: filepath.Join(f.TempDir(), "x")}}
	c := &chunk{file: file, place: chunkPlace{1, 2}, rows: 10, meta: &format.ColumnChunk{MetaData: format.ColumnMetaData{DataPageOffset: 100, TotalCompressedSize: 500}}}
	file.tables.learned(c, &pageTable{next: 300, rows: 7, pages: []format.PageLocation{{Offset: 100, CompressedPageSize: 50}, {Offset: 160, CompressedPageSize: 100, FirstRowIndex: 3}}})
	file.tables.save(file)
	data, err := os.ReadFile(file.tables.path)
	must(f, err)
	f.Add(data)
	f.Add(data[:len(data)-5])
	f.Fuzz(func(t *testing.T, data []byte) {
		file.tables = &pageTables{path: "x", read: true, all: parseTables(mendTables(data, file.version), file.version)}
		kept := file.tables.of(c)
		if kept == nil {
			return
		}
		end := int64(100)
		for k, p := range kept.pages {
			if p.Offset < end || kept.end(k) > 600 || pageOf(kept.pages, p.FirstRowIndex) != k {
				t.Fatalf("%+v", kept)
			}
			end = kept.end(k)
		}
		if kept.next < end || kept.next > 600 || kept.rows > 10 || kept.rows <= kept.pages[len(kept.pages)-1].FirstRowIndex {
			t.Fatalf("%+v", kept)
		}
	})
}
