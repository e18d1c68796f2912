package shm

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// startApart starts a member that is process 1 and root of namespaces of its own.
func (r *testRing) startApart(role, group string, n int) *child {
	r.t.Helper()
	// In a process of its own: Go 1.23 keeps two descriptors of each that it may not start in namespaces.
	if out, err := exec.Command("unshare", "--user", "--pid", "--ipc", "--fork", "true").CombinedOutput(); err != nil {
		r.t.Skipf("namespaces may not be made here: %v: %s", err, out)
	}
	how := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	c, err := startChildWith(r.t, how, role, "SPDL_TEST_SOCKET="+r.server.Path(), "SPDL_TEST_GROUP="+group, fmt.Sprint("SPDL_TEST_N=", n))
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// A consumer in namespaces of its own is evicted by the pid that the engine knows it by; what it held comes again.
func TestEvictionReachesIntoOtherNamespaces(t *testing.T) {
	r := groupRing(t, 8, GroupConfig{Name: "g"})
	r.publish(1, 0, true)
	holder := r.startApart("hold", "g", 1)
	holder.await("ready")
	other := r.attach(AttachOptions{MaxLeases: 4})
	nothingReady(t, other)
	if err := r.Evict(0, int32(holder.cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	<-holder.ended
	if l := acquire(t, other); l.Attempts != 2 {
		t.Fatalf("got attempts %d, want 2", l.Attempts)
	}
}

// Where the engine may not kill a consumer, an eviction is refused with the reason, and nothing is taken from it.
func TestEvictionThatTheKernelForbidsIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	r := groupRing(t, 8, GroupConfig{Name: "g"})
	r.publish(1, 0, true)
	holder := r.startMember("hold", "g", 1)
	holder.await("ready")
	pid := holder.cmd.Process.Pid
	refused := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread, which is nobody's by then, ends with us
		const nobody = 65534
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); e != 0 {
			refused <- e
			return
		}
		refused <- r.Evict(0, int32(pid))
	}()
	err := <-refused
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) // what a change of the user takes away from the whole process
	wantErr(t, err, ErrDenied)
	want := fmt.Sprintf("kill member %d, pid %d: operation not permitted; run as its user or as root", r.group("g").Members[0].Owner, pid)
	if got := err.Error(); len(got) < len(want) || got[len(got)-len(want):] != want {
		t.Errorf("got %q, want %q at its end", got, want)
	}
	nothingReady(t, r.attach(AttachOptions{MaxLeases: 4}))
	if len(r.group("g").Members) != 2 {
		t.Error("the member is gone")
	}
}
