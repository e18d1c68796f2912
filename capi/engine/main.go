package main

// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"runtime/debug"
	"syscall"
	"unsafe"

	"github.com/spdl/spdl/capi/engine/hosted"
	"github.com/spdl/spdl/cmd/spdl/verbs"
	"github.com/spdl/spdl/core/source"
)

func main() {} // of a shared library: never called

// What Go's libraries write for themselves, as net/http does of a server's odd answers, is no word of the program's.
func init() { log.SetOutput(io.Discard) }

// stderr writes to whatever descriptor 2 is now. An os.File there would end the process when nobody reads any more.
type stderr struct{}

func (stderr) Write(p []byte) (int, error) { return syscall.Write(2, p) }

// fail writes an error's text where the caller wants it and returns its status.
func fail(err error, e *C.spdl_engine_error) C.spdl_status {
	text := unsafe.Slice((*byte)(unsafe.Pointer(&e.text[0])), len(e.text))
	n := copy(text[:len(text)-1], err.Error())
	text[n] = 0
	return statusOf(err)
}

// statuses of errors. The first that matches counts.
var statuses = []struct {
	is     error
	status C.spdl_status
}{
	{hosted.ErrTimeout, C.SPDL_TIMEOUT}, {hosted.ErrEndEpoch, C.SPDL_END_EPOCH}, {hosted.ErrEndData, C.SPDL_END_DATA},
	{hosted.ErrArgument, C.SPDL_E_ARGUMENT}, {hosted.ErrNotFound, C.SPDL_E_NOT_FOUND}, {hosted.ErrBusy, C.SPDL_E_BUSY},
	{hosted.ErrMisuse, C.SPDL_E_STAGE}, {hosted.ErrDescription, C.SPDL_E_SPEC},
	{source.ErrFeedTimeout, C.SPDL_TIMEOUT}, {source.ErrFeedEnded, C.SPDL_END_DATA}, {source.ErrLate, C.SPDL_TIMEOUT},
	{source.ErrNotWanted, C.SPDL_E_STAGE}, {source.ErrSample, C.SPDL_E_ARGUMENT}, {source.ErrBoth, C.SPDL_E_ARGUMENT}, {source.ErrNumber, C.SPDL_E_ARGUMENT},
}

func statusOf(err error) C.spdl_status {
	var described *hosted.SpecError
	if errors.As(err, &described) {
		return C.SPDL_E_SPEC
	}
	for _, s := range statuses {
		if errors.Is(err, s.is) {
			return s.status
		}
	}
	return C.SPDL_E_PIPELINE
}

// answer is what an exported function returns; news needs no text, unless it has some to say.
func answer(err error, e *C.spdl_engine_error) C.spdl_status {
	if err == nil {
		return C.SPDL_OK
	}
	return fail(err, e)
}

// caught turns a panic, a bug of ours, into a status with the stack.
func caught(status *C.spdl_status, e *C.spdl_engine_error) {
	if r := recover(); r != nil {
		*status = C.SPDL_E_ENGINE_FAILED
		_ = fail(fmt.Errorf("spdl: the engine panicked, which is a bug: %v\n%s", r, debug.Stack()), e)
	}
}

//export goOpen
func goOpen(args **C.char, n C.uint32_t, control, parent C.int, number *C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	words := make([]string, n)
	for i, arg := range unsafe.Slice(args, n) {
		words[i] = C.GoString(arg)
	}
	followEnvironment()
	ctx, stop := context.WithCancel(context.Background())
	s := &serving{feed: source.NewFeed(), stop: stop, ended: make(chan struct{})}
	*number = servings.add(s)
	go func(number C.int64_t) {
		verbs.ServeInProcess(ctx, words, int(control), int(parent), stderr{}, s.feed)
		stop()
		s.feed.End()
		servings.remove(number)
		close(s.ended)
	}(*number)
	return C.SPDL_OK
}
