package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/shm"
)

const (
	standstillEvery = 5 * time.Second
	absentAfter     = 30 * time.Second
	busyAfter       = time.Minute // a consumer that is there may write a checkpoint
)

// standstill watches for consumers that wait because of others: the ring is full of batches of a lane, or a group, that has no member, or
// whose member takes none. Nothing ends it, for they may come yet; but nothing says it to whoever waits, either.
type standstill struct {
	published uint64
	since     time.Time // when that was seen first
	told      bool
}

// look returns what is to be said at now, once in each standstill; "" is nothing.
func (s *standstill) look(now time.Time, ring shm.Info, lanes int, groups []shm.GroupInfo) string {
	h := holdsUp(groups, lanes)
	waits := waiting(groups)
	if ring.Published != s.published || !ring.Parked || h.group == nil || waits == "" {
		*s = standstill{published: ring.Published, since: now}
		return ""
	}
	after := absentAfter
	if h.member != nil {
		after = busyAfter
	}
	stood := now.Sub(s.since)
	if s.told || stood < after {
		return ""
	}
	s.told = true
	return fmt.Sprintf("no batch for %v: %s waits, the ring is full, and %s", stood.Round(time.Second), waits, h.told())
}

// holder is who holds the ring up.
type holder struct {
	group  *shm.GroupInfo // nil: nobody does
	lane   int
	member *shm.MemberInfo // that takes nothing; nil: there is none
}

func (h *holder) told() string {
	lanes := h.group.Mode == shm.ModeLanes
	switch {
	case h.member == nil && lanes:
		return fmt.Sprintf("nobody takes the %d batches of group %q, whose lane %d has no consumer; attach a consumer to the lane, or end the others", h.group.Unclaimed, h.group.Name, h.lane)
	case h.member == nil:
		return fmt.Sprintf("nobody takes the %d batches of group %q; attach a consumer to it, or end the others", h.group.Unclaimed, h.group.Name)
	}
	who := fmt.Sprintf("consumer %d of group %q, pid %d, which holds %d, takes none of its %d batches: it is busy, or stuck", h.member.Owner, h.group.Name, h.member.PID, h.member.Holds, h.group.Unclaimed)
	if lanes {
		return who + "; end it, and its lane can be taken again"
	}
	return who + "; end it, or say slow: drop or detach of its group, which go on without it"
}

// holdsUp finds a group with batches that are ready and that no member takes: of a lane without one, or of the whole group, or else of one whose
// members do not wait for any.
func holdsUp(groups []shm.GroupInfo, lanes int) (busy holder) {
	for i := range groups {
		g := &groups[i]
		if g.Kind != shm.KindConsumer || g.State != shm.GroupActive || g.Unclaimed == 0 {
			continue
		}
		seats := 1
		if g.Mode == shm.ModeLanes {
			seats = lanes
		}
		for lane := range seats {
			members := g.Members
			if g.Mode == shm.ModeLanes {
				at := slices.IndexFunc(g.Members, func(m shm.MemberInfo) bool { return m.Lane == lane })
				members = g.Members[max(at, 0):][:min(at+1, 1)]
			}
			switch {
			case len(members) == 0:
				return holder{g, lane, nil}
			case !slices.ContainsFunc(members, func(m shm.MemberInfo) bool { return m.WaitingSince > 0 }):
				busy = holder{g, lane, &members[0]}
			}
		}
	}
	return busy
}

// waiting names a consumer that waits; "" is nobody.
func waiting(groups []shm.GroupInfo) string {
	for i := range groups {
		for k := range groups[i].Members {
			if m := &groups[i].Members[k]; m.WaitingSince > 0 {
				return fmt.Sprintf("consumer %d of group %q, pid %d,", m.Owner, groups[i].Name, m.PID)
			}
		}
	}
	return ""
}
