package source

import (
	"cmp"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// advisedBatches is how many batches may wait for advice. What is read soon anyway needs none.
const advisedBatches = 2

// advisor tells the kernel which ranges of local archives are read next (posix_fadvise, WILLNEED), so that a disk has all of a batch
// to do at once and not only what the readers wait for. It also spares what the kernel reads around a range by itself. Advice is a
// hint: it is left out where the page cache has the first range of a batch already, and where the advisor is behind.
//
// It works apart from who plans, because opening an archive may wait for a disk; it may even hang, and nobody waits for it.
type advisor struct {
	batches chan []localRange
	closed  sync.Once
}

// localRange is a range of a local archive.
type localRange struct {
	path      string
	off, size int64
}

func newAdvisor() *advisor {
	a := &advisor{batches: make(chan []localRange, advisedBatches)}
	go func() {
		for batch := range a.batches {
			advise(batch)
		}
	}()
	return a
}

func (a *advisor) close() {
	if a != nil {
		a.closed.Do(func() { close(a.batches) })
	}
}

// plan has ranges read ahead, as far as they are not more than limit bytes, unless the advisor is behind.
func (a *advisor) plan(ranges []extent, limit int64) {
	batch := make([]localRange, 0, len(ranges))
	for _, e := range ranges {
		if limit -= e.size; limit < 0 {
			break
		}
		batch = append(batch, localRange{e.shard.path, e.off, e.size})
	}
	if len(batch) == 0 {
		return
	}
	select {
	case a.batches <- batch:
	default:
	}
}

// advise goes through a batch's ranges, archive by archive.
func advise(batch []localRange) {
	first := batch[0]
	slices.SortFunc(batch, func(a, b localRange) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.off, b.off)) })
	if first.inCache() {
		return
	}
	for len(batch) > 0 {
		n := slices.IndexFunc(batch, func(r localRange) bool { return r.path != batch[0].path })
		if n < 0 {
			n = len(batch)
		}
		if fd, err := batch[0].open(); err == nil {
			for _, r := range batch[:n] {
				_ = unix.Fadvise(fd, r.off, r.size, unix.FADV_WILLNEED) // whoever reads it will say what is wrong
			}
			_ = unix.Close(fd)
		}
		batch = batch[n:]
	}
}

func (r *localRange) open() (int, error) { return unix.Open(r.path, openFlags, 0) }

// inCache tells whether the page cache has the beginning of a range: a read that must not wait gets it. (One that does not may have it
// read now; it is wanted anyway.) Where the file system does not know such reads, it has not.
func (r localRange) inCache() bool {
	fd, err := r.open()
	if err != nil {
		return true // no advice helps
	}
	defer unix.Close(fd)
	var b [1]byte
	n, err := unix.Preadv2(fd, [][]byte{b[:]}, r.off, unix.RWF_NOWAIT)
	return err == nil && n == 1
}
