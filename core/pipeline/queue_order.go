package pipeline

import "fmt"

// Numbered values: those of a stage whose results keep the order of its items,
// and those that Resequence puts in their place.

// putNumbered stores a value, a mark, a tomb or a hole as number n, waiting
// while n is a capacity or more past the head; last says that nothing more
// comes for n. A number may have many values: they wait while the queue is full,
// unless it is the head's number and nothing of it is inside. So whoever has
// the lowest number outstanding never waits for another number, and numbers
// may come in any order without a deadlock.
func (q *Queue[T]) putNumbered(pl place, c cell[T], last bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := pl.number
	if !q.roomAt(n, c.kind) {
		q.awaitRoom(func() bool { return q.roomAt(n, c.kind) })
	} else {
		q.putters.none()
	}
	if q.stopped {
		return false
	}
	c.tag, c.open = pl.tag, !last
	q.counted(c.kind)
	q.store(n, c)
	q.settleInOrder()
	q.moved()
	return true
}

// inReach says that a mark or a tomb of number n need not wait, now or later.
func (q *Queue[T]) inReach(n uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stopped || q.roomAt(n, mark)
}

// store joins c to what number n has already.
func (q *Queue[T]) store(n uint64, c cell[T]) {
	old := q.at(n)
	switch {
	case old.kind == vacant:
		*old = c
	case c.kind == full:
		old.rest = append(old.rest, c.v)
		old.open = c.open
	default: // a hole behind values only closes the number
		old.open, old.err = false, c.err
	}
}

// place stores v as number n for a putter that is the only one: it waits for
// room as long as the getter can make some. errHalted means the queue is
// stopped, a *SequenceError that n can never be stored.
func (q *Queue[T]) place(n uint64, v T) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := n + q.shift
	if at >= q.head && at-q.head >= q.capacity && q.ready() {
		q.awaitRoom(func() bool { return at-q.head < q.capacity || !q.ready() })
	} else {
		q.putters.none()
	}
	switch {
	case q.stopped:
		return errHalted
	case at < q.head || at-q.head < q.capacity && q.at(at).kind != vacant:
		return &SequenceError{Got: n, Want: q.wanted(), Window: int(q.capacity), Repeated: true}
	case at-q.head >= q.capacity:
		return &SequenceError{Got: n, Want: q.wanted(), Window: int(q.capacity)}
	}
	q.counted(full)
	*q.at(at) = cell[T]{v: v, kind: full}
	q.moved()
	return nil
}

// awaitTurn waits until number n would have room; false means never.
func (q *Queue[T]) awaitTurn(n uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n-q.head >= q.capacity {
		q.awaitRoom(func() bool { return n-q.head < q.capacity })
	}
	return !q.stopped
}

// placeMark ends the epoch behind the last value placed, where gap has found
// none missing; false means the queue is stopped.
func (q *Queue[T]) placeMark() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, _ := q.firstMissing()
	if at-q.head >= q.capacity {
		q.awaitRoom(func() bool { return at-q.head < q.capacity })
	}
	if q.stopped {
		return false
	}
	*q.at(at) = cell[T]{kind: mark}
	q.shift++
	q.moved()
	return true
}

// gap reports, after the last place of an epoch or of all, a number that never came while later ones
// wait for it.
func (q *Queue[T]) gap() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, waiting := q.firstMissing()
	if waiting == 0 {
		return nil
	}
	return fmt.Errorf("sequence %d never came, %d later ones wait for it", at-q.shift, waiting)
}

// startAt makes n the first number of an unused queue.
func (q *Queue[T]) startAt(n uint64) { q.head, q.tail, q.settled = n, n, n }

// All that follows runs with mu held.

func (q *Queue[T]) roomAt(n uint64, kind cellKind) bool {
	return n-q.head < q.capacity &&
		(kind != full || q.live < int(q.capacity) || n == q.head && q.at(n).kind == vacant)
}

// wanted is the number that the head waits for.
func (q *Queue[T]) wanted() uint64 {
	n, _ := q.firstMissing()
	return n - q.shift
}

// firstMissing returns the first number from the head on that is not there, and
// how many numbers behind it are, those gone ahead included.
func (q *Queue[T]) firstMissing() (n uint64, behind int) {
	n = q.head
	for n-q.head < q.capacity && q.at(n).kind != vacant {
		n++
	}
	for later := n; later-q.head < q.capacity; later++ {
		if q.at(later).kind != vacant {
			behind++
		}
	}
	return n, behind
}

// settleInOrder tells settle of every number that has an outcome, and whose
// predecessors all have.
func (q *Queue[T]) settleInOrder() {
	if q.settle == nil {
		return
	}
	for q.settled-q.head < q.capacity {
		c := q.at(q.settled)
		if c.kind == vacant || c.open {
			return
		}
		q.settled++
		if c.kind != mark && !q.settle(c.err) {
			q.stop()
			return
		}
	}
}
