package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
)

// traceTime is how long a recording may take to come when its time is over.
const traceTime = 20 * time.Second

// tracing is one run of trace.
type tracing struct {
	*app
	seconds    float64
	file, join string
}

func (a *app) trace() *cobra.Command {
	v := &tracing{app: a}
	c := &cobra.Command{
		Use:   "trace [NAME]",
		Short: "Record what every worker and consumer does, for ui.perfetto.dev",
		Long: `Trace has a running engine (NAME, or NAME/RING: all its rings are recorded; the only one if nothing is said) record for some seconds, and writes the recording in
the format of chrome://tracing and ui.perfetto.dev: a span for every op of every worker, for every wait of a consumer, and each batch's
way from its last byte to the end of its use. Times are CLOCK_MONOTONIC in microseconds. Before and after it costs nothing.

With --join it puts such a recording into the file that PyTorch's profiler wrote meanwhile, on one time line: the argument is then the
recording's file. docs/performance.md shows how.`,
		Example: `  spdl trace imagenet --seconds 5 -o trace.json
  spdl trace trace.json --join torch.json -o both.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("trace: got %d arguments, want one", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	f := c.Flags()
	f.Float64Var(&v.seconds, "seconds", 5, "how long to record, up to 60")
	f.StringVarP(&v.file, "out", "o", "trace.json", "the file to write; - is standard output")
	f.StringVar(&v.join, "join", "", "a trace of PyTorch's profiler to put the recording into")
	return c
}

func (v *tracing) run(ctx context.Context, args []string) error {
	if v.join != "" {
		return v.joined(args)
	}
	if !(v.seconds > 0 && v.seconds <= shm.MaxTrace.Seconds()) {
		return usage("trace: --seconds %g, want a number above 0 and up to %g", v.seconds, shm.MaxTrace.Seconds())
	}
	if err := reachable("trace", "out", v.file); err != nil {
		return err
	}
	name, err := engineNamed("trace", args)
	if err != nil {
		return err
	}
	if _, err := look(ctx, "trace", name); err != nil { // whether the ring is there, and the engine answers, is known before anything is recorded
		return err
	}
	o, err := shm.Operate(ctx, name)
	if err != nil {
		return err
	}
	defer o.Close()
	span := time.Duration(v.seconds * float64(time.Second))
	recording, err := o.Trace(ctx, span)
	if errors.Is(err, shm.ErrEngineLost) {
		return fmt.Errorf("trace: the engine of %q went away while it recorded: %w", name, err)
	}
	if err != nil {
		return unanswered(ctx, "trace", name, span+traceTime, err)
	}
	defer recording.Close()
	return v.write(func(w io.Writer) error {
		_, err := io.Copy(w, recording)
		return err
	})
}

// joined puts a recording into a trace of PyTorch's profiler.
func (v *tracing) joined(args []string) error {
	if len(args) != 1 {
		return usage("trace: --join wants the file of a recording as its argument")
	}
	ours, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("trace: %q: %w", args[0], unwrapPath(err))
	}
	theirs, err := os.ReadFile(v.join)
	if err != nil {
		return fmt.Errorf("trace: --join %q: %w", v.join, unwrapPath(err))
	}
	return v.write(func(w io.Writer) error { return telemetry.JoinTraces(w, ours, theirs) })
}

// write stores what f writes under the file's name once it is complete.
func (v *tracing) write(f func(io.Writer) error) error {
	if err := v.store("trace", "out", v.file, f); err != nil {
		return wrong("trace", err)
	}
	if v.file != "-" {
		fmt.Fprintf(v.out, "%s: open it in ui.perfetto.dev or chrome://tracing\n", v.file)
	}
	return nil
}

// wrong names the verb unless the error does; a file that is no trace is a wrong argument.
func wrong(verb string, err error) error {
	var syntax *json.SyntaxError
	if errors.Is(err, telemetry.ErrNoTrace) || errors.As(err, &syntax) {
		return usage("%s: %v", verb, err)
	}
	if strings.HasPrefix(err.Error(), verb) {
		return err
	}
	return fmt.Errorf("%s: %w", verb, err)
}
