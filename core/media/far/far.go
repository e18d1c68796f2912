// Package far lets C read bytes that are not at hand, but that Go knows how to read: those of an object in a store.
package far

/*
#include "far.h"
extern int64_t spdlFarRead(uintptr_t of, uint8_t *to, int64_t n, int64_t at);
static void *far_function(void) { return (void *)spdlFarRead; }
*/
import "C"

import (
	"io"
	"runtime/cgo"
	"unsafe"
)

// Reading is an io.ReaderAt that C may read until Close. The zero value is none.
type Reading struct{ handle cgo.Handle }

// Open lets C read from it; nil: nothing. It may be asked by several threads at a time.
func Open(from io.ReaderAt) Reading {
	if from == nil {
		return Reading{}
	}
	return Reading{cgo.NewHandle(from)}
}

// Function is the media_far_read of far.h, and nil where there is nothing to read.
func (r Reading) Function() unsafe.Pointer {
	if r.handle == 0 {
		return nil
	}
	return C.far_function()
}

// Of is what the function is called with.
func (r Reading) Of() uintptr { return uintptr(r.handle) }

// Close ends it: C must not read any more.
func (r *Reading) Close() {
	if r.handle != 0 {
		r.handle.Delete()
		r.handle = 0
	}
}

//export spdlFarRead
func spdlFarRead(of C.uintptr_t, to *C.uint8_t, n, at C.int64_t) C.int64_t {
	got, err := cgo.Handle(of).Value().(io.ReaderAt).ReadAt(unsafe.Slice((*byte)(to), int(n)), int64(at))
	if got == 0 && err != nil && err != io.EOF {
		return -1
	}
	return C.int64_t(got)
}
