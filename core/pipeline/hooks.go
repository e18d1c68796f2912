package pipeline

import (
	"context"
	"slices"
)

// Hooks are functions that see every task or every stage of a pipeline, for
// telemetry and for resources that live as long as a stage. Each may be nil; a
// hook that is not set costs nothing. Stage and its after must not use the
// pipeline, which waits for them.
type Hooks struct {
	// Task is called before every try of an op, by its worker. The op gets the
	// context it returns, and after, if not nil, is called with the op's error
	// when it has returned. An error of Task fails the item instead of the op.
	// Sources, aggregators and External stages have no tasks.
	Task func(ctx context.Context, s StageInfo) (taskCtx context.Context, after func(error), err error)
	// Stage is called for every stage, in their order, before its first worker
	// starts; after, if not nil, is called when the run has ended, in reverse
	// order, with the error of the run. An error of Stage fails Start, once
	// after has been called for the stages before.
	Stage func(ctx context.Context, s StageInfo) (after func(error), err error)
}

// StageInfo names a stage to a hook.
type StageInfo struct {
	Pipeline    string
	Name        string
	Kind        string
	Concurrency int
}

// Hook sets the pipeline's hooks. Call it before Start.
func (p *Pipeline) Hook(h Hooks) { p.hooks = h }

// hookStages calls Stage for every stage; after an error nothing is left hooked.
func (p *Pipeline) hookStages() error {
	if p.hooks.Stage == nil {
		return nil
	}
	for _, s := range p.stages {
		after, err := p.hooks.Stage(p.ctx, s.info())
		if err != nil {
			err = s.errorf("stage hook: %w", err)
			p.unhookStages(err)
			return err
		}
		p.afterHooks = append(p.afterHooks, after)
	}
	return nil
}

func (p *Pipeline) unhookStages(err error) {
	for _, after := range slices.Backward(p.afterHooks) {
		if after != nil {
			after(err)
		}
	}
	p.afterHooks = nil
}

func (s *stage) info() StageInfo {
	return StageInfo{Pipeline: s.p.name, Name: s.name, Kind: s.kind, Concurrency: s.concurrency}
}
