package pipeline

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Durations are sorted into buckets that are exact below 16 ns and from there
// on an eighth of a power of two wide: a quantile is off by at most 1/16 of
// its value. The last bucket starts above 39 hours.
const (
	exactBuckets = 16
	firstPower   = 4 // 2^firstPower == exactBuckets
	lastPower    = 47
	subBits      = 3
	nBuckets     = exactBuckets + (lastPower-firstPower+1)<<subBits
)

var clockBase = time.Now()

// now is the monotonic clock, nanoseconds since the process started.
func now() int64 { return int64(time.Since(clockBase)) }

// stamp is the clock for what is only measured.
func stamp() int64 {
	if !instrumented {
		return 0
	}
	return now()
}

// A histogram counts durations in logarithmic buckets. It never allocates.
//
// All fields are atomics with one writer at a time (the worker that owns it,
// or whoever holds its queue's lock), so that a snapshot reads them unlocked.
type histogram struct {
	counts [nBuckets]atomic.Uint64
	sumNs  atomic.Int64
	maxNs  atomic.Int64
}

func (h *histogram) record(ns int64) {
	if !instrumented {
		return
	}
	if ns <= 0 {
		h.counts[0].Add(1)
		return
	}
	h.counts[bucketOf(ns)].Add(1)
	h.sumNs.Add(ns)
	if ns > h.maxNs.Load() {
		h.maxNs.Store(ns)
	}
}

func bucketOf(ns int64) int {
	if ns < exactBuckets {
		return int(ns)
	}
	power := bits.Len64(uint64(ns)) - 1
	if power > lastPower {
		return nBuckets - 1
	}
	sub := int(ns>>(power-subBits)) & (1<<subBits - 1)
	return exactBuckets + (power-firstPower)<<subBits + sub
}

// middleOf returns the duration in the middle of bucket i.
func middleOf(i int) int64 {
	if i < exactBuckets {
		return int64(i)
	}
	power := firstPower + (i-exactBuckets)>>subBits
	sub := int64((i - exactBuckets) & (1<<subBits - 1))
	width := int64(1) << (power - subBits)
	return (1<<subBits+sub)*width + width/2
}

// A tally is histograms added up at one moment.
type tally struct {
	counts [nBuckets]uint64
	n      uint64
	sumNs  int64
	maxNs  int64
}

func (t *tally) add(h *histogram) {
	for i := range h.counts {
		c := h.counts[i].Load()
		t.counts[i] += c
		t.n += c
	}
	t.sumNs += h.sumNs.Load()
	t.maxNs = max(t.maxNs, h.maxNs.Load())
}

func (t *tally) times() Times {
	out := Times{Count: t.n, SumNs: t.sumNs, MaxNs: t.maxNs}
	if t.n == 0 {
		return out
	}
	out.MeanNs = t.sumNs / int64(t.n)
	out.P50Ns = t.quantile(50)
	out.P90Ns = t.quantile(90)
	out.P99Ns = t.quantile(99)
	return out
}

// quantile returns the smallest bucket that percent of all durations do not
// exceed.
func (t *tally) quantile(percent uint64) int64 {
	rank := (t.n*percent + 99) / 100
	var seen uint64
	for i, c := range t.counts {
		if seen += c; seen >= rank {
			return min(middleOf(i), t.maxNs)
		}
	}
	return t.maxNs
}

// Buckets are sorted durations, written short: pairs of a bucket's number, rising, and how many durations are in it.
type Buckets []uint64

func (t *tally) buckets() (b Buckets) {
	for i, c := range t.counts {
		if c > 0 {
			b = append(b, uint64(i), c)
		}
	}
	return b
}

// Since returns the durations in b that are not in earlier, a look at the same counters some time before.
func (b Buckets) Since(earlier Buckets) (out Buckets) {
	for ; len(b) >= 2; b = b[2:] {
		for len(earlier) >= 2 && earlier[0] < b[0] {
			earlier = earlier[2:]
		}
		n := b[1]
		if len(earlier) >= 2 && earlier[0] == b[0] {
			n -= min(n, earlier[1])
		}
		if n > 0 {
			out = append(out, b[0], n)
		}
	}
	return out
}

// Quantile returns the duration, in nanoseconds and within 1/16, that percent of all do not exceed; 0 if there are none.
// It trusts nothing: buckets may come from another process.
func (b Buckets) Quantile(percent uint64) int64 {
	var n, seen uint64
	for i := 1; i < len(b); i += 2 {
		n += b[i]
	}
	rank := (n*percent + 99) / 100
	for i := 1; i < len(b); i += 2 {
		if seen += b[i]; seen >= rank {
			return middleOf(int(min(b[i-1], nBuckets-1)))
		}
	}
	return 0
}
