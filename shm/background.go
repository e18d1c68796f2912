package shm

import (
	"context"
	"time"
)

// reserveRest takes the memory of the slots that Create has not taken.
func (r *Ring) reserveRest() {
	defer r.work.Done()
	defer close(r.reserved)
	if !r.cfg.Early {
		return
	}
	spec, stride := r.dataSpec(), r.geo.slotStride
	for at := stride; at < spec.size; at += stride {
		select {
		case <-r.closing:
			r.reserveErr = ErrClosed
			return
		default:
		}
		if r.reserveErr = r.data.reserveRange(spec, at, min(stride, spec.size-at)); r.reserveErr != nil {
			return
		}
	}
}

// awaitReserved waits for the memory of any slot but the first.
func (r *Ring) awaitReserved(ctx context.Context, s *Slot) error {
	if s.index == 0 {
		return nil
	}
	select {
	case <-r.reserved:
		return r.reserveErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// touch makes the slot's pages present. Cheap after the first time. What is claimed before the first batch is out is left to
// its writers, several of which take the page faults at once; its memory is reserved.
func (r *Ring) touch(i int) error {
	r.touching.Lock()
	defer r.touching.Unlock()
	if r.touched[i] {
		return nil
	}
	select {
	case <-r.flowing:
	default:
		r.touched[i] = true
		return nil
	}
	err := populate(r.slots[i].memory)
	r.touched[i] = err == nil
	return err
}

// touchAll makes the pages of slots present that nobody has claimed yet. It waits for the first batch, whose making is
// in a hurry and needs the CPUs.
func (r *Ring) touchAll() {
	defer r.work.Done()
	select {
	case <-r.flowing:
	case <-r.closing:
	}
	if r.Reserved() != nil {
		return
	}
	for i := range r.slots {
		select {
		case <-r.closing:
			return
		default:
		}
		if r.touch(i) != nil {
			return // Claim meets the same error and reports it
		}
	}
}

// housekeeping beats, keeps the counters current and looks at every word, so that a lie is found even while
// nothing is claimed.
func (r *Ring) housekeeping() {
	defer r.work.Done()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.closing:
			return
		case <-tick.C:
		}
		r.mu.Lock()
		r.state.HeartbeatNS.Store(monotonicNS())
		for _, g := range r.groups {
			g.sweep()
			if g.completed != g.told { // a member may have been stopped before it could say so
				g.told = g.completed
				g.ringBell()
			}
		}
		r.settle()
		r.handOn()
		left := r.departed()
		r.mu.Unlock()
		r.reapAll(left)
	}
}
