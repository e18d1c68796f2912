package pipeline

import (
	"context"
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

// Options describe a one-to-one stage; all but Name may be left out.
type Options[In, Out any] struct {
	Name string
	// Concurrency is the number of workers; 0 means 1.
	Concurrency int
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
	s := newStage(in.stage.p, "map", o.Name, o.Concurrency)
	if op == nil {
		s.p.note(s.errorf("op is nil"))
	}
	c := newConsumer[W, In, Out](s, in, o.Failures)
	c.workers, c.limiter = w, o.Limiter
	c.do = func(ctx context.Context, state W, v In) (Out, bool, error) {
		out, err := op(ctx, state, v)
		return out, true, err
	}
	if (o.Budget == nil) != (o.Cost == nil) {
		s.p.note(s.errorf("budget and cost come together; set both or neither"))
	} else if o.Budget != nil {
		c.charge = &charger[In]{budget: o.Budget, cost: o.Cost}
	}

	buffer := orDefault(o.Buffer, max(o.Concurrency, 2))
	switch o.Output {
	case Completion:
		out := newPort(s, buffer, o.Discard)
		c.emit = func(_ uint64, v Out) bool { return out.put(v) }
		return out
	case Input:
		out := newPort(s, buffer, o.Discard)
		out.queue = NewQueue[Out](buffer + max(o.Concurrency, 1))
		out.queue.ordered, out.queue.settle = true, c.settle
		c.emit = out.putNumbered
		c.skip = func(n uint64, err error) bool {
			return out.queue.putNumbered(n, cell[Out]{err: err, kind: hole})
		}
		return out
	}
	s.p.note(s.errorf("output order %d, want Completion or Input", o.Output))
	return newPort(s, buffer, o.Discard)
}
