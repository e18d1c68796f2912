package engine

import (
	"fmt"
	"sync/atomic"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// rowCache keeps decoded rows, so that from the second epoch on a row is a copy. Its places are the samples; with head space
// they are the rows of the first steps, which are then repeated for ever.
type rowCache struct {
	mem       []byte // mapped; a page of it is taken when it is written
	rowBytes  int
	states    []atomic.Uint32 // of each place
	headSpace int64           // steps; 0: none
	perStep   int64           // rows of all lanes in a step

	hits, misses atomic.Uint64
}

// The states of a place. Only who made it rowBusy writes the row.
const (
	rowAbsent = iota
	rowBusy
	rowReady
)

// RowStats count the uses of a cache of rows.
type RowStats struct {
	Hits   uint64 `json:"hits"`
	Misses uint64 `json:"misses"`
	Bytes  int64  `json:"bytes"` // of all places
}

// newRowCache reserves addresses for every row; nil where the description asks for none. samples and steps are those of an epoch.
func newRowCache(s *spec.Spec, samples, steps int64, rowBytes int) (*rowCache, error) {
	if s.Cache.RowsBytes == 0 {
		return nil, nil
	}
	c := &rowCache{rowBytes: rowBytes, headSpace: min(int64(s.Cache.HeadSpace), steps), perStep: int64(s.Batch * s.Lanes())}
	places := samples
	if c.headSpace > 0 {
		places = c.headSpace * c.perStep
	}
	need := places * int64(rowBytes)
	if need/int64(rowBytes) != places || need > s.Cache.RowsBytes {
		return nil, fmt.Errorf("engine: ring %q: cache.rows_bytes: %d rows of %d bytes take %d bytes, got %d; raise it, or leave it out and use cache.dir",
			s.FullName(), places, rowBytes, need, s.Cache.RowsBytes)
	}
	if room := thisMachine.memoryRoom(); room > 0 && uint64(need) > room {
		return nil, fmt.Errorf("engine: ring %q: cache.rows_bytes: %d bytes of rows, but %d bytes of memory are available: %w", s.FullName(), need, room, shm.ErrNoSpace)
	}
	var err error
	c.mem, err = unix.Mmap(-1, 0, int(need), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("engine: ring %q: cache.rows_bytes: %d bytes: %w", s.FullName(), need, err)
	}
	c.states = make([]atomic.Uint32, places)
	return c, nil
}

// repeat is the position whose batch comes at a position.
func (c *rowCache) repeat(epoch, step, stepsPerEpoch int64) (int64, int64) {
	if c == nil || c.headSpace == 0 {
		return epoch, step
	}
	return 0, (epoch*stepsPerEpoch + step) % c.headSpace
}

// place is where a row of a batch is kept.
func (c *rowCache) place(w *work, row int) int64 {
	if c.headSpace == 0 {
		return w.Samples[row]
	}
	return int64(w.Step)%c.headSpace*c.perStep + int64(w.lane)*(c.perStep/int64(w.lanes)) + int64(row)
}

func (c *rowCache) row(place int64) []byte {
	return c.mem[place*int64(c.rowBytes):][:c.rowBytes:c.rowBytes]
}

// has says that load will find the row.
func (c *rowCache) has(w *work, row int) bool {
	if c == nil {
		return false
	}
	if c.states[c.place(w, row)].Load() == rowReady { // load-acquire: the row was written before
		c.hits.Add(1)
		return true
	}
	c.misses.Add(1)
	return false
}

// load copies a row that has said is there.
func (c *rowCache) load(w *work, row int) {
	from := c.row(c.place(w, row))
	for f := range w.Fields {
		from = from[copy(w.Fields[f].Row(row), from):]
	}
}

// store keeps a row, unless somebody else does.
func (c *rowCache) store(w *work, row int) {
	if c == nil {
		return
	}
	place := c.place(w, row)
	if state := &c.states[place]; state.CompareAndSwap(rowAbsent, rowBusy) {
		to := c.row(place)
		for f := range w.Fields {
			to = to[copy(to, w.Fields[f].Row(row)):]
		}
		state.Store(rowReady) // store-release: after the copy
	}
}

func (c *rowCache) stats() *RowStats {
	if c == nil {
		return nil
	}
	return &RowStats{c.hits.Load(), c.misses.Load(), int64(len(c.mem))}
}

func (c *rowCache) close() error {
	if c == nil {
		return nil
	}
	return unix.Munmap(c.mem)
}
