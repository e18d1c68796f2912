package heif

import (
	"bytes"
	"fmt"
)

// codecs are the kinds of items that we decode, and the property that configures their decoder.
var codecs = map[string]struct{ name, config string }{"av01": {"av1", "av1C"}, "hvc1": {"hevc", "hvcC"}}

// maxSide keeps products of sizes within 64 bits; how many pixels are too many is the caller's to say.
const maxSide = 1 << 20

func (f *file) readPrimary(s *Still, it *item) error {
	if it.kind == "grid" {
		if err := it.understood(); err != nil {
			return err
		}
		return f.readGrid(s, it)
	}
	if err := f.addTile(s, it); err != nil {
		return err
	}
	s.Width, s.Height = s.TileW, s.TileH
	return nil
}

// readGrid reads the derived picture that is made of equal tiles (ISO/IEC 23008-12, 6.6.2.3).
func (f *file) readGrid(s *Still, it *item) error {
	b, err := f.bytes(it)
	if err != nil {
		return err
	}
	r := &reader{d: b}
	r.u8() // version
	wide := r.u8()&1 != 0
	s.Rows, s.Columns = int(r.u8())+1, int(r.u8())+1
	s.Width, s.Height = int(r.either(wide)), int(r.either(wide))
	if r.short || len(it.of) != s.Rows*s.Columns || len(it.of) > MaxTiles {
		return fmt.Errorf("%w: a grid of %d x %d names %d tiles", ErrCorrupt, s.Rows, s.Columns, len(it.of))
	}
	for _, id := range it.of {
		tile := f.items[id]
		if tile == nil {
			return fmt.Errorf("%w: the grid's tile %d is not listed", ErrCorrupt, id)
		}
		if err := f.addTile(s, tile); err != nil {
			return err
		}
	}
	if s.Width < 1 || s.Height < 1 || s.Width > s.Columns*s.TileW || s.Height > s.Rows*s.TileH {
		return fmt.Errorf("%w: %d x %d tiles of %d x %d do not cover %d x %d", ErrCorrupt, s.Columns, s.Rows, s.TileW, s.TileH, s.Width, s.Height)
	}
	return nil
}

func (f *file) addTile(s *Still, it *item) error {
	codec, ok := codecs[it.kind]
	if !ok {
		return fmt.Errorf("%w: a picture of kind %q", ErrUnsupported, it.kind)
	}
	if err := it.understood(); err != nil {
		return err
	}
	b, err := f.bytes(it)
	if err != nil {
		return err
	}
	size, config := reader{d: it.property("ispe")}, it.property(codec.config)
	size.full()
	w, h := int(size.u32()), int(size.u32())
	if size.short || w == 0 || h == 0 || config == nil {
		return fmt.Errorf("%w: a picture without ispe or %s", ErrCorrupt, codec.config)
	}
	if w > maxSide || h > maxSide {
		return fmt.Errorf("%w: a picture of %d x %d, want sides of at most %d", ErrUnsupported, h, w, maxSide)
	}
	if len(s.Tiles) == 0 {
		s.Codec, s.Config, s.TileW, s.TileH = codec.name, config, w, h
		s.readColour(it)
	}
	if s.Codec != codec.name || s.TileW != w || s.TileH != h || !bytes.Equal(s.Config, config) {
		return fmt.Errorf("%w: tiles that are coded differently", ErrUnsupported)
	}
	s.Tiles = append(s.Tiles, b)
	return nil
}

func (it *item) property(kind string) []byte {
	for _, p := range it.properties {
		if p.kind == kind {
			return p.data
		}
	}
	return nil
}

// understood refuses an item that says itself that it cannot be shown without a property which we do not honour, and one whose colours
// its alpha would have to be divided out of.
func (it *item) understood() error {
	if it.multiplied {
		return fmt.Errorf("%w: colours that are multiplied with alpha; write it without that (avifenc without --premultiply)", ErrUnsupported)
	}
	for _, p := range it.properties {
		if p.essential && !known[p.kind] {
			return fmt.Errorf("%w: the picture cannot be shown without its property %q", ErrUnsupported, p.kind)
		}
	}
	return nil
}

// readColour takes the first colr of kind nclx; ICC profiles are not applied, as nobody does.
func (s *Still) readColour(it *item) {
	for _, p := range it.properties {
		if p.kind == "colr" && len(p.data) >= 11 && string(p.data[:4]) == "nclx" {
			s.Colour = &Colour{Primaries: int(p.data[4])<<8 | int(p.data[5]), Matrix: int(p.data[8])<<8 | int(p.data[9]), FullRange: p.data[10]&0x80 != 0}
			return
		}
	}
}

// readProperties reads what is done to the whole picture: crop, then turn, then mirror (MIAF fixes that order).
func (s *Still) readProperties(it *item) error {
	s.readColour(it)
	s.Crop = Box{W: s.Width, H: s.Height}
	if d := it.property("clap"); d != nil {
		if err := s.readCrop(d); err != nil {
			return err
		}
	}
	quarters, mirror := 0, -1
	if d := it.property("irot"); len(d) > 0 {
		quarters = int(d[0] & 3)
	}
	if d := it.property("imir"); len(d) > 0 {
		mirror = int(d[0] & 1)
	}
	s.Orientation = orientation(quarters, mirror)
	return nil
}

// orientation is the EXIF number of a turn by quarters to the left, and then a mirroring: 0 swaps top and bottom, 1 left and
// right, -1 none.
func orientation(quarters, mirror int) int {
	turned := [3][4]int{
		{1, 8, 3, 6}, // no mirror
		{4, 5, 2, 7}, // top and bottom
		{2, 7, 4, 5}, // left and right
	}
	return turned[mirror+1][quarters]
}

// readCrop reads a clean aperture: its size and the offset of its middle from the picture's, as fractions.
func (s *Still) readCrop(d []byte) error {
	r := reader{d: d}
	var v [8]int64
	for i := range v {
		v[i] = int64(int32(r.u32()))
	}
	if r.short || v[1] <= 0 || v[3] <= 0 || v[5] <= 0 || v[7] <= 0 {
		return fmt.Errorf("%w: the clap property", ErrCorrupt)
	}
	var ok [2]bool
	s.Crop.X, s.Crop.W, ok[0] = aperture(int64(s.Width), v[0], v[1], v[4], v[5])
	s.Crop.Y, s.Crop.H, ok[1] = aperture(int64(s.Height), v[2], v[3], v[6], v[7])
	if !ok[0] || !ok[1] {
		return fmt.Errorf("%w: a clap property that is not of whole pixels inside the picture", ErrUnsupported)
	}
	return nil
}

// aperture is one axis: first pixel and size, from the size n/d and the middle's offset on/od.
func aperture(full, n, d, on, od int64) (first, size int, ok bool) {
	if n%d != 0 {
		return 0, 0, false
	}
	w := n / d
	twice := (full-w)*od + 2*on // of the first pixel, times od
	if w < 1 || w > full || twice%(2*od) != 0 {
		return 0, 0, false
	}
	at := twice / (2 * od)
	return int(at), int(w), at >= 0 && at+w <= full
}
