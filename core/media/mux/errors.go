package mux

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrClosed is returned by what is called after Close or Abort.
var ErrClosed = errors.New("it is closed")

// Causes of an Error.
const (
	CauseInvalid     = "invalid"     // what was asked for makes no sense
	CauseUnsupported = "unsupported" // not with this FFmpeg, or not in this container
	CauseEncode      = "encode"      // the encoder failed
	CauseWrite       = "write"       // the bytes could not be written
	CauseNoMemory    = "no_memory"   // the machine has none left
	CauseClosed      = "closed"      // it was closed before
)

// Error says what could not be written.
type Error struct {
	Name   string // the file, or what stands for it
	Detail string
	cause  string
	err    error
}

// Cause is one of the causes above.
func (e *Error) Cause() string { return e.cause }

func (e *Error) Error() string { return fmt.Sprintf("mux: %q: %s", e.Name, e.Detail) }

// Unwrap is the system's error of a failed write (syscall.ENOSPC on a full disk), the writer's own, or ErrClosed.
func (e *Error) Unwrap() error { return e.err }

func invalid(name, format string, args ...any) error {
	return &Error{Name: name, cause: CauseInvalid, Detail: fmt.Sprintf(format, args...)}
}

// unwritten says why bytes could not be written. The name of the file is said once.
func unwritten(name string, err error) error {
	why := err.Error()
	if path := (*fs.PathError)(nil); errors.As(err, &path) && path.Path == name {
		why = path.Err.Error()
	}
	return &Error{Name: name, cause: CauseWrite, Detail: why, err: err}
}

func closed(name string) error {
	return &Error{Name: name, cause: CauseClosed, Detail: ErrClosed.Error(), err: ErrClosed}
}
