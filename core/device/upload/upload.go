package upload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/spdl/spdl/core/device"
	"github.com/spdl/spdl/core/device/cuda"
	"github.com/spdl/spdl/shm"
)

// Run uploads until the ring ends, its engine is gone or ctx ends; it returns nil then. An error is the device's, or says what does not fit. What it goes
// on without it warns of.
func Run(ctx context.Context, control *os.File, p device.Plan, warn func(string)) error {
	g, err := cuda.Open(p.Device)
	if err != nil {
		_ = control.Close()
		return err
	}
	defer g.Close()
	_ = shm.Fault("device.open")
	r, err := shm.AttachFD(ctx, control, shm.AttachOptions{Group: shm.DeviceGroup, MaxLeases: p.InFlight, Handoff: true, Client: device.Program})
	if err != nil {
		return ended(ctx, err)
	}
	defer r.Close()
	u := &uploader{gpu: g, ring: r, warn: warn, landed: make(chan struct{}, 1)}
	defer u.unpin()
	if err := u.prepare(ctx, &p); err != nil {
		return ended(ctx, err)
	}
	return ended(ctx, u.run(ctx))
}

// unpin is for before the ring is unmapped: of batches in flight when another failed, copies may still be reading it. On a lost device nothing reads,
// and who waited has said so.
func (u *uploader) unpin() {
	if !u.pinned {
		return
	}
	for i := range u.lanes {
		_ = u.gpu.Drain(u.lanes[i].stream)
	}
	_ = u.gpu.Unpin(u.ring.Data())
}

// ended makes nil of what is no failure: the engine is gone, or this process was asked to end.
func ended(ctx context.Context, err error) error {
	for _, end := range []error{shm.ErrEngineStopped, shm.ErrEngineFailed, shm.ErrEngineLost, shm.ErrGroupClosed, shm.ErrDetached} {
		if errors.Is(err, end) {
			return nil
		}
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// uploader is one ring's batches on their way to one device.
type uploader struct {
	gpu  *cuda.GPU
	ring *shm.Reader
	warn func(string)

	pinned bool         // the ring's memory; else the driver copies what is uploaded to memory of its own first, before it returns
	memory cuda.Address // device slots
	stride uint64       // between them
	events []cuda.Event // of each device slot
	lanes  []lane       // used in turn
	copies []transfer

	flying atomic.Int32  // batches that are begun and not handed on
	landed chan struct{} // one was handed on
}

// lane is what one batch in flight needs beside its device slot.
type lane struct {
	stream  cuda.Stream
	staging cuda.Address // for the bytes of what is finished on the device
	coder   *coder       // nil: nothing is decoded
}

// transfer is one tensor.
type transfer struct {
	from, to int    // places in the schema
	at       uint64 // in the device slot
	staged   uint64 // in the staging; of what is finished
	finish   *cuda.Finish
	plane    int       // pixels
	decode   *decoding // nil: the bytes are what they are
}

// prepare makes everything that does not change from batch to batch, and tells the engine.
func (u *uploader) prepare(ctx context.Context, p *device.Plan) error {
	slots, stride := u.ring.DeviceSlots()
	if slots == 0 || p.InFlight < 1 {
		return fmt.Errorf("device: ring of %d device slots, %d batches in flight: nothing to upload to", slots, p.InFlight)
	}
	staging, err := u.plan(p)
	if err != nil {
		return err
	}
	u.stride = stride
	if u.memory, err = u.gpu.AllocShared(stride * uint64(slots)); err != nil {
		return err
	}
	for range p.InFlight {
		l := lane{}
		if l.stream, err = u.gpu.Stream(); err != nil {
			return err
		}
		if staging > 0 {
			if l.staging, err = u.gpu.Alloc(staging); err != nil {
				return err
			}
		}
		if d := u.decoding(); d != nil {
			if l.coder, err = u.newCoder(d, int(u.ring.Header().BatchRows)); err != nil {
				return err
			}
		}
		u.lanes = append(u.lanes, l)
	}
	_ = shm.Fault("device.memory")
	if err := u.gpu.Pin(u.ring.Data()); err != nil {
		u.warn(fmt.Sprintf("%v; it uploads from memory that is not pinned, which is slower", err))
	} else {
		u.pinned = true
	}
	_ = shm.Fault("device.pin")
	return u.offer(ctx, p, slots)
}

// plan finds the tensors, and says how much staging a batch needs.
func (u *uploader) plan(p *device.Plan) (staging uint64, err error) {
	schema := u.ring.Schema()
	place := func(name string, onDevice bool) int {
		for i := range schema {
			if t := &schema[i]; t.TensorName() == name && (t.Pool != 0) == onDevice {
				return i
			}
		}
		return -1
	}
	for _, c := range p.Copies {
		t := transfer{from: place(c.From, false), to: place(c.To, true)}
		if t.from < 0 || t.to < 0 {
			return 0, fmt.Errorf("device: plan: no tensor %q in memory or %q on the device; use engine and uploader of one release", c.From, c.To)
		}
		t.at = schema[t.to].Offset
		bytes := schema[t.from].Bytes
		if d := c.Decode; d != nil {
			if t.decode, err = u.newDecoding(d, place(d.Places, false)); err != nil {
				return 0, err
			}
			bytes, t.plane = uint64(u.ring.Header().BatchRows)*uint64(3*d.H*d.W), d.H*d.W
		}
		if c.Finish != nil {
			f, err := u.gpu.NewFinish(c.Finish.DType, c.Finish.Scale, c.Finish.Bias)
			if err != nil {
				return 0, err
			}
			t.finish, t.staged = &f, staging
			if t.decode == nil {
				t.plane = int(schema[t.from].Shape[1] * schema[t.from].Shape[2])
			}
			staging += (bytes + 255) &^ 255
		}
		u.copies = append(u.copies, t)
	}
	return staging, nil
}

// offer tells the engine where the memory is and the events are: consumers open them.
func (u *uploader) offer(ctx context.Context, p *device.Plan, slots int) error {
	var handles [][64]byte
	for range slots {
		e, h, err := u.gpu.Event()
		if err != nil {
			return err
		}
		u.events, handles = append(u.events, e), append(handles, h)
	}
	h, err := u.gpu.Export(u.memory)
	if err != nil {
		return err
	}
	d := shm.Device{DeviceID: uint32(p.Device), NSlots: uint32(slots), SlotBytes: u.stride, Bytes: u.stride * uint64(slots), UUID: u.gpu.UUID(), Handle: h}
	_ = shm.Fault("device.offer")
	if err := u.ring.OfferDevice(ctx, d, handles); err != nil {
		return err
	}
	_ = shm.Fault("device.offered")
	return nil
}

// run claims and begins copies; a goroutine beside it finishes them in the order they were begun.
func (u *uploader) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	flights := make(chan *shm.Lease, len(u.lanes)) // as many as there are leases
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		if err := u.finishAll(flights); err != nil {
			cancel(err)
		}
	}()
	err := u.beginAll(ctx, flights)
	close(flights)
	<-finished
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

func (u *uploader) beginAll(ctx context.Context, flights chan<- *shm.Lease) error {
	for n := 0; ; {
		l, err := u.ring.Acquire(ctx)
		if err != nil {
			return err
		}
		_ = shm.Fault("upload.claimed")
		on := &u.lanes[n]
		if givenBack, err := u.suspect(ctx, l); err != nil {
			return err
		} else if givenBack {
			continue
		}
		if err := u.begin(l, on); err != nil {
			return err
		}
		if on.coder != nil && on.coder.refused.Why != "" {
			if err := u.giveBack(ctx, l, on); err != nil {
				return err
			}
			continue
		}
		_ = shm.Fault("upload.recorded")
		u.flying.Add(1)
		flights <- l
		n = (n + 1) % len(u.lanes)
	}
}

// suspect has a batch with files that was begun before be the only one under way: if it was this one that an uploader died of, no other shall be
// counted with it. After its tries it gives it back, unless consumers were offered it once.
func (u *uploader) suspect(ctx context.Context, l *shm.Lease) (givenBack bool, err error) {
	d := u.decoding()
	if d == nil || l.Attempts <= 1 {
		return false, nil
	}
	if err := u.landAll(ctx); err != nil {
		return false, err
	}
	if l.Attempts <= maxTries || !d.hasFiles(l) {
		return false, nil
	}
	err = l.Fail(ctx, device.Refusal{Why: fmt.Sprintf("%d tries to decode it on the device", maxTries)}.String())
	if errors.Is(err, shm.ErrState) {
		return false, nil
	}
	return err == nil, err
}

// landAll waits until every batch that was begun is handed on.
func (u *uploader) landAll(ctx context.Context) error {
	for u.flying.Load() > 0 {
		select {
		case <-u.landed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// giveBack has the engine decode what the device refused of a batch. Its device slot stays its own, so nothing may be written there any more.
func (u *uploader) giveBack(ctx context.Context, l *shm.Lease, on *lane) error {
	if err := u.gpu.Drain(on.stream); err != nil {
		return err
	}
	_ = shm.Fault("upload.refused")
	return l.Fail(ctx, on.coder.refused.String())
}

// decoding is how pictures are decoded; nil: they are not.
func (u *uploader) decoding() *decoding {
	for i := range u.copies {
		if d := u.copies[i].decode; d != nil {
			return d
		}
	}
	return nil
}

// begin queues the copies of one batch, and its event. Lanes come in turn and flights end in the order they began, so the one before on
// this lane is over.
func (u *uploader) begin(l *shm.Lease, on *lane) error {
	if l.DeviceSlot < 0 || l.DeviceSlot >= len(u.events) {
		return fmt.Errorf("device: batch %d: device slot %d of %d", l.Ticket, l.DeviceSlot, len(u.events))
	}
	if on.coder != nil {
		on.coder.begin()
	}
	base := u.memory + cuda.Address(uint64(l.DeviceSlot)*u.stride)
	for i := range u.copies {
		t := &u.copies[i]
		bytes, to := l.Tensor(t.from), base+cuda.Address(t.at)
		if l.Rows == 0 || len(bytes) == 0 && t.decode == nil {
			continue
		}
		into := to
		if t.finish != nil {
			into = on.staging + cuda.Address(t.staged)
		}
		var err error
		if t.decode != nil {
			err = u.decode(l, t, into, on)
		} else {
			err = u.gpu.Copy(into, bytes, on.stream)
		}
		if err != nil {
			return err
		}
		_ = shm.Fault("upload.copying")
		if t.finish == nil {
			continue
		}
		if err := u.gpu.Finish(t.finish, to, into, l.Rows, t.plane, on.stream); err != nil {
			return err
		}
	}
	return u.gpu.Record(u.events[l.DeviceSlot], on.stream)
}

// finishAll waits for each flight and hands its batch on.
func (u *uploader) finishAll(flights <-chan *shm.Lease) error {
	for l := range flights {
		if err := u.gpu.Wait(u.events[l.DeviceSlot]); err != nil {
			return err
		}
		_ = shm.Fault("upload.complete")
		if err := l.Release(); err != nil {
			return err
		}
		u.flying.Add(-1)
		select {
		case u.landed <- struct{}{}:
		default:
		}
		_ = shm.Fault("upload.released")
	}
	return nil
}
