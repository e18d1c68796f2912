package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Every stage is measured alone at each concurrency, on the results of the one
// before, and nothing is left of them.
func TestAProfileMeasuresEveryStageAlone(t *testing.T) {
	leavesNothing(t)
	p := New("t")
	l := &ledger{}
	var made, ended atomic.Int64
	v := Map(l.from(p, 40), Options[int, int]{Name: "slow", Concurrency: 3, Output: Input},
		func(_ context.Context, v int) (int, error) {
			time.Sleep(time.Millisecond)
			return v, nil
		})
	v = Variants(v, VariantsOptions[int]{Name: "route"}, modulo(2),
		func(in *Port[int]) *Port[int] { return Map(in, Options[int, int]{Name: "even"}, same) },
		func(in *Port[int]) *Port[int] { return in })
	lists := Aggregate(v, AggregateOptions[[]int]{Name: "list"}, &lister{n: 4})
	v = Generate(lists, Options[[]int, int]{Name: "flat", Discard: func(int) { ended.Add(1) }},
		func(_ context.Context, list []int, yield func(int) bool) error {
			for _, v := range list {
				made.Add(1)
				yield(v)
			}
			return nil
		})
	var got []int
	Sink(v, SinkOptions{Name: "out"}, func(_ context.Context, v int) error {
		got = append(got, v)
		return nil
	})
	all, err := p.Profile(context.Background(), ProfileOptions{Inputs: 20, Concurrency: []int{4, 1}})
	must(t, err)
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
		for i, point := range s.Points {
			if want := []int{4, 1}[i]; len(s.Points) == 2 && point.Concurrency != want || point.QPS <= 0 {
				t.Errorf("%s: %+v, want concurrency %d", s.Name, point, want)
			}
		}
	}
	if !slices.Equal(names, []string{"plan", "slow", "even", "list", "flat", "out"}) {
		t.Fatalf("profiled %v", names)
	}
	if all[1].Inputs != 20 || all[2].Inputs != 10 || all[3].Inputs != 20 || all[4].Inputs != 5 || all[5].Inputs != 20 {
		t.Fatalf("inputs %+v", all)
	}
	slow := all[1].Points
	if slow[0].Op.Count != 20 || slow[0].Op.P50Ns < int64(time.Millisecond)*15/16 || slow[1].QPS > 1000 {
		t.Fatalf("slow %+v", slow)
	}
	slices.Sort(got)
	if !slices.Equal(got, count(20)) || made.Load()-ended.Load() != 20 {
		t.Fatalf("delivered %v, made %d, discarded %d", got, made.Load(), ended.Load())
	}
	if err := p.Start(context.Background()); !errors.Is(err, errProfiled) {
		t.Fatalf("start after a profile: %v", err)
	}
}

func TestAProfileRefusesWhatItCannotMeasure(t *testing.T) {
	p := New("t")
	_, out := ExternalMap((&ledger{}).from(p, 3), ExternalOptions[int]{Name: "host"})
	Pull(Map(out, Options[int, int]{Name: "a", Budget: NewBytes(1), Cost: func(int) int64 { return 1 }}, same), ResultsOptions{Name: "out"})
	_, err := p.Profile(context.Background(), ProfileOptions{Inputs: -1})
	for _, want := range []string{`"host": a stage of kind external`, `"a": a stage of kind map`, `"out": a stage of kind sink`, "-1 inputs"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("profile: %v, want %q", err, want)
		}
	}
	p = New("t")
	l := &ledger{}
	Sink(Map(l.from(p, 3), Options[int, int]{Name: "a"}, func(context.Context, int) (int, error) { return 0, errBoom }),
		SinkOptions{Name: "out"}, l.sink)
	if _, err := p.Profile(context.Background(), ProfileOptions{}); !errors.Is(err, errBoom) {
		t.Errorf("profile: %v, want the op's failure", err)
	}
	if _, err := p.Profile(context.Background(), ProfileOptions{}); !errors.Is(err, ErrStarted) {
		t.Errorf("second profile: %v, want ErrStarted", err)
	}
}
