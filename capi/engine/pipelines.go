package main

// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/spdl/spdl/capi/engine/hosted"
)

// A handle is one pipeline with the C memory in which its items are shown to the host.
type handle struct {
	*hosted.Pipeline
	shown []blocks // of the works that are out, by stage

	mu      sync.Mutex
	results map[uint64]*block // of the last result each thread got
}

// A block is an array of items in C memory. It grows and is used again.
type block struct {
	items *C.uint64_t
	room  int
}

// show copies a work's items into the block.
func (b *block) show(items *hosted.Items) *C.uint64_t {
	n := max(items.Len(), 1)
	if n > b.room {
		C.free(unsafe.Pointer(b.items))
		b.items, b.room = (*C.uint64_t)(C.malloc(C.size_t(n)*8)), n
	}
	items.CopyTo(unsafe.Slice((*uint64)(unsafe.Pointer(b.items)), n))
	return b.items
}

func (b *block) free() {
	C.free(unsafe.Pointer(b.items))
	*b = block{}
}

// blocks are those of one stage, by worker. Each is its work's holder's alone.
type blocks struct {
	mu  sync.Mutex
	all []*block
}

func (b *blocks) of(worker int) *block {
	b.mu.Lock()
	defer b.mu.Unlock()
	for worker >= len(b.all) {
		b.all = append(b.all, &block{})
	}
	return b.all[worker]
}

// handles are the pipelines alive, by number.
var handles struct {
	sync.RWMutex
	byNumber map[C.int64_t]*handle
	last     C.int64_t
}

// find is the handle of that number. libspdl gives only those it was given.
func find(number C.int64_t) *handle {
	handles.RLock()
	defer handles.RUnlock()
	h := handles.byNumber[number]
	if h == nil {
		panic(fmt.Sprintf("handle %d was freed", number))
	}
	return h
}

//export goCreate
func goCreate(description *C.char, number *C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	p, err := hosted.New(C.GoString(description))
	if err != nil {
		return fail(err, e)
	}
	h := &handle{Pipeline: p, results: map[uint64]*block{}}
	h.shown = make([]blocks, p.HostStages())
	handles.Lock()
	defer handles.Unlock()
	if handles.byNumber == nil {
		handles.byNumber = map[C.int64_t]*handle{}
	}
	handles.last++
	*number = handles.last
	handles.byNumber[handles.last] = h
	return C.SPDL_OK
}

//export goStart
func goStart(number C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	return answer(find(number).Start(), e)
}

//export goStage
func goStage(number C.int64_t, name *C.char, stage *C.int32_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	i, err := find(number).Stage(C.GoString(name))
	*stage = C.int32_t(i)
	return answer(err, e)
}

// timeout is a C timeout as a duration; below zero is for ever.
func timeout(ns C.int64_t) time.Duration {
	if ns < 0 {
		return hosted.Forever
	}
	return time.Duration(ns)
}

// describe fills in what C sees of a work.
func describe(w *hosted.Work, b *block, out *C.spdl_work) {
	out.kind = C.uint32_t(w.Kind)
	out.flags = 0
	if w.Items.IsList() {
		out.flags = C.SPDL_WORK_LIST
	}
	out.n_items = C.uint32_t(w.Items.Len())
	out.items = b.show(&w.Items)
	out.epoch = C.uint64_t(w.Epoch)
	out.attempt = C.uint32_t(w.Attempt)
	out.worker = C.uint32_t(w.Worker)
	out.token = C.uint64_t(w.Token)
}

//export goTake
func goTake(number C.int64_t, stage C.int32_t, timeoutNs C.int64_t, thread C.uint64_t, tid C.uint32_t, out *C.spdl_work, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	h := find(number)
	w, err := h.Take(int(stage), timeout(timeoutNs), hosted.Thread{Number: uint64(thread), TID: uint32(tid)})
	if err != nil {
		return fail(err, e)
	}
	describe(&w, h.shown[stage].of(w.Worker), out)
	return C.SPDL_OK
}

//export goGive
func goGive(number C.int64_t, stage C.int32_t, worker C.uint32_t, token C.uint64_t, give *C.spdl_give, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	g := hosted.Given{
		More:  give.flags&C.SPDL_GIVE_MORE != 0,
		End:   give.flags&C.SPDL_GIVE_END != 0,
		List:  give.flags&C.SPDL_GIVE_LIST != 0,
		Skip:  give.flags&C.SPDL_GIVE_SKIP != 0,
		Items: unsafe.Slice((*uint64)(unsafe.Pointer(give.items)), give.n_items),
		Path:  int(give.path),
		Final: give.error_flags&C.SPDL_ERROR_FINAL != 0,
		Fatal: give.error_flags&C.SPDL_ERROR_FATAL != 0,
	}
	if give.paths != nil {
		g.Paths = unsafe.Slice((*int32)(unsafe.Pointer(give.paths)), give.n_items)
	}
	if give.error != nil {
		g.Failed, g.Error = true, C.GoString(give.error)
	}
	return answer(find(number).Give(int(stage), int(worker), uint64(token), g), e)
}

//export goGet
func goGet(number C.int64_t, timeoutNs C.int64_t, thread C.uint64_t, out *C.spdl_work, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	h := find(number)
	w, err := h.Get(timeout(timeoutNs))
	if err != nil {
		return fail(err, e)
	}
	h.mu.Lock()
	b := h.results[uint64(thread)]
	if b == nil {
		b = &block{}
		h.results[uint64(thread)] = b
	}
	h.mu.Unlock()
	describe(&w, b, out)
	return C.SPDL_OK
}

//export goDrain
func goDrain(number C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	find(number).Drain()
	return C.SPDL_OK
}

//export goStop
func goStop(number C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	find(number).Stop()
	return C.SPDL_OK
}

//export goWait
func goWait(number C.int64_t, timeoutNs C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	return answer(find(number).Wait(timeout(timeoutNs)), e)
}

//export goFailure
func goFailure(number C.int64_t, text **C.char, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	*text = C.CString(find(number).Failure())
	return C.SPDL_OK
}

//export goStats
func goStats(number C.int64_t, text **C.char, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	*text = C.CString(find(number).Stats())
	return C.SPDL_OK
}

//export goReclaim
func goReclaim(number C.int64_t, items *C.uint64_t, room C.uint32_t, got *C.uint32_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	into := unsafe.Slice((*uint64)(unsafe.Pointer(items)), room)
	*got = C.uint32_t(find(number).Reclaim(into))
	return C.SPDL_OK
}

//export goFree
func goFree(number C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	h := find(number)
	if err := h.Free(); err != nil {
		return fail(err, e)
	}
	handles.Lock()
	delete(handles.byNumber, number)
	handles.Unlock()
	for i := range h.shown {
		for _, b := range h.shown[i].all {
			b.free()
		}
	}
	for _, b := range h.results {
		b.free()
	}
	return C.SPDL_OK
}

//export goThreadEnded
func goThreadEnded(thread C.uint64_t) {
	servings.threadEnded(uint64(thread))
	handles.RLock()
	defer handles.RUnlock()
	for _, h := range handles.byNumber {
		h.ThreadEnded(uint64(thread))
		h.mu.Lock()
		if b := h.results[uint64(thread)]; b != nil {
			b.free()
			delete(h.results, uint64(thread))
		}
		h.mu.Unlock()
	}
}
