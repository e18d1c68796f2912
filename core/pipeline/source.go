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

// Source adds a stage that produces the items. One goroutine calls next until
// it returns io.EOF, which ends the run once everything is delivered. Any other
// error ends it at once.
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
	s.work = func(int) {
		m := &s.meters[0]
		for p.intake.Err() == nil {
			m.begin()
			v, err := next(p.intake)
			m.end()
			if err != nil {
				s.sourceEnded(m, err)
				return
			}
			m.items.Add(1)
			if !out.put(v) {
				return
			}
		}
	}
	return out
}

// sourceEnded tells an end from a failure.
func (s *stage) sourceEnded(m *meter, err error) {
	ended := errors.Is(err, io.EOF)
	drained := s.p.intake.Err() != nil && errors.Is(err, context.Canceled)
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
