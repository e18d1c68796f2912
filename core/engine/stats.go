package engine

import (
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/shm"
)

// lastBad is how many bad samples are remembered by name.
const lastBad = 16

// Stats is the engine at one moment.
type Stats struct {
	PID       int                 `json:"pid"`
	UptimeS   float64             `json:"uptime_s"`
	CPUs      float64             `json:"cpus"`
	CPUTimeS  float64             `json:"cpu_time_s"`
	Memory    Memory              `json:"memory"`
	ReadAhead pipeline.LimitStats `json:"read_ahead"`
	Limiter   pipeline.LimitStats `json:"decode_slots"`
	Rings     []RingStats         `json:"rings"`
}

// Memory is what the process holds, in bytes.
type Memory struct {
	RSS    uint64 `json:"rss"`
	Anon   uint64 `json:"anon"`   // heap, stacks, C allocations
	Shared uint64 `json:"shared"` // rings
	File   uint64 `json:"file"`   // code of the program and its libraries
}

// RingStats is one ring.
type RingStats struct {
	Ring     shm.Info        `json:"ring"`
	Groups   []shm.GroupInfo `json:"groups"`
	Pipeline *pipeline.Stats `json:"pipeline,omitempty"`
	Bad      BadStats        `json:"bad_samples"`
	First    FirstBatch      `json:"first_batch"`
	Source   SourceStats     `json:"source"`
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
		PID: os.Getpid(), UptimeS: time.Since(e.started).Seconds(), CPUs: e.nCPUs, CPUTimeS: cpuTime(),
		Memory: processMemory(), ReadAhead: e.readAhead.Stats(), Limiter: e.cpus.Stats(),
	}
	for _, r := range e.rings {
		r.mu.Lock()
		first := r.first
		r.mu.Unlock()
		rs := RingStats{Ring: r.shm.Info(), Groups: r.shm.Groups(), Bad: r.bad.stats(), First: first, Source: r.sourceStats()}
		if run := r.running.Load(); run != nil {
			p := run.Stats()
			rs.Pipeline = &p
		}
		s.Rings = append(s.Rings, rs)
	}
	return s
}

func (e *Engine) statsJSON() ([]byte, error) { return json.Marshal(e.Stats()) }

// processMemory reads /proc/self/status.
func processMemory() (m Memory) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return m
	}
	fields := map[string]*uint64{"VmRSS:": &m.RSS, "RssAnon:": &m.Anon, "RssShmem:": &m.Shared, "RssFile:": &m.File}
	for _, line := range strings.Split(string(data), "\n") {
		if f := strings.Fields(line); len(f) >= 2 && fields[f[0]] != nil {
			n, _ := strconv.ParseUint(f[1], 10, 64)
			*fields[f[0]] = n * 1024
		}
	}
	return m
}

// Allocations is the number of Go heap allocations since the process began.
func Allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
