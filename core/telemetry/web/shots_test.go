package web

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// However seldom somebody asks, the interval is about as long as it should be, while snapshots are kept for who asks next.
func TestIntervalDoesNotGrowWithThePauseBetweenRequests(t *testing.T) {
	f := newFake()
	s := &shots{pace: pace{every: 50 * time.Millisecond, span: 400 * time.Millisecond, keep: time.Minute}, take: f.Snapshot}
	defer s.close()
	right := false
	for i := 0; i < 2 || i < 8 && !right; i++ { // more where the machine stood still
		before, now, err := s.interval(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got := between(&before, &now); got > 700*time.Millisecond || got < s.every/2 {
			t.Errorf("request %d: an interval of %v, want about %v", i, got, s.span)
		} else if got >= s.span/2 {
			right = true
		}
		time.Sleep(1100 * time.Millisecond)
	}
	if !right {
		t.Errorf("no interval of about %v", s.span)
	}
}

// Who waits for the second snapshot keeps nobody from the end of it all, and is told of it.
func TestCloseDoesNotWaitForWhoAsks(t *testing.T) {
	f := newFake()
	s := &shots{pace: pace{every: time.Hour, span: time.Hour, keep: time.Hour}, take: f.Snapshot}
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	asked := make(chan error, 1)
	go func() {
		_, _, err := s.interval(ctx)
		asked <- err
	}()
	for f.looks.Load() == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	s.close()
	if ctx.Err() != nil {
		t.Error("close has waited for who asks")
	}
	cancel()
	if err := <-asked; err == nil {
		t.Error("got an interval, want an error")
	}
	if _, _, err := s.interval(context.Background()); err != http.ErrServerClosed {
		t.Errorf("got %v after the end, want %v", err, http.ErrServerClosed)
	}
}

// Nobody's engine is looked at for longer than a while after the last request, nor after the end.
func TestSnapshotsEndWhenNobodyAsks(t *testing.T) {
	for name, c := range map[string]struct {
		keep time.Duration
		end  func(*shots)
	}{
		"nobody asks": {60 * time.Millisecond, func(*shots) {}}, "closed": {time.Hour, (*shots).close},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			s := &shots{pace: pace{every: time.Millisecond, span: 20 * time.Millisecond, keep: c.keep}, take: f.Snapshot}
			defer s.close()
			if _, _, err := s.interval(context.Background()); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(watchdog); f.looks.Load() < 4; time.Sleep(time.Millisecond) {
				if c.keep < time.Second && resting(s) {
					break // the machine stood still
				}
				if time.Now().After(end) {
					t.Fatal("no snapshot for who asks next")
				}
			}
			c.end(s)
			for end := time.Now().Add(watchdog); !resting(s); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("snapshots go on")
				}
			}
			looks := f.looks.Load()
			if time.Sleep(100 * time.Millisecond); f.looks.Load() != looks {
				t.Errorf("%d more snapshots after the end", f.looks.Load()-looks)
			}
		})
	}
}

func resting(s *shots) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.timer == nil || s.closed
}
