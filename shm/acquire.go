package shm

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Acquire waits for the next batch and leases it. EndEpoch comes once per epoch, when every batch of it is
// completed, then the next epoch's batches; EndData after the last. When the engine has died and its ring is one that the next may go
// on with, it looks for that one. Other errors: ErrLeases and ErrUndone where
// waiting would be waiting for oneself; ErrEngineLost, ErrEngineFailed, ErrEngineStopped once nothing published is
// left to take; ErrGroupClosed; ErrDetached; ctx's error, noticed within 50 ms.
func (r *Reader) Acquire(ctx context.Context) (*Lease, error) {
	r.life.RLock()
	defer r.life.RUnlock()
	if r.isClosed() {
		return nil, ErrDetached
	}
	var begun uint64
	for spins := 0; ; spins++ {
		wake := r.lane.Wake.Load()
		if spins > 0 {
			r.lane.Sleepers.Store(1) // seq-cst, before the words are looked at again [W1; pairs with the waker's exchange]
		}
		l, err := r.try(spins)
		if errors.Is(err, ErrEngineLost) && r.mayRejoin() {
			err = r.rejoin(ctx)
		}
		if errors.Is(err, errNotYet) {
			err = nil
		}
		if l != nil || err != nil {
			r.waited(begun)
			return l, err
		}
		if err := ctx.Err(); err != nil {
			r.waited(begun)
			return nil, err
		}
		if begun == 0 {
			begun = monotonicNS()
			r.member.WaitingSince.Store(begun)
			if r.spin() {
				continue
			}
		}
		if spins > 0 {
			r.sleep(wake)
		}
	}
}

// spin watches the wake word for a moment; pointless on one CPU.
func (r *Reader) spin() bool {
	if runtime.NumCPU() < 2 {
		return false
	}
	was := r.lane.Wake.Load()
	for begun := time.Now(); time.Since(begun) < spinTime; {
		if r.lane.Wake.Load() != was {
			return true
		}
	}
	return false
}

func (r *Reader) waited(begun uint64) {
	if begun != 0 {
		r.member.WaitNS.Add(monotonicNS() - begun)
		r.member.WaitingSince.Store(0)
	}
}

// sleep is one slice on the futex word, or less when it moved since it was read.
func (r *Reader) sleep(wake uint32) {
	ts := unix.NsecToTimespec(int64(waitSlice))
	_, _, _ = syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&r.lane.Wake)), futexWait, uintptr(wake), uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// try takes a batch if there is one, else says why there will be none; nil and nil: wait.
func (r *Reader) try(round int) (*Lease, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrDetached
	}
	if r.record.State.Load() != GroupActive || r.record.ID != r.welcome.GroupID {
		return nil, refuse(ErrGroupClosed, "shm: acquire: the group was ended: too slow, or damaged by a member; see the engine's log")
	}
	full := r.leases-r.passed >= int(r.welcome.MaxLeases)
	if full && !r.handoff {
		return nil, refuse(ErrLeases, "shm: acquire: all %d leases are in use; release a batch, or attach with more", r.welcome.MaxLeases)
	}
	last := r.lastWord(round > 0) // before the words are looked at: what a dying engine published is seen
	if !full {
		if l := r.claim(r.redo, &r.lane.RedoHead, &r.queue.RedoTail, seqRedo); l != nil {
			return l, nil
		}
		if l := r.claim(r.ready, &r.lane.Head, &r.queue.Tail, 0); l != nil {
			return l, nil
		}
	}
	if err := r.endOf(); err != nil {
		return nil, err
	}
	if last == nil && round > 0 && r.stage && !r.handoff && r.leases > r.passed {
		return nil, refuse(ErrUndone, "shm: acquire: this reader holds a batch of a stage, behind which others wait; call Done or Release on it before waiting for another")
	}
	return nil, last
}

// claim takes the first batch of one ring of entries: the compare-and-swap READY -> HELD(me) is the whole of it. The
// head is a hint: positions below it are claimed for sure, and everybody helps it forward.
func (r *Reader) claim(ring []paddedWord, head, tail *paddedWord, base uint64) *Lease {
	n := uint64(len(ring))
	lanes, lane := uint64(r.geo.NLanes), uint64(r.welcome.Lane)
	end := tail.Load() // A2: load-acquire; pairs with R2 (queue.go, enqueue): entries below it are written
	h := head.Load()
	if end > n && h < end-n {
		h = end - n
	}
	for ; h < end; h++ {
		seq := (base | (h*lanes + lane)) & seqMask
		e := ring[h&(n-1)].Load()
		slot := entrySlot(e)
		if entrySeq(e) != seq || slot >= uint64(r.geo.NSlots) {
			continue
		}
		w := r.word(slot)
		ready := packWord(wordReady, 0, seq)
		if w.Word.Load() != ready { // A1: load-acquire; pairs with R1 (queue.go, enqueue)
			continue
		}
		if r.desc(slot).Epoch.Load() > r.epoch && !r.upload {
			if w.Word.Load() != ready {
				continue // claimed meanwhile: that was another batch's epoch
			}
			break
		}
		if r.device && isDead(uintptr(r.engine.fd)) {
			return nil // its device memory went with the engine; the next one has it uploaded again
		}
		_ = Fault("claim.cas")
		held := packWord(wordHeld, r.welcome.Owner, seq)
		if !w.Word.CompareAndSwap(ready, held) {
			continue
		}
		_ = Fault("after.claim")
		advance(head, h+1)
		return r.lease(slot, held)
	}
	advance(head, h)
	return nil
}

// advance moves a hint forward, never back.
func advance(head *paddedWord, to uint64) {
	for was := head.Load(); was < to; was = head.Load() {
		if head.CompareAndSwap(was, to) {
			return
		}
	}
}

func (r *Reader) lease(slot, held uint64) *Lease {
	w, d := r.word(slot), r.desc(slot)
	now := monotonicNS()
	w.ClaimedNS.Store(now)
	r.leases++
	r.member.Acquired.Add(1)
	device := -1
	if d.Pool != 0 {
		device = int(d.Fence[0])
	}
	return &Lease{
		DeviceSlot: device, DeviceGeneration: atomic.LoadUint64(&d.Fence[1]),
		Batch: Batch{
			Ticket: d.Ticket, Epoch: d.Epoch.Load(), Step: d.Step, EpochStep: d.EpochStep, Rows: int(d.Rows), Flags: d.Flags,
			NBad: int(d.NBad), Hash: d.Hash, FetchedNS: d.FetchedNS, DecodedNS: d.DecodedNS, LastOfEpoch: d.Flags&FlagLast != 0,
		},
		Lane: d.Lane.Load(), Attempts: w.Attempts.Load(), Slot: int(slot), reader: r, word: held, claimed: now,
	}
}

// endOf is EndEpoch when every batch of the reader's epoch is completed, EndData after the last epoch, ErrUndone
// when only this reader's own leases are missing.
func (r *Reader) endOf() error {
	if r.upload {
		return nil // what is lost may have to be uploaded again at any time
	}
	if n := r.header.NEpochs; n != 0 && r.epoch >= n {
		return EndData
	}
	if r.queue.NextEpoch.Load() <= r.epoch { // A3: load-acquire; pairs with R3 (queue.go, announce): every word of the epoch is visible
		return nil
	}
	own, others := 0, 0
	for slot := range uint64(r.geo.NSlots) {
		switch r.undone(slot) {
		case 0:
		case nobody:
			return nil // it can still be taken
		case r.welcome.Owner:
			own++
		default:
			others++
		}
	}
	// Own leases are named even while others are missing too: two readers that each wait for the other's last batch
	// would wait for ever.
	if own > 0 && !r.handoff {
		return refuse(ErrUndone, "shm: acquire: epoch %d waits for %d batches that this reader holds; call Done or Release on them", r.epoch, own)
	}
	if own+others > 0 {
		return nil
	}
	r.epoch++
	r.member.Epoch.Store(r.epoch)
	return EndEpoch
}

// nobody stands for an undone batch that is not held.
const nobody = ^uint32(0)

// undone says whether a batch of this queue and of the reader's epoch or an earlier one lies uncompleted in slot:
// its holder, nobody if it is ready, 0 if there is none. The word is read again after the descriptor: if it has not
// changed, they belong together.
func (r *Reader) undone(slot uint64) uint32 {
	w, d := r.word(slot), r.desc(slot)
	for {
		was := w.Word.Load()
		s := stateOf(was)
		if s != wordReady && s != wordHeld {
			return 0
		}
		lane, epoch := d.Lane.Load(), d.Epoch.Load()
		if w.Word.Load() != was {
			continue
		}
		if epoch > r.epoch || r.geo.NLanes > 1 && lane != r.welcome.Lane {
			return 0
		}
		if s == wordReady {
			return nobody
		}
		return ownerOf(was)
	}
}

// lastWord says why nothing more will be published; with ask it costs a system call to look whether the engine lives.
func (r *Reader) lastWord(ask bool) error {
	switch r.state.State.Load() { // load-acquire: the text was written before
	case StateFailed:
		n := min(int(r.state.ErrorBytes), len(r.state.Error))
		return refuse(ErrEngineFailed, "shm: acquire: the engine failed: %s", r.state.Error[:n])
	case StateStopped:
		return refuse(ErrEngineStopped, "shm: acquire: the engine was stopped")
	}
	if ask && isDead(uintptr(r.engine.fd)) {
		return refuse(ErrEngineLost, "shm: acquire: the engine (pid %d) died; restart it and attach again", r.header.EnginePID)
	}
	return nil
}
