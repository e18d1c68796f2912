package pipeline_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spdl/spdl/core/pipeline"
)

// Words are read by two workers that each keep a builder, and printed in the
// order of the list; the one that cannot be read is dropped and counted.
func Example() {
	words := []string{"decode", "", "into", "a", "slot"}
	p := pipeline.New("example")

	i := 0
	jobs := pipeline.Source(p, pipeline.SourceOptions[string]{Name: "plan"},
		func(context.Context) (string, error) {
			if i == len(words) {
				return "", io.EOF
			}
			i++
			return words[i-1], nil
		})

	builders := pipeline.Workers[*strings.Builder]{
		Open: func(int) (*strings.Builder, error) { return &strings.Builder{}, nil },
	}
	loud := pipeline.MapWorkers(jobs, pipeline.Options[string, string]{
		Name:        "upper",
		Concurrency: 2,
		Output:      pipeline.Input,
		Failures:    pipeline.Failures{MaxCount: 1},
	}, builders, func(_ context.Context, b *strings.Builder, word string) (string, error) {
		if word == "" {
			return "", fmt.Errorf("empty word")
		}
		b.Reset()
		b.WriteString(strings.ToUpper(word))
		return b.String(), nil
	})

	pipeline.Sink(loud, pipeline.SinkOptions{Name: "print"}, func(_ context.Context, word string) error {
		fmt.Println(word)
		return nil
	})

	err := p.Run(context.Background())
	fmt.Println(err, p.Stats().Stages[1].Failures)
	// Output:
	// DECODE
	// INTO
	// A
	// SLOT
	// <nil> 1
}
