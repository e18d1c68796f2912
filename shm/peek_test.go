package shm

import (
	"testing"
)

// Peek shows the newest batch with nobody attached and takes nothing from whoever comes: the first consumer still gets
// every batch from the first on.
func TestPeekShowsTheNewestBatchAndTakesNothing(t *testing.T) {
	cfg := testConfig(t, 4)
	cfg.Groups, cfg.Text = []GroupConfig{{Name: "g", Mode: ModeShared}}, []byte(`{"a":1}`)
	r := newTestRing(t, cfg)
	_, err := r.Peek(2)
	wantErr(t, err, ErrNotFound)
	r.publish(3, 0, false)
	p, err := r.Peek(2)
	if err != nil {
		t.Fatal(err)
	}
	if p.Ticket != 2 || p.Rows != 4 || p.Copied != 2 || len(p.Tensor(0)) != 2*64 || p.Offsets(0) != nil || string(p.Text) != `{"a":1}` || len(p.Schema) != 1 {
		t.Errorf("peeked %+v with %d bytes", p, len(p.Tensor(0)))
	}
	if p, err = r.Peek(100); err != nil || p.Copied != 4 {
		t.Errorf("more rows than there are: %d rows, error %v, want 4", p.Copied, err)
	}
	if p, err = r.Peek(-1); err != nil || p.Copied != 0 {
		t.Errorf("fewer rows than none: %d rows, error %v, want 0", p.Copied, err)
	}
	held, err := r.Claim(testContext(t)) // the slot in work is not shown
	if err != nil {
		t.Fatal(err)
	}
	if p, err = r.Peek(1); err != nil || p.Ticket != 2 {
		t.Errorf("while a slot is filled: ticket %d, error %v, want 2", p.Ticket, err)
	}
	r.Abandon(held)
	reader := r.attach(AttachOptions{Group: "g", MaxLeases: 1})
	for want := range uint64(3) {
		l := acquire(t, reader)
		if l.Ticket != want {
			t.Errorf("ticket %d, want %d", l.Ticket, want)
		}
		release(t, l)
	}
	if err := r.Ring.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = r.Peek(1)
	wantErr(t, err, ErrClosed)
}

// A batch's life has the times of its publication and of every group's claim and completion, before and after its slot is
// claimed anew.
func TestLifeTellsWhatBecameOfABatch(t *testing.T) {
	r := newTestRing(t, testConfig(t, 3))
	reader := r.attach(AttachOptions{Group: "g", MaxLeases: 1})
	r.publish(1, 0, false)
	l := acquire(t, reader)
	lives := r.Lives()
	if len(lives) != 1 || lives[0].PublishedNS == 0 || len(lives[0].Uses) != 1 || lives[0].Uses[0].Group != "g" {
		t.Fatalf("lives %+v", lives)
	}
	if u := lives[0].Uses[0]; u.ClaimedNS < lives[0].PublishedNS || u.DoneNS != 0 || !u.Held {
		t.Errorf("held batch: %+v, want claimed and not done", u)
	}
	if err := l.Done(); err != nil {
		t.Fatal(err)
	}
	release(t, l)
	for range 3 { // whichever slot comes next, one of them is the batch's
		s, err := r.Claim(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		life, ok := r.Life(s)
		if s.Index() != lives[0].Slot {
			if ok {
				t.Errorf("slot %d has a life without a batch: %+v", s.Index(), life)
			}
			continue
		}
		if !ok || life.Ticket != 0 || life.Uses[0].DoneNS < life.Uses[0].ClaimedNS {
			t.Errorf("life %+v, %v, want claimed, then done", life, ok)
		}
	}
}

// A member's waits are its own words: since when it waits now, and for how long it waited before.
func TestWaitsShowWhoWaits(t *testing.T) {
	r := newTestRing(t, testConfig(t, 3))
	reader := r.attach(AttachOptions{Group: "g", MaxLeases: 1, Client: "tester"})
	got := make(chan *Lease)
	go func() {
		l, _ := reader.Acquire(testContext(t))
		got <- l
	}()
	eventually(t, "the wait to show", func() bool {
		w := r.Waits(nil)
		return len(w) == 1 && w[0].WaitingSince > 0 && w[0].Client == "tester" && w[0].Group == "g"
	})
	r.publish(1, 0, false)
	release(t, <-got)
	if w := r.Waits(nil); w[0].WaitingSince != 0 || w[0].WaitNS == 0 {
		t.Errorf("after the wait: %+v", w)
	}
}
