package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	firstWait     = 50 * time.Millisecond
	longestWait   = 5 * time.Second
	attemptShare  = 3 // an attempt gets this part of the deadline
	hedgeShare    = 10
	hedgeAtLeast  = 20 * time.Millisecond
	hedgeUnknown  = 2 * time.Second // before enough reads have been seen
	paceSamples   = 128
	paceEnough    = 16
	paceQuantile  = 95
	hedgeMultiple = 2
)

// Stats count what a client has done.
type Stats struct {
	Requests uint64 `json:"requests"` // sent
	Retries  uint64 `json:"retries"`  // of them, because the one before failed
	Hedges   uint64 `json:"hedges"`   // of them, because the one before was slow
	HedgeWon uint64 `json:"hedge_won"`
	Failures uint64 `json:"failures"` // calls that failed for good
	Bytes    uint64 `json:"bytes"`    // received
}

type counters struct{ requests, retries, hedges, won, failures, bytes atomic.Uint64 }

// Stats reads the counters.
func (c *Client) Stats() Stats {
	n := &c.counters
	return Stats{n.requests.Load(), n.retries.Load(), n.hedges.Load(), n.won.Load(), n.failures.Load(), n.bytes.Load()}
}

// An attempt is one try of a call. cancel ends its context.
type attempt func(ctx context.Context, cancel context.CancelFunc) error

// call makes attempts until one does, one fails for good, or the deadline comes.
func (c *Client) call(ctx context.Context, name string, try attempt) error {
	deadline := time.Now().Add(c.o.Timeout)
	var last *Error
	for n := 0; ; n++ {
		err := c.attempt(ctx, deadline, try)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.As(err, &last) {
			last = &Error{Cause: IO, Err: err, again: true}
		}
		if errors.Is(last.Err, context.DeadlineExceeded) {
			last.Cause, last.Detail, last.Err = Deadline, c.late(last.Detail), nil
		}
		last.URL, last.Attempts = name, n+1
		if time.Now().Before(deadline) && (!last.again || n == c.o.Retries) {
			c.counters.failures.Add(1)
			return last
		}
		if !sleep(ctx, deadline, backOff(n, last.retryAfter)) {
			c.counters.failures.Add(1)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			last.Cause, last.Detail = Deadline, c.tooLate(last, time.Until(deadline))
			return last
		}
		c.counters.retries.Add(1)
	}
}

// late says that an attempt took too long; came is what had come of an answer by then, "" of none.
func (c *Client) late(came string) string {
	within := (c.o.Timeout / attemptShare).Round(time.Millisecond).String()
	if came == "" {
		return "no answer within " + within
	}
	return "no whole answer within " + within + ": " + came + "; raise source.remote.timeout, of which an attempt has a third"
}

// tooLate says why there is no further attempt before the deadline.
func (c *Client) tooLate(last *Error, left time.Duration) string {
	if last.retryAfter > 0 && last.retryAfter >= left {
		return fmt.Sprintf("%s, and asks to wait %v (Retry-After), beyond the deadline of %v; come later, or raise source.remote.timeout",
			last.Detail, last.retryAfter.Round(time.Second), c.o.Timeout)
	}
	text := "no good answer within " + c.o.Timeout.String() + "; last"
	if last.Detail == "" { // what it wraps says it
		return text
	}
	return text + ": " + last.Detail
}

func (c *Client) attempt(ctx context.Context, deadline time.Time, try attempt) error {
	if own := time.Now().Add(c.o.Timeout / attemptShare); own.Before(deadline) {
		deadline = own
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	return try(ctx, cancel)
}

// backOff grows twofold from attempt to attempt; the half of it is chance, so that clients who failed together do not come
// back together.
func backOff(n int, asked time.Duration) time.Duration {
	wait := min(firstWait<<min(n, 16), longestWait)
	wait = wait/2 + time.Duration(rand.Int64N(int64(wait/2)+1))
	return max(wait, asked)
}

// sleep waits, or reports false at once where the deadline would come before.
func sleep(ctx context.Context, deadline time.Time, d time.Duration) bool {
	if ctx.Err() != nil || time.Until(deadline) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// pace remembers how long the latest reads took.
type pace struct {
	mu    sync.Mutex
	took  [paceSamples]time.Duration
	n     int
	delay time.Duration // from the reads so far
}

func (p *pace) note(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.took[p.n%paceSamples] = d
	if p.n++; p.n%paceEnough != 0 {
		return
	}
	sorted := slices.Clone(p.took[:min(p.n, paceSamples)])
	slices.Sort(sorted)
	p.delay = max(hedgeAtLeast, hedgeMultiple*sorted[len(sorted)*paceQuantile/100])
}

// hedgeDelay is how long a read may take before it is asked for again.
func (c *Client) hedgeDelay() time.Duration {
	if c.o.HedgeAfter != 0 {
		return c.o.HedgeAfter
	}
	c.pace.mu.Lock()
	defer c.pace.mu.Unlock()
	if c.pace.delay == 0 {
		return hedgeUnknown
	}
	return c.pace.delay
}

// mayHedge keeps a store that is slow as a whole from being asked for everything twice.
func (c *Client) mayHedge() bool {
	return c.counters.hedges.Load() <= c.counters.requests.Load()/hedgeShare
}

var errNoHedge = errors.New("there are hedges enough")

// hedged makes a read, and a second one beside it where it is slow. The first is made here and not in a goroutine of its own: nearly
// always it is the only one. It returns when the first writes no more; won says that the second has the answer, in memory of its own.
func (c *Client) hedged(ctx context.Context, cancel context.CancelFunc, first, second func(context.Context) error) (won bool, err error) {
	began, delay := time.Now(), c.hedgeDelay()
	if delay < 0 {
		return false, first(ctx)
	}
	done := make(chan error, 1)
	c.hedges.Add(1)
	timer := time.AfterFunc(delay, func() {
		defer c.hedges.Done()
		done <- c.second(ctx, cancel, second)
	})
	err = first(ctx)
	if timer.Stop() {
		c.hedges.Done()
	} else if err != nil && <-done == nil {
		c.counters.won.Add(1)
		won, err = true, nil
	}
	c.pace.note(time.Since(began))
	return won, err
}

// second asks again, and ends the first read where it has the answer before.
func (c *Client) second(ctx context.Context, cancel context.CancelFunc, read func(context.Context) error) error {
	if !c.mayHedge() {
		return errNoHedge
	}
	c.counters.hedges.Add(1)
	err := read(ctx)
	if err == nil {
		cancel()
	}
	return err
}
