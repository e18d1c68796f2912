package shm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	err := s.file.Truncate(int64(spec.size))
	if errors.Is(err, unix.EFBIG) {
		return tooLarge(spec)
	}
	if err != nil {
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
	case errors.Is(err, unix.EFBIG):
		return tooLarge(spec)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM):
		return noRoom(spec.name, spec.backing, spec.size)
	}
	return because(err, ErrSystem, "shm: segment %q: fallocate of %d bytes at %d: %v", spec.name, n, from, err)
}

// tooLarge says that the shell, or who else started this process, limits its files.
func tooLarge(spec segmentSpec) error {
	return because(ErrNoSpace, ErrNoMemory, "shm: create %q: %s needed, files of this process may not be as large; raise the limit (ulimit -f), or use fewer or smaller slots",
		spec.name, amount(spec.size))
}

// noRoom says what is needed, what is free, and what helps.
func noRoom(name string, backing Backing, need uint64) error {
	if backing == Memfd {
		return because(ErrNoSpace, ErrNoMemory, "shm: create %q: %s needed, this machine or its memory cgroup cannot give it; use fewer or smaller slots", name, amount(need))
	}
	free, _ := freeBytes()
	return because(ErrNoSpace, ErrNoMemory,
		"shm: create %q: %s needed, %s free in %s; use fewer or smaller slots, backing memfd, or a larger %s (docker: --shm-size=%dm)",
		name, amount(need), amount(free), shmDir, shmDir, need/(1<<20)+64)
}

func amount(n uint64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

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
