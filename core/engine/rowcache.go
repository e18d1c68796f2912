package engine

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"golang.org/x/sys/unix"
)

// rowCache keeps decoded rows and the values of their columns, so that from the second epoch on a row is a copy. Its places are
// the samples; with head space they are the rows of the first steps, which are then repeated for ever. They are in memory, or, to
// outlive the engine, in a file.
type rowCache struct {
	mem       []byte   // mapped; a page of it is taken when it is written. nil: in file
	file      *rowFile // nil: in mem
	rowBytes  int
	values    valueRoom       // before the row
	places    int64           //
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
	rowUnknown // a file may have it from an engine before
)

// RowStats count the uses of a cache of rows.
type RowStats struct {
	Hits   uint64 `json:"hits"`
	Misses uint64 `json:"misses"`
	Bytes  int64  `json:"bytes"` // of all places

	// Of rows in a file: those found of an engine before, those not used, since the sample or the record of it was another, and
	// those that could not be written.
	Warm    uint64 `json:"warm,omitempty"`
	Stale   uint64 `json:"stale,omitempty"`
	Corrupt uint64 `json:"corrupt,omitempty"`
	Failed  uint64 `json:"failed,omitempty"`
}

// valueRoom is where the values of a row's columns are kept: the end of each, 4 bytes, and the values, one after the other.
type valueRoom struct{ columns, bytes int }

func roomFor(columns []source.Column) (v valueRoom) {
	v.columns = len(columns)
	for i := range columns {
		v.bytes += 4 + columns[i].Most()
	}
	v.bytes = (v.bytes + 7) / 8 * 8
	return v
}

// put writes the values of a row of a batch, and returns how much they take of the room.
func (v valueRoom) put(to []byte, w *work, row int) int {
	at := 4 * v.columns
	for c := range v.columns {
		at += copy(to[at:], w.Kept(row, c))
		binary.LittleEndian.PutUint32(to[4*c:], uint32(at))
	}
	return at
}

// used is what put has returned, by the last value's end; where that is damaged, what the ends alone take.
func (v valueRoom) used(from []byte) int {
	if v.columns == 0 {
		return 0
	}
	ends := 4 * v.columns
	if end := int(binary.LittleEndian.Uint32(from[ends-4:])); end >= ends && end <= v.bytes {
		return end
	}
	return ends
}

// keep hands the values to a row of a batch; false: they are damaged.
func (v valueRoom) keep(w *work, row int, from []byte) bool {
	at := 4 * v.columns
	for c := range v.columns {
		if end := int(binary.LittleEndian.Uint32(from[4*c:])); end < at || end > len(from) {
			return false
		} else {
			at = end
		}
	}
	at = 4 * v.columns
	for c := range v.columns {
		end := int(binary.LittleEndian.Uint32(from[4*c:]))
		w.Keep(row, c, from[at:end])
		at = end
	}
	return true
}

// newRowCache reserves room for every row; nil where the description asks for none. steps are those of an epoch.
func newRowCache(s *spec.Spec, src source.Source, columns []source.Column, steps int64, rowBytes int, unkept func(error)) (*rowCache, error) {
	if s.Cache.RowsBytes == 0 {
		return nil, nil
	}
	c := &rowCache{
		rowBytes: rowBytes, values: roomFor(columns), headSpace: min(int64(s.Cache.HeadSpace), steps), perStep: int64(s.Batch * s.Lanes()), places: src.Len(),
	}
	if c.headSpace > 0 {
		c.places = c.headSpace * c.perStep
	}
	each := int64(c.values.bytes + rowBytes)
	if s.Cache.RowsDir != "" {
		each += recordBytes
	}
	need := c.places * each
	if need/each != c.places || need > s.Cache.RowsBytes {
		return nil, describedWrongly{fmt.Errorf("engine: ring %q: cache.rows_bytes: %d rows of %d bytes take %d bytes, got %d; raise it, or leave it out "+
			"and use cache.dir", s.FullName(), c.places, each, need, s.Cache.RowsBytes)}
	}
	if s.Cache.RowsDir != "" {
		return c, c.open(s, src, unkept)
	}
	if room := thisMachine.memoryRoom(); room > 0 && uint64(need) > room {
		return nil, noRoom("engine: ring %q: cache.rows_bytes: %d bytes of rows, but %d bytes of memory are available; use cache.rows_dir, or cache.dir", s.FullName(), need, room)
	}
	var err error
	c.mem, err = unix.Mmap(-1, 0, int(need), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("engine: ring %q: cache.rows_bytes: %d bytes: %w", s.FullName(), need, err)
	}
	c.states = make([]atomic.Uint32, c.places)
	return c, nil
}

// open finds the rows that an engine before has left, which are looked at one by one, when each is wanted.
func (c *rowCache) open(s *spec.Spec, src source.Source, unkept func(error)) (err error) {
	if c.file, err = openRowFile(s, src, c, unkept); err != nil {
		return fmt.Errorf("engine: ring %q: cache.rows_dir: %w", s.FullName(), err)
	}
	c.states = make([]atomic.Uint32, c.places)
	for i := range c.states {
		c.states[i].Store(rowUnknown)
	}
	return nil
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

// kept is the memory of a place: its values and its row.
func (c *rowCache) kept(place int64) (values, row []byte) {
	each := c.values.bytes + c.rowBytes
	all := c.mem[place*int64(each):][:each:each]
	return all[:c.values.bytes:c.values.bytes], all[c.values.bytes:]
}

// has says that the row is there, and hands its values over. One in a file is read now, where readers are many; one in memory is for load
// to copy.
func (c *rowCache) has(w *work, row int) (found bool) {
	if c == nil {
		return false
	}
	place := c.place(w, row)
	if c.file != nil {
		found = c.file.read(w, row, place)
	} else if c.states[place].Load() == rowReady { // load-acquire: the row was written before
		values, _ := c.kept(place)
		found = c.values.keep(w, row, values)
	}
	if found {
		c.hits.Add(1)
	} else {
		c.misses.Add(1)
	}
	return found
}

// load copies a row that has said is there.
func (c *rowCache) load(w *work, row int) {
	if c.file != nil {
		return
	}
	_, from := c.kept(c.place(w, row))
	for f := range w.Fields {
		from = from[copy(w.Fields[f].Row(row), from):]
	}
}

// store keeps a row and its values, unless somebody else does.
func (c *rowCache) store(w *work, row int) {
	if c == nil {
		return
	}
	place := c.place(w, row)
	state := &c.states[place]
	if !state.CompareAndSwap(rowAbsent, rowBusy) {
		return // one whose sample had no identity stays unknown
	}
	if c.file != nil && !c.file.write(w, row, place) {
		state.Store(rowAbsent)
		return
	}
	if c.file == nil {
		values, to := c.kept(place)
		c.values.put(values, w, row)
		for f := range w.Fields {
			to = to[copy(to, w.Fields[f].Row(row)):]
		}
	}
	state.Store(rowReady) // store-release: after the copy
}

func (c *rowCache) stats() *RowStats {
	if c == nil {
		return nil
	}
	s := &RowStats{Hits: c.hits.Load(), Misses: c.misses.Load(), Bytes: int64(len(c.mem))}
	if f := c.file; f != nil {
		s.Bytes = c.places * f.each
		s.Warm, s.Stale, s.Corrupt, s.Failed = f.warm.Load(), f.stale.Load(), f.corrupt.Load(), f.failed.Load()
	}
	return s
}

func (c *rowCache) close() error {
	if c == nil {
		return nil
	}
	if c.file != nil {
		return c.file.close()
	}
	if c.mem == nil {
		return nil
	}
	return unix.Munmap(c.mem)
}
