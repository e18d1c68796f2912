package telemetry

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// WriteMetrics writes a snapshot in the text format of Prometheus, version 0.0.4. The format is a page of text; a client
// library would bring its registry, its collectors and protobuf to write it.
func WriteMetrics(out io.Writer, s *Snapshot) error {
	w := &metrics{w: bufio.NewWriter(out)}
	w.process(s)
	w.rings(s)
	w.stages(s)
	w.queues(s)
	w.consumers(s)
	return w.w.Flush()
}

// metrics writes families; errors stay in w until Flush.
type metrics struct{ w *bufio.Writer }

func (m *metrics) family(name, kind, help string) {
	fmt.Fprintf(m.w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// sample writes one line; labels are names and values in turn.
func (m *metrics) sample(name string, value float64, labels ...string) {
	m.w.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		m.w.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		m.w.WriteString(labels[i] + `="` + escapeLabel.Replace(labels[i+1]) + `"`)
	}
	if len(labels) > 0 {
		m.w.WriteByte('}')
	}
	m.w.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// one writes a family of one sample.
func (m *metrics) one(name, kind, help string, value float64) {
	m.family(name, kind, help)
	m.sample(name, value)
}

func (m *metrics) process(s *Snapshot) {
	p := &s.Process
	m.one("spdl_uptime_seconds", "gauge", "Time since the engine's process began.", s.UptimeS)
	m.one("spdl_cpus", "gauge", "CPUs that the engine may use.", p.CPUs)
	m.one("spdl_cpus_there", "gauge", "CPUs that affinity and cgroup leave it.", p.CPUsThere)
	if p.MemoryLimit > 0 {
		m.one("spdl_memory_limit_bytes", "gauge", "Bound of the resident memory (limits.memory).", float64(p.MemoryLimit))
	}
	m.one("process_cpu_seconds_total", "counter", "User and system time.", seconds(p.CPUTimeNs))
	m.one("spdl_cpu_throttled_seconds_total", "counter", "Time that threads were kept off the CPUs by the cgroup's quota.", seconds(p.ThrottledNs))
	m.one("process_resident_memory_bytes", "gauge", "Resident memory, rings included.", float64(p.Memory.RSS))
	m.one("spdl_memory_pss_bytes", "gauge", "Resident memory with shared pages divided among those who map them.", float64(p.Memory.PSS))
	m.one("spdl_memory_private_bytes", "gauge", "Heap, stacks and C allocations.", float64(p.Memory.Anon))
	m.one("spdl_read_bytes_total", "counter", "Bytes read from files; what came from stores is not among them.", float64(p.ReadBytes))
	m.one("spdl_storage_read_bytes_total", "counter", "Bytes read from files that came from storage; the others came from the page cache.", float64(p.StorageBytes))
	m.one("spdl_store_read_bytes_total", "counter", "Bytes of objects that came from stores over the network.", float64(p.StoreBytes))
	m.one("spdl_network_receive_bytes_total", "counter", "Bytes received by the network namespace, loopback left out.", float64(p.NetReceived))
	m.one("spdl_network_transmit_bytes_total", "counter", "Bytes sent by the network namespace, loopback left out.", float64(p.NetSent))
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// each writes a family with one sample per element of a list.
func each[T any](m *metrics, name, kind, help string, all []T, value func(*T) float64, labels func(*T) []string) {
	m.family(name, kind, help)
	for i := range all {
		m.sample(name, value(&all[i]), labels(&all[i])...)
	}
}

func (m *metrics) rings(s *Snapshot) {
	of := func(r *Ring) []string { return []string{"ring", r.Name} }
	each(m, "spdl_ring_running", "gauge", "1 while the ring runs, 0 once it has ended or failed.", s.Rings, func(r *Ring) float64 {
		if r.State == "running" {
			return 1
		}
		return 0
	}, of)
	each(m, "spdl_ring_slots", "gauge", "Batches that the ring holds.", s.Rings, func(r *Ring) float64 { return float64(r.Slots) }, of)
	each(m, "spdl_batches_total", "counter", "Batches published.", s.Rings, func(r *Ring) float64 { return float64(r.Batches) }, of)
	each(m, "spdl_samples_total", "counter", "Rows published.", s.Rings, func(r *Ring) float64 { return float64(r.Rows) }, of)
	m.counted(s, "spdl_bad_samples_total", "Samples that did not become rows, by cause.", "cause", func(r *Ring) map[string]uint64 { return r.BadCauses })
	m.counted(s, "spdl_cache_samples_total", "What cache.dir did with samples; of all rings of the engine that share it.", "outcome", func(r *Ring) map[string]uint64 { return r.Cache })
	m.counted(s, "spdl_cache_rows_total", "What cache.rows_bytes and cache.rows_dir did with decoded rows.", "outcome", func(r *Ring) map[string]uint64 { return r.CacheRows })
	m.counted(s, "spdl_store_requests_total", "Requests to stores: all that were sent, and those of them that were tries after another; reads that failed for good.", "outcome",
		func(r *Ring) map[string]uint64 { return r.Store })
}

// counted writes a family of counters with a name each, of every ring.
func (m *metrics) counted(s *Snapshot, name, help, label string, of func(*Ring) map[string]uint64) {
	m.family(name, "counter", help)
	for i := range s.Rings {
		counts := of(&s.Rings[i])
		for _, what := range slices.Sorted(maps.Keys(counts)) {
			m.sample(name, float64(counts[what]), "ring", s.Rings[i].Name, label, what)
		}
	}
}

// staged is a stage with the name of its ring; queued, grouped and consuming are likewise.
type (
	staged struct {
		ring string
		*Stage
	}
	queued struct {
		ring, name string
		depth, cap int
		puts       uint64
		put, get   int64
		ready      float64
	}
	grouped struct {
		ring string
		*Group
	}
	consuming struct {
		ring string
		*Consumer
	}
)

func (m *metrics) stages(s *Snapshot) {
	var all []staged
	for i := range s.Rings {
		for k := range s.Rings[i].Stages {
			all = append(all, staged{s.Rings[i].Name, &s.Rings[i].Stages[k]})
		}
	}
	of := func(s *staged) []string { return []string{"ring", s.ring, "stage", s.Name} }
	each(m, "spdl_stage_workers", "gauge", "Workers of the stage.", all, func(s *staged) float64 { return float64(s.Concurrency) }, of)
	each(m, "spdl_stage_running", "gauge", "Workers inside an op.", all, func(s *staged) float64 { return float64(s.Running) }, of)
	each(m, "spdl_stage_items_total", "counter", "Ops that succeeded.", all, func(s *staged) float64 { return float64(s.Items) }, of)
	each(m, "spdl_stage_failures_total", "counter", "Ops that failed.", all, func(s *staged) float64 { return float64(s.Failures) }, of)
	each(m, "spdl_stage_retries_total", "counter", "Tries after a first one that failed.", all, func(s *staged) float64 { return float64(s.Retries) }, of)
	each(m, "spdl_stage_bytes_total", "counter", "Bytes put out; 0 where that is not known.", all, func(s *staged) float64 { return float64(s.Bytes) }, of)
	each(m, "spdl_stage_busy_seconds_total", "counter", "Time inside ops, over all workers.", all, func(s *staged) float64 { return seconds(s.BusyNs) }, of)
	each(m, "spdl_stage_limit_wait_seconds_total", "counter", "Time that workers waited for a CPU or for room in a budget.", all,
		func(s *staged) float64 { return seconds(s.LimitWaitNs) }, of)
	m.family("spdl_stage_op_seconds", "summary", "Time of an op; quantiles since the start.")
	for _, s := range all {
		l := []string{"ring", s.ring, "stage", s.Name}
		for _, q := range []struct {
			name string
			ns   int64
		}{{"0.5", s.Op.P50Ns}, {"0.9", s.Op.P90Ns}, {"0.99", s.Op.P99Ns}} {
			m.sample("spdl_stage_op_seconds", seconds(q.ns), append(l, "quantile", q.name)...)
		}
		m.sample("spdl_stage_op_seconds_sum", seconds(s.Op.SumNs), l...)
		m.sample("spdl_stage_op_seconds_count", float64(s.Op.Count), l...)
	}
}

func (m *metrics) queues(s *Snapshot) {
	var all []queued
	for i := range s.Rings {
		r := &s.Rings[i]
		for _, q := range r.Queues {
			all = append(all, queued{r.Name, q.Name, q.Depth, q.Capacity, q.Puts, q.PutWait.SumNs, q.GetWait.SumNs, q.Occupancy * seconds(r.ElapsedNs)})
		}
	}
	of := func(q *queued) []string { return []string{"ring", q.ring, "after", q.name} }
	each(m, "spdl_queue_depth", "gauge", "Items in the queue behind a stage.", all, func(q *queued) float64 { return float64(q.depth) }, of)
	each(m, "spdl_queue_capacity", "gauge", "Items that it holds.", all, func(q *queued) float64 { return float64(q.cap) }, of)
	each(m, "spdl_queue_puts_total", "counter", "Items put.", all, func(q *queued) float64 { return float64(q.puts) }, of)
	each(m, "spdl_queue_put_wait_seconds_total", "counter", "Time that putters waited for room.", all, func(q *queued) float64 { return seconds(q.put) }, of)
	each(m, "spdl_queue_get_wait_seconds_total", "counter", "Time that getters waited for an item.", all, func(q *queued) float64 { return seconds(q.get) }, of)
	each(m, "spdl_queue_ready_seconds_total", "counter", "Time in which something could be taken.", all, func(q *queued) float64 { return q.ready }, of)
}

func (m *metrics) consumers(s *Snapshot) {
	var groups []grouped
	var all []consuming
	for i := range s.Rings {
		r := &s.Rings[i]
		for k := range r.Groups {
			groups = append(groups, grouped{r.Name, &r.Groups[k]})
		}
		for k := range r.Consumers {
			all = append(all, consuming{r.Name, &r.Consumers[k]})
		}
	}
	in := func(g *grouped) []string { return []string{"ring", g.ring, "group", g.Name} }
	each(m, "spdl_group_completed_total", "counter", "Batches that the group has completed.", groups, func(g *grouped) float64 { return float64(g.Completed) }, in)
	each(m, "spdl_group_redelivered_total", "counter", "Batches given out again because their holder died.", groups, func(g *grouped) float64 { return float64(g.Redelivered) }, in)
	each(m, "spdl_group_dropped_total", "counter", "Batches dropped because the group was slow.", groups, func(g *grouped) float64 { return float64(g.Dropped) }, in)
	each(m, "spdl_group_unclaimed", "gauge", "Batches that are ready and nobody's.", groups, func(g *grouped) float64 { return float64(g.Unclaimed) }, in)
	of := func(c *consuming) []string {
		return []string{"ring", c.ring, "group", c.Group, "consumer", fmt.Sprint(c.Owner), "client", c.Client, "pid", fmt.Sprint(c.PID)}
	}
	each(m, "spdl_consumer_batches_total", "counter", "Batches that the consumer has taken.", all, func(c *consuming) float64 { return float64(c.Acquired) }, of)
	each(m, "spdl_consumer_wait_seconds_total", "counter", "Time that it waited for batches.", all, func(c *consuming) float64 { return seconds(int64(c.WaitNs)) }, of)
	each(m, "spdl_consumer_hold_seconds_total", "counter", "Time from taking batches to completing them.", all, func(c *consuming) float64 { return seconds(int64(c.HoldNs)) }, of)
	each(m, "spdl_consumer_leases", "gauge", "Batches that it holds.", all, func(c *consuming) float64 { return float64(c.Holds) }, of)
}
