package main

// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"unsafe"

	"github.com/spdl/spdl/core/coded"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/mux"
	"github.com/spdl/spdl/core/spec"
)

var (
	demuxings numbered[*coded.Demuxing]
	packets   numbered[*av.Packets]
)

//export goDemuxingOpen
func goDemuxingOpen(description *C.char, bytes unsafe.Pointer, n C.size_t, path *C.char, number *C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	src := sourceOf(bytes, n, path)
	d, err := coded.OpenDemuxing([]byte(C.GoString(description)), mux.Source{Bytes: src.Bytes, Path: src.Path})
	if err == nil {
		*number = demuxings.add(d)
	}
	return inputStatus(err, e)
}

//export goDemuxingNext
func goDemuxingNext(number C.int64_t, streamAlone C.int, out **C.spdl_packets, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	next := demuxings.get(number).Next
	if streamAlone != 0 {
		next = demuxings.get(number).Stream
	}
	p, err := next()
	if errors.Is(err, io.EOF) {
		return C.SPDL_END_DATA
	}
	return givePackets(p, err, out, e)
}

//export goDemuxingClose
func goDemuxingClose(number C.int64_t) {
	if d, ok := demuxings.remove(number); ok {
		d.Close()
	}
}

// inputStatus is answer for what cannot be demuxed or filtered: SPDL_E_SAMPLE unless it is something else.
func inputStatus(err error, e *C.spdl_engine_error) C.spdl_status {
	var described *spec.Error
	var other *mux.Error
	if err != nil && !errors.As(err, &described) && !errors.As(err, &other) {
		err = &load.Error{Err: err}
	}
	return mediaStatus(err, e)
}

// mediaStatus is loadStatus for what package mux says, too.
func mediaStatus(err error, e *C.spdl_engine_error) C.spdl_status {
	var failed *mux.Error
	var misused *coded.MisuseError
	var other *av.StreamError
	var system syscall.Errno
	switch {
	case errors.As(err, &failed):
		_ = fail(err, e)
		return muxStatus(failed.Cause())
	case errors.As(err, &misused), errors.As(err, &other), errors.Is(err, av.ErrFlushed):
		_ = fail(err, e)
		return C.SPDL_E_ARGUMENT
	case errors.As(err, &system) && !errors.As(err, new(*load.Error)): // of a WAV file
		_ = fail(err, e)
		return C.SPDL_E_SYSTEM
	}
	return loadStatus(err, e)
}

func muxStatus(cause string) C.spdl_status {
	switch cause {
	case mux.CauseUnsupported:
		return C.SPDL_E_UNSUPPORTED
	case mux.CauseEncode:
		return C.SPDL_E_SAMPLE
	case mux.CauseWrite:
		return C.SPDL_E_SYSTEM
	case mux.CauseNoMemory:
		return C.SPDL_E_NOMEM
	}
	return C.SPDL_E_ARGUMENT // mux.CauseInvalid, mux.CauseClosed
}

// givePackets makes of packets what C gets; they are C's from here on.
func givePackets(p *av.Packets, err error, out **C.spdl_packets, e *C.spdl_engine_error) C.spdl_status {
	if err != nil {
		return inputStatus(err, e)
	}
	info, err := json.Marshal(struct {
		av.Codec
		Window *[2]float64 `json:"window"`
	}{p.Codec(), p.Window})
	if err != nil {
		p.Close()
		return inputStatus(err, e)
	}
	n := p.Len()
	c, first := zeroed[C.spdl_packets](1), zeroed[C.spdl_packet](n)
	if c == nil || first == nil {
		C.free(unsafe.Pointer(c))
		C.free(unsafe.Pointer(first))
		p.Close()
		return loadStatus(fmt.Errorf("%w for a list of %d packets", errNoMemory, n), e)
	}
	c.n, c.info, c.list = C.uint64_t(n), C.CString(string(info)), first
	list := unsafe.Slice(first, n)
	for i := range list {
		describePacket(&list[i], p.At(i))
	}
	c.handle = packets.add(p)
	*out = c
	return C.SPDL_OK
}

func describePacket(c *C.spdl_packet, p av.Packet) {
	c.struct_size = C.sizeof_spdl_packet
	if p.Key {
		c.flags = C.SPDL_PACKET_KEY
	}
	c.pts, c.dts, c.duration = C.double(p.PTS), C.double(p.DTS), C.double(p.Duration)
	c.data, c.bytes = unsafe.Pointer(unsafe.SliceData(p.Bytes)), C.uint64_t(len(p.Bytes))
}

//export goPacketsSlice
func goPacketsSlice(number C.int64_t, first, end C.uint64_t, out **C.spdl_packets, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	p, err := packets.get(number).Slice(int(first), int(end))
	return givePackets(p, err, out, e)
}

//export goPacketsFilter
func goPacketsFilter(number C.int64_t, filters *C.char, out **C.spdl_packets, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	p, err := mux.Filter(packets.get(number), C.GoString(filters))
	return givePackets(p, err, out, e)
}

//export goPacketsDecode
func goPacketsDecode(number C.int64_t, description *C.char, out **C.spdl_loaded, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	return loadInto(description, load.Source{Packets: packets.get(number)}, out, e)
}

//export goPacketsDecodeChunks
func goPacketsDecodeChunks(number C.int64_t, description *C.char, loading *C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	return openLoading(description, load.Source{Packets: packets.get(number)}, loading, e)
}

//export goPacketsFree
func goPacketsFree(number C.int64_t) {
	if p, ok := packets.remove(number); ok {
		p.Close()
	}
}
