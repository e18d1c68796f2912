package sampler

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrNotPlanned is returned by Complete for a step that the cursor has not handed out.
var ErrNotPlanned = errors.New("step was not handed out")

// ErrCompleted is returned by Complete for a step that is completed already.
var ErrCompleted = errors.New("step is completed already")

// Cursor walks the steps of a training run in order, leaving out those that are completed, and keeps the account of
// completion. Steps are counted inside from the start of training: epoch*StepsPerEpoch + step.
type Cursor struct {
	order *Order

	mu   sync.Mutex
	next int64   // the next step to look at for Next
	low  int64   // every step below is completed
	done []int64 // completed steps above low, ascending; as long as the ring is deep
}

// NewCursor starts at the beginning, or where a state ended; nil is the beginning. It refuses a state of another order.
func NewCursor(o *Order, s *State) (*Cursor, error) {
	c := &Cursor{order: o}
	if s == nil {
		return c, nil
	}
	if err := o.Check(*s); err != nil {
		return nil, err
	}
	if s.Epoch > maxStep/o.steps {
		return nil, fmt.Errorf("sampler: state: epoch: got %d, want at most %d", s.Epoch, maxStep/o.steps)
	}
	start := s.Epoch * o.steps
	c.low = start + s.Step
	for _, d := range s.Done {
		c.done = append(c.done, start+d)
	}
	c.next = c.low
	return c, nil
}

// Next returns the next step that is not completed and moves on; ok is false after the last epoch's last step.
func (c *Cursor) Next() (epoch, step int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if end := c.order.c.Epochs; end > 0 && c.next/c.order.steps >= end {
			return 0, 0, false
		}
		at := c.next
		c.next++
		if _, completed := slices.BinarySearch(c.done, at); at < c.low || completed {
			continue
		}
		return at / c.order.steps, at % c.order.steps, true
	}
}

// Complete records that a step handed out by Next is completed on every rank. It is an error to complete one twice
// or one that was never handed out, and changes nothing.
func (c *Cursor) Complete(epoch, step int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch < 0 || step < 0 || step >= c.order.steps || epoch > c.next/c.order.steps || epoch*c.order.steps+step >= c.next {
		return fmt.Errorf("sampler: complete epoch %d step %d: %w", epoch, step, ErrNotPlanned)
	}
	at := epoch*c.order.steps + step
	place, completed := slices.BinarySearch(c.done, at)
	if at < c.low || completed {
		return fmt.Errorf("sampler: complete epoch %d step %d: %w", epoch, step, ErrCompleted)
	}
	if at > c.low {
		c.done = slices.Insert(c.done, place, at)
		return nil
	}
	c.raise(at + 1)
	return nil
}

// Skip counts every step before the start of epoch as completed, so that Next goes on there at the earliest; it never
// goes back.
func (c *Cursor) Skip(epoch int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := epoch * c.order.steps; at > c.low {
		c.next = max(c.next, at)
		c.raise(at)
	}
}

// raise moves the low-water mark to low and over the completed steps that follow it. The caller holds mu.
func (c *Cursor) raise(low int64) {
	n := 0
	for n < len(c.done) && c.done[n] <= low {
		low = max(low, c.done[n]+1)
		n++
	}
	c.low = low
	c.done = append(c.done[:0], c.done[n:]...)
}

// State writes down what is completed. A cursor made from it hands out exactly the rest.
func (c *Cursor) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.State(c.low, c.done)
}
