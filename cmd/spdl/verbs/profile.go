package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
)

// profiling is one run of profile.
type profiling struct {
	*app
	description
	each float64
	json bool
}

func (a *app) profile() *cobra.Command {
	v := &profiling{app: a}
	c := &cobra.Command{
		Use:   "profile SPEC|FOLDER|SHARDS",
		Short: "Run every stage alone, and show which one is the limit",
		Long: `Profile reads a description or folder as serve does and runs its stages one at a time: fetch reads the samples in the epoch's
order, decode works on samples that are in memory already. Each number of workers gets --seconds seconds. There is no ring, no batch and
no other stage, so the slowest stage at its best is what the whole can reach. Efficiency is the rate beside as many times that of one worker.

The stages behind decode need the others: for them the whole ring runs for --seconds seconds, with a consumer that gives each batch back
at once, and their rate is what their one worker did per second inside its ops.

What was read before comes from the page cache: for the storage itself use data that was not read lately.`,
		Example: `  spdl profile imagenet.yaml
  spdl profile /data/train --size 224 --cpus 8 --seconds 3
  spdl profile imagenet.yaml --json >profile.json`,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	v.addFlags(c)
	f := c.Flags()
	f.StringVar(&v.ring, "ring", "", "of a description with several rings: the one to run (default: the first)")
	f.Float64Var(&v.each, "seconds", 1, "for each number of workers")
	f.BoolVar(&v.json, "json", false, "print the measurements as JSON")
	return c
}

func (v *profiling) run(ctx context.Context, args []string) error {
	if !(v.each >= 0.01 && v.each <= 3600) {
		return usage("profile: --seconds %g, want 0.01 to 3600", v.each)
	}
	s, err := v.read(ctx, "profile", args)
	if err != nil {
		return err
	}
	progress := func(got telemetry.StageSpeed) {
		if !v.json {
			v.status("%s with %s: %s samples/s", got.Stage, counted(got.Workers, "worker"), rate(got.PerS))
		}
	}
	all, err := engine.Profile(ctx, s.All()[0], time.Duration(v.each*float64(time.Second)), progress)
	v.clearStatus()
	if err != nil {
		return missing(s, err)
	}
	behind, err := v.whole(ctx, s)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		fmt.Fprintf(v.err, "profile: the stages behind decode were not measured: %v\n", err)
	}
	all = append(all, behind...)
	telemetry.Rate(all)
	if v.json {
		w := json.NewEncoder(v.out)
		w.SetIndent("", "  ")
		return w.Encode(struct {
			Verdict string                 `json:"verdict"`
			Stages  []telemetry.StageSpeed `json:"stages"`
		}{telemetry.ProfileVerdict(all), all})
	}
	v.print(all)
	return nil
}

// whole runs the ring with all its stages, for those that cannot run alone.
func (v *profiling) whole(ctx context.Context, s *spec.Spec) ([]telemetry.StageSpeed, error) {
	if s.Rings != nil {
		s.Rings = s.Rings[:1]
	}
	s.All()[0].Order.Epochs = 0
	l, err := v.open(ctx, s, 1)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for begun := time.Now(); time.Since(begun).Seconds() < v.each || l.engine.Stats().Rings[0].Rows == 0; {
		batch, err := l.reader.Acquire(ctx)
		if errors.Is(err, shm.EndEpoch) {
			continue
		}
		if err == nil {
			err = batch.Release()
		}
		if err != nil {
			return nil, err
		}
	}
	stats := l.engine.Stats()
	snapshot := stats.Snapshot()
	return telemetry.InTheWhole(&snapshot.Rings[0]), nil
}

// print shows a table with a bar for each rate, as long as the stage's best allows, and a mark at the fewest workers that are enough.
func (v *profiling) print(all []telemetry.StageSpeed) {
	most, best := map[string]float64{}, map[string]int{}
	for _, s := range all {
		most[s.Stage] = max(most[s.Stage], s.PerS)
	}
	for _, s := range telemetry.Best(all) {
		best[s.Stage] = s.Workers
	}
	stage := ""
	for i := range all {
		s := &all[i]
		if s.Whole {
			fmt.Fprintf(v.out, "%-7s %7d  %10s  in the whole ring, per second inside its ops\n", s.Stage, s.Workers, rate(s.PerS))
			continue
		}
		if s.Stage != stage {
			stage = s.Stage
			fmt.Fprintf(v.out, "%-7s workers  samples/s        read  CPUs  efficiency\n", stage)
		}
		fmt.Fprintln(v.out, speedLine(s, best[s.Stage] == s.Workers, most[s.Stage]))
	}
	fmt.Fprintf(v.out, "%s\n(* the fewest workers within 5 %% of the best)\n", telemetry.ProfileVerdict(all))
}

// speedLine is a stage's line beside its best rate.
func speedLine(s *telemetry.StageSpeed, marked bool, best float64) string {
	mark, efficiency, failed := " ", "", ""
	if marked {
		mark = "*"
	}
	if s.Efficiency > 0 {
		efficiency = fmt.Sprintf("%.0f %%", 100*s.Efficiency)
	}
	if s.Failures > 0 {
		failed = fmt.Sprintf("  %s bad", thousands(s.Failures))
	}
	return fmt.Sprintf("%15d%s %10s %9s/s %5.1f %11s  %s%s", s.Workers, mark, rate(s.PerS), bytesText(uint64(s.BytesPerS)), s.CPUs,
		efficiency, strings.Repeat("█", int(s.PerS/max(best, 1e-9)*40+0.5)), failed)
}
