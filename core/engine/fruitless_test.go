package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/shm"
)

// elsewhere is a list of n pictures that are not there, but for the first good ones, and the description of its ring.
func elsewhere(t *testing.T, n, good int, more string) string {
	t.Helper()
	dir := folder(t, 2*max(good, 1), nil)
	var lines strings.Builder
	for i := range n {
		path := "elsewhere/%05d.jpg"
		if i < good {
			path = dir + "/a/%05d.jpg"
		}
		fmt.Fprintf(&lines, path+"\n", i)
	}
	list := filepath.Join(dir, "all.txt")
	must(os.WriteFile(list, []byte(lines.String()), 0o600))
	return fmt.Sprintf("name: %s\nsource: {list: %s}\nbatch: 64\nimage: {transform: [{resize: [8, 8]}]}\n%s", testName(), list, more)
}

// untilItEnds takes batches until the ring ends, and returns how many there were, and why it did.
func untilItEnds(t *testing.T, r *running) (n int, end error) {
	t.Helper()
	reader := r.attach(shm.AttachOptions{})
	for {
		l, err := reader.Acquire(testContext(t))
		if errors.Is(err, shm.EndEpoch) {
			continue
		}
		if err != nil {
			must(reader.Close())
			_ = r.end() // says it once more
			return n, err
		}
		n++
		must(l.Release())
	}
}

// A data set of which none of the first samples is good ends the ring long before its epoch does, always at the same batch, with the cause and
// what to look at; in file order later, as one directory may be all that came; never where the description forgives.
func TestFirstSamplesTellOfAllOthers(t *testing.T) {
	leavesNothing(t)
	for more, want := range map[string]int{ // batches that decide; 0: none does
		"":                                   16,
		"bad_sample: {policy: mask}\n":       16,
		"bad_sample: {probation: 1500}\n":    24,
		"world: {size: 2}\n":                 16,
		"order: {shuffle: false}\n":          157,
		"bad_sample: {max_rate: 1}\n":        0,
		"bad_sample: {probation: 1000000}\n": 200,
	} {
		if !strings.Contains(more, "order") {
			more += "order: {epochs: 1}\n"
		}
		n, end := untilItEnds(t, startAgain(t, parsed(t, elsewhere(t, 12800, 0, more)), nil))
		if want == 0 {
			if n != 200 || !errors.Is(end, shm.EndData) {
				t.Errorf("%s: %d batches, %v; want all 200", more, n, end)
			}
			continue
		}
		first := "first "
		if want == 200 {
			first = ""
		}
		if n != want-1 {
			t.Errorf("%s: %d batches, want %d before the one that decides", more, n, want-1)
		}
		wantError(t, end, shm.ErrEngineFailed, fmt.Sprintf("epoch 0: none of its %s%d samples is good; %d are bad by cause missing, such as: ", first, 64*want, 64*want),
			"elsewhere/", "no such file", "compare the example's path with where the files are (the paths of a list begin at source.root), or say bad_sample: {max_rate: 1}")
	}
	_, end := untilItEnds(t, startAgain(t, parsed(t, elsewhere(t, 12800, 0, "ring: {delivery: ready}\n")), nil))
	wantError(t, end, shm.ErrEngineFailed, "epoch 0: none of its first ")
}

// Samples are judged as their batches are published: for groups that are declared nobody has to read. Where the slots hold fewer samples than
// tell, or there is no group, the ring waits, as with good ones, and ends when somebody takes batches.
func TestSamplesThatNobodyTakesTellAsManyAsAreForSomebody(t *testing.T) {
	leavesNothing(t)
	enough := startAgain(t, parsed(t, elsewhere(t, 12800, 0, "ring: {slots: 16, groups: [{name: g}]}\n")), nil)
	eventually(t, "the ring to fail", func() bool { return enough.Ring(0).Info().State == shm.StateFailed })
	_ = enough.end() // says it once more
	for ring, batches := range map[string]uint64{"{slots: 15, groups: [{name: g}]}": 15, "{slots: 16}": 0} {
		few := startAgain(t, parsed(t, elsewhere(t, 12800, 0, "ring: "+ring+"\n")), nil)
		eventually(t, "the ring to be full", func() bool { i := few.Ring(0).Info(); return i.Parked && i.Published == batches })
		if n, end := untilItEnds(t, few); n != 15 || !errors.Is(end, shm.ErrEngineFailed) {
			t.Errorf("%s: %d batches, %v; want 15 and the failure", ring, n, end)
		}
	}
}

// One good sample among the first is enough to go on, and a run that begins in the middle of an epoch does not know whether there was one.
func TestWhatMayHaveAGoodSampleGoesOn(t *testing.T) {
	leavesNothing(t)
	n, end := untilItEnds(t, startAgain(t, parsed(t, elsewhere(t, 12800, 1, "order: {epochs: 1, shuffle: false}\n")), nil))
	if n != 200 || !errors.Is(end, shm.EndData) {
		t.Errorf("%d batches, %v; want all 200", n, end)
	}
	dir := folder(t, 12, nil)
	var lines strings.Builder
	for i := range 12800 {
		fmt.Fprintf(&lines, "a/%05d.jpg\n", i%6)
	}
	must(os.WriteFile(filepath.Join(dir, "all.txt"), []byte(lines.String()), 0o600))
	store := startAgain(t, parsed(t, fmt.Sprintf("name: %s\nsource: {list: %s/all.txt}\nbatch: 64\nimage: {transform: [{resize: [8, 8]}]}\norder: {epochs: 2}\nring: {slots: 3}\n", testName(), dir)), nil)
	one := store.attach(shm.AttachOptions{MaxLeases: 1})
	takeBatches(t, one, 150)
	must(os.RemoveAll(dir + "/a")) // as a store that goes away: the epoch had good samples, the next one has none
	must(one.Close())
	_, end = untilItEnds(t, store)
	wantError(t, end, shm.ErrEngineFailed, "epoch 1: none of its 12800 samples is good")
	text := elsewhere(t, 3200, 0, "order: {epochs: 1}\n")
	r := startAgain(t, parsed(t, text), nil)
	reader := r.attach(shm.AttachOptions{})
	takeBatches(t, reader, 3)
	state, err := reader.SaveState(testContext(t), false)
	must(err)
	must(reader.Close())
	_ = r.end() // which may have come to its failure
	if n, end = untilItEnds(t, startAgain(t, parsed(t, text), &Options{State: state})); n != 47 || !errors.Is(end, shm.EndData) {
		t.Errorf("%d batches, %v; want the other 47", n, end)
	}
}

// What to look at is said of the causes that have one remedy.
func TestRemediesOfCauses(t *testing.T) {
	for cause, want := range map[string]string{
		"missing": "source.root", "permission": "credentials", "not_an_image": "source.image", "not_media": "source.image", "not_audio": "source.image",
		"no_stream": "source.image", "corrupt": "mend the source",
	} {
		if got := remedyOf(cause); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", cause, got, want)
		}
	}
}
