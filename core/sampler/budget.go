package sampler

import (
	"fmt"
	"math"
	"slices"
)

// A Budget bounds what the rows of a step have in all, when each is as long as the longest of its bucket. All are of a step, over
// all ranks, so that the same budget is the same order at any world size that divides Multiple.
type Budget struct {
	Rows     int64   // at most
	Total    float64 // rows x longest, at most
	Multiple int64   // the rows are one of this; it divides Rows
}

// Most is the longest that a sample may be: Multiple rows of it are Total.
func (b Budget) Most() float64 { return b.Total / float64(b.Multiple) }

// Fit is how many rows of a length a step has; 0 where even Multiple of them are too much.
func (b Budget) Fit(length float64) int64 {
	fits := func(n int64) bool { return float64(n*b.Multiple)*length <= b.Total }
	n := b.Rows / b.Multiple
	if !fits(n) {
		n = int64(b.Most()/length) + 1 // whichever way the divisions were rounded
		for n > 0 && !fits(n) {
			n--
		}
	}
	return n * b.Multiple
}

// A Bucket is samples of similar length that share their batches.
type Bucket struct {
	Samples           int64
	Shortest, Longest float64
	Rows              int64 // of a full step, over all ranks
}

// Bounded is the order of Bucketed with steps of as many rows as a bucket's own: Sequence and Cut in one.
//
// Each epoch shuffles every bucket and cuts it into full steps. What the buckets have left over lies behind one another, the longest
// bucket's first, and is cut by the same rule: each step has the rows of the bucket that it begins in, whose samples are the longest in
// it. So every step is full but for one, the shortest bucket's last, which ends the epoch; the others come shuffled. Each sample comes
// repeat times, one behind the other. It keeps 4 bytes per sample, and 8 words per bucket.
//
// Where buckets stay apart (NewApart), what each has left over is a step of its own, and those that are not full end the epoch, shuffled
// likewise.
type Bounded struct {
	buckets []Bucket
	ids     *IDs // bucket after bucket
	repeat  int64
	seed    uint64

	// Of each bucket, and the end:
	starts []int64 // in ids
	steps  []int64 // full steps before it
	at     []int64 // position of its first full step

	// Of what is left over, the longest bucket first, and the end:
	left []int64 // position of what each bucket has
	rest []int64 // position of each step; at most one begins in a bucket

	whole int64 // full steps of an epoch
	apart bool  // no step has samples of two buckets
}

// NewBounded orders samples by their lengths, which are 0 or more; bucket says for each which of the buckets 0, 1, ... it is in, longer
// samples in higher ones. It refuses a sample that b has no room for.
func NewBounded(lengths []float64, bucket []uint16, repeat int64, b Budget, seed uint64) (*Bounded, error) {
	n := int64(len(lengths))
	if n == 0 || len(bucket) != len(lengths) || repeat < 1 || repeat > maxSamples/n {
		return nil, fmt.Errorf("sampler: budget: got %d lengths and %d buckets, each sample %d times; want one of each for a sample, and at most 2^62 rows", n, len(bucket), repeat)
	}
	if b.Multiple < 1 || b.Rows < 1 || b.Rows%b.Multiple != 0 || b.Rows > maxGlobal || !(b.Total >= 0) || math.IsInf(b.Total, 0) {
		return nil, fmt.Errorf("sampler: budget: got %d rows, a multiple of %d, of %g in all; want 1 to 2^31 rows, such a multiple, and a total of 0 or more", b.Rows, b.Multiple, b.Total)
	}
	s := &Bounded{repeat: repeat, seed: seed}
	if err := s.measure(lengths, bucket, b); err != nil {
		return nil, err
	}
	s.place(bucket)
	s.cut()
	s.cutRest()
	return s, nil
}

// NewApart orders samples so that those of a step are all of one bucket. bucket says for each sample which of the buckets 0, 1, ... it is
// in, and rows how many rows a full step of each has, over all ranks. Of its Buckets no length is known.
func NewApart(bucket []uint16, rows []int64, repeat int64, seed uint64) (*Bounded, error) {
	n := int64(len(bucket))
	if n == 0 || repeat < 1 || repeat > maxSamples/n {
		return nil, fmt.Errorf("sampler: apart: got %d samples, each %d times; want 1 or more, and at most 2^62 rows", n, repeat)
	}
	s := &Bounded{repeat: repeat, seed: seed, apart: true, buckets: make([]Bucket, len(rows))}
	for i, n := range rows {
		if n < 1 || n > maxGlobal {
			return nil, fmt.Errorf("sampler: apart: bucket %d: got %d rows a step, want 1 to 2^31", i, n)
		}
		s.buckets[i].Rows = n
	}
	for i, k := range bucket {
		if int(k) >= len(rows) {
			return nil, fmt.Errorf("sampler: apart: sample %d: got bucket %d, want one of %d", i, k, len(rows))
		}
		s.buckets[k].Samples++
	}
	s.place(bucket)
	s.cut()
	s.cutApart()
	return s, nil
}

// measure finds what each bucket has, and how many rows a step of it.
func (s *Bounded) measure(lengths []float64, bucket []uint16, b Budget) error {
	s.buckets = make([]Bucket, int(slices.Max(bucket))+1)
	for i, length := range lengths {
		k := &s.buckets[bucket[i]]
		if !(length >= 0) || b.Fit(length) < 1 {
			return fmt.Errorf("sampler: budget: sample %d: got a length of %g, want 0 to %g", i, length, b.Most())
		}
		if k.Samples == 0 || length < k.Shortest {
			k.Shortest = length
		}
		k.Longest = max(k.Longest, length)
		k.Samples++
	}
	longest := 0.0
	for i := range s.buckets {
		k := &s.buckets[i]
		if k.Samples > 0 && k.Shortest < longest {
			return fmt.Errorf("sampler: budget: bucket %d: got a length of %g, want none below the %g of a bucket before", i, k.Shortest, longest)
		}
		longest = max(longest, k.Longest)
		k.Rows = b.Fit(longest)
	}
	return nil
}

// place sorts the samples by bucket.
func (s *Bounded) place(bucket []uint16) {
	n := int64(len(bucket))
	s.ids = NewIDs(n, n)
	s.ids.small, s.ids.large = s.ids.small[:cap(s.ids.small)], s.ids.large[:cap(s.ids.large)]
	s.starts = make([]int64, len(s.buckets)+1)
	for i := range s.buckets {
		s.starts[i+1] = s.starts[i] + s.buckets[i].Samples
	}
	next := slices.Clone(s.starts)
	for i, k := range bucket {
		s.ids.set(next[k], int64(i))
		next[k]++
	}
}

// cut gives every full step its positions, and behind them each bucket what it has left over.
func (s *Bounded) cut() {
	n := len(s.buckets)
	s.steps, s.at, s.left = make([]int64, n+1), make([]int64, n+1), make([]int64, n+1)
	for i, k := range s.buckets {
		full := k.Samples * s.repeat / k.Rows
		s.steps[i+1] = s.steps[i] + full
		s.at[i+1] = s.at[i] + full*k.Rows
	}
	s.left[0] = s.at[n]
	for i := range n {
		k := &s.buckets[n-1-i]
		s.left[i+1] = s.left[i] + k.Samples*s.repeat%k.Rows
	}
	s.whole = s.steps[n]
}

// cutRest cuts what is left over, whatever buckets it is of.
func (s *Bounded) cutRest() {
	at := s.left[0]
	for at < s.Len() {
		s.rest = append(s.rest, at)
		at += s.ofLeft(at).Rows
		if at <= s.Len() {
			s.whole++
		}
	}
	s.rest = append(s.rest, s.Len())
}

// cutApart leaves each bucket what it has left over: less than a full step.
func (s *Bounded) cutApart() {
	for i, at := range s.left[:len(s.buckets)] {
		if at < s.left[i+1] {
			s.rest = append(s.rest, at)
		}
	}
	s.rest = append(s.rest, s.Len())
}

// leftOf is the bucket that a position among the left-overs is of.
func (s *Bounded) leftOf(at int64) int { return len(s.buckets) - 1 - place(s.left, at) }

// ofLeft is likewise the bucket itself.
func (s *Bounded) ofLeft(at int64) *Bucket { return &s.buckets[s.leftOf(at)] }

// Buckets are the buckets, the shortest samples in the first; some may be empty. The caller does not change them.
func (s *Bounded) Buckets() []Bucket { return s.buckets }

func (s *Bounded) Len() int64   { return s.ids.Len() * s.repeat }
func (s *Bounded) Once() bool   { return s.repeat == 1 }
func (s *Bounded) Steps() int64 { return s.steps[len(s.buckets)] + int64(len(s.rest)) - 1 }

// Multiple divides the rows of every bucket.
func (s *Bounded) Multiple() (m int64) {
	for i := range s.buckets {
		for a := s.buckets[i].Rows; a != 0; {
			m, a = a, m%a
		}
	}
	return m
}

// shuffled is which step, as they were cut, comes in an epoch's place: first those that are full, then the others.
func (s *Bounded) shuffled(epoch, step int64) int64 {
	if step < s.whole {
		order := keyed(s.whole, s.seed, uint64(epoch), tagBucketOrder, 0)
		return order.At(step)
	}
	order := keyed(s.Steps()-s.whole, s.seed, uint64(epoch), tagBucketOrder, 1)
	return s.whole + order.At(step-s.whole)
}

// Bucket is the bucket that a step begins in: of those that stay apart, that of all its samples.
func (s *Bounded) Bucket(epoch, step int64) int {
	step = s.shuffled(epoch, step)
	if full := s.steps[len(s.buckets)]; step >= full {
		return s.leftOf(s.rest[step-full])
	}
	return place(s.steps, step)
}

// Step takes what is left over, where it pads, from the step itself, of which no sample is too long.
func (s *Bounded) Step(epoch, step int64) Span {
	step = s.shuffled(epoch, step)
	full := s.steps[len(s.buckets)]
	if step < full {
		k := place(s.steps, step)
		from := s.at[k] + (step-s.steps[k])*s.buckets[k].Rows
		return Span{From: from, To: from + s.buckets[k].Rows, Rows: s.buckets[k].Rows, Again: from}
	}
	from, to := s.rest[step-full], s.rest[step-full+1]
	return Span{From: from, To: to, Rows: s.ofLeft(from).Rows, Again: from}
}

func (s *Bounded) Append(dst []int64, epoch, from, to int64) []int64 {
	last, perm := -1, Perm{}
	for p := from; p < to; p++ {
		bucket, row := s.row(p)
		if bucket != last {
			last, perm = bucket, keyed(s.buckets[bucket].Samples, s.seed, uint64(epoch), tagBucket, uint64(bucket))
		}
		dst = append(dst, s.ids.At(s.starts[bucket]+perm.At(row/s.repeat)))
	}
	return dst
}

// row is the bucket of a position, and which of its rows it is.
func (s *Bounded) row(p int64) (bucket int, row int64) {
	if p < s.left[0] {
		bucket = place(s.at, p)
		return bucket, p - s.at[bucket]
	}
	i := place(s.left, p)
	bucket = len(s.buckets) - 1 - i
	return bucket, s.at[bucket+1] - s.at[bucket] + p - s.left[i]
}
