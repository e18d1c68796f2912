package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// spoilLater makes the second shard of a ring that is open one that has changed since, and returns what undoes it.
func spoilLater(t *testing.T, pattern string) (undo func()) {
	t.Helper()
	path := strings.Replace(pattern, "{000..003}", "001", 1)
	st, err := os.Stat(path)
	must(err)
	later := time.Now().Add(time.Hour)
	must(os.Chtimes(path, later, later))
	return func() { must(os.Chtimes(path, st.ModTime(), st.ModTime())) }
}

// A batch that lacked samples because the storage failed them is made again without them, from the journal's word, when the storage
// is well again; without the journal it would have them.
func TestBatchesAreMadeAgainWithTheFaultsOfTheirTime(t *testing.T) {
	for name, c := range map[string]struct {
		policy spec.Policy
		order  string
	}{
		"skip": {spec.Skip, ""}, "mask": {spec.Mask, ""}, "substitute": {spec.Substitute, ""},
		"bounded": {spec.Mask, ", buckets: {by: index, count: 4, max_total: 100}"}, // whose places in the order are others in each epoch
	} {
		t.Run(name, func(t *testing.T) {
			leavesNothing(t)
			pattern, journal := shardsOf(t, 40, 10, nil), filepath.Join(t.TempDir(), "position")
			describe := func(more string) *spec.Spec {
				return describeShards(t, pattern, "[{name: number, from: cls, type: i64}]",
					fmt.Sprintf("batch: 8\norder: {seed: 5, epochs: 2%s}\nbad_sample: {policy: %s}\nring: {hash: xxh3}\n", c.order, c.policy)+more)
			}
			r := startAgain(t, describe(""), &Options{Journal: journal})
			must(os.Chtimes(strings.Replace(pattern, "{000..003}", "003", 1), time.Now(), time.Now())) // before anything is read of it, perhaps
			undo := spoilLater(t, pattern)
			reader := r.attach(shm.AttachOptions{})
			var delivered []seen
			for range 2 {
				delivered = append(delivered, epoch(t, reader)...)
			}
			must(r.end())
			undo()
			f, err := ReadFaults(journal, "")
			must(err)
			if len(f.all) == 0 {
				t.Fatal("no fault was written down")
			}
			differs, order := false, r.rings[0].order
			for step, want := range delivered {
				planned, _ := order.Rows(int64(want.Epoch), int64(want.Step), 0, nil)
				if told := f.Of(int64(want.Epoch), order.Position(int64(want.Epoch), int64(want.Step), 0), int64(len(planned))); len(told) != want.NBad {
					t.Fatalf("step %d: %d bad, and the plan's places have %v", step, want.NBad, told)
				}
				again := func(faults *Faults) seen {
					s := describe("")
					s.Ring.Backing = spec.Memfd
					one := startAgain(t, s, &Options{Step: int64(step), Faults: faults})
					defer func() { must(one.end()) }()
					return *take(t, one.attach(shm.AttachOptions{}))
				}
				if got := again(f); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("step %d: got %v, want %v", step, got, want)
				}
				if !differs && want.NBad > 0 {
					differs = fmt.Sprint(again(nil)) != fmt.Sprint(want)
				}
			}
			if !differs {
				t.Error("no batch differs without the journal, so nothing was shown")
			}
		})
	}
}

// A later line about the same rows is the one that counts, at any world size; a torn last line is passed over, another damage refused.
func TestFaultsOfALaterLineCount(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "j")
	f, err := openFaults(testContext(t), journal, false)
	must(err)
	write := func(l faultLine) { must(f.write(&l)) }
	write(faultLine{Epoch: 1, From: 8, Rows: 8, Bad: []Fault{{At: 9, Sample: 70, Cause: "io"}, {At: 12, Sample: 71, Cause: "deadline"}}})
	write(faultLine{Epoch: 1, From: 16, Rows: 8, Bad: []Fault{}}) // nothing to say of it
	write(faultLine{Ring: "val", Epoch: 1, From: 0, Rows: 8, Bad: []Fault{{At: 1, Sample: 2, Cause: "io"}}})
	must(f.close())
	f, err = openFaults(testContext(t), journal, false)
	must(err)
	write(faultLine{Epoch: 1, From: 8, Rows: 4, Bad: []Fault{}}) // half of the rows, in a larger world
	write(faultLine{Epoch: 1, From: 8, Rows: 8, Bad: []Fault{{At: 12, Sample: 71, Cause: "deadline"}}})
	must(f.close())
	read := func() []Fault {
		got, err := ReadFaults(journal, "")
		must(err)
		return got.Of(1, 0, 100)
	}
	want := []Fault{{At: 12, Sample: 71, Cause: "deadline"}}
	if got := read(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v", got)
	}
	data, err := os.ReadFile(FaultsPath(journal))
	must(err)
	if n := strings.Count(string(data), "\n"); n != 4 {
		t.Errorf("%d lines, want 4:\n%s", n, data)
	}
	must(os.WriteFile(FaultsPath(journal), append(data, `{"epoch": 1, "fro`...), 0o600))
	if got := read(); !reflect.DeepEqual(got, want) {
		t.Errorf("with a torn line: %+v", got)
	}
	f, err = openFaults(testContext(t), journal, false)
	must(err)
	must(f.close())
	if cut, _ := os.ReadFile(FaultsPath(journal)); string(cut) != string(data) {
		t.Errorf("the torn line is still there: %s", cut)
	}
	for bad, want := range map[string]string{
		"{": "unexpected end of JSON input", "": "unexpected end of JSON input",
		`{"rows": 1000000000000000000}`:               "got 0 faults in 1000000000000000000 rows from 0 on", // which would be looked through one by one
		`{"from": 9223372036854775807, "rows": 2}`:    "got 0 faults in 2 rows from 9223372036854775807 on",
		`{"rows": 1, "bad": [{"at": 0}, {"at": 0}]}`:  "got 2 faults in 1 rows from 0 on",
		`{"from": 8, "rows": 4, "bad": [{"at": 12}]}`: "got a fault at 12, want one of 4 rows from 8 on",
	} {
		must(os.WriteFile(FaultsPath(journal), append([]byte(bad+"\n"), data...), 0o600))
		want := fmt.Sprintf("engine: faults %q: line 1: %s; restore the file, or remove it to go without", FaultsPath(journal), want)
		if _, err := ReadFaults(journal, ""); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", bad, err, want)
		}
		_, err := openFaults(testContext(t), journal, false)
		wantError(t, err, shm.ErrState, want)
	}
	f, err = openFaults(testContext(t), journal, true)
	must(err)
	must(f.close())
	if got := read(); got != nil {
		t.Errorf("begun anew: %+v", got)
	}
}

// A line of which a full disk took only a part is gone, and those written after it, when there is room again, are read.
func TestFaultsAfterAFullDiskAreRead(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "j")
	f, err := openFaults(testContext(t), journal, false)
	must(err)
	line := func(epoch int64) *faultLine {
		return &faultLine{Epoch: epoch, Rows: 8, Bad: []Fault{{At: 3, Sample: epoch, Cause: "io"}}}
	}
	must(f.write(line(1)))
	var was unix.Rlimit
	must(unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_FSIZE, &was) })
	must(unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(f.bytes) + 10, Max: was.Max}))
	full := f.write(line(2))
	must(unix.Setrlimit(unix.RLIMIT_FSIZE, &was))
	wantError(t, full, unix.EFBIG, "engine: faults: ", "j.faults")
	must(f.write(line(3)))
	must(f.close())
	got, err := ReadFaults(journal, "")
	must(err)
	if len(got.Of(1, 0, 8)) != 1 || got.Of(2, 0, 8) != nil || len(got.Of(3, 0, 8)) != 1 {
		t.Fatalf("got %+v, want the faults of epochs 1 and 3", got.all)
	}
}

// A batch that lacked samples because the storage failed them is decoded again without them when a stage's worker dies, though the storage
// is well by then. What is bad for the first time then is in the journal, too: it tells of the batch that was delivered.
func TestBatchOfADeadWorkerIsMadeAgainWithItsFaults(t *testing.T) {
	for name, spoiledFirst := range map[string]bool{"spoiled at first": true, "spoiled later": false} {
		t.Run(name, func(t *testing.T) {
			leavesNothing(t)
			pattern, journal := shardsOf(t, 40, 10, nil), filepath.Join(t.TempDir(), "position")
			s := describeShards(t, pattern, "[]", "batch: 8\norder: {shuffle: false, epochs: 1}\nbad_sample: {policy: mask}\n"+
				"ring: {hash: xxh3, groups: [{name: augment, kind: stage}, {name: train}]}\n")
			e, err := New(s, &Options{Journal: journal})
			must(err)
			undo := func() {}
			if spoiledFirst {
				undo = spoilLater(t, pattern) // samples 10 to 19, before anything was read of them
			}
			r := serve(t, e)
			worker := r.attach(shm.AttachOptions{Group: "augment", MaxLeases: 1})
			take(t, worker)
			l, err := worker.Acquire(testContext(t))
			must(err)
			first := look(l)
			if spoiledFirst {
				undo()
			} else {
				defer spoilLater(t, pattern)()
			}
			must(worker.Close())
			next := r.attach(shm.AttachOptions{Group: "augment", MaxLeases: 1})
			again := take(t, next)
			for again == nil || again.Ticket > first.Ticket { // what was ready meanwhile
				again = take(t, next)
			}
			if again.Ticket != first.Ticket || again.NBad != 6 || spoiledFirst != (fmt.Sprint(again.Image) == fmt.Sprint(first.Image)) {
				t.Errorf("got batch %d with %d bad of status %v, want batch %d with 6; before %d, status %v", again.Ticket, again.NBad, again.Status, first.Ticket, first.NBad, first.Status)
			}
			f, err := ReadFaults(journal, "")
			must(err)
			var told []int64
			for _, one := range f.Of(0, 8, 8) {
				told = append(told, one.Sample)
			}
			if fmt.Sprint(told) != "[10 11 12 13 14 15]" {
				t.Errorf("the journal tells of %v", told)
			}
			must(r.end())
		})
	}
}

// FuzzFaults: no file of faults ends the engine or keeps it busy, and an engine that goes on with one has it as who reads it has.
func FuzzFaults(f *testing.F) {
	f.Add([]byte(`{"ring":"","epoch":1,"from":8,"rows":8,"bad":[{"at":9,"sample":70,"cause":"io"}]}` + "\n" + `{"epoch":1,"from":8,"rows":4,"bad":[]}` + "\n{"))
	journal := filepath.Join(f.TempDir(), "j")
	f.Fuzz(func(t *testing.T, data []byte) {
		must(os.WriteFile(FaultsPath(journal), data, 0o600))
		read, refused := ReadFaults(journal, "")
		file, err := openFaults(testContext(t), journal, false)
		if (err == nil) != (refused == nil) {
			t.Fatalf("read: %v, opened: %v", refused, err)
		}
		if err != nil {
			return
		}
		defer file.close()
		if told := file.told[""]; told != nil && !reflect.DeepEqual(read.all, told.all) || told == nil && len(read.all) > 0 {
			t.Fatalf("read %v, opened %v", read.all, told)
		}
	})
}

// FuzzJournal: whatever a journal is, it is refused, or has the rings that its check sum is of.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"spdl_journal":1,"name":"j","checksum":"00000000","rings":{"":{"epoch":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j := &journal{path: "j", name: "j"}
		var file journalFile
		if json.Unmarshal(data, &file) == nil { // so that the fuzzer gets beyond it
			file.Version, file.Name, file.Checksum = journalVersion, j.name, checksum(file.Rings)
			if mended, err := json.Marshal(file); err == nil {
				data = mended
			}
		}
		rings, err := j.parse(data)
		if err != nil && !errors.Is(err, shm.ErrState) {
			t.Fatalf("refused as %v", err)
		}
		for name, state := range rings {
			if !json.Valid(state) {
				t.Fatalf("ring %q: %s", name, state)
			}
		}
	})
}
