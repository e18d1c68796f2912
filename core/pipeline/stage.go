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
}

// An outlet is what the pipeline needs of a Port, whatever it carries.
type outlet interface {
	reader() string
	close()
	halt()
	reclaim()
	discards() uint64
	restartClock(atNs int64)
	queueStats(name string, atNs int64) QueueStats
}

// A stage is a set of workers, each a goroutine that runs work, and their
// output.
type stage struct {
	p      *Pipeline
	name   string
	kind   string
	work   func(worker int)
	out    outlet // nil for a sink
	meters []meter
	alive  atomic.Int64 // workers
}

func newStage(p *Pipeline, kind, name string, workers int) *stage {
	s := &stage{p: p, name: name, kind: kind, meters: make([]meter, max(workers, 1))}
	p.add(s)
	if workers < 0 {
		p.note(s.errorf("concurrency %d, want 1 or more", workers))
	}
	return s
}

// newPort makes s's output, a queue of the given capacity.
func newPort[T any](s *stage, capacity int, discard func(T)) *Port[T] {
	if capacity < 0 {
		s.p.note(s.errorf("buffer %d, want 0 (the default) or more", capacity))
	}
	port := &Port[T]{stage: s, queue: NewQueue[T](capacity), discard: discard}
	s.out = port
	return port
}

// readFrom makes s the one reader of in.
func readFrom[T any](s *stage, in *Port[T]) {
	if in.readBy != "" {
		s.p.note(s.errorf("stage %q is already read by %q; a port has one reader", in.stage.name, in.readBy))
	}
	in.readBy = s.name
	if in.readBy == "" {
		in.readBy = "?"
	}
}

func (s *stage) begin(atNs int64) {
	if s.out != nil {
		s.out.restartClock(atNs)
	}
}

func (s *stage) start() {
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

// put passes v on; on false the run is over and v is discarded.
func (o *Port[T]) put(v T) bool {
	if o.queue.Put(v) {
		return true
	}
	o.drop(v)
	return false
}

// putNumbered is put into an ordered output.
func (o *Port[T]) putNumbered(n uint64, v T) bool {
	if o.queue.putNumbered(n, cell[T]{v: v, kind: full}) {
		return true
	}
	o.drop(v)
	return false
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

func (o *Port[T]) reader() string          { return o.readBy }
func (o *Port[T]) close()                  { o.queue.Close() }
func (o *Port[T]) halt()                   { o.queue.Stop() }
func (o *Port[T]) reclaim()                { o.queue.Reclaim(o.drop) }
func (o *Port[T]) discards() uint64        { return o.dropped.Load() }
func (o *Port[T]) restartClock(atNs int64) { o.queue.restartClock(atNs) }

func (o *Port[T]) queueStats(name string, atNs int64) QueueStats {
	return o.queue.statsAt(name, atNs)
}
