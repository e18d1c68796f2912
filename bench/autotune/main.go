// Command autotune compares stages that find their concurrency themselves with
// the best fixed setting found by a sweep, on three workloads:
//
//	cpu      one stage that computes; the best is the number of cores
//	latency  a store that answers after 20 ms, at most 24 requests at once
//	mix      fetch and compute; in the middle of the run fetches get four times
//	         faster and computing four times dearer
//
// Each round runs every fixed setting and then the automatic one, so that a
// machine that is slower for a while is so for both; what counts are the medians
// of the rounds' rates.
//
//	go run ./bench/autotune [-seconds 4] [-rounds 3] [-only mix] [-least 0.9]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spdl/spdl/core/pipeline"
)

// A workload is a source, a fetch and a compute stage, in two phases.
type workload struct {
	name    string
	fetch   [2]time.Duration // latency in each phase; 0 means no such stage
	store   int              // requests the store serves at once
	compute [2]int           // steps of an op in each phase; 0 means no such stage
	sweep   [][2]int         // concurrencies of fetch and compute to compare with
}

var workloads = []workload{
	{name: "cpu", compute: [2]int{2e5, 2e5}, sweep: [][2]int{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 8}, {0, 16}}},
	{name: "latency", fetch: [2]time.Duration{20e6, 20e6}, store: 24,
		sweep: [][2]int{{4, 0}, {8, 0}, {16, 0}, {24, 0}, {32, 0}, {64, 0}}},
	{name: "mix", fetch: [2]time.Duration{20e6, 5e6}, store: 64, compute: [2]int{5e5, 2e6},
		sweep: [][2]int{{4, 2}, {16, 2}, {32, 2}, {64, 2}, {32, 1}, {32, 4}, {64, 4}}},
}

// sum keeps the compiler from leaving spin out.
var sum atomic.Uint64

func spin(steps int) {
	x := uint64(steps)
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sum.Add(x & 1)
}

// A result is what one run brought, in items per second.
type result struct {
	settled float64 // in the second half of each phase
	whole   float64 // from the start on
	workers [2]int  // of the stages, at the end
}

// measure runs w for d with fixed concurrencies, or with ones it finds.
func measure(w workload, d time.Duration, fixed [2]int, auto bool) (result, error) {
	p := pipeline.New("bench")
	begun := time.Now()
	phase := func() int {
		if time.Since(begun) < d/2 {
			return 0
		}
		return 1
	}
	options := func(name string, n int) pipeline.Options[int, int] {
		o := pipeline.Options[int, int]{Name: name, Concurrency: n, Buffer: 16}
		if auto {
			o.Concurrency, o.Auto = 0, pipeline.Auto{Max: 64}
		}
		return o
	}
	port := pipeline.Source(p, pipeline.SourceOptions[int]{Name: "plan", Buffer: 16}, func(context.Context) (int, error) {
		if time.Since(begun) > d {
			return 0, io.EOF
		}
		return 0, nil
	})
	if w.fetch[0] > 0 {
		store := pipeline.NewLimiter(w.store)
		port = pipeline.Map(port, options("fetch", fixed[0]), func(ctx context.Context, v int) (int, error) {
			if err := store.Acquire(ctx); err != nil {
				return 0, err
			}
			defer store.Release()
			time.Sleep(w.fetch[phase()])
			return v, nil
		})
	}
	if w.compute[0] > 0 {
		port = pipeline.Map(port, options("compute", fixed[1]), func(_ context.Context, v int) (int, error) {
			spin(w.compute[phase()])
			return v, nil
		})
	}
	var total, settled atomic.Int64
	pipeline.Sink(port, pipeline.SinkOptions{Name: "out"}, func(context.Context, int) error {
		total.Add(1)
		if at := time.Since(begun) % (d / 2); at > d/4 {
			settled.Add(1)
		}
		return nil
	})
	var last [2]int
	if err := p.Start(context.Background()); err != nil {
		return result{}, err
	}
	time.Sleep(time.Until(begun.Add(d - d/50)))
	for _, s := range p.Stats().Stages {
		switch s.Name {
		case "fetch":
			last[0] = s.Concurrency
		case "compute":
			last[1] = s.Concurrency
		}
	}
	if err := p.Wait(); err != nil {
		return result{}, err
	}
	seconds := d.Seconds()
	return result{float64(settled.Load()) / (seconds / 2), float64(total.Load()) / seconds, last}, nil
}

// bench is what the command line says.
type bench struct {
	length time.Duration // of a fixed run
	rounds int
	out    *tabwriter.Writer
}

// compare runs all settings of w in turn, round after round, and returns the
// automatic one's median rate as a share of the best fixed one's median. (The
// best of single runs would be the luckiest.)
func (b *bench) compare(w workload) (float64, error) {
	fixed := make([][]float64, len(w.sweep))
	var auto []float64
	for round := range b.rounds {
		for k := range w.sweep {
			at := (k + round) % len(w.sweep) // no setting has always the same neighbour
			r, err := measure(w, b.length, w.sweep[at], false)
			if err != nil {
				return 0, err
			}
			fixed[at] = append(fixed[at], r.settled)
		}
		r, err := measure(w, 4*b.length, [2]int{}, true)
		if err != nil {
			return 0, err
		}
		auto = append(auto, r.settled)
		fmt.Fprintf(b.out, "%s\tauto, round %d\t%d\t%d\t%.0f\t%.0f\n", w.name, round+1, r.workers[0], r.workers[1], r.settled, r.whole)
	}
	best := 0.0
	for at, rates := range fixed {
		best = max(best, median(rates))
		fmt.Fprintf(b.out, "%s\tfixed\t%d\t%d\t%.0f\t\n", w.name, w.sweep[at][0], w.sweep[at][1], median(rates))
	}
	fmt.Fprintf(b.out, "%s\tauto\t\t\t%.0f\t\n", w.name, median(auto))
	return median(auto) / best, b.out.Flush()
}

func median(of []float64) float64 {
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

func run() error {
	seconds := flag.Float64("seconds", 4, "length of a fixed run; an automatic one is four times as long")
	rounds := flag.Int("rounds", 3, "times that each workload is measured")
	only := flag.String("only", "", "the one workload to run")
	least := flag.Float64("least", 0, "fail where the automatic setting brings less than this share of the best fixed one")
	flag.Parse()
	if *seconds <= 0 || *rounds < 1 {
		return fmt.Errorf("-seconds %g, -rounds %d, want above 0", *seconds, *rounds)
	}
	b := &bench{time.Duration(*seconds * float64(time.Second)), *rounds, tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)}
	fmt.Fprintln(b.out, "workload\tsetting\tfetch\tcompute\titems/s settled\titems/s whole")
	for _, w := range workloads {
		if *only != "" && *only != w.name {
			continue
		}
		share, err := b.compare(w)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %.0f %% of the best fixed setting\n", w.name, 100*share)
		if share < *least {
			return fmt.Errorf("%s: %.3f of the best fixed setting, want %g or more", w.name, share, *least)
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "autotune:", err)
		os.Exit(1)
	}
}
