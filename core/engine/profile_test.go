package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/core/tensor"
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

// firstUse is a modality for tests: it counts what is decoded.
type firstUse struct{ decoded *atomic.Int64 }

func (firstUse) fields() []field {
	return []field{{name: "x", dtype: tensor.U8, shape: tensor.Shape{1}}}
}

func (f firstUse) open() (decoder, error) { return f, nil }

func (f firstUse) decode([][]byte, input, media.Draw) error {
	f.decoded.Add(1)
	return nil
}

func (firstUse) Close() {}

// Samples are decoded before the first measurement begins: what happens only once, on first use, is nobody's speed.
func TestWhatHappensOnFirstUseIsNotMeasured(t *testing.T) {
	s := describe(t, folder(t, 4, nil), "")
	r, err := openBare(testContext(t), s, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.closeSource() }()
	var decoded atomic.Int64
	p := &profile{spec: s, source: r.source, samples: &samples{}, each: time.Millisecond}
	p.samples.add("", firstUse{&decoded})
	if err := p.decode(testContext(t), []int{1, 2}); err != nil {
		t.Fatal(err)
	}
	measured := int64(0)
	for _, got := range p.all {
		measured += got.Samples + got.Failures
	}
	if before := decoded.Load() - measured; len(p.all) != 2 || before < 1 || before > 4 {
		t.Errorf("%d of %d decoded outside of %d measurements, want 1 to 4 outside of 2", before, decoded.Load(), len(p.all))
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

// Of samples without media decode is what their columns are copied, and a field that is another view of the first is decoded of its part.
func TestProfileOfColumnsAndOfViews(t *testing.T) {
	views := fmt.Sprintf("name: %s\nsource: {folder: %q}\nbatch: 4\nfields:\n  a: {image: {transform: [center_crop: 8]}}\n  b: {draw: own, image: {transform: [random_resized_crop: 8]}}\n",
		testName(), folder(t, 4, nil))
	for _, s := range []*spec.Spec{describeLatents(t, "tar", latents(t, 6), "batch: 4\n"), parsed(t, views)} {
		all, err := Profile(testContext(t), s, time.Millisecond, nil)
		must(err)
		if last := all[len(all)-1]; last.Stage != "decode" || last.BytesPerS <= 0 || last.Failures > 0 {
			t.Errorf("got %+v", last)
		}
	}
}
