package shm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}$`)

// nameRule is validName in words.
const nameRule = "1 to 63 of A-Z a-z 0-9 . _ - and no dot first"

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
		return because(ErrNameInUse, ErrBusy, "shm: create %q: a running engine%s owns the name; stop it (one whose loader is closed ends with the last array of its batches), or choose another name",
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
