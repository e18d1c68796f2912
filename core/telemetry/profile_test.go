package telemetry

import "testing"

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
	if got := ProfileVerdict(nil); got != "nothing was measured" {
		t.Errorf("of nothing: %q", got)
	}
}
