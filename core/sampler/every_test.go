package sampler

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// everyKind makes a sequence of each kind, of random size and make, for one global batch. all says that an epoch holds every sample.
func everyKind(r *rand.Rand, global int64) map[string]struct {
	s   Sequence
	n   int64
	all bool
} {
	type row = struct {
		s   Sequence
		n   int64
		all bool
	}
	n, seed := 1+r.Int64N(200), r.Uint64()
	weights, buckets := make([]float32, n), make([]uint16, n)
	for i := range n {
		weights[i], buckets[i] = 0.1+r.Float32(), uint16(r.IntN(4))
	}
	var lens []int64
	for left := n; left > 0; left -= lens[len(lens)-1] {
		lens = append(lens, min(left, r.Int64N(40)))
	}
	cut := r.Int64N(n) // of two strata
	strata := func(first, second float64) []Stratum {
		return []Stratum{{First: 0, Count: cut + 1, Weight: first}, {First: cut + 1, Count: max(n-cut-1, 1), Weight: second}}
	}
	kept := NewIDs(0, n)
	for i := range n {
		if r.IntN(2) == 0 || i == cut {
			kept.Add(i)
		}
	}
	shuffle := func(n int64) (Sequence, error) { return shuffled{n, seed}, nil }
	second := max(n, cut+2) // the second stratum has at least one sample
	return map[string]row{
		"sequential":        {sequential{n}, n, true},
		"shuffled":          {shuffled{n, seed}, n, true},
		"window":            {must(Window(lens, 1+r.IntN(12), seed)), n, true},
		"with replacement":  {must(Weighted(weights, r.Int64N(2*n)+1, true, seed)), n, false},
		"without":           {must(Weighted(weights, 0, false, seed)), n, true},
		"balanced":          {must(Mix(strata(1, 1), r.Int64N(2*n)+1, global, seed)), second, false},
		"stratified":        {must(Mix(strata(0, 0), 0, global, seed)), second, true},
		"bucketed":          {must(Bucketed(buckets, global, seed)), n, true},
		"repeated":          {must(Repeat(shuffled{n, seed}, 1+r.Int64N(4))), n, false},
		"filtered":          {must(Subset(kept, shuffle)), n, false},
		"filtered, a row":   {must(Repeat(must(Subset(kept, shuffle)), 3)), n, false},
		"phased":            {must(Phased([]int64{0, 1}, []Sequence{shuffled{n, seed}, shuffled{n, seed + 1}})), n, true},
		"window, repeated":  {must(Repeat(must(Window(lens, 2, seed)), 2)), n, false},
		"window of a shard": {must(Window([]int64{n}, 1, seed)), n, true},
	}
}

// run delivers at most so many steps from a state on. Unless that is to the end, one in four is still in flight at the stop. It returns
// the rows of each completed step, of all ranks.
func run(t *testing.T, r *rand.Rand, o *Order, s *State, most int) (map[at][]int64, State) {
	t.Helper()
	c, rows := mustCursor(t, o, s), map[at][]int64{}
	for range most {
		e, step, ok := c.Next()
		if !ok {
			break
		}
		if most < math.MaxInt && r.IntN(4) == 0 {
			continue
		}
		if err := c.Complete(e, step); err != nil {
			t.Fatal(err)
		}
		rows[at{e, step}], _ = global(o, e, step)
	}
	state, err := ParseState(c.State().JSON())
	if err != nil {
		t.Fatal(err)
	}
	return rows, state
}

// For any kind of order, size, batch, rule, seed, stop and new world: the ranks together get the epoch, nothing comes twice or is left
// out, and what was stopped and went on elsewhere is, bit for bit, what an uninterrupted run gives.
func TestEveryOrderStoppedAnywhereGoesOnAtAnyWorldSize(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 60 {
		worlds := []int{1, 2, 3, 4, 6, 12}
		size := int64(12)
		for name, c := range everyKind(r, size) {
			last := []Last{Cover, Drop, Pad}[r.IntN(3)]
			if last == Drop && c.s.Len() < size {
				last = Cover
			}
			const epochs = 2
			of := func(world int) *Order {
				return mustNew(t, Config{N: c.n, Batch: int(size) / world, World: world, Sequence: c.s, Epochs: epochs, Last: last, SourceHash: "ab", OrderHash: "cd"})
			}
			whole := of(1)
			got, state := map[at][]int64{}, (*State)(nil)
			for stops := r.IntN(3); stops >= 0; stops-- {
				most := r.IntN(int(whole.StepsPerEpoch()) * epochs)
				if stops == 0 {
					most = math.MaxInt
				}
				rows, next := run(t, r, of(worlds[r.IntN(len(worlds))]), state, most)
				for step, samples := range rows {
					if got[step] != nil {
						t.Fatalf("%s: step %v was delivered twice", name, step)
					}
					got[step] = samples
				}
				state = &next
			}
			checkWhole(t, name, whole, got, c.all && last == Cover && c.s.Once(), c.n)
		}
	}
}

// checkWhole compares the rows of every step with those of an uninterrupted run, and the epochs with the set of samples.
func checkWhole(t *testing.T, name string, o *Order, got map[at][]int64, all bool, n int64) {
	t.Helper()
	for e := range o.Config().Epochs {
		var epoch []int64
		for step := range o.StepsPerEpoch() {
			want, _ := o.Rows(e, step, 0, nil)
			if rows := got[at{e, step}]; !slices.Equal(rows, want) {
				t.Fatalf("%s: epoch %d step %d of %d: got %v, want %v", name, e, step, o.StepsPerEpoch(), rows, want)
			}
			epoch = append(epoch, want...)
		}
		slices.Sort(epoch)
		if all && !slices.Equal(epoch, must(Repeat(sequential{n}, 1)).Append(nil, 0, 0, n)) {
			t.Fatalf("%s: epoch %d holds %v, want each of %d samples once", name, e, epoch, n)
		}
	}
	if want := int(o.StepsPerEpoch() * o.Config().Epochs); len(got) != want {
		t.Fatalf("%s: %d steps, want %d", name, len(got), want)
	}
}

// billion is 1,000 shards of about a million samples each.
func billion() (lens []int64, n int64) {
	for i := range int64(1000) {
		lens = append(lens, 1_000_000+i%7*1000)
		n += lens[i]
	}
	return lens, n
}

// With a billion samples in shards every order without facts about samples goes on at 90 % of the epoch as it would have, at any world
// size, and what it keeps does not grow with the samples.
func TestOrdersOfABillionSamplesResumeAndKeepNothing(t *testing.T) {
	const size, batch = 96, 32
	lens, n := billion()
	r := rand.New(rand.NewPCG(3, 4))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	orders := map[string]Sequence{
		"sequential": sequential{n}, "shuffled": shuffled{n, 7}, "window of 1": must(Window(lens, 1, 7)), "window of 8": must(Window(lens, 8, 7)),
		"window of all": must(Window(lens, 1000, 7)), "repeated": must(Repeat(shuffled{n, 7}, 3)), "window, repeated": must(Repeat(must(Window(lens, 8, 7)), 2)),
	}
	for name, s := range orders {
		c := Config{N: n, Batch: size, World: 1, Sequence: s, SourceHash: "ab", OrderHash: "cd"}
		whole := mustNew(t, c)
		stopped := whole.State(3*whole.StepsPerEpoch()+whole.StepsPerEpoch()*9/10, []int64{3*whole.StepsPerEpoch() + whole.StepsPerEpoch()*9/10 + 2})
		for _, world := range []int{1, 3, 48} {
			c.Batch, c.World = size/world, world
			o := mustNew(t, c)
			cursor := mustCursor(t, o, &stopped)
			for _, ahead := range []int64{0, 1, 3} { // the third was completed
				e, step, ok := cursor.Next()
				if want := stopped.Step + ahead; !ok || e != 3 || step != want {
					t.Fatalf("%s: world %d goes on at epoch %d step %d, want 3 and %d", name, world, e, step, want)
				}
				want, _ := whole.Rows(e, step, 0, nil)
				if got, _ := global(o, e, step); !slices.Equal(got, want) {
					t.Fatalf("%s: world %d step %d: got %v, want %v", name, world, step, got, want)
				}
			}
		}
		for range 1000 {
			if rows, _ := whole.Rows(r.Int64N(3), r.Int64N(whole.StepsPerEpoch()), 0, nil); slices.Min(rows) < 0 || slices.Max(rows) >= n {
				t.Fatalf("%s: got %v", name, rows)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 1<<20 {
		t.Fatalf("%d bytes are kept by %d orders of a billion samples in %d shards", kept, len(orders), len(lens))
	}
	runtime.KeepAlive(orders)
}

// A billion samples: what comes at different positions is different, and a window of one shard gives that shard's samples, all of them.
func TestOrdersOfABillionSamplesRepeatNothing(t *testing.T) {
	lens, n := billion()
	r := rand.New(rand.NewPCG(5, 6))
	seen := make([]int64, 0, 200_000)
	for name, s := range map[string]Sequence{"shuffled": shuffled{n, 7}, "window of 8": must(Window(lens, 8, 7))} {
		seen = seen[:0]
		stride := n / int64(cap(seen))
		for at := r.Int64N(stride); at < n; at += stride {
			seen = s.Append(seen, 2, at, at+1)
		}
		slices.Sort(seen)
		if len(slices.Compact(slices.Clone(seen))) != len(seen) {
			t.Fatalf("%s: a sample comes at two of %d positions", name, len(seen))
		}
	}
	window := must(Window(lens, 1, 7)).(*window)
	first := window.plan(2).shards[0]
	shard := window.Append(nil, 2, 0, lens[first])
	slices.Sort(shard)
	for i, sample := range shard {
		if want := window.starts[first] + int64(i); sample != want {
			t.Fatalf("the first window of one shard holds sample %d, want %d", sample, want)
		}
	}
}

// The orders of windows over a billion samples, as other code evaluates their definition (bench/order.py).
func TestAWindowIsThatOfAnotherImplementation(t *testing.T) {
	lens, n := billion()
	for _, c := range []struct {
		width int
		epoch int64
		want  []int64
	}{
		{8, 0, []int64{855595137, 46882853, 954929861, 969466315, 378412070, 194212998}},
		{8, 3, []int64{183441008, 845819075, 950792548, 354280101, 56111678, 626797263}},
		{1, 3, []int64{990499933, 990400962, 791393489, 153935786, 154411337, 542127051}},
	} {
		s := must(Window(lens, c.width, 7))
		for i, at := range []int64{0, 1, n / 2, n * 9 / 10, n*9/10 + 1, n - 1} {
			if got := s.Append(nil, c.epoch, at, at+1)[0]; got != c.want[i] {
				t.Errorf("window of %d, epoch %d, position %d: got %d, want %d", c.width, c.epoch, at, got, c.want[i])
			}
		}
	}
}

// An order is a promise to whoever resumes with a later build: that of every kind stays what it was.
func TestEveryOrderIsWhatItWas(t *testing.T) {
	for name, c := range cases() {
		hash := sha256.New()
		for epoch := range int64(3) {
			for _, sample := range c.s.Append(nil, epoch, 0, c.s.Len()) {
				hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(sample)))
			}
		}
		if got := hex.EncodeToString(hash.Sum(nil)[:6]); got != was[name] {
			t.Errorf("%q: %q, was %q", name, got, was[name])
		}
	}
}

var was = map[string]string{
	"sequential": "02570798a8a1", "shuffled": "66c377364bc4", "window of one": "85cf715c7972", "window of three": "90e9c40a56ed",
	"window of all": "11052790ffe4", "with replacement": "50180278f558", "without": "8f60142fb1d1", "a part without": "92e81c20b1da",
	"mixed": "f06a146f4490", "in proportion": "3377d7d8a72f", "phased": "49146648be70", "bucketed": "f296b0b901cc", "repeated": "15d09a9113a6",
	"subset": "280ca88dfd0f", "bounded": "c4604e1fa7ca", "bounded, twice": "92f647b340fe",
}
