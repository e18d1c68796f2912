package pipeline

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// MergePolicy says which input a merge takes its next item from.
type MergePolicy int

const (
	// Arrival passes items on as they come.
	Arrival MergePolicy = iota
	// RoundRobin takes one item of each input in turn, waiting for it.
	RoundRobin
	// Weighted draws the next input by Weights and Seed, and waits for its item.
	// The order of inputs is the same in every run.
	Weighted
)

// MergeStop says when a merge has ended.
type MergeStop int

const (
	// StopAll ends when every input has.
	StopAll MergeStop = iota
	// StopFirst ends when an input has ended and it would be its turn; in
	// Arrival order as soon as one has ended.
	StopFirst
	// StopCount ends after Count items.
	StopCount
)

// MergeOptions describe a many-to-one merge; all but Name may be left out.
type MergeOptions[T any] struct {
	Name   string
	Policy MergePolicy
	// Weights are the shares of the inputs in the draw, 0 or more each.
	Weights []float64
	Seed    uint64
	Stop    MergeStop
	Count   int
	// Buffer is the number of items that may wait for the next stage; 0 means 2.
	Buffer int
	// Discard takes back an item that is not delivered; see Pipeline.Stop. Nil
	// leaves that to the first input's.
	Discard func(T)
}

// Merge adds a stage that makes one stream of several. The inputs keep their
// own order in it. Epochs are merged one by one: the end of an epoch is passed
// on when every input that goes on has come to it, and until then an input that
// came first is not read any further.
//
// When a merge ends before its inputs, their sources are drained, as by
// Pipeline.Drain, and what they had in flight is discarded.
func Merge[T any](p *Pipeline, o MergeOptions[T], inputs ...*Port[T]) *Port[T] {
	out := merge(p, o, inputs)
	out.stage.refuseTraced()
	return out
}

func merge[T any](p *Pipeline, o MergeOptions[T], inputs []*Port[T]) *Port[T] {
	workers := 1
	if o.Policy == Arrival {
		workers = len(inputs)
	}
	s := newStage(p, "merge", o.Name, workers)
	m := &merger[T]{stage: s, o: o, inputs: inputs, alive: len(inputs)}
	m.moved.L = &m.mu
	m.check()
	for _, in := range inputs {
		readFrom(s, in)
	}
	if o.Discard == nil && len(inputs) > 0 {
		o.Discard = inputs[0].discard
	}
	m.out = newPort(s, orDefault(o.Buffer, 2), o.Discard)
	s.alone = alonePassing(m.out, inputs...)
	s.work = m.chooseAll
	if o.Policy == Arrival {
		s.work = m.moveAll
		s.halted = m.wake
	}
	return m.out
}

type merger[T any] struct {
	*stage
	o      MergeOptions[T]
	inputs []*Port[T]
	out    *Port[T]

	mu     sync.Mutex // guards the rest
	moved  sync.Cond
	alive  int // inputs that have not ended
	atMark int // of these, inputs that wait at the end of epoch
	epoch  uint64
	count  int
	over   bool // the stop rule has been met
}

func (m *merger[T]) check() {
	n := len(m.inputs)
	positive := func(w float64) bool { return w > 0 }
	switch {
	case n == 0:
		m.p.note(m.errorf("nothing to merge; give it an input"))
	case m.o.Policy < Arrival || m.o.Policy > Weighted:
		m.p.note(m.errorf("merge policy %d, want Arrival, RoundRobin or Weighted", m.o.Policy))
	case m.o.Stop < StopAll || m.o.Stop > StopCount:
		m.p.note(m.errorf("merge stop %d, want StopAll, StopFirst or StopCount", m.o.Stop))
	case m.o.Policy == Weighted && (len(m.o.Weights) != n || !slices.ContainsFunc(m.o.Weights, positive) ||
		slices.ContainsFunc(m.o.Weights, func(w float64) bool { return !(w >= 0) })):
		m.p.note(m.errorf("weights %v, want %d of 0 or more, one above 0", m.o.Weights, n))
	case m.o.Stop == StopCount && m.o.Count < 1:
		m.p.note(m.errorf("count %d, want 1 or more", m.o.Count))
	}
}

// moveAll passes on what input i brings, in arrival order.
func (m *merger[T]) moveAll(i int) {
	in := m.inputs[i]
	for goOn := true; goOn; {
		it, ok := in.queue.take()
		switch {
		case !ok:
			m.ended()
			return
		case it.kind == mark:
			goOn = m.meet()
		default:
			goOn = m.pass(&m.meters[i], in, it)
		}
	}
	m.ended()
}

// pass passes one item on, or discards it once the merge has ended.
func (m *merger[T]) pass(t *meter, in *Port[T], it item[T]) bool {
	m.mu.Lock()
	over := m.over
	if !over && it.kind == full {
		m.count++
		if m.o.Stop == StopCount && m.count == m.o.Count {
			m.endInputs()
		}
	}
	it.epoch = m.epoch
	m.mu.Unlock()
	switch {
	case it.kind == tomb:
		return m.out.queue.putInEpoch(it.place, cell[T]{kind: tomb}, false)
	case over:
		in.drop(it.v)
		return true
	}
	t.items.Add(1)
	return m.out.give(it.place, it.v, false)
}

// meet waits at the end of an epoch for the inputs that go on.
func (m *merger[T]) meet() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.atMark++
	m.passMark()
	for epoch := m.epoch; m.atMark > 0 && m.epoch == epoch && !m.cancelled(); {
		m.moved.Wait()
	}
	return !m.cancelled()
}

// ended says that an input brings nothing more.
func (m *merger[T]) ended() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alive--
	if m.o.Stop == StopFirst {
		m.endInputs()
	}
	m.passMark()
}

func (m *merger[T]) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moved.Broadcast()
}

// chooseAll takes from one input after the other by a rule of its own.
func (m *merger[T]) chooseAll(int) {
	open := make([]bool, len(m.inputs)) // not ended and not at the end of epoch
	done := make([]bool, len(m.inputs))
	for m.alive > 0 {
		for i := range open {
			open[i] = !done[i]
		}
		if !m.chooseEpoch(open, done) {
			return
		}
	}
}

// chooseEpoch merges one epoch.
func (m *merger[T]) chooseEpoch(open, done []bool) bool {
	next := m.chooser()
	for slices.Contains(open, true) {
		i := next(open)
		it, ok := m.inputs[i].queue.take()
		switch {
		case m.cancelled() && !ok:
			return false
		case !ok:
			open[i], done[i] = false, true
			m.ended()
		case it.kind == mark:
			open[i] = false
			m.mu.Lock()
			m.atMark++
			m.passMark()
			m.mu.Unlock()
		case !m.pass(&m.meters[0], m.inputs[i], it):
			return false
		}
	}
	return true
}

// chooser returns the rule by which the next of the open inputs is found; at
// least one is open.
func (m *merger[T]) chooser() func(open []bool) int {
	if m.o.Policy == RoundRobin {
		last := -1
		return func(open []bool) int {
			for last = (last + 1) % len(open); !open[last]; {
				last = (last + 1) % len(open)
			}
			return last
		}
	}
	draw := rand.New(rand.NewPCG(m.o.Seed, m.epoch))
	return func(open []bool) int { return pick(draw.Float64(), m.o.Weights, open) }
}

// pick returns the open input at share x of the open weights; those without any
// weight come when all others have ended.
func pick(x float64, weights []float64, open []bool) (chosen int) {
	sum := 0.0
	for i, w := range weights {
		if open[i] {
			sum += w
			chosen = i
		}
	}
	x *= sum
	for i, w := range weights {
		if !open[i] || w == 0 {
			continue
		}
		chosen = i
		if x -= w; x < 0 {
			break
		}
	}
	return chosen
}

// All that follows runs with mu held.

// passMark ends the epoch if everybody has come to its end.
func (m *merger[T]) passMark() {
	if m.atMark == 0 || m.atMark < m.alive {
		return
	}
	if !m.over {
		m.out.mark(place{epoch: m.epoch}, 0)
	}
	m.epoch++
	m.atMark = 0
	m.moved.Broadcast()
}

// endInputs drains the sources and has the rest of their items discarded.
func (m *merger[T]) endInputs() {
	if m.over {
		return
	}
	m.over = true
	for _, s := range m.sources {
		s.endIntake()
	}
}
