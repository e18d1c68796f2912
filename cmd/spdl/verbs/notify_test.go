package verbs

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spdl/spdl/shm"
)

// manager is a service manager's socket; what it is told comes out of the queue.
func manager(t *testing.T, name string) chan string {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 8)
	go func() {
		defer close(told)
		for b := make([]byte, 256); ; {
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			told <- string(b[:n])
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		for range told {
		}
	})
	return told
}

func hears(t *testing.T, told chan string, want string) {
	t.Helper()
	select {
	case got := <-told:
		if got != want {
			t.Fatalf("the manager is told %q, want %q", got, want)
		}
	case <-time.After(watchdog):
		t.Fatalf("the manager waits in vain for %q", want)
	}
}

// A manager that does not read, and whose queue is full, keeps nobody waiting for long.
func TestAManagerThatDoesNotReadIsPassedOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", path)
	ended := make(chan error, 1)
	go func() {
		for {
			if err := notify(serviceReady); err != nil {
				ended <- err
				return
			}
		}
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v, want that it took too long", err)
		}
	case <-time.After(watchdog):
		t.Error("it waits for a manager that does not read")
	}
	_ = conn.Close()
}

// A service tells its manager when consumers may come, and when it ends, by a path or an abstract name.
func TestAServiceTellsItsManager(t *testing.T) {
	for _, abstract := range []bool{false, true} {
		name, dir := home(t), pictures(t, 4)
		path := filepath.Join(t.TempDir(), "notify")
		if abstract {
			path = "@" + name
		}
		told := manager(t, path)
		t.Setenv("NOTIFY_SOCKET", path)
		s := launch(t, name, dir, "--size", "8")
		hears(t, told, serviceReady)
		s.attach(shm.AttachOptions{}) // which finds the engine at once
		if code := s.stop(); code != exitOK {
			t.Errorf("exit code %d", code)
		}
		hears(t, told, serviceStopping)
	}
}

// An engine that is a program's child tells nobody: the manager, if there is one, is the program's.
func TestAChildTellsNoManager(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	path := filepath.Join(t.TempDir(), "notify")
	told := manager(t, path)
	t.Setenv("NOTIFY_SOCKET", path)
	s, control := child(t, nil, dir, "--name", name, "--size", "16", "--epochs", "1")
	r, err := shm.AttachFD(testContext(t), control, shm.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_ = keys(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(); code != exitOK || len(told) > 0 {
		t.Errorf("exit code %d, and the manager is told %d things", code, len(told))
	}
}

// A manager that is not there is a warning.
func TestWhoHasNoManagerServesAllTheSame(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none"))
	s := launch(t, name, dir, "--size", "8")
	if line := s.await("the service manager is not told of READY=1"); line == "" {
		t.Fatalf("no warning:\n%s", s.seen.String())
	}
	s.attach(shm.AttachOptions{})
	if code := s.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
