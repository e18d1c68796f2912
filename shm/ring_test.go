package shm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestConsumerSeesEveryBatchInOrder(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{})
	go func() {
		for range 3 {
			r.publish(100, 0, false)
		}
	}()
	for want := range uint64(300) {
		l := acquire(t, c)
		if l.Ticket != want || l.Attempts != 1 || l.Rows != 4 {
			t.Fatalf("got ticket %d, attempts %d, rows %d, want ticket %d, 1, 4", l.Ticket, l.Attempts, l.Rows, want)
		}
		release(t, l)
	}
}

func TestConsumerSeesNothingBeforePublish(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{})
	s, err := r.Claim(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	fillPattern(s.Tensor(0), 0)
	nothingReady(t, c)
	if err := r.Publish(testContext(t), s, Batch{Rows: 4}); err != nil {
		t.Fatal(err)
	}
	release(t, acquire(t, c))
}

func TestReadersOfOneGroupShareItsBatches(t *testing.T) {
	cfg := testConfig(t, 16)
	cfg.Groups = []GroupConfig{{Name: "train"}}
	r := newTestRing(t, cfg)
	const n = 2000
	var mu sync.Mutex
	var got []uint64
	var work sync.WaitGroup
	for range 3 {
		c := r.attach(AttachOptions{})
		work.Add(1)
		go func() {
			defer work.Done()
			for {
				l, err := c.Acquire(testContext(t))
				if errors.Is(err, EndEpoch) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				got = append(got, l.Ticket)
				mu.Unlock()
				release(t, l)
			}
		}()
	}
	r.publish(n, 0, true)
	work.Wait()
	sort.Slice(got, func(a, b int) bool { return got[a] < got[b] })
	if len(got) != n {
		t.Fatalf("got %d batches, want %d", len(got), n)
	}
	for i, ticket := range got {
		if ticket != uint64(i) {
			t.Fatalf("ticket %d at place %d: lost or doubled", ticket, i)
		}
	}
	if g := r.group("train"); g.Completed != n || g.Redelivered != 0 {
		t.Fatalf("ledger says %d completed, %d redelivered", g.Completed, g.Redelivered)
	}
}

func TestSlotIsNotReusedWhileAnyGroupHoldsIt(t *testing.T) {
	cfg := testConfig(t, 8)
	r := newTestRing(t, cfg)
	a, b := r.attach(AttachOptions{Group: "a", MaxLeases: 1}), r.attach(AttachOptions{Group: "b", MaxLeases: 1})
	r.publish(8, 0, false)
	held := acquire(t, b)
	for range 8 {
		release(t, acquire(t, a))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Claim(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("claim while b has everything: got %v, want to wait", err)
	}
	release(t, held)
	r.publishOne(0, false)
	if l := acquire(t, a); l.Slot != held.Slot {
		t.Fatalf("batch came in slot %d, want %d, the only free one", l.Slot, held.Slot)
	}
}

func TestReleaseOutOfOrderFreesThatSlot(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{MaxLeases: 4})
	r.publish(8, 0, false)
	var held []*Lease
	for range 4 {
		held = append(held, acquire(t, c))
	}
	for _, i := range []int{2, 0, 3, 1} {
		release(t, held[i])
		r.publishOne(0, false)
	}
	for want := uint64(4); want < 12; want++ {
		l := acquire(t, c)
		if l.Ticket != want {
			t.Fatalf("got ticket %d, want %d", l.Ticket, want)
		}
		release(t, l)
	}
}

func TestEpochEndsOnceAndOnlyWhenEveryBatchIsDone(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Epochs = 2
	cfg.Groups = []GroupConfig{{Name: "train"}}
	r := newTestRing(t, cfg)
	a, b := r.attach(AttachOptions{MaxLeases: 3}), r.attach(AttachOptions{MaxLeases: 3})
	r.publish(2, 0, true)
	r.publish(1, 1, true)
	r.End()
	first, second := acquire(t, a), acquire(t, b)
	_, err := a.Acquire(testContext(t))
	wantErr(t, err, ErrUndone)
	if err := first.Done(); err != nil {
		t.Fatal(err)
	}
	nothingReady(t, a) // b has not done its batch, and epoch 1 has not begun for a
	if err := second.Done(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Reader{a, b} {
		_, err := c.Acquire(testContext(t))
		wantErr(t, err, EndEpoch)
	}
	third := acquire(t, a)
	if third.Epoch != 1 {
		t.Fatalf("got epoch %d, want 1", third.Epoch)
	}
	release(t, third)
	for _, c := range []*Reader{a, b} {
		_, err := c.Acquire(testContext(t))
		wantErr(t, err, EndEpoch)
		_, err = c.Acquire(testContext(t))
		wantErr(t, err, EndData)
	}
	release(t, first)
	release(t, second)
	wantErr(t, first.Release(), ErrStale)
	wantErr(t, first.Done(), ErrStale)
}

func TestReaderIsToldWhenItHoldsAllItsLeases(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{MaxLeases: 1})
	r.publish(2, 0, false)
	l := acquire(t, c)
	_, err := c.Acquire(testContext(t))
	wantErr(t, err, ErrLeases)
	release(t, l)
	release(t, acquire(t, c))
}

func TestLanesGetTheirSliceOfEveryStep(t *testing.T) {
	cfg := testConfig(t, 16)
	cfg.Lanes, cfg.World = 3, 3
	cfg.Groups = []GroupConfig{{Name: "ranks", Mode: ModeLanes}}
	r := newTestRing(t, cfg)
	all := r.attach(AttachOptions{Group: "all", MaxLeases: 1})
	for _, lane := range []int{2, 0, 1} {
		c := r.attach(AttachOptions{Group: "ranks", Lane: lane, MaxLeases: 1})
		if c.Lane() != lane {
			t.Fatalf("got lane %d, want %d", c.Lane(), lane)
		}
		defer func() {
			for step := range uint64(3) {
				l := acquire(t, c)
				if l.Ticket != step*3+uint64(lane) || int(l.Lane) != lane {
					t.Fatalf("lane %d got ticket %d of lane %d at step %d", lane, l.Ticket, l.Lane, step)
				}
				release(t, l)
			}
			_, err := c.Acquire(testContext(t))
			wantErr(t, err, EndEpoch)
		}()
	}
	_, err := Attach(testContext(t), r.server.Path(), AttachOptions{Group: "ranks", Lane: AnyLane, MaxLeases: 1})
	wantErr(t, err, ErrBusy)
	r.publish(9, 0, true)
	for want := range uint64(9) {
		l := acquire(t, all)
		if l.Ticket != want {
			t.Fatalf("shared group got ticket %d, want %d", l.Ticket, want)
		}
		release(t, l)
	}
	_, err = all.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
}

// A reader of a lane whose epoch others have had begins with the next one, while the other lane is still in it; behind the last there is no data.
func TestALaneJoinedBehindItsEpochsEndBeginsTheNext(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Lanes, cfg.World, cfg.Epochs = 2, 2, 2
	cfg.Groups = []GroupConfig{{Name: "ranks", Mode: ModeLanes}}
	r := newTestRing(t, cfg)
	other := r.attach(AttachOptions{Group: "ranks", Lane: 1})
	for epoch := range uint64(2) {
		first := r.attach(AttachOptions{Group: "ranks", Lane: 0})
		r.publish(4, epoch, true)
		for range 2 {
			if l := acquire(t, first); l.Epoch != epoch {
				t.Fatalf("got epoch %d, want %d", l.Epoch, epoch)
			} else {
				release(t, l)
			}
		}
		if err := first.Close(); err != nil { // it has not asked for the epoch's end
			t.Fatal(err)
		}
		late := r.attach(AttachOptions{Group: "ranks", Lane: 0})
		if late.Epoch() != epoch+1 {
			t.Fatalf("the late reader is in epoch %d, want %d", late.Epoch(), epoch+1)
		}
		if epoch+1 == cfg.Epochs {
			_, err := late.Acquire(testContext(t))
			wantErr(t, err, EndData)
		} else {
			nothingReady(t, late)
		}
		if err := late.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			release(t, acquire(t, other))
		}
		_, err := other.Acquire(testContext(t))
		wantErr(t, err, EndEpoch)
	}
}

func TestUndeclaredGroupJoinsAtTheNextTicketAndEndsWithItsLastMember(t *testing.T) {
	cfg := testConfig(t, 8)
	r := newTestRing(t, cfg)
	first := r.attach(AttachOptions{Group: "first", MaxLeases: 1})
	r.publish(3, 0, false)
	late := r.attach(AttachOptions{Group: "late", MaxLeases: 1})
	nothingReady(t, late)
	r.publishOne(0, false)
	l := acquire(t, late)
	if l.Ticket != 3 {
		t.Fatalf("joined at ticket %d, want 3", l.Ticket)
	}
	if err := late.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group to end", func() bool { return len(r.Groups()) == 1 })
	for want := range uint64(4) {
		l := acquire(t, first)
		if l.Ticket != want {
			t.Fatalf("got ticket %d, want %d", l.Ticket, want)
		}
		release(t, l)
	}
	r.publish(8, 0, false) // every slot is free again
}

func TestDeclaredGroupHoldsTheRingBackWhileEmpty(t *testing.T) {
	cfg := testConfig(t, 4)
	cfg.Groups = []GroupConfig{{Name: "train"}}
	r := newTestRing(t, cfg)
	r.publish(4, 0, false)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Claim(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want to wait for the empty group", err)
	}
	c := r.attach(AttachOptions{MaxLeases: 1})
	for want := range uint64(4) {
		l := acquire(t, c)
		if l.Ticket != want {
			t.Fatalf("got ticket %d, want %d", l.Ticket, want)
		}
		release(t, l)
	}
}

func TestPublishWaitsForAGroupAndTheFilledSlotIsItsFirst(t *testing.T) {
	r := newTestRing(t, testConfig(t, 4))
	published := make(chan struct{})
	go func() {
		defer close(published)
		r.publishOne(0, false)
	}()
	c := r.attach(AttachOptions{MaxLeases: 1})
	if l := acquire(t, c); l.Ticket != 0 {
		t.Fatalf("got ticket %d, want 0", l.Ticket)
	}
	<-published
}

func TestPublishAllocatesNothing(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{MaxLeases: 1})
	ctx := context.Background()
	ticket := uint64(0)
	allocs := testing.AllocsPerRun(200, func() {
		s, err := r.Claim(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Publish(ctx, s, Batch{Ticket: ticket, Rows: 1}); err != nil {
			t.Fatal(err)
		}
		ticket++
		l, err := c.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Release()
	})
	if allocs > 1 { // the consumer's lease is one
		t.Fatalf("%v allocations per batch, want none on the producer's side and 1 on the consumer's", allocs)
	}
}

func TestPublishRefusesWhatMakesNoSense(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	r.attach(AttachOptions{MaxLeases: 1})
	r.publishOne(0, false)
	s, err := r.Claim(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []Batch{
		{Ticket: 0, Rows: 1}, {Ticket: 5, Rows: 5}, {Ticket: 5, Rows: -1},
		{Ticket: 5, Rows: 1, Used: []Used{{Tensor: 0, Dim: 0, Size: 1}}}, // rows are said by Rows
		{Ticket: 5, Rows: 1, Used: []Used{{Tensor: 0, Dim: 1, Size: r.geo.tensors[0].Shape[1] + 1}}},
		{Ticket: 5, Rows: 1, Used: []Used{{Tensor: 0, Dim: 1, Size: -1}}},
		{Ticket: 5, Rows: 1, Used: []Used{{Tensor: 0, Dim: int(r.geo.tensors[0].Ndim), Size: 1}}},
		{Ticket: 5, Rows: 1, Shaped: []Shaped{{Tensor: 0, Row: make([]int64, r.geo.tensors[0].Ndim)}}},
		{Ticket: 5, Rows: 1, Shaped: []Shaped{{Tensor: 0, Row: []int64{0, 1, 1}[:r.geo.tensors[0].Ndim-1]}}},
		{Ticket: 5, Rows: 2, Shaped: []Shaped{{Tensor: 0, Row: reshaped(r, int64(r.geo.tensors[0].Bytes)/2+1)}}},
		{Ticket: 5, Rows: 0, Shaped: []Shaped{{Tensor: 0, Row: reshaped(r, 1<<62)}}},
	} {
		wantErr(t, r.Publish(testContext(t), s, b), ErrArgument)
	}
	r.Abandon(s)
	wantErr(t, r.Publish(testContext(t), s, Batch{Ticket: 5}), ErrArgument)
}

// reshaped is a row of tensor 0, of so many bytes in its last dimension.
func reshaped(r *testRing, bytes int64) []int64 {
	t := &r.geo.tensors[0]
	row := make([]int64, t.Ndim-1)
	for i := range row {
		row[i] = 1
	}
	row[len(row)-1] = bytes / t.Strides[t.Ndim-1]
	if bytes%t.Strides[t.Ndim-1] > 0 {
		row[len(row)-1]++
	}
	return row
}

// A batch's rows may be of another shape than the ring's, longer in one dimension, as long as all have room; they lie one behind the other, and the next
// batch of the slot is as the ring has it.
func TestABatchMayHaveRowsOfAnotherShape(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{})
	of := &r.geo.tensors[0]
	size := of.Strides[of.Ndim-1]
	long := int64(of.Bytes) / size / 2
	for ticket, row := range [][]int64{reshaped(r, long*size), nil, reshaped(r, size)} {
		s, err := r.Claim(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		b, want := Batch{Ticket: uint64(ticket), Rows: 2}, of.Shape[1:of.Ndim]
		if row != nil {
			b.Shaped, want = []Shaped{{Tensor: 0, Row: row}}, row
		}
		if err := r.Publish(testContext(t), s, b); err != nil {
			t.Fatal(err)
		}
		peeked, err := r.Peek(1)
		if err != nil {
			t.Fatal(err)
		}
		l, err := c.Acquire(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		stride := size
		for _, n := range want {
			stride *= n
		}
		if got := l.Shape(0); got[0] != 2 || !slices.Equal(got[1:], want) || !slices.Equal(peeked.Shape(0), got) {
			t.Fatalf("batch %d: shape %v, copied %v, want 2 rows of %v", ticket, got, peeked.Shape(0), want)
		}
		if got := l.Strides(0); got[0] != stride || got[len(got)-1] != size || int64(len(l.Tensor(0))) != 2*stride || int64(len(peeked.Tensor(0))) != stride {
			t.Fatalf("batch %d: strides %v, %d bytes, %d copied, want rows of %d bytes", ticket, got, len(l.Tensor(0)), len(peeked.Tensor(0)), stride)
		}
		release(t, l)
	}
}

func TestBatchMayUseLessThanItsCapacity(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{})
	full := r.geo.tensors[0].Shape[1]
	for ticket, used := range [][]Used{{{Tensor: 0, Dim: 1, Size: full - 1}}, nil, {{Tensor: 0, Dim: 1, Size: 0}}} {
		s, err := r.Claim(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Publish(testContext(t), s, Batch{Ticket: uint64(ticket), Rows: 2, Used: used}); err != nil {
			t.Fatal(err)
		}
		want := full
		if used != nil {
			want = used[0].Size
		}
		l, err := c.Acquire(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Shape(0); got[0] != 2 || got[1] != want {
			t.Fatalf("batch %d: shape %v, want 2 rows of %d", ticket, got, want)
		}
		release(t, l)
	}
}

func TestEpochWithoutALastBatchEndsWhenTheEngineSaysSo(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{})
	r.publish(1, 0, false)
	release(t, acquire(t, c))
	nothingReady(t, c)
	waiting := make(chan error)
	go func() {
		_, err := c.Acquire(testContext(t))
		waiting <- err
	}()
	r.EndEpoch(0, 0)
	wantErr(t, <-waiting, EndEpoch)
	if c.Epoch() != 1 {
		t.Fatalf("the reader is in epoch %d, want 1", c.Epoch())
	}
	r.EndEpoch(0, 0) // saying it again changes nothing
	nothingReady(t, c)
}

func TestTimesAreThoseOfTheMonotonicClock(t *testing.T) {
	var before, after unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &before)
	now := monotonicNS()
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &after)
	const slack = 1e6 // between the two readings of clockBase
	if int64(now) < before.Nano()-slack || int64(now) > after.Nano()+slack {
		t.Fatalf("got %d, want between %d and %d", now, before.Nano(), after.Nano())
	}
}

func TestWatchIsToldOfEveryMember(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	var mu sync.Mutex
	var seen []string
	r.Watch(func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, e.What)
	})
	c := r.attach(AttachOptions{Client: "someone"})
	if got := r.Groups()[0].Members[0].Client; got != "someone" {
		t.Fatalf("got client %q", got)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group to end", func() bool { return len(r.Groups()) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if got := fmt.Sprint(seen); got != "[attach detach closed]" {
		t.Fatalf("got events %s", got)
	}
	if past := r.PastGroups(); len(past) != 1 || past[0].State != GroupClosed {
		t.Fatalf("got past groups %+v", past)
	}
}

// A consumers' group that has ended is remembered with what it had completed: neither what its last member held nor what nobody had claimed.
func TestPastGroupSaysWhatItHadCompleted(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{})
	r.publish(4, 0, false)
	for range 2 { // tickets 0, which is given back, and 1, which is not
		l, err := c.Acquire(testContext(t))
		if err == nil && l.Ticket == 0 {
			err = l.Release()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group to end", func() bool { return len(r.PastGroups()) == 1 })
	if done := r.PastGroups()[0].Done; done.Low() != 1 || len(done.Above()) > 0 {
		t.Fatalf("got %+v, want 1 open and nothing completed above", done)
	}
}

// However many batches are completed after one that is held, it is all there is to say of them.
func TestProgressPastAHeldBatchIsOneOpenTicket(t *testing.T) {
	r := newTestRing(t, testConfig(t, 8))
	c := r.attach(AttachOptions{Group: "a", MaxLeases: 2})
	r.publishOne(0, false)
	held := acquire(t, c)
	for range 100 {
		r.publishOne(0, false)
		release(t, acquire(t, c))
	}
	for _, heldBy := range []uint32{0, c.Owner()} {
		p, err := r.Progress(r.group("a").Index, heldBy, nil)
		if err != nil || p.Next != 101 || (heldBy == 0) != slices.Equal(p.Open, []uint64{held.Ticket}) {
			t.Fatalf("with what %d holds: %+v, %v", heldBy, p, err)
		}
	}
	release(t, held)
}

func TestReaderDescribesItsRing(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Text, cfg.Seed = []byte(`{"classes":["a"]}`), 5
	r := newTestRing(t, cfg)
	c := r.attach(AttachOptions{})
	if state, err := c.EngineState(); err != nil || state != StateRunning {
		t.Fatalf("got engine state %d, %v", state, err)
	}
	if string(c.Text()) != `{"classes":["a"]}` || c.Header().Seed != 5 || text(c.Schema()[0].Name[:]) != "x" || r.Name() != cfg.Name {
		t.Fatalf("got text %s, seed %d, schema %v", c.Text(), c.Header().Seed, c.Schema())
	}
}

// BenchmarkHandOff is claim, publish, acquire and release of one batch, all on one goroutine.
func BenchmarkHandOff(b *testing.B) {
	r := newTestRing(b, testConfig(b, 8))
	c := r.attach(AttachOptions{MaxLeases: 1})
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	for ticket := range uint64(b.N) {
		s, err := r.Claim(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Publish(ctx, s, Batch{Ticket: ticket, Rows: 1}); err != nil {
			b.Fatal(err)
		}
		l, err := c.Acquire(ctx)
		if err != nil {
			b.Fatal(err)
		}
		_ = l.Release()
	}
}

// A ring that was made early hands out its first slot at once, the others once they have their memory, and never one that has
// none.
// presentPages is how many of b's pages this process has mapped.
func presentPages(t *testing.T, b []byte) (n int) {
	pagemap, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Skip("the kernel does not tell which pages are present: " + err.Error())
	}
	defer pagemap.Close()
	page := os.Getpagesize()
	entry := make([]byte, 8)
	for at := uintptr(unsafe.Pointer(&b[0])); at < uintptr(unsafe.Pointer(&b[0]))+uintptr(len(b)); at += uintptr(page) {
		if _, err := pagemap.ReadAt(entry, int64(at)/int64(page)*8); err != nil {
			t.Fatal(err)
		}
		n += int(entry[7] >> 7)
	}
	return n
}

func TestPrefaultMakesPagesPresentAndChangesNoByte(t *testing.T) {
	leavesNothing(t)
	cfg := testConfig(t, 8)
	cfg.Early = true
	r, err := Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := r.Claim(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all := s.memory
	if n := presentPages(t, all); n != 0 {
		t.Fatalf("a slot claimed before the first batch: got %d pages present, want none", n)
	}
	last := s.Tensor(0)[len(s.Tensor(0))-1:]
	last[0] = 7
	s.Prefault([][]byte{s.Tensor(0), nil, make([]byte, 10)})
	want := (len(s.Tensor(0)) + os.Getpagesize() - 1) / os.Getpagesize()
	if n := presentPages(t, s.Tensor(0)); n < want {
		t.Fatalf("after Prefault: got %d pages of the tensor present, want %d", n, want)
	}
	if last[0] != 7 {
		t.Fatalf("last byte: got %d, want 7", last[0])
	}
}

func TestEarlyRingHandsOutReservedSlotsOnly(t *testing.T) {
	leavesNothing(t)
	cfg := testConfig(t, 8)
	cfg.Early = true
	r, err := Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if s, err := r.Claim(context.Background()); err != nil || s.index != 0 {
		t.Fatalf("first claim: got %v, %v, want slot 0", s, err)
	}
	if err := r.Reserved(); err != nil {
		t.Fatal(err)
	}
	st, err := r.data.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if got := uint64(st.Sys().(*syscall.Stat_t).Blocks) * 512; got < r.geo.dataBytes {
		t.Fatalf("reserved: got %d bytes, want %d", got, r.geo.dataBytes)
	}
	if s, err := r.Claim(context.Background()); err != nil || s.index != 1 {
		t.Fatalf("second claim: got %v, %v, want slot 1", s, err)
	}
	r.reserveErr = ErrNoSpace // as if the memory had gone to somebody else meanwhile
	_, err = r.Claim(context.Background())
	wantErr(t, err, ErrNoSpace)
	wantErr(t, r.Reserved(), ErrNoSpace)
}
