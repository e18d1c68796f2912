package shm

import (
	"context"
	"errors"
	"os"
	"sync"
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
	calling sync.Mutex // one request or look for an engine at a time; guards the next two
	caller  *caller
	search  search
	handoff bool

	reconnects time.Duration // how long it looks for the next engine; 0: the loss is reported at once
	uid        [16]byte      // the ring's

	stage   bool // a stage's worker: it may write what it holds, and lets go of it when it is done
	upload  bool // an uploader: a stage's worker that knows no epochs
	device  bool // a consumer of a ring with a device, which goes with its engine
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
	joins  uint32 // engines found after the first
}

// newReader maps what came with the welcome and checks all of it. The descriptors are its own when it succeeds.
func newReader(c *caller, m *message, opts AttachOptions) (*Reader, error) {
	w, err := payloadAs[Welcome](m.payload)
	if err != nil {
		return nil, err
	}
	r := &Reader{caller: c, handoff: opts.Handoff, welcome: w, epoch: w.Epoch, reconnects: time.Duration(w.ReconnectNS)}
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
	r.uid = r.header.RingUID
	if w.GroupIndex >= r.header.MaxGroups {
		return refuse(ErrFormat, "shm: attach: welcome to group %d of %d", w.GroupIndex, r.header.MaxGroups)
	}
	r.record = at[GroupRecord](r.hdr, r.header.GroupOff+r.header.GroupStride*uint64(w.GroupIndex))
	r.stage, r.upload = Kind(r.record.Kind).stage(), Kind(r.record.Kind) == KindUploader
	r.device = !r.stage && r.header.FeaturesRequired&featureDevice != 0
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

// ---- what a lease gives --------------------------------------------------------------------------

// Data is the data segment: slot i is bytes [i * Header.SlotStride, (i + 1) * Header.SlotStride). It ends with Close.
func (r *Reader) Data() []byte { return r.data }

// DeviceGeneration is the generation of the ring's device memory; 0: it has none, or its uploader is gone, or its engine.
func (r *Reader) DeviceGeneration() uint64 {
	if r.header.NPools < 2 || r.device && r.engineDead() {
		return 0
	}
	return at[Pool](r.hdr, r.header.PoolOff+r.header.PoolStride).Generation.Load()
}

// DeviceHandle is the driver's handle of the device memory.
func (r *Reader) DeviceHandle() [64]byte {
	return at[Pool](r.hdr, r.header.PoolOff+r.header.PoolStride).Handle
}

// DeviceSlots are how many device slots the ring wants, and how far apart; 0: it has no device.
func (r *Reader) DeviceSlots() (n int, stride uint64) {
	if r.header.NPools < 3 {
		return 0, 0
	}
	return int(r.header.NPools) - 2, at[Pool](r.hdr, r.header.PoolOff+r.header.PoolStride).SlotBytes
}

// OfferDevice tells the engine where the device memory is, and the events of its slots. For an uploader, once, before its first
// Acquire.
func (r *Reader) OfferDevice(ctx context.Context, d Device, events [][64]byte) error {
	payload := append([]byte(nil), bytesOf(&d)...)
	for i := range events {
		payload = append(payload, events[i][:]...)
	}
	_, err := r.call(ctx, msgDevice, payload)
	return err
}

// Schema are the ring's tensors, shapes being capacities.
func (r *Reader) Schema() []TensorRecord { return r.schema }

// TensorName is the tensor's name as text.
func (t *TensorRecord) TensorName() string { return text(t.Name[:]) }

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
	if r.engineDead() {
		return r.state.State.Load(), ErrEngineLost
	}
	return r.state.State.Load(), nil
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
