package engine

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
)

var recordedStages = []string{"plan", "fetch", "decode", "collect", "order", "publish"}

// hasAll reports whether a recording was long enough to have some of everything.
func hasAll(got *telemetry.Trace) bool {
	stages, used := map[string]bool{}, 0
	for _, o := range got.Ops {
		stages[o.Stage] = true
	}
	for _, b := range got.Batches {
		used += len(b.Uses)
	}
	return len(stages) == len(recordedStages) && used > 3 && len(got.Waits) > 0
}

// A recording has ops of every stage, batches with the group's claims and completions, and the consumer's waits, all on the
// clock of the recording; afterwards nothing is recorded any more.
func TestRecordingHasOpsBatchesAndWaits(t *testing.T) {
	r := start(t, describe(t, folder(t, 20, nil), "batch: 4\nring: {groups: [{name: g}]}\n"), nil)
	reader := r.attach(shm.AttachOptions{MaxLeases: 2, Client: "test"})
	ctx, stop := context.WithCancel(testContext(t))
	defer stop()
	consumed := make(chan struct{})
	go func() {
		defer close(consumed)
		for ctx.Err() == nil {
			if l, err := reader.Acquire(ctx); err == nil {
				_ = l.Done()
				_ = l.Release()
			}
		}
	}()
	got := r.Record(ctx, 300*time.Millisecond)                                  // perhaps before the pipeline has begun
	for longer := time.Second; !hasAll(got) && longer < watchdog; longer *= 4 { // the machine stood still
		got = r.Record(ctx, longer)
	}
	stop()
	<-consumed
	stages := map[string]int{}
	for _, o := range got.Ops {
		stages[o.Stage]++
		if o.EndNs < got.BeginNs-int64(time.Second) || o.EndNs > got.EndNs || o.BeginNs > o.EndNs {
			t.Fatalf("op %+v outside of %d to %d", o, got.BeginNs, got.EndNs)
		}
	}
	for _, stage := range recordedStages {
		if stages[stage] == 0 {
			t.Errorf("no op of %s among %v", stage, stages)
		}
	}
	tickets, used := map[uint64]bool{}, 0
	for _, b := range got.Batches {
		if tickets[b.Ticket] {
			t.Errorf("batch %d comes twice", b.Ticket)
		}
		tickets[b.Ticket] = true
		if b.FetchedNs > b.DecodedNs || b.DecodedNs > b.PublishedNs || b.PublishedNs > got.EndNs {
			t.Errorf("batch %+v goes backwards", b)
		}
		for _, u := range b.Uses {
			if u.Group == "g" && u.ClaimedNs >= b.PublishedNs && u.DoneNs >= u.ClaimedNs {
				used++
			}
		}
	}
	if used < 3 || len(got.Waits) == 0 {
		t.Errorf("%d uses of %d batches, %d waits, want many", used, len(got.Batches), len(got.Waits))
	}
	for _, w := range got.Waits {
		if w.Client != "test" || w.Group != "g" || w.EndNs < w.BeginNs || w.EndNs > got.EndNs {
			t.Errorf("wait %+v", w)
		}
	}
	if r.rings[0].recording.Load() != nil {
		t.Error("the recording goes on")
	}
}

// A recording that was asked for over the control socket ends with the engine, and is told as far as it came.
func TestRecordingEndsWithTheEngine(t *testing.T) {
	r := start(t, describe(t, folder(t, 8, nil), "batch: 4\n"), nil)
	o, err := shm.Operate(testContext(t), r.spec.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	type answer struct {
		text []byte
		err  error
	}
	got := make(chan answer)
	go func() {
		f, err := o.Trace(testContext(t), time.Minute)
		if err != nil {
			got <- answer{nil, err}
			return
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		got <- answer{text, err}
	}()
	eventually(t, "the recording to begin", func() bool { return r.rings[0].recording.Load() != nil })
	r.Stop()
	a := <-got
	if a.err != nil || !json.Valid(a.text) {
		t.Errorf("recording: %v, %.200s", a.err, a.text)
	}
}

// A wait in slices is one wait; one that began while nobody looked has its length from the sum; a batch ends a wait.
func TestSlicesOfAWaitAreOneWait(t *testing.T) {
	trace := &ringTrace{r: &ring{name: "r"}, seen: map[uint32]shm.MemberWait{}, last: map[uint32]lastWait{}}
	for _, look := range []struct {
		nowNS int64
		w     shm.MemberWait
	}{
		{100, shm.MemberWait{Owner: 1, Acquired: 4, WaitNS: 50, WaitingSince: 90}},
		{140, shm.MemberWait{Owner: 1, Acquired: 4, WaitNS: 90, WaitingSince: 131}}, // the slice from 90 lasted 40
		{180, shm.MemberWait{Owner: 1, Acquired: 5, WaitNS: 130}},                   // that from 131 too, and it brought a batch
		{220, shm.MemberWait{Owner: 1, Acquired: 6, WaitNS: 140}},                   // a short one for the next
	} {
		trace.seeWait(look.nowNS, look.w)
	}
	want := [][2]int64{{90, 171}, {210, 220}}
	if len(trace.waits) != len(want) {
		t.Fatalf("%+v, want %v", trace.waits, want)
	}
	for i, w := range trace.waits {
		if [2]int64{w.BeginNs, w.EndNs} != want[i] || w.Owner != 1 || w.Ring != "r" {
			t.Errorf("wait %d: %+v, want %v", i, w, want[i])
		}
	}
}

// A recording goes on across a restart: the ops of the pipeline's next run are in it.
func TestRecordingGoesOnAcrossARestart(t *testing.T) {
	r := start(t, describe(t, folder(t, 40, nil), "batch: 4\nring: {groups: [{name: g}]}\n"), nil)
	reader := r.attach(shm.AttachOptions{MaxLeases: 1, Client: "test"})
	take(t, reader)
	ctx, stop := context.WithCancel(testContext(t))
	defer stop()
	recorded := make(chan *telemetry.Trace)
	go func() { recorded <- r.Record(ctx, watchdog) }()
	eventually(t, "the recording to begin", func() bool { return r.rings[0].recording.Load() != nil })
	if err := reader.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}
	restartedNS := monotonicNS()
	epoch(t, reader)
	stop()
	after := 0
	for _, o := range (<-recorded).Ops {
		if o.Stage == "decode" && o.BeginNs > restartedNS {
			after++
		}
	}
	if after == 0 {
		t.Error("no op of decode from after the restart")
	}
}

// However a member's words change between two looks, its waits follow one another.
func TestWaitsOfAMemberDoNotOverlap(t *testing.T) {
	for name, looks := range map[string][]struct {
		nowNS int64
		w     shm.MemberWait
	}{
		"a short one while one was long": {
			{100, shm.MemberWait{Acquired: 4, WaitNS: 50, WaitingSince: 90}},
			{200, shm.MemberWait{Acquired: 5, WaitNS: 145}},
			{201, shm.MemberWait{Acquired: 6, WaitNS: 165}}, // the words are read one after the other
		},
		"the next has begun": {
			{100, shm.MemberWait{Acquired: 4, WaitNS: 50}},
			{200, shm.MemberWait{Acquired: 6, WaitNS: 120, WaitingSince: 180}},
			{300, shm.MemberWait{Acquired: 7, WaitNS: 160}},
		},
		"more were added to one than there was room for": {
			{100, shm.MemberWait{Acquired: 4, WaitNS: 50, WaitingSince: 90}},
			{200, shm.MemberWait{Acquired: 9, WaitNS: 300, WaitingSince: 190}},
			{300, shm.MemberWait{Acquired: 10, WaitNS: 310, WaitingSince: 290}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			trace := &ringTrace{r: &ring{name: "r"}, kept: &recording{}, seen: map[uint32]shm.MemberWait{}, last: map[uint32]lastWait{}}
			for _, look := range looks {
				trace.seeWait(look.nowNS, look.w)
			}
			if len(trace.waits) == 0 {
				t.Fatal("no wait")
			}
			for i, w := range trace.waits {
				if w.BeginNs > w.EndNs || w.EndNs > looks[len(looks)-1].nowNS || i > 0 && w.BeginNs < trace.waits[i-1].EndNs {
					t.Errorf("wait %d of %+v overlaps the one before, or ends before it begins", i, trace.waits)
				}
			}
		})
	}
}
