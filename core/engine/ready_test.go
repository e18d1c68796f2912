package engine

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// stuckSource does not answer for some samples until they are let go.
type stuckSource struct {
	source.Source
	stuck map[int64]chan struct{}
}

func (s stuckSource) Read(ctx context.Context, i int64, b *source.Buffer) error {
	if wait := s.stuck[i]; wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Source.Read(ctx, i, b)
}

// startStuck is an engine whose given samples are not there before let is called for them.
func startStuck(t *testing.T, dir, more string, state []byte, samples ...int64) (r *running, let func(sample int64)) {
	t.Helper()
	return startStuckOf(t, describe(t, dir, more), state, samples...)
}

func startStuckOf(t *testing.T, s *spec.Spec, state []byte, samples ...int64) (r *running, let func(sample int64)) {
	t.Helper()
	e, err := New(s, &Options{State: state})
	if err != nil {
		t.Fatal(err)
	}
	stuck := map[int64]chan struct{}{}
	for _, i := range samples {
		stuck[i] = make(chan struct{})
	}
	e.rings[0].source = stuckSource{e.rings[0].source, stuck}
	return serve(t, e), func(sample int64) { close(stuck[sample]) }
}

// tickets are those of batches, in the order they came.
func tickets(batches []seen) (all []uint64) {
	for _, b := range batches {
		all = append(all, b.Ticket)
	}
	return all
}

// byTicket sorts batches, and fails if a ticket came twice.
func byTicket(t *testing.T, batches []seen) []seen {
	t.Helper()
	sorted := slices.Clone(batches)
	slices.SortFunc(sorted, func(a, b seen) int { return int(a.Ticket) - int(b.Ticket) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].Ticket == sorted[i-1].Ticket {
			t.Fatalf("ticket %d came twice: %v", sorted[i].Ticket, tickets(batches))
		}
	}
	return sorted
}

// takeN takes batches that have to be there.
func takeN(t *testing.T, reader *shm.Reader, n int) (all []seen) {
	t.Helper()
	for range n {
		b := take(t, reader)
		if b == nil {
			t.Fatalf("the epoch ended after tickets %v", tickets(all))
		}
		all = append(all, *b)
	}
	return all
}

// wantNothing fails if a batch or the end of an epoch comes although the ring has done all that it may.
func wantNothing(t *testing.T, r *running, reader *shm.Reader, published uint64) {
	t.Helper()
	eventually(t, "every batch that may come", func() bool { return r.Stats().Rings[0].Ring.Published >= published })
	ctx, cancel := context.WithTimeout(testContext(t), 50*time.Millisecond)
	defer cancel()
	if l, err := reader.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, %v, want nothing yet", l, err)
	}
}

const readySpec = "batch: 4\norder: {epochs: 2, shuffle: false}\nring: {delivery: ready, ahead: 3}\nlimits: {cpus: 2}\n" // of 24 samples: 6 steps an epoch

// A sample that does not come holds back its own batch, not the next ones; but no more than ring.ahead of them, and not the
// end of the epoch. Each batch is what it would have been.
func TestReadyDoesNotWaitForASlowSample(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 24, nil)
	all := everything(t, dir, "batch: 4\norder: {epochs: 2, shuffle: false}\n", 2)
	r, let := startStuck(t, dir, readySpec, nil, 0, 17)
	reader := r.attach(shm.AttachOptions{MaxLeases: 1})
	got := takeN(t, reader, 3)
	if first := tickets(byTicket(t, got)); !slices.Equal(first, []uint64{1, 2, 3}) {
		t.Fatalf("ahead of batch 0 came %v, want 1, 2 and 3", first)
	}
	wantNothing(t, r, reader, 3)
	let(0)
	got = append(got, takeN(t, reader, 2)...) // 0, and 5, the last of its epoch, ahead of 4
	wantNothing(t, r, reader, 5)
	let(17)
	got = append(got, takeN(t, reader, 1)...)
	if b := take(t, reader); b != nil {
		t.Fatalf("got ticket %d, want the end of the epoch", b.Ticket)
	}
	got = append(got, epoch(t, reader)...)
	wantSame(t, byTicket(t, got), all)
}

// In order, which is the default, a sample that does not come holds back everything behind it.
func TestOrderedWaitsForASlowSample(t *testing.T) {
	leavesNothing(t)
	r, let := startStuck(t, folder(t, 24, nil), "batch: 4\norder: {epochs: 1, shuffle: false}\n", nil, 5)
	reader := r.attach(shm.AttachOptions{MaxLeases: 1})
	if got := tickets(takeN(t, reader, 1)); got[0] != 0 {
		t.Fatalf("got ticket %d first", got[0])
	}
	wantNothing(t, r, reader, 1)
	let(5)
	if got := tickets(epoch(t, reader)); !slices.Equal(got, []uint64{1, 2, 3, 4, 5}) {
		t.Fatalf("got %v, want 1 to 5", got)
	}
}

// A state taken while a ticket is still to come names it as not completed: an engine that starts from it delivers exactly the
// rest, whatever had come before.
func TestReadyResumesExactlyInsideAGap(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 24, nil)
	all := everything(t, dir, "batch: 4\norder: {epochs: 2, shuffle: false}\n", 2)
	for taken := range 4 {
		r, _ := startStuck(t, dir, readySpec, nil, 0)
		reader := r.attach(shm.AttachOptions{MaxLeases: 1})
		got := takeN(t, reader, taken)
		eventually(t, "3 batches ahead", func() bool { return r.Stats().Rings[0].Ring.Published == 3 })
		state, err := reader.SaveState(testContext(t), false)
		if err != nil {
			t.Fatal(err)
		}
		_ = reader.Close()
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		next, _ := startStuck(t, dir, readySpec, state)
		reader = next.attach(shm.AttachOptions{MaxLeases: 1})
		wantSame(t, byTicket(t, append(got, rest(t, reader)...)), all)
		_ = reader.Close()
		if err := next.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// An engine that is killed inside a gap leaves a ring that the next goes on with: exactly the rest comes, and the samples of what
// was still to come are judged by it.
func TestAdoptedReadyRingDeliversExactlyTheRest(t *testing.T) {
	leavesNothing(t)
	broken := func(path string) {
		if err := os.WriteFile(path, []byte("no picture"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := folder(t, 24, map[int]func(string){2: broken, 9: broken}) // of batch 0, which is late, and of batch 2
	all := everything(t, dir, "batch: 4\norder: {epochs: 2, shuffle: false}\n", 2)
	for taken := range 4 {
		s := describe(t, dir, readySpec)
		r, _ := startStuckOf(t, s, nil, 0)
		reader := r.attach(shm.AttachOptions{MaxLeases: 1})
		got := takeN(t, reader, taken)
		eventually(t, "3 batches ahead", func() bool { return r.Stats().Rings[0].Ring.Published == 3 })
		r.die()
		next := startAgain(t, s, nil)
		if !next.Ring(0).Info().Adopted {
			t.Fatal("not adopted")
		}
		wantSame(t, byTicket(t, append(got, rest(t, reader)...)), all)
		if bad := next.Stats().Rings[0].Bad.Total; bad != 3 {
			t.Fatalf("%d bad samples judged, want 3: one of the late batch, two of the second epoch", bad)
		}
		_ = reader.Close()
		if err := next.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// A load that is refused, and one of the position that the ring is at, stop the pipeline inside a gap and begin it again: nothing
// is lost, and nothing comes twice.
func TestReadyGoesOnInsideAGapAfterALoad(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 24, nil)
	all := everything(t, dir, "batch: 4\norder: {epochs: 2, shuffle: false}\n", 2)
	for _, again := range []bool{false, true} {
		r, let := startStuck(t, dir, readySpec, nil, 0)
		reader := r.attach(shm.AttachOptions{MaxLeases: 2})
		got := takeN(t, reader, 1)
		held, err := reader.Acquire(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, look(held))
		state, err := reader.SaveState(testContext(t), true)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, reader.LoadState(testContext(t), state), shm.ErrBusy, "is held and not done")
		if err := held.Release(); err != nil {
			t.Fatal(err)
		}
		if again {
			if err := reader.LoadState(testContext(t), state); err != nil {
				t.Fatal(err)
			}
		}
		let(0)
		wantSame(t, byTicket(t, append(got, rest(t, reader)...)), all)
		_ = reader.Close()
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// A restart inside a gap begins the next epoch whole, without what was still to come of the old one.
func TestReadyRestartsInsideAGap(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 24, nil)
	all := everything(t, dir, "batch: 4\norder: {epochs: 2, shuffle: false}\n", 2)
	r, let := startStuck(t, dir, readySpec, nil, 0)
	reader := r.attach(shm.AttachOptions{MaxLeases: 1})
	takeN(t, reader, 2)
	if err := reader.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}
	let(0)
	wantSame(t, byTicket(t, rest(t, reader)), all[6:])
}

// Ranks do not wait for each other's samples, and each gets its own epoch whole.
func TestReadyLanesDoNotWaitForEachOther(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 24, nil)
	const lanes = "batch: 2\norder: {epochs: 1, shuffle: false}\nworld: {size: 2}\nlimits: {cpus: 2}\nring: {delivery: ready, ahead: 4, groups: [{name: ranks, mode: lanes, lanes: 2}]}\n"
	r, let := startStuck(t, dir, lanes, nil, 0)
	zero := r.attach(shm.AttachOptions{Group: "ranks", Lane: 0, MaxLeases: 1})
	one := r.attach(shm.AttachOptions{Group: "ranks", Lane: 1, MaxLeases: 1})
	got := takeN(t, zero, 2) // 2 and 4: 0 is stuck
	got = append(got, takeN(t, one, 2)...)
	if first := tickets(byTicket(t, got)); !slices.Equal(first, []uint64{1, 2, 3, 4}) {
		t.Fatalf("ahead of batch 0 came %v, want 1 to 4", first)
	}
	state, err := one.SaveState(testContext(t), false)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := r.rings[0].parseState(state); err != nil || s.Step != 2 || len(s.Done) != 0 {
		t.Fatalf("lane 1 has completed steps 0 and 1; its state is %s, %v", state, err)
	}
	if state, err = zero.SaveState(testContext(t), false); err != nil {
		t.Fatal(err)
	}
	if s, err := r.rings[0].parseState(state); err != nil || s.Step != 0 || !slices.Equal(s.Done, []int64{1, 2}) {
		t.Fatalf("lane 0 has completed steps 1 and 2, not 0; its state is %s, %v", state, err)
	}
	let(0)
	got = append(append(got, rest(t, zero)...), rest(t, one)...)
	for i, b := range byTicket(t, got) {
		if b.Ticket != uint64(i) || len(b.Index) != 2 || b.Index[0] != int64(2*i) {
			t.Fatalf("ticket %d has samples %v", b.Ticket, b.Index)
		}
	}
	if len(got) != 12 {
		t.Fatalf("got %d batches, want 12", len(got))
	}
}

// A bad sample counts once, whenever its batch comes, and however often the pipeline is begun again.
func TestReadyJudgesEverySampleOnce(t *testing.T) {
	r := &ring{readyAhead: 3, judged: map[uint64]bool{}}
	judge := func(ticket uint64, want bool, open ...uint64) {
		t.Helper()
		if r.judgeOnce(ticket, open) != want {
			t.Fatalf("ticket %d: want judged %v; below %d, and %v", ticket, want, r.judgedBelow, r.judged)
		}
	}
	judge(2, true, 0, 1, 3)
	judge(1, true, 0, 3)
	judge(2, false, 0, 3)
	judge(3, true, 0)
	judge(0, true)
	if r.judgedBelow != 4 || len(r.judged) != 0 {
		t.Fatalf("judged below %d, and %v, want all of 4", r.judgedBelow, r.judged)
	}
	judge(3, false)
	judge(4, true)
}

// Whatever the order in which batches are finished, none passes more than ahead of an earlier one, nor the end of an epoch,
// and all go.
func TestGateNeverPassesTooFar(t *testing.T) {
	const n, epoch, ahead = 40, 7, 3
	for seed := range 200 {
		g := &readyGate{ahead: ahead, gone: map[uint64]bool{}}
		var order []uint64
		went := map[uint64]bool{}
		pick := uint64(seed)*2654435761 + 1
		waiting := []uint64{}
		for next := uint64(0); next < n || len(waiting) > 0; {
			for ; next < n && len(waiting) < 8; next++ {
				waiting = append(waiting, next)
			}
			pick = pick*6364136223846793005 + 1442695040888963407
			i := int(pick>>33) % len(waiting)
			seq := waiting[i]
			waiting = slices.Delete(waiting, i, i+1)
			g.add(&work{seq: seq, epochSeq: seq / epoch * epoch}, func(w *work) bool {
				for before := range w.seq {
					if !went[before] && (w.seq > before+ahead || before/epoch < w.seq/epoch) {
						t.Fatalf("seed %d: %d went before %d: %v", seed, w.seq, before, order)
					}
				}
				went[w.seq] = true
				order = append(order, w.seq)
				return true
			})
		}
		if len(order) != n || len(g.held) != 0 || len(g.gone) != 0 {
			t.Fatalf("seed %d: %d of %d went, %d held", seed, len(order), n, len(g.held))
		}
	}
}

// lateSource takes its time for some samples, another time in each epoch.
type lateSource struct {
	source.Source
	reads *atomic.Int64
}

func (s lateSource) Read(ctx context.Context, i int64, b *source.Buffer) error {
	if n := s.reads.Add(1); (n*2654435761>>4)%11 == 0 {
		return slowSource{s.Source, time.Duration(n%7) * time.Millisecond}.Read(ctx, i, b)
	}
	return s.Source.Read(ctx, i, b)
}

// Whatever samples take, two consumers together get every batch once, each as it would have been in order, and no batch before
// the end of an earlier epoch.
func TestReadyDeliversEveryBatchOnceWhateverSamplesTake(t *testing.T) {
	leavesNothing(t)
	const more = "batch: 4\norder: {epochs: 5, seed: 3}\nlimits: {cpus: 2}\n"
	dir := folder(t, 66, nil)
	all := everything(t, dir, more, 5)
	e, err := New(describe(t, dir, more+"ring: {delivery: ready, groups: [{name: g}]}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	e.rings[0].source = lateSource{e.rings[0].source, new(atomic.Int64)}
	r := serve(t, e)
	results := make(chan []seen)
	for range 2 {
		reader := r.attach(shm.AttachOptions{Group: "g", MaxLeases: 1})
		go func() {
			var mine []seen
			for {
				l, err := reader.Acquire(testContext(t))
				switch {
				case errors.Is(err, shm.EndEpoch):
					continue
				case err != nil:
					if !errors.Is(err, shm.EndData) {
						t.Error(err)
					}
					results <- mine
					return
				}
				mine = append(mine, look(l))
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	one, two := <-results, <-results
	for _, got := range [][]seen{one, two} {
		for i := 1; i < len(got); i++ {
			if got[i].Epoch < got[i-1].Epoch {
				t.Fatalf("epoch %d came after epoch %d", got[i].Epoch, got[i-1].Epoch)
			}
		}
	}
	wantSame(t, byTicket(t, append(one, two...)), all)
}
