package hosted

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spdl/spdl/core/pipeline"
)

// A ledger knows every item that lives, and that each ends once.
type ledger struct {
	t     *testing.T
	mu    sync.Mutex
	last  uint64
	alive map[uint64]bool
}

func (l *ledger) mint(n int) (items []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		l.last++
		l.alive[l.last] = true
		items = append(items, l.last)
	}
	return items
}

func (l *ledger) end(items []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, item := range items {
		if !l.alive[item] {
			l.t.Errorf("item %d ended twice, or never was", item)
		}
		delete(l.alive, item)
	}
}

// A builder of random pipelines whose single items and lists follow each other as they must.
type random struct {
	*rand.Rand
	names []string // of the host's stages, with the threads each wants
	wants []int
	n     int
}

func (r *random) name(threads int) string {
	r.n++
	name := fmt.Sprintf("s%d", r.n)
	if threads > 0 {
		r.names, r.wants = append(r.names, name), append(r.wants, threads)
	}
	return name
}

// hosted are the keys of a stage of the host's. Where a path must give one result for each item nothing may be lost for good.
func (r *random) hosted(threads int) string {
	text := fmt.Sprintf(`"concurrency": %d, "buffer": %d, "failures": {"max_count": -1}`, threads, 1+r.IntN(3))
	if r.IntN(2) == 0 {
		text += `, "output": "input"`
	}
	if r.IntN(3) == 0 {
		text += fmt.Sprintf(`, "retries": {"max": %d, "backoff_ms": 1}`, r.IntN(3))
	}
	if r.IntN(6) == 0 {
		text += `, "deadline_ms": 3`
	}
	return text
}

func (r *random) source() string {
	threads := 1 + r.IntN(2)
	name := r.name(threads)
	return fmt.Sprintf(`{"name": %q, "kind": "source", "concurrency": %d}`, name, threads)
}

func (r *random) stages() string {
	all := []string{r.source()}
	if r.IntN(4) == 0 {
		policy := []string{"arrival", "round_robin"}[r.IntN(2)]
		all[0] = fmt.Sprintf(`{"name": %q, "kind": "merge", "policy": %q, "stop": %q, "inputs": [[%s], [%s]]}`, r.name(0), policy,
			[]string{"all", "first"}[r.IntN(2)], all[0], r.source())
	}
	lists := false
	for range 1 + r.IntN(4) {
		threads := 1 + r.IntN(3)
		switch k := r.IntN(6); {
		case k == 0 && !lists:
			all = append(all, fmt.Sprintf(`{"name": %q, "kind": "aggregate", "n": %d, "drop_last": %v}`, r.name(0), 1+r.IntN(4), r.IntN(2) == 0))
			lists = true
		case k == 0:
			all = append(all, fmt.Sprintf(`{"name": %q, "kind": "disaggregate"}`, r.name(0)))
			lists = false
		case k == 1:
			name := r.name(threads)
			path := func() string {
				threads := 1 + r.IntN(2)
				return fmt.Sprintf(`[{"name": %q, "kind": "map", %s}]`, r.name(threads)+"p", r.hosted(threads))
			}
			all = append(all, fmt.Sprintf(`{"name": %q, "kind": "variants", "batched": %v, %s, "paths": [%s, %s]}`, name, lists,
				r.hosted(threads), path(), path()))
			for i, n := range r.names { // paths have names of their own, which end in p
				if strings.Contains(all[len(all)-1], fmt.Sprintf("%q", n+"p")) {
					r.names[i] = n + "p"
				}
			}
		case k == 2:
			all = append(all, fmt.Sprintf(`{"name": %q, "kind": "aggregator", "failures": {"max_count": -1}}`, r.name(1)))
		default:
			all = append(all, fmt.Sprintf(`{"name": %q, "kind": "map", %s}`, r.name(threads), r.hosted(threads)))
		}
	}
	return strings.Join(all, ", ")
}

// answer is what a thread gives for a work; what it has of new items is in the ledger.
func (l *ledger) answer(r *rand.Rand, s *stage, w Work, sourceEnds int) Given {
	if w.Kind == int(pipeline.WorkSource) {
		if r.IntN(sourceEnds) == 0 {
			return Given{End: true}
		}
		return Given{Items: l.mint(1 + r.IntN(3))}
	}
	inPath, n := strings.HasSuffix(s.name, "p"), w.Items.Len()
	switch k := r.IntN(12); {
	case w.Kind == int(pipeline.WorkFlush):
		return Given{Skip: true}
	case k == 0:
		return Given{Failed: true, Error: "bad luck", Final: r.IntN(2) == 0}
	case k == 1 && !inPath && s.kind != KindVariants:
		return Given{Skip: true}
	}
	if s.kind == KindVariants || inPath || w.Items.IsList() {
		g := Given{Items: l.mint(n), List: w.Items.IsList()}
		if s.batched {
			for range n {
				g.Paths = append(g.Paths, int32(r.IntN(2)))
			}
		} else if s.kind == KindVariants {
			g.Path = r.IntN(2)
		}
		return g
	}
	return Given{Items: l.mint(1 + r.IntN(3))}
}

// work is the life of one thread of a stage; now and then one dies with a work in hand.
func (l *ledger) work(p *Pipeline, number int, seed uint64, dies bool, sourceEnds int) {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	thread, s := newThread(), p.stages[number]
	for {
		w, err := p.Take(number, Forever, thread)
		if err != nil {
			if !errors.Is(err, ErrEndData) {
				l.t.Errorf("seed %d: take: %v", seed, err)
			}
			return
		}
		if r.IntN(8) == 0 {
			time.Sleep(time.Duration(r.IntN(int(2 * time.Millisecond))))
		}
		if dies && r.IntN(20) == 0 {
			p.ThreadEnded(thread.Number)
			return
		}
		given := l.answer(r, s, w, sourceEnds)
		if !given.Failed {
			l.end(items(w))
		}
		err = p.Give(number, w.Worker, w.Token, given)
		if err != nil && !errors.Is(err, ErrEndData) && !errors.Is(err, ErrTimeout) {
			l.t.Errorf("seed %d: give to %q: %v", seed, s.name, err)
		}
	}
}

// TestEveryItemEndsOnceWhateverThePipeline runs random pipelines with random threads to random ends: each item that was
// made is used up, got or reclaimed, and the pipeline ends.
func TestEveryItemEndsOnceWhateverThePipeline(t *testing.T) {
	for seed := range uint64(150) {
		r := &random{Rand: rand.New(rand.NewPCG(seed, 7))}
		text := `{"stages": [` + r.stages() + `]}`
		p, err := New(text)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		if err := p.Start(); err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		l := &ledger{t: t, alive: map[uint64]bool{}}
		var threads sync.WaitGroup
		dies, ends := r.IntN(4) == 0, []int{10, 60, 1 << 20}[r.IntN(3)]
		for i, name := range r.names {
			number, err := p.Stage(name)
			if err != nil {
				t.Fatal(err)
			}
			for k := range r.wants[i] {
				threads.Add(1)
				go func() {
					defer threads.Done()
					l.work(p, number, seed<<8|uint64(k), dies, ends)
				}()
			}
		}
		for range r.IntN(60) {
			w, err := p.Get(watchdog)
			if err != nil {
				break
			}
			l.end(items(w))
		}
		if r.IntN(3) == 0 {
			p.Drain()
			for {
				w, err := p.Get(watchdog)
				if err != nil {
					break
				}
				l.end(items(w))
			}
		}
		p.Stop()
		if err := p.Wait(watchdog); errors.Is(err, ErrTimeout) {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		threads.Wait()
		l.end(reclaimed(p))
		if len(l.alive) > 0 {
			t.Fatalf("seed %d: %d items of %d lost in %s", seed, len(l.alive), l.last, text)
		}
		if err := p.Free(); err != nil {
			t.Fatal(err)
		}
	}
}
