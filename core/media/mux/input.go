//go:build !noffmpeg

package mux

/*
#include <stdlib.h>
#include "../av/packets.h"
*/
import "C"

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"time"
	"unsafe"

	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/far"
)

// Input gives the packets of one stream of a container. It belongs to one goroutine at a time.
type Input struct {
	a      *C.media_av
	packet *C.AVPacket // lent; nil: none
	held   *C.AVPacket // read too far by Take
	read   int         // packets so far
	kind   Kind
	name   string
	file   *os.File
	far    far.Reading
	pins   runtime.Pinner
}

// OpenInput opens the best stream of the kind.
func OpenInput(src Source, kind Kind) (*Input, error) {
	in := &Input{kind: kind, name: "memory"}
	if kind != KindVideo && kind != KindAudio {
		return nil, invalid(in.name, "kind %d of a stream, want KindVideo or KindAudio", kind)
	}
	if err := in.open(src); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

func (in *Input) open(src Source) error {
	if err := av.LoadContainers(); err != nil {
		return fmt.Errorf("mux: FFmpeg %w", err)
	}
	if in.a = C.media_av_new(); in.a == nil {
		return in.fail(C.MEDIA_AV_NO_MEMORY)
	}
	source := C.media_av_source{fd: -1, size: C.int64_t(len(src.Bytes))}
	if src.File != nil {
		f, err := src.File.Near(in.kind.String(), time.Time{})
		if err != nil {
			return err
		}
		in.name, in.far = src.Path, far.Open(f.From)
		source.far = C.media_far{read: C.media_far_read(in.far.Function()), of: C.uintptr_t(in.far.Of())}
		source.fd, source.offset, source.size = C.int(f.FD), C.int64_t(f.Offset), C.int64_t(f.Size)
	} else if src.Path != "" {
		if err := in.openFile(src.Path, &source); err != nil {
			return fmt.Errorf("mux: %w", err)
		}
	} else if len(src.Bytes) > 0 {
		in.pins.Pin(unsafe.SliceData(src.Bytes))
		source.data = (*C.uint8_t)(unsafe.SliceData(src.Bytes))
	}
	options := C.media_av_options{_type: C.int(in.kind), stream: C.int(src.Stream)}
	return in.fail(C.media_av_open(in.a, &source, &options))
}

func (in *Input) openFile(path string, source *C.media_av_source) error {
	in.name = path
	file, size, err := av.Open(path)
	if err != nil {
		return err
	}
	in.file = file
	source.fd, source.size = C.int(file.Fd()), C.int64_t(size)
	return nil
}

func (in *Input) fail(status C.int) error {
	switch {
	case status == C.MEDIA_AV_OK:
		return nil
	case in.a == nil:
		return av.NewError(in.kind.String(), int(status), "")
	}
	return av.NewError(in.kind.String(), int(status), C.GoString(C.media_av_detail(in.a)))
}

// Next is the next packet, and io.EOF after the last one.
func (in *Input) Next() (Packet, error) {
	if in.a == nil {
		return Packet{}, closed(in.name)
	}
	status := C.media_av_read(in.a, &in.packet)
	in.read++
	if status != C.MEDIA_AV_OK {
		in.packet = nil
		if status == C.MEDIA_AV_END {
			return Packet{}, io.EOF
		}
		return Packet{}, in.fail(status)
	}
	p := in.packet
	tick := float64(in.a.stream.time_base.num) / float64(in.a.stream.time_base.den)
	return Packet{av.Packet{
		PTS: av.Seconds(int64(p.pts), tick), DTS: av.Seconds(int64(p.dts), tick), Duration: float64(p.duration) * tick,
		Key:   p.flags&C.AV_PKT_FLAG_KEY != 0,
		Bytes: unsafe.Slice((*byte)(p.data), int(p.size)),
	}, in, in.read}, nil
}

// Close closes the container.
func (in *Input) Close() {
	if in.a != nil {
		C.media_av_free(in.a)
		C.av_packet_free(&in.held)
		in.a, in.packet = nil, nil
	}
	if in.file != nil {
		in.file.Close()
		in.file = nil
	}
	in.far.Close()
	in.pins.Unpin()
}

// CopyAll writes all packets of the tracks' inputs, the earliest first, so that no
// input is read far ahead of the others.
func CopyAll(tracks ...*CopyTrack) error {
	heads := make([]Packet, len(tracks))
	for i, t := range tracks {
		if err := advance(t, &heads[i]); err != nil {
			return err
		}
	}
	for {
		first := -1
		for i := range heads {
			if heads[i].in != nil && (first < 0 || heads[i].when() < heads[first].when()) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		if err := tracks[first].Write(heads[first]); err != nil {
			return err
		}
		if err := advance(tracks[first], &heads[first]); err != nil {
			return err
		}
	}
}

// advance takes the next packet; none at the end.
func advance(t *CopyTrack, head *Packet) error {
	var err error
	if *head, err = t.in.Next(); err == io.EOF {
		err = nil
	}
	return err
}

// when orders packets; those without a time go at once.
func (p *Packet) when() float64 {
	if !math.IsNaN(p.DTS) {
		return p.DTS
	}
	return math.Inf(-1)
}
