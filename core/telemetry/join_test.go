package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

// joined parses what JoinTraces writes, numbers as they stand.
func joined(t *testing.T, ours, theirs string) map[string]any {
	t.Helper()
	var out bytes.Buffer
	if err := JoinTraces(&out, []byte(ours), []byte(theirs)); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&out)
	d.UseNumber()
	var all map[string]any
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// A recording stands in PyTorch's trace on PyTorch's clock, with and without a base, to the nanosecond; the rest of
// PyTorch's file stays as it was.
func TestJoinedTracesHaveOneClock(t *testing.T) {
	var ours bytes.Buffer
	trace := Trace{PID: 42, BeginNs: 0, EndNs: 10_000_000_000, UnixNs: 1_700_000_000_000_000_000, Ops: []Op{{Ring: "r", Stage: "decode", BeginNs: 5_000_001_234, EndNs: 5_000_002_234}}}
	if err := WriteTrace(&ours, &trace); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ theirs, want string }{
		"since 1970":  {`{"schemaVersion":1,"traceEvents":[{"ph":"X","name":"aten::add","ts":1.7e15,"pid":7}]}`, "1700000005000001.234"},
		"with a base": {`{"schemaVersion":1,"baseTimeNanoseconds":1699999999000000000,"traceEvents":[{"ph":"X","name":"aten::add","ts":1,"pid":7}]}`, "6000001.234"},
		"base later":  {`{"schemaVersion":1,"baseTimeNanoseconds":1700000006000000000,"traceEvents":[{"ph":"X","name":"aten::add","ts":1,"pid":7}]}`, "-999998.766"},
	} {
		all := joined(t, ours.String(), c.theirs)
		found := map[string]string{}
		for _, e := range all["traceEvents"].([]any) {
			if e := e.(map[string]any); e["ph"] == "X" {
				found[e["name"].(string)] = e["ts"].(json.Number).String()
			}
		}
		if found["decode"] != c.want || found["aten::add"] == "" || all["schemaVersion"].(json.Number) != "1" {
			t.Errorf("%s: decode at %s µs, want %s; all %v", name, found["decode"], c.want, found)
		}
	}
}

// Files of another kind are refused as such.
func TestJoinRefusesOtherFiles(t *testing.T) {
	const ours = `{"otherData":{"clock":"CLOCK_MONOTONIC","monotonic_to_unix_ns":"5"},"traceEvents":[]}`
	for _, c := range [][2]string{
		{"", `{"traceEvents":[]}`}, {`{"traceEvents":[]}`, `{"traceEvents":[]}`}, {"[1]", `{"traceEvents":[]}`},
		{`{"otherData":{"clock":"CLOCK_MONOTONIC","monotonic_to_unix_ns":"x"}}`, `{"traceEvents":[]}`},
		{ours, ""}, {ours, "[]"}, {ours, `{"traceEvents":7}`}, {ours, "{}"}, {ours, `{"traceEvents":[],"baseTimeNanoseconds":"soon"}`},
	} {
		if err := JoinTraces(&bytes.Buffer{}, []byte(c[0]), []byte(c[1])); !errors.Is(err, ErrNoTrace) {
			t.Errorf("%q with %q: %v, want a refusal", c[0], c[1], err)
		}
	}
}
