package shm

import "slices"

// Which tickets are published: those below the next one, but for those that are late. Only a ring with Config.Ready has
// any. The two belong together, and an engine may be killed between any two stores: so there are two lists of them in the header. The
// one that does not count is written before a batch is put into its first queue, and one word makes it count when the batch
// is in the last. An engine that finds a batch half published finishes it, and makes that list count.

// plan says what will be the next ticket, and which are late, when b is published.
func (r *Ring) plan(b *Batch) error {
	next, late := max(r.nextTicket, b.Ticket+1), r.planned.late[:0]
	for _, t := range r.late {
		if t != b.Ticket {
			late = append(late, t)
		}
	}
	for _, t := range b.Open {
		if t >= r.nextTicket && t < b.Ticket {
			late = append(late, t)
		}
	}
	if len(late) > r.cfg.Slots {
		return refuse(ErrArgument, "shm: ring %q: publish of ticket %d: %d earlier ones are to come, want at most %d, one for each slot", r.cfg.label(), b.Ticket, len(late), r.cfg.Slots)
	}
	slices.Sort(late)
	r.planTickets(next, late)
	return nil
}

// planTickets writes the list that does not count.
func (r *Ring) planTickets(next uint64, late []uint64) {
	r.planned.next, r.planned.late = next, late
	if list := r.lateList(1); list != nil {
		list[0], list[1] = next, uint64(len(late))
		copy(list[2:], late)
	}
}

// goOn makes what was planned count.
func (r *Ring) goOn() {
	r.nextTicket = r.planned.next
	r.late, r.planned.late = r.planned.late, r.late
	if r.geo.lateBytes > 0 {
		_ = Fault("publish.late")
		r.state.Late.Add(1) // store-release: both, or neither
	}
	r.state.NextTicket.Store(r.nextTicket)
}

// lateList is the list that counts, or, with other 1, that which does not; nil where there are none.
func (r *Ring) lateList(other uint64) []uint64 {
	if r.geo.lateBytes == 0 {
		return nil
	}
	which := (r.state.Late.Load() + other) & 1
	return manyAt[uint64](r.header.mem, r.geo.lateOff+which*r.geo.lateBytes, 2+r.cfg.Slots)
}

// recoverTickets believes what the dead engine said last: what counted, or, if it had begun to publish a batch, what was planned.
func (r *Ring) recoverTickets() {
	r.nextTicket = r.state.NextTicket.Load()
	if list := r.lateList(0); list != nil && r.state.Late.Load() > 0 {
		r.nextTicket, r.late = list[0], readLate(list)
	}
	r.planned.next = r.nextTicket
	if list := r.lateList(1); list != nil {
		r.planned.next, r.planned.late = list[0], readLate(list)
	}
}

func readLate(list []uint64) []uint64 {
	return slices.Clone(list[2 : 2+min(list[1], uint64(len(list)-2))])
}

// isOpen says that a ticket is not published, as far as anything says so that counts.
func (r *Ring) isOpen(ticket uint64) bool {
	return ticket >= r.nextTicket || slices.Contains(r.late, ticket)
}
