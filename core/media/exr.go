package media

import (
	"bytes"
	"encoding/binary"
)

// exrLines is how many lines a block has, by the number of its compression.
var exrLines = [...]int64{1, 1, 1, 16, 32, 16, 32, 32, 32, 256}

// exrUnknown are the compressions that FFmpeg does not undo; of these files it shows pixels that are not theirs.
var exrUnknown = map[int]string{8: "DWAA", 9: "DWAB"}

// checkEXR refuses by name what FFmpeg only says in its log that it has not implemented.
func checkEXR(d []byte) error {
	h, _ := exrAttributes(d)
	if name := exrUnknown[h.compression]; name != "" {
		return &UnsupportedError{Format: "exr", Detail: "compressed by " + name + "; write it with ZIP, PIZ or no compression"}
	}
	return nil
}

// exrHeader is what the attributes of an OpenEXR file say about where its blocks are.
type exrHeader struct {
	left, top, right, bottom int64 // the window that has data
	compression              int
	tileW, tileH             int64
	levels                   byte
	end                      int // of the header, where the table of blocks begins
}

// exrEndsEarly reports a block that the table places beyond the file's end. FFmpeg leaves such blocks black. Of files of several parts or
// resolutions nothing is said.
func exrEndsEarly(d []byte) bool {
	const several, tiled = 0x1000, 0x200
	if len(d) < 8 {
		return true
	}
	flags := binary.LittleEndian.Uint32(d[4:])
	h, whole := exrAttributes(d)
	if !whole {
		return true
	}
	n := h.blocks(flags&tiled != 0)
	if flags&several != 0 || n <= 0 || flags&tiled != 0 && h.levels&15 != 0 {
		return false
	}
	if n > int64(len(d)-h.end)/8 {
		return true
	}
	head := 8 // a line's number and the bytes of the block
	if flags&tiled != 0 {
		head = 20
	}
	for i := range int(n) {
		at := binary.LittleEndian.Uint64(d[h.end+8*i:])
		if at > uint64(len(d)-head) {
			return true
		}
		size := uint64(binary.LittleEndian.Uint32(d[int(at)+head-4:]))
		if at != 0 && size > uint64(len(d)-head)-at { // 0: a writer that did not come back; FFmpeg looks for the blocks
			return true
		}
	}
	return false
}

// blocks is how many there are in one resolution; 0 if that cannot be.
func (h *exrHeader) blocks(tiled bool) int64 {
	w, height := h.right-h.left+1, h.bottom-h.top+1
	switch {
	case w <= 0 || height <= 0:
		return 0
	case tiled && h.tileW > 0 && h.tileH > 0:
		return ((w + h.tileW - 1) / h.tileW) * ((height + h.tileH - 1) / h.tileH)
	case tiled || h.compression >= len(exrLines):
		return 0
	}
	lines := exrLines[h.compression]
	return (height + lines - 1) / lines
}

// exrAttributes reads the first header: attributes of a name, a type, a size and so many bytes, up to an empty name. whole is
// false where the file ends in it.
func exrAttributes(d []byte) (h exrHeader, whole bool) {
	le := binary.LittleEndian
	for rest := d[8:]; ; {
		name, after, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return h, false
		}
		if len(name) == 0 {
			h.end = len(d) - len(after)
			return h, true
		}
		_, after, ok = bytes.Cut(after, []byte{0})
		if !ok || len(after) < 4 || uint64(le.Uint32(after)) > uint64(len(after)-4) {
			return h, false
		}
		value := after[4 : 4+le.Uint32(after)]
		h.take(string(name), value)
		rest = after[4+len(value):]
	}
}

func (h *exrHeader) take(name string, value []byte) {
	le := binary.LittleEndian
	switch {
	case name == "dataWindow" && len(value) == 16:
		at := func(i int) int64 { return int64(int32(le.Uint32(value[4*i:]))) }
		h.left, h.top, h.right, h.bottom = at(0), at(1), at(2), at(3)
	case name == "compression" && len(value) == 1:
		h.compression = int(value[0])
	case name == "tiles" && len(value) == 9:
		h.tileW, h.tileH, h.levels = int64(le.Uint32(value)), int64(le.Uint32(value[4:])), value[8]
	}
}
