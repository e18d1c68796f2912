package grid

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/tensor"
)

// Dataset is what the file says of a dataset, by its path from the root group, and where its chunks lie.
func (f *HDF5) Dataset(name string) (*Array, error) {
	f.begin()
	at, err := f.find(f.root, "/"+name, 0)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return nil, fmt.Errorf("there is no such dataset%s", f.suggested())
	}
	messages, err := f.messages(at)
	if err != nil {
		return nil, err
	}
	if messageOf(messages, msgLayout) == nil {
		return nil, fmt.Errorf("got a group, want a dataset%s", f.suggested())
	}
	return f.array(messages)
}

// suggested names a few of the datasets that are there.
func (f *HDF5) suggested() string {
	const few = 4
	names := f.Names(few + 1)
	switch {
	case len(names) == 0:
		return ""
	case len(names) > few:
		names[few] = "more"
	}
	return "; there are " + strings.Join(names, ", ")
}

// array makes an array of what a dataset's header says.
func (f *HDF5) array(messages []h5Message) (*Array, error) {
	kind, err := f.resolved(messageOf(messages, msgDatatype))
	if err == nil && kind == nil {
		err = errors.New("it has none")
	}
	if err != nil {
		return nil, fmt.Errorf("type: %w", err)
	}
	e, err := elementOf(&cursor{b: kind.body}, 0)
	if err != nil {
		return nil, err
	}
	extent, err := f.resolved(messageOf(messages, msgDataspace))
	if err == nil && extent == nil {
		err = errors.New("it has none")
	}
	if err != nil {
		return nil, fmt.Errorf("dataspace: %w", err)
	}
	if e.lists != nil {
		if err := f.heaps(e.lists, e.shape[0]); err != nil {
			return nil, err
		}
	}
	d := &dataset{f: f, element: e}
	if d.shape, d.most, err = f.space(extent.body); err != nil {
		return nil, err
	}
	if messageOf(messages, msgExternal) != nil {
		return nil, errors.New("its elements lie in other files (external storage), which are not read; write it again with h5repack")
	}
	return d.array(messages)
}

// dataset is one that is being opened.
type dataset struct {
	f       *HDF5
	element element
	shape   []int64
	most    []int64 // of the shape; -1: without end
	skipEnd bool    // chunks that reach beyond the array have no filters

	a      *Array
	chunks []place
}

// array reads where the elements are.
func (d *dataset) array(messages []h5Message) (*Array, error) {
	shape := append(append(tensor.Shape{}, d.shape...), d.element.shape...)
	if len(shape) > maxRank {
		return nil, fmt.Errorf("got %d dimensions, want at most %d", len(shape), maxRank)
	}
	if _, err := shape.Bytes(d.element.dtype); err != nil {
		return nil, err
	}
	d.a = &Array{DType: d.element.dtype, Swapped: d.element.swapped, Shape: shape, Text: d.element.text, Lists: d.element.lists, At: -1}
	var err error
	if d.a.fill, err = d.filling(messages); err != nil {
		return nil, err
	}
	m := messageOf(messages, msgLayout)
	c := cursor{b: m.body}
	switch version := c.number(1); {
	case version == 1 || version == 2:
		return nil, fmt.Errorf("laid out as HDF5 did before version 1.6.3 (layout %d), which is not read here; write the file again with h5repack", version)
	case version < 3 || version > 5:
		return nil, fmt.Errorf("got a layout of version %d, want 3 to 5; write the file again with h5repack", version)
	case c.number(1) == 2:
		if err = d.filtered(messages); err == nil {
			err = d.inChunks(&c, version)
		}
	default:
		err = d.inOnePlace(m)
	}
	if err == nil && c.short {
		err = errors.New("the layout is truncated")
	}
	return d.a, err
}

// filling is what elements are that were never written.
func (d *dataset) filling(messages []h5Message) ([]byte, error) {
	fill, err := fillOf(messages)
	one, wide := d.element.shape.Bytes(d.element.dtype)
	switch {
	case err != nil || wide != nil:
		return nil, errors.Join(err, wide)
	case fill != nil && int64(len(fill)) != one:
		return nil, fmt.Errorf("got a fill value of %d bytes, want %d, as an element has", len(fill), one)
	}
	return fill, nil
}

func (d *dataset) filtered(messages []h5Message) (err error) {
	one, err := d.element.shape.Bytes(d.element.dtype)
	if m := messageOf(messages, msgFilters); m != nil && err == nil {
		d.a.filters, err = filtersOf(m.body, int(min(one, maxChunkBytes)))
	}
	return err
}

// inOnePlace are elements one behind the other: in the header itself, or anywhere in the file.
func (d *dataset) inOnePlace(m *h5Message) error {
	c := cursor{b: m.body, at: 1}
	want, err := d.a.Shape.Bytes(d.a.DType)
	if err != nil {
		return err
	}
	at, size := int64(-1), int64(0)
	switch class := c.number(1); class {
	case 0:
		size = int64(c.number(2))
		at = m.at + int64(c.at)
	case 1:
		at, size = d.f.address(&c), d.f.length(&c)
	case 3:
		return errors.New("made of parts of other datasets (a virtual dataset), which is not read here; name those")
	default:
		return fmt.Errorf("got a layout of class %d, want 0 to 2", class)
	}
	switch {
	case c.short:
		return errors.New("the layout is truncated")
	case at < 0 || want == 0:
		return d.unwritten()
	case size < want:
		return fmt.Errorf("got %d bytes of elements, want %d for %v of %v", size, want, d.a.Shape, d.a.DType)
	case at > math.MaxInt64-d.f.base:
		return errors.New("got an address that is none")
	}
	d.a.At = d.f.base + at
	return nil
}

// unwritten is an array without any of its elements.
func (d *dataset) unwritten() error {
	d.a.chunks = &h5Chunks{}
	chunk := make([]int64, len(d.a.Shape))
	for i := range chunk {
		chunk[i] = 1
	}
	return d.a.cut(chunk)
}

// inChunks reads the shape of chunks, and their index.
func (d *dataset) inChunks(c *cursor, version uint64) error {
	flags, numberBytes := uint64(0), 4
	if version > 3 {
		flags = c.number(1)
	}
	rank := int(c.number(1)) - 1
	index := int64(-1)
	if version == 3 {
		index = d.f.address(c)
	} else {
		numberBytes = int(c.number(1))
	}
	if rank != len(d.shape) || numberBytes < 1 || numberBytes > 8 {
		return fmt.Errorf("got chunks of %d dimensions, want %d, as the dataset has", rank, len(d.shape))
	}
	chunk := make([]int64, 0, len(d.a.Shape))
	for range rank {
		chunk = append(chunk, int64(min(c.number(numberBytes), math.MaxInt64)))
	}
	c.skip(numberBytes) // bytes of an element
	if err := d.a.cut(append(chunk, d.element.shape...)); err != nil {
		return err
	}
	d.skipEnd = flags&1 != 0
	if err := d.indexed(c, version, flags, index); err != nil {
		return fmt.Errorf("index of the chunks: %w", err)
	}
	return d.settled()
}

// settled puts the places of the chunks in order, each once.
func (d *dataset) settled() error {
	if !slices.IsSortedFunc(d.chunks, func(a, b place) int { return cmp.Compare(a.index, b.index) }) {
		slices.SortFunc(d.chunks, func(a, b place) int { return cmp.Compare(a.index, b.index) })
	}
	for i := range d.chunks[:max(len(d.chunks)-1, 0)] {
		if d.chunks[i].index == d.chunks[i+1].index {
			return fmt.Errorf("chunk %d is there twice", d.chunks[i].index)
		}
	}
	if d.a.chunks == nil {
		d.a.chunks = &h5Chunks{d.f.r, slices.Clip(d.chunks)}
	}
	return nil
}

// has notes where the chunk at a place of the grid lies, in whose coordinates axes of an array type are missing.
func (d *dataset) has(at []int64, addr, size int64, skip uint32) error {
	if addr < 0 {
		return nil // never written
	}
	full := make([]int64, len(d.a.grid))
	copy(full, at)
	index, inside := d.a.number(full)
	if !inside {
		return nil // the array was made smaller
	}
	p := place{index: index, skip: skip}
	if d.skipEnd && d.reachesBeyond(full) {
		p.skip = math.MaxUint32
	}
	if d.a.stored(p) {
		size = d.a.chunkBytes
	}
	if size < 0 || size > math.MaxUint32 || addr > d.f.size-d.f.base-size {
		return fmt.Errorf("truncated: chunk %d has %d bytes from %d on, and the file %d", index, size, d.f.base+addr, d.f.size)
	}
	p.at, p.size = d.f.base+addr, uint32(size)
	d.chunks = append(d.chunks, p)
	return nil
}

// reachesBeyond says that a chunk has elements which the array has not.
func (d *dataset) reachesBeyond(at []int64) bool {
	for i, k := range at {
		if (k+1)*d.a.chunk[i] > d.a.Shape[i] {
			return true
		}
	}
	return false
}

// h5Chunks are those of a dataset.
type h5Chunks struct {
	r   io.ReaderAt
	all []place // sorted
}

func (h *h5Chunks) place(index int64) (p place, found bool, err error) {
	if index < int64(len(h.all)) && h.all[index].index == index { // as where all were written
		return h.all[index], true, nil
	}
	k, found := slices.BinarySearchFunc(h.all, index, func(p place, index int64) int { return cmp.Compare(p.index, index) })
	if found {
		p = h.all[k]
	}
	return p, found, nil
}

func (h *h5Chunks) read(p place, off int64, dst []byte) error {
	n, err := h.r.ReadAt(dst, p.at+off)
	if n == len(dst) {
		return nil
	}
	return err
}

// Places are where the chunks that were written lie, and how long they are, in the order of their numbers, for tests and for looking into files.
func (a *Array) Places() (all [][2]int64) {
	if h, ok := a.chunks.(*h5Chunks); ok {
		for _, p := range h.all {
			all = append(all, [2]int64{p.at, int64(p.size)})
		}
	}
	return all
}
