package engine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
)

// maxTicket bounds the positions that a state may name: far beyond any training, far below what 64 bits hold.
const maxTicket = 1 << 62

// maxApart is how many steps above the oldest open one a state names. Whoever holds a batch for longer than that has to let
// it go.
const maxApart = 1 << 20

// control answers what a ring's members ask for beyond batches; it is shm's Control. Restart and Load wait for Run.
type control struct {
	r   *ring
	ctx context.Context // of the engine's run
}

// State is the group's position. In a lanes group it is the position of the asking lane: ranks that train in step agree.
func (c control) State(group int, owner uint32, countHeld bool, extra []uint64) ([]byte, error) {
	heldBy := uint32(0)
	if countHeld {
		heldBy = owner
	}
	progress, err := c.r.shm.Progress(group, heldBy, extra)
	if err != nil {
		return nil, err
	}
	from, to := c.lanesOf(group, owner)
	step, done := completedSteps(progress, c.r.lanes, from, to)
	step = c.r.afterEnd(step)
	state, all := c.r.stateOf(step, done)
	if !all {
		return nil, refuse(shm.ErrBusy, nil, "engine: state: a batch of step %d is not done, but more later steps are than the %d a state can name; release it", step, maxApart)
	}
	return state.JSON(), nil
}

// stateOf is the state in which every step below low is completed, and those of done, and those that the state gone on from named. all is false
// where they are too many to be named.
func (r *ring) stateOf(low int64, done []int64) (s sampler.State, all bool) {
	s = r.order.State(low, append(done, r.aheadOf(low)...))
	all = len(s.Done) <= maxApart
	s.Done = s.Done[:min(len(s.Done), maxApart)]
	return s, all
}

// lanesOf is the range of lanes that a member stands for: its own in a lanes group, else all.
func (c control) lanesOf(group int, owner uint32) (from, to int) {
	for _, g := range c.r.shm.Groups() {
		if g.Index != group || g.Mode != shm.ModeLanes {
			continue
		}
		for _, m := range g.Members {
			if m.Owner == owner {
				return m.Lane, m.Lane + 1
			}
		}
	}
	return 0, c.r.lanes
}

// completedSteps turns completed tickets into completed steps: a step is completed when the lanes in [from, to) are. Every step before
// step is completed; done is those above, ascending, and one more than a state names at most.
func completedSteps(p shm.Progress, lanes, from, to int) (step int64, done []int64) {
	completed := func(step int64) bool {
		for lane := from; lane < to; lane++ {
			ticket := uint64(step)*uint64(lanes) + uint64(lane)
			if _, open := slices.BinarySearch(p.Open, ticket); open || ticket >= p.Next {
				return false
			}
		}
		return true
	}
	for step = int64(p.Low() / uint64(lanes)); completed(step); {
		step++
	}
	for s := step + 1; s <= int64(p.Next/uint64(lanes)) && len(done) <= maxApart; s++ {
		if completed(s) {
			done = append(done, s)
		}
	}
	return step, done
}

// parseState reads a state and checks that it belongs to this ring's order.
func (r *ring) parseState(data []byte) (*sampler.State, error) {
	state, err := sampler.ParseState(data)
	if err == nil {
		err = r.order.Check(state)
	}
	steps := r.order.StepsPerEpoch()
	if last := maxTicket / int64(r.lanes) / steps; err == nil && state.Epoch >= last {
		err = fmt.Errorf("epoch: got %d, want less than %d", state.Epoch, last)
	}
	if err != nil {
		return nil, refuse(shm.ErrState, err, "engine: ring %q: state: %v", r.name, err)
	}
	return &state, nil
}

// firstStep is the first global step that a state does not name as completed.
func (r *ring) firstStep(s *sampler.State) int64 { return s.Epoch*r.order.StepsPerEpoch() + s.Step }

// Load goes on from a saved state.
func (c control) Load(_ int, _ uint32, data []byte) (uint64, error) {
	state, err := c.r.parseState(data)
	if err != nil {
		return 0, err
	}
	return uint64(state.Epoch), c.r.move(c.ctx, func() error {
		first := c.r.ticket(c.r.firstStep(state))
		if err := c.r.shm.Rewind(first, uint64(state.Epoch)); err != nil {
			return err
		}
		c.r.judging.Lock()
		c.r.judgedBelow = first
		clear(c.r.judged)
		c.r.judging.Unlock()
		c.r.goOnFrom(state)
		return c.r.keepNote()
	})
}

// Restart begins the group's next epoch. Where it is the ring's only group the batches of the old one are not made any
// more; otherwise the others go on with them.
func (c control) Restart(group int, owner uint32) (uint64, error) {
	epoch, err := c.r.shm.MemberEpoch(owner)
	if err != nil {
		return 0, err
	}
	groups := slices.DeleteFunc(c.r.shm.Groups(), func(g shm.GroupInfo) bool { return g.Kind != shm.KindConsumer || g.State == shm.GroupClosed })
	i := slices.IndexFunc(groups, func(g shm.GroupInfo) bool { return g.Index == group })
	if i < 0 {
		return 0, shm.ErrGroupClosed
	}
	if n := len(groups[i].Members); n != 1 {
		return 0, refuse(shm.ErrBusy, nil, "engine: restart: group %q has %d consumers, want one; detach the others", groups[i].Name, n)
	}
	next := epoch + 1
	if epochs := c.r.order.Config().Epochs; epochs > 0 && next > uint64(epochs) {
		return 0, refuse(shm.ErrArgument, nil, "engine: restart: epoch %d was the last of %d, and it is over; load a state, or raise order.epochs", epochs-1, epochs)
	}
	if len(groups) > 1 {
		return next, c.r.shm.Skip(group, next)
	}
	return next, c.r.move(c.ctx, func() error {
		if err := c.r.shm.Skip(group, next); err != nil {
			return err
		}
		return c.r.shm.Advance(c.r.ticket(int64(next)*c.r.order.StepsPerEpoch()), next)
	})
}

// Stats are the engine's counters as JSON.
func (c control) Stats() ([]byte, error) { return c.r.engine.statsJSON() }

// Stop begins the engine's orderly end.
func (c control) Stop() { c.r.engine.Stop() }

// Trace records what the engine does; it is shm's Tracer.
func (c control) Trace(d time.Duration, w io.Writer) error {
	return telemetry.WriteTrace(w, c.r.engine.Record(c.ctx, d))
}
