package engine

import (
	"slices"
	"sync"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// The tensors of every slot, in schema order.
const (
	sampleTensor = iota // the first of those that say what samples are: their fields, then the source's columns
	indexTensor
	keyTensor
	statusTensor
	labelTensor
	firstSide // and the others of them
)

// work is a batch between plan and publish. Its rows belong to the jobs that name them, each to one stage at a time;
// the rest to whoever has the whole batch.
type work struct {
	batch.Batch
	slot        *shm.Slot
	lane, lanes int
	from        int64  // place in the epoch's order of the first row; the others follow it
	seq         uint64 // number of the batch within its run, without gaps
	epochSeq    uint64 // that of the first batch of its epoch

	bufs   []*source.Buffer // of each row between fetch and decode, nil where it is bad
	faults []batch.Bad      // of each row; Err nil: the sample became a row
	cached []bool           // rows that are copied from the cache of rows, between fetch and decode
	beyond []bool           // rows that the data end before
	again  bool             // the batch was made before, and is made once more
	ended  bool             // some are: the batch is the last of its epoch, or has no sample at all

	bucket int          // of its samples, where those of a batch are all of one
	shaped []shm.Shaped // the fields whose rows have its shape

	fields  []batch.Field // of the slot in hand
	lengths []int         // of each field, the one that is its rows' length or extent; 0: they have one
	columns []batch.Field // likewise
	places  []columnPlace // of each column
	used    []shm.Used    // how much is used of the padded ones of both,
	sizes   []*int64      // which a finished batch says here

	identities []uint64 // of each row's sample when it was asked for, where rows are kept in a file; 0: unknown

	counting sync.Mutex // guards Pending, FetchedNS and DecodedNS until the last row is in
}

// job is some neighbouring rows of a batch between plan and decode: [from, to), none in a batch without samples. Several
// samples travel together because every hand-over between stages costs a few context switches.
type job struct {
	w        *work
	from, to int

	fetchedNS, decodedNS int64
}

// fieldTensor is the place in the schema of a field of the samples; the columns are counted behind the fields.
func fieldTensor(f int) int {
	if f == 0 {
		return sampleTensor
	}
	return firstSide + f - 1
}

// lend points the batch's memory at its slot.
func (w *work) lend(s *shm.Slot) batch.Memory {
	w.slot = s
	for f := range w.fields {
		at := fieldTensor(f)
		w.fields[f].Data, w.fields[f].Offsets = s.Tensor(at), s.Offsets(at)
	}
	for f, of := range w.lengths {
		switch {
		case of > 0 && w.fields[f].Extents != nil:
			w.fields[f].Extents = batch.Int64s(w.fields[of].Data)
		case of > 0:
			w.fields[f].Lengths = batch.Int64s(w.fields[of].Data)
		}
	}
	for c := range w.columns {
		m, at := &w.columns[c], &w.places[c]
		m.Data, m.Offsets = s.Tensor(at.values), s.Offsets(at.values)
		if at.lengths > 0 {
			m.Lengths = batch.Int64s(s.Tensor(at.lengths))
		}
	}
	return batch.Memory{
		Columns: w.columns, Fields: w.fields,
		Index: batch.Int64s(s.Tensor(indexTensor)), Label: batch.Int64s(s.Tensor(labelTensor)),
		Status: s.Tensor(statusTensor), Keys: s.Tensor(keyTensor), KeyOffsets: s.Offsets(keyTensor),
	}
}

// turnTo gives the rows the shape that they have in a bucket.
func (w *work) turnTo(fields []field, bucket int) {
	w.bucket = bucket
	next := 0
	for i := range fields {
		f := &fields[i]
		if w.fields[i].RowBytes = f.rowBytesIn(bucket); len(f.shapes) > 1 {
			w.shaped[next].Row = f.shapes[bucket]
			next++
		}
	}
}

// newWork makes a batch of at most rows samples with some fields and columns.
func newWork(rows int, fields []field, columns []source.Column) *work {
	w := &work{
		bufs: make([]*source.Buffer, rows), faults: make([]batch.Bad, rows), cached: make([]bool, rows), beyond: make([]bool, rows),
		fields: make([]batch.Field, len(fields)), lengths: make([]int, len(fields)), columns: make([]batch.Field, len(columns)),
	}
	for i := range fields {
		f := &fields[i]
		w.fields[i].RowBytes = f.rowBytes()
		if len(f.shapes) > 1 {
			w.shaped = append(w.shaped, shm.Shaped{Tensor: fieldTensor(i)})
		}
		if f.cut != uncut {
			w.lengths[i] = f.measuredBy
		}
		if f.sized {
			w.fields[i].Extents, w.fields[i].MultipleOf = []int64{}, int64(f.multipleOf)
		}
		switch f.cut {
		case ragged:
			w.fields[i].StepBytes, w.fields[i].ItemBytes = f.stepBytes(), f.dtype.Bytes()
			if f.sized {
				w.fields[i].Lengths = make([]int64, rows)
			}
		case padded:
			w.measure(&w.fields[i].Longest, fieldTensor(i), 1+f.along)
			if f.sized {
				w.measure(&w.fields[i].Widest, fieldTensor(i), 2+f.along)
			}
		}
	}
	w.places = placesOf(len(fields), columns)
	for c := range columns {
		w.columns[c] = columnField(&columns[c], rows)
		if columns[c].Padded {
			w.measure(&w.columns[c].Longest, w.places[c].values, 1)
		}
	}
	w.Samples = make([]int64, 0, rows)
	return w
}

// measure says where a finished batch says how much is used of a dimension of a tensor.
func (w *work) measure(size *int64, tensor, dim int) {
	w.used, w.sizes = append(w.used, shm.Used{Tensor: tensor, Dim: dim}), append(w.sizes, size)
}

// columnPlace is where a column's tensors are in the schema. lengths is that of a padded one, whose length tensor comes behind it; else 0.
type columnPlace struct{ values, lengths int }

// placesOf are the columns' places behind so many fields of samples.
func placesOf(fields int, columns []source.Column) (all []columnPlace) {
	next := fields
	for c := range columns {
		at := columnPlace{values: fieldTensor(next)}
		if next++; columns[c].Padded {
			at.lengths = fieldTensor(next)
			next++
		}
		all = append(all, at)
	}
	return all
}

// columnField is a column of a batch of at most rows samples, without its memory in a slot.
func columnField(c *source.Column, rows int) batch.Field {
	f := batch.Field{RowBytes: c.Most()}
	if c.Width() > 0 {
		return f
	}
	f.Lengths, f.StepBytes, f.ItemBytes = make([]int64, rows), 1, 1
	if c.Shaped() {
		step, _ := c.Shape.Bytes(c.DType)
		f.StepBytes, f.ItemBytes = int(step), c.DType.Bytes()
	}
	return f
}

// decoded counts the rows of a finished job, and says whether they were the last of the batch.
func (w *work) decoded(j *job) (last bool) {
	w.counting.Lock()
	defer w.counting.Unlock()
	w.FetchedNS, w.DecodedNS = max(w.FetchedNS, j.fetchedNS), max(w.DecodedNS, j.decodedNS)
	w.Pending -= j.to - j.from
	return w.Pending <= 0
}

// gather moves the faults of the rows into Bad, in row order.
func (w *work) gather() {
	if end := slices.Index(w.beyond[:len(w.Samples)], true); end >= 0 {
		clear(w.faults[end:])
		clear(w.beyond)
		w.Samples, w.ended = w.Samples[:end], true
	}
	for row := range w.Samples {
		if f := &w.faults[row]; f.Err != nil {
			w.Bad = append(w.Bad, *f)
			*f = batch.Bad{}
		}
	}
}

// monotonicNS is CLOCK_MONOTONIC, as clients see it.
func monotonicNS() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}
