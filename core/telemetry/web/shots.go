package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/spdl/spdl/core/telemetry"
)

// pace is how often an engine is looked at.
type pace struct {
	every time.Duration // two snapshots are at least so far apart
	span  time.Duration // about so far apart are the two of an interval
	keep  time.Duration // so long after somebody has asked snapshots go on, for whoever asks next
}

var usual = pace{every: 400 * time.Millisecond, span: 2 * time.Second, keep: 30 * time.Second}

// shots are snapshots of the last seconds. All who ask share them. One is taken for who asks, and while somebody has asked lately a timer
// takes others, so that there is one of the right age for the next.
type shots struct {
	pace
	take func() telemetry.Snapshot

	mu     sync.Mutex           // guards the rest
	all    []telemetry.Snapshot // oldest first
	asked  time.Time
	timer  *time.Timer // nil: nobody has asked lately
	closed bool
}

// interval is the newest snapshot and one of about a span before. Where nobody has asked lately it looks twice.
func (s *shots) interval(ctx context.Context) (before, now telemetry.Snapshot, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = time.Now()
	if s.timer == nil && !s.closed {
		s.timer = time.AfterFunc(s.span/2, s.tick)
	}
	for {
		if s.closed {
			return before, now, http.ErrServerClosed
		}
		s.look()
		if len(s.all) > 1 {
			break
		}
		if err := s.pause(ctx); err != nil {
			return before, now, err
		}
	}
	now = s.all[len(s.all)-1]
	before = s.all[0]
	for _, shot := range s.all[:len(s.all)-1] {
		if s.off(&shot, &now) < s.off(&before, &now) {
			before = shot
		}
	}
	return before, now, nil
}

// tick takes a snapshot for whoever asks next.
func (s *shots) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || time.Since(s.asked) > s.keep {
		s.timer = nil
		return
	}
	s.look()
	s.timer.Reset(s.span / 2)
}

// close ends the snapshots; none is taken afterwards.
func (s *shots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// All that follows runs with mu held.

// look takes a snapshot, unless there is one of just now, and forgets those that are too old for an interval.
func (s *shots) look() {
	if n := len(s.all); n == 0 || age(&s.all[n-1]) >= s.every {
		s.all = append(s.all, s.take())
	}
	now := &s.all[len(s.all)-1]
	for len(s.all) > 1 && between(&s.all[0], now) > s.span*3/2 {
		s.all = s.all[1:]
	}
}

// pause waits until the next snapshot is due, without mu: others may ask, or close, meanwhile.
func (s *shots) pause(ctx context.Context) error {
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-time.After(s.every):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// off is how far an interval is from the right length.
func (s *shots) off(before, now *telemetry.Snapshot) time.Duration {
	return (between(before, now) - s.span).Abs()
}

func between(before, now *telemetry.Snapshot) time.Duration {
	return time.Duration(now.AtNs - before.AtNs)
}
