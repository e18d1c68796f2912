package shm

import (
	"errors"
	"fmt"
)

// Status is a value of spdl_status in include/spdl.h. It travels over the control socket, and as an error it
// is what errors.Is matches: errors.Is(err, shm.ErrBusy).
type Status int32

// News: not failures.
const (
	EndEpoch Status = 2 // every batch of this reader's epoch is completed; said once per epoch
	EndData  Status = 3 // the last epoch asked for is over
)

// Failures, with the numbers of the C header.
const (
	ErrArgument      Status = -1  // a request or a configuration makes no sense; the text says what
	ErrNoMemory      Status = -2  // memory could not be had
	ErrSystem        Status = -3  // a system call failed; the text names it
	ErrUnsupported   Status = -4  // not in this build or on this kernel
	ErrNotFound      Status = -20 // no engine under this name, or no such ring, group, lane or member
	ErrDenied        Status = -21 // the peer may not do this
	ErrBusy          Status = -22 // no consumer, lane or slot left to reserve; the text has the numbers
	ErrVersion       Status = -23 // layout or protocol of another major version
	ErrFormat        Status = -24 // truncated, half-built, hostile, or not ours
	ErrEngineLost    Status = -40 // the engine died; leased batches stay readable
	ErrEngineFailed  Status = -41 // the engine gave up; the text is its reason
	ErrEngineStopped Status = -42 // the engine was stopped in good order
	ErrEngineStart   Status = -43 // the engine could not start
	ErrGroupClosed   Status = -44 // the group was ended: too slow, or damaged by a member
	ErrStale         Status = -60 // the lease has ended already
	ErrLeases        Status = -61 // the reader holds every batch it may hold
	ErrUndone        Status = -62 // the epoch waits only for batches this reader holds
	ErrDetached      Status = -63 // the reader was closed
	ErrState         Status = -80 // the saved state belongs to another data set, order or version
	ErrSpec          Status = -81 // the description is wrong
)

// Failures of this process alone: they have no number of their own in the C header.
var (
	ErrClosed    = errors.New("shm: closed")          // the Ring or the Server was closed
	ErrNameInUse = errors.New("shm: name in use")     // a living engine owns this name
	ErrNoSpace   = errors.New("shm: not enough room") // the segments do not fit; the text has the numbers
)

var statusNames = map[Status]string{
	EndEpoch: "end of epoch", EndData: "end of data", ErrArgument: "bad argument", ErrNoMemory: "out of memory",
	ErrSystem: "system call failed", ErrUnsupported: "unsupported", ErrNotFound: "not found",
	ErrDenied: "permission denied", ErrBusy: "busy", ErrVersion: "version mismatch", ErrFormat: "bad format",
	ErrEngineLost: "engine lost", ErrEngineFailed: "engine failed", ErrEngineStopped: "engine stopped",
	ErrEngineStart: "engine did not start", ErrGroupClosed: "group closed", ErrStale: "lease has ended",
	ErrLeases: "every lease is in use", ErrUndone: "waiting for own batches", ErrDetached: "detached",
	ErrState: "state does not fit", ErrSpec: "bad description",
}

// Error is the status in words.
func (s Status) Error() string {
	if name, ok := statusNames[s]; ok {
		return name
	}
	return fmt.Sprintf("status %d", int32(s))
}

// Error is a refusal: its number for the peer, its text for people.
type Error struct {
	Status Status
	Text   string
	Cause  error // further sentinel that errors.Is finds; may be nil
}

// Error is the text alone: where, what object, what was wrong, got and want, and the remedy.
func (e *Error) Error() string { return e.Text }

// Unwrap gives the status and the cause to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Status}
	}
	return []error{e.Status, e.Cause}
}

func refuse(status Status, format string, args ...any) *Error {
	return &Error{Status: status, Text: fmt.Sprintf(format, args...)}
}

func because(cause error, status Status, format string, args ...any) *Error {
	return &Error{Status: status, Text: fmt.Sprintf(format, args...), Cause: cause}
}

// statusOf is the number a peer is told for err.
func statusOf(err error) Status {
	var s Status
	if errors.As(err, &s) {
		return s
	}
	return ErrSystem
}
