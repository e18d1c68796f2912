package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/telemetry"
)

// Pipeline is a pipeline of a host's stages. All methods are safe for several threads.
type Pipeline struct {
	name    string
	run     *pipeline.Pipeline
	stages  []*stage // of the host, by number
	numbers map[string]int
	engines map[string]string // names of the engine's own stages, with their kinds
	results *pipeline.Results[Items]
	dropped dropped
	epochs  atomic.Uint64          // that Get has said the end of
	failed  atomic.Pointer[string] // by Get, which may know before the run has ended

	looked     sync.Mutex
	from, last pipeline.Stats // where the interval of a verdict begins, and where the next one's does
}

// New makes a pipeline of a description. Its errors are *SpecError.
func New(description string) (*Pipeline, error) {
	d, err := ParseDescription(description)
	if err != nil {
		return nil, err
	}
	p := &Pipeline{name: d.Name, run: pipeline.New(d.Name), numbers: map[string]int{}, engines: map[string]string{}}
	p.build(d)
	return p, nil
}

// Start begins the run, once.
func (p *Pipeline) Start() error {
	err := p.run.Start(context.Background())
	switch {
	case errors.Is(err, pipeline.ErrStarted):
		return p.refuse(ErrBusy, "started before; make a new one for another run")
	case errors.Is(err, pipeline.ErrStopped):
		return p.refuse(ErrBusy, "stopped before it was started; make a new one")
	case err != nil:
		return &refusal{ErrDescription, err.Error()} // stages that are right alone, but not together
	}
	return nil
}

// Drain asks no source any more; what is in flight is finished. It does not wait.
func (p *Pipeline) Drain() { p.run.Drain() }

// Stop ends every wait; nothing is passed on any more. It does not wait.
func (p *Pipeline) Stop() { p.run.Stop() }

// HostStages is the number of stages that the host works on.
func (p *Pipeline) HostStages() int { return len(p.stages) }

// Stage is the number of a stage of the host's, for Take and Give.
func (p *Pipeline) Stage(name string) (int, error) {
	if i, ok := p.numbers[name]; ok {
		return i, nil
	}
	if kind, ok := p.engines[name]; ok {
		return 0, p.refuse(ErrNotFound, "stage %q is the engine's own (%s), want a stage of the host's", name, kind)
	}
	names := make([]string, len(p.stages))
	for i, s := range p.stages {
		names[i] = s.name
	}
	return 0, p.refuse(ErrNotFound, "no stage %.60q%s; the host's stages: %s", name, didYouMean(name, names), strings.Join(names, ", "))
}

func (p *Pipeline) stage(number int) (*stage, error) {
	if number < 0 || number >= len(p.stages) {
		return nil, p.refuse(ErrArgument, "stage %d, want 0 to %d, from spdl_pipeline_stage", number, len(p.stages)-1)
	}
	return p.stages[number], nil
}

// Forever is a timeout that never ends a wait.
const Forever = time.Duration(math.MaxInt64)

var polled = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrTimeout)
	return ctx
}()

// within is a context that ends with ErrTimeout.
func within(timeout time.Duration) (context.Context, context.CancelFunc) {
	switch timeout {
	case 0:
		return polled, func() {}
	case Forever:
		return context.Background(), func() {}
	}
	return context.WithTimeoutCause(context.Background(), timeout, ErrTimeout)
}

// Get waits for the next result; its items are the host's. The error is ErrTimeout, ErrEndEpoch, ErrEndData, or why the
// pipeline failed.
func (p *Pipeline) Get(timeout time.Duration) (Work, error) {
	ctx, end := within(timeout)
	defer end()
	items, err := p.results.Next(ctx)
	switch {
	case err == nil:
		return Work{Kind: int(pipeline.WorkItem), Items: items, Epoch: p.epochOf(&items), Attempt: 1}, nil
	case errors.Is(err, pipeline.ErrEndOfEpoch):
		p.epochs.Add(1)
		return Work{}, ErrEndEpoch
	case errors.Is(err, io.EOF), errors.Is(err, pipeline.ErrStopped):
		return Work{}, ErrEndData
	case !errors.Is(err, ErrTimeout):
		text := err.Error()
		p.failed.Store(&text)
	}
	return Work{}, err
}

// epochOf is the epoch of a result. A list whose parts have all failed has nothing left that knows it.
func (p *Pipeline) epochOf(items *Items) uint64 {
	if items.Len() > 0 {
		return items.epoch
	}
	return max(items.epoch, p.epochs.Load())
}

// Wait waits until nothing of the run is left and every work was given back. It returns nil after the end, Drain or
// Stop, why the pipeline failed, or an error that is ErrTimeout and says what is still out.
func (p *Pipeline) Wait(timeout time.Duration) error {
	ctx, end := within(timeout)
	defer end()
	select {
	case <-p.run.Done():
		return p.failure()
	default:
	}
	select {
	case <-p.run.Done():
		return p.failure()
	case <-ctx.Done():
		return p.refuse(ErrTimeout, "not ended: %s", p.remains())
	}
}

// failure is what ended the run, unless it ended as it was told to.
func (p *Pipeline) failure() error {
	if err := p.run.Err(); !errors.Is(err, pipeline.ErrStopped) {
		return err
	}
	return nil
}

// Failure is the whole text of what failed, once Get or Wait has said so; "" if nothing has.
func (p *Pipeline) Failure() string {
	if text := p.failed.Load(); text != nil {
		return *text
	}
	select {
	case <-p.run.Done():
	default:
		return ""
	}
	if err := p.failure(); err != nil {
		return err.Error()
	}
	return ""
}

// remains says what keeps the run from its end.
func (p *Pipeline) remains() string {
	var out []string
	stats := p.stats()
	for _, s := range stats.Stages {
		for _, w := range s.Works {
			does := "is " + w.State
			if w.State == "giving" {
				does = "waits to be given"
			}
			out = append(out, fmt.Sprintf("stage %q: a work %s for %s, taken by thread %d", s.Name, does,
				time.Duration(w.AgeNs).Round(time.Millisecond), w.Thread))
		}
	}
	const most = 8
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	if len(out) == 0 {
		return fmt.Sprintf("it is %s and no work is out; take from its stages, and get its results or stop it", stats.State)
	}
	return strings.Join(out, "; ")
}

// Reclaim moves items that nobody will get any more into the buffer and returns how many.
func (p *Pipeline) Reclaim(into []uint64) int { return p.dropped.take(into) }

// Stats of a pipeline: core/pipeline's, and who has the works that are out.
type Stats struct {
	pipeline.Stats
	Stages  []StageStats `json:"stages"`
	Dropped int          `json:"dropped"` // items that wait for Reclaim
	Failure string       `json:"failure,omitempty"`
	// Verdict is what is slow, and what would change it: since the last Stats of a second ago or more, at first, and in the end,
	// since the start.
	Verdict telemetry.Verdict `json:"verdict"`
}

// StageStats is one stage of Stats.
type StageStats struct {
	pipeline.StageStats
	Works []WorkStats `json:"works,omitempty"`
}

// WorkStats is one work that is out.
type WorkStats struct {
	pipeline.WorkStats
	Thread uint32 `json:"thread"` // the system's number of the thread that took it last; 0: none has it
}

func (p *Pipeline) stats() Stats {
	out := Stats{Stats: p.run.Stats(), Dropped: p.dropped.len(), Failure: p.Failure()}
	from := p.since(out.Stats)
	out.Verdict = telemetry.JudgePipeline(&from, &out.Stats)
	for _, s := range out.Stats.Stages {
		with := StageStats{StageStats: s}
		for _, w := range s.Works {
			with.Works = append(with.Works, WorkStats{w, p.stages[p.numbers[s.Name]].holderOf(w.Token)})
		}
		out.Stages = append(out.Stages, with)
	}
	return out
}

// since is where the interval that ends with now begins. Calls that follow each other within a second share one; a run that has
// ended is judged as a whole.
func (p *Pipeline) since(now pipeline.Stats) pipeline.Stats {
	if now.State == pipeline.Ended {
		return pipeline.Stats{}
	}
	p.looked.Lock()
	defer p.looked.Unlock()
	if now.ElapsedNs-p.last.ElapsedNs >= int64(time.Second) {
		p.from, p.last = p.last, now
	}
	return p.from
}

// Stats is the pipeline now, as JSON.
func (p *Pipeline) Stats() string {
	text, err := json.Marshal(p.stats())
	if err != nil {
		panic(err) // plain data: it cannot
	}
	return string(text)
}

// Free refuses while anything of the run is left.
func (p *Pipeline) Free() error {
	if p.run.Stats().State == pipeline.Built {
		p.run.Stop() // never started: it has ended now
	}
	select {
	case <-p.run.Done():
		return nil
	default:
		return p.refuse(ErrBusy, "it still runs: %s; stop it and wait first", p.remains())
	}
}

// ThreadEnded fails the works that a thread has taken and not given back.
func (p *Pipeline) ThreadEnded(thread uint64) {
	for _, s := range p.stages {
		s.threadEnded(thread)
	}
}
