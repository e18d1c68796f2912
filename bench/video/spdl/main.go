// Spdl decodes a video as an engine would, for bench/video: spdl FILE PASSES THREADS FRAMES COUNT, all frames where COUNT is 0.
// It prints the frames delivered and the CPU seconds, as JSON.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/video"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "spdl:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("want FILE PASSES THREADS FRAMES COUNT")
	}
	var n [4]int
	for i, a := range args[1:] {
		v, err := strconv.Atoi(a)
		if err != nil {
			return err
		}
		n[i] = v
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	stream, err := video.Probe(video.Source{Bytes: data})
	if err != nil {
		return err
	}
	cfg := video.Config{Image: media.Config{Out: media.Size{H: stream.Height, W: stream.Width}}, Frames: n[2], Threads: n[1]}
	if n[3] > 0 {
		cfg.Frames, cfg.Select = 0, video.Selection{Kind: video.Uniform, Count: n[3]}
	}
	op, err := video.Compile(cfg)
	if err != nil {
		return err
	}
	w, err := op.NewWorker()
	if err != nil {
		return err
	}
	defer w.Close()
	row := video.Row{Data: make([]byte, op.RowBytes())}
	if _, err := w.Decode(row, video.Source{Bytes: data}, video.Draw{}); err != nil {
		return err
	}
	start, frames := cpu(), 0
	for range n[0] {
		info, err := w.Decode(row, video.Source{Bytes: data}, video.Draw{})
		if err != nil {
			return err
		}
		frames += info.Frames
	}
	fmt.Printf("{\"frames\": %d, \"cpu_seconds\": %.4f}\n", frames, cpu()-start)
	return nil
}

func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
