package pipeline

import (
	"math/bits"
	"sync"
)

// A Queue hands values from any number of putters to any number of getters,
// first in, first out, and keeps at most its capacity. Waiting costs no timer
// and no poll, and neither Put nor Get allocates.
//
// The stages use it with more: putters that number their values (queue_order.go),
// and ends of epochs that keep their place among them (queue_epoch.go).
type Queue[T any] struct {
	// Set before use.
	ordered bool                 // putters number their values
	traced  bool                 // a number without a value leaves a tomb, not a hole
	ahead   uint64               // how far a value may be taken before a missing one
	settle  func(err error) bool // told of every number in order; false stops the queue
	closing func()               // told, without mu, that the queue is closed

	mu       sync.Mutex // guards everything below
	notEmpty sync.Cond
	notFull  sync.Cond
	cells    []cell[T] // a power of two, at least capacity
	capacity uint64
	head     uint64 // number of the next value out
	tail     uint64 // number of the next value in, where putters do not number
	settled  uint64 // first number that settle has not seen
	shift    uint64 // marks placed: numbers of place and cells differ by it
	live     int    // full cells, and values that wait in lines
	peak     int
	puts     uint64
	gets     uint64
	closed   bool
	stopped  bool
	putters  waits
	getters  waits

	epochal  bool      // there is more than one epoch
	lines    []line[T] // of the epochs that are not over, outEpoch first
	nEarly   uint64    // values that wait in lines
	outEpoch uint64    // the epoch whose values are appended

	taken   uint64 // numbers given out by pop
	epoch   uint64 // of the next value out
	inEpoch uint64 // numbers given out in epoch

	bornNs  int64
	emptyNs int64 // time without a ready value, up to sinceNs
	sinceNs int64 // start of the present time without one; -1 means a value is ready
}

// A cell holds one value, or the values of one number.
type cell[T any] struct {
	v    T
	rest []T    // further values of the number
	tag  uint64 // see place
	err  error  // why the number has failed
	kind cellKind
	open bool // further values of the number may come
}

type cellKind uint8

const (
	vacant cellKind = iota
	full
	hole // a number whose value will not come, or has gone ahead
	mark // the end of an epoch
	tomb // a hole that the reader is told of
)

// A place is where an item stands in what a stage takes; its results stand
// there too.
type place struct {
	number uint64 // among items, tombs and marks
	epoch  uint64
	tag    uint64 // number inside the paths of a Variants
}

// An item is what a queue gives out: a value, a tomb or a mark.
type item[T any] struct {
	place
	v     T
	kind  cellKind
	count uint64 // of a mark: the items and tombs of its epoch
}

// NewQueue returns an empty queue; a capacity below 1 is taken as 1.
func NewQueue[T any](capacity int) *Queue[T] {
	q := &Queue[T]{bornNs: now()}
	q.resize(capacity)
	q.notEmpty.L, q.notFull.L = &q.mu, &q.mu
	q.sinceNs = q.bornNs
	return q
}

// resize changes the capacity of an unused queue.
func (q *Queue[T]) resize(capacity int) {
	q.capacity = uint64(max(capacity, 1))
	q.cells = make([]cell[T], 1<<bits.Len64(q.capacity-1))
}

// Put appends v, waiting while the queue is full. False means that the queue
// is closed or stopped and v is still the caller's.
func (q *Queue[T]) Put(v T) bool { return q.putInEpoch(place{}, cell[T]{v: v, kind: full}, false) }

// Get removes the oldest value, waiting for one. False means that there will
// be none: the queue is closed and empty, or stopped.
func (q *Queue[T]) Get() (T, bool) {
	it, ok := q.take()
	return it.v, ok
}

// Close says that no more values come; getters still receive those waiting.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	q.closed = true
	q.notEmpty.Broadcast()
	q.notFull.Broadcast()
	q.mu.Unlock()
	if q.closing != nil {
		q.closing()
	}
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

// take waits for the next item and numbers it: 0, 1, 2 ... without gaps.
func (q *Queue[T]) take() (it item[T], ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ready() {
		q.getters.none()
	} else {
		q.awaitValue()
	}
	if q.stopped || !q.ready() {
		return it, false
	}
	return q.pop(), true
}

// restartClock counts occupancy from atNs; the queue is still empty.
func (q *Queue[T]) restartClock(atNs int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bornNs, q.sinceNs, q.emptyNs = atNs, atNs, 0
}

// emptyTime is how long no value was ready.
func (q *Queue[T]) emptyTime(atNs int64) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sinceNs >= 0 {
		return q.emptyNs + max(0, atNs-q.sinceNs)
	}
	return q.emptyNs
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
	putNs, getNs := q.putters.sumNs(), q.getters.sumNs()
	q.mu.Unlock()
	var put, get tally
	put.add(&q.putters.times)
	get.add(&q.getters.times)
	out.PutWait, out.GetWait = put.times(), get.times()
	out.PutWait.SumNs, out.GetWait.SumNs = putNs, getNs
	return out
}

// All that follows runs with mu held.

func (q *Queue[T]) at(n uint64) *cell[T] { return &q.cells[n&uint64(len(q.cells)-1)] }

func (k cellKind) takeable() bool { return k == full || k == mark || k == tomb }

// ready says that there is something to take.
func (q *Queue[T]) ready() bool {
	_, ok := q.next()
	return ok
}

// next returns the number whose turn it is: the head, or while that is missing
// the lowest number it may be overtaken by.
func (q *Queue[T]) next() (n uint64, ok bool) {
	if q.at(q.head).kind.takeable() {
		return q.head, true
	}
	for n = q.head + 1; n-q.head <= q.ahead && n-q.head < q.capacity; n++ {
		switch q.at(n).kind {
		case full:
			return n, true
		case mark: // nothing leaves before the end of the epoch before
			return 0, false
		}
	}
	return 0, false
}

// drained says that nothing can be taken any more.
func (q *Queue[T]) drained() bool { return q.stopped || q.closed && !q.ready() }

// pop takes what is ready.
func (q *Queue[T]) pop() item[T] {
	n, _ := q.next()
	c := q.at(n)
	it := item[T]{v: c.v, kind: c.kind, place: place{number: q.taken, epoch: q.epoch, tag: c.tag}}
	q.taken++
	switch c.kind {
	case mark:
		it.count = q.inEpoch
		q.inEpoch = 0
		q.epoch++
	case full:
		q.gets++
		q.live--
		fallthrough
	default:
		q.inEpoch++
	}
	switch {
	case len(c.rest) > 0:
		c.v = c.rest[0]
		c.rest = c.rest[1:]
	case c.open:
		*c = cell[T]{open: true, tag: c.tag}
	case n == q.head:
		*c = cell[T]{}
		q.head++
	default:
		*c = cell[T]{kind: hole}
	}
	q.moved()
	return it
}

func (q *Queue[T]) stop() {
	q.stopped = true
	q.notEmpty.Broadcast()
	q.notFull.Broadcast()
}

func (q *Queue[T]) awaitRoom(room func() bool) {
	if q.stopped || q.closed {
		return
	}
	startNs := q.putters.begin()
	for !q.stopped && !q.closed && !room() {
		q.notFull.Wait()
	}
	q.putters.end(startNs)
}

func (q *Queue[T]) awaitValue() {
	if q.stopped || q.closed {
		return
	}
	startNs := q.getters.begin()
	for !q.stopped && !q.closed && !q.ready() {
		q.notEmpty.Wait()
	}
	q.getters.end(startNs)
}

// counted notes a value that comes in.
func (q *Queue[T]) counted(kind cellKind) {
	if kind == full {
		q.puts++
		q.live++
		q.peak = max(q.peak, q.live)
	}
}

// moved passes holes at the head, lets in what waits for its epoch, keeps the
// occupancy clock and wakes whoever can go on after head or the cell under it
// changed.
func (q *Queue[T]) moved() {
	for q.at(q.head).kind == hole {
		*q.at(q.head) = cell[T]{}
		q.head++
	}
	q.refill()
	ready := q.ready()
	switch {
	case ready && q.sinceNs >= 0:
		q.emptyNs += stamp() - q.sinceNs
		q.sinceNs = -1
	case !ready && q.sinceNs < 0:
		q.sinceNs = stamp()
	}
	if ready && q.getters.n > 0 {
		q.notEmpty.Signal()
	}
	if q.putters.n > 0 {
		if q.ordered || q.epochal {
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
		c := q.at(q.head + i)
		if c.kind != full {
			continue
		}
		v = c.v
		if len(c.rest) > 0 {
			c.v, c.rest = c.rest[0], c.rest[1:]
		} else {
			*c = cell[T]{}
		}
		q.live--
		return v, true
	}
	return q.removeEarly()
}
