package telemetry

import (
	"fmt"
	"math"
)

// Limit is what a ring's throughput depends on.
type Limit string

// The limits. A ring that one of its stages holds back has that stage's name with LimitStage.
const (
	LimitNone     Limit = "none"     // nothing stands out
	LimitIdle     Limit = "idle"     // nobody takes batches
	LimitEnded    Limit = "ended"    // the ring has come to its end, or failed
	LimitConsumer Limit = "consumer" // the loader is fast enough
	LimitStage    Limit = "stage"
	LimitCPU      Limit = "cpu"  // its workers do not get the CPUs they were promised
	LimitRing     Limit = "ring" // too few slots to even out the two sides
)

// Verdict is what is slow, in a sentence, and what would change it.
type Verdict struct {
	Limit  Limit    `json:"limit"`
	Stage  string   `json:"stage,omitempty"`
	Group  string   `json:"group,omitempty"` // whose consumer is the limit, where there are several
	Text   string   `json:"text"`
	WhatIf []WhatIf `json:"what_if"`
}

// WhatIf is a change and how much the throughput would grow by it at most; 0.46 is 46 %.
type WhatIf struct {
	Change string  `json:"change"`
	Gain   float64 `json:"gain"`
}

// String is the change as people read it.
func (w WhatIf) String() string { return fmt.Sprintf("%s: about +%.0f %%", w.Change, 100*w.Gain) }

// Where the lines between the limits run.
const (
	saturated = 0.8  // a stage that is busy for this share of its time is full
	waits     = 0.05 // a consumer that waits for less than this does not wait
	starved   = 0.75 // workers that get less than this share of the CPU time they are busy for are starved
	worth     = 0.03 // a gain below is not worth a line
)

// Judge says what limits a ring in an interval. It is a pure function.
func Judge(r *RingLoad, p *ProcessLoad) Verdict {
	stage := bottleneck(r)
	switch {
	case r.State != "running":
		return ended(r)
	case len(r.Consumers) == 0:
		return nobody(r)
	case r.Batches == 0:
		return standstill(r, stage)
	case r.Wait < waits:
		return consumerBound(r)
	case stage != nil && stage.CPU && shortOfCPU(stage, p):
		return cpuBound(r, stage, p)
	case stage != nil:
		return stageBound(r, stage)
	case r.Full >= waits:
		return ringBound(r)
	}
	return unclear(r)
}

// bottleneck is the saturated stage furthest behind: those before it are held up by it. Nil if none is.
func bottleneck(r *RingLoad) *StageLoad {
	for i := len(r.Stages) - 1; i >= 0; i-- {
		if s := &r.Stages[i]; use(s) >= saturated {
			return s
		}
	}
	return nil
}

// use is the share of its workers' time that a stage could not give to more items. A source's and a sink's is unknown:
// inside their ops they wait for slots and for somebody to publish to.
func use(s *StageLoad) float64 {
	if s.Kind == "source" || s.Kind == "sink" {
		return 0
	}
	return share(s.Busy + s.LimitWait)
}

// shortOfCPU says that the process got much less CPU time than this stage's workers alone were busy for.
func shortOfCPU(s *StageLoad, p *ProcessLoad) bool {
	return p.CPUsUsed < starved*s.Busy*float64(s.Concurrency)
}

// stagesRoom is how many times the present throughput the stages could carry, that of the name left out.
func stagesRoom(r *RingLoad, except string) float64 {
	most := math.Inf(1)
	for i := range r.Stages {
		if s := &r.Stages[i]; s.Name != except && use(s) > 0 {
			most = min(most, 1/use(s))
		}
	}
	return most
}

// consumerRoom is how many times the present throughput the slowest consumers would take if they never had to wait.
func consumerRoom(r *RingLoad) float64 { return room(r.Wait) }

// room is how many times as much somebody could take who waits for this share of the time.
func room(wait float64) float64 { return 1 / (1 - min(wait, 0.99)) }

// gains keeps the changes that are worth a line.
func gains(all ...WhatIf) []WhatIf {
	kept := []WhatIf{}
	for _, w := range all {
		if w.Gain >= worth && !math.IsInf(w.Gain, 0) && !math.IsNaN(w.Gain) {
			kept = append(kept, w)
		}
	}
	return kept
}

func ended(r *RingLoad) Verdict {
	v := Verdict{Limit: LimitEnded, Text: "the ring has " + r.State, WhatIf: gains()}
	if r.Error != "" {
		v.Text += ": " + r.Error
	}
	if r.State == "ended" {
		v.Text = "the ring has come to the end of its epochs"
	}
	return v
}

func nobody(r *RingLoad) Verdict {
	v := Verdict{Limit: LimitIdle, Text: "nobody reads: the engine rests; attach a consumer", WhatIf: gains()}
	if r.Batches > 0 {
		v.Text = fmt.Sprintf("nobody reads: the engine fills the ring, %d batches in this interval", r.Batches)
	}
	return v
}

// standstill is an interval without a new batch while there are consumers.
func standstill(r *RingLoad, stage *StageLoad) Verdict {
	if r.Wait < 0.5 && (r.Full >= 0.5 || !r.someWait()) {
		return takesNothing(r)
	}
	v := Verdict{Limit: LimitNone, Text: "nothing comes: the consumers wait, and no " + r.piece() + " was finished", WhatIf: gains()}
	for i := range r.Stages {
		if s := &r.Stages[i]; stage == nil && s.Kind == "map" && s.Running == s.Concurrency {
			stage = s
		}
	}
	if g := unread(r); stage == nil && g != nil {
		v.Limit, v.Group = LimitIdle, g.Name
		v.Text = fmt.Sprintf("nothing comes: the ring is full, and nobody takes the %d batches of group %s; attach a consumer to it, or to the lane that has none", g.Unclaimed, g.Name)
	}
	if stage != nil {
		v.Limit, v.Stage = LimitStage, stage.Name
		v.Text = fmt.Sprintf("nothing comes: %s has not returned from its present items (workers: %d)", stage.Name, stage.Concurrency)
		if stage.Concurrency == 0 {
			v.Text = fmt.Sprintf("nothing comes: nobody works for the stage %s; attach a worker", stage.Name)
		}
	}
	return v
}

// unread is a group with batches that nobody takes while the engine waits for a free slot.
func unread(r *RingLoad) *Group {
	for i := range r.Groups {
		if g := &r.Groups[i]; r.Full >= 0.5 && g.Unclaimed > 0 {
			return g
		}
	}
	return nil
}

// takesNothing: somebody keeps what there is.
func takesNothing(r *RingLoad) Verdict {
	v := Verdict{Limit: LimitIdle, WhatIf: gains(), Text: "the consumers take nothing: all slots are full or held, and the engine rests"}
	if r.someWait() {
		who := r.party()
		v.Group, v.Text = who.group, fmt.Sprintf("%s %s nothing: all slots are full or held, and the engine and the other consumers wait", who.name, who.takes)
	}
	return v
}

func consumerBound(r *RingLoad) Verdict {
	who := r.party()
	text := fmt.Sprintf("%s %s the limit: %s %s", who.name, who.is, who.it, who.waited(r))
	if hold := who.heldNs(); hold > 0 {
		text += fmt.Sprintf(" and kept each for %s", duration(hold))
	}
	if r.Full > 0.01 {
		text += fmt.Sprintf("; the engine rested %s of the time for want of %s", percent(r.Full), r.word("a free slot", "room for results"))
	}
	return Verdict{
		Limit: LimitConsumer, Group: who.group, Text: text,
		WhatIf: gains(WhatIf{"a faster consumer", min(stagesRoom(r, ""), r.othersRoom(&who.seat)) - 1}),
	}
}

func stageBound(r *RingLoad, s *StageLoad) Verdict {
	v := Verdict{Limit: LimitStage, Stage: s.Name}
	busy := fmt.Sprintf("%s %s busy", workers(s.Concurrency), percent(s.Busy))
	if s.LimitWait > 0.1 {
		busy += fmt.Sprintf(", %s waiting for CPUs that other rings use", percent(s.LimitWait))
	}
	v.Text = fmt.Sprintf("%s is the limit: %s; %s", s.Name, busy, r.consumerWaited())
	others, n := min(stagesRoom(r, s.Name), consumerRoom(r)), float64(s.Concurrency)
	loader := WhatIf{r.word("a loader", "stages") + " without limit", consumerRoom(r) - 1}
	if s.CPU {
		v.WhatIf = gains(WhatIf{"+1 core", min(others, (n+1)/n/use(s)) - 1}, loader)
		return v
	}
	v.WhatIf = gains(WhatIf{fmt.Sprintf("%d workers for %s", 2*s.Concurrency, s.Name), min(others, 2/use(s)) - 1}, loader)
	return v
}

func cpuBound(r *RingLoad, s *StageLoad, p *ProcessLoad) Verdict {
	why := "other processes use the machine"
	if p.Throttled > 0.05 {
		why = fmt.Sprintf("its cgroup's quota held threads back for %s a second", duration(int64(p.Throttled*1e9)))
	}
	wanted := s.Busy * float64(s.Concurrency)
	return Verdict{
		Limit: LimitCPU, Stage: s.Name,
		Text: fmt.Sprintf("the CPU is the limit: %s of %s %s busy but got %.1f of %.1f CPUs, as %s; %s",
			workers(s.Concurrency), s.Name, percent(s.Busy), p.CPUsUsed, wanted, why, r.consumerWaited()),
		WhatIf: gains(WhatIf{"the CPUs it was promised", min(stagesRoom(r, s.Name), consumerRoom(r), wanted/max(p.CPUsUsed, 0.01)) - 1}),
	}
}

// ringBound: both sides wait for each other, at different times.
func ringBound(r *RingLoad) Verdict {
	busiest := 0.0
	for i := range r.Stages {
		busiest = max(busiest, use(&r.Stages[i]))
	}
	who := r.party()
	return Verdict{
		Limit: LimitRing,
		Text: fmt.Sprintf("the ring is too small: the engine waited %s of the time for a free slot and %s %s of %s time for a batch, while no stage was busy for more than %s",
			percent(r.Full), who.name, percent(r.Wait), who.its, percent(busiest)),
		WhatIf: gains(WhatIf{fmt.Sprintf("%d slots", 2*r.Slots), min(stagesRoom(r, ""), consumerRoom(r), 1/(1-min(r.Full, 0.99))) - 1}),
	}
}

func unclear(r *RingLoad) Verdict {
	busiest := StageLoad{Name: "none"}
	for i := range r.Stages {
		if use(&r.Stages[i]) > use(&busiest) {
			busiest = r.Stages[i]
		}
	}
	return Verdict{
		Limit: LimitNone,
		Text: fmt.Sprintf("no single limit: the busiest stage, %s, was busy for %s; %s",
			busiest.Name, percent(use(&busiest)), r.consumerWaited()),
		WhatIf: gains(WhatIf{r.word("a loader", "stages") + " without limit", consumerRoom(r) - 1}),
	}
}

// word is what a ring, or a pipeline of a program's own stages, has.
func (r *RingLoad) word(ring, pipeline string) string {
	if r.ofResults {
		return pipeline
	}
	return ring
}

// piece is what a consumer takes.
func (r *RingLoad) piece() string { return r.word("batch", "result") }

func workers(n int) string {
	switch n {
	case 1:
		return "its worker"
	case 2:
		return "both workers"
	}
	return fmt.Sprintf("all %d workers", n)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// duration is a time in the unit that people would choose.
func duration(ns int64) string {
	switch f := float64(ns); {
	case f >= 1e9:
		return fmt.Sprintf("%.3g s", f/1e9)
	case f >= 1e6:
		return fmt.Sprintf("%.3g ms", f/1e6)
	case f >= 1e3:
		return fmt.Sprintf("%.3g µs", f/1e3)
	}
	return fmt.Sprintf("%d ns", ns)
}
