package shm

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestEveryWayToAPidfdOfThePeerTellsTheTruth(t *testing.T) {
	a, b := socketpair(t)
	conn, err := connOf(a)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cred, err := credentials(conn)
	if err != nil || int(cred.Pid) != os.Getpid() || int(cred.Uid) != os.Geteuid() {
		t.Fatalf("got credentials %+v, %v", cred, err)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	onSocket := func(f func(sock uintptr) (int, error)) (fd int, err error) {
		if ctl := raw.Control(func(sock uintptr) { fd, err = f(sock) }); ctl != nil {
			t.Fatal(ctl)
		}
		return fd, err
	}
	names := func(fd int, err error) bool {
		defer unix.Close(fd)
		return err == nil && pidfdNames(fd, cred.Pid) && !pidfdNames(fd, cred.Pid+1) && !isDead(uintptr(fd))
	}
	if fd, err := onSocket(kernelPIDFD); err != nil {
		t.Logf("SO_PEERPIDFD needs Linux 6.5: %v", err)
	} else if !names(fd, nil) {
		t.Error("SO_PEERPIDFD names another process")
	}
	byPID := func(sock uintptr) (int, error) { return openPIDFD(sock, cred.Pid) }
	if !names(onSocket(byPID)) {
		t.Error("pidfd_open names another process")
	}
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(self)
	if !names(sentPIDFD(self, cred.Pid)) || !names(sentPIDFD(self, 0)) {
		t.Error("the pidfd that was sent is not believed")
	}
	for _, wrong := range []struct {
		fd  int
		pid int32
	}{{self, cred.Pid + 1}, {int(b.Fd()), cred.Pid}, {-1, cred.Pid}} {
		if _, err := sentPIDFD(wrong.fd, wrong.pid); err == nil {
			t.Errorf("descriptor %d was believed to be a pidfd of %d", wrong.fd, wrong.pid)
		}
	}
	_ = b.Close()
	if _, err := onSocket(byPID); err == nil {
		t.Error("a pid was believed after its socket had hung up: it may belong to another by now")
	}
	if _, err := onSocket(func(sock uintptr) (int, error) { return openPIDFD(sock, 0) }); err == nil {
		t.Error("pid 0, of another namespace, was opened")
	}
}

func TestOtherUsersAreRefusedUnlessTheirGroupIsInvited(t *testing.T) {
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	for _, c := range []struct {
		cred   unix.Ucred
		mode   os.FileMode
		admits bool
		rules  bool
	}{
		{unix.Ucred{Uid: uid, Gid: gid + 1}, 0o600, true, true},
		{unix.Ucred{Uid: 0, Gid: 0}, 0o600, true, true},
		{unix.Ucred{Uid: uid + 1, Gid: gid}, 0o600, false, false},
		{unix.Ucred{Uid: uid + 1, Gid: gid}, 0o640, true, false},
		{unix.Ucred{Uid: uid + 1, Gid: gid + 1}, 0o640, false, false},
	} {
		if admits(&c.cred, c.mode) != c.admits || governs(&c.cred) != c.rules {
			t.Errorf("uid %d gid %d mode %04o: admitted %v, rules %v", c.cred.Uid, c.cred.Gid, c.mode, admits(&c.cred, c.mode), governs(&c.cred))
		}
	}
}

func TestAnotherUsersProcessIsToldThatItMayNotAttach(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	a, b := socketpair(t)
	conn, err := connOf(a)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = b.Close()
	stranger := &session{server: r.server, conn: conn, cred: &unix.Ucred{Uid: uint32(os.Geteuid()) + 1}, service: &r.server.services[0]}
	h := Hello{LayoutMajor: LayoutMajor}
	_, err = stranger.admit(&message{payload: bytesOf(&h)})
	wantErr(t, err, ErrDenied)
	for _, kind := range []uint16{msgStats, msgObserve, msgEvict, msgStop} {
		wantErr(t, stranger.allowed(&message{Msg: Msg{Type: kind}}), ErrDenied)
	}
}
