package shm

import (
	"context"
	"errors"
	"math/bits"
	"unsafe"
)

// Lease is the right to read one batch. It ends with Release.
type Lease struct {
	Batch
	Lane     uint32
	Attempts uint32 // 1: first delivery; more: its earlier holders died
	Slot     int
	// DeviceSlot is where the batch is, or for an uploader shall be, in device memory; -1: nowhere. DeviceGeneration is the memory's when it was
	// uploaded: as long as it is Reader.DeviceGeneration, which is 0 when the engine is dead, the memory holds the batch.
	DeviceSlot       int
	DeviceGeneration uint64

	reader  *Reader
	word    uint64 // HELD, as claimed
	claimed uint64
	done    bool
	ended   bool
}

// Shape is the shape of tensor i in this batch: [rows, ...], or [values] of a ragged one.
func (l *Lease) Shape(i int) []int64 {
	d := l.tensor(i)
	return append([]int64(nil), d.Shape[:min(l.reader.schema[i].Ndim, maxDims)]...)
}

// Strides are those of tensor i in this batch, in bytes.
func (l *Lease) Strides(i int) []int64 {
	d := l.tensor(i)
	return append([]int64(nil), d.Strides[:min(l.reader.schema[i].Ndim, maxDims)]...)
}

func (l *Lease) tensor(i int) *DescTensor {
	h := l.reader.header
	return at[DescTensor](l.reader.hdr, h.DescOff+h.DescStride*uint64(l.Slot)+h.DescTensorOff+h.DescTensorStride*uint64(i))
}

// Tensor is the used bytes of tensor i, a view that ends with the lease; of a ragged one, its values. nil when the
// descriptor points outside the tensor, and of a tensor in device memory.
func (l *Lease) Tensor(i int) []byte {
	t, n := &l.reader.schema[i], l.tensor(i).Bytes
	if n > t.Bytes || t.Pool != 0 {
		return nil
	}
	begin := uint64(l.Slot)*l.reader.header.SlotStride + t.Offset
	return l.reader.data[begin : begin+n : begin+n]
}

// Offsets is [rows + 1] of a ragged tensor: row j is values [offsets[j], offsets[j+1]). nil for a dense one.
func (l *Lease) Offsets(i int) []int64 {
	t := &l.reader.schema[i]
	hi, bytes := bits.Mul64(8, uint64(l.Rows)+1)
	if t.Kind != Ragged || hi != 0 || bytes > t.OffsetsBytes {
		return nil
	}
	begin := uint64(l.Slot)*l.reader.header.SlotStride + t.OffsetsOffset
	return manyAt[int64](l.reader.data, begin, l.Rows+1)
}

// Done says that the batch was used: it will not be delivered again. Its memory stays leased, but in a stage, where done
// hands the batch on: its memory is the next group's from here on. Calling it twice is fine. It returns ErrStale when the lease has ended.
func (l *Lease) Done() error {
	r := l.reader
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.ended || r.closed {
		return ErrStale
	}
	if l.done {
		return nil
	}
	_ = Fault("before.done")
	w := r.word(uint64(l.Slot))
	done := packWord(wordDone, r.welcome.Owner, seqOf(l.word))
	if r.stage {
		done = packWord(wordFree, 0, seqOf(l.word))
	}
	w.DoneNS.Store(monotonicNS())
	if !w.Word.CompareAndSwap(l.word, done) { // D1: release; pairs with the engine's load-acquire
		r.forgetLease(l)
		return ErrStale
	}
	_ = Fault("after.done")
	l.word, l.done = done, true
	if r.stage {
		r.passed++
	}
	r.completed(l)
	r.news(r.stage)
	return nil
}

// Release gives the slot back: its memory must not be touched afterwards. It implies Done. It returns ErrStale when
// the lease had ended; nothing has changed then.
func (l *Lease) Release() error {
	r := l.reader
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.ended || r.closed {
		return ErrStale
	}
	if r.stage && l.done {
		r.forgetLease(l)
		return nil
	}
	_ = Fault("before.release")
	free := packWord(wordFree, 0, seqOf(l.word))
	ok := r.word(uint64(l.Slot)).Word.CompareAndSwap(l.word, free) // F1: release; pairs with F2 in Claim (produce.go)
	_ = Fault("after.release")
	if ok && !l.done {
		r.completed(l)
	}
	r.forgetLease(l)
	if !ok {
		return ErrStale
	}
	r.news(true)
	return nil
}

// Fail says that a stage's worker cannot transform this batch, and why. The lease ends; the engine treats the batch by its
// bad-sample policy, as if each of its samples were bad. It returns ErrStale when the lease had ended, and ErrArgument
// outside a stage.
func (l *Lease) Fail(ctx context.Context, why string) error {
	r := l.reader
	r.mu.Lock()
	word, over := l.word, l.ended || l.done || r.closed
	r.mu.Unlock()
	if over {
		return ErrStale
	}
	f := Fail{Word: word, Slot: uint32(l.Slot)}
	why = why[:min(len(why), whyMax)]
	joins := r.joinCount()
	_, err := r.call(ctx, msgFail, append(append([]byte(nil), bytesOf(&f)...), why...))
	taken := errors.Is(err, ErrStale) && r.joinCount() != joins // by the engine before this one, which died before it said so
	if err != nil && !taken {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLease(l)
	return nil
}

func (r *Reader) completed(l *Lease) {
	r.member.Completed.Add(1)
	r.member.HoldNS.Add(monotonicNS() - l.claimed)
}

func (r *Reader) forgetLease(l *Lease) {
	l.ended = true
	r.leases--
	if r.stage && l.done {
		r.passed--
	}
}

// news tells whom a completed batch may concern: sleepers, whose epoch may be over; the engine, that waits for a
// free slot or has armed members to tell, or hands on what a stage is through with. Only the engine clears sleepers: a member that is stopped between clearing
// and waking would swallow the wake-ups of others.
func (r *Reader) news(freed bool) {
	if r.lane.Sleepers.Load() != 0 {
		r.lane.Wake.Add(1)
		wakeAll(unsafe.Pointer(&r.lane.Wake))
	}
	if r.stage || freed && r.state.Parked.Load() != 0 || r.lane.Armed.Load() != 0 {
		_, _ = r.space.Write(one[:])
	}
}
