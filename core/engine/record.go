package engine

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

const (
	maxSpans  = 1 << 16              // of one worker: a minute of a thousand ops a second
	maxLives  = 1 << 17              // batches of one recording
	waitsEach = 2 * time.Millisecond // between two looks at the members' waits, while recording
)

// recording is what is kept of a ring while somebody records.
type recording struct {
	mu    sync.Mutex // guards the rest
	lives []shm.Life
	ops   []*pipeline.Recording // of every run of the pipeline
}

func (c *recording) add(l shm.Life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.lives) < maxLives {
		c.lives = append(c.lives, l)
	}
}

// follow records the ops of a run of the ring's pipeline, too.
func (c *recording) follow(run *pipeline.Pipeline) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops = append(c.ops, run.Record(maxSpans))
}

// Record records what happens for so long, or until ctx or the engine's run ends. A recording that begins while another is
// under way takes its place; the other ends with what it has.
func (e *Engine) Record(ctx context.Context, d time.Duration) *telemetry.Trace {
	t := &telemetry.Trace{Engine: e.spec.Name, PID: unix.Getpid(), BeginNs: monotonicNS()}
	e.log.Infof("", "recording a trace of %v", d)
	var traces []*ringTrace
	for _, r := range e.rings {
		traces = append(traces, r.beginTrace())
	}
	end, tick := time.NewTimer(d), time.NewTicker(waitsEach)
	defer end.Stop()
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-tick.C:
		case <-end.C:
			over = true
		case <-ctx.Done():
			over = true
		case <-e.runCtx.Done():
			over = true
		}
		for _, trace := range traces {
			trace.lookAtWaits(monotonicNS())
		}
	}
	t.EndNs = monotonicNS()
	t.UnixNs = ahead(func() int64 { return time.Now().UnixNano() })
	for _, trace := range traces {
		trace.finish(t)
	}
	return t
}

// ringTrace is a ring's part of a trace in the making.
type ringTrace struct {
	r     *ring
	kept  *recording
	seen  map[uint32]shm.MemberWait // by owner, at the last look
	last  map[uint32]lastWait       // by owner
	waits []telemetry.Wait
	buf   []shm.MemberWait
}

// lastWait is a member's latest wait: its place among waits, and how many batches the member had when it began.
type lastWait struct {
	index    int
	acquired uint64
}

func (r *ring) beginTrace() *ringTrace {
	t := &ringTrace{r: r, kept: &recording{}, seen: map[uint32]shm.MemberWait{}, last: map[uint32]lastWait{}}
	r.recording.Store(t.kept) // before the look at running: a run that begins now looks the other way round
	if run := r.running.Load(); run != nil {
		t.kept.follow(run)
	}
	return t
}

// lookAtWaits finds the waits that have ended since the last look. Of one that went on at the last look the beginning is
// known, and its length from how much the sum has grown; of a shorter one only the length.
func (t *ringTrace) lookAtWaits(nowNS int64) {
	t.buf = t.r.shm.Waits(t.buf[:0])
	for _, w := range t.buf {
		t.seeWait(nowNS, w)
	}
}

func (t *ringTrace) seeWait(nowNS int64, w shm.MemberWait) {
	was, known := t.seen[w.Owner]
	if grown := int64(w.WaitNS - was.WaitNS); known && w.WaitNS > was.WaitNS {
		end := nowNS
		if w.WaitingSince != 0 { // the next one has begun
			end = min(end, int64(w.WaitingSince))
		}
		begin := end - grown
		if was.WaitingSince != 0 {
			begin = int64(was.WaitingSince)
			end = min(end, begin+grown) // grown may have shorter ones since, which it was added to
		}
		t.wait(&w, was.Acquired, begin, end)
	}
	t.seen[w.Owner] = w
}

// wait adds a wait. A client may wait in slices; those without a batch in between are one wait. Where a wait lies is known less well
// than how long it was, but a member's waits follow one another: none begins before the end of the one before.
func (t *ringTrace) wait(w *shm.MemberWait, acquired uint64, beginNs, endNs int64) {
	if last, ok := t.last[w.Owner]; ok {
		before := &t.waits[last.index]
		if endNs <= before.EndNs {
			return
		}
		if last.acquired == acquired {
			before.EndNs = endNs
			return
		}
		beginNs = max(beginNs, before.EndNs)
	}
	t.last[w.Owner] = lastWait{len(t.waits), acquired}
	t.waits = append(t.waits, telemetry.Wait{Ring: t.r.name, Group: w.Group, Client: w.Client, Owner: w.Owner, BeginNs: beginNs, EndNs: endNs})
}

// finish ends the ring's recording and adds it to the trace. What happened between the trace's end and this is left out.
func (t *ringTrace) finish(out *telemetry.Trace) {
	t.r.recording.CompareAndSwap(t.kept, nil)
	t.kept.mu.Lock()
	defer t.kept.mu.Unlock()
	toMonotonic := -ahead(pipeline.Clock)
	for _, ops := range t.kept.ops {
		spans, lost := ops.Stop()
		for _, s := range spans {
			if s.EndNs+toMonotonic > out.EndNs {
				continue
			}
			out.Ops = append(out.Ops, telemetry.Op{Ring: t.r.name, Stage: s.Stage, Worker: s.Worker, BeginNs: s.BeginNs + toMonotonic, EndNs: s.EndNs + toMonotonic})
		}
		out.Lost += lost
	}
	for _, w := range t.seen {
		if w.WaitingSince != 0 {
			t.wait(&w, w.Acquired, int64(w.WaitingSince), out.EndNs)
		}
	}
	out.Waits = append(out.Waits, t.waits...)
	for _, l := range append(t.kept.lives, t.r.shm.Lives()...) {
		if at := int64(l.PublishedNS); at <= out.EndNs && (at >= out.BeginNs || lasted(&l, out.BeginNs)) {
			out.Batches = append(out.Batches, lifeOf(t.r.name, &l, out.EndNs))
		}
	}
}

// ahead is how far a clock is ahead of CLOCK_MONOTONIC. The thread may stand still between two readings: the closest of some count.
func ahead(clock func() int64) int64 {
	by, closest := int64(0), int64(math.MaxInt64)
	for range 8 {
		before, there := monotonicNS(), clock()
		if took := monotonicNS() - before; took < closest {
			by, closest = there-before, took
		}
	}
	return by
}

// lasted says that a batch was still in use, or waited for it, after a time.
func lasted(l *shm.Life, ns int64) bool {
	for _, u := range l.Uses {
		if u.DoneNS == 0 || int64(u.DoneNS) >= ns {
			return true
		}
	}
	return false
}

// lifeOf is a batch's life in the words of package telemetry; a use that goes on ends with the recording.
func lifeOf(ring string, l *shm.Life, endNs int64) telemetry.BatchLife {
	b := telemetry.BatchLife{
		Ring: ring, Ticket: l.Ticket, Epoch: l.Epoch, Step: l.Step, Slot: l.Slot, Rows: l.Rows,
		FetchedNs: int64(l.FetchedNS), DecodedNs: int64(l.DecodedNS), PublishedNs: int64(l.PublishedNS),
	}
	for _, u := range l.Uses {
		use := telemetry.Use{Group: u.Group, ClaimedNs: int64(u.ClaimedNS), DoneNs: int64(u.DoneNS)}
		if u.Held {
			use.DoneNs = endNs
		}
		b.Uses = append(b.Uses, use)
	}
	return b
}
