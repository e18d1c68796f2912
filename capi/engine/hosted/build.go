package hosted

import (
	"errors"
	"time"

	"github.com/spdl/spdl/core/pipeline"
)

var (
	errNotSingle = errors.New("got a list, want single items; put a disaggregate before")
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

// host makes a stage the host's.
func (p *Pipeline) host(s *Stage, work worked) {
	p.numbers[s.Name] = len(p.stages)
	p.stages = append(p.stages, &stage{p: p, name: s.Name, kind: s.Kind, work: work})
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

// checkPaths refuses paths where there are none.
func (s *stage) checkPaths(g *Given) error {
	if g.Path != 0 || g.Paths != nil {
		return s.refuse("got a path from a %s; only the router of variants chooses one", s.kind)
	}
	return nil
}
