package engine

import (
	"encoding/json"
	"testing"

	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
)

// What a consumer gets as JSON makes the snapshot from which the verdict comes: rows, bytes, stages, consumers.
func TestStatsOfAnotherProcessMakeASnapshot(t *testing.T) {
	r := start(t, describe(t, folder(t, 20, map[int]func(string){3: empty}), "batch: 4\norder: {epochs: 1}\nring: {groups: [{name: g}]}\n"), nil)
	reader := r.attach(shm.AttachOptions{MaxLeases: 2, Client: "test"})
	epoch(t, reader)
	text, err := reader.Stats(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var stats Stats
	if err := json.Unmarshal(text, &stats); err != nil {
		t.Fatal(err)
	}
	s := stats.Snapshot()
	if s.PID == 0 || s.AtNs == 0 || s.Process.CPUs <= 0 || s.Process.CPUTimeNs <= 0 || s.Process.Memory.PSS == 0 {
		t.Errorf("process %+v", s)
	}
	ring := s.Rings[0]
	if ring.Batches != 5 || ring.Rows != 19 || ring.Bad != 1 || len(ring.LastBad) != 1 || ring.ElapsedNs <= 0 {
		t.Errorf("ring %+v", ring)
	}
	stages := map[string]telemetry.Stage{}
	for _, stage := range ring.Stages {
		stages[stage.Name] = stage
	}
	if fetch := stages["fetch"]; fetch.CPU || fetch.Bytes == 0 || fetch.Items == 0 || len(fetch.OpBuckets) == 0 {
		t.Errorf("fetch %+v", fetch)
	}
	if decode, publish := stages["decode"], stages["publish"]; !decode.CPU || publish.Bytes != 19*8*8*3 {
		t.Errorf("decode %+v, publish %+v", decode, publish)
	}
	if len(ring.Consumers) != 1 || ring.Consumers[0].Client != "test" || ring.Consumers[0].Acquired != 5 || ring.Consumers[0].HoldNs == 0 {
		t.Errorf("consumers %+v", ring.Consumers)
	}
	if v := telemetry.Between(telemetry.Snapshot{}, s).Rings[0].Verdict; v.Text == "" {
		t.Errorf("no verdict")
	}
}

// A wait that goes on counts up to the moment of the snapshot.
func TestSnapshotCountsTheWaitThatGoesOn(t *testing.T) {
	got := consumerOf("g", &shm.MemberInfo{WaitNS: 100, WaitingSince: 1000}, 1500)
	if got.WaitNs != 600 {
		t.Errorf("wait %d ns, want 600", got.WaitNs)
	}
	if got = consumerOf("g", &shm.MemberInfo{WaitNS: 100, WaitingSince: 2000}, 1500); got.WaitNs != 100 {
		t.Errorf("a wait that began after the snapshot: %d ns, want 100", got.WaitNs)
	}
}
