package shm

import (
	"slices"
	"strings"
	"testing"
)

// hand is a member of a group by the words alone: it claims as docs/layout.md says, when the test says so.
type hand struct {
	g    *group
	m    *member
	held []int    // slots, the first claimed first
	got  []uint64 // tickets
}

// newHand makes a member that the ring knows of, and that nobody watches.
func newHand(r *testRing, name string, lane int) *hand {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.groups {
		if g.cfg.Name != name {
			continue
		}
		r.lastOwner++
		h := &hand{g: g, m: &member{group: g, index: g.freeMember(), owner: r.lastOwner, lane: lane, leases: MaxSlots}}
		g.members[h.m.index] = h.m
		r.t.Cleanup(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			g.members[h.m.index] = nil
		})
		return h
	}
	r.t.Fatalf("no group %q", name)
	return nil
}

func (h *hand) take() bool {
	v, q := &h.g.lane[h.m.lane], &h.g.queue[h.m.lane]
	n, tail := uint64(len(v.ready)), q.Tail.Load()
	p := v.rec.Head.Load()
	if tail > n {
		p = max(p, tail-n)
	}
	for ; p < tail; p++ {
		seq := p*uint64(h.g.lanes) + uint64(h.m.lane)
		e := v.ready[p&(n-1)].Load()
		i := int(entrySlot(e))
		if entrySeq(e) == seq && h.g.words[i].Word.CompareAndSwap(packWord(wordReady, 0, seq), packWord(wordHeld, h.m.owner, seq)) {
			v.rec.Head.Store(p + 1)
			h.held, h.got = append(h.held, i), append(h.got, h.g.r.slots[i].desc.Ticket)
			return true
		}
	}
	v.rec.Head.Store(tail)
	return false
}

// release lets go of the n-th that it holds.
func (h *hand) release(n int) {
	if n < 0 || n >= len(h.held) {
		return
	}
	w := &h.g.words[h.held[n]].Word
	w.Store(packWord(wordFree, 0, seqOf(w.Load())))
	h.held = slices.Delete(h.held, n, n+1)
}

// drain takes and releases all that there is.
func (h *hand) drain() {
	for h.take() || len(h.held) > 0 {
		h.release(0)
	}
}

// offerOne publishes a batch if a slot is free, or can be made free.
func (r *testRing) offerOne() {
	r.t.Helper()
	s, err := r.tryClaim()
	if err != nil {
		r.t.Fatal(err)
	}
	if s == nil {
		return
	}
	ticket := r.next.Add(1) - 1
	if err := r.Publish(testContext(r.t), s, Batch{Ticket: ticket, Rows: 1}); err != nil {
		r.t.Fatal(err)
	}
}

// allFree fails the test unless every slot is free.
func (r *testRing) allFree() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.slots {
		if !r.slotFree(i) {
			r.t.Fatalf("slot %d is not free when all is taken", i)
		}
	}
}

// claimable fails the test unless every READY word of the group has its entry, and all that was published is accounted for.
func (g *group) claimable(t *testing.T) {
	t.Helper()
	g.r.mu.Lock()
	defer g.r.mu.Unlock()
	g.sweep()
	for i := range g.words {
		w := g.words[i].Word.Load()
		if stateOf(w) != wordReady {
			continue
		}
		v := &g.lane[seqOf(w)%uint64(g.lanes)]
		if e := v.ready[seqOf(w)/uint64(g.lanes)&uint64(len(v.ready)-1)].Load(); e != packEntry(seqOf(w), i) {
			t.Fatalf("group %q, slot %d: ticket %d is ready, and in no queue", g.cfg.Name, i, g.r.slots[i].desc.Ticket)
		}
	}
	if n := uint64(len(undone(g.r, g.shadow))); g.phase != phaseActive || g.published != g.completed+g.dropped+n {
		t.Fatalf("group %q, %s: %d published, %d completed, %d dropped, %d undone", g.cfg.Name, g.why, g.published, g.completed, g.dropped, n)
	}
}

// Whatever the order in which two groups take and release, and however long one keeps a batch, a drop group loses none but those that are
// dropped and counted: every row of five of these steps is gone through, each from where the one before ended.
func TestDropGroupKeepsNothingThatNobodyCanClaim(t *testing.T) {
	for name, lanes := range map[string]int{"shared": 1, "lanes": 2} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t, 3)
			cfg.Lanes, cfg.World = lanes, lanes
			view := GroupConfig{Name: "view", Slow: SlowDrop}
			if lanes > 1 {
				view.Mode = ModeLanes
			}
			cfg.Groups = []GroupConfig{{Name: "train"}, view}
			r := newTestRing(t, cfg)
			train, views := newHand(r, "train", 0), []*hand{}
			for lane := range lanes {
				views = append(views, newHand(r, "view", lane))
			}
			steps := []func(){
				r.offerOne,
				func() { train.take() },
				func() { train.release(0) },
				func() { train.release(len(train.held) - 1) },
				func() { train.take(); train.release(len(train.held) - 1); r.offerOne() },
				func() { views[0].take() },
				func() { views[0].release(0) },
			}
			const length = 5
			script := [length]int{}
			for n := 0; ; n++ {
				for _, step := range script {
					steps[step]()
					train.g.claimable(t)
					views[0].g.claimable(t)
				}
				if n%97 == 0 {
					train.drain()
					for _, v := range views {
						v.drain()
						if !slices.IsSorted(v.got) {
							t.Fatalf("tickets out of order: %v", v.got)
						}
						v.got = v.got[:0]
					}
					r.allFree()
				}
				at := 0
				for ; at < length; at++ {
					if script[at]++; script[at] < len(steps) {
						break
					}
					script[at] = 0
				}
				if at == length {
					break
				}
			}
			for i, ticket := range train.got {
				if ticket != uint64(i) {
					t.Fatalf("the block group got ticket %d as its %dth", ticket, i)
				}
			}
		})
	}
}

// A batch that a drop group has not claimed while another group kept its slot and many came after it is dropped and counted: the epoch ends
// for the group, and the next engine adopts the ring.
func TestDropGroupReachesTheEndOfAnEpochInWhichAnotherKeptABatch(t *testing.T) {
	const steps = 40
	r := adoptable(t, func(cfg *Config) {
		cfg.StepsPerEpoch = steps
		cfg.Groups[1].Slow = SlowDrop
	})
	keeper, a := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "a", MaxLeases: 1})
	r.publishOne(0, false)
	kept := acquire(t, keeper)
	for n := 1; n < steps; n++ {
		r.publishOne(0, n == steps-1)
		release(t, acquire(t, a))
	}
	r.consistent()
	next := r.restart()
	next.consistent()
	b := next.attach(AttachOptions{Group: "b", MaxLeases: 1})
	got := uint64(0)
	for ; ; got++ {
		l, err := b.Acquire(testContext(t))
		if err == EndEpoch {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		release(t, l)
	}
	if g := next.group("b"); got == 0 || g.Completed != got || g.Completed+g.Dropped != steps {
		t.Fatalf("the drop group took %d: %d completed, %d dropped of %d", got, g.Completed, g.Dropped, steps)
	}
	release(t, kept)
	_, err := a.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
	next.wantCounts("a", steps, steps, 0)
}

// A load that comes too late changes nothing, however often: what nobody has claimed comes in its order, in lanes of which nobody takes
// anything, too.
func TestLoadsThatComeTooLateLeaveEveryBatchClaimable(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Lanes, cfg.World = 2, 2
	cfg.Groups = []GroupConfig{{Name: "ranks", Mode: ModeLanes}}
	r := newTestRing(t, cfg)
	first, second := newHand(r, "ranks", 0), newHand(r, "ranks", 1)
	for range 8 {
		r.offerOne()
	}
	for range 4 {
		r.mu.Lock()
		first.g.sweep()
		first.take() // between the sweep and what the load discards
		ticket := first.g.r.slots[first.g.discardAll()].desc.Ticket
		r.mu.Unlock()
		if want := first.got[len(first.got)-1]; ticket != want {
			t.Fatalf("the load is refused because of ticket %d, want %d", ticket, want)
		}
		first.g.claimable(t)
		first.release(0)
		r.offerOne()
		r.offerOne()
	}
	second.drain()
	first.drain()
	if !slices.Equal(second.got[:4], []uint64{1, 3, 5, 7}) || !slices.IsSorted(second.got) || !slices.IsSorted(first.got) || first.g.violations > 0 {
		t.Fatalf("lane 0 got %v, lane 1 %v, %d violations", first.got, second.got, first.g.violations)
	}
}

// A member that has the others pass a batch breaks its group, which has the batch again then, and not the others.
func TestBatchThatMembersWereMadeToPassBreaksTheirGroup(t *testing.T) {
	r, evil, good := hostileRing(t)
	r.publish(2, 0, false)
	evil.lane.Head.Store(1)
	for range 7 {
		release(t, acquire(t, evil))
		release(t, acquire(t, good))
		r.publishOne(0, false) // the last of them comes where ticket 0 was
	}
	_, err := evil.Acquire(testContext(t))
	wantErr(t, err, ErrGroupClosed)
	if g := r.group("evil"); g.State != GroupBroken || !strings.HasSuffix(g.Why, "passed by its members") {
		t.Fatalf("the evil group: %+v", g)
	}
	if g := r.group("good"); g.State != GroupActive || g.Violations != 0 || g.Completed != 7 {
		t.Fatalf("the good group was touched: %+v", g)
	}
	if err := evil.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group to come back", func() bool { return r.group("evil").State == GroupActive })
	if l := acquire(t, r.attach(AttachOptions{Group: "evil", MaxLeases: 1})); l.Ticket != 0 {
		t.Fatalf("got ticket %d, want 0", l.Ticket)
	}
}
