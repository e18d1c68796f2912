package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/spdl/spdl/core/batch"
)

func jobsOf(batches, rows, perJob int) (jobs []job) {
	for seq := range batches {
		w := &work{Batch: batch.Batch{Samples: make([]int64, rows)}, seq: uint64(seq)}
		for from := 0; from < max(rows, 1); from += perJob {
			jobs = append(jobs, job{w: w, from: from, to: min(from+perJob, rows)})
		}
	}
	return jobs
}

// Whatever the order in which jobs are fetched, decoders take those of the earliest batch first, in row order.
func TestDecodersTakeTheEarliestJob(t *testing.T) {
	want := jobsOf(3, 10, 4)
	e := newEarliest()
	for _, i := range rand.Perm(len(want)) {
		e.put(want[i])
	}
	for i := range want {
		if got, ok := e.take(); !ok || got != want[i] {
			t.Fatalf("take %d: got batch %d from row %d, want batch %d from row %d", i, got.w.seq, got.from, want[i].w.seq, want[i].from)
		}
	}
	if _, ok := e.take(); ok {
		t.Fatal("took a job that nobody put")
	}
}

// The planner may go on once the first batch's last job is taken, not before, and also where that batch is empty.
func TestSecondBatchWaitsForTheFirstToBeTaken(t *testing.T) {
	for _, rows := range []int{0, 1, 10} {
		e := newEarliest()
		jobs := jobsOf(1, rows, 4)
		for i := range jobs {
			select {
			case <-e.onward:
				t.Fatalf("%d rows: onward with %d of %d jobs taken", rows, i, len(jobs))
			default:
			}
			e.begun(&jobs[i])
		}
		select {
		case <-e.onward:
		default:
			t.Fatalf("%d rows: not onward with every job taken", rows)
		}
	}
}
