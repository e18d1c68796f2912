package shm

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Slot is the memory of one batch. Between Claim and Publish or Abandon it belongs to the producer.
type Slot struct {
	ring    *Ring
	index   int
	memory  []byte
	desc    *Desc
	tensors []DescTensor
	areas   [][]byte
	offsets [][]int64
	claimed bool // guarded by ring.mu: in the producer's hands
	way     way  // guarded by ring.mu: through the stages
	device  int  // guarded by ring.mu: device slot that is this slot's; -1: none
}

// Batch is what the descriptor says about a slot. Times are CLOCK_MONOTONIC in nanoseconds.
type Batch struct {
	Ticket      uint64 // place in the delivery order; ticket % Lanes is its lane
	Epoch       uint64
	Step        uint64 // global step since the start of training
	EpochStep   uint64 // step within the epoch
	Rows        int    // 0 to BatchRows
	Flags       uint32 // Flag*; FlagLast and FlagShort are set by Publish
	NBad        int    // samples skipped, masked or substituted, or without some of their documents
	Hash        uint64 // 0: not computed
	FetchedNS   uint64
	DecodedNS   uint64
	LastOfEpoch bool // the last batch of its epoch in its lane

	// Used are the dense tensors of which this batch uses less than their capacity, beside its rows.
	Used []Used

	// Shaped are the dense tensors whose rows have another shape in this batch than the ring's, and lie one behind the other.
	Shaped []Shaped

	// Open are the earlier tickets that are still to come, and perhaps others. Only in a ring with Config.Ready; in
	// any other a ticket that was passed over never comes.
	Open []uint64
}

// Used says that every row of a dense tensor is used up to Size in dimension Dim, which is not the first. Strides stay.
type Used struct {
	Tensor, Dim int
	Size        int64
}

// Shaped says of what shape every row of a dense tensor is, in its number of dimensions; all rows have room in its bytes.
type Shaped struct {
	Tensor int
	Row    []int64
}

// makeSlots builds the slots once; claiming and publishing allocate nothing.
func (r *Ring) makeSlots() {
	g := r.geo
	r.slots = make([]Slot, r.cfg.Slots)
	for i := range r.slots {
		s := &r.slots[i]
		off := g.descOff + uint64(i)*g.descStride
		begin := uint64(i) * g.slotStride
		*s = Slot{
			ring: r, index: i, device: -1,
			memory:  r.data.mem[begin : begin+g.slotStride : begin+g.slotStride],
			desc:    at[Desc](r.header.mem, off),
			tensors: manyAt[DescTensor](r.header.mem, off+256, len(g.tensors)),
			areas:   make([][]byte, len(g.tensors)),
			offsets: make([][]int64, len(g.tensors)),
		}
		for j := range g.tensors {
			t := &g.tensors[j]
			if t.Pool != 0 {
				continue // no memory of ours
			}
			s.areas[j] = s.memory[t.Offset : t.Offset+t.Bytes : t.Offset+t.Bytes]
			if t.Kind == Ragged {
				s.offsets[j] = manyAt[int64](s.memory, t.OffsetsOffset, r.cfg.BatchRows+1)
			}
		}
	}
}

// Index is the slot's place in the ring.
func (s *Slot) Index() int { return s.index }

// Tensor is the memory of tensor i: [rows, ...] dense, or a ragged tensor's values. Its capacity equals its
// length. Valid until Publish or Abandon.
func (s *Slot) Tensor(i int) []byte { return s.areas[i] }

// Offsets is int64 [BatchRows + 1]: row j of ragged tensor i is values [offsets[j], offsets[j+1]), in elements. nil
// for a dense tensor. The producer writes rows + 1 of them before Publish.
func (s *Slot) Offsets(i int) []int64 { return s.offsets[i] }

// Prefault makes the pages of parts of the slot's tensors present, in a call for each part in the place of a fault for each
// page. A slot that is claimed before the first batch is out has none; its writers spare themselves the faults with it, each for
// his part. It changes no byte, and nobody needs it but for speed.
func (s *Slot) Prefault(parts [][]byte) {
	base, all := uintptr(unsafe.Pointer(unsafe.SliceData(s.memory))), uintptr(len(s.memory))
	page := uintptr(os.Getpagesize())
	for _, part := range parts {
		from := uintptr(unsafe.Pointer(unsafe.SliceData(part))) - base
		if from >= all { // none of ours: a tensor in another pool
			continue
		}
		to := min(from+uintptr(len(part))+page-1, all)
		_ = unix.Madvise(s.memory[from&^(page-1):to&^(page-1)], madvPopulateWrite)
	}
}

// describe writes the descriptor of a batch, but for the time of its publication.
func (s *Slot) describe(b *Batch, lane uint32) error {
	r := s.ring
	for j := range s.tensors {
		if err := s.describeTensor(j, b); err != nil {
			return err
		}
	}
	for _, u := range b.Used {
		t := &r.geo.tensors[u.Tensor]
		if t.Kind != Dense || u.Dim < 1 || u.Dim >= int(t.Ndim) || u.Size < 0 || u.Size > t.Shape[u.Dim] {
			return refuse(ErrArgument, "shm: ring %q: publish of ticket %d: tensor %q: %d used of dimension %d, want a dense tensor's, within its shape %v",
				r.cfg.label(), b.Ticket, text(t.Name[:]), u.Size, u.Dim, t.Shape[:t.Ndim])
		}
		s.tensors[u.Tensor].Shape[u.Dim] = u.Size
		r.cfg.Device.use(s.tensors[len(r.cfg.Tensors):], u)
	}
	for _, shaped := range b.Shaped {
		if err := s.reshape(shaped, b); err != nil {
			return err
		}
	}
	flags := b.Flags
	if b.LastOfEpoch {
		flags |= FlagLast
	}
	if b.Rows < r.cfg.BatchRows {
		flags |= FlagShort
	}
	d := s.desc
	d.Ticket, d.Step, d.EpochStep = b.Ticket, b.Step, b.EpochStep
	d.Epoch.Store(b.Epoch)
	d.Lane.Store(lane)
	d.Rows, d.Flags, d.NBad = uint32(b.Rows), flags, uint32(b.NBad)
	d.PublishMask = 1 << lane
	d.Hash, d.FetchedNS, d.DecodedNS = b.Hash, b.FetchedNS, b.DecodedNS
	return nil
}

func (s *Slot) describeTensor(j int, b *Batch) error {
	t, d := &s.ring.geo.tensors[j], &s.tensors[j]
	d.DeviceType, d.DeviceID = deviceCPU, 0
	if t.Pool != 0 {
		d.DeviceType, d.DeviceID = deviceCUDA, int32(s.ring.cfg.Device.Device)
	}
	d.Shape, d.Strides = t.Shape, t.Strides
	if t.Kind == Dense {
		d.Shape[0] = int64(b.Rows)
		d.Bytes = uint64(b.Rows) * uint64(t.Strides[0])
		return nil
	}
	offsets := s.offsets[j][:b.Rows+1]
	size := t.Strides[0]
	for i, o := range offsets {
		if o < 0 || o > t.Shape[0] || (i > 0 && o < offsets[i-1]) || (i == 0 && o != 0) {
			return refuse(ErrArgument, "shm: ring %q: publish of ticket %d: tensor %q: offset %d is %d, want 0 first, never falling, at most %d",
				s.ring.cfg.label(), b.Ticket, text(t.Name[:]), i, o, t.Shape[0])
		}
	}
	d.Shape[0] = offsets[b.Rows]
	d.Bytes = uint64(d.Shape[0] * size)
	return nil
}

// reshape gives the rows of a tensor that is described another shape.
func (s *Slot) reshape(shaped Shaped, b *Batch) error {
	t, d := &s.ring.geo.tensors[shaped.Tensor], &s.tensors[shaped.Tensor]
	n := int(t.Ndim)
	fits := t.Kind == Dense && t.Pool == 0 && len(shaped.Row) == n-1
	stride := uint64(t.Strides[max(n, 1)-1])
	for dim := n - 1; dim > 0 && fits; dim-- {
		size := shaped.Row[dim-1]
		if fits = size > 0 && uint64(size) <= t.Bytes/stride; fits {
			d.Shape[dim], d.Strides[dim] = size, int64(stride)
			stride *= uint64(size)
		}
	}
	if !fits || stride > t.Bytes/uint64(max(b.Rows, 1)) {
		return refuse(ErrArgument, "shm: ring %q: publish of ticket %d: tensor %q: %d rows of shape %v, want a dense tensor's, within its %d bytes",
			s.ring.cfg.label(), b.Ticket, text(t.Name[:]), b.Rows, shaped.Row, t.Bytes)
	}
	d.Strides[0], d.Bytes = int64(stride), uint64(b.Rows)*stride
	return nil
}
