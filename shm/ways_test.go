package shm

import (
	"errors"
	"fmt"
	"testing"
)

// adoptableStages is a posix ring of two stages and two groups of consumers; restartStages is its next engine.
func adoptableStages(t *testing.T) *testRing {
	return stageRing(t, 12, 2, func(c *Config) {
		c.Backing, c.Adopt, c.StepsPerEpoch = Posix, true, 6
	}, GroupConfig{Name: "a"}, GroupConfig{Name: "b"})
}

func (r *testRing) restartStages() *testRing {
	next := r.restart()
	next.startDecoder()
	return next
}

// line is a worker for each stage and a consumer for each group.
type line struct {
	t       *testing.T
	workers [2]*Reader
	a, b    *Reader
}

func attachLine(t *testing.T, r *testRing) *line {
	one := func(group string) *Reader { return r.attach(AttachOptions{Group: group, MaxLeases: 1}) }
	return &line{t, [2]*Reader{one("s0"), one("s1")}, one("a"), one("b")}
}

// work has a stage's worker transform one batch, and returns it.
func (l *line) work(stage int) *Lease {
	l.t.Helper()
	b := next(l.t, l.workers[stage])
	checkTransformed(l.t, b, stage)
	transform(b.Tensor(0))
	release(l.t, b)
	return b
}

// consume takes a batch in each group and checks that it is the one, whole.
func (l *line) consume(ticket uint64) {
	l.t.Helper()
	for _, reader := range []*Reader{l.a, l.b} {
		b := next(l.t, reader)
		if b.Ticket != ticket || b.Attempts != 1 {
			l.t.Fatalf("ticket %d, attempt %d, want %d and 1", b.Ticket, b.Attempts, ticket)
		}
		checkTransformed(l.t, b, 2)
		release(l.t, b)
	}
}

// finish passes tickets from first on through both stages to both groups, to the end of their epoch.
func (l *line) finish(first, end uint64) {
	l.t.Helper()
	for ticket := first; ticket < end; ticket++ {
		for stage := range l.workers {
			if b := l.work(stage); b.Ticket != ticket {
				l.t.Fatalf("stage %d has ticket %d, want %d", stage, b.Ticket, ticket)
			}
		}
		l.consume(ticket)
	}
	for _, reader := range []*Reader{l.workers[0], l.workers[1], l.a, l.b} {
		_, err := reader.Acquire(testContext(l.t))
		wantErr(l.t, err, EndEpoch)
	}
}

// A worker that lives through its engine's death goes on with what it has in its hands; so does everybody else.
func TestRestartedEngineGoesOnWithStagesWhereTheyAre(t *testing.T) {
	r := adoptableStages(t)
	l := attachLine(t, r)
	r.publish(4, 0, false)
	l.work(0)
	l.work(1)
	l.consume(0)
	l.work(0)                     // ticket 1 waits at the second stage
	held := next(t, l.workers[0]) // ticket 2
	transform(held.Tensor(0)[:128])
	second := r.restartStages()
	second.consistent()
	transform(held.Tensor(0)[128:])
	release(t, held)
	if b := l.work(1); b.Ticket != 1 || b.Attempts != 1 {
		t.Fatalf("ticket %d, attempt %d, want 1 and 1", b.Ticket, b.Attempts)
	}
	l.consume(1)
	third := second.restartStages()
	third.publish(2, 0, true)
	if b := l.work(1); b.Ticket != 2 || b.Attempts != 1 {
		t.Fatalf("ticket %d, attempt %d, want 2 and 1", b.Ticket, b.Attempts)
	}
	l.consume(2)
	l.finish(3, 6)
	third.wantCounts("a", 6, 6, 0)
	third.wantCounts("b", 6, 6, 0)
}

// What a worker had half changed when it left, while there was no engine to hear it, is decoded again by the next.
func TestHalfChangedBatchIsDecodedAgainByTheNextEngine(t *testing.T) {
	for stage := range 2 {
		t.Run(fmt.Sprint("stage", stage), func(t *testing.T) {
			r := adoptableStages(t)
			l := attachLine(t, r)
			r.publish(6, 0, true)
			for s := range stage {
				l.work(s)
			}
			half := next(t, l.workers[stage])
			transform(half.Tensor(0)[:128])
			r.die()
			if err := l.workers[stage].Close(); err != nil {
				t.Fatal(err)
			}
			again := r.successor(r.cfg)
			again.startDecoder()
			l.workers[stage] = again.attach(AttachOptions{Group: fmt.Sprint("s", stage), MaxLeases: 1})
			eventually(t, "the batch to be made again", func() bool { return again.group("s0").Redelivered == 1 })
			l.wantAgain(2)
			l.finish(1, 6)
			again.wantCounts("a", 6, 6, 0)
		})
	}
}

// wantAgain passes the first batch through, which was made again.
func (l *line) wantAgain(attempts uint32) {
	l.t.Helper()
	if b := l.work(0); b.Ticket != 0 || b.Attempts != attempts {
		l.t.Fatalf("ticket %d, attempt %d, want 0 and %d", b.Ticket, b.Attempts, attempts)
	}
	if b := l.work(1); b.Ticket != 0 {
		l.t.Fatalf("ticket %d at the second stage, want 0", b.Ticket)
	}
	l.consume(0)
}

// Wherever between two stores the engine is killed while it moves a batch on, stages and consumers have it whole and once.
func TestHalfMovedBatchIsFinishedOrMadeAgain(t *testing.T) {
	mark := func(at int, state uint64) func(*Ring, *Slot) {
		return func(r *Ring, s *Slot) { s.way.at = at; s.noteWay(state) }
	}
	deliverTo := func(groups int) func(*Ring, *Slot) {
		return func(r *Ring, s *Slot) {
			mark(2, wayMoving)(r, s)
			for _, g := range r.consumers()[:groups] {
				g.publish(s.index, 0, s.desc.Ticket, 0)
			}
		}
	}
	for name, c := range map[string]struct {
		through int // stages that are through with the batch
		kill    func(*Ring, *Slot)
		again   uint32 // its attempts when it is made again; 0: it is not
	}{
		"about to be put into the second": {1, mark(1, wayMoving), 0},
		"about to be spoiled":             {1, mark(0, waySpoiled), 2},
		"about to be offered again":       {1, func(r *Ring, s *Slot) { s.way.again = 1; mark(0, wayMoving)(r, s) }, 3},
		"put into the second":             {2, mark(1, wayMoving), 0},
		"through the second":              {2, mark(1, waySet), 0},
		"about to arrive":                 {2, mark(2, wayMoving), 0},
		"arrived in one group":            {2, deliverTo(1), 0},
		"arrived in both groups":          {2, deliverTo(2), 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := adoptableStages(t)
			l := attachLine(t, r)
			r.publish(6, 0, true)
			r.mu.Lock() // the engine does not notice any more
			for stage := range c.through {
				if stage > 0 {
					r.slots[0].way.at = stage
					r.offer(0)
					r.stages[stage].wakeLane(0, false)
				}
				l.work(stage)
				r.stages[stage].look(0)
			}
			c.kill(r.Ring, &r.slots[0])
			r.onWay = nil // nor hands on
			r.mu.Unlock()
			next := r.restartStages()
			next.consistent()
			switch {
			case c.again > 0: // the next batch would come before one that is not made again yet
				eventually(t, "the batch to be made again", func() bool { return next.group("s0").Redelivered > 0 })
				l.wantAgain(c.again)
			case c.through < 2:
				l.work(1)
				fallthrough
			default:
				l.consume(0)
			}
			l.finish(1, 6)
			next.wantCounts("a", 6, 6, 0)
			next.wantCounts("b", 6, 6, 0)
		})
	}
}

// Wherever between two stores the engine is killed while it publishes to the first stage, the batch is put there once, behind the
// one before it.
func TestHalfPublishedBatchOfAStagedRingIsPutOnce(t *testing.T) {
	mark := func(r *Ring, s *Slot) { s.way = way{on: true}; s.noteWay(wayMoving) }
	for name, kill := range map[string]func(*Ring, *Slot){
		"described":       func(*Ring, *Slot) {},
		"way noted":       mark,
		"put":             func(r *Ring, s *Slot) { r.send(s); s.noteWay(wayMoving) },
		"way settled":     func(r *Ring, s *Slot) { r.send(s) },
		"epoch stored":    func(r *Ring, s *Slot) { r.send(s); r.setLaneEpoch(0, 1) },
		"all but the end": func(r *Ring, s *Slot) { r.send(s); r.passed(0, 0, true) },
	} {
		t.Run(name, func(t *testing.T) {
			r := adoptableStages(t)
			l := attachLine(t, r)
			r.publish(5, 0, false)
			slot, err := r.Claim(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			fillPattern(slot.Tensor(0), 5)
			b := Batch{Ticket: 5, Rows: 4, LastOfEpoch: true}
			r.mu.Lock()
			if err := errors.Join(slot.describe(&b, 0), r.plan(&b)); err != nil {
				t.Fatal(err)
			}
			kill(r.Ring, slot)
			r.onWay = nil
			r.mu.Unlock()
			next := r.restartStages()
			next.consistent()
			if next.Info().NextTicket == 5 { // nobody had seen it: it is made again
				next.publishOne(0, true)
			}
			l.finish(0, 6)
			next.wantCounts("a", 6, 6, 0)
			next.wantCounts("s0", 6, 6, 0)
		})
	}
}
