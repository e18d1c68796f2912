package shm

import (
	"fmt"
	"slices"
	"testing"
)

// readyRing publishes batches as they are ready; three steps of two lanes are an epoch.
func readyRing(t *testing.T, edit func(*Config)) *testRing {
	cfg := testConfig(t, 8)
	cfg.Ready, cfg.Lanes, cfg.StepsPerEpoch, cfg.Epochs = true, 2, 3, 2
	cfg.Groups = []GroupConfig{{Name: "a"}}
	if edit != nil {
		edit(&cfg)
	}
	return newTestRing(t, cfg)
}

// put publishes a ticket while others are to come.
func (r *testRing) put(ticket uint64, open ...uint64) error {
	r.t.Helper()
	slot, err := r.Claim(testContext(r.t))
	if err != nil {
		r.t.Fatal(err)
	}
	fillPattern(slot.Tensor(0), ticket)
	err = r.Publish(testContext(r.t), slot, Batch{Ticket: ticket, Epoch: ticket / 6, Rows: 4, LastOfEpoch: ticket%6 >= 4, Open: open})
	if err != nil {
		r.Abandon(slot)
	}
	return err
}

func (r *testRing) mustPut(ticket uint64, open ...uint64) {
	r.t.Helper()
	if err := r.put(ticket, open...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *testRing) wantLate(next uint64, late ...uint64) {
	r.t.Helper()
	if info := r.Info(); info.NextTicket != next || !slices.Equal(info.Late, late) {
		r.t.Fatalf("next ticket %d, to come %v; want %d and %v", info.NextTicket, info.Late, next, late)
	}
}

// A ticket that was announced as still to come is not completed, the epoch does not end without it, and it may be published once.
func TestTicketsToComeAreOpenUntilTheyArePublished(t *testing.T) {
	r := readyRing(t, nil)
	reader := r.attach(AttachOptions{Group: "a", MaxLeases: 1})
	group := r.group("a").Index
	r.mustPut(2, 0, 3, 7) // 1 never comes; 3 and 7 are not passed over yet
	r.wantLate(3, 0)
	r.mustPut(5, 0, 3, 4)
	r.mustPut(4, 0, 3)
	r.wantLate(6, 0, 3)
	for _, want := range []uint64{2, 5, 4} {
		if l := acquire(t, reader); l.Ticket != want {
			t.Fatalf("ticket %d, want %d", l.Ticket, want)
		} else {
			release(t, l)
		}
	}
	p, err := r.Progress(group, 0, nil)
	if err != nil || p.Low() != 0 || !slices.Equal(p.Above(), []uint64{1, 2, 4, 5}) {
		t.Fatalf("%+v, %v; want 0 open, and 1, 2, 4, 5 completed", p, err)
	}
	r.mustPut(0, 3)
	release(t, acquire(t, reader))
	if p, err = r.Progress(group, 0, nil); err != nil || p.Low() != 3 || !slices.Equal(p.Above(), []uint64{4, 5}) {
		t.Fatalf("%+v, %v; want 3 open, and 4, 5 completed", p, err)
	}
	if next := r.groups[0].queue[0].NextEpoch.Load(); next != 0 {
		t.Fatalf("the epoch ended without ticket 3: next is epoch %d", next)
	}
	wantErr(t, r.put(0), ErrArgument)
	wantErr(t, r.put(1), ErrArgument)
	r.mustPut(3)
	r.wantLate(6)
	release(t, acquire(t, reader))
	_, err = reader.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
	r.mustPut(6)
	if l := acquire(t, reader); l.Ticket != 6 || l.Epoch != 1 {
		t.Fatalf("ticket %d of epoch %d, want 6 of 1", l.Ticket, l.Epoch)
	} else {
		release(t, l)
	}
}

// A restart and a load forget what was to come before the place where they go on.
func TestAdvanceAndRewindForgetWhatWasToCome(t *testing.T) {
	r := readyRing(t, nil)
	reader := r.attach(AttachOptions{Group: "a", MaxLeases: 1})
	r.mustPut(2, 0, 1)
	release(t, acquire(t, reader))
	if err := r.Skip(r.group("a").Index, 1); err != nil {
		t.Fatal(err)
	}
	if p, err := r.Progress(r.group("a").Index, 0, nil); err != nil || p.Next != 6 || len(p.Open) != 0 {
		t.Fatalf("%+v, %v; want all below 6: the group skips epoch 0", p, err)
	}
	if err := r.Advance(6, 1); err != nil {
		t.Fatal(err)
	}
	r.wantLate(6)
	wantErr(t, r.put(0), ErrArgument)
	r.mustPut(8, 6)
	_, err := reader.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
	release(t, acquire(t, reader))
	r.wantLate(9, 6)
	if err := r.Rewind(2, 0); err != nil {
		t.Fatal(err)
	}
	r.wantLate(2)
	r.mustPut(2)
}

// What such a ring cannot be is refused: without epochs, with stages, in order.
func TestReadyRingsAreRefusedWhereTheyCannotWork(t *testing.T) {
	for _, edit := range []func(*Config){
		func(c *Config) { c.StepsPerEpoch = 0 },
		func(c *Config) { c.Groups = []GroupConfig{{Name: "s", Kind: KindStage}} },
	} {
		cfg := testConfig(t, 8)
		cfg.Ready, cfg.StepsPerEpoch = true, 3
		edit(&cfg)
		_, err := Create(cfg)
		wantErr(t, err, ErrArgument)
	}
	ordered := readyRing(t, func(c *Config) { c.Ready = false })
	wantErr(t, ordered.put(2, 0, 1), ErrArgument)
	ordered.mustPut(2)
	ordered.wantLate(3)
}

// adoptableReady is a ring of two groups in which tickets 0 and 1 are still to come.
func adoptableReady(t *testing.T) *testRing {
	r := adoptable(t, func(c *Config) { c.Ready, c.StepsPerEpoch = true, 6 })
	r.mustPut(2, 0, 1)
	r.mustPut(3, 0, 1)
	return r
}

// What was still to come is still to come, and is put once, whichever engine puts it.
func TestRestartedEngineKnowsWhichTicketsAreToCome(t *testing.T) {
	r := adoptableReady(t)
	a := r.attach(AttachOptions{Group: "a", MaxLeases: 1})
	release(t, acquire(t, a))
	next := r.restart()
	next.wantLate(4, 0, 1)
	next.consistent()
	next.mustPut(1, 0)
	last := next.restart()
	last.wantLate(4, 0)
	wantErr(t, last.put(1), ErrArgument)
	last.mustPut(0)
	last.wantLate(4)
	last.mustPut(5, 4)
	last.mustPut(4)
	for _, want := range []uint64{3, 1, 0, 5, 4} {
		if l := acquire(t, a); l.Ticket != want {
			t.Fatalf("ticket %d, want %d", l.Ticket, want)
		} else {
			release(t, l)
		}
	}
	_, err := a.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
	last.wantCounts("a", 6, 6, 0)
}

// An engine that dies while it publishes, in order or not, leaves a batch that is in every group once, and the tickets that it
// passed over.
func TestHalfPublishedBatchOfAReadyRingIsFinished(t *testing.T) {
	type stores func(r *Ring, s *Slot, b *Batch)
	nothing := func(*Ring, *Slot, *Batch) {}
	planned := func(r *Ring, _ *Slot, b *Batch) { _ = r.plan(b) }
	one := func(r *Ring, s *Slot, b *Batch) { planned(r, s, b); r.groups[0].publish(s.index, 0, b.Ticket, 0) }
	both := func(r *Ring, s *Slot, b *Batch) { one(r, s, b); r.groups[1].publish(s.index, 0, b.Ticket, 0) }
	epoch := func(r *Ring, s *Slot, b *Batch) { both(r, s, b); r.setLaneEpoch(0, 1) }
	all := func(r *Ring, s *Slot, b *Batch) { both(r, s, b); r.passed(0, 0, b.LastOfEpoch) }
	for name, kill := range map[string]stores{"nothing": nothing, "planned": planned, "in one group": one, "in both": both, "epoch stored": epoch, "all": all} {
		for _, b := range []Batch{{Ticket: 5, Rows: 4, LastOfEpoch: true, Open: []uint64{0, 1, 4}}, {Ticket: 1, Rows: 4, Open: []uint64{0}}} {
			t.Run(fmt.Sprint(name, " ", b.Ticket), func(t *testing.T) {
				r := adoptableReady(t)
				a, second := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
				slot, err := r.Claim(testContext(t))
				if err != nil {
					t.Fatal(err)
				}
				fillPattern(slot.Tensor(0), b.Ticket)
				r.mu.Lock()
				if err := slot.describe(&b, 0); err != nil {
					t.Fatal(err)
				}
				kill(r.Ring, slot, &b)
				r.mu.Unlock()
				next := r.restart()
				next.consistent()
				next.putRest(b, 6)
				for _, reader := range []*Reader{a, second} {
					wantEach(t, reader, 6)
				}
				next.wantCounts("a", 6, 6, 0)
				next.wantCounts("b", 6, 6, 0)
			})
		}
	}
}

// putRest puts what an engine that goes on would: what is late and, up to end, what is to come.
func (r *testRing) putRest(b Batch, end uint64) {
	r.t.Helper()
	info := r.Info()
	if r.isOpen(b.Ticket) {
		r.mustPut(b.Ticket, b.Open...)
		info = r.Info()
	}
	for _, t := range info.Late {
		r.mustPut(t, info.Late...)
	}
	for t := info.NextTicket; t < end; t++ {
		r.mustPut(t)
	}
}

// wantEach takes an epoch of n batches: each once, in any order.
func wantEach(t *testing.T, r *Reader, n int) {
	t.Helper()
	seen := map[uint64]bool{}
	for range n {
		l := acquire(t, r)
		if seen[l.Ticket] || l.Attempts != 1 {
			t.Fatalf("ticket %d, attempt %d, after %v", l.Ticket, l.Attempts, seen)
		}
		seen[l.Ticket] = true
		release(t, l)
	}
	_, err := r.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
}
