package shm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketMax is the longest path a Unix socket can have.
const socketMax = 107

// socketDirs are the directories in which sockets are looked for, in this order.
func socketDirs() []string {
	if dir := os.Getenv("SPDL_RUNTIME_DIR"); dir != "" {
		return []string{dir}
	}
	dirs := []string{"/run/spdl"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		dirs = append(dirs, filepath.Join(dir, "spdl"))
	}
	return append(dirs, fmt.Sprintf("/tmp/spdl-%d", os.Geteuid()))
}

// listenDir is the directory for a new socket: the first that exists and may be written, or can be made. Those in
// $SPDL_RUNTIME_DIR and /run/spdl are taken as they are; our own is 0700. Every one is checked.
func listenDir() (string, error) {
	dirs := socketDirs()
	for i, dir := range dirs {
		if dir == "/run/spdl" && len(dirs) > 1 && unix.Access(dir, unix.W_OK) != nil {
			continue
		}
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, os.ErrNotExist) && i < len(dirs)-1 {
			continue // no $XDG_RUNTIME_DIR
		}
		if err != nil && !errors.Is(err, os.ErrExist) {
			return "", because(err, ErrSystem, "shm: socket directory %q: %v; set SPDL_RUNTIME_DIR", dir, err)
		}
		return dir, checkSocketDir(dir, false)
	}
	return "", refuse(ErrSystem, "shm: no socket directory; set SPDL_RUNTIME_DIR")
}

// checkSocketDir refuses a directory in which another user could put a socket in our name's place. Who only looks for a socket
// there may do so in another's directory, too, where nobody but root could have put it, as systemd does for the User= of a unit.
func checkSocketDir(dir string, look bool) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return because(err, ErrNotFound, "shm: socket directory %q: %v", dir, err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case st.Mode()&os.ModeSymlink != 0:
		return refuse(ErrDenied, "shm: socket directory %q: it is a symbolic link; use the directory itself", dir)
	case !st.IsDir():
		return refuse(ErrDenied, "shm: socket directory %q: it is no directory; set SPDL_RUNTIME_DIR to one", dir)
	case !ok || sys.Uid != 0 && int(sys.Uid) != os.Geteuid() && !(look && putByRoot(dir)):
		return refuse(ErrDenied, "shm: socket directory %q: owned by uid %d, want root or %d; set SPDL_RUNTIME_DIR to one that is", dir, sys.Uid, os.Geteuid())
	case st.Mode().Perm()&0o002 != 0 && st.Mode()&os.ModeSticky == 0:
		return refuse(ErrDenied, "shm: socket directory %q: every user may write it; chmod o-w", dir)
	}
	return nil
}

// putByRoot says whether root alone may write in the directory that dir stands in.
func putByRoot(dir string) bool {
	var above unix.Stat_t
	err := unix.Stat(dir+"/..", &above)
	return err == nil && above.Uid == 0 && above.Mode&0o022 == 0
}

// socketPath is where a new engine called name listens.
func socketPath(name string) (string, error) {
	if strings.HasPrefix(name, "/") {
		return checkPathLength(name)
	}
	if !validName.MatchString(name) {
		return "", refuse(ErrArgument, "shm: listen %q: want %s", name, nameRule)
	}
	dir, err := listenDir()
	if err != nil {
		return "", err
	}
	return checkPathLength(filepath.Join(dir, name+".sock"))
}

func checkPathLength(path string) (string, error) {
	if len(path) > socketMax {
		return "", refuse(ErrArgument, "shm: socket %q: the path has %d bytes, at most %d fit; set SPDL_RUNTIME_DIR to a shorter one", path, len(path), socketMax)
	}
	return path, nil
}

// findSocket is the socket of a running engine and the ring in it that NAME, NAME/RING or a path means.
func findSocket(name string) (path, ring string, err error) {
	if strings.HasPrefix(name, "/") {
		path, err = checkPathLength(name)
		return path, "", err
	}
	name, ring, _ = strings.Cut(name, "/")
	if !validName.MatchString(name) {
		return "", "", refuse(ErrArgument, "shm: attach %q: want NAME, NAME/RING or the path of a socket", name)
	}
	dirs := socketDirs()
	for _, dir := range dirs {
		path := filepath.Join(dir, name+".sock")
		if _, err := os.Lstat(path); err == nil {
			if err := checkSocketDir(dir, true); err != nil {
				return "", "", err
			}
			return path, ring, nil
		}
	}
	return "", "", refuse(ErrNotFound, "shm: attach %q: no engine of this name in %s; start one with spdl serve", name, strings.Join(dirs, ", "))
}
