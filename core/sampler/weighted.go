package sampler

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// Weighted returns the order in which samples are drawn with probability in proportion to their weights. weights are
// finite and not negative; rows is the epoch's length, 0 the number of weights. It does not keep weights.
//
// With replacement every position is an independent draw: an alias table of 12 bytes per sample. Without, an epoch holds
// rows different samples, in the order of successive draws: 4 bytes per sample for each of two epochs in use, and 12 more
// while an epoch's order is made, which takes a sort. (8 bytes instead of 4 beyond 2^32 samples.)
func Weighted(weights []float32, rows int64, replacement bool, seed uint64) (Sequence, error) {
	sum, positive := 0.0, int64(0)
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(float64(w), 0) {
			return nil, fmt.Errorf("sampler: weight of sample %d: got %g, want 0 to 3.4e38", i, w)
		}
		if w > 0 {
			positive++
		}
		sum += float64(w)
	}
	if rows == 0 {
		rows = int64(len(weights))
	}
	switch {
	case positive == 0 || rows < 0:
		return nil, fmt.Errorf("sampler: weights: got %d above zero and %d draws; want at least 1 of each", positive, rows)
	case int64(len(weights)) >= 1<<32:
		return nil, fmt.Errorf("sampler: weights: got %d samples, want fewer than 2^32", len(weights))
	case replacement:
		return newAlias(weights, sum, rows, seed), nil
	case rows > positive:
		return nil, fmt.Errorf("sampler: weights: got %d draws without replacement of %d samples with a weight; "+
			"draw fewer, or with replacement", rows, positive)
	}
	return newRace(weights, rows, seed), nil
}

// An alias table turns one uniform draw into a weighted one (Vose's method): column i is sample i with probability
// keep[i] / 2^64, else its alias.
type alias struct {
	keep  []uint64
	other []uint32
	rows  int64
	seed  uint64
}

func newAlias(weights []float32, sum float64, rows int64, seed uint64) *alias {
	n := len(weights)
	a := &alias{keep: make([]uint64, n), other: make([]uint32, n), rows: rows, seed: seed}
	scaled := make([]float64, n)
	var small, large []uint32
	for i, w := range weights {
		a.other[i], scaled[i] = uint32(i), float64(w)/sum*float64(n)
		if scaled[i] < 1 {
			small = append(small, uint32(i))
		} else {
			large = append(large, uint32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		a.keep[s], a.other[s] = uint64(scaled[s]*(1<<63))<<1, l
		if scaled[l] -= 1 - scaled[s]; scaled[l] < 1 {
			small, large = append(small, l), large[:len(large)-1]
		}
	}
	for _, i := range append(small, large...) { // what rounding has left over
		a.keep[i] = math.MaxUint64
		if weights[i] == 0 {
			a.keep[i], a.other[i] = 0, heaviest(weights)
		}
	}
	return a
}

func heaviest(weights []float32) uint32 {
	return uint32(slices.Index(weights, slices.Max(weights)))
}

func (a *alias) Len() int64 { return a.rows }
func (a *alias) Once() bool { return false }

func (a *alias) Append(dst []int64, epoch, from, to int64) []int64 {
	key := mix(a.seed ^ mix(tagDraw<<56^uint64(epoch)))
	for p := from; p < to; p++ {
		u := mix(key ^ mix(uint64(p)))
		column, rest := bits.Mul64(u, uint64(len(a.keep)))
		if rest >= a.keep[column] {
			column = uint64(a.other[column])
		}
		dst = append(dst, int64(column))
	}
	return dst
}

// A race gives each sample the time -log2(u) / weight, u uniform in (0, 1]; who is earlier comes first. That is a
// sequence of weighted draws without replacement. Times are whole numbers, the same on every machine.
type race struct {
	rates []uint32 // weights relative to the largest, 2^32-1; 0: never
	rows  int64
	seed  uint64

	mu     sync.Mutex // guards orders
	orders [2]raceOrder
}

type raceOrder struct {
	epoch int64
	ids   []uint32
}

func newRace(weights []float32, rows int64, seed uint64) *race {
	r := &race{rates: make([]uint32, len(weights)), rows: rows, seed: seed}
	top := float64(slices.Max(weights))
	for i, w := range weights {
		if w > 0 {
			r.rates[i] = uint32(max(float64(w)/top*math.MaxUint32, 1))
		}
	}
	return r
}

func (r *race) Len() int64 { return r.rows }
func (r *race) Once() bool { return true }

func (r *race) Append(dst []int64, epoch, from, to int64) []int64 {
	for _, id := range r.order(epoch)[from:to] {
		dst = append(dst, int64(id))
	}
	return dst
}

// order is the epoch's order, made when it is asked for first.
func (r *race) order(epoch int64) []uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := &r.orders[epoch&1]
	if place.ids != nil && place.epoch == epoch {
		return place.ids
	}
	type runner struct {
		time uint64
		id   uint32
	}
	runners := make([]runner, 0, len(r.rates))
	key := mix(r.seed ^ mix(tagDraw<<56^uint64(epoch)))
	for i, rate := range r.rates {
		if rate > 0 {
			runners = append(runners, runner{raceTime(mix(key^mix(uint64(i))), rate), uint32(i)})
		}
	}
	slices.SortFunc(runners, func(a, b runner) int {
		if a.time != b.time {
			if a.time < b.time {
				return -1
			}
			return 1
		}
		return int(int64(a.id) - int64(b.id))
	})
	place.epoch, place.ids = epoch, make([]uint32, r.rows)
	for i := range place.ids {
		place.ids[i] = runners[i].id
	}
	return place.ids
}

// raceTime is -log2((u+1) / 2^64) / rate in units of 2^-57: whole numbers only, so that all machines agree.
func raceTime(u uint64, rate uint32) uint64 {
	if u == math.MaxUint64 {
		return 0
	}
	u++
	zeros := bits.LeadingZeros64(u)
	m := u << zeros // the mantissa, in [2^63, 2^64)
	log := uint64(0)
	for range 26 { // log2(m / 2^63), a bit at a time: square, and halve when it reaches 2
		high, low := bits.Mul64(m, m)
		log <<= 1
		if high>>63 != 0 {
			log |= 1
			m = high
		} else {
			m = high<<1 | low>>63
		}
	}
	time := uint64(zeros+1)<<26 - log
	return time << 31 / uint64(rate) // time is at most 64 << 26 = 2^32
}
