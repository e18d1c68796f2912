package pipeline

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"
)

// A model is a stage that a tuner can be tried on without a clock.
type model func(n int) window

// computing is a stage of ops of so many ns on some cores, fed with at most
// supply items per second.
func computing(opNs, cores, supply float64) model {
	return func(n int) window {
		share := max(1, float64(n)/cores)
		return fed(n, opNs*share, supply)
	}
}

// fetching is a stage whose ops take so many ns up to a number at once, and
// longer the more there are.
func fetching(opNs, atOnce, supply float64) model {
	return func(n int) window { return fed(n, opNs*max(1, float64(n)/atOnce), supply) }
}

func fed(n int, opNs, supply float64) window {
	could := float64(n) / opNs * 1e9
	rate := min(could, supply)
	w := window{rate: rate, busy: rate * opNs / 1e9, opNs: opNs, ready: 1, room: math.Inf(1)}
	if supply < could {
		w.ready = 0.1
	}
	return w
}

// best is the greatest rate a model has at any number of workers.
func (m model) best(most int) (rate float64) {
	for n := 1; n <= most; n++ {
		rate = max(rate, m(n).rate)
	}
	return rate
}

// A tuner reaches 95 % of the best rate within 60 windows, whatever the work,
// stays there, and holds few more workers than that takes.
func TestATunerFindsANearlyBestNumberOfWorkers(t *testing.T) {
	endless := math.Inf(1)
	for name, m := range map[string]model{
		"two cores":            computing(1e6, 2, endless),
		"seven cores":          computing(1e6, 7, endless),
		"a fetch, 24 at once":  fetching(20e6, 24, endless),
		"a fetch without end":  fetching(20e6, 1e9, endless),
		"a fetch, short of it": fetching(20e6, 1e9, 300),
		"more than asked for":  computing(1e6, 8, 100),
	} {
		for _, from := range []int{1, 5, 64} {
			tn := newTuner(1, 64, from)
			for range 60 {
				tn.next(m(tn.n))
			}
			sum := 0.0
			for range 200 {
				sum += m(tn.next(m(tn.n))).rate
			}
			if best := m.best(64); sum/200 < 0.95*best {
				t.Errorf("%s from %d: %d workers, %.0f of %.0f items/s", name, from, tn.n, sum/200, best)
			}
			if w := m(tn.n); w.busy < float64(tn.n)/2 && tn.n > 2 {
				t.Errorf("%s from %d: %d workers, %.1f busy", name, from, tn.n, w.busy)
			}
		}
	}
}

// A trial is so large that it can pay: of a stage with many workers a twentieth more items is no single worker's.
func TestATrialIsLargeEnoughToPay(t *testing.T) {
	for _, c := range []struct {
		n, want int
		room    float64
		strict  bool
	}{
		{n: 34, room: 1.04, want: 40}, {n: 34, room: 1.5, want: 51}, {n: 2, room: 1.04, want: 3}, {n: 34, room: 1.01, want: 25},
		{n: 34, room: 1.04, strict: true, want: 35},
	} {
		tn := newTuner(1, 64, c.n)
		w := window{rate: 1500, busy: float64(c.n), ready: 1, opNs: 20e6, room: c.room, strict: c.strict}
		if got := tn.next(w); got != c.want {
			t.Errorf("%d workers with room for %.2f, strict %t: got a trial of %d, want %d", c.n, c.room, c.strict, got, c.want)
		}
	}
}

// A tuner that has settled follows work that changes, both ways.
func TestATunerFollowsWorkThatChanges(t *testing.T) {
	endless := math.Inf(1)
	phases := []model{fetching(20e6, 24, endless), fetching(5e6, 64, endless), fetching(20e6, 64, endless), fetching(5e6, 64, 500)}
	tn := newTuner(1, 64, 1)
	for i, m := range phases {
		for range 100 {
			tn.next(m(tn.n))
		}
		if rate, best := m(tn.n).rate, m.best(64); rate < 0.9*best {
			t.Errorf("phase %d: %d workers, %.0f of %.0f items/s", i, tn.n, rate, best)
		}
	}
	if tn.n > 6 {
		t.Errorf("%d workers for a supply that keeps 2.5 busy", tn.n)
	}
}

// Neither a budget that is used up nor a limiter that is waited for is answered
// with more workers.
func TestATunerStaysInItsBudget(t *testing.T) {
	m := fetching(20e6, 1e9, math.Inf(1))
	tn := newTuner(1, 64, 4)
	for range 50 {
		w := m(tn.n)
		w.capped = true
		if tn.next(w) > 4 {
			t.Fatalf("%d workers although no more are allowed", tn.n)
		}
	}
	tn = newTuner(1, 64, 8)
	for range 50 {
		tn.next(window{rate: 100, busy: 2, waiting: float64(tn.n) - 2, opNs: 20e6, ready: 1})
	}
	if tn.n > 4 {
		t.Fatalf("%d workers where a limiter admits 2", tn.n)
	}
}

// A stage with Auto grows while it is short of workers, and every item is
// delivered once, in order, however their number changes.
func TestAStageWithAutoGrowsAndLosesNothing(t *testing.T) {
	leavesNothing(t)
	for _, order := range []Order{Completion, Input} {
		p := New("t")
		p.Tune(Tuning{Interval: time.Millisecond})
		l := &ledger{}
		v := Map(l.from(p, -1), Options[int, int]{Name: "slow", Auto: Auto{Max: 8}, Output: order, Discard: l.discard},
			func(_ context.Context, v int) (int, error) {
				time.Sleep(200 * time.Microsecond)
				return v, nil
			})
		Sink(v, SinkOptions{Name: "out"}, l.sink)
		start(t, p)
		until(t, "the stage has grown", func() bool { return p.Stats().Stages[1].Concurrency > 2 })
		p.Drain()
		must(t, wait(t, p))
		l.all(t)
		if order == Input {
			l.inOrder(t)
		}
		if s := p.Stats().Stages[1]; s.BusyShare <= 0 || s.BusyShare > 1 {
			t.Fatalf("stats %+v", s)
		}
	}
}

// Workers that rest hold no item, have opened nothing, and end with the run.
func TestWorkersThatRestEndWithTheRun(t *testing.T) {
	interleavings(t, 20, func(t *testing.T, j jitterer) {
		p := New("t")
		p.Tune(Tuning{Interval: time.Hour})
		l := &ledger{}
		opened, closed := 0, 0
		v := MapWorkers(l.from(p, 50), Options[int, int]{Name: "a", Auto: Auto{Min: 1, Max: 8}, Discard: l.discard},
			Workers[int]{Open: func(i int) (int, error) { opened++; return i, nil }, Close: func(int) { closed++ }},
			func(ctx context.Context, _ int, v int) (int, error) {
				if v == 20 && j.seed%2 == 0 {
					p.Stop()
				}
				return j.op(ctx, v)
			})
		Sink(v, SinkOptions{Name: "out"}, l.sink)
		start(t, p)
		_ = wait(t, p)
		l.balanced(t)
		if opened != 1 || closed != 1 {
			t.Errorf("opened %d, closed %d; want the one worker that worked", opened, closed)
		}
	})
}

func TestAutoThatMakesNoSenseIsRefused(t *testing.T) {
	for want, o := range map[string]Options[int, int]{
		"auto: min 3, start 0, max 2": {Auto: Auto{Min: 3, Max: 2}},
		"auto: min 1, start 0, max 0": {Auto: Auto{Min: 1}},
		"auto: min 0, start 5, max 4": {Auto: Auto{Max: 4}, Concurrency: 5},
	} {
		p := New("t")
		o.Name = "a"
		Pull(Map((&ledger{}).from(p, 1), o, same), ResultsOptions{Name: "out"})
		if err := p.Start(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("start: %v, want %q", err, want)
		}
	}
}
