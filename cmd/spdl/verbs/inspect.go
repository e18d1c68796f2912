package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
)

// inspectTime bounds the questions to an engine; tests shorten it.
var inspectTime = 10 * time.Second

// inspecting is one run of inspect.
type inspecting struct {
	*app
	check, json, slots bool
}

// inspection is what inspect found out; it is the JSON.
type inspection struct {
	Ring     *shm.RingReport `json:"ring"`
	Alive    bool            `json:"alive"`
	Checked  bool            `json:"checked"`
	Problems []shm.Problem   `json:"problems"`
	Stats    json.RawMessage `json:"stats,omitempty"` // of the engine, if it lives
}

func (a *app) inspect() *cobra.Command {
	v := &inspecting{app: a}
	c := &cobra.Command{
		Use:   "inspect [NAME]",
		Short: "Show a ring as it stands: groups, consumers, slots",
		Long: `Inspect looks at a running ring (NAME/RING, or NAME: the engine's first one) without becoming a consumer, or at what a killed engine
left in /dev/shm. Without a name it lists both.

A consumer works, or waits for a batch; one that hung up has closed its socket and lives: what it holds stays its own until it ends.

With --check it proves the ring consistent: geometry, records, queues, words, owners and descriptors. A running ring is never still,
so only what is wrong in several looks counts. Problems are named, and the exit code is 1.`,
		Example: `  spdl inspect
  spdl inspect imagenet --slots
  spdl inspect imagenet --check --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("inspect: got %d arguments, want the name of one ring, or none to list all", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return v.list()
			}
			ctx, cancel := context.WithTimeout(c.Context(), inspectTime)
			defer cancel()
			return unanswered(c.Context(), "inspect", args[0], inspectTime, v.run(ctx, args[0]))
		},
	}
	f := c.Flags()
	f.BoolVar(&v.check, "check", false, "prove the ring consistent; exit code 1 if it is not")
	f.BoolVar(&v.slots, "slots", false, "list the slots that hold batches")
	f.BoolVar(&v.json, "json", false, "print JSON")
	return c
}

func (v *inspecting) run(ctx context.Context, name string) error {
	got, err := v.look(ctx, name)
	if err != nil {
		return err
	}
	if v.json {
		w := json.NewEncoder(v.out)
		w.SetIndent("", "  ")
		if err := w.Encode(got); err != nil {
			return fmt.Errorf("inspect: %w", err)
		}
	} else {
		v.print(got)
	}
	if len(got.Problems) > 0 {
		return fmt.Errorf("inspect: ring %q is inconsistent: %s", name, counted(len(got.Problems), "problem"))
	}
	return nil
}

// look asks the engine, or reads what a dead one left.
func (v *inspecting) look(ctx context.Context, name string) (*inspection, error) {
	got := &inspection{Checked: v.check, Problems: []shm.Problem{}}
	snapshot, err := shm.Observe(ctx, name)
	if err == nil {
		got.Alive = true
	} else {
		snapshot, err = leftoverOf(name, err)
	}
	if err != nil {
		return nil, otherRings(ctx, "inspect", name, err)
	}
	got.Ring, err = snapshot.Report()
	if err != nil && !v.check && got.Alive {
		return nil, err
	}
	if err != nil && !v.check {
		return nil, &because{fmt.Errorf("inspect: %q: what lies in /dev/shm under this name is no whole ring (spdl clean removes it): %v", name, err), err}
	}
	if got.Alive {
		if got.Stats, err = stats(ctx, name); err != nil {
			return nil, err
		}
		got.markSilent()
	}
	if !v.check {
		return got, nil
	}
	problems := shm.Check(snapshot)
	if got.Alive {
		if problems, err = shm.CheckLive(ctx, name); err != nil {
			return nil, err
		}
	}
	got.Problems = append(got.Problems, problems...)
	return got, nil
}

// markSilent notes in the ring's report what the engine says of its consumers.
func (got *inspection) markSilent() {
	var stats engine.Stats
	if got.Ring == nil || json.Unmarshal(got.Stats, &stats) != nil {
		return
	}
	for i := range stats.Rings {
		if stats.Rings[i].Ring.Name == got.Ring.Name {
			got.Ring.MarkSilent(stats.Rings[i].Groups)
		}
	}
}

// stats asks the engine for its counters; one without is fine.
func stats(ctx context.Context, name string) (json.RawMessage, error) {
	o, err := shm.Operate(ctx, name)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	text, err := o.Stats(ctx)
	if errors.Is(err, shm.ErrUnsupported) {
		return nil, nil
	}
	return text, err
}

// leftoverOf is the ring of that name that no engine answers for; observing is why none was asked.
func leftoverOf(name string, observing error) (*shm.Snapshot, error) {
	engine, _, _ := strings.Cut(name, "/")
	running := func(path string) bool { return filepath.Base(path) == engine+".sock" }
	sockets, _ := shm.RunningSockets() // of a directory that is refused observing tells already
	if !errors.Is(observing, shm.ErrNotFound) || slices.ContainsFunc(sockets, running) {
		return nil, observing
	}
	all, err := shm.Leftovers()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Name == name {
			return all[i].Snapshot()
		}
	}
	if uid, foreign := shm.ForeignOwner(name); foreign {
		return nil, &because{fmt.Errorf("inspect: %q: no engine answers, and what is under this name belongs to user %d; inspect it as that user or root", name, uid), shm.ErrDenied}
	}
	return nil, &because{fmt.Errorf("inspect: %q: no engine answers, and no ring of this name is in /dev/shm; spdl inspect lists all", name), observing}
}

// list shows what there is to inspect.
func (v *inspecting) list() error {
	if v.check || v.slots {
		return usage("inspect: --check and --slots need the name of a ring; spdl inspect lists them")
	}
	type entry struct {
		Name  string `json:"name"`
		State string `json:"state"` // running or stale
		Where string `json:"where"`
	}
	sockets, err := shm.RunningSockets()
	if err != nil {
		return err
	}
	all := []entry{}
	for _, path := range sockets {
		all = append(all, entry{strings.TrimSuffix(filepath.Base(path), ".sock"), "running", path})
	}
	rings, err := shm.Leftovers()
	if err != nil {
		return err
	}
	for _, r := range rings {
		if r.Stale {
			all = append(all, entry{r.Name, "stale", fmt.Sprintf("/dev/shm, %s; spdl clean removes it", bytesText(r.Bytes))})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	if v.json {
		return json.NewEncoder(v.out).Encode(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(v.out, "no ring is served; start one with spdl serve")
		return nil
	}
	w := tabwriter.NewWriter(v.out, 0, 0, 2, ' ', 0)
	for _, e := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name, e.State, e.Where)
	}
	return w.Flush()
}

func (v *inspecting) print(got *inspection) {
	if r := got.Ring; r != nil {
		v.ring(r, got.Alive)
		v.others(r, got.Stats)
		v.groups(r, got.Alive)
		if v.slots {
			v.filled(r)
		}
	}
	if got.Checked && len(got.Problems) == 0 {
		fmt.Fprintln(v.out, "consistent")
	}
	for _, p := range got.Problems {
		fmt.Fprintf(v.out, "problem: %v\n", p)
	}
}

func (v *inspecting) ring(r *shm.RingReport, alive bool) {
	state := r.State
	if !alive {
		state = "left by a dead engine, last " + state
	}
	if r.Parked && alive && r.State == "running" {
		state += ", waits for a free slot"
	}
	if r.Error != "" {
		state += ": " + r.Error
	}
	epochs := "endless"
	if r.Epochs > 0 {
		epochs = counted(r.Epochs, "epoch")
	}
	fmt.Fprintf(v.out, "%s: %s\n", r.Name, state)
	fmt.Fprintf(v.out, "  engine   pid %d, layout %s, %s, %s access\n", r.EnginePID, r.Layout, r.Backing, r.Access)
	fmt.Fprintf(v.out, "  data     %s, %s an epoch, %s; %s a batch, %s of world size %d\n",
		counted(r.Samples, "sample"), counted(r.StepsPerEpoch, "step"), epochs, counted(r.BatchRows, "row"), counted(r.Lanes, "lane"), r.WorldSize)
	fmt.Fprintf(v.out, "  ring     %d slots x %s = %s, %d filled; %s published, next ticket %d, %s\n",
		r.Slots, bytesText(r.SlotBytes), bytesText(r.DataBytes), len(r.Filled), counted(r.Published, "batch"), r.NextTicket, counted(r.Violations, "violation"))
	for _, t := range r.Tensors {
		fmt.Fprintf(v.out, "  field    %s %s %s\n", t.Name, t.DType, strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ", "))
	}
}

// others names the engine's other rings.
func (v *inspecting) others(r *shm.RingReport, counters json.RawMessage) {
	var stats engine.Stats
	if json.Unmarshal(counters, &stats) != nil {
		return
	}
	all := stats.Snapshot()
	if names := slices.DeleteFunc(ringNames(&all), func(name string) bool { return name == r.Name }); len(names) > 0 {
		fmt.Fprintf(v.out, "  others   of this engine: %s\n", strings.Join(names, ", "))
	}
}

func (v *inspecting) groups(r *shm.RingReport, alive bool) {
	if len(r.Groups) == 0 {
		fmt.Fprintln(v.out, "  no groups: nobody reads")
		return
	}
	w := tabwriter.NewWriter(v.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n  group\tkind\tstate\tmode\tslow\tpublished\tcompleted\tredelivered\tdropped\tready\theld\tdone\n")
	for _, g := range r.Groups {
		mode := g.Mode
		if mode == "lanes" {
			mode = fmt.Sprintf("%d lanes", g.Lanes)
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", g.Name, g.Kind, g.State, mode, g.Slow, g.Published, g.Completed, g.Redelivered, g.Dropped, g.Ready, g.Held, g.Done)
	}
	_ = w.Flush()
	w = tabwriter.NewWriter(v.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n  consumer\tclient\tpid\tgroup\tlane\tepoch\tacquired\tcompleted\tholds\tof\tnow\n")
	n := 0
	for _, g := range r.Groups {
		for _, m := range g.Members {
			fmt.Fprintf(w, "  %d\t%s\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", m.Owner, printable(m.Client), m.PID, g.Name, m.Lane, m.Epoch, m.Acquired, m.Completed, m.Holds, m.MaxLeases, doing(&m, alive))
			n++
		}
	}
	if n == 0 {
		fmt.Fprintln(v.out, "  no consumers")
		return
	}
	_ = w.Flush()
}

// doing is what a consumer does now. Of a dead engine's nobody knows: it may be dead, too.
func doing(m *shm.MemberReport, alive bool) string {
	now := "works"
	if m.Waiting {
		now = "waits"
	}
	switch {
	case !alive:
		return "unknown"
	case m.Silent:
		return "hung up, " + now
	}
	return now
}

func (v *inspecting) filled(r *shm.RingReport) {
	clients := map[uint32]string{}
	for _, g := range r.Groups {
		for _, m := range g.Members {
			clients[m.Owner] = m.Client
		}
	}
	w := tabwriter.NewWriter(v.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n  slot\tticket\tepoch\tstep\trows\tbad\tgroups\n")
	for _, s := range r.Filled {
		var words []string
		for _, word := range s.Words {
			text := word.Group + " " + word.State
			if word.Owner != 0 {
				text += fmt.Sprintf(" by %d", word.Owner)
				if client := clients[word.Owner]; client != "" {
					text += " (" + printable(client) + ")"
				}
			}
			if word.Attempts > 1 {
				text += fmt.Sprintf(", delivery %d", word.Attempts)
			}
			words = append(words, text)
		}
		fmt.Fprintf(w, "  %d\t%d\t%d\t%d\t%d\t%d\t%s\n", s.Slot, s.Ticket, s.Epoch, s.Step, s.Rows, s.Bad, strings.Join(words, "; "))
	}
	_ = w.Flush()
}
