package main

// #include "table.h"
import "C"

import (
	"errors"
	"io"
	"unsafe"

	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/mux"
)

// What is kept open from one piece of a stream to the next.
var (
	bitstreamFilters numbered[*mux.BitstreamFilter]
	decoders         numbered[*load.Decoder]
)

//export goBSFOpen
func goBSFOpen(stream C.int64_t, filters *C.char, number *C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	f, err := mux.OpenFilter(packets.get(stream), C.GoString(filters))
	if err == nil {
		*number = bitstreamFilters.add(f)
	}
	return inputStatus(err, e)
}

//export goBSFFilter
func goBSFFilter(number, piece C.int64_t, last C.int, out **C.spdl_packets, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	f := bitstreamFilters.get(number)
	if piece == 0 {
		p, err := f.Flush()
		return givePackets(p, err, out, e)
	}
	filter := f.Filter
	if last != 0 {
		filter = f.Last
	}
	p, err := filter(packets.get(piece))
	return givePackets(p, err, out, e)
}

//export goBSFClose
func goBSFClose(number C.int64_t) {
	if f, ok := bitstreamFilters.remove(number); ok {
		f.Close()
	}
}

//export goDecoderOpen
func goDecoderOpen(stream C.int64_t, description *C.char, number *C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	d, err := load.OpenDecoder([]byte(C.GoString(description)), packets.get(stream))
	if err == nil {
		*number = decoders.add(d)
	}
	return loadStatus(err, e)
}

//export goDecoderGive
func goDecoderGive(number, piece C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	d := decoders.get(number)
	if piece == 0 {
		d.Flush()
		return C.SPDL_OK
	}
	return mediaStatus(d.Give(packets.get(piece)), e)
}

//export goDecoderNext
func goDecoderNext(number C.int64_t, out **C.spdl_loaded, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	return nextInto(decoders.get(number).Next, out, e)
}

// nextInto gives C what a call with an allocator gives; SPDL_END_DATA for io.EOF.
func nextInto(next func(load.Alloc) (*load.Media, error), out **C.spdl_loaded, e *C.spdl_engine_error) C.spdl_status {
	l := &loaded{owned: map[unsafe.Pointer]bool{}}
	defer l.free()
	m, err := next(l.alloc)
	if errors.Is(err, io.EOF) {
		return C.SPDL_END_DATA
	}
	if err == nil {
		*out, err = l.give(m)
	}
	return loadStatus(err, e)
}

//export goDecoderClose
func goDecoderClose(number C.int64_t) {
	if d, ok := decoders.remove(number); ok {
		d.Close()
	}
}

//export goPacketsBytes
func goPacketsBytes(number C.int64_t, out **C.spdl_loaded, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	l := &loaded{owned: map[unsafe.Pointer]bool{}}
	defer l.free()
	b, err := packets.get(number).Bytes(l.alloc)
	if err == nil {
		err = l.giveBytes(b, out)
	}
	return mediaStatus(err, e)
}

//export goPacketsOf
func goPacketsOf(bytes unsafe.Pointer, n C.size_t, out **C.spdl_packets, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	p, err := av.PacketsOf(unsafe.Slice((*byte)(bytes), n))
	return givePackets(p, err, out, e)
}
