package pipeline

import (
	"context"
	"fmt"
)

// VariantsOptions describe paths that items are routed to; all but Name may be
// left out.
type VariantsOptions[U any] struct {
	Name string
	// Output is the order behind the paths. In Input order each path may hold
	// only stages that make one result of an item, in any order of theirs; a
	// failed item leaves no gap.
	Output Order
	// Window is how many items may be between the router and their place in
	// Input order; 0 means 64. It is also the Buffer of the output there.
	Window int
	// Buffer is the number of items that may wait for each path, and of results
	// that may wait behind; 0 means 2.
	Buffer int
	// Failures is what is forgiven of the router, and of what paths return
	// where that must fit; by default nothing.
	Failures Failures
	// Discard takes back a result that is not delivered.
	Discard func(U)
}

// Variants adds a router that sends each item down one of several paths, and
// brings the paths' results together again. A path is built by its function,
// from stages that read the port it is given. One goroutine calls route, which
// returns the number of the path, counted from 0; it should be quick. A number
// without a path ends the run.
//
// The end of an epoch takes every path and comes out once.
func Variants[T, U any](in *Port[T], o VariantsOptions[U], route func(ctx context.Context, v T) (int, error),
	paths ...func(*Port[T]) *Port[U]) *Port[U] {
	r := newRouter[T, T](in, &o, route == nil, paths)
	var path int
	r.route = func(ctx context.Context, v T) (err error) {
		if path, err = route(ctx, v); err == nil {
			err = r.checkPath(path)
		}
		return err
	}
	r.send = func(pl place, v T) bool { return r.heads[path].give(pl, v, false) }
	r.spread = func(v T) { r.heads[path].kept = append(r.heads[path].kept, v) }
	return r.join(&o, r.moveOne)
}

// A router is the head of variants: items T go down the paths as P, and come
// out of them as U.
type router[T, P, U any] struct {
	*consumer[struct{}, T, struct{}]
	route   func(ctx context.Context, v T) error // remembers the answer for send
	send    func(pl place, v T) bool
	spread  func(v T) // send, in a profile
	heads   []*Port[P]
	ends    []*Port[U]
	ordered bool
	window  int

	out   *Port[U] // of an ordered join
	tags  uint64   // given to items, in their order
	outer []uint64 // the tags that items came with, by our own
}

// newRouter makes the router and the paths.
func newRouter[T, P, U any](in *Port[T], o *VariantsOptions[U], noRoute bool, paths []func(*Port[P]) *Port[U]) *router[T, P, U] {
	p := in.stage.p
	s := newStage(p, "router", o.Name, 1)
	r := &router[T, P, U]{
		consumer: newConsumer[struct{}, T, struct{}](s, in, o.Failures),
		ordered:  o.Output == Input, window: orDefault(max(o.Window, 0), 64),
	}
	s.work = r.run
	s.alone = r.spreadAll
	switch {
	case noRoute:
		p.note(s.errorf("route is nil"))
	case len(paths) == 0:
		p.note(s.errorf("no paths; give it one or more"))
	case o.Window < 0:
		p.note(s.errorf("window %d, want 0 (the default, 64) or more", o.Window))
	case o.Output != Completion && o.Output != Input:
		p.note(s.errorf("output order %d, want Completion or Input", o.Output))
	}
	discard, _ := any(in.discard).(func(P))
	for i, path := range paths {
		h := newStage(p, "path", fmt.Sprintf("%s/%d", o.Name, i), 1)
		h.alone = alonePassing[U](nil) // filled by the router
		h.sources, h.traced = s.sources, s.traced || r.ordered
		r.heads = append(r.heads, newPort(h, orDefault(o.Buffer, 2), discard))
		end := path(r.heads[i])
		if r.ordered && !end.queue.traced {
			p.note(h.errorf("the path does not end in a stage behind the port it was given"))
		}
		r.ends = append(r.ends, end)
	}
	return r
}

func (r *router[T, P, U]) checkPath(path int) error {
	if path < 0 || path >= len(r.heads) {
		return Fatal(fmt.Errorf("route chose path %d, want 0 to %d", path, len(r.heads)-1))
	}
	return nil
}

// join brings the ends of the paths together.
func (r *router[T, P, U]) join(o *VariantsOptions[U], move func(int)) *Port[U] {
	name := o.Name + "/join"
	if !r.ordered {
		return merge(r.p, MergeOptions[U]{Name: name, Buffer: o.Buffer, Discard: o.Discard}, r.ends)
	}
	s := newStage(r.p, "join", name, len(r.ends))
	for _, end := range r.ends {
		readFrom(s, end)
	}
	s.traced = r.traced // the paths' tags end here
	r.out = newPort(s, r.window, o.Discard)
	r.out.queue.ordered = true
	r.out.window = r.window
	s.work = move
	s.alone = alonePassing(r.out, r.ends...)
	return r.out
}

// run is the life of the router's one worker.
func (r *router[T, P, U]) run(int) {
	defer func() {
		for _, head := range r.heads {
			head.close()
		}
	}()
	if r.ordered {
		r.outer = make([]uint64, r.out.queue.capacity) // a sink right behind the join has changed it
	}
	h := &hand[T]{m: &r.meters[0]}
	defer r.letGo(h) // has an item only if route panicked
	for r.routeNext(h) {
	}
}

func (r *router[T, P, U]) routeNext(h *hand[T]) bool {
	it, ok := r.in.queue.take()
	switch {
	case !ok:
		return false
	case it.kind == mark:
		return r.markAll(it.place)
	case it.kind == tomb:
		return r.nothing(it.place)
	}
	h.hold(it)
	h.m.begin()
	err := r.route(r.p.ctx, h.v)
	h.m.end()
	if err != nil {
		r.letGo(h)
		return r.failed(h.m, it.place, err) && r.nothing(it.place)
	}
	h.empty()
	h.m.count()
	if !r.enter(&it.place) {
		r.in.drop(it.v)
		return false
	}
	return r.send(it.place, it.v) && r.passed()
}

// spreadAll routes, in a profile, what the stage before has kept.
func (r *router[T, P, U]) spreadAll(ctx context.Context, _ *ProfileOptions) ([]ProfilePoint, int, error) {
	for _, v := range r.in.kept {
		if err := r.route(ctx, v); err != nil {
			return nil, 0, err
		}
		r.spread(v)
	}
	r.in.kept = nil
	return nil, 0, nil
}

// enter gives an item its place in an ordered join, once the window has room.
func (r *router[T, P, U]) enter(pl *place) bool {
	if !r.ordered {
		return true
	}
	tag := r.tags
	if !r.out.queue.awaitTurn(tag) {
		return false
	}
	r.tags++
	r.outer[tag%uint64(len(r.outer))] = pl.tag
	pl.tag = tag
	return true
}

// outside is the place of our tag in the join, and for the variants around it.
func (r *router[T, P, U]) outside(tag uint64) place {
	return place{number: tag, tag: r.outer[tag%uint64(len(r.outer))]}
}

// nothing says that no result comes of an item.
func (r *router[T, P, U]) nothing(pl place) bool {
	switch {
	case r.ordered:
		return r.enter(&pl) && r.out.skip(r.outside(pl.tag), nil)
	case r.traced:
		return r.heads[0].queue.putInEpoch(pl, cell[P]{kind: tomb}, false)
	}
	return true
}

// markAll ends the epoch on every path, and in the join.
func (r *router[T, P, U]) markAll(pl place) bool {
	for _, head := range r.heads {
		head.mark(pl, 0)
	}
	return !r.ordered || r.enter(&pl) && r.out.mark(r.outside(pl.tag), 0)
}

// moveOne puts the results of path i in their place.
func (r *router[T, P, U]) moveOne(i int) {
	for goOn := true; goOn; {
		it, ok := r.ends[i].queue.take()
		switch {
		case !ok:
			return
		case it.kind == full:
			goOn = r.out.give(r.outside(it.tag), it.v, true)
		case it.kind == tomb:
			goOn = r.out.skip(r.outside(it.tag), nil)
		}
	}
}
