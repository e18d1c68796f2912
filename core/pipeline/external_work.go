package pipeline

import (
	"context"
	"io"
	"time"
)

// A work is an item in the hands of a host, or between two tries.
type work[In any] struct {
	place
	serial  uint64 // of the item's stay here, for its timers
	token   uint64 // of the try
	kind    WorkKind
	v       In
	attempt int
	state   string // "" if the work is free for another item
	late    bool   // judged as failed by its deadline
	due     bool   // a waiting work may be taken
	spent   bool   // a result of it is out
	sinceNs int64  // start of state
	opNs    int64  // time in the host's hands
	waits   *time.Timer
	limits  *time.Timer
}

const workBits = 20 // of a token, for the place in works

func (x *External[In, Out]) begin() {
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	x.open = true
	x.p.wg.Add(1)
	if x.source {
		context.AfterFunc(x.intake, x.poke)
	}
}

// halt ends the stage of a run that is over: what waits to be tried again is
// discarded, what is out is waited for.
func (x *External[In, Out]) halt() {
	x.in.mu.Lock()
	x.over = x.over || !x.open
	var left []In
	for _, w := range x.works {
		if w.state == workWaiting {
			left = append(left, w.v)
			x.free(w)
		}
	}
	x.in.mu.Unlock()
	for _, v := range left {
		x.dropItem(v)
	}
	x.poke()
}

// poke looks whether the stage has ended, and wakes every taker.
func (x *External[In, Out]) poke() {
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	x.settleEnd()
}

func (x *External[In, Out]) wake() {
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	x.in.notEmpty.Broadcast()
}

func (x *External[In, Out]) dropItem(v In) {
	if x.port != nil {
		x.port.drop(v)
	}
}

func (x *External[In, Out]) settle(err error) bool {
	if verdict := x.p.verdict(x.judge, err); verdict != nil {
		x.fatal(verdict)
		return false
	}
	return true
}

// claim makes the caller the one who answers the work.
func (x *External[In, Out]) claim(token uint64) (*work[In], error) {
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	i := token & (1<<workBits - 1)
	if i >= uint64(len(x.works)) {
		return nil, ErrUnknownWork
	}
	w := x.works[i]
	if w.token != token || w.state != workOut && w.state != workOverdue {
		return nil, ErrUnknownWork
	}
	atNs := now()
	w.opNs += atNs - w.sinceNs
	w.state, w.sinceNs = workGiving, atNs
	return w, nil
}

// giveBackLater returns a work to the thread that has more answers.
func (x *External[In, Out]) giveBackLater(w *work[In]) {
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	w.state, w.sinceNs = workOut, now()
	if w.late {
		w.state = workOverdue
	}
}

func (x *External[In, Out]) giveValue(w *work[In], r *Result[Out]) bool {
	if x.source {
		if !x.arrived(&x.meters[0]) {
			x.out.drop(r.Value)
			return false
		}
	}
	w.spent = true
	return x.out.give(w.place, r.Value, !r.More && !x.aggregator)
}

// finish ends a work that has succeeded.
func (x *External[In, Out]) finish(w *work[In], skipped, end bool) bool {
	goOn := true
	switch {
	case w.kind == WorkFlush:
		goOn = x.passFlushed(w)
	case skipped && !x.aggregator:
		goOn = x.out.skip(w.place, nil)
	}
	if goOn && x.rated && w.kind != WorkFlush && !x.out.queue.ordered {
		goOn = x.settle(nil)
	}
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	m := &x.meters[0]
	m.op.record(w.opNs)
	if w.kind == WorkItem {
		m.count()
	}
	x.noteEnd(w, end)
	x.free(w)
	x.settleEnd()
	return goOn
}

// passFlushed lets the mark go on for which the aggregator was flushed.
func (x *External[In, Out]) passFlushed(w *work[In]) bool {
	x.in.mu.Lock()
	at, due := x.flushAt, x.flushDue
	x.flushDue, x.dirty = false, false
	x.in.mu.Unlock()
	return !due || x.out.mark(at, 0)
}

// giveLate ends what nobody wants any more.
func (x *External[In, Out]) giveLate(w *work[In], r *Result[Out]) error {
	if !r.Skip && r.Err == nil {
		x.out.drop(r.Value)
	}
	var err error = ErrEnded
	if w.late {
		err = &DeadlineError{Limit: x.deadline}
	}
	if r.More && r.Err == nil {
		x.giveBackLater(w)
		return err
	}
	if r.Err != nil && w.kind == WorkItem {
		x.dropItem(w.v)
	}
	x.release(w, r.End)
	return err
}

// release frees a work that has ended without success.
func (x *External[In, Out]) release(w *work[In], end bool) {
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	x.meters[0].op.record(w.opNs)
	x.noteEnd(w, end)
	x.free(w)
	x.settleEnd()
}

// fail has a failed work tried again or judged.
func (x *External[In, Out]) fail(w *work[In], err error) error {
	if w.kind == WorkFlush {
		err = Fatal(err)
	}
	if !w.spent && x.retry.allows(w.attempt, err) && x.tryLater(w) {
		return nil
	}
	v, isItem := w.v, w.kind == WorkItem
	goOn := x.judged(w.place, err)
	if isItem {
		x.dropItem(v)
	}
	x.release(w, false)
	if !goOn {
		return ErrEnded
	}
	return nil
}

// tryLater puts a failed work aside until its next try is due.
func (x *External[In, Out]) tryLater(w *work[In]) bool {
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	if x.cancelled() {
		return false
	}
	x.meters[0].retries.Add(1)
	delay := x.retry.delay(w.attempt)
	w.attempt++
	w.state, w.sinceNs = workWaiting, now()
	serial := w.serial
	w.waits = time.AfterFunc(delay, func() { x.nowDue(w, serial) })
	return true
}

func (x *External[In, Out]) nowDue(w *work[In], serial uint64) {
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	if w.serial == serial && w.state == workWaiting {
		w.due = true
		x.in.notEmpty.Broadcast()
	}
}

// judged applies the policy to the last failure of a work.
func (x *External[In, Out]) judged(pl place, err error) bool {
	if x.cancelled() {
		return false
	}
	x.meters[0].failures.Add(1)
	if neverForgiven(err) {
		x.fatal(err)
		return false
	}
	if x.onFail != nil {
		x.onFail(err)
	}
	if !x.out.queue.ordered && !x.settle(err) {
		return false
	}
	return x.aggregator || x.out.skip(pl, err)
}

// expire judges a work that has passed its deadline. If a thread has it, the
// item ends with that thread's last Give.
func (x *External[In, Out]) expire(w *work[In], serial uint64) {
	x.in.mu.Lock()
	if w.serial != serial || w.state != workOut && w.state != workWaiting || x.cancelled() {
		x.in.mu.Unlock()
		return
	}
	pl, v, waiting := w.place, w.v, w.state == workWaiting
	var err error = &DeadlineError{Limit: x.deadline}
	if w.kind == WorkFlush {
		err = Fatal(err)
	}
	if waiting {
		w.state = workGiving // ours until it is freed
	} else {
		w.state, w.late = workOverdue, true
		x.busy++ // until it is judged
		x.holding--
		x.in.notEmpty.Broadcast()
	}
	x.in.mu.Unlock()
	x.judged(pl, err)
	if waiting {
		x.dropItem(v)
		x.release(w, false)
		return
	}
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	x.busy--
	x.settleEnd()
}

// All that follows runs with in.mu held.

// next returns a work to be done now, io.EOF, or neither: then it is worth
// waiting.
//
// A taker never waits for room, only for work: a work that waits for its next
// try needs a thread, and what is behind it may have no room before it has
// ended. So marks and tombs without room wait in a goroutine, and of items and
// further tries only those are given out that such a work does not hold up.
func (x *External[In, Out]) next() (*work[In], error) {
	for x.open && !x.cancelled() {
		if w := x.dueAgain(); w != nil {
			return w, nil
		}
		if x.holding >= x.concurrency {
			return nil, nil
		}
		switch {
		case x.source:
			return x.nextOfSource()
		case x.flushDue:
			return x.newWork(WorkFlush, item[In]{place: x.flushAt}), nil
		case x.in.ready():
			if x.passing || x.heldUp(x.in.taken, x.in.epoch) {
				return nil, nil
			}
			if w := x.nextItem(); w != nil {
				return w, nil
			}
		case x.in.drained():
			return x.atEnd()
		default:
			return nil, nil
		}
	}
	if x.open || x.over {
		return nil, io.EOF
	}
	return nil, nil // not started yet
}

func (x *External[In, Out]) dueAgain() *work[In] {
	if x.retry.Max == 0 {
		return nil
	}
	for i, w := range x.works {
		if w.state == workWaiting && w.due && !x.heldUp(w.number, w.epoch) {
			w.token = x.newToken(i)
			w.state, w.due, w.sinceNs = workOut, false, now()
			return w
		}
	}
	return nil
}

func (x *External[In, Out]) nextOfSource() (*work[In], error) {
	if !x.exhausted && x.intake.Err() == nil {
		if x.passing || x.heldUp(0, x.epoch) {
			return nil, nil
		}
		x.inEpoch++
		return x.newWork(WorkSource, item[In]{place: place{epoch: x.epoch}}), nil
	}
	return x.atEnd()
}

// nextItem takes the next item; nil means that it was none for the host.
func (x *External[In, Out]) nextItem() *work[In] {
	it := x.in.pop()
	switch {
	case it.kind == full:
		x.dirty = true
		return x.newWork(WorkItem, it)
	case it.kind == mark && x.aggregator:
		x.flushAt, x.flushDue = it.place, true
		return nil
	}
	x.passOn(it.place, it.kind, it.count)
	return nil
}

// heldUp says that the result of an item would have no room before a work has
// ended that waits for its next try.
func (x *External[In, Out]) heldUp(number, epoch uint64) bool {
	if x.retry.Max == 0 {
		return false
	}
	q := x.out.queue
	for _, w := range x.works {
		switch {
		case w.state != workWaiting:
		case q.ordered && number >= w.number+q.capacity, !q.ordered && epoch > w.epoch && q.fullBehind(w.epoch):
			return true
		}
	}
	return false
}

// passOn passes on a mark or a tomb; if there is no room for it, aside.
func (x *External[In, Out]) passOn(pl place, kind cellKind, count uint64) {
	q := x.out.queue
	switch {
	case kind == mark && !q.ordered:
		q.endEpoch(pl.epoch, count)
		x.spaceEpochs()
	case kind == tomb && !q.ordered && q.tombNow(pl):
	case kind == mark && q.inReach(pl.number):
		x.out.mark(pl, count)
	case kind == tomb && q.ordered && q.inReach(pl.number):
		x.out.skip(pl, nil)
	case kind == mark:
		x.passAside(func() { x.out.mark(pl, count) })
	default:
		x.passAside(func() { x.out.skip(pl, nil) })
	}
}

// spaceEpochs takes nothing new while too many epochs have ended that are not out.
func (x *External[In, Out]) spaceEpochs() {
	if x.out.queue.crowded() {
		x.passAside(func() { x.out.queue.awaitEpochs() })
	}
}

// passAside has a goroutine wait for room; the run does not end before it. There
// is one at a time, because nothing new is taken meanwhile.
func (x *External[In, Out]) passAside(wait func()) {
	x.busy++
	x.passing = true
	go func() {
		wait()
		x.in.mu.Lock()
		defer x.in.mu.Unlock()
		x.busy--
		x.passing = false
		x.settleEnd()
	}()
}

// atEnd is what there is to do after the last item. Takers that find nothing to do must not wake each other, or they would never rest.
func (x *External[In, Out]) atEnd() (*work[In], error) {
	x.endIfOver()
	switch {
	case !x.open:
		return nil, io.EOF
	case x.aggregator && x.busy == 0:
		return x.newWork(WorkFlush, item[In]{place: place{epoch: x.in.epoch}}), nil
	case x.aggregator || x.retry.Max > 0:
		return nil, nil // what is out may still come back
	}
	return nil, io.EOF
}

// newWork makes a work of an item, with a token never used before.
func (x *External[In, Out]) newWork(kind WorkKind, it item[In]) *work[In] {
	var w *work[In]
	i := 0
	for i < len(x.works) && x.works[i].state != "" {
		i++
	}
	if i == len(x.works) {
		x.works = append(x.works, &work[In]{})
	}
	w = x.works[i]
	token := x.newToken(i)
	*w = work[In]{
		place: it.place, serial: token, token: token, kind: kind, v: it.v,
		attempt: 1, state: workOut, sinceNs: now(),
	}
	if x.deadline > 0 {
		w.limits = time.AfterFunc(x.deadline, func() { x.expire(w, token) })
	}
	x.busy++
	x.holding++
	return w
}

func (x *External[In, Out]) free(w *work[In]) {
	for _, t := range []*time.Timer{w.waits, w.limits} {
		if t != nil {
			t.Stop()
		}
	}
	x.busy--
	if !w.late {
		x.holding--
	}
	*w = work[In]{}
}

// newToken names the next try of the work at place i.
func (x *External[In, Out]) newToken(i int) uint64 {
	x.tokens++
	return x.tokens<<workBits | uint64(i)
}

// noteEnd ends a source's epoch behind the works that are still out.
func (x *External[In, Out]) noteEnd(w *work[In], end bool) {
	switch {
	case !end || !x.source || w.epoch != x.epoch:
		return
	case !x.continuous:
		x.exhausted = true
		return
	}
	x.out.queue.endEpoch(x.epoch, x.inEpoch)
	x.epoch++
	x.inEpoch = 0
	x.spaceEpochs()
}

// settleEnd is called when something has changed: it wakes every taker, and closes the output once nothing can come any more.
func (x *External[In, Out]) settleEnd() {
	x.in.notEmpty.Broadcast()
	x.endIfOver()
}

func (x *External[In, Out]) endIfOver() {
	if !x.open || x.busy > 0 || !x.cancelled() && !x.inputOver() {
		return
	}
	x.open, x.over = false, true
	x.in.notEmpty.Broadcast()
	x.out.close()
	x.p.wg.Done()
}

func (x *External[In, Out]) inputOver() bool {
	if x.source {
		return x.exhausted || x.intake.Err() != nil
	}
	return x.in.drained() && !x.flushDue && !(x.aggregator && x.dirty)
}
