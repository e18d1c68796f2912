package pipeline

import "context"

// SinkOptions describe a sink; all but Name may be left out.
type SinkOptions struct {
	Name string
	// Failures is what the sink forgives; by default nothing.
	Failures Failures
	// EndEpoch, if set, is called by op's goroutine after the last item of each
	// epoch, whose number counts from 0. An error ends the run.
	EndEpoch func(ctx context.Context, epoch uint64) error
}

// Sink adds a last stage: one goroutine calls op with each item, in the order
// of its port. An item is delivered when op returns nil; with an error or a
// panic it is discarded. op may block, which holds the whole pipeline back, and
// should return soon after ctx ends.
func Sink[T any](in *Port[T], o SinkOptions, op func(ctx context.Context, v T) error) {
	p := in.stage.p
	s := newStage(p, "sink", o.Name, 1)
	if op == nil {
		s.p.note(s.errorf("op is nil"))
	}
	c := newConsumer[struct{}, T, struct{}](s, in, o.Failures)
	s.refuseTraced()
	c.do = func(ctx context.Context, _ struct{}, h *hand[T]) (none struct{}, emit bool, err error) {
		return none, false, op(ctx, h.v)
	}
	s.alone = aloneSink(in, func(in *Port[T]) { Sink(in, o, op) })
	c.mark = func(pl place, _ uint64) bool {
		if o.EndEpoch == nil {
			return true
		}
		err := o.EndEpoch(p.ctx, pl.epoch)
		if err != nil && !s.cancelled() {
			s.fatal(err)
		}
		return err == nil
	}
}
