package heif

import (
	"errors"
	"fmt"
)

// The ways in which a file is no picture for us. Errors of Parse wrap one of them.
var (
	ErrTruncated   = errors.New("the data stop early")
	ErrCorrupt     = errors.New("the boxes are damaged")
	ErrUnsupported = errors.New("unsupported")
)

// MaxTiles bounds a grid: 256 tiles of 512 pixels along each side.
const MaxTiles = 1 << 16

// Still is the primary picture of a file.
type Still struct {
	Codec         string   // "av1" or "hevc"
	Config        []byte   // the codec's configuration record: av1C or hvcC; views the input
	Tiles         [][]byte // coded bytes, row by row; views the input where they are in one piece
	Columns, Rows int      // of tiles; 1, 1 for a plain picture
	TileW, TileH  int      // pixels of every tile
	Width, Height int      // of the picture before it is cropped and turned; the tiles may reach further
	Crop          Box      // what is shown of it; the whole picture where the file says nothing
	Orientation   int      // 1 to 8 as EXIF numbers them: how the shown part is turned
	Colour        *Colour  // nil: as the coded bytes say
}

// Box is a part of a picture in pixels.
type Box struct{ X, Y, W, H int }

// Colour is how the coded planes become RGB, in the code points of ITU-T H.273.
type Colour struct {
	Primaries int
	Matrix    int
	FullRange bool
}

type property struct {
	kind      string
	data      []byte
	essential bool
}

type extent struct{ offset, length uint64 }

// item is one entry of the file's tables.
type item struct {
	kind       string
	method     uint64
	extents    []extent
	properties []property
	of         []uint64 // the items that a grid is made of
	multiplied bool     // its colours are multiplied with its alpha
}

type file struct {
	data, idat []byte
	copied     int // bytes of items in several pieces
	primary    uint64
	items      map[uint64]*item
}

// Parse finds the primary picture of data.
func Parse(data []byte) (*Still, error) {
	meta, ok := find(data, "meta")
	if !ok {
		return nil, fmt.Errorf("%w: no meta box, so no still picture", missing(data))
	}
	if !meta.whole {
		return nil, ErrTruncated
	}
	f := &file{data: data, items: map[uint64]*item{}}
	if err := f.readMeta(meta.data); err != nil {
		return nil, err
	}
	it := f.items[f.primary]
	if it == nil {
		return nil, fmt.Errorf("%w: the primary item %d is not listed", ErrCorrupt, f.primary)
	}
	s := &Still{Orientation: 1, Columns: 1, Rows: 1}
	if err := f.readPrimary(s, it); err != nil {
		return nil, err
	}
	return s, s.readProperties(it)
}

// missing tells a file that ends before its meta box from one that has none.
func missing(data []byte) error {
	r := reader{d: data}
	whole := true
	for {
		b, ok := r.next()
		if !ok {
			break
		}
		whole = b.whole
	}
	if !whole || len(r.d) > 0 {
		return ErrTruncated
	}
	return ErrUnsupported
}

func (f *file) readMeta(d []byte) error {
	if len(d) < 4 {
		return ErrCorrupt
	}
	d = d[4:]
	if b, ok := find(d, "idat"); ok {
		f.idat = b.data
	}
	for _, part := range []struct {
		kind string
		read func(*reader) error
	}{{"pitm", f.readPrimaryID}, {"iinf", f.readKinds}, {"iloc", f.readPlaces}, {"iprp", f.readItemProperties}, {"iref", f.readReferences}} {
		b, ok := find(d, part.kind)
		if !ok {
			if part.kind == "iref" {
				continue
			}
			return fmt.Errorf("%w: no %s box, so no still picture", ErrUnsupported, part.kind)
		}
		r := &reader{d: b.data}
		if err := part.read(r); err != nil {
			return err
		}
		if r.short || !b.whole {
			return fmt.Errorf("%w: the %s box ends early", ErrCorrupt, part.kind)
		}
	}
	return nil
}

func (f *file) readPrimaryID(r *reader) error {
	version, _ := r.full()
	f.primary = r.either(version > 0)
	return nil
}

// readKinds reads the item infos: version 2 and 3 entries, the only ones with a type.
func (f *file) readKinds(r *reader) error {
	version, _ := r.full()
	for n := r.either(version > 0); n > 0; n-- {
		b, ok := r.next()
		if !ok {
			return fmt.Errorf("%w: the iinf box lists more items than it holds", ErrCorrupt)
		}
		e := &reader{d: b.data}
		v, _ := e.full()
		if b.kind != "infe" || v < 2 {
			continue
		}
		id := e.either(v > 2)
		e.u16() // protection
		kind := string(e.bytes(4))
		if e.short {
			return fmt.Errorf("%w: an infe box ends early", ErrCorrupt)
		}
		f.items[id] = &item{kind: kind}
	}
	return nil
}

func (f *file) readPlaces(r *reader) error {
	version, _ := r.full()
	if version > 2 {
		return fmt.Errorf("%w: iloc box of version %d", ErrUnsupported, version)
	}
	sizes := r.u16()
	offsetSize, lengthSize, baseSize, indexSize := int(sizes>>12), int(sizes>>8&15), int(sizes>>4&15), int(sizes&15)
	if version == 0 {
		indexSize = 0
	}
	if max(offsetSize, lengthSize, baseSize, indexSize) > 8 {
		return fmt.Errorf("%w: the iloc box has numbers of more than 8 bytes", ErrCorrupt)
	}
	for n := r.either(version == 2); n > 0 && !r.short; n-- {
		id, method := r.either(version == 2), uint64(0)
		if version > 0 {
			method = r.u16() & 15
		}
		r.u16() // data reference: other files are not followed, and 0 in every picture
		base := r.number(baseSize)
		it := f.items[id]
		extents := r.u16()
		if offsetSize+lengthSize == 0 && extents > 1 {
			return fmt.Errorf("%w: the iloc box has extents without place and length", ErrCorrupt)
		}
		for k := extents; k > 0 && !r.short; k-- {
			r.number(indexSize)
			e := extent{base + r.number(offsetSize), r.number(lengthSize)}
			if it != nil && !r.short {
				it.extents = append(it.extents, e)
			}
		}
		if it != nil {
			it.method = method
		}
	}
	return nil
}

func (f *file) readItemProperties(r *reader) error {
	container, ok := find(r.d, "ipco")
	if !ok {
		return fmt.Errorf("%w: the iprp box has no ipco box", ErrCorrupt)
	}
	var all []property
	for p := (&reader{d: container.data}); ; {
		b, ok := p.next()
		if !ok {
			break
		}
		all = append(all, property{kind: b.kind, data: b.data})
	}
	for rest := *r; ; {
		b, ok := rest.next()
		if !ok {
			return nil
		}
		if b.kind == "ipma" {
			if err := f.associate(&reader{d: b.data}, all); err != nil {
				return err
			}
		}
	}
}

// maxProperties is of one item; pictures have about ten.
const maxProperties = 64

func (f *file) associate(r *reader, all []property) error {
	version, flags := r.full()
	for n := r.u32(); n > 0 && !r.short; n-- {
		it := f.items[r.either(version > 0)]
		for k := r.u8(); k > 0 && !r.short; k-- {
			index, essential := r.u8(), uint64(0)
			if flags&1 != 0 {
				index = index<<8 | r.u8()
				essential, index = index>>15, index&0x7fff
			} else {
				essential, index = index>>7, index&0x7f
			}
			if it == nil || index == 0 || r.short {
				continue
			}
			if index > uint64(len(all)) || len(it.properties) >= maxProperties {
				return fmt.Errorf("%w: an item names property %d of %d", ErrCorrupt, index, len(all))
			}
			p := all[index-1]
			p.essential = essential == 1
			it.properties = append(it.properties, p)
		}
	}
	if r.short {
		return fmt.Errorf("%w: the ipma box ends early", ErrCorrupt)
	}
	return nil
}

// known are the properties that we honour, or that say nothing about pixels. A layer of a layered picture is chosen by the
// decoder, which shows the best.
var known = map[string]bool{"av1C": true, "hvcC": true, "ispe": true, "pixi": true, "colr": true, "irot": true, "imir": true, "clap": true,
	"pasp": true, "auxC": true, "a1op": true, "lsel": true}

func (f *file) readReferences(r *reader) error {
	version, _ := r.full()
	for {
		b, ok := r.next()
		if !ok {
			return nil
		}
		if b.kind != "dimg" && b.kind != "prem" {
			continue
		}
		e := &reader{d: b.data}
		it := f.items[e.either(version > 0)]
		if b.kind == "prem" {
			if it != nil {
				it.multiplied = true
			}
			continue
		}
		n := e.u16()
		if n*2 > uint64(len(e.d)) {
			return fmt.Errorf("%w: a dimg reference ends early", ErrCorrupt)
		}
		for ; n > 0 && it != nil; n-- {
			it.of = append(it.of, e.either(version > 0))
		}
		if e.short {
			return fmt.Errorf("%w: a dimg reference ends early", ErrCorrupt)
		}
	}
}

// bytes are an item's coded bytes.
func (f *file) bytes(it *item) ([]byte, error) {
	from := f.data
	switch it.method {
	case 0:
	case 1:
		from = f.idat
	default:
		return nil, fmt.Errorf("%w: an item's bytes are placed by method %d", ErrUnsupported, it.method)
	}
	var all []byte
	for i, e := range it.extents {
		if e.offset > uint64(len(from)) || e.length > uint64(len(from))-e.offset {
			return nil, ErrTruncated
		}
		part := from[e.offset : e.offset+e.length]
		if e.length == 0 { // to the end
			part = from[e.offset:]
		}
		if i == 0 {
			all = part[:len(part):len(part)]
			continue
		}
		all = append(all, part...)
		if f.copied += len(part); f.copied > len(f.data) {
			return nil, fmt.Errorf("%w: the pieces of items are longer than the file", ErrCorrupt)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: an item has no bytes", ErrCorrupt)
	}
	return all, nil
}
