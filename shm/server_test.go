package shm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Who asks for no number of leases gets four, or what fits, on the smallest ring and beside others, too; without any left it is refused.
func TestLeasesThatNobodyAskedForFit(t *testing.T) {
	for slots, want := range map[int][]uint32{3: {1}, 4: {2}, 5: {3}, 6: {4}, 8: {4, 2}, 11: {4, 4, 1}} {
		r := newTestRing(t, testConfig(t, slots))
		for _, n := range want {
			if c := r.attach(AttachOptions{}); c.welcome.MaxLeases != n {
				t.Errorf("%d slots: got %d leases, want %d", slots, c.welcome.MaxLeases, n)
			}
		}
		_, err := Attach(testContext(t), r.server.Path(), AttachOptions{})
		wantErr(t, err, ErrBusy)
		if want := fmt.Sprintf("1 leases asked for, 0 of %d free", slots-2); !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to say %q", err, want)
		}
	}
}

func TestAttachIsRefusedWithTheNumbers(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Lanes, cfg.World, cfg.MaxConsumers = 2, 2, 3
	cfg.Groups = []GroupConfig{{Name: "ranks", Mode: ModeLanes}, {Name: "eval"}}
	r := newTestRing(t, cfg)
	r.attach(AttachOptions{Group: "ranks", Lane: 1, MaxLeases: 2})
	for name, c := range map[string]struct {
		opts AttachOptions
		want error
		text string
	}{
		"too many leases":    {AttachOptions{Group: "eval", MaxLeases: 5}, ErrBusy, "5 leases asked for, 4 of 6 free (8 slots, 2 kept for the engine"},
		"no end of leases":   {AttachOptions{Group: "eval", MaxLeases: math.MaxUint32}, ErrBusy, "4294967295 leases asked for, 4 of 6 free"},
		"a lane taken":       {AttachOptions{Group: "ranks", Lane: 1, MaxLeases: 1}, ErrBusy, "lane 1 is taken by pid"},
		"a lane too high":    {AttachOptions{Group: "ranks", Lane: 2, MaxLeases: 1}, ErrNotFound, "lane 2, want 0 to 1"},
		"no group named":     {AttachOptions{MaxLeases: 1}, ErrNotFound, "2 groups are declared (ranks, eval)"},
		"another mode":       {AttachOptions{Group: "eval", Mode: ModeLanes, MaxLeases: 1}, ErrArgument, "has mode 1, asked for 2"},
		"a lane of a shared": {AttachOptions{Group: "eval", Lane: 3, MaxLeases: 1}, ErrArgument, "is shared and has no lane 3"},
		"a bad group name":   {AttachOptions{Group: "a b", MaxLeases: 1}, ErrArgument, `group name "a b"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Attach(testContext(t), r.server.Path(), c.opts)
			wantErr(t, err, c.want)
			if !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %q, want it to say %q", err, c.text)
			}
		})
	}
	for range 2 {
		r.attach(AttachOptions{Group: "eval", MaxLeases: 1})
	}
	_, err := Attach(testContext(t), r.server.Path(), AttachOptions{Group: "eval", MaxLeases: 1})
	wantErr(t, err, ErrBusy)
	_, err = Attach(testContext(t), r.server.Path()+"x", AttachOptions{})
	wantErr(t, err, ErrNotFound)
	_, err = Attach(testContext(t), r.cfg.Name+"/val", AttachOptions{})
	wantErr(t, err, ErrNotFound)
	if want := fmt.Sprintf(`no ring "val" here; the engine has one, called %q as the engine is: leave the ring out`, r.cfg.Name); !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want it to say %q", err, want)
	}
	_, err = Attach(testContext(t), "no/such/name", AttachOptions{})
	wantErr(t, err, ErrNotFound)
	_, err = Attach(testContext(t), "bad name", AttachOptions{})
	wantErr(t, err, ErrArgument)
}

func TestPrivateRingHasOneConsumerWhoMayWrite(t *testing.T) {
	for _, backing := range []Backing{Memfd, Posix} {
		cfg := testConfig(t, 8)
		cfg.Access, cfg.Backing = Private, backing
		r := newTestRing(t, cfg)
		c := r.attach(AttachOptions{})
		_, err := Attach(testContext(t), r.server.Path(), AttachOptions{})
		wantErr(t, err, ErrBusy)
		r.publishOne(0, false)
		l := acquire(t, c)
		clear(l.Tensor(0))
		release(t, l)
	}
}

func TestSharedRingCannotBeMappedForWriting(t *testing.T) {
	for _, backing := range []Backing{Memfd, Posix} {
		cfg := testConfig(t, 8)
		cfg.Backing = backing
		r := newTestRing(t, cfg)
		c := r.attach(AttachOptions{})
		for i, what := range []string{"header", "group", "data"} {
			mem, err := unix.Mmap(int(c.files[i].Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err == nil {
				_ = unix.Munmap(mem)
			}
			if writable := err == nil; writable != (what == "group") {
				t.Errorf("backing %d: %s segment: mapping it for writing gave %v", backing, what, err)
			}
			if backing == Memfd && c.files[i].Truncate(1) == nil {
				t.Errorf("%s segment could be truncated", what)
			}
		}
	}
}

// Who detached before an attach never stands in its way, and a thousand rounds leave nothing.
func TestAttachAndDetachAThousandTimesLeavesNothing(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	for i := range 10 {
		r.cycle(i)
	}
	fds, maps := countFDs(t), countMaps(t)
	for i := range 1000 {
		r.cycle(i)
	}
	eventually(t, "the last group to end", func() bool { return len(r.Groups()) == 0 })
	eventually(t, "descriptors to go", func() bool { return countFDs(t) <= fds })
	if now := countMaps(t); now > maps {
		t.Fatalf("%d mappings, were %d", now, maps)
	}
}

// Four clients that come and go cost the process no memory: a leak would grow in every round of 400 attaches.
func TestAttachAndDetachTakeNoMemory(t *testing.T) {
	const rounds, cycles, clients, allowed = 4, 100, 4, 40_000 // bytes, a hundred for each attach
	r := newTestRing(t, testConfig(t, 8))
	least := int64(math.MaxInt64)
	before := int64(0)
	for round := range rounds {
		var all sync.WaitGroup
		for range clients {
			all.Add(1)
			go func() {
				defer all.Done()
				for range cycles {
					if err := r.comeAndGo(); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		all.Wait()
		eventually(t, "the last group to end", func() bool { return len(r.Groups()) == 0 })
		now := heapInUse()
		if round > 0 {
			least = min(least, now-before)
		}
		before = now
	}
	if least > allowed {
		t.Fatalf("%d bytes more after every %d attaches, want at most %d", least, clients*cycles, allowed)
	}
}

// heapInUse is what is left of the heap after collecting twice: finalizers have run.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (r *testRing) cycle(i int) {
	if err := r.comeAndGo(); err != nil {
		r.t.Fatalf("attach and detach %d: %v", i, err)
	}
}

func (r *testRing) comeAndGo() error {
	c, err := Attach(context.Background(), r.server.Path(), AttachOptions{MaxLeases: 1})
	if err != nil {
		return err
	}
	return c.Close()
}

// countMaps counts the mappings of segments.
func countMaps(t testing.TB) int {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "spdl.t")
}

func TestGarbageOnTheSocketIsAnsweredOrCutOffAndHurtsNobody(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{})
	hello := Hello{LayoutMajor: LayoutMajor}
	good := Msg{Magic: msgMagic, Version: msgVersion, Type: msgHello, ID: 7, Bytes: 256}
	with := func(change func(*Msg)) []byte {
		m := good
		change(&m)
		return append(append([]byte(nil), bytesOf(&m)...), bytesOf(&hello)...)
	}
	for name, msg := range map[string][]byte{
		"one byte":             {1},
		"zeros":                make([]byte, 300),
		"wrong magic":          with(func(m *Msg) { m.Magic++ }),
		"wrong version":        with(func(m *Msg) { m.Version = 9 }),
		"unknown type":         with(func(m *Msg) { m.Type = 99 }),
		"an answer":            with(func(m *Msg) { m.Type = msgWelcome }),
		"payload too long":     with(func(m *Msg) { m.Bytes = 255 }),
		"payload too short":    with(func(m *Msg) { m.Bytes = 1 << 31 }),
		"half a hello":         append(append([]byte(nil), bytesOf(&Msg{Magic: msgMagic, Version: 1, Type: msgHello, Bytes: 8})...), make([]byte, 8)...),
		"state before hello":   bytesOf(&Msg{Magic: msgMagic, Version: 1, Type: msgState}),
		"detach before hello":  bytesOf(&Msg{Magic: msgMagic, Version: 1, Type: msgDetach}),
		"the largest datagram": make([]byte, 100000),
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: r.server.Path(), Net: "unixpacket"})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write(msg); err != nil {
				t.Fatal(err)
			}
			m, err := receive(conn, make([]byte, msgMax+1), 1)
			if err != nil || m.Type != msgError || m.Status >= 0 || len(m.payload) == 0 {
				t.Fatalf("got answer %+v, error %v, want a refusal with its reason", m, err)
			}
			if m, err := receive(conn, make([]byte, msgMax+1), 1); err == nil {
				t.Fatalf("got a second answer %+v, want a hang-up", m)
			}
		})
	}
	r.publishOne(0, false)
	release(t, acquire(t, c))
}

func TestRandomMessagesDoNotHurt(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	rng := rand.New(rand.NewSource(3))
	for range 500 {
		conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: r.server.Path(), Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.Intn(3) {
			m := Msg{Magic: msgMagic, Version: msgVersion, Type: uint16(rng.Intn(15)), ID: rng.Uint32()}
			if m.Type == msgEvict {
				continue // it may name this process
			}
			payload := make([]byte, rng.Intn(400))
			_, _ = rng.Read(payload)
			if rng.Intn(2) == 0 && len(payload) >= 4 {
				copy(payload, []byte{LayoutMajor, 0, 0, 0})
			}
			m.Bytes = uint32(len(payload))
			_, _ = conn.Write(append(append([]byte(nil), bytesOf(&m)...), payload...))
		}
		_ = conn.Close()
	}
	c := r.attach(AttachOptions{Group: "sane", MaxLeases: 1})
	r.publishOne(0, false)
	release(t, acquire(t, c))
	r.evictAllBut(c)
}

// evictAllBut removes members that random hellos made and that live in this process.
func (r *testRing) evictAllBut(c *Reader) {
	r.mu.Lock()
	var others []*member
	for _, g := range r.groups {
		for _, m := range g.members {
			if m != nil && m.owner != c.Owner() {
				others = append(others, m)
			}
		}
	}
	r.mu.Unlock()
	for _, m := range others {
		r.reap(m, "test")
	}
}

func TestFloodOfSilentConnectionsDoesNotKeepOthersOut(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	var silent []net.Conn
	defer func() {
		for _, conn := range silent {
			_ = conn.Close()
		}
	}()
	for range 200 {
		conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: r.server.Path(), Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, conn)
	}
	r.attach(AttachOptions{})
	eventually(t, "the oldest to be cut off", func() bool {
		r.server.mu.Lock()
		defer r.server.mu.Unlock()
		return len(r.server.conns) <= maxStrangers+1
	})
	for i, conn := range silent {
		_ = conn.SetReadDeadline(time.Now().Add(watchdog))
		var b [1]byte
		if _, err := conn.Read(b[:]); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("silent connection %d was not cut off: %v", i, err)
		}
	}
}

func TestDescriptorsSentUnaskedAreClosed(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	before := countFDs(t)
	for range 20 {
		conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: r.server.Path(), Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		fds := make([]int, 100)
		_, _, err = conn.WriteMsgUnix(make([]byte, 64), unix.UnixRights(fds...), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = receive(conn, make([]byte, msgMax+1), 1)
		_ = conn.Close()
	}
	eventually(t, "descriptors to be closed", func() bool { return countFDs(t) <= before })
}

func TestSecondEngineOfOneNameIsRefusedAndAStaleSocketIsReplaced(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	_, err := Listen(ServerConfig{Name: r.cfg.Name}, Service{Ring: r.Ring})
	wantErr(t, err, ErrNameInUse)
	r.attach(AttachOptions{})

	path := filepath.Join(shortDir(t), "s.sock")
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	s, err := Listen(ServerConfig{Name: path}, Service{Ring: r.Ring})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the socket is left behind: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Listen(ServerConfig{Name: path}, Service{Ring: r.Ring})
	wantErr(t, err, ErrNameInUse)
}

func TestSocketDirectoriesOthersCouldPlantInAreRefused(t *testing.T) {
	base := shortDir(t)
	open, link := filepath.Join(base, "open"), filepath.Join(base, "link")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(open, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{open, link} {
		t.Setenv("SPDL_RUNTIME_DIR", dir)
		_, err := socketPath("x")
		wantErr(t, err, ErrDenied)
	}
	t.Setenv("SPDL_RUNTIME_DIR", filepath.Join(base, strings.Repeat("d", 100)))
	_, err := socketPath("x")
	wantErr(t, err, ErrArgument)
}

// testControl answers as a small engine does.
type testControl struct {
	ring    *testRing
	stopped chan struct{}
	once    sync.Once
}

func (c *testControl) State(group int, owner uint32, countHeld bool, extra []uint64) ([]byte, error) {
	if !countHeld {
		owner = 0
	}
	low, above, err := c.ring.Progress(group, owner, extra)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"low": low, "above": above})
}

func (c *testControl) Load(_ int, _ uint32, state []byte) (uint64, error) {
	var to struct{ Ticket, Epoch uint64 }
	if err := json.Unmarshal(state, &to); err != nil {
		return 0, refuse(ErrState, "state: %v", err)
	}
	c.ring.next.Store(to.Ticket)
	return to.Epoch, c.ring.Rewind(to.Ticket, to.Epoch)
}

func (c *testControl) Restart(group int, owner uint32) (uint64, error) {
	epoch, err := c.ring.MemberEpoch(owner)
	if err != nil {
		return 0, err
	}
	return epoch + 1, c.ring.Skip(group, epoch+1)
}

func (c *testControl) Stats() ([]byte, error) { return json.Marshal(c.ring.Info()) }
func (c *testControl) Stop()                  { c.once.Do(func() { close(c.stopped) }) }

func controlledRing(t *testing.T) (*testRing, *testControl) {
	control := &testControl{stopped: make(chan struct{})}
	r := newControlledRing(t, testConfig(t, 8), func(r *testRing) Control {
		control.ring = r
		return control
	})
	return r, control
}

func TestStateNamesCompletedBatches(t *testing.T) {
	r, _ := controlledRing(t)
	c := r.attach(AttachOptions{MaxLeases: 4})
	r.publish(6, 0, false)
	held := []*Lease{acquire(t, c), acquire(t, c), acquire(t, c), acquire(t, c)}
	release(t, held[1])
	if err := held[2].Done(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		held  bool
		extra []uint64
		text  string
	}{
		{false, nil, `{"above":[1,2],"low":0}`},
		{true, nil, `{"above":null,"low":4}`},
		{false, []uint64{0}, `{"above":null,"low":3}`},
	} {
		got, err := c.SaveState(testContext(t), want.held, want.extra...)
		if err != nil || string(got) != want.text {
			t.Errorf("held %v, extra %v: got %s, %v, want %s", want.held, want.extra, got, err, want.text)
		}
	}
}

func TestLoadGoesOnFromASavedPosition(t *testing.T) {
	r, _ := controlledRing(t)
	c := r.attach(AttachOptions{MaxLeases: 4})
	r.publish(6, 0, true)
	held := acquire(t, c)
	wantErr(t, c.LoadState(testContext(t), []byte(`{"Ticket":40,"Epoch":3}`)), ErrBusy)
	release(t, held)
	wantErr(t, c.LoadState(testContext(t), []byte(`nonsense`)), ErrState)
	if err := c.LoadState(testContext(t), []byte(`{"Ticket":40,"Epoch":3}`)); err != nil {
		t.Fatal(err)
	}
	r.publish(1, 3, true)
	if l := acquire(t, c); l.Ticket != 40 || l.Epoch != 3 {
		t.Fatalf("got ticket %d of epoch %d, want 40 of 3", l.Ticket, l.Epoch)
	} else {
		release(t, l)
	}
	_, err := c.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
	if err := c.LoadState(testContext(t), []byte(`{"Ticket":2,"Epoch":0}`)); err != nil { // back
		t.Fatal(err)
	}
	r.publish(1, 0, true)
	if l := acquire(t, c); l.Ticket != 2 {
		t.Fatalf("got ticket %d, want 2", l.Ticket)
	}
}

func TestRestartLeavesTheRestOfTheEpochInItsGroupOnly(t *testing.T) {
	r, _ := controlledRing(t)
	c := r.attach(AttachOptions{Group: "a", MaxLeases: 2})
	other := r.attach(AttachOptions{Group: "b", MaxLeases: 2})
	r.publish(4, 0, false)
	release(t, acquire(t, c))
	if err := c.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}
	r.publish(1, 0, true)
	r.publish(1, 1, false)
	if l := acquire(t, c); l.Ticket != 5 || l.Epoch != 1 {
		t.Fatalf("got ticket %d of epoch %d, want 5 of 1", l.Ticket, l.Epoch)
	}
	for want := range uint64(5) {
		l := acquire(t, other)
		if l.Ticket != want {
			t.Fatalf("the other group got ticket %d, want %d", l.Ticket, want)
		}
		release(t, l)
	}
}

func TestOperatorSeesStatsAndStops(t *testing.T) {
	r, control := controlledRing(t)
	o, err := Operate(testContext(t), r.cfg.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if b, err := o.Stats(testContext(t)); err != nil || !strings.Contains(string(b), `"slots":8`) {
		t.Fatalf("got %s, %v", b, err)
	}
	wantErr(t, o.Evict(testContext(t), 0, 0), ErrNotFound)
	if err := o.Stop(testContext(t)); err != nil {
		t.Fatal(err)
	}
	<-control.stopped
}

func TestProducerWithoutControlRefusesStateByName(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{})
	_, err := c.SaveState(testContext(t), false)
	wantErr(t, err, ErrUnsupported)
}

func TestOwnerOfAChildEngineIsServedOverItsSocketpairUntilItLeaves(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Access = Private
	r := newTestRing(t, cfg)
	s := Serve(ServerConfig{}, Service{Ring: r.Ring})
	defer s.Close()
	mine, theirs := socketpair(t)
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := s.Owner(theirs, os.NewFile(uintptr(self), "parent"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := AttachFD(testContext(t), mine, AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.publishOne(0, false)
	release(t, acquire(t, c))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	<-gone
}

func TestStartUpErrorReachesTheParent(t *testing.T) {
	leavesNothing(t)
	mine, theirs := socketpair(t)
	refused := make(chan error)
	go func() { refused <- RefuseOwner(theirs, refuse(ErrSpec, "spec: line 3: no such key")) }()
	_, err := AttachFD(testContext(t), mine, AttachOptions{})
	wantErr(t, err, ErrSpec)
	if err.Error() != "spec: line 3: no such key" {
		t.Fatalf("got %q", err)
	}
	if err := <-refused; err != nil {
		t.Fatal(err)
	}
}

func socketpair(t *testing.T) (a, b *os.File) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "mine"), os.NewFile(uintptr(fds[1]), "theirs")
}

func TestStoppedAndFailedEnginesSaySoOnceNothingIsLeft(t *testing.T) {
	for _, c := range []struct {
		end  func(*Ring)
		want error
		text string
	}{
		{(*Ring).Stop, ErrEngineStopped, "stopped"},
		{func(r *Ring) { r.Fail(ErrEngineFailed, "12 bad samples") }, ErrEngineFailed, "12 bad samples"},
	} {
		r := newTestRing(t, testConfig(t, 8))
		reader := r.attach(AttachOptions{})
		r.publish(1, 0, false)
		c.end(r.Ring)
		release(t, acquire(t, reader))
		_, err := reader.Acquire(testContext(t))
		wantErr(t, err, c.want)
		if !strings.Contains(err.Error(), c.text) {
			t.Fatalf("got %q, want %q in it", err, c.text)
		}
	}
}

func TestArmedMemberIsSignalledOnPublishAndOnCompletion(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "g"}}
	r := newTestRing(t, cfg)
	a, b := r.attach(AttachOptions{MaxLeases: 2}), r.attach(AttachOptions{MaxLeases: 2})
	arm := func(c *Reader) {
		c.member.Armed.Store(1)
		c.lane.Armed.Store(1)
	}
	signalled := func(c *Reader) func() bool {
		return func() bool {
			p := []unix.PollFd{{Fd: int32(c.files[5].Fd()), Events: unix.POLLIN}}
			n, _ := unix.Poll(p, 0)
			return n == 1
		}
	}
	arm(a)
	r.publish(1, 0, true)
	eventually(t, "the event of a batch", signalled(a))
	var buf [8]byte
	if _, err := unix.Read(int(a.files[5].Fd()), buf[:]); err != nil {
		t.Fatal(err)
	}
	l := acquire(t, b)
	arm(a)
	if err := l.Done(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the event of an epoch's end", signalled(a))
	_, err := a.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
}

func TestArmedMemberIsSignalledThoughThePeerWasStoppedBeforeItCouldSaySo(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "g"}}
	r := newTestRing(t, cfg)
	a, b := r.attach(AttachOptions{MaxLeases: 2}), r.attach(AttachOptions{MaxLeases: 2})
	r.publish(1, 0, true)
	l := acquire(t, b)
	eventually(t, "the bell of the publication to be over", func() bool { return r.group("g").Members[1].Holds == 1 })
	a.member.Armed.Store(1)
	a.lane.Armed.Store(1)
	b.word(uint64(l.Slot)).Word.Store(packWord(wordDone, b.Owner(), seqOf(l.word))) // and not a word more
	r.group("g")                                                                    // somebody else notices first
	eventually(t, "the event", func() bool {
		p := []unix.PollFd{{Fd: int32(a.files[5].Fd()), Events: unix.POLLIN}}
		n, _ := unix.Poll(p, 0)
		return n == 1
	})
}

func TestSlowDropGroupLosesItsOldestUnclaimedBatch(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "train"}, {Name: "view", Slow: SlowDrop}}
	r := newTestRing(t, cfg)
	train, view := r.attach(AttachOptions{Group: "train", MaxLeases: 1}), r.attach(AttachOptions{Group: "view", MaxLeases: 1})
	held := acquireAfter(t, r, view)
	for range 19 {
		release(t, acquire(t, train))
		r.publishOne(0, false)
	}
	if g := r.group("view"); g.Dropped < 11 || g.Completed != 0 {
		t.Fatalf("view: %d dropped, %d completed, want at least 11, 0", g.Dropped, g.Completed)
	}
	release(t, held)
	last := held.Ticket
	for range 3 {
		l := acquire(t, view)
		if l.Ticket <= last {
			t.Fatalf("got ticket %d after %d", l.Ticket, last)
		}
		last = l.Ticket
		release(t, l)
	}
	if g := r.group("train"); g.Dropped != 0 {
		t.Fatalf("the block group lost %d batches", g.Dropped)
	}
}

func acquireAfter(t *testing.T, r *testRing, c *Reader) *Lease {
	r.publishOne(0, false)
	return acquire(t, c)
}

func TestSlowDetachGroupIsClosedWhenAnotherStarves(t *testing.T) {
	cfg := testConfig(t, 4)
	cfg.Groups = []GroupConfig{{Name: "train"}, {Name: "slow", Slow: SlowDetach}}
	r := newTestRing(t, cfg)
	train, slow := r.attach(AttachOptions{Group: "train", MaxLeases: 1}), r.attach(AttachOptions{Group: "slow", MaxLeases: 1})
	for range 12 {
		r.publishOne(0, false)
		release(t, acquire(t, train))
	}
	_, err := slow.Acquire(testContext(t))
	wantErr(t, err, ErrGroupClosed)
	if err := slow.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group to be gone", func() bool { return len(r.Groups()) == 1 })
	again := r.attach(AttachOptions{Group: "slow", MaxLeases: 1})
	r.publishOne(0, false)
	if l := acquire(t, again); l.Ticket != 12 {
		t.Fatalf("came back at ticket %d, want 12", l.Ticket)
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte{})
	m := Msg{Magic: msgMagic, Version: msgVersion, Type: msgState, Bytes: 24}
	f.Add(append(append([]byte(nil), bytesOf(&m)...), append(bytesOf(&StateReq{N: 1}), 1, 2, 3, 4, 5, 6, 7, 8)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, payload, err := parseMessage(b)
		if err != nil {
			return
		}
		if len(payload) != int(m.Bytes) || len(b) != msgHead+len(payload) {
			t.Fatalf("payload of %d bytes from %d, message says %d", len(payload), len(b), m.Bytes)
		}
		_, _, _ = stateRequest(payload)
		_, _ = payloadAs[Hello](payload)
		_, _ = payloadAs[Welcome](payload)
	})
}

func ExampleStatus() {
	fmt.Println(ErrBusy, int32(ErrBusy))
	// Output: busy -22
}

// A peer that closes with our answer unread has the kernel report a reset before it gives us the rest.
func TestDetachIsHeardThoughTheWelcomeWasNotRead(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	for range 20 {
		conn, _, err := dialEngine(testContext(t), r.server.Path())
		if err != nil {
			t.Fatal(err)
		}
		h := Hello{LayoutMajor: LayoutMajor, LayoutMinor: LayoutMinor, MaxLeases: 6}
		if err := send(conn, Msg{Type: msgHello, ID: 1}, bytesOf(&h), nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the member", func() bool { return len(r.Groups()) == 1 && len(r.Groups()[0].Members) == 1 })
		if err := (&caller{conn: conn}).detach(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the member to be let go", func() bool { return len(r.Groups()) == 0 })
	}
}

// A name that is nearly a declared group's is refused with that name; one that is its own makes a group.
func TestMisspeltGroupIsRefusedWithTheNameThatWasMeant(t *testing.T) {
	cfg := testConfig(t, 40)
	cfg.Groups = []GroupConfig{{Name: "train"}, {Name: "eval1"}, {Name: "a"}}
	r := newTestRing(t, cfg)
	for name, meant := range map[string]string{"trian": "train", "tain": "train", "trains": "train", "Train": "train", "evel1": "eval1", "eva1": "eval1"} {
		_, err := Attach(testContext(t), r.server.Path(), AttachOptions{Group: name})
		wantErr(t, err, ErrNotFound)
		if want := fmt.Sprintf("no group %q; %q is declared", name, meant); !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q in it", err, want)
		}
	}
	for _, name := range []string{"eval2", "eval", "b", "test", "brain-dead"} {
		r.attach(AttachOptions{Group: name})
	}
}

// A directory in which another user could put a socket in an engine's place is refused, with what to do.
func TestUnsafeSocketDirectoryIsRefusedWithTheRemedy(t *testing.T) {
	base := shortDir(t)
	path := func(name string) string { return filepath.Join(base, name) }
	for _, name := range []string{"open", "other"} {
		if err := os.Mkdir(path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(path("file"), nil, 0o600), os.Symlink(base, path("link")), os.Chmod(path("open"), 0o777)); err != nil {
		t.Fatal(err)
	}
	wants := map[string]string{"link": "use the directory itself", "file": "set SPDL_RUNTIME_DIR to one", "open": "chmod o-w"}
	if os.Chown(path("other"), os.Geteuid()+1, -1) == nil { // by root only
		wants["other"] = "set SPDL_RUNTIME_DIR to one that is"
	}
	for name, want := range wants {
		err := checkSocketDir(path(name))
		wantErr(t, err, ErrDenied)
		if !strings.HasSuffix(err.Error(), "; "+want) {
			t.Errorf("%s: got %q, want it to end with %q", name, err, want)
		}
	}
}
