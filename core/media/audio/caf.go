package audio

import (
	"encoding/binary"
	"math"
)

func isCAF(head []byte) bool { return begins(head, "caff", 4, "\x00\x01") }

var cafChunks = chunking{first: 8, head: 12, id: 4, size: big64, align: 1}

// caf reads Core Audio's format with samples as they are (lpcm, ulaw, alaw).
func (h *header) caf() error { return h.chunks(&cafChunks, (*header).cafChunk) }

func (h *header) cafChunk(id []byte, body int64, size uint64) (bool, error) {
	switch string(id) {
	case "desc":
		return false, h.cafFormat(body, size)
	case "data":
		if !h.known {
			return false, h.fail(CauseCorrupt, "data before the desc chunk")
		}
		return true, h.cafData(body, size)
	}
	return false, nil
}

// cafData: a count of edits, which is nothing to us, stands before the samples.
func (h *header) cafData(body int64, size uint64) error {
	switch {
	case size == 0 || size == toTheEnd: // it was not known
		size = toTheEnd
	case size < 4:
		return h.fail(CauseCorrupt, "data chunk of %d bytes, want at least 4", size)
	default:
		size -= 4
	}
	return h.samples(body+4, size)
}

// Flags of lpcm.
const (
	cafFloat  = 1
	cafLittle = 2
)

func (h *header) cafFormat(body int64, size uint64) error {
	b, err := h.inside("desc", body, size, 32, 32)
	if err != nil {
		return err
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	rate, flags, bytes, frames, channels, bits := math.Float64frombits(big64(b)), word(12), word(16), word(20), word(24), word(28)
	encoding, ok := cafEncoding(b[8:12], flags, bits)
	if !ok || frames != 1 || uint64(bytes) != uint64(channels)*uint64(encoding.Bytes()) || rate != math.Trunc(rate) {
		return h.fail(CauseUnsupported, "%q with flags %#x, %d channels of %d bits in packets of %d bytes and %d frames at %v Hz, want samples side by side",
			b[8:12], flags, channels, bits, bytes, frames, rate)
	}
	return h.describe(encoding, channels, uint32(max(0, min(rate, MaxRate+1))))
}

func cafEncoding(kind []byte, flags, bits uint32) (Encoding, bool) {
	switch string(kind) {
	case "ulaw":
		return MuLaw, true
	case "alaw":
		return ALaw, true
	case "lpcm":
	default:
		return 0, false
	}
	switch {
	case flags == cafFloat && bits == 32:
		return F32BE, true
	case flags == cafFloat && bits == 64:
		return F64BE, true
	case flags == cafFloat|cafLittle && bits == 32:
		return F32, true
	case flags == cafFloat|cafLittle && bits == 64:
		return F64, true
	case flags == 0:
		return integerOf(int(min(bits, 64)), &bigIntegers)
	case flags == cafLittle:
		return integerOf(int(min(bits, 64)), &littleIntegers)
	}
	return 0, false
}
