package shm

import "testing"

// A report of a living ring names its groups, members and filled slots, and who holds what.
func TestReportShowsWhoHoldsWhat(t *testing.T) {
	cfg := testConfig(t, 8)
	cfg.Groups = []GroupConfig{{Name: "train", Slow: SlowDrop}}
	r := newTestRing(t, cfg)
	c := r.attach(AttachOptions{Group: "train"})
	for range 3 {
		r.publishOne(0, false)
	}
	held, done := acquire(t, c), acquire(t, c)
	if err := done.Done(); err != nil {
		t.Fatal(err)
	}
	s, err := Observe(testContext(t), r.server.Path())
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Report()
	if err != nil {
		t.Fatal(err)
	}
	if report.Name != cfg.Name || report.State != "running" || report.Access != "shared" || report.Published != 3 || report.Slots != 8 {
		t.Errorf("ring: %+v", report)
	}
	if len(report.Tensors) != 1 || report.Tensors[0].DType != "u8" || report.Tensors[0].Shape[1] != 64 {
		t.Errorf("tensors: %+v", report.Tensors)
	}
	if len(report.Groups) != 1 || len(report.Filled) != 3 {
		t.Fatalf("groups %+v, filled %+v", report.Groups, report.Filled)
	}
	g := report.Groups[0]
	if g.Name != "train" || !g.Declared || g.Slow != "drop" || g.Ready != 1 || g.Held != 1 || g.Done != 1 {
		t.Errorf("group: %+v", g)
	}
	if len(g.Members) != 1 || g.Members[0].Owner != c.Owner() || g.Members[0].Holds != 2 || g.Members[0].Acquired != 2 || g.Members[0].Client != "go" {
		t.Errorf("members: %+v", g.Members)
	}
	for _, f := range report.Filled {
		if f.Slot == held.Slot && (f.Ticket != held.Ticket || f.Words[0].State != "held" || f.Words[0].Owner != c.Owner()) {
			t.Errorf("slot %d: %+v", f.Slot, f)
		}
	}
	release(t, held)
	release(t, done)
}

func TestReportRefusesWhatIsNoRing(t *testing.T) {
	if _, err := (&Snapshot{Header: make([]byte, 4096)}).Report(); err == nil {
		t.Fatal("a header of zeros was reported")
	}
}

// What an observer of a ring that no group is in yet is told is a list, too.
func TestObservationOfNoGroupIsAnEmptyList(t *testing.T) {
	o := operate(t, newTestRing(t, testConfig(t, 3)))
	m, err := o.c.call(testContext(t), msgObserve, nil, nil, maxObserved)
	if err != nil {
		t.Fatal(err)
	}
	m.closeFDs()
	if string(m.payload) != `{"groups":[]}` {
		t.Errorf("got %s", m.payload)
	}
}
