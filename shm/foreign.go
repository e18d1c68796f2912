package shm

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Names in /dev/shm and sockets may be put there by anybody. What another user has left under our name, or planted, is neither gone on with
// nor removed, by root's engines either: who owns a file can write it for as long as it is there.

// ownFile refuses an open leftover that belongs to another user.
func ownFile(file *os.File, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return because(err, ErrSystem, "shm: create %q: fstat: %v", path, err)
	}
	return ownedBy(&st, path)
}

// ownPath refuses a leftover that belongs to another user. One that is not there is fine.
func ownPath(path string) error {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return nil
	}
	return ownedBy(&st, path)
}

func ownedBy(st *unix.Stat_t, path string) error {
	if int(st.Uid) == os.Geteuid() {
		return nil
	}
	return refuse(ErrDenied, "shm: create %q: the name is taken by a file of user %d, want %d; remove it as its owner, with spdl clean, or choose another name",
		path, st.Uid, os.Geteuid())
}

// ForeignOwner is the user, if another than ours, whose ring has left the name NAME or NAME/RING.
func ForeignOwner(name string) (uid uint32, foreign bool) {
	engine, ring, _ := strings.Cut(name, "/")
	var st unix.Stat_t
	if !validName.MatchString(engine) || unix.Lstat(filepath.Join(shmDir, segmentBase(engine, ring)+".h"), &st) != nil {
		return 0, false
	}
	return st.Uid, int(st.Uid) != os.Geteuid()
}
