package grid

import (
	"errors"
	"fmt"
	"math/bits"
)

// maxHeapRows is above what a heap of 2^32 bytes has; rows beyond are not looked at.
const maxHeapRows = 20

// heap is a fractal heap, in which a group of many links keeps them: blocks that double in size row by row.
type heap struct {
	f           *HDF5
	idBytes     int
	offsetBytes int
	lengthBytes int
	width       int64 // blocks in a row
	start       int64 // bytes of a block in the first two rows
	mostDirect  int64 // bytes of the largest block that has objects in it
	root        int64
	rows        int64 // of the root; 0: it is a block of objects itself
}

func (f *HDF5) heap(addr int64) (*heap, error) {
	c, err := f.checked(addr, int64(26+12*f.lengthBytes+3*f.offsetBytes), "FRHP")
	if err != nil {
		return nil, err
	}
	h := &heap{f: f, idBytes: int(c.number(2))}
	if c.number(2) != 0 {
		return nil, errors.New("got a heap of links with filters, which is not read here; write the file again with h5repack")
	}
	c.skip(1)
	mostObject := c.number(4)
	c.skip(10*f.lengthBytes + 2*f.offsetBytes)
	h.width, h.start, h.mostDirect = int64(c.number(2)), f.length(&c), f.length(&c)
	h.offsetBytes = (int(c.number(2)) + 7) / 8
	c.skip(2)
	h.root, h.rows = f.address(&c), int64(c.number(2))
	h.lengthBytes = min((bits.Len64(uint64(h.mostDirect))+6)/8, bytesFor(mostObject))
	if c.short || h.width < 1 || h.start < 1 || h.mostDirect < h.start || h.mostDirect > maxH5Block || h.offsetBytes > 8 || h.idBytes < 1+h.offsetBytes+h.lengthBytes {
		return nil, fmt.Errorf("got a heap of %d blocks of %d to %d bytes a row, which cannot be", h.width, h.start, h.mostDirect)
	}
	return h, nil
}

// object is what a name of the heap stands for.
func (h *heap) object(id []byte) ([]byte, error) {
	c := cursor{b: id}
	if kind := c.number(1) >> 4; kind != 0 || len(id) == 0 {
		return nil, errors.New("got a link that lies outside of its heap, as very long names do, which is not read here; give it a shorter name")
	}
	offset, length := int64(min(c.number(h.offsetBytes), 1<<62)), int64(c.number(h.lengthBytes))
	if h.rows == 0 {
		return h.within(h.root, h.start, offset, length)
	}
	return h.indirect(h.root, h.rows, offset, length)
}

// within is an object of a block of objects.
func (h *heap) within(block, size, offset, length int64) ([]byte, error) {
	if offset > size-length {
		return nil, errors.New("got a link beyond its block of the heap")
	}
	if block < 0 {
		return nil, errors.New("got a link in a block of the heap that is not there")
	}
	return h.f.bytes(block+offset, length)
}

// rowBytes is the size of a block in a row.
func (h *heap) rowBytes(row int64) int64 {
	if row == 0 {
		return h.start
	}
	return h.start << (row - 1)
}

// indirect is an object below a block of blocks.
func (h *heap) indirect(block, rows, offset, length int64) ([]byte, error) {
	for row := range min(rows, maxHeapRows) {
		size := h.rowBytes(row)
		if offset >= size*h.width {
			offset -= size * h.width
			continue
		}
		c, err := h.f.signed(block, int64(5+h.f.offsetBytes+h.offsetBytes)+(row*h.width+offset/size+1)*int64(h.f.offsetBytes), "FHIB")
		if err != nil {
			return nil, err
		}
		c.at = len(c.b) - h.f.offsetBytes
		child := h.f.address(&c)
		if size <= h.mostDirect {
			return h.within(child, size, offset%size, length)
		}
		below := int64(bits.Len64(uint64(size))-bits.Len64(uint64(h.start*h.width))) + 1
		if below >= rows || child < 0 {
			break
		}
		return h.indirect(child, below, offset%size, length)
	}
	return nil, errors.New("got a link beyond its heap")
}
