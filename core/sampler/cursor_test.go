package sampler

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

type at struct{ epoch, step int64 }

func mustCursor(t testing.TB, o *Order, s *State) *Cursor {
	t.Helper()
	c, err := NewCursor(o, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func drain(c *Cursor) (steps []at) {
	for {
		e, s, ok := c.Next()
		if !ok {
			return steps
		}
		steps = append(steps, at{e, s})
	}
}

// Whatever was completed before a cut, and however often training is cut, what follows is the rest: all of it, once,
// in the planned order, and the samples are the same at another world size.
func TestResumeDeliversExactlyTheRestInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		cfg := Config{N: 1 + r.Int64N(200), Batch: 12, World: 1, Shuffle: true, Seed: r.Uint64(), Epochs: 1 + r.Int64N(4), SourceHash: "ab", OrderHash: "cd"}
		o := mustNew(t, cfg)
		planned := drain(mustCursor(t, o, nil))
		if int64(len(planned)) != cfg.Epochs*o.StepsPerEpoch() {
			t.Fatalf("%d steps planned", len(planned))
		}
		done := map[at]bool{}
		var state *State
		for range 1 + r.IntN(4) { // cuts
			c := mustCursor(t, o, state)
			for range r.IntN(len(planned) + 2) {
				e, s, ok := c.Next()
				if !ok {
					break
				}
				if done[at{e, s}] {
					t.Fatalf("step %v delivered after it was completed", at{e, s})
				}
				if r.IntN(3) > 0 { // else: in flight at the cut
					if err := c.Complete(e, s); err != nil {
						t.Fatal(err)
					}
					done[at{e, s}] = true
				}
			}
			parsed, err := ParseState(c.State().JSON())
			if err != nil {
				t.Fatal(err)
			}
			state = &parsed
			world := []int{1, 2, 3, 4, 6, 12}[r.IntN(6)]
			cfg.Batch, cfg.World = 12/world, world
			o = mustNew(t, cfg)
		}
		want := slices.DeleteFunc(slices.Clone(planned), func(a at) bool { return done[a] })
		if got := drain(mustCursor(t, o, state)); !slices.Equal(got, want) {
			t.Fatalf("%+v: after %s: got %v, want %v", cfg, state.JSON(), got, want)
		}
	}
}

// Every single cut point of a run, everything before it completed, resumes at exactly that step, and twice gives the same.
func TestEveryCutPointResumesInPlace(t *testing.T) {
	o := mustNew(t, Config{N: 500, Batch: 3, World: 1, Epochs: 3})
	planned := drain(mustCursor(t, o, nil))
	c := mustCursor(t, o, nil)
	for i := range planned {
		s := c.State()
		for range 2 {
			if got := drain(mustCursor(t, o, &s)); !slices.Equal(got, planned[i:]) {
				t.Fatalf("cut %d: starts with %v, want %v", i, got[:1], planned[i])
			}
		}
		if e, st, ok := c.Next(); !ok || (at{e, st}) != planned[i] || c.Complete(e, st) != nil {
			t.Fatalf("cut %d", i)
		}
	}
	end := c.State()
	if end.Epoch != 3 || end.Step != 0 || len(drain(mustCursor(t, o, &end))) != 0 {
		t.Fatalf("the end: %+v", end)
	}
}

// Completions may run ahead into the next epoch; the account stays small and exact.
func TestCompletionsAcrossAnEpochBorder(t *testing.T) {
	o := mustNew(t, Config{N: 10, Batch: 5, World: 1})
	c := mustCursor(t, o, nil)
	for range 5 {
		c.Next()
	}
	for _, a := range []at{{1, 1}, {0, 1}, {2, 0}} {
		if err := c.Complete(a.epoch, a.step); err != nil {
			t.Fatal(err)
		}
	}
	s := c.State()
	if s.Epoch != 0 || s.Step != 0 || !slices.Equal(s.Done, []int64{1, 3, 4}) {
		t.Fatalf("%+v", s)
	}
	again := mustCursor(t, o, &s)
	for _, want := range []at{{0, 0}, {1, 0}, {2, 1}, {3, 0}} {
		if e, st, ok := again.Next(); !ok || (at{e, st}) != want {
			t.Fatalf("got %d %d, want %v", e, st, want)
		}
	}
	if err := c.Complete(0, 0); err != nil {
		t.Fatal(err)
	}
	if s = c.State(); s.Epoch != 1 || s.Step != 0 || !slices.Equal(s.Done, []int64{1, 2}) {
		t.Fatalf("%+v", s)
	}
	if s2 := o.State(0, []int64{4, 0, 3, 1, 3}); string(s2.JSON()) != string(s.JSON()) {
		t.Fatalf("counted elsewhere: %s, here %s", s2.JSON(), s.JSON())
	}
}

// Complete refuses what was never handed out and what is completed, and changes nothing by it.
func TestCompleteRefusesTwiceAndUnplanned(t *testing.T) {
	o := mustNew(t, Config{N: 10, Batch: 5, World: 1})
	c := mustCursor(t, o, nil)
	c.Next()
	c.Next()
	c.Next()
	for _, a := range []at{{0, 0}, {1, 0}} {
		if err := c.Complete(a.epoch, a.step); err != nil {
			t.Fatal(err)
		}
		if err := c.Complete(a.epoch, a.step); !errors.Is(err, ErrCompleted) {
			t.Fatalf("twice: %v", err)
		}
	}
	before := string(c.State().JSON())
	for _, a := range []at{{1, 1}, {2, 0}, {-1, 0}, {0, -1}, {0, 2}, {1 << 62, 0}} {
		if err := c.Complete(a.epoch, a.step); !errors.Is(err, ErrNotPlanned) {
			t.Fatalf("%v: %v", a, err)
		}
	}
	if after := string(c.State().JSON()); after != before {
		t.Fatalf("%s became %s", before, after)
	}
}

// Skip counts the rest of an epoch as completed, and never goes back.
func TestSkipStartsTheNextEpoch(t *testing.T) {
	o := mustNew(t, Config{N: 10, Batch: 2, World: 1})
	c := mustCursor(t, o, nil)
	c.Next()
	c.Next()
	c.Skip(1)
	if err := c.Complete(0, 1); !errors.Is(err, ErrCompleted) {
		t.Fatalf("a skipped step: %v", err)
	}
	c.Skip(0)
	if s := c.State(); s.Epoch != 1 || s.Step != 0 {
		t.Fatalf("%+v", s)
	}
	if e, s, ok := c.Next(); !ok || e != 1 || s != 0 {
		t.Fatalf("next %d %d", e, s)
	}
}

// The planner and the reaper may use one cursor at the same time.
func TestCursorIsSafeForConcurrentUse(t *testing.T) {
	o := mustNew(t, Config{N: 1000, Batch: 1, World: 1, Epochs: 2})
	c := mustCursor(t, o, nil)
	queue := make(chan at, 64)
	var workers sync.WaitGroup
	for range 4 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for a := range queue {
				if err := c.Complete(a.epoch, a.step); err != nil {
					t.Error(err)
				}
				c.State()
			}
		}()
	}
	for _, a := range drain(c) {
		queue <- a
	}
	close(queue)
	workers.Wait()
	if s := c.State(); s.Epoch != 2 || s.Step != 0 || len(s.Done) != 0 {
		t.Fatalf("%+v", s)
	}
}

// A state of another run is refused by name of everything that differs, with the remedy for a batch.
func TestStateOfAnotherRunIsRefused(t *testing.T) {
	base := Config{N: 100, Batch: 4, World: 2, Shuffle: true, Seed: 1, SourceHash: "aa", OrderHash: "cc"}
	s := mustCursor(t, mustNew(t, base), nil).State()
	for want, edit := range map[string]func(*Config){
		"samples 100, now 101":    func(c *Config) { c.N = 101 },
		"seed 1, now 2":           func(c *Config) { c.Seed = 2 },
		"shuffle true, now false": func(c *Config) { c.Shuffle = false },
		"last cover, now pad":     func(c *Config) { c.Last = Pad },
		"source aa, now bb":       func(c *Config) { c.SourceHash = "bb" },
		"order (filter, weights, mix and so on, or what their columns say) cc, now dd": func(c *Config) { c.OrderHash = "dd" },
		"global batch 8, now 16; set batch: 2":                                         func(c *Config) { c.World = 4 },
		"global batch 8, now 12; choose a world size that div":                         func(c *Config) { c.World = 3 },
		"samples 100, now 99; seed 1, now 3":                                           func(c *Config) { c.N, c.Seed = 99, 3 },
	} {
		c := base
		edit(&c)
		if _, err := NewCursor(mustNew(t, c), &s); !errors.Is(err, ErrStateMismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for want, edit := range map[string]func(*State){
		"step: got 13": func(s *State) { s.Step = 13 }, // 13 steps: 0 to 12
		"epoch: got 4": func(s *State) { s.Epoch = 1 << 62 },
		"done: got 0":  func(s *State) { s.Done = []int64{0} },
		"version: got": func(s *State) { s.Version = 2 },
	} {
		bad := s
		edit(&bad)
		if _, err := NewCursor(mustNew(t, base), &bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// Where a state and a run both know which samples they are of, that decides, and not where the description looks for them. Else the
// description's source does, as it did before there was data in states.
func TestStateOfOtherSamplesIsRefused(t *testing.T) {
	base := Config{N: 100, Batch: 4, World: 2, Seed: 1, SourceHash: "aa", Data: DataOf(1, 2, 3)}
	s := mustCursor(t, mustNew(t, base), nil).State()
	for _, c := range []struct {
		source string
		data   Data
		want   string // "": accepted
	}{
		{"bb", DataOf(1, 2, 3), ""},
		{"aa", DataOf(4, 2, 3), "other samples under the same description, or another order of them, by their names (hash 00000000, now 00000000)"},
		{"bb", DataOf(4, 2, 3), "it has other samples, or another order"},
		{"aa", DataOf(1, 4, 3), "it has other labels or classes of the same samples"},
		{"aa", DataOf(4, 4, 3), "by their names (hash 00000000, now 00000000); go on with the data set that it was saved with, or begin anew"},
		{"aa", DataOf(1, 2, 4), "it has other weights of source.mix"},
		{"aa", DataOf(1, 2, 0), "other weights of source.mix (hash 00000000, now none)"},
		{"aa", "", ""},
		{"bb", "", "source aa, now bb"},
		{"aa", "2:00", ""},
		{"bb", "2:00", "source aa, now bb"},
	} {
		now := base
		now.SourceHash, now.Data = c.source, c.data
		_, err := NewCursor(mustNew(t, now), &s)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrStateMismatch) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: want %q, got %v", c.source, c.data, c.want, err)
		}
	}
	more := base
	more.N, more.Data = 101, DataOf(4, 5, 6)
	if _, err := NewCursor(mustNew(t, more), &s); err == nil || !strings.HasSuffix(err.Error(), "it has samples 100, now 101") {
		t.Errorf("got %v, want the number of samples alone", err)
	}
	old := s
	old.Data = ""
	if _, err := NewCursor(mustNew(t, base), &old); err != nil {
		t.Errorf("a state without data: %v", err)
	}
}

// A state is a few hundred bytes and reads back as itself.
func TestStateIsSmallAndReadsBack(t *testing.T) {
	o := mustNew(t, Config{N: 1 << 61, Batch: 1024, World: 1024, Seed: 1<<64 - 1, Shuffle: true, SourceHash: strings.Repeat("f", 16), OrderHash: strings.Repeat("e", 16),
		Data: DataOf(1<<64-1, 1<<64-1, 1<<64-1)})
	s := o.State(1<<50, []int64{1<<50 + 1, 1<<50 + 5})
	b := s.JSON()
	if len(b) > 400 || !json.Valid(b) {
		t.Fatalf("%d bytes: %s", len(b), b)
	}
	back, err := ParseState(b)
	if err != nil || string(back.JSON()) != string(b) {
		t.Fatalf("%s, %v", back.JSON(), err)
	}
}

const goodState = `{"version":1,"epoch":1,"step":2,"done":[4,9],"seed":18446744073709551615,"n":100,"global_batch":8,` +
	`"source":"ab","order":"cd","shuffle":true,"last":"cover"}`

// ParseState refuses everything State does not write.
func TestParseStateIsStrict(t *testing.T) {
	if _, err := ParseState([]byte(goodState)); err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) string { return strings.Replace(goodState, old, new, 1) }
	if _, err := ParseState([]byte(edit(`"last":`, `"data":"1:00ff:12","last":`))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ in, want string }{
		{edit(`"last":`, `"data":"1:00FF:12","last":`), `data: got "1:00FF:12"`},
		{edit(`"last":`, `"data":null,"last":`), `key "data": got null`},
		{edit(`"last":`, `"total":-1,"last":`), "got total -1, multiple 0, global_batch 8; want a total of 0 or more"},
		{edit(`"last":`, `"total":9,"multiple":9,"last":`), "got total 9, multiple 9, global_batch 8"},
		{edit(`"last":`, `"total":1e999,"last":`), `key "total": got 1e999`},
		{edit(`"last":`, `"multiple":1.5,"last":`), `key "multiple": got 1.5`},
		{"", "want a JSON object"},
		{"[]", "want a JSON object"},
		{"null", "want a JSON object"},
		{goodState[:len(goodState)-1], "cut off"},
		{goodState[:40], `key "done"`},
		{goodState + "x", "text after"},
		{goodState + "{}", "text after"},
		{edit(`"epoch":1,`, ""), `key "epoch": missing`},
		{edit(`"epoch":1,`, `"epoch":1,"epoch":1,`), `key "epoch": unknown or given twice; pass what was saved`},
		{`{"data":` + goodState + "}", `key "data": got {"version"`},
		{`{"data":{"n":1}}`, `key "data": got {"n":1}, of a type that it never has; pass what was saved, as it was saved, and nothing around it`},
		{edit(`"epoch"`, `"Epoch"`), `key "Epoch": unknown`},
		{edit(`"epoch":1`, `"epoch":null`), `key "epoch": got null`},
		{edit(`"epoch":1`, `"epoch":1.5`), `key "epoch": got 1.5`},
		{edit(`"epoch":1`, `"epoch":"1"`), `key "epoch": got "1"`},
		{edit(`"epoch":1`, `"epoch":-1`), "got epoch -1"},
		{edit(`"step":2`, `"step":-2`), "step -2"},
		{edit(`"n":100`, `"n":0`), "n 0"},
		{edit(`"global_batch":8`, `"global_batch":0`), "global_batch 0"},
		{edit(`[4,9]`, `[9,4]`), "done: got 4 after 9"},
		{edit(`[4,9]`, `[2]`), "done: got 2 after 2"},
		{edit(`[4,9]`, `[9223372036854775807]`), "at most 2^61"},
		{edit(`[4,9]`, `[4,`), `key "done"`},
		{edit(`[4,9]`, `[[4,1048580]]`), "more than 1048576 steps"},
		{edit(`[4,9]`, `[4,[6,9223372036854775807]]`), "want a pair of steps"},
		{edit(`[4,9]`, `[[4,4]]`), "want a pair of steps"},
		{edit(`[4,9]`, `[[4,5,6]]`), "want a pair of steps"},
		{edit(`[4,9]`, `[4,null]`), "got null"},
		{edit(`[4,9]`, `[[4,6],6]`), "done: got 6 after 6"},
		{edit(`18446744073709551615`, `18446744073709551616`), `key "seed"`},
		{edit(`"version":1`, `"version":2`), "this build reads 1"},
		{edit("{", "{"+strings.Repeat(" ", MaxStateBytes)), "want at most"},
	} {
		if s, err := ParseState([]byte(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.120s: want %q, got %+v, %v", c.in, c.want, s, err)
		}
	}
}

// Whatever ParseState accepts, it writes back as an equal state, and a cursor takes or refuses it without a panic.
func FuzzParseState(f *testing.F) {
	f.Add([]byte(goodState))
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(strings.Replace(goodState, `"last":`, `"data":"1:00ff:12","last":`, 1)))
	f.Add([]byte(strings.Replace(goodState, `"last":`, `"total":1.5,"multiple":2,"last":`, 1)))
	o := mustNew(f, Config{N: 100, Batch: 4, World: 2, Shuffle: true, Seed: 1<<64 - 1, SourceHash: "ab", OrderHash: "cd"})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseState(data)
		if err != nil {
			return
		}
		again, err := ParseState(s.JSON())
		if err != nil || string(again.JSON()) != string(s.JSON()) {
			t.Fatalf("%s became %s, %v", s.JSON(), again.JSON(), err)
		}
		if c, err := NewCursor(o, &s); err == nil {
			c.Next()
		}
	})
}

// Runs of completed steps are short in a state, and read back as what they were; lists of single steps are read as before.
func TestRunsOfCompletedStepsAreWrittenShort(t *testing.T) {
	o := mustNew(t, Config{N: 1 << 40, Batch: 8, World: 1, Seed: 1})
	var done []int64
	for step := int64(11); step < 100000; step++ {
		if step != 500 && step != 503 {
			done = append(done, step)
		}
	}
	s := o.State(10, done)
	b := s.JSON()
	if len(b) > 300 || !strings.Contains(string(b), `"done":[[11,499],501,502,[504,99999]]`) {
		t.Fatalf("%d bytes: %.300s", len(b), b)
	}
	back, err := ParseState(b)
	if err != nil || !slices.Equal(back.Done, s.Done) {
		t.Fatalf("read back as %d steps, %v", len(back.Done), err)
	}
	plain, err := ParseState([]byte(goodState))
	if err != nil || !slices.Equal(plain.Done, []int64{4, 9}) {
		t.Fatalf("%v, %v", plain.Done, err)
	}
}
