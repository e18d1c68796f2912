//go:build spdlfault

package shm

import (
	"strconv"
	"strings"
	"testing"
)

func TestConsumerKilledAtEveryPointLosesNothing(t *testing.T) {
	for _, point := range []string{"claim.cas", "after.claim", "before.done", "after.done", "before.release", "after.release"} {
		t.Run(point, func(t *testing.T) {
			const batches = 60
			r := groupRing(t, 8, GroupConfig{Name: "g"})
			done := make(chan struct{})
			go func() {
				defer close(done)
				r.publish(batches, 0, true)
			}()
			for count := range 5 {
				victim := startChild(t, "consume", "SPDL_TEST_SOCKET="+r.server.Path(), "SPDL_TEST_GROUP=g", "SPDL_TEST_N=2",
					"SPDL_FAULT="+point+":"+strconv.Itoa(count+1)+":kill")
				<-victim.ended
			}
			survivor := r.startMember("consume", "g", 2)
			<-survivor.ended
			<-done
			if e := survivor.said("error"); len(e) > 0 {
				t.Fatal(e)
			}
			g := r.group("g")
			if g.Completed != batches || g.Unclaimed != 0 {
				t.Fatalf("ledger says %d completed, %d unclaimed, want %d, 0", g.Completed, g.Unclaimed, batches)
			}
			wantRedelivered := map[string]uint64{"after.claim": 5, "before.done": 5, "before.release": 5}[point]
			if point != "before.release" && g.Redelivered != wantRedelivered {
				t.Fatalf("%d batches were delivered again, want %d", g.Redelivered, wantRedelivered)
			}
		})
	}
}

func TestEngineKilledAtEveryPointCanBeStartedAgain(t *testing.T) {
	for _, point := range []string{"shm.create", "fallocate", "socket.bind", "socket.listen", "slot.take", "publish.store", "wake", "unlink"} {
		t.Run(point, func(t *testing.T) {
			leavesNothing(t)
			t.Setenv("SPDL_RUNTIME_DIR", shortDir(t))
			name := testName(t)
			dying := startChild(t, "engine", "SPDL_TEST_NAME="+name, "SPDL_FAULT="+point+":1:kill")
			_ = dying.stdin.Close()
			<-dying.ended
			all, err := Leftovers()
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range all {
				if s, err := l.Snapshot(); strings.Contains(l.Name, name) && err == nil && point != "fallocate" {
					if problems := Check(s); len(problems) > 0 {
						t.Errorf("problems: %v", problems)
					}
				}
			}
			again := startChild(t, "engine", "SPDL_TEST_NAME="+name)
			again.await("ready")
			_ = again.stdin.Close()
			<-again.ended
			if left, _ := leftoverNames(segmentBase(name, "")); len(left) != 0 {
				t.Fatalf("left behind: %v", left)
			}
		})
	}
}
