package sampler

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func mustNew(t testing.TB, c Config) *Order {
	t.Helper()
	o, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// global collects a step's rows over all ranks, and its padding.
func global(o *Order, epoch, step int64) (rows []int64, padded int) {
	for r := range o.Config().World {
		var p int
		rows, p = o.Rows(epoch, step, r, rows)
		padded += p
	}
	return rows, padded
}

// Cover delivers each sample exactly once, every rank the same number of batches, sizes of a step at most one apart.
func TestCoverDeliversEverySampleOnceAndEqualSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		c := Config{N: 1 + r.Int64N(500), Batch: 1 + r.IntN(20), World: 1 + r.IntN(9), Shuffle: r.IntN(2) == 0, Seed: r.Uint64()}
		o := mustNew(t, c)
		var all []int64
		for s := range o.StepsPerEpoch() {
			low, high := c.Batch, 0
			for rank := range c.World {
				rows, padded := o.Rows(2, s, rank, nil)
				if padded != 0 {
					t.Fatalf("%+v: step %d rank %d: %d padded", c, s, rank, padded)
				}
				low, high = min(low, len(rows)), max(high, len(rows))
				all = append(all, rows...)
			}
			if high-low > 1 || s < o.StepsPerEpoch()-1 && low != c.Batch {
				t.Fatalf("%+v: step %d: ranks have %d to %d rows", c, s, low, high)
			}
		}
		if !c.Shuffle && !slices.IsSorted(all) {
			t.Fatalf("%+v: order is not sequential: %v", c, all)
		}
		slices.Sort(all)
		if int64(len(all)) != c.N || len(slices.Compact(all)) != len(all) {
			t.Fatalf("%+v: %d samples, or one twice", c, len(all))
		}
	}
}

// Drop leaves the short end out, pad fills it by wrapping and counts the filling.
func TestDropLeavesOutAndPadWraps(t *testing.T) {
	drop := mustNew(t, Config{N: 11, Batch: 2, World: 2, Last: Drop})
	if drop.StepsPerEpoch() != 2 {
		t.Fatalf("drop: %d steps", drop.StepsPerEpoch())
	}
	pad := mustNew(t, Config{N: 11, Batch: 2, World: 2, Last: Pad})
	if pad.StepsPerEpoch() != 3 {
		t.Fatalf("pad: %d steps", pad.StepsPerEpoch())
	}
	if rows, padded := pad.Rows(0, 2, 1, nil); !slices.Equal(rows, []int64{10, 0}) || padded != 1 {
		t.Fatalf("pad: rows %v, %d padded", rows, padded)
	}
	tiny := mustNew(t, Config{N: 3, Batch: 4, World: 2, Last: Pad})
	if rows, padded := global(tiny, 0, 0); !slices.Equal(rows, []int64{0, 1, 2, 0, 1, 2, 0, 1}) || padded != 5 {
		t.Fatalf("pad of 3 samples: rows %v, %d padded", rows, padded)
	}
	shuffled := mustNew(t, Config{N: 11, Batch: 4, World: 1, Last: Pad, Shuffle: true, Seed: 9})
	first, _ := shuffled.Rows(0, 0, 0, nil)
	if rows, padded := shuffled.Rows(0, 2, 0, nil); rows[3] != first[0] || padded != 1 {
		t.Fatalf("shuffled pad: rows %v do not wrap to %v", rows, first)
	}
}

// With fewer samples than ranks under cover some ranks get an empty batch, so that step counts stay equal.
func TestCoverGivesEmptyBatchesWhenRowsAreFew(t *testing.T) {
	o := mustNew(t, Config{N: 2, Batch: 8, World: 4})
	var sizes []int
	for r := range 4 {
		rows, _ := o.Rows(0, 0, r, nil)
		sizes = append(sizes, len(rows))
	}
	if !slices.Equal(sizes, []int{0, 1, 0, 1}) {
		t.Fatalf("sizes %v", sizes)
	}
}

// The same global batch is the same global sequence at any world size, for every rule.
func TestSameGlobalSequenceAtAnyWorldSize(t *testing.T) {
	for _, last := range []Last{Cover, Drop, Pad} {
		ref := mustNew(t, Config{N: 1003, Batch: 24, World: 1, Shuffle: true, Seed: 5, Last: last})
		for _, world := range []int{2, 3, 4, 6, 8, 12, 24} {
			o := mustNew(t, Config{N: 1003, Batch: 24 / world, World: world, Shuffle: true, Seed: 5, Last: last})
			if o.StepsPerEpoch() != ref.StepsPerEpoch() {
				t.Fatalf("%s world %d: %d steps", last, world, o.StepsPerEpoch())
			}
			for s := range ref.StepsPerEpoch() {
				want, wantPadded := global(ref, 3, s)
				if got, padded := global(o, 3, s); !slices.Equal(got, want) || padded != wantPadded {
					t.Fatalf("%s world %d step %d: %v, want %v", last, world, s, got, want)
				}
			}
		}
	}
}

// An epoch's order is unlike the one before, and asking costs no allocation once dst is large enough.
func TestRowsAllocateNothing(t *testing.T) {
	o := mustNew(t, Config{N: 1 << 33, Batch: 64, World: 8, FirstRank: 4, Lanes: 4, Shuffle: true})
	dst := make([]int64, 0, 64)
	var step int64
	if a := testing.AllocsPerRun(100, func() { dst, _ = o.Rows(step, step, 3, dst[:0]); step++ }); a != 0 {
		t.Fatalf("%v allocations", a)
	}
	a, _ := o.Rows(0, 0, 0, nil)
	b, _ := o.Rows(1, 0, 0, nil)
	if slices.Equal(a, b) {
		t.Fatal("epochs 0 and 1 start alike")
	}
}

// Sizes near the limits neither overflow nor panic.
func TestOrderAtTheLimits(t *testing.T) {
	for _, last := range []Last{Cover, Drop, Pad} {
		o := mustNew(t, Config{N: maxSamples, Batch: 3, World: 1<<31/3 - 1, Shuffle: true, Last: last})
		rows, _ := o.Rows(1<<60, o.StepsPerEpoch()-1, o.Config().World-1, nil)
		for _, i := range rows {
			if i < 0 || i >= maxSamples {
				t.Fatalf("%s: sample %d", last, i)
			}
		}
		if last == Pad && len(rows) != 3 {
			t.Fatalf("pad: %d rows", len(rows))
		}
	}
}

// Every wrong config is refused with the number that is wrong.
func TestWrongConfigIsRefused(t *testing.T) {
	good := Config{N: 10, Batch: 2, World: 2}
	for want, edit := range map[string]func(*Config){
		"data set size: got 0":         func(c *Config) { c.N = 0 },
		"data set size: got 461168601": func(c *Config) { c.N = maxSamples + 1 },
		"batch: got 0":                 func(c *Config) { c.Batch = 0 },
		"world size: got -1":           func(c *Config) { c.World = -1 },
		"batch 1073741825 x world 2":   func(c *Config) { c.Batch = 1<<30 + 1 },
		"rank 2 with 1 lanes":          func(c *Config) { c.FirstRank = 2 },
		"rank 1 with 2 lanes":          func(c *Config) { c.FirstRank, c.Lanes = 1, 2 },
		"rank -1 with 1 lanes":         func(c *Config) { c.FirstRank = -1 },
		"epochs: got -1":               func(c *Config) { c.Epochs = -1 },
		`last: got "wrap"`:             func(c *Config) { c.Last = "wrap" },
	} {
		c := good
		edit(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	_, err := New(Config{N: 10, Batch: 6, World: 2, Last: Drop})
	if !errors.Is(err, ErrNoBatch) || !strings.Contains(err.Error(), "10 rows") || !strings.Contains(err.Error(), "takes 12") {
		t.Errorf("batch larger than the data set: %v", err)
	}
}

func TestRowsOutOfRangePanic(t *testing.T) {
	o := mustNew(t, Config{N: 10, Batch: 2, World: 2})
	for _, a := range [][3]int64{{-1, 0, 0}, {0, -1, 0}, {0, 3, 0}, {0, 0, -1}, {0, 0, 2}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("rows %v: no panic", a)
				}
			}()
			o.Rows(a[0], a[1], int(a[2]), nil)
		}()
	}
}

func ExampleOrder_Rows() {
	o, err := New(Config{N: 10, Batch: 2, World: 2})
	if err != nil {
		panic(err)
	}
	for step := range o.StepsPerEpoch() {
		a, _ := o.Rows(0, step, 0, nil)
		b, _ := o.Rows(0, step, 1, nil)
		fmt.Println(step, a, b)
	}
	// Output:
	// 0 [0 1] [2 3]
	// 1 [4 5] [6 7]
	// 2 [8] [9]
}
