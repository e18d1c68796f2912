package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A jitterer lets goroutines overtake each other by a seeded plan: the same
// seed lets every call of an op pause for as many moments.
type jitterer struct{ seed uint64 }

func (j jitterer) pass(v int) {
	pause(rand.New(rand.NewPCG(j.seed, uint64(v))).IntN(30))
}

func (j jitterer) op(_ context.Context, v int) (int, error) {
	j.pass(v)
	return v, nil
}

// interleavings runs body with many seeds, each in a bubble.
func interleavings(t *testing.T, n int, body func(t *testing.T, j jitterer)) {
	leavesNothing(t)
	if testing.Short() {
		n = 3
	}
	for seed := 0; seed < n && !t.Failed(); seed++ {
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			bubble(t, func(t *testing.T) { body(t, jitterer{uint64(seed)}) })
		}()
	}
}

// epochs makes n epochs of each items, numbered through.
func epochs(n, each int) func(context.Context) (int, error) {
	v, inEpoch := 0, 0
	return func(context.Context) (int, error) {
		switch {
		case inEpoch == each:
			inEpoch = 0
			return 0, ErrEndOfEpoch
		case v == n*each:
			return 0, io.EOF
		}
		v++
		inEpoch++
		return v - 1, nil
	}
}

// checkEpochs fails the test unless got is n epochs of each items, in order or
// sorted by epoch, each followed by -1.
func checkEpochs(t *testing.T, got []int, n, each int, ordered bool) {
	t.Helper()
	var want []int
	for e := range n {
		for i := range each {
			want = append(want, e*each+i)
		}
		want = append(want, -1)
	}
	if !ordered {
		for e := range n {
			if from := e * (each + 1); len(got) >= from+each {
				slices.Sort(got[from : from+each])
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func run(t *testing.T, p *Pipeline, r *Results[int]) []int {
	t.Helper()
	start(t, p)
	got := fetch(t, r)
	must(t, wait(t, p))
	return got
}

// The end of an epoch keeps its place through every kind of stage, in both
// orders, at any concurrency.
func TestEndsOfEpochsKeepTheirPlaceThroughEveryStage(t *testing.T) {
	interleavings(t, 40, func(t *testing.T, j jitterer) {
		for _, order := range []Order{Completion, Input} {
			p := New("t")
			v := Source(p, SourceOptions[int]{Name: "plan"}, epochs(5, 11))
			v = Map(v, Options[int, int]{Name: "a", Concurrency: 4, Output: order, Buffer: 1}, j.op)
			lists := Aggregate(v, AggregateOptions[[]int]{Name: "list"}, &lister{n: 4})
			v = Disaggregate(lists, Options[[]int, int]{Name: "flat", Concurrency: 2, Output: order})
			v = Variants(v, VariantsOptions[int]{Name: "route", Output: order},
				func(_ context.Context, v int) (int, error) { return v % 2, nil },
				func(in *Port[int]) *Port[int] {
					return Map(in, Options[int, int]{Name: "even", Concurrency: 3}, j.op)
				},
				func(in *Port[int]) *Port[int] { return in })
			checkEpochs(t, run(t, p, Pull(v, ResultsOptions{Name: "out"})), 5, 11, order == Input)
		}
	})
}

// Epochs without items are bounded by the queues too, however many there are.
func TestEndlessEmptyEpochsAreHeldBack(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	var ends atomic.Int64
	v := Source(p, SourceOptions[int]{Name: "plan"}, func(context.Context) (int, error) {
		ends.Add(1)
		return 0, ErrEndOfEpoch
	})
	v = Map(v, Options[int, int]{Name: "a", Concurrency: 3}, same)
	v = Variants(v, VariantsOptions[int]{Name: "route"}, modulo(1), func(in *Port[int]) *Port[int] { return in })
	r := Pull(v, ResultsOptions{Name: "out"})
	start(t, p)
	for range 1000 {
		if _, err := r.Next(context.Background()); !errors.Is(err, ErrEndOfEpoch) {
			t.Fatal(err)
		}
	}
	if n := ends.Load(); n > 1000+100 {
		t.Fatalf("%d ends of epochs made for 1000 that went out", n)
	}
	p.Stop()
	if err := wait(t, p); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
}

// A lister makes lists of n.
type lister struct {
	n    int
	list []int
}

func (l *lister) Add(_ context.Context, v int) ([]int, bool, error) {
	l.list = append(l.list, v)
	if len(l.list) < l.n {
		return nil, false, nil
	}
	return l.take(), true, nil
}

func (l *lister) Flush(context.Context) ([]int, bool, error) {
	more := len(l.list) > 0
	return l.take(), more, nil
}

func (l *lister) take() []int {
	out := l.list
	l.list = nil
	return out
}

func (l *lister) Close() {}

// Results of one item stay in its place however many they are, and back-pressure
// holds at any buffer.
func TestGeneratedResultsStayInTheirItemsPlace(t *testing.T) {
	interleavings(t, 40, func(t *testing.T, j jitterer) {
		p := New("t")
		l := &ledger{}
		v := Generate(l.from(p, 40), Options[int, int]{Name: "many", Concurrency: 3, Output: Input, Buffer: 1},
			func(_ context.Context, v int, yield func(int) bool) error {
				for i := range v % 5 {
					j.pass(v*10 + i)
					if !yield(v*10 + i) {
						return nil
					}
				}
				return nil
			})
		var want []int
		for v := range 40 {
			for i := range v % 5 {
				want = append(want, v*10+i)
			}
		}
		if got := run(t, p, Pull(v, ResultsOptions{Name: "out"})); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// What a generator has yielded before it fails stays; it is not tried again.
func TestAGeneratorThatFailsKeepsWhatItHasYielded(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		p := New("t")
		l := &ledger{}
		v := Generate(l.from(p, 3), Options[int, int]{
			Name: "many", Output: order, Failures: Failures{MaxCount: 1}, Retry: Retry{Max: 5, Base: 1},
		}, func(_ context.Context, v int, yield func(int) bool) error {
			yield(v * 10)
			if v == 1 {
				return errBoom
			}
			yield(v*10 + 1)
			return nil
		})
		if got := run(t, p, Pull(v, ResultsOptions{Name: "out"})); !slices.Equal(got, []int{0, 1, 10, 20, 21}) {
			t.Fatalf("got %v", got)
		}
		if s := p.Stats().Stages[1]; s.Failures != 1 || s.Retries != 0 || !slices.Equal(l.discarded, []int{1}) {
			t.Fatalf("stats %+v, discarded %v; want one failure, no retry, item 1 discarded", s, l.discarded)
		}
	}
}

// A stop in the middle of generators ends every item and result once.
func TestStopEndsGeneratorsAndTheirResults(t *testing.T) {
	interleavings(t, 40, func(t *testing.T, j jitterer) {
		p := New("t")
		l, results := &ledger{}, &ledger{}
		var made atomic.Int64
		v := Generate(l.from(p, -1), Options[int, int]{
			Name: "many", Concurrency: 3, Output: Order(j.seed % 2), Discard: results.discard,
		}, func(_ context.Context, v int, yield func(int) bool) error {
			for range 3 {
				j.pass(v)
				results.mu.Lock()
				n := len(results.made)
				results.made = append(results.made, n)
				results.mu.Unlock()
				if made.Add(1); !yield(n) {
					break
				}
			}
			l.deliver(v)
			return nil
		})
		Sink(v, SinkOptions{Name: "out"}, func(_ context.Context, v int) error {
			results.deliver(v)
			if v > 20 {
				p.Stop()
			}
			return nil
		})
		start(t, p)
		if err := wait(t, p); !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		l.balanced(t)
		results.balanced(t)
	})
}

// A retried item keeps its place; its last failure is the one reported.
func TestARetriedItemKeepsItsPlace(t *testing.T) {
	interleavings(t, 20, func(t *testing.T, j jitterer) {
		p := New("t")
		l := &ledger{}
		var tries [100]atomic.Int32
		limiter := NewLimiter(2)
		v := Map(l.from(p, 100), Options[int, int]{
			Name: "flaky", Concurrency: 4, Output: Input, Limiter: limiter,
			Retry: Retry{Max: 3, Base: time.Microsecond}, Failures: Failures{MaxCount: 1},
		}, func(_ context.Context, v int) (int, error) {
			j.pass(v)
			if n := tries[v].Add(1); v%7 == 0 && n < 4 || v == 50 {
				return 0, fmt.Errorf("try %d of %d", n, v)
			}
			return v, nil
		})
		got := run(t, p, Pull(v, ResultsOptions{Name: "out"}))
		want := slices.Delete(count(100), 50, 51)
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		if s := p.Stats().Stages[1]; s.Retries != 15*3+3 || s.Failures != 1 || tries[50].Load() != 4 {
			t.Errorf("stats %+v; want 48 retries, one failure", s)
		}
		if used := limiter.Stats().Used; used != 0 {
			t.Errorf("%d admissions left behind", used)
		}
	})
}

// A final error is judged without another try, by the budget.
func TestAFinalErrorIsNotTriedAgain(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	tries := 0
	v := Map(l.from(p, 3), Options[int, int]{Name: "a", Retry: Retry{Max: 5, Base: 1}, Failures: Failures{MaxCount: 1}},
		func(_ context.Context, v int) (int, error) {
			if v == 1 {
				tries++
				return 0, fmt.Errorf("wrapped: %w", Final(errBoom))
			}
			return v, Final(nil)
		})
	if got := run(t, p, Pull(v, ResultsOptions{Name: "out"})); !slices.Equal(got, []int{0, 2}) || tries != 1 {
		t.Fatalf("got %v after %d tries, want 0, 2 after one", got, tries)
	}
}

// Back-off doubles to its cap and is drawn from the upper half.
func TestBackOffDoublesUpToItsCap(t *testing.T) {
	r := Retry{Max: 9, Base: 100, Cap: 450}
	for try, want := range []time.Duration{1: 100, 2: 200, 3: 400, 4: 450, 60: 450} {
		for range 50 {
			if d := r.delay(try); want != 0 && (d > want || d < want/2) {
				t.Fatalf("after try %d: %v, want %v to %v", try, d, want/2, want)
			}
		}
	}
	p := New("t")
	v := Map(Source(p, SourceOptions[int]{Name: "plan"}, epochs(1, 1)), Options[int, int]{Name: "a", Retry: Retry{Max: -1}}, same)
	Pull(v, ResultsOptions{Name: "out"})
	if err := p.Start(context.Background()); err == nil || !strings.Contains(err.Error(), "retry: max -1") {
		t.Fatalf("start: %v, want the retry refused", err)
	}
}

// An op's context ends with its item's deadline; a panic and Fatal are never
// tried again, and Stop ends a back-off.
func TestADeadlineCoversAllTriesOfItsItem(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	v := Map(l.from(p, 3), Options[int, int]{
		Name: "slow", Output: Input, Deadline: 20 * time.Millisecond, Retry: Retry{Max: 1000, Base: time.Millisecond},
		Failures: Failures{MaxCount: 1, OnFailure: func(err error) {
			var late *DeadlineError
			if !errors.As(err, &late) || !errors.Is(err, errBoom) {
				t.Errorf("failure %v, want a *DeadlineError that wraps the last try's", err)
			}
		}},
	}, func(ctx context.Context, v int) (int, error) {
		if v == 1 {
			return 0, errBoom
		}
		return v, nil
	})
	if got := run(t, p, Pull(v, ResultsOptions{Name: "out"})); !slices.Equal(got, []int{0, 2}) {
		t.Fatalf("got %v", got)
	}
}

func TestStopEndsABackOff(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	failed := make(chan bool, 1)
	v := Map(l.from(p, 3), Options[int, int]{Name: "a", Retry: Retry{Max: 1, Base: time.Hour, Cap: time.Hour}},
		func(context.Context, int) (int, error) { failed <- true; return 0, errBoom })
	Pull(v, ResultsOptions{Name: "out"})
	start(t, p)
	await(t, failed, "the failure")
	p.Stop()
	if err := wait(t, p); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	l.balanced(t)
}

// The pipeline's own budget counts the failures of all stages, and then the
// stages forgive what they have no budget for.
func TestThePipelinesBudgetCoversAllStages(t *testing.T) {
	leavesNothing(t)
	for _, c := range []struct {
		budget Failures
		fails  bool
	}{
		{Failures{MaxCount: 10}, false},
		{Failures{MaxCount: 9}, true},
		{Failures{MaxRate: 0.1}, false},
		{Failures{MaxRate: 0.05}, true},
		{Failures{MaxRate: 0.05, Probation: 1000}, false},
	} {
		p := New("t")
		p.Forgive(c.budget)
		l := &ledger{}
		some := func(at int) func(context.Context, int) (int, error) {
			return func(_ context.Context, v int) (int, error) {
				if v%20 == at {
					return 0, errBoom
				}
				return v, nil
			}
		}
		v := Map(l.from(p, 100), Options[int, int]{Name: "a", Concurrency: 2, Discard: l.discard}, some(3))
		v = Map(v, Options[int, int]{Name: "b", Output: Input, Discard: l.discard}, some(7))
		Sink(v, SinkOptions{Name: "out"}, l.sink)
		start(t, p)
		err := wait(t, p)
		var over *BudgetError
		if c.fails != errors.As(err, &over) || !c.fails && err != nil {
			t.Errorf("%+v: %v", c.budget, err)
		}
		l.balanced(t)
	}
}
