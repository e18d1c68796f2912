package engine

import (
	"context"
	"io"
	"sync"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/shm"
)

// planner hands out the rows of one batch after the other, each batch in a slot of its own. One run of the ring's
// pipeline has one planner; only its source stage calls next.
type planner struct {
	r      *ring
	cursor *sampler.Cursor
	skip   int // lanes of the first step that were published before

	epoch, step int64
	lane        int // of the step in hand; lanes: take the next step
	current     *work
	row         int
	seq         uint64

	mu   sync.Mutex
	open map[*work]bool // claimed, not published
	idle []*work
}

func newPlanner(r *ring, at position) *planner {
	return &planner{r: r, cursor: at.cursor, skip: at.skip, lane: r.lanes, open: map[*work]bool{}}
}

// next is the source of the pipeline: the rows of the current batch, then of the next. It blocks for a free slot.
func (p *planner) next(ctx context.Context) (job, error) {
	if p.current == nil {
		w, err := p.begin(ctx)
		if err != nil {
			return job{}, err
		}
		p.current, p.row = w, 0
	}
	j := job{w: p.current, from: p.row, to: min(p.row+p.r.perJob, len(p.current.Samples))}
	if p.row = j.to; p.row == len(j.w.Samples) {
		p.current = nil
	}
	return j, nil
}

// begin plans the next batch and claims its slot.
func (p *planner) begin(ctx context.Context) (*work, error) {
	if p.lane == p.r.lanes {
		epoch, step, ok := p.cursor.Next()
		if !ok {
			return nil, io.EOF
		}
		p.epoch, p.step, p.lane, p.skip = epoch, step, p.skip, 0
	}
	slot, err := p.r.shm.Claim(ctx)
	if err != nil {
		return nil, err
	}
	w := p.take()
	p.r.begin(w, slot, p.epoch, p.step, p.lane)
	w.seq = p.seq
	p.lane++
	p.seq++
	return w, nil
}

// begin starts the batch of a lane in a step: what it is, what samples it has, where they go.
func (r *ring) begin(w *work, slot *shm.Slot, epoch, step int64, lane int) {
	samples, padded := r.order.Rows(epoch, step, r.firstRank+lane, w.Samples[:0])
	w.Begin(w.lend(slot, r.op.RowBytes()), samples, padded)
	global := epoch*r.order.StepsPerEpoch() + step
	w.Ticket = r.ticket(global) + uint64(lane)
	w.Epoch, w.Step, w.EpochStep = uint64(epoch), uint64(global), uint64(step)
	w.lane = lane
}

func (p *planner) take() *work {
	p.mu.Lock()
	defer p.mu.Unlock()
	var w *work
	if n := len(p.idle); n > 0 {
		w, p.idle = p.idle[n-1], p.idle[:n-1]
	} else {
		w = newWork(p.r.order.Config().Batch)
	}
	p.open[w] = true
	return w
}

// settle says that a batch was published: its slot is no longer ours.
func (p *planner) settle(w *work) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, w)
	w.slot = nil
	p.idle = append(p.idle, w)
}

// abandon gives every slot back that was claimed and not published. The run is over. The batches are not used again:
// they may hold what their jobs left.
func (p *planner) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.open {
		p.r.shm.Abandon(w.slot)
	}
	clear(p.open)
}
