package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A Pipeline is stages that pass items on, and the life they share. Build it
// with New, Source, Map, Aggregate, Resequence and Sink from one goroutine;
// then Start it, once. All methods are safe for several goroutines.
type Pipeline struct {
	name string

	// Fixed by Start.
	stages []*stage
	whole  *Judge // of all stages together; nil if there is no such budget
	hooks  Hooks
	tuning Tuning
	errs   []error // mistakes made while building
	ctx    context.Context
	cancel context.CancelCauseFunc

	intake    context.Context // of the sources: ends with ctx or Drain
	endIntake context.CancelFunc

	tasks      []*background
	aside      context.Context // of the background tasks: outlives the workers
	endAside   context.CancelFunc
	tasksGone  sync.WaitGroup
	afterHooks []func(error) // of the stages, in their order

	wg     sync.WaitGroup // the stages' workers
	halted chan struct{}  // closed once a cancel has reached every queue
	done   chan struct{}  // closed once nothing of the run is left

	mu      sync.Mutex // guards the rest
	state   State
	begunNs int64
	endedNs int64
	late    []error // panics of Discard functions
	err     error
}

// State is where a pipeline is in its life.
type State string

// The states, in the order of a life. Draining and Stopping end in Ended.
const (
	Built    State = "built"
	Running  State = "running"
	Draining State = "draining"
	Stopping State = "stopping"
	Ended    State = "ended"
)

// New returns an empty pipeline. The name appears in errors and statistics.
func New(name string) *Pipeline {
	return &Pipeline{
		name:   name,
		state:  Built,
		halted: make(chan struct{}),
		done:   make(chan struct{}),
	}
}

// Start checks the pipeline and starts its workers; it does not wait for them.
// The run ends early when ctx does. Start returns every mistake made while
// building, ErrStarted on a second call, and ErrStopped if Stop or Drain came
// first; then nothing runs.
func (p *Pipeline) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.state == Ended && p.begunNs == 0:
		return p.err
	case p.state != Built:
		return fmt.Errorf("pipeline: %q: %w", p.name, ErrStarted)
	}
	if err := p.check(); err != nil {
		p.finish(err)
		return err
	}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.intake, p.endIntake = context.WithCancel(p.ctx)
	if err := p.hookStages(); err != nil {
		p.cancel(err)
		p.finish(err)
		return err
	}
	p.state, p.begunNs = Running, max(now(), 1)
	unhook := context.AfterFunc(p.ctx, p.halt)
	for _, s := range p.stages {
		s.begin(p.begunNs)
	}
	if slices.ContainsFunc(p.stages, func(s *stage) bool { return s.crew != nil }) {
		p.Background("autotune", p.tuneAll, nil)
	}
	p.startTasks()
	for _, s := range p.stages {
		s.start()
	}
	go p.supervise(unhook)
	return nil
}

// Forgive sets a failure budget for all stages together, beside their own. Its
// rate is the share of the items that the sources have made. A stage without
// Failures of its own then forgives anything, and the pipeline's budget
// decides. Call it before Start.
func (p *Pipeline) Forgive(budget Failures) {
	judge, err := NewJudge(budget)
	if err != nil {
		p.note(p.named(err))
		return
	}
	p.whole = judge
}

// Run is Start and Wait.
func (p *Pipeline) Run(ctx context.Context) error {
	if err := p.Start(ctx); err != nil {
		return err
	}
	return p.Wait()
}

// Stop cancels the run: the ops' context ends, no further item is passed on,
// and every item not delivered goes to its Discard. Stop does not wait; a
// second Stop, or one after the end, does nothing.
func (p *Pipeline) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state {
	case Built:
		p.finish(p.named(ErrStopped))
	case Running, Draining:
		p.cancel(ErrStopped)
	}
}

// Drain ends intake: the sources' context ends, and the run ends without an
// error when everything they had handed out is delivered. Drain does not wait.
func (p *Pipeline) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state {
	case Built:
		p.finish(p.named(ErrStopped))
	case Running:
		p.state = Draining
		p.endIntake()
	}
}

// Wait returns when the run has ended: every worker is gone and every item is
// delivered or discarded. It returns nil after the sources' end or Drain, and
// otherwise what ended the run: a *StageError, an error that wraps ErrStopped,
// or one that wraps the cause of Start's context.
func (p *Pipeline) Wait() error {
	<-p.done
	return p.Err()
}

// Done is closed when Wait would return.
func (p *Pipeline) Done() <-chan struct{} { return p.done }

// Err returns what Wait returns, and nil before the end.
func (p *Pipeline) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *Pipeline) check() error {
	errs := p.errs
	if len(p.stages) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("pipeline: %q: no stages; add a Source and a Sink", p.name))
	}
	for _, s := range p.stages {
		if s.out != nil && s.out.reader() == "" {
			errs = append(errs, s.errorf("nothing reads its results; add a stage or a Sink"))
		}
	}
	return errors.Join(errs...)
}

// add takes a stage in, noting mistakes for Start. Once started there is no Start
// to report to: the run ends with the mistake.
func (p *Pipeline) add(s *stage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != Built {
		if p.cancel != nil {
			p.cancel(s.errorf("added after Start; build the whole pipeline first"))
		}
		return
	}
	if s.name == "" {
		p.errs = append(p.errs, s.errorf("a stage needs a name"))
	}
	for _, other := range p.stages {
		if other.name == s.name && s.name != "" {
			p.errs = append(p.errs, s.errorf("the name is taken; give each stage its own"))
		}
	}
	p.stages = append(p.stages, s)
}

func (p *Pipeline) errorf(format string, args ...any) error {
	return p.named(fmt.Errorf(format, args...))
}

// note records a mistake made while building.
func (p *Pipeline) note(err error) {
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// halt wakes everyone who waits at a queue, for good.
func (p *Pipeline) halt() {
	p.mu.Lock()
	if p.state != Ended {
		p.state = Stopping
	}
	p.mu.Unlock()
	for _, s := range p.stages {
		if s.out != nil {
			s.out.halt()
		}
		if s.halted != nil {
			s.halted()
		}
		s.crew.end()
	}
	close(p.halted)
}

// supervise waits for the workers and clears up behind them.
func (p *Pipeline) supervise(unhook func() bool) {
	p.wg.Wait()
	err := context.Cause(p.ctx)
	if !unhook() {
		<-p.halted
	}
	for _, s := range p.stages {
		if s.out != nil {
			s.out.reclaim()
		}
	}
	p.endAside()
	p.tasksGone.Wait()
	p.unhookStages(err)
	p.cancel(nil) // frees what the contexts hold on to

	p.mu.Lock()
	defer p.mu.Unlock()
	p.endedNs = now()
	p.finish(errors.Join(append([]error{p.named(err)}, p.late...)...))
}

// finish ends the pipeline's life with err; mu is held.
func (p *Pipeline) finish(err error) {
	if p.state == Built {
		for _, s := range p.stages {
			if s.halted != nil {
				s.halted() // nothing will ever run: those who wait for it may go
			}
		}
	}
	p.state, p.err = Ended, err
	close(p.done)
}

// named puts the pipeline's name in front of err, where it is not there yet.
func (p *Pipeline) named(err error) error {
	var stageErr *StageError
	if err == nil || errors.As(err, &stageErr) {
		return err
	}
	return fmt.Errorf("pipeline: %q: %w", p.name, err)
}

// stateNow returns the state; mu is held. A cancel counts before it has
// reached the queues.
func (p *Pipeline) stateNow() State {
	if (p.state == Running || p.state == Draining) && p.ctx.Err() != nil {
		return Stopping
	}
	return p.state
}
