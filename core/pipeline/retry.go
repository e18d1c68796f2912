package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Retry says how often an item is tried again after its op has failed. Between
// two tries the worker waits, without holding its Limiter, and keeps its item
// and its place: order and bounds are the same as without retries. A panic, an
// error marked by Fatal or Final and the end of the run are never tried again.
type Retry struct {
	// Max is the number of further tries; 0 means none.
	Max int
	// Base is the wait before the second try; 0 means 10 ms. It doubles from try
	// to try up to Cap, 0 meaning 10 s. The real wait is drawn between half of
	// it and all of it, so that failures that came together do not return
	// together.
	Base, Cap time.Duration
}

func (r Retry) check() error {
	if r.Max < 0 || r.Base < 0 || r.Cap < 0 {
		return fmt.Errorf("retry: max %d, base %v, cap %v, want 0 (the default) or more", r.Max, r.Base, r.Cap)
	}
	return nil
}

// allows says whether try number try, which ended with err, may be repeated.
func (r *Retry) allows(try int, err error) bool {
	var final *finalError
	return try <= r.Max && !neverForgiven(err) && !errors.As(err, &final)
}

// delay is the wait after try number try.
func (r *Retry) delay(try int) time.Duration {
	base, limit := r.Base, r.Cap
	if base == 0 {
		base = 10 * time.Millisecond
	}
	if limit == 0 {
		limit = 10 * time.Second
	}
	d := min(base, limit)
	for i := 1; i < try && d < limit; i++ {
		d = min(2*d, limit)
	}
	return d - rand.N(d/2+1)
}

// A DeadlineError says that an item has not succeeded within its deadline.
type DeadlineError struct {
	Limit time.Duration
	Err   error // of the last try; nil if it has not returned
}

func (e *DeadlineError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("no result within the deadline of %v", e.Limit)
	}
	return fmt.Sprintf("failed after the deadline of %v: %v", e.Limit, e.Err)
}

func (e *DeadlineError) Unwrap() error { return e.Err }
