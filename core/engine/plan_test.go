package engine

import (
	"context"
	"testing"

	"github.com/spdl/spdl/core/batch"
)

// The first batch's samples travel alone, so that no decoder is without work while another has several of its last ones; those of
// later batches travel together.
func TestSamplesOfTheFirstBatchTravelAlone(t *testing.T) {
	for seq, want := range []int{1, 4} {
		p := &planner{r: &ring{perJob: 4}, current: &work{Batch: batch.Batch{Samples: make([]int64, 10)}, seq: uint64(seq)}}
		for from := 0; p.current != nil; from = min(from+want, 10) {
			j, err := p.next(context.Background())
			if err != nil || j.from != from || j.to != min(from+want, 10) {
				t.Fatalf("batch %d: got rows [%d, %d), %v, want [%d, %d)", seq, j.from, j.to, err, from, min(from+want, 10))
			}
		}
	}
}
