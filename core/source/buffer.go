package source

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Padding is the number of zero bytes that follow a sample's bytes in its buffer: decoders may read past the end.
const Padding = 64

const (
	maxPath   = 4096
	growBytes = 64 << 10
)

// Buffer holds the bytes of one sample. It grows and is used again. The zero Buffer is ready for use; one goroutine
// at a time may use it.
type Buffer struct {
	mem  []byte // len == cap; the sample, Padding zero bytes, room
	n    int    // bytes of the sample
	path [maxPath]byte
	stat [2]unix.Stat_t // before and after reading
	how  unix.OpenHow
}

// Bytes is the sample: valid until the next Read into b, len == cap, followed in memory by Padding zero bytes.
func (b *Buffer) Bytes() []byte { return b.mem[:b.n:b.n] }

// Cap is the memory that the buffer holds, in bytes.
func (b *Buffer) Cap() int { return len(b.mem) }

// room makes space for n bytes and their padding. What the buffer held is lost.
func (b *Buffer) room(n int) []byte {
	b.n = 0
	if need := n + Padding; need > len(b.mem) {
		need = max(need, len(b.mem)+len(b.mem)/4)
		b.mem = make([]byte, (need+growBytes-1)/growBytes*growBytes)
	}
	return b.mem[:n]
}

// hold declares the first n bytes to be the sample and zeroes the padding.
func (b *Buffer) hold(n int) {
	b.n = n
	clear(b.mem[n : n+Padding])
}

// Pool lends buffers. It keeps those that came back, except the very large: one huge file must not cost its memory for
// ever. The zero Pool is ready for use, by any number of goroutines.
type Pool struct {
	// KeepBytes is the largest buffer that is kept; 0 means 4 MiB.
	KeepBytes int

	mu   sync.Mutex
	free []*Buffer
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
	return new(Buffer)
}

// Put takes a buffer back; the caller must not use it, nor its bytes, any more.
func (p *Pool) Put(b *Buffer) {
	keep := p.KeepBytes
	if keep == 0 {
		keep = 4 << 20
	}
	if len(b.mem) > keep {
		b.mem = nil
	}
	b.n = 0
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, b)
}
