package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A hand is the item a worker is responsible for, with what it holds for it.
type hand[In any] struct {
	place
	m         *meter // of the worker
	v         In
	costBytes int64
	has       bool // v is ours
	charged   bool // the budget has granted costBytes
	admitted  bool // the limiter has let us in
	spent     bool // a result of v is out, so it cannot be tried again
}

// A charger takes items and their bytes in one go, so that bytes are granted in
// the order of the items.
type charger[In any] struct {
	turn   sync.Mutex // the worker whose turn it is
	budget *Bytes
	cost   func(In) int64
}

// take fills h; on false the caller lets go of whatever h has.
func (c *charger[In]) take(s *stage, from *Queue[In], h *hand[In]) (it item[In], ok bool) {
	c.turn.Lock()
	defer c.turn.Unlock()
	if it, ok = from.take(); !ok || it.kind != full {
		return it, ok
	}
	h.hold(it)
	h.costBytes = c.cost(h.v)
	startNs := stamp()
	err := c.budget.Acquire(s.p.ctx, h.costBytes)
	h.m.limitWaitNs.Add(stamp() - startNs)
	if err != nil && !s.cancelled() {
		s.fatal(err)
	}
	h.charged = err == nil
	return it, h.charged
}

func (h *hand[In]) hold(it item[In]) { h.v, h.place, h.has = it.v, it.place, true }

// empty forgets what h holds.
func (h *hand[In]) empty() { *h = hand[In]{m: h.m, place: h.place} }

// A consumer is a stage that takes items from a port: every kind but a source,
// a merge and those whose workers are not ours.
type consumer[W, In, Out any] struct {
	*stage
	in       *Port[In]
	out      *Port[Out] // nil for a sink
	workers  Workers[W]
	do       func(ctx context.Context, state W, h *hand[In]) (out Out, emit bool, err error)
	flush    func(ctx context.Context) (out Out, emit bool, err error) // nil: nothing to flush
	emit     func(pl place, out Out) (goOn bool)
	mark     func(pl place, count uint64) (goOn bool)
	many     bool // results do not stand in the place of one item
	judge    *Judge
	limiter  *Limiter
	charge   *charger[In]
	retry    Retry
	deadline time.Duration
	onFail   func(error)
	rated    bool // successes count too
}

func newConsumer[W, In, Out any](s *stage, in *Port[In], budget Failures) *consumer[W, In, Out] {
	readFrom(s, in)
	c := &consumer[W, In, Out]{
		stage:  s,
		in:     in,
		judge:  s.newJudge(budget),
		onFail: budget.OnFailure,
		rated:  budget.MaxRate > 0,
	}
	s.work = c.work
	return c
}

// newJudge notes a budget that makes no sense.
func (s *stage) newJudge(budget Failures) *Judge {
	if err := budget.check(); err != nil {
		s.p.note(s.errorf("%w", err))
	}
	return &Judge{budget: budget}
}

// into makes out the place of c's results.
func (c *consumer[W, In, Out]) into(out *Port[Out]) *Port[Out] {
	c.out = out
	c.emit = func(pl place, v Out) bool { return out.give(pl, v, !c.many) }
	c.mark = func(pl place, count uint64) bool {
		if c.many {
			count = 0
		}
		return out.mark(pl, count)
	}
	if out.queue.ordered {
		out.queue.settle = c.settle
	}
	return out
}

// work is the life of one worker.
func (c *consumer[W, In, Out]) work(i int) {
	if !c.crew.enter(i) {
		return
	}
	var state W
	if c.workers.Open != nil {
		var err error
		if state, err = c.workers.Open(i); err != nil {
			c.fatal(fmt.Errorf("open worker %d: %w", i, err))
			return
		}
	}
	if c.workers.Close != nil {
		defer c.workers.Close(state)
	}
	h := &hand[In]{m: &c.meters[i]}
	defer c.letGo(h) // has an item only if a function of the caller panicked
	for c.step(h, state) {
		c.crew.enter(i) // take tells when the work has ended
	}
	c.crew.end()
	if c.flush != nil {
		c.flushAll(h)
	}
}

// step takes one item through the op; false ends the worker.
func (c *consumer[W, In, Out]) step(h *hand[In], state W) bool {
	if goOn, item := c.take(h); !item {
		return goOn
	}
	out, emit, err := c.tries(h, state)
	pl, goOn := c.leave(h, err)
	if err != nil || !goOn {
		return goOn
	}
	if emit {
		goOn = c.emit(pl, out)
	} else if !c.many && c.out != nil {
		goOn = c.out.skip(pl, nil)
	}
	return goOn && c.passed()
}

// tries calls the op until it succeeds or may not be tried again.
func (c *consumer[W, In, Out]) tries(h *hand[In], state W) (out Out, emit bool, err error) {
	ctx, end := c.itemContext()
	defer end()
	for try := 1; ; try++ {
		h.m.begin()
		if c.p.hooks.Task == nil {
			out, emit, err = c.do(ctx, state, h)
		} else {
			out, emit, err = c.doHooked(ctx, state, h)
		}
		h.m.end()
		if err == nil || !c.again(ctx, h, try, err) {
			return out, emit, c.overdue(ctx, err)
		}
	}
}

// doHooked calls the op between the two halves of the task hook.
func (c *consumer[W, In, Out]) doHooked(ctx context.Context, state W, h *hand[In]) (out Out, emit bool, err error) {
	ctx, after, err := c.p.hooks.Task(ctx, c.info())
	if err != nil {
		return out, false, err
	}
	out, emit, err = c.do(ctx, state, h)
	if after != nil {
		after(err)
	}
	return out, emit, err
}

func noEnd() {}

// itemContext is the context of all tries of one item.
func (c *consumer[W, In, Out]) itemContext() (context.Context, func()) {
	if c.deadline <= 0 {
		return c.p.ctx, noEnd
	}
	return context.WithTimeout(c.p.ctx, c.deadline)
}

// overdue names the deadline in an error that comes after it.
func (c *consumer[W, In, Out]) overdue(ctx context.Context, err error) error {
	if err != nil && c.deadline > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) && !c.cancelled() {
		return &DeadlineError{Limit: c.deadline, Err: err}
	}
	return err
}

// again waits until the next try is due; false means that there is none.
func (c *consumer[W, In, Out]) again(ctx context.Context, h *hand[In], try int, err error) bool {
	if h.spent || !c.retry.allows(try, err) || ctx.Err() != nil {
		return false
	}
	if h.admitted {
		c.limiter.Release()
		h.admitted = false
	}
	timer := time.NewTimer(c.retry.delay(try))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	h.m.retries.Add(1)
	return c.limiter == nil || c.admit(ctx, h)
}

// leave ends the worker's part in its item: what h holds is given back, and
// with it, after an error, the item.
func (c *consumer[W, In, Out]) leave(h *hand[In], err error) (pl place, goOn bool) {
	if h.admitted {
		c.limiter.Release()
		h.admitted = false
	}
	pl = h.place
	if err != nil {
		c.letGo(h)
		return pl, c.failed(h.m, pl, err)
	}
	h.empty()
	h.m.count()
	return pl, true
}

// take gets the next item, its bytes and its admission; without an item the
// worker goes on or ends.
func (c *consumer[W, In, Out]) take(h *hand[In]) (goOn, has bool) {
	var it item[In]
	var ok bool
	if c.charge != nil {
		it, ok = c.charge.take(c.stage, c.in.queue, h)
	} else if it, ok = c.in.queue.take(); ok && it.kind == full {
		h.hold(it)
	}
	switch {
	case !ok:
		c.letGo(h)
		return false, false
	case it.kind == mark:
		return c.passMark(h, it), false
	case it.kind == tomb:
		return c.out.skip(it.place, nil), false
	}
	if c.limiter != nil && !c.admit(c.p.ctx, h) {
		c.letGo(h)
		return false, false
	}
	return true, true
}

// passMark lets the end of an epoch keep its place.
func (c *consumer[W, In, Out]) passMark(h *hand[In], it item[In]) bool {
	h.epoch = it.epoch
	if c.flush != nil && !c.flushAll(h) {
		return false
	}
	h.epoch++ // of what a flush at the end finds
	return c.mark(it.place, it.count)
}

func (c *consumer[W, In, Out]) admit(ctx context.Context, h *hand[In]) bool {
	startNs := stamp()
	err := c.limiter.Acquire(ctx)
	h.m.limitWaitNs.Add(stamp() - startNs)
	h.admitted = err == nil
	return h.admitted
}

// letGo gives back all that h holds.
func (c *consumer[W, In, Out]) letGo(h *hand[In]) {
	held := *h
	h.empty()
	if held.admitted {
		c.limiter.Release()
	}
	if held.charged {
		c.charge.budget.Release(held.costBytes)
	}
	if held.has {
		c.in.drop(held.v)
	}
}

// failed applies the policy to an op's error; the item is already discarded.
func (c *consumer[W, In, Out]) failed(m *meter, pl place, err error) bool {
	if c.cancelled() {
		return false
	}
	m.failures.Add(1)
	if neverForgiven(err) {
		c.fatal(err)
		return false
	}
	if c.onFail != nil {
		c.onFail(err)
	}
	if c.out == nil || c.many {
		return c.settle(err)
	}
	if !c.out.queue.ordered && !c.settle(err) {
		return false
	}
	return c.out.skip(pl, err)
}

// passed judges a success, where a rate counts it and nobody else does.
func (c *consumer[W, In, Out]) passed() bool {
	if c.rated && (c.out == nil || !c.out.queue.ordered || c.many) {
		return c.settle(nil)
	}
	return true
}

func (c *consumer[W, In, Out]) settle(err error) bool {
	if verdict := c.p.verdict(c.judge, err); verdict != nil {
		c.fatal(verdict)
		return false
	}
	return true
}

// flushAll emits what is still inside after an epoch's last item.
func (c *consumer[W, In, Out]) flushAll(h *hand[In]) bool {
	for !c.cancelled() {
		h.m.begin()
		out, emit, err := c.flush(c.p.ctx)
		h.m.end()
		if err != nil {
			if !c.cancelled() {
				h.m.failures.Add(1)
				c.fatal(err)
			}
			return false
		}
		if !emit {
			return true
		}
		if !c.emit(place{epoch: h.epoch}, out) {
			return false
		}
	}
	return false
}
