package shm

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hostileRing has a group that a hostile member spoils and one that must not notice.
func hostileRing(t *testing.T) (r *testRing, evil, good *Reader) {
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "evil"}, {Name: "good"}}
	r = newTestRing(t, cfg)
	return r, r.attach(AttachOptions{Group: "evil", MaxLeases: 2}), r.attach(AttachOptions{Group: "good", MaxLeases: 2})
}

func TestImpossibleTransitionsBreakOnlyTheirGroup(t *testing.T) {
	word := func(r *Reader, l *Lease) *paddedWord { return &r.word(uint64(l.Slot)).Word }
	for name, spoil := range map[string]func(r *Reader, l *Lease){
		"ready after held": func(r *Reader, l *Lease) { word(r, l).Store(packWord(wordReady, 0, seqOf(l.word))) },
		"another owner":    func(r *Reader, l *Lease) { word(r, l).Store(packWord(wordHeld, r.welcome.Owner+7, seqOf(l.word))) },
		"owner zero":       func(r *Reader, l *Lease) { word(r, l).Store(packWord(wordHeld, 0, seqOf(l.word))) },
		"the good one's owner": func(r *Reader, l *Lease) {
			word(r, l).Store(packWord(wordHeld, 2, seqOf(l.word)))
		},
		"sequence rolled back": func(r *Reader, l *Lease) { word(r, l).Store(packWord(wordHeld, r.welcome.Owner, 0)) },
		"sequence of the future": func(r *Reader, l *Lease) {
			word(r, l).Store(packWord(wordFree, 0, seqOf(l.word)+1))
		},
		"free with an owner": func(r *Reader, l *Lease) { word(r, l).Store(packWord(wordFree, 5, seqOf(l.word))) },
		"no such state":      func(r *Reader, l *Lease) { word(r, l).Store(packWord(9, 0, seqOf(l.word))) },
		"all ones":           func(r *Reader, l *Lease) { word(r, l).Store(^uint64(0)) },
		"zero":               func(r *Reader, l *Lease) { word(r, l).Store(0) },
		"free slot claimed": func(r *Reader, l *Lease) {
			for slot := range uint64(8) {
				if w := &r.word(slot).Word; stateOf(w.Load()) == wordFree {
					w.Store(packWord(wordHeld, r.welcome.Owner, seqOf(w.Load())))
					return
				}
			}
		},
		"more leases than reserved": func(r *Reader, l *Lease) {
			for slot := range uint64(8) {
				if w := &r.word(slot).Word; stateOf(w.Load()) == wordReady {
					w.Store(packWord(wordHeld, r.welcome.Owner, seqOf(w.Load())))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, evil, good := hostileRing(t)
			r.publish(5, 0, false)
			release(t, acquire(t, evil)) // ticket 0 is completed whatever comes
			held := acquire(t, evil)
			eventually(t, "the engine to see it held", func() bool { g := r.group("evil"); return g.Completed == 1 && g.Members[0].Holds == 1 })
			spoil(evil, held)
			eventually(t, "the violation", func() bool { return r.Info().Violations > 0 })
			_, err := evil.Acquire(testContext(t))
			wantErr(t, err, ErrGroupClosed)
			r.publish(2, 0, false)
			for want := range uint64(7) {
				l := acquire(t, good)
				if l.Ticket != want || l.Attempts != 1 {
					t.Fatalf("the good group got ticket %d, attempts %d, want %d, 1", l.Ticket, l.Attempts, want)
				}
				release(t, l)
			}
			if g := r.group("good"); g.State != GroupActive || g.Violations != 0 || g.Completed != 7 {
				t.Fatalf("the good group was touched: %+v", g)
			}
		})
	}
}

func TestBrokenDeclaredGroupComesBackWithWhatItHasNotCompleted(t *testing.T) {
	r, evil, good := hostileRing(t)
	r.publish(3, 0, false)
	release(t, acquire(t, evil))
	held := acquire(t, evil)
	eventually(t, "the completion", func() bool { return r.group("evil").Completed == 1 })
	evil.word(uint64(held.Slot)).Word.Store(^uint64(0))
	eventually(t, "the group to break", func() bool { return r.group("evil").State == GroupBroken })
	r.publish(2, 0, false) // it must not miss these
	_, err := Attach(testContext(t), r.server.Path(), AttachOptions{Group: "evil", MaxLeases: 1})
	wantErr(t, err, ErrBusy)
	if err := evil.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group to come back", func() bool { return r.group("evil").State == GroupActive })
	again := r.attach(AttachOptions{Group: "evil", MaxLeases: 2})
	for want := uint64(1); want < 5; want++ {
		l := acquire(t, again)
		if attempts := map[bool]uint32{true: 2, false: 1}[want < 3]; l.Ticket != want || l.Attempts != attempts {
			t.Fatalf("got ticket %d, attempts %d, want %d, %d", l.Ticket, l.Attempts, want, attempts)
		}
		release(t, l)
	}
	for range 5 {
		release(t, acquire(t, good))
	}
	r.publish(8, 0, false) // no slot stays in quarantine
}

func TestSlotsOfABrokenGroupStayOutOfUseUntilItsMembersAreGone(t *testing.T) {
	cfg := testConfig(t, 4)
	r := newTestRing(t, cfg)
	evil, good := r.attach(AttachOptions{Group: "evil", MaxLeases: 1}), r.attach(AttachOptions{Group: "good", MaxLeases: 1})
	r.publish(1, 0, false)
	held := acquire(t, evil)
	release(t, acquire(t, good))
	eventually(t, "the engine to see it held", func() bool { return r.group("evil").Members[0].Holds == 1 })
	evil.word(uint64(held.Slot)).Word.Store(packWord(wordFree, 3, 0))
	eventually(t, "the group to break", func() bool { return r.group("evil").State == GroupBroken })
	for range 6 {
		r.publish(1, 0, false)
		l := acquire(t, good)
		if l.Slot == held.Slot {
			t.Fatalf("slot %d was filled while its holder may read it", l.Slot)
		}
		release(t, l)
	}
	if err := evil.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group to be gone", func() bool { return len(r.Groups()) == 1 })
	seen := false
	for range 8 {
		r.publish(1, 0, false)
		l := acquire(t, good)
		seen = seen || l.Slot == held.Slot
		release(t, l)
	}
	if !seen {
		t.Fatalf("slot %d never came back", held.Slot)
	}
}

// A member that fills its event descriptor and has writes to it block holds nobody up, not even when it is gone.
func TestMemberWhoseEventDescriptorBlocksHoldsNobodyUp(t *testing.T) {
	r, evil, good := hostileRing(t)
	var event int
	if raw, err := evil.files[5].SyscallConn(); err != nil {
		t.Fatal(err)
	} else if err := raw.Control(func(fd uintptr) { event, _ = unix.Dup(int(fd)) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(event) })
	if _, err := unix.Write(event, fullEvent[:]); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(event, false); err != nil {
		t.Fatal(err)
	}
	evil.member.Armed.Store(1)
	evil.lane.Armed.Store(1)
	r.publishOne(0, false)
	eventually(t, "the engine to ring", func() bool { return evil.member.Armed.Load() == 0 })
	if err := evil.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Read(event, make([]byte, 8)) }) // where this failed
	eventually(t, "it to be gone", func() bool {
		if !r.mu.TryLock() {
			return false
		}
		defer r.mu.Unlock()
		return r.groups[0].nMembers() == 0
	})
	release(t, acquire(t, good))
}

func TestRandomScribblingNeverReachesTheOtherGroup(t *testing.T) {
	r, evil, good := hostileRing(t)
	rng := rand.New(rand.NewSource(1))
	stop := make(chan struct{})
	scribbled := make(chan struct{})
	go func() {
		defer close(scribbled)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for range 1000 {
				off := uint64(rng.Intn(len(evil.group)/8)) * 8
				at[paddedWord](evil.group, off).Store(rng.Uint64())
			}
			_, _ = evil.space.Write(one[:])
		}
	}()
	begun := time.Now()
	for want := uint64(0); want < 500 || time.Since(begun) < 300*time.Millisecond; want++ {
		r.publishOne(0, false)
		l := acquire(t, good)
		if l.Ticket != want || l.Attempts != 1 {
			t.Fatalf("the good group got ticket %d, attempts %d, want %d, 1", l.Ticket, l.Attempts, want)
		}
		release(t, l)
		if want == 3 { // from here on evil would fill the ring: it is slow and declared
			eventually(t, "the violation", func() bool { return r.Info().Violations > 0 })
			if err := r.closeGroup("evil"); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(stop)
	<-scribbled
	if g := r.group("good"); g.Violations != 0 {
		t.Fatalf("the good group was blamed: %+v", g)
	}
}

// Ten million words of garbage, in groups that are made anew each time one is broken: the engine lives, and the other group gets every batch once.
func TestTenMillionWritesOfGarbageReachNobodyElse(t *testing.T) {
	const rounds, writes = 40, 250_000
	r := newTestRing(t, testConfig(t, 8))
	good := r.attach(AttachOptions{Group: "good", MaxLeases: 1})
	rng := rand.New(rand.NewSource(3))
	written, want := 0, uint64(0)
	for round := range rounds {
		evil := r.attach(AttachOptions{Group: "evil", MaxLeases: 2})
		r.publish(4, 0, false)
		release(t, acquire(t, evil))
		_ = acquire(t, evil)
		for range writes {
			value := rng.Uint64()
			if rng.Intn(2) == 0 {
				value = packWord(uint32(rng.Intn(5)), uint32(rng.Intn(4)), uint64(rng.Intn(8))) // what is nearly right
			}
			at[paddedWord](evil.group, uint64(rng.Intn(len(evil.group)/8))*8).Store(value)
			written++
		}
		_, _ = evil.space.Write(one[:])
		eventually(t, "the violation", func() bool { return r.Info().Violations > uint64(round) })
		if err := evil.Close(); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			l := acquire(t, good)
			if l.Ticket != want || l.Attempts != 1 {
				t.Fatalf("round %d: the good group got ticket %d, attempts %d, want %d, 1", round, l.Ticket, l.Attempts, want)
			}
			release(t, l)
			want++
		}
		eventually(t, "the evil group to be gone", func() bool { return len(r.Groups()) == 1 })
	}
	g := r.group("good")
	t.Logf("%d writes, %d violations, %d batches", written, r.Info().Violations, g.Completed)
	if written != 10_000_000 || g.Violations != 0 || g.State != GroupActive {
		t.Fatalf("%d writes, and the good group is %+v", written, g)
	}
}

// closeGroup makes a broken declared group one that does not come back, so that it does not hold the ring.
func (r *testRing) closeGroup(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.groups {
		if g.cfg.Name == name {
			g.declared = false
			for i := range g.shadow {
				g.shadow[i].word = packWord(wordFree, 0, seqOf(g.shadow[i].word))
			}
			return nil
		}
	}
	return fmt.Errorf("no group %q", name)
}

func TestReaderSurvivesScribbledGroupSegment(t *testing.T) {
	cfg := testConfig(t, 8)
	r := newTestRing(t, cfg)
	c := r.attach(AttachOptions{MaxLeases: 2})
	r.publish(4, 0, true)
	rng := rand.New(rand.NewSource(2))
	for range 20000 {
		off := 256 + uint64(rng.Intn((len(c.group)-256)/8))*8
		value := rng.Uint64()
		if rng.Intn(2) == 0 {
			value = uint64(rng.Intn(64))
		}
		at[paddedWord](c.group, off).Store(value)
		c.mu.Lock()
		l := c.claim(c.redo, &c.lane.RedoHead, &c.queue.RedoTail, seqRedo)
		if l == nil {
			l = c.claim(c.ready, &c.lane.Head, &c.queue.Tail, 0)
		}
		_ = c.endOf()
		c.mu.Unlock()
		if l != nil {
			_ = l.Tensor(0)
			_ = l.Release()
		}
	}
}
