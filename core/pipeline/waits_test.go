package pipeline

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// gate is a source of n items that come one for each time it is opened.
func gate(p *Pipeline, n int) (from *Port[int], open func()) {
	next := make(chan struct{}, n)
	from = Source(p, SourceOptions[int]{Name: "src"}, func(ctx context.Context) (int, error) {
		if n == 0 {
			return 0, io.EOF
		}
		select {
		case <-next:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		n--
		return n, nil
	})
	return from, func() { next <- struct{}{} }
}

// inSlices calls take with n timeouts of a slice; each must pass.
func inSlices(t *testing.T, n int, slice time.Duration, take func(context.Context) error) {
	t.Helper()
	for range n {
		ctx, cancel := context.WithTimeout(context.Background(), slice)
		if err := take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the timeout", err)
		}
		cancel()
	}
}

// waitedFor checks a wait of one get: it lasted least to most, and shows as one.
func waitedFor(t *testing.T, got Times, least, most time.Duration) {
	t.Helper()
	if got.Count != 1 || got.SumNs < int64(least) || got.SumNs > int64(most) || got.MaxNs != got.SumNs {
		t.Errorf("%+v, want one wait of %v to %v", got, least, most)
	}
}

// A result that was asked for in slices was waited for in all of them, not only in the last; and the slices that brought nothing
// are seen before it comes. In a bubble, as a machine that stands still before a wait begins makes it shorter.
func TestAWaitForAResultInSlicesIsOneWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := New("t")
		from, open := gate(p, 1)
		r := Pull(from, ResultsOptions{Name: "out"})
		start(t, p)
		begun := time.Now()
		inSlices(t, 5, 20*time.Millisecond, func(ctx context.Context) error {
			_, err := r.Next(ctx)
			return err
		})
		const least = 5 * 19 * time.Millisecond // a timeout's clock runs before the wait's
		if got := p.Stats().Queues[0].GetWait; got.Count != 0 || got.SumNs < int64(least) {
			t.Errorf("before it came: %+v, want none and at least %v", got, least)
		}
		open()
		if _, err := r.Next(context.Background()); err != nil {
			t.Fatal(err)
		}
		waitedFor(t, p.Stats().Queues[0].GetWait, least, time.Since(begun))
		if _, err := r.Next(context.Background()); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		must(t, wait(t, p))
	})
}

// A host's thread that asks for work in slices has waited in all of them.
func TestAWaitForWorkInSlicesIsOneWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := New("t")
		from, open := gate(p, 1)
		x, out := ExternalMap(from, ExternalOptions[int]{Name: "host"})
		r := Pull(out, ResultsOptions{Name: "out"})
		start(t, p)
		begun := time.Now()
		inSlices(t, 5, 20*time.Millisecond, func(ctx context.Context) error {
			_, err := x.Take(ctx)
			return err
		})
		open()
		w, err := x.Take(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		waitedFor(t, p.Stats().Queues[0].GetWait, 5*19*time.Millisecond, time.Since(begun))
		must(t, x.Give(w.Token, Result[int]{Value: w.Item}))
		if got := fetch(t, r); len(got) != 1 {
			t.Errorf("got %v, want one result", got)
		}
		must(t, wait(t, p))
	})
}

// A wait that goes on is in the sum, which never falls; it is counted when it ends.
func TestAWaitIsSeenWhileItGoesOn(t *testing.T) {
	q := NewQueue[int](1)
	got := make(chan int)
	for range 2 {
		go func() { v, _ := q.Get(); got <- v }()
	}
	until(t, "two getters to wait", func() bool { return waiters(q) == [2]int{0, 2} })
	var last Times
	until(t, "the two waits to be seen", func() bool {
		s := q.Stats("q").GetWait
		if s.SumNs < last.SumNs || s.Count != 0 {
			t.Fatalf("%+v after %+v", s, last)
		}
		last = s
		return s.SumNs >= int64(20*time.Millisecond)
	})
	for v := range 2 {
		q.Put(v)
		await(t, got, "a value")
	}
	if s := q.Stats("q").GetWait; s.Count != 2 || s.SumNs < last.SumNs {
		t.Errorf("%+v after %+v, want two", s, last)
	}
}
