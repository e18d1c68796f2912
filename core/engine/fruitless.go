package engine

import (
	"fmt"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
)

// An epoch of which no sample is good ends the ring, whatever the policy: a training loop over empty batches learns nothing, and says
// nothing. Only an epoch that was judged from its first batch on counts, of this engine's ranks. It ends the ring in place of its last batch, or
// already when fruitlessFirst samples had none, where the run has had none at all: what was good before may be so again, of a store that is away
// for a while. Where others have the rest, it is one of bad_sample.probation samples at least.

const (
	// fruitlessFirst is how many samples from the beginning of an epoch tell that none will be good. They are drawn from all over the data set,
	// so of one with a good sample in a hundred one run in 20,000 would be taken for such.
	fruitlessFirst = 1000
	// fruitlessInOrder is the same where samples that lie side by side come one after the other, which may share a fault: a directory, a shard.
	fruitlessInOrder = 10 * fruitlessFirst
)

// enoughOf is how many samples decide, of which there are at least bad_sample.probation.
func enoughOf(s *spec.Spec) int {
	first := fruitlessInOrder
	if s.Order.Shuffle && s.Order.Window == 0 {
		first = fruitlessFirst
	}
	return max(first, int(s.BadSample.Probation))
}

// A tally is what came of an epoch's samples so far.
type tally struct {
	epoch      uint64
	seen       map[uint64]bool // its batches; one that is made again, after a load, is the same one
	last       uint64          // of them
	ever       bool            // there was a good one, in this epoch or before
	rows, good int
	causes     map[string]int
	examples   map[string]error // the first of each cause
}

// count takes in a batch that was judged.
func (t *tally) count(w *work, planned int) {
	if t.causes == nil || t.epoch != w.Epoch {
		*t = tally{ever: t.ever, epoch: w.Epoch, seen: map[uint64]bool{}, causes: map[string]int{}, examples: map[string]error{}}
	}
	place := w.EpochStep*uint64(w.lanes) + uint64(w.lane)
	if t.good += planned - fallen(w.Bad); t.good > 0 || t.seen[place] {
		t.ever = t.ever || t.good > 0
		return // what is good decides
	}
	t.seen[place] = true
	t.last = max(t.last, place)
	t.rows += planned
	for i := range w.Bad {
		b := &w.Bad[i]
		if t.causes[b.Cause]++; t.causes[b.Cause] == 1 {
			t.examples[b.Cause] = b.Err
		}
	}
}

// fallen counts the bad samples whose rows do not stand.
func fallen(all []batch.Bad) (n int) {
	for i := range all {
		if all[i].Lacks == nil {
			n++
		}
	}
	return n
}

// begins says that the batches so far are the first of their epoch, none left out.
func (t *tally) begins() bool { return uint64(len(t.seen)) == t.last+1 }

// often is the cause of most of them, with an example.
func (t *tally) often() (cause string, n int, example error) {
	for c, m := range t.causes {
		if m > n || m == n && c < cause {
			cause, n = c, m
		}
	}
	return cause, n, t.examples[cause]
}

// fruitless is the error of an epoch that so many batches make, when none of its samples, or of enough from its beginning, was good. judging
// is held.
func (r *ring) fruitless(w *work, batches int64) error {
	t := &r.tally
	whole := int64(len(t.seen)) == batches
	if r.forgiving || t.epoch != w.Epoch || t.rows == 0 || t.good > 0 || !whole && (t.ever || t.rows < r.enough || !t.begins()) {
		return nil
	}
	if r.lanes < r.order.Config().World && t.rows < r.probation { // of a few samples chance may leave a rank only bad ones, and its end would stop the others
		return nil
	}
	cause, n, example := t.often()
	if w.ended && t.rows == 1 && cause == string(source.Program) { // a program that fails before its first sample knows it, and may go on
		return nil
	}
	first := ""
	if !whole {
		first = "first "
	}
	return fmt.Errorf("engine: ring %q: epoch %d: none of its %s%d samples is good; %d are bad by cause %s, such as: %w; %s, or say bad_sample: {max_rate: 1} to go on "+
		"with batches of nothing", r.name, t.epoch, first, t.rows, n, cause, example, remedyOf(cause))
}

// remedyOf is what to look at where all samples are bad by one cause.
func remedyOf(cause string) string {
	switch cause {
	case string(source.Missing):
		return "compare the example's path with where the files are (the paths of a list begin at source.root)"
	case string(source.Permission):
		return "let this user read the files, or give the credentials that the store wants"
	case media.CauseNotAnImage, av.CauseNotMedia, audio.CauseNotAudio, av.CauseNoStream:
		return "name the part or column that has the media (source.image, or from of the section), or the section that fits them: image, video or audio"
	}
	return "mend the source or what the description says of its samples"
}

// batchesOf is how many batches of this engine's ranks the epoch of a judged batch has.
func (r *ring) batchesOf(w *work) int64 {
	if w.ended {
		return int64(w.EpochStep) + 1 // of the one rank
	}
	return int64(r.lanes) * r.order.StepsPerEpoch()
}
