package shm

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// owned is a child engine of two rings, as spdl_open has one: without a socket, served over a pair to its owner.
func owned(t *testing.T) (train, val *testRing, owner *Reader, gone <-chan struct{}) {
	t.Helper()
	rings := make([]*testRing, 2)
	services := make([]Service, 2)
	name := testName(t)
	for i, ring := range []string{"train", "val"} {
		cfg := testConfig(t, 8)
		cfg.Name, cfg.RingName, cfg.Access = name, ring, Private
		rings[i] = newTestRing(t, cfg)
		services[i] = Service{Ring: rings[i].Ring}
	}
	s := Serve(ServerConfig{}, services...)
	t.Cleanup(func() { _ = s.Close() })
	mine, theirs := socketpair(t)
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if gone, err = s.Owner(theirs, os.NewFile(uintptr(self), "parent")); err != nil {
		t.Fatal(err)
	}
	if owner, err = AttachFD(testContext(t), mine, AttachOptions{}); err != nil {
		t.Fatal(err)
	}
	return rings[0], rings[1], owner, gone
}

func (r *Reader) mustAttachRing(t *testing.T, ring string, opts AttachOptions) *Reader {
	t.Helper()
	other, err := r.AttachRing(testContext(t), ring, opts)
	if err != nil {
		t.Fatal(err)
	}
	return other
}

func closed(t *testing.T, r *Reader) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// The engine of an owner gives it its other rings, and lives until the last reader of them has gone, whichever that is.
func TestAnOwnersOtherRingsAreAttachedOverItsConnection(t *testing.T) {
	train, val, owner, gone := owned(t)
	other := owner.mustAttachRing(t, "val", AttachOptions{})
	train.publishOne(0, false)
	val.publishOne(0, false)
	release(t, acquire(t, owner))
	release(t, acquire(t, other))
	_, err := other.AttachRing(testContext(t), "train", AttachOptions{})
	wantErr(t, err, ErrBusy) // a private ring has one consumer
	closed(t, owner)
	third := other.mustAttachRing(t, "", AttachOptions{})
	if got := [...]string{other.ringName(), third.ringName()}; got != [...]string{"val", "train"} {
		t.Errorf("got rings %v", got)
	}
	closed(t, other)
	train.publishOne(0, false)
	release(t, acquire(t, third))
	select {
	case <-gone:
		t.Fatal("the engine may end, and has a reader")
	case <-time.After(50 * time.Millisecond):
	}
	closed(t, third)
	<-gone
}

// What is refused leaves the connection that asked as it was.
func TestWhatCannotBeConnectedIsRefused(t *testing.T) {
	train, _, owner, gone := owned(t)
	_, err := owner.AttachRing(testContext(t), "test", AttachOptions{})
	wantErr(t, err, ErrNotFound)
	if want := `no ring "test" here; the engine has train, val`; !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want it to say %q", err, want)
	}
	_, err = owner.call(testContext(t), msgConnect, nil)
	wantErr(t, err, ErrFormat)
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	_, err = owner.call(testContext(t), msgConnect, nil, int(file.Fd()))
	wantErr(t, err, ErrArgument)
	_ = file.Close()
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
		ends, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = owner.call(testContext(t), msgConnect, nil, ends[1])
		wantErr(t, err, ErrArgument)
		if want := "make the pair with SOCK_SEQPACKET"; !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to say %q", err, want)
		}
		_, _ = unix.Close(ends[0]), unix.Close(ends[1])
	}
	_, err = (&Reader{header: &Header{LayoutMajor: 1, LayoutMinor: 5}}).AttachRing(testContext(t), "val", AttachOptions{})
	wantErr(t, err, ErrUnsupported)
	train.publishOne(0, false)
	release(t, acquire(t, owner))
	closed(t, owner)
	<-gone
}

// A connection that never says what it wants does not keep the engine, and one that hangs up as a member keeps it while its process lives.
func TestWhoComesOverAConnectionCountsAsItsOwnerDoes(t *testing.T) {
	_, _, owner, gone := owned(t)
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := owner.call(testContext(t), msgConnect, nil, ends[1]); err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(ends[1])
	closed(t, owner)
	_ = unix.Close(ends[0])
	<-gone
}

// A stranger has to attach before it brings others.
func TestOnlyMembersConnectOthers(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	conn, err := dial(testContext(t), r.server.Path())
	if err != nil {
		t.Fatal(err)
	}
	c := &caller{conn: conn}
	_, err = c.call(testContext(t), msgConnect, nil, nil, 0)
	wantErr(t, err, ErrDenied)
	_ = conn.Close()
}
