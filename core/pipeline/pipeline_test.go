package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestEveryItemIsDeliveredBeforeTheEnd(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	a := Map(l.from(p, 1000), Options[int, int]{Name: "a", Concurrency: 4, Discard: l.discard}, same)
	b := Map(a, Options[int, int]{Name: "b", Concurrency: 3, Discard: l.discard}, same)
	Sink(b, SinkOptions{Name: "out"}, l.sink)
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	l.all(t)
	if len(l.delivered) != 1000 {
		t.Fatalf("delivered %d, want 1000", len(l.delivered))
	}
}

func TestAnEmptySourceEndsTheRun(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		l, p := &ledger{}, New("t")
		a := Map(l.from(p, 0), Options[int, int]{Name: "a", Concurrency: 4, Output: order}, same)
		Sink(a, SinkOptions{Name: "out"}, l.sink)
		if err := p.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		l.all(t)
	}
}

func TestInputOrderHoldsUnderRandomDelays(t *testing.T) {
	leavesNothing(t)
	for _, concurrency := range []int{1, 3, 8} {
		for _, buffer := range []int{0, 1, 5} {
			l, p := &ledger{}, New("t")
			o := Options[int, int]{Name: "a", Concurrency: concurrency, Buffer: buffer, Output: Input}
			a := Map(l.from(p, 400), o, func(_ context.Context, v int) (int, error) {
				if rand.IntN(4) == 0 {
					time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
				}
				return v, nil
			})
			Sink(a, SinkOptions{Name: "out"}, l.sink)
			if err := p.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			l.all(t)
			l.inOrder(t)
		}
	}
}

// A slow first item holds its successors back, but only as many as fit.
func TestInputOrderHoldsBackABoundedNumber(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	release := make(chan struct{})
	var started atomic.Int64
	o := Options[int, int]{Name: "a", Concurrency: 3, Buffer: 2, Output: Input}
	a := Map(l.from(p, 100), o, func(_ context.Context, v int) (int, error) {
		if started.Add(1); v == 0 {
			<-release
		}
		return v, nil
	})
	Sink(a, SinkOptions{Name: "out"}, l.sink)
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	// Window 5 (0..4), and two workers wait with 5 and 6 in hand.
	until(t, "seven items have started", func() bool { return started.Load() == 7 })
	until(t, "two workers wait for room and the sink for item 0", func() bool { return waiters(a.queue) == [2]int{2, 1} })
	if n := started.Load(); n != 7 {
		t.Fatalf("%d items started behind a slow one, want 7", n)
	}
	close(release)
	if err := wait(t, p); err != nil {
		t.Fatal(err)
	}
	l.all(t)
	l.inOrder(t)
}

func TestCompletionOrderLetsFastItemsPass(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	release := make(chan struct{})
	a := Map(l.from(p, 10), Options[int, int]{Name: "a", Concurrency: 2},
		func(_ context.Context, v int) (int, error) {
			if v == 0 {
				<-release
			}
			return v, nil
		})
	Sink(a, SinkOptions{Name: "out"}, func(_ context.Context, v int) error {
		if l.deliver(v); v == 9 {
			close(release)
		}
		return nil
	})
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := wait(t, p); err != nil {
		t.Fatal(err)
	}
	if l.all(t); l.delivered[9] != 0 {
		t.Fatalf("delivered %v, want the held item last", l.delivered)
	}
}

// Back-pressure has filled every queue and every worker waits when Stop comes.
func TestStopWhileFullDiscardsAllThatIsInFlight(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		l, p := &ledger{}, New("t")
		a := Map(l.from(p, -1), Options[int, int]{Name: "a", Concurrency: 3, Output: order, Discard: l.discard}, same)
		inSink := make(chan struct{})
		Sink(a, SinkOptions{Name: "out"}, func(ctx context.Context, v int) error {
			close(inSink)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if err := p.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		await(t, inSink, "the first item")
		// In the sink 1, in a's queue 3 (6 in input order), in its workers' hands
		// 3, in the source's queue 2, in its hand 1.
		want := 10
		if order == Input {
			want = 13
		}
		until(t, "everything is full", func() bool {
			made, _, _ := l.counts()
			return made == want
		})
		p.Stop()
		if err := wait(t, p); !errors.Is(err, ErrStopped) {
			t.Fatalf("got %v, want ErrStopped", err)
		}
		l.balanced(t)
		if made, _, discarded := l.counts(); made != want || discarded != made {
			t.Fatalf("made %d, discarded %d, want %d and all discarded", made, discarded, want)
		}
		if s := p.Stats(); s.Stages[2].Failures != 0 {
			t.Fatal("an op cut short by Stop counts as a failure")
		}
	}
}

// Every worker waits for items and the source waits for its own context.
func TestStopWhileEmptyEndsEveryWait(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	waiting := make(chan struct{})
	src := Source(p, SourceOptions[int]{Name: "plan"}, func(ctx context.Context) (int, error) {
		close(waiting)
		<-ctx.Done()
		return 0, context.Cause(ctx)
	})
	a := Map(src, Options[int, int]{Name: "a", Concurrency: 5}, same)
	b := Map(a, Options[int, int]{Name: "b", Concurrency: 5, Output: Input}, same)
	Sink(b, SinkOptions{Name: "out"}, l.sink)
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	await(t, waiting, "the source")
	p.Stop()
	p.Stop()
	err := wait(t, p)
	if !errors.Is(err, ErrStopped) {
		t.Fatalf("got %v, want ErrStopped", err)
	}
	if want := `pipeline: "t": stopped before its end`; err.Error() != want {
		t.Fatalf("got %q, want %q", err, want)
	}
}

func TestTheEndOfTheContextEndsTheRunWithItsCause(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	a := Map(l.from(p, -1), Options[int, int]{Name: "a", Concurrency: 2, Discard: l.discard}, same)
	Sink(a, SinkOptions{Name: "out"}, l.sink)
	ctx, cancel := context.WithCancelCause(context.Background())
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	cancel(errBoom)
	if err := wait(t, p); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), `"t"`) {
		t.Fatalf("got %v, want the context's cause under the pipeline's name", err)
	}
	l.balanced(t)
}

func TestStopAtAnyMomentLosesNothing(t *testing.T) {
	leavesNothing(t)
	for round := range 300 {
		l, p := &ledger{}, New("t")
		budget := NewBytes(5)
		a := Map(l.from(p, -1), Options[int, int]{
			Name: "a", Concurrency: 3, Buffer: 1 + round%3, Output: Order(round % 2),
			Budget: budget, Cost: func(v int) int64 { return int64(v%7) + 1 },
			Discard: func(v int) { budget.Release(int64(v%7) + 1); l.discard(v) },
		}, same)
		b := Map(a, Options[int, int]{
			Name: "b", Concurrency: 2, Output: Order(round / 2 % 2), Limiter: NewLimiter(1),
			Failures: Failures{MaxCount: -1}, Discard: l.discard,
		}, func(_ context.Context, v int) (int, error) {
			if v%11 == 0 {
				return 0, errBoom // the pipeline discards v, whose Discard releases
			}
			budget.Release(int64(v%7) + 1)
			return v, nil
		})
		Sink(b, SinkOptions{Name: "out"}, l.sink)
		if err := p.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		for range rand.IntN(300) {
			runtime.Gosched()
		}
		p.Stop()
		if err := wait(t, p); !errors.Is(err, ErrStopped) {
			t.Fatalf("got %v, want ErrStopped", err)
		}
		l.balanced(t)
		if used := budget.Stats().Used; used != 0 {
			t.Fatalf("round %d: %d bytes still charged after the end", round, used)
		}
	}
}

func TestDrainDeliversWhatIsInFlightAndNothingMore(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		l, p := &ledger{}, New("t")
		release := make(chan struct{})
		reached := make(chan struct{}, 4)
		a := Map(l.from(p, -1), Options[int, int]{Name: "a", Concurrency: 4, Output: order, Discard: l.discard},
			func(_ context.Context, v int) (int, error) {
				if v < 4 {
					reached <- struct{}{}
					<-release
				}
				return v, nil
			})
		Sink(a, SinkOptions{Name: "out"}, l.sink)
		if err := p.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			await(t, reached, "four items in flight")
		}
		until(t, "the source waits for room", func() bool {
			made, _, _ := l.counts()
			return made == 4+2+1
		})
		p.Drain()
		p.Drain()
		if s := p.Stats().State; s != Draining {
			t.Fatalf("state %q, want draining", s)
		}
		close(release)
		if err := wait(t, p); err != nil {
			t.Fatalf("a drained run ended with %v, want nil", err)
		}
		l.all(t)
		if len(l.delivered) != 7 {
			t.Fatalf("delivered %d, want the 7 that were in flight", len(l.delivered))
		}
	}
}

func TestDrainEndsASourceThatWaits(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	waiting := make(chan struct{})
	given := false
	src := Source(p, SourceOptions[int]{Name: "plan"}, func(ctx context.Context) (int, error) {
		if !given {
			given = true
			return 0, nil
		}
		close(waiting)
		<-ctx.Done()
		return 0, fmt.Errorf("wait for a slot: %w", ctx.Err())
	})
	Sink(src, SinkOptions{Name: "out"}, l.sink)
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	await(t, waiting, "the source")
	p.Drain()
	if err := wait(t, p); err != nil {
		t.Fatal(err)
	}
	if len(l.delivered) != 1 {
		t.Fatalf("delivered %v, want the one item", l.delivered)
	}
}

// An error that only happens to come while draining is still a failure.
func TestDrainDoesNotHideAFailureOfTheSource(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	waiting := make(chan struct{})
	src := Source(p, SourceOptions[int]{Name: "plan"}, func(ctx context.Context) (int, error) {
		close(waiting)
		<-ctx.Done()
		return 0, errBoom
	})
	Sink(src, SinkOptions{Name: "out"}, func(context.Context, int) error { return nil })
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	await(t, waiting, "the source")
	p.Drain()
	if err := wait(t, p); !errors.Is(err, errBoom) {
		t.Fatalf("got %v, want the source's error", err)
	}
}

func TestStopOverrulesDrain(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	stuck := make(chan struct{}, 1)
	a := Map(l.from(p, -1), Options[int, int]{Name: "a", Discard: l.discard},
		func(ctx context.Context, v int) (int, error) {
			select {
			case stuck <- struct{}{}:
			default:
			}
			<-ctx.Done()
			return v, nil
		})
	Sink(a, SinkOptions{Name: "out"}, l.sink)
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	await(t, stuck, "an op that waits")
	p.Drain()
	p.Stop()
	if err := wait(t, p); !errors.Is(err, ErrStopped) {
		t.Fatalf("got %v, want ErrStopped", err)
	}
	l.balanced(t)
}

func TestStopAfterTheEndChangesNothing(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	Sink(l.from(p, 3), SinkOptions{Name: "out"}, l.sink)
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	p.Drain()
	if err := p.Wait(); err != nil {
		t.Fatalf("got %v after the end, want nil", err)
	}
	if err := p.Start(context.Background()); !errors.Is(err, ErrStarted) {
		t.Fatalf("second start: got %v, want ErrStarted", err)
	}
}

func TestStopBeforeStartRefusesTheRun(t *testing.T) {
	leavesNothing(t)
	for name, end := range map[string]func(*Pipeline){"stop": (*Pipeline).Stop, "drain": (*Pipeline).Drain} {
		l, p := &ledger{}, New("t")
		Sink(l.from(p, 3), SinkOptions{Name: "out"}, l.sink)
		end(p)
		if err := p.Run(context.Background()); !errors.Is(err, ErrStopped) {
			t.Fatalf("%s: got %v, want ErrStopped", name, err)
		}
		if err := wait(t, p); !errors.Is(err, ErrStopped) {
			t.Fatalf("%s: wait: got %v, want ErrStopped", name, err)
		}
		if made, _, _ := l.counts(); made != 0 {
			t.Fatalf("%s: %d items made", name, made)
		}
	}
}

func TestStartRefusesMistakesOfBuildingByStage(t *testing.T) {
	leavesNothing(t)
	l := &ledger{}
	opt := func(o Options[int, int]) func(*Pipeline) {
		return func(p *Pipeline) {
			if o.Name == "" {
				o.Name = "a"
			}
			Sink(Map(l.from(p, 1), o, same), SinkOptions{Name: "out"}, l.sink)
		}
	}
	cases := map[string]func(*Pipeline){
		`pipeline: "t": no stages`:                  func(*Pipeline) {},
		`stage "plan": nothing reads its results`:   func(p *Pipeline) { l.from(p, 1) },
		`stage "a": concurrency -1, want 1 or more`: opt(Options[int, int]{Concurrency: -1}),
		`stage "a": buffer -2, want 0`:              opt(Options[int, int]{Buffer: -2}),
		`stage "a": output order 7`:                 opt(Options[int, int]{Output: 7}),
		`stage "a": budget and cost come together`:  opt(Options[int, int]{Budget: NewBytes(1)}),
		`stage "a": failures: max count -2`:         opt(Options[int, int]{Failures: Failures{MaxCount: -2}}),
		`stage "a": failures: max rate 1.5`:         opt(Options[int, int]{Failures: Failures{MaxRate: 1.5}}),
		`stage "a": failures: probation -1`:         opt(Options[int, int]{Failures: Failures{Probation: -1}}),
		`stage "plan": the name is taken`:           opt(Options[int, int]{Name: "plan"}),
		`stage "late": stage "plan" is already read by "out"`: func(p *Pipeline) {
			src := l.from(p, 1)
			Sink(src, SinkOptions{Name: "out"}, l.sink)
			Sink(src, SinkOptions{Name: "late"}, l.sink)
		},
		`stage "": a stage needs a name`: func(p *Pipeline) { Sink(l.from(p, 1), SinkOptions{}, l.sink) },
		`stage "out": op is nil`:         func(p *Pipeline) { Sink(l.from(p, 1), SinkOptions{Name: "out"}, nil) },
		`stage "a": op is nil`: func(p *Pipeline) {
			Sink(Map[int, int](l.from(p, 1), Options[int, int]{Name: "a"}, nil), SinkOptions{Name: "out"}, l.sink)
		},
		`stage "plan": next is nil`: func(p *Pipeline) {
			Sink(Source[int](p, SourceOptions[int]{Name: "plan"}, nil), SinkOptions{Name: "out"}, l.sink)
		},
		`stage "sum": aggregator is nil`: func(p *Pipeline) {
			Sink(Aggregate[int, int](l.from(p, 1), AggregateOptions[int]{Name: "sum"}, nil), SinkOptions{Name: "out"}, l.sink)
		},
		`stage "order": number is nil`: func(p *Pipeline) {
			Sink(Resequence(l.from(p, 1), ResequenceOptions{Name: "order", Window: 1}, nil), SinkOptions{Name: "out"}, l.sink)
		},
		`stage "order": window 0, want 1 or more`: func(p *Pipeline) {
			Sink(Resequence(l.from(p, 1), ResequenceOptions{Name: "order"}, func(int) uint64 { return 0 }),
				SinkOptions{Name: "out"}, l.sink)
		},
	}
	for want, build := range cases {
		p := New("t")
		build(p)
		err := p.Start(context.Background())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
			p.Stop()
		}
		if waited := wait(t, p); waited == nil {
			t.Errorf("wait after a refused start: got nil, want %q", want)
		}
		if s := p.Stats(); s.State != Ended || s.ElapsedNs != 0 {
			t.Errorf("stats of a run refused: %+v", s)
		}
	}
	if made, _, _ := l.counts(); made != 0 {
		t.Fatalf("refused pipelines made %d items", made)
	}
}

func TestAStageAddedAfterStartEndsTheRunWithItsName(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	Sink(l.from(p, -1), SinkOptions{Name: "out"}, l.sink)
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	Source(p, SourceOptions[int]{Name: "late"}, l.source(1))
	if err := wait(t, p); err == nil || !strings.Contains(err.Error(), `stage "late": added after Start`) {
		t.Fatalf("got %v, want the late stage's name", err)
	}
	l.balanced(t)
}

func TestEachWorkerKeepsAStateOfItsOwn(t *testing.T) {
	leavesNothing(t)
	type state struct {
		worker int
		busy   atomic.Bool
	}
	var mu sync.Mutex
	open := map[*state]bool{}
	seen := map[int]bool{}
	l, p := &ledger{}, New("t")
	w := Workers[*state]{
		Open: func(worker int) (*state, error) {
			mu.Lock()
			defer mu.Unlock()
			s := &state{worker: worker}
			open[s], seen[worker] = true, true
			return s, nil
		},
		Close: func(s *state) {
			mu.Lock()
			defer mu.Unlock()
			if !open[s] {
				t.Error("a state was closed twice")
			}
			delete(open, s)
		},
	}
	a := MapWorkers(l.from(p, 500), Options[int, int]{Name: "a", Concurrency: 4}, w,
		func(_ context.Context, s *state, v int) (int, error) {
			if !s.busy.CompareAndSwap(false, true) {
				t.Error("two ops share one state")
			}
			runtime.Gosched()
			s.busy.Store(false)
			return v, nil
		})
	Sink(a, SinkOptions{Name: "out"}, l.sink)
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	l.all(t)
	if len(open) != 0 || len(seen) != 4 || !seen[0] || !seen[3] {
		t.Fatalf("%d states left open, workers %v: want none, and 0 to 3", len(open), seen)
	}
}

func TestAWorkerThatCannotOpenEndsTheRunAndTheOthersClose(t *testing.T) {
	leavesNothing(t)
	var opened, closed atomic.Int64
	l, p := &ledger{}, New("t")
	w := Workers[int]{
		Open: func(worker int) (int, error) {
			if worker == 2 {
				return 0, errBoom
			}
			opened.Add(1)
			return worker, nil
		},
		Close: func(int) { closed.Add(1) },
	}
	a := MapWorkers(l.from(p, -1), Options[int, int]{Name: "a", Concurrency: 4, Discard: l.discard}, w,
		func(_ context.Context, _, v int) (int, error) { return v, nil })
	Sink(a, SinkOptions{Name: "out"}, l.sink)
	err := p.Run(context.Background())
	if want := `pipeline: "t": stage "a": open worker 2: boom`; err == nil || err.Error() != want {
		t.Fatalf("got %v, want %q", err, want)
	}
	if opened.Load() != 3 || closed.Load() != 3 {
		t.Fatalf("opened %d, closed %d, want 3 and 3", opened.Load(), closed.Load())
	}
	l.balanced(t)
}

func TestAFailingSourceEndsTheRunWithItsError(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	src := Source(p, SourceOptions[int]{Name: "plan"}, func(context.Context) (int, error) {
		return 0, fmt.Errorf("list: %w", io.ErrUnexpectedEOF)
	})
	Sink(src, SinkOptions{Name: "out"}, l.sink)
	err := p.Run(context.Background())
	if want := `pipeline: "t": stage "plan": next: list: unexpected EOF`; err == nil || err.Error() != want {
		t.Fatalf("got %v, want %q", err, want)
	}
}
