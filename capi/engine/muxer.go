package main

// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"unsafe"

	"github.com/spdl/spdl/core/coded"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/tensor"
)

var muxings numbered[*coded.Muxing]

// bytesOf is the caller's memory, for the time of a call.
func bytesOf(data unsafe.Pointer, n C.size_t) []byte { return unsafe.Slice((*byte)(data), n) }

// giveBytes makes of bytes that l allocated what C gets, if it wants them.
func (l *loaded) giveBytes(bytes []byte, out **C.spdl_loaded) error {
	if out == nil {
		return nil
	}
	var err error
	*out, err = l.give(&load.Media{Tensors: []load.Tensor{{Name: "bytes", DType: tensor.U8, Shape: tensor.Shape{int64(len(bytes))}, Data: bytes}}})
	return err
}

//export goSave
func goSave(description *C.char, data unsafe.Pointer, n C.size_t, path *C.char, out **C.spdl_loaded, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	l := &loaded{owned: map[unsafe.Pointer]bool{}}
	defer l.free()
	made, err := coded.Save([]byte(C.GoString(description)), bytesOf(data, n), C.GoString(path), l.alloc)
	if err == nil {
		err = l.giveBytes(made, out)
	}
	return mediaStatus(err, e)
}

//export goMuxerOpen
func goMuxerOpen(description, path *C.char, number *C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	m, err := coded.Create([]byte(C.GoString(description)), C.GoString(path))
	if err == nil {
		*number = muxings.add(m)
	}
	return mediaStatus(err, e)
}

//export goMuxerAdd
func goMuxerAdd(number C.int64_t, description *C.char, from C.int64_t, filters *C.char, track *C.int32_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	m := muxings.get(number)
	var n int
	var err error
	if description != nil {
		n, err = m.Add([]byte(C.GoString(description)))
	} else {
		n, err = m.AddPackets(packets.get(from), C.GoString(filters))
	}
	*track = C.int32_t(n)
	return mediaStatus(err, e)
}

//export goMuxerWrite
func goMuxerWrite(number C.int64_t, track C.int32_t, data unsafe.Pointer, n C.size_t, seconds *C.double, times C.size_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	at := unsafe.Slice((*float64)(unsafe.Pointer(seconds)), times)
	return mediaStatus(muxings.get(number).Write(int(track), bytesOf(data, n), at), e)
}

//export goMuxerWritePackets
func goMuxerWritePackets(number C.int64_t, track C.int32_t, from C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	return mediaStatus(muxings.get(number).WritePackets(int(track), packets.get(from)), e)
}

//export goMuxerClose
func goMuxerClose(number C.int64_t, out **C.spdl_loaded, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	m, _ := muxings.remove(number)
	l := &loaded{owned: map[unsafe.Pointer]bool{}}
	defer l.free()
	alloc := l.alloc
	if out == nil {
		alloc = nil
	}
	made, err := m.Close(alloc)
	if err == nil && made != nil {
		err = l.giveBytes(made, out)
	}
	return mediaStatus(err, e)
}

//export goMuxerAbort
func goMuxerAbort(number C.int64_t) {
	if m, ok := muxings.remove(number); ok {
		m.Abort()
	}
}
