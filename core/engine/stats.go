package engine

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
)

// lastBad is how many bad samples are remembered by name.
const lastBad = 16

// Stats is the engine at one moment, as the control socket tells it. AtNS is CLOCK_MONOTONIC.
type Stats struct {
	AtNS    int64   `json:"at_ns"`
	PID     int     `json:"pid"`
	UptimeS float64 `json:"uptime_s"`
	telemetry.Process
	AtStart   telemetry.Process   `json:"at_start"` // what Process counted when the engine began
	CPUTimeS  float64             `json:"cpu_time_s"`
	ReadAhead pipeline.LimitStats `json:"read_ahead"`
	Limiter   pipeline.LimitStats `json:"decode_slots"`
	Rings     []RingStats         `json:"rings"`
}

// RingStats is one ring.
type RingStats struct {
	Ring  shm.Info `json:"ring"`
	Error string   `json:"error,omitempty"` // that ended the ring
	Rows  uint64   `json:"rows"`            // published
	// Bytes are what stages have put out: "fetch" read, "publish" rows.
	Bytes map[string]uint64 `json:"bytes"`
	// SamplesPerOp is how many samples an op of fetch and decode takes at most.
	SamplesPerOp int             `json:"samples_per_op"`
	Groups       []shm.GroupInfo `json:"groups"`
	Pipeline     *pipeline.Stats `json:"pipeline,omitempty"`
	Bad          BadStats        `json:"bad_samples"`
	First        FirstBatch      `json:"first_batch"`
	Source       SourceStats     `json:"source"`
	Video        *video.Counters `json:"video,omitempty"`
	Upload       *UploadStats    `json:"upload,omitempty"`
}

// BadStats counts samples that did not become rows.
type BadStats struct {
	Total  uint64            `json:"total"`
	Causes map[string]uint64 `json:"causes"`
	Last   []string          `json:"last"` // texts of the latest, oldest first
}

// FirstBatch splits the time from the start of the process to the ring's first batch, in milliseconds.
type FirstBatch struct {
	LoadMS    float64 `json:"load_ms"`    // until the engine was asked for: linking, description
	ScanMS    float64 `json:"scan_ms"`    // finding the samples of all rings
	ReserveMS float64 `json:"reserve_ms"` // memory of all rings
	FetchMS   float64 `json:"fetch_ms"`   // from there to the last byte read
	DecodeMS  float64 `json:"decode_ms"`  // from there to the last row
	PublishMS float64 `json:"publish_ms"` // from there to the batch being ready for its consumers
	TotalMS   float64 `json:"total_ms"`
}

type badCounter struct {
	mu     sync.Mutex
	total  uint64
	causes map[string]uint64
	last   []string
}

func (c *badCounter) count(b *batch.Bad) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.causes == nil {
		c.causes = map[string]uint64{}
	}
	c.total++
	c.causes[b.Cause]++
	if len(c.last) == lastBad {
		c.last = append(c.last[:0], c.last[1:]...)
	}
	c.last = append(c.last, b.Err.Error())
}

func (c *badCounter) stats() BadStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := BadStats{Total: c.total, Causes: map[string]uint64{}, Last: append([]string{}, c.last...)}
	for cause, n := range c.causes {
		s.Causes[cause] = n
	}
	return s
}

// noteFirst keeps the times of the ring's first batch.
func (r *ring) noteFirst(w *work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.TotalMS != 0 {
		return
	}
	e, now := r.engine, monotonicNS()
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	total := time.Since(e.started)
	sinceFetch, sinceDecode := time.Duration(now-w.FetchedNS), time.Duration(now-w.DecodedNS)
	load := e.began.Sub(e.started)
	r.first = FirstBatch{
		LoadMS: ms(load), ScanMS: ms(e.scanned), ReserveMS: ms(e.reserved),
		FetchMS:  ms(total - load - e.scanned - e.reserved - sinceFetch),
		DecodeMS: ms(sinceFetch - sinceDecode), PublishMS: ms(sinceDecode), TotalMS: ms(total),
	}
	e.log.Infof(r.name, "first batch after %.1f ms: load %.1f, scan %.1f, reserve %.1f, fetch %.1f, decode %.1f, publish %.1f",
		r.first.TotalMS, r.first.LoadMS, r.first.ScanMS, r.first.ReserveMS, r.first.FetchMS, r.first.DecodeMS, r.first.PublishMS)
}

// Stats reads the counters; it may be called at any time between New and Close.
func (e *Engine) Stats() Stats {
	s := Stats{
		AtNS: monotonicNS(), PID: os.Getpid(), UptimeS: time.Since(e.started).Seconds(), Process: telemetry.ReadProcess(),
		AtStart: e.atStart, ReadAhead: e.readAhead.Stats(), Limiter: e.cpus.Stats(),
	}
	e.tellFilesFromStores(&s.Process) // at once: both sides go on counting
	s.CPUs, s.CPUsThere, s.CPUTimeS = e.may.cpus, e.may.there, float64(s.CPUTimeNs)/1e9
	s.MemoryLimit = uint64(e.may.memory)
	for _, r := range e.rings {
		s.Rings = append(s.Rings, r.stats())
	}
	return s
}

// tellFilesFromStores: the kernel counts what is read from sockets like what is read from files.
func (e *Engine) tellFilesFromStores(p *telemetry.Process) {
	var bytes, answers uint64
	for _, r := range e.rings {
		n := r.store.Stats()
		bytes, answers = bytes+n.Bytes, answers+n.Requests
	}
	before := e.fromFiles.Load()
	p.FilesOnly(bytes, answers, before)
	for before < p.ReadBytes && !e.fromFiles.CompareAndSwap(before, p.ReadBytes) {
		before = e.fromFiles.Load()
	}
}

func (r *ring) stats() RingStats {
	r.mu.Lock()
	first := r.first
	r.mu.Unlock()
	rows := r.rowsOut.Load()
	s := RingStats{
		Ring: r.shm.Info(), Groups: r.shm.Groups(), Bad: r.bad.stats(), First: first, Rows: rows, SamplesPerOp: r.perJob, Source: r.sourceStats(), Upload: r.uploadStats(),
		Bytes: map[string]uint64{"fetch": r.bytesRead.Load(), "publish": rows * uint64(r.samples.rowBytes())},
	}
	if r.samples.coded() != nil && s.Upload != nil {
		s.Bytes["publish"] = s.Upload.FileBytes
	}
	s.Video = r.samples.videoCounters()
	if run := r.running.Load(); run != nil {
		p := run.Stats()
		s.Pipeline = &p
	}
	select {
	case <-r.over:
		if r.failure != nil {
			s.Error = r.failure.Error()
		}
	default:
	}
	return s
}

// maxStats is what fits into one message of the control socket, with room to spare.
const maxStats = 60000

// statsJSON leaves out what is for the quantiles of intervals where an engine has so many rings that it would not fit.
func (e *Engine) statsJSON() ([]byte, error) {
	s := e.Stats()
	text, err := json.Marshal(&s)
	if err != nil || len(text) <= maxStats {
		return text, err
	}
	for i := range s.Rings {
		if p := s.Rings[i].Pipeline; p != nil {
			for k := range p.Stages {
				p.Stages[k].OpBuckets = nil
			}
		}
	}
	return json.Marshal(&s)
}
