package damage

import (
	"bytes"
	"encoding/binary"
)

// CRC is a checksum of width bits, the highest first, without inversions: what FLAC and Ogg have.
func CRC(data []byte, width int, polynomial uint32) uint32 {
	sum, top := uint32(0), uint32(1)<<(width-1)
	for _, b := range data {
		sum ^= uint32(b) << (width - 8)
		for range 8 {
			if sum&top != 0 {
				sum = sum<<1 ^ polynomial
			} else {
				sum <<= 1
			}
		}
	}
	return sum & (top<<1 - 1)
}

// A FLAC's frames have a checksum of 8 bits behind their header and one of 16 bits at their end.
func repairFLAC(whole, bad []byte) {
	starts := flacFrames(whole)
	for i, at := range starts {
		end := len(whole)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		n := flacHeader(whole[at:])
		if end-at < n+3 {
			continue
		}
		bad[at+n] = byte(CRC(bad[at:at+n], 8, 0x07))
		binary.BigEndian.PutUint16(bad[end-2:], uint16(CRC(bad[at:end-2], 16, 0x8005)))
	}
}

// flacFrames finds where frames begin: at a mark whose header has the checksum that it says.
func flacFrames(whole []byte) (starts []int) {
	for at := 0; at+16 < len(whole); at++ {
		if whole[at] != 0xff || whole[at+1]&^1 != 0xf8 {
			continue
		}
		if n := flacHeader(whole[at:]); n < len(whole)-at && byte(CRC(whole[at:at+n], 8, 0x07)) == whole[at+n] {
			starts = append(starts, at)
		}
	}
	return starts
}

// flacHeader is the length of a frame's header without its checksum.
func flacHeader(b []byte) int {
	n := 5 // mark, sizes, channels, and the number's first byte
	for lead := b[4]; lead&0xc0 == 0xc0; lead <<= 1 {
		n++
	}
	switch b[2] >> 4 { // the block's size stands behind it
	case 6:
		n++
	case 7:
		n += 2
	}
	switch b[2] & 15 { // the rate stands behind that
	case 12:
		n++
	case 13, 14:
		n += 2
	}
	return n
}

// Every page of an Ogg has a checksum of all of it, taken with zeros in the checksum's place.
func repairOgg(whole, bad []byte) {
	const header, sum, segments = 27, 22, 26
	for at := 0; at+header <= len(whole) && bytes.HasPrefix(whole[at:], []byte("OggS")); {
		n := int(whole[at+segments])
		end := at + header + n
		for _, size := range whole[at+header : min(end, len(whole))] {
			end += int(size)
		}
		if end > len(whole) {
			return
		}
		page := bad[at:end]
		copy(page[sum:sum+4], "\x00\x00\x00\x00")
		binary.LittleEndian.PutUint32(page[sum:], CRC(page, 32, 0x04c11db7))
		at = end
	}
}
