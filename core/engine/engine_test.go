package engine

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/spdl/spdl/shm"
)

// Every sample comes exactly once per epoch, in its own row with its own name and label.
func TestEverySampleOncePerEpoch(t *testing.T) {
	const n = 50
	r := start(t, describe(t, folder(t, n, nil), "batch: 8\norder: {epochs: 3, seed: 5}\n"), nil)
	reader := r.attach(shm.AttachOptions{})
	var orders [][]int64
	for e := range 3 {
		batches := epoch(t, reader)
		if len(batches) != 7 {
			t.Fatalf("epoch %d: %d batches, want 7", e, len(batches))
		}
		for s, b := range batches {
			if b.Epoch != uint64(e) || b.Step != uint64(s) || b.Ticket != uint64(e*7+s) {
				t.Fatalf("batch %d of epoch %d says %+v", s, e, b)
			}
			checkRows(t, &b, n)
		}
		order := indexes(batches)
		orders = append(orders, order)
		sorted := slices.Sorted(slices.Values(order))
		for i := range n {
			if len(sorted) != n || sorted[i] != int64(i) {
				t.Fatalf("epoch %d has samples %v", e, sorted)
			}
		}
	}
	if slices.Equal(orders[0], orders[1]) || slices.Equal(orders[1], orders[2]) {
		t.Fatal("two epochs have the same order")
	}
	if _, err := reader.Acquire(testContext(t)); err != shm.EndData {
		t.Fatalf("after the last epoch: %v", err)
	}
}

// checkRows compares columns and pixels of a batch from folder(n) with what its index column says.
func checkRows(t *testing.T, b *seen, n int) {
	t.Helper()
	size := 8 * 8 * 3
	for row, i := range b.Index {
		label, class := int64(0), "a"
		if int(i) >= n/2 {
			label, class = 1, "b"
		}
		if want := fmt.Sprintf("%s/%05d.jpg", class, i); b.Keys[row] != want || b.Label[row] != label {
			t.Fatalf("row %d of sample %d: key %q, label %d; want %q, %d", row, i, b.Keys[row], b.Label[row], want, label)
		}
		for _, v := range b.Image[row*size : (row+1)*size] {
			if d := int(v) - int(grey(int(i))); d < -2 || d > 2 {
				t.Fatalf("row %d of sample %d: value %d, want about %d", row, i, v, grey(int(i)))
			}
		}
	}
}

// The death of a child's parent is no news to anybody; that of a consumer whose process nobody can name, in another namespace, is.
func TestDeathsAreWarnings(t *testing.T) {
	for _, c := range []struct {
		parent, pid int32
		warned      bool
	}{{0, 0, true}, {0, 7, true}, {7, 7, false}, {7, 8, true}} {
		var text bytes.Buffer
		r := &ring{name: "r", engine: &Engine{log: NewLog(&text, Warn), parent: c.parent}}
		r.logEvent(&shm.Event{Group: "g", What: "death", PID: c.pid})
		if (text.Len() > 0) != c.warned {
			t.Errorf("%+v: %q", c, text.String())
		}
	}
}
