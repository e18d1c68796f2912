package engine

import (
	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// The tensors of every slot, in schema order.
const (
	imageTensor = iota
	indexTensor
	keyTensor
	statusTensor
	labelTensor
)

// work is a batch between plan and publish.
type work struct {
	batch.Batch
	slot *shm.Slot
	lane int
	seq  uint64 // number of the batch within its run, without gaps
}

// job is one sample of a batch between plan and collect. Row -1 stands for a batch without samples.
type job struct {
	w   *work
	row int
	buf *source.Buffer // between fetch and decode, unless bad
	bad batch.Bad      // Err set: the sample did not become a row

	fetchedNS, decodedNS int64
}

// lend points the batch's memory at its slot.
func (w *work) lend(s *shm.Slot, rowBytes int) batch.Memory {
	w.slot = s
	return batch.Memory{
		Rows: s.Tensor(imageTensor), RowBytes: rowBytes,
		Index: batch.Int64s(s.Tensor(indexTensor)), Label: batch.Int64s(s.Tensor(labelTensor)),
		Status: s.Tensor(statusTensor), Keys: s.Tensor(keyTensor), KeyOffsets: s.Offsets(keyTensor),
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
