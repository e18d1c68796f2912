package shm

import (
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// moment is one point in time in both of our clocks: CLOCK_MONOTONIC, and Go's own reading of it, which costs no
// system call but hides its origin.
type moment struct {
	ns uint64
	at time.Time
}

// clockBase is the sharpest of several moments: one during which this thread was not interrupted.
var clockBase = sync.OnceValue(func() (best moment) {
	sharpest := int64(math.MaxInt64)
	for range 16 {
		var before, after unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &before)
		at := time.Now()
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &after)
		if took := after.Nano() - before.Nano(); took < sharpest {
			sharpest, best = took, moment{uint64(before.Nano()), at}
		}
	}
	return best
})

// monotonicNS is CLOCK_MONOTONIC, the clock of every time in shared memory.
func monotonicNS() uint64 {
	base := clockBase()
	return base.ns + uint64(time.Since(base.at))
}
