package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
)

// topping is one run of top.
type topping struct {
	*app
	once, json bool
	interval   time.Duration
}

func (a *app) top() *cobra.Command {
	v := &topping{app: a}
	c := &cobra.Command{
		Use:   "top [NAME]",
		Short: "Show live what the engine does, and in one sentence what is slow",
		Long: `Top asks a running engine (NAME, or NAME/RING for one of its rings; the only one if nothing is said) for its counters and
shows what happened between two looks: rates, busy shares, times, queues, consumers, CPU, memory, and a verdict with what would change
it. It takes nothing from consumers. docs/performance.md tells how to read it.

On a terminal it shows one screen until q or Ctrl-C is typed, cut to the window; elsewhere it writes one report after the other.`,
		Example: `  spdl top imagenet
  spdl top imagenet --once --interval 10s
  spdl top imagenet --json | jq .rings[0].verdict.text`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("top: got %d arguments, want the name of one engine or ring", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	f := c.Flags()
	f.BoolVar(&v.once, "once", false, "one report, then end")
	f.BoolVar(&v.json, "json", false, "print a line of JSON for each interval")
	f.DurationVar(&v.interval, "interval", time.Second, "time between two looks")
	return c
}

func (v *topping) run(ctx context.Context, args []string) error {
	if v.interval < 50*time.Millisecond {
		return usage("top: --interval %v, want 50ms or more", v.interval)
	}
	name, err := engineNamed("top", args)
	if err != nil {
		return err
	}
	if !v.once && !v.json && isTerminal(v.out) {
		typed, leave := untilTyped(ctx, os.Stdin, 'q')
		defer leave()
		ctx = typed
	}
	before, err := look(ctx, "top", name)
	if ctx.Err() != nil {
		return nil // q and Ctrl-C are how one leaves
	}
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(v.interval):
		}
		now, err := look(ctx, "top", name)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errUnanswered):
			return err
		case err != nil:
			up := time.Duration(before.UptimeS * float64(time.Second)).Round(time.Second)
			return fmt.Errorf("top: the engine of %q is gone; pid %d had been up for %v when it was last seen: %v", name, before.PID, up, err)
		case now.PID != before.PID: // another engine of that name
			before = telemetry.Snapshot{}
		}
		if err := v.show(name, telemetry.Between(before, now), &now); err != nil || v.once {
			return err
		}
		before = now
	}
}

// engineNamed is the engine or ring of the command line, or else the only engine there is.
func engineNamed(verb string, args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	running, err := shm.RunningSockets()
	if err != nil {
		return "", err
	}
	var names []string
	for _, path := range running {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".sock"))
	}
	switch len(names) {
	case 0:
		return "", &because{fmt.Errorf("%s: no engine is running; start one with spdl serve", verb), shm.ErrNotFound}
	case 1:
		return names[0], nil
	}
	return "", usage("%s: %d engines are running, want the name of one: %s", verb, len(names), strings.Join(names, ", "))
}

// look asks an engine for its counters; of NAME/RING only that ring is kept.
func look(ctx context.Context, verb, name string) (telemetry.Snapshot, error) {
	limited, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	text, err := stats(limited, name)
	if err != nil {
		return telemetry.Snapshot{}, unanswered(ctx, verb, name, inspectTime, err)
	}
	var s engine.Stats
	if err := json.Unmarshal(text, &s); err != nil || s.AtNS == 0 {
		return telemetry.Snapshot{}, &because{fmt.Errorf("%s: %q does not tell its counters; use an engine of this release", verb, name), shm.ErrVersion}
	}
	all := s.Snapshot()
	if strings.HasPrefix(name, "/") || !strings.Contains(name, "/") {
		return all, nil
	}
	for i := range all.Rings {
		if all.Rings[i].Name == name {
			all.Rings = all.Rings[i : i+1]
			return all, nil
		}
	}
	return all, noRing(verb, name, ringNames(&all))
}

// noRing says that an engine has no ring of that name, and which there are.
func noRing(verb, name string, there []string) error {
	return &because{fmt.Errorf("%s: %q: the engine has no ring of this name; it has %s", verb, name, strings.Join(there, ", ")), shm.ErrNotFound}
}

// otherRings is err, or where NAME/RING was not found and the engine NAME answers, that it has none of that name.
func otherRings(ctx context.Context, verb, name string, err error) error {
	called, _, of := strings.Cut(name, "/")
	if !of || called == "" || !errors.Is(err, shm.ErrNotFound) {
		return err
	}
	if all, looked := look(ctx, verb, called); looked == nil && !slices.Contains(ringNames(&all), name) {
		return noRing(verb, name, ringNames(&all))
	}
	return err
}

func ringNames(s *telemetry.Snapshot) (all []string) {
	for i := range s.Rings {
		all = append(all, s.Rings[i].Name)
	}
	return all
}

func (v *topping) show(name string, got telemetry.Interval, now *telemetry.Snapshot) error {
	if v.json {
		return json.NewEncoder(v.out).Encode(got)
	}
	var page strings.Builder
	writeTop(&page, name, &got, now)
	text := page.String()
	switch {
	case v.once:
	case isTerminal(v.out):
		columns, rows := screenOf(v.out)
		text = "\x1b[H\x1b[J" + onScreen(text, columns, rows) // home, clear
	default:
		text += "\n"
	}
	if _, err := fmt.Fprint(v.out, text); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("top: %w", err)
	}
	return nil
}
