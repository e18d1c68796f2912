package verbs

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spdl/spdl/core/telemetry"
)

// writeTop writes a report of an interval for people.
func writeTop(w io.Writer, name string, got *telemetry.Interval, now *telemetry.Snapshot) {
	p := &got.Process
	up := time.Duration(now.UptimeS * float64(time.Second)).Round(time.Second)
	fmt.Fprintf(w, "%s: pid %d, up %v, %.2f of %s, %s (PSS %s; %s private, %s rings), reads %s\n",
		name, now.PID, up, p.CPUsUsed, budgetText(p), memoryText(p), bytesText(p.Memory.PSS), bytesText(p.Memory.Anon), bytesText(p.Memory.Shared),
		readText(p))
	if p.Throttled > 0.01 {
		fmt.Fprintf(w, "  throttled by the cgroup's quota: %.2f s of thread time a second\n", p.Throttled)
	}
	if p.NetReceivedS+p.NetSentPerS >= 1024 {
		fmt.Fprintf(w, "  network: %s/s in, %s/s out\n", bytesText(uint64(p.NetReceivedS)), bytesText(uint64(p.NetSentPerS)))
	}
	for i := range got.Rings {
		fmt.Fprintln(w)
		writeRing(w, &got.Rings[i])
	}
}

// budgetText is what the process may use, and of how many where that is less than there are.
func budgetText(p *telemetry.ProcessLoad) string {
	if p.CPUs < p.CPUsThere {
		return fmt.Sprintf("%s (a budget, of %.4g)", cpusText(p.CPUs), p.CPUsThere)
	}
	return cpusText(p.CPUs)
}

// readText is what comes from files, and from stores where there are any.
func readText(p *telemetry.ProcessLoad) string {
	var parts []string
	if p.ReadPerS > 0 || p.StorePerS == 0 {
		parts = append(parts, fmt.Sprintf("%s/s of files, %s from the page cache", bytesText(uint64(p.ReadPerS)), share(p.PageCacheShare)))
	}
	if p.StorePerS > 0 {
		parts = append(parts, bytesText(uint64(p.StorePerS))+"/s from stores")
	}
	return strings.Join(parts, "; ")
}

func memoryText(p *telemetry.ProcessLoad) string {
	if p.MemoryLimit > 0 {
		return fmt.Sprintf("%s of %s", bytesText(p.Memory.RSS), bytesText(p.MemoryLimit))
	}
	return bytesText(p.Memory.RSS)
}

func writeRing(w io.Writer, r *telemetry.RingLoad) {
	fmt.Fprintf(w, "%s: %s, %s samples/s, %.1f batches/s, %d slots\n", r.Name, r.State, rate(r.RowsPerS), r.BatchesS, r.Slots)
	fmt.Fprintf(w, "  %s\n", r.Verdict.Text)
	for _, change := range r.Verdict.WhatIf {
		fmt.Fprintf(w, "    %v\n", change)
	}
	writeStages(w, r)
	writeConsumers(w, r)
	if r.Bad > 0 {
		fmt.Fprintf(w, "\n  %s in this interval, the last: %s\n", counted(r.Bad, "bad sample"), last(r.LastBad))
	}
}

// writeStages shows each stage with the queue behind it.
func writeStages(w io.Writer, r *telemetry.RingLoad) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\n  stage\tworkers\tbusy\t\tops/s\tmean\tp50\tp90\tp99\tout\tfailed\tretried\tqueue\tready\t\n")
	for _, s := range r.Stages {
		queue, ready := "", ""
		for _, q := range r.Queues {
			if q.Name == s.Name {
				queue, ready = fmt.Sprintf("%d of %d", q.Depth, q.Capacity), share(q.Occupancy)
			}
		}
		workers := fmt.Sprint(s.Concurrency)
		if s.Auto {
			workers = "auto " + workers
		}
		out := ""
		if s.BytesPerS > 0 {
			out = bytesText(uint64(s.BytesPerS)) + "/s"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%.1f\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t\n", s.Name, workers, bar(s.Busy, 10), share(s.Busy), s.ItemsPerS,
			timeText(s.MeanNs), timeText(s.P50Ns), timeText(s.P90Ns), timeText(s.P99Ns), out, s.Failures, s.Retries, queue, ready)
	}
	_ = t.Flush()
	if r.SamplesPerOp > 1 {
		fmt.Fprintf(w, "  an op of fetch and decode takes up to %d samples; plan waits for free slots inside its op\n", r.SamplesPerOp)
	}
}

func writeConsumers(w io.Writer, r *telemetry.RingLoad) {
	if len(r.Consumers) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\n  consumer\tpid\tgroup\tlane\tbatches/s\twaits\t\tper batch\tkeeps it\tholds\t\n")
	for _, c := range r.Consumers {
		fmt.Fprintf(t, "  %s\t%d\t%s\t%d\t%.1f\t%s\t%s\t%s\t%s\t%d of %d\t\n", printable(c.Client), c.PID, c.Group, c.Lane, c.BatchesS,
			bar(c.Wait, 10), share(c.Wait), timeText(c.WaitNs), timeText(c.HoldNs), c.Holds, c.MaxLeases)
	}
	_ = t.Flush()
}

func last(all []string) string {
	if len(all) == 0 {
		return "not told"
	}
	return all[len(all)-1]
}

func share(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) }

// bar is a share as a bar of so many cells.
func bar(f float64, cells int) string {
	n := int(f*float64(cells) + 0.5)
	return strings.Repeat("█", n) + strings.Repeat("░", cells-n)
}

// timeText is a duration in at most six letters.
func timeText(ns int64) string {
	switch f := float64(ns); {
	case ns == 0:
		return "-"
	case f >= 1e9:
		return fmt.Sprintf("%.2f s", f/1e9)
	case f >= 1e6:
		return fmt.Sprintf("%.1f ms", f/1e6)
	case f >= 1e3:
		return fmt.Sprintf("%.0f µs", f/1e3)
	}
	return fmt.Sprintf("%d ns", ns)
}
