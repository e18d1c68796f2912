package telemetry

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Trace is what happened in an engine while somebody recorded. Times are CLOCK_MONOTONIC in nanoseconds, zero where a
// batch has not come that far.
type Trace struct {
	Engine  string
	PID     int
	BeginNs int64
	EndNs   int64
	// UnixNs is what to add to a time for nanoseconds since 1970, as it was at the end of the recording.
	UnixNs  int64
	Ops     []Op
	Batches []BatchLife
	Waits   []Wait
	Lost    uint64 // ops that found no room
}

// Op is one op of a worker of a stage.
type Op struct {
	Ring, Stage    string
	Worker         int
	BeginNs, EndNs int64
}

// BatchLife is a batch's way through the ring.
type BatchLife struct {
	Ring                              string
	Ticket, Epoch, Step               uint64
	Slot, Rows                        int
	FetchedNs, DecodedNs, PublishedNs int64
	Uses                              []Use
}

// Use is what a group did with a batch.
type Use struct {
	Group             string
	ClaimedNs, DoneNs int64
}

// Wait is a consumer's wait for a batch.
type Wait struct {
	Ring, Group, Client string
	Owner               uint32
	BeginNs, EndNs      int64
}

// event is one line of the Trace Event Format, which chrome://tracing, ui.perfetto.dev and PyTorch's profiler share.
// Times are microseconds.
type event struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	TS       float64        `json:"ts"`
	Dur      *float64       `json:"dur,omitempty"`
	PID      int            `json:"pid"`
	TID      int            `json:"tid"`
	ID       string         `json:"id,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// WriteTrace writes a recording in the JSON of the Trace Event Format, one event a line. Each worker of a stage and each
// consumer is a thread, and each group as many as it holds batches at a time; a batch is a row of its own, from the read of its last
// byte to the end of its use.
func WriteTrace(out io.Writer, t *Trace) error {
	w := &traceWriter{w: bufio.NewWriter(out), t: t, threads: map[string]int{}}
	fmt.Fprintf(w.w, `{"displayTimeUnit":"ms","otherData":{"clock":"CLOCK_MONOTONIC","monotonic_to_unix_ns":"%d","begin_ns":"%d","end_ns":"%d","lost_ops":"%d"},"traceEvents":[`,
		t.UnixNs, t.BeginNs, t.EndNs, t.Lost)
	w.write(event{Name: "process_name", Phase: "M", Args: map[string]any{"name": "spdl engine " + t.Engine}})
	for i := range t.Ops {
		w.op(&t.Ops[i])
	}
	for i := range t.Waits {
		w.wait(&t.Waits[i])
	}
	for i := range t.Batches {
		w.batch(&t.Batches[i])
	}
	w.uses()
	if w.err != nil {
		return w.err
	}
	w.w.WriteString("\n]}\n")
	return w.w.Flush()
}

type traceWriter struct {
	w       *bufio.Writer
	t       *Trace
	threads map[string]int // numbers of threads, by name
	n       int
	err     error
}

func (w *traceWriter) write(e event) {
	e.PID = w.t.PID
	text, err := json.Marshal(e)
	if err != nil || w.err != nil {
		w.err = err
		return
	}
	if w.n > 0 {
		w.w.WriteByte(',')
	}
	w.n++
	w.w.WriteByte('\n')
	_, w.err = w.w.Write(text)
}

// thread is the number of the thread of that name, made known with its first event. Threads are shown in that order.
func (w *traceWriter) thread(name string) int {
	if id := w.threads[name]; id > 0 {
		return id
	}
	id := len(w.threads) + 1
	w.threads[name] = id
	w.write(event{Name: "thread_name", Phase: "M", TID: id, Args: map[string]any{"name": name}})
	w.write(event{Name: "thread_sort_index", Phase: "M", TID: id, Args: map[string]any{"sort_index": id}})
	return id
}

// span writes a complete event, cut to the recording; one outside of it is left out.
func (w *traceWriter) span(name, category, thread string, beginNs, endNs int64, args map[string]any) {
	beginNs, endNs = max(beginNs, w.t.BeginNs), min(endNs, w.t.EndNs)
	if beginNs > endNs {
		return
	}
	dur := micros(endNs - beginNs)
	w.write(event{Name: name, Category: category, Phase: "X", TS: micros(beginNs), Dur: &dur, TID: w.thread(thread), Args: args})
}

func micros(ns int64) float64 { return float64(ns) / 1000 }

func (w *traceWriter) op(o *Op) {
	w.span(o.Stage, "stage", fmt.Sprintf("%s %s %d", o.Ring, o.Stage, o.Worker), o.BeginNs, o.EndNs, nil)
}

func (w *traceWriter) wait(o *Wait) {
	w.span("wait for a batch", "consumer", fmt.Sprintf("%s consumer %d, %s, group %s", o.Ring, o.Owner, o.Client, o.Group), o.BeginNs, o.EndNs, nil)
}

// step is a part of a batch's way.
type step struct {
	name           string
	beginNs, endNs int64
}

func (b *BatchLife) args() map[string]any {
	return map[string]any{"ticket": b.Ticket, "epoch": b.Epoch, "step": b.Step, "slot": b.Slot, "rows": b.Rows}
}

// A hold is what a group did with a batch, in the row of that group's where it is shown.
type hold struct {
	row            string
	batch          *BatchLife
	beginNs, endNs int64
}

// uses writes what the groups did with batches. The spans of one thread must nest, so that batches which a group holds at the same
// time are on threads of their own.
func (w *traceWriter) uses() {
	var all []hold
	for i := range w.t.Batches {
		b := &w.t.Batches[i]
		for _, u := range b.Uses {
			if u.ClaimedNs != 0 {
				all = append(all, hold{fmt.Sprintf("%s group %s", b.Ring, u.Group), b, u.ClaimedNs, max(u.DoneNs, u.ClaimedNs)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b hold) int { return cmp.Compare(a.beginNs, b.beginNs) })
	ends := map[string][]int64{} // of a group, until when each of its rows is taken
	for _, u := range all {
		free := slices.IndexFunc(ends[u.row], func(end int64) bool { return end <= u.beginNs })
		if free < 0 {
			free, ends[u.row] = len(ends[u.row]), append(ends[u.row], 0)
		}
		ends[u.row][free] = u.endNs
		row := u.row
		if free > 0 {
			row += fmt.Sprintf(", %d", free+1)
		}
		w.span(fmt.Sprintf("batch %d", u.batch.Ticket), "batch", row, u.beginNs, u.endNs, u.batch.args())
	}
}

// batch writes a batch's way as nested asynchronous spans under one id.
func (w *traceWriter) batch(b *BatchLife) {
	id, args := fmt.Sprintf("%s/%d", b.Ring, b.Ticket), b.args()
	steps := []step{{"decode the rest", b.FetchedNs, b.DecodedNs}, {"finish and publish", b.DecodedNs, b.PublishedNs}}
	last := b.PublishedNs
	for _, u := range b.Uses {
		if u.ClaimedNs == 0 {
			continue
		}
		last = max(last, u.DoneNs, u.ClaimedNs)
		steps = append(steps, step{"ready for " + u.Group, b.PublishedNs, u.ClaimedNs})
	}
	first := max(w.t.BeginNs, min(b.FetchedNs, b.PublishedNs))
	if first > last || b.PublishedNs == 0 {
		return
	}
	w.async(fmt.Sprintf("batch %d", b.Ticket), id, first, last, args)
	for _, s := range steps {
		if s.beginNs > 0 && s.endNs >= s.beginNs && s.beginNs >= w.t.BeginNs {
			w.async(s.name, id, s.beginNs, s.endNs, nil)
		}
	}
}

func (w *traceWriter) async(name, id string, beginNs, endNs int64, args map[string]any) {
	w.write(event{Name: name, Category: "batch", Phase: "b", TS: micros(beginNs), ID: id, Args: args})
	w.write(event{Name: name, Category: "batch", Phase: "e", TS: micros(endNs), ID: id})
}
