package pipeline

import (
	"context"
	"io"
	"runtime"
	"testing"
)

// A payload is about what an engine's item is: a few words and a pointer.
type payload struct {
	ticket uint64
	_      int
	_      []byte
	_      *int
}

// shape is a pipeline to be measured, n items long.
type shape func(p *Pipeline, n int, measured func())

// plain is the engine's shape without its work; measured is called at the
// source after a tenth of the items, when everything is warm, and at the end.
func plain(order Order, concurrency int) shape {
	return func(p *Pipeline, n int, measured func()) {
		budget, limiter := NewBytes(1<<10), NewLimiter(concurrency)
		i := 0
		src := Source(p, SourceOptions[payload]{Name: "plan", Buffer: 32}, func(context.Context) (payload, error) {
			if i == n/10 || i == n {
				measured()
			}
			if i++; i > n {
				return payload{}, io.EOF
			}
			return payload{ticket: uint64(i)}, nil
		})
		a := Map(src, Options[payload, payload]{
			Name: "fetch", Concurrency: concurrency, Buffer: 32, Output: order,
			Budget: budget, Cost: func(payload) int64 { return 64 },
		}, func(_ context.Context, v payload) (payload, error) { return v, nil })
		b := Map(a, Options[payload, payload]{
			Name: "decode", Concurrency: concurrency, Buffer: 32, Limiter: limiter,
		}, func(_ context.Context, v payload) (payload, error) {
			budget.Release(64)
			return v, nil
		})
		Sink(b, SinkOptions{Name: "out"}, func(context.Context, payload) error { return nil })
	}
}

// From the first tenth of a run on nothing is allocated, whoever waits for
// whom: items, waiters, budgets, limits and statistics included.
func TestTheSteadyPathAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const n = 50000
	for name, s := range map[string]shape{
		"completion, alone": plain(Completion, 1),
		"completion, four":  plain(Completion, 4),
		"input, four":       plain(Input, 4),
		"a host's thread":   hosted,
	} {
		var before, after runtime.MemStats
		first := true
		p := New("t")
		s(p, n, func() {
			if first {
				first = false
				runtime.ReadMemStats(&before)
				return
			}
			runtime.ReadMemStats(&after)
		})
		if err := p.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		// The runtime itself allocates now and then (a sudog after a garbage
		// collection, say), hence one in a hundred items instead of zero.
		allocs := after.Mallocs - before.Mallocs
		t.Logf("%s: %d allocations for %d items", name, allocs, n*9/10)
		if allocs > n/100 {
			t.Errorf("%s: %d allocations for %d items, want none per item", name, allocs, n*9/10)
		}
	}
}

func benchmarkShape(b *testing.B, s shape) {
	b.ReportAllocs()
	p := New("bench")
	s(p, b.N, func() {})
	b.ResetTimer()
	if err := p.Run(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// The cost of one item through source, two no-op stages with budget and
// limiter, and sink: divide by four for a stage.
func BenchmarkEngineShapeCompletionOne(b *testing.B)  { benchmarkShape(b, plain(Completion, 1)) }
func BenchmarkEngineShapeCompletionFour(b *testing.B) { benchmarkShape(b, plain(Completion, 4)) }
func BenchmarkEngineShapeInputFour(b *testing.B)      { benchmarkShape(b, plain(Input, 4)) }

// chain is a source, stages no-op stages of one worker each, and a sink.
func chain(stages int) shape {
	return func(p *Pipeline, n int, _ func()) {
		i := 0
		port := Source(p, SourceOptions[int]{Name: "plan", Buffer: 64}, func(context.Context) (int, error) {
			if i++; i > n {
				return 0, io.EOF
			}
			return i, nil
		})
		for s := range stages {
			port = Map(port, Options[int, int]{Name: string(rune('a' + s)), Buffer: 64}, same)
		}
		Sink(port, SinkOptions{Name: "out"}, func(context.Context, int) error { return nil })
	}
}

// The difference of the two, over eight, is the cost of one no-op stage.
func BenchmarkChainOfNoOpStages1(b *testing.B) { benchmarkShape(b, chain(1)) }
func BenchmarkChainOfNoOpStages9(b *testing.B) { benchmarkShape(b, chain(9)) }

func BenchmarkQueuePutGetOneGoroutine(b *testing.B) {
	b.ReportAllocs()
	q := NewQueue[int](4)
	for i := range b.N {
		q.Put(i)
		q.Get()
	}
}

// BenchmarkMeter is what an op pays for being counted and timed.
func BenchmarkMeter(b *testing.B) {
	var m meter
	for range b.N {
		m.begin()
		m.end()
	}
}

func BenchmarkLimiterFree(b *testing.B) {
	b.ReportAllocs()
	l, ctx := NewLimiter(2), context.Background()
	for range b.N {
		if err := l.Acquire(ctx); err != nil {
			b.Fatal(err)
		}
		l.Release()
	}
}

// hosted is a source, one external stage with a host thread, and a sink.
func hosted(p *Pipeline, n int, measured func()) {
	i := 0
	src := Source(p, SourceOptions[int]{Name: "plan", Buffer: 64}, func(context.Context) (int, error) {
		if i == n/10 || i == n {
			measured()
		}
		if i++; i > n {
			return 0, io.EOF
		}
		return i, nil
	})
	x, out := ExternalMap(src, ExternalOptions[int]{Name: "host", Buffer: 64})
	go func() {
		for {
			w, err := x.Take(context.Background())
			if err != nil || x.Give(w.Token, Result[int]{Value: w.Item}) != nil {
				return
			}
		}
	}()
	Sink(out, SinkOptions{Name: "out"}, func(context.Context, int) error { return nil })
}

// One item through source, Take and Give, and sink.
func BenchmarkExternalTakeGive(b *testing.B) { benchmarkShape(b, hosted) }
