package audio

import "encoding/binary"

func isAU(head []byte) bool { return begins(head, ".snd", 4, "") }

var auEncodings = map[uint32]Encoding{1: MuLaw, 2: S8, 3: S16BE, 4: S24BE, 5: S32BE, 6: F32BE, 7: F64BE, 27: ALaw}

// au reads AU, or SND: one header, then samples. FFmpeg reads on behind the size that the header says, where there is more: that is left to it.
func (h *header) au() error {
	b, err := h.at(0, 24)
	if err != nil {
		return err
	}
	at, size, kind := binary.BigEndian.Uint32(b[4:]), big32(b[8:]), binary.BigEndian.Uint32(b[12:])
	rate, channels := binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[20:])
	encoding, ok := auEncodings[kind]
	if !ok || at < 24 {
		return h.fail(CauseUnsupported, "encoding %d behind a header of %d bytes, want 1 to 7 or 27 behind 24 or more", kind, at)
	}
	if err := h.describe(encoding, channels, rate); err != nil {
		return err
	}
	if size == 0xffffffff || size == 0 { // it was not known
		size = toTheEnd
	} else if there := h.size - int64(at); there > 0 && size < uint64(there) {
		return h.fail(CauseUnsupported, "data of %d bytes, the file holds %d", size, there)
	}
	return h.samples(int64(at), size)
}
