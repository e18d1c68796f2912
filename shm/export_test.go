//go:build amd64 && !race

package shm

import (
	"bytes"
	"sync/atomic"
	"testing"
)

// Who copies an event's record between two looks at its generation has that generation's handle, or sees that it has changed.
func TestRecordOfAnEventIsOfItsGeneration(t *testing.T) {
	const generations = 4_000_000
	var record Pool
	var over atomic.Bool
	begun, wrong := make(chan struct{}), make(chan uint64, 1)
	go func() {
		defer close(wrong)
		close(begun)
		for !over.Load() {
			before := record.Generation.Load()
			first, last := record.Handle[0], record.Handle[len(record.Handle)-1]
			if before != 0 && record.Generation.Load() == before && (first != byte(before) || last != byte(before)) {
				wrong <- before
				return
			}
		}
	}()
	<-begun
	handles := make([][]byte, 256)
	for i := range handles {
		handles[i] = bytes.Repeat([]byte{byte(i)}, len(record.Handle))
	}
	for g := uint64(1); g <= generations && len(wrong) == 0; g++ {
		record.export(handles[byte(g)], [16]byte{}, g)
	}
	over.Store(true)
	if g, found := <-wrong; found {
		t.Errorf("generation %d with the handle of another", g)
	}
}
