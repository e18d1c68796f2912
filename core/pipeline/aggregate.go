package pipeline

import "context"

// An Aggregator turns many items into fewer results. One goroutine calls all
// of its methods.
type Aggregator[In, Out any] interface {
	// Add takes one item. If that completes a result, Add returns it and true.
	// With an error the item is still the pipeline's and is discarded; without
	// one it belongs to the aggregator or the result.
	Add(ctx context.Context, v In) (out Out, complete bool, err error)
	// Flush is called after the last item of each epoch and of the run, again
	// and again until it returns false: each call may return one more result.
	// It is not called when the run is cancelled. An error ends the run.
	Flush(ctx context.Context) (out Out, more bool, err error)
	// Close is called last, once, on every run that started: it must hand back
	// whatever the aggregator still holds.
	Close()
}

// AggregateOptions describe a many-to-one stage; all but Name may be left out.
type AggregateOptions[Out any] struct {
	Name string
	// Buffer is the number of results that may wait for the next stage; 0 means 2.
	Buffer int
	// Failures is what the stage forgives of Add; by default nothing.
	Failures Failures
	// Discard takes back a result that is not delivered; see Pipeline.Stop.
	Discard func(Out)
}

// Aggregate adds a stage that turns many items into one result.
func Aggregate[In, Out any](in *Port[In], o AggregateOptions[Out], a Aggregator[In, Out]) *Port[Out] {
	s := newStage(in.stage.p, "aggregate", o.Name, 1)
	if a == nil {
		s.p.note(s.errorf("aggregator is nil"))
	}
	c := newConsumer[struct{}, In, Out](s, in, o.Failures)
	c.workers.Close = func(struct{}) { a.Close() }
	c.do = func(ctx context.Context, _ struct{}, h *hand[In]) (Out, bool, error) { return a.Add(ctx, h.v) }
	c.flush = func(ctx context.Context) (Out, bool, error) { return a.Flush(ctx) }
	s.refuseTraced()
	c.many = true
	out := c.into(newPort(s, orDefault(o.Buffer, 2), o.Discard))
	s.alone = aloneStage(in, out, true, func(in *Port[In], _ int) *Port[Out] { return Aggregate(in, o, a) })
	return out
}
