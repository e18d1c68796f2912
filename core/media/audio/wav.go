package audio

import (
	"encoding/binary"
	"io"
	"math"
)

// ParseWAV reads the header of a WAV file of size bytes: RIFF, RF64 or BW64 with PCM, float, mu-law or A-law samples, plain or
// extensible. A data chunk of a size that programs write into pipes, and no ds64 chunk, reaches to the end. Any other
// size that the file does not hold is CauseTruncated. A WAV of another codec is CauseUnsupported.
func ParseWAV(r io.ReaderAt, size int64) (PCM, error) {
	h := header{r: r, size: size, format: "wav"}
	if err := h.wav(); err != nil {
		return PCM{}, err
	}
	return h.pcm, nil
}

func isWAV(head []byte) bool {
	return begins(head, "RIFF", 8, "WAVE") || begins(head, "RF64", 8, "WAVE") || begins(head, "BW64", 8, "WAVE")
}

var wavChunks = chunking{first: 12, head: 8, id: 4, size: little32, align: 2}

func little32(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) }
func little64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func (h *header) wav() error {
	head, err := h.at(0, 12)
	if err != nil {
		return err
	}
	if !isWAV(head) {
		return &Error{cause: CauseNotAudio, Detail: "no RIFF, RF64 or BW64 header of a WAVE"}
	}
	h.long = string(head[:4]) != "RIFF"
	return h.chunks(&wavChunks, (*header).wavChunk)
}

func (h *header) wavChunk(id []byte, body int64, size uint64) (bool, error) {
	switch string(id) {
	case "ds64":
		return false, h.ds64(body, size)
	case "fmt ":
		return false, h.waveFormat(body, size)
	case "fact":
		return false, h.fact(body, size)
	case "data":
		switch {
		case size == 0xffffffff && h.long && h.dataSize > 0:
			size = min(h.dataSize, toTheEnd-1)
		case h.isPiped(body, size):
			size = toTheEnd
		}
		return true, h.waveData(body, size)
	}
	return false, nil
}

// isPiped reports whether a size of data is one of those that a program writes which does not know it yet, in a file that does not hold it: all
// bits or nearly (0xffffff00), 2 GiB or up to 4,352 bytes less (sox, opusdec), and 0 (flac, mpg123), where what follows to the end is no chunk.
func (h *header) isPiped(body int64, size uint64) bool {
	there := uint64(max(0, h.size-body))
	if size == 0 {
		return there > 0 && !h.chunksTo(body)
	}
	return size > there && (size >= 0xffffff00 || size >= 0x7fffef00 && size <= 0x80000000)
}

// chunksTo reports whether chunks lie from byte at on, up to the end.
func (h *header) chunksTo(at int64) bool {
	for range maxChunks {
		b, err := h.at(at, 8)
		if err != nil {
			return at >= h.size
		}
		for _, c := range b[:4] {
			if c < ' ' || c > '~' {
				return false
			}
		}
		if at += 8 + int64(little32(b[4:])+1)&^1; at > h.size+1 {
			return false
		}
	}
	return false
}

func (h *header) ds64(body int64, size uint64) error {
	b, err := h.inside("ds64", body, size, 24, 24)
	if err == nil {
		h.dataSize = binary.LittleEndian.Uint64(b[8:])
	}
	return err
}

// Wave64 is WAV with GUIDs in place of ids and sizes of 64 bits. The GUIDs of chunks are WAV's ids and the same rest.
const (
	w64Riff = "riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00"
	w64Rest = "\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"
)

func isW64(head []byte) bool { return begins(head, w64Riff, 24, "wave"+w64Rest) }

var w64Chunks = chunking{first: 40, head: 24, id: 16, size: little64, counted: true, align: 8}

func (h *header) w64() error { return h.chunks(&w64Chunks, (*header).w64Chunk) }

func (h *header) w64Chunk(id []byte, body int64, size uint64) (bool, error) {
	switch string(id) {
	case "fmt " + w64Rest:
		return false, h.waveFormat(body, size)
	case "data" + w64Rest:
		if size >= 1<<63-1-24 { // what pipes leave
			size = toTheEnd
		}
		return true, h.waveData(body, size)
	}
	return false, nil
}

// Format tags, and the rest of the GUID that carries one in an extensible header.
const (
	tagPCM        = 1
	tagFloat      = 3
	tagALaw       = 6
	tagMuLaw      = 7
	tagExtensible = 0xfffe
	guidRest      = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
)

func (h *header) waveFormat(body int64, size uint64) error {
	b, err := h.inside("fmt", body, size, 16, 40)
	if err != nil {
		return err
	}
	tag, channels := binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])
	rate, block, bits := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint16(b[12:]), binary.LittleEndian.Uint16(b[14:])
	if tag == tagExtensible {
		if len(b) < 40 {
			return h.fail(CauseCorrupt, "extensible fmt chunk of %d bytes, want at least 40", size)
		}
		if string(b[26:40]) == guidRest {
			tag = binary.LittleEndian.Uint16(b[24:])
		} else if h.said == nil {
			return h.fail(CauseUnsupported, "extensible format %x, want PCM or float", b[24:40])
		}
	}
	if h.said != nil {
		h.said.format(b, tag, bits)
		h.known = true
		return nil
	}
	encoding, ok := waveEncoding(tag, bits)
	if !ok {
		return h.fail(CauseUnsupported, "format tag %d of %d bits, want PCM of 8, 16, 24 or 32 bits, float of 32 or 64, or mu-law or A-law of 8", tag, bits)
	}
	if err := h.describe(encoding, uint32(channels), rate); err != nil {
		return err
	}
	if int(block) != h.pcm.FrameBytes() {
		return h.fail(CauseCorrupt, "blocks of %d bytes, want %d for %d channels of %s", block, h.pcm.FrameBytes(), channels, encoding)
	}
	return nil
}

func waveEncoding(tag, bits uint16) (Encoding, bool) {
	switch {
	case tag == tagPCM:
		return integerOf(int(bits), &wavIntegers)
	case tag == tagFloat && bits == 32:
		return F32, true
	case tag == tagFloat && bits == 64:
		return F64, true
	case tag == tagALaw && bits == 8:
		return ALaw, true
	case tag == tagMuLaw && bits == 8:
		return MuLaw, true
	}
	return 0, false
}

func (h *header) waveData(body int64, size uint64) error {
	if !h.known {
		return h.fail(CauseCorrupt, "data before the fmt chunk")
	}
	if h.said != nil {
		if size == toTheEnd {
			size = uint64(max(0, h.size-body))
		}
		h.said.data(int64(min(size, math.MaxInt64)))
		return nil
	}
	return h.samples(body, size)
}
