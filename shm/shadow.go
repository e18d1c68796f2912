package shm

import (
	"fmt"
	"sort"
	"sync/atomic"
)

// paddedWord is a shared 64-bit word; those with different writers lie on lines of their own.
type paddedWord = atomic.Uint64

// shadow is what the engine believes about one slot in one group. The word in shared memory is a hint: it is
// believed only when it can follow from what was believed before.
type shadow struct {
	word     uint64 // the last word believed
	attempts uint32 // deliveries of this batch so far
}

// look reads the word of slot i and believes it if it may follow the last one. Otherwise the group is broken,
// and the shadow stays as it was.
func (g *group) look(i int) bool {
	sh := &g.shadow[i]
	w := g.words[i].Word.Load() // load-acquire; pairs with D1 and F1 of the member that stored it
	if w == sh.word {
		return true
	}
	if why := g.impossible(i, sh.word, w); why != "" {
		g.accuse(i, w, why)
		return false
	}
	if s := stateOf(w); stateOf(sh.word) != wordDone && (s == wordDone || s == wordFree) {
		g.count(&g.completed, &g.rec.Completed, 1)
	}
	sh.word = w
	return true
}

// impossible says why the word of slot i cannot have gone from was to now by the members' own steps:
// READY -> HELD(me) -> DONE(me) -> FREE, any of them skipped, the sequence kept.
func (g *group) impossible(i int, was, now uint64) string {
	switch {
	case stateOf(was) == wordFree:
		return "changed while free"
	case stateOf(now) > wordDone:
		return "no such state"
	case seqOf(now) != seqOf(was):
		return "sequence never handed out"
	case stateOf(now) == wordFree:
		if ownerOf(now) != 0 {
			return "free with an owner"
		}
		return ""
	case stateOf(now) == wordReady:
		return "ready again without the engine"
	case stateOf(was) != wordReady && ownerOf(now) != ownerOf(was):
		return "taken from its holder"
	case stateOf(was) == wordDone:
		return "held again after done"
	}
	m := g.memberOf(ownerOf(now))
	if m == nil {
		return "held by nobody who is a member"
	}
	if g.lanes > 1 && uint32(m.lane) != g.r.slots[i].desc.Lane.Load() {
		return "held by another lane's member"
	}
	return ""
}

// free says that slot i is free in this group. For a broken group the shadow decides: what its members may still
// read stays out of use until they are dead.
func (g *group) free(i int) bool {
	if g.phase != phaseBroken {
		g.look(i)
	}
	return stateOf(g.shadow[i].word) == wordFree
}

// sweep looks at every word and at how much each member holds.
func (g *group) sweep() {
	if g.phase == phaseBroken {
		return
	}
	for _, m := range g.members {
		if m != nil {
			m.holds = 0
		}
	}
	over := false
	for i := range g.shadow {
		if !g.look(i) {
			return
		}
		if m := g.holder(i); m != nil {
			m.holds++
			over = over || m.holds > m.leases
		}
	}
	if over {
		g.judgeHoarder()
	}
}

// holder is the member that holds slot i, done or not; nil if none.
func (g *group) holder(i int) *member {
	w := g.shadow[i].word
	if s := stateOf(w); s != wordHeld && s != wordDone {
		return nil
	}
	return g.memberOf(ownerOf(w))
}

// judgeHoarder breaks the group if one member really held more than it may. One pass over the words is not one
// moment: a lease may have ended behind it and another begun before it. A sequence is handed out once, so
// words that are the same in a second pass were all held at the moment between the two.
func (g *group) judgeHoarder() {
	for _, m := range g.members {
		if m == nil || m.holds <= m.leases {
			continue
		}
		n, last := 0, 0
		for i := range g.shadow {
			if g.holder(i) == m && g.words[i].Word.Load() == g.shadow[i].word {
				n, last = n+1, i
			}
		}
		if n > m.leases {
			g.accuse(last, g.shadow[last].word, fmt.Sprintf("held by a member with %d of %d leases", n, m.leases))
			return
		}
	}
}

// accuse breaks the group: some member wrote what no member may. Its members are told and disconnected; slots that
// they may be reading stay out of use until they are dead. Other groups see nothing of it.
func (g *group) accuse(i int, got uint64, why string) {
	g.count(&g.violations, &g.rec.Violations, 1)
	g.r.violations++
	g.r.state.Violations.Store(g.r.violations)
	if g.phase == phaseBroken {
		return
	}
	g.phase = phaseBroken
	g.why = fmt.Sprintf("slot %d: word %016x after %016x: %s", i, got, g.shadow[i].word, why)
	g.rec.State.Store(GroupBroken)
	g.r.report(Event{What: "broken", Group: g.cfg.Name, Text: g.why})
	for _, m := range g.members {
		if m != nil {
			m.hangUp()
		}
	}
	g.wakeMembers()
	g.r.groupsChanged()
}

// undone lists the slots that shadows says are not completed, by ticket.
func undone(r *Ring, shadows []shadow) []int {
	var slots []int
	for i := range shadows {
		if s := stateOf(shadows[i].word); s == wordReady || s == wordHeld {
			slots = append(slots, i)
		}
	}
	sort.Slice(slots, func(a, b int) bool {
		return r.slots[slots[a]].desc.Ticket < r.slots[slots[b]].desc.Ticket
	})
	return slots
}

// ---- slow groups ---------------------------------------------------------------------------------

// shed makes room by the policy of slow groups: a group is slow when another one is through with a batch that it
// has not even claimed, and no slot is free. It says whether something may have become free.
func (r *Ring) shed() bool {
	best := -1
	for i := range r.slots {
		if r.sheddable(i) && (best < 0 || r.slots[i].desc.Ticket < r.slots[best].desc.Ticket) {
			best = i
		}
	}
	if best >= 0 {
		for _, g := range r.groups {
			if g.cfg.Slow == SlowDrop && g.discard(best) {
				g.count(&g.dropped, &g.rec.Dropped, 1)
				g.wakeLane(g.queueOf(r.slots[best].desc.Lane.Load()), false) // an epoch may be over
			}
		}
		return true
	}
	return r.detachSlow()
}

// sheddable says that slot i is kept only by unclaimed words of drop groups, while another group is through with it.
func (r *Ring) sheddable(i int) bool {
	through, kept := false, false
	for _, g := range r.groups {
		switch stateOf(g.shadow[i].word) {
		case wordFree:
			through = through || g.phase == phaseActive && g.cfg.Kind == KindConsumer
		case wordReady:
			if g.cfg.Slow != SlowDrop || g.phase != phaseActive {
				return false
			}
			kept = true
		default:
			return false
		}
	}
	return through && kept && !r.slots[i].claimed
}

// detachSlow closes the detach groups that keep the ring full while another group has nothing left to read.
func (r *Ring) detachSlow() bool {
	starving := false
	for _, g := range r.groups {
		starving = starving || g.phase == phaseActive && g.cfg.Kind == KindConsumer && g.nMembers() > 0 && g.unclaimed() == 0
	}
	if !starving {
		return false
	}
	closed := false
	for _, g := range r.groups {
		if g.phase == phaseActive && g.cfg.Slow == SlowDetach && g.nMembers() > 0 && g.unclaimed() > 0 {
			g.close("it was too slow and its policy is detach; read faster, or choose block or drop")
			closed = true
		}
	}
	return closed
}

func (g *group) unclaimed() (n int) {
	for i := range g.shadow {
		if stateOf(g.shadow[i].word) == wordReady {
			n++
		}
	}
	return n
}
