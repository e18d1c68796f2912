package shm

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	mmap "github.com/edsrzf/mmap-go"
	"golang.org/x/sys/unix"
)

// shmDir is where posix segments have their names. A variable for tests.
var shmDir = "/dev/shm"

// madvPopulateWrite is MADV_POPULATE_WRITE (Linux 5.14): touch pages now, and fail instead of dying of SIGBUS.
const madvPopulateWrite = 23

// segment is one piece of shared memory: its descriptor for life, its mapping, and its name if it has one.
type segment struct {
	file *os.File  // read-write
	peer *os.File  // what members are given; the same as file unless they may only read
	path string    // "" for memfd
	mem  mmap.MMap // read-write
}

// segmentSpec says what a segment shall be.
type segmentSpec struct {
	backing  Backing
	name     string // file name in /dev/shm, or the memfd's for people
	mode     os.FileMode
	size     uint64
	atOnce   uint64 // reserve only so much of it, the caller the rest; 0: all
	readOnly bool   // members may not write: posix gives them a read-only descriptor, memfd is sealed against writes
}

// newSegment creates, reserves and maps a segment. Its memory is zero. The caller seals it when it is complete.
func newSegment(spec segmentSpec) (*segment, error) {
	s := &segment{}
	var err error
	switch spec.backing {
	case Posix:
		err = s.createPosix(spec)
	case Memfd:
		err = s.createMemfd(spec)
	default:
		return nil, refuse(ErrArgument, "shm: segment %q: backing %d, want posix (1) or memfd (2)", spec.name, spec.backing)
	}
	if err == nil {
		err = s.reserve(spec)
	}
	if err == nil {
		s.mem, err = mmap.MapRegion(s.file, int(spec.size), mmap.RDWR, 0, 0)
		if err != nil {
			err = because(err, ErrSystem, "shm: segment %q: mmap of %d bytes: %v", spec.name, spec.size, err)
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *segment) createPosix(spec segmentSpec) error {
	path := filepath.Join(shmDir, spec.name)
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL | unix.O_NOFOLLOW
	file, err := os.OpenFile(path, flags, spec.mode)
	if errors.Is(err, os.ErrExist) {
		return because(ErrNameInUse, ErrBusy, "shm: create %q: the name is taken; stop its engine or choose another name", path)
	}
	if err != nil {
		return because(err, ErrSystem, "shm: create %q: %v", path, err)
	}
	s.file, s.peer, s.path = file, file, path
	if err := file.Chmod(spec.mode); err != nil { // the umask does not decide
		return because(err, ErrSystem, "shm: create %q: chmod: %v", path, err)
	}
	if spec.readOnly {
		peer, err := s.viewer() // not by its name: another creator may have taken the file, unlocked as yet, for a stale one
		if err != nil {
			return because(err, ErrSystem, "shm: create %q: open read-only: %v; is /proc mounted?", path, err)
		}
		s.peer = peer
	}
	return nil
}

func (s *segment) createMemfd(spec segmentSpec) error {
	fd, err := unix.MemfdCreate(spec.name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return because(err, ErrSystem, "shm: segment %q: memfd_create: %v", spec.name, err)
	}
	s.file = os.NewFile(uintptr(fd), spec.name)
	s.peer = s.file
	return nil
}

// reserve gives the segment its size and its memory, all of it or the part that is asked for at once.
func (s *segment) reserve(spec segmentSpec) error {
	if err := Fault("fallocate"); err != nil {
		return err
	}
	if spec.atOnce == 0 || spec.atOnce >= spec.size {
		return s.reserveRange(spec, 0, spec.size)
	}
	if err := s.file.Truncate(int64(spec.size)); err != nil {
		return because(err, ErrSystem, "shm: segment %q: ftruncate to %d bytes: %v", spec.name, spec.size, err)
	}
	return s.reserveRange(spec, 0, spec.atOnce)
}

// reserveRange takes memory for n bytes, so that a full file system is an error now and never a SIGBUS later.
func (s *segment) reserveRange(spec segmentSpec, from, n uint64) error {
	err := ignoringEINTR(func() error { return unix.Fallocate(s.fd(), 0, int64(from), int64(n)) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EFBIG):
		return noRoom(spec.name, spec.backing, spec.size)
	}
	return because(err, ErrSystem, "shm: segment %q: fallocate of %d bytes at %d: %v", spec.name, n, from, err)
}

// noRoom says what is needed, what is free, and what helps.
func noRoom(name string, backing Backing, need uint64) error {
	if backing == Memfd {
		return because(ErrNoSpace, ErrNoMemory, "shm: create %q: %s needed, this machine or its memory cgroup cannot give it; use fewer or smaller slots", name, mib(need))
	}
	free, _ := freeBytes()
	return because(ErrNoSpace, ErrNoMemory,
		"shm: create %q: %s needed, %s free in %s; use fewer or smaller slots, backing memfd, or a larger %s (docker: --shm-size=%dm)",
		name, mib(need), mib(free), shmDir, shmDir, need/(1<<20)+64)
}

func mib(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// freeBytes is what /dev/shm can still hold; 0 and false when nobody can tell or it has no limit.
func freeBytes() (uint64, bool) {
	var st unix.Statfs_t
	if unix.Statfs(shmDir, &st) != nil || st.Blocks == 0 {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}

// seal makes the segment's size final and, for members that may only read, its bytes too: only mappings that
// exist already can write from here on. Posix segments have no seals.
func (s *segment) seal(readOnly bool) error {
	if s.path != "" {
		return nil
	}
	if err := Fault("seal"); err != nil {
		return err
	}
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if readOnly {
		seals |= unix.F_SEAL_FUTURE_WRITE
	}
	if _, err := unix.FcntlInt(s.file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return because(err, ErrSystem, "shm: seal %q: %v", s.file.Name(), err)
	}
	return nil
}

// restrictPeer has members get a read-only descriptor. Members of a stage get the other one.
func (s *segment) restrictPeer() error {
	if s.peer != s.file {
		return nil // a posix segment that members may not write has one
	}
	peer, err := s.viewer()
	if err != nil {
		return because(err, ErrSystem, "shm: segment %q: open read-only: %v; is /proc mounted?", s.file.Name(), err)
	}
	s.peer = peer
	return nil
}

// viewer opens the segment read-only, for those who look and may not touch. The caller closes it.
func (s *segment) viewer() (*os.File, error) {
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", s.fd()), os.O_RDONLY, 0)
}

func (s *segment) fd() int { return int(s.file.Fd()) }

// close unmaps, closes and removes the name. Mappings of other processes stay.
func (s *segment) close() {
	if s == nil {
		return
	}
	if s.mem != nil {
		_ = s.mem.Unmap()
	}
	if s.path != "" {
		_ = os.Remove(s.path)
	}
	if s.peer != nil && s.peer != s.file {
		_ = s.peer.Close()
	}
	if s.file != nil {
		_ = s.file.Close()
	}
}

// populate touches the pages of b, which nobody else writes, so that they are charged and present.
func populate(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	err := ignoringEINTR(func() error { return unix.Madvise(b, madvPopulateWrite) })
	if errors.Is(err, unix.EINVAL) { // older than Linux 5.14: reserved by fallocate, so a plain store is safe
		for i := 0; i < len(b); i += os.Getpagesize() {
			b[i] = 0
		}
		return nil
	}
	return err
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// hugePages asks for huge pages under b and says what came of it.
func hugePages(b []byte) string {
	if err := unix.Madvise(b, unix.MADV_HUGEPAGE); err != nil {
		return "off (" + err.Error() + ")"
	}
	setting, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
	if err != nil {
		return "unknown"
	}
	_, rest, _ := strings.Cut(string(setting), "[")
	word, _, _ := strings.Cut(rest, "]")
	if word == "never" || word == "deny" {
		return "off (shmem_enabled=" + word + ")"
	}
	return "asked for (shmem_enabled=" + word + ")"
}

// ---- names ---------------------------------------------------------------------------------------

var validName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}$`)

// segmentBase is the part of a ring's /dev/shm names before ".h", ".d" and ".g<ID>".
func segmentBase(name, ring string) string {
	if ring == "" {
		return "spdl." + name
	}
	return "spdl." + name + "." + ring
}

// lockTime is how long a new header's lock is tried for: whoever looks for leftovers holds it for a moment.
const lockTime = 200 * time.Millisecond

// lockHeader takes the lock that its engine holds for life: a name whose lock is free is stale. It fails when the
// name was taken over between our creating and our locking it.
func lockHeader(s *segment) error {
	taken := func() error {
		return because(ErrNameInUse, ErrBusy, "shm: create %q: another engine took the name at the same moment; choose another name", s.path)
	}
	for end := time.Now().Add(lockTime); unix.Flock(s.fd(), unix.LOCK_EX|unix.LOCK_NB) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) || !names(s.path, s.file) {
			return taken()
		}
	}
	if !names(s.path, s.file) {
		return taken()
	}
	return nil
}

// names says that path is the name of file, and of no other that came in its place.
func names(path string, file *os.File) bool {
	var open, named unix.Stat_t
	return unix.Fstat(int(file.Fd()), &open) == nil && unix.Lstat(path, &named) == nil && open.Ino == named.Ino && open.Dev == named.Dev
}

// removeStale removes what a dead engine left under base, and refuses when that engine lives. The lock of the
// header proves it either way, and whoever holds it while the header has its name decides about the other names: without
// a header nothing is removed, for they may be those of an engine that is just starting.
func removeStale(base string) error {
	header := filepath.Join(shmDir, base+".h")
	file, err := os.OpenFile(header, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return because(err, ErrDenied, "shm: create %q: a leftover that cannot be opened: %v; remove it as its owner", header, err)
	}
	defer file.Close()
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return because(ErrNameInUse, ErrBusy, "shm: create %q: a running engine%s owns the name; stop it or choose another name",
			header, enginePIDText(file))
	}
	if !names(header, file) {
		return because(ErrNameInUse, ErrBusy, "shm: create %q: another engine took the name at the same moment; choose another name", header)
	}
	if err := removeParts(base); err != nil {
		return err
	}
	return removeLeftover(base + ".h") // last, so that a crash in between leaves proof
}

// removeParts removes the group and data segments under base. The caller holds the lock of the header.
func removeParts(base string) error {
	leftovers, _ := leftoverNames(base)
	for _, name := range leftovers {
		if name == base+".h" {
			continue
		}
		if err := removeLeftover(name); err != nil {
			return err
		}
	}
	return nil
}

func removeLeftover(name string) error {
	if err := os.Remove(filepath.Join(shmDir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return because(err, ErrDenied, "shm: create %q: a leftover of a dead engine: %v; remove it as its owner", name, err)
	}
	return nil
}

// leftoverNames lists the segments of one ring, the header last.
func leftoverNames(base string) ([]string, error) {
	entries, err := os.ReadDir(shmDir)
	if err != nil {
		return nil, err
	}
	part := regexp.MustCompile(`^` + regexp.QuoteMeta(base) + `\.(d|g[0-9]+)$`)
	var found []string
	header := false
	for _, e := range entries {
		if part.MatchString(e.Name()) {
			found = append(found, e.Name())
		}
		header = header || e.Name() == base+".h"
	}
	if header {
		found = append(found, base+".h")
	}
	return found, nil
}

func enginePIDText(header *os.File) string {
	var h Header
	if n, _ := header.ReadAt(bytesOf(&h), 0); n == int(unsafe.Sizeof(h)) && h.Magic.Load() == MagicRing {
		return fmt.Sprintf(" (pid %d)", h.EnginePID)
	}
	return ""
}

// ---- small system calls --------------------------------------------------------------------------

const (
	futexWait = 0
	futexWake = 1
)

// wakeAll wakes every sleeper of a shared futex word.
func wakeAll(word unsafe.Pointer) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(word), futexWake, 1<<30, 0, 0, 0)
}

var one = [8]byte{1}

// moment is one point in time in both of our clocks: CLOCK_MONOTONIC, and Go's own reading of it, which costs no
// system call but hides its origin.
type moment struct {
	ns uint64
	at time.Time
}

// clockBase is the sharpest of several moments: one during which this thread was not interrupted.
var clockBase = sync.OnceValue(func() (best moment) {
	sharpest := int64(math.MaxInt64)
	for range 16 {
		var before, after unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &before)
		at := time.Now()
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &after)
		if took := after.Nano() - before.Nano(); took < sharpest {
			sharpest, best = took, moment{uint64(before.Nano()), at}
		}
	}
	return best
})

// monotonicNS is CLOCK_MONOTONIC, the clock of every time in shared memory.
func monotonicNS() uint64 {
	base := clockBase()
	return base.ns + uint64(time.Since(base.at))
}
