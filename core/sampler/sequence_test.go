package sampler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const testSeed = 77

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// ids is a list of the given samples.
func ids(samples ...int64) *IDs {
	l := NewIDs(int64(len(samples)), 1<<20)
	for _, s := range samples {
		l.Add(s)
	}
	return l
}

func oneOverPlace(n int) []float32 {
	w := make([]float32, n)
	for i := range w {
		w[i] = 1 / float32(i+1)
	}
	return w
}

// cases are sequences over samples below the number given, and whether an epoch holds them all.
func cases() map[string]struct {
	s   Sequence
	n   int64
	all bool
} {
	type row = struct {
		s   Sequence
		n   int64
		all bool
	}
	lens := []int64{5, 0, 17, 40, 1, 33, 4, 60, 25, 8}
	bucket := make([]uint16, 301)
	lengths := make([]float64, len(bucket))
	for i := range bucket {
		bucket[i] = uint16(i * i % 7)
		lengths[i] = float64(bucket[i])
	}
	strata := func(weights ...float64) []Stratum {
		return []Stratum{{First: 0, Count: 100, Weight: weights[0]}, {First: 100, Count: 7, Weight: weights[1]}, {IDs: ids(108, 107, 109), Weight: weights[2]}}
	}
	over := func(n int64) (Sequence, error) { return shuffled{n, testSeed}, nil }
	return map[string]row{
		"sequential":       {sequential{123}, 123, true},
		"shuffled":         {shuffled{123, testSeed}, 123, true},
		"window of one":    {must(Window(lens, 1, testSeed)), 193, true},
		"window of three":  {must(Window(lens, 3, testSeed)), 193, true},
		"window of all":    {must(Window(lens, 99, testSeed)), 193, true},
		"with replacement": {must(Weighted(oneOverPlace(90), 200, true, testSeed)), 90, false},
		"without":          {must(Weighted(oneOverPlace(90), 0, false, testSeed)), 90, true},
		"a part without":   {must(Weighted(oneOverPlace(90), 30, false, testSeed)), 90, false},
		"mixed":            {must(Mix(strata(3, 1, 1), 500, 16, testSeed)), 110, false},
		"in proportion":    {must(Mix(strata(0, 0, 0), 0, 16, testSeed)), 110, true},
		"phased":           {must(Phased([]int64{0, 1, 2}, []Sequence{shuffled{50, 1}, shuffled{50, 2}, shuffled{50, 3}})), 50, true},
		"bucketed":         {must(Bucketed(bucket, 16, testSeed)), 301, true},
		"bounded":          {must(NewBounded(lengths, bucket, 1, Budget{Rows: 16, Total: 40, Multiple: 1}, testSeed)), 301, true},
		"bounded, twice":   {must(NewBounded(lengths, bucket, 2, Budget{Rows: 16, Total: 40, Multiple: 2}, testSeed)), 301, true},
		"repeated":         {must(Repeat(shuffled{41, testSeed}, 3)), 41, true},
		"subset":           {must(Subset(ids(9, 4, 2, 7), over)), 10, false},
	}
}

func TestASequenceIsTheSameHoweverItIsAskedFor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, c := range cases() {
		for epoch := range int64(3) {
			whole := c.s.Append(nil, epoch, 0, c.s.Len())
			if int64(len(whole)) != c.s.Len() || c.s.Len() < 1 {
				t.Fatalf("%s: %d samples, want %d", name, len(whole), c.s.Len())
			}
			for range 50 {
				from := r.Int64N(c.s.Len() + 1)
				to := from + r.Int64N(c.s.Len()+1-from)
				got := c.s.Append([]int64{-1, -2}, epoch, from, to)
				if !slices.Equal(got[2:], whole[from:to]) || got[0] != -1 || got[1] != -2 {
					t.Fatalf("%s: epoch %d, [%d, %d): got %v, want %v", name, epoch, from, to, got[2:], whole[from:to])
				}
			}
			c.s.Append(nil, epoch+1, 0, 1) // what it keeps of another epoch does no harm
		}
	}
}

func TestASequenceHoldsEachSampleAsOftenAsItSays(t *testing.T) {
	for name, c := range cases() {
		epochs := map[string]bool{}
		for epoch := range int64(3) {
			whole := c.s.Append(nil, epoch, 0, c.s.Len())
			epochs[fmt.Sprint(whole)] = true
			slices.Sort(whole)
			if whole[0] < 0 || whole[len(whole)-1] >= c.n {
				t.Fatalf("%s: samples %d to %d, want 0 to %d", name, whole[0], whole[len(whole)-1], c.n-1)
			}
			once := slices.Compact(slices.Clone(whole))
			if c.s.Once() && len(once) != len(whole) {
				t.Fatalf("%s: a sample comes twice", name)
			}
			if c.all && int64(len(once)) != c.n {
				t.Fatalf("%s: %d different samples, want %d", name, len(once), c.n)
			}
		}
		if want := 3; name != "sequential" && len(epochs) != want {
			t.Errorf("%s: %d different orders in %d epochs", name, len(epochs), want)
		}
	}
}

// Any order: the ranks together get the epoch, none twice, and the same sequence at any world size.
func TestRanksShareAnySequenceAtAnyWorldSize(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, c := range cases() {
		if name == "bucketed" {
			continue // its batches are made for one global batch
		}
		for range 20 {
			world := []int{1, 2, 3, 4, 6}[r.IntN(5)]
			global := int64(12)
			last := []Last{Cover, Drop, Pad}[r.IntN(3)]
			if last == Drop && c.s.Len() < global {
				continue
			}
			o := mustNew(t, Config{N: c.n, Batch: int(global) / world, World: world, Sequence: c.s, Last: last})
			var all []int64
			for step := range o.StepsPerEpoch() {
				for rank := range world {
					at := o.Position(1, step, rank)
					rows, padded := o.Rows(1, step, rank, nil)
					if own := rows[:len(rows)-padded]; len(own) > 0 && !slices.Equal(own, c.s.Append(nil, 1, at, at+int64(len(own)))) {
						t.Fatalf("%s: step %d rank %d does not begin at position %d", name, step, rank, at)
					}
					all = append(all, rows...)
				}
			}
			want := c.s.Append(nil, 1, 0, c.s.Len())
			switch rows := o.StepsPerEpoch() * global; last {
			case Drop:
				want = want[:rows]
			case Pad:
				for int64(len(want)) < rows {
					want = append(want, want[:min(rows-int64(len(want)), c.s.Len())]...)
				}
			}
			if !slices.Equal(all, want) {
				t.Fatalf("%s: world %d, %s: %d rows differ from the sequence's %d", name, world, last, len(all), len(want))
			}
		}
	}
}

// The stated quality: neighbours are of one shard in about 1 of width cases, and a window touches width shards only.
func TestAWindowMixesItsShardsAndOpensNoOthers(t *testing.T) {
	const shards, each = 64, 200
	lens := slices.Repeat([]int64{each}, shards)
	for _, width := range []int{1, 2, 8, 64} {
		order := must(Window(lens, width, testSeed)).Append(nil, 0, 0, shards*each)
		same := 0
		for i := 1; i < len(order); i++ {
			if order[i]/each == order[i-1]/each {
				same++
			}
		}
		share, want := float64(same)/float64(len(order)-1), 1/float64(width)
		if math.Abs(share-want) > 0.1*want+0.01 {
			t.Errorf("width %d: %.3f of neighbours share a shard, want about %.3f", width, share, want)
		}
		for at := 0; at < len(order); at += width * each {
			opened := map[int64]bool{}
			for _, s := range order[at : at+width*each] {
				opened[s/each] = true
			}
			if len(opened) != width {
				t.Fatalf("width %d: a window touches %d shards", width, len(opened))
			}
		}
	}
}

func TestDrawsFollowTheirWeights(t *testing.T) {
	weights := []float32{1, 0, 2, 4, 0.5, 8}
	const draws = 200_000
	count := make([]float64, len(weights))
	for _, s := range must(Weighted(weights, draws, true, testSeed)).Append(nil, 3, 0, draws) {
		count[s]++
	}
	for i, w := range weights {
		want := float64(w) / 15.5 * draws
		if math.Abs(count[i]-want) > 5*math.Sqrt(want) {
			t.Errorf("sample %d of weight %g: drawn %g times, want about %.0f", i, w, count[i], want)
		}
	}
}

// Without replacement the first draw follows the weights, and the second those of what is left.
func TestDrawsWithoutReplacementAreSuccessive(t *testing.T) {
	weights := []float32{1, 2, 5}
	s := must(Weighted(weights, 0, false, testSeed))
	const epochs = 40_000
	var first [3]float64
	var secondAfter2 float64
	for epoch := range int64(epochs) {
		order := s.Append(nil, epoch, 0, 3)
		first[order[0]]++
		if order[0] == 2 && order[1] == 1 {
			secondAfter2++
		}
	}
	for i, w := range weights {
		if want := float64(w) / 8 * epochs; math.Abs(first[i]-want) > 5*math.Sqrt(want) {
			t.Errorf("sample %d is first %g times, want about %.0f", i, first[i], want)
		}
	}
	if want := first[2] * 2 / 3; math.Abs(secondAfter2-want) > 5*math.Sqrt(want) {
		t.Errorf("sample 1 follows sample 2 %g times, want about %.0f", secondAfter2, want)
	}
}

// The stated bound on proportions, over any number of blocks; in proportion the strata of every block are the data set's.
func TestAMixtureKeepsItsProportionsInEveryBlock(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for round := range 40 {
		n := 2 + r.IntN(12)
		strata, first, weight := make([]Stratum, n), int64(0), 0.0
		for i := range strata {
			strata[i] = Stratum{First: first, Count: 1 + r.Int64N(300), Weight: r.ExpFloat64() + 0.01}
			if round%2 == 0 {
				strata[i].Weight = 0
			}
			first += strata[i].Count
			weight += strata[i].Weight
		}
		block := 1 + r.Int64N(64)
		s := must(Mix(strata, 20*block, block, r.Uint64()))
		order := s.Append(nil, 0, 0, s.Len())
		drawn := make([]float64, n)
		for p, sample := range order {
			i := 0
			for sample >= strata[i].First+strata[i].Count {
				i++
			}
			drawn[i]++
			if (int64(p)+1)%block != 0 {
				continue
			}
			for i := range strata {
				share := strata[i].Weight / weight
				if weight == 0 {
					share = float64(strata[i].Count) / float64(first)
				}
				want := share * float64(p+1)
				if math.Abs(drawn[i]-want) > 1+share*float64(n) {
					t.Fatalf("after %d rows stratum %d of share %.3f was drawn %g times, want %.1f give or take %.1f", p+1, i, share, drawn[i], want, 1+share*float64(n))
				}
			}
		}
	}
}

func TestAStratumIsUsedUpBeforeASampleComesAgain(t *testing.T) {
	s := must(Mix([]Stratum{{First: 0, Count: 10, Weight: 1}, {First: 10, Count: 500, Weight: 1}}, 100, 10, testSeed))
	var small []int64
	for _, v := range s.Append(nil, 0, 0, 100) {
		if v < 10 {
			small = append(small, v)
		}
	}
	for at := 0; at+10 <= len(small); at += 10 {
		turn := slices.Clone(small[at : at+10])
		if slices.Sort(turn); len(slices.Compact(turn)) < 9 { // a block's shuffle may swap neighbours of two turns
			t.Fatalf("turn %v repeats", small[at:at+10])
		}
	}
	if len(small) < 45 {
		t.Fatalf("the small stratum came %d times, want about 50", len(small))
	}
}

func TestFullBatchesOfABucketedOrderAreOfOneBucket(t *testing.T) {
	lengths := make([]float64, 1000)
	r := rand.New(rand.NewPCG(9, 10))
	for i := range lengths {
		lengths[i] = float64(r.Int64N(1 << r.IntN(12)))
	}
	bucket := must(ByLength(lengths, 6))
	const global = 32
	order := must(Bucketed(bucket, global, testSeed)).Append(nil, 0, 0, 1000)
	mixed, switches := 0, 0
	for at := 0; at < len(order); at += global {
		batch := order[at:min(at+global, len(order))]
		of := func(s int64) uint16 { return bucket[s] }
		for _, s := range batch {
			if of(s) != of(batch[0]) {
				mixed++
				break
			}
		}
		if at > 0 && of(order[at-1]) != of(order[at]) {
			switches++
		}
	}
	if mixed > 6 || switches < 10 {
		t.Fatalf("%d batches are of several buckets, want at most the 6 of left-overs; the bucket changes %d times", mixed, switches)
	}
}

func TestBucketsHoldAboutEquallyManySamplesAndAscend(t *testing.T) {
	lengths := []float64{5, 1, 9, 3, 7, 2, 8, 4, 6, 0, 11, 10}
	bucket := must(ByLength(lengths, 4))
	for i, l := range lengths {
		if want := uint16(l / 3); bucket[i] != want {
			t.Errorf("length %g: bucket %d, want %d", l, bucket[i], want)
		}
	}
}

func TestRepeatedSamplesFollowEachOther(t *testing.T) {
	order := must(Repeat(shuffled{20, testSeed}, 3)).Append(nil, 0, 0, 60)
	for i := 0; i < 60; i += 3 {
		if order[i] != order[i+1] || order[i] != order[i+2] {
			t.Fatalf("got %v, want each sample three times in a row", order)
		}
	}
}

func TestSequencesRefuseWhatTheyCannotOrder(t *testing.T) {
	inf := float32(math.Inf(1))
	for want, err := range map[string]error{
		"window: got 0 shards":                         second(Window([]int64{1}, 0, 0)),
		"shard 1: got -1 samples":                      second(Window([]int64{1, -1}, 1, 0)),
		"2 shards hold no sample":                      second(Window([]int64{0, 0}, 1, 0)),
		"weight of sample 1: got -1":                   second(Weighted([]float32{1, -1}, 0, true, 0)),
		"weight of sample 0: got +Inf":                 second(Weighted([]float32{inf}, 0, true, 0)),
		"weights: got 0 above zero":                    second(Weighted([]float32{0, 0}, 0, true, 0)),
		"got 3 draws without replacement of 2 samples": second(Weighted([]float32{1, 2, 0}, 3, false, 0)),
		"stratum 1: got 0 samples":                     second(Mix([]Stratum{{Count: 1}, {}}, 0, 1, 0)),
		"stratum 0: got 5 samples, weight NaN":         second(Mix([]Stratum{{Count: 5, Weight: math.NaN()}}, 0, 1, 0)),
		"stratum 1: weight 0 is less":                  second(Mix([]Stratum{{Count: 5, Weight: 1}, {Count: 5}}, 0, 1, 0)),
		"mix: got 1 strata of 1 samples, -1 rows":      second(Mix([]Stratum{{Count: 1}}, -1, 1, 0)),
		"buckets: got 0 samples":                       second(Bucketed(nil, 1, 0)),
		"buckets: got 0, want 1 to 65536":              second(ByLength([]float64{1}, 0)),
		"got 0 beginnings of 1 sequences":              second(Phased(nil, []Sequence{sequential{3}})),
		"phase 1: got epoch 0":                         second(Phased([]int64{0, 0}, []Sequence{sequential{3}, sequential{3}})),
		"phase 1: got epoch 1 and 4 rows":              second(Phased([]int64{0, 1}, []Sequence{sequential{3}, sequential{4}})),
		"repeat: got 0":                                second(Repeat(sequential{3}, 0)),
		"subset: no full batch: no sample is left":     second(Subset(ids(), nil)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestLongListsTakeEightBytesAndShortOnesFour(t *testing.T) {
	for _, limit := range []int64{1 << 32, 1<<32 + 1} {
		l := NewIDs(3, limit)
		for _, v := range []int64{5, limit - 1, 0} {
			l.Add(v)
		}
		l.set(2, 7)
		if l.Len() != 3 || l.At(0) != 5 || l.At(1) != limit-1 || l.At(2) != 7 || (l.small == nil) != (limit > 1<<32) {
			t.Errorf("limit %d: %+v", limit, l)
		}
	}
}

func TestAPhaseHoldsFromItsEpochOn(t *testing.T) {
	a, b := shuffled{50, 1}, shuffled{50, 2}
	p := must(Phased([]int64{0, 3}, []Sequence{a, b}))
	for epoch, want := range map[int64]Sequence{0: a, 2: a, 3: b, 99: b} {
		if !slices.Equal(p.Append(nil, epoch, 0, 50), want.Append(nil, epoch, 0, 50)) {
			t.Errorf("epoch %d is of the other phase", epoch)
		}
	}
}
