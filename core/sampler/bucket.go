package sampler

import (
	"fmt"
	"slices"
	"sort"
)

// Bucketed returns the order in which the samples of a batch are of similar length, so that padding is small. bucket
// says for each sample which of the buckets 0, 1, ... it is in; global is the batch of all ranks.
//
// Each epoch shuffles every bucket, cuts it into global batches, and shuffles the batches. What the buckets have left
// over follows at the end of the epoch, neighbours together. Every sample comes exactly once. It keeps 4 bytes per sample.
func Bucketed(bucket []uint16, global int64, seed uint64) (Sequence, error) {
	if len(bucket) == 0 || global < 1 {
		return nil, fmt.Errorf("sampler: buckets: got %d samples and a global batch of %d, want 1 or more", len(bucket), global)
	}
	counts := make([]int64, int(slices.Max(bucket))+1)
	for _, b := range bucket {
		counts[b]++
	}
	b := &bucketed{global: global, seed: seed, starts: make([]int64, len(counts)+1), batches: make([]int64, len(counts)+1),
		left: make([]int64, len(counts)+1), ids: NewIDs(int64(len(bucket)), int64(len(bucket)))}
	for i, n := range counts {
		b.starts[i+1] = b.starts[i] + n
		b.batches[i+1] = b.batches[i] + n/global
		b.left[i+1] = b.left[i] + n%global
	}
	next := slices.Clone(b.starts)
	b.ids.small, b.ids.large = b.ids.small[:cap(b.ids.small)], b.ids.large[:cap(b.ids.large)]
	for i, k := range bucket {
		b.ids.set(next[k], int64(i))
		next[k]++
	}
	return b, nil
}

type bucketed struct {
	ids     *IDs    // bucket after bucket
	starts  []int64 // of each bucket in ids, and the end
	batches []int64 // full batches before each bucket
	left    []int64 // left-over samples before each bucket
	global  int64
	seed    uint64
}

func (b *bucketed) Len() int64 { return b.ids.Len() }
func (b *bucketed) Once() bool { return true }

func (b *bucketed) Append(dst []int64, epoch, from, to int64) []int64 {
	full := b.batches[len(b.batches)-1]
	order := keyed(full, b.seed, uint64(epoch), tagBucketOrder, 0)
	last, perm := -1, Perm{}
	pick := func(bucket int, k int64) int64 {
		if bucket != last {
			last, perm = bucket, keyed(b.starts[bucket+1]-b.starts[bucket], b.seed, uint64(epoch), tagBucket, uint64(bucket))
		}
		return b.ids.At(b.starts[bucket] + perm.At(k))
	}
	for p := from; p < to; p++ {
		if batch := p / b.global; batch < full {
			n := order.At(batch)
			bucket := place(b.batches, n)
			dst = append(dst, pick(bucket, (n-b.batches[bucket])*b.global+p%b.global))
			continue
		}
		q := p - full*b.global
		bucket := place(b.left, q)
		k := (b.batches[bucket+1]-b.batches[bucket])*b.global + q - b.left[bucket]
		dst = append(dst, pick(bucket, k))
	}
	return dst
}

// place is the part that holds v, given the parts' starts and the end.
func place(starts []int64, v int64) int {
	return sort.Search(len(starts), func(i int) bool { return starts[i] > v }) - 1
}

// ByLength puts samples into n buckets of about equal numbers of samples by length, the shortest in bucket 0.
func ByLength(lengths []float64, n int) ([]uint16, error) {
	if n < 1 || n > 1<<16 {
		return nil, fmt.Errorf("sampler: buckets: got %d, want 1 to 65536", n)
	}
	sorted := slices.Clone(lengths)
	slices.Sort(sorted)
	bucket := make([]uint16, len(lengths))
	for i, l := range lengths {
		rank, _ := slices.BinarySearch(sorted, l) // equal lengths share a bucket
		bucket[i] = uint16(rank * n / len(lengths))
	}
	return bucket, nil
}
