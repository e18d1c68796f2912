package engine

import (
	"context"
	"fmt"
	"io"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// Plan is the order of a description's first ring, without anything to decode it: what should be delivered.
type Plan struct {
	spec   *spec.Spec
	source source.Source
	parts  []int64
	orders map[int]*sampler.Order // by world size
}

// OpenPlan opens the source of the first ring. Close it.
func OpenPlan(ctx context.Context, s *spec.Spec) (*Plan, error) {
	one := s.All()[0]
	r := &ring{engine: &Engine{log: NewLog(io.Discard, Off), caches: map[string]*source.Cache{}, feed: source.NewFeed()}, name: one.FullName()}
	if err := r.openSource(ctx, one); err != nil {
		return nil, err
	}
	p := &Plan{spec: one, source: r.source, parts: r.parts, orders: map[int]*sampler.Order{}}
	if _, err := p.Order(one.World.Size); err != nil {
		_ = p.Close()
		return nil, err
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
	s.World, s.Batch, s.Ring.Groups = spec.World{Size: world}, global/world, nil
	o, err := orderOf(&s, p.source, p.parts)
	if err == nil {
		p.orders[world] = o
	}
	return o, err
}

// Check tells whether a saved state belongs to the plan. The error wraps shm.ErrState.
func (p *Plan) Check(state []byte) error {
	s, err := sampler.ParseState(state)
	if err == nil {
		o, _ := p.Order(p.spec.World.Size)
		err = o.Check(s)
	}
	if err != nil {
		return fmt.Errorf("engine: ring %q: %w: %w", p.spec.FullName(), shm.ErrState, err)
	}
	return nil
}

// Close closes the source.
func (p *Plan) Close() error { return p.source.Close() }
