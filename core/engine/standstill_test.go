package engine

import (
	"testing"
	"time"

	"github.com/spdl/spdl/shm"
)

// Consumers that wait for others are named once, after half a minute where these are not there, after a minute where they take nothing; what moves, or
// nobody waits for, is not.
func TestAStandstillIsSaidOnce(t *testing.T) {
	waits := shm.MemberInfo{Owner: 3, PID: 77, Lane: 0, WaitingSince: 5}
	lanes := func(members ...shm.MemberInfo) []shm.GroupInfo {
		return []shm.GroupInfo{{Name: "train", Kind: shm.KindConsumer, Mode: shm.ModeLanes, State: shm.GroupActive, Unclaimed: 6, Members: members}}
	}
	other := func(members ...shm.MemberInfo) []shm.GroupInfo {
		one := shm.GroupInfo{Name: "a", Kind: shm.KindConsumer, Mode: shm.ModeShared, State: shm.GroupActive, Members: []shm.MemberInfo{waits}}
		return []shm.GroupInfo{one, {Name: "b", Kind: shm.KindConsumer, Mode: shm.ModeShared, State: shm.GroupActive, Unclaimed: 8, Members: members}}
	}
	second := shm.MemberInfo{Owner: 4, PID: 78, Lane: 1, Holds: 2}
	too := second
	too.WaitingSince = 9
	for _, c := range []struct {
		groups []shm.GroupInfo
		want   string
	}{
		{lanes(waits), `no batch for 30s: consumer 3 of group "train", pid 77, waits, the ring is full, and nobody takes the 6 batches of group "train", whose lane 1 has no consumer; attach a consumer to the lane, or end the others`},
		{other(), `no batch for 30s: consumer 3 of group "a", pid 77, waits, the ring is full, and nobody takes the 8 batches of group "b"; attach a consumer to it, or end the others`},
		{lanes(waits, too), ""},
		{other(second, too), ""}, // whichever takes the group's batches
		{lanes(second), ""},      // nobody waits
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
	for _, c := range []struct {
		groups []shm.GroupInfo
		want   string
	}{
		{lanes(waits, second), `no batch for 1m0s: consumer 3 of group "train", pid 77, waits, the ring is full, and consumer 4 of group "train", pid 78, which holds 2, takes none of its 6 batches: it is busy, or stuck; end it, and its lane can be taken again`},
		{other(second), `no batch for 1m0s: consumer 3 of group "a", pid 77, waits, the ring is full, and consumer 4 of group "b", pid 78, which holds 2, takes none of its 8 batches: it is busy, or stuck; end it, or say slow: drop or detach of its group, which go on without it`},
	} {
		var s standstill
		ring := shm.Info{Published: 1, Parked: true}
		for _, at := range []struct {
			seconds int64
			want    string
		}{{0, ""}, {59, ""}, {60, c.want}, {65, ""}} {
			if text := s.look(time.Unix(1000+at.seconds, 0), ring, 2, c.groups); text != at.want {
				t.Errorf("after %d s: got %q, want %q", at.seconds, text, at.want)
			}
		}
	}
	var s standstill
	for i := range 9 { // the engine has a free slot, and nothing to put there
		if text := s.look(time.Unix(int64(100*i), 0), shm.Info{Published: 1}, 2, lanes(waits)); text != "" {
			t.Errorf("without a full ring: %q", text)
		}
	}
}
