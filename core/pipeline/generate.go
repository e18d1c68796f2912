package pipeline

import "context"

// Generate adds a stage that makes any number of results of each item: op calls
// yield with each and returns when it has no more. yield waits while the queue
// behind is full; when it returns false the run is over and op should return.
//
// A result belongs to the pipeline from yield on. When op fails, the results it
// has yielded stay, the item counts as one failure, and it is not tried again
// once a result of it is out. In Input order the results of one item stay
// together, in the place of their item.
func Generate[In, Out any](in *Port[In], o Options[In, Out],
	op func(ctx context.Context, v In, yield func(Out) bool) error) *Port[Out] {
	var withState func(context.Context, struct{}, In, func(Out) bool) error
	if op != nil {
		withState = func(ctx context.Context, _ struct{}, v In, yield func(Out) bool) error {
			return op(ctx, v, yield)
		}
	}
	return GenerateWorkers(in, o, Workers[struct{}]{}, withState)
}

// GenerateWorkers is Generate with a state per worker.
func GenerateWorkers[W, In, Out any](in *Port[In], o Options[In, Out], w Workers[W],
	op func(ctx context.Context, state W, v In, yield func(Out) bool) error) *Port[Out] {
	s := newCrewStage(in.stage.p, "generate", o.Name, o.Concurrency, o.Auto)
	if op == nil {
		s.p.note(s.errorf("op is nil"))
	}
	out := newGenerator(s, in, &o, w, op)
	if o.Budget == nil {
		s.alone = aloneStage(in, out, false, func(in *Port[In], n int) *Port[Out] {
			return GenerateWorkers(in, o.alone(n), w, op)
		})
	}
	return out
}

// Disaggregate adds a stage that makes single items of lists. The items of a
// list stay together and in order.
func Disaggregate[T any](in *Port[[]T], o Options[[]T, T]) *Port[T] {
	return Generate(in, o, func(_ context.Context, list []T, yield func(T) bool) error {
		for _, v := range list {
			yield(v) // which discards what comes after the end of the run
		}
		return nil
	})
}

// A generating worker passes on the results of its present item.
type generating[W, In, Out any] struct {
	state W
	out   *Port[Out]
	h     *hand[In]
	over  bool
	yield func(Out) bool
}

// pass does not count the wait for room as the op's time.
func (g *generating[W, In, Out]) pass(v Out) bool {
	if g.over {
		g.out.drop(v)
		return false
	}
	startNs := stamp()
	g.h.spent = true
	g.over = !g.out.give(g.h.place, v, false)
	g.h.m.sinceNs.Add(stamp() - startNs)
	return !g.over
}

// newGenerator makes a consumer whose workers each have their own yield.
func newGenerator[W, In, Out any](s *stage, in *Port[In], o *Options[In, Out], w Workers[W],
	op func(ctx context.Context, state W, v In, yield func(Out) bool) error) *Port[Out] {
	c := newConsumer[*generating[W, In, Out], In, Out](s, in, o.Failures)
	s.refuseTraced()
	c.workers.Open = func(i int) (*generating[W, In, Out], error) {
		g := &generating[W, In, Out]{out: c.out}
		g.yield = g.pass
		if w.Open == nil {
			return g, nil
		}
		var err error
		g.state, err = w.Open(i)
		return g, err
	}
	if w.Close != nil {
		c.workers.Close = func(g *generating[W, In, Out]) { w.Close(g.state) }
	}
	c.do = func(ctx context.Context, g *generating[W, In, Out], h *hand[In]) (none Out, emit bool, err error) {
		g.h = h
		return none, false, op(ctx, g.state, h.v, g.yield)
	}
	return configure(c, o)
}
