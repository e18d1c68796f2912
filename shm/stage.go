package shm

import (
	"context"
	"fmt"
)

// Stage groups: each has a batch alone, may write its slot, and hands it on by letting go of it. The batch goes from stage
// to stage in the order of their declaration, and then to the consumers:
//
//	Publish -> stage 0 -> stage 1 -> ... -> every group of consumers
//	              ^ Restore   | a worker died with the batch in its hands
//	              +-- decoded again <-- NextSpoiled
//
// Nothing passes the batch before it, so every group gets its batches in ticket order. An epoch is over for a stage, as for
// the consumers, when its last batch has left the last stage: until then any of them may come back to the first. The
// protocol is tests/model/stage.pml.

// way is a slot's way through the stages.
type way struct {
	on      bool   // between its publish and its consumers; Ring.onWay lists these
	at      int    // the stage that has it, or is through with it
	again   uint32 // how often it was made again
	spoiled bool   // its content is nothing to look at: it has to be made again
	making  bool   // NextSpoiled has given it out
	failure string // what its worker said of it; "": the worker died
	void    bool   // called back: nobody gets it any more
	waiting bool   // for a device slot, before the uploader is offered it
}

// stage says that groups of this kind have a batch before consumers do.
func (k Kind) stage() bool { return k == KindStage || k == KindUploader }

func (c *Config) staged() bool {
	for _, g := range c.Groups {
		if g.Kind.stage() {
			return true
		}
	}
	return false
}

// isStage says that a stage of that name is declared.
func (r *Ring) isStage(name string) bool {
	for _, g := range r.stages {
		if g.cfg.Name == name {
			return true
		}
	}
	return false
}

// consumers are the groups that are no stages.
func (r *Ring) consumers() (groups []*group) {
	for _, g := range r.groups {
		if g.cfg.Kind == KindConsumer {
			groups = append(groups, g)
		}
	}
	return groups
}

// nextForConsumers is the ticket of the next batch that consumers get: the first on its way, or not yet published.
func (r *Ring) nextForConsumers() uint64 {
	for _, i := range r.onWay {
		if s := &r.slots[i]; s.way.on && !s.way.void {
			return s.desc.Ticket
		}
	}
	return r.nextTicket
}

// nextEpoch is the epoch of the next batch of lane that consumers get.
func (r *Ring) nextEpoch(lane int) uint64 {
	next := r.laneEpoch[lane]
	for _, t := range r.late {
		if n := uint64(r.cfg.Lanes); int(t%n) == lane {
			next = min(next, t/n/r.cfg.StepsPerEpoch)
		}
	}
	for _, i := range r.onWay {
		if s := &r.slots[i]; s.way.on && !s.way.void && int(s.desc.Lane.Load()) == lane {
			next = min(next, s.desc.Epoch.Load())
		}
	}
	return next
}

// ---- the way -------------------------------------------------------------------------------------

// send puts a slot that was just published on its way.
func (r *Ring) send(s *Slot) {
	if r.device != nil {
		r.takeDevice(s)
		s.desc.Pool, s.desc.FenceKind = 0, 0
	}
	s.way = way{on: true}
	r.onWay = append(r.onWay, s.index)
	r.offer(s.index)
}

// noteWay notes where the slot is on its way, for an engine that adopts the ring (see recoverWays).
func (s *Slot) noteWay(state uint64) {
	w := &s.way
	if w.void {
		state |= wayVoid
	}
	s.desc.Way.Store(state | uint64(w.at)<<wayStageShift | uint64(w.again)<<wayAgainShift)
	_ = Fault("stage.way")
}

// offer puts a slot into the queue of the stage it is at: one that was made again into the queue that is looked at
// first.
func (r *Ring) offer(i int) {
	s := &r.slots[i]
	g := r.stages[s.way.at]
	s.noteWay(wayMoving)
	if g.cfg.Kind == KindUploader && s.device < 0 && (r.device.off || !r.lend(s)) {
		s.way.waiting = true
		return
	}
	defer s.noteWay(waySet)
	g.count(&g.published, &g.rec.Published, 1)
	switch {
	case g.phase == phaseBroken:
		g.shadow[i] = shadow{word: packWord(wordReady, 0, 0)} // waits for the fresh segment
	case s.way.again > 0:
		g.shadow[i].attempts = max(g.shadow[i].attempts, s.way.again)
		g.redeliver(i)
	default:
		g.enqueue(i, 0, s.desc.Ticket, 1)
	}
}

// sendAgain sends on its way what a broken stage had not completed, now that the stage has a fresh segment. What its members
// have seen, and perhaps written, is made again.
func (r *Ring) sendAgain(i int, seen bool) {
	switch s := &r.slots[i]; {
	case s.way.void:
	case seen:
		r.spoil(i, "")
	default:
		r.offer(i)
	}
}

// hearStage hands on what a stage's workers may be through with.
func (r *Ring) hearStage() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.handOn()
	}
}

// handOn moves every batch that its stage is through with to the next, unless the batch before it would be passed.
func (r *Ring) handOn() {
	if r.withdrawn {
		return
	}
	limit := len(r.stages) // how far the batches before have come
	if r.device != nil {
		r.device.short = false
		if r.giveAgain() {
			limit-- // nothing comes to consumers before what was in their queues already
		}
	}
	kept := 0
	for _, i := range r.onWay {
		if r.advance(i, limit) {
			continue
		}
		if w := &r.slots[i].way; !w.void {
			limit = min(limit, w.at)
		}
		r.onWay[kept] = i
		kept++
	}
	r.onWay = r.onWay[:kept]
}

// advance moves one slot on as far as it may go, and says whether it has come to its end.
func (r *Ring) advance(i, limit int) bool {
	s := &r.slots[i]
	for !s.way.spoiled && !r.waits(s) && r.stages[s.way.at].through(i) {
		switch next := s.way.at + 1; {
		case s.way.void:
			s.leaveWay()
			r.wakeClaim()
			return true
		case s.way.at >= limit:
			return false
		case next < len(r.stages):
			s.way.at = next
			r.offer(i)
			r.stages[next].wakeLane(0, false)
		case !r.anyConsumers():
			return false
		default:
			r.arrive(s)
			return true
		}
	}
	return false
}

// through says that no member of this stage has slot i any more, nor will get it.
func (g *group) through(i int) bool {
	if g.phase != phaseBroken {
		g.look(i)
	}
	state := stateOf(g.shadow[i].word)
	return state == wordFree || state == wordDone
}

// anyConsumers says that somebody may get what has passed the stages. Without any it waits, as what is not published does.
func (r *Ring) anyConsumers() bool {
	for _, g := range r.groups {
		if g.cfg.Kind == KindConsumer && (g.phase == phaseActive || g.rebuilds()) {
			return true
		}
	}
	return false
}

// leaveWay ends a slot's way.
func (s *Slot) leaveWay() {
	s.way.on = false
	s.noteWay(wayOff)
}

// arrive gives a slot that has passed every stage to the consumers.
func (r *Ring) arrive(s *Slot) {
	if r.device != nil {
		r.settleUpload(s)
	}
	s.way.at = len(r.stages)
	s.noteWay(wayMoving)
	s.desc.PublishedNS = monotonicNS()
	r.deliver(s)
	s.leaveWay()
	lane := s.desc.Lane.Load()
	for _, g := range r.groups {
		if g.cfg.Kind == KindConsumer || g.nextEpoch(0) != g.queue[0].NextEpoch.Load() {
			g.announce(lane)
		}
	}
	if r.state.Parked.Load() != 0 {
		r.wakeClaim() // delivered to nobody, as after a restart
	}
}

// callBack has nobody get what is on its way: unclaimed slots go at once, others when their workers let go.
func (r *Ring) callBack() {
	for _, i := range r.onWay {
		s := &r.slots[i]
		s.way.void = true
		s.noteWay(waySet)
		r.stages[s.way.at].discard(i)
	}
	if r.device != nil {
		for _, i := range r.device.again {
			r.device.group.discard(i)
		}
	}
	r.handOn()
}

// ---- made again ----------------------------------------------------------------------------------

// spoil has slot i made again: its worker died with it, or said that it failed.
func (r *Ring) spoil(i int, failure string) {
	s := &r.slots[i]
	if s.way.void {
		return
	}
	s.way.spoiled, s.way.failure = true, failure
	what := "failed" // why, who makes it again says
	if failure == "" {
		what = "again"
		s.way.again++
	}
	s.noteWay(waySpoiled)
	r.report(Event{What: what, Group: r.stages[s.way.at].cfg.Name, Text: fmt.Sprintf("batch %d", s.desc.Ticket)})
	select {
	case r.spoils <- struct{}{}:
	default:
	}
}

// failed takes a batch back that the member says it cannot transform, or that an uploader cannot upload as it is: that one is made again, and
// keeps its device slot, since later batches have the others.
func (r *Ring) failed(m *member, f Fail, text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := m.group
	switch {
	case r.closed || g.members[m.index] != m || g.phase == phaseBroken:
		return refuse(ErrDetached, "shm: ring %q: fail: member %d has left", r.cfg.label(), m.owner)
	case !g.cfg.Kind.stage() || g.cfg.Kind == KindUploader && !r.cfg.Device.GivesBack:
		return refuse(ErrArgument, "shm: ring %q: fail: group %q is no stage; release the batch", r.cfg.label(), g.cfg.Name)
	case f.Slot >= uint32(len(r.slots)) || ownerOf(f.Word) != m.owner || stateOf(f.Word) != wordHeld:
		return refuse(ErrArgument, "shm: ring %q: fail: slot %d, word %016x: no lease of member %d", r.cfg.label(), f.Slot, f.Word, m.owner)
	}
	i, free := int(f.Slot), packWord(wordFree, 0, seqOf(f.Word))
	s := &r.slots[i]
	if !g.look(i) || g.shadow[i].word != f.Word {
		return refuse(ErrStale, "shm: ring %q: fail: slot %d: the lease has ended already", r.cfg.label(), i)
	}
	if !s.way.on {
		return refuse(ErrState, "shm: ring %q: fail: batch %d has been uploaded before, so it can be", r.cfg.label(), s.desc.Ticket)
	}
	s.noteWay(waySpoiled) // before the word says FREE: who is through with a batch and who spoiled it must not look the same
	if !g.words[i].Word.CompareAndSwap(f.Word, free) {
		s.noteWay(waySet)
		return refuse(ErrStale, "shm: ring %q: fail: slot %d: the lease has ended already", r.cfg.label(), i)
	}
	g.shadow[i].word = free
	if text == "" {
		text = "no reason given"
	}
	if g.cfg.Kind == KindUploader {
		s.way.again++
	}
	r.spoil(i, text[:min(len(text), whyMax)])
	r.handOn() // it may have been called back
	return nil
}

// Spoiled is a batch that has to be made again. Until Restore its slot belongs to the caller, as after Claim.
type Spoiled struct {
	Slot    *Slot
	Ticket  uint64
	Rows    int
	Group   string // the stage that had it
	Failure string // what the stage's worker said of it; "": the worker died
	Anew    bool   // the batch begins at the first stage again: the worker died, or is an uploader
}

// NextSpoiled waits for a batch to be made again. One goroutine at a time calls it. It ends with ctx's error or
// ErrClosed.
func (r *Ring) NextSpoiled(ctx context.Context) (Spoiled, error) {
	for {
		if sp, ok, err := r.takeSpoiled(); ok || err != nil {
			return sp, err
		}
		select {
		case <-r.spoils:
		case <-r.closing:
		case <-ctx.Done():
			return Spoiled{}, ctx.Err()
		}
	}
}

func (r *Ring) takeSpoiled() (sp Spoiled, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return sp, false, ErrClosed
	}
	for _, i := range r.onWay {
		if s := &r.slots[i]; s.way.spoiled && !s.way.making {
			s.way.making = true
			return Spoiled{s, s.desc.Ticket, int(s.desc.Rows), r.stages[s.way.at].cfg.Name, s.way.failure, r.anew(s)}, true, nil
		}
	}
	return sp, false, nil
}

// anew says that a spoiled batch begins at the first stage again.
func (r *Ring) anew(s *Slot) bool {
	return s.way.failure == "" || r.stages[s.way.at].cfg.Kind == KindUploader
}

// Restore sends a batch that was made again on its way: to the first stage, under the same ticket and flagged with one more
// attempt, or past the stage whose worker said that it failed. It returns ErrClosed, and ErrArgument for a batch that makes
// no sense.
func (r *Ring) Restore(s *Slot, b Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case s.ring != r || !s.way.making || b.Ticket != s.desc.Ticket:
		return refuse(ErrArgument, "shm: ring %q: restore of ticket %d in slot %d: it was not asked for", r.cfg.label(), b.Ticket, s.index)
	case b.Rows < 0 || b.Rows > r.cfg.BatchRows:
		return refuse(ErrArgument, "shm: ring %q: restore of ticket %d: %d rows, want 0 to %d", r.cfg.label(), b.Ticket, b.Rows, r.cfg.BatchRows)
	}
	if err := s.describe(&b, s.desc.Lane.Load()); err != nil {
		return err
	}
	_ = Fault("stage.restore")
	w := &s.way
	anew := r.anew(s)
	w.spoiled, w.making, w.failure = false, false, ""
	if anew && !w.void {
		if w.at = 0; r.device != nil && r.device.off {
			r.takeDevice(s)
		}
		r.offer(s.index)
		r.stages[0].wakeLane(0, false)
	} else {
		s.noteWay(waySet)
	}
	r.handOn()
	return nil
}
