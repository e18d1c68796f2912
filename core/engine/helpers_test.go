package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// TestMain gives the sockets a directory of their own, with a path that leaves room for their names.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("/tmp", "spdl")
	if err == nil {
		err = os.Setenv("SPDL_RUNTIME_DIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	_ = os.RemoveAll(toolsDir)
	os.Exit(code)
}

// watchdog is the most that any wait in a test may take; a test that gets there has failed.
const watchdog = 60 * time.Second

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for a condition under the watchdog.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(watchdog); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<18)
			t.Fatalf("waited in vain for %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
	}
}

var testNames atomic.Int64

func testName() string { return fmt.Sprintf("e%d.%d", os.Getpid(), testNames.Add(1)) }

// Go opens descriptors of its own with the first pipe and keeps them: whichever test comes first must not be blamed.
var warm = sync.OnceFunc(func() {
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close()
	}
})

// leavesNothing fails the test if it leaves goroutines, descriptors or names in /dev/shm behind.
func leavesNothing(t testing.TB) {
	warm()
	fds, goroutines := countFDs(t), runtime.NumGoroutine()
	t.Cleanup(func() {
		eventually(t, fmt.Sprintf("%d descriptors and %d goroutines", fds, goroutines), func() bool {
			return countFDs(t) <= fds && runtime.NumGoroutine() <= goroutines
		})
		if left := shmNames(t, fmt.Sprintf("spdl.e%d.", os.Getpid())); len(left) > 0 {
			t.Errorf("left behind in /dev/shm: %v", left)
		}
	})
}

func shmNames(t testing.TB, prefix string) (names []string) {
	entries, err := os.ReadDir("/dev/shm")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

func countFDs(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// grey is the level of the picture that sample i of a test folder shows.
func grey(i int) byte { return byte(i*7%200 + 20) }

// picture is a JPEG of one grey level.
func picture(t testing.TB, level byte, side int) []byte {
	m := image.NewGray(image.Rect(0, 0, side, side))
	for k := range m.Pix {
		m.Pix[k] = color.Gray{Y: level}.Y
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// folder makes n pictures in classes "a" and "b", sample i of level grey(i). spoil replaces some of them, by index.
func folder(t testing.TB, n int, spoil map[int]func(path string)) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		class := "a"
		if i >= n/2 {
			class = "b"
		}
		if err := os.MkdirAll(filepath.Join(dir, class), 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, class, fmt.Sprintf("%05d.jpg", i))
		if err := os.WriteFile(path, picture(t, grey(i), 24), 0o644); err != nil {
			t.Fatal(err)
		}
		if f := spoil[i]; f != nil {
			f(path)
		}
	}
	return dir
}

// describe parses a description whose name and folder are filled in. Everything is tiny: rows of 8 x 8 x 3 u8.
func describe(t testing.TB, dir, more string) *spec.Spec {
	t.Helper()
	return describeImage(t, dir, "{transform: [{resize: [8, 8]}]}", more)
}

func describeImage(t testing.TB, dir, image, more string) *spec.Spec {
	t.Helper()
	text := fmt.Sprintf("name: %s\nsource: {folder: %q}\nimage: %s\n", testName(), dir, image) + more
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// running is an engine under test with its control socket; all of it ends, and nothing is left, with the test.
type running struct {
	*Engine
	t      testing.TB
	server *shm.Server
	cancel context.CancelFunc
	done   chan error
	ended  bool
}

func start(t testing.TB, s *spec.Spec, o *Options) *running {
	t.Helper()
	leavesNothing(t)
	return startAgain(t, s, o)
}

// startAgain is start for a second engine in one test.
func startAgain(t testing.TB, s *spec.Spec, o *Options) *running {
	t.Helper()
	e, err := New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, e)
}

// serve runs an engine behind a control socket.
func serve(t testing.TB, e *Engine) *running {
	t.Helper()
	server, err := shm.Listen(shm.ServerConfig{Name: e.spec.Name}, e.Services()...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Engine: e, t: t, server: server, cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- e.Run(ctx) }()
	t.Cleanup(func() { _ = r.end() })
	return r
}

// end stops the engine in good order and returns what Run returned.
func (r *running) end() error {
	r.t.Helper()
	if r.ended {
		return nil
	}
	r.ended = true
	r.cancel()
	var ran error
	select {
	case ran = <-r.done:
	case <-time.After(watchdog):
		buf := make([]byte, 1<<18)
		r.t.Fatalf("Run does not return\n%s", buf[:runtime.Stack(buf, true)])
	}
	if err := r.server.Close(); err != nil {
		r.t.Errorf("close server: %v", err)
	}
	if err := r.Close(); err != nil {
		r.t.Errorf("close engine: %v", err)
	}
	return ran
}

// attach joins the engine's first ring.
func (r *running) attach(o shm.AttachOptions) *shm.Reader { return r.attachTo("", o) }

// attachTo joins one of several rings by name.
func (r *running) attachTo(ring string, o shm.AttachOptions) *shm.Reader {
	r.t.Helper()
	name := r.spec.Name
	if ring != "" {
		name += "/" + ring
	}
	reader, err := shm.Attach(testContext(r.t), name, o)
	if err != nil {
		r.t.Fatalf("attach: %v", err)
	}
	r.t.Cleanup(func() { _ = reader.Close() })
	return reader
}

// seen is a batch as a consumer saw it.
type seen struct {
	Epoch, Step uint64 // step within the epoch
	Ticket      uint64
	Rows        int
	NBad        int
	Flags       uint32
	Index       []int64
	Status      []byte
	Label       []int64
	Keys        []string
	Image       []byte
}

func look(l *shm.Lease) seen {
	s := seen{
		Epoch: l.Epoch, Step: l.EpochStep, Ticket: l.Ticket, Rows: l.Rows, NBad: l.NBad, Flags: l.Flags,
		Index:  append([]int64{}, batch.Int64s(l.Tensor(indexTensor))...),
		Label:  append([]int64{}, batch.Int64s(l.Tensor(labelTensor))...),
		Status: bytes.Clone(l.Tensor(statusTensor)),
		Image:  bytes.Clone(l.Tensor(sampleTensor)),
	}
	keys, offsets := l.Tensor(keyTensor), l.Offsets(keyTensor)
	for i := range l.Rows {
		s.Keys = append(s.Keys, string(keys[offsets[i]:offsets[i+1]]))
	}
	return s
}

// take leases, copies and releases the next batch; nil at the end of an epoch.
func take(t testing.TB, r *shm.Reader) *seen {
	t.Helper()
	l, err := r.Acquire(testContext(t))
	if errors.Is(err, shm.EndEpoch) {
		return nil
	}
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	s := look(l)
	if err := l.Release(); err != nil {
		t.Fatalf("release: %v", err)
	}
	return &s
}

// epoch takes batches up to the end of the epoch.
func epoch(t testing.TB, r *shm.Reader) (all []seen) {
	t.Helper()
	for b := take(t, r); b != nil; b = take(t, r) {
		all = append(all, *b)
	}
	return all
}

// indexes are the samples of batches in the order they came.
func indexes(batches []seen) (all []int64) {
	for _, b := range batches {
		all = append(all, b.Index...)
	}
	return all
}

// wantError fails unless err is want and its text has all of parts.
func wantError(t testing.TB, err, want error, parts ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Fatalf("error %q does not say %q", err, part)
		}
	}
	var status shm.Status
	if errors.As(err, &status) && strings.HasSuffix(err.Error(), ": "+want.Error()) {
		t.Fatalf("error %q ends in the name of its kind, which says nothing more", err)
	}
}
