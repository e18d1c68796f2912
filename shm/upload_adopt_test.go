package shm

import (
	"errors"
	"sync"
	"testing"
)

// adoptableDevice is a posix ring with four device slots and two groups of consumers.
func adoptableDevice(t *testing.T) *testRing {
	cfg := deviceConfig(t, 12)
	cfg.Backing, cfg.Adopt, cfg.StepsPerEpoch, cfg.Device.Slots = Posix, true, 8, 4
	cfg.Groups = []GroupConfig{{Name: "a"}, {Name: "b"}}
	return newTestRing(t, cfg)
}

// restartWithout is the next engine of the same name, whose predecessor's uploader died with it.
func (r *testRing) restartWithout(u *testUploader) *testRing {
	r.t.Helper()
	r.die()
	_ = u.Close()
	next := r.successor(r.cfg)
	next.consistent()
	return next
}

// consumeUploaded takes a batch, which must be this one and on the device.
func consumeUploaded(t *testing.T, reader *Reader, ticket uint64, memory *sync.Map) {
	t.Helper()
	l := acquire(t, reader)
	if l.Ticket != ticket {
		t.Fatalf("got ticket %d, want %d", l.Ticket, ticket)
	}
	checkUploaded(t, reader, l, memory)
	release(t, l)
}

// The device memory of a dead engine is void. Whatever of it nobody had claimed is uploaded again, in whatever state it was, and every group
// gets each batch once and in order; who held one has its host memory still.
func TestRestartedEngineHasWhatWasOnTheDeviceUploadedAgain(t *testing.T) {
	r, memory := adoptableDevice(t), &sync.Map{}
	u := r.uploader(memory)
	a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 2}), r.attach(AttachOptions{Group: "b", MaxLeases: 2})
	r.publish(8, 0, true)
	u.upload()
	u.upload()
	held := acquire(t, a) // 0; 1 waits for both, b has 0 still to take, too
	acquire(t, u.Reader)  // 2 is being copied
	beyond := acquire(t, u.Reader)
	u.copy(beyond) // 3 is complete, and not handed on, as 2 is before it
	release(t, beyond)
	eventually(t, "the engine to hear of it", func() bool { return r.Info().Device.Waiting }) // 4 to 7 wait for a device slot
	eventually(t, "both groups to have 0 and 1", func() bool { return r.group("a").Published == 2 && r.group("b").Published == 2 })
	was := r.Info()

	next := r.restartWithout(u)
	if info := next.Info(); !info.Adopted || info.Generation != was.Generation+1 || info.NextTicket != 8 || info.Device.Lent != 4 {
		t.Fatalf("adopted ring: %+v, %+v", info, info.Device)
	}
	if held.DeviceGeneration == a.DeviceGeneration() {
		t.Fatal("the lease of a dead engine's device does not show it")
	}
	checkPattern(t, held)
	release(t, held)
	nothingReady(t, a)
	nothingReady(t, b)

	u = next.uploader(memory)
	if u.DeviceGeneration() <= 1 {
		t.Fatalf("generation %d came before", u.DeviceGeneration())
	}
	for want := range uint64(8) { // 0 for b alone
		if got := u.upload(); got != want {
			t.Fatalf("ticket %d is uploaded, want %d", got, want)
		}
		if want > 0 {
			consumeUploaded(t, a, want, memory)
		}
		consumeUploaded(t, b, want, memory)
	}
	for _, reader := range []*Reader{a, b} {
		_, err := reader.Acquire(testContext(t))
		wantErr(t, err, EndEpoch)
	}
	next.wantCounts("a", 8, 8, 1) // 1 came again
	next.wantCounts("b", 8, 8, 2) // 0 and 1
	if problems := next.problems(); len(problems) > 0 {
		t.Fatal(problems)
	}
}

// Engines that die while batches of the one before are being uploaded again.
func TestEngineAfterEngineGoesOnWithADevice(t *testing.T) {
	r, memory := adoptableDevice(t), &sync.Map{}
	u := r.uploader(memory)
	a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
	r.publish(8, 0, true)
	for ticket := range uint64(8) {
		u.upload()
		consumeUploaded(t, a, ticket, memory)
		r = r.restartWithout(u) // b has not got it
		u = r.uploader(memory)
		if ticket%2 == 1 { // or not even this one is uploaded again
			r = r.restartWithout(u)
			u = r.uploader(memory)
		}
		u.upload()
		consumeUploaded(t, b, ticket, memory)
	}
	for _, reader := range []*Reader{a, b} {
		_, err := reader.Acquire(testContext(t))
		wantErr(t, err, EndEpoch)
	}
	r.wantCounts("a", 8, 8, 0)
}

// What was to be uploaded again when the next engine died, too, comes in the order of its tickets.
func TestBatchesThatWaitedForTheirUploadKeepTheirOrder(t *testing.T) {
	r, memory := adoptableDevice(t), &sync.Map{}
	u := r.uploader(memory)
	a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
	r.publish(4, 0, false)
	for range 4 {
		u.upload()
	}
	eventually(t, "all to be handed on", func() bool { return r.Info().Device.Uploaded == 4 })
	r = r.restartWithout(u)
	u = r.uploader(memory)
	for range 2 { // and two are uploaded, and not handed on
		u.copy(acquire(t, u.Reader))
	}
	r = r.restartWithout(u)
	u = r.uploader(memory)
	for range 4 { // in any order
		u.upload()
	}
	for want := range uint64(4) {
		consumeUploaded(t, a, want, memory)
		consumeUploaded(t, b, want, memory)
	}
}

// Wherever between two stores the engine is killed while it has to do with the device, every group gets the batch whole and once.
func TestHalfUploadedBatchComesOnce(t *testing.T) {
	type state struct {
		r *testRing
		u *testUploader
		s *Slot // of ticket 0
	}
	through := func(x *state) { // the uploader is, and the engine has seen it
		x.u.upload()
		x.r.device.group.look(x.s.index)
	}
	moving := func(x *state, groups int) {
		through(x)
		x.r.settleUpload(x.s)
		x.s.way.at = 1
		x.s.noteWay(wayMoving)
		for _, g := range x.r.consumers()[:groups] {
			g.publish(x.s.index, 0, 0, 0)
		}
	}
	arrived := func(x *state) {
		moving(x, 2)
		x.s.leaveWay()
	}
	void := func(x *state, away int) { // its memory is, and so many groups' words are out of reach
		arrived(x)
		x.r.setGeneration(0)
		for _, g := range x.r.consumers()[:away] {
			g.putAway(x.s.index, seqAway)
		}
	}
	for name, c := range map[string]struct {
		kill func(*state)
		host bool // it comes in host memory
	}{
		"offered":                      {kill: func(*state) {}},
		"in the uploader's hands":      {kill: func(x *state) { acquire(t, x.u.Reader) }},
		"through":                      {kill: through},
		"settled":                      {kill: func(x *state) { through(x); x.r.settleUpload(x.s) }},
		"about to arrive":              {kill: func(x *state) { moving(x, 0) }},
		"arrived in one group":         {kill: func(x *state) { moving(x, 1) }},
		"arrived in both":              {kill: func(x *state) { moving(x, 2) }},
		"arrived":                      {kill: arrived},
		"void":                         {kill: func(x *state) { void(x, 0) }},
		"away from one group":          {kill: func(x *state) { void(x, 1) }},
		"away from both":               {kill: func(x *state) { void(x, 2) }},
		"offered again":                {kill: func(x *state) { void(x, 2); x.r.uploadAgain(x.s) }},
		"given back, and not said so":  {kill: func(x *state) { acquire(t, x.u.Reader); x.s.noteWay(waySpoiled) }},
		"settled for want of a device": {func(x *state) { through(x); x.r.device.off = true; x.r.settleUpload(x.s) }, true},
		"given up, and in one group":   {func(x *state) { x.r.device.off = true; moving(x, 1) }, true},
		"given up, and in both":        {func(x *state) { x.r.device.off = true; arrived(x) }, true},
		"given up after it was away":   {func(x *state) { void(x, 2); x.s.desc.Pool = 0 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, memory := adoptableDevice(t), &sync.Map{}
			u := r.uploader(memory)
			a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
			r.publish(3, 0, false)
			r.mu.Lock() // the engine does not notice any more
			x := &state{r, u, nil}
			for i := range r.slots {
				if s := &r.slots[i]; s.way.on && s.desc.Ticket == 0 {
					x.s = s
				}
			}
			c.kill(x)
			r.onWay = nil // nor hands on
			r.mu.Unlock()
			next := r.restartWithout(u)
			u = next.uploader(memory)
			for want := range uint64(3) {
				if want > 0 || !c.host {
					if got := u.upload(); got != want {
						t.Fatalf("ticket %d is uploaded, want %d", got, want)
					}
				}
				for _, reader := range []*Reader{a, b} {
					l := acquire(t, reader)
					if l.Ticket != want {
						t.Fatalf("got ticket %d, want %d", l.Ticket, want)
					}
					if want > 0 || !c.host {
						checkUploaded(t, reader, l, memory)
					}
					release(t, l)
				}
			}
			nothingReady(t, a)
			nothingReady(t, b)
			for _, group := range []string{"a", "b"} {
				if g := next.group(group); g.Published != 3 || g.Completed != 3 {
					t.Errorf("group %s: published %d, completed %d, want 3 and 3", group, g.Published, g.Completed)
				}
			}
		})
	}
}

// Wherever between two stores the engine is killed while it publishes a batch for which there is no device slot yet, the batch comes once,
// behind the one before it.
func TestHalfPublishedBatchThatWaitsForADeviceSlotComesOnce(t *testing.T) {
	mark := func(r *Ring, s *Slot) { s.way = way{on: true}; s.noteWay(wayMoving) }
	for name, kill := range map[string]func(*Ring, *Slot){
		"described": func(*Ring, *Slot) {},
		"way noted": mark,
		"waiting":   func(r *Ring, s *Slot) { r.send(s) },
		"lent half": func(r *Ring, s *Slot) { mark(r, s); s.desc.Fence[0] = 1 }, // which is another's
		"published": func(r *Ring, s *Slot) { r.send(s); r.passed(0, 0, false) },
	} {
		t.Run(name, func(t *testing.T) {
			r, memory := adoptableDevice(t), &sync.Map{}
			u := r.uploader(memory)
			a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
			r.publish(4, 0, false)
			u.upload()
			slot, err := r.Claim(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			fillPattern(slot.Tensor(0), 4)
			b4 := Batch{Ticket: 4, Rows: 4}
			r.mu.Lock()
			if err := errors.Join(slot.describe(&b4, 0), r.plan(&b4)); err != nil {
				t.Fatal(err)
			}
			slot.desc.Pool = 0
			kill(r.Ring, slot)
			r.onWay = nil
			r.mu.Unlock()
			next := r.restartWithout(u)
			next.mu.Lock()
			for k, of := range next.device.lent {
				for i := range next.slots {
					if s := &next.slots[i]; s.device == k && s != of {
						t.Errorf("device slot %d belongs to slot %d, and slot %d believes it is its own", k, of.index, i)
					}
				}
			}
			next.mu.Unlock()
			if next.Info().NextTicket == 4 { // nobody had seen it: it is made again
				next.publishOne(0, false)
			}
			next.publish(3, 0, true)
			u = next.uploader(memory)
			for want := range uint64(8) {
				if got := u.upload(); got != want {
					t.Fatalf("ticket %d is uploaded, want %d", got, want)
				}
				consumeUploaded(t, a, want, memory)
				consumeUploaded(t, b, want, memory)
			}
			for _, reader := range []*Reader{a, b} {
				_, err := reader.Acquire(testContext(t))
				wantErr(t, err, EndEpoch)
			}
		})
	}
}

// A batch that was made again and waited for a device slot when the engine died gets its slot before those behind it, which would wait for it for ever.
func TestBatchMadeAgainThatWaitsForADeviceSlotIsNotPassed(t *testing.T) {
	r := stageRing(t, 12, 1, func(c *Config) {
		d := deviceConfig(t, 12)
		d.Device.GivesBack = false
		c.Backing, c.Adopt, c.StepsPerEpoch, c.Device = Posix, true, 8, d.Device
	}, GroupConfig{Name: "a"})
	memory := &sync.Map{}
	u, worker := r.uploader(memory), r.attach(AttachOptions{Group: "s0", MaxLeases: 1})
	a := r.attach(AttachOptions{Group: "a", MaxLeases: 2})
	pass := func(reader *Reader) *Lease {
		l := next(t, reader)
		transform(l.Tensor(0))
		release(t, l)
		return l
	}
	upload := func() uint64 {
		l := next(t, u.Reader)
		u.copy(l)
		release(t, l)
		return l.Ticket
	}
	r.publish(6, 0, false)
	pass(worker)
	pass(worker)
	upload()
	upload()
	held := []*Lease{next(t, a), next(t, a)} // they have both device slots
	half := next(t, worker)
	transform(half.Tensor(0)[:128])
	_ = worker.Close()
	worker = r.attach(AttachOptions{Group: "s0", MaxLeases: 1})
	eventually(t, "it to be made again", func() bool { return r.group("s0").Redelivered == 1 })
	if again := pass(worker); again.Ticket != 2 || again.Attempts < 2 {
		t.Fatalf("ticket %d, attempt %d, want 2 made again", again.Ticket, again.Attempts)
	}
	pass(worker) // 3 and 4 wait behind it
	pass(worker)
	eventually(t, "the engine to hear of it", func() bool { return r.group("s0").Unclaimed == 1 })
	for restarts := range 2 {
		following := r.restartWithout(u)
		following.startDecoder()
		r, u = following, following.uploader(memory)
		if restarts == 0 {
			continue
		}
		for _, l := range held {
			release(t, l)
		}
	}
	for want := uint64(2); want < 6; want++ {
		if want == 5 {
			pass(worker)
		}
		if got := upload(); got != want {
			t.Fatalf("ticket %d is uploaded, want %d", got, want)
		}
		l := next(t, a)
		if l.Ticket != want {
			t.Fatalf("got ticket %d, want %d", l.Ticket, want)
		}
		checkUploaded(t, a, l, memory)
		checkTransformed(t, l, 1)
		release(t, l)
	}
}

// What an uploader has in its hands when its engine dies is not counted as its try.
func TestDeathsOfTheEngineAreNoTriesOfTheUploader(t *testing.T) {
	r, memory := adoptableDevice(t), &sync.Map{}
	a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
	r.publish(1, 0, false)
	for restarts := range 4 {
		u := r.uploader(memory)
		l := acquire(t, u.Reader)
		if l.Attempts != 1 {
			t.Fatalf("%d attempts, want 1", l.Attempts)
		}
		if restarts%2 == 1 { // this time it is through with it
			u.copy(l)
			release(t, l)
			eventually(t, "the engine to hear of it", func() bool { return r.Info().Device.Uploaded > 0 })
		}
		r = r.restartWithout(u)
	}
	u := r.uploader(memory)
	acquire(t, u.Reader)
	_ = u.Close() // by itself
	u = r.uploader(memory)
	l := acquire(t, u.Reader)
	if l.Attempts != 2 {
		t.Fatalf("%d attempts, want 2", l.Attempts)
	}
	u.copy(l)
	release(t, l)
	consumeUploaded(t, a, 0, memory)
	consumeUploaded(t, b, 0, memory)
}

// Nobody is killed who may be another than the uploader of the dead engine.
func TestProcessThatMayBeAnotherIsNotKilledAsTheUploader(t *testing.T) {
	r := adoptableDevice(t)
	left := r.startMember("hold", DeviceGroup, 1)
	left.await("attached")
	for i := range r.owners {
		r.owners[i].Started = 0
	}
	r.die()
	cfg := asGiven(r.cfg)
	_, err := Create(cfg)
	wantErr(t, err, ErrState)
	select {
	case <-left.ended:
		t.Fatal("it was killed")
	default:
	}
	left.kill()
	ring, err := Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_ = ring.Close()
}

// A member that writes about a batch of long ago takes no device slot from its owner: its own group gets the old batch again, and no other.
func TestALieAboutAnOldBatchTakesNoDeviceSlot(t *testing.T) {
	r, memory := adoptableDevice(t), &sync.Map{}
	u := r.uploader(memory)
	a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
	r.publish(1, 0, false)
	u.upload()
	consumeUploaded(t, a, 0, memory)
	consumeUploaded(t, b, 0, memory)
	r.publish(4, 0, false) // one of them has the device slot that 0 had
	eventually(t, "all device slots to be lent", func() bool { return r.Info().Device.Lent == 4 })
	r.die()
	_ = u.Close()
	for i := range uint64(r.cfg.Slots) {
		if d := a.desc(i); d.Ticket == 0 && d.Pool == 1 {
			a.word(i).Word.Store(packWord(wordReady, 0, seqAway))
		}
	}
	after := r.successor(r.cfg)
	after.mu.Lock()
	for k, s := range after.device.lent {
		if s == nil || s.desc.Ticket == 0 {
			t.Errorf("device slot %d belongs to the old batch, or to none", k)
		}
	}
	after.mu.Unlock()
	u = after.uploader(memory)
	for want := uint64(1); want < 5; want++ {
		u.upload()
		consumeUploaded(t, b, want, memory)
	}
}

// A consumer that died with the engine: what it held comes again when it is uploaded, and what nobody had got yet comes as if for the first time.
func TestConsumerThatDiedWithItsEngineAndItsUploader(t *testing.T) {
	r, memory := adoptableDevice(t), &sync.Map{}
	u := r.uploader(memory)
	victim := r.startMember("hold", "a", 1)
	victim.await("attached")
	a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
	r.publish(3, 0, false)
	u.upload()
	victim.await("ready")
	r.mu.Lock() // the engine does not notice any more
	u.upload()
	r.onWay = nil
	r.mu.Unlock()
	r.die()
	victim.kill()
	_ = u.Close()
	next := r.successor(r.cfg)
	nothingReady(t, a)
	u = next.uploader(memory)
	for want := range uint64(3) {
		if got := u.upload(); got != want {
			t.Fatalf("ticket %d is uploaded, want %d", got, want)
		}
		for _, reader := range []*Reader{a, b} {
			l := acquire(t, reader)
			checkUploaded(t, reader, l, memory)
			if l.Ticket != want || l.Attempts > 1 != (want == 0) {
				t.Fatalf("got ticket %d, attempts %d; want %d, and of 0 alone more than 1", l.Ticket, l.Attempts, want)
			}
			release(t, l)
		}
	}
	if g := next.group("a"); g.Completed != 3 || len(g.Members) != 1 {
		t.Fatalf("%d completed, %d members; want 3 and 1", g.Completed, len(g.Members))
	}
}

// An uploader that lives on when its engine is dead is ended before its memory is given to anybody else.
func TestUploaderThatADeadEngineLeftIsEnded(t *testing.T) {
	r := adoptableDevice(t)
	left := r.startMember("hold", DeviceGroup, 1)
	left.await("attached")
	consumer := r.attach(AttachOptions{Group: "a", MaxLeases: 1})
	r.publish(2, 0, false)
	left.await("holds")
	next := r.restart()
	eventually(t, "the uploader of the dead engine to be ended", func() bool {
		select {
		case <-left.ended:
			return true
		default:
			return false
		}
	})
	next.consistent()
	memory := &sync.Map{}
	u := next.uploader(memory)
	for want := range uint64(2) {
		u.upload()
		consumeUploaded(t, consumer, want, memory)
	}
}

func TestUploaderInThisProcessIsNotEndedButRefused(t *testing.T) {
	r := adoptableDevice(t)
	r.uploader(&sync.Map{})
	r.die()
	fresh := asGiven(r.cfg)
	_, err := Create(fresh)
	wantErr(t, err, ErrState)
	fresh.Adopt = false
	ring, err := Create(fresh)
	if err != nil {
		t.Fatal(err)
	}
	_ = ring.Close()
}

// A consumer whose engine is dead claims nothing of a ring with a device: its tensors went with the engine. The next engine has them
// uploaded again.
func TestNothingIsClaimedFromADeadEnginesDevice(t *testing.T) {
	leavesNothing(t)
	t.Setenv("SPDL_RUNTIME_DIR", shortDir(t))
	name, env := testName(t), []string{"SPDL_TEST_RECONNECT=20s", "SPDL_TEST_DEVICE=2"}
	engine := startChild(t, "engine", append(env, "SPDL_TEST_NAME="+name)...)
	path, memory := engine.await("ready"), &sync.Map{}
	upload := func(n int) *testUploader {
		u := &testUploader{attachTo(t, path, AttachOptions{Group: DeviceGroup, MaxLeases: 2, Handoff: true}), t, memory}
		if err := u.offer(testContext(t)); err != nil {
			t.Fatal(err)
		}
		for range n {
			u.upload()
		}
		return u
	}
	consumer := attachTo(t, path, AttachOptions{Group: "g", MaxLeases: 2})
	u := upload(2)
	held := acquire(t, consumer)
	eventually(t, "1 to be handed on", func() bool { return consumer.queue.Tail.Load() == 2 })
	engine.kill()
	nothingReady(t, consumer) // although 1 is ready
	_ = u.Close()
	engine = startChild(t, "engine", append(env, "SPDL_TEST_NAME="+name)...)
	engine.await("ready")
	u = upload(1)
	again := acquire(t, consumer)
	if again.Ticket != 1 || again.Attempts != 2 {
		t.Fatalf("got ticket %d, attempts %d, want 1, 2", again.Ticket, again.Attempts)
	}
	checkUploaded(t, consumer, again, memory)
	checkPattern(t, held)
	if held.DeviceGeneration == consumer.DeviceGeneration() {
		t.Fatal("the lease of a dead engine's device does not show it")
	}
	release(t, held)
	release(t, again)
	for _, reader := range []*Reader{consumer, u.Reader} {
		_ = reader.Close()
	}
	_ = engine.stdin.Close()
	<-engine.ended
}

// Clients that would believe a dead engine's device memory do not look for the next engine.
func TestOldClientsOfARingWithADeviceAreNotTakenBack(t *testing.T) {
	for name, one := range map[string]struct {
		device bool
		minor  uint32
		want   uint64
	}{"of today": {true, LayoutMinor, 5}, "old": {true, 4, 0}, "old, without a device": {false, 4, 5}} {
		t.Run(name, func(t *testing.T) {
			r := adoptable(t, func(c *Config) {
				if one.device {
					c.Device = deviceConfig(t, 8).Device
				}
			})
			c := &session{server: &Server{cfg: ServerConfig{ReconnectNS: 5}}, service: &Service{Ring: r.Ring}}
			if got := c.reconnects(&Hello{LayoutMinor: one.minor}); got != one.want {
				t.Errorf("looks for %d ns, want %d", got, one.want)
			}
		})
	}
}

func attachTo(t *testing.T, path string, opts AttachOptions) *Reader {
	t.Helper()
	reader, err := Attach(testContext(t), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	return reader
}
