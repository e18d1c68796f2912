package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"
)

// ErrEnded is returned by Give when the run is over: the result is discarded.
// The work must still be given back whole, with a Give that is the last.
var ErrEnded = errors.New("the run is over")

// ErrUnknownWork is returned by Give for a token that names no work that is
// out: it was given back before, is being given by another thread, or was never
// taken here. The result is still the caller's.
var ErrUnknownWork = errors.New("no work of this token is out; give each work back once, where it was taken")

var errOneResult = errors.New("more than one result of an item in a path whose results are put back in order; " +
	"give one, or none")

// WorkKind says what a Work asks for.
type WorkKind int

// The kinds of work, numbered as in the C interface.
const (
	WorkSource WorkKind = 1 // make the next item
	WorkItem   WorkKind = 2 // make results of Item
	WorkFlush  WorkKind = 3 // an aggregator: give what is left of the epoch
)

// A Work is what a thread takes from an External and owes it an answer for.
type Work[In any] struct {
	Kind    WorkKind
	Item    In // of a WorkItem
	Epoch   uint64
	Attempt int    // 1, and more after a retry
	Token   uint64 // for Give; every try has its own
	Worker  int    // a small number that no other work has until this one is given back
}

// A Result is an answer to a Work.
type Result[Out any] struct {
	// Value is a result, unless Skip or Err is set.
	Value Out
	// Skip says that there is no value in this answer, and no failure either.
	Skip bool
	// More says that further answers to the same work follow.
	More bool
	// End, from a source, ends the epoch, or without Continuous the data; a
	// value beside it still counts.
	End bool
	// Err says that the work failed. It is the last answer.
	Err error
}

// ExternalOptions describe a stage whose workers are the caller's threads; all
// but Name may be left out.
type ExternalOptions[Out any] struct {
	Name string
	// Concurrency is how many works may be out at once; 0 means 1. A work that
	// waits to be tried again counts, one past its deadline does not.
	Concurrency int
	// Output, Buffer, Failures and Discard are those of Options.
	Output   Order
	Buffer   int
	Failures Failures
	Discard  func(Out)
	// Retry has a failed work taken again, by any thread, if no result of it is
	// out. With fewer threads than Concurrency a work should give one result: in
	// Input order, or for a later epoch, further ones may wait for a work that
	// waits for its next try, and no thread is left to take that.
	Retry Retry
	// Deadline, if above 0, is the time from the first Take of a work to its
	// last Give, retries included. Past it the work has failed with a
	// *DeadlineError and is not tried again; Give then returns that error, and
	// only the last Give ends the item, because the thread may still use it.
	Deadline time.Duration
	// Continuous has a source go on with the next epoch after End.
	Continuous bool
}

// An External is a stage whose workers are not goroutines but threads of a
// host that call Take and Give, in any number: order, bounds, failures, retries
// and statistics are those of any stage. Between the two calls the thread may do
// what it likes; nothing here calls it.
//
// An item is the host's from Take to the last Give of its work. Then it has
// passed into the results, or, if Err was set, goes to the Discard of the stage
// it came from. The run does not end before every work was given back; Stats
// lists those that are out, with their age.
type External[In, Out any] struct {
	*stage
	in         *Queue[In] // its mu guards the rest; of a source an empty one
	port       *Port[In]  // nil for a source
	out        *Port[Out]
	judge      *Judge
	retry      Retry
	deadline   time.Duration
	onFail     func(error)
	rated      bool
	source     bool
	aggregator bool
	continuous bool

	open      bool        // started and not ended
	over      bool        // ended, or never to start
	works     []*work[In] // found by the low bits of their token
	tokens    uint64
	holding   int  // works that count against concurrency
	busy      int  // works not given back, and whatever is passed on beside them
	passing   bool // a goroutine waits for room (passAside); nothing new is taken meanwhile
	epoch     uint64
	inEpoch   uint64 // works of a source in epoch
	exhausted bool   // a source's last End was given
	flushDue  bool   // an aggregator has come to the end of the epoch at flushAt
	flushAt   place
	dirty     bool // an aggregator's items since its last flush
}

// ExternalMap adds a stage whose host makes any number of results of each item.
func ExternalMap[In, Out any](in *Port[In], o ExternalOptions[Out]) (*External[In, Out], *Port[Out]) {
	s := newStage(in.stage.p, "external", o.Name, o.Concurrency)
	x := newExternal[In](s, &o)
	x.readPort(in)
	x.writeTo(newOutput(s, o.Output, o.Concurrency, o.Buffer, o.Discard))
	return x, x.out
}

// ExternalSource adds a stage whose host makes the items. It has one epoch after
// the other while Continuous is set. With several works out at once the order
// of the items is that of Give.
func ExternalSource[Out any](p *Pipeline, o ExternalOptions[Out]) (*External[struct{}, Out], *Port[Out]) {
	s := newStage(p, "source", o.Name, o.Concurrency)
	x := newExternal[struct{}](s, &o)
	x.in, x.source, x.continuous = NewQueue[struct{}](1), true, o.Continuous
	s.produce()
	x.writeTo(newPort(s, orDefault(o.Buffer, 2), o.Discard))
	return x, x.out
}

// ExternalAggregator adds a stage whose host sees every item in order, one work
// at a time, and gives results when it likes: with any item, and with the
// WorkFlush that comes after the last item of each epoch and of the run.
func ExternalAggregator[In, Out any](in *Port[In], o ExternalOptions[Out]) (*External[In, Out], *Port[Out]) {
	s := newStage(in.stage.p, "aggregate", o.Name, 1)
	if o.Concurrency > 1 {
		s.p.note(s.errorf("concurrency %d, want 1: an aggregator sees its items in order", o.Concurrency))
	}
	x := newExternal[In](s, &o)
	x.readPort(in)
	s.refuseTraced()
	x.aggregator = true
	x.writeTo(newPort(s, orDefault(o.Buffer, 2), o.Discard))
	return x, x.out
}

func newExternal[In, Out any](s *stage, o *ExternalOptions[Out]) *External[In, Out] {
	s.p.note(s.named(o.Retry.check()))
	if o.Deadline < 0 {
		s.p.note(s.errorf("deadline %v, want 0 (none) or more", o.Deadline))
	}
	x := &External[In, Out]{
		stage: s, judge: s.newJudge(o.Failures), retry: o.Retry, deadline: o.Deadline,
		onFail: o.Failures.OnFailure, rated: o.Failures.MaxRate > 0,
	}
	s.meters = make([]meter, 1)
	s.begun, s.halted, s.works = x.begin, x.halt, x.worksNow
	return x
}

func (x *External[In, Out]) readPort(in *Port[In]) {
	readFrom(x.stage, in)
	x.port, x.in = in, in.queue
	in.queue.closing = x.poke
}

func (x *External[In, Out]) writeTo(out *Port[Out]) {
	x.out = out
	if out.queue.ordered {
		out.queue.settle = x.settle
	}
}

// Take waits for the next work, until ctx ends. io.EOF means that there will be
// none, because the items have ended or the run is over: the thread may go.
// With an ended ctx it takes what is there without waiting; otherwise it
// returns the cause of ctx's end, and nothing is lost.
func (x *External[In, Out]) Take(ctx context.Context) (Work[In], error) {
	x.in.mu.Lock()
	defer x.in.mu.Unlock()
	w, err := x.next()
	if w == nil && err == nil {
		startNs := x.in.getters.begin()
		if ctx.Done() != nil {
			defer context.AfterFunc(ctx, x.wake)()
		}
		for w == nil && err == nil {
			if ctx.Err() != nil {
				x.in.getters.giveUp(startNs)
				x.in.notEmpty.Signal() // what woke us may be meant for another
				return Work[In]{}, context.Cause(ctx)
			}
			x.in.notEmpty.Wait()
			w, err = x.next()
		}
		x.in.getters.end(startNs)
	} else {
		x.in.getters.none()
	}
	if err != nil {
		return Work[In]{}, err
	}
	return Work[In]{
		Kind: w.kind, Item: w.v, Epoch: w.epoch, Attempt: w.attempt, Token: w.token,
		Worker: int(w.token & (1<<workBits - 1)),
	}, nil
}

// Give answers a work, from any thread. It waits while the queue behind is full
// or, in Input order, far ahead. The value is the pipeline's from here on,
// whatever Give returns but ErrUnknownWork. Other errors are ErrEnded and a
// *DeadlineError; a failure that is forgiven is none.
func (x *External[In, Out]) Give(token uint64, r Result[Out]) error {
	w, err := x.claim(token)
	if err != nil {
		return err
	}
	if w.late || x.cancelled() {
		return x.giveLate(w, &r)
	}
	if r.Err != nil {
		return x.fail(w, r.Err)
	}
	if r.More && x.traced {
		if !r.Skip {
			x.out.drop(r.Value)
		}
		x.judged(w.place, Fatal(errOneResult))
		x.giveBackLater(w) // the item is with who makes results of it, until the last of them
		return ErrEnded
	}
	goOn := true
	if !r.Skip {
		goOn = x.giveValue(w, &r)
	}
	if r.More {
		x.giveBackLater(w)
	} else {
		goOn = x.finish(w, r.Skip, r.End) && goOn
	}
	if !goOn {
		return ErrEnded
	}
	return nil
}

// The states of a work, as WorkStats names them.
const (
	workOut     = "out"
	workGiving  = "giving"
	workWaiting = "waiting"
	workOverdue = "overdue"
)

// worksNow lists the works that are not given back, oldest first.
func (x *External[In, Out]) worksNow(atNs int64) (list []WorkStats) {
	x.in.mu.Lock()
	for _, w := range x.works {
		if w.state == "" {
			continue
		}
		list = append(list, WorkStats{Token: w.token, Epoch: w.epoch, Attempt: w.attempt, State: w.state,
			AgeNs: max(0, atNs-w.sinceNs)})
	}
	x.in.mu.Unlock()
	slices.SortFunc(list, func(a, b WorkStats) int { return int(b.AgeNs - a.AgeNs) })
	return list
}
