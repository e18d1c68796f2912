package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fails makes an op that fails for the items of bad and passes the others.
func fails(j jitterer, bad func(int) bool) func(context.Context, int) (int, error) {
	return func(_ context.Context, v int) (int, error) {
		if j.pass(v); bad(v) {
			return 0, fmt.Errorf("item %d: %w", v, errBoom)
		}
		return v, nil
	}
}

func modulo(n int) func(context.Context, int) (int, error) {
	return func(_ context.Context, v int) (int, error) { return v % n, nil }
}

// In Input order results of several paths stand in the order of their items,
// whatever a path drops and however paths overtake each other, one inside the
// other too.
func TestVariantsKeepTheOrderOfTheirItems(t *testing.T) {
	interleavings(t, 40, func(t *testing.T, j jitterer) {
		p := New("t")
		l := &ledger{}
		forgive := Failures{MaxCount: -1}
		stage := func(name string, bad func(int) bool) func(*Port[int]) *Port[int] {
			return func(in *Port[int]) *Port[int] {
				return Map(in, Options[int, int]{Name: name, Concurrency: 3, Failures: forgive, Discard: l.discard}, fails(j, bad))
			}
		}
		inner := Order(j.seed % 2)
		v := Variants(l.from(p, 200), VariantsOptions[int]{Name: "outer", Output: Input, Window: 8, Discard: l.discard}, modulo(3),
			stage("a", func(v int) bool { return v%5 == 0 }),
			func(in *Port[int]) *Port[int] { return in },
			func(in *Port[int]) *Port[int] {
				nested := Variants(in, VariantsOptions[int]{Name: "inner", Output: inner, Window: 4, Failures: forgive, Discard: l.discard},
					func(_ context.Context, v int) (int, error) {
						if v == 101 {
							return 0, errBoom
						}
						return v / 3 % 2, nil
					},
					stage("b", func(v int) bool { return v == 8 }),
					stage("c", func(v int) bool { return v == 11 }))
				return stage("d", func(v int) bool { return v == 2 })(nested)
			})
		got := run(t, p, Pull(v, ResultsOptions{Name: "out"}))
		var want []int
		for v := range 200 {
			if v%15 != 0 && !slices.Contains([]int{2, 8, 11, 101}, v) {
				want = append(want, v)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		l.delivered = got
		l.balanced(t)
	})
}

// The first item waits in its path until the others of the window have passed theirs, also where a sink right behind has a small buffer.
func TestASinksBufferLeavesTheWindowOfVariants(t *testing.T) {
	const window = 8
	for _, buffer := range []int{0, 1, 20} {
		p, l := New("t"), &ledger{}
		passed := make(chan struct{}, window)
		stage := func(name string, work func()) func(*Port[int]) *Port[int] {
			return func(in *Port[int]) *Port[int] {
				return Map(in, Options[int, int]{Name: name}, func(_ context.Context, v int) (int, error) { work(); return v, nil })
			}
		}
		v := Variants(l.from(p, window), VariantsOptions[int]{Name: "v", Output: Input, Window: window},
			func(_ context.Context, v int) (int, error) { return min(v, 1), nil },
			stage("first", func() {
				for range window - 1 {
					select {
					case <-passed:
					case <-time.After(patience):
						t.Error("the others of the window did not pass")
						return
					}
				}
			}),
			stage("others", func() { passed <- struct{}{} }))
		if got := run(t, p, Pull(v, ResultsOptions{Name: "out", Buffer: buffer})); len(got) != window || !slices.IsSorted(got) {
			t.Errorf("buffer %d: got %v", buffer, got)
		}
	}
}

// A batch's elements come back in their places, and a part that its path drops
// leaves the others where they were: batches are never mixed.
func TestBatchedVariantsPutElementsBackInTheirPlaces(t *testing.T) {
	interleavings(t, 40, func(t *testing.T, j jitterer) {
		p := New("t")
		n := 0
		src := Source(p, SourceOptions[[]int]{Name: "plan"}, func(context.Context) ([]int, error) {
			if n++; n%21 == 0 && n < 63 {
				return nil, ErrEndOfEpoch
			} else if n == 63 {
				return nil, io.EOF
			}
			batch := make([]int, n%6)
			for i := range batch {
				batch[i] = n*10 + i
			}
			return batch, nil
		})
		path := func(k int) func(*Port[[]int]) *Port[[]int] {
			return func(in *Port[[]int]) *Port[[]int] {
				return Map(in, Options[[]int, []int]{Name: fmt.Sprint("path", k), Concurrency: 3, Failures: Failures{MaxCount: -1}},
					func(_ context.Context, part []int) ([]int, error) {
						if j.pass(part[0]); k == 1 && part[0]/10%4 == 0 {
							return nil, errBoom
						}
						return part, nil
					})
			}
		}
		lists := VariantsBatched(src, VariantsOptions[[]int]{Name: "route", Window: 5}, Slices[int, int](),
			func(_ context.Context, batch []int) ([]int, error) {
				paths := make([]int, len(batch))
				for i, v := range batch {
					paths[i] = (v*7 + v/10) % 3
				}
				return paths, nil
			}, path(0), path(1), path(2))
		r := Pull(Disaggregate(lists, Options[[]int, int]{Name: "flat"}), ResultsOptions{Name: "out"})
		got := run(t, p, r)
		var want []int
		for n := 1; n < 63; n++ {
			if n%21 == 0 {
				want = append(want, -1)
				continue
			}
			for i := range n % 6 {
				if v := n*10 + i; !((v*7+v/10)%3 == 1 && n%4 == 0) {
					want = append(want, v)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

// A path that returns another number of results than elements is named.
func TestABatchedPathThatReturnsTooMuchIsNamed(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	lists := Aggregate(l.from(p, 8), AggregateOptions[[]int]{Name: "list"}, &lister{n: 4})
	out := VariantsBatched(lists, VariantsOptions[[]int]{Name: "route"}, Slices[int, int](),
		func(_ context.Context, b []int) ([]int, error) { return make([]int, len(b)), nil },
		func(in *Port[[]int]) *Port[[]int] {
			return Map(in, Options[[]int, []int]{Name: "a"}, func(_ context.Context, b []int) ([]int, error) { return append(b, 1), nil })
		})
	Sink(out, SinkOptions{Name: "out"}, func(context.Context, []int) error { return nil })
	start(t, p)
	err := wait(t, p)
	if err == nil || !strings.Contains(err.Error(), `stage "route/join": a path returned 5 results for 4 elements`) {
		t.Fatal(err)
	}
}

// Stop in the middle of variants ends every item and every part once.
func TestStopEndsVariantsWithEveryItemEnded(t *testing.T) {
	interleavings(t, 40, func(t *testing.T, j jitterer) {
		p := New("t")
		l := &ledger{}
		path := func(name string) func(*Port[int]) *Port[int] {
			return func(in *Port[int]) *Port[int] {
				return Map(in, Options[int, int]{Name: name, Concurrency: 2, Discard: l.discard}, j.op)
			}
		}
		v := Variants(l.from(p, -1), VariantsOptions[int]{Name: "route", Output: Order(j.seed % 2), Window: 6, Discard: l.discard},
			modulo(2), path("a"), path("b"))
		Sink(v, SinkOptions{Name: "out"}, func(_ context.Context, v int) error {
			if l.deliver(v); v > int(j.seed) {
				p.Stop()
			}
			return nil
		})
		start(t, p)
		if err := wait(t, p); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
		l.balanced(t)
	})
}

// Batches in parts when a run stops: every element is discarded or delivered.
func TestStopEndsTheBatchesThatWaitForTheirParts(t *testing.T) {
	interleavings(t, 40, func(t *testing.T, j jitterer) {
		p := New("t")
		l := &ledger{}
		discard := func(b []int) {
			for _, v := range b {
				l.discard(v)
			}
		}
		next := l.source(-1)
		src := Source(p, SourceOptions[[]int]{Name: "plan", Discard: discard}, func(ctx context.Context) (b []int, _ error) {
			for range 4 {
				v, _ := next(ctx)
				b = append(b, v)
			}
			return b, nil
		})
		path := func(name string) func(*Port[[]int]) *Port[[]int] {
			return func(in *Port[[]int]) *Port[[]int] {
				return Map(in, Options[[]int, []int]{Name: name, Concurrency: 2, Discard: discard},
					func(_ context.Context, b []int) ([]int, error) { j.pass(b[0]); return b, nil })
			}
		}
		lists := VariantsBatched(src, VariantsOptions[[]int]{Name: "route", Discard: discard}, Slices[int, int](),
			func(_ context.Context, b []int) ([]int, error) { return []int{0, 1, b[2] % 2, 0}, nil }, path("a"), path("b"))
		Sink(lists, SinkOptions{Name: "out"}, func(_ context.Context, b []int) error {
			for _, v := range b {
				l.deliver(v)
			}
			if b[0] > 4*int(j.seed) {
				p.Stop()
			}
			return nil
		})
		start(t, p)
		if err := wait(t, p); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
		l.balanced(t)
	})
}

func TestRoutesThatLeadNowhereAreRefused(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	v := Variants(l.from(p, 3), VariantsOptions[int]{Name: "route", Failures: Failures{MaxCount: -1}},
		func(context.Context, int) (int, error) { return 2, nil },
		func(in *Port[int]) *Port[int] { return in }, func(in *Port[int]) *Port[int] { return in })
	Sink(v, SinkOptions{Name: "out"}, l.sink)
	start(t, p)
	if err := wait(t, p); err == nil || !strings.Contains(err.Error(), "route chose path 2, want 0 to 1") {
		t.Fatal(err)
	}
	l.balanced(t)

	p = New("t")
	v = Variants(l.from(p, 3), VariantsOptions[int]{Name: "route", Output: Input}, modulo(1),
		func(in *Port[int]) *Port[int] {
			return Generate(in, Options[int, int]{Name: "many"}, func(context.Context, int, func(int) bool) error { return nil })
		})
	Sink(v, SinkOptions{Name: "out"}, l.sink)
	Sink(Variants(l2(p, "b", l, 1), VariantsOptions[int]{Name: "astray", Output: Input}, modulo(1),
		func(in *Port[int]) *Port[int] {
			Sink(in, SinkOptions{Name: "in a path"}, l.sink)
			return l2(p, "c", l, 1)
		}), SinkOptions{Name: "out2"}, l.sink)
	Sink(Variants[int, int](l2(p, "d", l, 1), VariantsOptions[int]{Name: "none"}, nil), SinkOptions{Name: "out3"}, l.sink)
	Sink(Variants(l2(p, "e", l, 1), VariantsOptions[int]{Name: "odd", Window: -1}, modulo(1),
		func(in *Port[int]) *Port[int] { return in }), SinkOptions{Name: "out4"}, l.sink)
	err := p.Start(context.Background())
	for _, want := range []string{
		`"many": a stage of kind generate cannot stand in a path`,
		`"in a path": a stage of kind sink cannot stand in a path`,
		`"astray/0": the path does not end in a stage behind the port it was given`,
		`"none": route is nil`,
		`"odd": window -1`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("start: %v, want %q", err, want)
		}
	}
}

// Merged inputs keep their own order; every item comes once; epochs are merged
// one by one.
func TestAMergeBringsEveryItemOfEveryEpochOnce(t *testing.T) {
	interleavings(t, 30, func(t *testing.T, j jitterer) {
		for _, policy := range []MergePolicy{Arrival, RoundRobin, Weighted} {
			p := New("t")
			var inputs []*Port[int]
			for i := range 3 {
				plan := epochs(4, 6)
				src := Source(p, SourceOptions[int]{Name: fmt.Sprint("plan", i)}, func(ctx context.Context) (int, error) {
					v, err := plan(ctx)
					return v*10 + i, err
				})
				inputs = append(inputs, Map(src, Options[int, int]{Name: fmt.Sprint("a", i), Concurrency: 2, Output: Input}, j.op))
			}
			v := Merge(p, MergeOptions[int]{Name: "merge", Policy: policy, Weights: []float64{1, 0, 3}, Seed: 5}, inputs...)
			got := run(t, p, Pull(v, ResultsOptions{Name: "out"}))
			var own [3][]int
			ends := 0
			for at, v := range got {
				if v < 0 {
					if ends++; at != ends*19-1 {
						t.Errorf("end %d of epoch at %d, want %d", ends, at, ends*19-1)
					}
					continue
				}
				own[v%10] = append(own[v%10], v/10)
			}
			for i := range own {
				if !slices.Equal(own[i], count(24)) {
					t.Errorf("policy %d: input %d came as %v", policy, i, own[i])
				}
			}
			if policy == RoundRobin && !slices.Equal(got[:6], []int{0, 1, 2, 10, 11, 12}) {
				t.Errorf("round robin: %v", got)
			}
		}
	})
}

// A weighted merge draws its inputs by the weights, the same way in every run.
func TestAWeightedMergeIsTheSameInEveryRun(t *testing.T) {
	leavesNothing(t)
	var first []int
	for range 3 {
		p := New("t")
		var inputs []*Port[int]
		for i := range 2 {
			inputs = append(inputs, Source(p, SourceOptions[int]{Name: fmt.Sprint(i)}, func(context.Context) (int, error) { return i, nil }))
		}
		v := Merge(p, MergeOptions[int]{Name: "m", Policy: Weighted, Weights: []float64{1, 4}, Seed: 7, Stop: StopCount, Count: 2000}, inputs...)
		got := run(t, p, Pull(v, ResultsOptions{Name: "out"}))
		ones := 0
		for _, v := range got {
			ones += v
		}
		if len(got) != 2000 || ones < 1500 || ones > 1700 {
			t.Fatalf("%d items, %d of the heavy input; want 2000 and about 1600", len(got), ones)
		}
		if first == nil {
			first = got
		}
		if !slices.Equal(first, got) {
			t.Fatal("two runs differ")
		}
	}
}

// A merge that ends first drains its inputs and discards what they had.
func TestAMergeThatStopsEarlyDrainsItsInputs(t *testing.T) {
	interleavings(t, 30, func(t *testing.T, j jitterer) {
		for _, policy := range []MergePolicy{Arrival, RoundRobin} {
			p := New("t")
			short, endless := &ledger{}, &ledger{}
			a := l2(p, "short", short, 5)
			b := Map(l2(p, "endless", endless, -1), Options[int, int]{Name: "b", Concurrency: 2, Discard: endless.discard}, j.op)
			b = Map(b, Options[int, int]{Name: "sign", Discard: func(v int) { endless.discard(-v - 1) }},
				func(_ context.Context, v int) (int, error) { return -v - 1, nil })
			v := Merge(p, MergeOptions[int]{Name: "m", Policy: policy, Stop: StopFirst}, a, b)
			Sink(v, SinkOptions{Name: "out"}, func(_ context.Context, v int) error {
				if v < 0 {
					endless.deliver(-v - 1)
				} else {
					short.deliver(v)
				}
				return nil
			})
			start(t, p)
			must(t, wait(t, p))
			short.all(t)
			endless.balanced(t)
			if policy == RoundRobin && len(endless.delivered) != 5 {
				t.Errorf("%d of the endless input, want 5", len(endless.delivered))
			}
		}
	})
}

func l2(p *Pipeline, name string, l *ledger, n int) *Port[int] {
	return Source(p, SourceOptions[int]{Name: name, Discard: l.discard}, l.source(n))
}

func TestMergesThatMakeNoSenseAreRefused(t *testing.T) {
	for want, o := range map[string]MergeOptions[int]{
		"merge policy 7":     {Policy: 7},
		"merge stop 9":       {Stop: 9},
		"count 0, want 1":    {Stop: StopCount},
		"weights [], want 1": {Policy: Weighted},
		"weights [0], want":  {Policy: Weighted, Weights: []float64{0}},
		"weights [-1], want": {Policy: Weighted, Weights: []float64{-1}},
	} {
		p := New("t")
		o.Name = "m"
		Pull(Merge(p, o, (&ledger{}).from(p, 1)), ResultsOptions{Name: "out"})
		if err := p.Start(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("start: %v, want %q", err, want)
		}
	}
	p := New("t")
	Pull(Merge[int](p, MergeOptions[int]{Name: "m"}), ResultsOptions{Name: "out"})
	if err := p.Start(context.Background()); err == nil || !strings.Contains(err.Error(), "nothing to merge") {
		t.Error(err)
	}
}

// A pipeline that would wait for itself is refused by name. A longer ring of pipelines cannot be written: the results that one reads are there
// only when the other's stages are.
func TestAPipelineIsNotItsOwnSource(t *testing.T) {
	p := New("ring")
	results := Pull(Map(Source(p, SourceOptions[int]{Name: "plan"}, (&ledger{}).source(3)), Options[int, int]{Name: "a"}, same), ResultsOptions{Name: "mid"})
	Pull(Nested(p, SourceOptions[int]{Name: "nest"}, results), ResultsOptions{Name: "out"})
	if err := p.Start(context.Background()); err == nil || !strings.Contains(err.Error(), `stage "nest": the pipeline is its own source`) {
		t.Errorf("got %v", err)
	}
}

// A pipeline reads another's results: ends, epochs, stops and failures pass
// between them, and both are gone when Wait returns.
func TestANestedPipelineEndsWithTheOneAround(t *testing.T) {
	interleavings(t, 20, func(t *testing.T, j jitterer) {
		build := func(n int, op func(context.Context, int) (int, error)) (outer, inner *Pipeline, r *Results[int], l *ledger) {
			l = &ledger{}
			inner, outer = New("inner"), New("outer")
			plan := l.source(n)
			if n > 0 {
				plan = epochs(3, n)
			}
			src := Source(inner, SourceOptions[int]{Name: "plan", Discard: l.discard}, plan)
			in := Pull(Map(src, Options[int, int]{Name: "a", Concurrency: 3, Output: Input, Discard: l.discard}, op), ResultsOptions{Name: "mid"})
			v := Map(Nested(outer, SourceOptions[int]{Name: "nest", Discard: l.discard}, in),
				Options[int, int]{Name: "b", Discard: l.discard}, j.op)
			return outer, inner, Pull(v, ResultsOptions{Name: "out"}), l
		}
		ended := func(inner *Pipeline) {
			select {
			case <-inner.Done():
			default:
				t.Error("the inner pipeline outlives the outer")
			}
		}
		outer, inner, r, _ := build(7, j.op)
		checkEpochs(t, run(t, outer, r), 3, 7, true)
		ended(inner)

		outer, inner, r, _ = build(7, fails(j, func(v int) bool { return v == 9 }))
		start(t, outer)
		var err error
		for err == nil || errors.Is(err, ErrEndOfEpoch) {
			_, err = r.Next(context.Background())
		}
		if err = wait(t, outer); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), `stage "nest": nested pipeline: "inner": stage "a"`) {
			t.Error(err)
		}
		ended(inner)

		outer, inner, r, l := build(-1, j.op)
		start(t, outer)
		for range j.seed {
			v, err := r.Next(context.Background())
			must(t, err)
			l.deliver(v)
		}
		if j.seed%2 == 0 {
			outer.Stop()
			if err := wait(t, outer); !errors.Is(err, ErrStopped) {
				t.Error(err)
			}
		} else {
			outer.Drain()
			for _, v := range fetch(t, r) {
				l.deliver(v)
			}
			must(t, wait(t, outer))
		}
		ended(inner)
		l.balanced(t)
	})
}

// Background tasks run as long as the stages; their errors and panics are
// reported and nothing else.
func TestBackgroundTasksTouchNothing(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	Sink(l.from(p, 10), SinkOptions{Name: "out"}, l.sink)
	var reported atomic.Int32
	report := func(error) { reported.Add(1) }
	p.Background("until the end", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, report)
	p.Background("fails", func(context.Context) error { return errBoom }, report)
	p.Background("panics", func(context.Context) error { panic("oh") }, report)
	p.Background("ends", func(context.Context) error { return nil }, nil)
	start(t, p)
	must(t, wait(t, p))
	l.all(t)
	var states []string
	for _, b := range p.Stats().Background {
		states = append(states, b.State)
	}
	if !slices.Equal(states, []string{"ended", "failed", "failed", "ended"}) || reported.Load() != 2 {
		t.Fatalf("states %v, %d reports", states, reported.Load())
	}
	p = New("t")
	Sink(l.from(p, 0), SinkOptions{Name: "out"}, l.sink)
	p.Background("nil", nil, nil)
	if err := p.Start(context.Background()); err == nil || !strings.Contains(err.Error(), "background task nil: run is nil") {
		t.Fatal(err)
	}
}

// Hooks see every stage once and every task, and their errors count.
func TestHooksSeeEveryStageAndTask(t *testing.T) {
	leavesNothing(t)
	type key struct{}
	p := New("t")
	l := &ledger{}
	var opened, closed []string
	var before, after atomic.Int32
	p.Hook(Hooks{
		Stage: func(_ context.Context, s StageInfo) (func(error), error) {
			opened = append(opened, s.Name)
			return func(err error) { must(t, err); closed = append(closed, s.Name) }, nil
		},
		Task: func(ctx context.Context, s StageInfo) (context.Context, func(error), error) {
			if s.Name == "a" && before.Add(1) == 3 {
				return nil, nil, errBoom
			}
			return context.WithValue(ctx, key{}, s.Name), func(error) { after.Add(1) }, nil
		},
	})
	v := Map(l.from(p, 10), Options[int, int]{Name: "a", Concurrency: 2, Failures: Failures{MaxCount: 1}},
		func(ctx context.Context, v int) (int, error) {
			if ctx.Value(key{}) != "a" {
				t.Error("the op lacks the hook's context")
			}
			return v, nil
		})
	Sink(v, SinkOptions{Name: "out"}, l.sink)
	start(t, p)
	must(t, wait(t, p))
	slices.Reverse(closed)
	if want := []string{"plan", "a", "out"}; !slices.Equal(opened, want) || !slices.Equal(closed, want) {
		t.Fatalf("opened %v, closed %v", opened, closed)
	}
	if before.Load() != 10 || after.Load() != 9+9 || len(l.delivered) != 9 {
		t.Fatalf("before %d, after %d, delivered %v", before.Load(), after.Load(), l.delivered)
	}
	l.balanced(t)
}

func TestAStageHookThatFailsFailsStart(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	var undone []string
	p.Hook(Hooks{Stage: func(_ context.Context, s StageInfo) (func(error), error) {
		if s.Name == "out" {
			return nil, errBoom
		}
		return func(error) { undone = append(undone, s.Name) }, nil
	}})
	r := Pull(Map(l.from(p, 5), Options[int, int]{Name: "a"}, same), ResultsOptions{Name: "out"})
	if err := p.Start(context.Background()); !errors.Is(err, errBoom) || !slices.Equal(undone, []string{"a", "plan"}) {
		t.Fatalf("start: %v, undone %v", err, undone)
	}
	if _, err := r.Next(context.Background()); !errors.Is(err, errBoom) {
		t.Fatalf("next: %v, want what Start returned", err)
	}
}

// Ahead lets results leave before a slow one, at most so far, and across no end
// of epoch; 0 keeps the order.
func TestAheadPassesASlowNumberByAtMostThatMuch(t *testing.T) {
	leavesNothing(t)
	for _, ahead := range []int{0, 1, 3} {
		q := NewQueue[int](8)
		q.ordered, q.ahead = true, uint64(ahead)
		for _, n := range []int{1, 2, 3, 4} {
			must(t, q.place(uint64(n), n))
		}
		var got []int
		for q.ready() {
			v, _ := q.Get()
			got = append(got, v)
		}
		if want := []int{1, 2, 3}[:ahead]; !slices.Equal(got, want) {
			t.Fatalf("ahead %d: %v left before 0, want %v", ahead, got, want)
		}
		if err := q.place(1, 1); err == nil {
			t.Fatal("a number came twice")
		}
		must(t, q.place(0, 0))
		if !q.placeMark() {
			t.Fatal("the mark found no place")
		}
		must(t, q.place(6, 6)) // of the next epoch, behind a missing 5
		q.Close()
		for q.at(q.head).kind == full {
			v, _ := q.Get()
			got = append(got, v)
		}
		slices.Sort(got)
		if !slices.Equal(got, count(5)) {
			t.Fatalf("ahead %d: %v", ahead, got)
		}
		if it, ok := q.take(); !ok || it.kind != mark {
			t.Fatalf("ahead %d: %+v, want the mark", ahead, it)
		}
		if err := q.gap(); err == nil || !strings.Contains(err.Error(), "sequence 5 never came") {
			t.Fatal(err)
		}
	}
}

// Resequenced epochs are whole, whatever leaves ahead inside them.
func TestResequencedEpochsAreWhole(t *testing.T) {
	interleavings(t, 30, func(t *testing.T, j jitterer) {
		for _, ahead := range []int{0, 4} {
			p := New("t")
			v := Source(p, SourceOptions[int]{Name: "plan"}, epochs(4, 9))
			v = Map(v, Options[int, int]{Name: "a", Concurrency: 4}, j.op)
			v = Resequence(v, ResequenceOptions{Name: "order", Window: 16, Ahead: ahead}, func(v int) uint64 { return uint64(v) })
			checkEpochs(t, run(t, p, Pull(v, ResultsOptions{Name: "out"})), 4, 9, ahead == 0)
		}
	})
	p := New("t")
	v := Resequence((&ledger{}).from(p, 1), ResequenceOptions{Name: "o", Window: 2, Ahead: 2}, func(v int) uint64 { return 0 })
	Pull(v, ResultsOptions{Name: "out"})
	if err := p.Start(context.Background()); err == nil || !strings.Contains(err.Error(), "ahead 2, want 0 or more and less than window 2") {
		t.Fatal(err)
	}
}
