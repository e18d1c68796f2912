package telemetry

import (
	"math"
	"strings"
	"testing"
)

// crowd is a ring after ten seconds: each consumer waited for a share of them, and took a tenth as many batches a second as it
// says. The stages have nothing to do.
func crowd(full float64, all ...Consumer) Snapshot {
	s := shot(10)
	r := &s.Rings[0]
	r.Stages[0].BusyNs = int64(full * 10e9)
	r.Stages[1].BusyNs, r.Stages[1].LimitWaitNs = 1e9, 0
	r.Consumers = nil
	for i, c := range all {
		c.Owner, c.PID, c.Client = uint32(i+1), 100+i, "python 3.11"
		r.Consumers = append(r.Consumers, c)
	}
	return s
}

func waits10(group string, lane int, share float64, batches uint64) Consumer {
	return Consumer{Group: group, Lane: lane, WaitNs: uint64(share * 10e9), HoldNs: uint64((1 - share) * 10e9), Acquired: batches, Completed: batches}
}

// The slowest group, and the slowest lane of one, decides who is the limit, and is named; the consumers of one group that share it count
// together.
func TestTheSlowestGroupOrLaneDecides(t *testing.T) {
	dropping := crowd(0.1, waits10("train", 0, 0.5, 200), waits10("viewer", 0, 0, 20))
	dropping.Rings[0].Groups = []Group{{Name: "train"}, {Name: "viewer", Dropped: 180}}
	still := func(s Snapshot) Snapshot { s.Rings[0].Batches = 0; return s }
	unread := still(crowd(1, waits10("a", 0, 1, 0)))
	unread.Rings[0].Groups = []Group{{Name: "a"}, {Name: "b", Unclaimed: 8}}
	stuck := still(crowd(0, waits10("a", 0, 1, 0), waits10("b", 0, 0, 0)))
	stuck.Rings[0].Stages[1].Running = 2
	for name, c := range map[string]struct {
		shot  Snapshot
		limit Limit
		group string
		wait  float64
		text  string
		gain  float64
	}{
		"a slow group beside a fast one": {
			crowd(0.9, waits10("a", 0, 0.99, 200), waits10("b", 0, 0, 200)), LimitConsumer, "b", 0,
			"python 3.11 (pid 101) of group b is the limit: it did not wait and kept each for 50 ms; the engine rested 90 %", 19,
		},
		"a slow group beside one nearly as slow": {
			crowd(0.1, waits10("a", 0, 0.2, 200), waits10("b", 0, 0.01, 200)), LimitConsumer, "b", 0.01,
			"python 3.11 (pid 101) of group b is the limit: it waited 500 µs for each batch (1 % of its time)", 0.25 - 1e-9,
		},
		"a slow lane": {
			crowd(0.9, waits10("ddp", 0, 0.9, 100), waits10("ddp", 1, 0.02, 100)), LimitConsumer, "ddp", 0.02,
			"python 3.11 (pid 101) of lane 1 of group ddp is the limit: it waited 2 ms for each batch (2 % of its time)", 9,
		},
		"a group whose consumers are slow together": {
			crowd(0.9, waits10("a", 0, 0.99, 200), waits10("b", 0, 0.02, 50), waits10("b", 0, 0.04, 150)), LimitConsumer, "b", 0.03,
			"the 2 consumers of group b are the limit: they waited 3 ms for each batch (3 % of their time) and kept each for", 19,
		},
		"one of a group that share it is slow, and the other makes up for it": {
			crowd(0, waits10("a", 0, 0.9, 190), waits10("a", 0, 0, 10)), LimitNone, "", 0.45,
			"the 2 consumers of group a waited 45 ms for each batch (45 % of their time)", 0,
		},
		"all wait": {
			crowd(0, waits10("a", 0, 0.9, 100), waits10("b", 0, 0.5, 100)), LimitNone, "", 0.5,
			"python 3.11 (pid 101) of group b waited 50 ms for each batch (50 % of its time)", 0,
		},
		"batches are dropped for the slow one": {dropping, LimitRing, "", 0.5, "python 3.11 (pid 100) of group train 50 % of its time for a batch", 0},
		"one takes nothing": {
			still(crowd(1, waits10("a", 0, 1, 0), waits10("b", 0, 0, 0))), LimitIdle, "b", 0,
			"python 3.11 (pid 101) of group b takes nothing: all slots are full or held, and the engine and the other consumers wait", 0,
		},
		"nobody reads one": {
			unread, LimitIdle, "b", 1, "nothing comes: the ring is full, and nobody takes the 8 batches of group b; attach a consumer to it, or to the lane that has none", 0,
		},
		"nothing comes, and one has not asked yet": {stuck, LimitStage, "", 0, "nothing comes: decode has not returned", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := Between(Snapshot{}, c.shot).Rings[0]
			v := r.Verdict
			near(t, "wait", r.Wait, c.wait)
			if v.Limit != c.limit || v.Group != c.group || !strings.Contains(v.Text, c.text) {
				t.Errorf("limit %q, group %q: %s", v.Limit, v.Group, v.Text)
			}
			if c.gain > 0 && (len(v.WhatIf) != 1 || math.Abs(v.WhatIf[0].Gain-c.gain) > 0.005) {
				t.Errorf("what-ifs %v, want %.3f", v.WhatIf, c.gain)
			}
		})
	}
}
