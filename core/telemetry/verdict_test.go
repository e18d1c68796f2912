package telemetry

import (
	"math"
	"strings"
	"testing"
)

// situation is a ring with one consumer as an interval shows it: fetch by 32 readers, decode by 2 workers.
func situation(wait, full, fetch, decode float64) *RingLoad {
	return &RingLoad{
		Name: "train", State: "running", Slots: 8, Batches: 100, BatchesS: 50, Wait: wait, Full: full,
		Stages: []StageLoad{
			{Name: "plan", Kind: "source", Concurrency: 1, Busy: full},
			{Name: "fetch", Kind: "map", Concurrency: 32, Busy: fetch},
			{Name: "decode", Kind: "map", Concurrency: 2, Busy: decode, CPU: true},
			{Name: "publish", Kind: "sink", Concurrency: 1, Busy: 0.01},
		},
		Consumers: []ConsumerLoad{{Group: "g", Batches: 100, Wait: wait, WaitNs: int64(wait * 20e6), HoldNs: int64((1 - wait) * 20e6)}},
	}
}

func with(r *RingLoad, change func(*RingLoad)) *RingLoad {
	change(r)
	return r
}

// Every situation has its limit, said in one sentence with the numbers that show it, and the gain that a change would
// bring at most.
func TestVerdictNamesTheLimitAndWhatWouldChangeIt(t *testing.T) {
	plenty := &ProcessLoad{CPUs: 2, CPUsUsed: 1.95}
	for name, c := range map[string]struct {
		ring    *RingLoad
		process *ProcessLoad
		limit   Limit
		stage   string
		text    []string
		whatIf  map[string]float64
	}{
		"decode-bound": {
			ring: situation(0.71, 0, 0.1, 0.98), limit: LimitStage, stage: "decode",
			text:   []string{"decode is the limit: both workers 98 % busy", "the consumer waited 14.2 ms for each batch (71 % of its time)"},
			whatIf: map[string]float64{"+1 core": 1.5/0.98 - 1, "a loader without limit": 1/0.29 - 1},
		},
		"decode-bound with readers held up behind it": {
			ring: situation(0.5, 0, 1, 0.97), limit: LimitStage, stage: "decode", text: []string{"decode is the limit"},
			whatIf: map[string]float64{"a loader without limit": 1},
		},
		"fetch-bound": {
			ring: situation(0.6, 0, 0.99, 0.3), limit: LimitStage, stage: "fetch",
			text:   []string{"fetch is the limit: all 32 workers 99 % busy"},
			whatIf: map[string]float64{"64 workers for fetch": 2/0.99 - 1, "a loader without limit": 1.5},
		},
		"fetch-bound, a bit more of it would saturate the consumer": {
			ring: situation(0.2, 0, 0.99, 0.3), limit: LimitStage, stage: "fetch",
			whatIf: map[string]float64{"64 workers for fetch": 0.25, "a loader without limit": 0.25},
		},
		"consumer-bound": {
			ring: situation(0.01, 0.6, 0.05, 0.4), limit: LimitConsumer,
			text:   []string{"the consumer is the limit: it waited 200 µs for each batch (1 % of its time) and kept each for 19.8 ms", "the engine rested 60 % of the time"},
			whatIf: map[string]float64{"a faster consumer": 1.5},
		},
		"consumer-bound, and it never waits": {
			ring: situation(0, 0.9, 0.05, 0.1), limit: LimitConsumer, text: []string{"the consumer is the limit: it did not wait and kept each for 20 ms"},
			whatIf: map[string]float64{"a faster consumer": 9},
		},
		"balanced: the consumer does not wait though decode is full": {
			ring: situation(0.02, 0, 0.05, 0.95), limit: LimitConsumer, whatIf: map[string]float64{"a faster consumer": 1/0.95 - 1},
		},
		"ring too small": {
			ring: situation(0.3, 0.4, 0.05, 0.5), limit: LimitRing,
			text:   []string{"the ring is too small: the engine waited 40 % of the time for a free slot and the consumer 30 % of its time for a batch", "no stage was busy for more than 50 %"},
			whatIf: map[string]float64{"16 slots": 1/0.7 - 1},
		},
		"quota holds the workers back": {
			ring: situation(0.7, 0, 0.1, 0.98), process: &ProcessLoad{CPUs: 2, CPUsUsed: 0.98, Throttled: 0.9}, limit: LimitCPU, stage: "decode",
			text:   []string{"the CPU is the limit: both workers of decode 98 % busy but got 1.0 of 2.0 CPUs, as its cgroup's quota held threads back for 900 ms a second"},
			whatIf: map[string]float64{"the CPUs it was promised": 1},
		},
		"others use the machine": {
			ring: situation(0.7, 0, 0.1, 0.98), process: &ProcessLoad{CPUs: 2, CPUsUsed: 0.98}, limit: LimitCPU, stage: "decode",
			text: []string{"as other processes use the machine"}, whatIf: map[string]float64{"the CPUs it was promised": 1},
		},
		"another ring uses the CPUs": {
			ring:  with(situation(0.7, 0, 0.1, 0.4), func(r *RingLoad) { r.Stages[2].LimitWait = 0.55 }),
			limit: LimitStage, stage: "decode", text: []string{"55 % waiting for CPUs that other rings use"},
			whatIf: map[string]float64{"+1 core": 1.5/0.95 - 1, "a loader without limit": 1/0.3 - 1},
		},
		"nobody reads, ring full": {
			ring: with(situation(0, 1, 0, 0), func(r *RingLoad) { r.Consumers, r.Batches = nil, 0 }), limit: LimitIdle,
			text: []string{"nobody reads: the engine rests; attach a consumer"},
		},
		"nobody reads yet": {
			ring: with(situation(0, 0, 0.1, 0.9), func(r *RingLoad) { r.Consumers, r.Batches = nil, 3 }), limit: LimitIdle,
			text: []string{"the engine fills the ring, 3 batches in this interval"},
		},
		"consumer sleeps": {
			ring: with(situation(0, 1, 0, 0), func(r *RingLoad) { r.Batches = 0 }), limit: LimitIdle, text: []string{"the consumers take nothing"},
		},
		"stuck storage": {
			ring:  with(situation(1, 0, 1, 0), func(r *RingLoad) { r.Batches, r.Stages[1].Running = 0, 32 }),
			limit: LimitStage, stage: "fetch", text: []string{"nothing comes: fetch has not returned from its present items (workers: 32)"},
		},
		"a stage of the ring's": {
			ring: with(situation(0.5, 0.4, 0.1, 0.3), func(r *RingLoad) {
				r.Stages = append(r.Stages, StageLoad{Name: "augment", Kind: "map", Concurrency: 1, Busy: 0.97})
			}),
			limit: LimitStage, stage: "augment", text: []string{"augment is the limit: its worker 97 % busy"},
			whatIf: map[string]float64{"2 workers for augment": 1, "a loader without limit": 1},
		},
		"a stage of the ring's without a worker": {
			ring: with(situation(1, 1, 0, 0), func(r *RingLoad) {
				r.Batches = 0
				r.Stages = append(r.Stages, StageLoad{Name: "augment", Kind: "map"})
			}),
			limit: LimitStage, stage: "augment", text: []string{"nothing comes: nobody works for the stage augment; attach a worker"},
		},
		"nothing stands out": {
			ring: situation(0.3, 0, 0.4, 0.5), limit: LimitNone, text: []string{"no single limit: the busiest stage, decode, was busy for 50 %"},
			whatIf: map[string]float64{"a loader without limit": 1/0.7 - 1},
		},
		"a sink that waits for somebody to publish to is no bottleneck": {
			ring:  with(situation(0.3, 0, 0.4, 0.5), func(r *RingLoad) { r.Stages[3].Busy = 1 }),
			limit: LimitNone, whatIf: map[string]float64{"a loader without limit": 1/0.7 - 1},
		},
		"end of data": {
			ring: with(situation(0, 0, 0, 0), func(r *RingLoad) { r.State = "ended" }), limit: LimitEnded, text: []string{"the ring has come to the end of its epochs"},
		},
		"failed": {
			ring:  with(situation(0, 0, 0, 0), func(r *RingLoad) { r.State, r.Error = "failed", "too many bad samples" }),
			limit: LimitEnded, text: []string{"the ring has failed: too many bad samples"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.process == nil {
				c.process = plenty
			}
			v := Judge(c.ring, c.process)
			if v.Limit != c.limit || v.Stage != c.stage {
				t.Errorf("limit %q, stage %q, want %q, %q: %s", v.Limit, v.Stage, c.limit, c.stage, v.Text)
			}
			for _, part := range c.text {
				if !strings.Contains(v.Text, part) {
					t.Errorf("verdict %q does not say %q", v.Text, part)
				}
			}
			got := map[string]float64{}
			for _, w := range v.WhatIf {
				got[w.Change] = w.Gain
			}
			for change, gain := range c.whatIf {
				if math.Abs(got[change]-gain) > 0.005 {
					t.Errorf("what if %q: %+.3f, want %+.3f", change, got[change], gain)
				}
			}
			if len(got) != len(c.whatIf) {
				t.Errorf("what-ifs %v, want %v", got, c.whatIf)
			}
		})
	}
}

// A gain reads as people say it.
func TestGainReadsAsPercent(t *testing.T) {
	if got, want := (WhatIf{"+1 core", 0.464}).String(), "+1 core: about +46 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
