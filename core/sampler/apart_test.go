package sampler

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// parting is an order of buckets that stay apart, and what it was made of.
type parting struct {
	bucket []uint16
	rows   []int64
	repeat int64
	world  int64 // that divides all rows
	of     *Bounded
}

// anyParting draws buckets, of which some may be empty, and the rows of their steps.
func anyParting(r *rand.Rand) (c parting) {
	c.bucket, c.rows = make([]uint16, 1+r.IntN(300)), make([]int64, 1+r.IntN(9))
	for i := range c.bucket {
		c.bucket[i] = uint16(min(r.IntN(len(c.rows)), r.IntN(len(c.rows))))
	}
	c.world = 1 + r.Int64N(6)
	for i := range c.rows {
		c.rows[i] = c.world * (1 + r.Int64N(10))
	}
	c.repeat = 1 + int64(r.IntN(4)/3)*r.Int64N(3)
	c.of = must(NewApart(c.bucket, c.rows, c.repeat, r.Uint64()))
	return c
}

// order is that of a world that divides c's, and a rule; nil where drop leaves nothing.
func (c *parting) order(world int64, last Last) *Order {
	o, err := New(Config{
		N: int64(len(c.bucket)), Batch: int(c.world / world * 10), World: int(world), Sequence: c.of, Cut: c.of, Epochs: 2, Last: last,
		SourceHash: "ab", OrderHash: "cd",
	})
	if last == Drop && err != nil {
		return nil
	}
	return must(o, err)
}

// Whatever the buckets, the rows of their steps, the world and the rule: all ranks of a step have samples of the one bucket that it says, as many each
// unless it is covered, and each sample comes as often as it should; what is dropped is less than a step of each bucket.
func TestAStepOfBucketsApartHasSamplesOfOne(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 300 {
		c, last := anyParting(r), []Last{Cover, Drop, Pad}[r.IntN(3)]
		world := anyWorld(r, c.world)
		o := c.order(world, last)
		if o == nil {
			continue
		}
		count := make([]int64, len(c.bucket))
		for step := range o.StepsPerEpoch() {
			bucket := c.of.Bucket(3, step)
			full, low, high := c.of.Step(3, step).Full(), int64(math.MaxInt64), int64(0)
			for rank := range int(world) {
				rows, padded := o.Rows(3, step, rank, nil)
				low, high = min(low, int64(len(rows))), max(high, int64(len(rows)))
				for k, i := range rows {
					if int(c.bucket[i]) != bucket {
						t.Fatalf("step %d is of bucket %d, and rank %d has sample %d of bucket %d", step, bucket, rank, i, c.bucket[i])
					}
					if k < len(rows)-padded {
						count[i]++
					}
				}
			}
			if want := c.rows[bucket] / world; high-low > 1 || (full || last == Pad) && (low != want || high != want) {
				t.Fatalf("%s: step %d, full %v: ranks have %d to %d rows, want %d", last, step, full, low, high, want)
			}
		}
		missing := make([]int64, len(c.rows))
		for i, n := range count {
			if missing[c.bucket[i]] += c.repeat - n; n > c.repeat || last != Drop && n != c.repeat {
				t.Fatalf("%s: sample %d comes %d times, want %d", last, i, n, c.repeat)
			}
		}
		for bucket, n := range missing {
			if n >= c.rows[bucket] {
				t.Fatalf("drop left out %d rows of bucket %d, want less than its step of %d", n, bucket, c.rows[bucket])
			}
		}
	}
}

// Steps that are not full end the epoch, which begins with the others, and both come in another order in the next one.
func TestStepsOfBucketsApartAreShuffled(t *testing.T) {
	bucket := make([]uint16, 260)
	for i := range bucket {
		bucket[i] = uint16(i % 20)
	}
	rows := make([]int64, 20)
	for i := range rows {
		rows[i] = 4 // of 13 samples: three steps, and one of a single row
	}
	s := must(NewApart(bucket, rows, 1, 7))
	var orders [2][]int
	for epoch := range orders {
		for step := range s.Steps() {
			if full := s.Step(int64(epoch), step).Full(); full != (step < 60) {
				t.Fatalf("step %d of %d is full: %v", step, s.Steps(), full)
			}
			orders[epoch] = append(orders[epoch], s.Bucket(int64(epoch), step))
		}
	}
	for _, part := range [][2]int{{0, 60}, {60, 80}} {
		same := 0
		for i := part[0]; i < part[1]; i++ {
			if orders[0][i] == orders[1][i] {
				same++
			}
		}
		if same > (part[1]-part[0])/2 {
			t.Errorf("of steps %d to %d, %d are of the same bucket in both epochs", part[0], part[1], same)
		}
	}
}

// What was stopped anywhere and went on at another world size is, row for row, what an uninterrupted run gives.
func TestBucketsApartStoppedAnywhereGoOnAtAnyWorldSize(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for range 200 {
		c, last := anyParting(r), []Last{Cover, Drop, Pad}[r.IntN(3)]
		if c.order(1, last) == nil {
			last = Cover
		}
		whole := c.order(1, last)
		got, state := map[at][]int64{}, (*State)(nil)
		for stops := r.IntN(3); stops >= 0; stops-- {
			most := r.IntN(int(whole.StepsPerEpoch()) * 2)
			if stops == 0 {
				most = math.MaxInt
			}
			rows, next := run(t, r, c.order(anyWorld(r, c.world), last), state, most)
			for step, samples := range rows {
				if got[step] != nil {
					t.Fatalf("step %v was delivered twice", step)
				}
				got[step] = samples
			}
			state = &next
		}
		checkWhole(t, "apart", whole, got, last == Cover && c.repeat == 1, int64(len(c.bucket)))
	}
}

func TestApartRefusesWhatIsNone(t *testing.T) {
	for want, of := range map[string]func() (*Bounded, error){
		"got 0 samples":                     func() (*Bounded, error) { return NewApart(nil, []int64{1}, 1, 0) },
		"each 0 times":                      func() (*Bounded, error) { return NewApart([]uint16{0}, []int64{1}, 0, 0) },
		"bucket 1: got 0 rows a step":       func() (*Bounded, error) { return NewApart([]uint16{0}, []int64{1, 0}, 1, 0) },
		"sample 1: got bucket 2, want one ": func() (*Bounded, error) { return NewApart([]uint16{0, 2}, []int64{1, 1}, 1, 0) },
	} {
		if _, err := of(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for want, buckets := range map[string][]uint16{
		"last: drop leaves nothing: an epoch has 3 rows, a global batch takes 4 ":                                                                {0, 1, 0},
		"last: drop leaves nothing: an epoch has 5 rows in batches of one kind each, of none of which there are enough, a global batch takes 4 ": {0, 1, 0, 1, 0},
	} {
		apart := must(NewApart(buckets, []int64{4, 4}, 1, 0))
		if _, err := New(Config{N: int64(len(buckets)), Batch: 4, World: 1, Sequence: apart, Cut: apart, Last: Drop}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
