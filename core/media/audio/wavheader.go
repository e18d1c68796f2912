package audio

import (
	"encoding/binary"
	"io"
)

// WAVHeader is what a WAV file says of its samples, whoever decodes them.
type WAVHeader struct {
	Stream
	Encoding string `json:"encoding"` // as Encoding's name; "": the samples are compressed
	Tag      int    `json:"tag"`      // the codec's number in WAV: 1 PCM, 3 float, 6 A-law, 7 mu-law ...
	Bits     int    `json:"bits"`     // of a sample

	block int64 // bytes of a frame, where there is an Encoding
	speed int64 // bytes a second
}

// wavCodecs are FFmpeg's names of what is compressed; that of another tag is "".
var wavCodecs = map[uint16]string{
	0x02: "adpcm_ms", 0x11: "adpcm_ima_wav", 0x31: "gsm_ms", 0x50: "mp2", 0x55: "mp3", 0xff: "aac", 0x160: "wmav1", 0x161: "wmav2", 0x2000: "ac3", 0x2001: "dts",
}

// ReadWAVHeader reads the header of a WAV file of size bytes and takes it at its word: its codec may be any, and the samples need not be there.
// Frames and Seconds are -1 where it does not say them.
func ReadWAVHeader(r io.ReaderAt, size int64) (WAVHeader, error) {
	said := WAVHeader{Stream: Stream{Format: "wav", Frames: -1, Seconds: -1}}
	h := header{r: r, size: size, format: "wav", said: &said}
	err := h.wav()
	return said, err
}

// format takes down the fmt chunk, whose tag may be that of an extensible one.
func (w *WAVHeader) format(b []byte, tag, bits uint16) {
	w.Channels, w.Rate = int(binary.LittleEndian.Uint16(b[2:])), int(binary.LittleEndian.Uint32(b[4:]))
	w.Tag, w.Bits, w.Codec = int(tag), int(bits), wavCodecs[tag]
	w.speed = int64(binary.LittleEndian.Uint32(b[8:]))
	if encoding, ok := waveEncoding(tag, bits); ok {
		w.Codec, w.Encoding, w.block = encodings[encoding].codec, encoding.String(), int64(encoding.Bytes()*w.Channels)
	}
}

// data counts the samples of so many bytes.
func (w *WAVHeader) data(size int64) {
	if w.block > 0 {
		w.Frames = size / w.block
	}
	switch {
	case w.Frames >= 0 && w.Rate > 0:
		w.Seconds = float64(w.Frames) / float64(w.Rate)
	case w.speed > 0:
		w.Seconds = float64(size) / float64(w.speed)
	}
}

// fact is how many frames a compressed WAV has.
func (h *header) fact(body int64, size uint64) error {
	if h.said == nil || size < 4 {
		return nil
	}
	b, err := h.at(body, 4)
	if err == nil {
		h.said.Frames = int64(binary.LittleEndian.Uint32(b))
	}
	return err
}
