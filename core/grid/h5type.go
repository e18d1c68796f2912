package grid

import (
	"errors"
	"fmt"

	"github.com/spdl/spdl/core/tensor"
)

// Classes of types.
const (
	classFixed    = 0
	classFloat    = 1
	classText     = 3
	classOpaque   = 5
	classCompound = 6
	classEnum     = 8
	classVlen     = 9
	classArray    = 10
)

// classNames are those of what is not read.
var classNames = map[uint64]string{2: "times", 4: "bit fields", classCompound: "compounds", 7: "references", 11: "complex numbers"}

// element is what one of a dataset's elements is. Of texts, and of references to lists, shape is that of their bytes.
type element struct {
	dtype   tensor.DType
	swapped bool
	shape   tensor.Shape // of an array type; empty: a number
	text    *TextType    // nil: it is no text of one length
	lists   *Lists       // nil: it is no reference
}

// elementOf reads a type, of which depth others are.
func elementOf(c *cursor, depth int) (e element, err error) {
	head := c.number(1)
	class, version, flags, size := head&15, head>>4, c.number(3), c.number(4)
	switch {
	case c.short:
		return e, errors.New("the type is truncated")
	case version < 1 || version > 5:
		return e, fmt.Errorf("got a type of version %d, want 1 to 5; write the file again with h5repack", version)
	case depth > 1 && class != classFixed && class != classFloat || depth > 0 && (class == classText || class == classOpaque || class == classVlen):
		return e, errors.New("got types within types, want numbers, texts, or one array or list of numbers")
	}
	switch class {
	case classFixed:
		return fixedOf(c, flags, size)
	case classFloat:
		return floatOf(c, flags, size)
	case classEnum:
		return enumOf(c, version, int(flags&0xffff), size, depth)
	case classArray:
		return arrayOf(c, version, depth)
	case classText, classOpaque:
		return textOf(class, flags, size)
	case classVlen:
		return listOf(c, flags, size, depth)
	}
	name, known := classNames[class]
	if !known {
		name = fmt.Sprintf("a type of class %d", class)
	}
	if class == classCompound {
		name += " (structures, or complex numbers)"
	}
	return e, fmt.Errorf("got %s, want numbers, texts, or lists of numbers", name)
}

// textOf is a text or opaque bytes of one length.
func textOf(class, flags, size uint64) (e element, err error) {
	padding := TextType{Opaque: class == classOpaque}
	if !padding.Opaque {
		padding.padding = flags & 15
	}
	if padding.padding > padSpace || size < 1 || size > maxChunkBytes {
		return e, fmt.Errorf("got texts of %d bytes padded in way %d, want 1 byte to 1 GiB, and ways 0 to 2", size, padding.padding)
	}
	return element{dtype: tensor.U8, shape: tensor.Shape{int64(size)}, text: &padding}, nil
}

// listOf is a reference to a list of any length, or to a text, in a heap of the file.
func listOf(c *cursor, flags, size uint64, depth int) (e element, err error) {
	e = element{dtype: tensor.U8, shape: tensor.Shape{int64(min(size, maxChunkBytes))}, lists: &Lists{DType: tensor.U8}}
	switch flags & 15 {
	case 0:
		of, err := elementOf(c, depth+1)
		if err != nil {
			return e, fmt.Errorf("lists: %w", err)
		}
		e.lists.DType, e.lists.Swapped, e.lists.Shape = of.dtype, of.swapped, of.shape
	case 1:
		e.lists.Text = true
	default:
		return e, fmt.Errorf("got lists of kind %d, want 0 or 1", flags&15)
	}
	return e, nil
}

// fixedOf is a whole number of 1, 2, 4 or 8 bytes all of whose bits count.
func fixedOf(c *cursor, flags, size uint64) (e element, err error) {
	offset, precision := c.number(2), c.number(2)
	code := uint32(tensor.CodeUint)
	if flags&8 != 0 {
		code = tensor.CodeInt
	}
	e.dtype = tensor.DType(code | uint32(min(size, 31))<<11 | 1<<16)
	if !e.dtype.Valid() || offset != 0 || precision != 8*size || c.short {
		return e, fmt.Errorf("got whole numbers of %d bits in %d bytes, want 8, 16, 32 or 64 without others between them", precision, size)
	}
	e.swapped = flags&1 != 0 && size > 1
	return e, nil
}

// ieee are the layouts of floats: the places and sizes of the exponent and of the fraction, by bytes.
var ieee = map[uint64][4]uint64{2: {10, 5, 0, 10}, 4: {23, 8, 0, 23}, 8: {52, 11, 0, 52}}

func floatOf(c *cursor, flags, size uint64) (e element, err error) {
	offset, precision := c.number(2), c.number(2)
	layout := [4]uint64{c.number(1), c.number(1), c.number(1), c.number(1)}
	c.skip(4)
	e.dtype = tensor.DType(tensor.CodeFloat | uint32(min(size, 31))<<11 | 1<<16)
	if c.short || flags&0x40 != 0 || offset != 0 || precision != 8*size || !e.dtype.Valid() || layout != ieee[size] {
		return e, fmt.Errorf("got floats of %d bits in %d bytes with exponents of %d bits, want IEEE's of 16, 32 or 64", precision, size, layout[1])
	}
	e.swapped = flags&1 != 0
	return e, nil
}

// enumOf is the whole number that names stand for; h5py's booleans, the names FALSE and TRUE of 0 and 1, are U8.
func enumOf(c *cursor, version uint64, members int, size uint64, depth int) (e element, err error) {
	if e, err = elementOf(c, depth+1); err != nil || members != 2 || size != 1 {
		return e, err
	}
	names := [2]string{}
	for i := range names {
		from := c.at
		names[i] = c.text()
		if version < 3 {
			c.skip((8 - (c.at-from)%8) % 8)
		}
	}
	if names == [2]string{"FALSE", "TRUE"} && c.number(1) == 0 && c.number(1) == 1 {
		e.dtype = tensor.U8
	}
	return e, nil
}

// arrayOf is a type of so many elements of another.
func arrayOf(c *cursor, version uint64, depth int) (e element, err error) {
	rank := int(c.number(1))
	if version < 3 {
		c.skip(3)
	}
	var shape tensor.Shape
	for range min(rank, maxRank) {
		shape = append(shape, int64(c.number(4)))
	}
	if version < 3 {
		c.skip(4 * rank) // permutations, of which there are none
	}
	if rank > maxRank || c.short {
		return e, fmt.Errorf("got an array type of %d dimensions", rank)
	}
	e, err = elementOf(c, depth+1)
	e.shape = shape
	return e, err
}

// space is the shape of a dataset, and the largest that it may grow to; -1: without end.
func (f *HDF5) space(body []byte) (shape, most []int64, err error) {
	c := cursor{b: body}
	version, rank, flags, kind := c.number(1), int(c.number(1)), c.number(1), uint64(1)
	switch version {
	case 1:
		c.skip(5)
	case 2:
		kind = c.number(1)
	default:
		return nil, nil, fmt.Errorf("got a dataspace of version %d, want 1 or 2", version)
	}
	switch {
	case kind == 2:
		return nil, nil, errors.New("got a dataset without elements (a null dataspace), want an array whose first axis counts samples")
	case rank == 0:
		return nil, nil, errors.New("got a scalar, want an array whose first axis counts samples")
	case rank > maxRank:
		return nil, nil, fmt.Errorf("got %d dimensions, want at most %d", rank, maxRank)
	}
	for range rank {
		shape = append(shape, f.length(&c))
	}
	most = shape
	if flags&1 != 0 {
		most = make([]int64, rank)
		for i := range most {
			if most[i] = f.length(&c); most[i] == 1<<(8*min(f.lengthBytes, 7))-1 || most[i] == 1<<63-1 {
				most[i] = -1
			}
		}
	}
	if c.short {
		err = errors.New("the dataspace is truncated")
	}
	return shape, most, err
}

// fillOf is the value of elements that were never written; nil: zero.
func fillOf(messages []h5Message) ([]byte, error) {
	if m := messageOf(messages, msgFill); m != nil {
		c := cursor{b: m.body}
		switch version := c.number(1); version {
		case 1, 2:
			c.skip(2)
			if c.number(1) == 0 && version == 2 {
				return nil, nil
			}
		case 3:
			if c.number(1)&0x20 == 0 {
				return nil, nil
			}
		default:
			return nil, fmt.Errorf("got a fill value of version %d, want 1 to 3", version)
		}
		return valueOf(&c)
	}
	if m := messageOf(messages, msgOldFill); m != nil {
		return valueOf(&cursor{b: m.body})
	}
	return nil, nil
}

func valueOf(c *cursor) ([]byte, error) {
	n := c.number(4)
	if n == 0 || n > maxH5Block {
		return nil, nil // none; v1 says a negative size
	}
	value := c.bytes(int(n))
	if c.short {
		return nil, errors.New("the fill value is truncated")
	}
	return value, nil
}
