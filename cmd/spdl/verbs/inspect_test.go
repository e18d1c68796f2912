package verbs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

func inspected(t *testing.T, args ...string) (got inspection) {
	t.Helper()
	if err := json.Unmarshal([]byte(good(t, append([]string{"inspect", "--json"}, args...)...)), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// A living ring is shown with its groups, consumers and slots, and proved consistent while it works.
func TestInspectShowsALivingRing(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	s := serve(t, name, dir, "--size", "16", "--batch", "2", "--group", "train:lanes=2", "--group", "eval,slow=drop")
	r := s.attach(shm.AttachOptions{Group: "train", Lane: 1, MaxLeases: 2, Client: "loop\x1b[31m"})
	l, err := r.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	out := good(t, "inspect", name, "--check", "--slots")
	wants(t, out, name+": running", "posix, shared access", "8 samples, 2 steps an epoch, endless; 2 rows a batch, 2 lanes of world size 2",
		"16 slots x 4.0 KiB", "field image u8 [2, 16, 16, 3]", "train consumer active 2 lanes block", "eval consumer active shared drop", fmt.Sprintf(`1 loop\x1b[31m %d train`, os.Getpid()), `train held by 1 (loop\x1b[31m); eval ready`, "consistent\n")
	got := inspected(t, name, "--check")
	if !got.Alive || !got.Checked || len(got.Problems) != 0 || got.Ring.Name != name || len(got.Ring.Groups) != 2 || len(got.Stats) < 100 {
		t.Errorf("got %+v", got)
	}
	if m := got.Ring.Groups[0].Members; len(m) != 1 || m[0].PID != uint32(os.Getpid()) || m[0].Lane != 1 || m[0].Holds != 1 || m[0].MaxLeases != 2 || m[0].Client != "loop\x1b[31m" {
		t.Errorf("members: %+v", m)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if got.Ring.Groups[0].Held != 1 || inspected(t, name).Ring.Groups[0].Held != 0 {
		t.Errorf("held: %+v, later %+v", got.Ring.Groups[0], inspected(t, name).Ring.Groups[0])
	}
	s.stop()
}

// A consumer whose socket is closed, and that lives, is not shown as one that works with its engine.
func TestInspectShowsWhoHungUp(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	s := serve(t, name, dir, "--size", "16", "--batch", "2", "--group", "g", "--group", "h")
	before := sockets(t)
	r := s.attach(shm.AttachOptions{Group: "g"})
	if _, err := r.Acquire(testContext(t)); err != nil {
		t.Fatal(err)
	}
	mine := sockets(t)
	s.attach(shm.AttachOptions{Group: "h"})
	if out := good(t, "inspect", name); strings.Count(out, " works\n") != 2 {
		t.Errorf("before:\n%s", out)
	}
	for fd := range mine {
		if !before[fd] {
			if err := unix.Shutdown(fd, unix.SHUT_RDWR); err != nil {
				t.Fatal(err)
			}
		}
	}
	for end := time.Now().Add(time.Minute); !inspected(t, name).Ring.Groups[0].Members[0].Silent; {
		if time.Now().After(end) {
			t.Fatal("the engine has not seen the hang-up in a minute")
		}
	}
	out := good(t, "inspect", name)
	if strings.Count(out, " hung up, works\n") != 1 || strings.Count(out, " works\n") != 2 {
		t.Errorf("after:\n%s", out)
	}
	s.stop()
}

// sockets are this process's descriptors of Unix sockets for packets.
func sockets(t *testing.T) map[int]bool {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	for _, e := range entries {
		fd, _ := strconv.Atoi(e.Name())
		if kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err == nil && kind == unix.SOCK_SEQPACKET {
			found[fd] = true
		}
	}
	return found
}

// A group of workers that change batches is told from one of consumers.
func TestInspectNamesTheKindOfAGroup(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	file := writeFile(t, t.TempDir()+"/x.yaml", "source: {folder: "+dir+"}\nbatch: 2\nimage: {transform: [{resize: [16, 16]}]}\n"+
		"ring: {groups: [{name: mix, kind: stage}, {name: train}]}\n")
	s := serve(t, name, file)
	wants(t, good(t, "inspect", name), "mix stage active shared block", "train consumer active shared block")
	if g := inspected(t, name).Ring.Groups; len(g) != 2 || g[0].Kind != "stage" || g[1].Kind != "consumer" {
		t.Errorf("groups %+v", g)
	}
	s.stop()
}

// What a killed engine left is inspected the same way; a damaged word is found and named.
func TestInspectProvesTheRingOfADeadEngine(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	s := serve(t, name, dir, "--size", "16", "--batch", "2", "--group", "g")
	r := s.attach(shm.AttachOptions{Group: "g"})
	if _, err := r.Acquire(testContext(t)); err != nil {
		t.Fatal(err)
	}
	s.kill()
	t.Cleanup(func() { good(t, "clean", name) })
	out := good(t, "inspect", name, "--check")
	wants(t, out, name+": left by a dead engine, last running", " unknown\n", "consistent\n")
	if got := inspected(t, name); got.Alive || got.Stats != nil || got.Ring.Groups[0].Held != 1 {
		t.Errorf("got %+v", got)
	}
	wants(t, good(t, "inspect"), name+" stale /dev/shm")

	segment, err := os.OpenFile("/dev/shm/spdl."+name+".g1", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer segment.Close()
	head := make([]byte, 256)
	if _, err := segment.ReadAt(head, 0); err != nil {
		t.Fatal(err)
	}
	words := int64(head[96]) | int64(head[97])<<8 | int64(head[98])<<16
	if _, err := segment.WriteAt([]byte{0xff}, words+3*128+7); err != nil { // the state of slot 3
		t.Fatal(err)
	}
	damaged := spdl(t, "inspect", name, "--check")
	if damaged.code != exitFailed || !strings.Contains(damaged.out, "problem: group 0 (g) slot 3: ") || !strings.Contains(damaged.err, "is inconsistent: ") {
		t.Errorf("exit code %d\n%s%s", damaged.code, damaged.out, damaged.err)
	}
	if err := os.Truncate("/dev/shm/spdl."+name+".h", 100); err != nil {
		t.Fatal(err)
	}
	refused(t, exitMismatch, `inspect: "`+name+`": what lies in /dev/shm under this name is no whole ring (spdl clean removes it): `, "inspect", name)
	refused(t, exitMismatch, "truncated", "inspect", name)
	if got := spdl(t, "inspect", name, "--check"); got.code != exitFailed || !strings.Contains(got.out, "problem: header: ") {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

func TestInspectListsWhatRuns(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	s := serve(t, name, dir, "--size", "16")
	wants(t, good(t, "inspect"), name+" running "+filepath.Join(os.Getenv("SPDL_RUNTIME_DIR"), name+".sock"))
	var all []struct{ Name, State string }
	if err := json.Unmarshal([]byte(good(t, "inspect", "--json")), &all); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range all {
		found = found || e.Name == name && e.State == "running"
	}
	if !found {
		t.Errorf("%s is not in %v", name, all)
	}
	s.stop()
}

func TestInspectRefusesWhatIsNotThere(t *testing.T) {
	name := home(t)
	refused(t, exitNotFound, `inspect: "`+name+`": no engine answers, and no ring of this name is in /dev/shm`, "inspect", name)
	refused(t, exitUsage, `shm: attach "a b"`, "inspect", "a b")
	refused(t, exitUsage, "inspect: got 2 arguments", "inspect", "a", "b")
	refused(t, exitUsage, "inspect: --check and --slots need the name of a ring", "inspect", "--check")
	s := serve(t, name, pictures(t, 4), "--size", "16")
	refused(t, exitNotFound, `inspect: "`+name+`/val": the engine has no ring of this name; it has `+name, "inspect", name+"/val")
	s.stop()
}

// An engine of several rings is shown by its first; the others are named, also where one is asked for that there is not.
func TestInspectNamesTheOtherRings(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	s := serve(t, name, describe(t, dir, name, "rings: {train: {}, val: {batch: 2}}\n"))
	wants(t, good(t, "inspect", name), name+"/train: running", "others of this engine: "+name+"/val")
	wants(t, good(t, "inspect", name+"/val"), name+"/val: running", "others of this engine: "+name+"/train")
	there := `"` + name + `/nope": the engine has no ring of this name; it has ` + name + "/train, " + name + "/val"
	refused(t, exitNotFound, "inspect: "+there, "inspect", name+"/nope")
	refused(t, exitNotFound, "and view: "+there, "view", name+"/nope")
	s.stop()
}

// A producer that is no engine has no counters; its ring is shown all the same.
func TestInspectShowsARingWithoutCounters(t *testing.T) {
	name := home(t)
	patternRing(t, shm.Config{
		Name: name, Slots: 4, BatchRows: 2,
		Tensors: []shm.Tensor{{Name: "x", Kind: shm.Dense, Role: shm.RoleField, DType: shm.DType{Code: 4, Bits: 16, Lanes: 1}, Shape: []int64{2, 64}}},
	})
	wants(t, good(t, "inspect", name, "--check"), "memfd, private access", "field x bf16 [2, 64]", "no groups: nobody reads", "consistent")
	if got := inspected(t, name); got.Stats != nil {
		t.Errorf("counters: %s", got.Stats)
	}
}
