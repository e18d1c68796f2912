package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// ProfileOptions say how stages are measured alone; the zero value works.
type ProfileOptions struct {
	// Inputs is the number of items taken from each source; 0 means 1000.
	Inputs int
	// Concurrency are the numbers of workers to try a stage with; nil means
	// 1, 4, 8, 16 and 32. Stages of one worker are measured with one.
	Concurrency []int
}

// A Profile is one stage measured alone.
type Profile struct {
	Name   string         `json:"name"`
	Kind   string         `json:"kind"`
	Inputs int            `json:"inputs"`
	Points []ProfilePoint `json:"points"`
}

// A ProfilePoint is a stage at one concurrency.
type ProfilePoint struct {
	Concurrency int     `json:"concurrency"`
	QPS         float64 `json:"qps"` // items taken per second
	// Occupancy is the share of time in which a result was waiting to be taken.
	Occupancy float64 `json:"occupancy"`
	BusyShare float64 `json:"busy_share"`
	Op        Times   `json:"op"`
	Failures  uint64  `json:"failures"`
}

var errProfiled = errors.New("profiled; build a new pipeline to run it")

// Profile runs every stage alone, one after the other, each on the results of
// the one before, and measures it at several concurrencies. Results are kept in
// memory. It takes the place of Start: a pipeline is profiled or run.
//
// A stage's op is called with the same items once for every concurrency, so it
// must not change or end them; of its results all but the last run's go to
// Discard, and those last ones too when the next stages are done with them. A
// pipeline with stages whose workers are not its own (External, Results), with
// nested ones or with a Budget cannot be profiled, and is refused by name.
func (p *Pipeline) Profile(ctx context.Context, o ProfileOptions) ([]Profile, error) {
	if err := p.claimForProfile(&o); err != nil {
		return nil, err
	}
	defer func() {
		for _, s := range p.stages {
			if s.out != nil {
				s.out.dropKept()
			}
		}
	}()
	var all []Profile
	for _, s := range p.stages {
		points, inputs, err := s.alone(ctx, &o)
		if err != nil {
			return all, fmt.Errorf("pipeline: %q: profile: stage %q: %w", p.name, s.name, err)
		}
		if points != nil {
			all = append(all, Profile{Name: s.name, Kind: s.kind, Inputs: inputs, Points: points})
		}
	}
	return all, nil
}

// claimForProfile checks the pipeline and ends its life.
func (p *Pipeline) claimForProfile(o *ProfileOptions) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != Built {
		return fmt.Errorf("pipeline: %q: %w", p.name, ErrStarted)
	}
	if o.Inputs == 0 {
		o.Inputs = 1000
	}
	if o.Concurrency == nil {
		o.Concurrency = []int{1, 4, 8, 16, 32}
	}
	err := p.check()
	for _, s := range p.stages {
		if s.alone == nil {
			err = errors.Join(err, s.errorf("a stage of kind %s cannot be profiled", s.kind))
		}
	}
	for _, n := range append([]int{o.Inputs}, o.Concurrency...) {
		if n < 1 {
			err = errors.Join(err, p.errorf("profile: %d inputs at concurrency %v, want 1 or more", o.Inputs, o.Concurrency))
			break
		}
	}
	if err == nil {
		p.finish(p.named(errProfiled))
	}
	return err
}

// An alone measures a stage by itself: inputs is the number of items it had.
type alone func(ctx context.Context, o *ProfileOptions) (points []ProfilePoint, inputs int, err error)

// aloneSource keeps the first items of a source.
func aloneSource[T any](out *Port[T], next func(context.Context) (T, error)) alone {
	return func(ctx context.Context, o *ProfileOptions) ([]ProfilePoint, int, error) {
		sub := New("profile")
		n := 0
		src := Source(sub, SourceOptions[T]{Name: "source", Buffer: o.Inputs}, func(ctx context.Context) (v T, err error) {
			if n++; n > o.Inputs {
				return v, io.EOF
			}
			return next(ctx)
		})
		Sink(src, SinkOptions{Name: "out"}, keepIn(out))
		if err := sub.Run(ctx); err != nil {
			return nil, 0, err
		}
		return []ProfilePoint{sub.point(0)}, len(out.kept), nil
	}
}

// aloneStage runs a stage on what the one before has kept, at each concurrency.
func aloneStage[In, Out any](in *Port[In], out *Port[Out], one bool,
	build func(in *Port[In], concurrency int) *Port[Out]) alone {
	return func(ctx context.Context, o *ProfileOptions) (points []ProfilePoint, inputs int, err error) {
		tries := o.Concurrency
		if one {
			tries = []int{1}
		}
		for _, n := range tries {
			out.dropKept()
			sub := New("profile")
			Sink(build(replay(sub, in), n), SinkOptions{Name: "out"}, keepIn(out))
			if err := sub.Run(ctx); err != nil {
				return points, 0, err
			}
			points = append(points, sub.point(1))
		}
		return points, len(in.kept), nil
	}
}

// aloneSink delivers what the stage before has kept.
func aloneSink[T any](in *Port[T], build func(in *Port[T])) alone {
	return func(ctx context.Context, _ *ProfileOptions) ([]ProfilePoint, int, error) {
		sub := New("profile")
		n := len(in.kept)
		build(replay(sub, in))
		in.kept = nil // delivered
		if err := sub.Run(ctx); err != nil {
			return nil, 0, err
		}
		return []ProfilePoint{sub.point(1)}, n, nil
	}
}

// alonePassing keeps for out what the ports before it have kept, unmeasured.
func alonePassing[T any](out *Port[T], from ...*Port[T]) alone {
	return func(context.Context, *ProfileOptions) ([]ProfilePoint, int, error) {
		for _, in := range from {
			out.kept = append(out.kept, in.kept...)
			in.kept = nil
		}
		return nil, 0, nil
	}
}

// replay is a source of what a port has kept.
func replay[T any](sub *Pipeline, in *Port[T]) *Port[T] {
	i := 0
	items := in.kept
	return Source(sub, SourceOptions[T]{Name: "replay", Buffer: 64}, func(context.Context) (v T, err error) {
		if i == len(items) {
			return v, io.EOF
		}
		i++
		return items[i-1], nil
	})
}

func keepIn[T any](out *Port[T]) func(context.Context, T) error {
	return func(_ context.Context, v T) error {
		out.kept = append(out.kept, v)
		return nil
	}
}

// point is what a stage of a run has done.
func (p *Pipeline) point(stage int) ProfilePoint {
	stats := p.Stats()
	s := stats.Stages[stage]
	point := ProfilePoint{Concurrency: s.Concurrency, BusyShare: s.BusyShare, Op: s.Op, Failures: s.Failures}
	if stage < len(stats.Queues) {
		point.Occupancy = stats.Queues[stage].Occupancy
	}
	if stats.ElapsedNs > 0 {
		point.QPS = float64(s.Items+s.Failures) / float64(stats.ElapsedNs) * 1e9
	}
	return point
}

// dropKept discards what a profile has kept of the port's results.
func (o *Port[T]) dropKept() {
	for _, v := range o.kept {
		if o.discard != nil {
			o.discard(v)
		}
	}
	o.kept = nil
}
