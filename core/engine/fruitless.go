package engine

import (
	"fmt"

	"github.com/spdl/spdl/core/source"
)

// An epoch of which no sample is good ends the ring, whatever the policy: a training loop over empty batches learns nothing, and says
// nothing. Only an epoch that was judged from its first batch to its last counts, of this engine's ranks; where others have the rest, one of
// bad_sample.probation samples at least.

// A tally is what came of an epoch's samples so far.
type tally struct {
	epoch      uint64
	seen       map[uint64]bool // its batches; one that is made again, after a load, is the same one
	rows, good int
	causes     map[string]int
	examples   map[string]error // the first of each cause
}

// count takes in a batch that was judged.
func (t *tally) count(w *work, planned int) {
	if t.causes == nil || t.epoch != w.Epoch {
		*t = tally{epoch: w.Epoch, seen: map[uint64]bool{}, causes: map[string]int{}, examples: map[string]error{}}
	}
	place := w.EpochStep*uint64(w.lanes) + uint64(w.lane)
	if t.good += planned - len(w.Bad); t.good > 0 || t.seen[place] {
		return // what is good decides
	}
	t.seen[place] = true
	t.rows += planned
	for i := range w.Bad {
		b := &w.Bad[i]
		if t.causes[b.Cause]++; t.causes[b.Cause] == 1 {
			t.examples[b.Cause] = b.Err
		}
	}
}

// often is the cause of most of them, with an example.
func (t *tally) often() (cause string, n int, example error) {
	for c, m := range t.causes {
		if m > n || m == n && c < cause {
			cause, n = c, m
		}
	}
	return cause, n, t.examples[cause]
}

// fruitless is the error of an epoch that so many batches make, when they all were judged and none had a good sample. judging is held.
func (r *ring) fruitless(w *work, batches int64) error {
	t := &r.tally
	if r.forgiving || t.epoch != w.Epoch || int64(len(t.seen)) != batches || t.rows == 0 || t.good > 0 {
		return nil
	}
	if r.lanes < r.order.Config().World && t.rows < r.probation { // of a few samples chance may leave a rank only bad ones, and its end would stop the others
		return nil
	}
	cause, n, example := t.often()
	if w.ended && t.rows == 1 && cause == string(source.Program) { // a program that fails before its first sample knows it, and may go on
		return nil
	}
	return fmt.Errorf("engine: ring %q: epoch %d: none of its %d samples is good; %d are bad by cause %s, such as: %w; mend the source or what the description says of its "+
		"samples, or say bad_sample: {max_rate: 1} to go on with epochs of nothing", r.name, t.epoch, t.rows, n, cause, example)
}

// batchesOf is how many batches of this engine's ranks the epoch of a judged batch has.
func (r *ring) batchesOf(w *work) int64 {
	if w.ended {
		return int64(w.EpochStep) + 1 // of the one rank
	}
	return int64(r.lanes) * r.order.StepsPerEpoch()
}
