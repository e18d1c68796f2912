package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// A ring of some samples has those that are named, in their order without a shuffle and each as often with one; index counts them.
func TestARingOfSomeSamplesHasThose(t *testing.T) {
	leavesNothing(t)
	list := table(t, 32, quarter)
	file := numbersFile(t, 5, true, func(i int) float64 { return float64([]int{30, 2, 2, 7, 31}[i]) })
	labels := func(only, order string) (all []int64) {
		s := parsed(t, fmt.Sprintf("name: %s\nsource: {list: %q, only: %s}\nimage: {transform: [{resize: [8, 8]}]}\nbatch: 2\norder: {epochs: 1%s}\n", testName(), list, only, order))
		for k, b := range run(t, s) {
			for row, i := range b.Index {
				if want := int64(2*k + row); order != "" && i != want {
					t.Errorf("%s: got index %d, want %d", only, i, want)
				}
			}
			for _, key := range b.Keys {
				var n int64
				if _, err := fmt.Sscanf(key, "%03d.jpg", &n); err != nil {
					t.Fatal(err)
				}
				all = append(all, n)
			}
		}
		return all
	}
	want := []int64{30, 2, 2, 7, 31}
	for _, only := range []string{fmt.Sprintf("%q", file), "[30, 2, 2, 7, 31]"} {
		if got := labels(only, ", shuffle: false"); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", only, got, want)
		}
		got := labels(only, "")
		slices.Sort(got)
		if !slices.Equal(got, []int64{2, 2, 7, 30, 31}) {
			t.Errorf("%s, shuffled: got %v", only, got)
		}
	}
	if got := labels("'29:'", ", shuffle: false"); !slices.Equal(got, []int64{29, 30, 31}) {
		t.Errorf("of a range: got %v", got)
	}
	weighed := describeTable(t, list, fmt.Sprintf("batch: 2\norder: {epochs: 1, weights: %q, rows: 8}\n", numbersFile(t, 2, false, func(i int) float64 { return float64(i) })))
	weighed.All()[0].Source.Only = parsed(t, "source: {folder: p, only: [9, 4]}\nimage: {transform: [{resize: [8, 8]}]}\n").Source.Only
	for _, b := range run(t, weighed) {
		if !slices.Equal(b.Keys, []string{"004.jpg", "004.jpg"}) {
			t.Errorf("by weights of the chosen: got %v", b.Keys)
		}
	}
}

// A state is of the samples that were chosen: others, or another order, are another data set, wherever their numbers are written.
func TestAStateKnowsWhichSamplesAreChosen(t *testing.T) {
	leavesNothing(t)
	list := table(t, 8, quarter)
	of := func(only string) *spec.Spec {
		return parsed(t, fmt.Sprintf("name: %s\nsource: {list: %q, only: %s}\nimage: {transform: [{resize: [8, 8]}]}\nbatch: 2\n", testName(), list, only))
	}
	r := startAgain(t, of("[1, 2, 3, 4]"), nil)
	state := r.rings[0].order.State(1, nil).JSON()
	must(r.end())
	for only, fits := range map[string]bool{"'1:5'": true, fmt.Sprintf("%q", numbersFile(t, 4, true, func(i int) float64 { return float64(i + 1) })): true, "[1, 2, 4, 3]": false, "[1, 2, 3, 5]": false} {
		if fits {
			must(startAgain(t, of(only), &Options{State: state}).end())
			continue
		}
		_, err := New(of(only), &Options{State: state})
		wantError(t, err, shm.ErrState)
	}
}

// Parts of a mixture have samples of their own, and what no source has is refused as the description's fault.
func TestPartsOfAMixtureHaveSomeSamples(t *testing.T) {
	leavesNothing(t)
	list := table(t, 8, quarter)
	describe := func(first string) string {
		return fmt.Sprintf("name: %s\nsource: {mix: [{list: %q, only: %s}, {list: %q, only: [7]}]}\nimage: {transform: [{resize: [8, 8]}]}\nbatch: 2\norder: {epochs: 1, shuffle: false}\n", testName(), list, first, list)
	}
	var keys []string
	for _, b := range run(t, parsed(t, describe("'2:4'"))) {
		keys = append(keys, b.Keys...)
	}
	if !slices.Equal(keys, []string{"002.jpg", "003.jpg", "007.jpg"}) {
		t.Errorf("got %v", keys)
	}
	_, err := New(parsed(t, describe("[8]")), nil)
	wantError(t, err, ErrDescription, "source.only: got 8 at 0 of 1 numbers, want numbers from 0 to 7: the source has 8 samples")
}

// Choosing costs nothing per sample.
func TestChosenSamplesAllocateNothing(t *testing.T) {
	s := describe(t, folder(t, 120, nil), "batch: 50\n")
	s.Source.Only = parsed(t, "source: {folder: p, only: '20:'}\nimage: {transform: [{resize: [8, 8]}]}\n").Source.Only
	allocationsPerBatch(t, s)
}
