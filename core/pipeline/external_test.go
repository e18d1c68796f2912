package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hosts runs n threads that take works of x and answer them with serve, until
// there are none.
func hosts[In, Out any](n int, x *External[In, Out], serve func(Work[In])) *sync.WaitGroup {
	var wg sync.WaitGroup
	for range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				w, err := x.Take(context.Background())
				if err != nil {
					return
				}
				serve(w)
			}
		}()
	}
	return &wg
}

// fetch reads all results to the end of the data; -1 stands for an end of epoch.
func fetch(t *testing.T, r *Results[int]) (got []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		v, err := r.Next(ctx)
		switch {
		case err == nil:
			got = append(got, v)
		case errors.Is(err, ErrEndOfEpoch):
			got = append(got, -1)
		case errors.Is(err, io.EOF):
			return got
		default:
			t.Fatal(err)
		}
	}
}

func start(t *testing.T, p *Pipeline) {
	t.Helper()
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// must fails the test if an answer is refused.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func count(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Every item a host answers comes out once, in the order asked for, whichever
// thread has it and however long.
func TestAnExternalStageKeepsTheOrderAskedFor(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		p := New("t")
		l := &ledger{}
		x, out := ExternalMap(l.from(p, 500), ExternalOptions[int]{
			Name: "host", Concurrency: 4, Output: order, Discard: l.discard,
		})
		r := Pull(out, ResultsOptions{Name: "out", Buffer: 3})
		start(t, p)
		threads := hosts(5, x, func(w Work[int]) {
			v, _ := jitter(context.Background(), w.Item)
			must(t, x.Give(w.Token, Result[int]{Value: v}))
		})
		got := fetch(t, r)
		threads.Wait()
		if err := wait(t, p); err != nil {
			t.Fatal(err)
		}
		if order == Completion {
			slices.Sort(got)
		}
		if !slices.Equal(got, count(500)) {
			t.Fatalf("order %d: got %v", order, got)
		}
	}
}

// A host may give none, one or many results of an item; in Input order they
// stay together, in their item's place.
func TestAnExternalStageGivesManyResultsInTheirItemsPlace(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	x, out := ExternalMap(l.from(p, 60), ExternalOptions[int]{Name: "host", Concurrency: 3, Output: Input, Buffer: 1})
	r := Pull(out, ResultsOptions{Name: "out"})
	start(t, p)
	threads := hosts(3, x, func(w Work[int]) {
		for i := range w.Item % 4 {
			v, _ := jitter(context.Background(), w.Item*10+i)
			must(t, x.Give(w.Token, Result[int]{Value: v, More: true}))
		}
		must(t, x.Give(w.Token, Result[int]{Skip: true}))
	})
	var want []int
	for v := range 60 {
		for i := range v % 4 {
			want = append(want, v*10+i)
		}
	}
	if got := fetch(t, r); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	threads.Wait()
	must(t, wait(t, p))
}

// A failed work is taken again, up to Max times, with its attempt counted; the
// text of a failure that ends the run is kept whole.
func TestAnExternalStageRetriesAndThenFails(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		p := New("t")
		l := &ledger{}
		x, out := ExternalMap(l.from(p, 20), ExternalOptions[int]{
			Name: "host", Concurrency: 2, Output: order, Discard: l.discard,
			Retry: Retry{Max: 2, Base: time.Microsecond},
		})
		r := Pull(out, ResultsOptions{Name: "out"})
		start(t, p)
		threads := hosts(2, x, func(w Work[int]) {
			res := Result[int]{Value: w.Item}
			if w.Item == 7 && w.Attempt < 3 || w.Item == 15 {
				res = Result[int]{Err: fmt.Errorf("attempt %d of %d\nTraceback: line 12", w.Attempt, w.Item)}
			}
			_ = x.Give(w.Token, res)
			if err := x.Give(w.Token, res); !errors.Is(err, ErrUnknownWork) {
				t.Errorf("second answer to attempt %d: %v, want ErrUnknownWork", w.Attempt, err)
			}
			if w.Worker < 0 || w.Worker > 1 {
				t.Errorf("worker %d, want 0 or 1", w.Worker)
			}
		})
		var got []int
		var err error
		for err == nil {
			var v int
			if v, err = r.Next(context.Background()); err == nil {
				got = append(got, v)
				l.deliver(v)
			}
		}
		threads.Wait()
		if end := wait(t, p); end == nil || end.Error() != err.Error() ||
			!strings.Contains(end.Error(), `stage "host": attempt 3 of 15`+"\nTraceback: line 12") {
			t.Fatalf("Next: %v; Wait: %v", err, end)
		}
		if !slices.Contains(got, 7) && order == Input {
			t.Fatalf("item 7 was tried three times but is missing: %v", got)
		}
		if s := p.Stats().Stages[1]; s.Retries < 2 || s.Failures != 1 {
			t.Fatalf("stats %+v, want 2 retries or more and 1 failure", s)
		}
		l.balanced(t)
	}
}

// A failure budget forgives a host's failures, and a failed item leaves no gap.
func TestAnExternalStageForgivesWithinItsBudget(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	x, out := ExternalMap(l.from(p, 100), ExternalOptions[int]{
		Name: "host", Concurrency: 3, Output: Input, Failures: Failures{MaxCount: 10},
	})
	r := Pull(out, ResultsOptions{Name: "out"})
	start(t, p)
	threads := hosts(3, x, func(w Work[int]) {
		if w.Item%10 == 3 {
			must(t, x.Give(w.Token, Result[int]{Err: errBoom}))
			return
		}
		must(t, x.Give(w.Token, Result[int]{Value: w.Item}))
	})
	got := fetch(t, r)
	threads.Wait()
	must(t, wait(t, p))
	if len(got) != 90 || !slices.IsSorted(got) || len(l.discarded) != 10 {
		t.Fatalf("got %v, discarded %v", got, l.discarded)
	}
}

// A token answers once, by whoever is first, and a made-up one never.
func TestGiveRefusesATokenThatIsNotOut(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	x, out := ExternalMap(l.from(p, 1), ExternalOptions[int]{Name: "host"})
	r := Pull(out, ResultsOptions{Name: "out"})
	start(t, p)
	w, err := x.Take(context.Background())
	must(t, err)
	must(t, x.Give(w.Token, Result[int]{Value: 1}))
	for _, token := range []uint64{w.Token, 0, 77, w.Token + 1, 1 << 60} {
		if err := x.Give(token, Result[int]{Value: 2}); !errors.Is(err, ErrUnknownWork) {
			t.Errorf("token %d: %v, want ErrUnknownWork", token, err)
		}
	}
	if got := fetch(t, r); !slices.Equal(got, []int{1}) {
		t.Fatalf("got %v", got)
	}
	must(t, wait(t, p))
}

// Take and Next end with their context and lose nothing by it; with an ended
// context they take what is there.
func TestTakeAndNextLoseNothingByTheirContext(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	feed := make(chan int)
	src := Source(p, SourceOptions[int]{Name: "plan"}, func(ctx context.Context) (int, error) {
		v, ok := <-feed
		if !ok {
			return 0, io.EOF
		}
		return v, nil
	})
	x, out := ExternalMap(src, ExternalOptions[int]{Name: "host"})
	r := Pull(out, ResultsOptions{Name: "out"})
	start(t, p)
	gone, cancel := context.WithCancelCause(context.Background())
	cancel(errBoom)
	for i := range 50 {
		if _, err := x.Take(gone); !errors.Is(err, errBoom) {
			t.Fatalf("take: %v, want the context's cause", err)
		}
		soon, cancel := context.WithTimeout(context.Background(), time.Duration(i)*10*time.Microsecond)
		if _, err := r.Next(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("next: %v, want the context's cause", err)
		}
		cancel()
		feed <- i
		until(t, "the item is there", func() bool { return p.Stats().Queues[0].Depth == 1 })
		w, err := x.Take(gone)
		must(t, err)
		must(t, x.Give(w.Token, Result[int]{Value: w.Item}))
		if v, err := r.Next(gone); err != nil || v != i {
			t.Fatalf("next: %d, %v; want %d", v, err, i)
		}
	}
	close(feed)
	if _, err := r.Next(context.Background()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if _, err := x.Take(context.Background()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	must(t, wait(t, p))
}

// Stop ends threads that wait in Take and in Give at once. A work that is out
// keeps Wait waiting, and Stats names it with its age, until it is given back.
func TestStopWaitsForTheWorksThatAreOut(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	x, out := ExternalMap(l.from(p, -1), ExternalOptions[int]{Name: "host", Concurrency: 3, Buffer: 1, Discard: l.discard})
	Pull(out, ResultsOptions{Name: "out"})
	start(t, p)
	ctx := context.Background()
	stuck, err := x.Take(ctx)
	must(t, err)
	blocked := make(chan error, 2)
	for range 2 {
		go func() {
			for {
				w, err := x.Take(ctx)
				if err != nil {
					blocked <- err
					return
				}
				if err := x.Give(w.Token, Result[int]{Value: w.Item}); err != nil {
					blocked <- err
					return
				}
			}
		}()
	}
	until(t, "a thread waits in Give", func() bool {
		return slices.ContainsFunc(p.Stats().Stages[1].Works, func(w WorkStats) bool { return w.State == workGiving })
	})
	p.Stop()
	for range 2 {
		if err := await(t, blocked, "the threads"); !errors.Is(err, ErrEnded) && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	select {
	case <-p.Done():
		t.Fatal("the run ended while a work was out")
	case <-time.After(20 * time.Millisecond):
	}
	works := p.Stats().Stages[1].Works
	if len(works) != 1 || works[0].Token != stuck.Token || works[0].State != workOut || works[0].AgeNs < int64(20*time.Millisecond) {
		t.Fatalf("works %+v, want token %d out for 20 ms or more", works, stuck.Token)
	}
	if err := x.Give(stuck.Token, Result[int]{Value: stuck.Item}); !errors.Is(err, ErrEnded) {
		t.Fatalf("give after stop: %v, want ErrEnded", err)
	}
	if err := wait(t, p); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	l.balanced(t)
}

// expireNow has the deadline of a work pass at this moment: a real one of some milliseconds would pass for others, too, on a machine that
// stands still for a while.
func expireNow[In, Out any](x *External[In, Out], token uint64) {
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	for _, w := range x.works {
		if w.token == token {
			w.limits.Reset(0)
		}
	}
}

// A work past its deadline has failed at once; what its thread gives later is
// discarded, and only then its item ends.
func TestAnExternalDeadlineFailsTheWorkButNotItsItem(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	x, out := ExternalMap(l.from(p, 3), ExternalOptions[int]{
		Name: "host", Output: Input, Deadline: time.Hour, Failures: Failures{MaxCount: 1}, Discard: l.discard,
	})
	r := Pull(out, ResultsOptions{Name: "out"})
	start(t, p)
	slow, err := x.Take(context.Background())
	must(t, err)
	expireNow(x, slow.Token)
	for range 2 { // its place is free again although its thread is away
		w, err := x.Take(context.Background())
		must(t, err)
		must(t, x.Give(w.Token, Result[int]{Value: w.Item}))
		if v, err := r.Next(context.Background()); err != nil || v != w.Item {
			t.Fatalf("got %d, %v; want %d", v, err, w.Item)
		}
		l.deliver(w.Item)
	}
	if _, _, discarded := l.counts(); discarded != 0 {
		t.Fatal("the item was discarded while its thread had it")
	}
	var late *DeadlineError
	if err := x.Give(slow.Token, Result[int]{Err: errBoom}); !errors.As(err, &late) {
		t.Fatalf("late give: %v, want a *DeadlineError", err)
	}
	if _, err := r.Next(context.Background()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	must(t, wait(t, p))
	l.balanced(t)
}

// A source's epochs end in their place although items of the next are already
// given by the same threads; an aggregator is flushed at each end.
func TestExternalEpochsKeepTheirPlaceWithoutABarrier(t *testing.T) {
	leavesNothing(t)
	const epochs, each = 30, 7
	for _, order := range []Order{Completion, Input} {
		p := New("t")
		src, items := ExternalSource(p, ExternalOptions[int]{Name: "plan", Continuous: true, Buffer: 8})
		mapper, mapped := ExternalMap(items, ExternalOptions[int]{Name: "map", Concurrency: 4, Output: order})
		agg, sums := ExternalAggregator[int, int](mapped, ExternalOptions[int]{Name: "sum"})
		r := Pull(sums, ResultsOptions{Name: "out"})
		start(t, p)
		made := 0
		threads := []*sync.WaitGroup{hosts(1, src, func(w Work[struct{}]) {
			if made == epochs*each {
				p.Drain()
				must(t, src.Give(w.Token, Result[int]{Skip: true}))
				return
			}
			made++
			must(t, src.Give(w.Token, Result[int]{Value: int(w.Epoch), End: made%each == 0}))
		}), hosts(4, mapper, func(w Work[int]) {
			if uint64(w.Item) != w.Epoch {
				t.Errorf("item of epoch %d came in epoch %d", w.Item, w.Epoch)
			}
			v, _ := jitter(context.Background(), w.Item)
			must(t, mapper.Give(w.Token, Result[int]{Value: v}))
		})}
		sum, n := 0, 0
		threads = append(threads, hosts(1, agg, func(w Work[int]) {
			if w.Kind == WorkFlush {
				res := Result[int]{Value: sum*100 + n}
				sum, n = 0, 0
				must(t, agg.Give(w.Token, res))
				return
			}
			sum, n = sum+w.Item, n+1
			must(t, agg.Give(w.Token, Result[int]{Skip: true}))
		}))
		got := fetch(t, r)
		for _, wg := range threads {
			wg.Wait()
		}
		must(t, wait(t, p))
		var want []int
		for e := range epochs {
			want = append(want, e*each*100+each, -1)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("order %d: got %v, want %v", order, got, want)
		}
	}
}

// While one item of an epoch is held, items of the next are already in work.
func TestAnEpochIsNoBarrier(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		p := New("t")
		src, items := ExternalSource(p, ExternalOptions[int]{Name: "plan", Continuous: true, Buffer: 4})
		x, out := ExternalMap(items, ExternalOptions[int]{Name: "map", Concurrency: 2, Output: order})
		r := Pull(out, ResultsOptions{Name: "out"})
		start(t, p)
		ctx := context.Background()
		for i := range 2 {
			w, err := src.Take(ctx)
			must(t, err)
			must(t, src.Give(w.Token, Result[int]{Value: i, End: true}))
		}
		first, err := x.Take(ctx)
		must(t, err)
		second, err := x.Take(ctx)
		must(t, err)
		if first.Epoch != 0 || second.Epoch != 1 {
			t.Fatalf("epochs %d and %d in work at once, want 0 and 1", first.Epoch, second.Epoch)
		}
		must(t, x.Give(second.Token, Result[int]{Value: 1}))
		p.Drain()
		must(t, x.Give(first.Token, Result[int]{Value: 0}))
		if _, err := x.Take(ctx); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if got := fetch(t, r); !slices.Equal(got, []int{0, -1, 1, -1}) {
			t.Fatalf("order %d: got %v", order, got)
		}
		must(t, wait(t, p))
	}
}

// A host's stage in an ordered path: its order is put back, what fails or is
// skipped leaves no gap, and more than one result is named and ends the run.
func TestAnExternalStageInAnOrderedPathGivesOneResult(t *testing.T) {
	interleavings(t, 20, func(t *testing.T, j jitterer) {
		for _, many := range []bool{false, true} {
			p := New("t")
			l := &ledger{}
			var x *External[int, int]
			v := Variants(l.from(p, 60), VariantsOptions[int]{Name: "route", Output: Input, Window: 7, Discard: l.discard}, modulo(2),
				func(in *Port[int]) (out *Port[int]) {
					x, out = ExternalMap(in, ExternalOptions[int]{
						Name: "host", Concurrency: 3, Failures: Failures{MaxCount: -1}, Discard: l.discard,
					})
					return out
				}, func(in *Port[int]) *Port[int] { return in })
			Sink(v, SinkOptions{Name: "out"}, l.sink)
			start(t, p)
			threads := hosts(3, x, func(w Work[int]) {
				j.pass(w.Item)
				switch {
				case many && w.Item == 20:
					if err := x.Give(w.Token, Result[int]{Value: 1000, More: true}); !errors.Is(err, ErrEnded) {
						t.Errorf("got %v, want that the run is over", err)
					}
					if l.mu.Lock(); slices.Contains(l.discarded, w.Item) {
						t.Error("an item that a thread has in hand was discarded")
					}
					l.mu.Unlock()
					l.discard(w.Item)
					_ = x.Give(w.Token, Result[int]{Skip: true})
				case w.Item%10 == 4:
					_ = x.Give(w.Token, Result[int]{Err: errBoom})
				case w.Item%10 == 6:
					l.discard(w.Item)
					_ = x.Give(w.Token, Result[int]{Skip: true})
				default:
					_ = x.Give(w.Token, Result[int]{Value: w.Item})
				}
			})
			err := wait(t, p)
			threads.Wait()
			l.inOrder(t)
			if !many {
				must(t, err)
				l.balanced(t)
				if len(l.delivered) != 48 {
					t.Errorf("delivered %v", l.delivered)
				}
			} else if !errors.Is(err, errOneResult) || !strings.Contains(err.Error(), `stage "host"`) {
				t.Errorf("ended with %v, want the stage named that gave too much", err)
			}
		}
	})
}

// A deadline reaches a work that waits to be tried again, and a flush: the one
// fails as any item, the other ends the run.
func TestAnExternalDeadlineReachesWhatWaits(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	x, out := ExternalMap(l.from(p, 2), ExternalOptions[int]{
		Name: "host", Deadline: time.Hour, Failures: Failures{MaxCount: 1}, Retry: Retry{Max: 1, Base: time.Hour, Cap: time.Hour},
	})
	agg, sums := ExternalAggregator[int, int](out, ExternalOptions[int]{Name: "sum", Deadline: time.Hour})
	Sink(sums, SinkOptions{Name: "out"}, func(context.Context, int) error { return nil })
	start(t, p)
	threads := hosts(1, x, func(w Work[int]) {
		if w.Item == 0 {
			must(t, x.Give(w.Token, Result[int]{Err: errBoom}))
			return
		}
		must(t, x.Give(w.Token, Result[int]{Value: w.Item}))
	})
	until(t, "item 0 waits to be tried again", func() bool {
		works := p.Stats().Stages[1].Works
		return len(works) == 1 && works[0].State == workWaiting
	})
	expireNow(x, p.Stats().Stages[1].Works[0].Token)
	w, err := agg.Take(context.Background())
	must(t, err)
	must(t, agg.Give(w.Token, Result[int]{Skip: true}))
	flush, err := agg.Take(context.Background())
	must(t, err)
	if flush.Kind != WorkFlush {
		t.Fatalf("work %+v, want a flush", flush)
	}
	threads.Wait()
	expireNow(agg, flush.Token)
	until(t, "the flush is overdue", func() bool { return p.Stats().Stages[2].Works[0].State == workOverdue })
	var late *DeadlineError
	if err := agg.Give(flush.Token, Result[int]{Skip: true}); !errors.As(err, &late) {
		t.Fatalf("give: %v, want a *DeadlineError", err)
	}
	if err := wait(t, p); !errors.As(err, &late) || !strings.Contains(err.Error(), `stage "sum"`) {
		t.Fatal(err)
	}
	if !slices.Equal(l.discarded, []int{0}) {
		t.Fatalf("discarded %v, want item 0", l.discarded)
	}
}

// A thousand starts and stops leave nothing, whenever the stop comes.
func TestTenThousandStartsAndStopsLeaveNothing(t *testing.T) {
	leavesNothing(t)
	n := 10000
	if testing.Short() {
		n = 100
	}
	for i := range n {
		p := New("t")
		l := &ledger{}
		x, out := ExternalMap(l.from(p, -1), ExternalOptions[int]{Name: "host", Concurrency: 2, Discard: l.discard})
		r := Pull(out, ResultsOptions{Name: "out"})
		threads := hosts(2, x, func(w Work[int]) { _ = x.Give(w.Token, Result[int]{Value: w.Item}) })
		if i%10 != 0 { // or it never starts
			start(t, p)
		}
		for range i % 5 {
			if v, err := r.Next(cancelledContext()); err == nil {
				l.deliver(v)
			}
		}
		p.Stop()
		if err := wait(t, p); !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		threads.Wait()
		l.balanced(t)
	}
}

func cancelledContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
