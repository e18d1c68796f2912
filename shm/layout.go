package shm

import (
	"sync/atomic"
	"unsafe"
)

// The shared-memory layout as Go: the twin of layout.h, where the picture is and where each field is explained.
// tests/golden holds the two together. A field of an atomic type may change while others look; every other
// field is constant from the moment its record becomes visible.

const (
	MagicRing  uint64 = 0x31474e524c445053 // "SPDLRNG1"
	MagicGroup uint64 = 0x315052474c445053 // "SPDLGRP1"

	LayoutMajor = 1
	LayoutMinor = 6
	endianMark  = 0x01020304
	lineBytes   = 128 // words with different writers sit this far apart
	nameBytes   = 64
	maxDims     = 8
	MaxSlots    = 65536
	MaxTensors  = 256
	MaxLanes    = 64

	featureStaged = uint64(1) // stage groups, or an uploader, may write the data of this shared memfd ring: it is not sealed
	featureDevice = uint64(2) // tensors lie in pools of device memory
	knownRequired = featureStaged | featureDevice
)

// Access says how consumers map the data segment.
type Access uint32

const (
	Private Access = 1 // one consumer, read-write
	Shared  Access = 2 // any number, read-only
)

// Backing says where the segments live.
type Backing uint32

const (
	Posix Backing = 1 // names in /dev/shm
	Memfd Backing = 2 // nameless, sealed
)

// Engine states, State.State.
const (
	StateStarting = 0
	StateRunning  = 1
	StateEnded    = 2
	StateFailed   = 3
	StateStopped  = 4
)

// Group states, GroupRecord.State.
const (
	GroupAbsent = 0
	GroupActive = 1
	GroupClosed = 2
	GroupBroken = 3
)

// Kind says what a group is for.
type Kind uint32

const (
	KindConsumer Kind = 1 // sees every batch once
	KindStage    Kind = 2 // transforms every batch in its slot, before any consumer sees it
	KindUploader Kind = 3 // copies every batch to a device, after the stages
)

// Mode says how the members of a group divide its batches.
type Mode uint32

const (
	ModeShared Mode = 1 // members race
	ModeLanes  Mode = 2 // member r gets lane r
)

// Slow says what happens to a group that holds the others back.
type Slow uint32

const (
	SlowBlock  Slow = 1 // the ring waits for it
	SlowDrop   Slow = 2 // its oldest unclaimed batch is dropped and counted
	SlowDetach Slow = 3 // it is closed once another group has nothing left to read
)

const (
	poolHostShm   = 1
	poolCUDAIPC   = 2
	poolCUDAEvent = 4
	fenceNone     = 0
	fenceCUDA     = 1
	deviceCPU     = 1
	deviceCUDA    = 2
)

// Kinds, roles and axes of a tensor.
const (
	Dense  = 1
	Ragged = 2

	RoleField  = 1
	RoleIndex  = 2
	RoleKey    = 3
	RoleStatus = 4
	RoleLabel  = 5

	AxesNone = 0
	AxesNHWC = 1
	AxesNCHW = 2
)

// Batch flags, Desc.Flags.
const (
	FlagLast   = 1
	FlagShort  = 2
	FlagBad    = 4
	FlagPadded = 8
	FlagKeyCut = 16
)

// States of a slot's word in a group.
const (
	wordFree  = 0
	wordReady = 1
	wordHeld  = 2
	wordDone  = 3

	seqMask   = uint64(1)<<40 - 1
	seqRedo   = uint64(1) << 39
	maxOwner  = uint32(1)<<20 - 1
	slotsMask = uint64(1)<<24 - 1
)

func packWord(state, owner uint32, seq uint64) uint64 {
	return uint64(state)<<60 | uint64(owner)<<40 | seq
}
func stateOf(w uint64) uint32            { return uint32(w >> 60) }
func ownerOf(w uint64) uint32            { return uint32(w>>40) & maxOwner }
func seqOf(w uint64) uint64              { return w & seqMask }
func packEntry(seq uint64, i int) uint64 { return seq<<24 | uint64(i) }
func entrySeq(e uint64) uint64           { return e >> 24 }
func entrySlot(e uint64) uint64          { return e & slotsMask }

// Header is spdl_l_header, 1024 bytes.
type Header struct {
	Magic            atomic.Uint64
	LayoutMajor      uint32
	LayoutMinor      uint32
	HeaderBytes      uint64
	Endian           uint32
	PageBytes        uint32
	FeaturesRequired uint64
	FeaturesOptional uint64
	RingUID          [16]byte
	BootID           [16]byte
	SpecHash         [32]byte
	Generation       uint64
	EnginePID        uint32
	Access           uint32
	Backing          uint32
	NSlots           uint32
	NTensors         uint32
	MaxGroups        uint32
	MaxQueues        uint32
	NPools           uint32
	BatchRows        uint32
	WorldSize        uint32
	FirstRank        uint32
	NLanes           uint32
	DataBytes        uint64
	SlotStride       uint64
	StateOff         uint64
	GroupOff         uint64
	GroupStride      uint64
	QueueOff         uint64
	QueueStride      uint64
	PoolOff          uint64
	PoolStride       uint64
	TensorOff        uint64
	TensorStride     uint64
	DescOff          uint64
	DescStride       uint64
	DescTensorOff    uint64
	DescTensorStride uint64
	TextOff          uint64
	TextBytes        uint64
	NSamples         uint64
	GlobalBatch      uint64
	StepsPerEpoch    uint64
	NEpochs          uint64
	Seed             uint64
	Name             [nameBytes]byte
	OwnerOff         uint64
	OwnerStride      uint64
	MaxOwners        uint32
	Reserved0        uint32
	NoteOff          uint64
	NoteBytes        uint64
	LateOff          uint64
	LateBytes        uint64
	Reserved         [560]byte
}

// State is spdl_l_state, 2048 bytes; written by the engine.
type State struct {
	State       atomic.Uint32
	Status      atomic.Int32
	Published   atomic.Uint64
	NextTicket  atomic.Uint64
	HeartbeatNS atomic.Uint64
	Violations  atomic.Uint64
	LastOwner   atomic.Uint32
	LastGroup   atomic.Uint32
	Note        atomic.Uint64
	Late        atomic.Uint64
	Reserved0   [8]uint64
	Parked      atomic.Uint32
	Reserved1   [31]uint32
	ErrorBytes  uint32
	Error       [1020]byte
	LaneEpoch   [MaxLanes]atomic.Uint64
	Reserved2   [256]byte
}

// GroupRecord is spdl_l_group, 256 bytes; written by the engine.
type GroupRecord struct {
	State        atomic.Uint32
	ID           uint32
	Kind         uint32
	Mode         uint32
	NLanes       uint32
	FirstQueue   uint32
	Declared     uint32
	Slow         uint32
	Redeliver    uint32
	Members      atomic.Uint32
	PublishMask  uint64
	FirstTicket  uint64
	SegmentBytes uint64
	Published    atomic.Uint64
	Completed    atomic.Uint64
	Redelivered  atomic.Uint64
	Dropped      atomic.Uint64
	Violations   atomic.Uint64
	Name         [nameBytes]byte
	Discarded    atomic.Uint64
	MinEpoch     atomic.Uint64
	Reserved     [72]byte
}

// Queue is spdl_l_queue, 128 bytes; written by the engine. What is being put is for the next engine alone: it is stored plainly before
// PutTicket is, and lies behind the line of the tail, which consumers look at meanwhile.
type Queue struct {
	Tail      atomic.Uint64
	RedoTail  atomic.Uint64
	NextEpoch atomic.Uint64
	Group     uint32
	Lane      uint32
	Reserved0 [32]byte
	PutAt     uint64
	PutCount  uint64
	PutTicket atomic.Uint64
	PutSlot   uint32
	Reserved1 uint32
	Reserved  [32]byte
}

// OwnerRecord is spdl_l_owner, 128 bytes; written by the engine, for the next one.
type OwnerRecord struct {
	Owner      atomic.Uint32
	PID        int32
	Started    uint64
	GroupIndex uint32
	GroupID    uint32
	Member     uint32
	Lane       uint32
	MaxLeases  uint32
	Reserved0  uint32
	Client     [32]byte
	Reserved   [56]byte
}

// Pool is spdl_l_pool, 128 bytes.
type Pool struct {
	Kind       uint32
	DeviceType int32
	DeviceID   int32
	Flags      uint32
	Bytes      uint64
	Handle     [64]byte
	Generation atomic.Uint64 // stored last; 0: void
	SlotBytes  uint64
	UUID       [16]byte
	Reserved   [8]byte
}

// TensorRecord is spdl_l_tensor, 384 bytes.
type TensorRecord struct {
	Name          [nameBytes]byte
	Kind          uint32
	Role          uint32
	DtypeCode     uint8
	DtypeBits     uint8
	DtypeLanes    uint16
	Axes          uint32
	Ndim          uint32
	Pool          uint32
	Offset        uint64
	Bytes         uint64
	OffsetsOffset uint64
	OffsetsBytes  uint64
	Shape         [maxDims]int64
	Strides       [maxDims]int64
	Reserved      [136]byte
}

// Desc is spdl_l_desc, 256 bytes; written before publish, constant until the slot is free in every group.
type Desc struct {
	Ticket      uint64
	Epoch       atomic.Uint64 // read while the slot may change hands: the word is read again afterwards
	Step        uint64
	Rows        uint32
	Lane        atomic.Uint32 // as Epoch
	Flags       uint32
	NBad        uint32
	PublishMask uint64
	Hash        uint64
	FetchedNS   uint64
	DecodedNS   uint64
	PublishedNS uint64
	Pool        uint32
	FenceKind   uint32
	Fence       [4]uint64
	EpochStep   uint64
	Way         atomic.Uint64
	Reserved    [120]byte
}

// States of a way, the low eight bits of Desc.Way; above them one bit, the stage and the times it was made again.
const (
	wayOff     = 0 // no batch is between its publish and its consumers
	wayMoving  = 1 // it is being put into its stage: a word that says FREE there does not say that the stage is through
	waySet     = 2 // it was put
	waySpoiled = 3 // its content is nothing to look at: it has to be made again

	wayVoid       = uint64(1) << 8 // nobody gets it any more
	wayStageShift = 16
	wayAgainShift = 32
)

// DescTensor is spdl_l_desc_tensor, 192 bytes.
type DescTensor struct {
	Shape      [maxDims]int64
	Strides    [maxDims]int64
	Bytes      uint64
	DeviceType int32
	DeviceID   int32
	Fence      uint64
	Reserved   [40]byte
}

// GroupHead is spdl_l_ghead, 256 bytes; constant.
type GroupHead struct {
	Magic        atomic.Uint64
	LayoutMajor  uint32
	LayoutMinor  uint32
	Bytes        uint64
	RingUID      [16]byte
	GroupID      uint32
	GroupIndex   uint32
	NLanes       uint32
	NSlots       uint32
	NEntries     uint32
	MaxMembers   uint32
	LaneOff      uint64
	LaneStride   uint64
	ReadyOff     uint64
	RedoOff      uint64
	WordOff      uint64
	WordStride   uint64
	MemberOff    uint64
	MemberStride uint64
	Reserved     [128]byte
}

// Lane is spdl_l_lane, 512 bytes, then ready[n_entries] and redo[n_entries].
type Lane struct {
	Head     atomic.Uint64
	Pad0     [120]byte
	RedoHead atomic.Uint64
	Pad1     [120]byte
	Wake     atomic.Uint32
	Pad2     [124]byte
	Sleepers atomic.Uint32
	Armed    atomic.Uint32
	Pad3     [120]byte
}

// Word is spdl_l_word, 128 bytes. Word changes by compare-and-swap only; Attempts is the engine's, the clocks
// are the holder's.
type Word struct {
	Word      atomic.Uint64
	Attempts  atomic.Uint32
	Reserved0 uint32
	ClaimedNS atomic.Uint64
	DoneNS    atomic.Uint64
	Reserved1 [96]byte
}

// MemberRecord is spdl_l_member, 256 bytes; the first half is the engine's, the second the member's.
type MemberRecord struct {
	Owner        atomic.Uint32
	PID          uint32
	Lane         uint32
	MaxLeases    uint32
	AttachedNS   uint64
	Reserved0    [104]byte
	Armed        atomic.Uint32
	Reserved1    uint32
	Epoch        atomic.Uint64
	Acquired     atomic.Uint64
	Completed    atomic.Uint64
	WaitNS       atomic.Uint64
	HoldNS       atomic.Uint64
	WaitingSince atomic.Uint64
	Presence     atomic.Uint32
	Reserved2    uint32
	Reserved3    [64]byte
}

// Presence of a member, MemberRecord.Presence: the member goes from welcomed to here and from here to gone, an engine that
// adopts its ring from welcomed to gone.
const (
	presenceWelcomed = 0
	presenceHere     = 1
	presenceGone     = 2
)

// at is the record of type T at off. It panics when the record does not fit: callers check geometry first.
func at[T any](b []byte, off uint64) *T {
	var t T
	_ = b[off : off+uint64(unsafe.Sizeof(t))]
	return (*T)(unsafe.Pointer(&b[off]))
}

// manyAt is n records of type T from off, one after the other.
func manyAt[T any](b []byte, off uint64, n int) []T {
	var t T
	_ = b[off : off+uint64(unsafe.Sizeof(t))*uint64(n)]
	return unsafe.Slice((*T)(unsafe.Pointer(&b[off])), n)
}

// bytesOf is the record's own memory.
func bytesOf[T any](t *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(t)), unsafe.Sizeof(*t))
}

// text reads a NUL-padded name.
func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
