package pipeline

// Epochs in completion order.
//
// Items of several epochs can be in work at once; their results must leave
// epoch by epoch. Results of the epoch that is going out are appended; those of
// a later one wait in that epoch's line. The end of an epoch is known by its
// number of items: once that many have finished, the mark is appended, and the
// next line moves up. So nobody waits for anybody at the end of an epoch, and a
// mark needs no room of its own to be given.

// A line is the state of one epoch that is not over.
type line[T any] struct {
	finished uint64 // items whose last result has come
	want     uint64 // items there are in all
	ended    bool   // want is known
	early    []cell[T]
}

// putInEpoch appends c to its epoch, waiting for room; last says that its item
// has finished with it. False means that the queue is closed or stopped.
func (q *Queue[T]) putInEpoch(pl place, c cell[T], last bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.roomIn(pl.epoch) {
		q.awaitRoom(func() bool { return q.roomIn(pl.epoch) })
	} else {
		q.putters.none()
	}
	if q.stopped || q.closed {
		return false
	}
	q.storeInEpoch(pl, c, last)
	return true
}

// tombNow is putInEpoch of a tomb for a caller who must not wait; false means that there is no room.
func (q *Queue[T]) tombNow(pl place) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped || q.closed {
		return true // nobody wants it
	}
	if !q.roomIn(pl.epoch) {
		return false
	}
	q.storeInEpoch(pl, cell[T]{kind: tomb}, true)
	return true
}

// finishInEpoch counts an item that has finished without a last result.
func (q *Queue[T]) finishInEpoch(epoch uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lineOf(epoch).finished++
	q.moved()
	return !q.stopped
}

// endEpoch says that the epoch has want items in all.
func (q *Queue[T]) endEpoch(epoch, want uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.epochal = true
	l := q.lineOf(epoch)
	l.want, l.ended = want, true
	q.moved()
	return !q.stopped
}

// awaitEpochs holds back whoever ends epochs faster than they go out: those of
// no items would otherwise pile up without bound. The caller must have no item
// in hand.
func (q *Queue[T]) awaitEpochs() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.crowdedNow() {
		q.awaitRoom(func() bool { return !q.crowdedNow() })
	}
	return !q.stopped
}

// crowded says that awaitEpochs would wait.
func (q *Queue[T]) crowded() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.crowdedNow() && !q.stopped && !q.closed
}

// fullBehind says that results of later epochs have no room before epoch, which is not over, has ended.
func (q *Queue[T]) fullBehind(epoch uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for i := epoch - q.outEpoch + 1; i < uint64(len(q.lines)); i++ {
		n += len(q.lines[i].early)
	}
	return uint64(n) >= q.capacity
}

// All that follows runs with mu held.

func (q *Queue[T]) storeInEpoch(pl place, c cell[T], last bool) {
	c.tag = pl.tag
	q.counted(c.kind)
	if pl.epoch == q.outEpoch {
		*q.at(q.tail) = c
		q.tail++
	} else {
		q.epochal = true
		l := q.lineOf(pl.epoch)
		l.early = append(l.early, c)
		q.nEarly++
	}
	if last {
		q.lineOf(pl.epoch).finished++
	}
	q.moved()
}

func (q *Queue[T]) crowdedNow() bool { return uint64(len(q.lines)) > q.capacity+1 }

func (q *Queue[T]) roomIn(epoch uint64) bool {
	if epoch != q.outEpoch {
		return q.nEarly < q.capacity
	}
	return q.tail-q.head < q.capacity && (len(q.lines) == 0 || len(q.lines[0].early) == 0)
}

func (q *Queue[T]) lineOf(epoch uint64) *line[T] {
	i := epoch - q.outEpoch
	for uint64(len(q.lines)) <= i {
		q.lines = append(q.lines, line[T]{})
	}
	return &q.lines[i]
}

// refill appends what no longer has to wait for its epoch.
func (q *Queue[T]) refill() {
	for len(q.lines) > 0 && q.tail-q.head < q.capacity {
		l := &q.lines[0]
		switch {
		case len(l.early) > 0:
			*q.at(q.tail) = l.early[0]
			l.early[0] = cell[T]{}
			l.early = l.early[1:]
			q.nEarly--
		case l.ended && l.finished == l.want:
			*q.at(q.tail) = cell[T]{kind: mark}
			n := copy(q.lines, q.lines[1:])
			q.lines[n] = line[T]{}
			q.lines = q.lines[:n]
			q.outEpoch++
		default:
			return
		}
		q.tail++
	}
}

// removeEarly takes the oldest value that waits for its epoch.
func (q *Queue[T]) removeEarly() (v T, ok bool) {
	for i := range q.lines {
		l := &q.lines[i]
		for len(l.early) > 0 {
			c := l.early[0]
			l.early = l.early[1:]
			q.nEarly--
			if c.kind == full {
				q.live--
				return c.v, true
			}
		}
	}
	return v, false
}
