package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// listed writes a list of the pictures of a folder of n, with the labels that label says, in order or the other way round.
func listed(t *testing.T, dir string, n int, reversed bool, label func(i int) int) {
	t.Helper()
	text := ""
	for i := range n {
		if reversed {
			i = n - 1 - i
		}
		class := "a"
		if i >= n/2 {
			class = "b"
		}
		text += fmt.Sprintf("%s/%05d.jpg\t%d\n", class, i, label(i))
	}
	if err := os.WriteFile(filepath.Join(dir, "list.tsv"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func listSpec(t *testing.T, dir, more string) *spec.Spec {
	t.Helper()
	text := fmt.Sprintf("name: %s\nsource: {list: %q}\nimage: {transform: [{resize: [8, 8]}]}\nbatch: 4\norder: {epochs: 2, seed: 4}\n%s", testName(), filepath.Join(dir, "list.tsv"), more)
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func half(i int) int { return i % 2 }

// A state, a journal and a killed engine's ring are of the samples that there were: with others of the same number, or with other labels,
// under the same description, they are refused by name.
func TestOtherSamplesOfTheSameNumberAreRefused(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	for want, change := range map[string]func(){
		"other samples under the same description": func() { listed(t, dir, 18, true, half) },
		"other labels or classes":                  func() { listed(t, dir, 18, false, func(int) int { return 1 }) },
	} {
		listed(t, dir, 18, false, half)
		s := listSpec(t, dir, "")
		o := &Options{Journal: filepath.Join(t.TempDir(), "position")}
		r := startAgain(t, s, o)
		reader := r.attach(shm.AttachOptions{})
		take(t, reader)
		state, err := reader.SaveState(testContext(t), false)
		if err != nil {
			t.Fatal(err)
		}
		r.leave(reader)
		startAgain(t, s, nil).die() // without the journal, whose engine ends in good order
		change()
		_, err = New(s, &Options{State: state})
		wantError(t, err, shm.ErrState, want, "go on with the data set")
		journalled := listSpec(t, dir, "ring: {backing: memfd}\n")
		journalled.Name = s.Name
		_, err = New(journalled, o)
		wantError(t, err, shm.ErrState, want, o.Journal, "--fresh")
		_, err = New(s, nil)
		wantError(t, err, shm.ErrState, "which samples there are", "--fresh")
		listed(t, dir, 18, false, half)
		next := adopt(t, s) // with what it was killed over
		if err := next.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// The same samples behind another path are the same data set: a state goes on there.
func TestStateGoesOnWhereTheSameSamplesLieElsewhere(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	state := stateAfter(t, dir, 2)
	all := everything(t, dir, resumeSpec, 2)
	link := filepath.Join(t.TempDir(), "mount")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	r := startAgain(t, describe(t, link, resumeSpec), &Options{State: state})
	reader := r.attach(shm.AttachOptions{})
	wantSame(t, rest(t, reader), all[2:])
	r.leave(reader)
}

// The weights of a mixture belong to its data set.
func TestStateOfOtherWeightsIsRefused(t *testing.T) {
	leavesNothing(t)
	a, b := folder(t, 8, nil), folder(t, 8, nil)
	mixed := func(weight float64) *spec.Spec {
		text := fmt.Sprintf("name: %s\nsource: {mix: [{folder: %q, weight: 1}, {folder: %q, weight: %g}]}\nimage: {transform: [{resize: [8, 8]}]}\nbatch: 4\n", testName(), a, b, weight)
		s, err := spec.Parse([]byte(text), "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	r := startAgain(t, mixed(1), nil)
	state := r.rings[0].order.State(1, nil).JSON()
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(startAgain(t, mixed(1), &Options{State: state}).end()); err != nil {
		t.Fatal(err)
	}
	_, err := New(mixed(2), &Options{State: state})
	wantError(t, err, shm.ErrState, "other weights of source.mix")
}
