package device

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// uploader is a shell script in an uploader's place.
func uploader(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), Program)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func ended(t *testing.T, script string) error {
	t.Helper()
	p, err := Start(uploader(t, script), Plan{InFlight: 2}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if p.PID() <= 0 {
		t.Fatalf("pid %d", p.PID())
	}
	return p.Wait()
}

// How an uploader ended is its last line, and whether another would fare better.
func TestEndOfAnUploaderSaysWhyAndWhetherToTryAgain(t *testing.T) {
	if err := ended(t, `[ "$1" = --control-fd ] && [ "$2" = 3 ] && [ -e /proc/self/fd/3 ]`); err != nil {
		t.Fatalf("an end in good order is %v", err)
	}
	for script, want := range map[string]struct {
		text  string
		final bool
	}{
		"echo first >&2; echo no CUDA driver >&2; exit 3": {"device: uploader: no CUDA driver", true},
		"echo out of memory >&2; exit 1":                  {"device: uploader: out of memory", false},
		"kill -9 $$":                                      {"device: uploader: signal: killed", false},
		"exit 127":                                        {"device: uploader: exit status 127", true},
	} {
		var end *Exit
		if err := ended(t, script); !errors.As(err, &end) || err.Error() != want.text || end.Final() != want.final {
			t.Errorf("%s: got %v, want %q, final %v", script, err, want.text, want.final)
		}
	}
}

// What an uploader warns of is passed on while it runs, line by line, and is no word about its end.
func TestWarningsOfAnUploaderArePassedOn(t *testing.T) {
	script := "printf 'warning: one\\nno warning: two\\nwarn' >&2; printf 'ing: thr' >&2; printf 'ee\\n\\nwarning: unended' >&2; head -c 9000 /dev/zero | tr '\\0' x >&2; echo >&2; echo warning: four; exit 1"
	var warned []string
	p, err := Start(uploader(t, script), Plan{InFlight: 2}, func(text string) { warned = append(warned, text) })
	if err != nil {
		t.Fatal(err)
	}
	var end *Exit
	if err := p.Wait(); !errors.As(err, &end) || end.Said != "no warning: two" {
		t.Fatalf("got %v", err)
	}
	if len(warned) != 4 || warned[0] != "one" || warned[1] != "three" || !strings.HasPrefix(warned[2], "unendedxxx") || len(warned[2]) > maxTail || warned[3] != "four" {
		t.Fatalf("warned %.100q", warned)
	}
}

// Who waits for the uploader elsewhere sets its descriptor not to block: the end is waited for all the same.
func TestADescriptorThatDoesNotBlockEndsNoWait(t *testing.T) {
	p, err := Start(uploader(t, "sleep 0.2; kill -9 $$"), Plan{InFlight: 2}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(int(p.PIDFD().Fd()), true); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err == nil || err.Error() != "device: uploader: signal: killed" {
		t.Errorf("got %v, want the end of a process that was killed", err)
	}
}

// Whoever talks without end costs a few kilobytes.
func TestOnlyTheEndOfWhatAnUploaderSaysIsKept(t *testing.T) {
	var said tail
	for range 1000 {
		_, _ = said.Write([]byte(strings.Repeat("x", 99) + "\n"))
	}
	_, _ = said.Write([]byte("the end\n"))
	if len(said.text) > maxTail || said.lastLine() != "the end" {
		t.Fatalf("%d bytes kept, the last line %q", len(said.text), said.lastLine())
	}
}

func TestUploaderIsLookedForInOrder(t *testing.T) {
	named := uploader(t, "")
	t.Setenv("PATH", filepath.Dir(named))
	for env, want := range map[string]string{"": named, "/elsewhere/up": "/elsewhere/up"} {
		t.Setenv("SPDL_DEVICE", env)
		if got, err := Find(); err != nil || got != want {
			t.Errorf("SPDL_DEVICE=%q: got %q, %v; want %q", env, got, err, want)
		}
	}
	t.Setenv("SPDL_DEVICE", "")
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(); !errors.Is(err, ErrNoProgram) || !strings.Contains(err.Error(), "$SPDL_DEVICE") {
		t.Errorf("got %v, want ErrNoProgram and the remedy", err)
	}
	if _, err := Start("/nonexistent/up", Plan{}, func(string) {}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that it does not exist", err)
	}
}
