package shm

import (
	"fmt"
	"math/bits"
	"os"
	"slices"
)

// DType is an element type in DLPack's codes: 0 int, 1 uint, 2 float, 4 bfloat.
type DType struct {
	Code  uint8
	Bits  uint8
	Lanes uint16
}

// Size is the bytes of one element, 0 if they are not whole.
func (d DType) Size() int64 {
	n := int64(d.Bits) * int64(d.Lanes)
	if n%8 != 0 {
		return 0
	}
	return n / 8
}

// Tensor is one named tensor of every slot.
type Tensor struct {
	Name  string
	Kind  uint32 // Dense or Ragged
	Role  uint32
	Axes  uint32
	DType DType
	// Shape is the capacity. Dense: the batch dimension first, rows dense. Ragged: not used.
	Shape []int64
	// Values is the capacity of a ragged tensor in elements, all rows together.
	Values int64
}

// GroupConfig is a group that exists from the first ticket, empty or not.
type GroupConfig struct {
	Name        string
	Kind        Kind // 0: KindConsumer. Stages have a batch one after the other, in the order they are declared
	Mode        Mode // 0: ModeShared
	Slow        Slow // 0: SlowBlock
	NoRedeliver bool // what a dead member held is dropped and counted
}

// Identity fixes what is otherwise random or of this process, for reproducible segments in tests.
type Identity struct {
	UID, BootID [16]byte
	EnginePID   uint32
}

// Config describes a ring. Zero values have the defaults named here.
type Config struct {
	Name         string      // [A-Za-z0-9._-]{1,63}, not beginning with a dot
	RingName     string      // second name when an engine serves several rings; "" for the only one
	Backing      Backing     // 0: Memfd
	Access       Access      // 0: Private
	Mode         os.FileMode // of posix segments: 0600 (also for 0) or 0640
	Slots        int         // 3 to MaxSlots
	Tensors      []Tensor
	Lanes        int // 0: 1. Ticket t belongs to lane t % Lanes
	World        int // 0: Lanes
	FirstRank    int
	BatchRows    int // capacity of the batch dimension
	MaxConsumers int // 0: 16. With a Device one of them is its uploader
	Groups       []GroupConfig

	NSamples, GlobalBatch, StepsPerEpoch, Epochs, Seed uint64

	// Device has every batch uploaded before consumers see it. The ring declares the group of the uploader itself.
	Device *DeviceConfig

	SpecHash   [32]byte
	Generation uint64 // 0: 1
	Text       []byte // JSON for clients
	// Ready lets batches be published before those of earlier tickets: see Batch.Open. Needs StepsPerEpoch and a ring without
	// stages.
	Ready       bool
	Adopt       bool      // posix: go on with what a dead engine left under this name; FirstTicket and FirstEpoch do not count then
	FirstTicket uint64    // where tickets begin
	FirstEpoch  uint64    // the epoch of the first ticket
	Identity    *Identity // nil: random

	// Early has Create return once the first slot is reserved; Ring.Reserved tells what became of the others.
	Early bool
}

// withDefaults fills in what was left out and refuses what makes no sense.
func (c Config) withDefaults() (Config, error) {
	if c.Backing == 0 {
		c.Backing = Memfd
	}
	if c.Access == 0 {
		c.Access = Private
	}
	if c.Mode == 0 {
		c.Mode = 0o600
	}
	if c.Lanes == 0 {
		c.Lanes = 1
	}
	if c.World == 0 {
		c.World = c.FirstRank + c.Lanes
	}
	if c.MaxConsumers == 0 {
		c.MaxConsumers = 16
	}
	if c.Generation == 0 {
		c.Generation = 1
	}
	groups := make([]GroupConfig, len(c.Groups))
	for i, g := range c.Groups {
		if g.Kind == 0 {
			g.Kind = KindConsumer
		}
		if g.Mode == 0 {
			g.Mode = ModeShared
		}
		if g.Slow == 0 {
			g.Slow = SlowBlock
		}
		groups[i] = g
	}
	if c.Device != nil {
		groups = append(groups, GroupConfig{Name: DeviceGroup, Kind: KindUploader, Mode: ModeShared, Slow: SlowBlock})
	}
	c.Groups = groups
	return c, c.check()
}

func (c *Config) check() error {
	bad := func(format string, args ...any) error {
		return refuse(ErrArgument, "shm: create %q: "+format, append([]any{c.label()}, args...)...)
	}
	places := 0 // that are no consumer's
	if c.Device != nil {
		places = 1
	}
	switch {
	case !validName.MatchString(c.Name):
		return bad("name %q, want %s", c.Name, nameRule)
	case c.RingName != "" && !validName.MatchString(c.RingName):
		return bad("ring name %q, want %s", c.RingName, nameRule)
	case len(segmentBase(c.Name, c.RingName)) > 120:
		return bad("name and ring name together have %d bytes, want at most 114", len(c.Name)+len(c.RingName))
	case c.Backing != Posix && c.Backing != Memfd:
		return bad("backing %d, want posix (1) or memfd (2)", c.Backing)
	case c.Access != Private && c.Access != Shared:
		return bad("access %d, want private (1) or shared (2)", c.Access)
	case c.Mode != 0o600 && c.Mode != 0o640:
		return bad("mode %04o, want 0600 or 0640", c.Mode)
	case c.Slots < 3 || c.Slots > MaxSlots:
		return bad("%d slots, want 3 to %d", c.Slots, MaxSlots)
	case len(c.Tensors) == 0 || len(c.Tensors) > MaxTensors:
		return bad("%d tensors, want 1 to %d", len(c.Tensors), MaxTensors)
	case c.Lanes < 1 || c.Lanes > MaxLanes:
		return bad("%d lanes, want 1 to %d", c.Lanes, MaxLanes)
	case c.FirstRank < 0 || c.World < c.FirstRank+c.Lanes:
		return bad("world size %d, want at least first rank %d + %d lanes", c.World, c.FirstRank, c.Lanes)
	case c.Ready && (c.StepsPerEpoch == 0 || c.staged()):
		return bad("batches are published as they are ready, want steps per epoch and no stages")
	case c.BatchRows < 1 || c.BatchRows > 1<<24:
		return bad("%d rows a batch, want 1 to %d", c.BatchRows, 1<<24)
	case c.MaxConsumers < 1+places || c.MaxConsumers > 4096+places:
		return bad("%d consumers at most, want %d to %d", c.MaxConsumers, 1+places, 4096+places)
	case len(c.Text) > 1<<24:
		return bad("%d bytes of text, want at most %d", len(c.Text), 1<<24)
	}
	if c.Device != nil {
		if err := c.Device.check(c, bad); err != nil {
			return err
		}
	}
	return c.checkGroups(bad)
}

// checkGroups wants groups of names of their own, the uploader's last.
func (c *Config) checkGroups(bad func(format string, args ...any) error) error {
	seen := map[string]bool{}
	for i, g := range c.Groups {
		switch {
		case !validName.MatchString(g.Name):
			return bad("group name %q, want %s", g.Name, nameRule)
		case seen[g.Name]:
			return bad("group %q is declared twice; give each its own name", g.Name)
		case g.Mode != ModeShared && g.Mode != ModeLanes:
			return bad("group %q: mode %d, want shared (1) or lanes (2)", g.Name, g.Mode)
		case g.Slow < SlowBlock || g.Slow > SlowDetach:
			return bad("group %q: slow %d, want block (1), drop (2) or detach (3)", g.Name, g.Slow)
		case g.Kind == KindUploader && c.Device != nil && i == len(c.Groups)-1:
		case g.Kind != KindConsumer && g.Kind != KindStage:
			return bad("group %q: kind %d, want consumer (1) or stage (2)", g.Name, g.Kind)
		case g.Kind == KindStage && (g.Mode != ModeShared || g.Slow != SlowBlock || g.NoRedeliver):
			return bad("group %q: a stage has mode shared, slow block and every batch of the dead decoded again; leave these out", g.Name)
		}
		seen[g.Name] = true
	}
	return nil
}

// label is the ring's name as people write it, NAME or NAME/RING.
func (c *Config) label() string {
	if c.RingName == "" {
		return c.Name
	}
	return c.Name + "/" + c.RingName
}

// geometry is where everything lies, computed once with checked arithmetic.
type geometry struct {
	tensors    []TensorRecord
	slotStride uint64
	dataBytes  uint64

	nPools       int
	deviceStride uint64 // between device slots; 0: there are none

	maxGroups, maxQueues int

	groupOff, queueOff, poolOff, tensorOff, descOff, descStride, ownerOff, noteOff, noteBytes, lateOff, lateBytes, textOff, headerBytes uint64
}

const (
	headerSize = 1024
	stateSize  = 2048
	stateOff   = headerSize
)

func newGeometry(c *Config) (*geometry, error) {
	g := &geometry{}
	var err error
	if g.tensors, g.slotStride, err = placeTensors(c); err != nil {
		return nil, err
	}
	g.nPools = 1
	if c.Device != nil {
		if err := g.placeOnDevice(c); err != nil {
			return nil, err
		}
	}
	hi, lo := bits.Mul64(g.slotStride, uint64(c.Slots))
	if hi != 0 || lo > 1<<46 {
		return nil, refuse(ErrArgument, "shm: create %q: %d slots of %d bytes are more than an address space; use fewer or smaller ones", c.label(), c.Slots, g.slotStride)
	}
	g.dataBytes = lo
	g.maxGroups = len(c.Groups) + c.MaxConsumers
	for _, d := range c.Groups {
		g.maxQueues += queuesOf(d.Mode, c.Lanes)
	}
	g.maxQueues += c.MaxConsumers * c.Lanes
	page := uint64(os.Getpagesize())
	g.groupOff = stateOff + stateSize
	g.queueOff = g.groupOff + 256*uint64(g.maxGroups)
	g.poolOff = g.queueOff + 128*uint64(g.maxQueues)
	g.tensorOff = g.poolOff + 128*uint64(g.nPools)
	g.descOff = g.tensorOff + 384*uint64(len(g.tensors))
	g.descStride = roundUp(256+192*uint64(len(g.tensors)), lineBytes)
	g.ownerOff = g.descOff + g.descStride*uint64(c.Slots)
	g.noteOff = g.ownerOff + 128*uint64(c.MaxConsumers)
	if c.Backing == Posix { // nobody can adopt a ring without names
		g.noteBytes = MaxNote
		if c.Ready {
			g.lateBytes = roundUp(8*uint64(2+c.Slots), lineBytes)
		}
	}
	g.lateOff = g.noteOff + 2*g.noteBytes
	g.textOff = g.lateOff + 2*g.lateBytes
	g.headerBytes = roundUp(g.textOff+uint64(len(c.Text))+1, page)
	return g, nil
}

func queuesOf(mode Mode, lanes int) int {
	if mode == ModeLanes {
		return lanes
	}
	return 1
}

// placeTensors lays the tensors out in a slot, each 64-byte aligned, the slot page-aligned.
func placeTensors(c *Config) ([]TensorRecord, uint64, error) {
	records := make([]TensorRecord, len(c.Tensors))
	names := map[string]bool{}
	var off uint64
	for i := range c.Tensors {
		t := &c.Tensors[i]
		if t.Name == "" || len(t.Name) >= nameBytes || names[t.Name] {
			return nil, 0, refuse(ErrArgument, "shm: create %q: tensor %d is called %q, want a name of its own of 1 to %d bytes", c.label(), i, t.Name, nameBytes-1)
		}
		names[t.Name] = true
		used, err := placeTensor(t, &records[i], off, int64(c.BatchRows))
		if err != nil {
			return nil, 0, refuse(ErrArgument, "shm: create %q: tensor %q: %v", c.label(), t.Name, err)
		}
		off = roundUp(used, 64)
	}
	return records, roundUp(max(off, 1), uint64(os.Getpagesize())), nil
}

// placeOnDevice lays the device tensors out in a device slot, after those of the slot in the schema.
func (g *geometry) placeOnDevice(c *Config) error {
	var off uint64
	for i := range c.Device.Tensors {
		t := &c.Device.Tensors[i]
		if t.Name == "" || len(t.Name) >= nameBytes || slices.ContainsFunc(g.tensors, func(r TensorRecord) bool { return text(r.Name[:]) == t.Name }) {
			return refuse(ErrArgument, "shm: create %q: device tensor %d is called %q, want a name of its own of 1 to %d bytes", c.label(), i, t.Name, nameBytes-1)
		}
		record := TensorRecord{Pool: 1}
		used, err := placeTensor(&t.Tensor, &record, off, int64(c.BatchRows))
		if err != nil {
			return refuse(ErrArgument, "shm: create %q: device tensor %q: %v", c.label(), t.Name, err)
		}
		g.tensors = append(g.tensors, record)
		off = roundUp(used, deviceAlign)
	}
	g.nPools, g.deviceStride = 2+c.Device.Slots, off
	return nil
}

// deviceAlign is what tensors on a device are aligned to: a multiple of what its memory is read in.
const deviceAlign = 256

// placeTensor fills r for t, which begins at off, and returns the end of it.
func placeTensor(t *Tensor, r *TensorRecord, off uint64, rows int64) (uint64, error) {
	size := t.DType.Size()
	if size < 1 || size > 1<<16 {
		return 0, fmt.Errorf("%d x %d bits an element, want whole bytes", t.DType.Lanes, t.DType.Bits)
	}
	copy(r.Name[:], t.Name)
	r.Kind, r.Role, r.Axes = t.Kind, t.Role, t.Axes
	r.DtypeCode, r.DtypeBits, r.DtypeLanes = t.DType.Code, t.DType.Bits, t.DType.Lanes
	r.Offset = off
	switch t.Kind {
	case Dense:
		if len(t.Shape) < 1 || len(t.Shape) > maxDims || t.Shape[0] != rows {
			return 0, fmt.Errorf("shape %v, want 1 to %d dimensions, %d rows first", t.Shape, maxDims, rows)
		}
		bytes, ok := denseStrides(r.Strides[:], t.Shape, size)
		if !ok {
			return 0, fmt.Errorf("shape %v of %d-byte elements, want positive dimensions and at most 64 TiB", t.Shape, size)
		}
		copy(r.Shape[:], t.Shape)
		r.Ndim, r.Bytes = uint32(len(t.Shape)), bytes
		return off + bytes, nil
	case Ragged:
		hi, bytes := bits.Mul64(uint64(t.Values), uint64(size))
		if t.Values < 1 || hi != 0 || bytes > 1<<46 {
			return 0, fmt.Errorf("%d values of %d bytes, want 1 value to 64 TiB", t.Values, size)
		}
		r.Ndim, r.Bytes = 1, bytes
		r.Shape[0], r.Strides[0] = t.Values, size
		r.OffsetsOffset = roundUp(off+bytes, 64)
		r.OffsetsBytes = 8 * uint64(rows+1)
		return r.OffsetsOffset + r.OffsetsBytes, nil
	}
	return 0, fmt.Errorf("kind %d, want dense (1) or ragged (2)", t.Kind)
}

// denseStrides writes C-order strides in bytes and returns the bytes of the whole.
func denseStrides(strides, shape []int64, size int64) (uint64, bool) {
	total := uint64(size)
	for d := len(shape) - 1; d >= 0; d-- {
		if shape[d] < 1 {
			return 0, false
		}
		strides[d] = int64(total)
		hi, lo := bits.Mul64(total, uint64(shape[d]))
		if hi != 0 || lo > 1<<46 {
			return 0, false
		}
		total = lo
	}
	return total, true
}

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }
