package shm

import (
	"cmp"
	"slices"
)

// What an engine with stages leaves: words, and of every slot its way (Desc.Way). The way is noted before the word changes that it
// speaks of, so the two together say what was going on: tests/model/restage.pml.

// adoptStages lists the stages that are there, in the order a batch passes them.
func (r *Ring) adoptStages() error {
	for _, c := range r.cfg.Groups {
		if !c.Kind.stage() {
			continue
		}
		i := slices.IndexFunc(r.groups, func(g *group) bool { return g.cfg.Name == c.Name && g.phase == phaseActive })
		if i < 0 {
			return refuse(ErrState, "shm: adopt %q: stage %q has ended; %s", r.cfg.label(), c.Name, adoptRemedy)
		}
		r.stages = append(r.stages, r.groups[i])
		if c.Kind == KindUploader {
			r.openUploads(r.groups[i])
		}
	}
	return nil
}

// recoverWays reads the ways of all slots: first those that nobody gets any more, which hold nobody up, then the others in ticket
// order.
func (r *Ring) recoverWays() error {
	var void []int
	for i := range r.slots {
		s := &r.slots[i]
		word := s.desc.Way.Load()
		state := word & 0xff
		if state == wayOff || len(r.stages) == 0 {
			continue
		}
		w := way{on: true, at: int(uint16(word >> wayStageShift)), again: uint32(word >> wayAgainShift), void: word&wayVoid != 0}
		if w.at > len(r.stages) || state > waySpoiled {
			return refuse(ErrState, "shm: adopt %q: slot %d: its way is %016x, of %d stages; %s", r.cfg.label(), i, word, len(r.stages), adoptRemedy)
		}
		if s.way = w; w.void {
			void = append(void, i)
		} else {
			s.way.spoiled = state == waySpoiled
			r.onWay = append(r.onWay, i)
		}
	}
	slices.SortFunc(r.onWay, func(a, b int) int { return cmp.Compare(r.slots[a].desc.Ticket, r.slots[b].desc.Ticket) })
	r.onWay = append(void, r.onWay...)
	return nil
}

// finishWays completes what the dead engine was about to do with each batch between its publish and its consumers.
func (r *Ring) finishWays() {
	for _, i := range slices.Clone(r.onWay) {
		s := &r.slots[i]
		if s.way.at == len(r.stages) {
			r.finishArrival(s)
			continue
		}
		g, moving := r.stages[s.way.at], s.desc.Way.Load()&0xff == wayMoving
		switch state := stateOf(g.shadow[i].word); {
		case state == wordReady || state == wordHeld:
			s.way.spoiled = false // if it was about to be taken back: whoever has it decides, or the reaper
			s.noteWay(waySet)
		case s.way.spoiled, moving && s.way.again > 0 && g.cfg.Kind == KindStage:
			r.spoil(i, "") // in the second case not put, or its worker is through: nobody can tell, but of an uploader, which changes nothing
		case moving && g.has(i, s.desc):
			s.noteWay(waySet) // and its worker is through
		case moving:
			r.offer(i) // nobody of this stage has seen it, and nobody of a later epoch may come before it
		}
		if !s.way.void && r.isOpen(s.desc.Ticket) {
			r.planned.next = s.desc.Ticket + 1
			r.passed(s.desc.Lane.Load(), s.desc.Epoch.Load(), s.desc.Flags&FlagLast != 0)
		}
	}
	r.onWay = slices.DeleteFunc(r.onWay, func(i int) bool { return !r.slots[i].way.on })
}

// finishArrival gives a batch that has passed the stages to those groups of consumers that do not have it yet.
func (r *Ring) finishArrival(s *Slot) {
	for _, g := range r.consumers() {
		if !g.has(s.index, s.desc) {
			g.publish(s.index, s.desc.Lane.Load(), s.desc.Ticket, s.desc.Epoch.Load())
		}
	}
	s.leaveWay()
}
