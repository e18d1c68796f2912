package media

import (
	"runtime"
	"time"
)

// standBackAfter is how long a worker goes on before it lets the scheduler have a look.
const standBackAfter = 3 * time.Millisecond

// StandBack lets Go's scheduler have a look at a worker that is in C nearly all the time. The scheduler sees a goroutine that has not let go of
// its processor since it was scheduled last. After 10 ms of that its monitor takes the processor away, and then wakes up every 20 us
// for some milliseconds to see whether there is more to take away: 4 % of the CPU time of decoding pictures went there.
//
// A look costs something, too, for the worker may go on elsewhere: pictures whose workers looked every 3 ms, and not every 3 ms within
// each job of four, came 11 % slower. So a job of several calls has one of its own.
type StandBack struct{ since time.Time }

// NewStandBack is one that first lets the scheduler look 3 ms from now.
func NewStandBack() StandBack { return StandBack{time.Now()} }

// Now is called between two calls into C.
func (s *StandBack) Now() {
	if now := time.Now(); now.Sub(s.since) > standBackAfter {
		s.since = now
		runtime.Gosched()
	}
}
