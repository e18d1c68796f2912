package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// SourceOptions describe a source; all but Name may be left out.
type SourceOptions[T any] struct {
	Name string
	// Buffer is the number of items that may wait for the next stage; 0 means 2.
	Buffer int
	// Discard takes back an item that is not delivered; see Pipeline.Stop.
	Discard func(T)
}

// ErrEndOfEpoch is returned by a source's next, instead of an item, after the
// last item of an epoch, and by Results.Next when it has come through. The
// source is then asked for the next epoch's items.
var ErrEndOfEpoch = errors.New("end of epoch")

// Source adds a stage that produces the items. One goroutine calls next until
// it returns io.EOF, which ends the run once everything is delivered.
// ErrEndOfEpoch ends an epoch. Any other error ends the run at once.
//
// next may block; ctx ends on Stop, failure and Drain, and next must then
// return soon. An item it returns with a nil error is in flight even then; an
// error that comes with ctx's end is not a failure.
func Source[T any](p *Pipeline, o SourceOptions[T], next func(ctx context.Context) (T, error)) *Port[T] {
	s := newStage(p, "source", o.Name, 1)
	if next == nil {
		p.note(s.errorf("next is nil"))
	}
	out := newPort(s, orDefault(o.Buffer, 2), o.Discard)
	s.produce()
	s.alone = aloneSource(out, next)
	s.work = func(int) {
		m := &s.meters[0]
		for epoch := uint64(0); s.intake.Err() == nil; {
			m.begin()
			v, err := next(s.intake)
			m.end()
			switch {
			case err == nil:
				if !s.arrived(m) {
					out.drop(v)
					return
				}
				if !out.give(place{epoch: epoch}, v, false) {
					return
				}
			case errors.Is(err, ErrEndOfEpoch):
				out.mark(place{epoch: epoch}, 0)
				epoch++
			default:
				s.sourceEnded(m, err)
				return
			}
		}
	}
	return out
}

// produce makes s a source: its intake can be ended apart from the others'.
func (s *stage) produce() { s.sources = []*stage{s} }

// arrived counts an item that a source has made.
func (s *stage) arrived(m *meter) bool {
	m.count()
	if err := s.p.whole.arrive(); err != nil {
		s.fatal(err)
		return false
	}
	return true
}

// sourceEnded tells an end from a failure.
func (s *stage) sourceEnded(m *meter, err error) {
	ended := errors.Is(err, io.EOF)
	drained := s.intake.Err() != nil && errors.Is(err, context.Canceled)
	if ended || drained || s.cancelled() {
		return
	}
	m.failures.Add(1)
	s.fatal(fmt.Errorf("next: %w", err))
}

// orDefault returns n, or otherwise where n is left out.
func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
