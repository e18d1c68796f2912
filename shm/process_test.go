package shm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tests across processes run this binary again in a role.

func TestMain(m *testing.M) {
	if role := os.Getenv("SPDL_TEST_ROLE"); role != "" {
		if err := play(role); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func play(role string) error {
	if role == "engine" {
		return playEngine()
	}
	n, _ := strconv.Atoi(os.Getenv("SPDL_TEST_N"))
	r, err := Attach(context.Background(), os.Getenv("SPDL_TEST_SOCKET"), AttachOptions{Group: os.Getenv("SPDL_TEST_GROUP"), MaxLeases: max(n, 1)})
	if err != nil {
		return err
	}
	fmt.Println("attached", r.Owner())
	if isStageRole(role) {
		return playStage(r, role)
	}
	switch role {
	case "hold": // n batches, undone
		return playHold(r, n, func(*Lease) error { return nil })
	case "done": // n batches, done and not released
		return playHold(r, n, (*Lease).Done)
	case "hangup": // n batches, then the socket is closed but the process lives
		return playHold(r, n, func(l *Lease) error {
			if l.Ticket == uint64(n-1) {
				return r.caller.conn.Close()
			}
			return nil
		})
	case "storm":
		return playStorm(func() { ringEverybody(r) })
	case "spin":
		return playStorm(func() {})
	}
	return playConsume(r)
}

// playStorm rings, again and again, until its input ends.
func playStorm(ring func()) error {
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	fmt.Println("ready")
	for n := 0; ; n++ {
		select {
		case <-over:
			fmt.Println("rang", n)
			return nil
		default:
		}
		ring()
	}
}

// ringEverybody wakes whom a member can wake: the engine by its descriptor, members by the futex word.
func ringEverybody(r *Reader) {
	r.lane.Armed.Store(1)
	r.lane.Sleepers.Store(1)
	r.lane.Wake.Add(1)
	wakeAll(unsafe.Pointer(&r.lane.Wake))
	_, _ = r.space.Write(one[:])
}

func playHold(r *Reader, n int, then func(*Lease) error) error {
	for range n {
		l, err := r.Acquire(context.Background())
		if err != nil {
			return err
		}
		if err := then(l); err != nil {
			return err
		}
		fmt.Println("holds", l.Ticket, l.Attempts)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test is over
	return nil
}

// playConsume logs each batch before it is done and after.
func playConsume(r *Reader) error {
	for {
		l, err := r.Acquire(context.Background())
		if errors.Is(err, EndEpoch) {
			fmt.Println("end")
			continue
		}
		if errors.Is(err, EndData) {
			return r.Close()
		}
		if err != nil {
			return err
		}
		fmt.Println("got", l.Ticket, l.Attempts)
		time.Sleep(time.Duration(rand.Intn(300)) * time.Microsecond)
		if rand.Intn(2) == 0 {
			if err := l.Done(); err != nil {
				return err
			}
		}
		if err := l.Release(); err != nil {
			return err
		}
		fmt.Println("released", l.Ticket)
	}
}

func playEngine() error {
	cfg := Config{Name: os.Getenv("SPDL_TEST_NAME"), Backing: Posix, Access: Shared, Slots: 8, BatchRows: 1, Groups: []GroupConfig{{Name: "g"}},
		Tensors: []Tensor{{Name: "x", Kind: Dense, DType: DType{1, 8, 1}, Shape: []int64{1, 64}}}}
	reconnect, _ := time.ParseDuration(os.Getenv("SPDL_TEST_RECONNECT"))
	cfg.Adopt = reconnect > 0
	if slots, _ := strconv.Atoi(os.Getenv("SPDL_TEST_DEVICE")); slots > 0 {
		cfg.Device = &DeviceConfig{Slots: slots, Tensors: []DeviceTensor{{Tensor: Tensor{Name: "x@cuda", Kind: Dense, DType: DType{1, 8, 1}, Shape: []int64{1, 64}}}}}
	}
	r, err := Create(cfg)
	if err != nil {
		return err
	}
	s, err := Listen(ServerConfig{Name: cfg.Name, ReconnectNS: uint64(reconnect)}, Service{Ring: r})
	if err != nil {
		return err
	}
	first := r.Info().NextTicket
	for i := first; i < first+2; i++ {
		slot, err := r.Claim(context.Background())
		if err != nil {
			return err
		}
		fillPattern(slot.Tensor(0), i)
		if err := r.Publish(context.Background(), slot, Batch{Ticket: i, Rows: 1}); err != nil {
			return err
		}
	}
	fmt.Println("ready", s.Path())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return errors.Join(s.Close(), r.Close())
}

// child is a process in a role.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	mu    sync.Mutex
	lines []string // guarded by mu
	ended chan struct{}
}

func startChild(t testing.TB, role string, env ...string) *child {
	t.Helper()
	c, err := startChildWith(t, nil, role, env...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startChildWith starts it with these attributes; the error is that of the start.
func startChildWith(t testing.TB, how *syscall.SysProcAttr, role string, env ...string) (*child, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "SPDL_TEST_ROLE="+role), env...)
	cmd.Stderr, cmd.SysProcAttr = os.Stderr, how
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{t: t, cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			c.mu.Lock()
			c.lines = append(c.lines, in.Text())
			c.mu.Unlock()
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(c.kill)
	return c, nil
}

func (r *testRing) startMember(role, group string, n int) *child {
	return startChild(r.t, role, "SPDL_TEST_SOCKET="+r.server.Path(), "SPDL_TEST_GROUP="+group, fmt.Sprint("SPDL_TEST_N=", n))
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
	_ = c.stdin.Close()
}

func (c *child) said(prefix string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rest []string
	for _, line := range c.lines {
		if after, ok := strings.CutPrefix(line, prefix); ok {
			rest = append(rest, strings.TrimSpace(after))
		}
	}
	return rest
}

func (c *child) await(word string) string {
	c.t.Helper()
	eventually(c.t, "child to say "+word, func() bool {
		if e := c.said("error"); len(e) > 0 {
			c.t.Fatalf("child failed: %s", e[0])
		}
		return len(c.said(word)) > 0
	})
	return c.said(word)[0]
}

func groupRing(t *testing.T, slots int, group GroupConfig) *testRing {
	cfg := testConfig(t, slots)
	cfg.Groups = []GroupConfig{group}
	cfg.Epochs = 1
	return newTestRing(t, cfg)
}

func TestKilledHoldersBatchesComeAgainFirstAndFlagged(t *testing.T) {
	r := groupRing(t, 8, GroupConfig{Name: "g"})
	r.publish(6, 0, true)
	holder := r.startMember("hold", "g", 2)
	holder.await("ready")
	other := r.attach(AttachOptions{MaxLeases: 4})
	release(t, acquire(t, other))
	holder.kill()
	eventually(t, "the reaper", func() bool { return r.group("g").Redelivered == 2 })
	for _, want := range []struct {
		ticket   uint64
		attempts uint32
	}{{0, 2}, {1, 2}, {3, 1}, {4, 1}, {5, 1}} {
		l := acquire(t, other)
		if l.Ticket != want.ticket || l.Attempts != want.attempts {
			t.Fatalf("got ticket %d, attempts %d, want %v", l.Ticket, l.Attempts, want)
		}
		release(t, l)
	}
	_, err := other.Acquire(testContext(t))
	wantErr(t, err, EndEpoch)
}

func TestKilledHoldersDoneBatchesDoNotComeAgain(t *testing.T) {
	r := groupRing(t, 8, GroupConfig{Name: "g"})
	r.publish(2, 0, true)
	holder := r.startMember("done", "g", 2)
	holder.await("ready")
	holder.kill()
	other := r.attach(AttachOptions{MaxLeases: 4})
	_, err := other.Acquire(testContext(t))
	wantErr(t, err, EndData) // the one epoch was over before it came
	if g := r.group("g"); g.Completed != 2 || g.Redelivered != 0 {
		t.Fatalf("ledger says %d completed, %d redelivered, want 2, 0", g.Completed, g.Redelivered)
	}
	eventually(t, "the slots to be free", func() bool { return r.group("g").Members[0].Holds == 0 && len(r.group("g").Members) == 1 })
	r.publish(8, 1, false)
}

func TestEpochEndsForWaitersWhenTheLastHolderIsKilledWithoutRedelivery(t *testing.T) {
	r := groupRing(t, 8, GroupConfig{Name: "g", NoRedeliver: true})
	r.publish(1, 0, true)
	holder := r.startMember("hold", "g", 1)
	holder.await("ready")
	other := r.attach(AttachOptions{MaxLeases: 4})
	waiting := make(chan error)
	go func() {
		_, err := other.Acquire(testContext(t))
		waiting <- err
	}()
	holder.kill()
	wantErr(t, <-waiting, EndEpoch)
	if g := r.group("g"); g.Dropped != 1 || g.Redelivered != 0 {
		t.Fatalf("ledger says %d dropped, %d redelivered, want 1, 0", g.Dropped, g.Redelivered)
	}
}

func TestStoppedHolderKeepsItsBatchesUntilEvicted(t *testing.T) {
	r := groupRing(t, 8, GroupConfig{Name: "g"})
	r.publish(1, 0, true)
	holder := r.startMember("hold", "g", 1)
	holder.await("ready")
	if err := holder.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	other := r.attach(AttachOptions{MaxLeases: 4})
	time.Sleep(3 * tickEvery) // the sweep looks at it several times
	nothingReady(t, other)
	o, err := Operate(testContext(t), r.server.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.Evict(testContext(t), 0, uint32(holder.cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if l := acquire(t, other); l.Attempts != 2 {
		t.Fatalf("got attempts %d, want 2", l.Attempts)
	}
	wantErr(t, o.Evict(testContext(t), 0, uint32(holder.cmd.Process.Pid)), ErrNotFound)
}

func TestHangUpAloneReclaimsNothing(t *testing.T) {
	r := groupRing(t, 8, GroupConfig{Name: "g"})
	r.publish(1, 0, true)
	holder := r.startMember("hangup", "g", 1)
	holder.await("ready")
	eventually(t, "the hang-up to be seen", func() bool { m := r.group("g").Members; return len(m) == 1 && m[0].Silent })
	other := r.attach(AttachOptions{MaxLeases: 4})
	nothingReady(t, other)
	holder.kill()
	if l := acquire(t, other); l.Attempts != 2 {
		t.Fatalf("got attempts %d, want 2", l.Attempts)
	}
}

func TestEveryTicketIsCompletedOnceWhateverConsumersAreKilled(t *testing.T) {
	const batches, kills = 3000, 20
	r := groupRing(t, 16, GroupConfig{Name: "g"})
	var children []*child
	current := make([]*child, 3)
	start := func(i int) {
		current[i] = r.startMember("consume", "g", 2)
		children = append(children, current[i])
	}
	for i := range current {
		start(i)
	}
	var publishing sync.WaitGroup
	publishing.Add(1)
	go func() {
		defer publishing.Done()
		r.publish(batches, 0, true)
	}()
	for k := range kills {
		victim := current[k%3]
		victim.await("attached")
		seen := len(victim.said("got"))
		eventually(t, "the victim to work", func() bool { return len(victim.said("got")) > seen+10 || r.group("g").Completed == batches })
		victim.kill()
		start(k % 3)
	}
	publishing.Wait()
	for _, c := range current {
		<-c.ended
	}
	eventually(t, "the ledger to be complete", func() bool { return r.group("g").Completed == batches })
	got, released := map[string]int{}, map[string]int{}
	for _, c := range children {
		for _, line := range c.said("got") {
			ticket, attempts, _ := strings.Cut(line, " ")
			got[ticket]++
			if n, _ := strconv.Atoi(attempts); n > 1 != (got[ticket] > 1) && got[ticket] > 1 {
				t.Errorf("ticket %s came again unflagged", ticket)
			}
		}
		for _, ticket := range c.said("released") {
			released[ticket]++
			if released[ticket] > 1 {
				t.Errorf("ticket %s was completed twice", ticket)
			}
		}
	}
	if len(got)+int(r.group("g").Redelivered) < batches {
		t.Errorf("%d tickets were logged and %d redelivered, want %d in all", len(got), r.group("g").Redelivered, batches)
	}
}

func TestEngineDeathEndsEveryWaitAndLeasesStayReadable(t *testing.T) {
	leavesNothing(t)
	dir := shortDir(t)
	t.Setenv("SPDL_RUNTIME_DIR", dir)
	name := testName(t)
	engine := startChild(t, "engine", "SPDL_TEST_NAME="+name)
	c, err := Attach(testContext(t), engine.await("ready"), AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	held := acquire(t, c)
	engine.kill()
	release(t, acquire(t, c)) // what was published may still be taken
	_, err = c.Acquire(testContext(t))
	wantErr(t, err, ErrEngineLost)
	checkPattern(t, held)
	release(t, held)
	again := startChild(t, "engine", "SPDL_TEST_NAME="+name) // takes the dead one's names over
	again.await("ready")
	_ = again.stdin.Close()
	<-again.ended
	if left, _ := leftoverNames(segmentBase(name, "")); len(left) != 0 {
		t.Fatalf("left behind: %v", left)
	}
}
