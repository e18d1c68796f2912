package engine

import (
	"testing"
	"time"

	"github.com/spdl/spdl/shm"
)

// Consumers that wait for others who are not there are named after half a minute, once; what moves, or nobody waits for, is not.
func TestAStandstillIsSaidOnce(t *testing.T) {
	waits := shm.MemberInfo{Owner: 3, PID: 77, Lane: 0, WaitingSince: 5}
	lanes := func(members ...shm.MemberInfo) []shm.GroupInfo {
		return []shm.GroupInfo{{Name: "train", Kind: shm.KindConsumer, Mode: shm.ModeLanes, State: shm.GroupActive, Unclaimed: 6, Members: members}}
	}
	other := func(members ...shm.MemberInfo) []shm.GroupInfo {
		one := shm.GroupInfo{Name: "a", Kind: shm.KindConsumer, Mode: shm.ModeShared, State: shm.GroupActive, Members: []shm.MemberInfo{waits}}
		return []shm.GroupInfo{one, {Name: "b", Kind: shm.KindConsumer, Mode: shm.ModeShared, State: shm.GroupActive, Unclaimed: 8, Members: members}}
	}
	second := shm.MemberInfo{Owner: 4, PID: 78, Lane: 1}
	for _, c := range []struct {
		groups []shm.GroupInfo
		want   string
	}{
		{lanes(waits), `no batch for 30s: consumer 3 of group "train", pid 77, waits, the ring is full, and nobody takes the 6 batches of group "train", whose lane 1 has no consumer; attach a consumer to the lane, or end the others`},
		{other(), `no batch for 30s: consumer 3 of group "a", pid 77, waits, the ring is full, and nobody takes the 8 batches of group "b"; attach a consumer to it, or end the others`},
		{lanes(waits, second), ""}, // it is slow, but there
		{other(second), ""},
		{lanes(second), ""}, // nobody waits
		{nil, ""},
	} {
		at, told := time.Unix(1000, 0), []string(nil)
		var s standstill
		look := func(published uint64, groups []shm.GroupInfo, after time.Duration) {
			at = at.Add(after)
			if text := s.look(at, shm.Info{Published: published, Parked: true}, 2, groups); text != "" {
				told = append(told, text)
			}
		}
		look(10, c.groups, 0)
		look(10, c.groups, 29*time.Second)
		look(11, c.groups, time.Second) // a batch came
		look(11, c.groups, 29*time.Second)
		if told != nil {
			t.Fatalf("too early: %q", told)
		}
		for range 5 {
			look(11, c.groups, time.Second)
		}
		if c.want == "" != (told == nil) || told != nil && (len(told) != 1 || told[0] != c.want) {
			t.Errorf("got %q, want %q", told, c.want)
		}
		told = nil
		look(12, c.groups, time.Second)
		look(12, c.groups, time.Minute)
		if (c.want != "") != (len(told) == 1) {
			t.Errorf("a second standstill: got %q", told)
		}
	}
	var s standstill
	for i := range 9 { // the engine has a free slot, and nothing to put there
		if text := s.look(time.Unix(int64(100*i), 0), shm.Info{Published: 1}, 2, lanes(waits)); text != "" {
			t.Errorf("without a full ring: %q", text)
		}
	}
}
