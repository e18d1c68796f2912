package shm

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// spent is what this process, which is the engine of these tests, has used.
type spent struct {
	cpu      time.Duration
	switches int64 // how often a thread fell asleep
}

func usage(t *testing.T) spent {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return spent{time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Nvcsw}
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
	before, began := usage(t), time.Now()
	time.Sleep(time.Second)
	t.Logf("the idle engine took %v of %v", usage(t).cpu-before.cpu, time.Since(began))
	next := r.attach(AttachOptions{Group: "g", MaxLeases: 1})
	for want := range uint64(6) {
		l := acquire(t, next)
		if attempts := map[bool]uint32{true: 4, false: 1}[want == 0]; l.Ticket != want || l.Attempts != attempts {
			t.Fatalf("got ticket %d, attempts %d, want %d, %d", l.Ticket, l.Attempts, want, attempts)
		}
		release(t, l)
	}
}

// A member of another group that wakes everybody without end takes nothing from the others: they get each batch once, and are not blamed. The
// engine hears it stormRings times a stormRest: its threads wake up for that, and not for each ring. What is left of the others' pace, beside
// that next to one who only keeps a core busy, and what it costs the engine are in the log.
func TestStormOfWakeUpsTakesNothingFromOthers(t *testing.T) {
	const batches, makes = 500, 200 * time.Microsecond
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "good"}, {Name: "evil", Slow: SlowDrop}}
	r := newTestRing(t, cfg)
	good := r.attach(AttachOptions{Group: "good", MaxLeases: 2})
	run := func(beside string) {
		before, began := usage(t), time.Now()
		for range batches {
			for made := time.Now(); time.Since(made) < makes; {
			}
			r.publish(1, 0, false)
			l := acquire(t, good)
			if l.Attempts != 1 {
				t.Fatalf("ticket %d has attempts %d, want 1", l.Ticket, l.Attempts)
			}
			release(t, l)
		}
		t.Logf("%d batches beside %s: %v, CPU %v", batches, beside, time.Since(began), usage(t).cpu-before.cpu)
	}
	beside := func(role string, do func()) string {
		m := r.startMember(role, "evil", 1)
		m.await("ready")
		do()
		if err := m.stdin.Close(); err != nil {
			t.Fatal(err)
		}
		rings := m.await("rang")
		eventually(t, "it to leave", func() bool { return len(r.group("evil").Members) == 0 })
		return rings
	}
	for range 3 {
		run("nobody")
		beside("spin", func() { run("one that spins") })
		beside("storm", func() { run("one that rings") })
	}
	var switches int64
	var took time.Duration
	rings := beside("storm", func() {
		before, began := usage(t), time.Now()
		time.Sleep(time.Second)
		after := usage(t)
		switches, took = after.switches-before.switches, time.Since(began)
		t.Logf("nothing to do beside one that rings: CPU %v of %v, %d times asleep", after.cpu-before.cpu, took, switches)
	})
	t.Logf("rang %s times", rings)
	if most := 8 * stormRings * int64(took/stormRest+2); switches > most {
		t.Errorf("the engine's threads fell asleep %d times in %v, want at most %d", switches, took, most)
	}
	if g := r.group("good"); g.Completed != 9*batches || g.Violations != 0 || g.State != GroupActive {
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
