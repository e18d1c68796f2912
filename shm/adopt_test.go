package shm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// adoptable is a posix ring with two declared groups; restart plays an engine that was killed and started again.
func adoptable(t *testing.T, edit func(*Config)) *testRing {
	cfg := testConfig(t, 8)
	cfg.Backing, cfg.Adopt, cfg.StepsPerEpoch, cfg.Epochs = Posix, true, 6, 2
	cfg.Groups = []GroupConfig{{Name: "a"}, {Name: "b"}}
	if edit != nil {
		edit(&cfg)
	}
	return newTestRing(t, cfg)
}

// die leaves the ring as a kill would, but for the processes.
func (r *testRing) die() {
	r.t.Helper()
	_ = r.server.Close()
	if err := r.Leave(); err != nil {
		r.t.Fatal(err)
	}
}

// restart is the next engine of the same name.
func (r *testRing) restart() *testRing {
	r.t.Helper()
	r.die()
	return r.successor(r.cfg)
}

func (r *testRing) successor(cfg Config) *testRing {
	r.t.Helper()
	ring, err := Create(asGiven(cfg))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = ring.Close() })
	next := &testRing{Ring: ring, t: r.t}
	if next.server, err = Listen(ServerConfig{Name: cfg.Name}, Service{Ring: ring}); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = next.server.Close() })
	next.next.Store(ring.Info().NextTicket)
	return next
}

// asGiven is the configuration without the group that Create adds.
func asGiven(cfg Config) Config {
	cfg.Groups = slices.DeleteFunc(slices.Clone(cfg.Groups), func(g GroupConfig) bool { return g.Kind == KindUploader })
	return cfg
}

func (r *testRing) consistent() {
	r.t.Helper()
	problems, err := CheckLive(testContext(r.t), r.server.Path())
	if err != nil {
		r.t.Fatal(err)
	}
	if len(problems) > 0 {
		r.t.Fatalf("the adopted ring is not consistent: %v", problems)
	}
}

func (r *testRing) wantCounts(group string, published, completed, redelivered uint64) {
	r.t.Helper()
	g := r.group(group)
	if g.Published != published || g.Completed != completed || g.Redelivered != redelivered || g.Violations != 0 {
		r.t.Fatalf("group %q: published %d, completed %d, redelivered %d, violations %d, want %d, %d, %d, 0", group,
			g.Published, g.Completed, g.Redelivered, g.Violations, published, completed, redelivered)
	}
}

// What was completed does not come again, what is leased stays leased, and what nobody took is still there, for readers that
// never noticed.
func TestRestartedEngineGoesOnWithTheRingAndItsReaders(t *testing.T) {
	r := adoptable(t, nil)
	a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 3}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
	r.publish(4, 0, false)
	release(t, acquire(t, a))
	held := acquire(t, a)
	done := acquire(t, a)
	if err := done.Done(); err != nil {
		t.Fatal(err)
	}
	was := r.Info()
	next := r.restart()
	if info := next.Info(); !info.Adopted || info.Generation != was.Generation+1 || info.NextTicket != 4 || info.Published != 4 {
		t.Fatalf("adopted ring: %+v", info)
	}
	next.consistent()
	next.wantCounts("a", 4, 2, 0)
	checkPattern(t, held)
	release(t, held)
	release(t, done)
	if l := acquire(t, a); l.Ticket != 3 || l.Attempts != 1 {
		t.Fatalf("ticket %d, attempt %d, want 3 and 1", l.Ticket, l.Attempts)
	} else {
		release(t, l)
	}
	next.publish(2, 0, true)
	for want := range uint64(6) {
		l := acquire(t, b)
		if l.Ticket != want || l.Attempts != 1 {
			t.Fatalf("ticket %d, attempt %d, want %d and 1", l.Ticket, l.Attempts, want)
		}
		release(t, l)
	}
	for range 2 {
		release(t, acquire(t, a))
	}
	for _, reader := range []*Reader{a, b} {
		_, err := reader.Acquire(testContext(t))
		wantErr(t, err, EndEpoch)
	}
	next.wantCounts("a", 6, 6, 0)
	next.wantCounts("b", 6, 6, 0)
}

// Wherever between two stores the engine is killed, each group has the batch once.
func TestHalfPublishedBatchIsFinishedInEveryGroupOnce(t *testing.T) {
	const ticket = 5 // the last of its epoch, in a slot that held another batch before
	for name, kill := range map[string]func(*Ring, *Slot){
		"described":           func(*Ring, *Slot) {},
		"put noted":           func(r *Ring, s *Slot) { put(r.groups[0], s) },
		"word stored":         func(r *Ring, s *Slot) { put(r.groups[0], s); storeWord(r.groups[0], s) },
		"entry stored":        func(r *Ring, s *Slot) { put(r.groups[0], s); storeWord(r.groups[0], s); storeEntry(r.groups[0]) },
		"in one group":        func(r *Ring, s *Slot) { r.groups[0].publish(s.index, 0, ticket, 0) },
		"noted in the second": func(r *Ring, s *Slot) { r.groups[0].publish(s.index, 0, ticket, 0); put(r.groups[1], s) },
		"in both groups":      func(r *Ring, s *Slot) { publishBoth(r, s) },
		"epoch stored":        func(r *Ring, s *Slot) { publishBoth(r, s); r.setLaneEpoch(0, 1) },
		"all but the wake-up": func(r *Ring, s *Slot) { publishBoth(r, s); r.planTickets(ticket+1, nil); r.passed(0, 0, true) },
	} {
		t.Run(name, func(t *testing.T) {
			r := adoptable(t, func(c *Config) { c.Slots = 4 })
			a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
			for want := range uint64(ticket) {
				r.publish(1, 0, false)
				for _, reader := range []*Reader{a, b} {
					if l := acquire(t, reader); l.Ticket != want {
						t.Fatalf("ticket %d, want %d", l.Ticket, want)
					} else {
						release(t, l)
					}
				}
			}
			slot, err := r.Claim(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			fillPattern(slot.Tensor(0), ticket)
			r.mu.Lock()
			if err := slot.describe(&Batch{Ticket: ticket, Rows: 4, LastOfEpoch: true}, 0); err != nil {
				t.Fatal(err)
			}
			kill(r.Ring, slot)
			r.mu.Unlock()

			next := r.restart()
			next.consistent()
			if got := next.Info().NextTicket; got == ticket { // nobody had seen it: it is made again
				next.publishOne(0, true)
			}
			for _, reader := range []*Reader{a, b} {
				l := acquire(t, reader)
				if l.Ticket != ticket || l.Attempts != 1 {
					t.Fatalf("ticket %d, attempt %d, want %d and 1", l.Ticket, l.Attempts, ticket)
				}
				release(t, l)
				_, err := reader.Acquire(testContext(t))
				wantErr(t, err, EndEpoch)
			}
			next.publishOne(1, false)
			for _, reader := range []*Reader{a, b} {
				if l := acquire(t, reader); l.Ticket != ticket+1 || l.Epoch != 1 {
					t.Fatalf("ticket %d of epoch %d, want %d of 1", l.Ticket, l.Epoch, ticket+1)
				} else {
					release(t, l)
				}
			}
			next.wantCounts("a", ticket+2, ticket+2, 0)
			next.wantCounts("b", ticket+2, ticket+2, 0)
		})
	}
}

// The stores of group.enqueue, one by one.
func put(g *group, s *Slot) {
	q := &g.queue[0]
	q.PutAt = g.lane[0].tail
	q.PutCount = g.published + 1
	q.PutSlot = uint32(s.index)
	q.PutTicket.Store(s.desc.Ticket + 1)
}

func storeWord(g *group, s *Slot) {
	g.words[s.index].Attempts.Store(1)
	g.words[s.index].Word.Store(packWord(wordReady, 0, g.lane[0].tail))
}

func storeEntry(g *group) {
	v := &g.lane[0]
	v.ready[v.tail&uint64(len(v.ready)-1)].Store(packEntry(v.tail, int(g.queue[0].PutSlot)))
}

func publishBoth(r *Ring, s *Slot) {
	for _, g := range r.groups {
		g.publish(s.index, 0, s.desc.Ticket, s.desc.Epoch.Load())
	}
}

// A redelivery that was cut between its word and its entry is found.
func TestHalfDoneRedeliveryIsFinished(t *testing.T) {
	r := adoptable(t, nil)
	a := r.attach(AttachOptions{Group: "a"})
	r.publish(2, 0, false)
	r.mu.Lock()
	g := r.groups[0]
	g.words[0].Attempts.Store(2)
	g.words[0].Word.Store(packWord(wordReady, 0, seqRedo))
	r.mu.Unlock()
	next := r.restart()
	next.consistent()
	if l := acquire(t, a); l.Ticket != 0 || l.Attempts != 2 {
		t.Fatalf("ticket %d, attempt %d, want 0 and 2", l.Ticket, l.Attempts)
	} else {
		release(t, l)
	}
	release(t, acquire(t, a))
	next.wantCounts("a", 2, 2, 1)
}

// A consumer that died while there was no engine is found dead by the next one.
func TestWhatAMemberHeldThatDiedMeanwhileComesAgainFlagged(t *testing.T) {
	r := adoptable(t, nil)
	dead, alive := r.startMember("hold", "a", 2), r.startMember("hold", "a", 1)
	dead.await("attached")
	alive.await("attached")
	r.publish(3, 0, false)
	dead.await("ready")
	alive.await("ready")
	r.die()
	dead.kill()
	next := r.successor(r.cfg)
	a := next.attach(AttachOptions{Group: "a"})
	for range 2 {
		l := acquire(t, a)
		if l.Attempts != 2 {
			t.Fatalf("ticket %d comes with attempt %d, want 2", l.Ticket, l.Attempts)
		}
		release(t, l)
	}
	nothingReady(t, a) // the other one lives, and keeps what it has
	next.wantCounts("a", 3, 2, 2)
	alive.kill()
	if l := acquire(t, a); l.Attempts != 2 {
		t.Fatalf("attempt %d, want 2", l.Attempts)
	} else {
		release(t, l)
	}
	next.wantCounts("a", 3, 3, 3)
}

// A consumer that detached while there was no engine frees its place, though its process lives on.
func TestMemberThatDetachedMeanwhileIsLetGo(t *testing.T) {
	r := adoptable(t, func(c *Config) { c.MaxConsumers = 1 })
	a := r.attach(AttachOptions{Group: "a"})
	r.publish(2, 0, false)
	acquire(t, a)
	r.die()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	next := r.successor(r.cfg)
	again := next.attach(AttachOptions{Group: "a"})
	if l := acquire(t, again); l.Ticket != 0 || l.Attempts != 2 {
		t.Fatalf("ticket %d, attempt %d, want 0 and 2", l.Ticket, l.Attempts)
	}
}

// An engine killed between registering a member and its welcome leaves no place taken.
func TestMemberThatNeverSawItsWelcomeIsStruckOut(t *testing.T) {
	r := adoptable(t, func(c *Config) { c.MaxConsumers = 1 })
	r.attach(AttachOptions{Group: "a"}).member.Presence.Store(presenceWelcomed)
	next := r.restart()
	if members := next.group("a").Members; len(members) != 0 {
		t.Fatalf("members %+v, want none", members)
	}
	next.attach(AttachOptions{Group: "a"})
}

// rejoin says the hello of a member of a dead engine.
func rejoin(t *testing.T, r *testRing, m *Reader, edit func(*Hello)) (*message, error) {
	conn, _, err := dialEngine(testContext(t), r.server.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	h := helloAgain(m)
	if edit != nil {
		edit(h)
	}
	c := &caller{conn: conn}
	return c.hello(testContext(t), h)
}

func helloAgain(m *Reader) *Hello {
	return &Hello{LayoutMajor: LayoutMajor, LayoutMinor: LayoutMinor, Flags: helloPIDFD | helloRejoin, RingUID: m.header.RingUID, Owner: m.welcome.Owner, GroupID: m.welcome.GroupID}
}

func TestMemberIsWelcomedBackAsWhoItWas(t *testing.T) {
	r := adoptable(t, nil)
	a := r.attach(AttachOptions{Group: "a", MaxLeases: 3})
	next := r.restart()
	if m := next.group("a").Members; len(m) != 1 || !m[0].Silent {
		t.Fatalf("members %+v, want one that has not been heard yet", m)
	}
	m, err := rejoin(t, next, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.closeFDs()
	w, err := payloadAs[Welcome](m.payload)
	want := a.welcome
	want.ReconnectNS = 0
	if err != nil || w != want {
		t.Fatalf("welcomed back as %+v, %v, want %+v", w, err, want)
	}
	if m := next.group("a").Members; len(m) != 1 || m[0].Silent || m[0].Owner != a.Owner() {
		t.Fatalf("members %+v, want the one, heard", m)
	}
	for i, same := range []*segment{next.header, next.groups[0].seg, next.data} {
		var got, want unix.Stat_t
		if unix.Fstat(m.fds[i], &got) != nil || unix.Fstat(same.fd(), &want) != nil || got.Ino != want.Ino {
			t.Errorf("descriptor %d is not the segment's", i)
		}
	}
}

func TestOnlyTheMemberItselfIsWelcomedBack(t *testing.T) {
	r := adoptable(t, nil)
	a := r.attach(AttachOptions{Group: "a"})
	other := r.startMember("hold", "a", 0)
	other.await("attached")
	owner := a.Owner() + 1
	next := r.restart()
	for name, c := range map[string]struct {
		edit func(*Hello)
		want error
	}{
		"another process's place": {func(h *Hello) { h.Owner = owner }, ErrDenied},
		"nobody's place":          {func(h *Hello) { h.Owner = 99 }, ErrEngineLost},
		"another group":           {func(h *Hello) { h.GroupID++ }, ErrEngineLost},
		"another ring":            {func(h *Hello) { h.RingUID[0]++ }, ErrEngineLost},
	} {
		_, err := rejoin(t, next, a, c.edit)
		if err == nil {
			t.Errorf("%s: welcomed", name)
			continue
		}
		wantErr(t, err, c.want)
	}
}

// A member that asks to be welcomed back over several connections at once, and hangs up on all of them, hurts nobody.
func TestMemberThatRejoinsSeveralTimesAtOnceHurtsNobody(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
	for range 100 {
		var all sync.WaitGroup
		for range 4 {
			conn, _, err := dialEngine(testContext(t), r.server.Path())
			if err != nil {
				t.Fatal(err)
			}
			all.Add(1)
			go func() {
				defer all.Done()
				if m, err := (&caller{conn: conn}).hello(testContext(t), helloAgain(a)); err != nil {
					t.Error(err)
				} else {
					m.closeFDs()
				}
				_ = conn.Close()
			}()
		}
		all.Wait()
	}
	r.publishOne(0, false)
	for _, c := range []*Reader{a, b} {
		release(t, acquire(t, c))
	}
}

// A ring that this engine would not have made is refused, every difference named, and left as it is.
func TestLeftoverOfAnotherRingIsRefusedByName(t *testing.T) {
	for want, edit := range map[string]func(*Config){
		"slots 8, now 9": func(c *Config) { c.Slots = 9 },
		"description 000000000000, now 070000000000": func(c *Config) { c.SpecHash[0] = 7 },
		"seed 0, now 3":                                 func(c *Config) { c.Seed = 3 },
		"samples 0, now 10":                             func(c *Config) { c.NSamples = 10 },
		"epochs 2, now 3":                               func(c *Config) { c.Epochs = 3 },
		"access shared, now private":                    func(c *Config) { c.Access = Private },
		"mode 0600, now 0640":                           func(c *Config) { c.Mode = 0o640 },
		"tensors":                                       func(c *Config) { c.Tensors = []Tensor{c.Tensors[0]}; c.Tensors[0].Name = "y" },
		"no group \"c\", now one":                       func(c *Config) { c.Groups = []GroupConfig{{Name: "a"}, {Name: "c"}} },
		"a group \"b\", now none":                       func(c *Config) { c.Groups = []GroupConfig{{Name: "a"}, {Name: "c"}} },
		"kind, mode, slow or redeliver of group \"b\"":  func(c *Config) { c.Groups = []GroupConfig{{Name: "a"}, {Name: "b", Slow: SlowDrop}} },
		"bytes per slot 4096, now 8192":                 func(c *Config) { c.Tensors = []Tensor{c.Tensors[0]}; c.Tensors[0].Shape = []int64{4, 2048} },
		"slots 8, now 9, lanes 1, now 2, world size 1,": func(c *Config) { c.Slots, c.Lanes = 9, 2 },
	} {
		t.Run(want, func(t *testing.T) {
			r := adoptable(t, nil)
			r.publish(1, 0, false)
			r.die()
			cfg := r.cfg
			cfg.World = 0
			edit(&cfg)
			_, err := Create(cfg)
			wantErr(t, err, ErrState)
			for _, text := range []string{want, "spdl clean", "--fresh"} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("got %q, want %q in it", err, text)
				}
			}
			if got := r.successor(r.cfg).Info(); !got.Adopted || got.NextTicket != 1 {
				t.Fatalf("after the refusal: %+v, want the ring as it was", got)
			}
		})
	}
}

// A leftover of another boot, another minor version, with a missing part or an impossible word is refused.
func TestDamagedLeftoverIsRefused(t *testing.T) {
	for want, damage := range map[string]func(*testing.T, *testRing){
		"boot ":                   func(_ *testing.T, r *testRing) { r.head.BootID[0]++ },
		"layout 1.0, now 1.":      func(_ *testing.T, r *testRing) { r.head.LayoutMinor = 0 },
		"magic ":                  func(_ *testing.T, r *testRing) { r.head.Magic.Store(1) },
		"was damaged by a member": func(_ *testing.T, r *testRing) { r.groups[0].rec.State.Store(GroupBroken) },
		"held by nobody":          func(_ *testing.T, r *testRing) { r.groups[0].words[0].Word.Store(packWord(wordHeld, 77, 0)) },
		"no such state":           func(_ *testing.T, r *testRing) { r.groups[0].words[0].Word.Store(7 << 60) },
		"an owner where none":     func(_ *testing.T, r *testRing) { r.groups[0].words[3].Word.Store(packWord(wordFree, 5, 0)) },
		"never handed out":        func(_ *testing.T, r *testRing) { r.groups[0].words[3].Word.Store(packWord(wordReady, 0, 9)) },
		"in no queue":             func(_ *testing.T, r *testRing) { r.groups[0].words[3].Word.Store(packWord(wordReady, 0, 0)) },
		".d":                      func(t *testing.T, r *testRing) { truncateFile(t, r.data.path) },
		".g1":                     func(t *testing.T, r *testRing) { truncateFile(t, r.groups[0].seg.path) },
	} {
		t.Run(want, func(t *testing.T) {
			r := adoptable(t, nil)
			r.publish(1, 0, false)
			_ = r.server.Close()
			r.mu.Lock()
			r.keepNames()
			path := filepath.Join(shmDir, r.base)
			r.header.path, r.data.path, r.groups[0].seg.path = path+".h", path+".d", path+".g1"
			r.closed = true // no housekeeping between the damage and the end
			damage(t, r)
			r.closed = false
			r.mu.Unlock()
			r.die()
			_, err := Create(r.cfg)
			wantErr(t, err, ErrState)
			if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--fresh") {
				t.Errorf("got %q, want %q in it", err, want)
			}
			cfg := r.cfg
			cfg.Adopt = false
			if r.successor(cfg).Info().Adopted {
				t.Error("a fresh ring was adopted")
			}
		})
	}
}

func truncateFile(t *testing.T, path string) {
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
}

// A consumer in a pid namespace of its own may live, and read what it holds: the ring is not gone on with until it has let go.
func TestMemberThatNobodyCanSeeKeepsTheRingAsItIs(t *testing.T) {
	r := adoptable(t, nil)
	a := r.attach(AttachOptions{Group: "a", MaxLeases: 1})
	r.publish(1, 0, false)
	held := acquire(t, a)
	for i := range r.owners {
		if r.owners[i].Owner.Load() == a.Owner() {
			r.owners[i].PID = 0
		}
	}
	r.die()
	_, err := Create(asGiven(r.cfg))
	wantErr(t, err, ErrState)
	want := fmt.Sprintf(`consumer %d of group "a" holds batches and is in a pid namespace that cannot be seen into; end it and start with --fresh`, a.Owner())
	if !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want %q in it", err, want)
	}
	release(t, held)
	if next := r.successor(r.cfg); !next.Info().Adopted {
		t.Error("a ring whose consumers hold nothing was not adopted")
	}
}

// A leftover that lacks a group's segment is not consistent, and says so as an engine would that was to go on with it.
func TestCheckFindsThatAGroupsSegmentIsGone(t *testing.T) {
	r := adoptable(t, nil)
	r.publish(1, 0, false)
	r.die()
	left, err := leftover(r.base)
	if err != nil {
		t.Fatal(err)
	}
	for gone := range 2 {
		snapshot, err := left.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if got := Check(snapshot); len(got) != gone || gone == 1 && got[0] != (Problem{"group 0 (a)", "its segment is not there"}) {
			t.Errorf("with %d segments less: %v", gone, got)
		}
		if err := os.Remove(filepath.Join(shmDir, r.base+".g1")); err == nil {
			left, _ = leftover(r.base)
		}
	}
	if err := removeStale(r.base); err != nil {
		t.Error(err)
	}
}

// Nothing is adopted from an engine that was never ready, had failed or had stopped.
func TestEndedRingsAreNotGoneOnWith(t *testing.T) {
	for _, state := range []uint32{StateStarting, StateFailed, StateStopped} {
		t.Run(fmt.Sprint(state), func(t *testing.T) {
			r := adoptable(t, nil)
			r.publish(1, 0, false)
			r.state.State.Store(state)
			if info := r.restart().Info(); info.Adopted || info.NextTicket != 0 {
				t.Fatalf("%+v, want a new ring", info)
			}
		})
	}
}

func TestLivingEngineIsNotAdopted(t *testing.T) {
	r := adoptable(t, nil)
	_, err := Create(r.cfg)
	wantErr(t, err, ErrNameInUse)
}

// Restart, undeclared groups, lanes and the position of each lane survive.
func TestAdoptionKeepsEpochsLanesAndUndeclaredGroups(t *testing.T) {
	r := adoptable(t, func(c *Config) { c.Lanes, c.Groups = 2, []GroupConfig{{Name: "ranks", Mode: ModeLanes}} })
	zero, one := r.attach(AttachOptions{Group: "ranks", Lane: 0, MaxLeases: 1}), r.attach(AttachOptions{Group: "ranks", Lane: 1, MaxLeases: 1})
	extra := r.attach(AttachOptions{Group: "extra", MaxLeases: 1})
	r.publish(2, 0, true)
	r.publish(1, 1, false) // lane 0 is in epoch 1, lane 1 not yet
	if err := r.Skip(r.group("extra").Index, 1); err != nil {
		t.Fatal(err)
	}
	next := r.restart()
	next.consistent()
	if next.laneEpoch[0] != 1 || next.laneEpoch[1] != 1 || next.groups[1].minEpoch != 1 || next.groups[1].declared {
		t.Fatalf("lanes in epochs %v, extra from epoch %d on, declared %v", next.laneEpoch, next.groups[1].minEpoch, next.groups[1].declared)
	}
	next.publish(1, 1, false)
	for _, c := range []struct {
		reader *Reader
		first  uint64
	}{{zero, 0}, {one, 1}} {
		l := acquire(t, c.reader)
		if l.Ticket != c.first {
			t.Fatalf("ticket %d, want %d", l.Ticket, c.first)
		}
		release(t, l)
		_, err := c.reader.Acquire(testContext(t))
		wantErr(t, err, EndEpoch)
		if l = acquire(t, c.reader); l.Ticket != c.first+2 {
			t.Fatalf("ticket %d, want %d", l.Ticket, c.first+2)
		}
		release(t, l)
	}
	if _, err := extra.Acquire(testContext(t)); err != EndEpoch {
		t.Fatalf("extra: %v, want the end of the epoch it skipped", err)
	}
	if l := acquire(t, extra); l.Ticket != 2 {
		t.Fatalf("extra got ticket %d, want 2", l.Ticket)
	}
}

func TestIncarnationsAndGroupsAreNotReusedAfterAdoption(t *testing.T) {
	r := adoptable(t, nil)
	a := r.attach(AttachOptions{Group: "x", MaxLeases: 1})
	owner, id := a.Owner(), r.group("x").ID
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group to end", func() bool { return len(r.Groups()) == 2 })
	next := r.restart()
	b := next.attach(AttachOptions{Group: "x", MaxLeases: 1})
	if b.Owner() <= owner || next.group("x").ID <= id {
		t.Fatalf("owner %d after %d, group %d after %d", b.Owner(), owner, next.group("x").ID, id)
	}
}

// The producer's note is the old one or the new one, never a mixture, and is there for the next engine.
func TestNoteIsThereForTheNextEngine(t *testing.T) {
	r := adoptable(t, nil)
	for _, note := range []string{"one", "a longer second one", ""} {
		if err := r.SetNote([]byte(note)); err != nil {
			t.Fatal(err)
		}
		r = r.restart()
		if got := string(r.Note()); got != note {
			t.Fatalf("note %q, want %q", got, note)
		}
	}
	wantErr(t, r.SetNote(make([]byte, MaxNote+1)), ErrArgument)
}

func TestAdoptedRingServesAfterManyRestarts(t *testing.T) {
	r := adoptable(t, func(c *Config) { c.Groups, c.Epochs, c.StepsPerEpoch = c.Groups[:1], 0, 1000 })
	a := r.attach(AttachOptions{Group: "a"})
	for range 20 {
		r.publish(3, 0, false)
		release(t, acquire(t, a))
		r = r.restart()
		release(t, acquire(t, a))
		release(t, acquire(t, a))
	}
	r.wantCounts("a", 60, 60, 0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if l, err := a.Acquire(ctx); err != context.Canceled {
		t.Fatalf("got %v, %v, want nothing", l, err)
	}
}
