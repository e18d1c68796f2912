package shm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// parkSlice bounds every wait for a free slot: the net under the wake-ups, not the mechanism.
const parkSlice = 50 * time.Millisecond

// tickEvery is the period of the housekeeping: heartbeat, counters, and the check of every word.
const tickEvery = 50 * time.Millisecond

// Ring is the producer's side of a ring and the only writer of its header and data segments.
type Ring struct {
	cfg  Config
	geo  *geometry
	base string // of the names in /dev/shm

	header *segment
	data   *segment
	head   *Header
	state  *State
	pidfd  *os.File // of this process; members get a copy
	huge   string   // what came of asking for huge pages
	owners []OwnerRecord

	adopted bool // a dead engine made it

	// kick holds at most one token: something may have become free. Claim takes it; anybody may put it.
	kick    chan struct{}
	spoils  chan struct{} // the same for NextSpoiled: a slot has to be made again
	closing chan struct{} // closed by Close
	work    sync.WaitGroup
	parking *time.Timer // Claim's

	touching sync.Mutex    // serialises the first touch of slots
	touched  []bool        // guarded by touching
	flowing  chan struct{} // closed by the first Publish, under mu

	reserved   chan struct{} // closed when every slot has its memory, or will not have it
	reserveErr error         // why not; written before reserved is closed

	// mu is the right to write: whoever holds it may publish, admit, reap, drop or restart, and nobody else
	// does. It guards everything below, and is never held while waiting for a peer.
	mu         sync.Mutex
	slots      []Slot
	scan       int      // where the search for a free slot begins
	groups     []*group // active, closing or broken; not those that are gone
	past       []GroupInfo
	stages     []*group // those of groups that are stages, in the order a batch passes them
	onWay      []int    // slots between their publish and their consumers, in ticket order
	records    []*group // by index of their GroupRecord; nil: the record may be used
	queueUsed  []bool
	laneEpoch  []uint64 // epoch of the next batch of each lane of the ring
	nextTicket uint64
	late       []uint64 // tickets below nextTicket that are still to come, ascending
	published  uint64
	lastOwner  uint32 // incarnation numbers used up
	lastGroup  uint32
	violations uint64
	changed    chan struct{} // closed and replaced when a group comes or goes
	closed     bool
	watch      func(Event) // may be nil
}

// Event is something that happened to a member, for logs.
type Event struct {
	What  string // "attach", "detach", "hang-up", "death", "evict", "broken", "closed"
	Group string
	Owner uint32
	PID   int32
	Text  string
}

// Create reserves the segments of a ring, writes its header and seals it. Declared groups exist from here on.
// Nothing is left behind when it fails. The slots' pages are touched in the background once the first batch is
// published, each at the latest before its first Claim returns it.
//
// With Config.Adopt it goes on with the ring that a dead engine left under this name, if there is one (see adopt.go).
//
// It returns ErrNoSpace with the numbers when the segments do not fit, ErrNameInUse when a living engine owns the
// name (what a dead one left is removed), ErrArgument when the configuration makes no sense, and ErrState when what is to be
// adopted differs from it.
func Create(cfg Config) (*Ring, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	geo, err := newGeometry(&cfg)
	if err != nil {
		return nil, err
	}
	r := &Ring{
		cfg: cfg, geo: geo, base: segmentBase(cfg.Name, cfg.RingName),
		kick: make(chan struct{}, 1), spoils: make(chan struct{}, 1), closing: make(chan struct{}), changed: make(chan struct{}),
		parking: time.NewTimer(parkSlice), touched: make([]bool, cfg.Slots),
		records: make([]*group, geo.maxGroups), queueUsed: make([]bool, geo.maxQueues),
		laneEpoch: make([]uint64, cfg.Lanes), nextTicket: cfg.FirstTicket, flowing: make(chan struct{}),
		reserved: make(chan struct{}),
	}
	for i := range r.laneEpoch {
		r.laneEpoch[i] = cfg.FirstEpoch
	}
	if r.adopted, err = r.adopt(); err == nil && !r.adopted {
		err = r.build()
	}
	if err != nil {
		r.tearDown()
		return nil, err
	}
	r.work.Add(3)
	go r.reserveRest()
	go r.touchAll()
	go r.housekeeping()
	return r, nil
}

// build makes the segments and stores the magic last.
func (r *Ring) build() error {
	if err := Fault("shm.create"); err != nil {
		return err
	}
	if err := r.makeSegments(); err != nil {
		return err
	}
	if err := r.openSelf(); err != nil {
		return err
	}
	if err := r.writeHeader(); err != nil {
		return err
	}
	r.makeSlots()
	for _, g := range r.cfg.Groups {
		if _, err := r.addGroup(g, true); err != nil {
			return err
		}
	}
	r.state.State.Store(StateRunning)
	r.head.Magic.Store(MagicRing) // [M1: store-release; everything above is visible to whoever reads the magic]
	if err := r.header.seal(true); err != nil {
		return err
	}
	return r.data.seal(r.cfg.Access == Shared && !r.cfg.staged())
}

// openSelf takes the pidfd by which members learn of our death.
func (r *Ring) openSelf() error {
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return because(err, ErrUnsupported, "shm: create %q: pidfd_open: %v; spdl needs Linux 5.14 or newer", r.cfg.label(), err)
	}
	r.pidfd = os.NewFile(uintptr(self), "pidfd")
	return nil
}

func (r *Ring) makeSegments() error {
	c := &r.cfg
	if c.Backing == Posix {
		if err := removeStale(r.base); err != nil {
			return err
		}
		if free, known := freeBytes(); known && free < r.geo.headerBytes+r.geo.dataBytes {
			return noRoom(r.base+".d", Posix, r.geo.headerBytes+r.geo.dataBytes)
		}
	}
	var err error
	r.header, err = newSegment(segmentSpec{backing: c.Backing, name: r.base + ".h", mode: c.Mode, size: r.geo.headerBytes, readOnly: true})
	if err != nil {
		return err
	}
	if c.Backing == Posix {
		if err := lockHeader(r.header); err != nil {
			r.header.path = "" // not ours to remove
			return err
		}
		if err := removeParts(r.base); err != nil { // the name is ours: what is there has no owner
			return err
		}
	}
	r.data, err = newSegment(r.dataSpec())
	if err != nil {
		return err
	}
	if c.Access == Shared && c.staged() {
		if err := r.data.restrictPeer(); err != nil {
			return err
		}
	}
	r.huge = hugePages(r.data.mem)
	if err := populate(r.header.mem); err != nil {
		return because(err, ErrNoMemory, "shm: create %q: header of %d bytes: %v", c.label(), r.geo.headerBytes, err)
	}
	return nil
}

func (r *Ring) dataSpec() segmentSpec {
	c := &r.cfg
	spec := segmentSpec{backing: c.Backing, name: r.base + ".d", mode: c.Mode, size: r.geo.dataBytes, readOnly: c.Access == Shared}
	if c.Early {
		spec.atOnce = r.geo.slotStride
	}
	return spec
}

// Reserved waits until every slot has its memory, and returns why not. Where Config.Early was asked for the engine calls it
// before it lets anybody in: a ring that does not fit has then had no consumer. It does not wait otherwise.
func (r *Ring) Reserved() error {
	<-r.reserved
	return r.reserveErr
}

// writeHeader fills in the constant part of the header segment, the magic excepted.
func (r *Ring) writeHeader() error {
	c, g := &r.cfg, r.geo
	r.viewHeader()
	h := r.head
	r.describe(h)
	copy(r.header.mem[g.textOff:], c.Text)
	copy(manyAt[TensorRecord](r.header.mem, g.tensorOff, len(g.tensors)), g.tensors)
	pool := at[Pool](r.header.mem, g.poolOff)
	pool.Kind, pool.DeviceType, pool.Bytes = poolHostShm, deviceCPU, g.dataBytes
	r.state.NextTicket.Store(c.FirstTicket)
	for lane, epoch := range r.laneEpoch {
		r.state.LaneEpoch[lane].Store(epoch)
	}
	h.Generation = c.Generation
	if id := c.Identity; id != nil {
		h.RingUID, h.BootID, h.EnginePID = id.UID, id.BootID, id.EnginePID
		return nil
	}
	h.EnginePID = uint32(os.Getpid())
	h.BootID = bootID()
	if _, err := rand.Read(h.RingUID[:]); err != nil {
		return because(err, ErrSystem, "shm: create %q: random uid: %v", c.label(), err)
	}
	return nil
}

// viewHeader points into the header segment.
func (r *Ring) viewHeader() {
	r.head, r.state = at[Header](r.header.mem, 0), at[State](r.header.mem, stateOff)
	r.owners = manyAt[OwnerRecord](r.header.mem, r.geo.ownerOff, r.cfg.MaxConsumers)
}

// describe fills in what follows from the configuration: everything but the magic, the ring's uid and the engine's.
func (r *Ring) describe(h *Header) {
	c, g := &r.cfg, r.geo
	h.LayoutMajor, h.LayoutMinor = LayoutMajor, LayoutMinor
	h.HeaderBytes, h.Endian, h.PageBytes = g.headerBytes, endianMark, uint32(os.Getpagesize())
	if c.staged() && c.Access == Shared && c.Backing == Memfd {
		h.FeaturesRequired = featureStaged
	}
	h.SpecHash = c.SpecHash
	h.Access, h.Backing = uint32(c.Access), uint32(c.Backing)
	h.NSlots, h.NTensors = uint32(c.Slots), uint32(len(c.Tensors))
	h.MaxGroups, h.MaxQueues, h.NPools = uint32(g.maxGroups), uint32(g.maxQueues), 1
	h.BatchRows, h.WorldSize, h.FirstRank, h.NLanes = uint32(c.BatchRows), uint32(c.World), uint32(c.FirstRank), uint32(c.Lanes)
	h.DataBytes, h.SlotStride = g.dataBytes, g.slotStride
	h.StateOff, h.GroupOff, h.GroupStride = stateOff, g.groupOff, 256
	h.QueueOff, h.QueueStride, h.PoolOff, h.PoolStride = g.queueOff, 128, g.poolOff, 128
	h.TensorOff, h.TensorStride = g.tensorOff, 384
	h.DescOff, h.DescStride, h.DescTensorOff, h.DescTensorStride = g.descOff, g.descStride, 256, 192
	h.OwnerOff, h.OwnerStride, h.MaxOwners = g.ownerOff, 128, uint32(c.MaxConsumers)
	h.NoteOff, h.NoteBytes = g.noteOff, g.noteBytes
	h.TextOff, h.TextBytes = g.textOff, uint64(len(c.Text))
	h.NSamples, h.GlobalBatch, h.StepsPerEpoch, h.NEpochs, h.Seed = c.NSamples, c.GlobalBatch, c.StepsPerEpoch, c.Epochs, c.Seed
	copy(h.Name[:nameBytes-1], c.label())
}

// bootID is this boot's identity; zero where the kernel does not tell.
func bootID() (id [16]byte) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return id
	}
	digits := strings.ReplaceAll(strings.TrimSpace(string(b)), "-", "")
	if len(digits) == 2*len(id) {
		_, _ = hex.Decode(id[:], []byte(digits))
	}
	return id
}

// ---- the producer's calls ------------------------------------------------------------------------

// Claim takes a free slot for the caller to fill. It blocks until every group has let one go, and ends early
// with ctx's error or ErrClosed. One goroutine claims at a time.
//
// Order: the load-acquire of a word that says FREE [F2] pairs with F1, the store-release in spdl_release
// (capi/client/ring.c): every read of the old batch happened before the first write of the new one.
func (r *Ring) Claim(ctx context.Context) (*Slot, error) {
	for {
		s, err := r.tryClaim()
		if err != nil {
			return nil, err
		}
		if s != nil {
			if err := r.awaitReserved(ctx, s); err != nil {
				r.Abandon(s)
				return nil, err
			}
			if err := r.touch(s.index); err != nil {
				r.Abandon(s)
				return nil, because(err, ErrNoMemory, "shm: ring %q: slot %d of %d bytes: %v; the memory limit is below what the ring reserved", r.cfg.label(), s.index, r.geo.slotStride, err)
			}
			return s, Fault("slot.take")
		}
		r.parking.Reset(parkSlice)
		select {
		case <-r.kick:
		case <-r.parking.C:
		case <-r.closing:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryClaim looks for a free slot, makes room by policy, and parks: parked is set before the last look [P1:
// seq-cst], and a member that frees a word reads it after its own seq-cst fence, so one of the two sees the other.
func (r *Ring) tryClaim() (*Slot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	s := r.findFree()
	if s == nil && r.shed() {
		s = r.findFree()
	}
	if s == nil {
		r.state.Parked.Store(1)
		s = r.findFree()
		r.settle()
	}
	if s != nil {
		r.unpark()
		s.claimed = true
	}
	return s, nil
}

func (r *Ring) unpark() {
	if r.state.Parked.Load() != 0 {
		r.state.Parked.Store(0)
	}
}

// findFree is a slot that no group and no producer holds, or nil.
func (r *Ring) findFree() *Slot {
	for k := range r.slots {
		i := r.scan + k
		if i >= len(r.slots) {
			i -= len(r.slots)
		}
		if !r.slots[i].claimed && r.slotFree(i) {
			r.scan = i + 1
			if r.scan == len(r.slots) {
				r.scan = 0
			}
			return &r.slots[i]
		}
	}
	return nil
}

func (r *Ring) slotFree(i int) bool {
	if r.slots[i].way.on {
		return false // between two stages every word says FREE
	}
	for _, g := range r.groups {
		if !g.free(i) {
			return false
		}
	}
	return true
}

// Abandon gives back a claimed slot that will not be published.
func (r *Ring) Abandon(s *Slot) {
	r.mu.Lock()
	s.claimed = false
	r.mu.Unlock()
	r.wakeClaim()
}

func (r *Ring) wakeClaim() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// Publish makes the slot visible to every group, or to the first stage, and ends this producer's claim: its memory must not be written
// again until Claim returns it. Tickets increase from call to call, but for those that were announced as Batch.Open; gaps are
// allowed. It blocks while there is no group, and never for a slow one.
//
// Order: all stores to the slot and its descriptor happen before the store-release of the word [R1], which pairs
// with A1, the load-acquire in spdl_acquire (capi/client/ring.c).
//
// It returns ErrClosed, ctx's error while it waits for a group, and ErrArgument for a batch that makes no sense.
// The claim goes on after an error.
func (r *Ring) Publish(ctx context.Context, s *Slot, b Batch) error {
	if err := Fault("publish.store"); err != nil {
		return err
	}
	for {
		wait, err := r.tryPublish(s, &b)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-r.closing:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryPublish publishes, or returns what to wait for.
func (r *Ring) tryPublish(s *Slot, b *Batch) (<-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	if err := r.checkBatch(s, b); err != nil {
		return nil, err
	}
	if !r.anyGroup() {
		return r.changed, nil
	}
	lane := uint32(b.Ticket % uint64(r.cfg.Lanes))
	if err := s.describe(b, lane); err != nil {
		return nil, err
	}
	s.claimed = false
	if len(r.stages) > 0 {
		r.send(s)
	} else {
		r.deliver(s)
	}
	r.fill(b)
	r.passed(lane, b.Ticket, b.Epoch, b.LastOfEpoch)
	_ = Fault("wake")
	if len(r.stages) > 0 {
		r.stages[0].announce(lane)
	} else {
		r.announce(lane)
	}
	if r.state.Parked.Load() != 0 {
		r.wakeClaim() // published to nobody, as after a restart, the slot is free again and no member says so
	}
	return nil, nil
}

// deliver puts a slot into the queues of every consumers' group.
func (r *Ring) deliver(s *Slot) {
	for _, g := range r.groups {
		if g.cfg.Kind == KindConsumer {
			g.publish(s.index, s.desc.Lane.Load(), s.desc.Ticket, s.desc.Epoch.Load())
			_ = Fault("publish.group")
		}
	}
}

// announce tells every group that may have news in lane.
func (r *Ring) announce(lane uint32) {
	for _, g := range r.groups {
		g.announce(lane)
	}
}

// fill takes the batch's ticket from those that are still to come, and adds those that it passes over.
func (r *Ring) fill(b *Batch) {
	if !r.cfg.Ready {
		return
	}
	r.late = slices.DeleteFunc(r.late, func(t uint64) bool { return t == b.Ticket })
	for _, t := range b.Open {
		if t >= r.nextTicket && t < b.Ticket {
			r.late = append(r.late, t)
		}
	}
	slices.Sort(r.late)
}

// passed notes that a batch is in every group. The ticket is stored last: an engine that adopts the ring believes a batch
// from that ticket on to be unfinished (see finishPublish).
func (r *Ring) passed(lane uint32, ticket, epoch uint64, last bool) {
	if last {
		epoch++
	}
	r.setLaneEpoch(int(lane), max(r.laneEpoch[lane], epoch))
	if r.published++; r.published == 1 {
		close(r.flowing)
	}
	r.nextTicket = max(r.nextTicket, ticket+1)
	r.state.Published.Store(r.published)
	r.state.NextTicket.Store(r.nextTicket)
}

// setLaneEpoch says which epoch the next batch of lane belongs to.
func (r *Ring) setLaneEpoch(lane int, epoch uint64) {
	r.laneEpoch[lane] = epoch
	r.state.LaneEpoch[lane].Store(epoch)
}

func (r *Ring) checkBatch(s *Slot, b *Batch) error {
	switch {
	case s.ring != r || !s.claimed:
		return refuse(ErrArgument, "shm: ring %q: publish of slot %d: it is not claimed", r.cfg.label(), s.index)
	case len(b.Open) > 0 && !r.cfg.Ready:
		return refuse(ErrArgument, "shm: ring %q: publish of ticket %d: %d earlier ones are to come, want none in a ring that publishes in order", r.cfg.label(), b.Ticket, len(b.Open))
	case b.Ticket < r.nextTicket && !slices.Contains(r.late, b.Ticket):
		return refuse(ErrArgument, "shm: ring %q: publish of ticket %d: want %d or more", r.cfg.label(), b.Ticket, r.nextTicket)
	case b.Rows < 0 || b.Rows > r.cfg.BatchRows:
		return refuse(ErrArgument, "shm: ring %q: publish of ticket %d: %d rows, want 0 to %d", r.cfg.label(), b.Ticket, b.Rows, r.cfg.BatchRows)
	}
	return nil
}

func (r *Ring) anyGroup() bool {
	for _, g := range r.groups {
		if g.phase == phaseActive || g.rebuilds() {
			return true
		}
	}
	return false
}

// EndEpoch says that lane has no batch of epoch left to publish. Publishing a batch with LastOfEpoch says the
// same; this is for an epoch whose last batch is skipped, as after a restart or a load.
func (r *Ring) EndEpoch(lane int, epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || epoch < r.laneEpoch[lane] {
		return
	}
	r.setLaneEpoch(lane, epoch+1)
	for _, g := range r.groups {
		g.announce(uint32(lane))
		_ = Fault("epoch.end")
	}
}

// End says that every epoch asked for has been published. Leases and what is published stay.
func (r *Ring) End() { r.finish(StateEnded, 0, "") }

// Fail says that the engine gave up, and why. What was published may still be taken.
func (r *Ring) Fail(status Status, text string) { r.finish(StateFailed, status, text) }

// Stop says that the engine stops in good order; Close says it too.
func (r *Ring) Stop() { r.finish(StateStopped, ErrEngineStopped, "") }

// finish stores the engine's last word, the text before the state, and wakes everybody.
func (r *Ring) finish(state uint32, status Status, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if now := r.state.State.Load(); now == StateFailed || now == StateStopped {
		return
	}
	if text != "" {
		n := copy(r.state.Error[:len(r.state.Error)-1], text)
		r.state.ErrorBytes = uint32(n)
	}
	r.state.Status.Store(int32(status))
	r.state.State.Store(state)
	for _, g := range r.groups {
		g.wakeMembers()
	}
}

// Close stops the ring: state STOPPED unless it failed, every waiter woken, goroutines ended, names removed, memory
// unmapped. Nobody may write to a claimed slot any more. Members keep their own mappings. Safe to call twice.
func (r *Ring) Close() error {
	r.Stop()
	_ = Fault("shutdown.drain")
	return r.end()
}

// Leave gives the ring up without ending it: its names, its words and its members stay as they are, for the next engine to
// adopt. What has no names is gone.
func (r *Ring) Leave() error {
	r.mu.Lock()
	if !r.closed {
		r.keepNames()
	}
	r.mu.Unlock()
	return r.end()
}

// keepNames has tearDown leave the files. The caller holds mu, or is alone.
func (r *Ring) keepNames() {
	for _, s := range []*segment{r.header, r.data} {
		if s != nil {
			s.path = ""
		}
	}
	for _, g := range r.groups {
		g.seg.path = ""
	}
}

// end stops the goroutines and tears down, once.
func (r *Ring) end() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		r.work.Wait()
		return nil
	}
	r.closed = true
	for _, g := range r.groups {
		g.hush()
	}
	r.mu.Unlock()
	close(r.closing)
	r.work.Wait()
	r.tearDown()
	return nil
}

// tearDown gives everything back; no goroutine of the ring runs any more.
func (r *Ring) tearDown() {
	for _, g := range r.groups {
		g.dispose()
	}
	r.groups = nil
	_ = Fault("unlink")
	r.data.close()
	r.header.close() // last: while its lock is held the name is ours
	if r.pidfd != nil {
		_ = r.pidfd.Close()
	}
}

// ---- background ----------------------------------------------------------------------------------

// reserveRest takes the memory of the slots that Create has not taken.
func (r *Ring) reserveRest() {
	defer r.work.Done()
	defer close(r.reserved)
	if !r.cfg.Early {
		return
	}
	spec, stride := r.dataSpec(), r.geo.slotStride
	for at := stride; at < spec.size; at += stride {
		select {
		case <-r.closing:
			r.reserveErr = ErrClosed
			return
		default:
		}
		if r.reserveErr = r.data.reserveRange(spec, at, min(stride, spec.size-at)); r.reserveErr != nil {
			return
		}
	}
}

// awaitReserved waits for the memory of any slot but the first.
func (r *Ring) awaitReserved(ctx context.Context, s *Slot) error {
	if s.index == 0 {
		return nil
	}
	select {
	case <-r.reserved:
		return r.reserveErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// touch makes the slot's pages present. Cheap after the first time. What is claimed before the first batch is out is left to
// its writers, several of which take the page faults at once; its memory is reserved.
func (r *Ring) touch(i int) error {
	r.touching.Lock()
	defer r.touching.Unlock()
	if r.touched[i] {
		return nil
	}
	select {
	case <-r.flowing:
	default:
		r.touched[i] = true
		return nil
	}
	err := populate(r.slots[i].memory)
	r.touched[i] = err == nil
	return err
}

// touchAll makes the pages of slots present that nobody has claimed yet. It waits for the first batch, whose making is
// in a hurry and needs the CPUs.
func (r *Ring) touchAll() {
	defer r.work.Done()
	select {
	case <-r.flowing:
	case <-r.closing:
	}
	if r.Reserved() != nil {
		return
	}
	for i := range r.slots {
		select {
		case <-r.closing:
			return
		default:
		}
		if r.touch(i) != nil {
			return // Claim meets the same error and reports it
		}
	}
}

// housekeeping beats, keeps the counters current and looks at every word, so that a lie is found even while
// nothing is claimed.
func (r *Ring) housekeeping() {
	defer r.work.Done()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.closing:
			return
		case <-tick.C:
		}
		r.mu.Lock()
		r.state.HeartbeatNS.Store(monotonicNS())
		for _, g := range r.groups {
			g.sweep()
			if g.completed != g.told { // a member may have been stopped before it could say so
				g.told = g.completed
				g.ringBell()
			}
		}
		r.settle()
		r.handOn()
		left := r.departed()
		r.mu.Unlock()
		r.reapAll(left)
	}
}

// groupsChanged tells those who wait for a group, and Claim, to look again.
func (r *Ring) groupsChanged() {
	close(r.changed)
	r.changed = make(chan struct{})
	r.wakeClaim()
}

func (r *Ring) report(e Event) {
	if r.watch != nil {
		r.watch(e)
	}
}

// Watch has f called for everything that happens to members. f runs under the ring's lock: it must return at
// once and not call the ring. Set it before the first member.
func (r *Ring) Watch(f func(Event)) {
	r.mu.Lock()
	r.watch = f
	r.mu.Unlock()
}
