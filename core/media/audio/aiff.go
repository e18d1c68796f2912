package audio

import "encoding/binary"

func isAIFF(head []byte) bool {
	return begins(head, "FORM", 8, "AIFF") || begins(head, "FORM", 8, "AIFC")
}

var aiffChunks = chunking{first: 12, head: 8, id: 4, size: big32, align: 2}

func big32(b []byte) uint64 { return uint64(binary.BigEndian.Uint32(b)) }
func big64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }

// aiff reads AIFF and AIFF-C. The chunk of the samples may come first, and says itself how many there are: of COMM's count FFmpeg
// makes nothing either.
func (h *header) aiff() error { return h.chunks(&aiffChunks, (*header).aiffChunk) }

func (h *header) aiffChunk(id []byte, body int64, size uint64) (bool, error) {
	switch string(id) {
	case "COMM":
		if err := h.common(body, size); err != nil || h.data == 0 {
			return false, err
		}
		return true, h.samples(h.data, h.dataLen)
	case "SSND":
		if err := h.soundData(body, size); err != nil || !h.known {
			return false, err
		}
		return true, h.samples(h.data, h.dataLen)
	}
	return false, nil
}

// soundData: an offset to the first sample and a block size, which is nothing to us, stand before the samples.
func (h *header) soundData(body int64, size uint64) error {
	if size < 8 {
		return h.fail(CauseNoFrames, "SSND chunk of %d bytes", size)
	}
	b, err := h.at(body, 8)
	if err != nil {
		return err
	}
	offset := uint64(binary.BigEndian.Uint32(b))
	h.data, h.dataLen = body+8+int64(offset), toTheEnd
	if size == 0xffffffff { // what pipes leave
		return nil
	}
	if offset > size-8 {
		return h.fail(CauseCorrupt, "samples at byte %d of %d", offset, size-8)
	}
	h.dataLen = size - 8 - offset
	return nil
}

// plainKind is what AIFF, which says no kind, has.
var plainKind = []byte("NONE")

// aiffEncodings are the kinds of AIFF-C that say all themselves.
var aiffEncodings = map[string]Encoding{
	"in24": S24BE, "in32": S32BE, "fl32": F32BE, "FL32": F32BE, "fl64": F64BE, "FL64": F64BE,
	"ulaw": MuLaw, "ULAW": MuLaw, "alaw": ALaw, "ALAW": ALaw,
}

// aiffEncoding is what a kind and a number of bits say. FFmpeg takes sowt and raw for those sizes alone, whatever the bits.
func aiffEncoding(kind []byte, bits int) (Encoding, bool) {
	switch string(kind) {
	case "NONE", "twos":
		return integerOf(bits, &bigIntegers)
	case "sowt":
		return S16, bits > 8 && bits <= 16
	case "raw ":
		return U8, bits > 0 && bits <= 8
	}
	e, ok := aiffEncodings[string(kind)]
	return e, ok
}

func (h *header) common(body int64, size uint64) error {
	b, err := h.inside("COMM", body, size, 18, 22)
	if err != nil {
		return err
	}
	kind := plainKind
	if len(b) == 22 {
		kind = b[18:22]
	}
	channels, bits := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[6:])
	encoding, ok := aiffEncoding(kind, int(bits))
	if !ok {
		return h.fail(CauseUnsupported, "kind %q of %d bits, want NONE or twos of 1 to 32, sowt of 16, raw of 8, in24, in32, fl32, fl64, ulaw or alaw", kind, bits)
	}
	return h.describe(encoding, uint32(channels), wholeRate(b[8:18]))
}

// wholeRate is a rate in IEEE 754's 80 bits, rounded; 0 if it is none of ours: negative, below 1 or beyond 2^31.
func wholeRate(b []byte) uint32 {
	exponent, mantissa := int(binary.BigEndian.Uint16(b)), binary.BigEndian.Uint64(b[2:])
	shift := 16383 + 63 - exponent // of the mantissa, whose first bit is 2^0 of it
	if shift < 32 || shift > 63 {
		return 0
	}
	return uint32((mantissa>>(shift-1) + 1) >> 1)
}
