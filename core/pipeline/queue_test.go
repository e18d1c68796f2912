package pipeline

import (
	"slices"
	"sync"
	"testing"
)

func TestQueueIsFirstInFirstOutAndBounded(t *testing.T) {
	leavesNothing(t)
	q := NewQueue[int](3)
	for v := range 3 {
		if !q.Put(v) {
			t.Fatal("an open queue refused a value")
		}
	}
	putDone := make(chan struct{})
	go func() {
		q.Put(3)
		close(putDone)
	}()
	until(t, "the fourth put waits", func() bool { return waiters(q) == [2]int{1, 0} })
	if s := q.Stats("q"); s.Depth != 3 || s.Capacity != 3 || s.Peak != 3 {
		t.Fatalf("stats %+v, want 3 of 3", s)
	}
	for want := range 4 {
		if v, ok := q.Get(); !ok || v != want {
			t.Fatalf("got %d, %v; want %d", v, ok, want)
		}
	}
	await(t, putDone, "the fourth put")
}

func TestAClosedQueueGivesWhatItHasAndTakesNothing(t *testing.T) {
	leavesNothing(t)
	q := NewQueue[string](2)
	q.Put("a")
	q.Close()
	if q.Put("b") {
		t.Fatal("a closed queue took a value")
	}
	if v, ok := q.Get(); !ok || v != "a" {
		t.Fatalf("got %q, %v; want a", v, ok)
	}
	if _, ok := q.Get(); ok {
		t.Fatal("got a value after the last")
	}
}

func TestCloseAndStopWakeEveryWaiter(t *testing.T) {
	leavesNothing(t)
	for name, end := range map[string]func(*Queue[int]){"close": (*Queue[int]).Close, "stop": (*Queue[int]).Stop} {
		empty, full := NewQueue[int](1), NewQueue[int](1)
		full.Put(1)
		results := make(chan bool)
		for range 3 {
			go func() { _, ok := empty.Get(); results <- ok }()
			go func() { results <- full.Put(2) }()
		}
		for q, want := range map[*Queue[int]][2]int{empty: {0, 3}, full: {3, 0}} {
			until(t, "all wait", func() bool { return waiters(q) == want })
		}
		end(empty)
		end(full)
		for range 6 {
			if await(t, results, name) {
				t.Fatalf("%s: a waiter got through", name)
			}
		}
	}
}

func TestAStoppedQueueKeepsItsValuesForReclaim(t *testing.T) {
	q := NewQueue[int](4)
	for v := range 4 {
		q.Put(v)
	}
	q.Stop()
	if _, ok := q.Get(); ok {
		t.Fatal("a stopped queue gave a value")
	}
	var back []int
	q.Reclaim(func(v int) { back = append(back, v) })
	if !slices.Equal(back, []int{0, 1, 2, 3}) {
		t.Fatalf("reclaimed %v, want 0 to 3", back)
	}
	q.Reclaim(func(v int) { t.Fatalf("%d came back twice", v) })
}

func TestReclaimFindsValuesBehindGaps(t *testing.T) {
	q := NewQueue[int](8)
	q.ordered = true
	for _, n := range []uint64{2, 5, 3} {
		q.putNumbered(place{number: n}, cell[int]{v: int(n), kind: full}, true)
	}
	q.putNumbered(place{number: 1}, cell[int]{kind: hole}, true)
	q.Stop()
	var back []int
	q.Reclaim(func(v int) { back = append(back, v) })
	if !slices.Equal(back, []int{2, 3, 5}) {
		t.Fatalf("reclaimed %v, want 2, 3, 5", back)
	}
}

func TestAQueueLosesAndDoublesNothingUnderContention(t *testing.T) {
	leavesNothing(t)
	const putters, getters, each = 4, 4, 2000
	q := NewQueue[int](3)
	var puts, gets sync.WaitGroup
	seen := make([][]int, getters)
	for g := range getters {
		gets.Add(1)
		go func() {
			defer gets.Done()
			for v, ok := q.Get(); ok; v, ok = q.Get() {
				seen[g] = append(seen[g], v)
			}
		}()
	}
	for p := range putters {
		puts.Add(1)
		go func() {
			defer puts.Done()
			for i := range each {
				q.Put(p*each + i)
			}
		}()
	}
	puts.Wait()
	q.Close()
	gets.Wait()
	all := slices.Concat(seen...)
	slices.Sort(all)
	for want, v := range all {
		if v != want {
			t.Fatalf("value %d at place %d: lost or doubled", v, want)
		}
	}
	if s := q.Stats("q"); len(all) != putters*each || s.Puts != putters*each || s.Gets != putters*each || s.Peak > 3 {
		t.Fatalf("%d values, stats %+v; want %d of each", len(all), s, putters*each)
	}
}

// Numbers wait in any order; room wakes the one whose turn it is, not the one
// that came first.
func TestRoomWakesTheNumberWhoseTurnItIs(t *testing.T) {
	leavesNothing(t)
	q := NewQueue[int](2)
	q.ordered = true
	put := func(n uint64) bool { return q.putNumbered(place{number: n}, cell[int]{v: int(n), kind: full}, true) }
	put(0)
	results := make(chan bool)
	for i, n := range []uint64{3, 2} {
		go func() { results <- put(n) }()
		until(t, "it waits", func() bool { return waiters(q) == [2]int{i + 1, 0} })
	}
	if v, ok := q.Get(); !ok || v != 0 {
		t.Fatalf("got %d, %v; want 0", v, ok)
	}
	if !await(t, results, "number 2") {
		t.Fatal("number 2 was refused")
	}
	put(1)
	for want := 1; want <= 3; want++ {
		if v, ok := q.Get(); !ok || v != want {
			t.Fatalf("got %d, %v; want %d", v, ok, want)
		}
	}
	await(t, results, "number 3")
}

func TestQueueStatsTellWhoWaited(t *testing.T) {
	leavesNothing(t)
	q := NewQueue[int](1)
	done := make(chan struct{})
	go func() {
		q.Get()
		done <- struct{}{}
	}()
	until(t, "the getter waits", func() bool { return waiters(q) == [2]int{0, 1} })
	q.Put(1)
	await(t, done, "the get")
	s := q.Stats("q")
	if s.GetWait.Count != 1 || s.GetWait.SumNs <= 0 || s.PutWait.Count != 1 || s.PutWait.SumNs != 0 {
		t.Fatalf("stats %+v: want one get that waited and one put that did not", s)
	}
	q.Put(2)
	go func() {
		q.Put(3)
		done <- struct{}{}
	}()
	until(t, "the putter waits", func() bool { return waiters(q) == [2]int{1, 0} })
	q.Get()
	await(t, done, "the put")
	s = q.Stats("q")
	if s.PutWait.Count != 3 || s.PutWait.SumNs <= 0 || s.PutWait.MaxNs != s.PutWait.SumNs || s.GetWait.Count != 2 {
		t.Fatalf("stats %+v: want one put of three that waited", s)
	}
}

// waiters returns the numbers of putters and getters that wait.
func waiters[T any](q *Queue[T]) [2]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return [2]int{q.putters.n, q.getters.n}
}

func TestOccupancyIsTheShareOfTimeWithAValueReady(t *testing.T) {
	q := NewQueue[int](2)
	q.restartClock(1000)
	if o := q.statsAt("q", 2000).Occupancy; o != 0 {
		t.Fatalf("occupancy %g of an empty queue, want 0", o)
	}
	// Empty from 1000 to 1250, ready since.
	q.cells[0] = cell[int]{kind: full}
	q.emptyNs, q.sinceNs = 250, -1
	if o := q.statsAt("q", 2000).Occupancy; o != 0.75 {
		t.Fatalf("occupancy %g, want 0.75", o)
	}
}
