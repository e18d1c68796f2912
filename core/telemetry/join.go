package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrNoTrace is returned for what is no trace of the kind that is asked for.
var ErrNoTrace = errors.New("no such trace")

// JoinTraces writes PyTorch's trace with the events of one of ours added, brought to its clock: PyTorch counts
// microseconds since 1970, newer versions less a base that they note in the file. All else in theirs is kept as it is.
func JoinTraces(w io.Writer, ours, theirs []byte) error {
	var our struct {
		OtherData   map[string]string
		TraceEvents []map[string]json.RawMessage
	}
	if err := json.Unmarshal(ours, &our); err != nil || our.OtherData["clock"] != "CLOCK_MONOTONIC" {
		return fmt.Errorf("recording: want one that spdl trace has written: %w", ErrNoTrace)
	}
	toUnix, err := strconv.ParseInt(our.OtherData["monotonic_to_unix_ns"], 10, 64)
	if err != nil {
		return fmt.Errorf("recording: monotonic_to_unix_ns %q: %w", our.OtherData["monotonic_to_unix_ns"], ErrNoTrace)
	}
	var their map[string]json.RawMessage
	var events []json.RawMessage
	if err := json.Unmarshal(theirs, &their); err != nil || json.Unmarshal(their["traceEvents"], &events) != nil {
		return fmt.Errorf("profiler's trace: want the JSON of torch.profiler's export_chrome_trace: %w", ErrNoTrace)
	}
	var base int64
	if text, ok := their["baseTimeNanoseconds"]; ok && json.Unmarshal(text, &base) != nil {
		return fmt.Errorf("profiler's trace: baseTimeNanoseconds %s: %w", text, ErrNoTrace)
	}
	for _, e := range our.TraceEvents {
		var ts float64
		if json.Unmarshal(e["ts"], &ts) == nil && string(e["ph"]) != `"M"` {
			e["ts"] = json.RawMessage(microsText(int64(ts*1000+0.5) + toUnix - base))
		}
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		events = append(events, text)
	}
	if their["traceEvents"], err = json.Marshal(events); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(their); err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}

// microsText writes nanoseconds as microseconds. A float64 of microseconds since 1970 has only a quarter of one.
func microsText(ns int64) string {
	sign := ""
	if ns < 0 {
		sign, ns = "-", -ns
	}
	return fmt.Sprintf("%s%d.%03d", sign, ns/1000, ns%1000)
}
