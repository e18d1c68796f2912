package media

/*
#include "gif.h"
*/
import "C"

import (
	"bytes"
	"encoding/binary"
	"unsafe"
)

// endsEarly reports a file whose own structure says that bytes are missing. Decoders do not always mind: what is not
// there they leave black.
func endsEarly(format string, d []byte) bool {
	switch format {
	case "png":
		return !pngEnds(d)
	case "gif":
		return C.media_gif_first_is_whole((*C.uint8_t)(unsafe.Pointer(&d[0])), C.size_t(len(d))) == 0
	case "bmp":
		size := int(binary.LittleEndian.Uint32(d[2:]))
		return size > len(d) && int(binary.LittleEndian.Uint32(d[10:])) <= size
	case "qoi":
		return bytes.LastIndex(d, []byte("\x00\x00\x00\x00\x00\x00\x00\x01")) < 14 // behind the header
	case "sunraster":
		return sunEndsEarly(d)
	case "sgi":
		return sgiEndsEarly(d)
	case "pcx":
		return pcxEndsEarly(d)
	case "exr":
		return exrEndsEarly(d)
	}
	return false
}

// pngEnds walks the chunks to IEND, which is an empty one with a checksum.
func pngEnds(d []byte) bool {
	for at := 8; len(d)-at >= 8; {
		n := int(binary.BigEndian.Uint32(d[at:]))
		if string(d[at+4:at+8]) == "IEND" {
			return len(d)-at >= 12
		}
		if n > len(d)-at-12 {
			return false
		}
		at += 12 + n
	}
	return false
}

// sunEndsEarly adds up what the header says; in the old type and in the runs of encoders that left the length out, it
// says so by the picture's size alone, and not at all.
func sunEndsEarly(d []byte) bool {
	const header, old, runs = 32, 0, 2
	if len(d) < header {
		return true
	}
	word := func(i int) uint64 { return uint64(binary.BigEndian.Uint32(d[4*i:])) }
	width, height, depth, length, kind, palette := word(1), word(2), word(3), word(4), word(5), word(7)
	if kind == old || length == 0 {
		if length = (width*depth + 15) / 16 * 2 * height; kind == runs {
			length = 0
		}
	}
	return header+palette+length > uint64(len(d))
}

// sgiEndsEarly looks up where the rows of runs end.
func sgiEndsEarly(d []byte) bool {
	const header = 512
	if len(d) < header {
		return true
	}
	rows := int(binary.BigEndian.Uint16(d[8:])) * int(binary.BigEndian.Uint16(d[10:]))
	if d[2] == 0 { // no runs: FFmpeg looks itself
		return false
	}
	if len(d) < header+8*rows {
		return true
	}
	for i := range rows {
		start, n := binary.BigEndian.Uint32(d[header+4*i:]), binary.BigEndian.Uint32(d[header+4*(rows+i):])
		if uint64(start)+uint64(n) > uint64(len(d)) {
			return true
		}
	}
	return false
}

// pcxEndsEarly walks the runs line by line, as a run ends with its line, and wants the palette of 256 colours behind them.
func pcxEndsEarly(d []byte) bool {
	const header, palette = 128, 769
	le := binary.LittleEndian
	planes, line := int(d[65]), int(d[65])*int(le.Uint16(d[66:]))
	height := int(le.Uint16(d[10:])) - int(le.Uint16(d[6:])) + 1
	at := header
	for y := 0; y < height && at <= len(d); y++ {
		for x := 0; x < line; at++ {
			if at >= len(d) {
				return true
			}
			if n := int(d[at]); d[2] == 1 && n >= 0xc0 {
				x += n & 0x3f
				at++
			} else {
				x++
			}
		}
	}
	if planes == 1 && d[3] == 8 {
		at += palette
	}
	return at > len(d)
}
