package pipeline

import (
	"bytes"
	"cmp"
	"math"
	"os"
	"strconv"
	"syscall"
)

// A demand adds up the CPU time that this process's threads have had and the
// time they have waited for a CPU. Neighbours on the machine take the one and
// add to the other, so the sum tells how many cores the work would fill on a
// machine of its own. Where the kernel does not say, it is the CPU time alone.
type demand struct {
	tasks   string // a folder of threads; empty: this process's
	threads map[string]int64
	totalNs int64
}

// soFar looks at each thread: some microseconds of work.
func (d *demand) soFar() int64 {
	tasks := cmp.Or(d.tasks, "/proc/self/task")
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return processTime()
	}
	seen := make(map[string]int64, len(threads))
	for _, thread := range threads {
		id := thread.Name()
		ns, ok := wantedBy(tasks + "/" + id + "/schedstat")
		if !ok {
			continue // it has ended
		}
		seen[id] = ns
		d.totalNs += max(0, ns-d.threads[id])
	}
	if len(seen) == 0 {
		return processTime()
	}
	d.threads = seen
	return d.totalNs
}

// wantedBy reads a thread's schedstat: time on a CPU, time waiting for one.
func wantedBy(path string) (ns int64, ok bool) {
	data, err := os.ReadFile(path)
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	for _, f := range fields[:2] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, false
		}
		ns += n
	}
	return ns, true
}

// A memory is a bound of the process's resident bytes, and what a worker takes
// as far as the last growth has told.
type memory struct {
	limit     int64 // 0: none, and nothing is read
	resident  func() int64
	before    int64 // bytes before the last growth by more workers
	grown     int64 // workers that it added; 0: none yet
	perWorker float64
}

// changing notes that a stage goes from was workers to n.
func (m *memory) changing(was, n int) {
	if m.limit == 0 {
		return
	}
	m.learn()
	m.before, m.grown = m.resident(), int64(n-was)
}

// learn counts what came with the last growth as the workers'.
func (m *memory) learn() {
	if m.grown > 0 {
		m.perWorker = max(m.perWorker, float64(m.resident()-m.before)/float64(m.grown))
		m.grown = 0 // what comes later is not theirs
	}
}

// room is how many times n workers there is memory for; twice as many as long as nothing has grown yet.
func (m *memory) room(n int) float64 {
	if m.limit == 0 {
		return math.Inf(1)
	}
	m.learn()
	left := float64(m.limit - m.resident())
	switch {
	case left <= 0:
		return 1
	case m.perWorker <= 0:
		return 2
	}
	return 1 + left/(m.perWorker*float64(n))
}

func (m *memory) over() bool { return m.limit > 0 && m.resident() > m.limit }

// residentBytes is the resident memory of the process; 0 where the kernel does not say.
func residentBytes() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// processTime is the processor time of the whole process so far.
func processTime() int64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
