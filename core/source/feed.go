package source

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// What Feed.Take and Feed.Give answer.
var (
	ErrFeedTimeout = errors.New("nothing is wanted yet")                                                  // Take: no sample was asked for within the time
	ErrFeedEnded   = errors.New("no more samples are wanted")                                             // both: the engine is through
	ErrLate        = errors.New("the engine no longer waits for it")                                      // Give: the deadline has passed, or the reader went elsewhere
	ErrNotWanted   = errors.New("is not out")                                                             // Give: no such want, or it was given before
	ErrSample      = errors.New("want one of bytes, path, failure and end")                               // Give: a sample that says several or none
	ErrBoth        = errors.New("want path, of the medium, and bytes, of its columns, or failure or end") // Give: of media and columns a sample that says something else
)

// ErrProgram is in the error of a sample of which the program said that it cannot go on: no bad sample, but the end.
var ErrProgram = errors.New("the program's data set cannot go on")

// ErrEnd is in the error of a sample of which the program said that its data end before it.
var ErrEnd = errors.New("the data end before it")

// maxFailure is how much of a failure's text is kept.
const maxFailure = 1024

// Want asks for one sample.
type Want struct {
	Index int64
	Epoch uint64 // in which it is wanted
	Token uint64 // never used again
}

// Sample answers a Want: its bytes, the path of a file that holds them, or why there are none; of a medium with columns beside it the path and the
// bytes of the columns.
type Sample struct {
	Bytes  []byte // copied by Give; nil: none, empty: a sample without bytes, which is a bad one
	Path   string // read by the engine; relative to the working directory
	Failed bool
	Error  string // of a failed sample
	Fatal  bool   // a failed one after which there is no sense in others: Read's error is ErrProgram then
	End    bool   // there is no such sample, nor any after it in this epoch
	Key    string // ""; the path, or the index
	Label  int64  // -1: none
}

// Feed carries wants from an engine to threads of the program around it, and samples back. The engine never calls the
// program: threads take and give. Any number may do so at once.
type Feed struct {
	wants chan *request // from Read to Take: nothing waits in between
	ended chan struct{} // closed by End
	end   sync.Once
	used  atomic.Bool // somebody asks through it
	asked *Asked      // it is for numbers of samples; set before anybody takes
	both  bool        // a sample is a path and bytes; likewise

	mu    sync.Mutex          // guards the rest
	last  uint64              // token
	out   map[uint64]*request // taken and not answered, by token
	late  map[uint64]uint64   // given up while out: the thread, by token
	count FeedStats
}

// FeedStats count what went through a feed.
type FeedStats struct {
	Out    int    `json:"out"`    // wants that threads have in hand, late ones included
	Given  uint64 `json:"given"`  // samples, failed ones included
	Failed uint64 `json:"failed"` // by the program's own word
	Late   uint64 `json:"late"`   // given up before they were given
	Lost   uint64 `json:"lost"`   // their thread ended
}

// The states of a request. Feed.mu guards the change.
const (
	asked     = iota
	taken     // it is in Feed.out
	answered  // Give has it and will close done
	abandoned // Read has gone
)

// request is one Read that waits. Only the Give that made it answered touches buffer, path and err.
type request struct {
	index   int64
	epoch   uint64
	state   int
	token   uint64 // from taken on
	thread  uint64 // that took it
	done    chan struct{}
	buffer  *Buffer
	path    string  // to be read by Read
	numbers []int64 // of an order that is asked for
	err     error
	label   int64
	key     string
}

// NewFeed makes a feed for one source of one engine.
func NewFeed() *Feed {
	return &Feed{wants: make(chan *request), ended: make(chan struct{}), out: map[uint64]*request{}, late: map[uint64]uint64{}}
}

// End makes every Take and Give answer ErrFeedEnded, those that wait too. A Read goes on waiting for its context.
func (f *Feed) End() { f.end.Do(func() { close(f.ended) }) }

// Used reports whether a source asks through the feed, or did.
func (f *Feed) Used() bool { return f.used.Load() }

func (f *Feed) isEnded() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// Take waits for a want until ctx ends; one that has ended polls. thread is a number of the caller's thread, for
// ThreadEnded. It returns ErrFeedTimeout or ErrFeedEnded.
func (f *Feed) Take(ctx context.Context, thread uint64) (Want, error) {
	for !f.isEnded() {
		r := f.next(ctx)
		if r == nil {
			if f.isEnded() {
				break
			}
			return Want{}, ErrFeedTimeout
		}
		if w, ok := f.hand(r, thread); ok {
			return w, nil
		}
	}
	return Want{}, ErrFeedEnded
}

// next is a request that waits already, or the next one before ctx ends.
func (f *Feed) next(ctx context.Context) *request {
	select {
	case r := <-f.wants:
		return r
	default:
	}
	select {
	case r := <-f.wants:
		return r
	case <-ctx.Done():
	case <-f.ended:
	}
	return nil
}

// hand notes who has a request from now on; false: its Read has gone.
func (f *Feed) hand(r *request, thread uint64) (Want, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.state != asked {
		return Want{}, false
	}
	f.last++
	r.state, r.token, r.thread = taken, f.last, thread
	f.out[f.last] = r
	return Want{Index: r.index, Epoch: r.epoch, Token: f.last}, true
}

// Give answers a want. It copies s.Bytes and does not block. On ErrSample nothing has changed and the want is still out.
func (f *Feed) Give(w Want, s *Sample) error {
	if err := f.check(s); err != nil {
		return err
	}
	f.mu.Lock()
	r := f.out[w.Token]
	_, late := f.late[w.Token]
	delete(f.out, w.Token)
	delete(f.late, w.Token)
	if r != nil {
		r.state = answered
		f.count.Given++
		if s.Failed {
			f.count.Failed++
		}
	}
	f.mu.Unlock()
	switch {
	case r != nil:
		r.fill(s)
		close(r.done)
		return nil
	case f.isEnded():
		return ErrFeedEnded
	case late:
		return fmt.Errorf("source: give: sample %d: %w: it was given too late", w.Index, ErrLate)
	}
	return fmt.Errorf("source: give: sample %d: want %d %w: it was never taken here, or was given before", w.Index, w.Token, ErrNotWanted)
}

func (f *Feed) check(s *Sample) error {
	n := 0
	for _, said := range []bool{s.Bytes != nil, s.Path != "", s.Failed, s.End} {
		if said {
			n++
		}
	}
	if f.asked != nil {
		return s.checkNumbers(n)
	}
	switch both := s.Bytes != nil && s.Path != ""; {
	case f.both && (n > 2 || both == (s.Failed || s.End)):
		return fmt.Errorf("source: give: got %d of them, %w", n, ErrBoth)
	case !f.both && n != 1:
		return fmt.Errorf("source: give: got %d, %w", n, ErrSample)
	}
	return nil
}

// fill puts the answer into the buffer of the Read that waits for it.
func (r *request) fill(s *Sample) {
	r.label, r.key, r.path = s.Label, s.Key, s.Path
	if r.key == "" {
		r.key = s.Path
	}
	switch n := len(s.Bytes); {
	case s.End:
		r.err = &Error{Cause: Program, Err: ErrEnd, Detail: "the data end before it, which only an order without shuffle and ranks can follow"}
	case s.Failed && s.Fatal:
		r.err = fmt.Errorf("source: sample %d: %w: %s", r.index, ErrProgram, s.Error[:min(len(s.Error), maxFailure)])
	case s.Failed:
		r.err = &Error{Cause: Program, Detail: s.Error[:min(len(s.Error), maxFailure)]}
	case r.buffer == nil:
		r.numbers = s.numbers()
	case s.Bytes == nil: // the path's
	case n == 0:
		r.err = &Error{Cause: Empty, Detail: "got 0 bytes"}
	case n > DefaultMaxFileBytes:
		r.err = &Error{Cause: TooLarge, Detail: fmt.Sprintf("got %d bytes, want at most %d", n, DefaultMaxFileBytes)}
	default:
		copy(r.buffer.room(n), s.Bytes)
		r.buffer.hold(0, n)
	}
}

// ThreadEnded fails the samples that a thread had in hand when it ended. After End nobody misses them.
func (f *Feed) ThreadEnded(thread uint64) {
	if f.isEnded() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for token, r := range f.out {
		if r.thread == thread {
			delete(f.out, token)
			f.count.Lost++
			r.state = answered
			r.err = &Error{Cause: Program, Detail: "the thread that had taken it ended without giving it"}
			close(r.done)
		}
	}
	for token, by := range f.late {
		if by == thread {
			delete(f.late, token)
		}
	}
}

// ask waits for a sample: up to timeout for a thread, which may be busy with others till then, and as long for its answer; 0: without
// end. After an error the buffer is the caller's again.
func (f *Feed) ask(ctx context.Context, i int64, timeout time.Duration, b *Buffer) (*request, error) {
	r := &request{index: i, epoch: epochOf(ctx), done: make(chan struct{}), buffer: b}
	untaken, stop := after(timeout)
	defer stop()
	select {
	case f.wants <- r:
	case <-untaken:
		return nil, &Error{Cause: Deadline, Detail: fmt.Sprintf("no thread took it within %v; start more threads, or raise source.host.timeout", timeout)}
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.ended:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	late, stop := after(timeout)
	defer stop()
	select {
	case <-r.done:
		return r, r.err
	case <-late:
		if f.giveUp(r) {
			return nil, &Error{Cause: Deadline, Detail: fmt.Sprintf("the program did not give it within %v; raise source.host.timeout", timeout)}
		}
	case <-ctx.Done():
		if f.giveUp(r) {
			return nil, ctx.Err()
		}
	}
	<-r.done // a Give has it: no more than a copy away
	return r, r.err
}

// after is a channel that a value comes from when the time is over, and what stops it; 0: none comes.
func after(timeout time.Duration) (<-chan time.Time, func() bool) {
	if timeout == 0 {
		return nil, func() bool { return false }
	}
	t := time.NewTimer(timeout)
	return t.C, t.Stop
}

// giveUp ends the waiting for a request; false: it is being answered.
func (f *Feed) giveUp(r *request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.state == answered {
		return false
	}
	if r.state == taken {
		delete(f.out, r.token)
		f.late[r.token] = r.thread
		f.count.Late++
	}
	r.state = abandoned
	return true
}

// Stats reads the counters.
func (f *Feed) Stats() FeedStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.count
	s.Out = len(f.out) + len(f.late)
	return s
}

// absolute is a path as Read opens it.
func absolute(path string) (string, error) {
	if path == "" || path[0] == '/' {
		return path, nil
	}
	return filepath.Abs(path)
}

// epochKey is the key of a context's epoch.
type epochKey struct{}

// WithEpoch says in which epoch a read is, for programs that bring their samples one epoch after the other.
func WithEpoch(ctx context.Context, epoch uint64) context.Context {
	return context.WithValue(ctx, epochKey{}, epoch)
}

func epochOf(ctx context.Context) uint64 {
	epoch, _ := ctx.Value(epochKey{}).(uint64)
	return epoch
}
