package pipeline

import "sync/atomic"

// Times sums up durations, all in nanoseconds. Mean and maximum are exact, the
// quantiles are within 1/16 of their value.
type Times struct {
	Count  uint64 `json:"count"`
	SumNs  int64  `json:"sum_ns"`
	MeanNs int64  `json:"mean_ns"`
	P50Ns  int64  `json:"p50_ns"`
	P90Ns  int64  `json:"p90_ns"`
	P99Ns  int64  `json:"p99_ns"`
	MaxNs  int64  `json:"max_ns"`
}

// Stats is a pipeline at one moment, counted from Start. Stages and queues
// stand in the order they were built; counters of different stages are read
// one after the other, so they may differ by what moved in between.
type Stats struct {
	Name      string       `json:"name"`
	State     State        `json:"state"`
	ElapsedNs int64        `json:"elapsed_ns"`
	Stages    []StageStats `json:"stages"`
	Queues    []QueueStats `json:"queues"`
	// Background are the tasks that run beside, in the order they were added.
	Background []BackgroundStats `json:"background,omitempty"`
}

// StageStats is one stage of a Stats.
type StageStats struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Concurrency int    `json:"concurrency"`
	Auto        bool   `json:"auto,omitempty"` // found while running
	// Items counts the ops that succeeded, Failures those that returned an
	// error or panicked; an op cut short by a cancel is neither.
	Items    uint64 `json:"items"`
	Failures uint64 `json:"failures"`
	// Retries counts the tries after a first one that failed.
	Retries uint64 `json:"retries"`
	// Discarded counts results of this stage handed to its Discard.
	Discarded uint64 `json:"discarded"`
	// Running is the number of workers inside an op now.
	Running int `json:"running"`
	// Op is the time inside ops, failed ones included. For a source it is
	// the time inside next, waiting included.
	Op Times `json:"op"`
	// OpBuckets are the durations behind Op, for the quantiles of an interval.
	OpBuckets Buckets `json:"op_buckets,omitempty"`
	// LimitWaitNs is the time workers waited for Limiter and Budget.
	LimitWaitNs int64 `json:"limit_wait_ns"`
	// BusyShare is the share of its workers' time the stage spent in ops, 0 to 1.
	BusyShare float64 `json:"busy_share"`
	// BusyNs is that time, summed over the workers, ops that still run included.
	BusyNs int64 `json:"busy_ns"`
	// WorkersNs is the time of its workers, busy or not.
	WorkersNs int64 `json:"workers_ns"`
	// Works are the items of an External that are out or wait to be tried
	// again, oldest first.
	Works []WorkStats `json:"works,omitempty"`
}

// WorkStats is one item in the hands of an External stage's host.
type WorkStats struct {
	Token   uint64 `json:"token"`
	Epoch   uint64 `json:"epoch"`
	Attempt int    `json:"attempt"`
	// State is "out", "giving" (waiting for room behind), "waiting" (to be tried
	// again) or "overdue" (past its deadline and not given back).
	State string `json:"state"`
	// AgeNs is the time since the state began.
	AgeNs int64 `json:"age_ns"`
}

// QueueStats is one queue, named after the stage that fills it.
type QueueStats struct {
	Name     string `json:"name"`
	Capacity int    `json:"capacity"`
	// Depth is the number of items waiting now, Peak the most there were.
	Depth int    `json:"depth"`
	Peak  int    `json:"peak"`
	Puts  uint64 `json:"puts"`
	Gets  uint64 `json:"gets"`
	// PutWait and GetWait count every finished put and get, those that did
	// not wait as zero. A wait that is given up, as at a timeout, is a part
	// of the next that ends. SumNs has also what is not finished yet.
	PutWait Times `json:"put_wait"`
	GetWait Times `json:"get_wait"`
	// Occupancy is the share of time an item was ready to be taken, 0 to 1:
	// near 0 the stage before is the limit, near 1 the stage behind.
	Occupancy float64 `json:"occupancy"`
}

// A meter is what one worker of a stage has done. Its worker alone writes it.
type meter struct {
	op          histogram
	sinceNs     atomic.Int64 // start of the op that is running; 0 means none
	limitWaitNs atomic.Int64
	items       atomic.Uint64
	failures    atomic.Uint64
	spans       atomic.Pointer[spanLog] // nil: nobody records
	retries     atomic.Uint64
}

func (m *meter) begin() {
	if instrumented {
		m.sinceNs.Store(max(now(), 1))
	}
}

func (m *meter) end() {
	if !instrumented {
		return
	}
	begunNs, endedNs := m.sinceNs.Load(), now()
	m.sinceNs.Store(0)
	m.op.record(endedNs - begunNs)
	if log := m.spans.Load(); log != nil {
		log.add(span{begunNs, endedNs})
	}
}

// count notes an item.
func (m *meter) count() {
	if instrumented {
		m.items.Add(1)
	}
}

// abandon forgets an op that never returned.
func (m *meter) abandon() { m.sinceNs.Store(0) }

func (s *stage) stats(atNs, elapsedNs int64) StageStats {
	out := StageStats{Name: s.name, Kind: s.kind, Concurrency: s.workersNow(), Auto: s.crew != nil}
	var t tally
	var runningNs int64
	for i := range s.meters {
		m := &s.meters[i]
		t.add(&m.op)
		out.Items += m.items.Load()
		out.Failures += m.failures.Load()
		out.Retries += m.retries.Load()
		out.LimitWaitNs += m.limitWaitNs.Load()
		if since := m.sinceNs.Load(); since != 0 {
			out.Running++
			runningNs += max(0, atNs-since)
		}
	}
	if s.works != nil {
		out.Works = s.works(atNs)
	}
	for _, w := range out.Works {
		if w.State == workOut || w.State == workOverdue {
			out.Running++
			runningNs += w.AgeNs
		}
	}
	out.Op, out.OpBuckets, out.BusyNs = t.times(), t.buckets(), t.sumNs+runningNs
	if elapsedNs > 0 {
		out.WorkersNs = elapsedNs * int64(s.concurrency)
		if s.crew != nil {
			out.WorkersNs = max(s.crew.workersTime(atNs), 1)
		}
		out.BusyShare = min(1, float64(out.BusyNs)/float64(out.WorkersNs))
	}
	if s.out != nil {
		out.Discarded = s.out.discards()
	}
	return out
}

// Stats returns the pipeline's counters now. It may be called at any time from
// any goroutine and does not stop the workers.
func (p *Pipeline) Stats() Stats {
	p.mu.Lock()
	out := Stats{Name: p.name, State: p.stateNow()}
	begunNs, endedNs := p.begunNs, p.endedNs
	p.mu.Unlock()
	atNs := now()
	switch {
	case out.State == Ended && endedNs == 0, out.State == Built:
		atNs = begunNs
	case out.State == Ended:
		atNs = endedNs
	}
	out.ElapsedNs = atNs - begunNs
	for _, t := range p.tasks {
		out.Background = append(out.Background, t.stats())
	}
	for _, s := range p.stages {
		out.Stages = append(out.Stages, s.stats(atNs, out.ElapsedNs))
		if s.out != nil {
			out.Queues = append(out.Queues, s.out.queueStats(s.name, atNs))
		}
	}
	return out
}
