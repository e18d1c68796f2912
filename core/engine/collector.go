package engine

import (
	"runtime/debug"
	"sync"
)

// startPercent is Go's GC percent until the first batch: the 16 MiB before the first collection then hold what a start allocates.
// Two or three collections, and the stops of the world in them, took a start on two CPUs a tenth of its time.
const startPercent = 400

// starts counts the engines of this process that have not come to their first batches, for the collector is the process's.
var starts struct {
	mu      sync.Mutex
	n       int
	percent int // what it was before
}

// quietStart is one engine's part in starts: from begin to the first batch that consumers see, or to its Close.
type quietStart struct{ over sync.Once }

// begin spares the engine's start the collector. Whoever has asked for fewer collections, or none, keeps what he asked for.
func (q *quietStart) begin() {
	starts.mu.Lock()
	defer starts.mu.Unlock()
	if starts.n++; starts.n > 1 {
		return
	}
	if starts.percent = debug.SetGCPercent(startPercent); starts.percent < 0 || starts.percent > startPercent {
		debug.SetGCPercent(starts.percent)
	}
}

// end has the collector work as before. Only the first call counts.
func (q *quietStart) end() {
	q.over.Do(func() {
		starts.mu.Lock()
		defer starts.mu.Unlock()
		if starts.n--; starts.n == 0 {
			debug.SetGCPercent(starts.percent)
		}
	})
}
