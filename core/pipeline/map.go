package pipeline

import (
	"context"
	"time"
)

// Order is how the results of a stage with several workers follow each other.
type Order int

const (
	// Completion passes results on as they are ready.
	Completion Order = iota
	// Input passes results on in the order in which the stage took its items.
	// A failed item leaves no gap. Failures are judged in that order too, so
	// that the failure which ends a run does not depend on timing, and nothing
	// behind it is passed on.
	Input
)

// Options describe a one-to-one or one-to-many stage; all but Name may be left
// out.
type Options[In, Out any] struct {
	Name string
	// Concurrency is the number of workers; 0 means 1.
	Concurrency int
	// Auto, if Max is set, has the stage find its concurrency itself.
	Auto Auto
	// Output is the order of results.
	Output Order
	// Buffer is the number of results that may wait for the next stage; 0
	// means Concurrency, at least 2. In Input order up to Concurrency results
	// more may wait for an earlier one.
	Buffer int
	// Budget is charged Cost(v) bytes, in input order, before the op sees v.
	// The charge belongs to the result: whoever ends the life of its bytes (a
	// later op, or Discard) calls Budget.Release. If the op fails, the pipeline
	// releases it. An op that learns the size itself can Acquire instead, but
	// not in Input order: a later item could hold the bytes that an earlier one
	// waits for, while its result waits for the earlier one's.
	Budget *Bytes
	// Cost is the number of bytes an item takes, 0 or more; needed with Budget.
	Cost func(In) int64
	// Limiter, if set, bounds the running ops of all stages that share it.
	Limiter *Limiter
	// Failures is what the stage forgives; by default nothing.
	Failures Failures
	// Retry says how often a failing op is tried again; by default never.
	Retry Retry
	// Deadline, if above 0, is the time of one item for all its tries
	// together: its context ends then. An error after that is a
	// *DeadlineError; a result still counts.
	Deadline time.Duration
	// Discard takes back a result that is not delivered; see Pipeline.Stop.
	Discard func(Out)
}

// Workers make and end the state that each worker of a stage keeps for itself,
// such as a decoder. Both functions run in the worker's goroutine.
type Workers[W any] struct {
	// Open is called before the worker's first item, with its number from 0 to
	// Concurrency-1. An error ends the run. Nil leaves the zero W.
	Open func(worker int) (W, error)
	// Close is called once for every W that Open returned, after the worker's
	// last item. It may be nil.
	Close func(W)
}

// Map adds a stage that turns each item into one result.
//
// An op owns its item from the call on. With a nil error ownership has passed
// to the result. With an error, or a panic, the item is handed to the Discard
// of the stage it came from, and the op must not have kept it. Ops of one
// stage run on Concurrency goroutines at once and should return soon after
// ctx ends: the run does not end before they do.
func Map[In, Out any](in *Port[In], o Options[In, Out],
	op func(ctx context.Context, v In) (Out, error)) *Port[Out] {
	var withState func(context.Context, struct{}, In) (Out, error)
	if op != nil {
		withState = func(ctx context.Context, _ struct{}, v In) (Out, error) { return op(ctx, v) }
	}
	return MapWorkers(in, o, Workers[struct{}]{}, withState)
}

// MapWorkers is Map with a state per worker, which no two ops use at once.
func MapWorkers[W, In, Out any](in *Port[In], o Options[In, Out], w Workers[W],
	op func(ctx context.Context, state W, v In) (Out, error)) *Port[Out] {
	s := newCrewStage(in.stage.p, "map", o.Name, o.Concurrency, o.Auto)
	if op == nil {
		s.p.note(s.errorf("op is nil"))
	}
	c := newConsumer[W, In, Out](s, in, o.Failures)
	c.workers = w
	c.do = func(ctx context.Context, state W, h *hand[In]) (Out, bool, error) {
		out, err := op(ctx, state, h.v)
		return out, true, err
	}
	out := configure(c, &o)
	if o.Budget == nil {
		s.alone = aloneStage(in, out, false, func(in *Port[In], n int) *Port[Out] {
			return MapWorkers(in, o.alone(n), w, op)
		})
	}
	return out
}

// alone is o for a stage that is measured alone.
func (o Options[In, Out]) alone(concurrency int) Options[In, Out] {
	o.Concurrency, o.Auto = concurrency, Auto{}
	return o
}

// configure makes c what o says, and its output.
func configure[W, In, Out any](c *consumer[W, In, Out], o *Options[In, Out]) *Port[Out] {
	s := c.stage
	c.limiter, c.retry, c.deadline = o.Limiter, o.Retry, o.Deadline
	s.p.note(s.named(o.Retry.check()))
	if o.Deadline < 0 {
		s.p.note(s.errorf("deadline %v, want 0 (none) or more", o.Deadline))
	}
	if (o.Budget == nil) != (o.Cost == nil) {
		s.p.note(s.errorf("budget and cost come together; set both or neither"))
	} else if o.Budget != nil {
		c.charge = &charger[In]{budget: o.Budget, cost: o.Cost}
	}
	return c.into(newOutput(s, o.Output, max(o.Concurrency, o.Auto.Max), o.Buffer, o.Discard))
}

// newOutput makes the output of a stage of several workers.
func newOutput[Out any](s *stage, order Order, concurrency, buffer int, discard func(Out)) *Port[Out] {
	concurrency = max(concurrency, 1)
	out := newPort(s, orDefault(buffer, max(concurrency, 2)), discard)
	switch order {
	case Completion:
	case Input:
		out.queue.resize(int(out.queue.capacity) + concurrency)
		out.queue.ordered = true
	default:
		s.p.note(s.errorf("output order %d, want Completion or Input", order))
	}
	return out
}
