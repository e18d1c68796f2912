package pipeline

import (
	"context"
	"errors"
	"sync"
)

// A background is a task that runs beside the stages.
type background struct {
	name    string
	run     func(ctx context.Context) error
	onError func(error)

	mu    sync.Mutex // guards the rest
	state string
	err   error
}

// BackgroundStats is a task that runs beside the stages.
type BackgroundStats struct {
	Name string `json:"name"`
	// State is "built", "running", "ended" or "failed".
	State string `json:"state"`
	Error string `json:"error,omitempty"`
}

// Background has run called in a goroutine of its own while the pipeline runs:
// a sampler of resources, say. Its context ends when the last stage has ended,
// or with the run; Wait waits for it. Its end, an error or a panic do not touch
// the run: an error that is not the context's is shown by Stats and handed to
// onError, if that is not nil. Call Background before Start.
func (p *Pipeline) Background(name string, run func(ctx context.Context) error, onError func(error)) {
	if run == nil {
		p.note(p.named(errors.New("background task " + name + ": run is nil")))
		return
	}
	p.tasks = append(p.tasks, &background{name: name, run: run, onError: onError, state: "built"})
}

func (p *Pipeline) startTasks() {
	p.aside, p.endAside = context.WithCancel(p.ctx)
	p.tasksGone.Add(len(p.tasks))
	for _, t := range p.tasks {
		t.become("running", nil)
		go func() {
			defer p.tasksGone.Done()
			t.work(p.aside)
		}()
	}
}

func (t *background) work(ctx context.Context) {
	err := t.call(ctx)
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		t.become("ended", nil)
		return
	}
	t.become("failed", err)
	if t.onError != nil {
		t.onError(err)
	}
}

// call runs the task; a panic is its error.
func (t *background) call(ctx context.Context) (err error) {
	returned := false
	defer func() {
		if !returned {
			err = newPanicError(recover())
		}
	}()
	err = t.run(ctx)
	returned = true
	return err
}

func (t *background) become(state string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state, t.err = state, err
}

func (t *background) stats() BackgroundStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := BackgroundStats{Name: t.name, State: t.state}
	if t.err != nil {
		out.Error = t.err.Error()
	}
	return out
}
