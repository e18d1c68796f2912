package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spdl/spdl/shm"
)

// Ways to spoil a sample, by the cause under which it is counted.
var spoilers = map[string]func(path string){
	"missing":         remove,
	"empty":           empty,
	"truncated":       truncate,
	"not_an_image":    func(path string) { rewrite(path, []byte("this is a text, not a picture\n")) },
	"too_many_pixels": func(path string) { rewrite(path, giant()) },
	"corrupt":         func(path string) { rewrite(path, append([]byte{0xff, 0xd8, 0xff, 0xc4, 0, 5}, make([]byte, 64)...)) },
	"permission":      func(path string) { must(os.Chmod(path, 0)) },
	"not_regular":     func(path string) { remove(path); must(os.Mkdir(path, 0o755)) },
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func remove(path string)               { must(os.Remove(path)) }
func empty(path string)                { must(os.Truncate(path, 0)) }
func rewrite(path string, data []byte) { must(os.WriteFile(path, data, 0o644)) }

func truncate(path string) {
	st, err := os.Stat(path)
	must(err)
	must(os.Truncate(path, st.Size()/2))
}

// giant is the header of a PNG of 100,000 x 100,000 pixels.
func giant() []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	b = binary.BigEndian.AppendUint32(b, 100000)
	b = binary.BigEndian.AppendUint32(b, 100000)
	return append(append(b, 8, 2, 0, 0, 0), make([]byte, 64)...)
}

// spoiled is a folder of n pictures, and the engine on it; the spoiled one was good when the folder was scanned.
func spoiled(t *testing.T, cause, more string, log *Log) (*running, *shm.Reader) {
	t.Helper()
	if cause == "permission" && os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := folder(t, 12, nil)
	leavesNothing(t)
	e, err := New(describe(t, dir, more), &Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	spoilers[cause](fmt.Sprintf("%s/a/%05d.jpg", dir, 5))
	r := serve(t, e)
	return r, r.attach(shm.AttachOptions{MaxLeases: 1})
}

// Every kind of bad sample is left out by skip, with the holes closed in order, counted by cause, and named.
func TestBadSamplesAreSkippedAndCounted(t *testing.T) {
	for cause := range spoilers {
		t.Run(cause, func(t *testing.T) {
			r, reader := spoiled(t, cause, "batch: 4\norder: {epochs: 1, shuffle: false}\n", nil)
			batches := epoch(t, reader)
			if got, want := indexes(batches), []int64{0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11}; !slices.Equal(got, want) {
				t.Fatalf("samples %v, want %v", got, want)
			}
			b := batches[1]
			if b.Rows != 3 || b.NBad != 1 || b.Flags != shm.FlagShort|shm.FlagBad {
				t.Fatalf("the batch with the bad sample: %+v", b)
			}
			checkRows(t, &b, 12)
			bad := r.Stats().Rings[0].Bad
			if bad.Total != 1 || bad.Causes[cause] != 1 || !strings.Contains(bad.Last[0], "a/00005.jpg") {
				t.Fatalf("counted as %+v, want one %q that names the file", bad, cause)
			}
		})
	}
}

// The other policies keep the shape: mask leaves a row of zeros, substitute the row before.
func TestPoliciesThatKeepTheShape(t *testing.T) {
	for _, c := range []struct {
		policy string
		status byte
		index  int64
		level  int
	}{{"mask", 1, 5, 0}, {"substitute", 2, 4, int(grey(4))}} {
		t.Run(c.policy, func(t *testing.T) {
			_, reader := spoiled(t, "truncated", "batch: 4\norder: {epochs: 1, shuffle: false}\nbad_sample: {policy: "+c.policy+"}\n", nil)
			b := epoch(t, reader)[1]
			if b.Rows != 4 || b.Status[1] != c.status || b.Index[1] != c.index || b.NBad != 1 {
				t.Fatalf("%+v", b)
			}
			if v := int(b.Image[8*8*3]); v < c.level-2 || v > c.level+2 {
				t.Fatalf("row has value %d, want about %d", v, c.level)
			}
		})
	}
}

// A batch of bad samples alone is delivered with no rows, so that steps stay in step.
func TestBatchWithoutGoodSamplesIsDeliveredEmpty(t *testing.T) {
	dir := folder(t, 8, map[int]func(string){4: empty, 5: empty, 6: empty, 7: empty})
	r := start(t, describe(t, dir, "batch: 4\norder: {epochs: 1, shuffle: false}\n"), nil)
	batches := epoch(t, r.attach(shm.AttachOptions{}))
	if len(batches) != 2 || batches[1].Rows != 0 || batches[1].NBad != 4 {
		t.Fatalf("%+v", batches)
	}
}

// A budget that is used up ends the ring: what was published before can be taken, then every consumer is told which
// sample was one too many, and Run returns it.
func TestUsedUpBudgetEndsTheRing(t *testing.T) {
	for _, c := range []struct{ name, budget, text string }{
		{"fail", "{policy: fail}", "a/00005.jpg"},
		{"count", "{max_count: 0}", "a/00005.jpg"},
		{"rate", "{max_rate: 0.05, probation: 2}", "at most a share of 0.05"},
		{"rate from the first sample on", "{max_rate: 0.05, probation: 0}", "at most a share of 0.05"},
		{"no rate", "{max_rate: 0, probation: 2}", "items failed, want none; the last: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, reader := spoiled(t, "truncated", "batch: 4\norder: {epochs: 1, shuffle: false}\nbad_sample: "+c.budget+"\n", nil)
			if b := take(t, reader); b == nil || b.Rows != 4 {
				t.Fatalf("the batch before the bad one: %+v", b)
			}
			_, err := reader.Acquire(testContext(t))
			wantError(t, err, shm.ErrEngineFailed, c.text)
			if err := reader.Restart(testContext(t)); !errors.Is(err, shm.ErrEngineFailed) {
				t.Fatalf("restart of a ring that failed: %v", err)
			}
			if err := r.end(); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("Run returned %v", err)
			}
		})
	}
}

// A budget that holds lets the epoch end.
func TestBudgetThatHoldsForgives(t *testing.T) {
	_, reader := spoiled(t, "truncated", "batch: 4\norder: {epochs: 1}\nbad_sample: {max_count: 1, max_rate: 0.5}\n", nil)
	if n := len(indexes(epoch(t, reader))); n != 11 {
		t.Fatalf("%d samples, want 11", n)
	}
}

// Batches that are made again, after a load, are counted once: the good ones at the end of an epoch are still to come.
func TestEpochThatIsBegunAgainAndAgainIsNotJudgedBeforeItsEnd(t *testing.T) {
	spoil := map[int]func(string){}
	for i := range 30 {
		spoil[i] = empty
	}
	r := start(t, describe(t, folder(t, 40, spoil), "batch: 2\norder: {epochs: 1, shuffle: false}\n"), nil)
	reader := r.attach(shm.AttachOptions{})
	state, err := reader.SaveState(testContext(t), false)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		takeBatches(t, reader, 6)
		if err := reader.LoadState(testContext(t), state); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(indexes(epoch(t, reader))); n != 10 {
		t.Fatalf("%d samples, want the 10 good ones", n)
	}
}

// A rank's part of an epoch may have bad samples alone by chance, where it is small; its engine's end would stop the other ranks.
func TestFewSamplesOfOneRankAreNotJudged(t *testing.T) {
	spoil := map[int]func(string){}
	for i := range 8 {
		spoil[i] = empty
	}
	for more, want := range map[string]error{"": nil, "bad_sample: {probation: 4}\n": shm.ErrEngineFailed} {
		r := startAgain(t, describe(t, folder(t, 8, spoil), "batch: 2\nworld: {size: 2}\norder: {epochs: 1}\n"+more), nil)
		reader := r.attach(shm.AttachOptions{})
		var err error
		for err == nil {
			var l *shm.Lease
			if l, err = reader.Acquire(testContext(t)); err == nil {
				must(l.Release())
			}
		}
		if errors.Is(err, shm.ErrEngineFailed) != (want != nil) {
			t.Errorf("%q: %v, want %v", more, err, want)
		}
		must(reader.Close())
		_ = r.end() // says it once more
	}
}

// An epoch of which no sample is good ends the ring under every policy, in order or as it is ready, and says how many, why, and what to do.
// What is good for a part of an epoch, or was not seen from its beginning, goes on.
func TestEpochWithoutAGoodSampleEndsTheRing(t *testing.T) {
	spoil := map[int]func(string){}
	for i := range 8 {
		spoil[i] = empty
	}
	spoil[5] = truncate
	dir := folder(t, 8, spoil)
	for _, more := range []string{
		"bad_sample: {policy: skip}\n", "bad_sample: {policy: mask}\n", "bad_sample: {policy: substitute}\n", "ring: {delivery: ready}\n",
		"world: {size: 2}\nring: {groups: [{name: g, mode: lanes, lanes: 2}]}\n",
	} {
		batch := "batch: 4\n"
		if strings.HasPrefix(more, "world") {
			batch = "batch: 2\n"
		}
		r := startAgain(t, describe(t, dir, batch+more), nil)
		reader := r.attach(shm.AttachOptions{})
		var err error
		for err == nil || errors.Is(err, shm.EndEpoch) { // the one lane may be through
			var l *shm.Lease
			if l, err = reader.Acquire(testContext(t)); err == nil {
				must(l.Release())
			}
		}
		if !errors.Is(err, shm.ErrEngineFailed) {
			t.Fatalf("%s: %v", more, err)
		}
		must(reader.Close())
		err = r.end()
		for _, part := range []string{"epoch 0: none of its 8 samples is good; 7 are bad by cause empty, such as: source: sample", "got 0 bytes", "bad_sample: {max_rate: 1}"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Fatalf("%s: %v, want %q", more, err, part)
			}
		}
	}
	all := map[int]func(string){}
	for i := range 11 {
		all[i] = empty
	}
	r := start(t, describe(t, folder(t, 12, all), "batch: 4\norder: {epochs: 3}\n"), nil)
	if n := len(indexes(rest(t, r.attach(shm.AttachOptions{})))); n != 3 {
		t.Fatalf("%d samples, want the good one three times", n)
	}
	must(r.end())
	r = startAgain(t, describe(t, dir, "batch: 4\norder: {epochs: 2}\nbad_sample: {max_rate: 1}\n"), nil)
	if n := len(rest(t, r.attach(shm.AttachOptions{}))); n != 4 {
		t.Fatalf("%d batches, want the 4 that were asked for", n)
	}
	must(r.end())
}

// A resume in the middle of an epoch judges the next one as a whole, and not the part.
func TestPartOfAnEpochIsNotJudgedForTheWhole(t *testing.T) {
	dir := folder(t, 8, map[int]func(string){4: empty, 5: empty, 6: empty, 7: empty})
	more := "batch: 4\norder: {epochs: 2, shuffle: false}\n"
	r := start(t, describe(t, dir, more), nil)
	reader := r.attach(shm.AttachOptions{})
	takeSome(t, reader, 1)
	state, err := reader.SaveState(testContext(t), false)
	must(err)
	must(reader.Close())
	must(r.end())
	r = startAgain(t, describe(t, dir, more), &Options{State: state})
	if got := indexes(rest(t, r.attach(shm.AttachOptions{}))); !slices.Equal(got, []int64{0, 1, 2, 3}) {
		t.Fatal(got)
	}
	must(r.end())
}

// Each bad sample has a line in the log, up to a limit; then a summary.
func TestBadSamplesAreLoggedUpToALimit(t *testing.T) {
	spoil := map[int]func(string){}
	for i := range 30 {
		spoil[i] = empty
	}
	out := &lockedBuffer{}
	r := start(t, describe(t, folder(t, 40, spoil), "batch: 8\norder: {epochs: 1}\n"), &Options{Log: NewLog(out, Warn)})
	if n := len(indexes(epoch(t, r.attach(shm.AttachOptions{})))); n != 10 {
		t.Fatalf("%d samples, want 10", n)
	}
	if n := strings.Count(out.String(), "bad sample, empty: source: sample"); n != oftenLines {
		t.Fatalf("%d lines about bad samples, want %d:\n%s", n, oftenLines, out)
	}
	if !strings.Contains(out.String(), "every 1000th is named") {
		t.Fatalf("no word about the rest:\n%s", out)
	}
}

// What comes again and again has twenty lines of its kind and ring, then one in a thousand, with the count; level debug has all.
func TestLogOfWhatComesOften(t *testing.T) {
	for level, want := range map[Level]int{Error: 0, Warn: 20 + 1 + 2, Debug: 2100} {
		out := &lockedBuffer{}
		l := NewLog(out, level)
		for i := range 2100 {
			l.oftenf("a", "things", "thing %d", i)
		}
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Fatalf("%d lines, want %d:\n%s", got, want, out)
		}
		if level == Warn && !strings.HasSuffix(out.String(), "2000 things so far; this one: thing 1999\n") {
			t.Fatalf("got %s", out)
		}
		l.oftenf("b", "things", "another ring's")
		l.oftenf("a", "others", "another kind")
		if got := strings.Count(out.String(), "another"); level >= Warn && got != 2 {
			t.Fatalf("%d lines of another ring and kind, want 2:\n%s", got, out)
		}
	}
}

// A budget counts every sample once, however often its batch is made before it is published.
func TestRestartDoesNotCountBadSamplesTwice(t *testing.T) {
	r, reader := spoiled(t, "truncated", "batch: 12\norder: {shuffle: false}\nring: {slots: 3}\nbad_sample: {max_count: 1000}\n", nil)
	for range 20 {
		if err := reader.Restart(testContext(t)); err != nil {
			t.Fatal(err)
		}
		if b := take(t, reader); b.Rows != 11 {
			t.Fatalf("%+v", b)
		}
	}
	info := r.Stats().Rings[0]
	if made := info.Ring.NextTicket + 1; info.Bad.Total > made {
		t.Fatalf("%d bad samples counted in %d batches of one each", info.Bad.Total, made)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A service whose only ring gave up ends once its consumer has heard of it and left, with the ring's failure.
func TestEngineWhoseRingsHaveAllFailedEnds(t *testing.T) {
	dir := folder(t, 8, map[int]func(string){3: func(path string) { _ = os.WriteFile(path, []byte("no picture"), 0o644) }})
	r := start(t, describe(t, dir, "batch: 4\nbad_sample: {policy: fail}\norder: {shuffle: false}\n"), nil)
	reader := r.attach(shm.AttachOptions{})
	_, err := reader.Acquire(testContext(t))
	wantError(t, err, shm.ErrEngineFailed)
	select {
	case err := <-r.done:
		t.Fatalf("ended with a consumer attached: %v", err)
	default:
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-r.done:
	case <-testContext(t).Done():
		t.Fatal("the engine goes on")
	}
	if err == nil {
		t.Fatal("no failure")
	}
	r.done <- err // for end
}
