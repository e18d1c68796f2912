package source

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hanging is a source in which some samples are not answered until they are let go.
type hanging struct {
	Source
	hangs  map[int64]bool
	let    chan struct{}
	closed chan struct{}
}

func (h *hanging) Read(ctx context.Context, i int64, b *Buffer) error {
	if h.hangs[i] {
		<-h.let
	}
	return h.Source.Read(ctx, i, b)
}

func (h *hanging) Close() error { close(h.closed); return h.Source.Close() }

func hangs(t *testing.T, samples ...int64) *hanging {
	t.Helper()
	dir := t.TempDir()
	for i := range 8 {
		write(t, fmt.Sprintf("%s/%d.jpg", dir, i), fmt.Sprint("p", i))
	}
	s, err := OpenFolder(FolderConfig{Dir: dir})
	must(t, err)
	h := &hanging{Source: s, hangs: map[int64]bool{}, let: make(chan struct{}), closed: make(chan struct{})}
	for _, i := range samples {
		h.hangs[i] = true
	}
	return h
}

// A read that hangs is a bad sample, cause deadline, and costs no other: its reader is left behind, and works again once it is let go.
func TestReadThatHangsIsABadSample(t *testing.T) {
	before := runtime.NumGoroutine()
	h := hangs(t, 3)
	s := Guard(h, GuardConfig{Timeout: time.Hour, Stuck: 2}).(*guarded)
	var b Buffer
	for pass := range 2 {
		for i := range int64(8) {
			if s.c.Timeout = time.Hour; i == 3 && pass == 0 {
				s.c.Timeout = 20 * time.Millisecond // of the one that hangs alone: the machine may be as slow with the others
			}
			err := s.Read(background, i, &b)
			var bad *Error
			if i == 3 && pass == 0 {
				if !errors.As(err, &bad) || bad.Cause != Deadline || bad.Key != "3.jpg" || !bad.TimeDependent() || len(b.Bytes()) != 0 {
					t.Errorf("got %v", err)
				}
				close(h.let)
			} else if err != nil || string(b.Bytes()) != fmt.Sprint("p", i) {
				t.Errorf("sample %d: %q, %v", i, b.Bytes(), err)
			}
		}
	}
	waitFor(t, func() bool { return s.held() == 0 })
	must(t, s.Close())
	<-h.closed
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before })
}

// held is how many readers hang.
func (g *guarded) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.stuck)
}

// With as many left behind as may be, the run ends with an error that says how many hang, since when, and what to do. Closing leaves
// the source to those that hang, and the last of them closes it.
func TestTooManyReadsThatHangEndTheRun(t *testing.T) {
	before := runtime.NumGoroutine()
	h := hangs(t, 0, 1, 2)
	s := Guard(h, GuardConfig{Timeout: 5 * time.Millisecond, Stuck: 2})
	var b Buffer
	for i := range int64(2) {
		var bad *Error
		if err := s.Read(background, i, &b); !errors.As(err, &bad) || bad.Cause != Deadline {
			t.Fatalf("got %v", err)
		}
	}
	err := s.Read(background, 2, &b)
	var bad *Error
	if err == nil || errors.As(err, &bad) || !strings.Contains(err.Error(), `the file system hangs: 2 reads have not returned, the oldest of sample 0 "0.jpg" for `) ||
		!strings.Contains(err.Error(), "raise source.local_timeout") {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "2 reads of a file system that hangs have not returned") {
		t.Errorf("got %v", err)
	}
	select {
	case <-h.closed:
		t.Fatal("closed under those that hang")
	default:
	}
	close(h.let)
	<-h.closed
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before })
}

// The end of a run does not wait for a read that hangs.
func TestRunThatEndsLeavesAReadThatHangs(t *testing.T) {
	h := hangs(t, 0)
	s := Guard(h, GuardConfig{Timeout: time.Hour, Stuck: 1})
	ctx, cancel := context.WithCancel(background)
	cancel()
	var b Buffer
	if err := s.Read(ctx, 0, &b); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	close(h.let)
	waitFor(t, func() bool { return s.(*guarded).held() == 0 })
	must(t, s.Close())
}

// waitFor waits for a condition, under a watchdog.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

// A guard costs no allocation, and has what the source within has: versions, columns, shards.
func TestGuardIsTransparent(t *testing.T) {
	inner := openS(t, ShardsConfig{Shards: []string{shardFile(t, 0, 5)}, Columns: []Column{{Name: "cls", Type: Int64}}})
	s := Guard(keepOpen{inner}, GuardConfig{Timeout: time.Minute, Stuck: 2})
	defer s.Close()
	if _, is := s.(Versioned); is {
		t.Error("a source without versions has some behind a guard")
	}
	s = Guard(inner, GuardConfig{Timeout: time.Minute, Stuck: 2})
	if string(s.(Versioned).Identity(3, nil)) != string(inner.(Versioned).Identity(3, nil)) || len(s.(Columnar).Columns()) != 1 || len(s.(Sharded).Shards()) != 1 ||
		s.(Knowing).Known("cls")(4) != int64(4) {
		t.Error("it hides what the source has")
	}
	var b Buffer
	must(t, s.Read(background, 2, &b))
	must(t, s.Read(background, 2, &b))
	if n := testing.AllocsPerRun(100, func() { must(t, s.Read(background, 1, &b)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// keepOpen is a source without versions.
type keepOpen struct{ Source }

func (keepOpen) Close() error { return nil }

// Of the file systems that a test can count on, none is a network's.
func TestDisksAreNoNetwork(t *testing.T) {
	for _, path := range []string{"/proc", "/dev/shm", "/nowhere", "/dev/shm/{0..3}.tar", ""} {
		if kind := NetworkFileSystem(path); kind != "" {
			t.Errorf("%q is %s", path, kind)
		}
	}
}
