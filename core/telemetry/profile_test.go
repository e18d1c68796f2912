package telemetry

import (
	"testing"

	"github.com/spdl/spdl/core/pipeline"
)

// Of each stage the fewest workers count that come near its best, and the slowest stage at its best is the limit.
func TestProfileNamesTheFewestWorkersThatAreEnough(t *testing.T) {
	all := []StageSpeed{
		{Stage: "fetch", Workers: 1, PerS: 500}, {Stage: "fetch", Workers: 4, PerS: 1950}, {Stage: "fetch", Workers: 8, PerS: 2000}, {Stage: "fetch", Workers: 16, PerS: 1500},
		{Stage: "decode", Workers: 4, PerS: 901}, {Stage: "decode", Workers: 2, PerS: 900}, {Stage: "decode", Workers: 1, PerS: 450},
	}
	best := Best(all)
	if len(best) != 2 || best[0].Workers != 4 || best[1].Workers != 2 {
		t.Errorf("best %+v, want 4 for fetch and 2 for decode", best)
	}
	if got, want := ProfileVerdict(all), "decode is the limit: 900 samples/s with 2 workers; fetch alone does 1950 with 4"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := ProfileVerdict(all[:1]), "fetch is the limit: 500 samples/s with 1 worker"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	slow := []StageSpeed{{Stage: "decode", Workers: 2, PerS: 0.042}, {Stage: "fetch", Workers: 1, PerS: 7.29}}
	if got, want := ProfileVerdict(slow), "decode is the limit: 0.042 samples/s with 2 workers; fetch alone does 7.3 with 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := ProfileVerdict(nil); got != "nothing was measured" {
		t.Errorf("of nothing: %q", got)
	}
}

// Efficiency compares with as many times one worker; a stage that was not run with one has none.
func TestEfficiencyIsTheShareOfSoManyTimesOneWorker(t *testing.T) {
	all := []StageSpeed{{Stage: "a", Workers: 1, PerS: 100}, {Stage: "a", Workers: 4, PerS: 300}, {Stage: "b", Workers: 2, PerS: 50}}
	Rate(all)
	for i, want := range []float64{1, 0.75, 0} {
		if all[i].Efficiency != want {
			t.Errorf("%+v, want efficiency %g", all[i], want)
		}
	}
}

// The stages behind decode are measured by the time inside their ops, for the samples that the ring has published.
func TestStagesBehindDecodeAreMeasuredInTheWholeRing(t *testing.T) {
	stage := func(name string, ns int64) Stage {
		return Stage{StageStats: pipeline.StageStats{Name: name, Op: pipeline.Times{SumNs: ns}}}
	}
	got := InTheWhole(&Ring{Rows: 1000, Stages: []Stage{stage("plan", 1e9), stage("decode", 1e9), stage("collect", 1e6), stage("publish", 5e8), stage("rest", 0)}})
	if len(got) != 2 || got[0].Stage != "collect" || got[0].PerS != 1e6 || got[1].Stage != "publish" || got[1].PerS != 2000 || !got[1].Whole {
		t.Errorf("got %+v", got)
	}
	if text := ProfileVerdict(append([]StageSpeed{{Stage: "decode", Workers: 2, PerS: 300}}, got...)); text != "decode is the limit: 300 samples/s with 2 workers" {
		t.Errorf("verdict %q", text)
	}
}
