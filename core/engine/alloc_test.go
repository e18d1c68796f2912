package engine

import (
	"errors"
	"runtime"
	"testing"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// In the steady state the engine makes no Go allocation per sample and at most ten per batch, the consumer in this
// process included.
func TestSteadyStateAllocatesNothingPerSample(t *testing.T) {
	allocationsPerBatch(t, describe(t, folder(t, 100, nil), "batch: 50\n"))
}

// mallocs is the number of Go heap allocations since the process began.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// allocationsPerBatch fails if an engine on 100 samples in batches of 50 makes more than ten allocations a batch.
func allocationsPerBatch(t *testing.T, description *spec.Spec) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const rows, samples = 50, 2000
	r := start(t, description, nil)
	reader := r.attach(shm.AttachOptions{MaxLeases: 1})
	ctx := testContext(t)
	pass := func(n int) {
		for n > 0 {
			l, err := reader.Acquire(ctx)
			if errors.Is(err, shm.EndEpoch) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			n -= l.Rows
			if err := l.Release(); err != nil {
				t.Fatal(err)
			}
		}
	}
	pass(20 * rows) // every slot, buffer and queue has been used
	best := ^uint64(0)
	for range 5 {
		before := mallocs()
		pass(samples)
		best = min(best, mallocs()-before)
	}
	if limit := uint64(10 * samples / rows); best > limit {
		t.Fatalf("%d allocations for %d samples in %d batches, want at most %d", best, samples, samples/rows, limit)
	}
	t.Logf("%d allocations for %d batches of %d samples", best, samples/rows, rows)
}
