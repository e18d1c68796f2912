//go:build !noffmpeg

package mux

/*
#include "mux.h"
#include "../av/packets.h"
*/
import "C"

import (
	"strings"
	"unsafe"

	"github.com/spdl/spdl/core/media/av"
)

// BitstreamFilter is FFmpeg's filters on the packets of one stream, such as "h264_mp4toannexb", kept open from piece to piece. It belongs to
// one goroutine at a time.
type BitstreamFilter struct {
	m      *C.media_mux // for its detail; nil: closed
	filter *C.AVBSFContext
	text   string
	codec  av.Codec
	stream *av.Packets // what Flush is given; no packets
	ended  bool
}

// OpenFilter opens filters, several with commas, for packets of p's stream; p itself is not kept.
func OpenFilter(p *av.Packets, filters string) (*BitstreamFilter, error) {
	if strings.TrimSpace(filters) == "" {
		return nil, invalid("bitstream filters", "there is none in the text, want one or more, such as h264_mp4toannexb")
	}
	stream, err := p.Slice(0, 0)
	if err != nil {
		return nil, err
	}
	f := &BitstreamFilter{m: C.media_mux_new(), text: filters, codec: p.Codec(), stream: stream}
	if f.m == nil {
		f.Close()
		return nil, &Error{Name: filters, cause: CauseNoMemory, Detail: "no memory"}
	}
	text := C.CString(filters)
	defer free(text)
	if err := f.check(C.media_mux_filter_open(f.m, text, (*C.media_packets)(p.Pointer()), &f.filter)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *BitstreamFilter) check(status C.int) error {
	if status == C.MEDIA_MUX_OK {
		return nil
	}
	return failure(f.text, status, &f.m.detail[0], f.m.error_number)
}

// Filter is what comes out for these packets, which may be none yet: filters may hold some back. The caller closes it.
func (f *BitstreamFilter) Filter(p *av.Packets) (*av.Packets, error) { return f.pass(p, false) }

// Last is Filter for the last packets, and Flush.
func (f *BitstreamFilter) Last(p *av.Packets) (*av.Packets, error) { return f.pass(p, true) }

// Flush is what the filters still hold. They take no packets after it.
func (f *BitstreamFilter) Flush() (*av.Packets, error) { return f.pass(f.stream, true) }

func (f *BitstreamFilter) pass(p *av.Packets, ends bool) (*av.Packets, error) {
	switch {
	case f.m == nil:
		return nil, closed(f.text)
	case f.ended:
		return nil, invalid(f.text, "the filter was flushed; open another for more packets")
	}
	if err := p.Of(f.codec); err != nil {
		return nil, invalid(f.text, "the filter is given %v", err)
	}
	f.ended = ends
	text := C.CString(f.text)
	defer free(text)
	var out *C.media_packets
	if err := f.check(C.media_mux_filter_packets(f.m, f.filter, text, (*C.media_packets)(p.Pointer()), cbool(ends), &out)); err != nil {
		return nil, err
	}
	made := av.NewPackets(unsafe.Pointer(out), f.codec.Stream)
	made.Window, made.Source = p.Window, p.Source
	return made, nil
}

// Close gives the filters back; what came out stays.
func (f *BitstreamFilter) Close() {
	if f.stream != nil {
		f.stream.Close()
	}
	C.av_bsf_free(&f.filter)
	C.media_mux_free(f.m)
	f.m, f.stream = nil, nil
}

// Filter is packets through bitstream filters at once, with all that these hold back.
func Filter(p *av.Packets, filters string) (*av.Packets, error) {
	f, err := OpenFilter(p, filters)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Last(p)
}
