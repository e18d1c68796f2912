package shm

import (
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
	low, above, err := r.Progress(group, 0, nil)
	if err != nil || low != 0 || !slices.Equal(above, []uint64{1, 2, 4, 5}) {
		t.Fatalf("completed below %d and %v, %v; want 0 and 1, 2, 4, 5", low, above, err)
	}
	r.mustPut(0, 3)
	release(t, acquire(t, reader))
	if low, above, err = r.Progress(group, 0, nil); err != nil || low != 3 || !slices.Equal(above, []uint64{4, 5}) {
		t.Fatalf("completed below %d and %v, %v; want 3 and 4, 5", low, above, err)
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
	low, above, err := r.Progress(r.group("a").Index, 0, nil)
	if err != nil || low != 6 || len(above) != 0 {
		t.Fatalf("completed below %d and %v, %v; want 6: the group skips epoch 0", low, above, err)
	}
	if err := r.Advance(6, 1); err != nil {
		t.Fatal(err)
	}
	r.wantLate(6)
	wantErr(t, r.put(0), ErrArgument)
	r.mustPut(8, 6)
	_, err = reader.Acquire(testContext(t))
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

// An engine does not go on with the ring of a killed one that published batches as they were ready.
func TestReadyRingsAreNotAdopted(t *testing.T) {
	r := adoptable(t, func(c *Config) { c.Ready = true })
	r.publish(1, 0, false)
	r.die()
	_, err := Create(r.cfg)
	wantErr(t, err, ErrState)
	fresh := r.cfg
	fresh.Adopt = false
	r.successor(fresh).wantLate(0)
}
