package shm

import "time"

// A storm is stormRings rings in a row with which fewer than stormFruits batches were completed: a member rings for each one, so
// somebody rings for nothing. The group is not heard for stormRest then.
const (
	stormRings, stormFruits = 64, 4
	stormRest               = 64 * time.Millisecond
)

// listen hears members that freed a slot or completed a batch. Like ringer it ends with hush, and the end of the ring does not wait for it: a member
// may hold it up.
func (g *group) listen() {
	var before uint64
	for n := 1; g.space.hear(); n++ {
		g.r.wakeClaim()
		if g.cfg.Kind.stage() {
			g.r.hearStage()
			continue // every batch rings, and who may write the data is trusted not to ring without end
		}
		if g.r.cfg.Device != nil {
			g.r.hearStage() // a device slot may be free
		}
		g.ringBellIfArmed()
		if n%stormRings == 0 {
			now := g.completedBy()
			if now-before < stormFruits {
				time.Sleep(stormRest)
			}
			before = now
		}
	}
}

// completedBy is how many batches the group has completed, those included that nobody has looked at yet.
func (g *group) completedBy() uint64 {
	g.r.mu.Lock()
	defer g.r.mu.Unlock()
	if g.bell == nil {
		return g.completed // hushed: the memory may be gone
	}
	g.sweep()
	return g.completed
}

func (g *group) ringBellIfArmed() {
	g.r.mu.Lock()
	defer g.r.mu.Unlock()
	if g.bell == nil {
		return // hushed: the memory may be gone
	}
	for q := range g.lane {
		if g.lane[q].rec.Armed.Load() != 0 {
			g.ringBell()
		}
	}
}

// ringBell has the ringer look who is armed. Callers hold Ring.mu.
func (g *group) ringBell() {
	select {
	case g.bell <- struct{}{}:
	default:
	}
}

// ringer writes the event descriptors of armed members. It is a goroutine of its own because a hostile member can
// make its descriptor block, until it has left: that must never hold the ring's lock.
func (g *group) ringer(bell <-chan struct{}) {
	var armed []eventFD
	for range bell {
		armed = g.takeArmed(armed[:0])
		for _, e := range armed {
			_, _ = e.Write(one[:])
		}
	}
}

// takeArmed appends the descriptors of the members that are armed, and disarms them. The lanes' flags are cleared
// first: who arms meanwhile sets them again and looks at the words after that.
func (g *group) takeArmed(armed []eventFD) []eventFD {
	g.r.mu.Lock()
	defer g.r.mu.Unlock()
	if g.bell == nil {
		return armed
	}
	for q := range g.lane {
		g.lane[q].rec.Armed.Swap(0)
	}
	for i, m := range g.members {
		if m != nil && g.records[i].Armed.Swap(0) != 0 {
			armed = append(armed, m.event)
		}
	}
	return armed
}
