package hosted

import (
	"context"
	"errors"
	"time"

	"github.com/spdl/spdl/core/pipeline"
)

var (
	errNotSingle = errors.New("got a list, want single items; put a disaggregate before")
	errNotPart   = errors.New("a path of batched variants gave a single item, want the list of its part")
	errNotList   = errors.New("got a single item, want a list; put an aggregate before, or leave the stage out")
)

// build makes the stages of a description that has been checked.
func (p *Pipeline) build(d *Description) {
	if d.Failures != nil {
		p.run.Forgive(d.Failures.budget())
	}
	stages := d.Stages
	sink := Stage{Name: "results"}
	if last := len(stages) - 1; stages[last].Kind == KindSink {
		sink, stages = stages[last], stages[:last]
	}
	b := builder{p: p, continuous: d.Continuous}
	p.results = pipeline.Pull(b.chain(nil, stages), pipeline.ResultsOptions{Name: sink.Name, Buffer: sink.Buffer})
}

type builder struct {
	p          *Pipeline
	continuous bool
}

type port = *pipeline.Port[Items]

// chain adds stages one behind the other; in is nil where the first is a source or a merge.
func (b *builder) chain(in port, stages []Stage) port {
	for i := range stages {
		in = b.stage(in, &stages[i])
	}
	return in
}

func (b *builder) stage(in port, s *Stage) port {
	p := b.p
	switch s.Kind {
	case KindSource:
		x, out := pipeline.ExternalSource(p.run, b.options(s))
		p.host(s, sourceStage{x})
		return out
	case KindMap:
		x, out := pipeline.ExternalMap[Items, Items](in, b.options(s))
		p.host(s, itemStage{x})
		return out
	case KindAggregator:
		x, out := pipeline.ExternalAggregator[Items, Items](in, b.options(s))
		p.host(s, itemStage{x})
		return out
	case KindVariants:
		return b.variants(in, s)
	case KindMerge:
		return b.merge(s)
	case KindAggregate:
		p.engines[s.Name] = s.Kind
		return pipeline.Aggregate(in, pipeline.AggregateOptions[Items]{Name: s.Name, Buffer: s.Buffer, Discard: p.dropped.drop},
			&lister{n: s.N, dropLast: s.DropLast, dropped: &p.dropped})
	case KindDisaggregate:
		p.engines[s.Name] = s.Kind
		return pipeline.Generate(in, pipeline.Options[Items, Items]{Name: s.Name, Buffer: s.Buffer, Discard: p.dropped.drop}, p.dropped.unlist)
	}
	panic("hosted: kind " + s.Kind + " passed the description's check")
}

// variants is a router of the host's, and behind it the engine's, which does as the host's said.
func (b *builder) variants(in port, s *Stage) port {
	o := b.options(s)
	if s.Batched {
		o.Output = pipeline.Input // as the engine's router has it
	}
	x, chosen := pipeline.ExternalMap[Items, Items](in, o)
	router := b.p.host(s, itemStage{x})
	router.paths, router.batched = len(s.Paths), s.Batched
	paths := make([]func(port) port, len(s.Paths))
	for i, path := range s.Paths {
		paths[i] = func(head port) port { return b.chain(head, path) }
	}
	vo := pipeline.VariantsOptions[Items]{Name: s.Name + "/paths", Output: o.Output, Buffer: s.Buffer, Discard: b.p.dropped.drop}
	if s.Batched {
		route := func(_ context.Context, i Items) ([]int, error) { return i.list.paths, nil }
		return pipeline.VariantsBatched(chosen, vo, batches, route, paths...)
	}
	route := func(_ context.Context, i Items) (int, error) { return int(i.path), nil }
	return pipeline.Variants(chosen, vo, route, paths...)
}

func (b *builder) merge(s *Stage) port {
	b.p.engines[s.Name] = s.Kind
	o := pipeline.MergeOptions[Items]{Name: s.Name, Buffer: s.Buffer, Weights: s.Weights, Seed: s.Seed, Discard: b.p.dropped.drop}
	switch s.Policy {
	case "round_robin":
		o.Policy = pipeline.RoundRobin
	case "weighted":
		o.Policy = pipeline.Weighted
	}
	if s.Stop == "first" {
		o.Stop = pipeline.StopFirst
	}
	var inputs []port
	for _, input := range s.Inputs {
		inputs = append(inputs, b.chain(nil, input))
	}
	return pipeline.Merge(b.p.run, o, inputs...)
}

// host makes a stage the host's.
func (p *Pipeline) host(s *Stage, work worked) *stage {
	made := &stage{p: p, name: s.Name, kind: s.Kind, work: work}
	p.numbers[s.Name] = len(p.stages)
	p.stages = append(p.stages, made)
	return made
}

func (b *builder) options(s *Stage) pipeline.ExternalOptions[Items] {
	o := pipeline.ExternalOptions[Items]{
		Name: s.Name, Concurrency: s.Concurrency, Buffer: s.Buffer, Discard: b.p.dropped.drop,
		Deadline: ms(s.DeadlineMs), Continuous: b.continuous,
		Retry: pipeline.Retry{Max: s.Retries.Max, Base: ms(s.Retries.BackoffMs), Cap: ms(s.Retries.MaxBackoffMs)},
	}
	if s.InputOrder {
		o.Output = pipeline.Input
	}
	if s.Failures != nil {
		o.Failures = s.Failures.budget()
	}
	return o
}

func (f *Failures) budget() pipeline.Failures {
	return pipeline.Failures{MaxCount: f.MaxCount, MaxRate: f.MaxRate, Probation: f.Probation}
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
