package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/telemetry"
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
		Use:   "profile SPEC|FOLDER",
		Short: "Run every stage alone with 1, 2, 4 ... workers, and show which one is the limit",
		Long: `Profile reads a description or folder as serve does and runs its stages one at a time: fetch reads the samples in the epoch's
order, decode works on samples that are in memory already. Each number of workers gets --seconds seconds. There is no ring, no batch and
no other stage, so the slowest stage at its best is what the whole can reach.

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
	s, err := v.read("profile", args)
	if err != nil {
		return err
	}
	progress := func(got telemetry.StageSpeed) {
		if isTerminal(v.err) && !v.json {
			fmt.Fprintf(v.err, "\r%s with %d workers: %s samples/s\x1b[K", got.Stage, got.Workers, thousands(int64(got.PerS+0.5)))
		}
	}
	all, err := engine.Profile(ctx, s.All()[0], time.Duration(v.each*float64(time.Second)), progress)
	if isTerminal(v.err) && !v.json {
		fmt.Fprint(v.err, "\r\x1b[K")
	}
	if err != nil {
		return missing(s, err)
	}
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
	for _, s := range all {
		if s.Stage != stage {
			stage = s.Stage
			fmt.Fprintf(v.out, "%-7s workers  samples/s        read  CPUs\n", stage)
		}
		mark := " "
		if best[s.Stage] == s.Workers {
			mark = "*"
		}
		failed := ""
		if s.Failures > 0 {
			failed = fmt.Sprintf("  %s bad", thousands(s.Failures))
		}
		fmt.Fprintf(v.out, "%15d%s %10s %9s/s %5.1f  %s%s\n", s.Workers, mark, thousands(int64(s.PerS+0.5)), bytesText(uint64(s.BytesPerS)), s.CPUs,
			strings.Repeat("█", int(s.PerS/max(most[s.Stage], 1e-9)*40+0.5)), failed)
	}
	fmt.Fprintf(v.out, "%s\n(* the fewest workers within 5 %% of the best)\n", telemetry.ProfileVerdict(all))
}
