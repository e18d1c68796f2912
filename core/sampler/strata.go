package sampler

import (
	"fmt"
	"math/bits"
	"sort"
)

// Stratum is a part of the data set with its share of the rows.
type Stratum struct {
	IDs    *IDs    // its samples, at least 1; nil: the Count samples from First on
	First  int64   // used when IDs is nil
	Count  int64   // used when IDs is nil
	Weight float64 // above 0 and finite, relative to the other strata's; all 0: in proportion to their samples
}

func (s *Stratum) count() int64 {
	if s.IDs != nil {
		return s.IDs.Len()
	}
	return s.Count
}

func (s *Stratum) at(i int64) int64 {
	if s.IDs != nil {
		return s.IDs.At(i)
	}
	return s.First + i
}

// Mix returns the order that draws from several strata in fixed proportions: classes of equal weight for a balanced
// order, in proportion for stratified batches, data sets by weight for a mixture.
//
// Of the first n blocks of block positions each holds the strata in the same proportions: a stratum of share w has been
// drawn w * n * block times, give or take 1 + w * len(strata). Inside a block the order is shuffled. A stratum's samples
// come in a shuffled order of their own, again and again in new orders when it is used up. In proportion and with rows the
// number of samples, every sample comes exactly once.
//
// rows is the epoch's length, 0 the number of samples. It keeps what the strata keep, and 24 bytes for each of them.
func Mix(strata []Stratum, rows, block int64, seed uint64) (Sequence, error) {
	m := &mixture{strata: strata, rows: rows, block: block, seed: seed, rates: make([]uint64, len(strata))}
	total, weight := int64(0), 0.0
	for i := range strata {
		n := strata[i].count()
		if w := strata[i].Weight; n < 1 || !(w >= 0) || w > 1e300 {
			return nil, fmt.Errorf("sampler: stratum %d: got %d samples, weight %g; want a sample and a weight of 0 or more", i, n, w)
		}
		total += n
		weight += strata[i].Weight
	}
	if total == 0 || rows < 0 || rows > 1<<40 || block < 1 || total > 1<<40 {
		return nil, fmt.Errorf("sampler: mix: got %d strata of %d samples, %d rows, blocks of %d; want samples and rows up to 2^40",
			len(strata), total, rows, block)
	}
	if m.rows == 0 {
		m.rows = total
	}
	m.proportional = weight == 0
	for i := range strata {
		if m.proportional {
			m.rates[i] = uint64(strata[i].count()) << 20
		} else if m.rates[i] = uint64(strata[i].Weight / weight * (1 << 60)); m.rates[i] == 0 {
			return nil, fmt.Errorf("sampler: stratum %d: weight %g is less than 2^-60 of all", i, strata[i].Weight)
		}
	}
	return m, nil
}

// A mixture runs on a clock. Stratum i ticks at rate rates[i] / 2^60 a tick of the clock: by time t it has been drawn
// floor((t * rate + phase) / 2^60) times. Position p belongs to the first time at which all together have been drawn more
// than p times. In proportion the rates are samples * 2^20, so that at time 2^40 each has been drawn as often as it has
// samples.
type mixture struct {
	strata       []Stratum
	rates        []uint64 // at most 2^60
	rows, block  int64
	seed         uint64
	proportional bool
}

func (m *mixture) Len() int64 { return m.rows }

func (m *mixture) Once() bool {
	return m.proportional && m.rows <= m.samples()
}

func (m *mixture) samples() (n int64) {
	for i := range m.strata {
		n += m.strata[i].count()
	}
	return n
}

// drawn is how often stratum i has been drawn by time t.
func (m *mixture) drawn(i int, t uint64) int64 {
	high, low := bits.Mul64(t, m.rates[i])
	phase := mix(m.seed^uint64(i)) >> 4
	low, carry := bits.Add64(low, phase, 0)
	return int64((high+carry)<<4 | low>>60)
}

// counts writes how often each stratum has been drawn before position x, and returns it in the order of the strata.
func (m *mixture) counts(x int64, into []int64) []int64 {
	all := func(t uint64) (n int64) {
		for i := range m.strata {
			n += m.drawn(i, t)
		}
		return n
	}
	t := uint64(sort.Search(1<<62, func(t int) bool { return all(uint64(t)) >= x }))
	into = into[:0]
	if t == 0 {
		for range m.strata {
			into = append(into, 0)
		}
		return into
	}
	left := x - all(t-1)
	for i := range m.strata {
		before := m.drawn(i, t-1)
		if left > 0 && m.drawn(i, t) > before { // who ticks at t goes in the order of the strata
			before++
			left--
		}
		into = append(into, before)
	}
	return into
}

func (m *mixture) Append(dst []int64, epoch, from, to int64) []int64 {
	var before, after []int64
	for from < to {
		number := from / m.block
		start := number * m.block
		end := min(start+m.block, m.rows)
		before, after = m.counts(start, before), m.counts(end, after)
		perm := keyed(end-start, m.seed, uint64(epoch), tagBlock, uint64(number))
		for ; from < to && from < end; from++ {
			q := perm.At(from - start)
			i := 0
			for q >= after[i]-before[i] {
				q -= after[i] - before[i]
				i++
			}
			dst = append(dst, m.pick(i, before[i]+q, epoch))
		}
	}
	return dst
}

// pick is the k-th draw of a stratum in an epoch.
func (m *mixture) pick(i int, k, epoch int64) int64 {
	s := &m.strata[i]
	n := s.count()
	perm := keyed(n, mix(m.seed^uint64(k/n)), uint64(epoch), tagStratum, uint64(i))
	return s.at(perm.At(k % n))
}

// Phased returns the sequence that is, in each epoch, the one whose turn it is: of[i] from epoch from[i] on, from[0] = 0,
// ascending. All have one length.
func Phased(from []int64, of []Sequence) (Sequence, error) {
	if len(of) == 0 || len(from) != len(of) || from[0] != 0 {
		return nil, fmt.Errorf("sampler: phases: got %d beginnings of %d sequences, want as many of each and the first at epoch 0", len(from), len(of))
	}
	for i := range of {
		if i > 0 && from[i] <= from[i-1] || of[i].Len() != of[0].Len() {
			return nil, fmt.Errorf("sampler: phase %d: got epoch %d and %d rows, want a later epoch than before and %d rows", i, from[i], of[i].Len(), of[0].Len())
		}
	}
	if len(of) == 1 {
		return of[0], nil
	}
	return &phased{from: from, of: of}, nil
}

type phased struct {
	from []int64
	of   []Sequence
}

func (p *phased) at(epoch int64) Sequence {
	return p.of[sort.Search(len(p.from), func(i int) bool { return p.from[i] > epoch })-1]
}

func (p *phased) Len() int64 { return p.of[0].Len() }

func (p *phased) Once() bool {
	for _, s := range p.of {
		if !s.Once() {
			return false
		}
	}
	return true
}

func (p *phased) Append(dst []int64, epoch, from, to int64) []int64 {
	return p.at(epoch).Append(dst, epoch, from, to)
}
