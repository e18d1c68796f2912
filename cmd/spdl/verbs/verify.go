package verbs

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/spec"
	"github.com/spf13/cobra"
)

// shownFaults is how many faults verify prints before it only counts.
const shownFaults = 20

// verifying is one run of verify.
type verifying struct {
	*app
	description
	plan   *engine.Plan
	policy spec.Policy
	bad    *engine.Faults      // of the engine's journal; nil: it kept none
	kept   string              // path of the journal
	world  int                 // of a line that does not say
	taken  map[int64][]stretch // by global step
	lines  int
	rows   int64
	faults int
}

// A delivery is one line of a log: a batch that a consumer completed.
type delivery struct {
	Step  int64   `json:"step"` // global
	Rank  int     `json:"rank"`
	World int     `json:"world"`
	Bad   int     `json:"n_bad"`
	Index []int64 `json:"index"`
}

// A stretch is the positions of a step that one batch covers.
type stretch struct {
	from, to int64
	where    string
}

func (a *app) verify() *cobra.Command {
	v := &verifying{app: a, taken: map[int64][]stretch{}}
	c := &cobra.Command{
		Use:   "verify SPEC|FOLDER|SHARDS LOG...",
		Short: "Prove from logs that every sample came as often as planned",
		Long: `Verify reads the logs of all consumers of one group, compares every batch with the plan of the description, and says which steps are
missing, came twice, or hold other samples. From the first step in the logs to the last every row of every rank must be there once; the
world size may have changed on the way.

A log has one JSON object a line for every batch that was completed:
  {"step": 17, "rank": 0, "world": 2, "n_bad": 0, "index": [5, 81, ...]}
step is the batch's global step, index its samples, n_bad how many samples were skipped, masked or substituted, or made without some of their documents. Other keys are passed over.
In Python "for batch in spdl.delivery_log(loader, path)" writes it.

Where the engine kept a journal (--journal, or the description's), the samples that could not be read in time are known, and a batch that lacks
them is compared exactly; otherwise of a batch with bad samples only that it has no other samples than planned.

The exit code is 1 where the run did not see what was planned.`,
		Example: `  spdl verify imagenet.yaml rank0.jsonl rank1.jsonl
  spdl verify --spec-json "$(cat imagenet.json)" rank*.jsonl`,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	v.addFlags(c)
	c.Flags().StringVar(&v.kept, "journal", "", "the journal of the engine (default: the description's)")
	c.Flags().StringVar(&v.ring, "ring", "", "of a description with several rings: the one that the logs are of (default: the first)")
	return c
}

func (v *verifying) run(ctx context.Context, args []string) error {
	described, logs := args[:min(len(args), 1)], args[min(len(args), 1):]
	if v.given("spec-json") {
		described, logs = nil, args
	}
	if len(logs) == 0 {
		return usage("verify: got %s, want a description and the logs of all consumers of a group", counted(len(args), "argument"))
	}
	s, err := v.read(ctx, "verify", described)
	if err != nil {
		return err
	}
	if v.plan, err = engine.OpenPlan(ctx, s); err != nil {
		return missing(s, err)
	}
	defer v.plan.Close()
	one := s.All()[0]
	v.world, v.policy = one.World.Size, one.BadSample.Policy
	if v.bad, err = faultsOf("verify", one, v.kept, s.Journal); err != nil {
		return err
	}
	for _, path := range logs {
		if err := v.log(path); err != nil {
			return err
		}
	}
	if v.lines == 0 {
		return usage("verify: the logs are empty; want a line for each batch")
	}
	order, err := v.plan.Order(v.world)
	if err != nil {
		return err
	}
	first, last := v.cover(order)
	steps := order.StepsPerEpoch()
	fmt.Fprintf(v.out, "%s, %s, steps %s to %s (epochs %d to %d of %s)\n", counted(v.lines, "batch"), counted(v.rows, "row"),
		thousands(first), thousands(last), first/steps, last/steps, counted(steps, "step"))
	if v.faults > 0 {
		return fmt.Errorf("verify: %s: the run did not see what was planned", counted(v.faults, "fault"))
	}
	fmt.Fprintln(v.out, "every sample came as often as planned")
	return nil
}

// fault prints one, unless there were too many.
func (v *verifying) fault(format string, args ...any) {
	if v.faults++; v.faults <= shownFaults {
		fmt.Fprintf(v.out, format+"\n", args...)
	} else if v.faults == shownFaults+1 {
		fmt.Fprintln(v.out, "... and more")
	}
}

// log reads one file.
func (v *verifying) log(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	for n := 1; in.Scan(); n++ {
		where := fmt.Sprintf("%s:%d", path, n)
		line := bytes.TrimSpace(in.Bytes())
		if len(line) == 0 {
			continue
		}
		d := delivery{Step: -1, Rank: -1, World: v.world}
		if err := json.Unmarshal(line, &d); err != nil || d.Step < 0 || d.Rank < 0 || d.Index == nil {
			return usage("verify: %s: got %.60q, want an object with step, rank and index (see spdl verify --help)", where, line)
		}
		if err := v.compare(&d, where); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("verify: %s: %w", path, err)
	}
	return nil
}

// compare holds a batch against the plan.
func (v *verifying) compare(d *delivery, where string) error {
	order, err := v.plan.Order(d.World)
	if err != nil {
		return usage("verify: %s: %v", where, err)
	}
	if d.Rank >= d.World {
		return usage("verify: %s: rank %d in a world of %d", where, d.Rank, d.World)
	}
	v.lines++
	v.rows += int64(len(d.Index))
	epoch, step := d.Step/order.StepsPerEpoch(), d.Step%order.StepsPerEpoch()
	planned, _ := order.Rows(epoch, step, d.Rank, nil)
	at := order.Position(epoch, step, d.Rank)
	bad := v.bad.Of(epoch, at, int64(len(planned)))
	v.taken[d.Step] = append(v.taken[d.Step], stretch{at, at + int64(len(planned)), where})
	switch {
	case len(bad) > d.Bad:
		v.fault("%s: step %d rank %d of %d: %d bad, but the journal names %d", where, d.Step, d.Rank, d.World, d.Bad, len(bad))
	case len(bad) == d.Bad && d.Bad > 0 && !slices.Equal(d.Index, without(planned, at, bad, v.policy)):
		v.fault("%s: step %d rank %d of %d: holds other samples than the plan without those that the journal names: got %s, want %s", where, d.Step, d.Rank,
			d.World, few(d.Index), few(without(planned, at, bad, v.policy)))
	case d.Bad == 0 && !slices.Equal(d.Index, planned):
		v.fault("%s: step %d rank %d of %d: holds other samples than planned: got %s, want %s", where, d.Step, d.Rank, d.World, few(d.Index), few(planned))
	case d.Bad > 0 && !within(d.Index, planned):
		v.fault("%s: step %d rank %d of %d: %d bad, and samples that were not planned: got %s, want from %s", where, d.Step, d.Rank, d.World, d.Bad, few(d.Index), few(planned))
	}
	return nil
}

// without is what the policy makes of a batch in which some samples are bad; at is the place of its first row.
func without(planned []int64, at int64, bad []engine.Fault, policy spec.Policy) []int64 {
	isBad := func(row int) bool { // a row that stands without some of its documents is not
		return slices.ContainsFunc(bad, func(f engine.Fault) bool { return f.At == at+int64(row) && f.Documents == nil })
	}
	var left []int64
	for row, sample := range planned {
		switch {
		case !isBad(row) || policy == spec.Mask || policy == spec.Substitute && len(bad) == len(planned):
			left = append(left, sample)
		case policy == spec.Substitute:
			from := row
			for isBad(from) {
				from = (from + len(planned) - 1) % len(planned)
			}
			left = append(left, planned[from])
		}
	}
	return left
}

// within reports that every sample is one of those planned: a skipped one is missing, a substituted one is another's copy.
func within(got, planned []int64) bool {
	for _, i := range got {
		if !slices.Contains(planned, i) {
			return false
		}
	}
	return len(got) <= len(planned)
}

// few is the beginning of a list.
func few(samples []int64) string {
	if len(samples) > 6 {
		return strings.TrimSuffix(fmt.Sprint(samples[:6]), "]") + fmt.Sprintf(" ...] (%d)", len(samples))
	}
	return fmt.Sprint(samples)
}

// cover finds what is missing or came twice between the first and the last step, and returns those.
func (v *verifying) cover(order *sampler.Order) (first, last int64) {
	var steps []int64
	for s := range v.taken {
		steps = append(steps, s)
	}
	slices.Sort(steps)
	first, last = steps[0], steps[len(steps)-1]
	for i, s := range steps {
		if i > 0 && s > steps[i-1]+1 {
			v.fault("steps %d to %d: missing", steps[i-1]+1, s-1)
		}
		v.coverStep(order, s)
	}
	return first, last
}

func (v *verifying) coverStep(order *sampler.Order, global int64) {
	taken := v.taken[global]
	slices.SortStableFunc(taken, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	epoch, step := global/order.StepsPerEpoch(), global%order.StepsPerEpoch()
	world := order.Config().World
	at, end := order.Position(epoch, step, 0), order.Position(epoch, step, world-1)
	rows, _ := order.Rows(epoch, step, world-1, nil)
	end += int64(len(rows))
	start, before := at, ""
	for _, t := range taken {
		switch {
		case t.from < at && t.to > t.from:
			v.fault("%s: step %d: rows %d to %d came before, in %s", t.where, global, t.from-start, min(at, t.to)-start-1, before)
		case t.from > at:
			v.fault("step %d: rows %d to %d: missing", global, at-start, t.from-start-1)
		}
		at, before = max(at, t.to), t.where
	}
	if at < end {
		v.fault("step %d: rows %d to %d: missing", global, at-start, end-start-1)
	}
}
