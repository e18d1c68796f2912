package engine

import (
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/spdl/spdl/shm"
)

func gcPercent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// The collector rests from the first engine's start to the last one's first batch or end, whichever of the two comes, and is then
// as it was.
func TestStartsAreSparedTheCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	var a, b quietStart
	for _, step := range []struct {
		name string
		do   func()
		want uint64
	}{
		{"a begins", a.begin, startPercent}, {"b begins", b.begin, startPercent}, {"a's first batch", a.end, startPercent},
		{"a's second batch", a.end, startPercent}, {"b's end", b.end, 100}, {"a's end", a.end, 100},
	} {
		if step.do(); gcPercent() != step.want {
			t.Fatalf("%s: got GC percent %d, want %d", step.name, gcPercent(), step.want)
		}
	}
}

// Who has asked for fewer collections than a start gets keeps what he asked for.
func TestStartsLeaveAWiderCollectorAlone(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10 * startPercent))
	var q quietStart
	if q.begin(); gcPercent() != 10*startPercent {
		t.Fatalf("begin: got GC percent %d, want %d", gcPercent(), 10*startPercent)
	}
	if q.end(); gcPercent() != 10*startPercent {
		t.Fatalf("end: got GC percent %d, want %d", gcPercent(), 10*startPercent)
	}
}

// The collector works as before once the first batch is out,
func TestFirstBatchEndsTheCollectorsRest(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	r := start(t, describe(t, folder(t, 8, nil), "batch: 4\n"), &Options{})
	if gcPercent() != startPercent {
		t.Fatalf("before the first batch: got GC percent %d, want %d", gcPercent(), startPercent)
	}
	take(t, r.attach(shm.AttachOptions{}))
	eventually(t, "the collector as before", func() bool { return gcPercent() == 100 })
}

// and where an engine ends without one.
func TestEngineWithoutABatchEndsTheCollectorsRest(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	r := start(t, describe(t, folder(t, 8, nil), "batch: 4\n"), &Options{})
	if err := r.end(); err != nil || gcPercent() != 100 {
		t.Fatalf("after the engine's end: got GC percent %d and %v, want 100", gcPercent(), err)
	}
}
