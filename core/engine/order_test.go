package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// Batches have the samples that the sampler plans, in its order.
func TestOrderIsTheSamplers(t *testing.T) {
	r := start(t, describe(t, folder(t, 23, nil), "batch: 4\norder: {epochs: 2, seed: 9}\n"), nil)
	reader := r.attach(shm.AttachOptions{})
	for e := range int64(2) {
		for s, b := range epoch(t, reader) {
			if want, _ := r.rings[0].order.Rows(e, int64(s), 0, nil); !slices.Equal(b.Index, want) {
				t.Fatalf("epoch %d step %d: samples %v, want %v", e, s, b.Index, want)
			}
		}
	}
}

// The rule for the last batch: cover delivers every sample once and the last batch short, drop leaves the rest out, pad
// fills up and marks the rows that do.
func TestLastBatchFollowsItsRule(t *testing.T) {
	for _, c := range []struct {
		last  string
		rows  []int
		flags uint32 // of the last batch
	}{
		{"cover", []int{4, 4, 2}, shm.FlagLast | shm.FlagShort},
		{"drop", []int{4, 4}, shm.FlagLast},
		{"pad", []int{4, 4, 4}, shm.FlagLast | shm.FlagPadded},
	} {
		t.Run(c.last, func(t *testing.T) {
			r := start(t, describe(t, folder(t, 10, nil), fmt.Sprintf("batch: 4\norder: {epochs: 1, shuffle: false, last: %s}\n", c.last)), nil)
			batches := epoch(t, r.attach(shm.AttachOptions{}))
			var rows []int
			for _, b := range batches {
				rows = append(rows, b.Rows)
			}
			last := batches[len(batches)-1]
			if !slices.Equal(rows, c.rows) || last.Flags != c.flags {
				t.Fatalf("rows %v, flags of the last %x; want %v, %x", rows, last.Flags, c.rows, c.flags)
			}
			if c.last == "pad" && !slices.Equal(last.Status, []byte{0, 0, 3, 3}) {
				t.Fatalf("status %v, want the last two rows padded", last.Status)
			}
		})
	}
}

// A batch larger than the data set is one short batch per epoch.
func TestBatchLargerThanTheDataSetIsShort(t *testing.T) {
	r := start(t, describe(t, folder(t, 5, nil), "batch: 64\norder: {epochs: 2}\n"), nil)
	reader := r.attach(shm.AttachOptions{})
	for e := range 2 {
		if b := epoch(t, reader); len(b) != 1 || b[0].Rows != 5 {
			t.Fatalf("epoch %d: %d batches, want one of 5 rows", e, len(b))
		}
	}
}

// Each lane gets exactly its rank's slice of every step, and as many batches as every other; the last ones may be empty.
func TestLanesGetTheirSlices(t *testing.T) {
	const lanes = 3
	s := describe(t, folder(t, 20, nil), "batch: 2\nworld: {size: 4, rank: 1}\norder: {epochs: 2, seed: 3}\nring: {groups: [{name: trainers, mode: lanes, lanes: 3}]}\n")
	r := start(t, s, nil)
	var readers [lanes]*shm.Reader
	for lane := range readers {
		readers[lane] = r.attach(shm.AttachOptions{Lane: lane, MaxLeases: 1})
	}
	for e := range int64(2) {
		for step := range int64(3) {
			for lane, reader := range readers {
				b := take(t, reader)
				want, _ := r.rings[0].order.Rows(e, step, 1+lane, nil)
				if b == nil || !slices.Equal(b.Index, want) || b.Step != uint64(step) {
					t.Fatalf("epoch %d step %d lane %d: got %+v, want samples %v", e, step, lane, b, want)
				}
			}
		}
		for lane, reader := range readers {
			if b := take(t, reader); b != nil {
				t.Fatalf("lane %d: batch %+v after the end of epoch %d", lane, b, e)
			}
		}
	}
}

// A description may have as many lanes as a ring has room for, and one more is refused with its place.
func TestLanesEndWhereARingEnds(t *testing.T) {
	const text = "source: {folder: pictures}\nimage: {transform: [{resize: [8, 8]}]}\nworld: {size: 65}\nring:\n  groups:\n  - {name: g, mode: lanes, lanes: %d}\n"
	if _, err := spec.Parse(fmt.Appendf(nil, text, shm.MaxLanes), "many.yaml"); err != nil {
		t.Error(err)
	}
	_, err := spec.Parse(fmt.Appendf(nil, text, shm.MaxLanes+1), "many.yaml")
	if want := fmt.Sprintf("ring.groups[0].lanes: got %d, want a whole number from 1 to %d", shm.MaxLanes+1, shm.MaxLanes); err == nil || !strings.Contains(err.Error(), "many.yaml:6:") || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q with its line", err, want)
	}
}

// Rings of one engine have their own source and order, and end on their own.
func TestSeveralRingsShareAnEngine(t *testing.T) {
	train, val := folder(t, 12, nil), folder(t, 7, nil)
	s := describe(t, train, fmt.Sprintf("batch: 4\nrings:\n  train: {order: {epochs: 2}}\n  val: {source: {folder: %s}, order: {epochs: 1, shuffle: false}}\n", val))
	r := start(t, s, nil)
	a, b := r.attachTo("train", shm.AttachOptions{}), r.attachTo("val", shm.AttachOptions{})
	if got := indexes(epoch(t, b)); !slices.Equal(got, []int64{0, 1, 2, 3, 4, 5, 6}) {
		t.Fatalf("val has samples %v", got)
	}
	if _, err := b.Acquire(testContext(t)); !errors.Is(err, shm.EndData) {
		t.Fatalf("val after its epoch: %v", err)
	}
	for e := range 2 {
		if got := len(indexes(epoch(t, a))); got != 12 {
			t.Fatalf("train epoch %d has %d samples, want 12", e, got)
		}
	}
}

// The bytes of every batch depend on the description alone, not on how many workers make them.
func TestConcurrencyDoesNotChangeBytes(t *testing.T) {
	dir := folder(t, 40, map[int]func(string){7: truncate, 20: empty})
	run := func(limits string) []seen {
		s := describeImage(t, dir, "{transform: [{random_resized_crop: 8}, {horizontal_flip: 0.5}]}",
			"batch: 6\norder: {epochs: 2, seed: 77}\nlimits: "+limits+"\nbad_sample: {policy: substitute}\n")
		r := startAgain(t, s, nil)
		defer func() { _ = r.end() }()
		reader := r.attach(shm.AttachOptions{})
		defer reader.Close()
		return append(epoch(t, reader), epoch(t, reader)...)
	}
	leavesNothing(t)
	one, eight := run("{cpus: 1, fetch: 1}"), run("{cpus: 8, fetch: 8}")
	if fmt.Sprint(one) != fmt.Sprint(eight) {
		t.Fatal("one worker and eight make different batches")
	}
	if len(one) != 14 {
		t.Fatalf("%d batches, want 14", len(one))
	}
}

// Cancelling leaves nothing behind, whatever the engine is waiting for.
func TestCancelLeavesNothing(t *testing.T) {
	dir := folder(t, 30, nil)
	t.Run("no consumer", func(t *testing.T) {
		r := start(t, describe(t, dir, "batch: 4\n"), nil)
		eventually(t, "the first batch", func() bool { return r.Stats().Rings[0].First.TotalMS > 0 })
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("full ring", func(t *testing.T) {
		r := start(t, describe(t, dir, "batch: 4\nring: {groups: [{name: a}]}\n"), nil)
		eventually(t, "a full ring", func() bool { return r.Stats().Rings[0].Ring.Published == 8 })
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("leased", func(t *testing.T) {
		r := start(t, describe(t, dir, "batch: 4\n"), nil)
		reader := r.attach(shm.AttachOptions{})
		l, err := reader.Acquire(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		if n := len(l.Tensor(sampleTensor)); n != 4*8*8*3 {
			t.Fatalf("a leased batch has %d bytes after the engine's end", n)
		}
	})
	t.Run("before Run", func(t *testing.T) {
		leavesNothing(t)
		e, err := New(describe(t, dir, ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Close(), e.Close()); err != nil {
			t.Fatal(err)
		}
	})
}

// A consumer that waits when the engine is stopped is told so.
func TestStopTellsTheConsumers(t *testing.T) {
	r := start(t, describe(t, folder(t, 4, nil), "batch: 4\norder: {epochs: 1}\n"), nil)
	reader := r.attach(shm.AttachOptions{MaxLeases: 1, Handoff: true})
	l, err := reader.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() {
		_, err := reader.Acquire(context.Background())
		told <- err
	}()
	r.Stop()
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if err := <-told; !errors.Is(err, shm.ErrEngineStopped) {
		t.Fatalf("the waiting consumer got %v", err)
	}
	_ = l.Release()
}
