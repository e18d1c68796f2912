package pipeline

import "context"

// Hooks are functions that see every task or every stage of a pipeline, for
// telemetry and for resources that live as long as a stage. Each may be nil; a
// hook that is not set costs nothing.
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

func (s *stage) info() StageInfo {
	return StageInfo{Pipeline: s.p.name, Name: s.name, Kind: s.kind, Concurrency: s.concurrency}
}
