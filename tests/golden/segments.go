package golden

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"github.com/spdl/spdl/shm"
)

// The golden ring: 6 slots, 2 lanes, 4 tensors, a shared group "train" and a lanes group "ranks". Tickets 0 to 3 are
// published. In train, ticket 0 is released; ticket 1 was held by a member that left and is done by a second one, at its
// second attempt; ticket 2 is held by the second; ticket 3 is ready. Nobody is attached to ranks.

const (
	goldenPID = 4242
	goldenNS  = 1000000007 // every time
)

func goldenConfig() shm.Config {
	u8, i64 := shm.DType{Code: 1, Bits: 8, Lanes: 1}, shm.DType{Code: 0, Bits: 64, Lanes: 1}
	id := shm.Identity{EnginePID: goldenPID}
	for i := range id.UID {
		id.UID[i], id.BootID[i] = byte(i), byte(0xf0+i)
	}
	cfg := shm.Config{
		Name: "golden", Access: shm.Shared, Slots: 6, Lanes: 2, World: 4, FirstRank: 2, BatchRows: 2, MaxConsumers: 2,
		NSamples: 100, GlobalBatch: 8, StepsPerEpoch: 12, Epochs: 3, Seed: 17, Text: []byte(`{"classes":["cat","dog"]}`), Identity: &id,
		Groups: []shm.GroupConfig{{Name: "train"}, {Name: "ranks", Mode: shm.ModeLanes, NoRedeliver: true}},
		Tensors: []shm.Tensor{
			{Name: "image", Kind: shm.Dense, Role: shm.RoleField, Axes: shm.AxesNHWC, DType: u8, Shape: []int64{2, 4, 4, 3}},
			{Name: "index", Kind: shm.Dense, Role: shm.RoleIndex, DType: i64, Shape: []int64{2}},
			{Name: "key", Kind: shm.Ragged, Role: shm.RoleKey, DType: u8, Values: 256},
			{Name: "status", Kind: shm.Dense, Role: shm.RoleStatus, DType: u8, Shape: []int64{2}},
		},
	}
	for i := range cfg.SpecHash {
		cfg.SpecHash[i] = byte(0xa0 + i)
	}
	return cfg
}

// makeSegments runs the golden ring and copies its segments, then breaks copies of them.
func makeSegments() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "spdl")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ring, err := shm.Create(goldenConfig())
	if err != nil {
		return nil, err
	}
	defer ring.Close()
	socket := filepath.Join(dir, "golden.sock")
	server, err := shm.Listen(shm.ServerConfig{Name: socket}, shm.Service{Ring: ring})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	reader, err := playGolden(ctx, ring, socket)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	ring.Groups() // brings the counters up to date
	s, err := shm.Observe(ctx, socket)
	if err != nil {
		return nil, err
	}
	if problems := shm.Check(s); len(problems) > 0 {
		return nil, fmt.Errorf("golden: the ring is not consistent: %v", problems)
	}
	still(s)
	return variants(s), nil
}

// playGolden brings the ring into the state described above.
func playGolden(ctx context.Context, ring *shm.Ring, socket string) (*shm.Reader, error) {
	for ticket := range uint64(4) {
		slot, err := ring.Claim(ctx)
		if err != nil {
			return nil, err
		}
		copy(slot.Tensor(2), "cat/1dog/22")
		copy(slot.Offsets(2), []int64{0, 5, 11})
		b := shm.Batch{Ticket: ticket, Step: ticket / 2, EpochStep: ticket / 2, Rows: 2, Hash: 0xfeed + ticket, FetchedNS: goldenNS, DecodedNS: goldenNS}
		if err := ring.Publish(ctx, slot, b); err != nil {
			return nil, err
		}
	}
	first, err := shm.Attach(ctx, socket, shm.AttachOptions{Group: "train", MaxLeases: 2, Client: "golden"})
	if err != nil {
		return nil, err
	}
	zero, err := first.Acquire(ctx)
	if err == nil {
		_, err = first.Acquire(ctx)
	}
	if err == nil {
		err = zero.Release()
	}
	if err == nil {
		err = first.Close()
	}
	if err != nil {
		return nil, err
	}
	for ring.Groups()[0].Redelivered == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	second, err := shm.Attach(ctx, socket, shm.AttachOptions{Group: "train", MaxLeases: 2, Client: "golden"})
	if err != nil {
		return nil, err
	}
	one, err := second.Acquire(ctx)
	if err == nil {
		err = one.Done()
	}
	if err == nil {
		_, err = second.Acquire(ctx)
	}
	return second, err
}

// still replaces what differs from run to run: times and pids.
func still(s *shm.Snapshot) {
	h := record[shm.Header](s.Header, 0)
	state := record[shm.State](s.Header, h.StateOff)
	state.HeartbeatNS.Store(goldenNS)
	state.Parked.Store(0)
	for i := range uint64(h.MaxOwners) {
		if o := record[shm.OwnerRecord](s.Header, h.OwnerOff+i*h.OwnerStride); o.PID != 0 {
			o.PID, o.Started = goldenPID, goldenNS
		}
	}
	for i := range uint64(h.NSlots) {
		if d := record[shm.Desc](s.Header, h.DescOff+i*h.DescStride); d.PublishedNS != 0 {
			d.PublishedNS = goldenNS
		}
	}
	for _, b := range s.Groups {
		g := record[shm.GroupHead](b, 0)
		for i := range uint64(g.NSlots) {
			w := record[shm.Word](b, g.WordOff+i*g.WordStride)
			if w.ClaimedNS.Load() != 0 {
				w.ClaimedNS.Store(goldenNS)
			}
			if w.DoneNS.Load() != 0 {
				w.DoneNS.Store(goldenNS)
			}
		}
		for i := range uint64(g.MaxMembers) {
			if m := record[shm.MemberRecord](b, g.MemberOff+i*g.MemberStride); m.AttachedNS != 0 {
				m.PID, m.AttachedNS = goldenPID, goldenNS
				m.HoldNS.Store(goldenNS)
				m.WaitNS.Store(0)
			}
		}
	}
}

// variants are the files: the segments, and header segments that every reader must refuse.
func variants(s *shm.Snapshot) map[string][]byte {
	broken := func(change func(h *shm.Header)) []byte {
		b := append([]byte(nil), s.Header...)
		change(record[shm.Header](b, 0))
		return b
	}
	return map[string][]byte{
		"header.bin":                  s.Header,
		"group-train.bin":             s.Groups[0],
		"group-ranks.bin":             s.Groups[1],
		"broken-truncated.bin":        s.Header[:1000],
		"broken-short.bin":            s.Header[:len(s.Header)-4096],
		"broken-magic.bin":            broken(func(h *shm.Header) { h.Magic.Store(shm.MagicRing + 1) }),
		"broken-half-built.bin":       broken(func(h *shm.Header) { h.Magic.Store(0) }),
		"broken-newer-major.bin":      broken(func(h *shm.Header) { h.LayoutMajor = shm.LayoutMajor + 1 }),
		"broken-required-feature.bin": broken(func(h *shm.Header) { h.FeaturesRequired = 1 << 63 }),
		"broken-endian.bin":           broken(func(h *shm.Header) { h.Endian = 0x04030201 }),
		"broken-slots.bin":            broken(func(h *shm.Header) { h.NSlots = 1 << 31 }),
		"broken-stride.bin":           broken(func(h *shm.Header) { h.SlotStride = 0 }),
		"broken-offset.bin":           broken(func(h *shm.Header) { h.DescOff = ^uint64(0) - 7 }),
		"good-newer-minor.bin":        broken(func(h *shm.Header) { h.LayoutMinor = 9 }),
		"good-optional-feature.bin":   broken(func(h *shm.Header) { h.FeaturesOptional = 1 << 62 }),
	}
}

// record is the record of type T at off in a segment of our own making.
func record[T any](b []byte, off uint64) *T {
	var t T
	_ = b[off : off+uint64(unsafe.Sizeof(t))]
	return (*T)(unsafe.Pointer(&b[off]))
}
