package pipeline

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A Port is the output of one stage and the input of the next: exactly one
// stage reads it. It belongs to its pipeline and has no use of its own.
type Port[T any] struct {
	stage   *stage
	queue   *Queue[T]
	discard func(T)
	dropped atomic.Uint64
	readBy  string // set while building
	window  int    // of a join: how many numbers apart it brings together, whatever buffer a sink asks for
	kept    []T    // by a profile
}

// An outlet is what the pipeline needs of a Port, whatever it carries.
type outlet interface {
	reader() string
	close()
	halt()
	reclaim()
	emptyTime(atNs int64) int64
	dropKept()
	discards() uint64
	restartClock(atNs int64)
	queueStats(name string, atNs int64) QueueStats
}

// A stage is a set of workers, each a goroutine that runs work, and their
// output. A stage whose workers are not ours has run instead of work.
type stage struct {
	p           *Pipeline
	name        string
	kind        string
	concurrency int
	work        func(worker int)
	out         outlet // nil for a sink
	meters      []meter
	alive       atomic.Int64 // workers
	sources     []*stage     // those whose items come here
	input       outlet       // of a consumer
	crew        *crew        // nil if the number of workers is fixed
	traced      bool         // in a path whose items are put back in order
	begun       func()       // called before any worker starts; may be nil
	halted      func()       // called once a cancel has reached the queues; may be nil
	alone       alone        // nil if it cannot be profiled
	works       func(atNs int64) []WorkStats

	intake    context.Context // of a source: ends with the pipeline's, or alone
	endIntake context.CancelFunc
}

func newStage(p *Pipeline, kind, name string, workers int) *stage {
	n := max(workers, 1)
	s := &stage{p: p, name: name, kind: kind, concurrency: n, meters: make([]meter, n)}
	p.add(s)
	if workers < 0 {
		p.note(s.errorf("concurrency %d, want 1 or more", workers))
	}
	return s
}

// newCrewStage is newStage for a stage that may find its concurrency itself.
func newCrewStage(p *Pipeline, kind, name string, workers int, a Auto) *stage {
	n := workers
	if n >= 0 { // or newStage refuses it
		n = max(n, a.Max)
	}
	s := newStage(p, kind, name, n)
	switch {
	case a == Auto{}:
	case a.Max < 1 || a.Min < 0 || a.Min > a.Max || workers > a.Max:
		p.note(s.errorf("auto: min %d, start %d, max %d, want 0 or more, and none above max", a.Min, workers, a.Max))
	default:
		s.crew = newCrew(a, workers)
	}
	return s
}

// workersNow is the number of workers that may work.
func (s *stage) workersNow() int {
	if s.crew != nil {
		return int(s.crew.active.Load())
	}
	return s.concurrency
}

// newPort makes s's output, a queue of the given capacity.
func newPort[T any](s *stage, capacity int, discard func(T)) *Port[T] {
	if capacity < 0 {
		s.p.note(s.errorf("buffer %d, want 0 (the default) or more", capacity))
	}
	port := &Port[T]{stage: s, queue: NewQueue[T](capacity), discard: discard}
	port.queue.traced = s.traced
	s.out = port
	return port
}

// readFrom makes s the one reader of in.
func readFrom[T any](s *stage, in *Port[T]) {
	if in.readBy != "" {
		s.p.note(s.errorf("stage %q is already read by %q; a port has one reader", in.stage.name, in.readBy))
	}
	in.readBy = s.name
	s.input = in
	if in.readBy == "" {
		in.readBy = "?"
	}
	if in.stage.p != s.p {
		s.p.note(s.errorf("stage %q is of pipeline %q; use Nested to read another pipeline", in.stage.name, in.stage.p.name))
	}
	s.sources = append(s.sources, in.stage.sources...)
	s.traced = in.queue.traced
}

// refuseTraced notes that s cannot stand where each item must give one result.
func (s *stage) refuseTraced() {
	if s.traced {
		s.p.note(s.errorf("a stage of kind %s cannot stand in a path whose results are put back in order; "+
			"put it behind the variants, or use Output: Completion", s.kind))
	}
}

func (s *stage) begin(atNs int64) {
	s.intake, s.endIntake = context.WithCancel(s.p.intake)
	if s.crew != nil {
		s.crew.begin(atNs)
	}
	if s.begun != nil {
		s.begun()
	}
	if s.out != nil {
		s.out.restartClock(atNs)
	}
}

func (s *stage) start() {
	if s.work == nil {
		return
	}
	s.alive.Store(int64(len(s.meters)))
	s.p.wg.Add(len(s.meters))
	for i := range s.meters {
		go s.runWorker(i)
	}
}

// runWorker runs one worker to its end, however it ends: the last one closes
// the output.
func (s *stage) runWorker(i int) {
	defer s.p.wg.Done()
	defer func() {
		if s.alive.Add(-1) == 0 && s.out != nil {
			s.out.close()
		}
	}()
	returned := false
	defer func() {
		if returned {
			return
		}
		s.meters[i].abandon()
		s.meters[i].failures.Add(1)
		s.fatal(newPanicError(recover()))
	}()
	s.work(i)
	returned = true
}

// fatal ends the whole run with err.
func (s *stage) fatal(err error) {
	s.p.cancel(&StageError{Pipeline: s.p.name, Stage: s.name, Err: err})
}

func (s *stage) errorf(format string, args ...any) error {
	return &StageError{Pipeline: s.p.name, Stage: s.name, Err: fmt.Errorf(format, args...)}
}

// cancelled says that the run is over and whatever an op returns now is not
// its fault.
func (s *stage) cancelled() bool { return s.p.ctx.Err() != nil }

// named is errorf for an error that may be nil.
func (s *stage) named(err error) error {
	if err == nil {
		return nil
	}
	return s.errorf("%w", err)
}

// give passes v on as a result of the item at pl, the last one or not; on false
// the run is over and v is discarded.
func (o *Port[T]) give(pl place, v T, last bool) bool {
	c := cell[T]{v: v, kind: full}
	if o.queue.ordered && o.queue.putNumbered(pl, c, last) ||
		!o.queue.ordered && o.queue.putInEpoch(pl, c, last) {
		return true
	}
	o.drop(v)
	return false
}

// skip says that nothing more comes of the item at pl, because of err if that
// is not nil. On false the run is over.
func (o *Port[T]) skip(pl place, err error) bool {
	c := cell[T]{kind: hole, err: err}
	if o.queue.traced {
		c.kind = tomb
	}
	switch {
	case o.queue.ordered:
		return o.queue.putNumbered(pl, c, true)
	case o.queue.traced:
		return o.queue.putInEpoch(pl, c, true)
	}
	return o.queue.finishInEpoch(pl.epoch)
}

// mark ends the epoch of pl, which has count items. On false the run is over.
func (o *Port[T]) mark(pl place, count uint64) bool {
	if o.queue.ordered {
		return o.queue.putNumbered(pl, cell[T]{kind: mark}, true)
	}
	return o.queue.endEpoch(pl.epoch, count) && o.queue.awaitEpochs()
}

// drop hands v to Discard. A panic there is kept for Wait, and the other items
// still get their turn.
func (o *Port[T]) drop(v T) {
	o.dropped.Add(1)
	if o.discard == nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			o.stage.lateFailure(fmt.Errorf("discard: %w", newPanicError(r)))
		}
	}()
	o.discard(v)
}

// lateFailure ends the run with err, or keeps err beside what has ended it.
func (s *stage) lateFailure(err error) {
	named := &StageError{Pipeline: s.p.name, Stage: s.name, Err: err}
	if s.p.cancel(named); context.Cause(s.p.ctx) == error(named) {
		return
	}
	s.p.mu.Lock()
	s.p.late = append(s.p.late, named)
	s.p.mu.Unlock()
}

func (o *Port[T]) emptyTime(atNs int64) int64 { return o.queue.emptyTime(atNs) }

func (o *Port[T]) reader() string          { return o.readBy }
func (o *Port[T]) close()                  { o.queue.Close() }
func (o *Port[T]) halt()                   { o.queue.Stop() }
func (o *Port[T]) reclaim()                { o.queue.Reclaim(o.drop) }
func (o *Port[T]) discards() uint64        { return o.dropped.Load() }
func (o *Port[T]) restartClock(atNs int64) { o.queue.restartClock(atNs) }

func (o *Port[T]) queueStats(name string, atNs int64) QueueStats {
	return o.queue.statsAt(name, atNs)
}
