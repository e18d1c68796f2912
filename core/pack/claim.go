package pack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// claim is the right to write archives of some names, which one run has at a time: a hidden file beside them that is locked. The lock ends with
// its process, so what is left of a run that was killed claims nothing, and the next one takes it over.
type claim struct{ file *os.File }

// errClaimed is returned while another run has the names.
var errClaimed = errors.New("claimed")

// claimNames takes the names in dir that names stands for. Where a file system has no locks, everybody gets them.
func claimNames(dir, names string) (*claim, error) {
	path := filepath.Join(dir, "."+names+".lock")
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o666)
		if err != nil {
			return nil, fmt.Errorf("pack: out: %w", err)
		}
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
			_ = file.Close()
			return nil, errClaimed
		}
		ours, err := file.Stat()
		if there, missing := os.Lstat(path); err == nil && missing == nil && os.SameFile(ours, there) {
			return &claim{file}, nil
		}
		_ = file.Close() // the run that had it has ended, and taken the file with it
	}
}

// end gives the names back, and leaves no file.
func (c *claim) end() {
	if c == nil {
		return
	}
	_ = os.Remove(c.file.Name()) // while it is locked: who has opened it meanwhile finds that it is another one
	_ = c.file.Close()
}
