package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// die ends the engine as a kill would, but for the process: names, words and members stay.
func (r *running) die() {
	r.t.Helper()
	r.ended = true
	r.cancel()
	if err := <-r.done; err != nil {
		r.t.Fatal(err)
	}
	if err := r.server.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.closed = true
	r.quiet.end() // the collector is the process's, which lives on
	if err := r.faults.close(); err != nil {
		r.t.Fatal(err)
	}
	for _, ring := range r.rings {
		ring.stopLog()
		if err := errors.Join(ring.shm.Leave(), ring.source.Close()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// leave ends an engine and its consumer in good order.
func (r *running) leave(reader *shm.Reader) {
	r.t.Helper()
	_ = reader.Close()
	if err := r.end(); err != nil {
		r.t.Fatal(err)
	}
}

// adopt starts the engine that goes on with the ring of one that died.
func adopt(t *testing.T, s *spec.Spec) *running {
	t.Helper()
	next := startAgain(t, s, nil)
	if !next.Ring(0).Info().Adopted {
		t.Fatal("the ring was gone")
	}
	return next
}

// takeBatches takes n of them, and what comes between.
func takeBatches(t *testing.T, reader *shm.Reader, n int) (got []seen) {
	t.Helper()
	for len(got) < n {
		if b := take(t, reader); b != nil {
			got = append(got, *b)
		}
	}
	return got
}

func wantTickets(t *testing.T, got []seen, want ...uint64) {
	t.Helper()
	var tickets []uint64
	for _, b := range got {
		tickets = append(tickets, b.Ticket)
	}
	if !slices.Equal(tickets, want) {
		t.Fatalf("tickets %v, want %v", tickets, want)
	}
}

// Wherever a run is cut, the engine that adopts the ring delivers the rest in the same order to a consumer that never left.
func TestAdoptedRingDeliversExactlyTheRest(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	all := everything(t, dir, resumeSpec, 2)
	for cut := range len(all) + 1 {
		s := describe(t, dir, resumeSpec)
		r := startAgain(t, s, nil)
		reader := r.attach(shm.AttachOptions{})
		got := takeBatches(t, reader, cut)
		r.die()
		next := adopt(t, s)
		wantSame(t, append(got, rest(t, reader)...), all)
		next.leave(reader)
	}
}

// Steps that the state of the first engine named as completed are not made by its successor either.
func TestAdoptedRingKeepsTheStepsAheadOfItsState(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 80, nil)
	s := describe(t, dir, "batch: 4\norder: {epochs: 1, seed: 4}\n")
	r := startAgain(t, s, nil)
	state := r.rings[0].order.State(2, []int64{15, 17}).JSON()
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r = startAgain(t, s, &Options{State: state})
	reader := r.attach(shm.AttachOptions{})
	first := take(t, reader)
	r.die()
	next := adopt(t, s)
	wantTickets(t, append([]seen{*first}, rest(t, reader)...), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 19)
	next.leave(reader)
}

// --fresh and a state of the caller's begin elsewhere, whatever was left.
func TestFreshAndStateDoNotGoOnWithTheRing(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	s := describe(t, dir, resumeSpec)
	state := stateAfter(t, dir, 1)
	for _, o := range []*Options{{Fresh: true}, {State: state}} {
		r := startAgain(t, s, nil)
		reader := r.attach(shm.AttachOptions{})
		for range 3 {
			take(t, reader)
		}
		_ = reader.Close()
		r.die()
		next := startAgain(t, s, o)
		if next.Ring(0).Info().Adopted {
			t.Fatalf("%+v: adopted", o)
		}
		reader = next.attach(shm.AttachOptions{})
		if got, want := take(t, reader).Ticket, uint64(len(o.State)/max(len(o.State), 1)); got != want {
			t.Fatalf("ticket %d first, want %d", got, want)
		}
		next.leave(reader)
	}
}

// An engine that adopted a ring and fails before it serves leaves the ring to the next.
func TestEngineThatDoesNotComeToServeLeavesTheRing(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	s := describe(t, dir, resumeSpec)
	startAgain(t, s, nil).die()
	e, err := New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := adopt(t, s).end(); err != nil {
		t.Fatal(err)
	}
}

func journalled(t *testing.T, dir, more string) (*spec.Spec, *Options) {
	s := describe(t, dir, "ring: {backing: memfd}\n"+more)
	return s, &Options{Journal: filepath.Join(t.TempDir(), "position")}
}

// Wherever a run is stopped in good order, the journal brings back exactly the rest; after a kill at least that.
func TestJournalBringsBackTheRest(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	all := everything(t, dir, resumeSpec, 2)
	for cut := range len(all) + 1 {
		s, o := journalled(t, dir, resumeSpec)
		r := startAgain(t, s, o)
		reader := r.attach(shm.AttachOptions{})
		takeBatches(t, reader, cut)
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		_ = reader.Close()
		r = startAgain(t, s, o)
		reader = r.attach(shm.AttachOptions{})
		wantSame(t, rest(t, reader), all[cut:])
		r.leave(reader)
	}
}

// At an orderly end with a journal consumers get nothing more, nobody joins, and what they hold is waited for: the next engine gives
// exactly the rest, also where an epoch has been published to its end.
func TestOrderlyEndWithAJournalGivesNothingTwice(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	all := everything(t, dir, resumeSpec, 2)
	for name, more := range map[string]string{"ordered": "", "ready": "ring: {backing: memfd, delivery: ready}\n", "posix": "ring: {backing: posix}\n"} {
		t.Run(name, func(t *testing.T) {
			for _, completes := range []bool{true, false} {
				s := describe(t, dir, more+resumeSpec)
				s.Ring.Slots = 16
				s.Ring.Groups = []spec.Group{{Name: "train", Mode: spec.Shared, Lanes: 1, Slow: spec.Block, Redeliver: true}}
				o := &Options{Journal: filepath.Join(t.TempDir(), "position")}
				r := startAgain(t, s, o)
				holder, other := r.attach(shm.AttachOptions{}), r.attach(shm.AttachOptions{})
				got := takeBatches(t, other, 2)
				held, err := holder.Acquire(testContext(t))
				if err != nil {
					t.Fatal(err)
				}
				one := look(held)
				eventually(t, "every batch to be published", func() bool { return r.Ring(0).Info().State == shm.StateEnded })
				ended := make(chan error, 1)
				go func() { ended <- r.end() }()
				for err = nil; err == nil; {
					var l *shm.Lease
					if l, err = other.Acquire(testContext(t)); errors.Is(err, shm.EndEpoch) {
						t.Fatal("an epoch ended that was not completed")
					}
					if err == nil { // before the end had begun
						got = append(got, look(l))
						_ = l.Release()
					}
				}
				wantError(t, err, shm.ErrEngineStopped)
				_, err = shm.Attach(testContext(t), s.Name, shm.AttachOptions{Group: "late"})
				wantError(t, err, shm.ErrEngineStopped)
				if completes {
					_ = held.Release()
					got = append(got, one)
				}
				_, _ = holder.Close(), other.Close()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				r = startAgain(t, s, o)
				reader := r.attach(shm.AttachOptions{})
				got = append(got, rest(t, reader)...)
				slices.SortFunc(got, func(a, b seen) int { return int(a.Ticket) - int(b.Ticket) })
				wantSame(t, got, all)
				r.leave(reader)
			}
		})
	}
}

// What a stage's workers have at an orderly end reaches no consumer any more, and comes from the next engine.
func TestOrderlyEndWithAJournalGivesNothingTwiceBehindAStage(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	want := transformed(everything(t, dir, resumeSpec, 2))
	s, o := describe(t, dir, stageSpec), &Options{Journal: filepath.Join(t.TempDir(), "position")}
	s.Ring.Slots = 16
	r := startAgain(t, s, o)
	stop := r.startWork(0)
	reader := r.attach(shm.AttachOptions{})
	takeSome(t, reader, 2)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	_, err := reader.Acquire(testContext(t))
	wantError(t, err, shm.ErrEngineStopped)
	stop()
	_ = reader.Close()
	r = startAgain(t, s, o)
	stop = r.startWork(0)
	reader = r.attach(shm.AttachOptions{})
	wantSame(t, rest(t, reader), want[2:])
	stop()
	r.leave(reader)
}

// With several groups the journal has what all of them have completed: whoever was further gets some again, nobody misses one.
func TestJournalIsWhereEveryGroupHasBeen(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 40, nil)
	s, o := journalled(t, dir, "batch: 4\norder: {epochs: 1, shuffle: false}\n")
	s.Ring.Groups = []spec.Group{{Name: "a", Mode: spec.Shared, Lanes: 1, Slow: spec.Block, Redeliver: true}, {Name: "b", Mode: spec.Shared, Lanes: 1, Slow: spec.Block, Redeliver: true}}
	s.Ring.Slots = 16
	defer func(d time.Duration) { lastBatches = d }(lastBatches)
	lastBatches = time.Millisecond // one batch is held to the end
	r := startAgain(t, s, o)
	a, b := r.attach(shm.AttachOptions{Group: "a"}), r.attach(shm.AttachOptions{Group: "b"})
	for range 6 {
		take(t, a)
	}
	take(t, b)
	held, err := b.Acquire(testContext(t)) // ticket 1
	if err != nil {
		t.Fatal(err)
	}
	take(t, b)
	take(t, b)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	_ = held.Release()
	_, _ = a.Close(), b.Close()
	r = startAgain(t, s, o)
	for _, group := range []string{"a", "b"} {
		reader := r.attach(shm.AttachOptions{Group: group})
		wantTickets(t, rest(t, reader), 1, 4, 5, 6, 7, 8, 9)
		_ = reader.Close()
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
}

// withSlowGroup has a group that is closed where another waits for it.
const withSlowGroup = "batch: 4\norder: {epochs: 2, shuffle: false, repeat: 100}\nring: {backing: memfd, slots: 8, groups: [{name: a}, {name: b, slow: detach}]}\n"

// closeSlowGroup has the consumer a take batches until group b is closed, whose consumer stays. last is the ticket that a took last.
func closeSlowGroup(t *testing.T, r *running) (a, b *shm.Reader, last uint64) {
	t.Helper()
	a, b = r.attach(shm.AttachOptions{Group: "a", MaxLeases: 2}), r.attach(shm.AttachOptions{Group: "b", MaxLeases: 2})
	last = takeBatches(t, a, 20)[19].Ticket
	return a, b, last
}

// A group that was closed for being slow does not hold the journal up while its consumer stays.
func TestJournalGoesOnWithoutAGroupThatWasClosed(t *testing.T) {
	leavesNothing(t)
	s, o := describe(t, folder(t, 18, nil), withSlowGroup), &Options{Journal: filepath.Join(t.TempDir(), "position")}
	r := startAgain(t, s, o)
	a, b, last := closeSlowGroup(t, r)
	eventually(t, "the journal to be written", func() bool {
		data, err := os.ReadFile(o.Journal)
		return err == nil && bytes.Contains(data, fmt.Appendf(nil, `"step":%d,`, last+1))
	})
	_, err := b.Acquire(testContext(t))
	wantError(t, err, shm.ErrGroupClosed)
	r.leave(a)
	_ = b.Close()
}

// While nobody is attached the journal keeps what the last consumer had completed.
func TestJournalStaysWhereTheLastConsumerWas(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	s, o := journalled(t, dir, resumeSpec)
	r := startAgain(t, s, o)
	reader := r.attach(shm.AttachOptions{})
	take(t, reader)
	eventually(t, "the journal to be written", func() bool {
		data, err := os.ReadFile(o.Journal)
		return err == nil && bytes.Contains(data, []byte(`"step":1`))
	})
	if err := errors.Join(reader.Close(), r.end()); err != nil {
		t.Fatal(err)
	}
	r = startAgain(t, s, o)
	if got := take(t, r.attach(shm.AttachOptions{})).Ticket; got != 1 {
		t.Fatalf("ticket %d, want 1", got)
	}
}

// A journal that is torn, empty, damaged, older, of another engine, of another data set or no file is refused by name; the engine never begins
// anew in silence. --fresh does, and writes a good one.
func TestUnusableJournalIsRefusedByName(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	s, o := journalled(t, dir, resumeSpec)
	r := startAgain(t, s, o)
	reader := r.attach(shm.AttachOptions{})
	take(t, reader)
	if err := errors.Join(r.end(), reader.Close()); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(o.Journal)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) []byte { return []byte(strings.Replace(string(good), old, new, 1)) }
	resum := func(b []byte) []byte { // with a checksum that fits
		i, j := bytes.Index(b, []byte(`"rings":`))+len(`"rings":`), bytes.LastIndexByte(b, '}')
		k := bytes.Index(b, []byte(`"crc32":"`)) + len(`"crc32":"`)
		return append(append(append([]byte{}, b[:k]...), checksum(b[i:j])...), b[k+8:]...)
	}
	for want, content := range map[string][]byte{
		"it is empty":                      {},
		"torn or no journal":               good[:len(good)/2],
		"damaged: checksum":                edit(`\"step\"`, `x`),
		"version 2, this build reads 1":    edit(`"spdl_journal":1`, `"spdl_journal":2`),
		`it is of engine "other"`:          edit(`"name":"`+s.Name, `"name":"other`),
		"samples 19, now 18":               resum(edit(`"n":18`, `"n":19`)),
		"it has nothing on ring":           resum(edit(`"rings":{"":`, `"rings":{"val":`)),
		"got 16777217 bytes, want at most": bytes.Repeat([]byte(" "), maxJournal+1),
	} {
		if want == "damaged: checksum" {
			content = edit(`"step":1`, `"step":2`)
		}
		if err := os.WriteFile(o.Journal, content, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := New(s, o)
		if err == nil {
			_ = e.Close()
		}
		wantError(t, err, shm.ErrState, want, "begin anew with --fresh", o.Journal)
		if now, _ := os.ReadFile(o.Journal); !bytes.Equal(now, content) {
			t.Errorf("%s: the journal was changed by the refusal", want)
		}
	}
	fresh := *o
	fresh.Fresh = true
	r = startAgain(t, s, &fresh)
	if got := take(t, r.attach(shm.AttachOptions{})).Ticket; got != 0 {
		t.Fatalf("ticket %d, want 0", got)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.ReadFile(o.Journal); !bytes.Equal(now, good) {
		t.Fatalf("the journal is %s, want %s", now, good)
	}
}

// A file that no engine has written is not replaced, by none of the ways to begin with a journal, and an engine that was refused leaves nothing beside it.
func TestAFileThatIsNoJournalStays(t *testing.T) {
	leavesNothing(t)
	s, o := journalled(t, folder(t, 18, nil), resumeSpec)
	state := startAgain(t, s, nil)
	reader := state.attach(shm.AttachOptions{})
	saved, err := reader.SaveState(testContext(t), false)
	must(err)
	state.leave(reader)
	refused := func(o Options, want string) {
		t.Helper()
		e, err := New(s, &o)
		if err == nil {
			_ = e.Close()
		}
		wantError(t, err, shm.ErrState, o.Journal, want, "name another file, or move this one away")
		if _, err := os.Stat(FaultsPath(o.Journal)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the refused engine has left %s: %v", FaultsPath(o.Journal), err)
		}
	}
	for _, content := range []string{"# Notes\n", `{"epoch": 3}`, "[1, 2]", "\x00\x00x", `{"spdl_journals": 1}`[:13] + "x"} {
		must(os.WriteFile(o.Journal, []byte(content), 0o600))
		for _, way := range []Options{{}, {Fresh: true}, {State: saved}} {
			way.Journal = o.Journal
			refused(way, "want one with the key spdl_journal")
			if now, err := os.ReadFile(o.Journal); err != nil || string(now) != content {
				t.Errorf("the file is %q, %v, want %q", now, err, content)
			}
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(unix.Mkfifo(pipe, 0o600))
	for _, path := range []string{t.TempDir(), pipe} {
		refused(Options{Journal: path}, "it is no file")
		refused(Options{Journal: path, Fresh: true}, "it is no file")
	}
	for _, rest := range []string{"", "\n", "\x00\x00\x00", `{"spdl`, `{ "spdl_journal": 1}`} { // of a journal, after a power cut
		must(os.WriteFile(o.Journal, []byte(rest), 0o600))
		must(startAgain(t, s, &Options{Journal: o.Journal, Fresh: true}).end())
	}
}

// What an engine that gave nothing has made beside its journal goes with it, also where another waits for that; with a journal it stays.
func TestFaultsOfAnEngineThatGaveNothingAreGone(t *testing.T) {
	leavesNothing(t)
	s, o := journalled(t, folder(t, 18, nil), resumeSpec)
	there := func(want bool) {
		t.Helper()
		if _, err := os.Stat(FaultsPath(o.Journal)); (err == nil) != want {
			t.Errorf("the file of faults: %v, want it there: %v", err, want)
		}
	}
	wrong := *s
	wrong.Source.Folder = t.TempDir()
	_, err := New(&wrong, o)
	wantError(t, err, source.ErrNoSamples)
	there(false)

	first := startAgain(t, s, o)
	there(true)
	ended := make(chan error, 1)
	time.AfterFunc(50*time.Millisecond, func() { ended <- first.end() })
	next := startAgain(t, s, o)
	must(<-ended)
	there(true)
	defer func(d time.Duration) { journalWait = d }(journalWait)
	journalWait = 50 * time.Millisecond
	_, err = New(s, o)
	wantError(t, err, shm.ErrNameInUse, o.Journal)
	there(true)
	reader := next.attach(shm.AttachOptions{})
	takeBatches(t, reader, 1)
	next.leave(reader)
	there(true)
}

// A journal that could not be written is refused at the start, by its name and with the remedy; nothing is left beside it.
func TestJournalThatCannotBeWrittenIsRefusedAtTheStart(t *testing.T) {
	leavesNothing(t)
	s, o := journalled(t, folder(t, 18, nil), resumeSpec)
	must(os.Mkdir(FaultsPath(o.Journal), 0o700))
	_, err := New(s, o)
	wantError(t, err, unix.EISDIR, fmt.Sprintf("engine: journal %q: the file of faults beside it: ", o.Journal), "key journal")
	nowhere := *o
	nowhere.Journal = filepath.Join(t.TempDir(), "nowhere", "position")
	_, err = New(s, &nowhere)
	wantError(t, err, unix.ENOENT, fmt.Sprintf("engine: journal %q: its directory: ", nowhere.Journal))

	full := t.TempDir()
	if err := unix.Mount("tmpfs", full, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("no file system of one's own here: %v", err)
	}
	defer func() { must(unix.Unmount(full, 0)) }()
	o.Journal = filepath.Join(full, "position")
	_, err = New(s, o)
	wantError(t, err, unix.ENOSPC, fmt.Sprintf("engine: journal %q: a trial write beside it: ", o.Journal), "make room", "key journal")
	if left, _ := filepath.Glob(full + "/.position.*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// What engines left that were killed while they wrote is removed by the next.
func TestTornJournalsBesideItAreRemoved(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	s, o := journalled(t, dir, resumeSpec)
	torn := filepath.Join(filepath.Dir(o.Journal), ".position.12345")
	if err := os.WriteFile(torn, []byte(`{"spdl_jour`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := startAgain(t, s, o).end(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(torn); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s: %v, want it gone", torn, err)
	}
}

// What somebody keeps beside a journal under a similar name, or another journal's engine is writing, stays.
func TestOtherFilesBesideAJournalStay(t *testing.T) {
	leavesNothing(t)
	s, o := journalled(t, folder(t, 18, nil), resumeSpec)
	for _, name := range []string{".position.bak", ".position.", ".position.eval.12345", ".position.12345.bak"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(o.Journal), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := os.Stat(filepath.Join(filepath.Dir(o.Journal), name)); err != nil {
				t.Errorf("%s: %v, want it left alone", name, err)
			}
		}()
	}
	if err := startAgain(t, s, o).end(); err != nil {
		t.Fatal(err)
	}
}

// What was completed before an orderly end is in the journal, also of a run shorter than the half second between two writes, and of a consumer
// that leaves before the engine ends: its last batch does not come again.
func TestJournalHasWhatWasCompletedByAConsumerThatLeft(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	all := everything(t, dir, resumeSpec, 2)
	for cut := 1; cut <= len(all); cut++ {
		s, o := journalled(t, dir, resumeSpec)
		r := startAgain(t, s, o)
		reader := r.attach(shm.AttachOptions{})
		takeBatches(t, reader, cut)
		_ = reader.Close()
		eventually(t, "the group to end", func() bool { return len(r.Ring(0).Groups()) == 0 })
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		r = startAgain(t, s, o)
		reader = r.attach(shm.AttachOptions{})
		wantSame(t, rest(t, reader), all[cut:])
		r.leave(reader)
	}
}

// A batch that a consumer held when it left was not completed, and several groups that left are where all of them had been.
func TestJournalHasWhatEveryGroupThatLeftHadCompleted(t *testing.T) {
	leavesNothing(t)
	s, o := journalled(t, folder(t, 18, nil), "batch: 4\norder: {epochs: 1, shuffle: false, repeat: 1000}\n")
	s.Ring.Slots = 16
	r := startAgain(t, s, o)
	a, b := r.attach(shm.AttachOptions{Group: "a"}), r.attach(shm.AttachOptions{Group: "b"})
	takeBatches(t, a, 12) // b begins behind what was published before it came, which a has to make room for
	takeBatches(t, b, 1)
	held, err := b.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	open := held.Ticket
	takeBatches(t, b, 1)
	for takeBatches(t, a, 1)[0].Ticket < open+4 {
	}
	_, _ = b.Close(), a.Close()
	eventually(t, "the groups to end", func() bool { return len(r.Ring(0).Groups()) == 0 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r = startAgain(t, s, o)
	reader := r.attach(shm.AttachOptions{})
	wantTickets(t, takeBatches(t, reader, 3), open, open+2, open+3)
	r.leave(reader)
}

// A journal that cannot be written at an orderly end is a failure of the run, which says what that means.
func TestJournalThatCannotBeWrittenAtTheEndIsAFailure(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	kept := filepath.Join(t.TempDir(), "kept")
	if err := os.Mkdir(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	r := startAgain(t, describe(t, dir, resumeSpec), &Options{Journal: filepath.Join(kept, "position")})
	reader := r.attach(shm.AttachOptions{})
	if err := os.Rename(kept, kept+" gone"); err != nil { // what removes it finds it filled meanwhile
		t.Fatal(err)
	}
	takeBatches(t, reader, 2)
	_ = reader.Close()
	wantError(t, r.end(), fs.ErrNotExist, "engine: journal: ", "gives again what was completed", "make room")
}

// A journal that cannot be written says so in one line, not in one for each try, and then that it is written again.
func TestJournalThatCannotBeWrittenSaysSoOnce(t *testing.T) {
	var lines bytes.Buffer
	kept := filepath.Join(t.TempDir(), "kept")
	e := &Engine{log: NewLog(&lines, Info), journal: &journal{path: filepath.Join(kept, "position")}}
	var said complaint
	write := func() error { return e.writeJournal(map[string]json.RawMessage{"": json.RawMessage("1")}, &said) }
	for range 3 {
		if err := write(); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("got %v", err)
		}
	}
	if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "gives again what was completed") {
		t.Errorf("said %q, want one line", got)
	}
	lines.Reset()
	if err := os.Mkdir(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "journal: it is written again\n") {
		t.Errorf("said %q, want one line", got)
	}
}

// The same failure is said again after a while, another one at once.
func TestComplaintsAreFew(t *testing.T) {
	begun := time.Now()
	full := func(file string) error {
		return fmt.Errorf("journal: %w", &fs.PathError{Op: "write", Path: file, Err: syscall.ENOSPC})
	}
	var c complaint
	for i, step := range []struct {
		after   time.Duration
		failure error
		due     bool
	}{
		{0, nil, false}, {1, full(".position.1"), true}, {2, full(".position.2"), false}, {complainEvery, full(".position.3"), false},
		{complainEvery + 1, full(".position.4"), true}, {complainEvery + 2, full(".position.5"), false}, {complainEvery + 3, syscall.EROFS, true},
		{complainEvery + 4, errors.New("other"), true}, {complainEvery + 5, nil, true}, {complainEvery + 6, nil, false}, {5 * complainEvery, nil, false},
		{5*complainEvery + 1, syscall.EROFS, true},
	} {
		if got := c.due(step.failure, begun.Add(step.after)); got != step.due {
			t.Errorf("step %d: due %v", i, got)
		}
	}
}

// A stage is ahead of the consumers, and stays when they leave: the journal is theirs.
func TestJournalIsNotWhereAStageIs(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	want := transformed(everything(t, dir, resumeSpec, 2))
	s, o := describe(t, dir, stageSpec), &Options{Journal: filepath.Join(t.TempDir(), "position")}
	s.Ring.Backing = spec.Memfd
	s.Ring.Groups = s.Ring.Groups[:1] // the stage alone: the consumers' group ends with them
	r := startAgain(t, s, o)
	stop := r.startWork(0)
	reader := r.attach(shm.AttachOptions{})
	takeSome(t, reader, 2)
	_ = reader.Close()
	eventually(t, "the group to end", func() bool { return len(r.Ring(0).Groups()) == 1 })
	stop()
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r = startAgain(t, s, o)
	stop = r.startWork(0)
	reader = r.attach(shm.AttachOptions{})
	wantSame(t, rest(t, reader), want[2:])
	stop()
	r.leave(reader)
}

// A ring that nobody was attached to does not keep the journal from having the others.
func TestJournalHasRingsThatNobodyWasAttachedTo(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	s, o := journalled(t, dir, "rings: {train: {}, val: {}}\nbatch: 4\norder: {epochs: 1}\n")
	r := startAgain(t, s, o)
	takeBatches(t, r.attachTo("train", shm.AttachOptions{}), 2)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r = startAgain(t, s, o)
	for ring, want := range map[string]uint64{"train": 2, "val": 0} {
		if got := take(t, r.attachTo(ring, shm.AttachOptions{})).Ticket; got != want {
			t.Errorf("ring %s: ticket %d, want %d", ring, got, want)
		}
	}
}

// An engine waits for one that has its journal and is about to end, and is refused with the holder's name where that goes on.
func TestOneEngineAtATimeHasAJournal(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	s, o := journalled(t, dir, resumeSpec)
	first := startAgain(t, s, o)
	takeBatches(t, first.attach(shm.AttachOptions{}), 1)
	defer func(d time.Duration) { journalWait = d }(journalWait)
	journalWait = 50 * time.Millisecond
	torn := filepath.Join(filepath.Dir(o.Journal), ".position.12345") // what the first might be writing
	if err := os.WriteFile(torn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := *s
	other.Name = testName()
	for _, fresh := range []bool{false, true} {
		_, err := New(&other, &Options{Journal: o.Journal, Fresh: fresh})
		wantError(t, err, shm.ErrNameInUse, o.Journal, fmt.Sprintf("process %d", os.Getpid()), "name another journal")
	}
	if _, err := os.Stat(torn); err != nil {
		t.Errorf("the refused engine has removed it: %v", err)
	}
	journalWait = watchdog
	ended := make(chan error, 1)
	time.AfterFunc(50*time.Millisecond, func() { ended <- first.end() })
	next := startAgain(t, s, o)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := take(t, next.attach(shm.AttachOptions{})).Ticket; got != 1 {
		t.Errorf("ticket %d first, want 1: what the first engine wrote at its end", got)
	}
}
