package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// Without Continuous a host's End ends the data; what comes beside it counts.
func TestAnExternalSourceEndsItsData(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	p.Forgive(Failures{MaxRate: 0.5, Probation: 1})
	src, out := ExternalSource(p, ExternalOptions[int]{Name: "plan"})
	r := Pull(out, ResultsOptions{Name: "out"})
	start(t, p)
	made := 0
	threads := hosts(2, src, func(w Work[struct{}]) {
		made++
		must(t, src.Give(w.Token, Result[int]{Value: made - 1, End: made == 10}))
	})
	if got := fetch(t, r); !slices.Equal(got, count(10)) {
		t.Fatalf("got %v", got)
	}
	threads.Wait()
	must(t, wait(t, p))
	if s := p.Stats().Stages[0]; s.Items != 10 || s.Kind != "source" {
		t.Fatalf("stats %+v", s)
	}
}

// A host's source that fails ends the run with its text.
func TestAnExternalSourceThatFailsEndsTheRun(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	src, out := ExternalSource(p, ExternalOptions[int]{Name: "plan", Continuous: true})
	Pull(out, ResultsOptions{Name: "out"})
	start(t, p)
	w, err := src.Take(context.Background())
	must(t, err)
	if err := src.Give(w.Token, Result[int]{Err: errBoom}); !errors.Is(err, ErrEnded) {
		t.Fatalf("give: %v, want ErrEnded", err)
	}
	if err := wait(t, p); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
}

// What waits to be tried again by a host is discarded by Stop at once.
func TestStopDiscardsWhatAHostWouldTryAgain(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	x, out := ExternalMap(l.from(p, 1), ExternalOptions[int]{Name: "host", Retry: Retry{Max: 1, Base: time.Hour, Cap: time.Hour}})
	Pull(out, ResultsOptions{Name: "out"})
	start(t, p)
	w, err := x.Take(context.Background())
	must(t, err)
	must(t, x.Give(w.Token, Result[int]{Err: errBoom}))
	if works := p.Stats().Stages[1].Works; len(works) != 1 || works[0].State != workWaiting || works[0].Attempt != 2 {
		t.Fatalf("works %+v, want attempt 2 waiting", works)
	}
	p.Stop()
	if err := wait(t, p); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	l.balanced(t)
}

// A CPU budget takes workers from a stage that exceeds it, down to Min.
func TestACPUBudgetShrinksTheLargestStage(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	p.Tune(Tuning{Interval: time.Millisecond, CPUs: 1e-6})
	l := &ledger{}
	v := Map(l.from(p, -1), Options[int, int]{Name: "a", Concurrency: 6, Auto: Auto{Min: 2, Max: 6}, Discard: l.discard}, jitter)
	Sink(v, SinkOptions{Name: "out"}, l.sink)
	start(t, p)
	until(t, "two workers are left", func() bool { return p.Stats().Stages[1].Concurrency == 2 })
	p.Stop()
	_ = wait(t, p)
	l.balanced(t)
}

// EndEpoch comes after the epoch's last item; its error ends the run.
func TestASinkIsToldOfEndsOfEpochs(t *testing.T) {
	leavesNothing(t)
	for _, fail := range []bool{false, true} {
		p := New("t")
		var got []int
		Sink(Source(p, SourceOptions[int]{Name: "plan"}, epochs(3, 2)), SinkOptions{
			Name: "out",
			EndEpoch: func(_ context.Context, epoch uint64) error {
				if got = append(got, -1-int(epoch)); fail && epoch == 1 {
					return errBoom
				}
				return nil
			},
		}, func(_ context.Context, v int) error { got = append(got, v); return nil })
		start(t, p)
		err := wait(t, p)
		want := []int{0, 1, -1, 2, 3, -2, 4, 5, -3}
		if fail {
			want = want[:6]
		}
		if fail != errors.Is(err, errBoom) || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v; want %v", got, err, want)
		}
	}
}

// A number that is missing at the end of its epoch is named there.
func TestANumberMissingInItsEpochIsNamed(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	numbers := []int{0, 2}
	v := Source(p, SourceOptions[int]{Name: "plan"}, func(context.Context) (int, error) {
		if len(numbers) == 0 {
			return 0, ErrEndOfEpoch
		}
		v := numbers[0]
		numbers = numbers[1:]
		return v, nil
	})
	v = Resequence(v, ResequenceOptions{Name: "order", Window: 4}, func(v int) uint64 { return uint64(v) })
	Sink(v, SinkOptions{Name: "out"}, func(context.Context, int) error { return nil })
	start(t, p)
	if err := wait(t, p); err == nil || !strings.Contains(err.Error(), "sequence 1 never came, 1 later ones wait for it") {
		t.Fatal(err)
	}
}

// Generators keep a state per worker, opened and closed like a map's.
func TestGeneratorsKeepAStatePerWorker(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	closed := 0
	v := GenerateWorkers(l.from(p, 5), Options[int, int]{Name: "many"},
		Workers[*int]{Open: func(int) (*int, error) { return new(int), nil }, Close: func(n *int) { closed += *n }},
		func(_ context.Context, n *int, v int, yield func(int) bool) error {
			*n++
			yield(v)
			yield(v)
			return nil
		})
	if got := run(t, p, Pull(v, ResultsOptions{Name: "out"})); len(got) != 10 || closed != 5 {
		t.Fatalf("got %v, closed with %d", got, closed)
	}

	p = New("t")
	v = GenerateWorkers(l.from(p, 5), Options[int, int]{Name: "many"},
		Workers[int]{Open: func(int) (int, error) { return 0, errBoom }},
		func(context.Context, int, int, func(int) bool) error { return nil })
	Pull(v, ResultsOptions{Name: "out"})
	start(t, p)
	if err := wait(t, p); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
}

func TestBudgetsOfTheWholeThatMakeNoSenseAreRefused(t *testing.T) {
	p := New("t")
	p.Forgive(Failures{MaxCount: -2})
	lists := Aggregate((&ledger{}).from(p, 1), AggregateOptions[[]int]{Name: "list"}, &lister{n: 1})
	out := VariantsBatched(lists, VariantsOptions[[]int]{Name: "route"}, Lists[[]int, []int]{},
		func(context.Context, []int) ([]int, error) { return nil, nil }, func(in *Port[[]int]) *Port[[]int] { return in })
	Pull(out, ResultsOptions{Name: "out", Buffer: -1})
	err := p.Start(context.Background())
	for _, want := range []string{"max count -2", "lists lack Len, Pick or Join", "buffer -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("start: %v, want %q", err, want)
		}
	}
}

// A router of batches that names too few paths ends the run.
func TestARouterNamesAPathForEveryElement(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	lists := Aggregate((&ledger{}).from(p, 4), AggregateOptions[[]int]{Name: "list"}, &lister{n: 4})
	out := VariantsBatched(lists, VariantsOptions[[]int]{Name: "route"}, Slices[int, int](),
		func(context.Context, []int) ([]int, error) { return []int{0, 0}, nil }, func(in *Port[[]int]) *Port[[]int] { return in })
	Sink(out, SinkOptions{Name: "out"}, func(context.Context, []int) error { return nil })
	start(t, p)
	if err := wait(t, p); err == nil || !strings.Contains(err.Error(), "route chose 2 paths for 4 elements, want one each") {
		t.Fatal(err)
	}
}
