//go:build !noffmpeg

package av

/*
#include <stdlib.h>
#include <libavutil/channel_layout.h>
#include <libavutil/pixdesc.h>
#include "packets.h"
*/
import "C"

import (
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"
)

// Packets is a piece of one stream, undecoded. It is read-only: any number of goroutines may use it. Whoever was given
// one closes it.
type Packets struct {
	p       *C.media_packets
	holders atomic.Int32
	stream  int

	// Window is the part of the stream, in seconds, that the piece was taken for; nil: all of it. What decoding needs
	// before it is in the piece, too.
	Window *[2]float64

	// Source is the file that they are of, for errors; "": memory, or bytes of another process.
	Source string
}

// NewPackets takes a media_packets of C's, of the stream of that number in its file.
func NewPackets(p unsafe.Pointer, stream int) *Packets {
	made := &Packets{p: (*C.media_packets)(p), stream: stream}
	made.holders.Store(1)
	return made
}

// Pointer is the media_packets, for C; it lives until Close.
func (p *Packets) Pointer() unsafe.Pointer { return unsafe.Pointer(p.p) }

// Hold lets the packets live until one more Close.
func (p *Packets) Hold() *Packets {
	p.holders.Add(1)
	return p
}

// Close gives the memory back, with the last holder's.
func (p *Packets) Close() {
	if p.holders.Add(-1) == 0 {
		C.media_packets_free(p.p)
		p.p = nil
	}
}

// Len is how many there are.
func (p *Packets) Len() int { return int(p.p.n) }

// At is the i-th packet, in the order of the container. Its bytes are valid until Close.
func (p *Packets) At(i int) Packet {
	if i < 0 || i >= p.Len() {
		panic(fmt.Sprintf("av: packet %d of %d", i, p.Len()))
	}
	packet := unsafe.Slice(p.p.packet, p.p.n)[i]
	tick := p.tick()
	return Packet{
		PTS: Seconds(int64(packet.pts), tick), DTS: Seconds(int64(packet.dts), tick), Duration: float64(packet.duration) * tick,
		Key:   packet.flags&C.AV_PKT_FLAG_KEY != 0,
		Bytes: unsafe.Slice((*byte)(packet.data), int(packet.size)),
	}
}

// Seconds is a time of a stream whose tick is so long; NaN for none.
func Seconds(t int64, tick float64) float64 {
	if t == math.MinInt64 {
		return math.NaN()
	}
	return float64(t) * tick
}

func (p *Packets) stream0() *C.AVStream { return *p.p.format.streams }

func (p *Packets) tick() float64 {
	s := p.stream0()
	return float64(s.time_base.num) / float64(s.time_base.den)
}

// Slice is packets [first, end), which are shared. Of a part of a stream the window is no longer known.
func (p *Packets) Slice(first, end int) (*Packets, error) {
	if first < 0 || end < first || end > p.Len() {
		return nil, fmt.Errorf("av: packets %d to %d of %d", first, end, p.Len())
	}
	c := C.media_packets_slice(p.p, C.int64_t(first), C.int64_t(end))
	if c == nil {
		return nil, NewError(p.Codec().Kind, StatusNoMemory, "the packets")
	}
	made := NewPackets(unsafe.Pointer(c), p.stream)
	made.Source = p.Source
	if end-first == p.Len() {
		made.Window = p.Window
	}
	return made, nil
}

// Codec is what the container says of the stream.
func (p *Packets) Codec() Codec {
	s := p.stream0()
	x := s.codecpar
	c := Codec{
		Kind: C.GoString(C.av_get_media_type_string(x.codec_type)), Name: C.GoString(C.avcodec_get_name(x.codec_id)),
		Stream: p.stream, TimeBase: pair(s.time_base), BitRate: int64(x.bit_rate),
	}
	if f := p.p.format.iformat; f != nil {
		c.Container = C.GoString(f.name)
	}
	if x.codec_type == C.AVMEDIA_TYPE_AUDIO {
		c.SampleRate, c.Channels = int(x.sample_rate), int(x.ch_layout.nb_channels)
		c.SampleFormat = C.GoString(C.av_get_sample_fmt_name(int32(x.format)))
		var text [64]C.char
		if C.av_channel_layout_describe(&x.ch_layout, &text[0], C.size_t(len(text))) > 0 {
			c.ChannelLayout = C.GoString(&text[0])
		}
		return c
	}
	c.Width, c.Height, c.SampleAspectRatio = int(x.width), int(x.height), pair(s.sample_aspect_ratio)
	c.PixelFormat = C.GoString(C.av_get_pix_fmt_name(int32(x.format)))
	if c.FrameRate = pair(s.avg_frame_rate); c.FrameRate[0] == 0 {
		c.FrameRate = pair(s.r_frame_rate)
	}
	return c
}

func pair(r C.AVRational) [2]int { return [2]int{int(r.num), int(r.den)} }
