package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Encoding is how one sample is stored; values of several bytes are little-endian.
type Encoding uint8

// The values are those of kernels.h; a test holds the two together.
const (
	U8  Encoding = iota // 0 to 255, silence at 128
	S16                 // two's complement
	S24                 // three bytes
	S32
	F32
	F64
)

var encodings = [...]struct {
	name  string
	bytes int
}{{"u8", 1}, {"s16", 2}, {"s24", 3}, {"s32", 4}, {"f32", 4}, {"f64", 8}}

// Valid reports whether e is one of the named encodings.
func (e Encoding) Valid() bool { return int(e) < len(encodings) }

// Bytes is the size of one sample of one channel.
func (e Encoding) Bytes() int { return encodings[e].bytes }

// String is the name, such as "s16".
func (e Encoding) String() string {
	if e.Valid() {
		return encodings[e].name
	}
	return fmt.Sprintf("encoding(%d)", uint8(e))
}

// Bounds of what a header may say.
const (
	MaxChannels = 64
	MaxRate     = 768000
	maxChunks   = 1024 // before the data
)

// PCM says where the samples lie: Frames frames from Offset on, Channels samples each, interleaved.
type PCM struct {
	Encoding Encoding
	Channels int
	Rate     int   // Hz
	Offset   int64 // bytes
	Frames   int64
}

// FrameBytes is the size of one frame, all its channels.
func (p *PCM) FrameBytes() int { return p.Encoding.Bytes() * p.Channels }

// ParseWAV reads the header of a WAV file of size bytes: RIFF, RF64 or BW64 with PCM or float samples, plain or
// extensible. A data chunk of size 0xffffffff without a ds64 chunk, as pipes write it, reaches to the end. Any other
// size that the file does not hold is CauseTruncated. A WAV of another codec is CauseUnsupported.
func ParseWAV(r io.ReaderAt, size int64) (PCM, error) {
	p := wavParser{r: r, size: size}
	pcm, err := p.parse()
	if err != nil {
		return PCM{}, err
	}
	return pcm, nil
}

type wavParser struct {
	r        io.ReaderAt
	size     int64
	buf      [40]byte
	dataSize uint64 // of ds64; 0: none
	pcm      PCM
	found    bool // a fmt chunk
}

func isWAV(head []byte) bool {
	if len(head) < 12 || string(head[8:12]) != "WAVE" {
		return false
	}
	id := string(head[:4])
	return id == "RIFF" || id == "RF64" || id == "BW64"
}

func wavError(cause, format string, args ...any) error {
	return &Error{Format: "wav", cause: cause, Detail: fmt.Sprintf(format, args...)}
}

// at reads n <= 40 bytes.
func (p *wavParser) at(offset int64, n int) ([]byte, error) {
	if offset+int64(n) > p.size {
		return nil, wavError(CauseTruncated, "the header needs %d bytes, got %d", offset+int64(n), p.size)
	}
	b := p.buf[:n]
	if got, err := p.r.ReadAt(b, offset); got < n {
		if err == nil || errors.Is(err, io.EOF) {
			return nil, wavError(CauseTruncated, "the header needs %d bytes, got %d", offset+int64(n), offset+int64(got))
		}
		return nil, &Error{Format: "wav", cause: CauseRead, Detail: err.Error(), err: err}
	}
	return b, nil
}

func (p *wavParser) parse() (PCM, error) {
	head, err := p.at(0, 12)
	if err != nil {
		return PCM{}, err
	}
	if !isWAV(head) {
		return PCM{}, &Error{cause: CauseNotAudio, Detail: "no RIFF, RF64 or BW64 header of a WAVE"}
	}
	rf64 := string(head[:4]) != "RIFF"
	offset := int64(12)
	for range maxChunks {
		b, err := p.at(offset, 8)
		if err != nil {
			return PCM{}, err
		}
		id, size := string(b[:4]), uint64(binary.LittleEndian.Uint32(b[4:]))
		body := offset + 8
		switch id {
		case "ds64":
			err = p.ds64(body, size)
		case "fmt ":
			err = p.format(body, size)
		case "data":
			return p.data(body, size, rf64)
		}
		if err != nil {
			return PCM{}, err
		}
		offset = body + int64(size+size&1)
	}
	return PCM{}, wavError(CauseCorrupt, "no data among the first %d chunks", maxChunks)
}

func (p *wavParser) ds64(body int64, size uint64) error {
	if size < 24 {
		return wavError(CauseCorrupt, "ds64 chunk of %d bytes, want at least 24", size)
	}
	b, err := p.at(body, 24)
	if err == nil {
		p.dataSize = binary.LittleEndian.Uint64(b[8:])
	}
	return err
}

// Format tags, and the rest of the GUID that carries one in an extensible header.
const (
	tagPCM        = 1
	tagFloat      = 3
	tagExtensible = 0xfffe
	guidRest      = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
)

func (p *wavParser) format(body int64, size uint64) error {
	if size < 16 {
		return wavError(CauseCorrupt, "fmt chunk of %d bytes, want at least 16", size)
	}
	b, err := p.at(body, min(int(min(size, 40)), 40))
	if err != nil {
		return err
	}
	tag, channels := binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])
	rate, block, bits := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint16(b[12:]), binary.LittleEndian.Uint16(b[14:])
	if tag == tagExtensible {
		if len(b) < 40 {
			return wavError(CauseCorrupt, "extensible fmt chunk of %d bytes, want at least 40", size)
		}
		tag = binary.LittleEndian.Uint16(b[24:])
		if string(b[26:40]) != guidRest {
			return wavError(CauseUnsupported, "extensible format %x, want PCM or float", b[24:40])
		}
	}
	encoding, ok := encodingOf(tag, bits)
	if !ok {
		return wavError(CauseUnsupported, "format tag %d of %d bits, want PCM of 8, 16, 24 or 32 bits or float of 32 or 64", tag, bits)
	}
	if channels < 1 || channels > MaxChannels || rate < 1 || rate > MaxRate {
		return wavError(CauseCorrupt, "%d channels at %d Hz, want 1 to %d at 1 to %d Hz", channels, rate, MaxChannels, MaxRate)
	}
	p.pcm = PCM{Encoding: encoding, Channels: int(channels), Rate: int(rate)}
	if int(block) != p.pcm.FrameBytes() {
		return wavError(CauseCorrupt, "blocks of %d bytes, want %d for %d channels of %s", block, p.pcm.FrameBytes(), channels, encoding)
	}
	p.found = true
	return nil
}

// encodingOf goes by the container's size: fewer valid bits lie in its high ones.
func encodingOf(tag, bits uint16) (Encoding, bool) {
	switch {
	case tag == tagFloat && bits == 32:
		return F32, true
	case tag == tagFloat && bits == 64:
		return F64, true
	case tag != tagPCM || bits == 0 || bits > 32:
		return 0, false
	}
	return [...]Encoding{U8, S16, S24, S32}[(bits-1)/8], true
}

func (p *wavParser) data(body int64, size uint64, rf64 bool) (PCM, error) {
	if !p.found {
		return PCM{}, wavError(CauseCorrupt, "data before the fmt chunk")
	}
	there := uint64(p.size - body)
	switch {
	case size != 0xffffffff:
	case rf64 && p.dataSize > 0:
		size = p.dataSize
	default:
		size = there
	}
	if size > there {
		return PCM{}, wavError(CauseTruncated, "data of %d bytes, the file holds %d of them", size, there)
	}
	p.pcm.Offset, p.pcm.Frames = body, int64(size)/int64(p.pcm.FrameBytes())
	if p.pcm.Frames == 0 {
		return PCM{}, wavError(CauseNoFrames, "data of %d bytes", size)
	}
	return p.pcm, nil
}
