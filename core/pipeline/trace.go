package pipeline

import "sync"

// A Span is one op of a worker, on the clock that [Clock] reads.
type Span struct {
	Stage   string
	Worker  int
	BeginNs int64
	EndNs   int64
}

// Clock is the clock of spans: monotonic, nanoseconds since the process started.
func Clock() int64 { return now() }

// A Recording keeps the spans of a run from Record to Stop; works of an External, which are no ops of ours, have none. While there is none, an op pays for one load of a word that
// nobody writes.
type Recording struct {
	p    *Pipeline
	logs []*spanLog
}

// A spanLog is the spans of one meter. Its worker adds, Stop reads.
type spanLog struct {
	stage  string
	worker int
	limit  int

	mu    sync.Mutex // guards the rest
	spans []span
	lost  uint64
}

type span struct{ beginNs, endNs int64 }

// Record begins to keep the ops that end from now on, at most limit for each worker; what comes after is counted as
// lost. A second recording takes the place of the first, which keeps what it has.
func (p *Pipeline) Record(limit int) *Recording {
	r := &Recording{p: p}
	for _, s := range p.stages {
		for i := range s.meters {
			log := &spanLog{stage: s.name, worker: i, limit: limit}
			r.logs = append(r.logs, log)
			s.meters[i].spans.Store(log)
		}
	}
	return r
}

// Stop ends the recording. It returns the spans in the order of stages and workers, each worker's by time, and how many
// ops found no room.
func (r *Recording) Stop() (spans []Span, lost uint64) {
	n := 0
	for _, s := range r.p.stages {
		for i := range s.meters {
			s.meters[i].spans.CompareAndSwap(r.logs[n], nil)
			n++
		}
	}
	for _, log := range r.logs {
		log.mu.Lock()
		for _, s := range log.spans {
			spans = append(spans, Span{Stage: log.stage, Worker: log.worker, BeginNs: s.beginNs, EndNs: s.endNs})
		}
		lost += log.lost
		log.mu.Unlock()
	}
	return spans, lost
}

func (l *spanLog) add(s span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spans) >= l.limit {
		l.lost++
		return
	}
	l.spans = append(l.spans, s)
}
