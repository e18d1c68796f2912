package pipeline

import (
	"context"
	"math/rand/v2"
	"testing"
)

// A recording has every op of every stage that ended while it lasted, none twice, none from before or after.
func TestRecordingHasEveryOpWhileItLasts(t *testing.T) {
	leavesNothing(t)
	const before, during, after = 10, 30, 20
	p, step, seen := New("train"), make(chan int), make(chan int)
	src := Source(p, SourceOptions[int]{Name: "numbers"}, func(ctx context.Context) (int, error) {
		select {
		case v := <-step:
			return v, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	work := Map(src, Options[int, int]{Name: "work", Concurrency: 3}, func(_ context.Context, v int) (int, error) { return v, nil })
	Sink(work, SinkOptions{Name: "out"}, func(_ context.Context, v int) error { seen <- v; return nil })
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	feed := func(n int) {
		for i := range n {
			step <- i
			<-seen
		}
	}
	feed(before)
	beganNs, r := Clock(), p.Record(1000)
	feed(during)
	spans, lost := r.Stop()
	endedNs := Clock()
	feed(after)
	if lost != 0 {
		t.Errorf("lost %d spans, want 0", lost)
	}
	count := map[string]int{}
	for _, s := range spans {
		count[s.Stage]++
		if s.Stage == "work" && (s.BeginNs > s.EndNs || s.BeginNs < beganNs || s.EndNs > endedNs || s.Worker < 0 || s.Worker > 2) {
			t.Errorf("span %+v is not between %d and %d", s, beganNs, endedNs)
		}
	}
	// The source is inside its next op, and the sink may not have left its last one, or the one before Record.
	if n := count["work"]; n != during {
		t.Errorf("stage work: %d spans, want %d", n, during)
	}
	for _, stage := range []string{"numbers", "out"} {
		if n := count[stage]; n < during-1 || n > during+1 {
			t.Errorf("stage %s: %d spans, want %d give or take one", stage, n, during)
		}
	}
	p.Drain()
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A full recording counts what it has no room for, and a later one takes the place of the first.
func TestFullRecordingCountsWhatItLost(t *testing.T) {
	leavesNothing(t)
	l, p := &ledger{}, New("train")
	Sink(Map(l.from(p, 50), Options[int, int]{Name: "work"}, func(_ context.Context, v int) (int, error) { return v, nil }),
		SinkOptions{Name: "out"}, l.sink)
	replaced, r := p.Record(1000), p.Record(4)
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if spans, lost := replaced.Stop(); len(spans) != 0 || lost != 0 {
		t.Errorf("the recording that was replaced has %d spans and %d lost, want none", len(spans), lost)
	}
	spans, lost := r.Stop()
	if want := 3 * 4; len(spans) != want {
		t.Errorf("%d spans, want %d", len(spans), want)
	}
	if want := uint64(50 + 50 + 51 - 3*4); lost != want {
		t.Errorf("%d lost, want %d", lost, want)
	}
}

// The durations between two looks are those of the second without the first, and their quantiles are right within 1/16.
func TestBucketsOfAnIntervalLeaveOutWhatCameBefore(t *testing.T) {
	rng, h := rand.New(rand.NewPCG(3, 4)), &histogram{}
	look := func() Buckets {
		var all tally
		all.add(h)
		return all.buckets()
	}
	for range 1000 {
		h.record(rng.Int64N(1000)) // short ones, before
	}
	first := look()
	for range 1000 {
		h.record(1_000_000 + rng.Int64N(1000))
	}
	between := look().Since(first)
	for _, percent := range []uint64{1, 50, 99, 100} {
		if got := between.Quantile(percent); got < 930_000 || got > 1_070_000 {
			t.Errorf("p%d of the interval is %d ns, want about 1,000,000", percent, got)
		}
	}
	if got := look().Quantile(50); got > 1000 {
		t.Errorf("p50 since the start is %d ns, want at most 1,000", got)
	}
	if same := look().Since(look()); len(same) != 0 || same.Quantile(50) != 0 {
		t.Errorf("an interval without ops has buckets %v", same)
	}
	for _, odd := range []Buckets{{7}, {1 << 60, 1}, nil} {
		_ = odd.Quantile(99)
		_ = odd.Since(odd)
	}
}
