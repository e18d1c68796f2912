package pipeline

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
)

// ErrStopped is what a run ends with after Stop.
var ErrStopped = errors.New("stopped before its end")

// ErrStarted is returned by Start when the pipeline was started before; a
// pipeline runs once.
var ErrStarted = errors.New("already started; build a new pipeline for another run")

// errHalted ends work whose pipeline is cancelled; no caller ever sees it.
var errHalted = errors.New("halted")

// A StageError is the failure that ended a pipeline, with the stage it came from.
type StageError struct {
	Pipeline string
	Stage    string
	Err      error
}

func (e *StageError) Error() string {
	return fmt.Sprintf("pipeline: %q: stage %q: %v", e.Pipeline, e.Stage, e.Err)
}

func (e *StageError) Unwrap() error { return e.Err }

// A PanicError is a panic in a caller's function, or the end of its goroutine.
type PanicError struct {
	Value any    // what was passed to panic; nil after runtime.Goexit
	Stack []byte // of the goroutine that panicked
}

func newPanicError(value any) *PanicError {
	return &PanicError{Value: value, Stack: debug.Stack()}
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "the stage's function ended its goroutine (runtime.Goexit); return an error instead"
	}
	return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// A BudgetError says that more items failed than Failures forgives.
type BudgetError struct {
	Failed, Items uint64 // so far
	Budget        Failures
	Last          error // the failure that was one too many, or the last before the rate was judged
}

func (e *BudgetError) Error() string {
	limit := fmt.Sprintf("at most %d", e.Budget.MaxCount)
	switch {
	case e.byRate() && e.Budget.MaxRate == NoFailures:
		limit = "none"
	case e.byRate():
		limit = fmt.Sprintf("at most a share of %g", e.Budget.MaxRate)
	}
	return fmt.Sprintf("%d of %d items failed, want %s; the last: %v", e.Failed, e.Items, limit, e.Last)
}

func (e *BudgetError) Unwrap() error { return e.Last }

func (e *BudgetError) byRate() bool {
	return e.Budget.limitless() || e.Failed <= uint64(e.Budget.MaxCount)
}

// A SequenceError says that an item cannot be put in its place of a sequence.
type SequenceError struct {
	Got      uint64 // the number of the item
	Want     uint64 // the number that is waited for
	Window   int
	Repeated bool // Got is already there or has passed
}

func (e *SequenceError) Error() string {
	if e.Repeated {
		return fmt.Sprintf("sequence %d came twice or too late, next is %d; numbers must be unique", e.Got, e.Want)
	}
	return fmt.Sprintf("sequence %d came while %d is missing, window %d; "+
		"widen the window to all that can be in flight", e.Got, e.Want, e.Window)
}

type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

// Fatal marks err as one that ends the pipeline whatever a stage's Failures
// forgive. Fatal(nil) is nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatalError{err}
}

type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }

// Final marks err as one that another try would not mend: Retry lets it be, and
// Failures judge it. Final(nil) is nil.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return &finalError{err}
}

// NoFailures is a rate by which none may fail, once the rate is judged.
const NoFailures = math.SmallestNonzeroFloat64

// Failures says how many failing items are dropped and counted before the run
// ends with a *BudgetError. The zero value forgives none: the first failure
// ends the run with its own error. A panic and an error marked by Fatal are
// never forgiven.
type Failures struct {
	// MaxCount is the number forgiven; -1 means any number. 0 means none,
	// unless MaxRate is set: then the rate alone counts.
	MaxCount int
	// MaxRate is the share of items that may fail, above 0 and at most 1;
	// 0 leaves the rate out.
	MaxRate float64
	// Probation is the number of items after which the rate is first judged;
	// 0 means 100.
	Probation int
	// OnFailure, if set, is called with every failure that is dropped, by the
	// worker it befell: it must be safe for several goroutines.
	OnFailure func(err error)
}

func (f Failures) check() error {
	switch {
	case f.MaxCount < -1:
		return fmt.Errorf("failures: max count %d, want -1 (any number), 0 or more", f.MaxCount)
	case !(f.MaxRate >= 0 && f.MaxRate <= 1):
		return fmt.Errorf("failures: max rate %g, want 0 (off) to 1", f.MaxRate)
	case f.Probation < 0:
		return fmt.Errorf("failures: probation %d, want 0 (the default, 100) or more", f.Probation)
	}
	return nil
}

// none says that f is the zero value: no budget of its own.
func (f *Failures) none() bool { return f.MaxCount == 0 && f.MaxRate == 0 }

// limitless says that no number of failures alone ends the run.
func (f Failures) limitless() bool {
	return f.MaxCount == -1 || f.MaxCount == 0 && f.MaxRate > 0
}

func (f Failures) probation() uint64 {
	if f.Probation == 0 {
		return 100
	}
	return uint64(f.Probation)
}

// A Judge applies Failures to outcomes in the order it is told of them. The
// stages have their own; a caller that wants one verdict for several stages,
// or one in an order of its own, keeps a Judge itself. Safe for several
// goroutines.
type Judge struct {
	budget Failures

	mu     sync.Mutex // guards the rest
	items  uint64
	failed uint64
	last   error
}

// NewJudge refuses a budget that makes no sense.
func NewJudge(budget Failures) (*Judge, error) {
	if err := budget.check(); err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	return &Judge{budget: budget}, nil
}

// Settle counts one item, failed if err is not nil. It returns nil as long as
// the budget holds; then err itself where the budget forgives none, or a
// *BudgetError.
func (j *Judge) Settle(err error) error { return j.count(1, err) }

func (j *Judge) count(items uint64, err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.items += items
	if err != nil {
		j.failed++
		j.last = err
	}
	b := &j.budget
	overCount := !b.limitless() && j.failed > uint64(b.MaxCount)
	overRate := b.MaxRate > 0 && j.items >= b.probation() &&
		float64(j.failed) > b.MaxRate*float64(j.items)
	switch {
	case !overCount && !overRate:
		return nil
	case overCount && b.MaxCount == 0 && b.MaxRate == 0:
		return j.last
	}
	return &BudgetError{Failed: j.failed, Items: j.items, Budget: *b, Last: j.last}
}

// arrive counts an item that a source has made, for a budget of the whole
// pipeline; j may be nil.
func (j *Judge) arrive() error {
	if j == nil || j.budget.MaxRate == 0 {
		return nil
	}
	return j.count(1, nil)
}

// verdict applies a stage's budget to an outcome, and the whole pipeline's.
func (p *Pipeline) verdict(j *Judge, err error) error {
	if p.whole == nil {
		return j.Settle(err)
	}
	if !j.budget.none() {
		if over := j.Settle(err); over != nil {
			return over
		}
	}
	if err == nil {
		return nil
	}
	return p.whole.count(0, err)
}

// neverForgiven says that err ends the run whatever the budget.
func neverForgiven(err error) bool {
	var fatal *fatalError
	return errors.As(err, &fatal)
}
