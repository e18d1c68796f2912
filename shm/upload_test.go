package shm

import (
	"context"
	"errors"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// The tests' uploaders are readers, and their device memory is a map: which ticket was copied to which device slot, in which
// generation.

const testDeviceSlots = 2

func deviceConfig(t testing.TB, slots int) Config {
	cfg := testConfig(t, slots)
	cfg.Epochs, cfg.StepsPerEpoch = 2, 0
	cfg.Device = &DeviceConfig{Slots: testDeviceSlots, GivesBack: true, Tensors: []DeviceTensor{{
		Tensor: Tensor{Name: "x@cuda", Kind: Dense, Role: RoleField, DType: DType{2, 32, 1}, Shape: []int64{4, 64}}, From: 0,
	}}}
	return cfg
}

type testUploader struct {
	*Reader
	t      testing.TB
	memory *sync.Map // [generation, device slot] to ticket
}

func (r *testRing) uploader(memory *sync.Map) *testUploader {
	r.t.Helper()
	u := &testUploader{r.attach(AttachOptions{Group: DeviceGroup, MaxLeases: 2, Handoff: true}), r.t, memory}
	if err := u.offer(testContext(r.t)); err != nil {
		r.t.Fatal(err)
	}
	return u
}

func (u *testUploader) offer(ctx context.Context) error {
	n, stride := u.DeviceSlots()
	return u.OfferDevice(ctx, Device{NSlots: uint32(n), SlotBytes: stride, Bytes: uint64(n) * stride}, make([][64]byte, n))
}

// upload copies the next batch and hands it on.
func (u *testUploader) upload() uint64 {
	u.t.Helper()
	l := acquire(u.t, u.Reader)
	u.copy(l)
	release(u.t, l)
	return l.Ticket
}

func (u *testUploader) copy(l *Lease) {
	u.memory.Store([2]uint64{u.DeviceGeneration(), uint64(l.DeviceSlot)}, l.Ticket)
}

// checkUploaded checks that a consumer's batch is on the device, and its own.
func checkUploaded(t testing.TB, r *Reader, l *Lease, memory *sync.Map) {
	t.Helper()
	if l.DeviceSlot < 0 || l.DeviceGeneration == 0 || l.DeviceGeneration != r.DeviceGeneration() {
		t.Fatalf("ticket %d: device slot %d of generation %d, now %d; want it uploaded", l.Ticket, l.DeviceSlot, l.DeviceGeneration, r.DeviceGeneration())
	}
	if got, _ := memory.Load([2]uint64{l.DeviceGeneration, uint64(l.DeviceSlot)}); got != l.Ticket {
		t.Fatalf("ticket %d: device slot %d holds ticket %v", l.Ticket, l.DeviceSlot, got)
	}
}

// An uploader pins the data, which it maps for writing, so on a shared memfd ring with a device they have no seal against that; what consumers are
// given is open for reading alone.
func TestSharedRingWithADeviceHasNoSealAgainstWriting(t *testing.T) {
	for _, device := range []bool{false, true} {
		cfg := deviceConfig(t, 8)
		cfg.Access, cfg.Backing = Shared, Memfd
		if !device {
			cfg.Device = nil
		}
		r := newTestRing(t, cfg)
		c := r.attach(AttachOptions{MaxLeases: 1})
		fd := c.files[2].Fd()
		seals, err := unix.FcntlInt(fd, unix.F_GET_SEALS, 0)
		if err != nil {
			t.Fatal(err)
		}
		if unsealed, said := seals&unix.F_SEAL_FUTURE_WRITE == 0, c.header.FeaturesRequired&featureStaged != 0; unsealed != device || said != device {
			t.Errorf("device %v: seals %#x, required features %#x", device, seals, c.header.FeaturesRequired)
		}
		if _, err := unix.Mmap(int(fd), 0, onePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			t.Errorf("device %v: a consumer mapped the data for writing", device)
		}
		if device {
			u := r.uploader(&sync.Map{})
			if flags, err := unix.FcntlInt(u.files[2].Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
				t.Errorf("the uploader's descriptor has flags %#x, %v", flags, err)
			}
		}
	}
}

// While there is no uploader nobody takes its place: the next one would be refused, and the ring with it. It is one beside all that consumers may have.
func TestUploadersPlaceIsKept(t *testing.T) {
	for n, want := range map[int]bool{1: false, 2: true, 4097: true, 4098: false} {
		cfg := asGiven(deviceConfig(t, 8))
		cfg.MaxConsumers = n
		if _, err := cfg.withDefaults(); (err == nil) != want {
			t.Errorf("%d members at most: %v", n, err)
		}
	}
	cfg := deviceConfig(t, 8)
	cfg.MaxConsumers = 2
	r, memory := newTestRing(t, cfg), &sync.Map{}
	first := r.attach(AttachOptions{MaxLeases: 1})
	_, err := Attach(testContext(t), r.server.Path(), AttachOptions{MaxLeases: 1})
	wantErr(t, err, ErrBusy)
	if want := "all 1 consumers are attached"; !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want %q in it", err, want)
	}
	u := r.uploader(memory)
	r.publish(1, 0, false)
	u.upload()
	l := acquire(t, first)
	checkUploaded(t, first, l, memory)
	release(t, l)
}

// A consumer gets a batch when its copy is complete, not before, and the copies in ticket order.
func TestBatchesComeToConsumersOnlyOnceTheyAreUploaded(t *testing.T) {
	for _, access := range []Access{Shared, Private} {
		cfg := deviceConfig(t, 8)
		cfg.Access = access
		r, memory := newTestRing(t, cfg), &sync.Map{}
		u := r.uploader(memory)
		consumer := r.attach(AttachOptions{MaxLeases: 2})
		r.publish(2, 0, true)
		first, second := acquire(t, u.Reader), acquire(t, u.Reader)
		u.copy(second)
		release(t, second)
		nothingReady(t, consumer) // it does not pass the batch before it
		u.copy(first)
		release(t, first)
		for want := range uint64(2) {
			l := acquire(t, consumer)
			checkUploaded(t, consumer, l, memory)
			if l.Ticket != want || l.Attempts != 1 {
				t.Fatalf("got ticket %d, attempts %d; want %d, 1", l.Ticket, l.Attempts, want)
			}
			if l.Tensor(1) != nil {
				t.Fatal("a device tensor has bytes in host memory")
			}
			release(t, l)
		}
		_, err := consumer.Acquire(testContext(t))
		wantErr(t, err, EndEpoch)
		if d := r.Info().Device; d.Uploaded != 2 || d.Host != 0 || d.Again != 0 {
			t.Fatalf("got %+v, want 2 uploaded", d)
		}
	}
}

// What is leased keeps its device slot; the next batch waits for one, and is offered the moment it is let go.
func TestDeviceSlotBelongsToItsBatchUntilThatIsReleased(t *testing.T) {
	r, memory := newTestRing(t, deviceConfig(t, 8)), &sync.Map{}
	u := r.uploader(memory)
	consumer := r.attach(AttachOptions{MaxLeases: 3})
	r.publish(4, 0, false)
	for range testDeviceSlots {
		u.upload()
	}
	held := []*Lease{acquire(t, consumer), acquire(t, consumer)}
	nothingReady(t, u.Reader)
	if d := r.Info().Device; d.Lent != testDeviceSlots || !d.Waiting {
		t.Fatalf("got %+v, want all device slots lent and a batch waiting", d)
	}
	checkUploaded(t, consumer, held[0], memory)
	release(t, held[1])
	if got := u.upload(); got != 2 {
		t.Fatalf("ticket %d was uploaded next, want 2", got)
	}
	l := acquire(t, consumer)
	if l.DeviceSlot != held[1].DeviceSlot {
		t.Fatalf("ticket 2 is in device slot %d, want %d, the one that was let go", l.DeviceSlot, held[1].DeviceSlot)
	}
	checkUploaded(t, consumer, held[0], memory)
}

// An uploader that is gone takes the device memory with it: whatever consumers have not claimed comes to them again, uploaded again, in order
// and once; what they hold they keep, in host memory. No epoch ends meanwhile.
func TestBatchesOfALostDeviceAreUploadedAgainAndComeOnce(t *testing.T) {
	cfg := deviceConfig(t, 8)
	cfg.Device.Slots = 4
	r, memory := newTestRing(t, cfg), &sync.Map{}
	u := r.uploader(memory)
	consumer := r.attach(AttachOptions{MaxLeases: 3})
	r.publish(6, 0, true)
	u.upload()
	u.upload()
	held := acquire(t, consumer) // 0: claimed; 1: not claimed
	eventually(t, "1 to be handed on", func() bool { return r.group("consumer-2").Unclaimed == 1 })
	stuck := acquire(t, u.Reader)  // 2: being copied
	beyond := acquire(t, u.Reader) // 3: complete, and not handed on, as 2 is before it
	u.copy(beyond)
	release(t, beyond)
	eventually(t, "the engine to hear of it", func() bool { return r.group(DeviceGroup).Unclaimed == 0 })
	_ = stuck
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the device to be void", func() bool { return consumer.DeviceGeneration() == 0 })
	if held.DeviceGeneration == consumer.DeviceGeneration() {
		t.Fatal("the lease of a lost device does not show it")
	}
	checkPattern(t, held) // host memory
	release(t, held)
	nothingReady(t, consumer)

	u = r.uploader(memory)
	for want := uint64(1); want < 6; want++ {
		if got := u.upload(); got != want {
			t.Fatalf("ticket %d is uploaded, want %d", got, want)
		}
		l := acquire(t, consumer)
		checkUploaded(t, consumer, l, memory)
		again := want == 1 // it had come to the consumers' queue before
		if l.Ticket != want || l.Attempts > 1 != again {
			t.Fatalf("got ticket %d, attempts %d; want %d, flagged %v", l.Ticket, l.Attempts, want, again)
		}
		release(t, l)
	}
	_, err := consumer.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
	if g := r.group("consumer-2"); g.Completed != 6 {
		t.Fatalf("%d batches completed, want 6", g.Completed)
	}
	if problems := r.problems(); len(problems) > 0 {
		t.Fatal(problems)
	}
}

// A consumer that claims at the very moment the device is lost gets batches in their order all the same: those that it finds, then the others, uploaded again.
func TestWhoClaimsWhileTheDeviceIsLostMissesNoEarlierBatch(t *testing.T) {
	cfg := deviceConfig(t, MaxDeviceSlots+4)
	cfg.Device.Slots, cfg.Epochs = MaxDeviceSlots, 0
	r, memory := newTestRing(t, cfg), &sync.Map{}
	consumer := r.attach(AttachOptions{MaxLeases: MaxDeviceSlots + 2})
	next := uint64(0)
	take := func(l *Lease) {
		t.Helper()
		if l.Ticket != next {
			t.Fatalf("got ticket %d, want %d", l.Ticket, next)
		}
		next++
		release(t, l)
	}
	for round := range uint64(20) {
		u := r.uploader(memory)
		r.publish(MaxDeviceSlots, 0, false)
		end := (round + 1) * MaxDeviceSlots
		for range MaxDeviceSlots {
			u.upload()
		}
		eventually(t, "all to be handed on", func() bool { return r.group("consumer-1").Unclaimed == MaxDeviceSlots })
		lost := make(chan struct{})
		go func() {
			defer close(lost)
			_ = u.Close()
		}()
		for consumer.DeviceGeneration() != 0 {
			continue // at the very moment
		}
		for range 5 {
			l, err := consumer.try(0)
			if err != nil {
				t.Fatal(err)
			}
			if l != nil {
				take(l)
			}
		}
		<-lost
		u = r.uploader(memory)
		for next < end {
			u.upload()
			take(acquire(t, consumer))
		}
		_ = u.Close()
		eventually(t, "the uploader to be gone", func() bool { return consumer.DeviceGeneration() == 0 })
	}
}

// A consumer that dies with a batch of a lost device: the next holder gets it only when it is uploaded again.
func TestBatchOfALostDeviceWhoseHolderDiesIsUploadedBeforeItComesAgain(t *testing.T) {
	cfg := deviceConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "train"}}
	r, memory := newTestRing(t, cfg), &sync.Map{}
	u := r.uploader(memory)
	victim := r.attach(AttachOptions{Group: "train", MaxLeases: 2})
	r.publish(2, 0, true)
	u.upload()
	acquire(t, victim)
	_ = u.Close()
	eventually(t, "the device to be void", func() bool { return victim.DeviceGeneration() == 0 })
	_ = victim.Close()
	other := r.attach(AttachOptions{Group: "train", MaxLeases: 2})
	eventually(t, "the dead holder to be reaped", func() bool { return len(r.group("train").Members) == 1 })
	nothingReady(t, other)
	u = r.uploader(memory)
	u.upload()
	l := acquire(t, other)
	checkUploaded(t, other, l, memory)
	if l.Ticket != 0 || l.Attempts != 2 {
		t.Fatalf("got ticket %d, attempts %d; want 0, 2", l.Ticket, l.Attempts)
	}
	release(t, l)
	u.upload()
	release(t, acquire(t, other))
	_, err := other.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
}

// Where no uploader comes any more batches flow in host memory, those that waited for one first.
func TestWithoutAnUploaderBatchesComeInHostMemory(t *testing.T) {
	r, memory := newTestRing(t, deviceConfig(t, 8)), &sync.Map{}
	u := r.uploader(memory)
	consumer := r.attach(AttachOptions{MaxLeases: 2})
	r.publish(4, 0, true)
	u.upload()
	held := acquire(t, consumer)
	u.upload()
	_ = u.Close()
	eventually(t, "the device to be void", func() bool { return consumer.DeviceGeneration() == 0 })
	r.DeviceOff()
	release(t, held)
	for want := uint64(1); want < 4; want++ {
		l := acquire(t, consumer)
		if l.Ticket != want || l.DeviceSlot != -1 {
			t.Fatalf("got ticket %d in device slot %d, want %d in none", l.Ticket, l.DeviceSlot, want)
		}
		release(t, l)
	}
	_, err := consumer.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
	r.publish(1, 1, false)
	release(t, acquire(t, consumer))
	if d := r.Info().Device; d.Lent != 0 || d.Host != 4 {
		t.Fatalf("got %+v, want 4 in host memory and no device slot lent", d)
	}
}

// The engine gives the device up before it has seen that the last uploader is dead.
func TestBatchInTheHandsOfTheLastUploaderComesInHostMemory(t *testing.T) {
	r := newTestRing(t, deviceConfig(t, 8))
	u := r.uploader(&sync.Map{})
	consumer := r.attach(AttachOptions{MaxLeases: 2})
	r.publish(3, 0, true)
	acquire(t, u.Reader)
	r.DeviceOff()
	nothingReady(t, consumer)
	_ = u.Close()
	for want := range uint64(3) {
		l := acquire(t, consumer)
		if l.Ticket != want || l.DeviceSlot != -1 {
			t.Fatalf("got ticket %d in device slot %d, want %d in none", l.Ticket, l.DeviceSlot, want)
		}
		release(t, l)
	}
}

// Load and restart call back what is uploaded: the next position's batches come, and no device slot is lost.
func TestRewindGivesDeviceSlotsBack(t *testing.T) {
	r, memory := newTestRing(t, deviceConfig(t, 8)), &sync.Map{}
	u := r.uploader(memory)
	consumer := r.attach(AttachOptions{MaxLeases: 2})
	r.publish(4, 0, false)
	u.upload()
	inHand := acquire(t, u.Reader)
	if err := r.Rewind(0, 0); err != nil {
		t.Fatal(err)
	}
	release(t, inHand)
	r.next.Store(0)
	r.publish(3, 0, false)
	for want := range uint64(3) {
		if got := u.upload(); got != want {
			t.Fatalf("ticket %d is uploaded, want %d", got, want)
		}
		l := acquire(t, consumer)
		checkUploaded(t, consumer, l, memory)
		release(t, l)
	}
}

// What was to be uploaded again and is called back by a restart is nobody's any more: its slot may be filled, and a next uploader is not offered what is in it.
func TestBatchesCalledBackWhileTheyWaitForTheirUploadAreForgotten(t *testing.T) {
	cfg := deviceConfig(t, 8)
	cfg.StepsPerEpoch = 2
	r, memory := newTestRing(t, cfg), &sync.Map{}
	u := r.uploader(memory)
	consumer := r.attach(AttachOptions{MaxLeases: 2})
	r.publish(2, 0, true)
	u.upload()
	u.upload()
	eventually(t, "both to be handed on", func() bool { return r.group("consumer-2").Unclaimed == 2 })
	_ = u.Close()
	eventually(t, "the device to be void", func() bool { return consumer.DeviceGeneration() == 0 })
	u = r.uploader(memory)
	acquire(t, u.Reader) // 0 is being copied again
	u.upload()           // 1 is, and waits behind it
	eventually(t, "the engine to hear of it", func() bool { return r.group(DeviceGroup).Completed == 3 })
	if err := r.Skip(r.group("consumer-2").Index, 1); err != nil { // what a restart does: nobody wants them any more
		t.Fatal(err)
	}
	var claimed []*Slot // which are being filled when the uploader dies
	for range 7 {
		slot, err := r.Claim(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		claimed = append(claimed, slot)
	}
	_ = u.Close()
	eventually(t, "the device to be void", func() bool { return consumer.DeviceGeneration() == 0 })
	u = r.uploader(memory)
	nothingReady(t, u.Reader) // 0 was in the other's hands, and comes to nobody
	for _, s := range claimed {
		r.Abandon(s)
	}
	r.publish(1, 1, false)
	if got := u.upload(); got != 2 {
		t.Fatalf("ticket %d is uploaded, want 2", got)
	}
	_, err := consumer.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
	if d := r.Info().Device; d.Lent != 1 {
		t.Fatalf("%d device slots are lent, want 1: all but the last batch are over", d.Lent)
	}
	l := acquire(t, consumer)
	checkUploaded(t, consumer, l, memory)
	release(t, l)
}

func TestUploaderIsRefused(t *testing.T) {
	r := newTestRing(t, deviceConfig(t, 8))
	consumer := r.attach(AttachOptions{MaxLeases: 2})
	wantErr(t, (&testUploader{Reader: consumer}).offer(testContext(t)), ErrArgument) // no uploader
	u := r.attach(AttachOptions{Group: DeviceGroup, MaxLeases: 2, Handoff: true})
	n, stride := u.DeviceSlots()
	good := Device{NSlots: uint32(n), SlotBytes: stride, Bytes: uint64(n) * stride}
	for what, change := range map[string]func(*Device){
		"fewer slots":   func(d *Device) { d.NSlots-- },
		"other slots":   func(d *Device) { d.SlotBytes += 256 },
		"too few bytes": func(d *Device) { d.Bytes-- },
	} {
		bad := good
		change(&bad)
		if err := u.OfferDevice(testContext(t), bad, make([][64]byte, n)); !errors.Is(err, ErrArgument) {
			t.Errorf("%s: got %v, want it refused", what, err)
		}
	}
	wantErr(t, u.OfferDevice(testContext(t), good, make([][64]byte, n-1)), ErrArgument)
	if err := u.OfferDevice(testContext(t), good, make([][64]byte, n)); err != nil {
		t.Fatal(err)
	}
	wantErr(t, u.OfferDevice(testContext(t), good, make([][64]byte, n)), ErrArgument) // said already
	_, err := Attach(testContext(t), r.server.Path(), AttachOptions{Group: DeviceGroup})
	wantErr(t, err, ErrBusy) // it has its uploader
}

func TestRingsThatCannotHaveADeviceAreRefused(t *testing.T) {
	for what, change := range map[string]func(*Config){
		"one device slot":     func(c *Config) { c.Device.Slots = 1 },
		"too many":            func(c *Config) { c.Device.Slots = MaxDeviceSlots + 1 },
		"no tensors":          func(c *Config) { c.Device.Tensors = nil },
		"of no tensor":        func(c *Config) { c.Device.Tensors[0].From = 1 },
		"a name twice":        func(c *Config) { c.Device.Tensors[0].Name = "x" },
		"a ragged tensor":     func(c *Config) { c.Device.Tensors[0].Kind = Ragged },
		"a group of the name": func(c *Config) { c.Groups = []GroupConfig{{Name: DeviceGroup}} },
		"ready delivery":      func(c *Config) { c.Ready, c.StepsPerEpoch = true, 4 },
		"an uploader of one's own": func(c *Config) {
			c.Device, c.Groups = nil, []GroupConfig{{Name: "up", Kind: KindUploader}}
		},
	} {
		cfg := deviceConfig(t, 8)
		change(&cfg)
		r, err := Create(cfg)
		if err == nil {
			_ = r.Close()
		}
		if !errors.Is(err, ErrArgument) {
			t.Errorf("%s: got %v, want it refused", what, err)
		}
	}
}

// What an uploader gives back is made again: it keeps its device slot, which later batches must not get, nothing passes it, and it does not matter
// when its uploader dies.
func TestABatchThatTheUploaderGivesBackIsMadeAgain(t *testing.T) {
	for _, dies := range []string{"never", "before it is taken", "while it is made", "when it is made"} {
		t.Run(dies, func(t *testing.T) {
			r, memory := newTestRing(t, deviceConfig(t, 8)), &sync.Map{}
			u := r.uploader(memory)
			consumer := r.attach(AttachOptions{MaxLeases: 1})
			r.publish(4, 0, true)
			uploaderDies := func(when string) {
				if dies == when {
					_ = u.Close()
					u = r.uploader(memory)
				}
			}
			refused := acquire(t, u.Reader)
			if err := refused.Fail(testContext(t), "rows 2: no such picture"); err != nil {
				t.Fatal(err)
			}
			u.upload() // the next one, which has the other device slot
			nothingReady(t, u.Reader)
			nothingReady(t, consumer)
			uploaderDies("before it is taken")
			sp, err := r.NextSpoiled(testContext(t))
			if err != nil || sp.Ticket != 0 || !sp.Anew || sp.Rows != 4 || sp.Group != DeviceGroup || sp.Failure != "rows 2: no such picture" {
				t.Fatalf("got %+v, %v; want ticket 0 and why", sp, err)
			}
			uploaderDies("while it is made")
			if err := r.Restore(sp.Slot, Batch{Ticket: 0, Rows: 3}); err != nil {
				t.Fatal(err)
			}
			uploaderDies("when it is made")
			got := map[uint64]bool{}
			for want := range uint64(4) {
				for !got[want] { // an uploader that died had others, too
					again := acquire(t, u.Reader)
					if again.Ticket == 0 && (again.DeviceSlot != refused.DeviceSlot || again.Rows != 3 || again.Attempts < 2) {
						t.Fatalf("got %+v, want the batch as it was made again, in device slot %d", again, refused.DeviceSlot)
					}
					u.copy(again)
					release(t, again)
					got[again.Ticket] = true
					if dies == "never" {
						got[1] = true
					}
				}
				l := acquire(t, consumer)
				if l.Ticket != want {
					t.Fatalf("got ticket %d, want %d", l.Ticket, want)
				}
				checkUploaded(t, consumer, l, memory)
				release(t, l)
			}
			_, err = consumer.Acquire(testContext(t))
			wantErr(t, err, EndEpoch)
			if problems := r.problems(); len(problems) > 0 {
				t.Fatal(problems)
			}
		})
	}
}

func TestAnUploaderThatShallGiveNothingBackIsRefused(t *testing.T) {
	cfg := deviceConfig(t, 8)
	cfg.Device.GivesBack = false
	r := newTestRing(t, cfg)
	u := r.uploader(&sync.Map{})
	r.publish(1, 0, false)
	l := acquire(t, u.Reader)
	wantErr(t, l.Fail(testContext(t), "no"), ErrArgument) // it ends instead
	release(t, l)
}

// A batch that consumers have been offered once cannot be given back: nobody would make it again.
func TestABatchThatWasUploadedBeforeCannotBeGivenBack(t *testing.T) {
	r, memory := newTestRing(t, deviceConfig(t, 8)), &sync.Map{}
	u := r.uploader(memory)
	consumer := r.attach(AttachOptions{})
	r.publish(1, 0, true)
	u.upload()
	eventually(t, "the batch to be the consumers'", func() bool { return r.Info().Device.Uploaded == 1 })
	_ = u.Close()
	u = r.uploader(memory)
	l := acquire(t, u.Reader)
	wantErr(t, l.Fail(testContext(t), "rows 0: no"), ErrState)
	u.copy(l)
	release(t, l)
	again := acquire(t, consumer)
	checkUploaded(t, consumer, again, memory)
	release(t, again)
}

// Uploaders and consumers come and go at random moments, and uploaders give batches back; every ticket is completed, in its epoch, and whoever has it current on the device has its
// own bytes there.
func TestUploadsSurviveWhoeverDies(t *testing.T) {
	const tickets, perEpoch = 240, 60
	cfg := deviceConfig(t, 10)
	cfg.Device.Slots, cfg.Epochs = 3, tickets/perEpoch
	cfg.Groups = []GroupConfig{{Name: "a"}, {Name: "b"}}
	r, memory := newTestRing(t, cfg), &sync.Map{}
	dice := rand.New(rand.NewSource(7))
	ctx, cancel := context.WithCancel(testContext(t))
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Add(1)
	go func() { // one uploader after the other
		defer work.Done()
		for life := 1; ctx.Err() == nil; life = 1 + (life*7)%11 {
			r.uploadSome(ctx, memory, life)
		}
	}()
	work.Add(1)
	go func() { // the engine, which makes again what they give back
		defer work.Done()
		for {
			sp, err := r.NextSpoiled(ctx)
			if err != nil {
				return
			}
			if err := r.Restore(sp.Slot, Batch{Ticket: sp.Ticket, Epoch: sp.Ticket / perEpoch, Rows: sp.Rows, LastOfEpoch: sp.Ticket%perEpoch == perEpoch-1}); err != nil {
				t.Error(err)
			}
		}
	}()
	var mu sync.Mutex
	done := map[string]map[uint64]int{"a": {}, "b": {}}
	var consuming sync.WaitGroup
	for _, group := range []string{"a", "b"} {
		consuming.Add(1)
		lives := []int{dice.Intn(9) + 1, dice.Intn(9) + 1, dice.Intn(9) + 1}
		go func() {
			defer consuming.Done()
			for i := 0; ; i++ {
				over := consumeSome(ctx, t, r, group, memory, lives[i%len(lives)]+i, func(ticket uint64) {
					mu.Lock()
					done[group][ticket]++
					mu.Unlock()
				})
				if over || ctx.Err() != nil {
					return
				}
			}
		}()
	}
	for epoch := range uint64(tickets / perEpoch) {
		r.publish(perEpoch, epoch, true)
	}
	consuming.Wait()
	for group, seen := range done {
		for ticket := range uint64(tickets) {
			if seen[ticket] != 1 {
				t.Errorf("group %s completed ticket %d %d times", group, ticket, seen[ticket])
			}
		}
	}
}

// uploadSome uploads so many batches, of which it gives some back when they come for the first time, and then goes with one in hand.
func (r *testRing) uploadSome(ctx context.Context, memory *sync.Map, life int) {
	reader, err := Attach(ctx, r.server.Path(), AttachOptions{Group: DeviceGroup, MaxLeases: 2, Handoff: true})
	if err != nil {
		return
	}
	defer reader.Close()
	u := &testUploader{reader, r.t, memory}
	if u.offer(ctx) != nil {
		return
	}
	for range life {
		l, err := reader.Acquire(ctx)
		if err != nil {
			return
		}
		if l.Ticket%5 == 2 && l.Attempts == 1 {
			if l.Fail(ctx, "no") != nil {
				return
			}
			continue
		}
		u.copy(l)
		if l.Release() != nil {
			return
		}
	}
	_, _ = reader.Acquire(ctx)
}

// consumeSome completes so many batches, and then goes with one in hand. It says whether the data are over.
func consumeSome(ctx context.Context, t *testing.T, r *testRing, group string, memory *sync.Map, life int, completed func(uint64)) bool {
	reader, err := Attach(ctx, r.server.Path(), AttachOptions{Group: group, MaxLeases: 2})
	if err != nil {
		t.Error(err)
		return true
	}
	defer reader.Close()
	for range life {
		l, err := reader.Acquire(ctx)
		switch {
		case errors.Is(err, EndEpoch):
			continue
		case errors.Is(err, EndData):
			return true
		case err != nil:
			t.Error(err)
			return true
		}
		if got, _ := memory.Load([2]uint64{l.DeviceGeneration, uint64(l.DeviceSlot)}); l.DeviceGeneration == reader.DeviceGeneration() && got != l.Ticket {
			t.Errorf("ticket %d: its device slot %d holds ticket %v", l.Ticket, l.DeviceSlot, got)
		}
		if l.Release() == nil {
			completed(l.Ticket)
		}
	}
	l, err := reader.Acquire(ctx)
	return l == nil && errors.Is(err, EndData)
}

// problems is what Check finds in a ring that is at rest.
func (r *testRing) problems() []Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &Snapshot{Header: slices.Clone([]byte(r.header.mem)), Groups: map[int][]byte{}}
	for _, g := range r.groups {
		s.Groups[g.index] = slices.Clone([]byte(g.seg.mem))
	}
	return Check(s)
}
