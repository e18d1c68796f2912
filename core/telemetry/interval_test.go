package telemetry

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/spdl/spdl/core/pipeline"
)

const second = int64(1e9)

// shot is an engine after so many seconds of the same steady work: 2 decoders 75 % busy, 100 batches of 4 rows a second,
// a consumer that waits for a quarter of its time.
func shot(seconds int64) Snapshot {
	n := uint64(seconds)
	stage := func(name, kind string, workers int, items uint64, busyNs int64) Stage {
		s := Stage{}
		s.Name, s.Kind, s.Concurrency, s.Items, s.BusyNs = name, kind, workers, items, busyNs
		s.Op, s.WorkersNs = pipeline.Times{Count: items, SumNs: busyNs}, int64(workers)*seconds*second
		return s
	}
	decode := stage("decode", "map", 2, 100*n, 3*seconds*second/2)
	decode.CPU, decode.LimitWaitNs, decode.Bytes, decode.Failures, decode.Retries = true, seconds*second/5, 1000*n, n, 2*n
	return Snapshot{
		AtNs: 5*second + seconds*second, UptimeS: float64(seconds),
		Process: Process{
			CPUs: 2, CPUTimeNs: 3 * seconds * second / 2, ThrottledNs: seconds * second / 10,
			ReadBytes: 1000 * n, StorageBytes: 250 * n, StoreBytes: 50 * n, NetReceived: 70 * n, NetSent: 7 * n, Memory: Memory{RSS: 123},
		},
		Rings: []Ring{{
			Name: "train", State: "running", Slots: 8, Batches: 100 * n, Rows: 400 * n, ElapsedNs: seconds * second, Bad: n,
			Stages: []Stage{stage("plan", "source", 1, 100*n, seconds*second/10), decode},
			Queues: []pipeline.QueueStats{{
				Name: "plan", Capacity: 4, Occupancy: 0.5, PutWait: pipeline.Times{Count: 100 * n, SumNs: int64(500 * n)},
				GetWait: pipeline.Times{Count: 100 * n, SumNs: int64(700 * n)},
			}},
			Consumers: []Consumer{{Group: "g", Owner: 1, Acquired: 100 * n, Completed: 100 * n, WaitNs: 250e6 * n, HoldNs: 700e6 * n}},
		}},
	}
}

// begunLate is shot of an engine that began when its process and the network had counted for an hour.
func begunLate(seconds int64) Snapshot {
	s, hour := shot(seconds), shot(3600).Process
	s.AtStart = hour
	p := &s.Process
	p.CPUTimeNs, p.ThrottledNs = p.CPUTimeNs+hour.CPUTimeNs, p.ThrottledNs+hour.ThrottledNs
	p.ReadBytes, p.StorageBytes = p.ReadBytes+hour.ReadBytes, p.StorageBytes+hour.StorageBytes
	p.StoreBytes, p.NetReceived, p.NetSent = p.StoreBytes+hour.StoreBytes, p.NetReceived+hour.NetReceived, p.NetSent+hour.NetSent
	return s
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// An interval has rates, shares and means of what lies between two snapshots, and nothing of what was before.
func TestIntervalIsWhatLiesBetweenTwoSnapshots(t *testing.T) {
	for name, got := range map[string]Interval{
		"ten seconds":                            Between(shot(30), shot(40)),
		"since the start":                        Between(Snapshot{}, shot(20)),
		"since the start of one that came later": Between(Snapshot{}, begunLate(20)),
	} {
		t.Run(name, func(t *testing.T) {
			near(t, "CPUs used", got.Process.CPUsUsed, 1.5)
			near(t, "throttled", got.Process.Throttled, 0.1)
			near(t, "page cache", got.Process.PageCacheShare, 0.75)
			near(t, "stores", got.Process.StorePerS, 50)
			near(t, "received", got.Process.NetReceivedS, 70)
			near(t, "sent", got.Process.NetSentPerS, 7)
			r := got.Rings[0]
			near(t, "batches", r.BatchesS, 100)
			near(t, "rows", r.RowsPerS, 400)
			near(t, "full", r.Full, 0.1)
			near(t, "wait", r.Wait, 0.25)
			near(t, "bad", float64(r.Bad), got.Seconds)
			d := r.Stages[1]
			near(t, "busy", d.Busy, 0.75)
			near(t, "limit wait", d.LimitWait, 0.1)
			near(t, "items", d.ItemsPerS, 100)
			near(t, "bytes", d.BytesPerS, 1000)
			near(t, "mean", float64(d.MeanNs), 15e6)
			near(t, "failures", float64(d.Failures), got.Seconds)
			near(t, "retries", float64(d.Retries), 2*got.Seconds)
			q := r.Queues[0]
			near(t, "occupancy", q.Occupancy, 0.5)
			near(t, "put wait", float64(q.PutWaitNs), 5)
			near(t, "get wait", float64(q.GetWaitNs), 7)
			c := r.Consumers[0]
			near(t, "consumer's wait", float64(c.WaitNs), 2.5e6)
			near(t, "consumer's hold", float64(c.HoldNs), 7e6)
			near(t, "consumer's share", c.Wait, 0.25)
			if r.Verdict.Text == "" {
				t.Error("the ring has no verdict")
			}
		})
	}
}

// A pipeline that began anew between the snapshots is counted from its new start, and nothing becomes negative.
func TestIntervalAcrossARestartCountsFromTheNewStart(t *testing.T) {
	before, after := shot(30), shot(40)
	after.Rings[0] = shot(4).Rings[0]
	after.Rings[0].Batches, after.Rings[0].Rows = 4000, 16000 // the ring goes on
	r := Between(before, after).Rings[0]
	near(t, "busy", r.Stages[1].Busy, 0.75)
	near(t, "items", r.Stages[1].ItemsPerS, 100)
	near(t, "occupancy", r.Queues[0].Occupancy, 0.5)
	near(t, "batches", r.BatchesS, 100)
}

// Two looks at the same moment, a ring that is new and one that is gone give numbers that JSON can carry.
func TestIntervalOfNothingHasNoInfinity(t *testing.T) {
	other := shot(3)
	other.Rings[0].Name = "val"
	for name, got := range map[string]Interval{
		"same": Between(shot(3), shot(3)), "empty": Between(Snapshot{}, Snapshot{}), "new ring": Between(shot(3), other), "backwards": Between(shot(9), shot(3)),
	} {
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A consumer's share of waiting is of the time that it was there, which may be less than the interval.
func TestAConsumersWaitIsOfTheTimeThatItWasThere(t *testing.T) {
	shot := func(here uint64) Snapshot {
		return Snapshot{UptimeS: 100, Rings: []Ring{{Name: "train", Consumers: []Consumer{{Group: "g", Owner: 1, Acquired: 10, WaitNs: 4e9, HereNs: here}}}}}
	}
	for here, want := range map[uint64]float64{0: 0.04, 5e9: 0.8, 200e9: 0.04} {
		c := Between(Snapshot{}, shot(here)).Rings[0].Consumers[0]
		near(t, "wait", c.Wait, want)
		near(t, "batches a second", c.BatchesS, 0.1)
	}
}
