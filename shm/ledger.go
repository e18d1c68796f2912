package shm

import (
	"os"
	"slices"
)

// GroupInfo is a group as the engine sees it.
type GroupInfo struct {
	Index       int    `json:"index"`
	ID          uint32 `json:"id"`
	Name        string `json:"name"`
	Kind        Kind   `json:"kind"`
	Mode        Mode   `json:"mode"`
	Declared    bool   `json:"declared"`
	State       uint32 `json:"state"` // Group*
	Why         string `json:"why,omitempty"`
	Published   uint64 `json:"published"`
	Completed   uint64 `json:"completed"`
	Redelivered uint64 `json:"redelivered"`
	Dropped     uint64 `json:"dropped"`
	Violations  uint64 `json:"violations"`
	Unclaimed   int    `json:"unclaimed"`

	// Done is how far a consumers' group that has ended had come then.
	Done Progress `json:"-"`

	Members []MemberInfo `json:"members"`
}

// MemberInfo is a member as the engine sees it; the counters below the blank line are its own words.
type MemberInfo struct {
	Owner     uint32 `json:"owner"`
	PID       int32  `json:"pid"`
	Client    string `json:"client"`
	Lane      int    `json:"lane"`
	MaxLeases int    `json:"max_leases"`
	Holds     int    `json:"holds"`
	Silent    bool   `json:"silent"` // hung up; its leases stay until it is dead
	// Joined is when it became a member, CLOCK_MONOTONIC in ns; zero: under an engine before this one.
	Joined uint64 `json:"joined_ns"`

	Epoch     uint64 `json:"epoch"`
	Acquired  uint64 `json:"acquired"`
	Completed uint64 `json:"completed"`
	WaitNS    uint64 `json:"wait_ns"`
	HoldNS    uint64 `json:"hold_ns"`
	// WaitingSince is when its present wait began, CLOCK_MONOTONIC; zero while it does not wait.
	WaitingSince uint64 `json:"waiting_since_ns"`
}

// Groups describes every group that is not gone, its counters up to date.
func (r *Ring) Groups() []GroupInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	all := make([]GroupInfo, 0, len(r.groups))
	for _, g := range r.groups {
		g.sweep()
		all = append(all, g.info())
	}
	return all
}

// PastGroups describes the last groups that are gone, as they were at their end.
func (r *Ring) PastGroups() []GroupInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]GroupInfo(nil), r.past...)
}

// maxPast is how many groups that are gone the ring remembers.
const maxPast = 256

func (r *Ring) remember(g *group) {
	if len(r.past) == maxPast {
		r.past = append(r.past[:0], r.past[1:]...)
	}
	r.past = append(r.past, g.info())
}

func (g *group) info() GroupInfo {
	info := GroupInfo{
		Index: g.index, ID: g.rec.ID, Name: g.cfg.Name, Kind: g.cfg.Kind, Mode: g.cfg.Mode, Declared: g.declared, State: g.rec.State.Load(), Why: g.why,
		Published: g.published, Completed: g.completed, Redelivered: g.redelivered, Dropped: g.dropped, Violations: g.violations,
		Unclaimed: g.unclaimed(), Done: g.done,
	}
	for i, m := range g.members {
		if m != nil {
			info.Members = append(info.Members, m.info(&g.records[i]))
		}
	}
	return info
}

func (m *member) info(rec *MemberRecord) MemberInfo {
	return MemberInfo{
		Owner: m.owner, PID: m.pid, Client: m.client, Lane: m.lane, MaxLeases: m.leases, Holds: m.holds, Silent: m.silent, Joined: m.joined,
		Epoch: rec.Epoch.Load(), Acquired: rec.Acquired.Load(), Completed: rec.Completed.Load(), WaitNS: rec.WaitNS.Load(), HoldNS: rec.HoldNS.Load(),
		WaitingSince: rec.WaitingSince.Load(),
	}
}

// Info is the ring as a whole.
type Info struct {
	Name       string `json:"name"`
	Slots      int    `json:"slots"`
	SlotBytes  uint64 `json:"slot_bytes"`
	DataBytes  uint64 `json:"data_bytes"`
	HugePages  string `json:"huge_pages"`
	Published  uint64 `json:"published"`
	NextTicket uint64 `json:"next_ticket"` // above every ticket published
	// Late are the tickets below NextTicket that are still to come, ascending; only with Config.Ready.
	Late       []uint64 `json:"late,omitempty"`
	Violations uint64   `json:"violations"`
	State      uint32   `json:"state"`
	Generation uint64   `json:"generation"` // engine starts on this ring
	Adopted    bool     `json:"adopted"`    // it was a dead engine's
	Parked     bool     `json:"-"`          // the engine waits for a free slot
	// Device is where batches are uploaded to; nil: nowhere.
	Device *DeviceInfo `json:"device,omitempty"`
}

// Info describes the ring.
func (r *Ring) Info() Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	info := Info{
		Name: r.cfg.label(), Slots: r.cfg.Slots, SlotBytes: r.geo.slotStride, DataBytes: r.geo.dataBytes, HugePages: r.huge,
		Published: r.published, NextTicket: r.nextTicket, Late: slices.Clone(r.late), Violations: r.violations, State: StateStopped,
		Device: r.deviceInfo(),
	}
	if !r.closed {
		info.State, info.Generation, info.Adopted = r.state.State.Load(), r.head.Generation, r.adopted
		info.Parked = r.state.Parked.Load() != 0
	}
	return info
}

// Name is the ring's name as people write it, NAME or NAME/RING.
func (r *Ring) Name() string { return r.cfg.label() }

// activeGroup is the group of that record index.
func (r *Ring) activeGroup(index int) (*group, error) {
	if r.closed {
		return nil, ErrClosed
	}
	for _, g := range r.groups {
		if g.index == index && g.phase == phaseActive {
			return g, nil
		}
	}
	return nil, refuse(ErrGroupClosed, "shm: ring %q: group %d has ended", r.cfg.label(), index)
}

// Progress is how far a group has come: every ticket below Next is completed, but for those in Open, ascending. A batch that is held for long,
// with millions completed after it, is one open ticket.
type Progress struct {
	Next uint64
	Open []uint64
}

// Low is the first ticket that is not completed.
func (p Progress) Low() uint64 {
	if len(p.Open) > 0 {
		return p.Open[0]
	}
	return p.Next
}

// Above are the completed tickets above it, ascending.
func (p Progress) Above() (above []uint64) {
	for ticket := p.Low(); ticket < p.Next; ticket++ {
		if _, open := slices.BinarySearch(p.Open, ticket); !open {
			above = append(above, ticket)
		}
	}
	return above
}

// Progress says how far the group has come. Dropped and discarded tickets count as completed, and so do the undone ones held by member
// heldBy (0: nobody's) and those in extra.
func (r *Ring) Progress(group int, heldBy uint32, extra []uint64) (Progress, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, err := r.activeGroup(group)
	if err != nil {
		return Progress{}, err
	}
	g.sweep()
	return g.progress(heldBy, extra), nil
}

// progress is Progress by what the shadow knows.
func (g *group) progress(heldBy uint32, extra []uint64) Progress {
	r := g.r
	skipped := g.minEpoch * r.cfg.StepsPerEpoch * uint64(r.cfg.Lanes) // below, what is not published counts as completed
	done := slices.Sorted(slices.Values(extra))
	var open []uint64
	for _, i := range undone(r, g.shadow) {
		w, ticket := g.shadow[i].word, r.slots[i].desc.Ticket
		_, is := slices.BinarySearch(done, ticket)
		if is || stateOf(w) == wordHeld && heldBy != 0 && ownerOf(w) == heldBy {
			continue
		}
		open = append(open, ticket)
	}
	for _, ticket := range r.late {
		if ticket >= skipped {
			open = append(open, ticket)
		}
	}
	slices.Sort(open)
	return Progress{max(r.nextForConsumers(), skipped), open}
}

// MemberEpoch is the epoch a member says it is in, at most that of the next batch.
func (r *Ring) MemberEpoch(owner uint32) (uint64, error) {
	m := r.findMember(owner, -1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || m == nil || m.group.members[m.index] != m {
		return 0, refuse(ErrDetached, "shm: ring %q: member %d has left", r.cfg.label(), owner)
	}
	return min(m.group.records[m.index].Epoch.Load(), m.group.nextEpoch(m.lane)), nil
}

// Skip has the group get no more batches of epochs before epoch: what is unclaimed of them is discarded, what comes
// is not published to it. For spdl_restart; other groups are not concerned.
func (r *Ring) Skip(group int, epoch uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, err := r.activeGroup(group)
	if err != nil {
		return err
	}
	g.setMinEpoch(max(g.minEpoch, epoch))
	for i := range g.shadow {
		if r.slots[i].desc.Epoch.Load() < epoch && g.discard(i) {
			g.count(&g.discarded, &g.rec.Discarded, 1)
		}
	}
	r.announceAll(g)
	r.wakeClaim()
	return nil
}

// Rewind has the ring go on at another ticket and epoch, earlier or later: what is unclaimed is discarded. For
// spdl_state_load. It returns ErrBusy unless the ring has one group of consumers that has not ended, with one at most, that holds no batch
// undone; what is on its way through stages reaches nobody any more. The caller has abandoned its own claimed slots, and claims the rest of the epoch's ends with EndEpoch.
func (r *Ring) Rewind(ticket, epoch uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	groups := slices.DeleteFunc(r.consumers(), func(g *group) bool { return g.phase == phaseClosing }) // to which nothing comes any more
	if len(groups) != 1 || groups[0].nMembers() > 1 || groups[0].phase != phaseActive {
		n := 0
		for _, g := range groups {
			n += g.nMembers()
		}
		return refuse(ErrBusy, "shm: ring %q: load: it has %d consumers in %d groups, want one alone; where ranks share an engine, open it with the state",
			r.cfg.label(), n, len(groups))
	}
	g := groups[0]
	g.sweep()
	if i := g.discardAll(); i >= 0 {
		return refuse(ErrBusy, "shm: ring %q: load: ticket %d is held and not done; release it first", r.cfg.label(), r.slots[i].desc.Ticket)
	}
	r.callBack()
	g.setMinEpoch(0)
	for _, g := range r.groups {
		for q := range g.queue {
			g.queue[q].PutTicket.Store(0) // tickets may come a second time
		}
	}
	r.planTickets(ticket, nil)
	r.goOn()
	r.state.State.CompareAndSwap(StateEnded, StateRunning)
	for lane := range r.laneEpoch {
		r.setLaneEpoch(lane, epoch)
	}
	for _, g := range r.groups {
		r.announceAll(g)
	}
	r.wakeClaim()
	return nil
}

// discardAll frees every slot that nobody has claimed, unless a member holds one undone: then it returns that slot and
// nothing has changed. -1: done.
func (g *group) discardAll() int {
	all := undone(g.r, g.shadow)
	for _, i := range all {
		if stateOf(g.shadow[i].word) == wordHeld {
			return i
		}
	}
	claimed, gone := -1, make([]int, 0, len(all))
	for _, i := range slices.Backward(all) { // the latest first: whoever claims one meanwhile has missed none before it
		if g.discard(i) {
			gone = append(gone, i)
		} else {
			claimed = i
		}
	}
	if claimed >= 0 {
		for _, i := range slices.Backward(gone) { // all of them, so that none stays behind those that come again
			s := &g.r.slots[i]
			g.enqueue(i, g.queueOf(s.desc.Lane.Load()), s.desc.Ticket, g.shadow[i].attempts)
			g.recallStale(i, seqAway)
		}
		return claimed
	}
	g.count(&g.discarded, &g.rec.Discarded, uint64(len(all)))
	return -1
}

// Advance has the ring go on at a later ticket, the first of epoch: every lane is through with the epochs before, and the
// tickets between count as completed. It changes nothing when ticket has passed. For spdl_restart, after Skip.
func (r *Ring) Advance(ticket, epoch uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	late := slices.DeleteFunc(slices.Clone(r.late), func(t uint64) bool { return t < ticket })
	if ticket <= r.nextTicket && len(late) == len(r.late) {
		return nil
	}
	if ticket > r.nextTicket {
		for lane := range r.laneEpoch {
			r.setLaneEpoch(lane, max(r.laneEpoch[lane], epoch))
		}
	}
	r.planTickets(max(ticket, r.nextTicket), late)
	r.goOn()
	for _, g := range r.groups {
		r.announceAll(g)
	}
	return nil
}

func (r *Ring) announceAll(g *group) {
	for lane := range r.laneEpoch {
		g.announce(uint32(lane))
	}
}

// viewers opens the header and the segments of the groups read-only, for an observer. The caller closes them.
func (r *Ring) viewers() (files []*os.File, indexes []int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, ErrEngineStopped
	}
	segments := []*segment{r.header}
	indexes = []int{} // a list in the answer, too
	for _, g := range r.groups {
		if g.phase == phaseActive {
			segments = append(segments, g.seg)
			indexes = append(indexes, g.index)
		}
	}
	for _, s := range segments {
		f, err := s.viewer()
		if err != nil {
			for _, open := range files {
				_ = open.Close()
			}
			return nil, nil, because(err, ErrSystem, "shm: observe %q: %v", r.cfg.label(), err)
		}
		files = append(files, f)
	}
	return files, indexes, nil
}
