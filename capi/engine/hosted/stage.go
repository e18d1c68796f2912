package hosted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spdl/spdl/core/pipeline"
)

// Work is what a thread takes and owes an answer for; of Get it is a result.
type Work struct {
	Kind    int // pipeline.WorkSource, WorkItem or WorkFlush
	Items   Items
	Epoch   uint64
	Attempt int
	Worker  int // no two works of a stage that are out share it
	Token   uint64
}

// Given is an answer to a work. Nothing in it is kept.
type Given struct {
	More, End, List, Skip bool
	Items                 []uint64
	Path                  int     // of a router
	Paths                 []int32 // of a router of lists: one per item
	Failed                bool    // with Error
	Error                 string
	Final, Fatal          bool
}

// Thread names who takes a work.
type Thread struct {
	Number uint64 // never used again
	TID    uint32 // the system's
}

// stage is one stage of the host's.
type stage struct {
	p    *Pipeline
	name string
	kind string
	work worked

	paths   int  // of a router
	batched bool // it routes lists

	mu      sync.Mutex
	holders []holder // of the works that are out, by worker
}

// holder is who has a work.
type holder struct {
	thread Thread
	token  uint64
	epoch  uint64
}

// worked is an External of core/pipeline, whatever it takes.
type worked interface {
	take(ctx context.Context) (Work, error)
	give(token uint64, r pipeline.Result[Items]) error
}

type sourceStage struct {
	x *pipeline.External[struct{}, Items]
}

func (s sourceStage) take(ctx context.Context) (Work, error) {
	w, err := s.x.Take(ctx)
	return Work{Kind: int(w.Kind), Items: Items{list: &nothing}, Epoch: w.Epoch, Attempt: w.Attempt, Worker: w.Worker, Token: w.Token}, err
}

func (s sourceStage) give(token uint64, r pipeline.Result[Items]) error { return s.x.Give(token, r) }

type itemStage struct {
	x *pipeline.External[Items, Items]
}

func (s itemStage) take(ctx context.Context) (Work, error) {
	w, err := s.x.Take(ctx)
	if w.Kind == pipeline.WorkFlush {
		w.Item.list = &nothing
	}
	return Work{Kind: int(w.Kind), Items: w.Item, Epoch: w.Epoch, Attempt: w.Attempt, Worker: w.Worker, Token: w.Token}, err
}

func (s itemStage) give(token uint64, r pipeline.Result[Items]) error { return s.x.Give(token, r) }

// Take waits for a stage's next work. The error is ErrTimeout, or ErrEndData: the thread may end.
func (p *Pipeline) Take(number int, timeout time.Duration, thread Thread) (Work, error) {
	s, err := p.stage(number)
	if err != nil {
		return Work{}, err
	}
	ctx, end := within(timeout)
	defer end()
	w, err := s.work.take(ctx)
	if errors.Is(err, io.EOF) {
		return Work{}, ErrEndData
	}
	if err == nil {
		s.hold(&w, thread)
	}
	return w, err
}

func (s *stage) hold(w *Work, thread Thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w.Worker >= len(s.holders) {
		s.holders = append(s.holders, holder{})
	}
	s.holders[w.Worker] = holder{thread, w.Token, w.Epoch}
}

// epochOf is the epoch of a work. One that is given for good is no longer lost with its thread.
func (s *stage) epochOf(worker int, token uint64, last bool) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if worker < 0 || worker >= len(s.holders) || s.holders[worker].token != token {
		return 0 // not out: core/pipeline refuses it
	}
	h := &s.holders[worker]
	if last {
		h.thread.Number = 0
	}
	return h.epoch
}

func (s *stage) holderOf(token uint64) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.holders {
		if h.token == token {
			return h.thread.TID
		}
	}
	return 0
}

// threadEnded fails what the thread has taken and not given back. It cannot be in a Give.
func (s *stage) threadEnded(thread uint64) {
	s.mu.Lock()
	var lost []holder
	for i := range s.holders {
		if s.holders[i].thread.Number == thread {
			lost = append(lost, s.holders[i])
			s.holders[i].thread = Thread{}
		}
	}
	s.mu.Unlock()
	for _, h := range lost {
		err := fmt.Errorf("thread %d ended with a work in hand; give each work back before its thread ends", h.thread.TID)
		// One that somebody has given meanwhile is not out: then this is refused, and nothing is lost.
		_ = s.work.give(h.token, pipeline.Result[Items]{Err: pipeline.Fatal(err)})
	}
}

// failed is a host's error, kept whole.
type failed string

func (f failed) Error() string { return string(f) }

// Give answers a work, waiting while the queue behind is full. The error is ErrEndData (the run is over) or ErrTimeout (the
// work's deadline was over): both times what was given is dropped, and the work is over; or one that is ErrMisuse.
func (p *Pipeline) Give(number, worker int, token uint64, g Given) error {
	s, err := p.stage(number)
	if err != nil {
		return err
	}
	if err := s.check(&g); err != nil {
		return err
	}
	epoch := s.epochOf(worker, token, !g.More)
	if g.Failed {
		return s.answer(token, s.work.give(token, pipeline.Result[Items]{Err: g.failure()}), false)
	}
	return s.giveItems(token, epoch, &g)
}

func (g *Given) failure() error {
	var err error = failed(g.Error)
	if g.Error == "" {
		err = failed("failed without a text")
	}
	switch {
	case g.Fatal:
		return pipeline.Fatal(err)
	case g.Final:
		return pipeline.Final(err)
	}
	return err
}

// giveItems gives one result after the other; the flags go with the last.
func (s *stage) giveItems(token, epoch uint64, g *Given) error {
	if g.List {
		items := listOf(slices.Clone(g.Items), epoch)
		items.path = int32(g.Path)
		for _, path := range g.Paths {
			items.list.paths = append(items.list.paths, int(path))
		}
		return s.giveOne(token, pipeline.Result[Items]{Value: items, More: g.More, End: g.End})
	}
	if len(g.Items) == 0 {
		return s.giveOne(token, pipeline.Result[Items]{Skip: true, More: g.More, End: g.End})
	}
	for i, item := range g.Items {
		last := i == len(g.Items)-1
		value := Items{item: item, epoch: epoch, path: int32(g.Path)}
		r := pipeline.Result[Items]{Value: value, More: !last || g.More, End: last && g.End}
		if err := s.giveOne(token, r); err != nil {
			if !errors.Is(err, ErrMisuse) || i > 0 {
				s.p.dropped.add(g.Items[i+1:]...)
			}
			return err
		}
	}
	return nil
}

func (s *stage) giveOne(token uint64, r pipeline.Result[Items]) error {
	return s.answer(token, s.work.give(token, r), r.More)
}

// answer is what the host hears. A work of a run that is over is over too, even if more was to come.
func (s *stage) answer(token uint64, err error, more bool) error {
	var late *pipeline.DeadlineError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pipeline.ErrUnknownWork):
		return s.refuse("work %d is not out: it was given back before, or taken from another stage; give each work once", token)
	case errors.Is(err, pipeline.ErrEnded):
		err = ErrEndData
	case errors.As(err, &late):
		err = ErrTimeout
	}
	if more {
		_ = s.work.give(token, pipeline.Result[Items]{Skip: true})
	}
	return err
}

func (s *stage) refuse(format string, args ...any) error {
	return s.p.refuse(ErrMisuse, "stage %q: %s", s.name, fmt.Sprintf(format, args...))
}

// check refuses what makes no sense before anything has changed.
func (s *stage) check(g *Given) error {
	n := len(g.Items)
	switch {
	case g.Failed && (n > 0 || g.More || g.End || g.Skip || g.List):
		return s.refuse("got an error with items or flags; an error is given alone, and last")
	case g.End && s.kind != KindSource:
		return s.refuse("got SPDL_GIVE_END from a %s; only a source says where the data ends", s.kind)
	case g.Skip && (n > 0 || g.List):
		return s.refuse("got SPDL_GIVE_SKIP with %d items, want none", n)
	case n == 0 && !g.Failed && !g.List && !g.Skip && !g.More && !g.End:
		return s.refuse("got no items; say SPDL_GIVE_SKIP if nothing comes of the work")
	}
	return s.checkPaths(g)
}

// checkPaths refuses a choice that a router cannot make, and any choice of another stage.
func (s *stage) checkPaths(g *Given) error {
	switch {
	case s.kind != KindVariants && (g.Path != 0 || g.Paths != nil):
		return s.refuse("got a path from a %s; only the router of variants chooses one", s.kind)
	case s.kind != KindVariants || len(g.Items) == 0 && !g.List:
		return nil
	case s.batched && (!g.List || len(g.Items) > 0 && g.Paths == nil):
		return s.refuse("got %d items without a path for each; a batched router gives its list, and paths", len(g.Items))
	case !s.batched && g.Paths != nil:
		return s.refuse("got paths for each item; a router that is not batched chooses one path")
	}
	for _, path := range append([]int32{int32(g.Path)}, g.Paths...) {
		if path < 0 || int(path) >= s.paths {
			return s.refuse("got path %d, want 0 to %d", path, s.paths-1)
		}
	}
	return nil
}
