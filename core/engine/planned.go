package engine

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// openBare opens a description's source alone: a ring without memory, order, decoder or cache, that says nothing. Samples that a
// program would bring are not there. With whole, samples' bytes are for who does not decode them: nothing stays in place. The caller ends
// it with closeSource, also after an error.
func openBare(ctx context.Context, s *spec.Spec, whole bool) (*ring, error) {
	one := *s
	one.Cache = spec.Cache{} // the source itself, not what is kept of it
	r := &ring{engine: &Engine{feed: source.NewFeed(), openCtx: ctx}, name: s.FullName(), whole: whole}
	return r, r.openSource(ctx, &one)
}

// closeSource closes what openSource has opened; a cache is the engine's.
func (r *ring) closeSource() (err error) {
	if r.source != nil {
		err = r.source.Close()
	}
	if r.store != nil {
		r.store.Close()
	}
	return err
}

// Plan is the order of a description's first ring, without anything to decode it: what should be delivered.
type Plan struct {
	spec   *spec.Spec
	bare   *ring
	orders map[int]*sampler.Order // by world size
}

// OpenPlan opens the source of the first ring. In s, world: auto is replaced by what the environment says, as New does. Close it.
func OpenPlan(ctx context.Context, s *spec.Spec) (*Plan, error) {
	if err := s.ResolveWorld(os.Getenv); err != nil {
		return nil, err
	}
	one := s.All()[0]
	if one.Order.Asked {
		return nil, fmt.Errorf("engine: ring %q: order.asked: which samples come is a program's word, and there is none here", one.FullName())
	}
	bare, err := openBare(ctx, one, true)
	p := &Plan{spec: one, bare: bare, orders: map[int]*sampler.Order{}}
	if err == nil {
		_, err = p.Order(one.World.Size)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Order is the order at a world size; the global batch is the description's at any.
func (p *Plan) Order(world int) (*sampler.Order, error) {
	if o := p.orders[world]; o != nil {
		return o, nil
	}
	global := p.spec.Batch * p.spec.World.Size
	if world < 1 || global%world != 0 {
		return nil, fmt.Errorf("engine: world size %d: does not divide the global batch of %d", world, global)
	}
	s := *p.spec
	s.World.Rank, s.Ring.Groups = 0, nil
	o, err := orderOf(&s, world, p.bare.source, p.bare.parts, p.bare.shapesOf(&s))
	if err == nil {
		p.orders[world] = o
	}
	return o, err
}

// Source is what the order is of, which reads every sample whole, also a large one; it ends with the plan.
func (p *Plan) Source() source.Source { return p.bare.source }

// Check tells whether a saved state belongs to the plan. The error wraps shm.ErrState.
func (p *Plan) Check(state []byte) error {
	s, err := sampler.ParseState(state)
	if err == nil {
		o, _ := p.Order(p.spec.World.Size)
		err = o.Check(s)
	}
	if err != nil {
		return refuse(shm.ErrState, err, "engine: ring %q: state: %v", p.spec.FullName(), err)
	}
	return nil
}

// Close closes the source.
func (p *Plan) Close() error { return p.bare.closeSource() }
