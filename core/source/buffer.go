package source

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/spdl/spdl/core/array"
	"golang.org/x/sys/unix"
)

// Padding is the number of zero bytes that follow a sample's bytes in its buffer: decoders may read past the end.
const Padding = 64

const (
	maxPath   = 4096
	slabBytes = 64 << 10 // the smallest piece of memory; each class is twice the one before
	keepBytes = 4 << 20  // the largest piece that a pool keeps
)

// Buffer holds the bytes of one sample. It grows and is used again. The zero Buffer is ready for use; one goroutine
// at a time may use it.
type Buffer struct {
	pool   *Pool   // that mem comes from; nil: from nobody
	mem    []byte  // len == cap; the sample, Padding zero bytes, room
	at     int     // where the sample begins in mem
	n      int     // bytes of the sample
	pieces []piece // what is read for it

	members []indexMember // of the sample in an archive

	values []byte // of the columns, one after the other
	ends   []int  // of each column's value

	identity, scratch []byte // of a cache
	array             array.Array
	side              *Buffer // for a file of a column

	path [maxPath]byte
	stat [2]unix.Stat_t // before and after reading
	how  unix.OpenHow
}

// Bytes is the sample: valid until the next Read into b, len == cap, followed in memory by Padding zero bytes.
func (b *Buffer) Bytes() []byte { return b.mem[b.at : b.at+b.n : b.at+b.n] }

// Value is the sample's value in column c of its source: text as it is, numbers as 8 bytes in the machine's order. It is
// valid until the next Read into b.
func (b *Buffer) Value(c int) []byte {
	from := 0
	if c > 0 {
		from = b.ends[c-1]
	}
	return b.values[from:b.ends[c]]
}

// Cap is the memory that the buffer holds, in bytes.
func (b *Buffer) Cap() int { return len(b.mem) }

// room makes space for n bytes and their padding. What the buffer held is lost.
func (b *Buffer) room(n int) []byte {
	b.drop()
	if need := n + Padding; need > len(b.mem) {
		class := classOf(need)
		if b.mem = b.pool.swap(b, class); b.mem == nil {
			b.mem = make([]byte, max(min(slabBytes<<class, keepBytes), (need+slabBytes-1)/slabBytes*slabBytes))
		}
	}
	return b.mem[:n]
}

// classOf is the class of the smallest slab that holds n bytes.
func classOf(n int) int { return bits.Len(uint(max(n-1, 0) / slabBytes)) }

// drop empties the buffer; its memory stays.
func (b *Buffer) drop() {
	b.at, b.n = 0, 0
	b.values, b.ends = b.values[:0], b.ends[:0]
}

// hold declares n bytes to be the sample and zeroes the padding after it.
func (b *Buffer) hold(at, n int) {
	b.at, b.n = at, n
	clear(b.mem[at+n : at+n+Padding])
}

// Pool lends buffers. The memory that a buffer grew goes back to the pool by size, so that a few large samples do not in
// time make every buffer large; the very large is not kept at all. The zero Pool is ready for use, by any number of
// goroutines.
type Pool struct {
	mu    sync.Mutex // guards the rest
	free  []*Buffer
	slabs [][][]byte // by class
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
	p.takeBack(b)
	if b.side != nil {
		p.takeBack(b.side)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, b)
}

// takeBack keeps the buffer's memory for others, unless it is very large.
func (p *Pool) takeBack(b *Buffer) {
	mem := b.mem
	b.mem, b.at, b.n = nil, 0, 0
	if len(mem) == 0 || len(mem) > keepBytes {
		return
	}
	class := classOf(len(mem))
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.slabs) <= class {
		p.slabs = append(p.slabs, nil)
	}
	p.slabs[class] = append(p.slabs[class], mem)
}

// swap takes the buffer's memory back and returns some of a class, or nil if there is none to spare. A buffer of no pool
// has a nil pool.
func (p *Pool) swap(b *Buffer, class int) []byte {
	if p == nil {
		return nil
	}
	p.takeBack(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	if class >= len(p.slabs) || len(p.slabs[class]) == 0 {
		return nil
	}
	last := len(p.slabs[class]) - 1
	mem := p.slabs[class][last]
	p.slabs[class] = slices.Delete(p.slabs[class], last, last+1)
	return mem
}
