package grid

import (
	"errors"
	"fmt"
)

const maxTreeDepth = 32

var errTreeLoops = errors.New("the blocks of an index lead back to one of them")

// tree1 tells of the children of a B-tree of version 1: kind 0 of groups, 1 of chunks, whose keys are of an array's rank.
func (f *HDF5) tree1(root int64, kind uint64, rank int, tell func(key cursor, child int64) error) error {
	keyBytes := f.lengthBytes
	if kind == 1 {
		keyBytes = 8 + 8*(rank+1)
	}
	seen := map[int64]bool{}
	var node func(addr int64, level int) error
	node = func(addr int64, level int) error {
		if seen[addr] {
			return errTreeLoops
		}
		seen[addr] = true
		headBytes := 8 + 2*f.offsetBytes
		c, err := f.signed(addr, int64(headBytes), "TREE")
		if err != nil {
			return err
		}
		is, at, n := uint64(c.b[4]), int(c.number(1)), int(c.number(2))
		if is != kind || at >= maxTreeDepth || level >= 0 && at != level {
			return fmt.Errorf("got a node of kind %d on level %d of a B-tree at %d, want kind %d", is, at, f.base+addr, kind)
		}
		b, err := f.bytes(addr+int64(headBytes), int64(n*(keyBytes+f.offsetBytes)))
		if err != nil {
			return err
		}
		for i := range n {
			e := b[i*(keyBytes+f.offsetBytes):]
			child := cursor{b: e[:keyBytes+f.offsetBytes], at: keyBytes}
			if to := f.address(&child); at > 0 {
				err = node(to, at-1)
			} else {
				err = tell(cursor{b: e[:keyBytes]}, to)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return node(root, -1)
}

// tree2 is a B-tree of version 2.
type tree2 struct {
	f           *HDF5
	kind        byte
	nodeBytes   int64
	recordBytes int
	most        []int64 // records of a node at each depth, and of all below it
	all         []int64
	seen        map[int64]bool
	tell        func(record cursor) error
}

// tree2 tells of all records of a B-tree of version 2, in their order.
func (f *HDF5) tree2(addr int64, kind byte, tell func(record cursor) error) error {
	c, err := f.checked(addr, int64(22+f.offsetBytes+f.lengthBytes), "BTHD")
	if err != nil {
		return err
	}
	t := &tree2{f: f, kind: byte(c.number(1)), nodeBytes: int64(c.number(4)), recordBytes: int(c.number(2)), seen: map[int64]bool{}, tell: tell}
	depth := int(c.number(2))
	c.skip(2)
	root, n := f.address(&c), int64(c.number(2))
	switch {
	case t.kind != kind:
		return fmt.Errorf("got a B-tree of kind %d at %d, want %d", t.kind, f.base+addr, kind)
	case t.recordBytes < 8 || t.nodeBytes > maxH5Block || depth >= maxTreeDepth || int64(t.recordBytes) > t.nodeBytes-10:
		return fmt.Errorf("got a B-tree of depth %d with nodes of %d bytes and records of %d at %d", depth, t.nodeBytes, t.recordBytes, f.base+addr)
	}
	t.measure(depth)
	if n == 0 || root < 0 {
		return nil
	}
	return t.node(root, n, depth)
}

// measure finds how many records fit into nodes, which tells how long the numbers of records in them are.
func (t *tree2) measure(depth int) {
	fit := (t.nodeBytes - 10) / int64(t.recordBytes)
	t.most, t.all = []int64{fit}, []int64{fit}
	for d := 1; d <= depth; d++ {
		pointer := int64(t.pointerBytes(d))
		fit := max((t.nodeBytes-10-pointer)/(int64(t.recordBytes)+pointer), 0)
		t.most = append(t.most, fit)
		t.all = append(t.all, min((fit+1)*min(t.all[d-1], 1<<40)+fit, 1<<62))
	}
}

// pointerBytes is how long a pointer to a child is in a node at a depth.
func (t *tree2) pointerBytes(depth int) int {
	n := t.f.offsetBytes + bytesFor(uint64(t.most[0]))
	if depth > 1 {
		n += bytesFor(uint64(t.all[depth-1]))
	}
	return n
}

// node tells of a node with n records and of all below it.
func (t *tree2) node(addr, n int64, depth int) error {
	if t.seen[addr] {
		return errTreeLoops
	}
	t.seen[addr] = true
	if n > t.most[depth] {
		return fmt.Errorf("got %d records in a node of a B-tree at %d, want at most %d", n, t.f.base+addr, t.most[depth])
	}
	name, size := "BTLF", 6+n*int64(t.recordBytes)+4
	if depth > 0 {
		name, size = "BTIN", size+(n+1)*int64(t.pointerBytes(depth))
	}
	c, err := t.f.checked(addr, size, name)
	if err != nil {
		return err
	}
	c.skip(1)
	records := c.bytes(int(n) * t.recordBytes)
	for i := range int(n) + 1 {
		if depth > 0 {
			child, children := t.f.address(&c), int64(c.number(bytesFor(uint64(t.most[0]))))
			if depth > 1 {
				c.skip(bytesFor(uint64(t.all[depth-1])))
			}
			if err := t.node(child, children, depth-1); err != nil {
				return err
			}
		}
		if i < int(n) {
			if err := t.tell(cursor{b: records[i*t.recordBytes : (i+1)*t.recordBytes]}); err != nil {
				return err
			}
		}
	}
	return nil
}
