package verbs

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// The figures belong together: rows of an epoch without the first batch, rates, memory, and a split that adds up.
func TestBenchMeasuresAnEpoch(t *testing.T) {
	name, dir := home(t), pictures(t, 30)
	var got figures
	if err := json.Unmarshal([]byte(good(t, "bench", describe(t, dir, name, ""), "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Ring != name || got.Batches != 7 || got.Samples != 26 || got.FirstSamples != 4 || got.BadSamples != 0 || got.CPUs <= 0 || got.Interrupted {
		t.Errorf("got %+v, want 7 batches and 26 samples after the first, which has 4", got)
	}
	if got.Seconds <= 0 || got.CPUSeconds < 0 || math.Abs(got.SamplesPerS*got.Seconds-26) > 1e-6 || math.Abs(got.CPUPer1000*26-got.CPUSeconds*1000) > 1e-6 {
		t.Errorf("rates: %+v", got)
	}
	if got.PeakAnon < 1<<20 || got.RingBytes != 8*4096 {
		t.Errorf("memory: %d and %d", got.PeakAnon, got.RingBytes)
	}
	f := got.First
	if sum := f.LoadMS + f.ScanMS + f.ReserveMS + f.FetchMS + f.DecodeMS + f.PublishMS; f.TotalMS <= 0 || math.Abs(sum-f.TotalMS) > 0.1 {
		t.Errorf("the split adds up to %v: %+v", sum, f)
	}
}

// The shortest limit ends it; with a limit an epoch is no end.
func TestBenchStopsAtItsLimits(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	file := describe(t, dir, name, "rings: {a: {}, b: {batch: 2}}\n")
	batches := func(args ...string) (got figures) {
		t.Helper()
		if err := json.Unmarshal([]byte(good(t, append([]string{"bench", file, "--json"}, args...)...)), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := batches("--batches", "20"); got.Batches != 19 || got.Ring != name+"/a" {
		t.Errorf("--batches 20: %+v", got)
	}
	if got := batches("--epochs", "3", "--ring", "b"); got.Batches != 5 || got.Ring != name+"/b" {
		t.Errorf("--epochs 3: %+v", got)
	}
	if got := batches("--seconds", "0.05"); got.Seconds < 0.05 {
		t.Errorf("--seconds 0.05: %+v", got)
	}
	wants(t, good(t, "bench", file, "--epochs", "2"), name+"/a: 4 samples in", "(1 batch after the first)", "samples/s", "CPU s per 1,000", "peak memory", "first batch")
	alone := good(t, "bench", file)
	wants(t, alone, name+"/a: no rates: they are counted after the first batch, and all there was is that one, of 4 samples; use a smaller --batch, or more --epochs", "peak memory")
	if strings.Contains(alone, "samples/s") {
		t.Errorf("rates of nothing:\n%s", alone)
	}
	if got := batches(); got.Batches != 0 || got.Samples != 0 || got.FirstSamples != 4 {
		t.Errorf("one batch: %+v", got)
	}
}

func TestBenchRefusesWhatNeverEnds(t *testing.T) {
	dir := pictures(t, 4)
	refused(t, exitUsage, "bench: --epochs 0 never ends; add --batches or --seconds", "bench", dir, "--epochs", "0")
	refused(t, exitUsage, "bench: --batches 0, --seconds NaN, want 0 (no limit) or more", "bench", dir, "--seconds", "NaN")
	refused(t, exitUsage, "bench: --batches -1, --seconds 0, want 0 (no limit) or more", "bench", dir, "--batches", "-1")
	refused(t, exitNotFound, `bench: "/no/such": no such file or folder`, "bench", "/no/such")
}
