package whole

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

// File is open for writing until Finish or Abandon.
type File struct {
	*os.File
	path string // that Finish names it; "": it has its name
}

// Create begins the file at path, with the mode that os.Create gives. Of a FIFO it waits for the reader.
//
// The file has a name of its own until Finish, and is locked (flock) as long as it has: what has such a name and no lock was left by a
// process that died, and Sweep removes it.
func Create(path string) (*File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return open(path, os.O_WRONLY, "")
	}
	for {
		name := fmt.Sprintf(".%s.%016x.part", filepath.Base(path), rand.Uint64())
		f, err := open(filepath.Join(filepath.Dir(path), name), os.O_RDWR|os.O_CREATE|os.O_EXCL, path)
		if err != nil || f.lock() {
			return f, err
		}
		_ = f.Close() // somebody swept it away before it was locked
	}
}

func open(name string, flags int, path string) (*File, error) {
	file, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return nil, err
	}
	return &File{file, path}, nil
}

// lock locks the new file; false: it is being swept away. Where a file system has no locks, it is not locked, and Sweep leaves it there.
func (f *File) lock() bool {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false
	}
	var st unix.Stat_t
	return err != nil || unix.Fstat(int(f.Fd()), &st) != nil || st.Nlink > 0
}

// Special reports whether it is a FIFO, a device or the like, which has no places to write at.
func (f *File) Special() bool { return f.path == "" }

// Finish closes the file and gives it its name. If it cannot, nothing is left of it.
func (f *File) Finish() error {
	if f.Special() {
		return f.Close()
	}
	// A second descriptor holds the lock until the file has its name: closing the first may tell of what was not written.
	second, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(second)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Abandon closes the file; nothing is left of it but what a special one took.
func (f *File) Abandon() {
	if !f.Special() {
		_ = os.Remove(f.Name())
	}
	_ = f.Close()
}

var partName = regexp.MustCompile(`^\.(.+)\.[0-9a-f]{16}\.part$`)

// Sweep removes, in a directory, what processes have left that died before they finished a file whose name is one of these. That they are
// dead is told by the lock, which ends with its process: what somebody still writes stays, and is returned.
func Sweep(dir string, of func(name string) bool) (live []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if m := partName.FindStringSubmatch(e.Name()); m == nil || !e.Type().IsRegular() || !of(m[1]) {
			continue
		}
		if path := filepath.Join(dir, e.Name()); sweep(path) {
			live = append(live, path)
		}
	}
	return live, nil
}

// sweep removes a file that nobody has locked, and says whether somebody has; where that cannot be told it stays. It is locked meanwhile, so that
// whoever has just made it, and not locked it yet, finds out.
func sweep(path string) (live bool) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		_ = unix.Unlink(path) // what may not be removed stays
	}
	return errors.Is(err, unix.EWOULDBLOCK)
}
