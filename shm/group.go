package shm

import (
	"fmt"
	"math/bits"
	"os"
)

// phase is where a group is in its life.
type phase int

const (
	phaseActive  phase = iota
	phaseClosing       // ended: nothing is published to it; what its members lease still counts
	phaseBroken        // a member lied: the shadow alone counts until all its members are dead
)

// group is the engine's side of one group. Guarded by Ring.mu, except where a field says otherwise.
type group struct {
	r        *Ring
	cfg      GroupConfig
	declared bool
	index    int // of its record
	queueAt  int // index of its first queue record
	lanes    int // queues: ring lanes in a lanes group, 1 in a shared one
	phase    phase
	why      string // of the end
	minEpoch uint64 // batches of earlier epochs are not published to it

	rec   *GroupRecord
	lane  []laneView
	queue []Queue

	seg     *segment
	words   []Word
	records []MemberRecord
	shadow  []shadow
	members []*member // by index of their record; nil: free

	published, completed, redelivered, dropped, discarded, violations uint64
	told                                                              uint64 // completed when armed members were last told by the housekeeping

	done Progress // how far it had come when it ended

	space ear           // members write it when they free a slot or complete a batch
	bell  chan struct{} // one deep: somebody armed its event descriptor and there is news
}

// laneView is one queue of the group: the shared lane, and the engine's own tails.
type laneView struct {
	rec   *Lane
	ready []paddedWord
	redo  []paddedWord
	tail  uint64
	again uint64 // tail of redo
}

// addGroup makes a group's record, queues and segment. The group is active when it returns.
func (r *Ring) addGroup(cfg GroupConfig, declared bool) (*group, error) {
	g := &group{r: r, cfg: cfg, declared: declared, lanes: queuesOf(cfg.Mode, r.cfg.Lanes), bell: make(chan struct{}, 1)}
	g.index = r.freeRecord()
	g.queueAt = r.freeQueues(g.lanes)
	if g.index < 0 || g.queueAt < 0 {
		return nil, refuse(ErrBusy, "shm: ring %q: group %q: all %d groups are in use; detach a consumer or raise max_consumers", r.cfg.label(), cfg.Name, len(r.records))
	}
	var err error
	if g.space, err = newEar(); err != nil {
		return nil, err
	}
	g.rec = at[GroupRecord](r.header.mem, r.geo.groupOff+256*uint64(g.index))
	g.queue = manyAt[Queue](r.header.mem, r.geo.queueOff+128*uint64(g.queueAt), g.lanes)
	if err := g.makeSegment(); err != nil {
		g.space.end()
		return nil, err
	}
	g.writeRecord()
	g.rec.State.Store(GroupActive)
	r.records[g.index] = g
	for q := range g.lanes {
		r.queueUsed[g.queueAt+q] = true
	}
	r.groups = append(r.groups, g)
	if cfg.Kind.stage() {
		r.stages = append(r.stages, g)
	}
	if cfg.Kind == KindUploader {
		r.openUploads(g)
	}
	go g.listen()
	go g.ringer(g.bell)
	r.groupsChanged()
	return g, nil
}

// freeRecord is a group record to use: never a declared group's, whose index is the engine's name for it.
func (r *Ring) freeRecord() int {
	for i, g := range r.records {
		if g == nil {
			return i
		}
	}
	return -1
}

func (r *Ring) freeQueues(n int) int {
	for i := 0; i+n <= len(r.queueUsed); i++ {
		used := false
		for _, u := range r.queueUsed[i : i+n] {
			used = used || u
		}
		if !used {
			return i
		}
	}
	return -1
}

// makeSegment creates the group's segment: every word FREE with sequence 0, every cursor 0, the magic last.
func (g *group) makeSegment() error {
	c := &g.r.cfg
	g.r.lastGroup++
	g.r.state.LastGroup.Store(g.r.lastGroup)
	entries := uint64(1) << bits.Len(uint(c.Slots-1))
	head := GroupHead{
		LayoutMajor: LayoutMajor, LayoutMinor: LayoutMinor, RingUID: g.r.head.RingUID,
		GroupID: g.r.lastGroup, GroupIndex: uint32(g.index), NLanes: uint32(g.lanes), NSlots: uint32(c.Slots),
		NEntries: uint32(entries), MaxMembers: uint32(c.MaxConsumers),
		LaneOff: 256, ReadyOff: 512, RedoOff: roundUp(512+8*entries, lineBytes), WordStride: 128, MemberStride: 256,
	}
	head.LaneStride = head.RedoOff + roundUp(8*entries, lineBytes)
	head.WordOff = head.LaneOff + head.LaneStride*uint64(g.lanes)
	head.MemberOff = head.WordOff + head.WordStride*uint64(c.Slots)
	head.Bytes = roundUp(head.MemberOff+head.MemberStride*uint64(c.MaxConsumers), uint64(os.Getpagesize()))
	seg, err := newSegment(segmentSpec{backing: c.Backing, name: fmt.Sprintf("%s.g%d", g.r.base, head.GroupID), mode: c.Mode, size: head.Bytes})
	if err != nil {
		return err
	}
	if err := populate(seg.mem); err != nil {
		seg.close()
		return noRoom(g.r.base, c.Backing, head.Bytes)
	}
	at[GroupHead](seg.mem, 0).copyFrom(&head)
	if err := seg.seal(false); err != nil {
		seg.close()
		return err
	}
	g.seg = seg
	g.view(&head, int(entries))
	return nil
}

// copyFrom copies the constant part and stores the magic last.
func (h *GroupHead) copyFrom(from *GroupHead) {
	copy(bytesOf(h)[8:], bytesOf(from)[8:])
	h.Magic.Store(MagicGroup)
}

// view points into the new segment and starts a fresh shadow.
func (g *group) view(head *GroupHead, entries int) {
	mem := g.seg.mem
	g.words = manyAt[Word](mem, head.WordOff, g.r.cfg.Slots)
	g.records = manyAt[MemberRecord](mem, head.MemberOff, g.r.cfg.MaxConsumers)
	g.shadow = make([]shadow, g.r.cfg.Slots)
	g.members = make([]*member, g.r.cfg.MaxConsumers)
	g.lane = make([]laneView, g.lanes)
	for q := range g.lane {
		off := head.LaneOff + head.LaneStride*uint64(q)
		g.lane[q] = laneView{
			rec:   at[Lane](mem, off),
			ready: manyAt[paddedWord](mem, off+head.ReadyOff, entries),
			redo:  manyAt[paddedWord](mem, off+head.RedoOff, entries),
		}
	}
}

// writeRecord describes the group in the header; its state makes it visible, and is the caller's to store.
func (g *group) writeRecord() {
	rec, r := g.rec, g.r
	rec.ID, rec.Kind, rec.Mode, rec.NLanes = r.lastGroup, uint32(g.cfg.Kind), uint32(g.cfg.Mode), uint32(g.lanes)
	rec.FirstQueue, rec.Declared, rec.Slow, rec.Redeliver = uint32(g.queueAt), 0, uint32(g.cfg.Slow), 1
	if g.declared {
		rec.Declared = 1
	}
	if g.cfg.NoRedeliver {
		rec.Redeliver = 0
	}
	rec.PublishMask = ^uint64(0) >> (64 - r.cfg.Lanes)
	rec.FirstTicket, rec.SegmentBytes = r.nextForConsumers(), uint64(len(g.seg.mem))
	rec.MinEpoch.Store(g.minEpoch)
	rec.Members.Store(0)
	for _, counter := range []*paddedWord{&rec.Published, &rec.Completed, &rec.Redelivered, &rec.Dropped, &rec.Discarded, &rec.Violations} {
		counter.Store(0)
	}
	rec.Name = [nameBytes]byte{}
	copy(rec.Name[:nameBytes-1], g.cfg.Name)
	for q := range g.queue {
		queue := &g.queue[q]
		queue.Group, queue.Lane = uint32(g.index), uint32(q)
		queue.Tail.Store(0)
		queue.RedoTail.Store(0)
		queue.PutTicket.Store(0)
		queue.NextEpoch.Store(g.nextEpoch(q))
	}
}

func (g *group) setMinEpoch(epoch uint64) {
	g.minEpoch = epoch
	g.rec.MinEpoch.Store(epoch)
}

func (g *group) count(private *uint64, shared *paddedWord, n uint64) {
	*private += n
	shared.Store(*private)
}

// ---- end -----------------------------------------------------------------------------------------

// close ends the group: unclaimed batches go, leased ones stay until their holders let go.
func (g *group) close(why string) {
	if g.phase != phaseActive {
		return
	}
	if g.cfg.Kind == KindConsumer {
		g.done = g.progress(0, nil) // before what nobody claimed is discarded, which counts as completed
	}
	g.phase, g.why = phaseClosing, why
	g.rec.State.Store(GroupClosed)
	for i := range g.shadow {
		if g.discard(i) {
			g.count(&g.discarded, &g.rec.Discarded, 1)
		}
	}
	g.wakeMembers()
	g.r.report(Event{What: "closed", Group: g.cfg.Name, Text: why})
	g.r.groupsChanged()
}

// discard frees slot i if nobody has claimed it; it says whether it did.
func (g *group) discard(i int) bool {
	sh := &g.shadow[i]
	if !g.look(i) || stateOf(sh.word) != wordReady {
		return false
	}
	free := packWord(wordFree, 0, seqOf(sh.word))
	if !g.words[i].Word.CompareAndSwap(sh.word, free) {
		return false // claimed this moment
	}
	sh.word = free
	return true
}

// settle ends what is due: closing groups that hold nothing, broken ones whose members are all dead. It also
// closes undeclared groups without members.
func (r *Ring) settle() {
	kept := r.groups[:0]
	for _, g := range r.groups {
		if g.phase == phaseActive && !g.declared && g.nMembers() == 0 {
			g.close("its last member left")
		}
		switch {
		case g.nMembers() > 0 || g.phase == phaseActive:
		case g.rebuilds():
			g.rebuild()
		default:
			r.forget(g)
			continue
		}
		kept = append(kept, g)
	}
	clear(r.groups[len(kept):])
	r.groups = kept
}

// forget gives back the record, the queues and the memory of a group without members.
func (r *Ring) forget(g *group) {
	r.remember(g)
	if !g.declared {
		r.records[g.index] = nil
	}
	for q := range g.lanes {
		r.queueUsed[g.queueAt+q] = false
	}
	g.hush()
	g.dispose()
	r.groupsChanged()
}

// rebuild gives a declared group that was broken a fresh segment and publishes there what it has not completed,
// in ticket order.
func (g *group) rebuild() {
	old, shadows := g.seg, g.shadow
	if err := g.makeSegment(); err != nil {
		g.why = err.Error() // stays broken; tried again at the next tick
		return
	}
	old.close()
	g.phase, g.why = phaseActive, ""
	first := g.rec.FirstTicket
	g.writeRecord()
	g.rec.Discarded.Store(g.discarded)
	g.rec.FirstTicket = first
	g.rec.Published.Store(g.published)
	g.rec.Completed.Store(g.completed)
	g.rec.Redelivered.Store(g.redelivered)
	g.rec.Dropped.Store(g.dropped)
	g.rec.Violations.Store(g.violations)
	for _, i := range undone(g.r, shadows) {
		switch g.cfg.Kind {
		case KindStage:
			g.r.sendAgain(i, shadows[i].attempts > 0)
			continue
		case KindUploader:
			g.enqueue(i, 0, g.r.slots[i].desc.Ticket, shadows[i].attempts+1)
			continue
		}
		if g.left(i) {
			g.count(&g.discarded, &g.rec.Discarded, 1)
			continue
		}
		attempts := shadows[i].attempts + 1
		if attempts > 1 {
			g.count(&g.redelivered, &g.rec.Redelivered, 1)
		}
		s := &g.r.slots[i]
		g.enqueue(i, g.queueOf(s.desc.Lane.Load()), s.desc.Ticket, attempts)
		g.recallStale(i, seqAway)
	}
	g.rec.State.Store(GroupActive) // an engine killed before leaves a broken group, which nobody adopts
	g.r.groupsChanged()
}

// hush stops the group's goroutines: their reads and writes fail from here on.
func (g *group) hush() {
	g.space.end()
	for _, m := range g.members {
		if m != nil {
			m.release()
		}
	}
	close(g.bell)
	g.bell = nil
}

// dispose unmaps and removes the segment.
func (g *group) dispose() { g.seg.close() }
