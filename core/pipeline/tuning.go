package pipeline

import (
	"context"
	"runtime"
	"slices"
	"time"
)

// Tuning says how the stages with Auto are tuned; the zero value works.
//
// A stage whose workers are busy while items wait is tried with as many as the
// CPUs, the budgets and the other stages have room for, one stage at a time, the
// last such stage first; what made it faster is kept. A stage with workers to
// spare gives them up. See tuner.go for the rule.
//
// One goroutine per pipeline that has such a stage wakes every Interval and
// looks at what each of them did: it is the only thing in this package that
// works by the clock, because rates are what it compares. Between two looks
// nothing is measured that Stats does not count anyway.
type Tuning struct {
	// Interval is the time between two looks; 0 means 100 ms. A stage is judged
	// over as many intervals as it takes for 20 of its items, from 3 to 20.
	Interval time.Duration
	// Cores is how many the process can have; 0 means GOMAXPROCS.
	Cores float64
	// CPUs bounds the processor time of the whole process, in cores: no stage
	// grows beyond what it allows, and where the process uses 5 % more, in the
	// mean of about two seconds, the largest shrinks. 0 means no bound but
	// Cores. Meta's advice for a machine that trains is to stay below 40 % of
	// it.
	CPUs float64
	// Memory bounds the resident bytes of the whole process in the same way,
	// judged by what the workers before have taken; 0 means no bound.
	Memory int64
}

// Tune sets how stages with Auto are tuned. Call it before Start.
func (p *Pipeline) Tune(t Tuning) {
	if t.Interval < 0 || !(t.CPUs >= 0) || !(t.Cores >= 0) || t.Memory < 0 {
		p.note(p.errorf("tuning: interval %v, cores %g, CPUs %g, memory %d, want 0 (the default) or more", t.Interval, t.Cores, t.CPUs, t.Memory))
	}
	p.tuning = t
}

// A gauge is the counters of a stage, and of what it shares with the others, at
// one moment.
type gauge struct {
	atNs, opNs, limitNs, emptyNs int64
	items                        uint64
	demandNs                     int64   // CPU time that threads of the process had or waited for
	loads                        []int64 // worker time of each stage in ops or waiting for a limiter
}

// A tuned is a stage with Auto, under its tuner.
type tuned struct {
	*stage
	tuner *tuner
	last  gauge
	looks int
	fresh bool // n has just changed: the next look only starts a window
}

// A tuningRun is all the stages of a run that are tuned, and what they share.
type tuningRun struct {
	p       *Pipeline
	stages  []*tuned
	allowed float64 // cores
	used    float64 // of those, the mean of the last looks
	demand  func() int64
	memory  memory
}

const (
	budgetSlack = 1.05     // what is not the stages' own, such as the scheduler's time, cannot shrink
	budgetLook  = 1.0 / 16 // weight of a look in the mean: its CPU time is known to a few milliseconds only
)

func newTuningRun(p *Pipeline) *tuningRun {
	r := &tuningRun{p: p, demand: new(demand).soFar, memory: memory{limit: p.tuning.Memory, resident: residentBytes}}
	switch r.allowed = p.tuning.Cores; {
	case p.tuning.CPUs > 0:
		r.allowed = p.tuning.CPUs
	case r.allowed == 0:
		r.allowed = float64(runtime.GOMAXPROCS(0))
	}
	r.used = r.allowed
	r.begin()
	return r
}

// tuneAll tunes the stages that want it, until ctx ends.
func (p *Pipeline) tuneAll(ctx context.Context) error {
	r := newTuningRun(p)
	interval := p.tuning.Interval
	if interval == 0 {
		interval = 100 * time.Millisecond
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	usedNs, atNs := processTime(), now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		used, at := processTime(), now()
		cpus := float64(used-usedNs) / float64(max(at-atNs, 1))
		usedNs, atNs = used, at
		r.look(at)
		r.keepBudget(cpus)
	}
}

// keepBudget takes a worker from the largest stage if the process is over a budget. cpus is what it has used since the last look.
func (r *tuningRun) keepBudget(cpus float64) {
	r.used += (cpus - r.used) * budgetLook
	over := r.p.tuning.CPUs > 0 && r.used > r.allowed*budgetSlack
	if over {
		r.used = r.allowed // judged anew, with one worker less
	}
	if over || r.memory.over() {
		r.shrinkLargest()
	}
}

// begin finds the stages to tune.
func (r *tuningRun) begin() {
	for _, s := range r.p.stages {
		if s.crew != nil {
			n := int(s.crew.active.Load())
			r.stages = append(r.stages, &tuned{stage: s, tuner: newTuner(s.crew.min, s.crew.max, n), fresh: true})
		}
	}
}

// look tells the tuners whose windows are long enough.
func (r *tuningRun) look(atNs int64) {
	shared := gauge{atNs: atNs, demandNs: r.demand()}
	for _, s := range r.p.stages {
		shared.loads = append(shared.loads, s.loadNs(atNs))
	}
	for _, t := range slices.Backward(r.stages) {
		at := t.gauge(shared)
		if t.fresh {
			t.last, t.looks, t.fresh = at, 0, false
			continue
		}
		t.looks++
		if t.looks < 3 || at.items-t.last.items < 20 && t.looks < 20 {
			continue
		}
		w := t.last.until(at)
		w.room, w.strict = r.room(t, at), r.p.tuning.CPUs > 0 || r.memory.limit > 0
		w.capped = r.othersTrial(t)
		t.last, t.looks = at, 0
		was := t.tuner.n
		if n := t.tuner.next(w); n != was {
			r.memory.changing(was, n)
			t.set(n)
		}
	}
}

// set gives the stage n workers.
func (t *tuned) set(n int) {
	t.crew.set(n)
	t.fresh = true
}

// othersTrial says that another stage has a trial, which a second would disturb.
func (r *tuningRun) othersTrial(t *tuned) bool {
	return slices.ContainsFunc(r.stages, func(o *tuned) bool { return o != t && o.tuner.trial != nil })
}

// room is how many times as much as since t.last the process could do without
// more of anything but t's workers. Sources and sinks are left out: they may wait
// inside their ops, and where they are the limit t is not short of workers.
func (r *tuningRun) room(t *tuned, at gauge) float64 {
	ns := float64(max(at.atNs-t.last.atNs, 1))
	room := r.allowed * ns / float64(max(at.demandNs-t.last.demandNs, 1))
	for i, s := range r.p.stages {
		if s == t.stage || s.kind == "source" || s.kind == "sink" {
			continue
		}
		most := float64(s.concurrency) // of a stage with Auto: its Max
		room = min(room, most*ns/float64(max(at.loads[i]-t.last.loads[i], 1)))
	}
	return min(room, r.memory.room(t.tuner.n))
}

// shrinkLargest takes a worker from the stage that has the most.
func (r *tuningRun) shrinkLargest() {
	var largest *tuned
	for _, t := range r.stages {
		if t.tuner.n > t.tuner.min && (largest == nil || t.tuner.n > largest.tuner.n) {
			largest = t
		}
	}
	if largest != nil {
		largest.tuner.settle(largest.tuner.n - 1)
		largest.set(largest.tuner.n)
	}
}

// loadNs is the time of the stage's workers in ops, running ones included, and in waiting for a limiter.
func (s *stage) loadNs(atNs int64) (ns int64) {
	for i := range s.meters {
		m := &s.meters[i]
		ns += m.op.sumNs.Load() + m.limitWaitNs.Load()
		if since := m.sinceNs.Load(); since != 0 {
			ns += max(0, atNs-since)
		}
	}
	return ns
}

// gauge adds the stage's own counters to the shared ones.
func (t *tuned) gauge(g gauge) gauge {
	g.emptyNs = t.input.emptyTime(g.atNs)
	for i := range t.meters {
		m := &t.meters[i]
		g.limitNs += m.limitWaitNs.Load()
		g.items += m.items.Load() + m.failures.Load()
	}
	g.opNs = t.loadNs(g.atNs) - g.limitNs
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
