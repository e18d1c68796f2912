package pipeline

import (
	"sync"
	"sync/atomic"
)

// Auto has a stage find its concurrency while it runs, between Min and Max; see
// Tuning for how. Max 0 leaves Concurrency as it is.
type Auto struct {
	// Min is the least number of workers; 0 means 1. Concurrency is the number
	// to start with, 0 meaning Min.
	Min int
	// Max is the greatest number. Bounds are those of a stage of this Concurrency.
	Max int
}

// A crew is the workers of a stage whose number changes. Those above the number
// wait before they take an item, so none is ever held by a worker that rests.
type crew struct {
	min, max int
	active   atomic.Int64 // written with mu held

	mu       sync.Mutex // guards the rest
	changed  sync.Cond
	over     bool
	sinceNs  int64 // of active
	workerNs int64 // sum of the workers' time, up to sinceNs
}

func newCrew(a Auto, concurrency int) *crew {
	c := &crew{min: max(a.Min, 1), max: a.Max}
	c.changed.L = &c.mu
	c.active.Store(int64(min(max(concurrency, c.min), c.max)))
	return c
}

// enter lets worker i go on once it belongs to the crew; false means that the
// work ended first. A nil crew is everybody.
func (c *crew) enter(i int) bool {
	if c == nil || int64(i) < c.active.Load() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for int64(i) >= c.active.Load() && !c.over {
		c.changed.Wait()
	}
	return !c.over
}

// set makes the crew n workers, within its bounds.
func (c *crew) set(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock(now())
	c.active.Store(int64(min(max(n, c.min), c.max)))
	c.changed.Broadcast()
}

// end sends those who rest home: there is no more work.
func (c *crew) end() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.changed.Broadcast()
}

func (c *crew) begin(atNs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sinceNs = atNs
}

// workersTime is the sum of the workers' time so far.
func (c *crew) workersTime(atNs int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workerNs + max(0, atNs-c.sinceNs)*c.active.Load()
}

func (c *crew) clock(atNs int64) {
	c.workerNs += max(0, atNs-c.sinceNs) * c.active.Load()
	c.sinceNs = atNs
}
