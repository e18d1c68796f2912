package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/shm"
)

const resumeSpec = "batch: 4\norder: {epochs: 2, seed: 4}\n" // of 18 samples: 5 steps an epoch

// everything is all batches of a training run, for comparison.
func everything(t *testing.T, dir, more string, epochs int) (all []seen) {
	r := startAgain(t, describe(t, dir, more), nil)
	defer func() { _ = r.end() }()
	reader := r.attach(shm.AttachOptions{})
	defer reader.Close()
	for range epochs {
		all = append(all, epoch(t, reader)...)
	}
	return all
}

// rest takes what is left of all epochs.
func rest(t *testing.T, reader *shm.Reader) (all []seen) {
	t.Helper()
	for {
		l, err := reader.Acquire(testContext(t))
		switch {
		case errors.Is(err, shm.EndData):
			return all
		case errors.Is(err, shm.EndEpoch):
			continue
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, look(l))
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

func wantSame(t *testing.T, got, want []seen) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d batches, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Ticket != want[i].Ticket || got[i].Epoch != want[i].Epoch || !slices.Equal(got[i].Index, want[i].Index) || !slices.Equal(got[i].Image, want[i].Image) {
			t.Fatalf("batch %d: got ticket %d of epoch %d, samples %v; want %d, %d, %v",
				i, got[i].Ticket, got[i].Epoch, got[i].Index, want[i].Ticket, want[i].Epoch, want[i].Index)
		}
	}
}

// Wherever a run is cut, an engine that starts from the state delivers exactly the rest, in the same order.
func TestResumeDeliversExactlyTheRest(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	all := everything(t, dir, resumeSpec, 2)
	for cut := range len(all) + 1 {
		state := stateAfter(t, dir, cut)
		s := describe(t, dir, resumeSpec)
		r := startAgain(t, s, &Options{State: state})
		reader := r.attach(shm.AttachOptions{})
		wantSame(t, rest(t, reader), all[cut:])
		_ = reader.Close()
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
	}
}

func stateAfter(t *testing.T, dir string, batches int) []byte {
	t.Helper()
	r := startAgain(t, describe(t, dir, resumeSpec), nil)
	defer func() { _ = r.end() }()
	reader := r.attach(shm.AttachOptions{})
	defer reader.Close()
	for taken := 0; taken < batches; {
		if take(t, reader) != nil {
			taken++
		}
	}
	state, err := reader.SaveState(testContext(t), false)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// A state taken in the loop body counts the batch in hand; without that it is delivered again.
func TestStateCountsTheBatchInHandOnRequest(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	all := everything(t, dir, resumeSpec, 2)
	r := startAgain(t, describe(t, dir, resumeSpec), nil)
	reader := r.attach(shm.AttachOptions{})
	l, err := reader.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for from, held := range []bool{false, true} {
		state, err := reader.SaveState(testContext(t), held)
		if err != nil {
			t.Fatal(err)
		}
		again := startAgain(t, describe(t, dir, resumeSpec), &Options{State: state})
		second := again.attach(shm.AttachOptions{})
		wantSame(t, rest(t, second), all[from:])
		_ = second.Close()
		_ = again.end()
	}
	_ = l.Release()
}

// Batches completed out of order are named in the state, an epoch's last among them, and do not come again.
func TestResumeLeavesOutWhatWasCompletedAhead(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	all := everything(t, dir, resumeSpec, 2)
	for held := range 5 {
		r := startAgain(t, describe(t, dir, resumeSpec), nil)
		reader := r.attach(shm.AttachOptions{MaxLeases: 5, Handoff: true})
		var keep *shm.Lease
		for step := range 5 {
			l, err := reader.Acquire(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			if step == held {
				keep = l
			} else if err := l.Release(); err != nil {
				t.Fatal(err)
			}
		}
		state, err := reader.SaveState(testContext(t), false)
		if err != nil {
			t.Fatal(err)
		}
		again := startAgain(t, describe(t, dir, resumeSpec), &Options{State: state})
		second := again.attach(shm.AttachOptions{})
		// The state of the second engine, before it has done anything, is the one it started from.
		same, err := second.SaveState(testContext(t), false)
		if err != nil || string(same) != string(state) {
			t.Fatalf("state %s became %s, %v", state, same, err)
		}
		wantSame(t, rest(t, second), append([]seen{all[held]}, all[5:]...))
		_ = second.Close()
		_ = again.end()
		_ = keep.Release()
		_ = reader.Close()
		_ = r.end()
	}
}

// A lane's state is what that lane completed: another rank's delay does not change it.
func TestStateOfALaneIsItsOwn(t *testing.T) {
	more := "batch: 2\nworld: {size: 2}\norder: {epochs: 1, seed: 4}\nring: {groups: [{name: g, mode: lanes, lanes: 2}]}\n"
	r := start(t, describe(t, folder(t, 18, nil), more), nil)
	a, b := r.attach(shm.AttachOptions{Lane: 0, MaxLeases: 1}), r.attach(shm.AttachOptions{Lane: 1, MaxLeases: 1})
	for range 3 {
		take(t, a)
	}
	take(t, b)
	for _, c := range []struct {
		reader *shm.Reader
		step   int64
	}{{a, 3}, {b, 1}} {
		data, err := c.reader.SaveState(testContext(t), false)
		if err != nil {
			t.Fatal(err)
		}
		state, err := r.rings[0].parseState(data)
		if err != nil || state.Epoch != 0 || state.Step != c.step || len(state.Done) != 0 {
			t.Fatalf("state %s, %v; want step %d", data, err, c.step)
		}
	}
}

// Completed tickets become completed steps, for all lanes or for one.
func TestCompletedStepsFollowTheirLanes(t *testing.T) {
	for _, c := range []struct {
		low             uint64
		above           []uint64
		lanes, from, to int
		step            int64
		done            []int64
	}{
		{0, nil, 1, 0, 1, 0, nil},
		{7, nil, 1, 0, 1, 7, nil},
		{7, []uint64{8, 9, 11}, 1, 0, 1, 7, []int64{8, 9, 11}},
		{5, nil, 2, 0, 2, 2, nil},                                // step 2 lacks its second lane
		{5, nil, 2, 0, 1, 3, nil},                                // but not its first
		{5, nil, 2, 1, 2, 2, nil},                                //
		{4, []uint64{6, 7, 8}, 2, 0, 2, 2, []int64{3}},           // step 4 lacks a lane
		{4, []uint64{6, 7, 8}, 2, 0, 1, 2, []int64{3, 4}},        // which is not this one's
		{4, []uint64{5, 6, 7, 9}, 2, 1, 2, 5, nil},               // this lane has completed up to ticket 9
		{0, []uint64{1, 2, 3, 4, 5}, 3, 1, 2, 2, nil},            //
		{0, []uint64{1, 2, 3, 4, 5, 10}, 3, 1, 2, 2, []int64{3}}, // ticket 7 is missing
	} {
		step, done := completedSteps(progressTo(c.low, c.above), c.lanes, c.from, c.to)
		if step != c.step || !slices.Equal(done, c.done) {
			t.Errorf("%+v: got step %d, done %v", c, step, done)
		}
	}
}

// progressTo is that of a group which has completed every ticket below low, and those in above.
func progressTo(low uint64, above []uint64) shm.Progress {
	p := shm.Progress{Next: low}
	for _, ticket := range above {
		for ; p.Next < ticket; p.Next++ {
			p.Open = append(p.Open, p.Next)
		}
		p.Next = ticket + 1
	}
	return p
}

// Load goes back and forth on a running ring, and comes back from the end of the last epoch.
func TestLoadMovesARunningRing(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	all := everything(t, dir, resumeSpec, 2)
	r := startAgain(t, describe(t, dir, resumeSpec), nil)
	reader := r.attach(shm.AttachOptions{})
	states := make([][]byte, len(all)+1)
	save := func(at int) {
		state, err := reader.SaveState(testContext(t), false)
		if err != nil {
			t.Fatal(err)
		}
		states[at] = state
	}
	save(0)
	for i := 0; i < len(all); {
		if take(t, reader) != nil {
			i++
			save(i)
		}
	}
	if left := rest(t, reader); len(left) != 0 {
		t.Fatalf("%d batches too many", len(left))
	}
	for _, at := range []int{0, 7, 3, 10, 5, 1} {
		if err := reader.LoadState(testContext(t), states[at]); err != nil {
			t.Fatalf("load of the state after %d batches: %v", at, err)
		}
		wantSame(t, rest(t, reader), all[at:])
	}
	// In the middle, with batches published ahead.
	for _, at := range []int{2, 6} {
		if err := reader.LoadState(testContext(t), states[0]); err != nil {
			t.Fatal(err)
		}
		take(t, reader)
		if err := reader.LoadState(testContext(t), states[at]); err != nil {
			t.Fatal(err)
		}
		wantSame(t, rest(t, reader), all[at:])
	}
}

// A load that is refused changes nothing: not while a batch is held undone, nor for a state of another order, nor with
// another group on the ring.
func TestRefusedLoadChangesNothing(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	all := everything(t, dir, resumeSpec, 2)
	r := startAgain(t, describe(t, dir, resumeSpec), nil)
	reader := r.attach(shm.AttachOptions{})
	begin, err := reader.SaveState(testContext(t), false)
	if err != nil {
		t.Fatal(err)
	}
	l, err := reader.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a full ring", func() bool { return r.Stats().Rings[0].Ring.Published == 8 })
	wantError(t, reader.LoadState(testContext(t), begin), shm.ErrBusy, "ticket 0 is held and not done")
	got := []seen{look(l)}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	wantError(t, reader.LoadState(testContext(t), []byte(`{"version":1}`)), shm.ErrState, "missing")
	other := startAgain(t, describe(t, dir, "batch: 4\norder: {epochs: 2, seed: 5}\n"), nil)
	stranger := other.attach(shm.AttachOptions{})
	foreign, err := stranger.SaveState(testContext(t), false)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, reader.LoadState(testContext(t), foreign), shm.ErrState, "seed 5, now 4")
	second := r.attach(shm.AttachOptions{Group: "second", MaxLeases: 1})
	wantError(t, reader.LoadState(testContext(t), begin), shm.ErrBusy, "2 groups")
	_ = second.Close()
	wantSame(t, append(got, rest(t, reader)...), all)
}

// An engine refuses to start from a state of another order, and names what differs.
func TestStartRefusesAForeignState(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	state := stateAfter(t, dir, 1)
	_, err := New(describe(t, dir, "batch: 5\norder: {epochs: 2, seed: 4}\n"), &Options{State: state})
	wantError(t, err, shm.ErrState, "global batch 4, now 5", "set batch: 4")
	_, err = New(describe(t, dir, resumeSpec), &Options{State: []byte("no json")})
	wantError(t, err, shm.ErrState, "JSON object")
	_, err = New(describe(t, dir, "rings: {a: {}, b: {}}\n"), &Options{State: state})
	wantError(t, err, shm.ErrState, "/a\"", "seed 4, now 0")
}

// Restart leaves the rest of an epoch, published or not, and goes on with the next from its first batch.
func TestRestartBeginsTheNextEpoch(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 70, nil)
	more := "batch: 2\norder: {epochs: 4, seed: 4}\n" // 35 steps: no epoch fits into the ring
	all := everything(t, dir, more, 4)
	for _, taken := range []int{0, 1, 30, 34, 35} {
		r := startAgain(t, describe(t, dir, more), nil)
		reader := r.attach(shm.AttachOptions{})
		for range taken {
			take(t, reader)
		}
		if err := reader.Restart(testContext(t)); err != nil {
			t.Fatal(err)
		}
		if reader.Epoch() != 1 {
			t.Fatalf("epoch %d after restart, want 1", reader.Epoch())
		}
		data, err := reader.SaveState(testContext(t), false)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := r.rings[0].parseState(data); err != nil || s.Epoch != 1 || s.Step != 0 {
			t.Fatalf("state after restart: %s, %v", data, err)
		}
		wantSame(t, rest(t, reader), all[35:])
		_ = reader.Close()
		_ = r.end()
	}
}

// A restart in the last epoch ends the data; one more is refused.
func TestRestartInTheLastEpochEndsTheData(t *testing.T) {
	r := start(t, describe(t, folder(t, 18, nil), resumeSpec), nil)
	reader := r.attach(shm.AttachOptions{})
	epoch(t, reader)
	take(t, reader)
	if err := reader.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Acquire(testContext(t)); !errors.Is(err, shm.EndData) {
		t.Fatalf("got %v, want the end of data", err)
	}
	wantError(t, reader.Restart(testContext(t)), shm.ErrArgument, "epoch 1 was the last of 2, and it is over; load a state, or raise order.epochs")
}

// In a group of two a restart would take batches from the other: it is refused, and both go on.
func TestRestartIsForAGroupsOnlyConsumer(t *testing.T) {
	r := start(t, describe(t, folder(t, 18, nil), resumeSpec+"ring: {slots: 16, groups: [{name: a}]}\n"), nil)
	one, two := r.attach(shm.AttachOptions{Group: "a"}), r.attach(shm.AttachOptions{Group: "a"})
	wantError(t, one.Restart(testContext(t)), shm.ErrBusy, `restart: group "a" has 2 consumers, want one; detach the others`)
	take(t, one)
	take(t, two)
}

// With several groups a restart concerns its own alone.
func TestRestartLeavesOtherGroupsAlone(t *testing.T) {
	r := start(t, describe(t, folder(t, 18, nil), resumeSpec+"ring: {slots: 16, groups: [{name: a}, {name: b}]}\n"), nil)
	a, b := r.attach(shm.AttachOptions{Group: "a"}), r.attach(shm.AttachOptions{Group: "b"})
	take(t, a)
	if err := a.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if got := rest(t, b); len(got) != 10 {
		t.Fatalf("the other group got %d batches, want 10", len(got))
	}
	got := rest(t, a)
	if len(got) != 5 || got[0].Epoch != 1 || got[0].Step != 0 {
		t.Fatalf("the restarted group got %d batches, the first %+v; want the 5 of epoch 1", len(got), got)
	}
}

// Nor is what is left of the epoch made for a group that was closed for being slow.
func TestRestartDoesNotHeedAGroupThatWasClosed(t *testing.T) {
	r := start(t, describe(t, folder(t, 18, nil), withSlowGroup), nil)
	a, _, last := closeSlowGroup(t, r)
	if err := a.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if got := take(t, a); got.Epoch != 1 || got.Step != 0 {
		t.Fatalf("got %+v, want the first batch of epoch 1", got)
	}
	if n := r.Ring(0).Info().Published; n > last+20 {
		t.Fatalf("%d batches were made, want no more of the %d of epoch 0 than lay in the ring", n, r.rings[0].order.StepsPerEpoch())
	}
}

// A restart needs a group of one consumer.
func TestRestartIsRefusedInACrowd(t *testing.T) {
	r := start(t, describe(t, folder(t, 18, nil), "ring: {groups: [{name: a}]}\n"), nil)
	a := r.attach(shm.AttachOptions{MaxLeases: 1})
	r.attach(shm.AttachOptions{MaxLeases: 1})
	wantError(t, a.Restart(testContext(t)), shm.ErrBusy, "2 consumers, want one")
}

// Requests that come while the engine stops are answered, not left waiting.
func TestRequestsDuringTheEndAreAnswered(t *testing.T) {
	r := start(t, describe(t, folder(t, 18, nil), "batch: 4\n"), nil)
	reader := r.attach(shm.AttachOptions{})
	answered := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			err = reader.Restart(context.Background())
		}
		answered <- err
	}()
	take(t, reader)
	_ = r.end()
	if err := <-answered; !errors.Is(err, shm.ErrEngineStopped) && !errors.Is(err, shm.ErrEngineLost) {
		t.Fatalf("restart during the end: %v", err)
	}
}

// A state names no more steps than one that is read may, whatever the state gone on from named beside those completed since.
func TestStateThatIsWrittenCanBeRead(t *testing.T) {
	r := start(t, describe(t, folder(t, 20, nil), "batch: 1\n"), nil)
	ring := r.rings[0]
	ring.goOnFrom(&sampler.State{Done: sampler.Steps{maxApart + 3, maxApart + 5}})
	for more, want := range []bool{true, false, false} {
		done := make([]int64, maxApart-2+more)
		for i := range done {
			done[i] = int64(2 + i)
		}
		state, all := ring.stateOf(0, done)
		if _, err := ring.parseState(state.JSON()); err != nil || all != want {
			t.Fatalf("%d steps: %v, all named: %v, want %v", len(done), err, all, want)
		}
	}
}

// A batch held while thousands of later steps are completed is one open step in a short state.
func TestStateNamesThousandsOfStepsAfterAHeldBatch(t *testing.T) {
	leavesNothing(t)
	const later = 6000
	dir := folder(t, 20, nil)
	s := describe(t, dir, "batch: 1\n")
	r := startAgain(t, s, nil)
	reader := r.attach(shm.AttachOptions{})
	held, err := reader.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for range later {
		l, err := reader.Acquire(testContext(t))
		if err == nil {
			err = l.Release()
		}
		if err != nil && !errors.Is(err, shm.EndEpoch) && !errors.Is(err, shm.ErrUndone) {
			t.Fatal(err)
		}
	}
	state, err := reader.SaveState(testContext(t), false)
	if err != nil || len(state) > 300 {
		t.Fatalf("%d bytes, %v", len(state), err)
	}
	_ = held.Release()
	_ = reader.Close()
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
}
