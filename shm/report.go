package shm

import (
	"encoding/hex"
	"fmt"
	"unsafe"
)

// RingReport is a snapshot in words, for people and as JSON.
type RingReport struct {
	Name          string `json:"name"`
	Layout        string `json:"layout"`
	UID           string `json:"uid"`
	EnginePID     uint32 `json:"engine_pid"`
	Backing       string `json:"backing"`
	Access        string `json:"access"`
	Slots         uint32 `json:"slots"`
	SlotBytes     uint64 `json:"slot_bytes"`
	DataBytes     uint64 `json:"data_bytes"`
	BatchRows     uint32 `json:"batch_rows"`
	Lanes         uint32 `json:"lanes"`
	WorldSize     uint32 `json:"world_size"`
	FirstRank     uint32 `json:"first_rank"`
	Samples       uint64 `json:"samples"`
	GlobalBatch   uint64 `json:"global_batch"`
	StepsPerEpoch uint64 `json:"steps_per_epoch"`
	Epochs        uint64 `json:"epochs"` // 0: endless
	Seed          uint64 `json:"seed"`
	SpecHash      string `json:"spec_hash"`

	State      string `json:"state"`
	Status     int32  `json:"status,omitempty"` // that ended the engine
	Error      string `json:"error,omitempty"`
	Published  uint64 `json:"published"`
	NextTicket uint64 `json:"next_ticket"`
	Violations uint64 `json:"violations"`
	Parked     bool   `json:"parked"` // the engine waits for a free slot

	Tensors []TensorReport `json:"tensors"`
	Groups  []GroupReport  `json:"groups"`
	Filled  []SlotReport   `json:"filled"` // slots that some group does not say is free
}

// TensorReport is a tensor of the schema.
type TensorReport struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"` // such as u8, i64, bf16
	Shape []int64 `json:"shape"` // capacity; of a ragged tensor, the values of all rows together
	Kind  string  `json:"kind"`  // dense or ragged
	Bytes uint64  `json:"bytes"`
}

// GroupReport is a group that is not absent.
type GroupReport struct {
	Index       int    `json:"index"`
	Name        string `json:"name"`
	State       string `json:"state"`
	Kind        string `json:"kind"` // consumer, stage or uploader
	Mode        string `json:"mode"`
	Lanes       uint32 `json:"lanes"`
	Declared    bool   `json:"declared"`
	Slow        string `json:"slow"`
	Published   uint64 `json:"published"`
	Completed   uint64 `json:"completed"` // may lag
	Redelivered uint64 `json:"redelivered"`
	Dropped     uint64 `json:"dropped"`
	Violations  uint64 `json:"violations"`
	// Ready, Held and Done count its slot words; zero where its segment was not looked at.
	Ready   int            `json:"ready"`
	Held    int            `json:"held"`
	Done    int            `json:"done"`
	Members []MemberReport `json:"members"`
}

// MemberReport is a member's record; the counters are its own words.
type MemberReport struct {
	Owner     uint32 `json:"owner"`
	Client    string `json:"client"` // as it calls itself
	PID       uint32 `json:"pid"`
	Lane      uint32 `json:"lane"`
	MaxLeases uint32 `json:"max_leases"`
	Epoch     uint64 `json:"epoch"`
	Acquired  uint64 `json:"acquired"`
	Completed uint64 `json:"completed"`
	Holds     int    `json:"holds"`
	Waiting   bool   `json:"waiting"`
	Silent    bool   `json:"silent"` // it hung up and lives; see MarkSilent
}

// SlotReport is a slot with a batch in it.
type SlotReport struct {
	Slot   int          `json:"slot"`
	Ticket uint64       `json:"ticket"`
	Epoch  uint64       `json:"epoch"`
	Step   uint64       `json:"epoch_step"`
	Rows   uint32       `json:"rows"`
	Bad    uint32       `json:"bad"`
	Words  []WordReport `json:"words"` // of the groups that do not say it is free
}

// WordReport is a slot's word in a group.
type WordReport struct {
	Group    string `json:"group"`
	State    string `json:"state"`
	Owner    uint32 `json:"owner,omitempty"`
	Attempts uint32 `json:"attempts"`
}

// nameOf is the n-th of names, or the number where there is none.
func nameOf(n uint32, names ...string) string {
	if int(n) < len(names) && names[n] != "" {
		return names[n]
	}
	return fmt.Sprint(n)
}

// StateName is the name of an engine's state, one of the State constants.
func StateName(state uint32) string {
	return nameOf(state, "starting", "running", "ended", "failed", "stopped")
}

func stateName(w uint64) string { return nameOf(stateOf(w), "free", "ready", "held", "done") }

// dtypeName is the element type the way a description writes it.
func dtypeName(t *TensorRecord) string {
	return fmt.Sprintf("%s%d", nameOf(uint32(t.DtypeCode), "i", "u", "f", "", "bf"), t.DtypeBits)
}

// Report says what is in the ring. It returns ErrFormat or ErrVersion when the segments are not a ring's that this build
// reads; whether they are consistent is for Check to say.
func (s *Snapshot) Report() (*RingReport, error) {
	h, err := checkHeader(s.Header)
	if err != nil {
		return nil, err
	}
	r := s.ring(h)
	filled := map[uint64]*SlotReport{}
	for i := range int(h.MaxGroups) {
		rec := at[GroupRecord](s.Header, h.GroupOff+uint64(i)*h.GroupStride)
		if rec.State.Load() != GroupAbsent && (rec.State.Load() != GroupClosed || s.Groups[i] != nil) {
			r.Groups = append(r.Groups, s.group(h, i, rec, filled))
		}
	}
	for slot := range uint64(h.NSlots) {
		if f := filled[slot]; f != nil {
			r.Filled = append(r.Filled, *f)
		}
	}
	return r, nil
}

// ring reports the header: geometry, state and schema.
func (s *Snapshot) ring(h *Header) *RingReport {
	st := at[State](s.Header, h.StateOff)
	r := &RingReport{
		Name: text(h.Name[:]), Layout: fmt.Sprintf("%d.%d", h.LayoutMajor, h.LayoutMinor), UID: hex.EncodeToString(h.RingUID[:]),
		EnginePID: h.EnginePID, Backing: nameOf(h.Backing, "", "posix", "memfd"), Access: nameOf(h.Access, "", "private", "shared"),
		Slots: h.NSlots, SlotBytes: h.SlotStride, DataBytes: h.DataBytes, BatchRows: h.BatchRows,
		Lanes: h.NLanes, WorldSize: h.WorldSize, FirstRank: h.FirstRank, Samples: h.NSamples, GlobalBatch: h.GlobalBatch,
		StepsPerEpoch: h.StepsPerEpoch, Epochs: h.NEpochs, Seed: h.Seed, SpecHash: hex.EncodeToString(h.SpecHash[:]),
		State:  StateName(st.State.Load()),
		Status: st.Status.Load(), Error: string(st.Error[:min(int(st.ErrorBytes), len(st.Error))]),
		Published: st.Published.Load(), NextTicket: st.NextTicket.Load(), Violations: st.Violations.Load(), Parked: st.Parked.Load() != 0,
		Groups: []GroupReport{}, Filled: []SlotReport{},
	}
	for i := range uint64(h.NTensors) {
		t := at[TensorRecord](s.Header, h.TensorOff+i*h.TensorStride)
		r.Tensors = append(r.Tensors, TensorReport{
			Name: text(t.Name[:]), DType: dtypeName(t), Kind: nameOf(t.Kind, "", "dense", "ragged"), Bytes: t.Bytes,
			Shape: append([]int64{}, t.Shape[:min(t.Ndim, maxDims)]...),
		})
	}
	return r
}

// group reports one group and adds its words to the slots they are about.
func (s *Snapshot) group(h *Header, index int, rec *GroupRecord, filled map[uint64]*SlotReport) GroupReport {
	g := GroupReport{
		Index: index, Name: text(rec.Name[:]), State: nameOf(rec.State.Load(), "absent", "active", "closed", "broken"),
		Kind: nameOf(rec.Kind, "", "consumer", "stage", "uploader"), Mode: nameOf(rec.Mode, "", "shared", "lanes"), Lanes: rec.NLanes, Declared: rec.Declared != 0,
		Slow: nameOf(rec.Slow, "", "block", "drop", "detach"), Published: rec.Published.Load(), Completed: rec.Completed.Load(),
		Redelivered: rec.Redelivered.Load(), Dropped: rec.Dropped.Load(), Violations: rec.Violations.Load(), Members: []MemberReport{},
	}
	b, ok := s.Groups[index]
	if !ok {
		return g
	}
	head, err := checkGroup(b, h)
	if err != nil {
		return g // Check says so
	}
	holds := map[uint32]int{}
	for slot := range uint64(head.NSlots) {
		w := at[Word](b, head.WordOff+slot*head.WordStride)
		word := w.Word.Load()
		if stateOf(word) == wordFree {
			continue
		}
		g.count(word, holds)
		f := filled[slot]
		if f == nil {
			d := at[Desc](s.Header, h.DescOff+slot*h.DescStride)
			f = &SlotReport{Slot: int(slot), Ticket: d.Ticket, Epoch: d.Epoch.Load(), Step: d.EpochStep, Rows: d.Rows, Bad: d.NBad}
			filled[slot] = f
		}
		f.Words = append(f.Words, WordReport{g.Name, stateName(word), ownerOf(word), w.Attempts.Load()})
	}
	g.members(head, b, holds)
	clients := s.clients(h)
	for i := range g.Members {
		g.Members[i].Client = clients[g.Members[i].Owner]
	}
	return g
}

// clients are what members call themselves, by owner.
func (s *Snapshot) clients(h *Header) map[uint32]string {
	owners := table{"owners", h.OwnerOff, h.OwnerStride, uint64(unsafe.Sizeof(OwnerRecord{})), uint64(h.MaxOwners), 1 << 20}
	if owners.fits(uint64(len(s.Header))) != nil {
		return nil
	}
	named := map[uint32]string{}
	for i := range owners.n {
		rec := at[OwnerRecord](s.Header, owners.off+i*owners.stride)
		named[rec.Owner.Load()] = text(rec.Client[:])
	}
	return named
}

// MarkSilent notes the members that have hung up, which no segment says, by what the engine says of the ring's groups.
func (r *RingReport) MarkSilent(groups []GroupInfo) {
	silent := map[uint32]bool{} // an owner is never another's again
	for i := range groups {
		for _, m := range groups[i].Members {
			silent[m.Owner] = m.Silent
		}
	}
	for i := range r.Groups {
		for k := range r.Groups[i].Members {
			m := &r.Groups[i].Members[k]
			m.Silent = silent[m.Owner]
		}
	}
}

func (g *GroupReport) count(word uint64, holds map[uint32]int) {
	switch stateOf(word) {
	case wordReady:
		g.Ready++
	case wordHeld:
		g.Held++
	case wordDone:
		g.Done++
	}
	if ownerOf(word) != 0 {
		holds[ownerOf(word)]++
	}
}

func (g *GroupReport) members(head *GroupHead, b []byte, holds map[uint32]int) {
	for i := range uint64(head.MaxMembers) {
		m := at[MemberRecord](b, head.MemberOff+i*head.MemberStride)
		if owner := m.Owner.Load(); owner != 0 {
			g.Members = append(g.Members, MemberReport{
				Owner: owner, PID: m.PID, Lane: m.Lane, MaxLeases: m.MaxLeases, Epoch: m.Epoch.Load(), Acquired: m.Acquired.Load(),
				Completed: m.Completed.Load(), Holds: holds[owner], Waiting: m.WaitingSince.Load() != 0,
			})
		}
	}
}
