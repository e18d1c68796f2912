package shm

import "bytes"

// Peeked is a copy of the first rows of a batch, for people to look at.
type Peeked struct {
	Batch
	Copied int // rows
	Lane   uint32
	Schema []TensorRecord
	Text   []byte // the ring's JSON for clients

	tensors [][]byte
	offsets [][]int64
	shapes  [][]int64
}

// Shape is the shape of tensor i in this batch: [rows, ...], or [values] of a ragged one; rows that were not copied count.
func (p *Peeked) Shape(i int) []int64 { return p.shapes[i] }

// Tensor is the copied rows of tensor i, or a ragged tensor's values up to the last of them.
func (p *Peeked) Tensor(i int) []byte { return p.tensors[i] }

// Offsets is [rows + 1] of a ragged tensor, nil for a dense one.
func (p *Peeked) Offsets(i int) []int64 { return p.offsets[i] }

// Peek copies at most rows rows of the newest batch. It takes part in nothing: no group,
// no lease, no ticket used up. Where consumers may write to their batches it may see one half changed. While it copies,
// nothing is published. It returns ErrNotFound before the first batch.
func (r *Ring) Peek(rows int) (*Peeked, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	var newest *Slot
	for i := range r.slots {
		s := &r.slots[i]
		if !s.claimed && s.desc.PublishedNS != 0 && (newest == nil || s.desc.Ticket > newest.desc.Ticket) {
			newest = s
		}
	}
	if newest == nil {
		return nil, refuse(ErrNotFound, "shm: ring %q: no batch is in the ring yet", r.cfg.label())
	}
	return newest.copyOf(rows), nil
}

// copyOf copies rows of the batch in the slot; the ring's mu is held.
func (s *Slot) copyOf(rows int) *Peeked {
	d, g := s.desc, s.ring.geo
	rows = min(max(rows, 0), int(d.Rows))
	p := &Peeked{
		Batch: s.batch(), Lane: d.Lane.Load(), Schema: append([]TensorRecord(nil), g.tensors...), Text: bytes.Clone(s.ring.cfg.Text),
		tensors: make([][]byte, len(g.tensors)), offsets: make([][]int64, len(g.tensors)), shapes: make([][]int64, len(g.tensors)),
	}
	p.Copied = rows
	for i := range g.tensors {
		t := &g.tensors[i]
		n := rows * int(s.tensors[i].Strides[0])
		p.shapes[i] = append([]int64(nil), s.tensors[i].Shape[:t.Ndim]...)
		if t.Kind == Ragged {
			p.offsets[i] = append([]int64(nil), s.offsets[i][:rows+1]...)
			n = int(p.offsets[i][rows] * t.Strides[0])
		}
		p.tensors[i] = bytes.Clone(s.areas[i][:min(max(n, 0), len(s.areas[i]))])
	}
	return p
}

// batch reads the descriptor.
func (s *Slot) batch() Batch {
	d := s.desc
	return Batch{
		Ticket: d.Ticket, Epoch: d.Epoch.Load(), Step: d.Step, EpochStep: d.EpochStep, Rows: int(d.Rows), Flags: d.Flags, NBad: int(d.NBad),
		Hash: d.Hash, FetchedNS: d.FetchedNS, DecodedNS: d.DecodedNS, LastOfEpoch: d.Flags&FlagLast != 0,
	}
}

// Life is a batch's way through its slot; times are CLOCK_MONOTONIC, zero where it has not come that far.
type Life struct {
	Batch
	Slot        int
	PublishedNS uint64
	Uses        []Use
}

// Use is what a group did with a batch.
type Use struct {
	Group     string
	ClaimedNS uint64 // of the last delivery
	DoneNS    uint64 // zero also where the slot was given back without a word before
	Held      bool   // now
}

// Life tells what became of the batch that was last published in the slot. ok is false if there was none.
func (r *Ring) Life(s *Slot) (life Life, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || s.desc.PublishedNS == 0 {
		return life, false
	}
	return s.life(), true
}

// Lives tells of every batch that is in the ring now.
func (r *Ring) Lives() (all []Life) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	for i := range r.slots {
		if s := &r.slots[i]; !s.claimed && s.desc.PublishedNS != 0 {
			all = append(all, s.life())
		}
	}
	return all
}

func (s *Slot) life() Life {
	l := Life{Batch: s.batch(), Slot: s.index, PublishedNS: s.desc.PublishedNS}
	for _, g := range s.ring.groups {
		if g.phase == phaseActive {
			w := &g.words[s.index]
			l.Uses = append(l.Uses, Use{
				Group: g.cfg.Name, ClaimedNS: w.ClaimedNS.Load(), DoneNS: w.DoneNS.Load(), Held: stateOf(w.Word.Load()) == wordHeld,
			})
		}
	}
	return l
}

// MemberWait is how long a member has waited for batches, in its own words.
type MemberWait struct {
	Owner        uint32
	Group        string
	Client       string
	Acquired     uint64 // batches
	WaitNS       uint64
	WaitingSince uint64 // CLOCK_MONOTONIC; zero while it does not wait
}

// Waits appends every member's waits to all, which may be used again and again.
func (r *Ring) Waits(all []MemberWait) []MemberWait {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.groups {
		if r.closed || g.phase != phaseActive {
			continue
		}
		for i, m := range g.members {
			if m != nil {
				rec := &g.records[i]
				all = append(all, MemberWait{m.owner, g.cfg.Name, m.client, rec.Acquired.Load(), rec.WaitNS.Load(), rec.WaitingSince.Load()})
			}
		}
	}
	return all
}
