package shm

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// testControl answers as a small engine does.
type testControl struct {
	ring    *testRing
	stopped chan struct{}
	once    sync.Once
	slow    time.Duration // that counting takes; set before the ring is made
}

func (c *testControl) State(group int, owner uint32, countHeld bool, extra []uint64) ([]byte, error) {
	if !countHeld {
		owner = 0
	}
	p, err := c.ring.Progress(group, owner, extra)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"low": p.Low(), "above": p.Above()})
}

func (c *testControl) Load(_ int, _ uint32, state []byte) (uint64, error) {
	var to struct{ Ticket, Epoch uint64 }
	if err := json.Unmarshal(state, &to); err != nil {
		return 0, refuse(ErrState, "state: %v", err)
	}
	c.ring.next.Store(to.Ticket)
	return to.Epoch, c.ring.Rewind(to.Ticket, to.Epoch)
}

func (c *testControl) Restart(group int, owner uint32) (uint64, error) {
	epoch, err := c.ring.MemberEpoch(owner)
	if err != nil {
		return 0, err
	}
	return epoch + 1, c.ring.Skip(group, epoch+1)
}

func (c *testControl) Stats() ([]byte, error) {
	time.Sleep(c.slow)
	return json.Marshal(c.ring.Info())
}

func (c *testControl) Stop() { c.once.Do(func() { close(c.stopped) }) }

func controlledRing(t *testing.T) (*testRing, *testControl) {
	control := &testControl{stopped: make(chan struct{})}
	r := newControlledRing(t, testConfig(t, 8), func(r *testRing) Control {
		control.ring = r
		return control
	})
	return r, control
}

// A peer whose answer took the engine longer than it may take to hear it has it all the same, and stays.
func TestSlowAnswersReachWhoAsked(t *testing.T) {
	control := &testControl{slow: handshakeTime + 100*time.Millisecond}
	r := newControlledRing(t, testConfig(t, 8), func(r *testRing) Control {
		control.ring = r
		return control
	})
	c := r.attach(AttachOptions{})
	if text, err := c.Stats(testContext(t)); err != nil || !strings.Contains(string(text), `"slots":8`) {
		t.Fatalf("got %q, %v", text, err)
	}
	if _, err := c.Stats(testContext(t)); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

func TestStateNamesCompletedBatches(t *testing.T) {
	r, _ := controlledRing(t)
	c := r.attach(AttachOptions{MaxLeases: 4})
	r.publish(6, 0, false)
	held := []*Lease{acquire(t, c), acquire(t, c), acquire(t, c), acquire(t, c)}
	release(t, held[1])
	if err := held[2].Done(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		held  bool
		extra []uint64
		text  string
	}{
		{false, nil, `{"above":[1,2],"low":0}`},
		{true, nil, `{"above":null,"low":4}`},
		{false, []uint64{0}, `{"above":null,"low":3}`},
	} {
		got, err := c.SaveState(testContext(t), want.held, want.extra...)
		if err != nil || string(got) != want.text {
			t.Errorf("held %v, extra %v: got %s, %v, want %s", want.held, want.extra, got, err, want.text)
		}
	}
}

func TestLoadGoesOnFromASavedPosition(t *testing.T) {
	r, _ := controlledRing(t)
	c := r.attach(AttachOptions{MaxLeases: 4})
	r.publish(6, 0, true)
	held := acquire(t, c)
	wantErr(t, c.LoadState(testContext(t), []byte(`{"Ticket":40,"Epoch":3}`)), ErrBusy)
	release(t, held)
	wantErr(t, c.LoadState(testContext(t), []byte(`nonsense`)), ErrState)
	if err := c.LoadState(testContext(t), []byte(`{"Ticket":40,"Epoch":3}`)); err != nil {
		t.Fatal(err)
	}
	r.publish(1, 3, true)
	if l := acquire(t, c); l.Ticket != 40 || l.Epoch != 3 {
		t.Fatalf("got ticket %d of epoch %d, want 40 of 3", l.Ticket, l.Epoch)
	} else {
		release(t, l)
	}
	_, err := c.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
	if err := c.LoadState(testContext(t), []byte(`{"Ticket":2,"Epoch":0}`)); err != nil { // back
		t.Fatal(err)
	}
	r.publish(1, 0, true)
	if l := acquire(t, c); l.Ticket != 2 {
		t.Fatalf("got ticket %d, want 2", l.Ticket)
	}
}

// A group that was closed for being slow, whose consumer stays with what it holds, keeps nobody from a load.
func TestLoadDoesNotHeedAGroupThatWasClosed(t *testing.T) {
	control := &testControl{}
	cfg := testConfig(t, 6)
	cfg.Groups = []GroupConfig{{Name: "a"}, {Name: "b", Slow: SlowDetach}}
	r := newControlledRing(t, cfg, func(r *testRing) Control {
		control.ring = r
		return control
	})
	a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
	r.publishOne(0, false)
	held := acquire(t, b)
	for release(t, acquire(t, a)); r.group("b").State == GroupActive; release(t, acquire(t, a)) {
		r.publishOne(0, false)
	}
	if err := a.LoadState(testContext(t), []byte(`{"Ticket":0,"Epoch":0}`)); err != nil {
		t.Fatal(err)
	}
	for want := range uint64(12) {
		r.publishOne(0, false)
		l := acquire(t, a)
		if l.Ticket != want || l.Slot == held.Slot {
			t.Fatalf("got ticket %d in slot %d, want %d, and in no slot that is held", l.Ticket, l.Slot, want)
		}
		release(t, l)
	}
	checkPattern(t, held)
}

func TestRestartLeavesTheRestOfTheEpochInItsGroupOnly(t *testing.T) {
	r, _ := controlledRing(t)
	c := r.attach(AttachOptions{Group: "a", MaxLeases: 2})
	other := r.attach(AttachOptions{Group: "b", MaxLeases: 2})
	r.publish(4, 0, false)
	release(t, acquire(t, c))
	if err := c.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}
	r.publish(1, 0, true)
	r.publish(1, 1, false)
	if l := acquire(t, c); l.Ticket != 5 || l.Epoch != 1 {
		t.Fatalf("got ticket %d of epoch %d, want 5 of 1", l.Ticket, l.Epoch)
	}
	for want := range uint64(5) {
		l := acquire(t, other)
		if l.Ticket != want {
			t.Fatalf("the other group got ticket %d, want %d", l.Ticket, want)
		}
		release(t, l)
	}
}

// heldThroughRestart has c hold a batch of the epoch that it leaves by a restart, and one of the next that lies in an earlier slot.
func heldThroughRestart(t *testing.T, r *testRing, c *Reader) (old, next *Lease) {
	t.Helper()
	r.publish(3, 0, false)
	release(t, acquire(t, c))
	release(t, acquire(t, c))
	old = acquire(t, c)
	if err := c.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}
	r.EndEpoch(0, 0)
	for next == nil || next.Slot > old.Slot {
		if next != nil {
			release(t, next)
		}
		r.publishOne(1, false)
		next = acquire(t, c)
	}
	return old, next
}

// What a consumer held of an epoch that its group has left does not come again when it is gone, and keeps nobody from what follows.
func TestBatchOfAnEpochLeftByARestartDoesNotComeAgain(t *testing.T) {
	r, _ := controlledRing(t)
	c := r.attach(AttachOptions{Group: "g", MaxLeases: 2})
	_, held := heldThroughRestart(t, r, c)
	other := r.attach(AttachOptions{Group: "g", MaxLeases: 1}) // begins in the epoch that the first one has not completed
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := other.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
	if l := acquire(t, other); l.Ticket != held.Ticket || l.Attempts != 2 {
		t.Fatalf("got ticket %d, attempts %d, want %d, 2", l.Ticket, l.Attempts, held.Ticket)
	}
	if g := r.group("g"); g.Redelivered != 1 || g.Dropped != 0 {
		t.Fatalf("%d redelivered, %d dropped, want 1, 0", g.Redelivered, g.Dropped)
	}
}

// Nor does it where the group comes back after a member has damaged it.
func TestBatchOfAnEpochLeftByARestartDoesNotComeBackWithItsGroup(t *testing.T) {
	control := &testControl{}
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "g"}}
	r := newControlledRing(t, cfg, func(r *testRing) Control {
		control.ring = r
		return control
	})
	c := r.attach(AttachOptions{MaxLeases: 2})
	old, held := heldThroughRestart(t, r, c)
	eventually(t, "the engine to see both held", func() bool { return r.group("g").Members[0].Holds == 2 })
	c.word(uint64(old.Slot)).Word.Store(^uint64(0))
	eventually(t, "the group to break", func() bool { return r.group("g").State == GroupBroken })
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group to come back", func() bool { return r.group("g").State == GroupActive })
	if l := acquire(t, r.attach(AttachOptions{MaxLeases: 1})); l.Ticket != held.Ticket {
		t.Fatalf("got ticket %d, want %d", l.Ticket, held.Ticket)
	}
}

func TestOperatorSeesStatsAndStops(t *testing.T) {
	r, control := controlledRing(t)
	o, err := Operate(testContext(t), r.cfg.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if b, err := o.Stats(testContext(t)); err != nil || !strings.Contains(string(b), `"slots":8`) {
		t.Fatalf("got %s, %v", b, err)
	}
	wantErr(t, o.Evict(testContext(t), 0, 0), ErrNotFound)
	if err := o.Stop(testContext(t)); err != nil {
		t.Fatal(err)
	}
	<-control.stopped
}

func TestProducerWithoutControlRefusesStateByName(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{})
	_, err := c.SaveState(testContext(t), false)
	wantErr(t, err, ErrUnsupported)
}

func TestOwnerOfAChildEngineIsServedOverItsSocketpairUntilItLeaves(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Access = Private
	r := newTestRing(t, cfg)
	s := Serve(ServerConfig{}, Service{Ring: r.Ring})
	defer s.Close()
	mine, theirs := socketpair(t)
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := s.Owner(theirs, os.NewFile(uintptr(self), "parent"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := AttachFD(testContext(t), mine, AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.publishOne(0, false)
	release(t, acquire(t, c))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	<-gone
}

func TestStartUpErrorReachesTheParent(t *testing.T) {
	leavesNothing(t)
	mine, theirs := socketpair(t)
	refused := make(chan error)
	go func() { refused <- RefuseOwner(theirs, refuse(ErrSpec, "spec: line 3: no such key")) }()
	_, err := AttachFD(testContext(t), mine, AttachOptions{})
	wantErr(t, err, ErrSpec)
	if err.Error() != "spec: line 3: no such key" {
		t.Fatalf("got %q", err)
	}
	if err := <-refused; err != nil {
		t.Fatal(err)
	}
}

func socketpair(t *testing.T) (a, b *os.File) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "mine"), os.NewFile(uintptr(fds[1]), "theirs")
}
