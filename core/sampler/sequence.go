package sampler

import "fmt"

// A Sequence says which sample stands at each position of an epoch's global order, before it is cut into batches and
// ranks. It is a pure function of (epoch, position), and any number of goroutines may ask.
type Sequence interface {
	// Len is the number of positions of an epoch, at least 1 and the same in every epoch.
	Len() int64

	// Append appends the samples at positions [from, to) of an epoch; 0 <= from <= to <= Len.
	Append(dst []int64, epoch, from, to int64) []int64

	// Once reports whether no sample comes twice in an epoch.
	Once() bool
}

// Tags keep the permutations of different uses apart.
const (
	tagShard = iota + 1
	tagBlock
	tagStratum
	tagDraw
	tagBucket
	tagBucketOrder
)

// keyed is the permutation number k of a use.
func keyed(n int64, seed, epoch, tag, k uint64) Perm {
	return NewPerm(n, mix(seed^mix(tag<<56^k)), epoch)
}

// Sequential is 0, 1, 2 ... n-1 in every epoch.
func Sequential(n int64) Sequence { return sequential{n} }

type sequential struct{ n int64 }

func (s sequential) Len() int64 { return s.n }
func (s sequential) Once() bool { return true }

func (s sequential) Append(dst []int64, _, from, to int64) []int64 {
	for i := from; i < to; i++ {
		dst = append(dst, i)
	}
	return dst
}

// Shuffled is a permutation of [0, n), another in every epoch. It keeps nothing per sample.
func Shuffled(n int64, seed uint64) Sequence { return shuffled{n, seed} }

type shuffled struct {
	n    int64
	seed uint64
}

func (s shuffled) Len() int64 { return s.n }
func (s shuffled) Once() bool { return true }

func (s shuffled) Append(dst []int64, epoch, from, to int64) []int64 {
	perm := NewPerm(s.n, s.seed, uint64(epoch))
	for i := from; i < to; i++ {
		dst = append(dst, perm.At(i))
	}
	return dst
}

// Subset returns a sequence over the samples ids: what s says of [0, len(ids)) is read as places in ids. It keeps ids.
func Subset(ids *IDs, over func(n int64) (Sequence, error)) (Sequence, error) {
	if ids.Len() == 0 {
		return nil, fmt.Errorf("sampler: subset: %w: no sample is left", ErrNoBatch)
	}
	s, err := over(ids.Len())
	if err != nil {
		return nil, err
	}
	return &subset{ids: ids, of: s}, nil
}

type subset struct {
	ids *IDs
	of  Sequence
}

func (s *subset) Len() int64 { return s.of.Len() }
func (s *subset) Once() bool { return s.of.Once() }

func (s *subset) Append(dst []int64, epoch, from, to int64) []int64 {
	n := len(dst)
	dst = s.of.Append(dst, epoch, from, to)
	for i := n; i < len(dst); i++ {
		dst[i] = s.ids.At(dst[i])
	}
	return dst
}

// Repeat returns the sequence in which every sample of s comes k times in a row: repeated augmentation.
func Repeat(s Sequence, k int64) (Sequence, error) {
	if k < 1 || k > maxSamples/s.Len() {
		return nil, fmt.Errorf("sampler: repeat: got %d, want 1 or more, and at most 2^62 rows an epoch", k)
	}
	if k == 1 {
		return s, nil
	}
	return &repeated{of: s, k: k}, nil
}

type repeated struct {
	of Sequence
	k  int64
}

func (r *repeated) Len() int64 { return r.of.Len() * r.k }
func (r *repeated) Once() bool { return false }

func (r *repeated) Append(dst []int64, epoch, from, to int64) []int64 {
	if from == to {
		return dst
	}
	n, first := int64(len(dst)), from/r.k
	dst = r.of.Append(dst, epoch, first, (to-1)/r.k+1)
	for range to - from - (int64(len(dst)) - n) {
		dst = append(dst, 0)
	}
	dst = dst[:n+max(to-from, int64(len(dst))-n)]
	for i := to - 1; i >= from; i-- { // from the end, so that nothing is overwritten before it is read
		dst[n+i-from] = dst[n+i/r.k-first]
	}
	return dst[:n+to-from]
}

// IDs is a list of samples in 4 bytes each while they fit, else 8.
type IDs struct {
	small []uint32
	large []int64
}

// NewIDs makes room for n samples below limit.
func NewIDs(n, limit int64) *IDs {
	if limit <= 1<<32 {
		return &IDs{small: make([]uint32, 0, n)}
	}
	return &IDs{large: make([]int64, 0, n)}
}

// Len is the number of samples.
func (l *IDs) Len() int64 { return int64(len(l.small) + len(l.large)) }

// At is the sample at place i.
func (l *IDs) At(i int64) int64 {
	if l.large != nil {
		return l.large[i]
	}
	return int64(l.small[i])
}

// Add appends a sample.
func (l *IDs) Add(sample int64) {
	if l.large != nil {
		l.large = append(l.large, sample)
		return
	}
	l.small = append(l.small, uint32(sample))
}

// set replaces the sample at place i, growing the list to it.
func (l *IDs) set(i, sample int64) {
	if l.large != nil {
		l.large = l.large[:max(int64(len(l.large)), i+1)]
		l.large[i] = sample
		return
	}
	l.small = l.small[:max(int64(len(l.small)), i+1)]
	l.small[i] = uint32(sample)
}
