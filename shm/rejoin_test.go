package shm

import (
	"context"
	"strings"
	"testing"
	"time"
)

// lostEngine is an engine of two batches that is killed once a reader is attached.
func lostEngine(t *testing.T, reconnect string) (r *Reader, engine *child, restart func() *child) {
	t.Helper()
	leavesNothing(t)
	t.Setenv("SPDL_RUNTIME_DIR", shortDir(t))
	name := testName(t)
	t.Cleanup(func() { _ = removeStale(segmentBase(name, "")) }) // when the last engine has been killed
	restart = func() *child {
		c := startChild(t, "engine", "SPDL_TEST_NAME="+name, "SPDL_TEST_RECONNECT="+reconnect)
		c.await("ready")
		return c
	}
	engine = restart()
	r, err := Attach(testContext(t), name, AttachOptions{Group: "g", MaxLeases: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, engine, restart
}

// A reader takes what the dead engine had published, keeps what it holds, and goes on with what the next publishes.
func TestReaderGoesOnWithTheNextEngine(t *testing.T) {
	r, engine, restart := lostEngine(t, "30s")
	held := acquire(t, r)
	engine.kill()
	release(t, acquire(t, r))
	wait := make(chan *Lease)
	go func() {
		l, err := r.Acquire(testContext(t))
		if err != nil {
			t.Error(err)
		}
		wait <- l
	}()
	second := restart()
	l := <-wait
	if l == nil || l.Ticket != 2 || l.Attempts != 1 {
		t.Fatalf("lease %+v, want ticket 2", l)
	}
	checkPattern(t, held)
	release(t, held)
	release(t, l)
	_, err := r.Stats(testContext(t)) // if nobody had to look for it before
	wantErr(t, err, ErrUnsupported)
	if state, err := r.EngineState(); state != StateRunning || err != nil {
		t.Fatalf("state %d, %v, want a running engine", state, err)
	}
	second.kill()
	restart()
	for want := uint64(3); want < 6; want++ {
		if l := acquire(t, r); l.Ticket != want {
			t.Fatalf("ticket %d, want %d", l.Ticket, want)
		} else {
			release(t, l)
		}
	}
}

// A request is asked of the next engine when the one before has died.
func TestRequestIsAskedOfTheNextEngine(t *testing.T) {
	r, engine, restart := lostEngine(t, "30s")
	engine.kill()
	answered := make(chan error)
	go func() {
		_, err := r.Stats(testContext(t))
		answered <- err
	}()
	restart()
	wantErr(t, <-answered, ErrUnsupported) // the engines of these tests have no counters: it was answered
}

// When none has come within the ring's time, the loss is reported, with that time.
func TestReaderIsToldWhenNoEngineGoesOn(t *testing.T) {
	r, engine, _ := lostEngine(t, "200ms")
	engine.kill()
	release(t, acquire(t, r))
	release(t, acquire(t, r))
	began := time.Now()
	_, err := r.Acquire(testContext(t))
	wantErr(t, err, ErrEngineLost)
	if !strings.Contains(err.Error(), "within 200ms") || time.Since(began) < 200*time.Millisecond {
		t.Fatalf("%v after %v, want at least 200ms and the text to say so", err, time.Since(began))
	}
	_, err = r.Stats(testContext(t))
	wantErr(t, err, ErrEngineLost)
}

// A reader that stood still for longer than the ring's time, while the next engine came, looks once more before it gives up.
func TestReaderThatStoodStillLooksOnceMore(t *testing.T) {
	r, engine, restart := lostEngine(t, "30s")
	engine.kill()
	wantErr(t, r.rejoin(testContext(t)), errNotYet)
	restart()
	r.search.since, r.search.asked, r.search.last = r.search.since.Add(-time.Hour), r.search.asked.Add(-time.Hour), r.search.last.Add(-time.Hour)
	if err := r.rejoin(testContext(t)); err != nil {
		t.Fatalf("%v, want the engine found", err)
	}
}

// Whoever does not want to wait for the next engine does not have to.
func TestReaderLooksNoLongerThanItsCallerWaits(t *testing.T) {
	r, engine, _ := lostEngine(t, "30s")
	engine.kill()
	release(t, acquire(t, r))
	release(t, acquire(t, r))
	ctx, cancel := context.WithTimeout(testContext(t), 50*time.Millisecond)
	defer cancel()
	_, err := r.Acquire(ctx)
	wantErr(t, err, context.DeadlineExceeded)
}

// An engine that begins anew under the name is not gone on with: its ring is another.
func TestReaderIsToldWhenTheNextEngineHasAnotherRing(t *testing.T) {
	r, engine, restart := lostEngine(t, "30s")
	engine.kill()
	release(t, acquire(t, r))
	release(t, acquire(t, r))
	if err := removeStale(segmentBase(r.name(), "")); err != nil {
		t.Fatal(err)
	}
	restart()
	_, err := r.Acquire(testContext(t))
	wantErr(t, err, ErrEngineLost)
	if !strings.Contains(err.Error(), "new ring") {
		t.Fatalf("got %q, want it to name the new ring", err)
	}
}

// name is the ring's.
func (r *Reader) name() string { return text(r.header.Name[:]) }
