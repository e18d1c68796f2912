package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// held checks a byte budget from outside: the sum of grants stays within the
// limit unless one holder has all of it.
type held struct {
	mu    sync.Mutex
	bytes int64
	n     int
	limit int64
	worst int64
}

func (h *held) add(t *testing.T, n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes += n
	h.n++
	if h.bytes > h.limit && h.n > 1 {
		t.Errorf("%d bytes held by %d, limit %d", h.bytes, h.n, h.limit)
	}
	h.worst = max(h.worst, h.bytes)
}

func (h *held) sub(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes -= n
	h.n--
}

func TestBudgetIsNeverExceededExceptByOneItemAlone(t *testing.T) {
	leavesNothing(t)
	const limit = 10
	budget, h := NewBytes(limit), &held{limit: limit}
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 500 {
				n := 1 + rand.Int64N(13) // sometimes more than the limit
				if err := budget.Acquire(context.Background(), n); err != nil {
					t.Error(err)
					return
				}
				h.add(t, n)
				runtime.Gosched()
				h.sub(n)
				budget.Release(n)
			}
		}()
	}
	wg.Wait()
	s := budget.Stats()
	if s.Used != 0 || s.Peak < h.worst || s.Peak > 13 || s.Wait.Count != 4000 || s.Limit != limit {
		t.Fatalf("stats %+v, worst seen %d", s, h.worst)
	}
	if h.worst <= limit {
		t.Fatal("no item was larger than the budget; the test proves nothing")
	}
}

func TestBudgetServesInOrderOfArrival(t *testing.T) {
	leavesNothing(t)
	budget := NewBytes(10)
	ctx := context.Background()
	if err := budget.Acquire(ctx, 6); err != nil {
		t.Fatal(err)
	}
	order := make(chan int64)
	for i, n := range []int64{10, 1, 2} { // the small ones would fit now
		go func() {
			if err := budget.Acquire(ctx, n); err != nil {
				t.Error(err)
			}
			order <- n
		}()
		until(t, "it waits", func() bool { return budget.Stats().Waiting == i+1 })
	}
	budget.Release(6)
	if first := await(t, order, "the first grant"); first != 10 {
		t.Fatalf("%d bytes were granted first, want the 10 asked for first", first)
	}
	if w := budget.Stats().Waiting; w != 2 {
		t.Fatalf("%d wait, want 2", w)
	}
	budget.Release(10)
	await(t, order, "the second grant")
	await(t, order, "the third grant")
	budget.Release(3)
}

func TestACancelledWaitTakesNothingAndLetsTheNextPass(t *testing.T) {
	leavesNothing(t)
	budget := NewBytes(10)
	if err := budget.Acquire(context.Background(), 6); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	big, small := make(chan error), make(chan error)
	go func() { big <- budget.Acquire(ctx, 9) }()
	until(t, "the big one waits", func() bool { return budget.Stats().Waiting == 1 })
	go func() { small <- budget.Acquire(context.Background(), 4) }()
	until(t, "the small one waits behind it", func() bool { return budget.Stats().Waiting == 2 })
	cancel(errBoom)
	if err := await(t, big, "the cancelled wait"); !errors.Is(err, errBoom) {
		t.Fatalf("got %v, want the context's cause", err)
	}
	if err := await(t, small, "the wait behind it"); err != nil {
		t.Fatal(err)
	}
	if err := budget.Acquire(ctx, 0); !errors.Is(err, errBoom) {
		t.Fatalf("got %v from an ended context, want its cause", err)
	}
	if used := budget.Stats().Used; used != 10 {
		t.Fatalf("%d bytes used, want 10", used)
	}
}

// Grants and cancels that meet lose no bytes.
func TestCancelsThatRaceWithGrantsLoseNothing(t *testing.T) {
	leavesNothing(t)
	budget := NewBytes(3)
	var wg sync.WaitGroup
	for range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 300 {
				ctx, cancel := context.WithCancel(context.Background())
				go cancel()
				if budget.Acquire(ctx, 2) == nil {
					runtime.Gosched()
					budget.Release(2)
				}
				cancel()
			}
		}()
	}
	wg.Wait()
	if s := budget.Stats(); s.Used != 0 || s.Waiting != 0 {
		t.Fatalf("%d bytes used and %d waiting at the end, want 0", s.Used, s.Waiting)
	}
}

func TestBudgetRefusesANegativeAmount(t *testing.T) {
	err := NewBytes(1).Acquire(context.Background(), -4)
	if err == nil || !strings.Contains(err.Error(), "acquire -4 bytes, want 0 or more") {
		t.Fatalf("got %v", err)
	}
}

func TestReleasingMoreThanWasTakenPanics(t *testing.T) {
	for name, release := range map[string]func(){
		"bytes":    func() { NewBytes(5).Release(1) },
		"negative": func() { NewBytes(5).Release(-1) },
		"limiter":  func() { NewLimiter(1).Release() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			release()
		}()
	}
}

// The bytes of a stage's items are charged in input order until a later stage
// releases them; an item larger than the budget passes alone.
func TestAStageHoldsItsBudget(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		const limit = 20
		budget, h := NewBytes(limit), &held{limit: limit}
		size := func(v int) int64 { return 1 + int64(v%25) }
		l, p := &ledger{}, New("t")
		fetch := Map(l.from(p, 500), Options[int, int]{
			Name: "fetch", Concurrency: 8, Output: order, Budget: budget, Cost: size, Discard: l.discard,
			Failures: Failures{MaxCount: -1},
		}, func(ctx context.Context, v int) (int, error) {
			if v%10 == 3 {
				return 0, errBoom // the pipeline releases
			}
			h.add(t, size(v))
			return jitter(ctx, v)
		})
		decode := Map(fetch, Options[int, int]{Name: "decode", Concurrency: 2}, func(ctx context.Context, v int) (int, error) {
			h.sub(size(v))
			budget.Release(size(v))
			return v, nil
		})
		Sink(decode, SinkOptions{Name: "out"}, l.sink)
		if err := p.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		l.balanced(t)
		if s := budget.Stats(); s.Used != 0 || s.Peak < limit {
			t.Fatalf("used %d at the end, peak %d: want 0, and the limit %d reached", s.Used, s.Peak, limit)
		}
	}
}

func TestANegativeCostEndsTheRun(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	a := Map(l.from(p, 3), Options[int, int]{Name: "a", Budget: NewBytes(1), Cost: func(int) int64 { return -1 }}, same)
	Sink(a, SinkOptions{Name: "out"}, l.sink)
	err := p.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), `stage "a": pipeline: byte budget: acquire -1 bytes`) {
		t.Fatalf("got %v, want the stage and the amount", err)
	}
	l.balanced(t)
}

func TestStopEndsAWaitForBytesAndForAdmission(t *testing.T) {
	leavesNothing(t)
	budget, limiter := NewBytes(1), NewLimiter(1)
	ctx := context.Background()
	if budget.Acquire(ctx, 1) != nil || limiter.Acquire(ctx) != nil {
		t.Fatal("a fresh limit refuses")
	}
	for name, o := range map[string]Options[int, int]{
		"bytes":     {Budget: budget, Cost: func(int) int64 { return 1 }},
		"admission": {Limiter: limiter},
	} {
		l, p := &ledger{}, New("t")
		o.Name, o.Concurrency = "a", 3
		Sink(Map(l.from(p, -1), o, same), SinkOptions{Name: "out"}, l.sink)
		if err := p.Start(ctx); err != nil {
			t.Fatal(err)
		}
		until(t, name+" is waited for", func() bool { return budget.Stats().Waiting+limiter.Stats().Waiting > 0 })
		p.Stop()
		if err := wait(t, p); !errors.Is(err, ErrStopped) {
			t.Fatalf("%s: got %v, want ErrStopped", name, err)
		}
		l.balanced(t)
	}
	if b, a := budget.Stats(), limiter.Stats(); b.Used != 1 || a.Used != 1 || b.Waiting+a.Waiting != 0 {
		t.Fatalf("after the end: bytes %+v, admissions %+v", b, a)
	}
}

func TestOneLimiterBoundsTheOpsOfSeveralPipelines(t *testing.T) {
	leavesNothing(t)
	const n = 3
	limiter := NewLimiter(n)
	var running, worst atomic.Int64
	op := func(_ context.Context, v int) (int, error) {
		now := running.Add(1)
		for seen := worst.Load(); now > seen && !worst.CompareAndSwap(seen, now); seen = worst.Load() {
		}
		runtime.Gosched()
		running.Add(-1)
		return v, nil
	}
	var pipes []*Pipeline
	var ledgers []*ledger
	for range 3 {
		l, p := &ledger{}, New("t")
		a := Map(l.from(p, 300), Options[int, int]{Name: "a", Concurrency: n, Limiter: limiter}, op)
		Sink(a, SinkOptions{Name: "out"}, l.sink)
		if err := p.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		pipes, ledgers = append(pipes, p), append(ledgers, l)
	}
	for i, p := range pipes {
		if err := wait(t, p); err != nil {
			t.Fatal(err)
		}
		ledgers[i].all(t)
	}
	if w := worst.Load(); w > n || w < 2 {
		t.Fatalf("%d ops ran at once, want 2 to %d", w, n)
	}
	if s := limiter.Stats(); s.Used != 0 || s.Peak != n || s.Wait.Count != 900 {
		t.Fatalf("limiter stats %+v", s)
	}
}
