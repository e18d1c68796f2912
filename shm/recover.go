package shm

import (
	"cmp"
	"fmt"
	"os"
	"slices"
)

// recover builds the engine's books from what lies in shared memory. Members may claim, complete and release while it
// does: a word is read once, believed, and watched from then on as any word is. An engine may be killed in here, too; nothing is
// written before it is true.
func (r *Ring) recover() error {
	r.viewHeader()
	var err error
	if r.data, err = r.adoptSegment(r.base+".d", r.geo.dataBytes, r.cfg.Access == Shared); err != nil {
		return err
	}
	if r.header.peer, err = r.header.viewer(); err != nil {
		r.header.peer = r.header.file
		return because(err, ErrSystem, "shm: adopt %q: open read-only: %v", r.header.path, err)
	}
	r.huge = hugePages(r.data.mem)
	r.makeSlots()
	for i := range r.touched {
		r.touched[i] = true // and what is in them is worth keeping
	}
	r.published, r.violations = r.state.Published.Load(), r.state.Violations.Load()
	r.recoverTickets()
	r.lastOwner, r.lastGroup = r.state.LastOwner.Load(), r.state.LastGroup.Load()
	for lane := range r.laneEpoch {
		r.laneEpoch[lane] = r.state.LaneEpoch[lane].Load()
	}
	if err := r.adoptGroups(); err != nil {
		return err
	}
	if err := r.adoptStages(); err != nil {
		return err
	}
	if err := r.adoptMembers(); err != nil {
		return err
	}
	for _, g := range r.groups {
		if err := g.believe(); err != nil {
			return err
		}
	}
	if err := r.recoverWays(); err != nil {
		return err
	}
	if err := r.recoverUploads(); err != nil {
		return err
	}
	if err := r.removeStrays(); err != nil {
		return err
	}
	r.takeOver()
	return nil
}

// takeOver makes the ring ours: from here on it cannot fail.
func (r *Ring) takeOver() {
	r.head.EnginePID = uint32(os.Getpid())
	r.head.Generation++
	_ = Fault("adopt.mid")
	for _, g := range r.groups {
		g.account()
	}
	if len(r.stages) > 0 {
		r.finishWays()
	} else {
		r.finishPublish()
	}
	if r.device != nil {
		r.loseDevice(false) // its uploader ended with the engine, or with adoptMember
	}
	for _, g := range r.groups {
		go g.listen()
		go g.ringer(g.bell)
	}
	for _, g := range slices.Clone(r.groups) {
		for _, m := range slices.Clone(g.members) {
			if m == nil {
				continue
			}
			if m.pidfd == nil {
				r.reap(m, "death")
				continue
			}
			r.work.Add(1)
			go r.watchMember(m)
		}
	}
	r.mu.Lock()
	for _, g := range r.groups {
		r.announceAll(g) // an epoch may have ended with nobody told
		g.wakeMembers()
	}
	r.settle()
	r.handOn()
	r.mu.Unlock()
}

// adoptGroups opens the segments of the groups that are not gone.
func (r *Ring) adoptGroups() error {
	for i := range r.geo.maxGroups {
		rec := at[GroupRecord](r.header.mem, r.geo.groupOff+256*uint64(i))
		if err := r.adoptGroup(i, rec); err != nil {
			return err
		}
	}
	slices.SortFunc(r.groups, func(a, b *group) int { return cmp.Compare(a.rec.ID, b.rec.ID) })
	return nil
}

func (r *Ring) adoptGroup(index int, rec *GroupRecord) error {
	name := text(rec.Name[:])
	state := rec.State.Load()
	if state == GroupAbsent || state == GroupClosed && !r.hasOwners(rec.ID) {
		if rec.Declared != 0 {
			r.records[index] = &group{} // a declared group keeps its record
		}
		return nil
	}
	if state == GroupBroken {
		return refuse(ErrState, "shm: adopt %q: group %q was damaged by a member, so nobody knows what it had completed; %s", r.cfg.label(), name, adoptRemedy)
	}
	g := &group{
		r: r, declared: rec.Declared != 0, index: index, queueAt: int(rec.FirstQueue), lanes: int(rec.NLanes), rec: rec, minEpoch: rec.MinEpoch.Load(),
		cfg:  GroupConfig{Name: name, Kind: Kind(rec.Kind), Mode: Mode(rec.Mode), Slow: Slow(rec.Slow), NoRedeliver: rec.Redeliver == 0},
		bell: make(chan struct{}, 1),
	}
	if state == GroupClosed {
		g.phase, g.why = phaseClosing, "it was ended by the engine before this one"
	}
	if g.lanes != queuesOf(g.cfg.Mode, r.cfg.Lanes) || g.queueAt+g.lanes > r.geo.maxQueues {
		return refuse(ErrState, "shm: adopt %q: group %q has %d queues from %d on; %s", r.cfg.label(), name, g.lanes, g.queueAt, adoptRemedy)
	}
	var err error
	if g.seg, err = r.adoptSegment(fmt.Sprintf("%s.g%d", r.base, rec.ID), rec.SegmentBytes, false); err != nil {
		return err
	}
	head, err := checkGroup(g.seg.mem, r.head)
	if err == nil && (head.GroupID != rec.ID || int(head.MaxMembers) != r.cfg.MaxConsumers || int(head.NLanes) != g.lanes || head.WordStride != 128 || head.MemberStride != 256) {
		err = fmt.Errorf("its head says group %d, %d members, %d lanes", head.GroupID, head.MaxMembers, head.NLanes)
	}
	if err == nil {
		g.space, err = newEar()
	}
	if err != nil {
		g.seg.path = ""
		g.seg.close()
		return because(err, ErrState, "shm: adopt %q: group %q: %v; %s", r.cfg.label(), name, err, adoptRemedy)
	}
	g.view(head, int(head.NEntries))
	g.queue = manyAt[Queue](r.header.mem, r.geo.queueOff+128*uint64(g.queueAt), g.lanes)
	r.records[index] = g
	r.groups = append(r.groups, g)
	for q := range g.lanes {
		r.queueUsed[g.queueAt+q] = true
	}
	return nil
}

func (r *Ring) hasOwners(group uint32) bool {
	for i := range r.owners {
		if o := &r.owners[i]; o.Owner.Load() != 0 && o.GroupID == group {
			return true
		}
	}
	return false
}

// adoptMembers makes the members that the header tells of, and clears what the groups say of others.
func (r *Ring) adoptMembers() error {
	for i := range r.owners {
		if r.owners[i].Owner.Load() == 0 {
			continue
		}
		m, err := r.adoptMember(i)
		if err != nil {
			return err
		}
		if m == nil {
			r.owners[i].Owner.Store(0)
		}
	}
	for _, g := range r.groups {
		for i, m := range g.members {
			if m == nil {
				g.records[i].Owner.Store(0)
			}
		}
		g.rec.Members.Store(uint32(g.nMembers()))
	}
	return nil
}

// believe reads the queues' tails and every word of the group, and refuses what no run can have left. An entry that the
// dead engine did not come to write, though the word says so, is written now.
func (g *group) believe() error {
	for q := range g.lane {
		g.lane[q].tail, g.lane[q].again = g.queue[q].Tail.Load(), g.queue[q].RedoTail.Load()
	}
	for i := range g.words {
		w := g.words[i].Word.Load()
		g.shadow[i] = shadow{word: w, attempts: g.words[i].Attempts.Load()}
		if why := g.implausible(i, w); why != "" {
			return refuse(ErrState, "shm: adopt %q: group %q: slot %d: word %016x: %s: a member damaged it; %s", g.r.cfg.label(), g.cfg.Name, i, w, why, adoptRemedy)
		}
	}
	return nil
}

// implausible says why no run can have left this word; "" if one can.
func (g *group) implausible(i int, w uint64) string {
	switch state := stateOf(w); {
	case state > wordDone:
		return "no such state"
	case (state == wordHeld || state == wordDone) && g.memberOf(ownerOf(w)) == nil:
		return "held by nobody who is a member"
	case (state == wordFree || state == wordReady) && ownerOf(w) != 0:
		return "an owner where none can be"
	case g.r.device != nil && g.cfg.Kind == KindConsumer && isAway(w):
		return ""
	case state == wordReady:
		return g.requeue(i, seqOf(w))
	}
	return ""
}

// requeue makes sure that the entry of a READY word is in its queue. At most one can be missing, at the tail: the engine was
// killed between the word and the tail, and nobody can have claimed it.
func (g *group) requeue(i int, seq uint64) string {
	at := seq &^ seqRedo
	q, p := int(at%uint64(g.lanes)), at/uint64(g.lanes)
	v := &g.lane[q]
	ring, tail, shared := v.ready, &v.tail, &g.queue[q].Tail
	if seq&seqRedo != 0 {
		ring, tail, shared = v.redo, &v.again, &g.queue[q].RedoTail
	}
	entry := &ring[p&uint64(len(ring)-1)]
	switch {
	case p > *tail:
		return "a sequence never handed out"
	case p == *tail:
		entry.Store(packEntry(seq, i))
		*tail++
		shared.Store(*tail)
	case entry.Load() != packEntry(seq, i):
		return "ready, and in no queue"
	}
	return ""
}

// finishPublish completes the one batch that the dead engine may have published to some groups and not to others: the one that a
// queue has, or was about to get, and that nothing says is published. Payload and descriptor were complete before the first group's
// word.
func (r *Ring) finishPublish() {
	begun := -1
	for _, g := range r.groups {
		for q := range g.queue {
			if put := g.queue[q].PutTicket.Load(); put > 0 && r.isOpen(put-1) && g.phase == phaseActive {
				begun = int(g.queue[q].PutSlot)
			}
		}
	}
	if begun < 0 || begun >= len(r.slots) || !r.isOpen(r.slots[begun].desc.Ticket) {
		return
	}
	d := r.slots[begun].desc
	for _, g := range r.groups {
		if !g.has(begun, d) {
			g.publish(begun, d.Lane.Load(), d.Ticket, d.Epoch.Load())
		}
	}
	r.planned.next = max(r.planned.next, d.Ticket+1)
	r.passed(d.Lane.Load(), d.Epoch.Load(), d.Flags&FlagLast != 0)
}

// has says that the batch of descriptor d was put into the group's queue whole: that it is the last one put, and the tail
// behind it.
func (g *group) has(slot int, d *Desc) bool {
	queue := &g.queue[g.queueOf(d.Lane.Load())]
	return queue.PutTicket.Load() == d.Ticket+1 && int(queue.PutSlot) == slot && queue.Tail.Load() > queue.PutAt
}

// account sets the group's counters. Those that may be one behind, for the engine was killed before it counted, follow from
// the queues; what is completed is what is left.
func (g *group) account() {
	published, redelivered := max(g.published, g.rec.Published.Load()), uint64(0)
	for q := range g.queue {
		if queue := &g.queue[q]; queue.PutTicket.Load() != 0 && queue.Tail.Load() > queue.PutAt {
			published = max(published, queue.PutCount)
		}
		redelivered += g.queue[q].RedoTail.Load()
	}
	g.published, g.redelivered = published, max(redelivered, g.rec.Redelivered.Load())
	g.dropped, g.discarded, g.violations = g.rec.Dropped.Load(), g.rec.Discarded.Load(), g.rec.Violations.Load()
	if g.cfg.Kind.stage() {
		g.completed = g.rec.Completed.Load() // what was spoiled was published, and not completed
	} else if over := uint64(len(undone(g.r, g.shadow))) + g.dropped + g.discarded; over < published {
		g.completed = published - over
	}
	g.rec.Published.Store(g.published)
	g.rec.Redelivered.Store(g.redelivered)
	g.rec.Completed.Store(g.completed)
}
