package engine

import "sync"

// earliest holds the jobs that are fetched and not decoded. Fetchers come back in any order; what they bring is decoded in
// the order of its batch, because batches are published in order: rows of later ones would only keep the earliest waiting.
// The pipeline carries a turn for each job in here.
type earliest struct {
	mu     sync.Mutex
	jobs   []job
	rows   int           // of the first batch that decoders have taken
	onward chan struct{} // closed when the first batch's last job is taken
}

// turn is the right to take one job.
type turn struct{}

func newEarliest() *earliest { return &earliest{onward: make(chan struct{})} }

func (e *earliest) put(j job) turn {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.jobs = append(e.jobs, j)
	return turn{}
}

// take removes the job of the earliest batch, and of its jobs the first. There is one for each turn; none are left where a
// run ends by a panic in a decoder.
func (e *earliest) take() (j job, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.jobs) == 0 {
		return job{}, false
	}
	best := 0
	for i := range e.jobs {
		if e.jobs[i].before(&e.jobs[best]) {
			best = i
		}
	}
	j = e.jobs[best]
	last := len(e.jobs) - 1
	e.jobs[best], e.jobs[last] = e.jobs[last], job{}
	e.jobs = e.jobs[:last]
	return j, true
}

// begun notes that a decoder has taken j for good.
func (e *earliest) begun(j *job) {
	if j.w.seq > 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rows += j.to - j.from; e.rows == len(j.w.Samples) {
		close(e.onward)
	}
}

func (j *job) before(k *job) bool {
	if j.w.seq != k.w.seq {
		return j.w.seq < k.w.seq
	}
	return j.from < k.from
}
