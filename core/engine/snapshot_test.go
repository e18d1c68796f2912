package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
)

// Who works for a stage of the ring's is a worker of that stage in the verdict, and no consumer; that nobody does is said.
func TestWorkersOfAStageAreNoConsumers(t *testing.T) {
	r := start(t, describe(t, folder(t, 40, nil), "batch: 4\norder: {epochs: 1}\nring: {slots: 8, groups: [{name: augment, kind: stage}, {name: train}]}\n"), nil)
	train := r.attach(shm.AttachOptions{Group: "train", MaxLeases: 1})
	ctx, got := testContext(t), make(chan string, 1)
	go func() {
		for n := 0; ; n++ {
			l, err := train.Acquire(ctx)
			if err != nil {
				got <- fmt.Sprintf("%d batches, then %v", n, err)
				return
			}
			_ = l.Release()
		}
	}()
	snapshot := func() telemetry.Snapshot {
		s := r.Stats()
		return s.Snapshot()
	}
	const nobody = "nothing comes: nobody works for the stage augment; attach a worker"
	text := ""
	for deadline := time.Now().Add(time.Minute); text != nobody; {
		before := snapshot()
		time.Sleep(20 * time.Millisecond)
		text = telemetry.Between(before, snapshot()).Rings[0].Verdict.Text
		if time.Now().After(deadline) {
			t.Fatalf("got verdict %q, want %q", text, nobody)
		}
	}
	worker := r.attach(shm.AttachOptions{Group: "augment", MaxLeases: 1})
	for range 10 {
		take(t, worker)
	}
	ring := snapshot().Rings[0]
	if last := ring.Stages[len(ring.Stages)-1]; last.Name != "augment" || last.Kind != "map" || last.Concurrency != 1 || last.Items != 10 || last.BusyNs == 0 {
		t.Errorf("got stage %+v, want augment with one worker that did 10 batches", last.StageStats)
	}
	if c := ring.Consumers; len(c) != 1 || c[0].Group != "train" {
		t.Errorf("got consumers %+v, want the one of train", c)
	}
	if got := <-got; got != fmt.Sprintf("10 batches, then %v", shm.EndEpoch) {
		t.Errorf("got %s, want 10 batches and the end of the epoch", got)
	}
}
