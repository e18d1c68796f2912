package hosted

import (
	"errors"
	"fmt"
)

// The answers of Take, Give, Get and Wait that are news rather than failures.
var (
	ErrTimeout  = errors.New("nothing within the time given")
	ErrEndEpoch = errors.New("the epoch is over")
	ErrEndData  = errors.New("nothing more will come")
)

// The kinds of refusal; errors.Is finds them in what the methods return.
var (
	ErrArgument    = errors.New("bad argument")
	ErrNotFound    = errors.New("not found")
	ErrBusy        = errors.New("busy")
	ErrDescription = errors.New("stages that do not fit together")
	ErrMisuse      = errors.New("a work that is not out, or a give that does not fit its stage")
)

// a refusal is a text of one of the kinds.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.kind }

// Refuse is an error of one of the kinds, whose text says enough.
func Refuse(kind error, format string, args ...any) error {
	return &refusal{kind, fmt.Sprintf(format, args...)}
}

// refuse says in whose name, and what to do.
func (p *Pipeline) refuse(kind error, format string, args ...any) error {
	return Refuse(kind, "pipeline: %q: "+format, append([]any{p.name}, args...)...)
}
