package mux

import "github.com/spdl/spdl/core/media/av"

// Rational is a number of frames a second, or the seconds of one tick: Num/Den.
type Rational struct{ Num, Den int }

// Config is the container.
type Config struct {
	Format  string            // FFmpeg's name, such as "mp4" or "matroska"; empty: by the path's ending
	Options map[string]string // the muxer's own, such as movflags=+faststart
}

// Video is a track of pictures that are encoded.
type Video struct {
	Codec         string // FFmpeg's name of an encoder or a codec; empty: the container's usual one
	Width, Height int

	// Rate says how many frames a second Write writes. Without it every frame needs a
	// time, WriteAt's, which TimeBase (default 1/90000 s) rounds.
	Rate, TimeBase Rational

	// Input is the pixel format of what is written: rgb24 (the default), gray, rgba or
	// any other that FFmpeg names, rows without padding and planes one after the other.
	// Bytes of PixelFormat itself are stored as they are, all others are converted: to
	// YUV by BT.601, which the file then names.
	Input string

	// PixelFormat is what is stored; empty: the encoder's nearest to Input, 4:2:0 where
	// that is YUV.
	PixelFormat string

	BitRate int64             // bits a second; 0: the encoder's default
	Quality int               // FFmpeg's qscale, 1 the best; 0: the encoder's default, 2 for MJPEG
	Threads int               // of the encoder; 0: 1
	Options map[string]string // the encoder's own, such as crf=20
}

// Audio is a track of samples that are encoded.
type Audio struct {
	Codec          string // as Video's
	Rate, Channels int

	// SampleFormat is what is stored, such as s16 or fltp; of several, with commas, the first that the encoder
	// stores. Empty: the one of the encoder's that keeps most of a float (24 bits in FLAC, ALAC and TTA).
	SampleFormat string

	BitRate int64
	Options map[string]string
}

// Picture is one picture, or each of many, that is encoded into bytes or a file of its own.
type Picture struct {
	Codec         string // as Video's; empty: by the file's ending
	Width, Height int
	Input         string // as Video's
	PixelFormat   string // as Video's
	Quality       int    // as Video's
	Options       map[string]string
}

// Kind says which streams of an input are meant.
type Kind int

// The kinds of streams that are copied; the values are FFmpeg's.
const (
	KindVideo Kind = iota
	KindAudio
)

// String is "video" or "audio".
func (k Kind) String() string { return [...]string{"video", "audio"}[k] }

// Source is where packets come from: memory, or a file.
type Source struct {
	Bytes  []byte
	Path   string
	File   *av.File // not nil: read in parts, until Close; Path is its name
	Stream int      // its number in the file, from 1; 0: the best of the kind
}

// Copy is a track of an Input's packets as they are.
type Copy struct {
	Filters string // FFmpeg's bitstream filters, such as "h264_mp4toannexb"; several with commas
}

// Packet is a piece of an encoded stream, lent until its input's next call.
type Packet struct {
	av.Packet

	in     *Input
	number int
}
