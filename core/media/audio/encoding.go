package audio

import "fmt"

// Encoding is how one sample is stored; values of several bytes are little-endian unless the name says be.
type Encoding uint8

// The values are those of kernels.h; a test holds the two together. Up to F64 they are what is written, too.
const (
	U8  Encoding = iota // 0 to 255, silence at 128
	S16                 // two's complement
	S24                 // three bytes
	S32
	F32
	F64
	S8
	S16BE
	S24BE
	S32BE
	F32BE
	F64BE
	MuLaw // G.711's, 14 bits in 8
	ALaw  // G.711's, 13 bits in 8
)

var encodings = [...]struct {
	name  string
	codec string // FFmpeg's name
	bytes int
}{
	U8: {"u8", "pcm_u8", 1}, S16: {"s16", "pcm_s16le", 2}, S24: {"s24", "pcm_s24le", 3}, S32: {"s32", "pcm_s32le", 4},
	F32: {"f32", "pcm_f32le", 4}, F64: {"f64", "pcm_f64le", 8},
	S8: {"s8", "pcm_s8", 1}, S16BE: {"s16be", "pcm_s16be", 2}, S24BE: {"s24be", "pcm_s24be", 3}, S32BE: {"s32be", "pcm_s32be", 4},
	F32BE: {"f32be", "pcm_f32be", 4}, F64BE: {"f64be", "pcm_f64be", 8},
	MuLaw: {"mulaw", "pcm_mulaw", 1}, ALaw: {"alaw", "pcm_alaw", 1},
}

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

// Integers of one to four bytes, as WAV, AIFF and AU, and CAF have them.
var (
	wavIntegers    = [...]Encoding{U8, S16, S24, S32}
	bigIntegers    = [...]Encoding{S8, S16BE, S24BE, S32BE}
	littleIntegers = [...]Encoding{S8, S16, S24, S32}
)

// integerOf goes by the container's size: fewer valid bits lie in its high ones.
func integerOf(bits int, of *[4]Encoding) (Encoding, bool) {
	if bits < 1 || bits > 32 {
		return 0, false
	}
	return of[(bits-1)/8], true
}

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
