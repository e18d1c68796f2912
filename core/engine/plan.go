package engine

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/spdl/spdl/shm"
)

// planner hands out the rows of one batch after the other, each batch in a slot of its own. One run of the ring's
// pipeline has one planner; only its source stage calls next.
type planner struct {
	r *ring
	position

	epoch, step int64
	lane        int // of the step in hand; lanes: take the next step
	current     *work
	row         int
	seq         uint64
	epochSeq    uint64 // of the first batch of the epoch
	fetched     *earliest

	mu   sync.Mutex
	open map[*work]uint64 // claimed, not published, with their tickets
	idle []*work
}

func newPlanner(r *ring, at position) *planner {
	return &planner{r: r, position: at, lane: r.lanes, fetched: newEarliest(), open: map[*work]uint64{}}
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
	j := job{w: p.current, from: p.row, to: min(p.row+p.perJob(), len(p.current.Samples))}
	if p.row = j.to; p.row == len(j.w.Samples) {
		p.current = nil
	}
	return j, nil
}

// perJob is how many samples of the batch in hand travel together. Those of the first travel alone: whoever waits for it waits
// for the last of its jobs, while the other decoders have none of that batch left.
func (p *planner) perJob() int {
	if p.current.seq == 0 {
		return 1
	}
	return p.r.perJob
}

// begin plans the next batch and claims its slot. The first batch has the machine for itself until its last rows are
// being decoded: whoever waits for it waits for nothing else.
func (p *planner) begin(ctx context.Context) (*work, error) {
	if p.seq == 1 && p.r.readyAhead == 0 {
		select {
		case <-p.fetched.onward:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	ticket, ok := p.ticket()
	if !ok {
		return nil, io.EOF
	}
	slot, err := p.r.shm.Claim(ctx)
	if err != nil {
		return nil, err
	}
	if kept := p.r.recording.Load(); kept != nil {
		if life, ok := p.r.shm.Life(slot); ok {
			kept.add(life)
		}
	}
	w := p.take(ticket)
	p.r.begin(w, slot, p.epoch, p.step, p.lane)
	_ = shm.Fault("plan")
	w.seq, w.epochSeq = p.seq, p.epochSeq
	p.lane++
	p.seq++
	return w, nil
}

// ticket moves to the next lane and step that are not published yet.
func (p *planner) ticket() (uint64, bool) {
	for ; ; p.lane++ {
		if p.lane >= p.r.lanes {
			epoch, step, ok := p.cursor.Next()
			if !ok {
				return 0, false
			}
			if epoch != p.epoch {
				p.epochSeq = p.seq
			}
			p.epoch, p.step, p.lane = epoch, step, 0
		}
		ticket := p.r.ticket(p.epoch*p.r.order.StepsPerEpoch()+p.step) + uint64(p.lane)
		if _, late := slices.BinarySearch(p.late, ticket); late || ticket >= p.until {
			return ticket, true
		}
	}
}

// begin starts the batch of a lane in a step: what it is, what samples it has, where they go.
func (r *ring) begin(w *work, slot *shm.Slot, epoch, step int64, lane int) {
	of, at := r.rows.repeat(epoch, step, r.order.StepsPerEpoch())
	samples, padded := r.order.Rows(of, at, r.firstRank+lane, w.Samples[:0])
	if r.planned != nil && r.asked == nil {
		r.planned.Ahead(samples)
	}
	w.turnTo(r.samples.fields, r.order.Bucket(of, at))
	w.Begin(w.lend(slot), samples, padded)
	global := epoch*r.order.StepsPerEpoch() + step
	w.Ticket = r.ticket(global) + uint64(lane)
	w.Epoch, w.Step, w.EpochStep = uint64(epoch), uint64(global), uint64(step)
	w.lane, w.lanes, w.ended = lane, r.lanes, false
	w.from = r.order.Position(epoch, step, r.firstRank+lane)
}

// newWork makes the memory of a batch on its way.
func (r *ring) newWork() *work {
	rows := r.order.Config().Batch
	w := newWork(rows, r.samples.fields, r.columns)
	w.Named, w.Made = r.host, r.followed
	if r.rows != nil && r.rows.file != nil {
		w.identities = make([]uint64, rows)
	}
	if r.hashed {
		w.Hashes = make([]uint64, rows)
	}
	return w
}

func (p *planner) take(ticket uint64) *work {
	p.mu.Lock()
	defer p.mu.Unlock()
	var w *work
	if n := len(p.idle); n > 0 {
		w, p.idle = p.idle[n-1], p.idle[:n-1]
	} else {
		w = p.r.newWork()
	}
	p.open[w] = ticket
	return w
}

// openBut are the tickets that are claimed and not published, without w's.
func (p *planner) openBut(w *work) (tickets []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, ticket := range p.open {
		if other != w {
			tickets = append(tickets, ticket)
		}
	}
	return tickets
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
