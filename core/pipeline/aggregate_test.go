package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// pairs is an aggregator that groups items by their number over size, in
// whatever order they come.
type pairs struct {
	size    int
	l       *ledger
	open    map[int][]int
	partial bool // Flush emits what is incomplete
	fail    error
	closed  int
	flushed int
}

func (a *pairs) Add(_ context.Context, v int) ([]int, bool, error) {
	if v == 13 && a.fail != nil {
		return nil, false, a.fail
	}
	if a.open == nil {
		a.open = map[int][]int{}
	}
	key := v / a.size
	a.open[key] = append(a.open[key], v)
	if len(a.open[key]) < a.size {
		return nil, false, nil
	}
	batch := a.open[key]
	delete(a.open, key)
	return batch, true, nil
}

func (a *pairs) Flush(context.Context) ([]int, bool, error) {
	a.flushed++
	if !a.partial {
		return nil, false, nil
	}
	for key, batch := range a.open {
		delete(a.open, key)
		return batch, true, nil
	}
	return nil, false, nil
}

func (a *pairs) Close() {
	a.closed++
	for _, batch := range a.open {
		discardAll(a.l)(batch)
	}
	a.open = nil
}

func discardAll(l *ledger) func([]int) {
	return func(batch []int) {
		for _, v := range batch {
			l.discard(v)
		}
	}
}

func deliverAll(l *ledger) func(context.Context, []int) error {
	return func(_ context.Context, batch []int) error {
		for _, v := range batch {
			l.deliver(v)
		}
		return nil
	}
}

func TestAggregateFlushesWhatIsLeftAtTheEnd(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	agg := &pairs{size: 4, l: l, partial: true}
	b := Aggregate(l.from(p, 10), AggregateOptions[[]int]{Name: "batch"}, Aggregator[int, []int](agg))
	var sizes []int
	Sink(b, SinkOptions{Name: "out"}, func(ctx context.Context, batch []int) error {
		sizes = append(sizes, len(batch))
		return deliverAll(l)(ctx, batch)
	})
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	l.all(t)
	if !slices.Equal(sizes, []int{4, 4, 2}) || agg.closed != 1 {
		t.Fatalf("batches of %v, closed %d times; want 4, 4, 2 and once", sizes, agg.closed)
	}
}

func TestAggregateHandsBackWhatItHoldsWhenStopped(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	agg := &pairs{size: 4, l: l, partial: true}
	o := AggregateOptions[[]int]{Name: "batch", Discard: discardAll(l)}
	next := l.source(-1)
	waiting := make(chan struct{})
	src := Source(p, SourceOptions[int]{Name: "plan", Discard: l.discard}, func(ctx context.Context) (int, error) {
		if made, _, _ := l.counts(); made == 6 {
			close(waiting)
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return next(ctx)
	})
	Sink(Aggregate(src, o, Aggregator[int, []int](agg)), SinkOptions{Name: "out"}, deliverAll(l))
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	await(t, waiting, "six items")
	until(t, "two items are held", func() bool { return p.Stats().Stages[1].Items == 6 })
	p.Stop()
	if err := wait(t, p); !errors.Is(err, ErrStopped) {
		t.Fatalf("got %v, want ErrStopped", err)
	}
	l.balanced(t)
	if agg.flushed != 0 || agg.closed != 1 || !slices.Contains(l.discarded, 5) {
		t.Fatalf("flushed %d, closed %d, discarded %v; want no flush, one close, 4 and 5 back",
			agg.flushed, agg.closed, l.discarded)
	}
}

func TestAggregateAppliesItsFailureBudget(t *testing.T) {
	leavesNothing(t)
	for _, budget := range []Failures{{}, {MaxCount: 1}} {
		l, p := &ledger{}, New("t")
		agg := &pairs{size: 2, l: l, fail: errBoom}
		o := AggregateOptions[[]int]{Name: "batch", Failures: budget, Discard: discardAll(l)}
		Sink(Aggregate(l.from(p, 20), o, Aggregator[int, []int](agg)), SinkOptions{Name: "out"}, deliverAll(l))
		err := p.Run(context.Background())
		if forgiven := budget.MaxCount > 0; forgiven != (err == nil) {
			t.Fatalf("budget %d: got %v", budget.MaxCount, err)
		}
		l.balanced(t)
		if !slices.Contains(l.discarded, 13) {
			t.Fatalf("discarded %v, want 13 among them", l.discarded)
		}
	}
}

type badFlush struct{ pairs }

func (*badFlush) Flush(context.Context) ([]int, bool, error) { return nil, false, errBoom }

func TestAFailingFlushEndsTheRun(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	agg := &badFlush{pairs{size: 4, l: l}}
	o := AggregateOptions[[]int]{Name: "batch", Failures: Failures{MaxCount: -1}, Discard: discardAll(l)}
	Sink(Aggregate(l.from(p, 10), o, Aggregator[int, []int](agg)), SinkOptions{Name: "out"}, deliverAll(l))
	if err := p.Run(context.Background()); !errors.Is(err, errBoom) {
		t.Fatalf("got %v, want boom", err)
	}
	l.balanced(t)
}

// The engine's shape: completion order all the way, order restored at the end.
func TestResequenceRestoresTheOrderOfBatches(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	slots := NewLimiter(6) // at most six batches are in flight
	next := l.source(4 * 200)
	src := Source(p, SourceOptions[int]{Name: "plan", Discard: l.discard}, func(ctx context.Context) (int, error) {
		if made, _, _ := l.counts(); made%4 == 0 && made < 800 {
			if err := slots.Acquire(ctx); err != nil {
				return 0, err
			}
		}
		return next(ctx)
	})
	a := Map(src, Options[int, int]{Name: "fetch", Concurrency: 8, Discard: l.discard}, jitter)
	b := Map(a, Options[int, int]{Name: "decode", Concurrency: 4, Discard: l.discard}, jitter)
	c := Aggregate(b, AggregateOptions[[]int]{Name: "batch", Discard: discardAll(l)},
		Aggregator[int, []int](&pairs{size: 4, l: l}))
	d := Resequence(c, ResequenceOptions{Name: "order", Window: 6}, func(batch []int) uint64 { return uint64(batch[0] / 4) })
	var tickets []int
	Sink(d, SinkOptions{Name: "publish"}, func(ctx context.Context, batch []int) error {
		tickets = append(tickets, batch[0]/4)
		slots.Release()
		return deliverAll(l)(ctx, batch)
	})
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	l.all(t)
	if len(tickets) != 200 || !slices.IsSorted(tickets) {
		t.Fatalf("%d batches in order %v, want 200 in order", len(tickets), tickets)
	}
}

// resequenced runs the given numbers through a Resequence and returns what came
// out and the error.
func resequenced(t *testing.T, o ResequenceOptions, numbers ...int) ([]int, error) {
	t.Helper()
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	next := l.source(len(numbers))
	o.Name = "order"
	d := Resequence(Source(p, SourceOptions[int]{Name: "plan", Discard: l.discard}, next), o,
		func(v int) uint64 { return uint64(numbers[v]) })
	var out []int
	Sink(d, SinkOptions{Name: "out"}, func(_ context.Context, v int) error {
		l.deliver(v)
		out = append(out, numbers[v])
		return nil
	})
	err := p.Run(context.Background())
	l.balanced(t)
	return out, err
}

func TestResequenceStartsAtFirst(t *testing.T) {
	out, err := resequenced(t, ResequenceOptions{Window: 3, First: 7}, 9, 8, 7, 10)
	if err != nil || !slices.Equal(out, []int{7, 8, 9, 10}) {
		t.Fatalf("got %v, %v; want 7 to 10", out, err)
	}
}

func TestResequenceRefusesWhatItCannotPlace(t *testing.T) {
	cases := map[string][]int{
		"sequence 3 came while 0 is missing, window 3":         {1, 2, 3},
		"sequence 1 came twice or too late":                    {1, 1, 0},
		"sequence 0 came twice or too late":                    {0, 1, 0},
		"sequence 2 never came, 2 later ones wait for it":      {0, 1, 3, 4},
		"sequence 0 never came, 1 later ones wait for it":      {1},
		"sequence 100 came while 0 is missing, window 3":       {100},
		"sequence 4 came while 1 is missing, window 3; widen ": {0, 2, 3, 4},
	}
	for want, numbers := range cases {
		_, err := resequenced(t, ResequenceOptions{Window: 3}, numbers...)
		if err == nil || !strings.Contains(err.Error(), `stage "order": `+want) {
			t.Errorf("numbers %v: got %v, want %q", numbers, err, want)
		}
	}
}

// A full window whose first item is there is back-pressure, not an error.
func TestResequenceWaitsForASlowSink(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	d := Resequence(l.from(p, 20), ResequenceOptions{Name: "order", Window: 2}, func(v int) uint64 { return uint64(v) })
	release := make(chan struct{})
	Sink(d, SinkOptions{Name: "out"}, func(_ context.Context, v int) error {
		<-release
		l.deliver(v)
		return nil
	})
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	until(t, "everything is full", func() bool { made, _, _ := l.counts(); return made == 1+2+1+2+1 })
	close(release)
	if err := wait(t, p); err != nil {
		t.Fatal(err)
	}
	l.all(t)
	l.inOrder(t)
}
