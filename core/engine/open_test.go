package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// A source without samples, or that is not there, is refused and named, and nothing is left of the attempt.
func TestNewRefusesASourceWithoutSamples(t *testing.T) {
	leavesNothing(t)
	missing := filepath.Join(t.TempDir(), "nowhere")
	if _, err := New(describe(t, missing, ""), nil); err == nil {
		t.Fatal("a missing folder was taken")
	} else {
		wantError(t, err, err, missing, "no such directory")
	}
	none := t.TempDir()
	_, err := New(describe(t, none, ""), nil)
	wantError(t, err, source.ErrNoSamples, none)
}

// Dropping the last batch of a data set smaller than a batch leaves nothing to deliver: an error, not an endless wait.
func TestNewRefusesAnEpochWithoutBatches(t *testing.T) {
	leavesNothing(t)
	_, err := New(describe(t, folder(t, 3, nil), "batch: 4\norder: {last: drop}\n"), nil)
	wantError(t, err, sampler.ErrNoBatch, "3 rows", "last: cover or pad")
}

// A ring that the machine's memory cannot hold is refused with the numbers before anything is reserved.
func TestNewRefusesMoreSlotsThanMemory(t *testing.T) {
	leavesNothing(t)
	s := describeImage(t, folder(t, 4, nil), "{transform: [{resize: [1024, 1024]}]}", "batch: 1024\nring: {slots: 16384}\n")
	_, err := New(s, nil)
	wantError(t, err, shm.ErrNoSpace, "16384 slots", "MiB of memory are available", "lower ring.slots or batch")
}

// Two engines cannot have one name; the name is free again when the first has ended.
func TestNameInUse(t *testing.T) {
	leavesNothing(t)
	s := describe(t, folder(t, 4, nil), "")
	first, err := New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(s, nil)
	wantError(t, err, shm.ErrNameInUse, s.Name, "choose another name")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// What a killed engine left under the name is replaced.
func TestLeftoversAreReplaced(t *testing.T) {
	leavesNothing(t)
	s := describe(t, folder(t, 4, nil), "order: {epochs: 1}\n")
	for _, part := range []string{".h", ".d", ".g1"} {
		if err := os.WriteFile("/dev/shm/spdl."+s.Name+part, []byte("left by a crash"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := startAgain(t, s, nil)
	if n := len(indexes(epoch(t, r.attach(shm.AttachOptions{})))); n != 4 {
		t.Fatalf("%d samples, want 4", n)
	}
}

// When one of several rings cannot be made, nothing of the others stays.
func TestNewLeavesNothingOfAnEngineThatFails(t *testing.T) {
	leavesNothing(t)
	s := describe(t, folder(t, 4, nil), fmt.Sprintf("rings: {good: {}, bad: {source: {folder: %q}}}\n", t.TempDir()))
	_, err := New(s, nil)
	wantError(t, err, source.ErrNoSamples)
	if left := shmNames(t, "spdl."+s.Name); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

// A child keeps its ring out of /dev/shm and lets its one consumer write; a service does neither.
func TestChildIsPrivateAndUnnamed(t *testing.T) {
	for _, child := range []bool{true, false} {
		s := describe(t, folder(t, 4, nil), "")
		r := start(t, s, &Options{Child: child})
		if named := len(shmNames(t, "spdl."+s.Name)) > 0; named == child {
			t.Fatalf("child %v: names in /dev/shm: %v", child, named)
		}
		r.attach(shm.AttachOptions{MaxLeases: 1})
		_, err := shm.Attach(testContext(t), s.Name, shm.AttachOptions{MaxLeases: 1})
		if busy := errors.Is(err, shm.ErrBusy); busy != child {
			t.Fatalf("child %v: a second consumer got %v", child, err)
		}
		_ = r.end()
	}
}

// Rows of whole arrays are copied in less time than a hand-over takes, so many of them travel together, unless they are large; other samples are few. Every worker has several
// jobs of a batch.
func TestSmallRowsOfArraysTravelTogether(t *testing.T) {
	arrays, media := []spec.ArrayFiles{{Name: "x"}}, &spec.Image{}
	for name, c := range map[string]struct {
		spec     spec.Spec
		rowBytes int64
		want     int
	}{
		"small rows":       {spec.Spec{Batch: 4096, Source: spec.Source{Arrays: arrays}}, 128, 64},
		"a small batch":    {spec.Spec{Batch: 80, Source: spec.Source{Arrays: arrays}}, 128, 10},
		"rows of 16 KiB":   {spec.Spec{Batch: 4096, Source: spec.Source{Arrays: arrays}}, 16 << 10, 16},
		"large rows":       {spec.Spec{Batch: 4096, Source: spec.Source{Arrays: arrays}}, 1 << 20, 1},
		"pictures of them": {spec.Spec{Batch: 4096, Source: spec.Source{Arrays: arrays}, Image: media}, 128, 4},
		"other samples":    {spec.Spec{Batch: 4096, Source: spec.Source{Folder: "d"}, Image: media}, 128, 4},
		"one sample":       {spec.Spec{Batch: 1, Source: spec.Source{Arrays: arrays}}, 128, 1},
	} {
		r := &ring{decoders: 2, columns: []source.Column{{Type: source.Array, DType: tensor.U8, Shape: tensor.Shape{c.rowBytes}}}}
		if got := r.together(&c.spec); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
