package shm

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRingsOfBothBackingsLeaveNothing(t *testing.T) {
	for _, backing := range []Backing{Memfd, Posix} {
		cfg := testConfig(t, 8)
		cfg.Backing = backing
		cfg.Groups = []GroupConfig{{Name: "g"}}
		r := newTestRing(t, cfg)
		c := r.attach(AttachOptions{})
		r.publish(8, 0, false)
		for range 8 {
			release(t, acquire(t, c))
		}
		names, err := leftoverNames(r.base)
		if err != nil || (len(names) == 3) != (backing == Posix) {
			t.Fatalf("backing %d has names %v, %v", backing, names, err)
		}
	}
}

func TestSecondRingOfOneNameIsRefusedAndTheFirstUnharmed(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Backing = Posix
	r := newTestRing(t, cfg)
	_, err := Create(cfg)
	wantErr(t, err, ErrNameInUse)
	if !strings.Contains(err.Error(), "pid") {
		t.Fatalf("got %q, want the engine's pid in it", err)
	}
	c := r.attach(AttachOptions{})
	r.publishOne(0, false)
	release(t, acquire(t, c))
}

func TestLeftoverOfADeadEngineIsConsistentAndTakenOver(t *testing.T) {
	leavesNothing(t)
	t.Setenv("SPDL_RUNTIME_DIR", shortDir(t))
	name := testName(t)
	engine := startChild(t, "engine", "SPDL_TEST_NAME="+name)
	c, err := Attach(testContext(t), engine.await("ready"), AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	acquire(t, c)
	find := func() *Leftover {
		all, err := Leftovers()
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
		return nil
	}
	if l := find(); l == nil || l.Stale {
		t.Fatalf("got leftover %+v of a living engine", l)
	}
	wantErr(t, find().Remove(), ErrNameInUse)
	engine.kill()
	l := find()
	if l == nil || !l.Stale || l.EnginePID != uint32(engine.cmd.Process.Pid) {
		t.Fatalf("got leftover %+v", l)
	}
	s, err := l.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if problems := Check(s); len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	_ = c.Close()
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	if find() != nil {
		t.Fatal("still there")
	}
	stale, err := StaleSockets()
	if err != nil || len(stale) != 1 {
		t.Fatalf("stale sockets %v, %v, want one", stale, err)
	}
	if err := RemoveStaleSocket(stale[0]); err != nil {
		t.Fatal(err)
	}
	if stale, err := StaleSockets(); err != nil || len(stale) != 0 {
		t.Fatalf("stale sockets %v, %v, want none any more", stale, err)
	}
}

// Without a header there is no proof: the names may be those of an engine that is just starting. Whoever gets the
// name removes them.
func TestStraysWithoutAHeaderGoWithTheNextEngineOnly(t *testing.T) {
	leavesNothing(t)
	cfg := testConfig(t, 4)
	cfg.Backing = Posix
	stray := filepath.Join(shmDir, segmentBase(cfg.Name, "")+".g7")
	if err := os.WriteFile(stray, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeStale(segmentBase(cfg.Name, "")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(stray); err != nil {
		t.Fatalf("a stray was removed without proof: %v", err)
	}
	r, err := Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(stray); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stray is still there: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// Of many that want one posix name at the same moment exactly one gets it, and its segments keep their names.
func TestOneOfManyCreatorsGetsTheName(t *testing.T) {
	leavesNothing(t)
	for range 50 {
		cfg := testConfig(t, 3)
		cfg.Backing = Posix
		rings := make(chan *Ring, 4)
		var all sync.WaitGroup
		for range cap(rings) {
			all.Add(1)
			go func() {
				defer all.Done()
				r, err := Create(cfg)
				if err == nil {
					rings <- r
				} else if !errors.Is(err, ErrNameInUse) {
					t.Errorf("got %v, want a name in use", err)
				}
			}()
		}
		all.Wait()
		close(rings)
		if len(rings) != 1 {
			t.Fatalf("%d of %d creators got the name, want 1", len(rings), cap(rings))
		}
		r := <-rings
		if left, _ := leftoverNames(r.base); len(left) != 2 {
			t.Fatalf("the ring's names are %v, want data and header", left)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreateSaysWhatIsNeededAndFreeWhenThereIsNoRoom(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mounting a small tmpfs needs root: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	was := shmDir
	shmDir = dir
	t.Cleanup(func() { shmDir = was })
	leavesNothing(t)
	cfg := testConfig(t, 1000)
	cfg.Backing = Posix
	_, err := Create(cfg)
	wantErr(t, err, ErrNoSpace)
	for _, want := range []string{"4.5 MiB needed", "1.0 MiB free", "--shm-size=68m"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q in it", err, want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	_, err = newSegment(segmentSpec{backing: Posix, name: "big", mode: 0o600, size: 2 << 20}) // without the look ahead
	wantErr(t, err, ErrNoSpace)
	early := segmentSpec{backing: Posix, name: "early", mode: 0o600, size: 2 << 20, atOnce: 4096}
	seg, err := newSegment(early)
	if err != nil {
		t.Fatal(err)
	}
	wantErr(t, seg.reserveRange(early, 4096, early.size-4096), ErrNoSpace)
	seg.close()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSegmentBeyondTheLimitOfFilesNamesItInBytes(t *testing.T) {
	leavesNothing(t)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_FSIZE, &was) })
	for _, atOnce := range []uint64{0, 4096} {
		limit := unix.Rlimit{Cur: 8192, Max: was.Max}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		_, err := newSegment(segmentSpec{backing: Memfd, name: "large", size: 12288, atOnce: atOnce})
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
		wantErr(t, err, ErrNoSpace)
		if !strings.Contains(err.Error(), "12288 bytes needed") || !strings.Contains(err.Error(), "ulimit -f") {
			t.Errorf("%d at once: got %q", atOnce, err)
		}
	}
}

func TestCreateFailsCleanlyWithoutDescriptors(t *testing.T) {
	leavesNothing(t)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "g"}}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &was) })
	failed := 0
	for extra := range uint64(12) {
		limit := was
		limit.Cur = uint64(countFDs(t)) + extra
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		r, err := Create(cfg)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			_ = r.Close()
			continue
		}
		failed++
		var refusal *Error
		if !errors.As(err, &refusal) {
			t.Fatalf("got %v, want a refusal with words", err)
		}
	}
	if failed == 0 {
		t.Fatal("none of the limits made it fail")
	}
}

func TestCreateRefusesWhatMakesNoSense(t *testing.T) {
	for want, change := range map[string]func(*Config){
		`name "a/b"`:            func(c *Config) { c.Name = "a/b" },
		`name ".hidden"`:        func(c *Config) { c.Name = ".hidden" },
		`ring name "a b"`:       func(c *Config) { c.RingName = "a b" },
		"2 slots":               func(c *Config) { c.Slots = 2 },
		"65537 slots":           func(c *Config) { c.Slots = MaxSlots + 1 },
		"0 tensors":             func(c *Config) { c.Tensors = nil },
		"65 lanes":              func(c *Config) { c.Lanes = 65 },
		"world size 1":          func(c *Config) { c.Lanes, c.World = 2, 1 },
		"backing 7":             func(c *Config) { c.Backing = 7 },
		"access 7":              func(c *Config) { c.Access = 7 },
		"mode 0644":             func(c *Config) { c.Mode = 0o644 },
		"0 rows":                func(c *Config) { c.BatchRows = 0 },
		`group "g" is declared`: func(c *Config) { c.Groups = []GroupConfig{{Name: "g"}, {Name: "g"}} },
		"slow 9":                func(c *Config) { c.Groups = []GroupConfig{{Name: "g", Slow: 9}} },
		`tensor "x": shape`:     func(c *Config) { c.Tensors[0].Shape = []int64{5, 1} },
		"1 x 3 bits":            func(c *Config) { c.Tensors[0].DType = DType{1, 3, 1} },
		"0 values":              func(c *Config) { c.Tensors[0].Kind = Ragged },
		"kind 9":                func(c *Config) { c.Tensors[0].Kind = 9 },
		"at most 64 TiB":        func(c *Config) { c.Tensors[0].Shape = []int64{4, math.MaxInt64} },
		"a name of its own":     func(c *Config) { c.Tensors = append(c.Tensors, c.Tensors[0]) },
		"address space":         func(c *Config) { c.Tensors[0].Shape, c.Slots = []int64{4, 1 << 40}, MaxSlots },
	} {
		cfg := testConfig(t, 8)
		change(&cfg)
		_, err := Create(cfg)
		if !errors.Is(err, ErrArgument) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a refusal with %q", err, want)
		}
	}
}

func TestRaggedTensorCarriesOffsetsAndValues(t *testing.T) {
	cfg := testConfig(t, 4)
	cfg.Tensors = append(cfg.Tensors, Tensor{Name: "key", Kind: Ragged, Role: RoleKey, DType: DType{1, 8, 1}, Values: 100})
	r := newTestRing(t, cfg)
	c := r.attach(AttachOptions{MaxLeases: 1})
	s, err := r.Claim(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	copy(s.Tensor(1), "abcdef")
	for _, bad := range [][]int64{{1, 2}, {0, 101}, {0, -1}} {
		copy(s.Offsets(1), bad)
		wantErr(t, r.Publish(testContext(t), s, Batch{Rows: 1}), ErrArgument)
	}
	copy(s.Offsets(1), []int64{0, 2, 2, 6})
	if err := r.Publish(testContext(t), s, Batch{Rows: 3}); err != nil {
		t.Fatal(err)
	}
	l, err := c.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	offsets := l.Offsets(1)
	if string(l.Tensor(1)) != "abcdef" || len(offsets) != 4 || offsets[3] != 6 || l.Shape(1)[0] != 6 || l.Shape(0)[0] != 3 || l.Flags&FlagShort == 0 {
		t.Fatalf("got %q, offsets %v, shapes %v and %v, flags %d", l.Tensor(1), offsets, l.Shape(0), l.Shape(1), l.Flags)
	}
	if len(s.Tensor(1)) != cap(s.Tensor(1)) {
		t.Fatal("a slice of the mapping has room to grow into its neighbour")
	}
}

func TestTicketsNearTheEndOfTheirRangeKeepTheirOrder(t *testing.T) {
	for _, first := range []uint64{1<<32 - 5, 1<<63 - 5} {
		cfg := testConfig(t, 8)
		cfg.FirstTicket = first
		r := newTestRing(t, cfg)
		c := r.attach(AttachOptions{})
		for i := range uint64(20) {
			r.publishOne(0, i == 19)
			l := acquire(t, c)
			if l.Ticket != first+i {
				t.Fatalf("got ticket %d, want %d", l.Ticket, first+i)
			}
			release(t, l)
		}
		_, err := c.Acquire(testContext(t))
		wantErr(t, err, EndEpoch)
	}
}

func TestLiveRingIsConsistentUnderLoad(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "g"}}
	r := newTestRing(t, cfg)
	c := r.attach(AttachOptions{})
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				r.publishOne(0, false)
				l, err := c.Acquire(testContext(t))
				if err != nil {
					t.Error(err)
					return
				}
				_ = l.Release()
			}
		}
	}()
	for range 20 {
		problems, err := CheckLive(testContext(t), r.cfg.Name)
		if err != nil || len(problems) > 0 {
			t.Fatalf("problems %v, error %v", problems, err)
		}
	}
	close(stop)
	<-done
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "g"}}
	r := newTestRing(t, cfg)
	c := r.attach(AttachOptions{MaxLeases: 1})
	r.publish(4, 0, false)
	held := acquire(t, c)
	for want, spoil := range map[string]func(h *Header, g *GroupHead, s *Snapshot){
		"no such state": func(_ *Header, g *GroupHead, s *Snapshot) {
			at[Word](s.Groups[0], g.WordOff).Word.Store(packWord(7, 0, 0))
		},
		"who is no member": func(_ *Header, g *GroupHead, s *Snapshot) {
			at[Word](s.Groups[0], g.WordOff+g.WordStride*uint64(held.Slot)).Word.Store(packWord(wordHeld, 77, 0))
		},
		"in no queue": func(_ *Header, g *GroupHead, s *Snapshot) {
			at[Word](s.Groups[0], g.WordOff+g.WordStride).Word.Store(packWord(wordReady, 0, 99))
		},
		"an owner where none can be": func(_ *Header, g *GroupHead, s *Snapshot) {
			at[Word](s.Groups[0], g.WordOff+g.WordStride*7).Word.Store(packWord(wordFree, 3, 0))
		},
		"holds 2 slots of 1": func(_ *Header, g *GroupHead, s *Snapshot) {
			at[Word](s.Groups[0], g.WordOff+g.WordStride).Word.Store(packWord(wordHeld, c.Owner(), 1))
		},
		"beyond tails": func(_ *Header, g *GroupHead, s *Snapshot) { at[Lane](s.Groups[0], g.LaneOff).Head.Store(1000) },
		"of 4, lane":   func(h *Header, _ *GroupHead, s *Snapshot) { at[Desc](s.Header, h.DescOff).Rows = 5 },
		"is in slot":   func(h *Header, _ *GroupHead, s *Snapshot) { at[Desc](s.Header, h.DescOff).Ticket = 1 },
		"uses":         func(h *Header, _ *GroupHead, s *Snapshot) { at[DescTensor](s.Header, h.DescOff+256).Bytes = 1 << 40 },
		"magic":        func(h *Header, _ *GroupHead, s *Snapshot) { h.Magic.Store(3) },
		"engine state": func(h *Header, _ *GroupHead, s *Snapshot) { at[State](s.Header, h.StateOff).State.Store(9) },
	} {
		s, err := Observe(testContext(t), r.cfg.Name)
		if err != nil {
			t.Fatal(err)
		}
		if problems := Check(s); len(problems) > 0 {
			t.Fatalf("problems before anything was spoilt: %v", problems)
		}
		spoil(at[Header](s.Header, 0), at[GroupHead](s.Groups[0], 0), s)
		problems := Check(s)
		found := false
		for _, p := range problems {
			found = found || strings.Contains(p.String(), want)
		}
		if !found {
			t.Errorf("got problems %v, want one with %q", problems, want)
		}
	}
}

func TestForgedHeadersAreRefusedWithoutLookingFurther(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "g"}}
	r := newTestRing(t, cfg)
	s, err := Observe(testContext(t), r.cfg.Name)
	if err != nil {
		t.Fatal(err)
	}
	forged := append([]byte(nil), s.Header...)
	for off := range headerSize {
		for _, flip := range []byte{1, 0x80, 0xff} {
			forged[off] ^= flip
			Check(&Snapshot{Header: forged, Groups: s.Groups})
			forged[off] ^= flip
		}
	}
	group := append([]byte(nil), s.Groups[0]...)
	for off := range 256 {
		for _, flip := range []byte{1, 0x80, 0xff} {
			group[off] ^= flip
			Check(&Snapshot{Header: s.Header, Groups: map[int][]byte{0: group}})
			group[off] ^= flip
		}
	}
	for n := 0; n < len(s.Header); n += 64 {
		if _, err := checkHeader(s.Header[:n:n]); err == nil {
			t.Fatalf("a header cut to %d bytes was believed", n)
		}
	}
}

func FuzzCheckSegments(f *testing.F) {
	cfg := testConfig(f, 4)
	cfg.Groups = []GroupConfig{{Name: "g"}}
	r, err := Create(cfg)
	if err != nil {
		f.Fatal(err)
	}
	header := append([]byte(nil), r.header.mem...)
	group := append([]byte(nil), r.groups[0].seg.mem...)
	_ = r.Close()
	f.Add(header, group)
	f.Fuzz(func(_ *testing.T, header, group []byte) {
		aligned := func(b []byte) []byte { return append(make([]byte, 0, len(b)+4096), b...) } // as a mapping is
		Check(&Snapshot{Header: aligned(header), Groups: map[int][]byte{0: aligned(group)}})
	})
}

// A record that is wrong in two ways is not looked at further than the first allows: its queues lie outside the segment.
func TestCheckOfARecordThatIsWrongTwiceEnds(t *testing.T) {
	r := newTestRing(t, testConfig(t, 4))
	r.attach(AttachOptions{})
	s, err := Observe(testContext(t), r.server.Path())
	if err != nil {
		t.Fatal(err)
	}
	rec := at[GroupRecord](s.Header, at[Header](s.Header, 0).GroupOff)
	rec.Completed.Store(rec.Published.Load() + 1)
	rec.FirstQueue = 1<<32 - 1
	if got := Check(s); len(got) != 1 || !strings.Contains(got[0].What, "queues 4294967295 to 4294967296 of ") {
		t.Errorf("got %v, want the queues", got)
	}
}

func TestRuntimeDirectoryIsMadeForThisUserAlone(t *testing.T) {
	dir := filepath.Join(shortDir(t), "rt")
	t.Setenv("SPDL_RUNTIME_DIR", dir)
	path, err := socketPath("x")
	if err != nil || path != filepath.Join(dir, "x.sock") {
		t.Fatalf("got %q, %v", path, err)
	}
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Fatalf("got mode %v, %v, want 0700", st.Mode(), err)
	}
}
