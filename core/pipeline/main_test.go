package pipeline

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen before it fails.
const patience = 20 * time.Second

// leavesNothing fails the test if goroutines outlive it.
func leavesNothing(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		deadline := time.Now().Add(patience)
		for runtime.NumGoroutine() > before {
			if time.Now().After(deadline) {
				stacks := make([]byte, 1<<16)
				t.Fatalf("%d goroutines left, %d before:\n%s", runtime.NumGoroutine(), before,
					stacks[:runtime.Stack(stacks, true)])
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// await fails the test if c is not closed or sent to in time.
func await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %v for %s", patience, what)
		panic("unreachable")
	}
}

// until fails the test if cond does not come true in time.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v until %s", patience, what)
		}
	}
}

// wait returns what the run ended with.
func wait(t *testing.T, p *Pipeline) error {
	t.Helper()
	await(t, p.Done(), "the end of the run")
	return p.Err()
}

// A ledger follows every item from the source to its one end.
type ledger struct {
	mu        sync.Mutex
	made      []int
	delivered []int
	discarded []int
}

// source makes n items 0, 1, 2 ...; n below 0 means without end.
func (l *ledger) source(n int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.made) == n {
			return 0, io.EOF
		}
		l.made = append(l.made, len(l.made))
		return len(l.made) - 1, nil
	}
}

func (l *ledger) deliver(v int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delivered = append(l.delivered, v)
}

func (l *ledger) discard(v int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.discarded = append(l.discarded, v)
}

func (l *ledger) sink(_ context.Context, v int) error {
	l.deliver(v)
	return nil
}

func (l *ledger) counts() (made, delivered, discarded int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.made), len(l.delivered), len(l.discarded)
}

// balanced fails the test unless every item made was delivered or discarded,
// once.
func (l *ledger) balanced(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	ends := slices.Concat(l.delivered, l.discarded)
	slices.Sort(ends)
	if !slices.Equal(ends, l.made) {
		t.Fatalf("made %d items, delivered %d, discarded %d: not each exactly once\nends %v",
			len(l.made), len(l.delivered), len(l.discarded), ends)
	}
}

// all fails the test unless everything made was delivered.
func (l *ledger) all(t *testing.T) {
	t.Helper()
	l.balanced(t)
	if len(l.discarded) > 0 {
		t.Fatalf("discarded %v, want everything delivered", l.discarded)
	}
}

// inOrder fails the test unless items were delivered in the order made.
func (l *ledger) inOrder(t *testing.T) {
	t.Helper()
	if !slices.IsSorted(l.delivered) {
		t.Fatalf("delivered out of order: %v", l.delivered)
	}
}

func (l *ledger) from(p *Pipeline, n int) *Port[int] {
	return Source(p, SourceOptions[int]{Name: "plan", Discard: l.discard}, l.source(n))
}

func same(_ context.Context, v int) (int, error) { return v, nil }

var errBoom = errors.New("boom")

// jitter passes v on after a moment, so that items overtake each other.
func jitter(_ context.Context, v int) (int, error) {
	for range rand.IntN(20) {
		runtime.Gosched()
	}
	return v, nil
}
