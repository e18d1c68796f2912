// Command instruments runs an engine's stages and queues over pictures, without a ring: plan, fetch, decode, collect, publish, an op
// a sample, where the engine's ops take up to four. Its instructions, counted with the build tag uninstrumented and without, are
// what timing and counting cost a sample; bench/insight.py --instructions does that. With - for DIR nothing is read or decoded, so that
// the difference is not lost among what decoding takes.
//
//	go run ./bench/instruments DIR|- SAMPLES
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/pipeline"
)

var description = []byte(`{"image": {"transform": [{"resize": 256}, {"center_crop": 224}]}}`)

func run(paths []string, samples int) error {
	p := pipeline.New("instruments")
	next, out := 0, 0
	plan := pipeline.Source(p, pipeline.SourceOptions[string]{Name: "plan"}, func(context.Context) (string, error) {
		if next == samples {
			return "", io.EOF
		}
		next++
		return paths[next%len(paths)], nil
	})
	files := pipeline.Map(plan, pipeline.Options[string, []byte]{Name: "fetch", Concurrency: 2}, func(_ context.Context, path string) ([]byte, error) {
		if path == "-" {
			return nil, nil
		}
		return os.ReadFile(path)
	})
	rows := pipeline.Map(files, pipeline.Options[[]byte, *load.Media]{Name: "decode", Limiter: pipeline.NewLimiter(1)},
		func(_ context.Context, data []byte) (*load.Media, error) {
			if data == nil {
				return nil, nil
			}
			return load.Load(description, load.Source{Bytes: data}, nil)
		})
	whole := pipeline.Map(rows, pipeline.Options[*load.Media, *load.Media]{Name: "collect"},
		func(_ context.Context, m *load.Media) (*load.Media, error) { return m, nil })
	pipeline.Sink(whole, pipeline.SinkOptions{Name: "publish"}, func(context.Context, *load.Media) error {
		out++
		return nil
	})
	if err := p.Run(context.Background()); err != nil {
		return err
	}
	if out != samples {
		return fmt.Errorf("%d of %d samples came out", out, samples)
	}
	return nil
}

func main() {
	err := errors.New("want a directory of JPEGs or -, and a number of samples")
	if len(os.Args) == 3 {
		paths := []string{"-"}
		if os.Args[1] != "-" {
			paths, _ = filepath.Glob(filepath.Join(os.Args[1], "*.jpg"))
		}
		samples, failed := strconv.Atoi(os.Args[2])
		if err = failed; err == nil && len(paths) == 0 {
			err = fmt.Errorf("%s: no *.jpg in it", os.Args[1])
		}
		if err == nil {
			err = run(paths, samples)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "instruments:", err)
		os.Exit(1)
	}
}
