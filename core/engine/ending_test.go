package engine

import (
	"context"
	"testing"

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

// An engine that is stopped while its storage hangs cannot end yet. It lets nobody in, and its ring stays one that the next engine adopts when this
// one is killed.
func TestStoppedEngineLetsNobodyInWhileItsStorageHangs(t *testing.T) {
	leavesNothing(t)
	e, err := New(describe(t, folder(t, 8, nil), "batch: 4\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	asked, let := make(chan struct{}, 1), make(chan struct{})
	e.rings[0].source = hangingSource{e.rings[0].source, asked, let}
	r := serve(t, e)
	defer close(let) // before the engine's end, for which r waits
	<-asked
	e.Stop()
	<-e.Ending()
	_, err = shm.Attach(testContext(t), e.spec.Name, shm.AttachOptions{})
	wantError(t, err, shm.ErrEngineStopped, e.spec.Name, "the engine is stopping")
	if state := e.Ring(0).Info().State; state != shm.StateRunning {
		t.Errorf("the ring's state is %d, want %d: it goes on when the engine is killed", state, shm.StateRunning)
	}
	select {
	case err := <-r.done:
		t.Errorf("Run returned %v while a read hangs", err)
	default:
	}
}
