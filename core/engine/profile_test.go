package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/telemetry"
)

// A profile has fetch and decode, each alone with every number of workers up to twice what the description says, and
// leaves nothing running.
func TestProfileRunsEveryStageAlone(t *testing.T) {
	leavesNothing(t)
	s := describe(t, folder(t, 20, map[int]func(string){3: empty}), "limits: {cpus: 2, fetch: 3}\n")
	var told []telemetry.StageSpeed
	all, err := Profile(testContext(t), s, 20*time.Millisecond, func(got telemetry.StageSpeed) { told = append(told, got) })
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		stage   string
		workers int
	}{{"fetch", 1}, {"fetch", 2}, {"fetch", 4}, {"fetch", 6}, {"decode", 1}, {"decode", 2}, {"decode", 4}}
	if len(all) != len(want) || len(told) != len(want) {
		t.Fatalf("%d measurements, %d told, want %d: %+v", len(all), len(told), len(want), all)
	}
	for i, got := range all {
		if got.Stage != want[i].stage || got.Workers != want[i].workers || got.Samples == 0 || got.PerS <= 0 || got.BytesPerS <= 0 || got.Seconds <= 0 {
			t.Errorf("measurement %d: %+v, want %v", i, got, want[i])
		}
	}
	if text := telemetry.ProfileVerdict(all); !strings.Contains(text, " is the limit: ") {
		t.Errorf("verdict %q", text)
	}
}

// A measurement lasts until a sample has come, however slow the store or the machine is: it has no speed of nothing.
func TestAMeasurementLastsUntilASampleHasCome(t *testing.T) {
	all, err := Profile(testContext(t), describe(t, folder(t, 4, nil), "limits: {cpus: 1, fetch: 1}\n"), time.Nanosecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range all {
		if got.Samples == 0 || got.PerS <= 0 {
			t.Errorf("%+v, want a sample", got)
		}
	}
}

// A source of which no sample can be read, one that is not there, and a context that ends are told as such.
func TestProfileRefusesWhatCannotBeMeasured(t *testing.T) {
	leavesNothing(t)
	broken := map[int]func(string){}
	for i := range 4 {
		broken[i] = empty
	}
	if _, err := Profile(testContext(t), describe(t, folder(t, 4, broken), ""), 10*time.Millisecond, nil); err == nil || !strings.Contains(err.Error(), "profile: fetch: no sample worked, the last: ") {
		t.Errorf("empty files: %v", err)
	}
	if _, err := Profile(testContext(t), describe(t, t.TempDir(), ""), 10*time.Millisecond, nil); !errors.Is(err, source.ErrNoSamples) {
		t.Errorf("empty folder: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := describe(t, folder(t, 4, nil), "")
	if _, err := Profile(ctx, s, 10*time.Millisecond, func(telemetry.StageSpeed) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
