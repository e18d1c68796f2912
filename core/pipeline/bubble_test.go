//go:build go1.25

package pipeline

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs body where time is virtual: it moves when all goroutines wait, and at once. So what pauses takes turns by the seed and not
// by the machine, waits that nothing will end are a deadlock there and then, and body has not ended before all its goroutines have.
func bubble(t *testing.T, body func(t *testing.T)) { synctest.Test(t, body) }

// Threads of a host that find nothing to do rest, also while a last item may still be tried again: they woke each other for ever.
func TestIdleTakersRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := New("idle")
		l := &ledger{}
		x, out := ExternalMap[int, int](l.from(p, 1), ExternalOptions[int]{Name: "slow", Concurrency: 3, Retry: Retry{Max: 1}})
		results := Pull(out, ResultsOptions{Name: "out"})
		served := hosts(3, x, func(w Work[int]) {
			time.Sleep(time.Second) // which never passes while anybody runs
			must(t, x.Give(w.Token, Result[int]{Value: w.Item}))
		})
		start(t, p)
		if got := fetch(t, results); len(got) != 1 {
			t.Errorf("got %v, want the one item", got)
		}
		must(t, wait(t, p))
		served.Wait()
	})
}

func pause(moments int) { time.Sleep(time.Duration(moments) * time.Microsecond) }

// An endless source of a host: each epoch has items numbers, which go on, and the run is drained after epochs of them.
type plan struct{ epochs, items int }

func (pl plan) serve(t *testing.T, p *Pipeline, src *External[struct{}, int]) *sync.WaitGroup {
	made := 0
	return hosts(1, src, func(w Work[struct{}]) {
		if made == pl.epochs*pl.items {
			p.Drain()
			must(t, src.Give(w.Token, Result[int]{Skip: true}))
			return
		}
		made++
		must(t, src.Give(w.Token, Result[int]{Value: made - 1, End: made%pl.items == 0}))
	})
}

// A work that waits for its next try gets a thread, though ends of later epochs have no room before it has ended: the threads
// waited for that room, as many as there were, and nobody was left to take it.
func TestARetryIsTakenWhileEndsOfEpochsWait(t *testing.T) {
	for _, order := range []Order{Completion, Input} {
		for _, threads := range []int{1, 2, 4} {
			bubble(t, func(t *testing.T) {
				p := New("t")
				src, items := ExternalSource(p, ExternalOptions[int]{Name: "plan", Continuous: true})
				x, out := ExternalMap(items, ExternalOptions[int]{
					Name: "host", Concurrency: threads, Output: order, Buffer: 1, Retry: Retry{Max: 1, Base: time.Millisecond},
				})
				r := Pull(out, ResultsOptions{Name: "out", Buffer: 1})
				start(t, p)
				made := plan{epochs: 40, items: 1}.serve(t, p, src)
				served := hosts(threads, x, func(w Work[int]) {
					if w.Item%7 == 0 && w.Attempt == 1 {
						must(t, x.Give(w.Token, Result[int]{Err: errBoom}))
						return
					}
					must(t, x.Give(w.Token, Result[int]{Value: w.Item}))
				})
				checkEpochs(t, fetch(t, r), 40, 1, true)
				made.Wait()
				served.Wait()
				must(t, wait(t, p))
			})
		}
	}
}

// A source's work that waits for its next try gets a thread, though the ends of epochs behind it wait for it.
func TestARetryOfASourceIsTakenWhileItsEpochsWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := New("t")
		src, items := ExternalSource(p, ExternalOptions[int]{
			Name: "plan", Continuous: true, Concurrency: 2, Buffer: 1, Retry: Retry{Max: 1, Base: time.Millisecond},
		})
		r := Pull(items, ResultsOptions{Name: "out"})
		start(t, p)
		var failed atomic.Bool
		made := hosts(2, src, func(w Work[struct{}]) {
			switch {
			case w.Epoch == 20:
				p.Drain()
				must(t, src.Give(w.Token, Result[int]{Skip: true}))
			case failed.CompareAndSwap(false, true):
				must(t, src.Give(w.Token, Result[int]{Err: errBoom}))
			default:
				time.Sleep(time.Microsecond) // so that the other thread fails in the same epoch
				must(t, src.Give(w.Token, Result[int]{Skip: w.Attempt == 1, End: w.Attempt == 1}))
			}
		})
		if got := fetch(t, r); len(got) != 21 || got[0] != 0 {
			t.Errorf("got %v, want a 0 and 20 ends of epochs", got)
		}
		made.Wait()
		must(t, wait(t, p))
	})
}

// Threads fewer than the works that may be out do not all end up behind a work that waits for its next try.
func TestARetryIsTakenByFewerThreadsThanWorks(t *testing.T) {
	for _, order := range []Order{Completion, Input} {
		for _, each := range []int{2, 100} {
			bubble(t, func(t *testing.T) {
				p := New("t")
				src, items := ExternalSource(p, ExternalOptions[int]{Name: "plan", Continuous: true})
				x, out := ExternalMap(items, ExternalOptions[int]{
					Name: "host", Concurrency: 3, Output: order, Retry: Retry{Max: 1, Base: time.Millisecond},
				})
				r := Pull(out, ResultsOptions{Name: "out", Buffer: 1})
				start(t, p)
				made := plan{epochs: 200 / each, items: each}.serve(t, p, src)
				served := hosts(1, x, func(w Work[int]) {
					if w.Item%9 == 0 && w.Attempt == 1 {
						must(t, x.Give(w.Token, Result[int]{Err: errBoom}))
						return
					}
					must(t, x.Give(w.Token, Result[int]{Value: w.Item}))
				})
				checkEpochs(t, fetch(t, r), 200/each, each, order == Input)
				made.Wait()
				served.Wait()
				must(t, wait(t, p))
			})
		}
	}
}
