package pipeline

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A world is a run of a fetch and a compute stage with Auto in virtual time: counters that grow as the stages of a
// real run would have them grow, and the code that reads them.
type world struct {
	fetchNs   float64 // of a fetch
	atOnce    float64 // fetches that the store serves at once
	computeNs float64 // CPU time of a compute
	cores     float64
	free      func() float64 // share of the CPUs that neighbours leave, anew each look
	noise     float64        // a look's rates are off by up to this share

	run            *tuningRun
	fetch, compute *tuned
	atNs, wantedNs int64
	emptyNs        [2]int64
	done, best     float64 // items, and those of a world where both stages have all the workers they can use
	changes        int
	random         *rand.Rand
}

// An emptyClock is an input of which a test says how long it was empty.
type emptyClock struct {
	outlet
	ns *int64
}

func (e emptyClock) emptyTime(int64) int64 { return *e.ns }

func newWorld(seed uint64, fetch, compute int) *world {
	w := &world{cores: 2, atOnce: 1e9, free: func() float64 { return 1 }, random: rand.New(rand.NewPCG(seed, 1))}
	p := New("world")
	for i, name := range []string{"fetch", "compute"} {
		n := []int{fetch, compute}[i]
		s := newCrewStage(p, "map", name, n, Auto{Max: 64})
		s.input = emptyClock{ns: &w.emptyNs[i]}
	}
	p.Tune(Tuning{Cores: w.cores})
	w.run = newTuningRun(p)
	w.run.demand = func() int64 { return w.wantedNs }
	w.fetch, w.compute = w.run.stages[0], w.run.stages[1]
	return w
}

// look lets 100 ms pass and the tuners look.
func (w *world) look() {
	const ns = 1e8
	shake := func(x float64) float64 { return x * (1 + w.noise*(2*w.random.Float64()-1)) }
	free := w.free()
	nFetch, nCompute := float64(w.fetch.crew.active.Load()), float64(w.compute.crew.active.Load())
	fetches := func(n float64) float64 { return min(n, w.atOnce) / w.fetchNs }
	computes := func(n float64) float64 { return min(n, w.cores) * free / w.computeNs }
	rate := min(fetches(nFetch), computes(nCompute))
	w.done += rate * ns
	w.best += min(fetches(64), computes(64)) * ns

	pass := func(t *tuned, i int, could, n, opNs float64) (busy float64) {
		busy = min(n, rate*opNs)
		if rate >= could { // the limit: all of it is busy, and items wait
			busy = n
		} else {
			w.emptyNs[i] += int64(0.9 * ns)
		}
		t.meters[0].items.Add(uint64(shake(rate) * ns))
		t.meters[0].op.sumNs.Add(int64(busy * ns))
		return busy
	}
	pass(w.fetch, 0, fetches(nFetch), nFetch, w.fetchNs)
	busy := pass(w.compute, 1, computes(nCompute), nCompute, w.computeNs/free)
	w.wantedNs += int64(min(busy, w.cores) * ns)
	w.atNs += ns
	w.run.look(w.atNs)
	if int64(nFetch) != w.fetch.crew.active.Load() || int64(nCompute) != w.compute.crew.active.Load() {
		w.changes++
	}
}

// looks lets n of them pass and says which share of the best they have brought.
func (w *world) looks(n int) float64 {
	w.done, w.best, w.changes = 0, 0, 0
	for range n {
		w.look()
	}
	return w.done / w.best
}

// neighbours take up to 70 % of the machine, for some looks at a time.
func neighbours(r *rand.Rand) func() float64 {
	free, left := 1.0, 0
	return func() float64 {
		if left--; left < 0 {
			free, left = 0.3+0.7*r.Float64(), 3+r.IntN(30)
		}
		return free
	}
}

// The three workloads of bench/autotune, in virtual time, with neighbours and without, with rates that are off by up to
// 20 %: from 4 s on the tuners bring at least 90 % of what any fixed number of workers could.
func TestTunersBringNineTenthsOfTheBestFixedSetting(t *testing.T) {
	for name, set := range map[string]func(*world){
		"cpu":     func(w *world) { w.fetchNs, w.computeNs = 1e3, 1e6 },
		"latency": func(w *world) { w.fetchNs, w.atOnce, w.computeNs = 20e6, 24, 1e3 },
		"mix":     func(w *world) { w.fetchNs, w.computeNs = 20e6, 0.75e6 },
		"shifted": func(w *world) { w.fetchNs, w.computeNs = 5e6, 3e6 },
	} {
		for seed := range uint64(30) {
			w := newWorld(seed, 0, 0)
			set(w)
			if seed%3 > 0 {
				w.noise = 0.2
			}
			if seed%2 > 0 {
				w.free = neighbours(w.random)
			}
			w.looks(40)
			if share := w.looks(400); share < 0.9 {
				t.Errorf("%s, seed %d: %.0f %% of the best with %d and %d workers", name, seed, 100*share, w.fetch.tuner.n, w.compute.tuner.n)
			}
		}
	}
}

// The mix, to the shifted mix and back, every 30 s: within 4 s the tuners are at 90 % again.
func TestTunersFollowAMixThatShifts(t *testing.T) {
	for seed := range uint64(30) {
		w := newWorld(seed, 0, 0)
		w.noise = 0.2
		if seed%2 > 0 {
			w.free = neighbours(w.random)
		}
		for phase := range 6 {
			w.fetchNs, w.computeNs = 20e6, 0.75e6
			if phase%2 == 1 {
				w.fetchNs, w.computeNs = 5e6, 3e6
			}
			w.looks(40)
			if share := w.looks(260); share < 0.9 {
				t.Errorf("seed %d, phase %d: %.0f %% of the best with %d and %d workers", seed, phase, 100*share, w.fetch.tuner.n, w.compute.tuner.n)
			}
		}
	}
}

// On a machine of its own, with work that does not change, tuners come to rest: in half an hour they change a number of workers less
// than once in ten seconds.
func TestTunersDoNotOscillate(t *testing.T) {
	for _, noise := range []float64{0, 0.1} {
		w := newWorld(1, 0, 0)
		w.fetchNs, w.computeNs, w.noise = 20e6, 0.75e6, noise
		w.looks(100)
		w.looks(18000)
		if w.changes > 180 {
			t.Errorf("noise %.1f: %d changes with %d and %d workers", noise, w.changes, w.fetch.tuner.n, w.compute.tuner.n)
		}
	}
}

// With a budget of 1.5 cores, work that computes never has two workers; with one of 2 it has them at once.
func TestTunersStayInsideTheBudgetOfCPUs(t *testing.T) {
	for _, budget := range []float64{1.5, 2} {
		w := newWorld(1, 0, 0)
		w.cores, w.fetchNs, w.computeNs = 8, 1e3, 1e6
		w.run.p.tuning.CPUs, w.run.allowed = budget, budget
		most := 0
		for range 300 {
			w.look()
			most = max(most, w.compute.tuner.n)
		}
		if most != int(budget) {
			t.Errorf("budget %g: %d workers that compute, want %d", budget, most, int(budget))
		}
	}
}

// A budget of CPUs that is met on the whole costs nobody a worker, however coarse the clock of one look; one that is passed for good shrinks
// the largest stage until it is met or one worker is left.
func TestABudgetOfCPUsIsJudgedByItsMean(t *testing.T) {
	w := newWorld(1, 20, 4)
	w.run.p.tuning.CPUs = 2
	w.run.allowed, w.run.used = 2, 2
	for range 2000 {
		w.run.keepBudget(2 * (0.9 + 0.2*w.random.Float64()))
	}
	if w.fetch.tuner.n != 20 || w.compute.tuner.n != 4 {
		t.Fatalf("%d and %d workers, want the 20 and 4 there were", w.fetch.tuner.n, w.compute.tuner.n)
	}
	for range 2000 { // a fetcher takes a tenth of a core beside the two that compute
		w.run.keepBudget(1 + 0.1*float64(w.fetch.tuner.n))
	}
	if n := w.fetch.tuner.n; n != 11 {
		t.Errorf("%d fetchers, want the 11 that use 2.1 cores, 5 %% above the budget", n)
	}
	for range 2000 {
		w.run.keepBudget(3)
	}
	if w.fetch.tuner.n != 1 || w.compute.tuner.n != 1 {
		t.Errorf("%d and %d workers over a budget that nothing helps, want one each", w.fetch.tuner.n, w.compute.tuner.n)
	}
}

// Without a budget a stage grows into the cores that the process has, which may be fewer than its threads of Go.
func TestTunersGoByTheCoresThereAre(t *testing.T) {
	for _, c := range []struct {
		tuning Tuning
		want   float64
	}{{Tuning{Cores: 2.5}, 2.5}, {Tuning{Cores: 4, CPUs: 1.6}, 1.6}, {Tuning{}, float64(runtime.GOMAXPROCS(0))}} {
		p := New("t")
		p.Tune(c.tuning)
		if got := newTuningRun(p).allowed; got != c.want {
			t.Errorf("%+v: %g cores, want %g", c.tuning, got, c.want)
		}
	}
}

// Fetchers that take 10 MB each grow to fill a budget of 300 MB beside the 50 MB of the rest, and never pass it.
func TestTunersStayInsideTheBudgetOfMemory(t *testing.T) {
	w := newWorld(1, 0, 0)
	w.fetchNs, w.computeNs = 20e6, 1e3
	opened := int64(1)
	w.run.memory = memory{limit: 300e6, resident: func() int64 {
		opened = max(opened, w.fetch.crew.active.Load()) // a worker that rests keeps what it has opened
		return 50e6 + 10e6*opened
	}}
	for range 300 {
		w.look()
		if got := w.run.memory.resident(); got > 300e6 {
			t.Fatalf("%d bytes with %d workers, want 300 MB or less", got, w.fetch.tuner.n)
		}
	}
	if w.fetch.tuner.n < 20 {
		t.Errorf("%d workers, want most of the 25 that the budget allows", w.fetch.tuner.n)
	}
}

// Neighbours do not change how much CPU the work wants: what a thread waited counts as what it ran, and a thread that has ended keeps
// what it had.
func TestDemandCountsTheTimeThatThreadsWaitForACPU(t *testing.T) {
	d := demand{tasks: t.TempDir()}
	schedstat := func(id, text string) {
		if err := os.MkdirAll(filepath.Join(d.tasks, id), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d.tasks, id, "schedstat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func(want int64) {
		t.Helper()
		if got := d.soFar(); got != want {
			t.Errorf("wanted %d ns, want %d", got, want)
		}
	}
	schedstat("1", "100 50 3\n")
	look(150)
	schedstat("2", "7 0 1\n")
	schedstat("1", "130 70 5\n")
	look(207)
	if err := os.RemoveAll(filepath.Join(d.tasks, "1")); err != nil {
		t.Fatal(err)
	}
	look(207)
	schedstat("1", "10 0 1\n") // its number is another thread's now
	look(217)
}

// A kernel that keeps no such account has the CPU time stand for it.
func TestDemandIsTheCPUTimeWhereTheKernelDoesNotSayMore(t *testing.T) {
	for _, tasks := range []string{"/nowhere", t.TempDir()} {
		before := processTime()
		if got := (&demand{tasks: tasks}).soFar(); got < before || got > processTime() {
			t.Errorf("%s: %d ns, want the CPU time since %d", tasks, got, before)
		}
	}
}

func TestABudgetBelowZeroIsRefused(t *testing.T) {
	for want, tuning := range map[string]Tuning{"CPUs -1": {CPUs: -1}, "cores -1": {Cores: -1}, "memory -1": {Memory: -1}, "interval -1ns": {Interval: -1}} {
		p := New("t")
		p.Tune(tuning)
		Pull((&ledger{}).from(p, 1), ResultsOptions{Name: "out"})
		if err := p.Start(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("start: %v, want %q", err, want)
		}
	}
}
