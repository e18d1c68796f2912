package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spdl/spdl/shm"
)

func TestMain(m *testing.M) {
	if os.Getenv("RINGPATTERN_TEST") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func start(t *testing.T, files []*os.File, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "RINGPATTERN_TEST=1")
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, files
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// consume takes every batch of a reader until the data ends and verifies all of it.
func consume(t *testing.T, r *shm.Reader) (tickets []uint64) {
	t.Helper()
	for {
		l, err := r.Acquire(testContext(t))
		if errors.Is(err, shm.EndEpoch) {
			continue
		}
		if errors.Is(err, shm.EndData) {
			return tickets
		}
		if err != nil {
			t.Fatal(err)
		}
		for b := l.Tensor(0); len(b) >= 8; b = b[8:] {
			if got := binary.LittleEndian.Uint64(b); got != l.Ticket {
				t.Fatalf("ticket %d: payload says %d", l.Ticket, got)
			}
		}
		keys, offsets := l.Tensor(2), l.Offsets(2)
		for row := range l.Rows {
			if got, want := string(keys[offsets[row]:offsets[row+1]]), fmt.Sprintf("t%dr%d", l.Ticket, row); got != want {
				t.Fatalf("got key %q, want %q", got, want)
			}
		}
		tickets = append(tickets, l.Ticket)
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPatternReachesEveryGroupAndTheLedgerAgrees(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "spdl")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	t.Setenv("SPDL_RUNTIME_DIR", dir)
	cmd, out := start(t, nil, "--name", "p", "--batches", "30", "--epochs", "2", "--bytes", "100", "--groups", "a,b")
	if !out.Scan() || !strings.HasPrefix(out.Text(), "ready ") {
		t.Fatalf("got %q, want ready and the socket", out.Text())
	}
	var readers []*shm.Reader
	for _, group := range []string{"a", "b"} {
		r, err := shm.Attach(testContext(t), "p", shm.AttachOptions{Group: group, MaxLeases: 2})
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	second := make(chan []uint64)
	go func() { second <- consume(t, readers[1]) }()
	for _, tickets := range [][]uint64{consume(t, readers[0]), <-second} {
		if len(tickets) != 60 || tickets[0] != 0 || tickets[59] != 59 {
			t.Fatalf("got tickets %v, want 0 to 59", tickets)
		}
	}
	for _, r := range readers {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		var g shm.GroupInfo
		if !out.Scan() || json.Unmarshal(out.Bytes(), &g) != nil || g.Completed != 60 || g.Published != 60 || g.Redelivered != 0 {
			t.Fatalf("got ledger %s", out.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// spawn starts a child engine as a client does and returns our end of the socketpair.
func spawn(t *testing.T, spec string, args ...string) (*exec.Cmd, *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs, parent := os.NewFile(uintptr(fds[1]), "control"), os.NewFile(uintptr(self), "parent")
	defer theirs.Close()
	defer parent.Close()
	args = append([]string{"serve", spec, "--child", "--control-fd", "3", "--parent-fd", "4"}, args...)
	cmd, _ := start(t, []*os.File{theirs, parent}, args...)
	return cmd, os.NewFile(uintptr(fds[0]), "control")
}

func TestChildServesItsParentResumesAndEndsWithIt(t *testing.T) {
	cmd, control := spawn(t, "spec.yaml", "--batches", "10", "--state", `{"next_ticket":2,"above":[3,9]}`)
	r, err := shm.AttachFD(testContext(t), control, shm.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(consume(t, r)); got != "[2 4 5 6 7 8]" {
		t.Fatalf("got tickets %s, want [2 4 5 6 7 8]", got)
	}
	if err := r.LoadState(testContext(t), []byte(`{"next_ticket":8}`)); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(consume(t, r)); got != "[8 9]" {
		t.Fatalf("got tickets %s, want [8 9]", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the child ended with %v", err)
	}
}

func TestRefusedSpecReachesTheParent(t *testing.T) {
	_, control := spawn(t, "refuse.yaml")
	_, err := shm.AttachFD(testContext(t), control, shm.AttachOptions{})
	if !errors.Is(err, shm.ErrSpec) || !strings.Contains(err.Error(), "refuse.yaml") {
		t.Fatalf("got %v, want the refusal of the spec", err)
	}
}
