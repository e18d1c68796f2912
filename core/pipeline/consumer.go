package pipeline

import (
	"context"
	"fmt"
	"sync"
)

// A hand is the item a worker is responsible for, with what it holds for it.
type hand[In any] struct {
	v         In
	number    uint64 // of v among what the stage took
	costBytes int64
	has       bool // v is ours
	charged   bool // the budget has granted costBytes
	admitted  bool // the limiter has let us in
}

// A charger takes items and their bytes in one go, so that bytes are granted in
// the order of the items.
type charger[In any] struct {
	turn   sync.Mutex // the worker whose turn it is
	budget *Bytes
	cost   func(In) int64
}

// take fills h; on false the caller lets go of whatever h has.
func (c *charger[In]) take(s *stage, m *meter, from *Queue[In], h *hand[In]) bool {
	c.turn.Lock()
	defer c.turn.Unlock()
	if h.v, h.number, h.has = from.take(); !h.has {
		return false
	}
	h.costBytes = c.cost(h.v)
	startNs := now()
	err := c.budget.Acquire(s.p.ctx, h.costBytes)
	m.limitWaitNs.Add(now() - startNs)
	if err != nil && !s.cancelled() {
		s.fatal(err)
	}
	h.charged = err == nil
	return h.charged
}

// A consumer is a stage that takes items from a port: every kind but a source.
type consumer[W, In, Out any] struct {
	*stage
	in      *Port[In]
	workers Workers[W]
	do      func(ctx context.Context, state W, v In) (out Out, emit bool, err error)
	flush   func(ctx context.Context) (out Out, emit bool, err error) // nil: nothing to flush
	emit    func(number uint64, out Out) (goOn bool)
	skip    func(number uint64, err error) (goOn bool) // an ordered output's hole; nil if not ordered
	judge   *Judge
	limiter *Limiter
	charge  *charger[In]
	onFail  func(error)
	rated   bool // successes count too
}

func newConsumer[W, In, Out any](s *stage, in *Port[In], budget Failures) *consumer[W, In, Out] {
	readFrom(s, in)
	if err := budget.check(); err != nil {
		s.p.note(s.errorf("%w", err))
	}
	c := &consumer[W, In, Out]{
		stage:  s,
		in:     in,
		judge:  &Judge{budget: budget},
		onFail: budget.OnFailure,
		rated:  budget.MaxRate > 0,
	}
	s.work = c.work
	return c
}

// work is the life of one worker.
func (c *consumer[W, In, Out]) work(i int) {
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
	h := &hand[In]{}
	defer c.letGo(h) // has an item only if a function of the caller panicked
	for c.step(&c.meters[i], h, state) {
	}
	if c.flush != nil {
		c.flushAll(&c.meters[i])
	}
}

// step takes one item through the op; false ends the worker.
func (c *consumer[W, In, Out]) step(m *meter, h *hand[In], state W) bool {
	if !c.take(m, h) {
		return false
	}
	m.begin()
	out, emit, err := c.do(c.p.ctx, state, h.v)
	m.end()
	if h.admitted {
		c.limiter.Release()
		h.admitted = false
	}
	number := h.number
	if err != nil {
		c.letGo(h)
		return c.failed(m, number, err)
	}
	*h = hand[In]{}
	m.items.Add(1)
	if emit && !c.emit(number, out) {
		return false
	}
	if c.rated && c.skip == nil {
		return c.settle(nil)
	}
	return true
}

// take gets the next item, its bytes and its admission.
func (c *consumer[W, In, Out]) take(m *meter, h *hand[In]) bool {
	if c.charge != nil {
		if !c.charge.take(c.stage, m, c.in.queue, h) {
			c.letGo(h)
			return false
		}
	} else if h.v, h.number, h.has = c.in.queue.take(); !h.has {
		return false
	}
	if c.limiter == nil {
		return true
	}
	startNs := now()
	err := c.limiter.Acquire(c.p.ctx)
	m.limitWaitNs.Add(now() - startNs)
	if err != nil {
		c.letGo(h)
		return false
	}
	h.admitted = true
	return true
}

// letGo gives back all that h holds.
func (c *consumer[W, In, Out]) letGo(h *hand[In]) {
	held := *h
	*h = hand[In]{}
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
func (c *consumer[W, In, Out]) failed(m *meter, number uint64, err error) bool {
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
	if c.skip != nil {
		return c.skip(number, err)
	}
	return c.settle(err)
}

func (c *consumer[W, In, Out]) settle(err error) bool {
	if err = c.judge.Settle(err); err != nil {
		c.fatal(err)
		return false
	}
	return true
}

// flushAll emits what is still inside after the last item.
func (c *consumer[W, In, Out]) flushAll(m *meter) {
	for !c.cancelled() {
		m.begin()
		out, emit, err := c.flush(c.p.ctx)
		m.end()
		if err != nil {
			if !c.cancelled() {
				m.failures.Add(1)
				c.fatal(err)
			}
			return
		}
		if !emit || !c.emit(0, out) {
			return
		}
	}
}
