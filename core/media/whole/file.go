package whole

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

// File is open for writing until Finish or Abandon. Its errors have the name that it is to have.
type File struct {
	*os.File
	part string // where it lies until Finish names it; "": it has its name
}

// Create begins the file at path, with the mode that os.Create gives. Of a FIFO it waits for the reader.
//
// The file has a name of its own until Finish, and is locked (flock) as long as it has: what has such a name and no lock was left by a
// process that died, and Sweep removes it.
func Create(path string) (*File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &File{File: file}, nil
	}
	for {
		part := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%016x.part", filepath.Base(path), rand.Uint64()))
		f, err := create(part, path)
		if err != nil || f.lock() {
			return f, err
		}
		_ = f.Close() // somebody swept it away before it was locked
	}
}

// create makes the file part, which is called path: whoever asked for that knows of no other name.
func create(part, path string) (*File, error) {
	for {
		fd, err := unix.Open(part, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o666)
		switch {
		case err == nil:
			return &File{os.NewFile(uintptr(fd), path), part}, nil
		case errors.Is(err, unix.ENOENT):
			err = fmt.Errorf("%w; there is no directory %q", err, filepath.Dir(path))
		case errors.Is(err, unix.EINTR):
			continue
		}
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
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
func (f *File) Special() bool { return f.part == "" }

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
		err = f.rename()
	}
	if err != nil {
		_ = os.Remove(f.part)
	}
	return err
}

func (f *File) rename() error {
	err := os.Rename(f.part, f.Name())
	var link *os.LinkError
	if errors.As(err, &link) {
		return &fs.PathError{Op: "create", Path: f.Name(), Err: link.Err}
	}
	return err
}

// Abandon closes the file; nothing is left of it but what a special one took.
func (f *File) Abandon() {
	if !f.Special() {
		_ = os.Remove(f.part)
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
