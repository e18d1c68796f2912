package pipeline

import "math"

// A tuner finds the concurrency of one stage. It is told what the stage did
// with its present number of workers and says how many it should have next; it
// knows no clock and nothing of the stage.
//
// A stage that is short of workers is busy and has items waiting. Then the tuner
// tries more of them, twice as many as long as that pays, and keeps what made
// the stage faster. A try that did not pay is taken back, and the next one waits
// longer each time, until the work changes. A stage that has workers to spare
// gives them up: they cost memory and the machine's attention.
type tuner struct {
	min, max int
	n        int     // workers now
	trying   bool    // n is a try
	before   int     // what n was before the try
	rate     float64 // with before workers
	opNs     float64 // mean time of an op, when the last try ended
	step     float64 // growth of the next try
	hold     int     // windows to wait before the next try
	patience int     // what hold will be after the next try that does not pay
	spare    int     // windows in a row with workers to spare
}

// A window is what a stage did in some time.
type window struct {
	rate    float64 // items per second
	busy    float64 // mean number of workers inside ops
	waiting float64 // mean number of workers that waited for a limiter or a budget
	ready   float64 // share of the time an item was waiting to be taken
	opNs    float64 // mean time of an op
	capped  bool    // no try now: the CPUs are used up, or another stage is trying
}

const (
	tunerGain  = 1.05 // a try pays if the rate grows by this
	tunerBusy  = 0.85 // share of busy workers of a stage that is short of them
	tunerSpare = 0.70 // share below which it has too many
	tunerDrift = 1.30 // change of the time of an op that makes old tries worthless
	tunerHold  = 4
	tunerLong  = 16
)

func newTuner(minimum, maximum, n int) *tuner {
	return &tuner{min: minimum, max: maximum, n: n, step: 2, patience: tunerHold}
}

// next returns the number of workers for the next window.
func (t *tuner) next(w window) int {
	if t.drifted(w.opNs) {
		t.hold, t.step, t.patience = 0, 2, tunerHold
	}
	switch {
	case t.trying:
		t.judge(w)
	case w.busy+w.waiting < tunerSpare*float64(t.n) || w.waiting > 1 && w.busy < tunerSpare*float64(t.n):
		t.giveUp(w)
	default:
		t.spare = 0
		t.try(w)
	}
	return t.n
}

// drifted says that an op takes another time than when a try last told something.
// A try itself changes the time, where workers share a CPU.
func (t *tuner) drifted(opNs float64) bool {
	if t.trying || t.opNs == 0 || opNs == 0 {
		return false
	}
	return opNs > t.opNs*tunerDrift || opNs < t.opNs/tunerDrift
}

// settle ends a try, if there is one, with n workers.
func (t *tuner) settle(n int) {
	t.n, t.trying = min(max(n, t.min), t.max), false
}

// judge keeps a try that paid, and takes back one that did not.
func (t *tuner) judge(w window) {
	grown := float64(t.n) / float64(t.before)
	gain := w.rate / t.rate
	t.opNs = w.opNs
	if gain < tunerGain {
		t.settle(t.before)
		t.opNs = 0 // unknown again with fewer workers; the next window tells
		if t.step > 1.3 {
			t.step = math.Sqrt(t.step) // perhaps less would have paid
			t.hold = 1
			return
		}
		t.hold, t.patience = t.patience, min(2*t.patience, tunerLong)
		t.step = 1.5
		return
	}
	if gain < 1+(grown-1)/2 {
		t.step = max(1.2, math.Sqrt(t.step)) // near the end
	}
	t.settle(t.n)
	t.try(w)
}

// try starts a try, if the stage is short of workers and may have more.
func (t *tuner) try(w window) {
	if t.opNs == 0 {
		t.opNs = w.opNs
	}
	if t.hold > 0 {
		t.hold--
		return
	}
	more := min(t.max, max(t.n+1, int(math.Round(float64(t.n)*t.step))))
	if more <= t.n || w.capped || w.ready < 0.5 || w.busy < tunerBusy*float64(t.n) {
		return
	}
	t.trying, t.before, t.rate, t.n = true, t.n, w.rate, more
}

// giveUp lets workers go that had nothing to do for two windows.
func (t *tuner) giveUp(w window) {
	if t.spare++; t.spare < 2 {
		return
	}
	t.spare = 0
	t.settle(min(t.n-1, max(t.n/2, int(math.Ceil(w.busy*1.2)))))
	t.opNs = 0
}
