package engine

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/shm"
)

// hangingSource does not answer, whoever goes away, until it is let go, as a file system does whose server is gone.
type hangingSource struct {
	source.Source
	asked chan<- struct{}
	let   <-chan struct{}
}

func (s hangingSource) Read(ctx context.Context, i int64, b *source.Buffer) error {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	<-s.let
	return s.Source.Read(ctx, i, b)
}

// startHanging is an engine whose storage hangs until let is called.
func startHanging(t *testing.T, o *Options) (r *running, let func()) {
	t.Helper()
	leavesNothing(t)
	e, err := New(describe(t, folder(t, 8, nil), "batch: 4\n"), o)
	if err != nil {
		t.Fatal(err)
	}
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	e.rings[0].source = hangingSource{e.rings[0].source, asked, answer}
	r, let = serve(t, e), sync.OnceFunc(func() { close(answer) })
	t.Cleanup(let) // before the engine's end, which waits for it
	<-asked
	return r, let
}

// An engine that is stopped while its storage hangs cannot end yet. It lets nobody in, and its ring stays one that the next engine adopts when this
// one is killed.
func TestStoppedEngineLetsNobodyInWhileItsStorageHangs(t *testing.T) {
	e, _ := startHanging(t, nil)
	e.Stop()
	<-e.Ending()
	_, err := shm.Attach(testContext(t), e.spec.Name, shm.AttachOptions{})
	wantError(t, err, shm.ErrEngineStopped, e.spec.Name, "the engine is stopping")
	if state := e.Ring(0).Info().State; state != shm.StateRunning {
		t.Errorf("the ring's state is %d, want %d: it goes on when the engine is killed", state, shm.StateRunning)
	}
	select {
	case err := <-e.done:
		t.Errorf("Run returned %v while a read hangs", err)
	default:
	}
}

// An end that takes long is explained, once: who has closed the engine is gone, and what it left behind is a thread, or a process.
func TestEndThatHangsSaysWhatItWaitsFor(t *testing.T) {
	defer func(after time.Duration) { hangsAfter = after }(hangsAfter)
	hangsAfter = time.Millisecond
	out := &lockedBuffer{}
	r, let := startHanging(t, &Options{Log: NewLog(out, Warn)})
	r.Stop()
	eventually(t, "the warning", func() bool { return out.String() != "" })
	let()
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("in stage fetch, for 1ms so far; if it is a storage that never answers, only the end of process %d helps\n", os.Getpid())
	if got := out.String(); !strings.Contains(got, r.spec.Name+": the engine's end waits for ") || !strings.HasSuffix(got, want) || strings.Count(got, "\n") != 1 {
		t.Errorf("the log says %q", got)
	}
}
