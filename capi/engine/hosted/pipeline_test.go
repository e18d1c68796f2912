package hosted

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spdl/spdl/core/pipeline"
)

const watchdog = 30 * time.Second

// begin makes and starts a pipeline that is stopped, awaited and freed at the test's end.
func begin(t *testing.T, stages string, more ...string) *Pipeline {
	t.Helper()
	text := `{"name": "test", "stages": [` + stages + `]`
	for _, m := range more {
		text += ", " + m
	}
	p, err := New(text + "}")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if err := p.Wait(watchdog); errors.Is(err, ErrTimeout) {
			t.Errorf("the pipeline does not end: %v", err)
		} else if err := p.Free(); err != nil {
			t.Errorf("free: %v", err)
		}
	})
	return p
}

var threads struct {
	sync.Mutex
	n uint64
}

func newThread() Thread {
	threads.Lock()
	defer threads.Unlock()
	threads.n++
	return Thread{Number: threads.n, TID: uint32(1000 + threads.n)}
}

// take takes one work, which must come.
func take(t *testing.T, p *Pipeline, stage string) Work {
	t.Helper()
	n, err := p.Stage(stage)
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Take(n, watchdog, newThread())
	if err != nil {
		t.Fatalf("take from %q: %v", stage, err)
	}
	return w
}

func give(p *Pipeline, stage string, w Work, g Given) error {
	n, err := p.Stage(stage)
	if err != nil {
		return err
	}
	return p.Give(n, w.Worker, w.Token, g)
}

// serve works on a stage until its end, on threads of its own; the returned function waits for them.
func serve(t *testing.T, p *Pipeline, stage string, n int, work func(w Work) Given) (wait func()) {
	t.Helper()
	number, err := p.Stage(stage)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range n {
		all.Add(1)
		go func() {
			defer all.Done()
			thread := newThread()
			for {
				w, err := p.Take(number, Forever, thread)
				if err != nil {
					if !errors.Is(err, ErrEndData) {
						t.Errorf("take from %q: %v", stage, err)
					}
					return
				}
				if err := p.Give(number, w.Worker, w.Token, work(w)); err != nil && !errors.Is(err, ErrEndData) {
					t.Errorf("give to %q: %v", stage, err)
				}
			}
		}()
	}
	return all.Wait
}

// count is a source of 0 to n-1.
func count(t *testing.T, p *Pipeline, stage string, n uint64) func() {
	next := uint64(0)
	return serve(t, p, stage, 1, func(Work) Given {
		if next == n {
			return Given{End: true}
		}
		next++
		return Given{Items: []uint64{next - 1}}
	})
}

func items(w Work) []uint64 {
	out := make([]uint64, w.Items.Len())
	if len(out) > 0 {
		w.Items.CopyTo(out)
	}
	return out
}

// results gets until the end; a list is one result.
func results(t *testing.T, p *Pipeline) (all [][]uint64) {
	t.Helper()
	for {
		w, err := p.Get(watchdog)
		if errors.Is(err, ErrEndData) {
			return all
		}
		if err != nil {
			t.Fatalf("get: %v", err)
		}
		all = append(all, items(w))
	}
}

func reclaimed(p *Pipeline) (all []uint64) {
	var buffer [3]uint64
	for {
		n := p.Reclaim(buffer[:])
		if n == 0 {
			slices.Sort(all)
			return all
		}
		all = append(all, buffer[:n]...)
	}
}

func TestEveryItemComesOnceInTheOrderOfTheInput(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"},
		{"name": "square", "kind": "map", "concurrency": 4, "output": "input"}, {"name": "out", "kind": "sink", "buffer": 3}`)
	count(t, p, "in", 500)
	serve(t, p, "square", 4, func(w Work) Given { return Given{Items: []uint64{w.Items.item * w.Items.item}} })
	for i, got := range results(t, p) {
		if want := uint64(i * i); got[0] != want {
			t.Fatalf("result %d is %d, want %d", i, got[0], want)
		}
	}
	if err := p.Wait(watchdog); err != nil {
		t.Fatal(err)
	}
	if left := reclaimed(p); len(left) > 0 {
		t.Errorf("%d items were dropped, want none", len(left))
	}
}

func TestListsAreMadeAndTakenApart(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "three", "kind": "aggregate", "n": 3},
		{"name": "sum", "kind": "map"}, {"name": "apart", "kind": "disaggregate"}, {"name": "two", "kind": "aggregate", "n": 2, "drop_last": true}`)
	count(t, p, "in", 8)
	serve(t, p, "sum", 1, func(w Work) Given {
		if !w.Items.IsList() {
			t.Error("a list came as single items")
		}
		return Given{Items: append(items(w), 100+uint64(w.Items.Len())), List: true}
	})
	got := fmt.Sprint(results(t, p))
	if want := "[[0 1] [2 103] [3 4] [5 103] [6 7]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if left := fmt.Sprint(reclaimed(p)); left != "[102]" {
		t.Errorf("dropped %s, want the last list, which was not full", left)
	}
}

func TestAMapMayGiveNothingOrMany(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "some", "kind": "map"}`)
	count(t, p, "in", 6)
	serve(t, p, "some", 1, func(w Work) Given {
		n := w.Items.item
		if n%2 == 1 || n == 0 {
			return Given{Skip: true}
		}
		return Given{Items: slices.Repeat([]uint64{n}, int(n))}
	})
	if got, want := fmt.Sprint(results(t, p)), "[[2] [2] [4] [4] [4] [4]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAFailureKeepsTheHostsWholeText(t *testing.T) {
	trace := "Traceback (most recent call last):\n  File \"x.py\", line 3\n" + string(slices.Repeat([]byte("é"), 5000)) + "\nValueError: bad"
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "decode", "kind": "map"}`)
	count(t, p, "in", 100)
	serve(t, p, "decode", 1, func(Work) Given { return Given{Failed: true, Error: trace} })
	_, err := p.Get(watchdog)
	want := `pipeline: "test": stage "decode": ` + trace
	if err == nil || err.Error() != want {
		t.Errorf("get: %.100v, want the stage and the whole text", err)
	}
	if err := p.Wait(watchdog); err == nil || err.Error() != want || p.Failure() != want {
		t.Errorf("wait: %.100v, want the same", err)
	}
}

func TestEveryItemGivenIsGotTakenOrReclaimed(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "some", "kind": "map", "concurrency": 3, "failures": {"max_count": -1}},
		{"name": "five", "kind": "aggregate", "n": 5}`)
	wait := []func(){count(t, p, "in", 1_000_000), serve(t, p, "some", 3, func(w Work) Given {
		if w.Items.item%3 == 0 {
			return Given{Failed: true, Error: "a third"}
		}
		return Given{Items: []uint64{w.Items.item + 1<<40}}
	})}
	got := 0
	for range 100 {
		w, err := p.Get(watchdog)
		if err != nil {
			t.Fatal(err)
		}
		got += w.Items.Len()
	}
	p.Stop()
	if _, err := p.Get(watchdog); !errors.Is(err, ErrEndData) {
		t.Errorf("get after stop: %v, want the end of the data", err)
	}
	for _, w := range wait {
		w()
	}
	if err := p.Wait(watchdog); err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for _, item := range reclaimed(p) {
		if item%(1<<40)%3 == 0 && item >= 1<<40 || seen[item] {
			t.Fatalf("item %d was reclaimed though it never was, or twice", item)
		}
		seen[item] = true
	}
	if len(seen) == 0 {
		t.Error("nothing was reclaimed, want the failed items at least")
	}
}

func TestAWorkGivenTwiceOrElsewhereIsRefused(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "a", "kind": "map"}, {"name": "b", "kind": "map"}`)
	w := take(t, p, "in")
	if err := give(p, "a", w, Given{Skip: true}); !errors.Is(err, ErrMisuse) {
		t.Errorf("given to another stage: %v, want a misuse", err)
	}
	if err := give(p, "in", w, Given{Items: []uint64{7}}); err != nil {
		t.Fatal(err)
	}
	if err := give(p, "in", w, Given{Items: []uint64{7}}); !errors.Is(err, ErrMisuse) {
		t.Errorf("given twice: %v, want a misuse", err)
	}
	if err := p.Give(9, 0, 1, Given{Skip: true}); !errors.Is(err, ErrArgument) {
		t.Errorf("given to stage 9: %v, want a bad argument", err)
	}
	if got := reclaimed(p); len(got) != 0 {
		t.Errorf("refused gives dropped %v, want nothing changed", got)
	}
}

func TestAGiveThatDoesNotFitItsStageIsRefusedAndChangesNothing(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "a", "kind": "map"}`)
	w := take(t, p, "in")
	if err := give(p, "in", w, Given{Items: []uint64{1}}); err != nil {
		t.Fatal(err)
	}
	w = take(t, p, "a")
	for _, g := range []Given{
		{}, {End: true}, {Skip: true, Items: []uint64{1}}, {Failed: true, Items: []uint64{1}}, {Failed: true, More: true},
		{Items: []uint64{1}, Path: 1}, {Items: []uint64{1}, Paths: []int32{0}}, {Skip: true, List: true},
	} {
		if err := give(p, "a", w, g); !errors.Is(err, ErrMisuse) {
			t.Errorf("%+v: %v, want a misuse", g, err)
		}
	}
	if err := give(p, "a", w, Given{Items: []uint64{5}}); err != nil {
		t.Errorf("the work is not out any more: %v", err)
	}
	if w, err := p.Get(watchdog); err != nil || w.Items.item != 5 {
		t.Errorf("got %v, %v, want 5", w.Items, err)
	}
}

func TestAThreadThatEndsWithAWorkEndsThePipelineByName(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "decode", "kind": "map"}`)
	w := take(t, p, "in")
	if err := give(p, "in", w, Given{Items: []uint64{7}}); err != nil {
		t.Fatal(err)
	}
	thread := newThread()
	n, _ := p.Stage("decode")
	if _, err := p.Take(n, watchdog, thread); err != nil {
		t.Fatal(err)
	}
	p.ThreadEnded(thread.Number + 1000)
	p.ThreadEnded(thread.Number)
	_, err := p.Get(watchdog)
	want := fmt.Sprintf(`pipeline: "test": stage "decode": thread %d ended with a work in hand; give each work back before its thread ends`, thread.TID)
	if err == nil || err.Error() != want {
		t.Errorf("get: %v, want %s", err, want)
	}
	if got := fmt.Sprint(reclaimed(p)); got != "[7]" {
		t.Errorf("reclaimed %s, want the item in the thread's hands", got)
	}
}

func TestAWaitInVainNamesTheWorksThatAreOut(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "decode", "kind": "map"}`)
	if err := p.Wait(0); !errors.Is(err, ErrTimeout) {
		t.Errorf("wait: %v, want a timeout", err)
	}
	n, _ := p.Stage("in")
	thread := newThread()
	w, err := p.Take(n, watchdog, thread)
	if err != nil {
		t.Fatal(err)
	}
	p.Stop()
	err = p.Wait(time.Millisecond)
	if want := fmt.Sprintf(`taken by thread %d`, thread.TID); !errors.Is(err, ErrTimeout) || !contains(err.Error(), `stage "in"`, want) {
		t.Errorf("wait: %v, want the stage and %q", err, want)
	}
	if err := p.Free(); !errors.Is(err, ErrBusy) {
		t.Errorf("free: %v, want busy", err)
	}
	if err := give(p, "in", w, Given{Items: []uint64{3}}); !errors.Is(err, ErrEndData) {
		t.Errorf("give after stop: %v, want the end of the data", err)
	}
	if got := fmt.Sprint(reclaimed(p)); got != "[3]" {
		t.Errorf("reclaimed %s, want what was given too late", got)
	}
}

// The thread that waits in a give is named by its number, too: it is its queue that nobody empties.
func TestAWaitInVainNamesTheThreadThatCannotGive(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source", "buffer": 1}, {"name": "out", "kind": "map"}`)
	n, _ := p.Stage("in")
	thread := newThread()
	given := make(chan error)
	go func() {
		w, err := p.Take(n, watchdog, thread)
		if err == nil {
			err = give(p, "in", w, Given{Items: []uint64{1, 2, 3}})
		}
		given <- err
	}()
	want := `stage "in": a work waits to be given for `
	taken := fmt.Sprintf("taken by thread %d", thread.TID)
	for until := time.Now().Add(watchdog); ; {
		err := p.Wait(time.Millisecond)
		if contains(err.Error(), want, taken) {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("wait: %v, want %q and %q", err, want, taken)
		}
	}
	if got := p.Stats(); !contains(got, fmt.Sprintf(`"thread":%d`, thread.TID)) {
		t.Errorf("stats %s, want thread %d", got, thread.TID)
	}
	p.Stop()
	if err := <-given; !errors.Is(err, ErrEndData) {
		t.Errorf("give: %v, want the end of the data", err)
	}
	p.ThreadEnded(thread.Number)
	if err := p.Wait(watchdog); err != nil {
		t.Errorf("wait: %v", err)
	}
}

func TestARetryOffersTheSameItemAgain(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "flaky", "kind": "map", "retries": {"max": 2, "backoff_ms": 1}}`)
	count(t, p, "in", 4)
	serve(t, p, "flaky", 1, func(w Work) Given {
		if w.Attempt < 3 {
			return Given{Failed: true, Error: "not yet"}
		}
		return Given{Items: []uint64{w.Items.item*10 + uint64(w.Attempt)}}
	})
	if got, want := fmt.Sprint(results(t, p)), "[[3] [13] [23] [33]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAFinalErrorIsNotRetriedAndAFatalOneNotForgiven(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"},
		{"name": "flaky", "kind": "map", "retries": {"max": 5, "backoff_ms": 1}, "failures": {"max_count": -1}}`)
	count(t, p, "in", 3)
	serve(t, p, "flaky", 1, func(w Work) Given {
		switch {
		case w.Attempt > 1:
			t.Error("a final failure came again")
		case w.Items.item == 2:
			return Given{Failed: true, Fatal: true, Error: "fatal"}
		}
		return Given{Failed: true, Final: true, Error: "final"}
	})
	if _, err := p.Get(watchdog); err == nil || !contains(err.Error(), `stage "flaky": fatal`) {
		t.Errorf("get: %v, want the fatal failure", err)
	}
}

func TestAnEpochEndsInItsPlace(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "four", "kind": "aggregate", "n": 4}`, `"continuous": true`)
	given := 0
	serve(t, p, "in", 1, func(w Work) Given {
		given++
		return Given{Items: []uint64{uint64(given)}, End: given%6 == 0}
	})
	var got []string
	for len(got) < 6 {
		w, err := p.Get(watchdog)
		switch {
		case errors.Is(err, ErrEndEpoch):
			got = append(got, "end")
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, fmt.Sprint(w.Epoch, items(w)))
		}
	}
	if want := []string{"0 [1 2 3 4]", "0 [5 6]", "end", "1 [7 8 9 10]", "1 [11 12]", "end"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnAggregatorOfTheHostSeesTheEnd(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "sum", "kind": "aggregator"}`)
	count(t, p, "in", 10)
	var sum uint64
	serve(t, p, "sum", 1, func(w Work) Given {
		if w.Kind == int(pipeline.WorkFlush) {
			return Given{Items: []uint64{sum}}
		}
		sum += w.Items.item
		return Given{Skip: true}
	})
	if got := fmt.Sprint(results(t, p)); got != "[[45]]" {
		t.Errorf("got %s, want [[45]]", got)
	}
}

func TestWorksOfAStageThatAreOutHaveDifferentWorkers(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source", "concurrency": 8}`)
	seen := map[int]bool{}
	var out []Work
	for range 8 {
		w := take(t, p, "in")
		if seen[w.Worker] || w.Worker >= 8 {
			t.Fatalf("worker %d, want one below 8 that no other has", w.Worker)
		}
		seen[w.Worker] = true
		out = append(out, w)
	}
	n, _ := p.Stage("in")
	if _, err := p.Take(n, 0, newThread()); !errors.Is(err, ErrTimeout) {
		t.Errorf("a ninth take: %v, want a timeout", err)
	}
	for _, w := range out {
		if err := give(p, "in", w, Given{Skip: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// tens serves a stage that multiplies by ten, lists too, and fails on multiples of seven.
func tens(t *testing.T, p *Pipeline, stage string, add uint64) {
	serve(t, p, stage, 1, func(w Work) Given {
		g := Given{List: w.Items.IsList()}
		for _, item := range items(w) {
			if item%7 == 6 {
				return Given{Failed: true, Error: "a seven"}
			}
			g.Items = append(g.Items, item*10+add)
		}
		return g
	})
}

func TestARouterChoosesThePathOfEachItem(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "router", "kind": "variants", "output": "input", "paths": [
		[{"name": "even", "kind": "map", "failures": {"max_count": -1}}], [{"name": "odd", "kind": "map"}], []]}`)
	count(t, p, "in", 10)
	serve(t, p, "router", 1, func(w Work) Given {
		path := int(w.Items.item % 2)
		if w.Items.item == 5 {
			path = 2
		}
		return Given{Items: items(w), Path: path}
	})
	tens(t, p, "even", 0)
	tens(t, p, "odd", 1)
	if got, want := fmt.Sprint(results(t, p)), "[[0] [11] [20] [31] [40] [5] [71] [80] [91]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := fmt.Sprint(reclaimed(p)); got != "[6]" {
		t.Errorf("reclaimed %s, want the failed item", got)
	}
}

func TestARouterOfListsChoosesThePathOfEachElement(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "four", "kind": "aggregate", "n": 4},
		{"name": "router", "kind": "variants", "batched": true, "paths": [
		[{"name": "even", "kind": "map", "failures": {"max_count": -1}}], [{"name": "odd", "kind": "map"}]]}`)
	count(t, p, "in", 10)
	serve(t, p, "router", 1, func(w Work) Given {
		g := Given{Items: items(w), List: true}
		for _, item := range g.Items {
			g.Paths = append(g.Paths, int32(item%2))
		}
		return g
	})
	tens(t, p, "even", 0)
	tens(t, p, "odd", 1)
	if got, want := fmt.Sprint(results(t, p)), "[[0 11 20 31] [51 71] [80 91]]"; got != want {
		t.Errorf("got %s, want %s: the failed part is missing, the rest in place", got, want)
	}
	if got := fmt.Sprint(reclaimed(p)); got != "[4 6]" {
		t.Errorf("reclaimed %s, want the failed part", got)
	}
}

func TestAListWhosePartsAllFailedComesEmptyInItsPlace(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "two", "kind": "aggregate", "n": 2},
		{"name": "router", "kind": "variants", "batched": true, "paths": [[{"name": "some", "kind": "map", "failures": {"max_count": -1}}]]}`,
		`"continuous": true`)
	next := uint64(0)
	serve(t, p, "in", 1, func(Work) Given {
		next++
		return Given{Items: []uint64{next - 1}, End: next%4 == 0}
	})
	serve(t, p, "router", 1, func(w Work) Given { return Given{Items: items(w), List: true, Paths: []int32{0, 0}} })
	tens(t, p, "some", 0)
	var got []string
	for len(got) < 6 {
		w, err := p.Get(watchdog)
		if err == nil {
			got = append(got, fmt.Sprint(w.Epoch, items(w)))
		} else if !errors.Is(err, ErrEndEpoch) {
			t.Fatal(err)
		}
	}
	// 6 and 13 fail, each with the list it is in
	if want := []string{"0 [0 10]", "0 [20 30]", "1 [40 50]", "1 []", "2 [80 90]", "2 [100 110]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStagesThatDoNotFitTogetherAreRefusedAtTheStart(t *testing.T) {
	p, err := New(`{"stages": [{"name": "in", "kind": "source"}, {"name": "router", "kind": "variants", "output": "input",
		"paths": [[{"name": "list", "kind": "aggregate", "n": 2}]]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); !errors.Is(err, ErrDescription) || !contains(err.Error(), `stage "list"`) {
		t.Errorf("start: %v, want the stage that makes one of many", err)
	}
	if err := p.Free(); err != nil {
		t.Error(err)
	}
}

func TestAPathThatIsNoneIsRefusedAndTheWorkStaysOut(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "router", "kind": "variants", "paths": [[], []]}`)
	w := take(t, p, "in")
	if err := give(p, "in", w, Given{Items: []uint64{1}}); err != nil {
		t.Fatal(err)
	}
	w = take(t, p, "router")
	for _, g := range []Given{{Items: []uint64{1}, Path: 2}, {Items: []uint64{1}, Path: -1}, {Items: []uint64{1}, Paths: []int32{0}}} {
		if err := give(p, "router", w, g); !errors.Is(err, ErrMisuse) {
			t.Errorf("%+v: %v, want a misuse", g, err)
		}
	}
	if err := give(p, "router", w, Given{Items: []uint64{1}, Path: 1}); err != nil {
		t.Error(err)
	}
}

func TestInputsAreMergedInTurn(t *testing.T) {
	p := begin(t, `{"name": "both", "kind": "merge", "policy": "round_robin", "inputs": [
		[{"name": "a", "kind": "source"}, {"name": "ten", "kind": "map"}], [{"name": "b", "kind": "source"}]]}`)
	count(t, p, "a", 3)
	tens(t, p, "ten", 0)
	count(t, p, "b", 5)
	if got, want := fmt.Sprint(results(t, p)), "[[0] [0] [10] [1] [20] [2] [3] [4]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAMergeMayEndWithItsFirstInput(t *testing.T) {
	p := begin(t, `{"name": "both", "kind": "merge", "policy": "weighted", "weights": [1, 2], "seed": 3, "stop": "first", "inputs": [
		[{"name": "a", "kind": "source"}], [{"name": "b", "kind": "source"}]]}`)
	count(t, p, "a", 4)
	count(t, p, "b", 1_000_000)
	if got := results(t, p); len(got) < 4 || len(got) > 1000 {
		t.Errorf("%d results, want those until the short input had ended", len(got))
	}
	if err := p.Wait(watchdog); err != nil {
		t.Error(err)
	}
}

func TestAPipelineStartsOnce(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}`)
	if err := p.Start(); !errors.Is(err, ErrBusy) {
		t.Errorf("second start: %v, want busy", err)
	}
	if _, err := p.Stage("inn"); !errors.Is(err, ErrNotFound) || !contains(err.Error(), `did you mean "in"?`) {
		t.Errorf("unknown stage: %v, want the nearest", err)
	}
	stopped, err := New(`{"stages": [{"name": "in", "kind": "source"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	stopped.Stop()
	if err := stopped.Start(); !errors.Is(err, ErrBusy) {
		t.Errorf("start after stop: %v, want busy", err)
	}
	n, _ := stopped.Stage("in")
	if _, err := stopped.Take(n, watchdog, newThread()); !errors.Is(err, ErrEndData) {
		t.Errorf("take after stop: %v, want the end of the data", err)
	}
	if err := stopped.Free(); err != nil {
		t.Error(err)
	}
}

func TestAFailureBudgetForgivesSoMany(t *testing.T) {
	p := begin(t, `{"name": "in", "kind": "source"}, {"name": "some", "kind": "map", "failures": {"max_count": 2}}`)
	count(t, p, "in", 10)
	serve(t, p, "some", 1, func(w Work) Given {
		if w.Items.item%3 == 0 {
			return Given{Failed: true, Error: fmt.Sprintf("item %d", w.Items.item)}
		}
		return Given{Items: items(w)}
	})
	for {
		_, err := p.Get(watchdog)
		if err == nil {
			continue
		}
		if !contains(err.Error(), "items failed, want at most 2; the last: item 6") {
			t.Errorf("get: %v, want the budget and the last failure", err)
		}
		break
	}
	if err := p.Wait(watchdog); err == nil {
		t.Error("wait: nil, want the failure")
	}
	if got := reclaimed(p); !slices.Contains(got, 0) || !slices.Contains(got, 3) || !slices.Contains(got, 6) {
		t.Errorf("reclaimed %v, want the failed items in it", got)
	}
}

func contains(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
