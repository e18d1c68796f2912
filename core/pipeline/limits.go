package pipeline

import (
	"context"
	"fmt"
	"sync"
)

// Bytes is a budget that everybody who holds memory shares. Several stages and
// several pipelines may use one. Grants are first come, first served; a
// request larger than the whole budget is granted alone, once nothing else is
// held.
type Bytes struct{ s semaphore }

// NewBytes returns a budget of limit bytes; a limit below 1 is taken as 1.
func NewBytes(limit int64) *Bytes {
	return &Bytes{s: semaphore{limit: max(limit, 1)}}
}

// Acquire takes n bytes, waiting until they are free or ctx ends. On an error
// (ctx's cause, or n below 0) nothing is taken.
func (b *Bytes) Acquire(ctx context.Context, n int64) error {
	if n < 0 {
		return fmt.Errorf("pipeline: byte budget: acquire %d bytes, want 0 or more", n)
	}
	return b.s.acquire(ctx, n)
}

// Release gives n bytes back, in any portions. It panics if more comes back
// than was taken, which is a bug of the caller.
func (b *Bytes) Release(n int64) { b.s.release(n) }

// Stats returns the budget's counters now; all amounts are bytes.
func (b *Bytes) Stats() LimitStats { return b.s.stats() }

// A Limiter bounds how many ops run at once over all stages that share it, in
// one pipeline or in several: a pool of CPUs. Grants are first come, first
// served.
type Limiter struct{ s semaphore }

// NewLimiter admits n ops at once; n below 1 is taken as 1.
func NewLimiter(n int) *Limiter {
	return &Limiter{s: semaphore{limit: int64(max(n, 1))}}
}

// Acquire waits for admission or until ctx ends, whose cause it returns.
func (l *Limiter) Acquire(ctx context.Context) error { return l.s.acquire(ctx, 1) }

// Release ends one admission. It panics if there is none.
func (l *Limiter) Release() { l.s.release(1) }

// Stats returns the limiter's counters now; amounts are admissions.
func (l *Limiter) Stats() LimitStats { return l.s.stats() }

// LimitStats is a Bytes or a Limiter at one moment.
type LimitStats struct {
	Limit   int64 `json:"limit"`
	Used    int64 `json:"used"`
	Peak    int64 `json:"peak"`
	Waiting int   `json:"waiting"`
	// Wait counts every grant; one that did not wait counts as zero.
	Wait Times `json:"wait"`
}

// A semaphore counts units up to a limit and serves in order of arrival. It
// allocates only when more wait at once than ever before.
type semaphore struct {
	limit int64

	mu      sync.Mutex // guards everything below
	used    int64
	peak    int64
	first   *waiter
	last    *waiter
	waiting int
	free    *waiter // for reuse, linked by next
	wait    histogram
}

type waiter struct {
	n          int64
	granted    bool
	ready      chan struct{} // holds one token between grant and wake-up
	prev, next *waiter
}

func (s *semaphore) acquire(ctx context.Context, n int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	if s.first == nil && s.fits(n) {
		s.take(n)
		s.wait.record(0)
		s.mu.Unlock()
		return nil
	}
	startNs := stamp()
	w := s.enqueue(n)
	s.mu.Unlock()

	var err error
	select {
	case <-w.ready:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.wait.record(stamp() - startNs)
	} else {
		s.withdraw(w)
	}
	w.next, s.free = s.free, w
	return err
}

func (s *semaphore) release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 || n > s.used {
		panic(fmt.Sprintf("pipeline: release of %d, held %d", n, s.used))
	}
	s.used -= n
	s.grant()
}

func (s *semaphore) stats() LimitStats {
	s.mu.Lock()
	out := LimitStats{Limit: s.limit, Used: s.used, Peak: s.peak, Waiting: s.waiting}
	s.mu.Unlock()
	var t tally
	t.add(&s.wait)
	out.Wait = t.times()
	return out
}

// All that follows runs with mu held.

func (s *semaphore) fits(n int64) bool { return s.used == 0 || n <= s.limit-s.used }

func (s *semaphore) take(n int64) {
	s.used += n
	s.peak = max(s.peak, s.used)
}

func (s *semaphore) enqueue(n int64) *waiter {
	w := s.free
	if w == nil {
		w = &waiter{ready: make(chan struct{}, 1)}
	} else {
		s.free = w.next
	}
	w.n, w.granted, w.prev, w.next = n, false, s.last, nil
	if s.last == nil {
		s.first = w
	} else {
		s.last.next = w
	}
	s.last = w
	s.waiting++
	return w
}

func (s *semaphore) unlink(w *waiter) {
	if w.prev == nil {
		s.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		s.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	s.waiting--
}

// grant serves the waiters at the front for whom there is room now.
func (s *semaphore) grant() {
	for s.first != nil && s.fits(s.first.n) {
		w := s.first
		s.unlink(w)
		s.take(w.n)
		w.granted = true
		w.ready <- struct{}{}
	}
}

// withdraw takes back a request whose context ended, granted or not.
func (s *semaphore) withdraw(w *waiter) {
	if w.granted {
		<-w.ready
		s.used -= w.n
	} else {
		s.unlink(w)
	}
	s.grant()
}
