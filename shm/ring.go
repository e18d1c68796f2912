package shm

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
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
	planned    struct { // what the next two will be when the batch in hand is in every group
		next uint64
		late []uint64
	}
	device     *uploads // nil: batches stay in host memory
	published  uint64
	lastOwner  uint32 // incarnation numbers used up
	lastGroup  uint32
	violations uint64
	changed    chan struct{} // closed and replaced when a group comes or goes
	closed     bool
	shut       bool        // by Shut
	withdrawn  bool        // by Withdraw
	watch      func(Event) // may be nil
}

// Event is something that happened to a member, for logs.
type Event struct {
	What  string // "attach", "rejoin", "detach", "hang-up", "death", "device", "broken", "closed"; of a batch: "again", "failed"
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
	self, err := SelfPIDFD()
	if err != nil {
		return fmt.Errorf("shm: create %q: %w", r.cfg.label(), err)
	}
	r.pidfd = self
	return nil
}

func (r *Ring) makeSegments() error {
	c := &r.cfg
	if c.Backing == Posix {
		if err := ownPath(filepath.Join(shmDir, r.base+".h")); err != nil {
			return err
		}
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
	r.writePools()
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
	if c.Device != nil {
		h.FeaturesRequired |= featureDevice
	}
	h.SpecHash = c.SpecHash
	h.Access, h.Backing = uint32(c.Access), uint32(c.Backing)
	h.NSlots, h.NTensors = uint32(c.Slots), uint32(len(g.tensors))
	h.MaxGroups, h.MaxQueues, h.NPools = uint32(g.maxGroups), uint32(g.maxQueues), uint32(g.nPools)
	h.BatchRows, h.WorldSize, h.FirstRank, h.NLanes = uint32(c.BatchRows), uint32(c.World), uint32(c.FirstRank), uint32(c.Lanes)
	h.DataBytes, h.SlotStride = g.dataBytes, g.slotStride
	h.StateOff, h.GroupOff, h.GroupStride = stateOff, g.groupOff, 256
	h.QueueOff, h.QueueStride, h.PoolOff, h.PoolStride = g.queueOff, 128, g.poolOff, 128
	h.TensorOff, h.TensorStride = g.tensorOff, 384
	h.DescOff, h.DescStride, h.DescTensorOff, h.DescTensorStride = g.descOff, g.descStride, 256, 192
	h.OwnerOff, h.OwnerStride, h.MaxOwners = g.ownerOff, 128, uint32(c.MaxConsumers)
	h.NoteOff, h.NoteBytes = g.noteOff, g.noteBytes
	h.LateOff, h.LateBytes = g.lateOff, g.lateBytes
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
