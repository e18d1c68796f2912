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
	kernel  pageCache
	batches chan []localRange

	mu     sync.Mutex // guards closed, and batches against their end under a plan
	closed bool
}

// pageCache is what an advisor asks and tells the kernel.
type pageCache interface {
	// has tells whether the beginning of a range is there, or advice on it is of no use.
	has(localRange) bool
	// willNeed is told the ranges of one archive.
	willNeed(path string, ranges []localRange)
}

// localRange is a range of a local archive.
type localRange struct {
	path      string
	off, size int64
}

func newAdvisor(kernel pageCache) *advisor {
	a := &advisor{kernel: kernel, batches: make(chan []localRange, advisedBatches)}
	go func() {
		for batch := range a.batches {
			a.advise(batch)
		}
	}()
	return a
}

func (a *advisor) close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.closed = true
		close(a.batches)
	}
}

// plan has ranges read ahead, as far as they are not more than limit bytes, unless the advisor is behind or closed.
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
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	select {
	case a.batches <- batch:
	default:
	}
}

// advise goes through a batch's ranges, archive by archive.
func (a *advisor) advise(batch []localRange) {
	first := batch[0]
	slices.SortFunc(batch, func(a, b localRange) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.off, b.off)) })
	if a.kernel.has(first) {
		return
	}
	for len(batch) > 0 {
		n := slices.IndexFunc(batch, func(r localRange) bool { return r.path != batch[0].path })
		if n < 0 {
			n = len(batch)
		}
		a.kernel.willNeed(batch[0].path, batch[:n])
		batch = batch[n:]
	}
}

// ownKernel is the page cache of this machine.
type ownKernel struct{}

// has reads a byte that must not wait. (One that is not there may be read now; it is wanted anyway.) Where the file system does not
// know such reads, it has not.
func (ownKernel) has(r localRange) bool {
	fd, err := unix.Open(r.path, openFlags, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	var b [1]byte
	n, err := unix.Preadv2(fd, [][]byte{b[:]}, r.off, unix.RWF_NOWAIT)
	return err == nil && n == 1
}

func (ownKernel) willNeed(path string, ranges []localRange) {
	fd, err := unix.Open(path, openFlags, 0)
	if err != nil {
		return // whoever reads it will say what is wrong
	}
	defer unix.Close(fd)
	for _, r := range ranges {
		_ = unix.Fadvise(fd, r.off, r.size, unix.FADV_WILLNEED)
	}
}
