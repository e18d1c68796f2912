package main

// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"encoding/json"
	"errors"
	"unsafe"

	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media/av"
)

// graphs are the filter graphs that are open.
var graphs numbered[*load.Graph]

//export goGraphOpen
func goGraphOpen(description *C.char, number *C.int64_t, info **C.char, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	g, err := load.OpenGraph([]byte(C.GoString(description)))
	if err != nil {
		return loadStatus(err, e)
	}
	text, err := json.Marshal(g.Info())
	if err != nil {
		g.Close()
		return loadStatus(err, e)
	}
	*info, *number = C.CString(string(text)), graphs.add(g)
	return C.SPDL_OK
}

//export goGraphAdd
func goGraphAdd(number C.int64_t, input *C.char, data unsafe.Pointer, n C.size_t, seconds *C.double, nSeconds C.size_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	var times []float64
	if nSeconds > 0 {
		times = unsafe.Slice((*float64)(seconds), nSeconds)
	}
	return graphStatus(graphs.get(number).Add(nameOf(input), unsafe.Slice((*byte)(data), n), times), e)
}

//export goGraphFlush
func goGraphFlush(number C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	return graphStatus(graphs.get(number).Flush(), e)
}

//export goGraphNext
func goGraphNext(number C.int64_t, output *C.char, out **C.spdl_loaded, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	g, name := graphs.get(number), nameOf(output)
	var misfit error
	got := nextInto(func(alloc load.Alloc) (*load.Media, error) {
		m, err := g.Next(name, alloc)
		if errors.As(err, new(*av.MismatchError)) {
			misfit = err
		}
		return m, err
	}, out, e)
	if misfit != nil {
		return graphStatus(misfit, e)
	}
	return got
}

//export goGraphClose
func goGraphClose(number C.int64_t) {
	if g, ok := graphs.remove(number); ok {
		g.Close()
	}
}

// nameOf is an end's name; NULL: the only one's.
func nameOf(name *C.char) string {
	if name == nil {
		return ""
	}
	return C.GoString(name)
}

// graphStatus is loadStatus for a graph that is open: SPDL_E_ARGUMENT for what does not fit it, SPDL_E_SAMPLE for frames that it refuses.
func graphStatus(err error, e *C.spdl_engine_error) C.spdl_status {
	if errors.As(err, new(*av.MismatchError)) {
		_ = fail(err, e)
		return C.SPDL_E_ARGUMENT
	}
	if err != nil {
		err = &load.Error{Err: err}
	}
	return loadStatus(err, e)
}
