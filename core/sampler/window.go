package sampler

import (
	"fmt"
	"sort"
	"sync/atomic"
)

// Window returns the order for data in shards: the shards are shuffled, each run of width of them is a window, and the
// samples of a window are shuffled among themselves. lens are the shards' numbers of samples. Reads stay near each
// other, since an epoch opens width shards at a time and leaves each for good.
//
// How good a shuffle it is: two samples that follow each other come from the same shard in about 1 of width cases, as in
// a full shuffle of width shards; each sample's window is anywhere in the epoch. With width >= the number of shards it
// is a full shuffle. It keeps 16 bytes per shard, and 16 more for each epoch in use.
func Window(lens []int64, width int, seed uint64) (Sequence, error) {
	if width < 1 {
		return nil, fmt.Errorf("sampler: window: got %d shards, want 1 or more", width)
	}
	w := &window{lens: lens, starts: make([]int64, len(lens)), width: width, seed: seed}
	for i, n := range lens {
		if n < 0 || n > maxSamples-w.n {
			return nil, fmt.Errorf("sampler: shard %d: got %d samples, want 0 or more, and at most 2^62 in all", i, n)
		}
		w.starts[i] = w.n
		w.n += n
	}
	if w.n == 0 {
		return nil, fmt.Errorf("sampler: window: %w: %d shards hold no sample", ErrNoBatch, len(lens))
	}
	return w, nil
}

type window struct {
	lens, starts []int64
	n            int64
	width        int
	seed         uint64
	plans        [2]atomic.Pointer[windowPlan] // of the epochs asked for last, by parity
}

// A windowPlan is the order of the shards in one epoch.
type windowPlan struct {
	epoch  int64
	shards []int64 // in order
	ends   []int64 // position after each
}

func (w *window) Len() int64 { return w.n }
func (w *window) Once() bool { return true }

func (w *window) plan(epoch int64) *windowPlan {
	place := &w.plans[epoch&1]
	if p := place.Load(); p != nil && p.epoch == epoch {
		return p
	}
	p := &windowPlan{epoch: epoch, shards: make([]int64, len(w.lens)), ends: make([]int64, len(w.lens))}
	perm, end := keyed(int64(len(w.lens)), w.seed, uint64(epoch), tagShard, 0), int64(0)
	for i := range p.shards {
		p.shards[i] = perm.At(int64(i))
		end += w.lens[p.shards[i]]
		p.ends[i] = end
	}
	place.Store(p)
	return p
}

func (w *window) Append(dst []int64, epoch, from, to int64) []int64 {
	p := w.plan(epoch)
	for from < to {
		number := p.at(from) / w.width
		first, last := number*w.width, min((number+1)*w.width, len(p.shards))
		start, end := p.start(first), p.ends[last-1]
		perm := keyed(end-start, w.seed, uint64(epoch), tagBlock, uint64(number))
		for ; from < to && from < end; from++ {
			q := start + perm.At(from-start)
			shard := p.at(q)
			dst = append(dst, w.starts[p.shards[shard]]+q-p.start(shard))
		}
	}
	return dst
}

// at is the place in the plan of the shard that holds position q.
func (p *windowPlan) at(q int64) int {
	return sort.Search(len(p.ends), func(i int) bool { return p.ends[i] > q })
}

func (p *windowPlan) start(i int) int64 {
	if i == 0 {
		return 0
	}
	return p.ends[i-1]
}
