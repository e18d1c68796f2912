// Audio measures core/media/audio on one thread: the files named, again and again for a while, each into the same row. It
// prints one JSON line: files a second, CPU milliseconds a file, and the frames of the last row.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
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
	flag.Parse()
	if err := run(*rate, *length, *mel, *seconds, audio.Window{Start: *start}, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "audio:", err)
		os.Exit(1)
	}
}

func run(rate, length int, mel bool, seconds float64, window audio.Window, files []string) error {
	cfg := audio.Config{Rate: rate, Channels: 1, Length: length, Crop: audio.CropStart, Window: window}
	if mel {
		cfg.Features = &audio.Features{Kind: audio.Mel, FFT: 400, Hop: 160, Mels: 80, Log: audio.NaturalLog}
	}
	op, err := audio.Compile(cfg)
	if err != nil {
		return err
	}
	w, err := op.NewWorker()
	if err != nil {
		return err
	}
	defer w.Close()
	row := audio.Row{Data: make([]byte, op.RowBytes())}
	runtime.LockOSThread()
	pass := func() (samples int, err error) {
		for _, f := range files {
			info, err := w.Decode(row, audio.Source{Path: f}, audio.Draw{})
			if err != nil {
				return 0, fmt.Errorf("%s: %w", f, err)
			}
			samples = info.Samples
		}
		return samples, nil
	}
	if _, err := pass(); err != nil { // libraries, buffers, page cache
		return err
	}
	n, samples := 0, 0
	cpu, began := cpuSeconds(), time.Now()
	for time.Since(began).Seconds() < seconds {
		if samples, err = pass(); err != nil {
			return err
		}
		n += len(files)
	}
	wall, used := time.Since(began).Seconds(), cpuSeconds()-cpu
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"files_per_second": float64(n) / wall, "cpu_ms_per_file": 1000 * used / float64(n), "samples": float64(samples),
	})
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
