package source

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// onDyingDisk runs f on a thread of its own on which the system call fails with EIO, where its third argument, the bytes, is atLeast so large, but not
// just a buffer of package testing's log of opened files, which whoever opens the next file writes. What other
// threads do, the runtime's own among them, is as ever. It skips where the kernel takes no filter.
func onDyingDisk(t *testing.T, call, atLeast uint32, f func()) {
	t.Helper()
	const retErrno, retAllow, bytesLow, testlog = 0x00050000, 0x7fff0000, 16 + 2*8, 4096
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 4},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: bytesLow},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: testlog, Jt: 2},
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: atLeast, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: retErrno | uint32(unix.EIO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: retAllow},
	}
	refused := make(chan error, 1)
	go func() {
		defer close(refused)
		runtime.LockOSThread() // and never unlocked: the thread ends with its filter
		program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
		}
		if err != nil {
			refused <- err
			return
		}
		f()
	}()
	if err := <-refused; err != nil {
		t.Skipf("no seccomp filter here: %v", err)
	}
}

// A disk that answers EIO, to the writing of an entry or to the reading, costs nothing but the cache: samples come from the store and are counted, and
// nothing half-written stays.
func TestDiskThatAnswersEIOIsBypassed(t *testing.T) {
	const n, smallest = 20, 1000 // bytes of a sample; what the runtime wakes itself with is less
	dir := t.TempDir()
	k := openK(t, CacheConfig{Dir: dir})
	s, o := behind(t, k, n)
	onDyingDisk(t, unix.SYS_WRITE, smallest, func() { readAll(t, s) })
	if got := k.Stats(); got.Failed != n || got.Stored != 0 || got.Bytes != 0 || o.requests != n {
		t.Fatalf("writing: %d requests, %+v", o.requests, got)
	}
	if left, err := os.ReadDir(dir + "/tmp"); err != nil || len(left) != 0 || len(entriesOf(t, dir)) != 0 {
		t.Fatalf("%d files in tmp, %v", len(left), err)
	}
	readAll(t, s) // the disk is well again
	onDyingDisk(t, unix.SYS_PREAD64, 0, func() { readAll(t, s) })
	if got := k.Stats(); got.Corrupt != n || got.Hits != 0 || o.requests != 3*n {
		t.Fatalf("reading: %d requests, %+v", o.requests, got)
	}
	readAll(t, s)
	if got := k.Stats(); got.Hits != n || o.requests != 3*n {
		t.Fatalf("once it is well again: %d requests, %+v", o.requests, got)
	}
	if got, want := k.Stats().Bytes, bytesIn(t, dir); got != want {
		t.Fatalf("counted %d bytes, %d are there", got, want)
	}
}

// The mapped counter of bytes stays in memory: a page that had to be read again from such a disk would end the process.
func TestTheCachesCounterIsLockedInMemory(t *testing.T) {
	var limit unix.Rlimit
	if must(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit)); limit.Cur < 1<<20 {
		t.Skipf("only %d bytes may be locked here", limit.Cur)
	}
	dir := t.TempDir()
	openK(t, CacheConfig{Dir: dir})
	maps, err := os.ReadFile("/proc/self/smaps")
	must(t, err)
	_, after, found := strings.Cut(string(maps), dir+"/usage\n")
	if fields := strings.Fields(after[strings.Index(after, "Locked:")+len("Locked:"):]); !found || fields[0] == "0" {
		t.Fatalf("the counter is not locked: %v %.20q", found, fields)
	}
}
