package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/device"
	"github.com/spdl/spdl/shm"
)

// Batches are made again when a stage's worker died with them: the samples are decoded once more into the same slot, to the
// same bytes. A batch that its worker says it cannot transform is treated as if each of its samples were bad, cause stage. One of which
// the device refuses to decode some files is made again with these decoded here.
// One batch of a ring is made again at a time, its rows beside one another, as many as the ring fetches at once: with a store a round trip
// away, a batch whose rows came one after the other would hold up all that wait behind it.

// startAgain begins to make batches again where some may have to be. What ends it goes to r.broken; stop waits for it.
func (r *ring) startAgain(ctx context.Context) (stop func()) {
	if !r.remakes {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.makeAgain(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, shm.ErrClosed) {
			select {
			case r.broken <- err:
			case <-ctx.Done():
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (r *ring) makeAgain(ctx context.Context) error {
	on := remakers{of: r.samples, idle: make(chan *worker, r.decoders)}
	defer on.close()
	w := r.newWork()
	for {
		sp, err := r.shm.NextSpoiled(ctx)
		if err != nil {
			return err
		}
		r.plan(w, sp.Slot, sp.Ticket)
		var result batch.Result
		switch {
		case sp.Failure == "":
			result, err = r.decodeAgain(ctx, &on, w)
		case sp.Anew:
			result, err = r.decodeRefused(ctx, &on, w, &sp)
		default:
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

// decodeAgain makes the same batch again. Its bad samples have been judged: those that a cause which depends on time made bad are
// bad again, as far as the journal tells, and what is bad now for the first time is written there.
func (r *ring) decodeAgain(ctx context.Context, on *remakers, w *work) (batch.Result, error) {
	if err := r.readAgain(ctx, on, w); err != nil {
		return batch.Result{}, err
	}
	return r.finishAgain(w), nil
}

// readAgain fetches and decodes all rows.
func (r *ring) readAgain(ctx context.Context, on *remakers, w *work) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var busy sync.WaitGroup
	fetchers := r.fetchers
	if r.feed != nil {
		fetchers = 1 // a program has so many asked of it already, each with a deadline
	}
	for range min(len(w.Samples), fetchers) {
		busy.Add(1)
		go func() {
			defer busy.Done()
			for row := int(next.Add(1)) - 1; row < len(w.Samples) && ctx.Err() == nil; row = int(next.Add(1)) - 1 {
				if err := r.rowAgain(ctx, on, w, row); err != nil {
					stop(err) // the first one counts
				}
			}
		}()
	}
	busy.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.gather()
	return nil
}

// rowAgain fetches and decodes one row. An error is the end of the run.
func (r *ring) rowAgain(ctx context.Context, on *remakers, w *work, row int) error {
	j := job{w: w, from: row, to: row + 1}
	if err := r.fetchJob(ctx, &j); err != nil {
		return err
	}
	err := r.engine.cpus.Acquire(ctx)
	if err == nil {
		err = on.decode(ctx, r, &j)
		r.engine.cpus.Release()
	}
	if err != nil {
		r.drop(j)
		return err
	}
	w.decoded(&j)
	return nil
}

// remakers decode what is made again: as many as decode at once, opened when they are needed first.
type remakers struct {
	of   *samples
	mu   sync.Mutex
	made int
	idle chan *worker // has room for all
}

func (m *remakers) decode(ctx context.Context, r *ring, j *job) error {
	on, err := m.take(ctx)
	if err != nil {
		return err
	}
	defer func() { m.idle <- on }()
	return r.decodeJob(ctx, on, j)
}

func (m *remakers) take(ctx context.Context) (*worker, error) {
	m.mu.Lock()
	if len(m.idle) == 0 && m.made < cap(m.idle) {
		m.made++
		m.mu.Unlock()
		return openWorker(m.of)
	}
	m.mu.Unlock()
	select {
	case on := <-m.idle:
		return on, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// close ends those that are there, when none is in use.
func (m *remakers) close() {
	for len(m.idle) > 0 {
		(<-m.idle).Close()
	}
}

// finishAgain applies the policy.
func (r *ring) finishAgain(w *work) batch.Result {
	planned := len(w.Samples)
	result := w.Finish(r.policy, r.source)
	r.noteFaults(w, planned)
	return result
}

// decodeRefused makes a batch again of which the device refused some files. Samples that were good until now and cannot be read or decoded here
// are judged. An error is the budget's, or the end of the run.
func (r *ring) decodeRefused(ctx context.Context, on *remakers, w *work, sp *shm.Spoiled) (batch.Result, error) {
	refusal, err := device.ParseRefusal(sp.Failure)
	if err != nil {
		return batch.Result{}, fmt.Errorf("engine: ring %q: batch %d: %w", r.name, sp.Ticket, err)
	}
	// By row of the batch as the device had it, which may have fewer than planned, or others.
	index, status, places := batch.Int64s(sp.Slot.Tensor(indexTensor)), sp.Slot.Tensor(statusTensor), sp.Slot.Tensor(fieldTensor(codedPlace))
	good := map[int64]int{} // rows of a sample
	for row := range sp.Rows {
		if status[row] != batch.Masked && status[row] != batch.Substituted {
			good[index[row]]++
		}
	}
	var refused []int64
	refusal.Each(sp.Rows, func(row int) {
		if placeInts(places[row*4*device.PlaceInts:])[device.PlaceKind] == device.JPEG && r.refused.add(index[row]) {
			refused = append(refused, index[row])
		}
	})
	r.tellRefused(sp.Ticket, refused, &refusal)
	if refusal.Once {
		defer r.refused.forget(refused)
	}
	if err := r.readAgain(ctx, on, w); err != nil {
		return batch.Result{}, err
	}
	if err := r.judgeAnew(w, good); err != nil {
		return batch.Result{}, err
	}
	return r.finishAgain(w), nil
}

// tellRefused logs what the engine decodes in the device's place.
func (r *ring) tellRefused(ticket uint64, samples []int64, refusal *device.Refusal) {
	if refusal.Once {
		r.engine.log.oftenf(r.name, "batches of which the device does not decode all", "the device does not decode %d files of batch %d: %s; they are decoded here", len(samples), ticket, refusal.Why)
		return
	}
	for _, sample := range samples {
		r.engine.log.oftenf(r.name, "samples that the device does not decode", "the device does not decode sample %d %q: %s; from here on it is decoded here", sample, r.source.Key(sample, nil), refusal.Why)
	}
}

// judgeAnew counts the bad samples that were good, by how many rows of each were. An error is the budget's.
func (r *ring) judgeAnew(w *work, good map[int64]int) error {
	for _, sample := range w.Samples {
		good[sample]--
	}
	for i := range w.Bad {
		good[w.Bad[i].Sample]++
	}
	r.judging.Lock()
	defer r.judging.Unlock()
	for i := range w.Bad {
		bad := &w.Bad[i]
		if good[bad.Sample] <= 0 {
			continue
		}
		good[bad.Sample]--
		r.bad.count(bad)
		r.engine.log.bad(r.name, bad)
		if err := r.budget.Settle(bad.Err); err != nil {
			return err
		}
	}
	return nil
}

// giveUp makes of a batch that failed in a stage what the policy for bad samples says. An error is the budget's.
func (r *ring) giveUp(w *work, sp *shm.Spoiled) (batch.Result, error) {
	why := fmt.Errorf("engine: ring %q: stage %q: batch %d: %s", r.name, sp.Group, sp.Ticket, sp.Failure)
	r.engine.log.oftenf(r.name, "batches that failed in a stage", "%v", why)
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
