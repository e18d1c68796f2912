package pipeline

import "context"

// SinkOptions describe a sink; all but Name may be left out.
type SinkOptions struct {
	Name string
	// Failures is what the sink forgives; by default nothing.
	Failures Failures
}

// Sink adds a last stage: one goroutine calls op with each item, in the order
// of its port. An item is delivered when op returns nil; with an error or a
// panic it is discarded. op may block, which holds the whole pipeline back, and
// should return soon after ctx ends.
func Sink[T any](in *Port[T], o SinkOptions, op func(ctx context.Context, v T) error) {
	s := newStage(in.stage.p, "sink", o.Name, 1)
	if op == nil {
		s.p.note(s.errorf("op is nil"))
	}
	c := newConsumer[struct{}, T, struct{}](s, in, o.Failures)
	c.do = func(ctx context.Context, _ struct{}, v T) (none struct{}, emit bool, err error) {
		return none, false, op(ctx, v)
	}
}
