package leak

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// rounds of a measurement. A leak grows in every one; allocators and huge pages, in some.
const rounds = 5

// After calls one with 0 to n-1, once to fill what is kept for ever and then in rounds. An error says that after the best
// of them more than most bytes more were resident, or that there are more descriptors than before all.
func After(n, most int, one func(i int)) error {
	runtime.LockOSThread() // C's allocator has an arena for each thread
	defer runtime.UnlockOSThread()
	round := func() {
		for i := range n {
			one(i)
		}
	}
	round()
	open, err := descriptors()
	if err != nil {
		return err
	}
	least := math.MaxInt
	for range rounds {
		before, err := resident()
		if err != nil {
			return err
		}
		round()
		now, err := resident()
		if err != nil {
			return err
		}
		least = min(least, now-before)
	}
	if least > most {
		return fmt.Errorf("leak: %d bytes more are resident after every %d, want at most %d", least, n, most)
	}
	now, err := descriptors()
	if err == nil && now > open {
		err = fmt.Errorf("leak: %d descriptors after %d, %d before", now, rounds*n, open)
	}
	return err
}

// Names are the names in a directory, in order.
func Names(t testing.TB, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// resident is memory that C's allocator and Go's hold, less what Go can give back.
func resident() (bytes int, err error) {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("leak: %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("leak: /proc/self/statm: got %q, want the resident pages second", text)
	}
	pages, err := strconv.Atoi(fields[1])
	return pages * os.Getpagesize(), err
}

func descriptors() (int, error) {
	all, err := os.ReadDir("/proc/self/fd")
	return len(all), err
}
