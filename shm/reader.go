package shm

import (
	"context"
	"errors"
	"math/bits"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	mmap "github.com/edsrzf/mmap-go"
	"golang.org/x/sys/unix"
)

const (
	waitSlice = 50 * time.Millisecond // of every sleep: the net under the wake-ups
	spinTime  = 20 * time.Microsecond // before the first sleep, with more than one CPU
)

// Reader is a consumer in Go. Several goroutines may share it: each Acquire leases a different batch.
type Reader struct {
	caller  *caller
	calling sync.Mutex // one request at a time on caller
	handoff bool
	stage   bool // a stage's worker: it may write what it holds, and lets go of it when it is done
	welcome Welcome

	files  []*os.File
	maps   []mmap.MMap
	header *Header
	state  *State
	record *GroupRecord
	queue  *Queue
	lane   *Lane
	data   []byte
	group  []byte
	geo    *GroupHead
	ready  []paddedWord
	redo   []paddedWord
	member *MemberRecord
	schema []TensorRecord
	hdr    []byte

	engine eventFD // its pidfd
	space  eventFD

	life sync.RWMutex // held for reading by Acquire, for writing while the mappings go

	mu     sync.Mutex // guards what follows
	leases int        // held, done or not
	passed int        // of leases: done in a stage, so that only the memory is kept
	epoch  uint64     // the one this reader is in
	closed bool
}

// newReader maps what came with the welcome and checks all of it. The descriptors are its own when it succeeds.
func newReader(c *caller, m *message, opts AttachOptions) (*Reader, error) {
	w, err := payloadAs[Welcome](m.payload)
	if err != nil {
		return nil, err
	}
	r := &Reader{caller: c, handoff: opts.Handoff, welcome: w, epoch: w.Epoch}
	fds := m.fds
	m.fds = nil
	if err := r.mapAll(fds); err != nil {
		r.unmap()
		closeAll(fds[len(r.files):])
		return nil, err
	}
	if !r.member.Presence.CompareAndSwap(presenceWelcomed, presenceHere) {
		r.unmap()
		return nil, refuse(ErrEngineLost, "shm: attach: the engine died before it was heard, and the next one does not know of this consumer; attach again")
	}
	return r, nil
}

func (r *Reader) mapAll(fds []int) error {
	w := &r.welcome
	one := func(what string, size uint64, write, sealed bool) ([]byte, error) {
		f, mem, err := mapSegment(fds[len(r.files)], what, size, write, sealed)
		r.files = append(r.files, f)
		if mem != nil {
			r.maps = append(r.maps, mem)
		}
		return mem, err
	}
	var err error
	if r.hdr, err = one("header", w.HeaderBytes, false, true); err != nil {
		return err
	}
	if r.header, err = checkHeader(r.hdr); err != nil {
		return err
	}
	if w.GroupIndex >= r.header.MaxGroups {
		return refuse(ErrFormat, "shm: attach: welcome to group %d of %d", w.GroupIndex, r.header.MaxGroups)
	}
	r.record = at[GroupRecord](r.hdr, r.header.GroupOff+r.header.GroupStride*uint64(w.GroupIndex))
	r.stage = r.record.Kind == uint32(KindStage)
	private, staged := r.header.Access == uint32(Private), r.header.FeaturesRequired&featureStaged != 0
	if r.group, err = one("group", w.GroupBytes, true, false); err != nil {
		return err
	}
	if r.geo, err = checkGroup(r.group, r.header); err != nil {
		return err
	}
	if r.data, err = one("data", w.DataBytes, private || r.stage, !private && !staged); err != nil {
		return err
	}
	if w.DataBytes != r.header.DataBytes {
		return refuse(ErrFormat, "shm: attach: data segment has %d bytes, the header says %d", w.DataBytes, r.header.DataBytes)
	}
	for _, fd := range fds[len(r.files):] {
		_ = unix.SetNonblock(fd, true)
		r.files = append(r.files, os.NewFile(uintptr(fd), "control"))
	}
	r.engine = eventFD{r.files[3], fds[3]}
	r.space = eventFD{r.files[4], fds[4]}
	return r.view()
}

// view points into the mapped segments.
func (r *Reader) view() error {
	h, g, w := r.header, r.geo, &r.welcome
	if w.Member >= g.MaxMembers || w.Lane >= g.NLanes {
		return refuse(ErrFormat, "shm: attach: welcome to member %d, lane %d, outside the ring", w.Member, w.Lane)
	}
	r.state = at[State](r.hdr, h.StateOff)
	q := uint64(r.record.FirstQueue) + uint64(w.Lane)
	if q >= uint64(h.MaxQueues) {
		return refuse(ErrFormat, "shm: attach: group %d has queue %d of %d", w.GroupIndex, q, h.MaxQueues)
	}
	r.queue = at[Queue](r.hdr, h.QueueOff+h.QueueStride*q)
	lane := g.LaneOff + g.LaneStride*uint64(w.Lane)
	r.lane = at[Lane](r.group, lane)
	r.ready = manyAt[paddedWord](r.group, lane+g.ReadyOff, int(g.NEntries))
	r.redo = manyAt[paddedWord](r.group, lane+g.RedoOff, int(g.NEntries))
	r.member = at[MemberRecord](r.group, g.MemberOff+g.MemberStride*uint64(w.Member))
	for i := range uint64(h.NTensors) {
		t := at[TensorRecord](r.hdr, h.TensorOff+h.TensorStride*i)
		if err := checkTensor(t, h); err != nil {
			return err
		}
		r.schema = append(r.schema, *t)
	}
	return nil
}

func (r *Reader) word(slot uint64) *Word {
	return at[Word](r.group, r.geo.WordOff+r.geo.WordStride*slot)
}

func (r *Reader) desc(slot uint64) *Desc {
	return at[Desc](r.hdr, r.header.DescOff+r.header.DescStride*slot)
}

// ---- acquire -------------------------------------------------------------------------------------

// Lease is the right to read one batch. It ends with Release.
type Lease struct {
	Batch
	Lane     uint32
	Attempts uint32 // 1: first delivery; more: its earlier holders died
	Slot     int

	reader  *Reader
	word    uint64 // HELD, as claimed
	claimed uint64
	done    bool
	ended   bool
}

// Acquire waits for the next batch and leases it. EndEpoch comes once per epoch, when every batch of it is
// completed, then the next epoch's batches; EndData after the last. Other errors: ErrLeases and ErrUndone where
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
	end := tail.Load() // load-acquire: entries below it are written
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
		if w.Word.Load() != ready { // A1: load-acquire; pairs with R1 (group.go, enqueue)
			continue
		}
		if r.desc(slot).Epoch.Load() > r.epoch {
			if w.Word.Load() != ready {
				continue // claimed meanwhile: that was another batch's epoch
			}
			break
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
	return &Lease{
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
	if n := r.header.NEpochs; n != 0 && r.epoch >= n {
		return EndData
	}
	if r.queue.NextEpoch.Load() <= r.epoch { // load-acquire: every entry of the epoch is visible
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

// ---- what a lease gives --------------------------------------------------------------------------

// Schema are the ring's tensors, shapes being capacities.
func (r *Reader) Schema() []TensorRecord { return r.schema }

// Header is the ring's geometry, constant.
func (r *Reader) Header() *Header { return r.header }

// Owner is this consumer's incarnation number.
func (r *Reader) Owner() uint32 { return r.welcome.Owner }

// Lane is the reader's lane in its group.
func (r *Reader) Lane() int { return int(r.welcome.Lane) }

// Epoch is the epoch the reader is in.
func (r *Reader) Epoch() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epoch
}

// Text is the ring's JSON for clients.
func (r *Reader) Text() []byte {
	return r.hdr[r.header.TextOff : r.header.TextOff+r.header.TextBytes]
}

// EngineState is one of the State constants; ErrEngineLost when the engine's process is dead.
func (r *Reader) EngineState() (uint32, error) {
	if isDead(uintptr(r.engine.fd)) {
		return r.state.State.Load(), ErrEngineLost
	}
	return r.state.State.Load(), nil
}

// Shape is the shape of tensor i in this batch: [rows, ...], or [values] of a ragged one.
func (l *Lease) Shape(i int) []int64 {
	d := l.tensor(i)
	return append([]int64(nil), d.Shape[:min(l.reader.schema[i].Ndim, maxDims)]...)
}

func (l *Lease) tensor(i int) *DescTensor {
	h := l.reader.header
	return at[DescTensor](l.reader.hdr, h.DescOff+h.DescStride*uint64(l.Slot)+h.DescTensorOff+h.DescTensorStride*uint64(i))
}

// Tensor is the used bytes of tensor i, a view that ends with the lease; of a ragged one, its values. nil when the
// descriptor points outside the tensor.
func (l *Lease) Tensor(i int) []byte {
	t, n := &l.reader.schema[i], l.tensor(i).Bytes
	if n > t.Bytes {
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
	ok := r.word(uint64(l.Slot)).Word.CompareAndSwap(l.word, free) // F1: release; pairs with F2 in Claim (ring.go)
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
	why = why[:min(len(why), maxWhy)]
	if _, err := r.call(ctx, msgFail, append(append([]byte(nil), bytesOf(&f)...), why...)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLease(l)
	return nil
}

// maxWhy is how much of a stage's reason travels.
const maxWhy = 4096

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

// ---- requests and end ----------------------------------------------------------------------------

// SaveState asks the engine for the group's position as JSON; with countHeld the batches that this reader holds
// count as completed, and those in extra do.
func (r *Reader) SaveState(ctx context.Context, countHeld bool, extra ...uint64) ([]byte, error) {
	req := StateReq{N: uint32(len(extra))}
	if countHeld {
		req.Flags = stateCountHeld
	}
	payload := append([]byte(nil), bytesOf(&req)...)
	for _, ticket := range extra {
		payload = append(payload, u64(ticket)...)
	}
	m, err := r.call(ctx, msgState, payload)
	if err != nil {
		return nil, err
	}
	return m.payload, nil
}

// LoadState goes on from a saved position.
func (r *Reader) LoadState(ctx context.Context, state []byte) error {
	return r.jump(ctx, msgLoad, state)
}

// Restart leaves the rest of this epoch and begins the next.
func (r *Reader) Restart(ctx context.Context) error { return r.jump(ctx, msgRestart, nil) }

func (r *Reader) jump(ctx context.Context, kind uint16, payload []byte) error {
	m, err := r.call(ctx, kind, payload)
	if err != nil {
		return err
	}
	epoch, err := epochAnswer(m)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.epoch = epoch
	r.member.Epoch.Store(epoch)
	r.mu.Unlock()
	return nil
}

// Stats are the engine's counters as JSON.
func (r *Reader) Stats(ctx context.Context) ([]byte, error) {
	m, err := r.call(ctx, msgStats, nil)
	if err != nil {
		return nil, err
	}
	return m.payload, nil
}

func (r *Reader) call(ctx context.Context, kind uint16, payload []byte) (*message, error) {
	r.calling.Lock()
	defer r.calling.Unlock()
	m, err := r.caller.call(ctx, kind, payload, nil, 0)
	if errors.Is(err, ErrEngineLost) && r.record.State.Load() == GroupBroken {
		return nil, ErrGroupClosed
	}
	return m, err
}

// Close ends the membership. Leases end with it: their memory is unmapped. What was not done is delivered to the
// group again.
func (r *Reader) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	r.lane.Wake.Add(1)
	wakeAll(unsafe.Pointer(&r.lane.Wake))
	r.mu.Unlock()
	r.life.Lock()
	r.unmap()
	r.life.Unlock()
	_ = Fault("detach.sent")
	return r.caller.detach()
}

// detach tells the engine that nothing is leased or mapped any more, and hangs up.
func (c *caller) detach() error {
	err := send(c.conn, Msg{Type: msgDetach}, nil, nil)
	if isHangUp(err) {
		err = nil // the engine is gone: there is nobody to tell
	}
	return errors.Join(err, c.conn.Close())
}

func (r *Reader) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// unmap says that this member is gone once it can read no slot any more: an engine that is dead now will look there.
func (r *Reader) unmap() {
	for i := len(r.maps) - 1; i >= 0; i-- { // data, group, header
		if i == 1 && r.member != nil {
			r.member.Presence.CompareAndSwap(presenceHere, presenceGone)
		}
		_ = r.maps[i].Unmap()
	}
	r.maps = nil
	for _, f := range r.files {
		_ = f.Close()
	}
}
