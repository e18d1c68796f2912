package telemetry

import "github.com/spdl/spdl/core/pipeline"

// Snapshot is an engine at one moment. Counters of rings count since the start; times are nanoseconds, AtNs is CLOCK_MONOTONIC.
type Snapshot struct {
	AtNs    int64   `json:"at_ns"`
	PID     int     `json:"pid"`
	UptimeS float64 `json:"uptime_s"`
	Process Process `json:"process"`
	// AtStart is what Process counted when the engine began: the network's and the cgroup's counters are older, and so are a host's.
	AtStart Process `json:"process_at_start"`
	Rings   []Ring  `json:"rings"`
}

// Ring is one ring of a snapshot.
type Ring struct {
	Name      string `json:"name"`
	State     string `json:"state"` // running, ended, failed or stopped
	Error     string `json:"error,omitempty"`
	Slots     int    `json:"slots"`
	SlotBytes uint64 `json:"slot_bytes"`
	Batches   uint64 `json:"batches"` // published
	Rows      uint64 `json:"rows"`    // published
	// SamplesPerOp is how many samples an op of a stage takes at most; 0: one.
	SamplesPerOp int `json:"samples_per_op"`
	// ElapsedNs is the age of the pipeline; a restart or a loaded state begins a new one, with counters from zero.
	ElapsedNs int64                 `json:"elapsed_ns"`
	Stages    []Stage               `json:"stages"`
	Queues    []pipeline.QueueStats `json:"queues"` // each named after the stage that fills it
	Groups    []Group               `json:"groups"`
	Consumers []Consumer            `json:"consumers"`
	Bad       uint64                `json:"bad_samples"`
	BadCauses map[string]uint64     `json:"bad_causes"`
	LastBad   []string              `json:"last_bad"` // oldest first
	// Cache, CacheRows and Store count what became of samples, of decoded rows and of requests to stores; nil where there are none.
	Cache     map[string]uint64 `json:"cache,omitempty"`
	CacheRows map[string]uint64 `json:"cache_rows,omitempty"`
	Store     map[string]uint64 `json:"store,omitempty"`
}

// Stage is a stage of a ring's pipeline.
type Stage struct {
	pipeline.StageStats
	Bytes uint64 `json:"bytes"` // that it has put out, where that is known
	CPU   bool   `json:"cpu"`   // its ops compute; otherwise they wait for something
}

// Group is a group of consumers.
type Group struct {
	Name        string `json:"name"`
	Published   uint64 `json:"published"`
	Completed   uint64 `json:"completed"`
	Redelivered uint64 `json:"redelivered"`
	Dropped     uint64 `json:"dropped"`
	Unclaimed   int    `json:"unclaimed"` // batches that are ready and nobody's
}

// Consumer is a member of a group. Its counters are words that it writes itself.
type Consumer struct {
	Group     string `json:"group"`
	Owner     uint32 `json:"owner"`
	PID       int    `json:"pid"`
	Client    string `json:"client"`
	Lane      int    `json:"lane"`
	MaxLeases int    `json:"max_leases"`
	Holds     int    `json:"holds"`
	HereNs    uint64 `json:"here_ns"` // since it joined; 0: since before the engine began
	Acquired  uint64 `json:"acquired"`
	Completed uint64 `json:"completed"`
	WaitNs    uint64 `json:"wait_ns"` // for batches, the present wait included
	HoldNs    uint64 `json:"hold_ns"` // from acquire to release, batches that were given back
}
