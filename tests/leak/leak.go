package leak

import (
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// rounds of a measurement. A leak grows in every one; allocators and huge pages, in some.
const rounds = 5

// patience is for a descriptor that is about to be closed.
var patience = time.Minute

// After calls one with 0 to n-1, once to fill what is kept for ever and then in rounds. An error says that after the best
// of them more than most bytes more were resident, or which descriptors are open that were not before all.
func After(n, most int, one func(i int)) error {
	runtime.LockOSThread() // C's allocator has an arena for each thread
	defer runtime.UnlockOSThread()
	round := func() {
		for i := range n {
			one(i)
		}
	}
	round()
	since := Descriptors()
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
	return since()
}

// Descriptors notes which are open and returns what says, as an error, which others are open by then. That waits for what is about to be closed,
// and no test before can trouble it: what was open already is not looked at, and sockets are left out, which servers and pools close when they like.
func Descriptors() (since func() error) {
	warm()
	before, err := descriptors()
	return func() error {
		if err != nil {
			return err
		}
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			now, err := descriptors()
			if err != nil {
				return err
			}
			maps.DeleteFunc(now, func(d string, _ bool) bool { return before[d] })
			if len(now) == 0 {
				return nil
			} else if time.Now().After(end) {
				return fmt.Errorf("leak: %d descriptors are open that were not: %s", len(now), strings.Join(slices.Sorted(maps.Keys(now)), ", "))
			}
		}
	}
}

// Go opens descriptors of its own with the first pipe and keeps them: whichever test comes first must not be blamed.
var warm = sync.OnceFunc(func() {
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close()
	}
})

// descriptors are those that are open, such as "3 of /dev/null", but for sockets.
func descriptors() (open map[string]bool, err error) {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, fmt.Errorf("leak: %w", err)
	}
	open = map[string]bool{}
	for _, fd := range all {
		to, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && !strings.HasPrefix(to, "socket:") { // an error is of what is closed by now, as that of the directory itself
			open[fd.Name()+" of "+to] = true
		}
	}
	return open, nil
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
