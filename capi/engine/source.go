package main

// #include "table.h"
import "C"

import (
	"context"
	"sync"
	"time"
	"unsafe"

	"github.com/spdl/spdl/capi/engine/hosted"
	"github.com/spdl/spdl/core/source"
)

// serving is an engine in this process, and the feed of its samples.
type serving struct {
	feed  *source.Feed
	stop  context.CancelFunc
	ended chan struct{} // closed when it has let go of everything

	asked     sync.Once
	endBegins time.Time // when its end was first waited for; written by asked
}

// endIn waits until it has ended, at most that long; whether it has.
func (s *serving) endIn(d time.Duration) bool {
	s.asked.Do(func() { s.endBegins = time.Now() })
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-s.ended:
		return true
	case <-limit.C:
		return false
	}
}

// endOnce is endIn for what comes at the end of a program: the wait of a reader's end before it counts, so that an engine whose storage hangs
// holds up the program once.
func (s *serving) endOnce(d time.Duration) bool {
	s.asked.Do(func() { s.endBegins = time.Now() })
	return s.endIn(time.Until(s.endBegins.Add(d)))
}

// servings are the engines in this process that have not ended, by number. A number is never used again, so that a thread of the host
// that comes too late hears that the data is over.
var servings servingTable

type servingTable struct {
	sync.RWMutex
	byNumber map[C.int64_t]*serving
	last     C.int64_t
}

func (t *servingTable) add(s *serving) C.int64_t {
	t.Lock()
	defer t.Unlock()
	if t.byNumber == nil {
		t.byNumber = map[C.int64_t]*serving{}
	}
	t.last++
	t.byNumber[t.last] = s
	return t.last
}

func (t *servingTable) remove(number C.int64_t) {
	t.Lock()
	defer t.Unlock()
	delete(t.byNumber, number)
}

// get is the engine of that number, nil if it has ended.
func (t *servingTable) get(number C.int64_t) *serving {
	t.RLock()
	defer t.RUnlock()
	return t.byNumber[number]
}

// feed is that of the engine of that number.
func (t *servingTable) feed(number C.int64_t) (*source.Feed, error) {
	t.RLock()
	defer t.RUnlock()
	switch s := t.byNumber[number]; {
	case number < 1 || number > t.last:
		return nil, hosted.Refuse(hosted.ErrArgument, "spdl: source %d: want a number that spdl_source_id gave", number)
	case s == nil:
		return nil, source.ErrFeedEnded
	default:
		return s.feed, nil
	}
}

// stopAll has every engine end, and returns them.
func (t *servingTable) stopAll() []*serving {
	t.RLock()
	defer t.RUnlock()
	all := make([]*serving, 0, len(t.byNumber))
	for _, s := range t.byNumber {
		s.stop()
		s.feed.End()
		all = append(all, s)
	}
	return all
}

// threadEnded tells every feed.
func (t *servingTable) threadEnded(thread uint64) {
	t.RLock()
	defer t.RUnlock()
	for _, s := range t.byNumber {
		s.feed.ThreadEnded(thread)
	}
}

//export goAwaitEnd
func goAwaitEnd(number, timeoutNs C.int64_t) C.spdl_status {
	if s := servings.get(number); s != nil && !s.endIn(timeout(timeoutNs)) {
		return C.SPDL_TIMEOUT
	}
	return C.SPDL_OK
}

//export goEndAll
func goEndAll(timeoutNs C.int64_t) {
	for _, s := range servings.stopAll() {
		s.endOnce(timeout(timeoutNs))
	}
}

//export goSourceCheck
func goSourceCheck(number C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	f, err := servings.feed(number)
	if err == nil && !f.Used() {
		err = hosted.Refuse(hosted.ErrNotFound, "spdl: source: the engine's description has neither source.host nor order.asked; it reads its samples itself, in its own order")
	}
	return answer(err, e)
}

//export goSourceTake
func goSourceTake(number C.int64_t, timeoutNs C.int64_t, thread C.uint64_t, out *C.spdl_want, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	f, err := servings.feed(number)
	if err != nil {
		return fail(err, e)
	}
	ctx := context.Background()
	if timeoutNs >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout(timeoutNs))
		defer cancel()
	}
	w, err := f.Take(ctx, uint64(thread))
	if err != nil {
		return fail(err, e)
	}
	out.epoch, out.index, out.token = C.uint32_t(w.Epoch), C.uint64_t(w.Index), C.uint64_t(w.Token)
	return C.SPDL_OK
}

//export goSourceGive
func goSourceGive(number C.int64_t, want *C.spdl_want, given *C.spdl_sample, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	f, err := servings.feed(number)
	if err != nil {
		return fail(err, e)
	}
	s := source.Sample{Label: int64(given.label), Failed: given.error != nil, Fatal: given.flags&C.SPDL_SAMPLE_FATAL != 0, End: given.flags&C.SPDL_SAMPLE_END != 0}
	if given.bytes != nil {
		s.Bytes = unsafe.Slice((*byte)(given.bytes), given.n_bytes)
	}
	if given.path != nil {
		s.Path = C.GoString(given.path)
	}
	if given.key != nil {
		s.Key = C.GoString(given.key)
	}
	if s.Failed {
		s.Error = C.GoString(given.error)
	}
	return answer(f.Give(source.Want{Index: int64(want.index), Token: uint64(want.token)}, &s), e)
}

//export goSourceEnd
func goSourceEnd(number C.int64_t) {
	if f, err := servings.feed(number); err == nil {
		f.End()
	}
}
