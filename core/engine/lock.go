package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// One engine at a time has a journal. The lock is one of the file of faults, which stays when the journal is replaced; the kernel
// takes it back when the engine dies. It is given back by name, not with the descriptor alone: a process that the program around an
// engine has forked has copies of that.

// journalWait is how long an engine waits for a journal that another one has: as long as an orderly end may take.
var journalWait = 10 * time.Second

// lockJournal takes the lock. A file system without locks goes without.
func lockJournal(ctx context.Context, journal string, file *os.File) error {
	end := time.NewTimer(journalWait)
	defer end.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil
		}
		select {
		case <-tick.C:
		case <-end.C:
			return refuse(shm.ErrBusy, shm.ErrNameInUse, "engine: journal %q: %s has had it for the last %v; stop that, or name another journal", journal, holderOf(file), journalWait)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func unlock(file *os.File) { _ = unix.Flock(int(file.Fd()), unix.LOCK_UN) }

// holderOf names who has a file's lock, as far as the kernel tells.
func holderOf(file *os.File) string {
	const unknown = "another engine"
	var st unix.Stat_t
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || unix.Fstat(int(file.Fd()), &st) != nil {
		return unknown
	}
	where := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	for _, line := range strings.Split(string(locks), "\n") {
		// 1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF
		if f := strings.Fields(line); len(f) > 5 && f[1] == "FLOCK" && f[5] == where && f[4] > "0" {
			return "an engine of process " + f[4]
		}
	}
	return unknown
}
