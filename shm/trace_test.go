package shm

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// tracer is a Control that records text, or fails.
type tracer struct {
	Control
	text string
	err  error
	d    atomic.Int64 // a socket orders it, which the race detector does not see
}

func (c *tracer) Trace(d time.Duration, w io.Writer) error {
	c.d.Store(int64(d))
	if c.err != nil {
		return c.err
	}
	_, err := io.WriteString(w, c.text)
	return err
}

func (c *tracer) Stats() ([]byte, error) { return []byte("{}"), nil }

func operate(t *testing.T, r *testRing) *Operator {
	t.Helper()
	o, err := Operate(testContext(t), r.server.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// A recording comes whole, however much larger than a message it is; before and after it counters are told as ever.
func TestRecordingComesInAFile(t *testing.T) {
	c := &tracer{text: strings.Repeat("recorded ", 100_000)}
	o := operate(t, newControlledRing(t, testConfig(t, 3), func(*testRing) Control { return c }))
	for range 2 {
		f, err := o.Trace(testContext(t), 1500*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err != nil || string(got) != c.text || c.d.Load() != int64(1500*time.Millisecond) {
			t.Errorf("got %d bytes of %v, error %v, want %d of 1.5s", len(got), time.Duration(c.d.Load()), err, len(c.text))
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if text, err := o.Stats(testContext(t)); err != nil || string(text) != "{}" {
			t.Errorf("stats afterwards: %s, %v", text, err)
		}
	}
}

// Requests that make no sense, a recording that fails and a producer that makes none are refused with a reason.
func TestRecordingRefuses(t *testing.T) {
	c := &tracer{err: io.ErrShortWrite}
	o := operate(t, newControlledRing(t, testConfig(t, 3), func(*testRing) Control { return c }))
	for _, d := range []time.Duration{0, -1, MaxTrace + 1} {
		_, err := o.Trace(testContext(t), d)
		wantErr(t, err, ErrArgument)
	}
	for _, payload := range []string{"x", "[]", `{"trace_s":"5"}`, `{"trace":5}`, "\x00"} {
		_, err := o.c.call(testContext(t), msgStats, []byte(payload), nil, 1)
		wantErr(t, err, ErrArgument)
	}
	if _, err := o.Trace(testContext(t), time.Second); err == nil || !strings.Contains(err.Error(), "short write") {
		t.Errorf("a recording that fails: %v", err)
	}
}

// A producer that answers for itself but makes no recordings says so; so does one that answers nothing.
func TestRecordingIsUnsupportedByOtherProducers(t *testing.T) {
	plain := struct{ Control }{&tracer{}}
	o := operate(t, newControlledRing(t, testConfig(t, 3), func(*testRing) Control { return plain }))
	_, err := o.Trace(testContext(t), time.Second)
	wantErr(t, err, ErrUnsupported)
}
