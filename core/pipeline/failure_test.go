package pipeline

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func TestAnUnforgivenFailureInTheMiddleEndsTheRun(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		l, p := &ledger{}, New("t")
		o := Options[int, int]{Name: "a", Concurrency: 3, Output: order, Discard: l.discard}
		a := Map(l.from(p, -1), o, func(_ context.Context, v int) (int, error) {
			if v == 50 {
				return 0, errBoom
			}
			return v, nil
		})
		b := Map(a, Options[int, int]{Name: "b", Concurrency: 2, Discard: l.discard}, same)
		Sink(b, SinkOptions{Name: "out"}, l.sink)
		err := p.Run(context.Background())
		if want := `pipeline: "t": stage "a": boom`; err == nil || err.Error() != want {
			t.Fatalf("got %v, want %q", err, want)
		}
		var stage *StageError
		if !errors.As(err, &stage) || stage.Stage != "a" || stage.Pipeline != "t" || !errors.Is(err, errBoom) {
			t.Fatalf("got %#v, want a StageError of a in t around boom", err)
		}
		l.balanced(t)
		if !slices.Contains(l.discarded, 50) {
			t.Fatal("the failed item was not discarded")
		}
	}
}

// Whichever worker is faster, the first failure in input order is the one
// reported and nothing behind it is delivered.
func TestInputOrderReportsTheFirstFailureInOrder(t *testing.T) {
	leavesNothing(t)
	for range 50 {
		l, p := &ledger{}, New("t")
		later := make(chan struct{})
		var laterFailed atomic.Bool
		o := Options[int, int]{Name: "a", Concurrency: 4, Output: Input, Discard: l.discard}
		a := Map(l.from(p, -1), o, func(_ context.Context, v int) (int, error) {
			switch v {
			case 5:
				<-later
				return 0, errBoom
			case 6:
				if laterFailed.CompareAndSwap(false, true) {
					close(later)
				}
				return 0, errors.New("a later failure that came first")
			}
			return v, nil
		})
		Sink(a, SinkOptions{Name: "out"}, l.sink)
		if err := p.Run(context.Background()); !errors.Is(err, errBoom) {
			t.Fatalf("got %v, want the failure of item 5", err)
		}
		l.balanced(t)
		if l.inOrder(t); len(l.delivered) > 0 && slices.Max(l.delivered) > 4 {
			t.Fatalf("delivered %v, want nothing behind item 5", l.delivered)
		}
	}
}

func TestForgivenFailuresAreDroppedCountedAndTold(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		l, p := &ledger{}, New("t")
		var told atomic.Int64
		o := Options[int, int]{Name: "a", Concurrency: 4, Output: order, Discard: l.discard, Failures: Failures{
			MaxCount: -1,
			OnFailure: func(err error) {
				if errors.Is(err, errBoom) {
					told.Add(1)
				}
			},
		}}
		a := Map(l.from(p, 300), o, func(_ context.Context, v int) (int, error) {
			if v%3 == 0 {
				return 0, errBoom
			}
			return v, nil
		})
		Sink(a, SinkOptions{Name: "out"}, l.sink)
		if err := p.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		l.balanced(t)
		s := p.Stats().Stages
		if told.Load() != 100 || s[1].Failures != 100 || s[1].Items != 200 || s[0].Discarded != 100 {
			t.Fatalf("told %d, failures %d, items %d, discarded %d; want 100, 100, 200, 100",
				told.Load(), s[1].Failures, s[1].Items, s[0].Discarded)
		}
		if len(l.delivered) != 200 {
			t.Fatalf("delivered %d, want 200", len(l.delivered))
		}
		if order == Input {
			l.inOrder(t)
		}
	}
}

func TestTheRunEndsWithTheFailureThatIsOneTooMany(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		l, p := &ledger{}, New("t")
		o := Options[int, int]{Name: "a", Concurrency: 2, Output: order, Discard: l.discard,
			Failures: Failures{MaxCount: 10}}
		a := Map(l.from(p, -1), o, func(_ context.Context, v int) (int, error) {
			if v%2 == 1 {
				return 0, errBoom
			}
			return v, nil
		})
		Sink(a, SinkOptions{Name: "out"}, l.sink)
		err := p.Run(context.Background())
		var over *BudgetError
		if !errors.As(err, &over) || over.Failed != 11 || !errors.Is(err, errBoom) {
			t.Fatalf("got %v, want a budget error at failure 11", err)
		}
		want := `pipeline: "t": stage "a": 11 of 22 items failed, want at most 10; the last: boom`
		if order == Input && err.Error() != want {
			t.Fatalf("got %q, want %q", err, want)
		}
		l.balanced(t)
	}
}

func TestTheRunEndsWhenTheFailureRateIsExceeded(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		l, p := &ledger{}, New("t")
		o := Options[int, int]{Name: "a", Output: order, Discard: l.discard,
			Failures: Failures{MaxRate: 0.25, Probation: 40}}
		a := Map(l.from(p, -1), o, func(_ context.Context, v int) (int, error) {
			if v < 12 {
				return 0, errBoom
			}
			return v, nil
		})
		Sink(a, SinkOptions{Name: "out"}, l.sink)
		err := p.Run(context.Background())
		want := `pipeline: "t": stage "a": 12 of 40 items failed, want at most a share of 0.25; the last: boom`
		if err == nil || err.Error() != want {
			t.Fatalf("order %d: got %v, want %q", order, err, want)
		}
		l.balanced(t)
	}
}

func TestJudgeAppliesCountAndRateInTheOrderTold(t *testing.T) {
	const none = 0
	fails := func(n int) []error { return slices.Repeat([]error{errBoom}, n) }
	passes := func(n int) []error { return make([]error, n) }
	cases := []struct {
		name     string
		budget   Failures
		outcomes []error
		overAt   int // number of the outcome that exceeds, from 1
	}{
		{"zero value forgives none", Failures{}, slices.Concat(passes(5), fails(1)), 6},
		{"count holds", Failures{MaxCount: 3}, slices.Concat(fails(3), passes(9)), none},
		{"count exceeded", Failures{MaxCount: 3}, fails(4), 4},
		{"any number", Failures{MaxCount: -1}, fails(500), none},
		{"rate waits for probation", Failures{MaxRate: 0.5, Probation: 10}, fails(9), none},
		{"rate at probation's end", Failures{MaxRate: 0.5, Probation: 10}, slices.Concat(fails(6), passes(4)), 10},
		{"rate equal is not above", Failures{MaxRate: 0.5, Probation: 10}, slices.Concat(fails(5), passes(5)), none},
		{"default probation is 100", Failures{MaxRate: 0.01}, fails(100), 100},
		{"count beside rate", Failures{MaxCount: 2, MaxRate: 0.9}, fails(3), 3},
		{"rate beside count", Failures{MaxCount: 50, MaxRate: 0.1, Probation: 20}, fails(20), 20},
	}
	for _, c := range cases {
		j, err := NewJudge(c.budget)
		if err != nil {
			t.Fatal(err)
		}
		overAt := none
		for i, outcome := range c.outcomes {
			if err := j.Settle(outcome); err != nil {
				if !errors.Is(err, errBoom) {
					t.Errorf("%s: got %v, want it to wrap the last failure", c.name, err)
				}
				overAt = i + 1
				break
			}
		}
		if overAt != c.overAt {
			t.Errorf("%s: exceeded at %d, want %d", c.name, overAt, c.overAt)
		}
	}
}

func TestJudgeRefusesABudgetWithoutSense(t *testing.T) {
	for want, budget := range map[string]Failures{
		"pipeline: failures: max count -5, want -1 (any number), 0 or more": {MaxCount: -5},
		"pipeline: failures: max rate -0.1, want 0 (off) to 1":              {MaxRate: -0.1},
		"pipeline: failures: probation -1, want 0 (the default, 100)":       {Probation: -1},
	} {
		if _, err := NewJudge(budget); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAFatalErrorIsNeverForgiven(t *testing.T) {
	leavesNothing(t)
	if Fatal(nil) != nil {
		t.Fatal("Fatal(nil) is not nil")
	}
	for _, order := range []Order{Completion, Input} {
		l, p := &ledger{}, New("t")
		o := Options[int, int]{Name: "a", Output: order, Discard: l.discard, Failures: Failures{MaxCount: -1}}
		a := Map(l.from(p, -1), o, func(_ context.Context, v int) (int, error) {
			if v == 7 {
				return 0, Fatal(errBoom)
			}
			return v, nil
		})
		Sink(a, SinkOptions{Name: "out"}, l.sink)
		if err := p.Run(context.Background()); !errors.Is(err, errBoom) {
			t.Fatalf("got %v, want boom", err)
		}
		l.balanced(t)
	}
}

// Wherever a caller's function panics, the run ends with the stage's name and
// the stack, and the item in hand is discarded.
func TestAPanicEndsTheRunNamingTheStage(t *testing.T) {
	leavesNothing(t)
	type build func(l *ledger, p *Pipeline)
	forgiving := Failures{MaxCount: -1}
	boomAt := func(v int) {
		if v == 9 {
			panic(errBoom)
		}
	}
	cases := map[string]build{
		"plan": func(l *ledger, p *Pipeline) {
			next := l.source(9)
			src := Source(p, SourceOptions[int]{Name: "plan", Discard: l.discard}, func(ctx context.Context) (int, error) {
				v, err := next(ctx)
				if err != nil {
					panic(errBoom)
				}
				return v, nil
			})
			Sink(src, SinkOptions{Name: "out"}, l.sink)
		},
		"op": func(l *ledger, p *Pipeline) {
			o := Options[int, int]{Name: "op", Concurrency: 3, Limiter: NewLimiter(2), Failures: forgiving, Discard: l.discard}
			Sink(Map(l.from(p, -1), o, func(_ context.Context, v int) (int, error) {
				boomAt(v)
				return v, nil
			}), SinkOptions{Name: "out"}, l.sink)
		},
		"cost": func(l *ledger, p *Pipeline) {
			budget := NewBytes(1)
			o := Options[int, int]{Name: "cost", Concurrency: 2, Output: Input, Budget: budget, Discard: l.discard,
				Cost: func(v int) int64 { boomAt(v); return 0 }}
			Sink(Map(l.from(p, -1), o, same), SinkOptions{Name: "out"}, l.sink)
		},
		"hook": func(l *ledger, p *Pipeline) {
			o := Options[int, int]{Name: "hook", Discard: l.discard,
				Failures: Failures{MaxCount: -1, OnFailure: func(err error) { panic(err) }}}
			Sink(Map(l.from(p, -1), o, func(_ context.Context, v int) (int, error) {
				return v, errBoom
			}), SinkOptions{Name: "out"}, l.sink)
		},
		"out": func(l *ledger, p *Pipeline) {
			Sink(l.from(p, -1), SinkOptions{Name: "out", Failures: forgiving}, func(_ context.Context, v int) error {
				boomAt(v)
				l.deliver(v)
				return nil
			})
		},
		"order": func(l *ledger, p *Pipeline) {
			o := ResequenceOptions{Name: "order", Window: 4}
			Sink(Resequence(l.from(p, -1), o, func(v int) uint64 { boomAt(v); return uint64(v) }),
				SinkOptions{Name: "out"}, l.sink)
		},
		"open": func(l *ledger, p *Pipeline) {
			w := Workers[int]{Open: func(int) (int, error) { panic(errBoom) }}
			Sink(MapWorkers(l.from(p, -1), Options[int, int]{Name: "open", Discard: l.discard}, w,
				func(_ context.Context, _, v int) (int, error) { return v, nil }), SinkOptions{Name: "out"}, l.sink)
		},
		"close": func(l *ledger, p *Pipeline) {
			w := Workers[int]{Close: func(int) { panic(errBoom) }}
			Sink(MapWorkers(l.from(p, 9), Options[int, int]{Name: "close", Discard: l.discard}, w,
				func(_ context.Context, _, v int) (int, error) { return v, nil }), SinkOptions{Name: "out"}, l.sink)
		},
	}
	for stage, build := range cases {
		t.Run(stage, func(t *testing.T) {
			l, p := &ledger{}, New("t")
			build(l, p)
			err := p.Run(context.Background())
			var at *StageError
			var panicked *PanicError
			if !errors.As(err, &at) || at.Stage != stage {
				t.Fatalf("got %v, want an error of stage %q", err, stage)
			}
			if !errors.As(err, &panicked) || !errors.Is(err, errBoom) {
				t.Fatalf("got %v, want a panic that wraps its value", err)
			}
			if !strings.Contains(err.Error(), "TestAPanicEndsTheRunNamingTheStage") {
				t.Fatalf("no stack of the op in %v", err)
			}
			l.balanced(t)
			for _, s := range p.Stats().Stages {
				if s.Running != 0 {
					t.Fatalf("stage %q still counts %d running ops", s.Name, s.Running)
				}
			}
		})
	}
}

func TestAnOpThatEndsItsGoroutineEndsTheRunNamingTheStage(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	limiter := NewLimiter(1)
	o := Options[int, int]{Name: "a", Concurrency: 2, Limiter: limiter, Discard: l.discard}
	a := Map(l.from(p, -1), o, func(_ context.Context, v int) (int, error) {
		if v == 5 {
			runtime.Goexit()
		}
		return v, nil
	})
	Sink(a, SinkOptions{Name: "out"}, l.sink)
	err := p.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), `stage "a": the stage's function ended its goroutine`) {
		t.Fatalf("got %v, want the stage and what it did", err)
	}
	l.balanced(t)
	if used := limiter.Stats().Used; used != 0 {
		t.Fatalf("%d admissions are lost", used)
	}
}

// A Discard that panics ends the run; the items after it are still handed back,
// and what ended the run before is not hidden.
func TestAPanickingDiscardLosesNoOtherItem(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	src := Source(p, SourceOptions[int]{Name: "plan", Buffer: 8, Discard: func(v int) {
		l.discard(v)
		if v == 3 {
			panic("cannot take it back")
		}
	}}, l.source(-1))
	inSink := make(chan struct{})
	Sink(src, SinkOptions{Name: "out"}, func(ctx context.Context, v int) error {
		close(inSink)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	await(t, inSink, "the first item")
	until(t, "the queue is full", func() bool { made, _, _ := l.counts(); return made == 10 })
	p.Stop()
	err := wait(t, p)
	if !errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), `stage "plan": discard: panic: cannot take it back`) {
		t.Fatalf("got %v, want both the stop and the panic", err)
	}
	l.balanced(t)
}

func TestAPanickingDiscardOfAFailedItemEndsTheRun(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	src := Source(p, SourceOptions[int]{Name: "plan", Discard: func(int) { panic(errBoom) }}, l.source(3))
	Sink(src, SinkOptions{Name: "out", Failures: Failures{MaxCount: -1}},
		func(context.Context, int) error { return errors.New("bad") })
	err := p.Run(context.Background())
	var at *StageError
	if !errors.Is(err, errBoom) || !errors.As(err, &at) || at.Stage != "plan" {
		t.Fatalf("got %v, want the panic of plan's discard", err)
	}
}
