package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// A builder makes pipelines of random stages, each of which passes every item on
// as it is, drops some, or fails.
type builder struct {
	t       *testing.T
	p       *Pipeline
	l       *ledger
	r       *rand.Rand
	j       jitterer
	n       int
	ordered bool
	fatalAt int
	hosts   []*sync.WaitGroup
	begin   []func()
}

func (b *builder) name() string {
	b.n++
	return fmt.Sprint("stage", b.n)
}

// op drops one item in thirteen and ends the run at fatalAt.
func (b *builder) op(_ context.Context, v int) (int, error) {
	b.j.pass(v + b.n)
	switch {
	case v == b.fatalAt:
		return 0, Fatal(errBoom)
	case v%13 == 5:
		return 0, errBoom
	}
	return v, nil
}

func (b *builder) options(o Order) Options[int, int] {
	b.ordered = b.ordered && o == Input
	return Options[int, int]{
		Name: b.name(), Concurrency: 1 + b.r.IntN(4), Output: o, Buffer: 1 + b.r.IntN(3),
		Failures: Failures{MaxCount: -1}, Discard: b.l.discard, Retry: Retry{Max: b.r.IntN(2), Base: time.Microsecond},
	}
}

func (b *builder) order() Order { return Order(b.r.IntN(2)) }

// path is a stage that gives one result of an item.
func (b *builder) path(in *Port[int]) *Port[int] {
	was := b.ordered
	defer func() { b.ordered = was }()
	return Map(in, b.options(b.order()), b.op)
}

func (b *builder) stage(in *Port[int]) *Port[int] {
	switch b.r.IntN(7) {
	case 0:
		return Map(in, b.options(b.order()), b.op)
	case 1:
		o := b.options(b.order())
		o.Concurrency, o.Auto = 0, Auto{Max: 4}
		return Map(in, o, b.op)
	case 2:
		return Generate(in, b.options(b.order()), func(ctx context.Context, v int, yield func(int) bool) error {
			_, err := b.op(ctx, v)
			if err == nil {
				yield(v)
			}
			return err
		})
	case 3, 4:
		order := b.order()
		b.ordered = b.ordered && order == Input
		o := VariantsOptions[int]{Name: b.name(), Output: order, Window: 1 + b.r.IntN(9), Buffer: 1, Discard: b.l.discard,
			Failures: Failures{MaxCount: -1}}
		return Variants(in, o, modulo(2), b.path, b.path)
	case 5:
		return b.host(in)
	}
	lists := Aggregate(in, AggregateOptions[[]int]{Name: b.name(), Discard: func(list []int) {
		for _, v := range list {
			b.l.discard(v)
		}
	}}, &owner{lister{n: 1 + b.r.IntN(4)}, b.l})
	return Disaggregate(lists, Options[[]int, int]{Name: b.name(), Discard: b.l.discard})
}

// An owner is a lister that hands back what it holds.
type owner struct {
	lister
	l *ledger
}

func (o *owner) Close() {
	for _, v := range o.take() {
		o.l.discard(v)
	}
}

// host is a stage worked by threads of its own, which look in now and then and
// give late or nothing.
func (b *builder) host(in *Port[int]) *Port[int] {
	order := b.order()
	b.ordered = b.ordered && order == Input
	o := ExternalOptions[int]{
		Name: b.name(), Concurrency: 1 + b.r.IntN(3), Output: order, Buffer: 1 + b.r.IntN(3), Discard: b.l.discard,
		Failures: Failures{MaxCount: -1}, Retry: Retry{Max: b.r.IntN(2), Base: time.Microsecond},
	}
	x, out := ExternalMap(in, o)
	b.begin = append(b.begin, func() {
		b.hosts = append(b.hosts, hosts(3, x, func(w Work[int]) {
			v, err := b.op(context.Background(), w.Item)
			if v%3 == 1 && err == nil { // a generator of one
				_ = x.Give(w.Token, Result[int]{Value: v, More: true})
				_ = x.Give(w.Token, Result[int]{Skip: true})
				return
			}
			_ = x.Give(w.Token, Result[int]{Value: v, Err: err})
		}))
	})
	return out
}

// Whatever the stages and however the run ends, every item has one end, orders
// hold, and nothing is left.
func TestRandomPipelinesEndEveryItemOnce(t *testing.T) {
	interleavings(t, 300, func(t *testing.T, j jitterer) {
		r := rand.New(rand.NewPCG(j.seed, 1))
		ending := r.IntN(4)
		b := &builder{t: t, p: New("random"), l: &ledger{}, r: r, j: j, ordered: true, fatalAt: -1}
		b.p.Tune(Tuning{Interval: time.Millisecond})
		items := 120
		if ending > 0 {
			items = -1
		}
		at := r.IntN(60)
		if ending == 3 {
			b.fatalAt = at
		}
		port := b.l.from(b.p, items)
		port = Map(port, b.options(Input), b.op) // so that a fatal item is met
		for range r.IntN(5) {
			port = b.stage(port)
		}
		Sink(port, SinkOptions{Name: "out"}, func(_ context.Context, v int) error {
			b.l.deliver(v)
			if v >= at && ending == 1 {
				b.p.Stop()
			} else if v >= at && ending == 2 {
				b.p.Drain()
			}
			return nil
		})
		start(t, b.p)
		for _, begin := range b.begin {
			begin()
		}
		err := wait(t, b.p)
		for _, threads := range b.hosts {
			threads.Wait()
		}
		b.l.balanced(t)
		if b.ordered && !slices.IsSorted(b.l.delivered) {
			t.Errorf("out of order: %v", b.l.delivered)
		}
		want := []error{nil, ErrStopped, nil, errBoom}[ending]
		if !errors.Is(err, want) {
			t.Errorf("ended with %v, want %v", err, want)
		}
	})
}

// A retrier makes continuous pipelines of hosts' stages whose works fail at first now and then, and are tried again.
type retrier struct {
	t       *testing.T
	p       *Pipeline
	r       *rand.Rand
	j       jitterer
	n       int
	ordered bool
	begin   []func() *sync.WaitGroup
}

func (b *retrier) options(order Order) ExternalOptions[int] {
	b.n++
	base := []time.Duration{time.Microsecond, 30 * time.Microsecond, time.Millisecond}[b.r.IntN(3)]
	return ExternalOptions[int]{
		Name: fmt.Sprint("stage", b.n), Concurrency: 1 + b.r.IntN(4), Output: order, Buffer: 1 + b.r.IntN(3),
		Retry: Retry{Max: 3, Base: base, Cap: base},
	}
}

// fails says whether a try fails: the first ones of some items.
func (b *retrier) fails(salt, v, attempt int) bool {
	return attempt <= rand.New(rand.NewPCG(b.j.seed+uint64(salt), uint64(v))).IntN(12)-8
}

// source makes n epochs of each items.
func (b *retrier) source(n, each int) *Port[int] {
	o := b.options(Completion)
	o.Continuous = true
	o.Concurrency = 1 // else who ends an epoch does not know what the others give
	src, out := ExternalSource(b.p, o)
	made := 0
	b.begin = append(b.begin, func() *sync.WaitGroup {
		return hosts(1, src, func(w Work[struct{}]) {
			switch {
			case b.fails(0, made, w.Attempt):
				must(b.t, src.Give(w.Token, Result[int]{Err: errBoom}))
			case made == n*each:
				b.p.Drain()
				must(b.t, src.Give(w.Token, Result[int]{Skip: true}))
			default:
				made++
				must(b.t, src.Give(w.Token, Result[int]{Value: made - 1, End: made%each == 0}))
			}
		})
	})
	return out
}

// stage passes every item on; as a generator it gives further results that are nothing.
func (b *retrier) stage(in *Port[int], generates bool) *Port[int] {
	order := Order(b.r.IntN(2))
	b.ordered = b.ordered && order == Input
	o := b.options(order)
	threads := 1 + b.r.IntN(5)
	if generates {
		threads = max(threads, o.Concurrency)
	}
	x, out := ExternalMap(in, o)
	salt := b.n
	b.begin = append(b.begin, func() *sync.WaitGroup {
		return hosts(threads, x, func(w Work[int]) {
			b.j.pass(w.Item + salt)
			if b.fails(salt, w.Item, w.Attempt) {
				must(b.t, x.Give(w.Token, Result[int]{Err: errBoom}))
				return
			}
			if generates {
				for range w.Item % 4 {
					must(b.t, x.Give(w.Token, Result[int]{Value: -1, More: true}))
				}
			}
			must(b.t, x.Give(w.Token, Result[int]{Value: w.Item}))
		})
	})
	if !generates {
		return out
	}
	return Map(out, Options[int, int]{Name: fmt.Sprint("filter", salt), Output: Input, Failures: Failures{MaxCount: -1}},
		func(_ context.Context, v int) (int, error) {
			if v < 0 {
				return 0, errBoom
			}
			return v, nil
		})
}

// aggregator gives each item on, and fails at some first.
func (b *retrier) aggregator(in *Port[int]) *Port[int] {
	o := b.options(Completion)
	o.Concurrency = 1
	x, out := ExternalAggregator[int, int](in, o)
	salt := b.n
	b.begin = append(b.begin, func() *sync.WaitGroup {
		return hosts(2, x, func(w Work[int]) {
			switch {
			case w.Kind == WorkFlush:
				must(b.t, x.Give(w.Token, Result[int]{Skip: true}))
			case b.fails(salt, w.Item, w.Attempt):
				must(b.t, x.Give(w.Token, Result[int]{Err: errBoom}))
			default:
				must(b.t, x.Give(w.Token, Result[int]{Value: w.Item}))
			}
		})
	})
	return out
}

func (b *retrier) variants(in *Port[int]) *Port[int] {
	b.n++
	was := b.ordered
	o := VariantsOptions[int]{Name: fmt.Sprint("variants", b.n), Output: Order(b.r.IntN(2)), Window: 1 + b.r.IntN(9), Buffer: 1}
	path := func(in *Port[int]) *Port[int] { return b.stage(in, false) }
	out := Variants(in, o, modulo(2), path, path)
	b.ordered = was && o.Output == Input
	return out
}

// Works that are tried again hold up nobody for ever: whatever the stages, their orders, bounds and threads, and however short the epochs,
// every item arrives, in its epoch.
func TestRandomRetriesOfShortEpochsAllArrive(t *testing.T) {
	interleavings(t, 500, func(t *testing.T, j jitterer) {
		r := rand.New(rand.NewPCG(j.seed, 2))
		b := &retrier{t: t, p: New("random"), r: r, j: j, ordered: true}
		n, each := 5+r.IntN(40), 1+r.IntN(5)
		port := b.source(n, each)
		for range 1 + r.IntN(3) {
			switch r.IntN(6) {
			case 0:
				port = b.aggregator(port)
			case 1:
				port = b.variants(port)
			default:
				port = b.stage(port, r.IntN(3) == 0)
			}
		}
		out := Pull(port, ResultsOptions{Name: "out", Buffer: r.IntN(3)})
		start(t, b.p)
		var threads []*sync.WaitGroup
		for _, begin := range b.begin {
			threads = append(threads, begin())
		}
		checkEpochs(t, fetch(t, out), n, each, b.ordered)
		for _, of := range threads {
			of.Wait()
		}
		must(t, wait(t, b.p))
	})
}
