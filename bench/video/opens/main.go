// Opens measures demuxing with many at once: opens FILE [-seconds 2] [-rounds 5]. Each open finds the streams of a file and
// takes the packets of one second from its middle. It prints opens a second by concurrency, medians over interleaved
// rounds, and their ratio to those at 2, within a round; as JSON.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spdl/spdl/core/coded"
	"github.com/spdl/spdl/core/media/mux"
)

const window = `{"video": {"window": {"start": "4s", "duration": "1s"}}}`

var concurrency = []int{1, 2, 4, 8, 16}

type figure struct {
	Concurrency    int     `json:"concurrency"`
	OpensPerSecond float64 `json:"opens_per_second"`
	OverTwo        float64 `json:"ratio_to_2"`
}

func main() {
	seconds := flag.Float64("seconds", 2, "of each measurement")
	rounds := flag.Int("rounds", 5, "interleaved rounds")
	flag.Parse()
	if err := run(flag.Arg(0), time.Duration(*seconds*float64(time.Second)), *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "opens:", err)
		os.Exit(1)
	}
}

func run(path string, span time.Duration, rounds int) error {
	if err := open(path); err != nil { // libraries, page cache
		return err
	}
	rates := make([][]float64, len(concurrency))
	for round := range rounds {
		for k := range concurrency {
			at := (k + round) % len(concurrency)
			rate, err := measure(path, concurrency[at], span)
			if err != nil {
				return err
			}
			rates[at] = append(rates[at], rate)
		}
	}
	figures := make([]figure, len(concurrency))
	for k, n := range concurrency {
		ratios := make([]float64, rounds)
		for r := range ratios {
			ratios[r] = rates[k][r] / rates[slices.Index(concurrency, 2)][r]
		}
		figures[k] = figure{n, median(rates[k]), median(ratios)}
	}
	return json.NewEncoder(os.Stdout).Encode(figures)
}

// measure opens with n goroutines until the time is over.
func measure(path string, n int, span time.Duration) (float64, error) {
	var opens atomic.Int64
	errs := make([]error, n)
	var all sync.WaitGroup
	began := time.Now()
	for k := range n {
		all.Add(1)
		go func() {
			defer all.Done()
			for errs[k] == nil && time.Since(began) < span {
				errs[k] = open(path)
				opens.Add(1)
			}
		}()
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(opens.Load()) / time.Since(began).Seconds(), nil
}

func open(path string) error {
	d, err := coded.OpenDemuxing([]byte(window), mux.Source{Path: path})
	if err != nil {
		return err
	}
	defer d.Close()
	p, err := d.Next()
	if err != nil {
		return err
	}
	p.Close()
	return nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
