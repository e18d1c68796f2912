//go:build go1.25

package pipeline

import (
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
