package pipeline

import (
	"context"
	"io"
)

// ResultsOptions describe a last stage that is read; all but Name may be left
// out.
type ResultsOptions struct {
	Name string
	// Buffer is the number of results that may wait to be read; 0 leaves it
	// to the stage before.
	Buffer int
}

// Results are a pipeline's results for callers that fetch them, on any number
// of threads. Like a sink, they hold the run open until the last one is fetched.
type Results[T any] struct {
	*stage
	in    *Queue[T] // its mu guards the rest
	begun bool      // started
	open  bool      // started and not ended
	over  bool      // ended, or never to start
	why   error     // what ended the run before its end
}

// Pull ends a chain of stages with results to be fetched.
func Pull[T any](in *Port[T], o ResultsOptions) *Results[T] {
	s := newStage(in.stage.p, "sink", o.Name, 1)
	readFrom(s, in)
	s.refuseTraced()
	switch {
	case o.Buffer < 0:
		s.p.note(s.errorf("buffer %d, want 0 (the default) or more", o.Buffer))
	case o.Buffer > 0 && in.queue.ordered:
		in.queue.resize(o.Buffer + max(in.stage.concurrency, in.window))
	case o.Buffer > 0:
		in.queue.resize(o.Buffer)
	}
	r := &Results[T]{stage: s, in: in.queue}
	in.queue.closing = r.poke
	s.begun, s.halted = r.begin, r.halt
	return r
}

// Next waits for the next result, until ctx ends; it is delivered once Next
// returns it. ErrEndOfEpoch comes once after each epoch's last result, io.EOF
// after the last of all. After Stop or a failure Next returns what the run
// ends with. With an ended ctx it takes what is there without waiting;
// otherwise it returns the cause of ctx's end, and nothing is lost.
func (r *Results[T]) Next(ctx context.Context) (v T, err error) {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	if r.waits() {
		startNs := r.in.getters.begin()
		if ctx.Done() != nil {
			defer context.AfterFunc(ctx, r.wake)()
		}
		for r.waits() {
			if ctx.Err() != nil {
				r.in.getters.giveUp(startNs)
				return v, context.Cause(ctx)
			}
			r.in.notEmpty.Wait()
		}
		r.in.getters.end(startNs)
	} else {
		r.in.getters.none()
	}
	if r.in.stopped || r.over || !r.in.ready() {
		return v, r.end()
	}
	it := r.in.pop()
	r.settleEnd()
	if it.kind == mark {
		return v, ErrEndOfEpoch
	}
	r.meters[0].count()
	return it.v, nil
}

func (r *Results[T]) begin() {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	r.begun, r.open = true, true
	r.p.wg.Add(1)
}

// halt ends the results of a run that is over, or that never starts.
func (r *Results[T]) halt() {
	r.in.mu.Lock()
	r.over = r.over || !r.open
	r.in.mu.Unlock()
	r.poke()
}

// poke looks whether the results have ended, and wakes every reader.
func (r *Results[T]) poke() {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	r.settleEnd()
	r.in.notEmpty.Broadcast()
}

func (r *Results[T]) wake() {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	r.in.notEmpty.Broadcast()
}

// All that follows runs with in.mu held.

func (r *Results[T]) waits() bool { return !r.over && !r.in.ready() && !r.in.drained() }

// end says how the run ended for a reader.
func (r *Results[T]) end() error {
	if !r.begun { // never started; Err waits for the pipeline, which may wait for us
		r.in.mu.Unlock()
		defer r.in.mu.Lock()
		return r.p.Err()
	}
	r.settleEnd()
	if r.why != nil {
		return r.p.named(r.why)
	}
	return io.EOF
}

func (r *Results[T]) settleEnd() {
	if r.open && r.in.drained() {
		r.open, r.over = false, true
		r.why = context.Cause(r.p.ctx) // still of the run: it waits for us
		r.p.wg.Done()
	}
}
