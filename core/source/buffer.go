package source

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/spdl/spdl/core/array"
	"golang.org/x/sys/unix"
)

// Padding is the number of zero bytes that follow each part of a sample in its buffer: decoders may read past the end.
const Padding = 64

const (
	maxPath   = 4096
	slabBytes = 64 << 10 // the smallest piece of memory; each class is twice the one before
	keepBytes = 4 << 20  // the largest piece that a pool keeps by its class
	hugeBytes = 64 << 20 // of all larger ones that it keeps
)

// Buffer holds the bytes of one sample, which is of one part or of several. It grows and is used again. The zero Buffer is ready for use; one goroutine
// at a time may use it.
type Buffer struct {
	pool   *Pool     // that mem comes from; nil: from nobody
	mem    []byte    // len == cap; the sample's parts, each with Padding zero bytes behind it, and room
	parts  []stretch // where they lie in mem; none: the buffer is empty
	placed []placed  // parts that lie in files instead
	pieces []piece   // what is read for them

	members  []indexMember // of the sample in an archive,
	chosen   []chosen      // which of them the media are,
	pictures []chosen      // of several pictures all, medium by medium,
	moves    []move        // and how they are moved apart

	columns []value // of the sample
	values  []byte  // that have no other place, one after the other

	identity, scratch []byte // of a cache
	array             array.Array
	object            jsonObject // of the part that was read as JSON last
	sides             []*Buffer  // for the file of each column
	chunk             *chunkRead // of an ArrayRecord
	beside            bool       // it is one of those
	lost              []*Error   // why some documents of a row are not in it
	names             []byte     // of files beside each other

	path [maxPath]byte
	stat [2]unix.Stat_t // before and after reading
	how  unix.OpenHow
}

// stretch is a range of a buffer's memory.
type stretch struct{ at, n int }

// value is that of a column: a range of values, or where it lies already.
type value struct {
	stretch
	lies []byte // nil: in values
}

// Bytes is the sample's first part: valid until the next Read into b, len == cap, followed in memory by Padding zero bytes.
func (b *Buffer) Bytes() []byte {
	if len(b.parts) == 0 {
		return nil
	}
	return b.Part(0)
}

// Part is a part of the sample, in the order of the source's config; as Bytes. After a Read there are all of them. It is empty where InPlace is not nil.
func (b *Buffer) Part(k int) []byte {
	p := b.parts[k]
	return b.mem[p.at : p.at+p.n : p.at+p.n]
}

// Size is the bytes of all parts and of the columns' values.
func (b *Buffer) Size() (n int) {
	for _, p := range b.parts {
		n += p.n
	}
	for c := range b.columns {
		n += len(b.Value(c))
	}
	return n
}

// Value is the sample's value in column c of its source: text as it is, numbers as 8 bytes in the machine's order, arrays row-major. It is
// valid until the next Read into b, and is not to be changed.
func (b *Buffer) Value(c int) []byte {
	v := &b.columns[c]
	if v.lies != nil {
		return v.lies
	}
	return b.values[v.at : v.at+v.n]
}

// took makes what was appended to values, from a place on, the next column's value.
func (b *Buffer) took(from int) {
	b.columns = append(b.columns, value{stretch: stretch{from, len(b.values) - from}})
}

// Cap is the memory that the buffer holds, in bytes.
func (b *Buffer) Cap() int { return len(b.mem) }

// room makes space for n bytes and their padding. What the buffer held is lost.
func (b *Buffer) room(n int) []byte {
	b.drop()
	return b.behind(n)
}

// behind makes space for n bytes and their padding behind the parts that the buffer holds. Until hold it may be asked for again.
func (b *Buffer) behind(n int) []byte {
	from := b.end()
	if need := from + n + Padding; need > len(b.mem) {
		mem := b.pool.take(need)
		if mem == nil {
			mem = make([]byte, max(min(slabBytes<<classOf(need), keepBytes), (need+slabBytes-1)/slabBytes*slabBytes))
		}
		copy(mem, b.mem[:from])
		b.pool.takeBack(b.mem)
		b.mem = mem
	}
	return b.mem[from : from+n]
}

// end is where the next part may begin, at an address as good as the first one's.
func (b *Buffer) end() (at int) {
	for k, p := range b.parts {
		if b.InPlace(k) == nil {
			at = max(at, (p.at+p.n+2*Padding-1)/Padding*Padding)
		}
	}
	return at
}

// holdNext declares the n bytes that behind has made space for to be the sample's next part.
func (b *Buffer) holdNext(n int) { b.hold(b.end(), n) }

// classOf is the class of the smallest slab that holds n bytes.
func classOf(n int) int { return bits.Len(uint(max(n-1, 0) / slabBytes)) }

// drop empties the buffer; its memory stays.
func (b *Buffer) drop() {
	b.parts = b.parts[:0]
	b.displace()
	clear(b.columns) // for what lies elsewhere
	b.object = jsonObject{}
	b.columns, b.values = b.columns[:0], b.values[:0]
	clear(b.lost)
	b.lost = b.lost[:0]
}

// hold declares n bytes to be the sample's next part and zeroes the padding after it.
func (b *Buffer) hold(at, n int) {
	b.parts = append(b.parts, stretch{at, n})
	clear(b.mem[at+n : at+n+Padding])
}

// Pool lends buffers. The memory that a buffer grew goes back to the pool by size, so that a few large samples do not in
// time make every buffer large; of the very large so much is kept as some samples need at a time. The zero Pool is ready for use, by any number of
// goroutines.
type Pool struct {
	mu    sync.Mutex // guards the rest
	free  []*Buffer
	slabs [][][]byte // by class
	huge  [][]byte   // that have no class, the one kept last at the end
	bytes int        // of huge
}

// Get returns a buffer that nobody else has. It never blocks: how many are out is the caller's affair.
func (p *Pool) Get() *Buffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = slices.Delete(p.free, n-1, n)
		return b
	}
	return &Buffer{pool: p}
}

// Put takes a buffer back, into the pool that it came from; the caller must not use it, nor its bytes, any more.
func (p *Pool) Put(b *Buffer) {
	b.empty(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, b)
}

// empty gives the memory of the buffer, and of those beside it, to a pool.
func (b *Buffer) empty(p *Pool) {
	b.drop()
	p.takeBack(b.mem)
	b.mem = nil
	for _, side := range b.sides {
		side.empty(p)
	}
	if b.chunk != nil {
		b.chunk.stored.empty(p)
		b.chunk.unpacked.empty(p)
	}
}

// takeBack keeps memory for others. Of the very large what was kept first goes for it.
func (p *Pool) takeBack(mem []byte) {
	if p == nil || len(mem) == 0 || len(mem) > hugeBytes {
		return
	}
	class := classOf(len(mem))
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(mem) > keepBytes {
		p.huge, p.bytes = append(p.huge, mem), p.bytes+len(mem)
		for p.bytes > hugeBytes {
			p.drop(0)
		}
		return
	}
	for len(p.slabs) <= class {
		p.slabs = append(p.slabs, nil)
	}
	p.slabs[class] = append(p.slabs[class], mem)
}

// drop lets a very large piece go, and returns it.
func (p *Pool) drop(k int) []byte {
	mem := p.huge[k]
	p.huge, p.bytes = slices.Delete(p.huge, k, k+1), p.bytes-len(mem)
	return mem
}

// take is memory of at least need bytes, and not of many more, or nil if there is none to spare. A buffer of no pool has a nil pool.
func (p *Pool) take(need int) []byte {
	if p == nil {
		return nil
	}
	class := classOf(need)
	p.mu.Lock()
	defer p.mu.Unlock()
	if need > keepBytes {
		k := slices.IndexFunc(p.huge, func(mem []byte) bool { return len(mem) >= need && len(mem) <= 2*need })
		if k < 0 {
			return nil
		}
		return p.drop(k)
	}
	if class >= len(p.slabs) || len(p.slabs[class]) == 0 {
		return nil
	}
	last := len(p.slabs[class]) - 1
	mem := p.slabs[class][last]
	p.slabs[class] = slices.Delete(p.slabs[class], last, last+1)
	return mem
}
