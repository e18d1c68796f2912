package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/shm"
)

// Batches are made again when a stage's worker died with them: the samples are decoded once more into the same slot, to the
// same bytes. A batch that its worker says it cannot transform is treated as if each of its samples were bad, cause stage.
// Both are rare, so one goroutine beside the pipeline is enough for a ring.

// startAgain begins to make batches again where the ring has stages. What ends it goes to r.broken; stop waits for it.
func (r *ring) startAgain(ctx context.Context) (stop func()) {
	if !r.staged {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.makeAgain(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, shm.ErrClosed) {
			r.broken <- err
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (r *ring) makeAgain(ctx context.Context) error {
	on, err := openWorker(r.samples)
	if err != nil {
		return err
	}
	defer on.Close()
	w := r.newWork()
	for {
		sp, err := r.shm.NextSpoiled(ctx)
		if err != nil {
			return err
		}
		r.plan(w, sp.Slot, sp.Ticket)
		var result batch.Result
		if sp.Failure == "" {
			result, err = r.decodeAgain(ctx, on, w)
		} else {
			result, err = r.giveUp(w, &sp)
		}
		if err == nil {
			err = r.shm.Restore(sp.Slot, r.described(w, result))
		}
		if err != nil {
			return err
		}
	}
}

// plan begins the batch of a ticket in a slot.
func (r *ring) plan(w *work, slot *shm.Slot, ticket uint64) {
	global, lane := int64(ticket/uint64(r.lanes)), int(ticket%uint64(r.lanes))
	steps := r.order.StepsPerEpoch()
	r.begin(w, slot, global/steps, global%steps, lane)
	w.again = true
}

// decodeAgain fetches and decodes row by row. Its bad samples have been judged: those that a cause which depends on time made bad are
// bad again, as far as the journal tells, and what is bad now for the first time is written there.
func (r *ring) decodeAgain(ctx context.Context, on *worker, w *work) (batch.Result, error) {
	for row := range w.Samples {
		j := job{w: w, from: row, to: row + 1}
		if err := r.fetchJob(ctx, &j); err != nil {
			return batch.Result{}, err
		}
		if err := r.engine.cpus.Acquire(ctx); err != nil {
			r.drop(j)
			return batch.Result{}, err
		}
		err := r.decodeJob(ctx, on, &j)
		r.engine.cpus.Release()
		if err != nil {
			r.drop(j)
			return batch.Result{}, err
		}
		w.FetchedNS, w.DecodedNS = j.fetchedNS, j.decodedNS
	}
	w.gather()
	planned := len(w.Samples)
	result := w.Finish(r.policy, r.source)
	r.noteFaults(w, planned)
	return result, nil
}

// giveUp makes of a batch that failed in a stage what the policy for bad samples says. An error is the budget's.
func (r *ring) giveUp(w *work, sp *shm.Spoiled) (batch.Result, error) {
	why := fmt.Errorf("engine: ring %q: stage %q: batch %d: %s", r.name, sp.Group, sp.Ticket, sp.Failure)
	r.engine.log.Warnf(r.name, "%v", why)
	r.judging.Lock()
	defer r.judging.Unlock()
	for row, sample := range w.Samples {
		w.Bad = append(w.Bad, batch.Bad{Row: row, Sample: sample, Cause: "stage", Err: why})
		r.bad.count(&w.Bad[row])
		if err := r.budget.Settle(why); err != nil {
			return batch.Result{}, err
		}
	}
	return w.Finish(r.policy, r.source), nil
}
