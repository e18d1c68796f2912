package telemetry

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"
)

type traceFile struct {
	OtherData   map[string]string
	TraceEvents []struct {
		Name, Cat, Ph, ID string
		TS, Dur           float64
		PID, TID          int
		Args              map[string]any
	}
}

func written(t *testing.T, trace *Trace) (f traceFile) {
	t.Helper()
	var out bytes.Buffer
	if err := WriteTrace(&out, trace); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	return f
}

// A trace has every op, wait and batch in microseconds of CLOCK_MONOTONIC on a thread with a name, cut to the recording.
func TestTraceHasSpansOnNamedThreads(t *testing.T) {
	f := written(t, &Trace{
		Engine: "train", PID: 42, BeginNs: 1_000_000, EndNs: 9_000_000, UnixNs: 5, Lost: 3,
		Ops: []Op{
			{Ring: "train", Stage: "decode", Worker: 0, BeginNs: 2_000_000, EndNs: 3_500_500},
			{Ring: "train", Stage: "decode", Worker: 1, BeginNs: 500_000, EndNs: 2_000_000},
			{Ring: "train", Stage: "decode", Worker: 1, BeginNs: 100, EndNs: 200}, // before the recording
		},
		Waits: []Wait{{Ring: "train", Group: "g", Client: "python", Owner: 7, BeginNs: 4_000_000, EndNs: 20_000_000}},
		Batches: []BatchLife{{
			Ring: "train", Ticket: 12, Epoch: 1, Step: 12, Rows: 32, FetchedNs: 2_000_000, DecodedNs: 3_000_000, PublishedNs: 4_000_000,
			Uses: []Use{{Group: "g", ClaimedNs: 5_000_000, DoneNs: 7_000_000}, {Group: "h"}},
		}, {Ring: "train", Ticket: 13, FetchedNs: 2_000_000}}, // not published
	})
	if f.OtherData["clock"] != "CLOCK_MONOTONIC" || f.OtherData["monotonic_to_unix_ns"] != "5" || f.OtherData["lost_ops"] != "3" {
		t.Errorf("other data %v", f.OtherData)
	}
	threads := map[int]string{}
	for _, e := range f.TraceEvents {
		if e.Ph == "M" && e.Name == "thread_name" {
			threads[e.TID] = e.Args["name"].(string)
		}
	}
	type key struct {
		name, thread string
		ts, dur      float64
	}
	spans, async := map[key]bool{}, map[string]float64{}
	for _, e := range f.TraceEvents {
		if e.PID != 42 {
			t.Errorf("event %+v of another process", e)
		}
		switch e.Ph {
		case "X":
			spans[key{e.Name, threads[e.TID], e.TS, e.Dur}] = true
		case "b", "e":
			if e.ID != "train/12" {
				t.Errorf("event %+v of another batch", e)
			}
			async[e.Ph+" "+e.Name] = e.TS
		}
	}
	for _, want := range []key{
		{"decode", "train decode 0", 2000, 1500.5}, {"decode", "train decode 1", 1000, 1000},
		{"wait for a batch", "train consumer 7, python, group g", 4000, 5000}, {"batch 12", "train group g", 5000, 2000},
	} {
		if !spans[want] {
			t.Errorf("no span %+v among %v", want, spans)
		}
	}
	if len(spans) != 4 {
		t.Errorf("%d spans, want 4: %v", len(spans), spans)
	}
	for name, want := range map[string]float64{
		"b batch 12": 2000, "e batch 12": 7000, "b decode the rest": 2000, "e decode the rest": 3000, "b finish and publish": 3000,
		"e finish and publish": 4000, "b ready for g": 4000, "e ready for g": 5000,
	} {
		if async[name] != want {
			t.Errorf("%s at %v µs, want %v", name, async[name], want)
		}
	}
}

// A recording in which nothing happened is still a trace.
func TestEmptyTraceIsATrace(t *testing.T) {
	if f := written(t, &Trace{Engine: `"odd"`, PID: 1}); len(f.TraceEvents) != 1 || f.TraceEvents[0].Name != "process_name" {
		t.Errorf("events %+v, want the process's name alone", f.TraceEvents)
	}
}

// Batches that a group holds at the same time are on threads of their own, as few as do: spans of one thread must nest.
func TestBatchesHeldAtTheSameTimeDoNotShareAThread(t *testing.T) {
	trace := &Trace{EndNs: 100_000}
	for i, held := range [][2]int64{{30, 50}, {10, 31}, {31, 40}, {35, 60}, {60, 70}} {
		trace.Batches = append(trace.Batches, BatchLife{
			Ring: "r", Ticket: uint64(i), PublishedNs: 1, Uses: []Use{{Group: "g", ClaimedNs: held[0] * 1000, DoneNs: held[1] * 1000}},
		})
	}
	threads, got := map[int]string{}, map[string]string{}
	for _, e := range written(t, trace).TraceEvents {
		switch {
		case e.Name == "thread_name":
			threads[e.TID] = e.Args["name"].(string)
		case e.Ph == "X":
			got[e.Name] = threads[e.TID]
		}
	}
	want := map[string]string{"batch 0": "r group g, 2", "batch 1": "r group g", "batch 2": "r group g", "batch 3": "r group g, 3", "batch 4": "r group g"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
