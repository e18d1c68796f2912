//go:build !noffmpeg

package mux

/*
#include <stdlib.h>
#include "mux.h"
#include "../av/packets.h"
*/
import "C"

import (
	"io"
	"math"
	"runtime"
	"unsafe"

	"github.com/spdl/spdl/core/media/av"
)

// forever is later than any time of a stream, in ticks.
const forever = 1 << 60

// Take reads on: at most n packets (0: any number), of at most so many seconds (0: all). io.EOF when nothing is left.
// After it Next would leave out what Take has read too far; use one of the two.
func (in *Input) Take(n int, seconds float64) (*av.Packets, error) {
	return in.gather(func(p *C.media_packets) C.int {
		return C.media_packets_read(p, in.a, in.held, C.int64_t(n), in.ticks(seconds, math.Ceil))
	})
}

// TakeWindow is what is on show, or heard, in [from, to), in seconds, and what decoding that needs. The input must be new.
func (in *Input) TakeWindow(from, to float64) (*av.Packets, error) {
	p, err := in.gather(func(p *C.media_packets) C.int {
		return C.media_packets_window(p, in.a, in.ticks(from, math.Floor), in.ticks(to, math.Ceil))
	})
	if err == nil {
		p.Window = &[2]float64{from, to}
	}
	return p, err
}

// Stream is the stream without packets.
func (in *Input) Stream() (*av.Packets, error) {
	return in.gather(func(*C.media_packets) C.int { return C.MEDIA_AV_OK })
}

// ticks are seconds in the stream's time base.
func (in *Input) ticks(seconds float64, round func(float64) float64) C.int64_t {
	base := in.a.stream.time_base
	return C.int64_t(min(max(round(seconds*float64(base.den)/float64(base.num)), -forever), forever))
}

func (in *Input) gather(read func(*C.media_packets) C.int) (*av.Packets, error) {
	if in.a == nil {
		return nil, closed(in.name)
	}
	defer runtime.KeepAlive(in)
	if in.held == nil {
		if in.held = C.av_packet_alloc(); in.held == nil {
			return nil, in.fail(C.MEDIA_AV_NO_MEMORY)
		}
	}
	p := C.media_packets_new(in.a)
	if p == nil {
		return nil, in.fail(C.MEDIA_AV_NO_MEMORY)
	}
	status := read(p)
	if status != C.MEDIA_AV_OK {
		C.media_packets_free(p)
		if status == C.MEDIA_AV_END {
			return nil, io.EOF
		}
		return nil, in.fail(status)
	}
	return av.NewPackets(unsafe.Pointer(p), int(in.a.stream.index)), nil
}

// PacketTrack takes packets that were taken from an Input.
type PacketTrack struct {
	m      *Muxer
	number C.int
	codec  av.Codec
}

// AddPackets adds a track for packets of p's stream, as AddVideo does; p itself is not kept.
func (m *Muxer) AddPackets(p *av.Packets, c Copy) (*PacketTrack, error) {
	if err := m.ready(nil); err != nil {
		return nil, err
	}
	filters := cstring(c.Filters)
	defer free(filters)
	number := C.media_mux_copy(m.m, *(*C.media_packets)(p.Pointer()).format.streams, filters)
	if err := m.check(number); err != nil {
		return nil, err
	}
	return &PacketTrack{m: m, number: number, codec: p.Codec()}, nil
}

// Write writes packets of the stream that the track was added for.
func (t *PacketTrack) Write(p *av.Packets) error {
	if err := t.m.begin(); err != nil {
		return err
	}
	if err := p.Of(t.codec); err != nil {
		return invalid(t.m.name, "a track is given %v", err)
	}
	c := (*C.media_packets)(p.Pointer())
	for _, packet := range unsafe.Slice(c.packet, c.n) {
		if err := t.m.written(t.m.check(C.media_mux_packet(t.m.m, t.number, packet))); err != nil {
			return err
		}
	}
	return nil
}
