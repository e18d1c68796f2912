package shm

import "unsafe"

// queueOf is the queue in which batches of a ring lane travel.
func (g *group) queueOf(lane uint32) int {
	if g.lanes == 1 {
		return 0
	}
	return int(lane)
}

// nextEpoch is the epoch of the next batch that queue q will get: the least over its lanes.
func (g *group) nextEpoch(q int) uint64 {
	next := g.r.nextEpoch(q)
	if g.lanes == 1 {
		for lane := range g.r.laneEpoch {
			next = min(next, g.r.nextEpoch(lane))
		}
	}
	return max(next, g.minEpoch)
}

// rebuilds says that this broken group comes back with a fresh segment: it must not miss a ticket meanwhile.
func (g *group) rebuilds() bool { return g.declared && g.phase == phaseBroken }

// publish puts slot i into the group's queue of lane: attempts, word, entry, tail, each after the other. The slot is
// free in this group; a word that says otherwise was written by a liar.
func (g *group) publish(i int, lane uint32, ticket, epoch uint64) {
	if epoch < g.minEpoch {
		return
	}
	if g.rebuilds() {
		g.shadow[i] = shadow{word: packWord(wordReady, 0, 0)} // waits for the fresh segment
		g.count(&g.published, &g.rec.Published, 1)
		return
	}
	if g.phase != phaseActive {
		return
	}
	g.published++
	g.enqueue(i, g.queueOf(lane), ticket, 1)
	g.rec.Published.Store(g.published)
}

// enqueue hands slot i out through queue q's ready ring. What is being put is noted first, the ticket last: if we are killed
// on the way, the next engine sees how far we came (see finishPublish).
func (g *group) enqueue(i, q int, ticket uint64, attempts uint32) {
	v, sh, w := &g.lane[q], &g.shadow[i], &g.words[i]
	queue := &g.queue[q]
	queue.PutAt, queue.PutCount, queue.PutSlot = v.tail, g.published, uint32(i)
	queue.PutTicket.Store(ticket + 1)
	_ = Fault("publish.put")
	seq := v.tail*uint64(g.lanes) + uint64(q)
	if seq >= seqRedo {
		g.close("it has used up its 2^39 sequences; attach again")
		return
	}
	g.lap(q)
	was := sh.word
	sh.word, sh.attempts = packWord(wordReady, 0, seq), attempts
	w.Attempts.Store(attempts)
	w.ClaimedNS.Store(0)
	w.DoneNS.Store(0)
	// R1: store-release of the word; pairs with A1, the load-acquire in spdl_acquire (capi/client/ring.c): whoever
	// sees READY sees the descriptor and the payload.
	if !w.Word.CompareAndSwap(was, sh.word) {
		g.accuse(i, w.Word.Load(), "written while the engine filled the slot")
		return
	}
	_ = Fault("publish.word")
	v.ready[v.tail&uint64(len(v.ready)-1)].Store(packEntry(seq, i))
	v.tail++
	// R2: store-release of the tail; pairs with A2, the load-acquire of it (claim_from in capi/client/ring.c): whoever
	// sees the tail sees the entry.
	queue.Tail.Store(v.tail)
}

// lap sees to the batch whose entry the next one of queue q is about to overwrite: READY, and in no queue, nobody could ever claim it.
// Members claim in order, so it is long claimed, but for one that a drop group has kept while later ones were shed, as another
// group keeps its slot: that one is dropped, too. Elsewhere some member has made the others pass it.
func (g *group) lap(q int) {
	v := &g.lane[q]
	n := uint64(len(v.ready))
	if v.tail < n {
		return
	}
	i := entrySlot(v.ready[v.tail&(n-1)].Load())
	ready := packWord(wordReady, 0, (v.tail-n)*uint64(g.lanes)+uint64(q))
	if i >= uint64(len(g.shadow)) || !g.look(int(i)) || g.shadow[i].word != ready {
		return
	}
	if g.cfg.Slow != SlowDrop {
		g.accuse(int(i), ready, "passed by its members")
	} else if g.discard(int(i)) {
		g.count(&g.dropped, &g.rec.Dropped, 1)
	}
}

// redeliver hands slot i out again through the redo ring of its lane, under a new sequence. The caller has
// seen it HELD by a member proved dead.
func (g *group) redeliver(i int) {
	q := g.queueOf(g.r.slots[i].desc.Lane.Load())
	v, sh, w := &g.lane[q], &g.shadow[i], &g.words[i]
	seq := seqRedo | (v.again*uint64(g.lanes) + uint64(q))
	was := sh.word
	sh.word = packWord(wordReady, 0, seq)
	sh.attempts++
	w.Attempts.Store(sh.attempts)
	if !w.Word.CompareAndSwap(was, sh.word) { // R1, as in enqueue
		g.accuse(i, w.Word.Load(), "written after its holder died")
		return
	}
	_ = Fault("reclaim.word")
	v.redo[v.again&uint64(len(v.redo)-1)].Store(packEntry(seq, i))
	v.again++
	g.queue[q].RedoTail.Store(v.again) // R2, as in enqueue
	g.count(&g.redelivered, &g.rec.Redelivered, 1)
}

// announce moves the epoch of lane's queue after its tail, and wakes who waits there.
func (g *group) announce(lane uint32) {
	if g.phase != phaseActive {
		return
	}
	q := g.queueOf(lane)
	if next := g.nextEpoch(q); next != g.queue[q].NextEpoch.Load() {
		// R3: store-release, after the tail; pairs with A3, the load-acquire where an epoch's end is looked for
		// (sp_end_of_epoch in capi/client/ring.c): who sees it sees every word of the epoch.
		g.queue[q].NextEpoch.Store(next)
	}
	g.wakeLane(q, false)
}

// wakeLane makes news known in queue q: the futex word moves, sleepers are woken, armed members get their event. With
// force the sleepers are woken without asking: whoever was to wake them may have died.
func (g *group) wakeLane(q int, force bool) {
	l := g.lane[q].rec
	// Clear first, then move: a waiter reads wake before it sets sleepers, so one that sets it after the exchange
	// either sees the news when it looks again or finds wake moved and does not sleep [W2, pairs with W1].
	asleep := l.Sleepers.Swap(0) != 0
	l.Wake.Add(1)
	if asleep || force {
		wakeAll(unsafe.Pointer(&l.Wake))
	}
	if l.Armed.Load() != 0 || force {
		g.ringBell()
	}
}

// wakeMembers wakes everybody in the group, to look at a state that changed.
func (g *group) wakeMembers() {
	for q := range g.lane {
		g.wakeLane(q, true)
	}
}
