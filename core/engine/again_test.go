package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

const stageSpec = "batch: 4\norder: {epochs: 2, seed: 4}\nring: {groups: [{name: augment, kind: stage}, {name: train}]}\n" // of 18 samples: 5 steps an epoch

// transform must neither be left out, nor done by half, nor twice.
func transform(pixels []byte) {
	for i, p := range pixels {
		pixels[i] = 3*p + byte(i) + 1
	}
}

// transformed is what the stage makes of batches.
func transformed(batches []seen) []seen {
	all := slices.Clone(batches)
	for i := range all {
		all[i].Image = slices.Clone(all[i].Image)
		transform(all[i].Image)
	}
	return all
}

// work transforms batches until ctx ends; every spoilEvery-th worker's batch is left half done by detaching. 0: none.
func (r *running) work(ctx context.Context, spoilEvery int) error {
	for n := 1; ; n++ {
		reader, err := shm.Attach(ctx, r.spec.Name, shm.AttachOptions{Group: "augment", MaxLeases: 1})
		if err != nil {
			return err
		}
		err = workUntil(ctx, reader, spoilEvery)
		_ = reader.Close()
		if err != nil {
			return err
		}
	}
}

// workUntil transforms batches, and leaves the n-th half done.
func workUntil(ctx context.Context, reader *shm.Reader, n int) error {
	for {
		l, err := reader.Acquire(ctx)
		if errors.Is(err, shm.EndEpoch) {
			continue
		}
		if err != nil {
			return err
		}
		pixels := l.Tensor(sampleTensor)
		if n--; n == 0 {
			transform(pixels[:len(pixels)/2])
			clear(l.Tensor(indexTensor))
			return nil
		}
		transform(pixels)
		if err := l.Release(); err != nil {
			return err
		}
	}
}

// startWork has a worker at work until the test's end, or until stop is called.
func (r *running) startWork(spoilEvery int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.work(ctx, spoilEvery) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, shm.EndData) && !errors.Is(err, shm.ErrEngineFailed) && !errors.Is(err, shm.ErrEngineStopped) {
			r.t.Errorf("worker: %v", err)
		}
	})
	r.t.Cleanup(stop)
	return stop
}

// Whatever a worker left half done is decoded again from its samples, to the same bytes, before it is offered again: the
// consumers of two groups get what they get without any death.
func TestBatchOfADeadWorkerIsDecodedAgainToTheSameBytes(t *testing.T) {
	leavesNothing(t)
	broken := func(path string) {
		if err := os.WriteFile(path, []byte("no picture"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := folder(t, 18, map[int]func(string){3: broken, 11: broken})
	want := transformed(everything(t, dir, resumeSpec, 2))
	r := startAgain(t, describe(t, dir, "batch: 4\norder: {epochs: 2, seed: 4}\nring: {groups: [{name: augment, kind: stage}, {name: train}, {name: watch}]}\n"), nil)
	train, watch := r.attach(shm.AttachOptions{Group: "train"}), r.attach(shm.AttachOptions{Group: "watch"})
	stop := r.startWork(3)
	var other []seen
	var both sync.WaitGroup
	both.Add(1)
	go func() {
		defer both.Done()
		other = rest(t, watch)
	}()
	got := rest(t, train)
	both.Wait()
	stop()
	wantSame(t, got, want)
	wantSame(t, other, want)
	stats := r.Stats().Rings[0]
	if again := stats.Groups[0].Redelivered; again < 3 {
		t.Fatalf("%d batches came again, want 3 or more", again)
	}
	if stats.Bad.Total != 4 { // two an epoch; those decoded again are not counted again
		t.Fatalf("%d bad samples, want 4", stats.Bad.Total)
	}
}

// The rows of a batch that is made again are read beside one another: with a store far away they would take as many round trips as there are rows else.
func TestRowsOfABatchThatIsMadeAgainAreReadAtOnce(t *testing.T) {
	leavesNothing(t)
	const rows = 8
	all := make(chan struct{}) // closed by the last of the requests that wait for one another, once the batch is made again
	var again atomic.Bool
	var waiting atomic.Int32
	dir := folder(t, rows, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if again.Load() && r.Method == http.MethodGet {
			if waiting.Add(1) == rows {
				close(all)
			}
			select {
			case <-all:
			case <-time.After(watchdog / 2):
				t.Errorf("%d requests at once, want %d", waiting.Load(), rows)
			case <-r.Context().Done():
			}
		}
		http.FileServer(http.Dir(dir)).ServeHTTP(w, r)
	}))
	defer server.Close()
	list := "path\n"
	for i := range rows {
		list += fmt.Sprintf("%s/%s/%05d.jpg\n", server.URL, string("ab"[i/4]), i)
	}
	path := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(path, []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("name: %s\nsource: {list: %q}\nbatch: 8\norder: {epochs: 1}\nimage: {transform: [{resize: [8, 8]}]}\nring: {groups: [{name: augment, kind: stage}, {name: train}]}\n", testName(), path)
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	r := startAgain(t, s, nil)
	train, worker := r.attach(shm.AttachOptions{Group: "train"}), r.attach(shm.AttachOptions{Group: "augment"})
	if _, err := worker.Acquire(testContext(t)); err != nil {
		t.Fatal(err)
	}
	again.Store(true)
	_ = worker.Close()
	r.startWork(0)
	l, err := train.Acquire(testContext(t))
	if err != nil || l.Rows != rows {
		t.Fatalf("got %+v, %v, want %d rows", l, err, rows)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

// What a worker says it cannot transform is a batch of bad samples: without rows under skip, zero and masked otherwise.
func TestBatchThatFailsInAStageFollowsTheBadSamplePolicy(t *testing.T) {
	for policy, rows := range map[string]int{"skip": 0, "mask": 4, "substitute": 4} {
		t.Run(policy, func(t *testing.T) {
			r := start(t, describe(t, folder(t, 8, nil), "bad_sample: {policy: "+policy+"}\n"+stageSpec), nil)
			consumer := r.attach(shm.AttachOptions{})
			worker := r.attach(shm.AttachOptions{Group: "augment", MaxLeases: 1})
			fail(t, worker, "out of ideas")
			b := take(t, consumer)
			if b.Rows != rows || b.NBad != 4 || b.Flags&shm.FlagBad == 0 {
				t.Fatalf("%d rows, %d bad, flags %#x", b.Rows, b.NBad, b.Flags)
			}
			for i := range b.Rows {
				if b.Status[i] != batch.Masked || b.Image[i*192] != 0 {
					t.Fatalf("row %d: status %d, pixel %d", i, b.Status[i], b.Image[i*192])
				}
			}
			bad := r.Stats().Rings[0].Bad
			if bad.Causes["stage"] != 4 {
				t.Fatalf("causes %v, want 4 of stage", bad.Causes)
			}
			if want := `stage "augment": batch 0: out of ideas`; !strings.Contains(bad.Last[0], want) {
				t.Fatalf("got %q, want %q in it", bad.Last[0], want)
			}
		})
	}
}

func fail(t *testing.T, worker *shm.Reader, why string) {
	t.Helper()
	l, err := worker.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Fail(testContext(t), why); err != nil {
		t.Fatal(err)
	}
}

// Under fail the worker's reason is what ends the ring, and the budget does the same for the other policies, be it after the last
// batch was decoded.
func TestBatchThatFailsInAStageEndsTheRingByPolicyOrBudget(t *testing.T) {
	for _, policy := range []string{"{policy: fail}", "{policy: skip, max_count: 3}"} {
		for _, samples := range []int{8, 200} {
			r := start(t, describe(t, folder(t, samples, nil), "bad_sample: "+policy+"\n"+stageSpec), nil)
			consumer := r.attach(shm.AttachOptions{})
			worker := r.attach(shm.AttachOptions{Group: "augment", MaxLeases: 1})
			if samples == 8 {
				eventually(t, "every batch to be decoded", func() bool { return r.Ring(0).Info().State == shm.StateEnded })
			}
			fail(t, worker, "out of ideas")
			_, err := consumer.Acquire(testContext(t))
			wantError(t, err, shm.ErrEngineFailed, `stage "augment": batch 0: out of ideas`)
			_ = consumer.Close()
			_ = worker.Close()
			wantError(t, r.end(), r.rings[0].failure, "out of ideas")
		}
	}
}

// A saved state counts what consumers completed, however far the stage is ahead; from it exactly the rest comes.
func TestResumeBehindAStageDeliversExactlyTheRest(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	want := transformed(everything(t, dir, resumeSpec, 2))
	for _, cut := range []int{0, 1, 4, 5, 7} {
		first := startAgain(t, describe(t, dir, stageSpec), nil)
		stop := first.startWork(0)
		reader := first.attach(shm.AttachOptions{})
		got := takeSome(t, reader, cut)
		state, err := reader.SaveState(testContext(t), false)
		if err != nil {
			t.Fatal(err)
		}
		stop()
		_ = reader.Close()
		_ = first.end()

		second := startAgain(t, describe(t, dir, stageSpec), &Options{State: state})
		stop = second.startWork(2)
		reader = second.attach(shm.AttachOptions{})
		wantSame(t, append(got, rest(t, reader)...), want)
		stop()
		_ = reader.Close()
		_ = second.end()
	}
}

// Wherever a run behind a stage is cut, with a batch half transformed or not, the next engine goes on with the ring: consumers who
// never left get exactly the rest, each batch transformed once.
func TestAdoptedRingWithAStageDeliversExactlyTheRest(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	all := transformed(everything(t, dir, resumeSpec, 2))
	for cut := range len(all) {
		s := describe(t, dir, stageSpec)
		r := startAgain(t, s, nil)
		train := r.attach(shm.AttachOptions{Group: "train", MaxLeases: 1})
		stop := r.startWork(cut%3 + 2)
		got := takeSome(t, train, cut)
		stop()
		half := r.attach(shm.AttachOptions{Group: "augment", MaxLeases: 1})
		ctx, cancel := context.WithTimeout(testContext(t), 20*time.Millisecond) // there may be nothing left for the stage to do
		err := workUntil(ctx, half, 1)
		cancel()
		r.die()
		_ = half.Close()
		if err != nil && !errors.Is(err, shm.EndData) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		next := startAgain(t, s, nil)
		if !next.Ring(0).Info().Adopted {
			t.Fatal("not adopted")
		}
		stop = next.startWork(0)
		wantSame(t, append(got, rest(t, train)...), all)
		stop()
		_ = train.Close()
		if err := next.end(); err != nil {
			t.Fatal(err)
		}
	}
}

func takeSome(t *testing.T, reader *shm.Reader, n int) (all []seen) {
	t.Helper()
	for len(all) < n {
		if b := take(t, reader); b != nil {
			all = append(all, *b)
		}
	}
	return all
}

// A restart goes to the next epoch and a load to any place, while the stage is at work on what was to come.
func TestRestartAndLoadPassTheStage(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	want := transformed(everything(t, dir, resumeSpec, 2))
	r := startAgain(t, describe(t, dir, strings.Replace(stageSpec, "epochs: 2, ", "", 1)), nil) // without an end of the data, at which workers end
	stop := r.startWork(4)
	reader := r.attach(shm.AttachOptions{})
	start, err := reader.SaveState(testContext(t), false)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		takeSome(t, reader, 2)
		if err := reader.Restart(testContext(t)); err != nil {
			t.Fatal(err)
		}
		wantSame(t, takeSome(t, reader, 3), want[5:8])
		if err := reader.LoadState(testContext(t), start); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	_ = reader.Close()
}
