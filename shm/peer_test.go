package shm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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

// Whoever has no descriptor left is not told that the kernel is too old.
func TestAFullTableOfDescriptorsIsNoOldKernel(t *testing.T) {
	a, b := socketpair(t)
	defer b.Close()
	conn, err := connOf(a)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cred, err := credentials(conn)
	if err != nil {
		t.Fatal(err)
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	limit := was
	limit.Cur = 3 // the standard ones are there
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	_, err = peerPIDFD(conn, cred, -1)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	wantErr(t, err, ErrSystem)
	if !strings.Contains(err.Error(), "raise the limit of open files (ulimit -n)") {
		t.Error(err)
	}
}

func TestOtherUsersAreRefusedUnlessTheirGroupIsInvited(t *testing.T) {
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	for _, c := range []struct {
		cred   unix.Ucred
		groups []uint32
		mode   os.FileMode
		admits bool
		rules  bool
	}{
		{unix.Ucred{Uid: uid, Gid: gid + 1}, nil, 0o600, true, true},
		{unix.Ucred{Uid: 0, Gid: 0}, nil, 0o600, true, true},
		{unix.Ucred{Uid: uid + 1, Gid: gid}, []uint32{gid}, 0o600, false, false},
		{unix.Ucred{Uid: uid + 1, Gid: gid}, nil, 0o640, true, false},
		{unix.Ucred{Uid: uid + 1, Gid: gid + 1}, []uint32{gid + 2, gid}, 0o640, true, false},
		{unix.Ucred{Uid: uid + 1, Gid: gid + 1}, []uint32{gid + 2}, 0o640, false, false},
	} {
		if admits(&c.cred, c.groups, c.mode) != c.admits || governs(&c.cred) != c.rules {
			t.Errorf("uid %d gid %d mode %04o: admitted %v, rules %v", c.cred.Uid, c.cred.Gid, c.mode, admits(&c.cred, c.groups, c.mode), governs(&c.cred))
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

// Another user's process attaches to a ring of mode 0640 if the engine's group is one of its supplementary groups.
func TestSupplementaryGroupsAreInvitedToo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	const nobody = 65534
	cfg := testConfig(t, 8)
	cfg.Backing, cfg.Mode = Posix, 0o640
	leavesNothing(t)
	dir := shortDir(t)
	t.Setenv("SPDL_RUNTIME_DIR", dir)
	program := filepath.Join(dir, "program") // the test's own is where only its user may look
	for _, err := range []error{os.Chmod(dir, 0o755), copyFile(os.Args[0], program)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ring, err := Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	server, err := Listen(ServerConfig{Name: cfg.Name, Mode: cfg.Mode}, Service{Ring: ring})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, c := range []struct {
		groups []uint32
		want   string
	}{{[]uint32{nobody - 1, uint32(os.Getegid())}, "attached"}, {[]uint32{nobody - 1}, "error"}} {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "SPDL_TEST_ROLE=hold", "SPDL_TEST_SOCKET="+server.Path())
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: c.groups}}
		out, _ := cmd.CombinedOutput()
		if !strings.HasPrefix(string(out), c.want) {
			t.Errorf("groups %v: %s, want %s", c.groups, out, c.want)
		}
	}
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}
