package leak

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What takes nothing, and what gives back all that it takes, leaves nothing.
func TestWhatGivesBackLeavesNothing(t *testing.T) {
	err := After(50, 256<<10, func(int) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = r.Close(), w.Close()
		m, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Munmap(m)
	})
	if err != nil {
		t.Error(err)
	}
}

// Memory that nobody's garbage collector knows, and a descriptor among many rounds, are found.
func TestWhatStaysIsFound(t *testing.T) {
	var kept [][]byte
	err := After(50, 256<<10, func(int) {
		m, err := unix.Mmap(-1, 0, 1<<18, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, m)
	})
	for _, m := range kept {
		_ = unix.Munmap(m)
	}
	if err == nil || !strings.Contains(err.Error(), "bytes more are resident after every 50, want at most 262144") {
		t.Errorf("256 KiB kept each time: %v", err)
	}
	var open []*os.File
	err = After(3, 1<<30, func(i int) {
		if f, err := os.Open("/dev/null"); err != nil {
			t.Fatal(err)
		} else if open = append(open, f); i > 0 {
			_ = f.Close()
		}
	})
	for _, f := range open {
		_ = f.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "descriptors after 15") {
		t.Errorf("a file kept in each round: %v", err)
	}
}
