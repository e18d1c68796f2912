package pipeline

import (
	"math"
	"slices"
)

// A tuner finds the concurrency of one stage. It is told what the stage did
// with its present number of workers and says how many it should have next; it
// knows no clock and nothing of the stage.
//
// Little's law gives the number at once: n busy workers carry n/opNs items, so
// what the CPUs and the other stages have room for takes room times as many. A
// stage that is short of workers, busy with items waiting, is therefore tried
// with that number, not with one more. What no counter shows (a store that
// answers only so many at a time, a lock) shows in the rate: a try is a trial
// against the number before, in turns, because a machine is rarely as free in
// one window as in the next. What carried gain times as much stays with gain
// times as many workers; what carried no more is taken back, and the next trial
// waits longer each time, until the work changes.
//
// A stage that is slow with its workers is also tried with fewer, once until its
// ops get slower: some things are faster with less of a crowd. And one with
// workers to spare gives them up: they cost memory and the machine's attention.
type tuner struct {
	min, max int
	n        int     // workers now
	trial    *trial  // nil: none is going on
	opNs     float64 // mean time of an op, when n was settled; 0: not known yet
	reach    float64 // how many times n the next trial may be
	hold     int     // windows to wait before the next trial
	patience int     // what hold will be after the next trial that does not pay
	leanest  bool    // fewer workers have been tried, and are slower
	spare    int     // windows in a row with workers to spare
	need     float64 // most workers busy in those
}

// A trial compares two numbers of workers, in turns.
type trial struct {
	from, to int
	base     float64   // rate with from, in the last window that had it
	gains    []float64 // rate with to over base, of each turn
	back     bool      // this window has from again
}

// A window is what a stage did in some time.
type window struct {
	rate    float64 // items per second
	busy    float64 // mean number of workers inside ops
	waiting float64 // mean number of workers that waited for a limiter or a budget
	ready   float64 // share of the time an item was waiting to be taken
	opNs    float64 // mean time of an op
	room    float64 // times as much as now that CPUs, memory and the other stages could carry
	strict  bool    // room is a budget's: not one worker beyond it
	capped  bool    // no trial now: another stage has one
}

const (
	tunerGain   = 1.05 // a trial pays if the rate grows by this
	tunerRoom   = 1.02 // least room for a trial with more: it counts the time that threads wait for a CPU as used, so there is more
	tunerStep   = 1.20 // least growth in such a trial: one worker more among thirty could not gain tunerGain
	tunerSame   = 0.98 // with fewer workers: if it does not fall below this
	tunerLinear = 0.85 // share of the growth that more workers bring as long as nothing else is short
	tunerMargin = 1.40 // workers per worker that would do if each op began where another ends
	tunerBusy   = 0.85 // share of busy workers of a stage that is short of them
	tunerSpare  = 0.70 // share below which it has too many
	tunerKept   = 1.30 // workers that stay of those that were busy
	tunerDrift  = 1.30 // change of the time of an op that makes old trials worthless
	tunerReach  = 8
	tunerTurns  = 3
	tunerHold   = 4
	tunerLong   = 64
)

func newTuner(minimum, maximum, n int) *tuner {
	return &tuner{min: minimum, max: maximum, n: n, reach: tunerReach, patience: tunerHold}
}

// next returns the number of workers for the next window.
func (t *tuner) next(w window) int {
	t.watch(w.opNs)
	switch {
	case t.trial != nil:
		t.judge(w)
	case w.busy+w.waiting < tunerSpare*float64(t.n) || w.waiting > 1 && w.busy < tunerSpare*float64(t.n):
		t.giveUp(w)
	default:
		t.spare = 0
		t.try(w)
	}
	return t.n
}

// watch forgets what trials have told once an op takes another time than then.
// A trial itself changes the time, where workers share something.
func (t *tuner) watch(opNs float64) {
	switch {
	case t.trial != nil || opNs == 0:
		return
	case t.opNs == 0:
		t.opNs = opNs
		return
	case opNs <= t.opNs*tunerDrift && opNs >= t.opNs/tunerDrift:
		return
	case opNs > t.opNs:
		t.leanest = false
	}
	t.opNs, t.hold, t.reach, t.patience = opNs, 0, tunerReach, tunerHold
}

// settle ends a trial, if there is one, with n workers.
func (t *tuner) settle(n int) {
	t.n, t.trial, t.opNs = min(max(n, t.min), t.max), nil, 0
}

// try starts a trial, if the stage is short of workers.
func (t *tuner) try(w window) {
	if t.hold > 0 {
		t.hold--
		return
	}
	if w.capped || w.ready < 0.5 || w.busy < tunerBusy*float64(t.n) {
		return
	}
	to := t.more(w)
	if to <= t.n {
		to = t.fewer()
	}
	if to != t.n {
		t.trial = &trial{from: t.n, to: to, base: w.rate}
		t.n = to
	}
}

// more is the number of workers that there is room for.
func (t *tuner) more(w window) int {
	n := float64(t.n)
	could := n * w.room
	if !w.strict && w.room > tunerRoom {
		could = max(could, n+1, tunerStep*n)
	}
	could = min(could, max(n+1, math.Round(n*t.reach)), float64(t.max))
	return max(t.n, int(could))
}

// fewer is the number to try where more are none or were no good.
func (t *tuner) fewer() int {
	if t.leanest || t.n < 4 {
		return t.n
	}
	return max(t.min, t.n*3/4)
}

// judge goes on with a trial, or ends it.
func (t *tuner) judge(w window) {
	tr := t.trial
	if tr.back {
		tr.base, tr.back, t.n = w.rate, false, tr.to
		return
	}
	gain := w.rate / max(tr.base, 1e-9)
	tr.gains = append(tr.gains, gain)
	switch {
	case tr.to > tr.from && w.busy < tunerSpare*float64(tr.to): // no longer short of workers: giveUp trims
		t.settle(tr.to)
		t.hold, t.patience = 0, tunerHold
	case tr.to > tr.from && gain >= tunerGain, tr.to < tr.from && gain < 0.9, len(tr.gains) == tunerTurns:
		slices.Sort(tr.gains)
		t.conclude(tr, tr.gains[len(tr.gains)/2])
	default:
		tr.back, t.n = true, tr.from
	}
}

// conclude ends a trial that has shown gain.
func (t *tuner) conclude(tr *trial, gain float64) {
	grown := float64(tr.to) / float64(tr.from)
	switch {
	case tr.to < tr.from && gain >= tunerSame:
		t.settle(tr.to)
		t.hold = 0
	case tr.to < tr.from:
		t.leanest = true
		t.settle(tr.from)
		t.wait()
	case gain < tunerGain:
		t.reach = max(1.3, math.Sqrt(t.reach)) // perhaps less would have paid
		t.settle(tr.from)
		t.wait()
	case gain < tunerLinear*grown: // what carries gain times as much, when nobody waits for another
		t.settle(min(tr.to, max(tr.from+1, int(math.Ceil(float64(tr.from)*gain*tunerMargin)))))
		t.hold, t.leanest = t.patience, true
	default:
		t.reach = min(tunerReach, t.reach*t.reach)
		t.settle(tr.to)
		t.hold, t.patience, t.leanest = 0, tunerHold, true
	}
}

// wait puts the next trial off, twice as long as the last time.
func (t *tuner) wait() { t.hold, t.patience = t.patience, min(2*t.patience, tunerLong) }

// giveUp lets workers go that had nothing to do for three windows.
func (t *tuner) giveUp(w window) {
	if t.spare == 0 {
		t.need = 0
	}
	t.need = max(t.need, w.busy)
	if t.spare++; t.spare < 3 {
		return
	}
	t.spare = 0
	t.settle(min(t.n-1, max(t.n/2, int(math.Ceil(t.need*tunerKept)))))
}
