package verbs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/pack"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// The exit codes, by what a script would do about it.
const (
	exitOK          = 0
	exitFailed      = 1   // it did not work out: a run failed, a ring is inconsistent, the system refused
	exitUsage       = 2   // the command line, the description or the saved state is wrong
	exitNotFound    = 3   // no such file, folder, sample, engine or ring
	exitDenied      = 4   // another user's
	exitBusy        = 5   // the name is in use, or every consumer or lease is taken
	exitNoRoom      = 6   // memory or /dev/shm does not hold it
	exitMismatch    = 7   // another version's segment, or none of ours
	exitInterrupted = 130 // SIGINT, SIGTERM or SIGHUP ended what was not a service
)

// usageError is a command line that makes no sense.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// statuses are the exit codes of refusals that have a status. The first that matches counts.
var statuses = []struct {
	is   error
	code int
}{
	{shm.ErrNameInUse, exitBusy}, {shm.ErrNoSpace, exitNoRoom},
	{source.ErrNoSamples, exitNotFound}, {source.ErrLacking, exitUsage}, {store.ErrOptions, exitUsage}, {sampler.ErrNoBatch, exitUsage}, {engine.ErrDescription, exitUsage},
	{shm.ErrSpec, exitUsage}, {shm.ErrState, exitUsage}, {shm.ErrArgument, exitUsage},
	{shm.ErrNotFound, exitNotFound}, {shm.ErrDenied, exitDenied}, {shm.ErrBusy, exitBusy}, {shm.ErrNoMemory, exitNoRoom},
	{shm.ErrVersion, exitMismatch}, {shm.ErrFormat, exitMismatch},
	{pack.ErrName, exitUsage}, {pack.ErrTaken, exitBusy},
	{fs.ErrNotExist, exitNotFound}, {fs.ErrPermission, exitDenied},
	{errUnread, exitNotFound},
	{context.Canceled, exitInterrupted},
}

// unanswered is err in a person's words where an engine was there and did not answer within so long. An end that ctx asked for stays what
// it is.
func unanswered(ctx context.Context, verb, name string, within time.Duration, err error) error {
	late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
	if !late || ctx.Err() != nil {
		return err
	}
	return &because{fmt.Errorf("%s: the engine of %q has not answered within %v; it is stopped (kill -CONT lets it go on) or has no CPU (try again)", verb, name, within), errUnanswered}
}

// errUnanswered is that an engine is there and does not answer.
var errUnanswered = errors.New("no answer")

// exitCode is what the process ends with after err.
func exitCode(err error) int {
	var wrong *usageError
	var described *spec.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &wrong), errors.As(err, &described):
		return exitUsage
	}
	for _, s := range statuses {
		if errors.Is(err, s.is) {
			return s.code
		}
	}
	return exitFailed
}

// told is err with the status that a parent process is told.
func told(err error) error {
	var s shm.Status
	if errors.As(err, &s) {
		return err
	}
	status := shm.ErrEngineStart
	var wrong *usageError
	var described *spec.Error
	switch {
	case errors.As(err, &described), errors.Is(err, sampler.ErrNoBatch), errors.Is(err, engine.ErrDescription), errors.Is(err, source.ErrLacking), errors.Is(err, store.ErrOptions):
		status = shm.ErrSpec
	case errors.As(err, &wrong):
		status = shm.ErrArgument
	case errors.Is(err, shm.ErrNoSpace):
		status = shm.ErrNoMemory
	case errors.Is(err, shm.ErrNameInUse):
		status = shm.ErrBusy
	}
	return &shm.Error{Status: status, Text: err.Error(), Cause: err}
}
