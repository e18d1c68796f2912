package grid

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Indexes of chunks.
const (
	indexTree1      = 0 // which has no number of its own
	indexSingle     = 1
	indexImplicit   = 2
	indexFixed      = 3
	indexExtensible = 4
	indexTree2      = 5
)

// indexed reads an index of chunks.
func (d *dataset) indexed(c *cursor, version, flags uint64, tree int64) error {
	kind := uint64(indexTree1)
	if version > 3 {
		kind = c.number(1)
	}
	switch kind {
	case indexTree1:
		if tree < 0 {
			return nil
		}
		return d.tree1(tree)
	case indexSingle:
		return d.single(c, flags&2 != 0)
	case indexImplicit:
		return d.implicit(d.f.address(c))
	case indexFixed:
		c.skip(1)
	case indexExtensible:
		c.skip(5)
	case indexTree2:
		c.skip(6)
	default:
		return fmt.Errorf("got number %d, want 1 to 5; write the file again with h5repack", kind)
	}
	addr := d.f.address(c)
	switch {
	case addr < 0:
		return nil // nothing was written
	case kind == indexFixed:
		return d.fixed(addr)
	case kind == indexExtensible:
		return d.extensible(addr)
	}
	return d.tree2(addr)
}

// single is the only chunk, and needs no index.
func (d *dataset) single(c *cursor, packed bool) error {
	size, skip := d.a.chunkBytes, uint32(0)
	if packed {
		size, skip = d.f.length(c), uint32(c.number(4))
	}
	return d.has(make([]int64, len(d.shape)), d.f.address(c), size, skip)
}

// tree1 is the index of old: a B-tree whose keys are the first elements of chunks.
func (d *dataset) tree1(addr int64) error {
	at := make([]int64, len(d.shape))
	return d.f.tree1(addr, 1, len(d.shape), func(key cursor, child int64) error {
		size, skip := int64(key.number(4)), uint32(key.number(4))
		for i := range at {
			first := int64(min(key.number(8), math.MaxInt64))
			if first%d.a.chunk[i] != 0 {
				return fmt.Errorf("got a chunk from element %d of axis %d on, want a multiple of %d", first, i, d.a.chunk[i])
			}
			at[i] = first / d.a.chunk[i]
		}
		return d.has(at, child, size, skip)
	})
}

// tree2 is a B-tree of chunks by their places in the grid.
func (d *dataset) tree2(addr int64) error {
	kind, at := byte(10), make([]int64, len(d.shape))
	if len(d.a.filters) > 0 {
		kind = 11
	}
	return d.f.tree2(addr, kind, func(record cursor) error {
		child, size, skip := d.entry(&record, len(record.b)-8*len(at))
		for i := range at {
			at[i] = int64(min(record.number(8), math.MaxInt64))
		}
		if record.short {
			return errors.New("got records that are too short")
		}
		return d.has(at, child, size, skip)
	})
}

// entry reads what an index says of a chunk, in n bytes.
func (d *dataset) entry(c *cursor, n int) (at, size int64, skip uint32) {
	at, size = d.f.address(c), d.a.chunkBytes
	if len(d.a.filters) > 0 {
		size, skip = int64(min(c.number(n-d.f.offsetBytes-4), math.MaxInt64)), uint32(c.number(4))
	}
	return at, size, skip
}

// implicit are chunks that lie one behind the other, all of them, and have no index.
func (d *dataset) implicit(at int64) error {
	if at < 0 {
		return nil
	}
	n, grown := int64(1), d.grown()
	for _, k := range grown {
		if k > 0 && n > (d.f.size-d.f.base-at)/d.a.chunkBytes/k {
			return fmt.Errorf("truncated: got a file of %d bytes, which cannot have all of the chunks", d.f.size)
		}
		n *= k
	}
	d.a.chunks = &h5Row{h5Chunks{r: d.f.r}, d.a, grown, d.f.base + at}
	return nil
}

// h5Row are chunks one behind the other, as many as the largest array has that the dataset may become.
type h5Row struct {
	h5Chunks
	a     *Array
	grown []int64
	at    int64
}

func (h *h5Row) place(index int64) (p place, found bool, err error) {
	number, weight, rest := int64(0), int64(1), index
	for i := len(h.a.grid) - 1; i >= 0; i-- {
		number += rest % h.a.grid[i] * weight
		rest /= h.a.grid[i]
		if i < len(h.grown) {
			weight *= h.grown[i]
		}
	}
	return place{index: index, at: h.at + number*h.a.chunkBytes, size: uint32(h.a.chunkBytes), skip: math.MaxUint32}, true, nil
}

// grown is the grid of the largest array that the dataset may become; where an axis has no end it is as it is.
func (d *dataset) grown() []int64 {
	grid := make([]int64, len(d.shape))
	for i := range grid {
		grid[i] = d.a.grid[i]
		if most := d.most[i]; most > 0 {
			grid[i] = (most-1)/d.a.chunk[i] + 1
		}
	}
	return grid
}

// numbering is how numbers of chunks in an index become places in the grid. The axis without an end, if there is one, is the slowest.
func (d *dataset) numbering(endless int) func(k int64) []int64 {
	grid := d.grown()
	at := make([]int64, len(grid))
	return func(k int64) []int64 {
		for i := len(grid) - 1; i >= 0; i-- {
			if i != endless {
				at[i] = k % max(grid[i], 1)
				k /= max(grid[i], 1)
			}
		}
		at[endless] = k
		return at
	}
}

// endless is the axis that may grow without end; 0 where none may.
func (d *dataset) endless() int {
	for i, most := range d.most {
		if most < 0 {
			return i
		}
	}
	return 0
}

// fixed is an array of as many entries as there are chunks.
func (d *dataset) fixed(addr int64) error {
	f := d.f
	c, err := f.checked(addr, int64(12+f.lengthBytes+f.offsetBytes), "FAHD")
	if err != nil {
		return err
	}
	c.skip(1)
	entryBytes, pageBits, n, block := int(c.number(1)), int(c.number(1)), f.length(&c), f.address(&c)
	if err := d.sane(entryBytes, pageBits); err != nil || block < 0 {
		return err
	}
	a := entries{d: d, bytes: entryBytes, page: int64(1) << pageBits, number: d.numbering(0)}
	if n <= a.page {
		return a.block(block, "FADB", int64(6+f.offsetBytes), 0, n)
	}
	pages := (n-1)/a.page + 1
	head := int64(6+f.offsetBytes) + (pages+7)/8
	b, err := f.checked(block, head+4, "FADB")
	if err != nil {
		return err
	}
	return a.pages(block+head+4, b.b[6+f.offsetBytes:], 0, 0, n)
}

// sane refuses entries of an index that are not as long as HDF5's.
func (d *dataset) sane(entryBytes, pageBits int) error {
	least, most := d.f.offsetBytes, d.f.offsetBytes
	if len(d.a.filters) > 0 {
		least, most = least+4+1, most+4+8
	}
	if entryBytes < least || entryBytes > most || pageBits > 30 {
		return fmt.Errorf("got entries of %d bytes on pages of 2^%d, want %d to %d bytes", entryBytes, pageBits, least, most)
	}
	return nil
}

// entries are those of an index that is an array.
type entries struct {
	d      *dataset
	bytes  int
	page   int64 // entries of a page
	number func(k int64) []int64
}

// some reads n entries, the first of which is of chunk number first.
func (e *entries) some(c *cursor, first, n int64) error {
	for k := range n {
		at, size, skip := e.d.entry(c, e.bytes)
		if c.short {
			return errors.New("truncated")
		}
		if err := e.d.has(e.number(first+k), at, size, skip); err != nil {
			return err
		}
	}
	return nil
}

// block reads a block of entries behind a head.
func (e *entries) block(addr int64, name string, head, first, n int64) error {
	if n > maxH5Block {
		return fmt.Errorf("got a block of %d entries", n)
	}
	c, err := e.d.f.checked(addr, head+n*int64(e.bytes)+4, name)
	if err != nil {
		return err
	}
	c.at = int(head)
	return e.some(&c, first, n)
}

// pages reads n entries on pages, each with a checksum, of which those are there that have a bit, the first of them number bit.
func (e *entries) pages(addr int64, there []byte, bit, first, n int64) error {
	for k := int64(0); k*e.page < n; k++ {
		size := min(e.page, n-k*e.page)
		if at := bit + k; there[at/8]&(0x80>>(at%8)) != 0 {
			b, err := e.d.f.bytes(addr, size*int64(e.bytes)+4)
			if err == nil {
				b, err = e.d.f.summed(b, addr)
			}
			if err != nil {
				return err
			}
			if err := e.some(&cursor{b: b}, first+k*e.page, size); err != nil {
				return err
			}
		}
		addr += e.page*int64(e.bytes) + 4
	}
	return nil
}

// extensible is an array that grows: a few entries in its own block, then blocks of more and more.
type extensible struct {
	entries
	client             int64 // bytes of the head of a block without entries
	offsetBytes        int64 // of a number of an entry
	inIndex            int64 // entries in the index itself
	least              int64 // of a block
	leastPointers      int64 // of a block of blocks
	used, at           int64 // entries that were written, and that have been passed
	supers, supersHere int   // kinds of blocks, and those whose addresses are in the index
}

func (d *dataset) extensible(addr int64) error {
	f := d.f
	c, err := f.checked(addr, int64(16+6*f.lengthBytes+f.offsetBytes), "EAHD")
	if err != nil {
		return err
	}
	c.skip(1)
	x := &extensible{entries: entries{d: d, bytes: int(c.number(1)), number: d.numbering(d.endless())}, client: int64(6 + f.offsetBytes)}
	numberBits := int(c.number(1))
	x.inIndex, x.least, x.leastPointers = int64(c.number(1)), int64(c.number(1)), int64(c.number(1))
	pageBits := int(c.number(1))
	if err := d.sane(x.bytes, pageBits); err != nil {
		return err
	}
	x.page, x.offsetBytes = 1<<pageBits, int64(numberBits+7)/8
	c.skip(4 * f.lengthBytes)
	x.used = f.length(&c)
	c.skip(f.lengthBytes)
	index := f.address(&c)
	if index < 0 {
		return nil
	}
	powers := bits.OnesCount64(uint64(x.least)) == 1 && bits.OnesCount64(uint64(x.leastPointers)) == 1
	if !powers || numberBits > 48 || numberBits < bits.Len64(uint64(x.least)) || x.leastPointers < 2 {
		return fmt.Errorf("got an extensible array of 2^%d entries in blocks of %d, which cannot be", numberBits, x.least)
	}
	x.supers = 1 + numberBits - (bits.Len64(uint64(x.least)) - 1)
	x.supersHere = min(2*(bits.Len64(uint64(x.leastPointers))-1), x.supers)
	return x.index(index)
}

// index reads the block that has the first entries, and the addresses of the others.
func (x *extensible) index(addr int64) error {
	f := x.d.f
	blocks := 2 * (x.leastPointers - 1)
	size := x.client + x.inIndex*int64(x.bytes) + (blocks+int64(x.supers-x.supersHere))*int64(f.offsetBytes) + 4
	c, err := f.checked(addr, size, "EAIB")
	if err != nil {
		return err
	}
	c.at = int(x.client)
	if err := x.some(&c, 0, min(x.inIndex, x.used)); err != nil {
		return err
	}
	c.at = int(x.client + x.inIndex*int64(x.bytes))
	x.at = x.inIndex
	for kind := range x.supers {
		var err error
		if kind < x.supersHere {
			err = x.blocks(&c, kind, nil)
		} else {
			err = x.super(f.address(&c), kind)
		}
		if err != nil || x.at >= x.used {
			return err
		}
	}
	return nil
}

// blocksOf is how many blocks there are of a kind, and how many entries each has.
func (x *extensible) blocksOf(kind int) (n, entries int64) {
	return 1 << (kind / 2), x.least << ((kind + 1) / 2)
}

// super reads a block of the addresses of blocks.
func (x *extensible) super(addr int64, kind int) error {
	n, size := x.blocksOf(kind)
	if addr < 0 {
		x.at += n * size
		return nil
	}
	bitmap := int64(0)
	if size > x.page {
		bitmap = ((size-1)/x.page + 8) / 8
	}
	if n > maxH5Block {
		return fmt.Errorf("got a block of %d addresses", n)
	}
	head := x.client + x.offsetBytes
	c, err := x.d.f.checked(addr, head+n*(bitmap+int64(x.d.f.offsetBytes))+4, "EASB")
	if err != nil {
		return err
	}
	c.at = int(head + n*bitmap)
	return x.blocks(&c, kind, c.b[head:head+n*bitmap])
}

// blocks reads all blocks of a kind, of whose pages those are there that have a bit.
func (x *extensible) blocks(c *cursor, kind int, there []byte) error {
	n, size := x.blocksOf(kind)
	head := x.client + x.offsetBytes
	for k := range n {
		addr := x.d.f.address(c)
		wanted := min(size, x.used-x.at)
		first := x.at
		x.at += size
		if wanted <= 0 || c.short {
			return nil
		}
		if addr < 0 {
			continue
		}
		if size <= x.page {
			if err := x.block(addr, "EADB", head, first, size); err != nil {
				return err
			}
			continue
		}
		pages := (size-1)/x.page + 1
		if int64(len(there))*8 < (k+1)*pages {
			return errors.New("got pages where there are none")
		}
		if _, err := x.d.f.checked(addr, head+4, "EADB"); err != nil {
			return err
		}
		if err := x.pages(addr+head+4, there, k*pages, first, size); err != nil {
			return err
		}
	}
	return nil
}
