package source

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

const (
	maxSpan      = 1 << 20  // bytes of one read for several samples; more than one connection carries the rest
	maxSpanBytes = 64 << 20 // of all spans of a source
)

// Planned is a source that reads better when it knows what is wanted next.
type Planned interface {
	// Ahead says that these samples will be read soon, each once. It reads nothing itself.
	Ahead(samples []int64)
}

// spans are the reads that serve several samples of a batch: neighbours in one remote archive. A span is read by the first who
// needs it; the others wait for him. Spans that nobody comes for, because the run ended or a cache had the samples, are let go
// when their room is needed.
type spans struct {
	planning sync.Mutex // guards scratch, ranges and local, which are Ahead's
	scratch  Buffer
	ranges   []extent // of remote archives
	local    []extent // of local ones

	mu    sync.Mutex // guards the rest
	all   []*span    // the oldest first
	bytes int64
}

// extent is where a sample's wanted parts lie, or one of them.
type extent struct {
	shard     *shard
	off, size int64
}

// span is a range of an archive that several samples lie in.
type span struct {
	extent
	left    int  // extents that nobody has come for; guarded by spans.mu
	started bool // guarded by spans.mu
	ready   chan struct{}

	data []byte // written before ready is closed
	err  error  // likewise
}

// Ahead plans one read for samples that are neighbours in a remote shard, and tells the kernel of those in local ones.
func (s *shards) Ahead(samples []int64) {
	if !s.remote && s.advisor == nil {
		return
	}
	p := &s.spans
	p.planning.Lock()
	defer p.planning.Unlock()
	p.ranges, p.local = p.ranges[:0], p.local[:0]
	for _, i := range samples {
		sh, k := s.find(i)
		if sh.object == nil && s.advisor == nil {
			continue
		}
		var err error
		if p.scratch.members, err = sh.index.appendMembers(k, p.scratch.members[:0]); err == nil && sh.chunk >= 0 {
			p.scratch.planChunk()
		} else if err == nil {
			_, err = s.want(sh, &p.scratch)
		}
		if err != nil || len(p.scratch.pieces) == 0 {
			continue // Read will say so, or has nothing to read
		}
		if e := p.scratch.extent(sh); sh.object != nil && e.size <= maxSpan/2 {
			p.ranges = append(p.ranges, e)
			continue
		}
		for _, one := range p.scratch.pieces { // which in a file of columns lie far apart
			e := extent{sh, one.off, one.size}
			if sh.object == nil {
				p.local = append(p.local, e)
			} else if e.size <= maxSpan/2 {
				p.ranges = append(p.ranges, e)
			}
		}
	}
	if len(p.local) > 0 {
		s.advisor.plan(p.local, s.adviseBytes)
	}
	slices.SortFunc(p.ranges, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.shard.name, b.shard.name), cmp.Compare(a.off, b.off))
	})
	p.ranges = slices.CompactFunc(p.ranges, func(a, b extent) bool { return a == b && a.shard.chunk >= 0 }) // several records of a chunk are one read
	for from := 0; from < len(p.ranges); {
		sp, to := p.join(from)
		if to-from > 1 {
			p.enter(sp)
		}
		from = to
	}
}

// extent is the range of all planned pieces.
func (b *Buffer) extent(sh *shard) extent {
	first, end := b.pieces[0].off, int64(0)
	for _, p := range b.pieces {
		first, end = min(first, p.off), max(end, p.off+p.size)
	}
	return extent{sh, first, end - first}
}

// join makes a span of the ranges from one on, as far as they are neighbours.
func (s *spans) join(from int) (*span, int) {
	sp := &span{extent: s.ranges[from], left: 1, ready: make(chan struct{})}
	to := from + 1
	for ; to < len(s.ranges); to++ {
		e := s.ranges[to]
		end := sp.off + sp.size
		if e.shard != sp.shard || e.off > end+mergeGap || e.off+e.size-sp.off > maxSpan {
			break
		}
		sp.size = max(sp.size, e.off+e.size-sp.off)
		sp.left++
	}
	return sp, to
}

// enter takes a span into the plan, for which old ones that nobody came for may have to go.
func (s *spans) enter(sp *span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := 0; k < len(s.all) && s.bytes+sp.size > maxSpanBytes; {
		if old := s.all[k]; !old.started {
			s.remove(k)
		} else {
			k++
		}
	}
	for len(s.all) > 0 && s.bytes+sp.size > maxSpanBytes {
		s.remove(0) // those who wait for it keep it
	}
	s.all = append(s.all, sp)
	s.bytes += sp.size
}

func (s *spans) remove(k int) {
	s.bytes -= s.all[k].size
	s.all = slices.Delete(s.all, k, k+1)
}

// take is the span that holds a range, if there is one, and whether the caller is to read it.
func (s *spans) take(e extent) (sp *span, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, sp := range s.all {
		if sp.shard != e.shard || e.off < sp.off || e.off+e.size > sp.off+sp.size {
			continue
		}
		first = !sp.started
		sp.started = true
		if sp.left--; sp.left == 0 {
			s.remove(k)
		}
		return sp, first
	}
	return nil, false
}

// fetchPlanned copies pieces, which lie in an extent, out of a span; false where there is none, or it could not be read: then they are
// read by themselves, with their own retries, so that one bad range is no fault of its neighbours.
func (s *shards) fetchPlanned(ctx context.Context, e extent, pieces []piece, data []byte) (bool, error) {
	sp, first := s.spans.take(e)
	if sp == nil {
		return false, nil
	}
	if first {
		mem := make([]byte, sp.size)
		sp.err = s.store.ReadAt(ctx, e.shard.object, mem, sp.off)
		sp.data = mem
		close(sp.ready)
	}
	select {
	case <-sp.ready:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if sp.err != nil {
		err := storeError(sp.err)
		var own *Error
		if errors.As(err, &own) && own.Cause == Deadline {
			return false, err // the deadline is the sample's, too
		}
		return false, ctx.Err()
	}
	for _, p := range pieces {
		copy(data[p.at:p.at+p.size], sp.data[p.off-sp.off:])
	}
	return true, nil
}
