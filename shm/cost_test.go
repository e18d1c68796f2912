package shm

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpu is the processor time of this process, which is the engine of these tests.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A declared group whose members all died holds the ring, the engine rests meanwhile, and the group's next member goes on at the next ticket.
// What resting costs is in the log.
func TestEngineRestsWhenAllConsumersOfAGroupHaveDied(t *testing.T) {
	r := groupRing(t, 8, GroupConfig{Name: "g"})
	r.publish(6, 0, true)
	for range 3 {
		holder := r.startMember("hold", "g", 1)
		holder.await("ready")
		holder.kill()
		eventually(t, "its death to be seen", func() bool { return len(r.group("g").Members) == 0 })
	}
	before, began := cpu(t), time.Now()
	time.Sleep(time.Second)
	t.Logf("the idle engine took %v of %v", cpu(t)-before, time.Since(began))
	next := r.attach(AttachOptions{Group: "g", MaxLeases: 1})
	for want := range uint64(6) {
		l := acquire(t, next)
		if attempts := map[bool]uint32{true: 4, false: 1}[want == 0]; l.Ticket != want || l.Attempts != attempts {
			t.Fatalf("got ticket %d, attempts %d, want %d, %d", l.Ticket, l.Attempts, want, attempts)
		}
		release(t, l)
	}
}

// A member of another group that wakes everybody without end takes nothing from the others: they get each batch once, and are not blamed.
// What it costs the engine is in the log.
func TestStormOfWakeUpsTakesNothingFromOthers(t *testing.T) {
	const batches = 2000
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "good"}, {Name: "evil", Slow: SlowDrop}}
	r := newTestRing(t, cfg)
	good := r.attach(AttachOptions{Group: "good", MaxLeases: 2})
	run := func() (took, busy time.Duration) {
		before, began := cpu(t), time.Now()
		for range batches {
			r.publish(1, 0, false)
			l := acquire(t, good)
			if l.Attempts != 1 {
				t.Fatalf("ticket %d has attempts %d, want 1", l.Ticket, l.Attempts)
			}
			release(t, l)
		}
		return time.Since(began), cpu(t) - before
	}
	took, busy := run()
	t.Logf("quiet: %d batches in %v, CPU %v", batches, took, busy)
	evil := r.startMember("storm", "evil", 1)
	evil.await("ready")
	took, busy = run()
	t.Logf("storm: %d batches in %v, CPU %v", batches, took, busy)
	before, began := cpu(t), time.Now()
	time.Sleep(time.Second)
	t.Logf("storm, nothing to do: CPU %v of %v", cpu(t)-before, time.Since(began))
	if err := evil.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("rang %s times", evil.await("rang"))
	if g := r.group("good"); g.Completed != 2*batches || g.Violations != 0 || g.State != GroupActive {
		t.Fatalf("the good group is %+v", g)
	}
}

// A member that never releases is told that it holds all it may, and costs the others those slots and no batch. Their pace is in the log.
func TestHoarderCostsTheOthersItsLeasesAlone(t *testing.T) {
	const batches = 2000
	r := groupRing(t, 8, GroupConfig{Name: "g"})
	other := r.attach(AttachOptions{Group: "g", MaxLeases: 2})
	next := uint64(0)
	run := func() time.Duration {
		began := time.Now()
		for range batches {
			r.publish(1, 0, false)
			l := acquire(t, other)
			if l.Ticket != next || l.Attempts != 1 {
				t.Fatalf("got ticket %d, attempts %d, want %d, 1", l.Ticket, l.Attempts, next)
			}
			next++
			release(t, l)
		}
		return time.Since(began)
	}
	alone := run()
	hoarder := r.attach(AttachOptions{Group: "g", MaxLeases: 2})
	r.publish(2, 0, false)
	held := []*Lease{acquire(t, hoarder), acquire(t, hoarder)}
	next += 2
	_, err := hoarder.Acquire(testContext(t))
	wantErr(t, err, ErrLeases)
	t.Logf("%d batches in %v alone, in %v beside who holds 2 of 8 slots", batches, alone, run())
	if m := r.group("g").Members[1]; m.Holds != 2 {
		t.Errorf("the hoarder holds %d, want 2", m.Holds)
	}
	for i, l := range held {
		if l.Ticket != batches+uint64(i) {
			t.Errorf("the hoarder holds ticket %d, want %d", l.Ticket, batches+i)
		}
		release(t, l)
	}
}
