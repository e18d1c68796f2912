package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/shm"
)

const (
	standstillEvery = 5 * time.Second
	standstillAfter = 30 * time.Second
)

// standstill watches for consumers that wait because others are not there: the ring is full of batches of a lane, or a group, that has
// no member. Nothing ends it, for they may come yet; but nothing says it to whoever waits, either.
type standstill struct {
	published uint64
	since     time.Time // when that was seen first
	told      bool
}

// look returns what is to be said at now, once in each standstill; "" is nothing.
func (s *standstill) look(now time.Time, ring shm.Info, lanes int, groups []shm.GroupInfo) string {
	group, lane := unclaimed(groups, lanes)
	waits := waiting(groups)
	if ring.Published != s.published || !ring.Parked || group == nil || waits == "" {
		*s = standstill{published: ring.Published, since: now}
		return ""
	}
	stood := now.Sub(s.since)
	if s.told || stood < standstillAfter {
		return ""
	}
	s.told = true
	what, to := "", "it"
	if group.Mode == shm.ModeLanes {
		what, to = fmt.Sprintf(", whose lane %d has no consumer", lane), "the lane"
	}
	return fmt.Sprintf("no batch for %v: %s waits, the ring is full, and nobody takes the %d batches of group %q%s; attach a consumer to %s, or end the others",
		stood.Round(time.Second), waits, group.Unclaimed, group.Name, what, to)
}

// unclaimed is a group with batches that are ready and that no member can take: of a lane without one, or of the whole group.
func unclaimed(groups []shm.GroupInfo, lanes int) (g *shm.GroupInfo, lane int) {
	for i := range groups {
		g := &groups[i]
		if g.Kind != shm.KindConsumer || g.State != shm.GroupActive || g.Unclaimed == 0 {
			continue
		}
		if g.Mode != shm.ModeLanes {
			if len(g.Members) == 0 {
				return g, 0
			}
			continue
		}
		for lane := range lanes {
			if !slices.ContainsFunc(g.Members, func(m shm.MemberInfo) bool { return m.Lane == lane }) {
				return g, lane
			}
		}
	}
	return nil, 0
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
