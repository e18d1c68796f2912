package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Nested adds a source that brings the results of another pipeline, which must
// not be started: it starts with this one and ends no later. Epochs pass
// through. Drain drains it too, Stop and a failure stop it; its own failure is a
// failure of this stage, and names the inner stage. What a stopped inner
// pipeline has in flight goes to the Discards of its own stages.
func Nested[T any](p *Pipeline, o SourceOptions[T], inner *Results[T]) *Port[T] {
	var s *stage
	started, foreign := false, false
	port := Source(p, o, func(context.Context) (v T, err error) {
		if !started {
			if err = inner.p.Start(p.ctx); err != nil {
				foreign = errors.Is(err, ErrStarted)
				return v, err
			}
			started = true
			context.AfterFunc(s.intake, inner.p.Drain)
		}
		v, err = inner.Next(p.ctx)
		if err == nil || errors.Is(err, ErrEndOfEpoch) || err == io.EOF || s.cancelled() {
			return v, err
		}
		s.fatal(fmt.Errorf("nested %w", err))
		return v, err
	})
	s = port.stage
	s.kind, s.alone = "nested", nil
	if inner.p == p {
		p.note(s.errorf("the pipeline is its own source; nest another one"))
	}
	work := s.work
	s.work = func(i int) {
		defer func() {
			if !foreign {
				inner.p.Stop() // nothing to stop if it has ended; never to start if it has not
				_ = inner.p.Wait()
			}
		}()
		work(i)
	}
	return port
}
