package shm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// MaxTrace is the longest recording that is made on request.
const MaxTrace = 60 * time.Second

// Tracer is a Control that can record what its engine does.
type Tracer interface {
	// Trace records for so long, or until the engine stops, and writes the recording to w.
	Trace(d time.Duration, w io.Writer) error
}

// traceRequest is the payload of a STATS request that asks for a recording, traceAnswer that of its answer.
type traceRequest struct {
	Seconds float64 `json:"trace_s"`
}

type traceAnswer struct {
	Bytes int64 `json:"bytes"`
}

// trace records and answers with a descriptor: a recording is too large for a message.
func (c *session) trace(m *message, control Control) error {
	var ask traceRequest
	if err := json.Unmarshal(m.payload, &ask); err != nil || !(ask.Seconds > 0 && ask.Seconds <= MaxTrace.Seconds()) {
		return refuse(ErrArgument, "shm: control: trace: got %.100q, want {\"trace_s\": seconds}, above 0 and up to %g", m.payload, MaxTrace.Seconds())
	}
	if !governs(c.cred) {
		return refuse(ErrDenied, "shm: control: uid %d may not record this engine; run as its user or as root", c.cred.Uid)
	}
	t, ok := control.(Tracer)
	if !ok {
		return refuse(ErrUnsupported, "shm: control: this producer makes no recordings")
	}
	fd, err := unix.MemfdCreate("spdl-trace", unix.MFD_CLOEXEC)
	if err != nil {
		return because(err, ErrSystem, "shm: control: trace: memfd_create: %v", err)
	}
	f := os.NewFile(uintptr(fd), "spdl-trace")
	defer f.Close()
	if err := t.Trace(time.Duration(ask.Seconds*float64(time.Second)), f); err != nil {
		return because(err, ErrSystem, "shm: control: trace: %v", err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart) // whoever is given it shares our place in it
	}
	if err != nil {
		return because(err, ErrSystem, "shm: control: trace: %v", err)
	}
	text, err := json.Marshal(traceAnswer{Bytes: size})
	if err != nil {
		return fmt.Errorf("shm: control: trace: %w", err)
	}
	if err := answer(c.conn, Msg{Type: msgOK, ID: m.ID}, text, []int{fd}); err != nil {
		return err
	}
	return errAnswered
}

// Trace has the engine record what it does for d and returns the recording, to be read from its start; the caller closes
// it. Only for the engine's user and root. It returns ErrVersion when the engine is too old to record, ErrUnsupported from
// a producer that is no engine.
func (o *Operator) Trace(ctx context.Context, d time.Duration) (*os.File, error) {
	ask, err := json.Marshal(traceRequest{Seconds: d.Seconds()})
	if err != nil {
		return nil, fmt.Errorf("shm: trace: %w", err)
	}
	o.c.patience = d + 20*time.Second // writing a long recording takes its time
	defer func() { o.c.patience = 0 }()
	m, err := o.c.call(ctx, msgStats, ask, nil, 1)
	if err != nil {
		return nil, err
	}
	if len(m.fds) != 1 {
		m.closeFDs()
		return nil, refuse(ErrVersion, "shm: trace: the engine answered with %d descriptors, want 1; it is of another release", len(m.fds))
	}
	return os.NewFile(uintptr(m.fds[0]), "spdl-trace"), nil
}
