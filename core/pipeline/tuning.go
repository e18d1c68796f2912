package pipeline

import (
	"context"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// Tuning says how the stages with Auto are tuned; the zero value works.
//
// A stage whose workers are busy while items wait is tried with more of them, one
// stage at a time, the last such stage first; what made it faster is kept. A
// stage with workers to spare gives them up. See tuner.go for the rule.
//
// One goroutine per pipeline that has such a stage wakes every Interval and
// looks at what each of them did: it is the only thing in this package that
// works by the clock, because rates are what it compares. Between two looks
// nothing is measured that Stats does not count anyway.
type Tuning struct {
	// Interval is the time between two looks; 0 means 100 ms. A stage is judged
	// over as many intervals as it takes for 20 of its items, from 3 to 20.
	Interval time.Duration
	// CPUs bounds the processor time of the whole process, in cores: close
	// below it no stage grows any more, above it the largest shrinks. 0 means
	// all the cores there are. Meta's advice for a machine that trains is to
	// stay below 40 % of it.
	CPUs float64
}

// Tune sets how stages with Auto are tuned. Call it before Start.
func (p *Pipeline) Tune(t Tuning) {
	if t.Interval < 0 || !(t.CPUs >= 0) {
		p.note(p.errorf("tuning: interval %v, CPUs %g, want 0 (the default) or more", t.Interval, t.CPUs))
	}
	p.tuning = t
}

// A gauge is the counters of a stage at one moment.
type gauge struct {
	atNs, opNs, workerNs, limitNs, emptyNs int64
	items                                  uint64
}

// A tuned is a stage with Auto, under its tuner.
type tuned struct {
	*stage
	tuner *tuner
	input outlet
	last  gauge
	looks int
	fresh bool // n has just changed: the next look only starts a window
}

// tuneAll tunes the stages that want it, until ctx ends.
func (p *Pipeline) tuneAll(ctx context.Context) error {
	var all []*tuned
	for _, s := range p.stages {
		if s.crew != nil {
			n := int(s.crew.active.Load())
			all = append(all, &tuned{stage: s, input: s.input, tuner: newTuner(s.crew.min, s.crew.max, n), fresh: true})
		}
	}
	interval := p.tuning.Interval
	if interval == 0 {
		interval = 100 * time.Millisecond
	}
	look := time.NewTicker(interval)
	defer look.Stop()
	allowed := p.tuning.CPUs
	if allowed == 0 {
		allowed = float64(runtime.GOMAXPROCS(0))
	}
	usedNs, atNs := processTime(), now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		used, at := processTime(), now()
		cpus := float64(used-usedNs) / float64(max(at-atNs, 1))
		usedNs, atNs = used, at
		for _, t := range slices.Backward(all) {
			t.look(at, cpus > 0.95*allowed || anyTrying(all))
		}
		if p.tuning.CPUs > 0 && cpus > allowed {
			shrinkLargest(all)
		}
	}
}

// look tells the tuner of a window once it is long enough.
func (t *tuned) look(atNs int64, capped bool) {
	at := t.gauge(atNs)
	if t.fresh {
		t.last, t.looks, t.fresh = at, 0, false
		return
	}
	t.looks++
	items := at.items - t.last.items
	if t.looks < 3 || items < 20 && t.looks < 20 {
		return
	}
	w := t.last.until(at)
	w.capped = capped
	was := t.tuner.n
	n := t.tuner.next(w)
	t.last, t.looks = at, 0
	if n != was {
		t.crew.set(n)
		t.fresh = true
	}
}

// anyTrying says that a try is going on, which another would disturb.
func anyTrying(all []*tuned) bool {
	return slices.ContainsFunc(all, func(t *tuned) bool { return t.tuner.trying })
}

// shrinkLargest takes a worker from the stage that has the most.
func shrinkLargest(all []*tuned) {
	var largest *tuned
	for _, t := range all {
		if t.tuner.n > t.tuner.min && (largest == nil || t.tuner.n > largest.tuner.n) {
			largest = t
		}
	}
	if largest != nil {
		largest.tuner.settle(largest.tuner.n - 1)
		largest.crew.set(largest.tuner.n)
		largest.fresh = true
	}
}

// gauge reads a stage's counters, ops that still run included.
func (t *tuned) gauge(atNs int64) gauge {
	g := gauge{atNs: atNs, workerNs: t.crew.workersTime(atNs), emptyNs: t.input.emptyTime(atNs)}
	for i := range t.meters {
		m := &t.meters[i]
		g.opNs += m.op.sumNs.Load()
		g.limitNs += m.limitWaitNs.Load()
		g.items += m.items.Load() + m.failures.Load()
		if since := m.sinceNs.Load(); since != 0 {
			g.opNs += max(0, atNs-since)
		}
	}
	return g
}

// until is what happened from a to b.
func (a gauge) until(b gauge) window {
	ns := float64(max(b.atNs-a.atNs, 1))
	w := window{
		rate:    float64(b.items-a.items) / ns * 1e9,
		busy:    float64(b.opNs-a.opNs) / ns,
		waiting: float64(b.limitNs-a.limitNs) / ns,
		ready:   1 - float64(b.emptyNs-a.emptyNs)/ns,
	}
	if b.items > a.items {
		w.opNs = float64(b.opNs-a.opNs) / float64(b.items-a.items)
	}
	return w
}

// processTime is the processor time of the whole process so far.
func processTime() int64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
