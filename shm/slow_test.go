package shm

import (
	"testing"
)

func TestSlowDropGroupLosesItsOldestUnclaimedBatch(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "train"}, {Name: "view", Slow: SlowDrop}}
	r := newTestRing(t, cfg)
	train, view := r.attach(AttachOptions{Group: "train", MaxLeases: 1}), r.attach(AttachOptions{Group: "view", MaxLeases: 1})
	held := acquireAfter(t, r, view)
	for range 19 {
		release(t, acquire(t, train))
		r.publishOne(0, false)
	}
	if g := r.group("view"); g.Dropped < 11 || g.Completed != 0 {
		t.Fatalf("view: %d dropped, %d completed, want at least 11, 0", g.Dropped, g.Completed)
	}
	release(t, held)
	last := held.Ticket
	for range 3 {
		l := acquire(t, view)
		if l.Ticket <= last {
			t.Fatalf("got ticket %d after %d", l.Ticket, last)
		}
		last = l.Ticket
		release(t, l)
	}
	if g := r.group("train"); g.Dropped != 0 {
		t.Fatalf("the block group lost %d batches", g.Dropped)
	}
}

func acquireAfter(t *testing.T, r *testRing, c *Reader) *Lease {
	r.publishOne(0, false)
	return acquire(t, c)
}

func TestSlowDetachGroupIsClosedWhenAnotherStarves(t *testing.T) {
	cfg := testConfig(t, 4)
	cfg.Groups = []GroupConfig{{Name: "train"}, {Name: "slow", Slow: SlowDetach}}
	r := newTestRing(t, cfg)
	train, slow := r.attach(AttachOptions{Group: "train", MaxLeases: 1}), r.attach(AttachOptions{Group: "slow", MaxLeases: 1})
	for range 12 {
		r.publishOne(0, false)
		release(t, acquire(t, train))
	}
	_, err := slow.Acquire(testContext(t))
	wantErr(t, err, ErrGroupClosed)
	if err := slow.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group to be gone", func() bool { return len(r.Groups()) == 1 })
	again := r.attach(AttachOptions{Group: "slow", MaxLeases: 1})
	r.publishOne(0, false)
	if l := acquire(t, again); l.Ticket != 12 {
		t.Fatalf("came back at ticket %d, want 12", l.Ticket)
	}
}
