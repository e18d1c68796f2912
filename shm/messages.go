package shm

// The control socket's messages.
const (
	msgMagic   = 0x4d4c4450 // "PDLM"
	msgVersion = 1
	msgMax     = 65536
	whyMax     = 4096 // of a FAIL's text

	msgHello   = 1
	msgWelcome = 2
	msgError   = 3
	msgOK      = 4
	msgDetach  = 5
	msgState   = 6
	msgLoad    = 7
	msgRestart = 8
	msgStats   = 9
	msgObserve = 10
	msgEvict   = 11
	msgStop    = 12
	msgFail    = 13
	msgDevice  = 14
	msgConnect = 15

	helloPIDFD     = 1
	helloRejoin    = 2
	stateCountHeld = 1
)

// Msg is spdl_l_msg, 32 bytes, before every payload.
type Msg struct {
	Magic    uint32
	Version  uint16
	Type     uint16
	ID       uint32
	Status   int32
	Bytes    uint32
	Reserved [3]uint32
}

// Hello is spdl_l_hello, 256 bytes.
type Hello struct {
	LayoutMajor uint32
	LayoutMinor uint32
	PID         uint32
	Mode        uint32
	Lane        int32
	MaxLeases   uint32
	Flags       uint32
	NLanes      uint32
	Group       [nameBytes]byte
	Ring        [nameBytes]byte
	Client      [32]byte
	RingUID     [16]byte
	Owner       uint32
	GroupID     uint32
	Reserved    [40]byte
}

// Welcome is spdl_l_welcome, 128 bytes.
type Welcome struct {
	Owner       uint32
	GroupIndex  uint32
	GroupID     uint32
	Lane        uint32
	Member      uint32
	MaxLeases   uint32
	Epoch       uint64
	HeaderBytes uint64
	GroupBytes  uint64
	DataBytes   uint64
	ReconnectNS uint64
	Reserved    [64]byte
}

// StateReq is spdl_l_state_req, 16 bytes, then n tickets.
type StateReq struct {
	Flags    uint32
	N        uint32
	Reserved uint64
}

// Fail is spdl_l_fail, 16 bytes, then text.
type Fail struct {
	Word     uint64
	Slot     uint32
	Reserved uint32
}

// Device is spdl_l_device, 128 bytes, then a handle of 64 bytes for the event of each device slot.
type Device struct {
	DeviceID  uint32
	NSlots    uint32
	SlotBytes uint64
	Bytes     uint64
	UUID      [16]byte
	Handle    [64]byte
	Reserved  [24]byte
}

// Evict is spdl_l_evict, 16 bytes.
type Evict struct {
	Owner    uint32
	PID      uint32
	Reserved uint64
}
