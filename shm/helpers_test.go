package shm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// watchdog is the most that any wait in a test may take; a test that gets there has failed.
const watchdog = 30 * time.Second

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	t.Cleanup(cancel)
	return ctx
}

func testConfig(t testing.TB, slots int) Config {
	return Config{
		Name: testName(t), Access: Shared, Slots: slots, BatchRows: 4,
		Tensors: []Tensor{{Name: "x", Kind: Dense, Role: RoleField, DType: DType{1, 8, 1}, Shape: []int64{4, 64}}},
	}
}

var testNames atomic.Int64

func testName(testing.TB) string { return fmt.Sprintf("t%d.%d", os.Getpid(), testNames.Add(1)) }

// shortDir is a temporary directory whose path leaves room for a socket's name.
func shortDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/tmp", "spdl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// testRing is a ring with its server; both end, and nothing is left, with the test.
type testRing struct {
	*Ring
	server *Server
	t      testing.TB
	next   atomic.Uint64
}

func newTestRing(t testing.TB, cfg Config) *testRing {
	t.Helper()
	return newControlledRing(t, cfg, func(*testRing) Control { return nil })
}

func newControlledRing(t testing.TB, cfg Config, control func(*testRing) Control) *testRing {
	t.Helper()
	leavesNothing(t)
	t.Setenv("SPDL_RUNTIME_DIR", shortDir(t))
	ring, err := Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ring.Close() })
	r := &testRing{Ring: ring, t: t}
	r.next.Store(cfg.FirstTicket)
	r.server, err = Listen(ServerConfig{Name: cfg.Name}, Service{Ring: ring, Control: control(r)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.server.Close() })
	return r
}

// Go opens descriptors of its own with the first pipe and keeps them: whichever test comes first must not be blamed.
var warm = sync.OnceFunc(func() {
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close()
	}
})

// leavesNothing fails the test if it leaves goroutines, descriptors, mappings or names in /dev/shm behind.
func leavesNothing(t testing.TB) {
	warm()
	fds, goroutines := countFDs(t), runtime.NumGoroutine()
	t.Cleanup(func() {
		eventually(t, "goroutines and descriptors to end", func() bool {
			return countFDs(t) <= fds && runtime.NumGoroutine() <= goroutines
		})
		entries, _ := os.ReadDir(shmDir)
		for _, e := range entries {
			if strings.Contains(e.Name(), fmt.Sprintf("t%d.", os.Getpid())) {
				t.Errorf("left behind: %s", e.Name())
			}
		}
	})
}

func countFDs(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// eventually waits for a condition under the watchdog.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(watchdog); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("waited in vain for %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
	}
}

// publish publishes n batches of epoch; last marks the last of them as the epoch's.
func (r *testRing) publish(n int, epoch uint64, last bool) {
	r.t.Helper()
	for i := range n {
		r.publishOne(epoch, last && i >= n-r.cfg.Lanes)
	}
}

func (r *testRing) publishOne(epoch uint64, last bool) {
	r.t.Helper()
	s, err := r.Claim(testContext(r.t))
	if err != nil {
		r.t.Fatal(err)
	}
	ticket := r.next.Load()
	fillPattern(s.Tensor(0), ticket)
	if err := r.Publish(testContext(r.t), s, Batch{Ticket: ticket, Epoch: epoch, Rows: 4, LastOfEpoch: last}); err != nil {
		r.t.Fatal(err)
	}
	r.next.Store(ticket + 1)
}

func fillPattern(b []byte, ticket uint64) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, ticket)
	}
}

func checkPattern(t testing.TB, l *Lease) {
	t.Helper()
	for b := l.Tensor(0); len(b) >= 8; b = b[8:] {
		if got := binary.LittleEndian.Uint64(b); got != l.Ticket {
			t.Fatalf("ticket %d: payload says %d", l.Ticket, got)
		}
	}
}

func (r *testRing) attach(opts AttachOptions) *Reader {
	r.t.Helper()
	reader, err := Attach(testContext(r.t), r.server.Path(), opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = reader.Close() })
	return reader
}

func acquire(t testing.TB, r *Reader) *Lease {
	t.Helper()
	l, err := r.Acquire(testContext(t))
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	checkPattern(t, l)
	return l
}

func release(t testing.TB, l *Lease) {
	t.Helper()
	if err := l.Release(); err != nil {
		t.Fatalf("release of ticket %d: %v", l.Ticket, err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// nothingWithin asserts that no batch comes although the reader is asked now.
func nothingReady(t testing.TB, r *Reader) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if l, err := r.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got lease %v, error %v, want nothing", l, err)
	}
}

func (r *testRing) group(name string) GroupInfo {
	r.t.Helper()
	for _, g := range r.Groups() {
		if g.Name == name {
			return g
		}
	}
	r.t.Fatalf("no group %q", name)
	return GroupInfo{}
}
