package shm

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestStoppedAndFailedEnginesSaySoOnceNothingIsLeft(t *testing.T) {
	for _, c := range []struct {
		end  func(*Ring)
		want error
		text string
	}{
		{(*Ring).Stop, ErrEngineStopped, "stopped"},
		{func(r *Ring) { r.Fail(ErrEngineFailed, "12 bad samples") }, ErrEngineFailed, "12 bad samples"},
	} {
		r := newTestRing(t, testConfig(t, 8))
		reader := r.attach(AttachOptions{})
		r.publish(1, 0, false)
		c.end(r.Ring)
		release(t, acquire(t, reader))
		_, err := reader.Acquire(testContext(t))
		wantErr(t, err, c.want)
		if !strings.Contains(err.Error(), c.text) {
			t.Fatalf("got %q, want %q in it", err, c.text)
		}
	}
}

func TestArmedMemberIsSignalledOnPublishAndOnCompletion(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "g"}}
	r := newTestRing(t, cfg)
	a, b := r.attach(AttachOptions{MaxLeases: 2}), r.attach(AttachOptions{MaxLeases: 2})
	arm := func(c *Reader) {
		c.member.Armed.Store(1)
		c.lane.Armed.Store(1)
	}
	signalled := func(c *Reader) func() bool {
		return func() bool {
			p := []unix.PollFd{{Fd: int32(c.files[5].Fd()), Events: unix.POLLIN}}
			n, _ := unix.Poll(p, 0)
			return n == 1
		}
	}
	arm(a)
	r.publish(1, 0, true)
	eventually(t, "the event of a batch", signalled(a))
	var buf [8]byte
	if _, err := unix.Read(int(a.files[5].Fd()), buf[:]); err != nil {
		t.Fatal(err)
	}
	l := acquire(t, b)
	arm(a)
	if err := l.Done(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the event of an epoch's end", signalled(a))
	_, err := a.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
}

func TestArmedMemberIsSignalledThoughThePeerWasStoppedBeforeItCouldSaySo(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "g"}}
	r := newTestRing(t, cfg)
	a, b := r.attach(AttachOptions{MaxLeases: 2}), r.attach(AttachOptions{MaxLeases: 2})
	r.publish(1, 0, true)
	l := acquire(t, b)
	eventually(t, "the bell of the publication to be over", func() bool { return r.group("g").Members[1].Holds == 1 })
	a.member.Armed.Store(1)
	a.lane.Armed.Store(1)
	b.word(uint64(l.Slot)).Word.Store(packWord(wordDone, b.Owner(), seqOf(l.word))) // and not a word more
	r.group("g")                                                                    // somebody else notices first
	eventually(t, "the event", func() bool {
		p := []unix.PollFd{{Fd: int32(a.files[5].Fd()), Events: unix.POLLIN}}
		n, _ := unix.Poll(p, 0)
		return n == 1
	})
}
