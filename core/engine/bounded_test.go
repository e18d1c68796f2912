package engine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/shm"
)

const byWidth = "buckets: {by: width, count: 4, max_total: 700}"

// checkBounded fails if a batch has more than its bound when all of its rows are as long as the longest, sample i being i * 10 wide; planned
// says what is in a batch of which some samples are missing.
func checkBounded(t *testing.T, batches []seen, bound int64) (most int) {
	t.Helper()
	for _, b := range batches {
		if n := int64(b.Rows) + int64(b.NBad); b.Rows > 0 && n*slices.Max(b.Index)*10 > bound {
			t.Errorf("epoch %d step %d: %d rows of up to %d, want at most %d", b.Epoch, b.Step, n, slices.Max(b.Index)*10, bound)
		}
		most = max(most, b.Rows)
	}
	return most
}

// Batches have as many rows as the bound allows, up to batch, and an epoch has every sample as often as it should, also with what else an order has.
func TestBoundedBatchesHoldWhatTheBoundAllows(t *testing.T) {
	leavesNothing(t)
	list := table(t, 32, quarter) // up to 310 wide
	for more, want := range map[string]struct{ samples, times, most int }{
		"batch: 8\norder: {epochs: 2, " + byWidth + "}\n":                                           {32, 1, 8},
		"batch: 8\norder: {epochs: 2, " + byWidth + "}\nring: {delivery: ready}\n":                  {32, 1, 8},
		"batch: 8\norder: {epochs: 2, repeat: 3, " + byWidth + "}\n":                                {32, 3, 8},
		"batch: 8\norder: {epochs: 2, filter: label != 1, " + byWidth + "}\n":                       {21, 1, 5},
		"batch: 8\norder: {epochs: 2, filter: label != 1, last: pad, repeat: 2, " + byWidth + "}\n": {21, 2, 8},
		"batch: 8\norder: {epochs: 2, " + byWidth + "}\ncache: {rows_bytes: 1MiB}\n":                {32, 1, 8},
	} {
		r := startAgain(t, describeTable(t, list, more), nil)
		reader := r.attach(shm.AttachOptions{})
		for range 2 {
			batches := epoch(t, reader)
			if int64(len(batches)) != r.Facts()[0].StepsPerEpoch {
				t.Errorf("%s%d batches, want %d", more, len(batches), r.Facts()[0].StepsPerEpoch)
			}
			if most := checkBounded(t, batches, 700); most != want.most {
				t.Errorf("%sthe largest batch has %d rows, want %d", more, most, want.most)
			}
			count := map[int64]int{}
			for _, b := range batches {
				for row, i := range b.Index {
					if b.Status[row] != 3 { // padded
						count[i]++
					}
				}
			}
			for i, n := range count {
				if n != want.times || len(count) != want.samples {
					t.Errorf("%ssample %d of %d comes %d times, want %d of %d", more, i, len(count), n, want.times, want.samples)
				}
			}
		}
		must(reader.Close())
		must(r.end())
	}
}

// A bad sample in a bounded batch is treated as in any.
func TestBadSamplesOfBoundedBatches(t *testing.T) {
	leavesNothing(t)
	list := table(t, 32, quarter)
	must(os.WriteFile(strings.TrimSuffix(list, "list.csv")+"005.jpg", nil, 0o600))
	for policy, status := range map[string][]byte{"skip": nil, "mask": {1}, "substitute": {2}} {
		batches := run(t, describeTable(t, list, "batch: 8\norder: {epochs: 1, "+byWidth+"}\nbad_sample: {policy: "+policy+"}\n"))
		var odd []byte
		rows, bad := 0, 0
		for _, b := range batches {
			for _, s := range b.Status {
				if s != 0 {
					odd = append(odd, s)
				}
			}
			rows, bad = rows+b.Rows, bad+b.NBad
		}
		if want := 32 - max(1-len(status), 0); rows != want || bad != 1 || !slices.Equal(odd, status) {
			t.Errorf("%s: %d rows, want %d; %d bad; status %v, want %v", policy, rows, want, bad, odd, status)
		}
	}
}

// saved is the state of a first run after so many batches.
func saved(t *testing.T, list, more string, batches int) []byte {
	t.Helper()
	r := startAgain(t, describeTable(t, list, more), nil)
	reader := r.attach(shm.AttachOptions{})
	takeN(t, reader, batches)
	state, err := reader.SaveState(testContext(t), false)
	must(err)
	must(reader.Close())
	must(r.end())
	return state
}

// At another world size a state fits where every step has the same rows, whatever the bound is called; else the refusal says what to write.
func TestAStateFitsWhereStepsHaveTheSameRows(t *testing.T) {
	leavesNothing(t)
	list := table(t, 32, quarter)
	of := func(batch, world int, total float64, multiple int) string {
		return fmt.Sprintf("batch: %d\nworld: {size: %d}\norder: {buckets: {by: width, count: 4, max_total: %g, multiple_of: %d}}\n", batch, world, total, multiple)
	}
	state := saved(t, list, of(8, 1, 1200, 2), 3)
	for _, c := range []struct{ more, want string }{
		{of(8, 1, 1200, 2), ""},
		{of(8, 1, 1201, 2), ""}, // no bucket has a row more
		{of(4, 2, 600, 1), ""},
		{of(8, 1, 1200, 1), "multiple_of x world size 2, now 1; set multiple_of: 2"},
		{of(4, 2, 1200, 2), "max_total x world size 1200, now 2400; multiple_of x world size 2, now 4; set max_total: 600, multiple_of: 1"},
		{of(2, 4, 400, 1), "now 1600; multiple_of x world size 2, now 4; choose a world size that divides 2"},
		{of(8, 2, 600, 1), "global batch 8, now 16"},
		{"batch: 8\norder: {buckets: {by: width, count: 4}}\n", "order (filter, weights, mix and so on, or what their columns say)"},
	} {
		e, err := New(describeTable(t, list, c.more), &Options{State: state})
		if err == nil {
			must(e.Close())
		}
		if c.want == "" && err == nil {
			continue
		}
		if !errors.Is(err, sampler.ErrStateMismatch) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%sgot %v, want %q", c.more, err, c.want)
		}
	}
}

// A sample that is too long for any batch is refused at start by name, with the numbers and what to do.
func TestSamplesOverTheBoundAreRefused(t *testing.T) {
	leavesNothing(t)
	list := table(t, 32, func(i int) float64 { return float64(i) - 2.5 })
	for order, want := range map[string]string{
		"buckets: {by: width, max_total: 305.5}": `order: buckets.max_total: column "width": sample 31 "031.jpg": got a length of 310, want at most max_total, 305.5; ` +
			"raise max_total to 310, or leave such samples out with order.filter",
		"buckets: {by: width, max_total: 290, count: 1}":                            `sample 31 "031.jpg": got a length of 310, the longest of 2 that are too long, want at most max_total, 290; raise max_total to 310`,
		"buckets: {by: width, max_total: 600, multiple_of: 2}, filter: width < 310": "",
		"buckets: {by: width, max_total: 600, multiple_of: 2}":                      `sample 31 "031.jpg": got a length of 310, want at most max_total, 600 over multiple_of, 2; raise max_total to 620`,
		"buckets: {by: weight, max_total: 600}":                                     `order: buckets.by: column "weight": sample 0 "000.jpg": got -2.5, want a finite number, 0 or more`,
		"buckets: {by: split, max_total: 600}":                                      `order: buckets.by: column "split" holds text, want numbers`,
	} {
		e, err := New(describeTable(t, list, "batch: 8\norder: {"+order+"}\n"), nil)
		if err == nil {
			must(e.Close())
		}
		if want == "" && err == nil {
			continue
		}
		if !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", order, err, want)
		}
	}
}

// The plan of a bounded order at another world size has the steps of the description's, or is refused.
func TestAPlanOfABoundedOrderKeepsItsSteps(t *testing.T) {
	leavesNothing(t)
	list := table(t, 32, quarter)
	p, err := OpenPlan(testContext(t), describeTable(t, list, "batch: 6\nworld: {size: 2}\norder: {"+byWidth+"}\n"))
	must(err)
	defer p.Close()
	both, err := p.Order(2)
	must(err)
	one, err := p.Order(1)
	must(err)
	for step := range both.StepsPerEpoch() {
		want, _ := both.Rows(1, step, 0, nil)
		want, _ = both.Rows(1, step, 1, want)
		if got, _ := one.Rows(1, step, 0, nil); !slices.Equal(got, want) {
			t.Errorf("step %d: one rank gets %v, two get %v", step, got, want)
		}
	}
	if _, err := p.Order(3); err == nil || !strings.Contains(err.Error(), "world size: got 3, want one that divides 2, of which the rows of each step are a multiple") {
		t.Errorf("three ranks: %v", err)
	}
}
