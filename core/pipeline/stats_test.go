package pipeline

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQuantilesAreWithinASixteenthOfTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h histogram
	all := make([]int64, 20000)
	var sum int64
	for i := range all {
		all[i] = int64(math.Exp(rng.Float64() * 23)) // 1 ns to 9.7 s
		h.record(all[i])
		sum += all[i]
	}
	slices.Sort(all)
	var tl tally
	tl.add(&h)
	got := tl.times()
	if got.Count != 20000 || got.SumNs != sum || got.MeanNs != sum/20000 || got.MaxNs != all[19999] {
		t.Fatalf("got %+v, want exact count, sum, mean and maximum", got)
	}
	for _, q := range []struct {
		got  int64
		rank int
	}{{got.P50Ns, 50}, {got.P90Ns, 90}, {got.P99Ns, 99}} {
		want := all[20000*q.rank/100-1]
		if diff := math.Abs(float64(q.got - want)); diff > float64(want)/16+1 {
			t.Errorf("p%d: got %d, want %d within 1/16", q.rank, q.got, want)
		}
	}
}

func TestEveryDurationHasABucketThatHoldsIt(t *testing.T) {
	for _, ns := range []int64{0, 1, 15, 16, 17, 31, 32, 1000, 1 << 40, 1<<47 + 5} {
		i := bucketOf(ns)
		if diff := math.Abs(float64(middleOf(i) - ns)); diff > float64(ns)/16+0.5 {
			t.Errorf("%d ns fell into the bucket around %d", ns, middleOf(i))
		}
	}
	for i := 1; i < nBuckets; i++ {
		if middleOf(i) <= middleOf(i-1) || bucketOf(middleOf(i)) != i {
			t.Fatalf("bucket %d, around %d, does not hold its own middle", i, middleOf(i))
		}
	}
	if last := bucketOf(math.MaxInt64); last != nBuckets-1 {
		t.Fatalf("the longest duration is in bucket %d, want the last", last)
	}
	var none tally
	if none.times() != (Times{}) {
		t.Fatal("times of nothing are not zero")
	}
}

func TestStatsNameStagesAndQueues(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("train")
	if s := p.Stats(); s.State != Built || s.ElapsedNs != 0 {
		t.Fatalf("before start: %+v", s)
	}
	const pause = 200 * time.Microsecond
	a := Map(l.from(p, 50), Options[int, int]{Name: "slow", Concurrency: 2},
		func(_ context.Context, v int) (int, error) {
			time.Sleep(pause)
			return v, nil
		})
	Sink(a, SinkOptions{Name: "out"}, l.sink)
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	s := p.Stats()
	if s.Name != "train" || s.State != Ended || s.ElapsedNs < int64(25*pause) {
		t.Fatalf("got %q, %q, %d ns; want train, ended, at least 25 pauses", s.Name, s.State, s.ElapsedNs)
	}
	if again := p.Stats(); again.ElapsedNs != s.ElapsedNs {
		t.Fatal("time goes on after the end")
	}
	slow := s.Stages[1]
	if slow.Name != "slow" || slow.Kind != "map" || slow.Concurrency != 2 || slow.Items != 50 || slow.Running != 0 {
		t.Fatalf("stage %+v", slow)
	}
	if slow.Op.Count != 50 || slow.Op.P50Ns < int64(pause)*15/16 || slow.BusyShare <= 0 || slow.BusyShare > 1 {
		t.Fatalf("op %+v, busy %g; want 50 of at least a pause", slow.Op, slow.BusyShare)
	}
	if len(s.Queues) != 2 || s.Queues[0].Name != "plan" || s.Queues[1].Name != "slow" {
		t.Fatalf("queues %+v, want plan and slow", s.Queues)
	}
	if s.Queues[0].Puts != 50 || s.Queues[1].Gets != 50 || s.Queues[1].Depth != 0 {
		t.Fatalf("queues %+v, want 50 through each", s.Queues)
	}
}

func TestBusyShareIsOpTimeOverTheWorkersTime(t *testing.T) {
	s := &stage{name: "a", concurrency: 2, meters: make([]meter, 2)}
	s.meters[0].op.record(300)
	s.meters[0].op.record(100)
	s.meters[1].sinceNs.Store(800) // an op that still runs, for 200
	if got := s.stats(1000, 1000); got.BusyShare != 0.3 || got.Running != 1 {
		t.Fatalf("busy share %g, running %d; want 600 of 2000, and 1", got.BusyShare, got.Running)
	}
}

func TestStatsShowAnOpThatDoesNotReturn(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	entered, release := make(chan struct{}), make(chan struct{})
	a := Map(l.from(p, 1), Options[int, int]{Name: "stuck"}, func(_ context.Context, v int) (int, error) {
		close(entered)
		<-release
		return v, nil
	})
	Sink(a, SinkOptions{Name: "out"}, l.sink)
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	await(t, entered, "the op")
	s := p.Stats()
	if stuck := s.Stages[1]; stuck.Running != 1 || stuck.Items != 0 || s.State != Running {
		t.Fatalf("state %q, stage %+v; want one op running", s.State, stuck)
	}
	close(release)
	if err := wait(t, p); err != nil {
		t.Fatal(err)
	}
}

func TestStatsMayBeReadWhileEverythingMoves(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("t")
	a := Map(l.from(p, -1), Options[int, int]{Name: "a", Concurrency: 3, Output: Input}, same)
	Sink(a, SinkOptions{Name: "out"}, l.sink)
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	var before uint64
	for range 200 {
		s := p.Stats()
		if now := s.Stages[1].Items; now < before {
			t.Fatalf("items went from %d to %d", before, now)
		} else {
			before = now
		}
		if b := s.Stages[1].BusyShare; b < 0 || b > 1 {
			t.Fatalf("busy share %g", b)
		}
	}
	p.Stop()
	wait(t, p)
}

func TestStatsAreStableJSON(t *testing.T) {
	raw, err := json.Marshal(Stats{State: Running, Stages: make([]StageStats, 1), Queues: make([]QueueStats, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"name", "state", "elapsed_ns", "stages", "queues", "kind", "concurrency", "items", "failures",
		"discarded", "running", "op", "limit_wait_ns", "busy_share", "capacity", "depth", "peak", "puts",
		"gets", "put_wait", "get_wait", "occupancy", "count", "sum_ns", "mean_ns", "p50_ns", "p90_ns",
		"p99_ns", "max_ns",
	} {
		if !strings.Contains(string(raw), `"`+key+`":`) {
			t.Errorf("no key %q in %s", key, raw)
		}
	}
}
