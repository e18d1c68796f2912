package telemetry

import (
	"slices"

	"github.com/spdl/spdl/core/pipeline"
)

// Interval is what happened between two snapshots. Shares are 0 to 1, rates are per second, times are nanoseconds.
type Interval struct {
	Seconds float64     `json:"seconds"`
	Process ProcessLoad `json:"process"`
	Rings   []RingLoad  `json:"rings"`
}

// ProcessLoad is the process in an interval.
type ProcessLoad struct {
	CPUs           float64 `json:"cpus"` // that it may use
	CPUsThere      float64 `json:"cpus_there"`
	CPUsUsed       float64 `json:"cpus_used"` // on average
	Throttled      float64 `json:"throttled"` // seconds per second of being kept off the CPUs by a quota, over all threads
	Memory         Memory  `json:"memory"`
	MemoryLimit    uint64  `json:"memory_limit,omitempty"` // 0: none
	ReadPerS       float64 `json:"read_bytes_per_s"`       // from files
	PageCacheShare float64 `json:"page_cache_share"`       // of those bytes; 0 where none were read
	StorePerS      float64 `json:"store_bytes_per_s"`
	NetReceivedS   float64 `json:"net_received_bytes_per_s"`
	NetSentPerS    float64 `json:"net_sent_bytes_per_s"`
}

// RingLoad is a ring in an interval.
type RingLoad struct {
	Name     string  `json:"name"`
	State    string  `json:"state"`
	Error    string  `json:"error,omitempty"`
	Slots    int     `json:"slots"`
	Batches  uint64  `json:"batches"`
	BatchesS float64 `json:"batches_per_s"`
	RowsPerS float64 `json:"rows_per_s"`
	Bad      uint64  `json:"bad_samples"`
	// SamplesPerOp is how many samples an op of a stage takes at most; 0: one.
	SamplesPerOp int `json:"samples_per_op"`
	// Full is the share of the time that the engine waited for a free slot.
	Full float64 `json:"full_share"`
	// Wait is the share of its time that the slowest consumer waited for a batch: of the group or lane whose consumers, all
	// together, waited least. Groups that batches were dropped for hold nobody up and do not count.
	Wait      float64        `json:"consumer_wait_share"`
	Stages    []StageLoad    `json:"stages"`
	Queues    []QueueLoad    `json:"queues"`
	Groups    []Group        `json:"groups"` // as they are at the end
	Consumers []ConsumerLoad `json:"consumers"`
	LastBad   []string       `json:"last_bad"`
	Verdict   Verdict        `json:"verdict"`

	ofResults bool // it is a pipeline of a program's own stages
}

// StageLoad is a stage in an interval.
type StageLoad struct {
	Name        string  `json:"name"`
	Kind        string  `json:"kind"`
	CPU         bool    `json:"cpu"`
	Concurrency int     `json:"concurrency"`
	Auto        bool    `json:"auto,omitempty"` // the engine finds it
	Running     int     `json:"running"`        // at the end
	Items       uint64  `json:"items"`
	Failures    uint64  `json:"failures"`
	Retries     uint64  `json:"retries"`
	ItemsPerS   float64 `json:"items_per_s"`
	BytesPerS   float64 `json:"bytes_per_s"`
	// Busy is the share of its workers' time inside ops, LimitWait the share they waited for their turn on a CPU.
	Busy      float64 `json:"busy_share"`
	LimitWait float64 `json:"limit_wait_share"`
	MeanNs    int64   `json:"mean_ns"`
	P50Ns     int64   `json:"p50_ns"`
	P90Ns     int64   `json:"p90_ns"`
	P99Ns     int64   `json:"p99_ns"`
}

// QueueLoad is a queue in an interval, named after the stage that fills it. The waits are means of puts and gets.
type QueueLoad struct {
	Name      string  `json:"name"`
	Capacity  int     `json:"capacity"`
	Depth     int     `json:"depth"`
	Occupancy float64 `json:"occupancy"` // share of the time that something could be taken
	PutWaitNs int64   `json:"put_wait_ns"`
	GetWaitNs int64   `json:"get_wait_ns"`
}

// ConsumerLoad is a consumer in an interval. WaitNs and HoldNs are means for each batch.
type ConsumerLoad struct {
	Group     string  `json:"group"`
	Owner     uint32  `json:"owner"`
	PID       int     `json:"pid"`
	Client    string  `json:"client"`
	Lane      int     `json:"lane"`
	Holds     int     `json:"holds"`
	MaxLeases int     `json:"max_leases"`
	Batches   uint64  `json:"batches"`
	BatchesS  float64 `json:"batches_per_s"`
	Wait      float64 `json:"wait_share"` // of the time that it was there
	WaitNs    int64   `json:"wait_ns"`
	HoldNs    int64   `json:"hold_ns"`

	dropped bool // batches were dropped for its group
}

// Between subtracts an earlier snapshot from a later one of the same engine; the zero Snapshot stands for its start.
// Each ring's verdict is filled in.
func Between(earlier, later Snapshot) Interval {
	seconds := float64(later.AtNs-earlier.AtNs) / 1e9
	if earlier.AtNs == 0 {
		seconds, earlier.Process = later.UptimeS, later.AtStart
	}
	out := Interval{Seconds: max(seconds, 1e-9)}
	out.Process = processLoad(&earlier.Process, &later.Process, out.Seconds)
	for i := range later.Rings {
		b := &later.Rings[i]
		a := &Ring{}
		if j := slices.IndexFunc(earlier.Rings, func(r Ring) bool { return r.Name == b.Name }); j >= 0 {
			a = &earlier.Rings[j]
		}
		r := ringLoad(a, b, out.Seconds)
		r.Verdict = Judge(&r, &out.Process)
		out.Rings = append(out.Rings, r)
	}
	return out
}

func processLoad(a, b *Process, seconds float64) ProcessLoad {
	p := ProcessLoad{
		CPUs: b.CPUs, CPUsThere: b.CPUsThere, MemoryLimit: b.MemoryLimit, CPUsUsed: float64(b.CPUTimeNs-a.CPUTimeNs) / 1e9 / seconds, Throttled: float64(b.ThrottledNs-a.ThrottledNs) / 1e9 / seconds,
		Memory: b.Memory, ReadPerS: grown(a.ReadBytes, b.ReadBytes) / seconds, StorePerS: grown(a.StoreBytes, b.StoreBytes) / seconds,
		NetReceivedS: grown(a.NetReceived, b.NetReceived) / seconds, NetSentPerS: grown(a.NetSent, b.NetSent) / seconds,
	}
	if read := grown(a.ReadBytes, b.ReadBytes); read > 0 {
		p.PageCacheShare = share(1 - grown(a.StorageBytes, b.StorageBytes)/read)
	}
	return p
}

func ringLoad(a, b *Ring, seconds float64) RingLoad {
	r := RingLoad{
		Name: b.Name, State: b.State, Error: b.Error, Slots: b.Slots, Batches: uint64(grown(a.Batches, b.Batches)),
		BatchesS: grown(a.Batches, b.Batches) / seconds, RowsPerS: grown(a.Rows, b.Rows) / seconds,
		Bad: uint64(grown(a.Bad, b.Bad)), SamplesPerOp: b.SamplesPerOp, Groups: b.Groups, LastBad: b.LastBad,
	}
	if b.ElapsedNs < a.ElapsedNs { // another run of the pipeline: its counters begin at zero
		a = &Ring{Consumers: a.Consumers, Groups: a.Groups}
	}
	ns := max(float64(b.ElapsedNs-a.ElapsedNs), 1)
	for i := range b.Stages {
		s := stageLoad(stageOf(a, b.Stages[i].Name), &b.Stages[i], ns)
		if s.Kind == "source" {
			r.Full = max(r.Full, s.Busy)
		}
		r.Stages = append(r.Stages, s)
	}
	for i := range b.Queues {
		r.Queues = append(r.Queues, queueLoad(a, b, &b.Queues[i], ns))
	}
	for i := range b.Consumers {
		c := consumerLoad(a, &b.Consumers[i], seconds)
		c.dropped = droppedFor(b, c.Group) > droppedFor(a, c.Group)
		r.Consumers = append(r.Consumers, c)
	}
	slowest := r.slowest()
	r.Wait = slowest.wait()
	return r
}

// droppedFor is how many batches were dropped for a group.
func droppedFor(r *Ring, group string) uint64 {
	for i := range r.Groups {
		if r.Groups[i].Name == group {
			return r.Groups[i].Dropped
		}
	}
	return 0
}

func stageOf(r *Ring, name string) *Stage {
	for i := range r.Stages {
		if r.Stages[i].Name == name {
			return &r.Stages[i]
		}
	}
	return &Stage{}
}

func stageLoad(a, b *Stage, ns float64) StageLoad {
	s := StageLoad{
		Name: b.Name, Kind: b.Kind, CPU: b.CPU, Concurrency: b.Concurrency, Auto: b.Auto, Running: b.Running,
		Items: uint64(grown(a.Items, b.Items)), Failures: uint64(grown(a.Failures, b.Failures)), Retries: uint64(grown(a.Retries, b.Retries)),
		ItemsPerS: grown(a.Items, b.Items) / ns * 1e9, BytesPerS: grown(a.Bytes, b.Bytes) / ns * 1e9,
	}
	workersNs := max(float64(b.WorkersNs-a.WorkersNs), 1)
	s.Busy = share(float64(b.BusyNs-a.BusyNs) / workersNs)
	s.LimitWait = share(float64(b.LimitWaitNs-a.LimitWaitNs) / workersNs)
	s.MeanNs = mean(a.Op, b.Op)
	ops := b.OpBuckets.Since(a.OpBuckets)
	s.P50Ns, s.P90Ns, s.P99Ns = ops.Quantile(50), ops.Quantile(90), ops.Quantile(99)
	return s
}

func queueLoad(a, b *Ring, q *pipeline.QueueStats, ns float64) QueueLoad {
	before := pipeline.QueueStats{}
	for i := range a.Queues {
		if a.Queues[i].Name == q.Name {
			before = a.Queues[i]
		}
	}
	ready := q.Occupancy*float64(b.ElapsedNs) - before.Occupancy*float64(a.ElapsedNs)
	return QueueLoad{
		Name: q.Name, Capacity: q.Capacity, Depth: q.Depth, Occupancy: share(ready / ns),
		PutWaitNs: mean(before.PutWait, q.PutWait), GetWaitNs: mean(before.GetWait, q.GetWait),
	}
}

func consumerLoad(a *Ring, c *Consumer, seconds float64) ConsumerLoad {
	before := Consumer{}
	for i := range a.Consumers {
		if a.Consumers[i].Owner == c.Owner {
			before = a.Consumers[i]
		}
	}
	out := ConsumerLoad{
		Group: c.Group, Owner: c.Owner, PID: c.PID, Client: c.Client, Lane: c.Lane, Holds: c.Holds, MaxLeases: c.MaxLeases,
		Batches: uint64(grown(before.Acquired, c.Acquired)), BatchesS: grown(before.Acquired, c.Acquired) / seconds,
	}
	if here := float64(c.HereNs) / 1e9; here > 0 {
		seconds = min(seconds, here)
	}
	out.Wait = share(more(before.WaitNs, c.WaitNs) / 1e9 / seconds)
	if n := float64(out.Batches); n > 0 {
		out.WaitNs = int64(more(before.WaitNs, c.WaitNs) / n)
		out.HoldNs = int64(more(before.HoldNs, c.HoldNs) / n)
	}
	return out
}

// grown is how much a counter has grown; one that fell began anew.
func grown(a, b uint64) float64 {
	if b < a {
		return float64(b)
	}
	return float64(b - a)
}

// more is grown for sums that never begin anew, but may seem to shrink by what was being written as they were read.
func more(a, b uint64) float64 { return max(float64(b)-float64(a), 0) }

func share(f float64) float64 { return min(max(f, 0), 1) }

// mean is the mean of the durations between two sums.
func mean(a, b pipeline.Times) int64 {
	if b.Count < a.Count {
		a = pipeline.Times{}
	}
	n := int64(b.Count - a.Count)
	if n == 0 {
		return 0
	}
	return max(b.SumNs-a.SumNs, 0) / n
}
