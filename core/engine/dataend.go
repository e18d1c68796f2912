package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// A program that brings its own samples one after the other, or says which come, need not know how many there are: it says where they end. The
// batches of what would have come after are dropped, the epoch is over for the consumers, and when they have completed it the ring goes
// on with the next, whose first ticket is where it would be if the data had not ended.

// completedEvery is the time between two looks for whether an epoch is completed.
const completedEvery = 5 * time.Millisecond

// dataEnd ends a run of the pipeline: the data of an epoch end before a global step.
type dataEnd struct{ epoch, step int64 }

func (e *dataEnd) Error() string {
	return fmt.Sprintf("engine: the data of epoch %d end before step %d", e.epoch, e.step)
}

// mayEnd says that the data may end where the program that brings them, or their numbers, says so: where the order is that of the samples.
func mayEnd(s *spec.Spec) bool {
	o := &s.Order
	return (s.Source.Host.Samples > 0 || s.Order.Asked) && s.World.Size == 1 && s.Ring.Delivery != spec.Ready &&
		!o.Shuffle && o.Filter == "" && o.Repeat <= 1 && len(o.Kinds()) == 0 && o.Last != spec.LastPad
}

// epochEnded tells the consumers that w's epoch ends before a global step. An epoch without any batch is refused: endless ones would
// follow each other.
func (r *ring) epochEnded(w *work, step int64) error {
	if step == int64(w.Epoch)*r.order.StepsPerEpoch() {
		if n := len(w.Samples); n > 0 {
			return fmt.Errorf("engine: ring %q: epoch %d: order.last: drop leaves nothing: the program's data ended after %d of the %d samples of a batch; "+
				"use a smaller batch, or last: cover", r.name, w.Epoch, n, r.order.Config().Batch)
		}
		remedy := fmt.Sprintf("bring samples in every epoch, or say order.epochs: %d", w.Epoch)
		if w.Epoch == 0 {
			remedy = "bring one at least"
		}
		return fmt.Errorf("engine: ring %q: epoch %d: the program's data ended before the first sample; %s", r.name, w.Epoch, remedy)
	}
	r.shm.EndEpoch(w.lane, w.Epoch)
	return &dataEnd{int64(w.Epoch), step}
}

// turnPage waits until every group has completed the epoch that has ended, and moves to the next. A move that comes meanwhile
// is returned, and decides.
func (r *ring) turnPage(ctx context.Context, end *dataEnd) (*move, error) {
	r.setPage(end)
	defer r.setPage(nil)
	tick := time.NewTicker(completedEvery)
	defer tick.Stop()
	for !r.allCompleted() {
		select {
		case <-tick.C:
		case m := <-r.moves:
			return m, nil
		case err := <-r.broken:
			return nil, err
		case <-ctx.Done():
			return nil, nil
		}
	}
	next := end.epoch + 1
	return nil, r.shm.Advance(r.ticket(next*r.order.StepsPerEpoch()), uint64(next))
}

func (r *ring) setPage(end *dataEnd) {
	r.mu.Lock()
	r.page = end
	r.mu.Unlock()
}

// allCompleted says that no group of consumers has anything left to do.
func (r *ring) allCompleted() bool {
	next := r.shm.Info().NextTicket
	for _, g := range r.shm.Groups() {
		if g.Kind != shm.KindConsumer || g.State != shm.GroupActive {
			continue
		}
		if p, err := r.shm.Progress(g.Index, 0, nil); err == nil && p.Low() < next {
			return false
		}
	}
	return true
}

// afterEnd is the step itself, or the first of the next epoch where the data end before it.
func (r *ring) afterEnd(step int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.page != nil && step == r.page.step {
		return (r.page.epoch + 1) * r.order.StepsPerEpoch()
	}
	return step
}
