package pipeline

import (
	"fmt"
	"math/bits"
	"sync"
)

// A Queue hands values from any number of putters to any number of getters,
// first in, first out, and keeps at most its capacity. Waiting costs no timer
// and no poll, and neither Put nor Get allocates.
type Queue[T any] struct {
	ordered bool                 // putters number their values; set before use
	settle  func(err error) bool // told of every number in order; false stops the queue

	mu       sync.Mutex // guards everything below
	notEmpty sync.Cond
	notFull  sync.Cond
	cells    []cell[T] // a power of two, at least capacity
	capacity uint64
	head     uint64 // number of the next value out
	tail     uint64 // number of the next value in, where putters do not number
	settled  uint64 // first number that settle has not seen
	live     int    // full cells
	peak     int
	puts     uint64
	gets     uint64
	closed   bool
	stopped  bool
	putters  int // waiting
	getters  int // waiting

	bornNs  int64
	emptyNs int64 // time without a ready value, up to sinceNs
	sinceNs int64 // start of the present time without one; -1 means a value is ready
	putWait histogram
	getWait histogram
}

// A cell holds one value. A hole is a number whose value will not come.
type cell[T any] struct {
	v    T
	err  error // of a hole: why
	kind cellKind
}

type cellKind uint8

const (
	vacant cellKind = iota
	full
	hole
)

// NewQueue returns an empty queue; a capacity below 1 is taken as 1.
func NewQueue[T any](capacity int) *Queue[T] {
	n := uint64(max(capacity, 1))
	q := &Queue[T]{
		cells:    make([]cell[T], 1<<bits.Len64(n-1)),
		capacity: n,
		bornNs:   now(),
	}
	q.notEmpty.L, q.notFull.L = &q.mu, &q.mu
	q.sinceNs = q.bornNs
	return q
}

// Put appends v, waiting while the queue is full. False means that the queue
// is closed or stopped and v is still the caller's.
func (q *Queue[T]) Put(v T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.tail-q.head >= q.capacity {
		q.awaitRoom(func() bool { return q.tail-q.head < q.capacity })
	} else {
		q.putWait.record(0)
	}
	if q.stopped || q.closed {
		return false
	}
	q.store(q.tail, cell[T]{v: v, kind: full})
	q.tail++
	return true
}

// Get removes the oldest value, waiting for one. False means that there will
// be none: the queue is closed and empty, or stopped.
func (q *Queue[T]) Get() (T, bool) {
	v, _, ok := q.take()
	return v, ok
}

// Close says that no more values come; getters still receive those waiting.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.notEmpty.Broadcast()
	q.notFull.Broadcast()
}

// Stop ends every Put and Get at once, now and later. Values still inside stay
// there for Reclaim.
func (q *Queue[T]) Stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop()
}

// Reclaim empties a closed or stopped queue, handing every value to give, in
// order.
func (q *Queue[T]) Reclaim(give func(T)) {
	for {
		v, ok := q.remove()
		if !ok {
			return
		}
		give(v)
	}
}

// Stats returns the queue's counters under the given name.
func (q *Queue[T]) Stats(name string) QueueStats { return q.statsAt(name, now()) }

// take is Get that also numbers what it hands out: 0, 1, 2 ... without gaps.
func (q *Queue[T]) take() (v T, number uint64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cells[q.index(q.head)].kind == full {
		q.getWait.record(0)
	} else {
		q.awaitValue()
	}
	c := &q.cells[q.index(q.head)]
	if q.stopped || c.kind != full {
		return v, 0, false
	}
	v = c.v
	*c = cell[T]{}
	number = q.gets
	q.gets++
	q.live--
	q.head++
	q.moved()
	return v, number, true
}

// putNumbered stores number n, waiting while n is a capacity or more past the
// head. Whoever has the lowest number outstanding never waits, so numbers may
// come in any order without a deadlock.
func (q *Queue[T]) putNumbered(n uint64, c cell[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n-q.head >= q.capacity {
		q.awaitRoom(func() bool { return n-q.head < q.capacity })
	} else {
		q.putWait.record(0)
	}
	if q.stopped {
		return false
	}
	q.store(n, c)
	return true
}

// place stores v as number n for a putter that is the only one: it waits for
// room as long as the getter can make some. errHalted means the queue is
// stopped, a *SequenceError that n can never be stored.
func (q *Queue[T]) place(n uint64, v T) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	ready := func() bool { return q.cells[q.index(q.head)].kind == full }
	if n >= q.head && n-q.head >= q.capacity && ready() {
		q.awaitRoom(func() bool { return n-q.head < q.capacity || !ready() })
	} else {
		q.putWait.record(0)
	}
	switch {
	case q.stopped:
		return errHalted
	case n < q.head || n-q.head < q.capacity && q.cells[q.index(n)].kind != vacant:
		return &SequenceError{Got: n, Want: q.head, Window: int(q.capacity), Repeated: true}
	case n-q.head >= q.capacity:
		return &SequenceError{Got: n, Want: q.head, Window: int(q.capacity)}
	}
	q.store(n, cell[T]{v: v, kind: full})
	return nil
}

// gap reports, after the last place, a number that never came while later ones
// wait for it.
func (q *Queue[T]) gap() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	next, waiting := q.head, q.live
	for waiting > 0 && q.cells[q.index(next)].kind == full {
		next++
		waiting--
	}
	if waiting == 0 {
		return nil
	}
	return fmt.Errorf("sequence %d never came, %d later ones wait for it", next, waiting)
}

// startAt makes n the first number of an unused queue.
func (q *Queue[T]) startAt(n uint64) { q.head, q.tail, q.settled = n, n, n }

// restartClock counts occupancy from atNs; the queue is still empty.
func (q *Queue[T]) restartClock(atNs int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bornNs, q.sinceNs, q.emptyNs = atNs, atNs, 0
}

func (q *Queue[T]) statsAt(name string, atNs int64) QueueStats {
	q.mu.Lock()
	out := QueueStats{
		Name: name, Capacity: int(q.capacity), Depth: q.live, Peak: q.peak,
		Puts: q.puts, Gets: q.gets,
	}
	emptyNs := q.emptyNs
	if q.sinceNs >= 0 {
		emptyNs += max(0, atNs-q.sinceNs)
	}
	if elapsed := atNs - q.bornNs; elapsed > 0 {
		out.Occupancy = max(0, 1-float64(emptyNs)/float64(elapsed))
	}
	q.mu.Unlock()
	var put, get tally
	put.add(&q.putWait)
	get.add(&q.getWait)
	out.PutWait, out.GetWait = put.times(), get.times()
	return out
}

// All that follows runs with mu held.

func (q *Queue[T]) index(n uint64) uint64 { return n & uint64(len(q.cells)-1) }

func (q *Queue[T]) stop() {
	q.stopped = true
	q.notEmpty.Broadcast()
	q.notFull.Broadcast()
}

func (q *Queue[T]) awaitRoom(room func() bool) {
	if q.stopped || q.closed {
		return
	}
	startNs := now()
	q.putters++
	for !q.stopped && !q.closed && !room() {
		q.notFull.Wait()
	}
	q.putters--
	q.putWait.record(now() - startNs)
}

func (q *Queue[T]) awaitValue() {
	if q.stopped || q.closed {
		return
	}
	startNs := now()
	q.getters++
	for !q.stopped && !q.closed && q.cells[q.index(q.head)].kind != full {
		q.notEmpty.Wait()
	}
	q.getters--
	q.getWait.record(now() - startNs)
}

// store fills the cell of number n and lets everybody know.
func (q *Queue[T]) store(n uint64, c cell[T]) {
	q.cells[q.index(n)] = c
	if c.kind == full {
		q.puts++
		q.live++
		q.peak = max(q.peak, q.live)
	}
	q.settleInOrder()
	q.moved()
}

// settleInOrder tells settle of every number that has an outcome, and whose
// predecessors all have.
func (q *Queue[T]) settleInOrder() {
	if q.settle == nil {
		return
	}
	for q.settled-q.head < q.capacity {
		c := &q.cells[q.index(q.settled)]
		if c.kind == vacant {
			return
		}
		q.settled++
		if !q.settle(c.err) {
			q.stop()
			return
		}
	}
}

// moved passes holes at the head, keeps the occupancy clock and wakes whoever
// can go on after head or the cell under it changed.
func (q *Queue[T]) moved() {
	for q.cells[q.index(q.head)].kind == hole {
		q.cells[q.index(q.head)] = cell[T]{}
		q.head++
	}
	ready := q.cells[q.index(q.head)].kind == full
	switch {
	case ready && q.sinceNs >= 0:
		q.emptyNs += now() - q.sinceNs
		q.sinceNs = -1
	case !ready && q.sinceNs < 0:
		q.sinceNs = now()
	}
	if ready && q.getters > 0 {
		q.notEmpty.Signal()
	}
	if q.putters > 0 {
		if q.ordered {
			q.notFull.Broadcast() // the one whose turn it is may be any of them
		} else if q.tail-q.head < q.capacity {
			q.notFull.Signal()
		}
	}
}

// remove takes the oldest value there is, gaps or not.
func (q *Queue[T]) remove() (v T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := uint64(0); i < q.capacity && q.live > 0; i++ {
		c := &q.cells[q.index(q.head+i)]
		if c.kind != full {
			continue
		}
		v = c.v
		*c = cell[T]{}
		q.live--
		return v, true
	}
	return v, false
}
