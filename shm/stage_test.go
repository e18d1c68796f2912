package shm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests' stages transform a batch by a step that may not be left out, done by half, or done twice: every word w becomes
// 3w + 1.

func transform(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, 3*binary.LittleEndian.Uint64(b)+1)
	}
}

// transformed is what n stages make of a ticket's words.
func transformed(ticket uint64, n int) uint64 {
	for range n {
		ticket = 3*ticket + 1
	}
	return ticket
}

func checkTransformed(t testing.TB, l *Lease, n int) {
	t.Helper()
	for b := l.Tensor(0); len(b) >= 8; b = b[8:] {
		if got, want := binary.LittleEndian.Uint64(b), transformed(l.Ticket, n); got != want {
			t.Fatalf("ticket %d after %d stages: payload says %d, want %d", l.Ticket, n, got, want)
		}
	}
}

// stageRing has the stages s0, s1, ... and then the groups; what has to be made again is made again until the test ends.
func stageRing(t *testing.T, slots, stages int, change func(*Config), groups ...GroupConfig) *testRing {
	t.Helper()
	cfg := testConfig(t, slots)
	cfg.Epochs = 2
	for i := range stages {
		cfg.Groups = append(cfg.Groups, GroupConfig{Name: fmt.Sprint("s", i), Kind: KindStage})
	}
	cfg.Groups = append(cfg.Groups, groups...)
	if change != nil {
		change(&cfg)
	}
	r := newTestRing(t, cfg)
	r.startDecoder()
	return r
}

// startDecoder makes again what has to be, until the test ends.
func (r *testRing) startDecoder() {
	ctx, cancel := context.WithCancel(context.Background())
	var decoder sync.WaitGroup
	decoder.Add(1)
	go func() {
		defer decoder.Done()
		r.decodeAgain(ctx)
	}()
	r.t.Cleanup(func() {
		cancel()
		decoder.Wait()
	})
}

// decodeAgain does what the engine does: the same bytes again, or no row of what failed.
func (r *testRing) decodeAgain(ctx context.Context) {
	for {
		sp, err := r.NextSpoiled(ctx)
		if err != nil {
			return
		}
		fillPattern(sp.Slot.Tensor(0), sp.Ticket)
		b := Batch{Ticket: sp.Ticket, Epoch: sp.Slot.desc.Epoch.Load(), Rows: 4, LastOfEpoch: sp.Slot.desc.Flags&FlagLast != 0}
		if sp.Failure != "" {
			b.Rows = 0
		}
		if err := r.Restore(sp.Slot, b); err != nil {
			r.t.Errorf("restore: %v", err)
		}
	}
}

func next(t testing.TB, r *Reader) *Lease {
	t.Helper()
	l, err := r.Acquire(testContext(t))
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return l
}

// A stage's worker has the batch before any consumer, writes it in place, and hands it on by letting go, or by done.
func TestStageTransformsInPlaceBeforeAnyConsumerSees(t *testing.T) {
	for _, backing := range []Backing{Posix, Memfd} {
		for _, access := range []Access{Shared, Private} {
			t.Run(fmt.Sprint("backing", backing, "access", access), func(t *testing.T) {
				r := stageRing(t, 8, 1, func(c *Config) { c.Backing, c.Access = backing, access })
				worker := r.attach(AttachOptions{Group: "s0", MaxLeases: 2})
				consumer := r.attach(AttachOptions{MaxLeases: 2})
				r.publish(2, 0, true)
				first := next(t, worker)
				nothingReady(t, consumer)
				transform(first.Tensor(0))
				if err := first.Done(); err != nil {
					t.Fatal(err)
				}
				l := next(t, consumer)
				checkTransformed(t, l, 1)
				release(t, l)
				release(t, first) // its memory has long been the consumer's
				second := next(t, worker)
				transform(second.Tensor(0))
				release(t, second)
				l = next(t, consumer)
				checkTransformed(t, l, 1)
				if l.Ticket != 1 || l.Attempts != 1 {
					t.Fatalf("got ticket %d, attempts %d", l.Ticket, l.Attempts)
				}
				release(t, l)
				for _, who := range []*Reader{consumer, worker} {
					_, err := who.Acquire(testContext(t))
					wantErr(t, err, EndEpoch)
				}
			})
		}
	}
}

// Several stages have a batch one after the other in the declared order, several groups of consumers all see the result.
func TestStagesComeInTheDeclaredOrderBeforeEveryGroup(t *testing.T) {
	r := stageRing(t, 8, 2, nil, GroupConfig{Name: "train"}, GroupConfig{Name: "watch"})
	s1 := r.attach(AttachOptions{Group: "s1", MaxLeases: 1})
	s0 := r.attach(AttachOptions{Group: "s0", MaxLeases: 1})
	train, watch := r.attach(AttachOptions{Group: "train", MaxLeases: 1}), r.attach(AttachOptions{Group: "watch", MaxLeases: 1})
	r.publish(3, 0, true)
	for i, worker := range []*Reader{s0, s1, s0, s1, s0, s1} {
		l := next(t, worker)
		checkTransformed(t, l, i%2)
		transform(l.Tensor(0))
		release(t, l)
	}
	for ticket := range uint64(3) {
		for _, c := range []*Reader{train, watch} {
			l := next(t, c)
			if l.Ticket != ticket {
				t.Fatalf("got ticket %d, want %d", l.Ticket, ticket)
			}
			checkTransformed(t, l, 2)
			release(t, l)
		}
	}
}

// A worker that is quicker with a later batch does not let it pass the earlier one.
func TestBatchesLeaveAStageInTicketOrder(t *testing.T) {
	r := stageRing(t, 8, 1, nil)
	slow, quick := r.attach(AttachOptions{Group: "s0", MaxLeases: 1}), r.attach(AttachOptions{Group: "s0", MaxLeases: 1})
	consumer := r.attach(AttachOptions{MaxLeases: 1})
	r.publish(3, 0, true)
	held := next(t, slow)
	for range 2 {
		release(t, next(t, quick))
	}
	nothingReady(t, consumer)
	release(t, held)
	for ticket := range uint64(3) {
		l := next(t, consumer)
		if l.Ticket != ticket {
			t.Fatalf("got ticket %d, want %d", l.Ticket, ticket)
		}
		release(t, l)
	}
}

// Without a worker a stage holds the ring back, as any declared group does; without a consumer, what has passed waits.
func TestStageWithoutAWorkerHoldsTheRingBack(t *testing.T) {
	r := stageRing(t, 4, 1, nil)
	r.publish(4, 0, true)
	if s, err := r.tryClaim(); s != nil || err != nil {
		t.Fatalf("got slot %v, error %v, want none to be free", s, err)
	}
	worker := r.attach(AttachOptions{Group: "s0", MaxLeases: 1})
	for range 4 {
		release(t, next(t, worker))
	}
	if s, err := r.tryClaim(); s != nil || err != nil {
		t.Fatalf("got slot %v, error %v, want none to be free without a consumer", s, err)
	}
	consumer := r.attach(AttachOptions{MaxLeases: 1})
	for ticket := range uint64(4) {
		l := next(t, consumer)
		if l.Ticket != ticket {
			t.Fatalf("got ticket %d, want %d", l.Ticket, ticket)
		}
		release(t, l)
	}
}

// What a dead worker had begun is made again from the samples and comes first, flagged, to the first stage.
func TestDeadWorkersBatchIsMadeAgainAndBeginsAtTheFirstStage(t *testing.T) {
	r := stageRing(t, 8, 2, nil)
	s0 := r.attach(AttachOptions{Group: "s0", MaxLeases: 2})
	consumer := r.attach(AttachOptions{MaxLeases: 1})
	r.publish(3, 0, true)
	for range 2 {
		l := next(t, s0)
		transform(l.Tensor(0))
		release(t, l)
	}
	dying := r.startMember("stage-half", "s1", 1)
	dying.await("ready")
	dying.kill()
	s1 := r.attach(AttachOptions{Group: "s1", MaxLeases: 1})
	var again *Lease
	passed := 0 // of the batches behind it, before the death was noticed
	for again = next(t, s0); again.Ticket != 0; again = next(t, s0) {
		release(t, again)
		passed++
	}
	if again.Attempts != 2 {
		t.Fatalf("attempts %d, want 2", again.Attempts)
	}
	checkTransformed(t, again, 0)
	transform(again.Tensor(0))
	release(t, again)
	eventually(t, "the batch to come to the second stage", func() bool { return int(r.group("s1").Unclaimed) == 2+passed })
	for want := range uint64(2) {
		l := next(t, s1)
		if l.Ticket != want {
			t.Fatalf("got ticket %d, want %d", l.Ticket, want)
		}
		checkTransformed(t, l, 1)
		transform(l.Tensor(0))
		release(t, l)
		got := next(t, consumer)
		if got.Ticket != want || got.Attempts != 1 {
			t.Fatalf("consumer got ticket %d, attempts %d, want %d and 1", got.Ticket, got.Attempts, want)
		}
		checkTransformed(t, got, 2)
		release(t, got)
	}
}

// Whoever would wait with a batch in its hands is told, since all others may wait behind it.
func TestWaitingWithABatchUndoneIsAnErrorInAStage(t *testing.T) {
	r := stageRing(t, 8, 1, nil)
	worker := r.attach(AttachOptions{Group: "s0", MaxLeases: 2})
	r.publish(1, 0, false)
	l := next(t, worker)
	_, err := worker.Acquire(testContext(t))
	wantErr(t, err, ErrUndone)
	if err := l.Done(); err != nil {
		t.Fatal(err)
	}
	nothingReady(t, worker)
	release(t, l)
}

// A worker that detaches with a batch half done leaves no half-done batch behind.
func TestDetachInTheMiddleOfABatchHasItMadeAgain(t *testing.T) {
	r := stageRing(t, 8, 1, nil)
	consumer := r.attach(AttachOptions{MaxLeases: 1})
	r.publish(1, 0, true)
	leaver := r.attach(AttachOptions{Group: "s0", MaxLeases: 1})
	l := next(t, leaver)
	transform(l.Tensor(0)[:64])
	if err := leaver.Close(); err != nil {
		t.Fatal(err)
	}
	other := r.attach(AttachOptions{Group: "s0", MaxLeases: 1})
	l = next(t, other)
	checkTransformed(t, l, 0)
	if l.Attempts != 2 {
		t.Fatalf("attempts %d, want 2", l.Attempts)
	}
	transform(l.Tensor(0))
	release(t, l)
	got := next(t, consumer)
	checkTransformed(t, got, 1)
	release(t, got)
}

// A worker's failure is the engine's to deal with; the batch goes on past that stage, in its place.
func TestFailedBatchGoesOnAsTheEngineMadeIt(t *testing.T) {
	r := stageRing(t, 8, 2, nil)
	s0, s1 := r.attach(AttachOptions{Group: "s0", MaxLeases: 1}), r.attach(AttachOptions{Group: "s1", MaxLeases: 1})
	consumer := r.attach(AttachOptions{MaxLeases: 1})
	r.publish(2, 0, false)
	l := next(t, s0)
	var told []Event // the reason is for who makes the batch again, not said twice
	r.Watch(func(e Event) { told = append(told, e) })
	if err := l.Fail(testContext(t), "no good"); err != nil {
		t.Fatal(err)
	}
	r.Watch(nil)
	if want := []Event{{What: "failed", Group: "s0", Text: "batch 0"}}; !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
	wantErr(t, l.Release(), ErrStale)
	wantErr(t, l.Fail(testContext(t), "twice"), ErrStale)
	release(t, next(t, s0))
	for want := range uint64(2) {
		l := next(t, s1)
		if l.Ticket != want || l.Rows != int(4*want) || l.Attempts != 1 {
			t.Fatalf("got ticket %d, %d rows, attempts %d", l.Ticket, l.Rows, l.Attempts)
		}
		release(t, l)
		release(t, next(t, consumer))
	}
	r.publish(1, 0, true)
	release(t, next(t, s0))
	release(t, next(t, s1))
	wantErr(t, next(t, consumer).Fail(testContext(t), "x"), ErrArgument)
}

// No stage is told the end of an epoch of which a batch may come back to it.
func TestEpochEndsForAStageWhenItsBatchesHaveLeftTheLast(t *testing.T) {
	r := stageRing(t, 8, 2, nil)
	s0, s1 := r.attach(AttachOptions{Group: "s0", MaxLeases: 1}), r.attach(AttachOptions{Group: "s1", MaxLeases: 1})
	consumer := r.attach(AttachOptions{MaxLeases: 1})
	r.publish(1, 0, true)
	release(t, next(t, s0))
	nothingReady(t, s0)
	l := next(t, s1)
	nothingReady(t, s0)
	release(t, l)
	for _, w := range []*Reader{s0, s1} {
		_, err := w.Acquire(testContext(t))
		wantErr(t, err, EndEpoch)
	}
	release(t, next(t, consumer))
	_, err := consumer.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
}

// A saved position counts what consumers have completed, not what a stage has.
func TestProgressCountsWhatConsumersCompleted(t *testing.T) {
	r := stageRing(t, 8, 1, nil)
	worker := r.attach(AttachOptions{Group: "s0", MaxLeases: 1})
	consumer := r.attach(AttachOptions{MaxLeases: 1})
	r.publish(4, 0, true)
	for range 2 {
		release(t, next(t, worker))
	}
	release(t, next(t, consumer))
	index := -1
	for _, g := range r.Groups() {
		if g.Kind == KindConsumer {
			index = g.Index
		}
	}
	if p, err := r.Progress(index, 0, nil); err != nil || p.Low() != 1 || len(p.Above()) != 0 {
		t.Fatalf("%+v, %v, want 1 open, and nothing completed above", p, err)
	}
	wantErr(t, onlyErr(worker.SaveState(testContext(t), false)), ErrArgument)
	wantErr(t, worker.LoadState(testContext(t), nil), ErrArgument)
	wantErr(t, worker.Restart(testContext(t)), ErrArgument)
}

func onlyErr(_ []byte, err error) error { return err }

// Going on from elsewhere calls back what is on its way, be it in a worker's hands, and nothing of it is delivered.
func TestRewindCallsBackWhatIsOnItsWay(t *testing.T) {
	r := stageRing(t, 6, 1, nil)
	worker := r.attach(AttachOptions{Group: "s0", MaxLeases: 2})
	consumer := r.attach(AttachOptions{MaxLeases: 1})
	r.publish(4, 0, false)
	held := next(t, worker)
	if err := r.Rewind(2, 0); err != nil {
		t.Fatal(err)
	}
	r.next.Store(2)
	r.publish(2, 0, true)
	release(t, held)
	for want := uint64(2); want < 4; want++ {
		l := next(t, worker)
		transform(l.Tensor(0))
		release(t, l)
		l = next(t, consumer)
		if l.Ticket != want {
			t.Fatalf("got ticket %d, want %d", l.Ticket, want)
		}
		checkTransformed(t, l, 1)
		release(t, l)
	}
	_, err := consumer.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
	r.publish(6, 1, true) // every slot is free again
}

// A stage that a member has damaged comes back, and what its members had seen is made again.
func TestDamagedStageComesBackAndMakesItsBatchesAgain(t *testing.T) {
	r := stageRing(t, 8, 1, nil)
	consumer := r.attach(AttachOptions{MaxLeases: 1})
	r.publish(2, 0, false)
	liar := r.startMember("stage-liar", "s0", 1)
	liar.await("ready")
	eventually(t, "the lie to be seen", func() bool { return r.group("s0").State == GroupBroken })
	r.publish(1, 0, true)
	liar.kill()
	var worker *Reader
	eventually(t, "the stage to come back", func() bool {
		var err error
		worker, err = Attach(testContext(t), r.server.Path(), AttachOptions{Group: "s0", MaxLeases: 1})
		return err == nil
	})
	defer worker.Close()
	seen := map[uint64]bool{}
	for range 3 {
		l := next(t, worker)
		checkTransformed(t, l, 0)
		if want := l.Ticket < 2; (l.Attempts > 1) != want {
			t.Fatalf("ticket %d has %d attempts", l.Ticket, l.Attempts)
		}
		seen[l.Ticket] = true
		transform(l.Tensor(0))
		release(t, l)
	}
	for want := range uint64(3) {
		l := next(t, consumer)
		if l.Ticket != want || !seen[want] {
			t.Fatalf("got ticket %d, want %d", l.Ticket, want)
		}
		checkTransformed(t, l, 1)
		release(t, l)
	}
}

// A consumer cannot map the data for writing although a stage can; on a memfd its descriptor is read-only.
func TestConsumerBehindAStageCannotMapForWriting(t *testing.T) {
	for _, backing := range []Backing{Posix, Memfd} {
		t.Run(fmt.Sprint("backing", backing), func(t *testing.T) {
			r := stageRing(t, 8, 1, func(c *Config) { c.Backing = backing })
			consumer := r.attach(AttachOptions{MaxLeases: 1})
			fd := int(consumer.files[2].Fd())
			if _, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); !errors.Is(err, unix.EACCES) {
				t.Fatalf("mmap: %v, want permission denied", err)
			}
			if want := backing == Memfd; (consumer.header.FeaturesRequired == featureStaged) != want {
				t.Fatalf("required features %#x", consumer.header.FeaturesRequired)
			}
		})
	}
}

// A stage with rules that make no sense for it is refused, and so is a client that knows no stages.
func TestStageIsRefusedWhatItCannotBe(t *testing.T) {
	for _, g := range []GroupConfig{
		{Name: "s", Kind: KindStage, Slow: SlowDrop}, {Name: "s", Kind: KindStage, Slow: SlowDetach},
		{Name: "s", Kind: KindStage, Mode: ModeLanes}, {Name: "s", Kind: KindStage, NoRedeliver: true}, {Name: "s", Kind: 3},
	} {
		cfg := testConfig(t, 4)
		cfg.Groups = []GroupConfig{g}
		_, err := Create(cfg)
		wantErr(t, err, ErrArgument)
	}
	r := stageRing(t, 8, 1, nil)
	_, _, _, err := r.join(joinRequest{hello: helloOf("s0", 0)})
	wantErr(t, err, ErrVersion)
}

func helloOf(group string, minor uint32) Hello {
	h := Hello{LayoutMajor: LayoutMajor, LayoutMinor: minor, Lane: -1}
	copy(h.Group[:], group)
	return h
}

// Nothing is published twice or restored unasked.
func TestRestoreRefusesWhatWasNotAskedFor(t *testing.T) {
	r := stageRing(t, 8, 1, nil)
	s, err := r.Claim(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	wantErr(t, r.Restore(s, Batch{}), ErrArgument)
	r.Abandon(s)
}

// Whatever workers are killed at whatever moment, consumers get every batch once, in order, whole and transformed once
// by each stage.
func TestConsumersGetEveryBatchTransformedOnceWhateverWorkersAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills some dozens of processes")
	}
	const epochs, perEpoch, kills = 2, 300, 24
	r := stageRing(t, 10, 2, func(c *Config) { c.MaxConsumers = 8 })
	consumer := r.attach(AttachOptions{MaxLeases: 1})
	stop := make(chan struct{})
	var killers sync.WaitGroup
	for stage := range 2 {
		killers.Add(1)
		go func() {
			defer killers.Done()
			steady := r.startMember("stage", fmt.Sprint("s", stage), 1)
			defer steady.kill()
			for i := 0; i < kills; i++ {
				victim := r.startMember("stage", fmt.Sprint("s", stage), 1)
				victim.await("attached")
				time.Sleep(time.Duration(rand.Intn(20)) * time.Millisecond)
				victim.kill()
				select {
				case <-stop:
					return
				default:
				}
			}
			<-stop
		}()
	}
	go func() {
		for e := range uint64(epochs) {
			r.publish(perEpoch, e, true)
		}
	}()
	for want := range uint64(epochs * perEpoch) {
		l, err := consumer.Acquire(testContext(t))
		if errors.Is(err, EndEpoch) {
			l, err = consumer.Acquire(testContext(t))
		}
		if err != nil {
			t.Fatal(err)
		}
		if l.Ticket != want || l.Attempts != 1 {
			t.Fatalf("got ticket %d, attempts %d, want %d and 1", l.Ticket, l.Attempts, want)
		}
		checkTransformed(t, l, 2)
		release(t, l)
	}
	close(stop)
	killers.Wait()
	again := r.group("s0").Redelivered + r.group("s1").Redelivered
	if again == 0 {
		t.Fatal("no batch was ever made again: the kills met nobody at work")
	}
	t.Logf("%d batches came again", again)
	if problems, err := CheckLive(testContext(t), r.server.Path()); err != nil || len(problems) > 0 {
		t.Fatalf("check: %v %v", problems, err)
	}
}

// ---- roles ---------------------------------------------------------------------------------------

func playStage(r *Reader, role string) error {
	for {
		l, err := r.Acquire(context.Background())
		switch {
		case errors.Is(err, EndEpoch):
			continue
		case errors.Is(err, EndData):
			return r.Close()
		case err != nil:
			return err
		}
		b := l.Tensor(0)
		transform(b[:len(b)/2])
		switch role {
		case "stage-half":
			return linger()
		case "stage-liar":
			r.word(uint64(l.Slot)).Word.Store(packWord(wordReady, 7, 77))
			return linger()
		}
		time.Sleep(time.Duration(rand.Intn(300)) * time.Microsecond)
		transform(b[len(b)/2:])
		if rand.Intn(2) == 0 {
			err = l.Done()
		}
		if err == nil {
			err = l.Release()
		}
		if err != nil {
			return err
		}
	}
}

func linger() error {
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the test is over
	return nil
}

func isStageRole(role string) bool { return strings.HasPrefix(role, "stage") }
