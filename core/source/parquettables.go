package source

import (
	"encoding/binary"
	"os"
	"sync"

	"github.com/parquet-go/parquet-go/format"
	"github.com/zeebo/xxh3"
)

// Where the pages of a Parquet file in a store are is kept on a disk when the source is closed.
//
// It is kept in a file: tablesMagic; the xxh3 of all behind it; the object's size and version; and for each chunk its row group, its column, where the next
// page begins, the rows and the number of the pages that are known, and of each of these where it begins, its bytes and its first row. All numbers are
// little-endian u64s.
const (
	tablesMagic  = "SPDLPGS\x01"
	tablesHead   = len(tablesMagic) + 3*8
	tableHead    = 5 * 8
	tablePage    = 3 * 8
	tablesEnding = ".spdl-pages"
	tablesBytes  = 16 << 20 // of one Parquet file; of one that has more of them nothing is kept
)

// chunkPlace is where a chunk stands in a file.
type chunkPlace struct{ group, column int }

// pageTables are what is known of a file's pages.
type pageTables struct {
	path string // of the file; "": nothing is kept

	mu    sync.Mutex // guards the rest
	read  bool       // the file
	all   map[chunkPlace]pageTable
	fresh bool // some are not in the file
}

// of is what is kept of a chunk's pages; nil: nothing that could be true.
func (p *pageTables) of(c *chunk) *pageTable {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.load(c.file); p.all == nil {
		return nil
	}
	t, kept := p.all[c.place]
	_, to, err := c.span()
	if !kept || err != nil || !c.areIn(t.pages, t.rows) || t.next < t.end(len(t.pages)-1) || t.next > to {
		return nil
	}
	return &t
}

// load reads the file, once.
func (p *pageTables) load(f *parquetFile) {
	if p.read || p.path == "" {
		return
	}
	p.read = true
	if st, err := os.Stat(p.path); err != nil || st.Size() > tablesBytes {
		return
	}
	if data, err := os.ReadFile(p.path); err == nil {
		p.all = parseTables(data, f.version)
		markUsed(p.path)
	}
}

// parseTables takes what a file says; nil where it is not of this version, or damaged.
func parseTables(data []byte, v version) map[chunkPlace]pageTable {
	le, head := binary.LittleEndian, len(tablesMagic)
	if len(data) < tablesHead || string(data[:head]) != tablesMagic || le.Uint64(data[head:]) != xxh3.Hash(data[head+8:]) ||
		int64(le.Uint64(data[head+8:])) != v.size || le.Uint64(data[head+16:]) != v.tag {
		return nil
	}
	all := map[chunkPlace]pageTable{}
	for data = data[tablesHead:]; len(data) > 0; {
		if len(data) < tableHead {
			return nil
		}
		number := func(k int) int64 { return int64(le.Uint64(data[8*k:])) }
		at, t, n := chunkPlace{int(number(0)), int(number(1))}, pageTable{next: number(2), rows: number(3), last: -1}, le.Uint64(data[4*8:])
		if data = data[tableHead:]; n > uint64(len(data)/tablePage) {
			return nil
		}
		for range n {
			if number(1) != int64(int32(number(1))) {
				return nil
			}
			t.pages = append(t.pages, format.PageLocation{Offset: number(0), CompressedPageSize: int32(number(1)), FirstRowIndex: number(2)})
			data = data[tablePage:]
		}
		all[at] = t
	}
	return all
}

// learned takes what is known of a chunk's pages by now.
func (p *pageTables) learned(c *chunk, t *pageTable) {
	if p.path == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := c.place
	if before, known := p.all[at]; known && before.rows == t.rows {
		return
	}
	if p.all == nil {
		p.all = map[chunkPlace]pageTable{}
	}
	now := *t
	now.last = -1
	p.all[at], p.fresh = now, true
}

// save writes down what was learned.
func (p *pageTables) save(f *parquetFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := tablesHead
	for _, t := range p.all {
		size += tableHead + tablePage*len(t.pages)
	}
	if !p.fresh || size > tablesBytes {
		return
	}
	le := binary.LittleEndian
	data := make([]byte, len(tablesMagic)+8, size)
	copy(data, tablesMagic)
	data = le.AppendUint64(le.AppendUint64(data, uint64(f.version.size)), f.version.tag)
	put := func(numbers ...int64) {
		for _, n := range numbers {
			data = le.AppendUint64(data, uint64(n))
		}
	}
	for at, t := range p.all {
		put(int64(at.group), int64(at.column), t.next, t.rows, int64(len(t.pages)))
		for _, page := range t.pages {
			put(page.Offset, int64(page.CompressedPageSize), page.FirstRowIndex)
		}
	}
	le.PutUint64(data[len(tablesMagic):], xxh3.Hash(data[len(tablesMagic)+8:]))
	_ = writeFile(p.path, data) // it costs the next start some requests
	p.fresh = false
}
