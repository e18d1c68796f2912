package shm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

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
	if _, running, _ := strings.Cut(err.Error(), "start one with spdl serve, or attach to one that runs: "); !slices.Contains(strings.Split(running, ", "), r.cfg.Name) {
		t.Errorf("got %q, want it to name the running %q", err, r.cfg.Name)
	}
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
		err := checkSocketDir(path(name), false)
		wantErr(t, err, ErrDenied)
		if !strings.HasSuffix(err.Error(), "; "+want) {
			t.Errorf("%s: got %q, want it to end with %q", name, err, want)
		}
	}
}

// An engine listens in nobody else's directory; who looks for one may do so where nobody but root can have put the directory, as a
// service's with a user of its own: there root and the engine's group find it by its name.
func TestDirectoryThatRootGaveAwayMayBeLookedInAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a directory away needs root")
	}
	above := shortDir(t)
	given := filepath.Join(above, "given")
	t.Setenv("SPDL_RUNTIME_DIR", given)
	if err := errors.Join(os.Mkdir(given, 0o700), os.Chown(given, 65534, -1)); err != nil {
		t.Fatal(err)
	}
	wantErr(t, checkSocketDir(given, false), ErrDenied)
	if err := checkSocketDir(given, true); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func() error{
		"all may write above":    func() error { return os.Chmod(above, 0o1777) },
		"a group may":            func() error { return os.Chmod(above, 0o775) },
		"it is another's, above": func() error { return errors.Join(os.Chmod(above, 0o755), os.Chown(above, 65534, -1)) },
	} {
		if err := errors.Join(os.Chown(above, 0, -1), change()); err != nil {
			t.Fatal(err)
		}
		if err := checkSocketDir(given, true); !errors.Is(err, ErrDenied) {
			t.Errorf("%s: got %v, want ErrDenied", name, err)
		}
		if _, err := RunningSockets(); !errors.Is(err, ErrDenied) {
			t.Errorf("%s: a list says %v, want ErrDenied", name, err)
		}
	}
}
