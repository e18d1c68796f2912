// Audio measures core/media/audio: the files named, again and again for a while, each into the same row of a thread's. It
// prints one JSON line: files a second, CPU milliseconds a file, and the frames of the last row.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/spdl/spdl/core/media/audio"
)

func main() {
	rate := flag.Int("rate", 16000, "of the row, Hz; 0: as stored")
	length := flag.Int("length", 160000, "of the row, frames")
	mel := flag.Bool("mel", false, "80 log-mel bands instead of the waveform")
	seconds := flag.Float64("seconds", 1, "how long")
	start := flag.Float64("start", 0, "of the row, seconds")
	threads := flag.Int("threads", 1, "how many, each with a row of its own")
	flag.Parse()
	cfg := audio.Config{Rate: *rate, Channels: 1, Length: *length, Crop: audio.CropStart, Window: audio.Window{Start: *start}}
	if *mel {
		cfg.Features = &audio.Features{Kind: audio.Mel, FFT: 400, Hop: 160, Mels: 80, Log: audio.NaturalLog}
	}
	if err := run(cfg, *threads, *seconds, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "audio:", err)
		os.Exit(1)
	}
}

// worker makes rows on a thread of its own.
type worker struct {
	w       *audio.Worker
	row     audio.Row
	files   []string
	done    int
	samples int
	err     error
}

// pass decodes every file once.
func (w *worker) pass() error {
	for _, f := range w.files {
		info, err := w.w.Decode(w.row, audio.Source{Path: f}, audio.Draw{})
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		w.samples = info.Samples
	}
	w.done += len(w.files)
	return nil
}

func (w *worker) until(end time.Time) {
	runtime.LockOSThread()
	for w.err == nil && time.Now().Before(end) {
		w.err = w.pass()
	}
}

func run(cfg audio.Config, threads int, seconds float64, files []string) error {
	op, err := audio.Compile(cfg)
	if err != nil {
		return err
	}
	workers := make([]*worker, threads)
	for i := range workers {
		w, err := op.NewWorker()
		if err != nil {
			return err
		}
		defer w.Close()
		workers[i] = &worker{w: w, row: audio.Row{Data: make([]byte, op.RowBytes())}, files: files}
		if err := workers[i].pass(); err != nil { // libraries, buffers, page cache
			return err
		}
		workers[i].done = 0
	}
	cpu, began := cpuSeconds(), time.Now()
	end := began.Add(time.Duration(seconds * float64(time.Second)))
	var all sync.WaitGroup
	for _, w := range workers {
		all.Add(1)
		go func() {
			defer all.Done()
			w.until(end)
		}()
	}
	all.Wait()
	wall, used, n := time.Since(began).Seconds(), cpuSeconds()-cpu, 0
	for _, w := range workers {
		if w.err != nil {
			return w.err
		}
		n += w.done
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"files_per_second": float64(n) / wall, "cpu_ms_per_file": 1000 * used / float64(n), "samples": float64(workers[0].samples),
	})
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
