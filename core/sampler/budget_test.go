package sampler

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// bounding is an order by lengths, and what it was made of.
type bounding struct {
	lengths []float64
	repeat  int64
	budget  Budget
	of      *Bounded
}

// anyBounding draws lengths, buckets and a budget that has room for every sample.
func anyBounding(r *rand.Rand) (c bounding) {
	c.lengths = make([]float64, 1+r.IntN(300))
	for i := range c.lengths {
		c.lengths[i] = math.Floor(r.ExpFloat64() * 100)
		if r.IntN(3) == 0 {
			c.lengths[i] += 0.25
		}
	}
	c.repeat = 1 + int64(r.IntN(4)/3)*r.Int64N(3)
	c.budget.Multiple = 1 + r.Int64N(12)
	c.budget.Rows = c.budget.Multiple * (1 + r.Int64N(10))
	c.budget.Total = max(slices.Max(c.lengths), 1) * float64(c.budget.Multiple) * (1 + 3*r.Float64())
	bucket := must(ByLength(c.lengths, 1+r.IntN(9)))
	c.of = must(NewBounded(c.lengths, bucket, c.repeat, c.budget, r.Uint64()))
	return c
}

// order is that of a world.
func (c *bounding) order(t *testing.T, world int64, last Last) *Order {
	t.Helper()
	return mustNew(t, Config{
		N: int64(len(c.lengths)), Batch: int(c.budget.Rows / world), World: int(world), Sequence: c.of, Cut: c.of, Epochs: 2, Last: last,
		SourceHash: "ab", OrderHash: "cd", Budget: c.budget,
	})
}

// anyWorld is a size that divides n.
func anyWorld(r *rand.Rand, n int64) int64 {
	for {
		if w := 1 + r.Int64N(n); n%w == 0 {
			return w
		}
	}
}

// checkStep holds a step against the contracts: every rank has equally many rows, unless it is the last and is covered, and no rank's rows, padding
// included, are more than its part of the budget when each is as long as the longest.
func (c *bounding) checkStep(t *testing.T, o *Order, epoch, step int64, last Last) (all []int64) {
	t.Helper()
	world, final := int64(o.Config().World), step == o.StepsPerEpoch()-1
	low, high, padding := math.MaxInt, 0, 0
	for rank := range int(world) {
		rows, padded := o.Rows(epoch, step, rank, nil)
		low, high, padding = min(low, len(rows)), max(high, len(rows)), padding+padded
		longest := 0.0
		for _, i := range rows {
			longest = max(longest, c.lengths[i])
		}
		if n := int64(len(rows)); float64(n*world)*longest > c.budget.Total || n*world > c.budget.Rows {
			t.Fatalf("%+v: step %d: rank %d of %d has %d rows of up to %g", c.budget, step, rank, world, n, longest)
		}
		all = append(all, rows[:len(rows)-padded]...)
	}
	if high-low > 1 || high != low && (last != Cover || !final) || padding > 0 && (last != Pad || !final) {
		t.Fatalf("%+v, %s: step %d of %d: ranks have %d to %d rows, %d of them padding", c.budget, last, step, o.StepsPerEpoch(), low, high, padding)
	}
	if n := int64(len(all) + padding); n%c.budget.Multiple != 0 && (last != Cover || !final) {
		t.Fatalf("%+v: step %d has %d rows, want a multiple", c.budget, step, n)
	}
	return all
}

// For any lengths, buckets, budget, world and rule: no batch is over the budget, ranks have equal parts, each sample comes as often as it should.
func TestNoBatchIsOverTheBudgetAndEachSampleComesOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 300 {
		c, last := anyBounding(r), []Last{Cover, Drop, Pad}[r.IntN(3)]
		world := anyWorld(r, c.budget.Multiple)
		if last == Drop && c.of.whole == 0 {
			continue
		}
		o := c.order(t, world, last)
		count := make([]int64, len(c.lengths))
		for step := range o.StepsPerEpoch() {
			for _, i := range c.checkStep(t, o, 3, step, last) {
				count[i]++
			}
		}
		missing := c.repeat * int64(len(count))
		for i, n := range count {
			if missing -= n; n > c.repeat || last != Drop && n != c.repeat {
				t.Fatalf("%+v, %s: sample %d comes %d times, want %d", c.budget, last, i, n, c.repeat)
			}
		}
		if missing >= c.budget.Rows {
			t.Fatalf("%+v: drop left out %d rows, want less than a step", c.budget, missing)
		}
	}
}

// What was stopped anywhere and went on at another world size is, row for row, what an uninterrupted run gives.
func TestABoundedOrderStoppedAnywhereGoesOnAtAnyWorldSize(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for range 200 {
		c, last := anyBounding(r), []Last{Cover, Drop, Pad}[r.IntN(3)]
		if c.of.whole == 0 {
			last = Cover
		}
		whole := c.order(t, 1, last)
		got, state := map[at][]int64{}, (*State)(nil)
		for stops := r.IntN(3); stops >= 0; stops-- {
			most := r.IntN(int(whole.StepsPerEpoch()) * 2)
			if stops == 0 {
				most = math.MaxInt
			}
			rows, next := run(t, r, c.order(t, anyWorld(r, c.budget.Multiple), last), state, most)
			for step, samples := range rows {
				if got[step] != nil {
					t.Fatalf("step %v was delivered twice", step)
				}
				got[step] = samples
			}
			state = &next
		}
		checkWhole(t, "bounded", whole, got, last == Cover && c.repeat == 1, int64(len(c.lengths)))
	}
}

// The steps of an epoch hold every position once, a rank's rows are those from its position on, and an epoch's steps come in another order than
// those of the epoch before.
func TestStepsOfABoundedOrderDivideTheEpoch(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	shuffled := false
	for range 100 {
		c := anyBounding(r)
		o := c.order(t, anyWorld(r, c.budget.Multiple), Cover)
		for epoch := range int64(2) {
			var spans []Span
			for step := range o.StepsPerEpoch() {
				all := c.of.Step(epoch, step)
				spans = append(spans, all)
				if !all.Full() && step < o.StepsPerEpoch()-1 {
					t.Fatalf("step %d of %d is not full: %+v", step, o.StepsPerEpoch(), all)
				}
				at := o.Position(epoch, step, o.Config().World-1)
				rows, _ := o.Rows(epoch, step, o.Config().World-1, nil)
				if !slices.Equal(rows, c.of.Append(nil, epoch, at, at+int64(len(rows)))) {
					t.Fatalf("step %d: the last rank does not begin at position %d", step, at)
				}
			}
			shuffled = shuffled || c.of.Step(0, 0) != c.of.Step(1, 0)
			slices.SortFunc(spans, func(a, b Span) int { return int(a.From - b.From) })
			end := int64(0)
			for _, s := range spans {
				if s.From != end || s.To <= s.From {
					t.Fatalf("%+v behind position %d", s, end)
				}
				end = s.To
			}
			if full := slices.DeleteFunc(spans, func(s Span) bool { return !s.Full() }); int64(len(full)) != c.of.whole {
				t.Fatalf("%d full steps, of which %d are shuffled", len(full), c.of.whole)
			}
			if end != c.of.Len() {
				t.Fatalf("the steps end at position %d of %d", end, c.of.Len())
			}
		}
	}
	if !shuffled {
		t.Fatal("two epochs begin with the same step, always")
	}
}

// Short samples share larger batches than long ones, up to the most rows, and equal numbers are not rounded against the user.
func TestABudgetGivesShortSamplesMoreRows(t *testing.T) {
	lengths := []float64{0, 1, 1, 2, 2, 2, 5, 5, 15, 15}
	s := must(NewBounded(lengths, must(ByLength(lengths, 5)), 1, Budget{Rows: 16, Total: 30, Multiple: 2}, 1))
	want := []Bucket{{3, 0, 1, 16}, {3, 2, 2, 14}, {0, 0, 0, 14}, {2, 5, 5, 6}, {2, 15, 15, 2}}
	if got := s.Buckets(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, c := range []struct {
		total, length float64
		want          int64
	}{{0.9, 0.3, 3}, {0.6, 0.3, 2}, {0.3, 0.1, 2}, {49, 0.7, 70}, {1e300, 1e-300, 1 << 20}, {0, 0, 1 << 20}, {5, 5.000001, 0}, {5, math.Inf(1), 0}} {
		got := Budget{Rows: 1 << 20, Total: c.total, Multiple: 1}.Fit(c.length)
		if float64(got)*c.length > c.total || got < 1<<20 && got > 0 && float64(got+1)*c.length <= c.total || got != c.want {
			t.Errorf("%g of %g: got %d rows, want %d", c.length, c.total, got, c.want)
		}
	}
	if got := (Budget{Rows: 400, Total: 309.71999999999997, Multiple: 4}).Fit(2.67); got != 29*4 { // 28.999... by division
		t.Errorf("got %d rows, want the 116 that fit", got)
	}
}

func TestBudgetsThatCannotBe(t *testing.T) {
	good := Budget{Rows: 8, Total: 20, Multiple: 2}
	lengths, bucket := []float64{1, 10}, []uint16{0, 1}
	for want, err := range map[string]error{
		"got 0 lengths":                                second(NewBounded(nil, nil, 1, good, 0)),
		"2 lengths and 1 bucke":                        second(NewBounded(lengths, bucket[:1], 1, good, 0)),
		"each sample 0 times":                          second(NewBounded(lengths, bucket, 0, good, 0)),
		"7 rows, a multiple of":                        second(NewBounded(lengths, bucket, 1, Budget{Rows: 7, Total: 20, Multiple: 2}, 0)),
		"a multiple of 0":                              second(NewBounded(lengths, bucket, 1, Budget{Rows: 8, Total: 20}, 0)),
		"of NaN in all":                                second(NewBounded(lengths, bucket, 1, Budget{Rows: 8, Total: math.NaN(), Multiple: 2}, 0)),
		"sample 1: got a length of 10.5, want 0 to 10": second(NewBounded([]float64{1, 10.5}, bucket, 1, good, 0)),
		"sample 0: got a length of -1":                 second(NewBounded([]float64{-1, 1}, bucket, 1, good, 0)),
		"sample 0: got a length of NaN":                second(NewBounded([]float64{math.NaN(), 1}, bucket, 1, good, 0)),
		"sample 0: got a length of +Inf":               second(NewBounded([]float64{math.Inf(1), 1}, bucket, 1, good, 0)),
		"bucket 1: got a length of 1, want none below": second(NewBounded([]float64{2, 1}, bucket, 1, good, 0)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	s := must(NewBounded(lengths, bucket, 1, good, 0))
	_, err := New(Config{N: 2, Batch: 8, World: 3, Sequence: s, Cut: s})
	if err == nil || !strings.Contains(err.Error(), "world size: got 3, want one that divides 2, of which the rows of each step are a multiple") {
		t.Errorf("three ranks: %v", err)
	}
	s = must(NewBounded(lengths[1:], bucket[:1], 1, good, 0))
	if _, err := New(Config{N: 1, Batch: 8, World: 1, Sequence: s, Cut: s, Last: Drop}); !errors.Is(err, ErrNoBatch) || !strings.Contains(err.Error(), "1 rows, a global batch takes 2") {
		t.Errorf("drop of all: %v", err)
	}
}

// A state of other batches is refused with what to write for the same ones, also at another world size.
func TestAStateOfAnotherBudgetSaysWhatToWrite(t *testing.T) {
	of := func(world int, rows int64, total float64, multiple int64, hash string) *Order {
		w := int64(world)
		b := Budget{Rows: rows * w, Total: total * float64(w), Multiple: multiple * w}
		s := must(NewBounded([]float64{1, 2, 3}, []uint16{0, 1, 2}, 1, b, 0))
		return mustNew(t, Config{N: 3, Batch: int(rows), World: world, Sequence: s, Cut: s, OrderHash: hash, Budget: b})
	}
	state := must(ParseState(of(4, 8, 250000, 2, "ab").State(0, nil).JSON()))
	for want, o := range map[string]*Order{
		"": of(2, 16, 500000, 4, "ab"),
		"max_total x world size 1000000, now 500000; multiple_of x world size 8, now 4; set max_total: 500000, multiple_of: 4":                         of(2, 16, 250000, 2, "cd"),
		"max_total x world size 1000000, now 8000000; multiple_of x world size 8, now 16; set max_total: 125000, multiple_of: 1":                       of(8, 4, 1000000, 2, "cd"),
		"global batch 32, now 16; max_total x world size 1000000, now 500000; multiple_of x world size 8, now 4; set batch: 16, max_total: 500000, mu": of(2, 8, 250000, 2, "cd"),
		"global batch 32, now 48; max_total x world size 1000000, now 750000; multiple_of x world size 8, now 6; choose a world size that divides 8":   of(3, 16, 250000, 2, "cd"),
		"order (filter, weights, mix and so on, or what their columns say) ab, now cd":                                                                 of(4, 8, 250000, 2, "cd"),
	} {
		err := o.Check(state)
		if want == "" && err == nil {
			continue
		}
		if !errors.Is(err, ErrStateMismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// A bounded order is a promise as every other is: its batches stay what they were.
func TestABoundedOrderIsWhatItWas(t *testing.T) {
	lengths := make([]float64, 301)
	for i := range lengths {
		lengths[i] = float64(i * i % 97)
	}
	for repeat, want := range map[int64]string{1: "c1e514639893", 3: "67472f177898"} {
		s := must(NewBounded(lengths, must(ByLength(lengths, 5)), repeat, Budget{Rows: 24, Total: 500, Multiple: 2}, testSeed))
		o := mustNew(t, Config{N: 301, Batch: 12, World: 2, Sequence: s, Cut: s, Last: Pad})
		hash := sha256.New()
		for epoch := range int64(3) {
			for step := range o.StepsPerEpoch() {
				rows, _ := global(o, epoch, step)
				for _, sample := range append(rows, -1) {
					hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(sample)))
				}
			}
		}
		if got := hex.EncodeToString(hash.Sum(nil)[:6]); got != want {
			t.Errorf("each %d times: %q, was %q", repeat, got, want)
		}
	}
}
