package telemetry

import (
	"strings"
	"testing"

	"github.com/spdl/spdl/core/pipeline"
)

// hosted is a pipeline after a second of its life: src, and decode by 2 workers, shares of the second busy, put and got.
func hosted(busy, srcReady, got, put float64, results uint64) *pipeline.Stats {
	const second = 1e9
	wait := func(share float64, n uint64) pipeline.Times {
		return pipeline.Times{Count: n, SumNs: int64(share * second)}
	}
	return &pipeline.Stats{
		Name: "p", State: pipeline.Running, ElapsedNs: second,
		Stages: []pipeline.StageStats{
			{Name: "src", Kind: "source", Concurrency: 1, Items: results, WorkersNs: second},
			{Name: "decode", Kind: "external", Concurrency: 2, Items: results, BusyNs: int64(2 * busy * second), WorkersNs: 2 * second},
			{Name: "sink", Kind: "sink", Concurrency: 1, Items: results, BusyNs: second, WorkersNs: second},
		},
		Queues: []pipeline.QueueStats{
			{Name: "src", Capacity: 2, Puts: results, Gets: results, Occupancy: srcReady},
			{Name: "decode", Capacity: 3, Puts: results, Gets: results, GetWait: wait(got, results), PutWait: wait(put, results)},
		},
	}
}

func TestVerdictOfAPipelineNamesTheLimitAndWhatWouldChangeIt(t *testing.T) {
	ready := hosted(0, 1, 0, 0, 0)
	ready.Queues[1].Depth = 3
	stuck := hosted(1, 1, 0, 0, 0)
	stuck.Stages[1].Running = 2
	built, over, empty := hosted(0, 0, 0, 0, 0), hosted(0.98, 0.9, 0.9, 0, 100), hosted(0, 0, 0, 0, 0)
	built.State, over.State, empty.State = pipeline.Built, pipeline.Ended, pipeline.Ended
	for name, c := range map[string]struct {
		stats *pipeline.Stats
		limit Limit
		stage string
		text  string
		gain  string
	}{
		"a stage": {hosted(0.98, 0.9, 0.5, 0, 100), LimitStage, "decode",
			"decode is the limit: both workers 98 % busy; the consumer waited 5 ms for each result (50 % of its time)", "4 workers for decode: about +100 %"},
		"a stage, to the end":  {over, LimitStage, "decode", "decode is the limit: both workers 98 % busy", "4 workers for decode: about +104 %"},
		"the source":           {hosted(0.25, 0.05, 0.5, 0, 100), LimitStage, "src", "src is the limit: an item of it lay ready for 5 % of the time; the consumer waited 5 ms for each result", "a source without limit: about +100 %"},
		"the consumer":         {hosted(0.5, 1, 0.01, 0.9, 100), LimitConsumer, "", "the consumer is the limit: it waited 100 µs for each result (1 % of its time); the engine rested 90 % of the time for want of room for results", "a faster consumer: about +100 %"},
		"nothing":              {hosted(0.5, 1, 0.2, 0, 100), LimitNone, "", "no single limit: the busiest stage, decode, was busy for 50 %", "stages without limit: about +25 %"},
		"nobody takes results": {ready, LimitIdle, "", "nobody takes results: they lie ready, and the stages rest", ""},
		"a stage is stuck":     {stuck, LimitStage, "decode", "nothing comes: decode has not returned from its present items (workers: 2)", ""},
		"not started":          {built, LimitIdle, "", "the pipeline has not been started", ""},
		"nothing in the end":   {empty, LimitEnded, "", "the pipeline has ended without a result", ""},
	} {
		v := JudgePipeline(&pipeline.Stats{}, c.stats)
		if v.Limit != c.limit || v.Stage != c.stage || !strings.Contains(v.Text, c.text) {
			t.Errorf("%s: got limit %q, stage %q: %s", name, v.Limit, v.Stage, v.Text)
		}
		if c.gain != "" && (len(v.WhatIf) == 0 || v.WhatIf[0].String() != c.gain) {
			t.Errorf("%s: got what-if %v, want %s", name, v.WhatIf, c.gain)
		}
	}
}

// What was slow before is not held against what is slow now.
func TestVerdictOfAPipelineIsThatOfTheInterval(t *testing.T) {
	first, second := hosted(0.98, 0.9, 0.9, 0, 100), hosted(0.98, 0.9, 0.9, 0, 100)
	second.ElapsedNs *= 2
	for i := range second.Stages {
		second.Stages[i].Items *= 2
		second.Stages[i].WorkersNs *= 2
	}
	for i := range second.Queues {
		second.Queues[i].Gets *= 2
	}
	if v := JudgePipeline(first, second); v.Limit != LimitConsumer {
		t.Errorf("got %q: %s; nobody waited since", v.Limit, v.Text)
	}
}
