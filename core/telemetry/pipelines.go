package telemetry

import (
	"fmt"

	"github.com/spdl/spdl/core/pipeline"
)

// JudgePipeline says what limited a pipeline of a program's own stages between two of its statistics; the zero Stats stands for its
// start. The consumer is whoever takes the results. It is a pure function.
func JudgePipeline(earlier, later *pipeline.Stats) Verdict {
	r := pipelineLoad(earlier, later)
	stage := bottleneck(&r)
	switch {
	case later.State == pipeline.Built:
		return Verdict{Limit: LimitIdle, Text: "the pipeline has not been started", WhatIf: gains()}
	case later.State == pipeline.Ended && r.Batches == 0:
		return Verdict{Limit: LimitEnded, Text: "the pipeline has ended without a result", WhatIf: gains()}
	case r.Batches == 0 && r.Queues[len(r.Queues)-1].Depth > 0:
		return Verdict{Limit: LimitIdle, WhatIf: gains(), Text: "nobody takes results: they lie ready, and the stages rest"}
	case r.Batches == 0:
		return standstill(&r, stage)
	case r.Wait < waits:
		return consumerBound(&r)
	case stage != nil:
		return stageBound(&r, stage)
	}
	for i := range later.Stages {
		if s := &r.Stages[i]; later.Stages[i].Kind == "source" && s.Items > 0 && readyShare(&r, s.Name) < 1-saturated {
			return sourceBound(&r, s)
		}
	}
	return unclear(&r)
}

// sourceBound: how long a source's own work takes is not known, but that its items do not lie about is.
func sourceBound(r *RingLoad, s *StageLoad) Verdict {
	return Verdict{
		Limit: LimitStage, Stage: s.Name,
		Text: fmt.Sprintf("%s is the limit: an item of it lay ready for %s of the time; %s",
			s.Name, percent(readyShare(r, s.Name)), r.consumerWaited()),
		WhatIf: gains(WhatIf{"a source without limit", min(stagesRoom(r, ""), consumerRoom(r)) - 1}),
	}
}

// readyShare is the share of the time that something lay in the queue behind a stage.
func readyShare(r *RingLoad, stage string) float64 {
	for i := range r.Queues {
		if q := &r.Queues[i]; q.Name == stage {
			return q.Occupancy
		}
	}
	return 1
}

// pipelineLoad is a pipeline as if it were a ring whose slots are the last queue's places.
func pipelineLoad(a, b *pipeline.Stats) RingLoad {
	ns := max(float64(b.ElapsedNs-a.ElapsedNs), 1)
	before, after := &Ring{ElapsedNs: a.ElapsedNs, Queues: a.Queues}, &Ring{ElapsedNs: b.ElapsedNs, Queues: b.Queues}
	for i := range a.Stages {
		before.Stages = append(before.Stages, Stage{StageStats: a.Stages[i]})
	}
	r := RingLoad{Name: b.Name, State: string(b.State), ofResults: true}
	for i := range b.Stages {
		s := stageLoad(stageOf(before, b.Stages[i].Name), &Stage{StageStats: b.Stages[i]}, ns)
		switch s.Kind { // the others pass items on, and wait for those
		case "map", "generate", "external", "aggregate":
			s.Kind = "map"
		default:
			s.Kind = "source"
		}
		r.Stages = append(r.Stages, s)
	}
	for i := range b.Queues {
		r.Queues = append(r.Queues, queueLoad(before, after, &b.Queues[i], ns))
	}
	last, was := b.Queues[len(b.Queues)-1], pipeline.QueueStats{}
	if n := len(a.Queues); n > 0 {
		was = a.Queues[n-1]
	}
	r.Batches = uint64(grown(was.Gets, last.Gets))
	r.Slots = last.Capacity
	r.Wait = share(float64(last.GetWait.SumNs-was.GetWait.SumNs) / ns)
	if r.Batches == 0 {
		r.Wait = 1 // or nobody is there, but then something lies ready
	}
	r.Full = share(float64(last.PutWait.SumNs-was.PutWait.SumNs) / ns)
	r.Consumers = []ConsumerLoad{{Batches: r.Batches, Wait: r.Wait, WaitNs: mean(was.GetWait, last.GetWait)}}
	return r
}
