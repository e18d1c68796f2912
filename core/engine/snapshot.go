package engine

import (
	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
)

// Snapshot says the same in the words of package telemetry.
func (s *Stats) Snapshot() telemetry.Snapshot {
	out := telemetry.Snapshot{AtNs: s.AtNS, PID: s.PID, UptimeS: s.UptimeS, Process: s.Process, AtStart: s.AtStart}
	for i := range s.Rings {
		out.Rings = append(out.Rings, s.Rings[i].snapshot(uint64(s.AtNS)))
	}
	return out
}

func (s *RingStats) snapshot(atNS uint64) telemetry.Ring {
	r := telemetry.Ring{
		Name: s.Ring.Name, State: shm.StateName(s.Ring.State), Error: s.Error, Slots: s.Ring.Slots, SlotBytes: s.Ring.SlotBytes,
		Batches: s.Ring.Published, Rows: s.Rows, SamplesPerOp: s.SamplesPerOp, Bad: s.Bad.Total, BadCauses: s.Bad.Causes, LastBad: s.Bad.Last,
	}
	if c := s.Source.Cache; c != nil {
		r.Cache = map[string]uint64{"hit": c.Hits, "miss": c.Misses, "stored": c.Stored, "corrupt": c.Corrupt, "bypassed": c.Bypassed, "failed": c.Failed, "evicted": c.Evicted}
	}
	if c := s.Source.Rows; c != nil {
		r.CacheRows = map[string]uint64{"hit": c.Hits, "miss": c.Misses, "warm": c.Warm, "stale": c.Stale, "corrupt": c.Corrupt, "failed": c.Failed}
	}
	if n := s.Source.Remote; n != nil {
		r.Store = map[string]uint64{"sent": n.Requests, "retry": n.Retries, "hedge": n.Hedges, "failed": n.Failures}
	}
	if p := s.Pipeline; p != nil {
		r.ElapsedNs, r.Queues = p.ElapsedNs, p.Queues
		for _, stage := range p.Stages {
			r.Stages = append(r.Stages, telemetry.Stage{StageStats: stage, Bytes: s.Bytes[stage.Name], CPU: stage.Name == "decode"})
		}
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		r.Groups = append(r.Groups, telemetry.Group{
			Name: g.Name, Published: g.Published, Completed: g.Completed, Redelivered: g.Redelivered, Dropped: g.Dropped, Unclaimed: g.Unclaimed,
		})
		switch g.Kind {
		case shm.KindUploader:
			r.Stages = append(r.Stages, uploadStage(s, g)...)
			continue
		case shm.KindStage:
			r.Stages = append(r.Stages, groupStage(s, g)...)
			continue
		}
		for k := range g.Members {
			r.Consumers = append(r.Consumers, consumerOf(g.Name, &g.Members[k], atNS))
		}
	}
	return r
}

// uploadStage is the uploader, where there is one, as the ring's last stage: a batch in its hands is a worker inside an op. It counts from
// its own start.
func uploadStage(s *RingStats, g *shm.GroupInfo) []telemetry.Stage {
	if len(g.Members) == 0 || s.Pipeline == nil || s.Upload == nil {
		return nil
	}
	stage := stageOf(s, "upload", g.Members[:1], g.Members[0].MaxLeases)
	stage.Bytes = stage.Items*s.Upload.BatchBytes + s.Upload.FileBytes
	return []telemetry.Stage{stage}
}

// groupStage is a stage of the ring's, whose workers transform batches in their slots: each member is a worker.
func groupStage(s *RingStats, g *shm.GroupInfo) []telemetry.Stage {
	if s.Pipeline == nil {
		return nil
	}
	return []telemetry.Stage{stageOf(s, g.Name, g.Members, 1)}
}

// stageOf is members as a stage: each is `each` workers, of which one is inside an op for every batch that the member holds.
func stageOf(s *RingStats, name string, members []shm.MemberInfo, each int) telemetry.Stage {
	stage := telemetry.Stage{}
	stage.Name, stage.Kind, stage.Concurrency = name, "map", each*len(members)
	for i := range members {
		m := &members[i]
		stage.Running += min(m.Holds, each)
		stage.Items += m.Completed
		stage.BusyNs += int64(m.HoldNS)
	}
	stage.Op = pipeline.Times{Count: stage.Items, SumNs: stage.BusyNs, MeanNs: stage.BusyNs / int64(max(stage.Items, 1))}
	stage.WorkersNs = s.Pipeline.ElapsedNs * int64(stage.Concurrency)
	return stage
}

func consumerOf(group string, m *shm.MemberInfo, atNS uint64) telemetry.Consumer {
	c := telemetry.Consumer{
		Group: group, Owner: m.Owner, PID: int(m.PID), Client: m.Client, Lane: m.Lane, MaxLeases: m.MaxLeases, Holds: m.Holds,
		Acquired: m.Acquired, Completed: m.Completed, WaitNs: m.WaitNS, HoldNs: m.HoldNS,
	}
	if m.Joined > 0 && m.Joined < atNS {
		c.HereNs = atNS - m.Joined
	}
	if since := m.WaitingSince; since > 0 && since < atNS {
		c.WaitNs += atNS - since
	}
	return c
}
