package shm

import (
	"math"
	"math/bits"
)

// Whoever maps segments made by another process checks every number in them first, with arithmetic that cannot
// overflow, against the size that the kernel says the segment has.

// anyNumber of records: as many as the segment has room for.
const anyNumber = math.MaxUint32

// table is n records of size bytes, stride apart, from off.
type table struct {
	what         string
	off, stride  uint64
	size, n, max uint64
}

// fits says whether a table lies inside total bytes, aligned for its records.
func (t table) fits(total uint64) error {
	hi, span := bits.Mul64(t.stride, t.n)
	end, carry := bits.Add64(t.off, span, 0)
	switch {
	case t.n > t.max:
		return refuse(ErrFormat, "shm: attach: %d %s, want at most %d; the segment is not ours", t.n, t.what, t.max)
	case t.stride < t.size || t.stride%8 != 0 || t.off%8 != 0:
		return refuse(ErrFormat, "shm: attach: %s at %d, %d apart, want multiples of 8 and at least %d apart; the segment is not ours", t.what, t.off, t.stride, t.size)
	case hi != 0 || carry != 0 || end > total:
		return refuse(ErrFormat, "shm: attach: %d %s at %d, %d apart, end outside the segment's %d bytes; the segment is truncated or not ours", t.n, t.what, t.off, t.stride, total)
	}
	return nil
}

// checkHeader checks a header segment of len(b) bytes and returns it as a record.
func checkHeader(b []byte) (*Header, error) {
	if len(b) < headerSize {
		return nil, refuse(ErrFormat, "shm: attach: header segment of %d bytes, want at least %d; it is truncated", len(b), headerSize)
	}
	h := at[Header](b, 0)
	switch magic := h.Magic.Load(); { // load-acquire; pairs with M1: everything below was written before the magic
	case magic == 0:
		return nil, refuse(ErrFormat, "shm: attach: the ring is half-built: its magic is zero; its engine died while it started")
	case magic != MagicRing:
		return nil, refuse(ErrFormat, "shm: attach: magic %016x, want %016x; the segment is not ours", magic, MagicRing)
	case h.LayoutMajor != LayoutMajor:
		return nil, refuse(ErrVersion, "shm: attach: layout %d, this build reads %d; use client and engine of one release", h.LayoutMajor, LayoutMajor)
	case h.Endian != endianMark:
		return nil, refuse(ErrFormat, "shm: attach: byte order %08x, want %08x", h.Endian, endianMark)
	case h.FeaturesRequired&^knownRequired != 0:
		return nil, refuse(ErrVersion, "shm: attach: required features %016x, this build knows %016x; update the client", h.FeaturesRequired, knownRequired)
	case h.HeaderBytes != uint64(len(b)):
		return nil, refuse(ErrFormat, "shm: attach: header says %d bytes, the segment has %d; it is truncated", h.HeaderBytes, len(b))
	case h.NSlots == 0 || h.NLanes == 0 || h.NLanes > MaxLanes || h.MaxGroups == 0 || h.MaxQueues == 0:
		return nil, refuse(ErrFormat, "shm: attach: %d slots, %d lanes, room for %d groups and %d queues; the segment is not ours", h.NSlots, h.NLanes, h.MaxGroups, h.MaxQueues)
	case h.Access != uint32(Private) && h.Access != uint32(Shared):
		return nil, refuse(ErrFormat, "shm: attach: access %d, want 1 or 2", h.Access)
	}
	return h, checkTables(h)
}

func checkTables(h *Header) error {
	ok := h.DescTensorOff >= 256 && h.DescTensorOff%8 == 0 && h.DescTensorOff <= h.HeaderBytes
	inner := table{"descriptor tensors", 0, h.DescTensorStride, 192, uint64(h.NTensors), MaxTensors}
	if err := inner.fits(h.HeaderBytes); err != nil || !ok {
		return refuse(ErrFormat, "shm: attach: descriptor tensors at %d, %d apart; the segment is not ours", h.DescTensorOff, h.DescTensorStride)
	}
	descSize := h.DescTensorOff + h.DescTensorStride*uint64(h.NTensors)
	for _, t := range []table{
		{"states", h.StateOff, stateSize, stateSize, 1, 1},
		{"groups", h.GroupOff, h.GroupStride, 256, uint64(h.MaxGroups), anyNumber},
		{"queues", h.QueueOff, h.QueueStride, 128, uint64(h.MaxQueues), anyNumber},
		{"pools", h.PoolOff, h.PoolStride, 128, uint64(h.NPools), anyNumber},
		{"tensors", h.TensorOff, h.TensorStride, 384, uint64(h.NTensors), MaxTensors},
		{"descriptors", h.DescOff, h.DescStride, descSize, uint64(h.NSlots), MaxSlots},
		{"slots", 0, h.SlotStride, 1, uint64(h.NSlots), MaxSlots},
	} {
		total := h.HeaderBytes
		if t.what == "slots" {
			total = h.DataBytes
		}
		if err := t.fits(total); err != nil {
			return err
		}
	}
	if end, carry := bits.Add64(h.TextOff, h.TextBytes, 0); carry != 0 || end > h.HeaderBytes {
		return refuse(ErrFormat, "shm: attach: text of %d bytes at %d ends outside the header's %d; the segment is not ours", h.TextBytes, h.TextOff, h.HeaderBytes)
	}
	return nil
}

// checkGroup checks a group segment against the header of its ring.
func checkGroup(b []byte, h *Header) (*GroupHead, error) {
	if len(b) < 256 {
		return nil, refuse(ErrFormat, "shm: attach: group segment of %d bytes, want at least 256; it is truncated", len(b))
	}
	g := at[GroupHead](b, 0)
	switch {
	case g.Magic.Load() != MagicGroup:
		return nil, refuse(ErrFormat, "shm: attach: group magic %016x, want %016x; the segment is half-built or not ours", g.Magic.Load(), MagicGroup)
	case g.LayoutMajor != LayoutMajor:
		return nil, refuse(ErrVersion, "shm: attach: group layout %d, this build reads %d", g.LayoutMajor, LayoutMajor)
	case g.Bytes != uint64(len(b)):
		return nil, refuse(ErrFormat, "shm: attach: group says %d bytes, the segment has %d; it is truncated", g.Bytes, len(b))
	case g.RingUID != h.RingUID:
		return nil, refuse(ErrFormat, "shm: attach: group segment of another ring")
	case g.NSlots != h.NSlots || g.GroupIndex >= h.MaxGroups || g.NLanes == 0 || g.NLanes > MaxLanes:
		return nil, refuse(ErrFormat, "shm: attach: group %d with %d slots and %d lanes; the segment is not ours", g.GroupIndex, g.NSlots, g.NLanes)
	case g.NEntries < g.NSlots || g.NEntries&(g.NEntries-1) != 0 || g.NEntries > 2*MaxSlots:
		return nil, refuse(ErrFormat, "shm: attach: group with %d entries for %d slots, want a power of two; the segment is not ours", g.NEntries, g.NSlots)
	}
	for _, t := range []table{
		{"ready entries", g.ReadyOff, 8, 8, uint64(g.NEntries), 2 * MaxSlots},
		{"redo entries", g.RedoOff, 8, 8, uint64(g.NEntries), 2 * MaxSlots},
	} {
		if err := t.fits(g.LaneStride); err != nil {
			return nil, err
		}
	}
	for _, t := range []table{
		{"lanes", g.LaneOff, g.LaneStride, 512, uint64(g.NLanes), MaxLanes},
		{"words", g.WordOff, g.WordStride, 128, uint64(g.NSlots), MaxSlots},
		{"members", g.MemberOff, g.MemberStride, 256, uint64(g.MaxMembers), anyNumber},
	} {
		if err := t.fits(g.Bytes); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// checkTensor checks that a tensor of the schema lies inside its slot. One of a device pool lies in none.
func checkTensor(t *TensorRecord, h *Header) error {
	end, carry := bits.Add64(t.Offset, t.Bytes, 0)
	offEnd, offCarry := bits.Add64(t.OffsetsOffset, t.OffsetsBytes, 0)
	if t.Pool != 0 {
		end, offEnd = 0, 0
	}
	if carry != 0 || offCarry != 0 || end > h.SlotStride || offEnd > h.SlotStride || t.Ndim > maxDims || t.Pool >= h.NPools || t.Offset%8 != 0 || t.OffsetsOffset%8 != 0 {
		return refuse(ErrFormat, "shm: attach: tensor %q lies outside its slot of %d bytes; the segment is not ours", text(t.Name[:]), h.SlotStride)
	}
	return nil
}
