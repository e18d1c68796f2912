package shm

import (
	"context"
	"slices"
)

// Claim takes a free slot for the caller to fill. It blocks until every group has let one go, and ends early
// with ctx's error or ErrClosed. One goroutine claims at a time.
//
// Order: the load-acquire of a word that says FREE [F2] pairs with F1, the store-release in spdl_release
// (capi/client/ring.c): every read of the old batch happened before the first write of the new one.
func (r *Ring) Claim(ctx context.Context) (*Slot, error) {
	for {
		s, err := r.tryClaim()
		if err != nil {
			return nil, err
		}
		if s != nil {
			if err := r.awaitReserved(ctx, s); err != nil {
				r.Abandon(s)
				return nil, err
			}
			if err := r.touch(s.index); err != nil {
				r.Abandon(s)
				return nil, because(err, ErrNoMemory, "shm: ring %q: slot %d of %d bytes: %v; the memory limit is below what the ring reserved", r.cfg.label(), s.index, r.geo.slotStride, err)
			}
			return s, Fault("slot.take")
		}
		r.parking.Reset(parkSlice)
		select {
		case <-r.kick:
		case <-r.parking.C:
		case <-r.closing:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryClaim looks for a free slot, makes room by policy, and parks: parked is set before the last look [P1:
// seq-cst], and a member that frees a word reads it after its own seq-cst fence, so one of the two sees the other.
func (r *Ring) tryClaim() (*Slot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	s := r.findFree()
	if s == nil && r.shed() {
		s = r.findFree()
	}
	if s == nil {
		r.state.Parked.Store(1)
		s = r.findFree()
		r.settle()
	}
	if s != nil {
		r.unpark()
		s.claimed = true
	}
	return s, nil
}

func (r *Ring) unpark() {
	if r.state.Parked.Load() != 0 && (r.device == nil || !r.device.short) {
		r.state.Parked.Store(0)
	}
}

// findFree is a slot that no group and no producer holds, or nil.
func (r *Ring) findFree() *Slot {
	for k := range r.slots {
		i := r.scan + k
		if i >= len(r.slots) {
			i -= len(r.slots)
		}
		if !r.slots[i].claimed && r.slotFree(i) {
			r.scan = i + 1
			if r.scan == len(r.slots) {
				r.scan = 0
			}
			return &r.slots[i]
		}
	}
	return nil
}

func (r *Ring) slotFree(i int) bool {
	if r.slots[i].way.on {
		return false // between two stages every word says FREE
	}
	for _, g := range r.groups {
		if !g.free(i) {
			return false
		}
	}
	return true
}

// Abandon gives back a claimed slot that will not be published.
func (r *Ring) Abandon(s *Slot) {
	r.mu.Lock()
	s.claimed = false
	r.mu.Unlock()
	r.wakeClaim()
}

func (r *Ring) wakeClaim() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// Publish makes the slot visible to every group, or to the first stage, and ends this producer's claim: its memory must not be written
// again until Claim returns it. Tickets increase from call to call, but for those that were announced as Batch.Open; gaps are
// allowed. It blocks while there is no group, and never for a slow one.
//
// Order: all stores to the slot and its descriptor happen before the store-release of the word [R1, in queue.go], which pairs
// with A1, the load-acquire in spdl_acquire (capi/client/ring.c).
//
// It returns ErrClosed, ctx's error while it waits for a group, and ErrArgument for a batch that makes no sense.
// The claim goes on after an error.
func (r *Ring) Publish(ctx context.Context, s *Slot, b Batch) error {
	if err := Fault("publish.store"); err != nil {
		return err
	}
	for {
		wait, err := r.tryPublish(s, &b)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-r.closing:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryPublish publishes, or returns what to wait for.
func (r *Ring) tryPublish(s *Slot, b *Batch) (<-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	if err := r.checkBatch(s, b); err != nil {
		return nil, err
	}
	if !r.anyGroup() {
		return r.changed, nil
	}
	lane := uint32(b.Ticket % uint64(r.cfg.Lanes))
	if err := s.describe(b, lane); err != nil {
		return nil, err
	}
	if err := r.plan(b); err != nil {
		return nil, err
	}
	s.claimed = false
	s.desc.PublishedNS = monotonicNS() // now that all is ready: the next stores are what others see
	if len(r.stages) > 0 {
		r.send(s)
	} else {
		r.deliver(s)
	}
	r.passed(lane, b.Epoch, b.LastOfEpoch)
	_ = Fault("wake")
	if len(r.stages) > 0 {
		r.stages[0].announce(lane)
	} else {
		r.announce(lane)
	}
	if r.device != nil && r.device.off {
		r.handOn() // nobody else says that the last stage is through
	}
	if r.state.Parked.Load() != 0 {
		r.wakeClaim() // published to nobody, as after a restart, the slot is free again and no member says so
	}
	return nil, nil
}

// deliver puts a slot into the queues of every consumers' group.
func (r *Ring) deliver(s *Slot) {
	for _, g := range r.groups {
		if g.cfg.Kind == KindConsumer {
			g.publish(s.index, s.desc.Lane.Load(), s.desc.Ticket, s.desc.Epoch.Load())
			_ = Fault("publish.group")
		}
	}
}

// announce tells every group that may have news in lane.
func (r *Ring) announce(lane uint32) {
	for _, g := range r.groups {
		g.announce(lane)
	}
}

// passed notes that the batch that was planned is in every group. The ticket is stored last: an engine that adopts the ring
// believes a batch that is neither below the next ticket nor late to be unfinished (see finishPublish).
func (r *Ring) passed(lane uint32, epoch uint64, last bool) {
	if last {
		epoch++
	}
	r.setLaneEpoch(int(lane), max(r.laneEpoch[lane], epoch))
	if r.published++; r.published == 1 {
		close(r.flowing)
	}
	r.state.Published.Store(r.published)
	r.goOn()
}

// setLaneEpoch says which epoch the next batch of lane belongs to.
func (r *Ring) setLaneEpoch(lane int, epoch uint64) {
	r.laneEpoch[lane] = epoch
	r.state.LaneEpoch[lane].Store(epoch)
}

func (r *Ring) checkBatch(s *Slot, b *Batch) error {
	switch {
	case s.ring != r || !s.claimed:
		return refuse(ErrArgument, "shm: ring %q: publish of slot %d: it is not claimed", r.cfg.label(), s.index)
	case len(b.Open) > 0 && !r.cfg.Ready:
		return refuse(ErrArgument, "shm: ring %q: publish of ticket %d: %d earlier ones are to come, want none in a ring that publishes in order", r.cfg.label(), b.Ticket, len(b.Open))
	case b.Ticket < r.nextTicket && !slices.Contains(r.late, b.Ticket):
		return refuse(ErrArgument, "shm: ring %q: publish of ticket %d: want %d or more", r.cfg.label(), b.Ticket, r.nextTicket)
	case b.Rows < 0 || b.Rows > r.cfg.BatchRows:
		return refuse(ErrArgument, "shm: ring %q: publish of ticket %d: %d rows, want 0 to %d", r.cfg.label(), b.Ticket, b.Rows, r.cfg.BatchRows)
	}
	return nil
}

func (r *Ring) anyGroup() bool {
	for _, g := range r.groups {
		if g.phase == phaseActive || g.rebuilds() {
			return true
		}
	}
	return false
}

// EndEpoch says that lane has no batch of epoch left to publish. Publishing a batch with LastOfEpoch says the
// same; this is for an epoch whose last batch is skipped, as after a restart or a load.
func (r *Ring) EndEpoch(lane int, epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || epoch < r.laneEpoch[lane] {
		return
	}
	r.setLaneEpoch(lane, epoch+1)
	for _, g := range r.groups {
		g.announce(uint32(lane))
		_ = Fault("epoch.end")
	}
}
