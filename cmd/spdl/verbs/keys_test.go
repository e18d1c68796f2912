package verbs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// session is a command with a terminal of its own.
type session struct {
	t       *testing.T
	screen  *os.File
	tty     *os.File
	command *exec.Cmd
	before  unix.Termios
	shown   chan string // what it prints, piece by piece; closed when nobody has the terminal any more
	seen    string      // and was not waited for yet
}

func (s *session) mode() unix.Termios {
	s.t.Helper()
	mode, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return *mode
}

// inSession starts the command as the first of a session, on a terminal that it has to itself.
func inSession(t *testing.T, c *exec.Cmd) *session {
	t.Helper()
	s := &session{t: t, command: c, shown: make(chan string)}
	s.screen, s.tty = terminal(t, 80, 24)
	s.before = s.mode()
	c.Stdin, c.Stdout, c.Stderr = s.tty, s.tty, s.tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ctx := testContext(t)
	go func() {
		for buf := make([]byte, 4096); ; {
			n, err := s.screen.Read(buf)
			if err != nil {
				return
			}
			select {
			case s.shown <- string(buf[:n]):
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

// await waits until the text has been shown, behind what was waited for before.
func (s *session) await(text string) {
	s.t.Helper()
	for end := time.After(watchdog); ; {
		if _, behind, found := strings.Cut(s.seen, text); found {
			s.seen = behind
			return
		}
		select {
		case more := <-s.shown:
			s.seen += more
		case <-end:
			s.t.Fatalf("no %q in %q", text, s.seen)
		}
	}
}

// until waits until it holds, of what is shown meanwhile nothing is kept.
func (s *session) until(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(watchdog); !holds(); {
		if time.Now().After(end) {
			s.t.Fatalf("never %s", what)
		}
		select {
		case <-s.shown:
		case <-time.After(time.Millisecond):
		}
	}
}

func (s *session) typed(text string) {
	s.t.Helper()
	if _, err := s.screen.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// ended is the command's end; the terminal must be as it was.
func (s *session) ended() *os.ProcessState {
	s.t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.command.Wait() }()
	for end := time.After(watchdog); ; {
		select {
		case <-s.shown:
			continue
		case <-done:
		case <-end:
			s.t.Fatal("it doesn't end")
		}
		if got := s.mode(); got != s.before {
			s.t.Errorf("the terminal's mode is %+v, want %+v as before", got, s.before)
		}
		return s.command.ProcessState
	}
}

// Top ends with q, as with signals, and whatever ends it the terminal has its mode back.
func TestTopLeavesTheTerminalAsItWas(t *testing.T) {
	name := home(t)
	s := serve(t, name, pictures(t, 8), "--size", "16", "--batch", "4")
	for what, end := range map[string]struct {
		typed  string
		signal syscall.Signal
		code   int
	}{
		"q": {typed: "q"}, "q behind others": {typed: "xyzq"}, "Ctrl-C": {typed: "\x03"}, "SIGTERM": {signal: syscall.SIGTERM}, "SIGHUP": {signal: syscall.SIGHUP},
		"Ctrl-\\": {typed: "\x1c", code: 2},
	} {
		top := inSession(t, command(t, "top", name, "--interval", "50ms"))
		top.await(name + ": pid ")
		if got := top.mode(); got.Lflag&(unix.ICANON|unix.ECHO) != 0 || got.Lflag&unix.ISIG == 0 || got.Oflag != top.before.Oflag {
			t.Errorf("%s: the terminal's mode is %+v, want keys as they are typed, and nothing else", what, got)
		}
		top.typed("\x1b[A z") // no q
		top.seen = ""
		top.await(name + ": pid ")
		if end.signal != 0 {
			_ = top.command.Process.Signal(end.signal)
		} else {
			top.typed(end.typed)
		}
		if state := top.ended(); state.ExitCode() != end.code {
			t.Errorf("%s: exit code %d, want %d", what, state.ExitCode(), end.code)
		}
	}
	top := inSession(t, command(t, "top", name, "--interval", "50ms"))
	top.await(name + ": pid ")
	s.stop()
	if state := top.ended(); state.ExitCode() != exitFailed {
		t.Errorf("the engine's end: exit code %d, want %d", state.ExitCode(), exitFailed)
	}
}

func TestAPanicLeavesTheTerminalAsItWas(t *testing.T) {
	c := command(t)
	c.Env = append(c.Env, "SPDL_TEST_COMMAND=panic")
	s := inSession(t, c)
	if state := s.ended(); state.ExitCode() != 2 {
		t.Errorf("exit code %d, want a panic's", state.ExitCode())
	}
}

// While it is stopped the terminal is the shell's; then it goes on.
func TestTopCanBeStoppedAndGoesOn(t *testing.T) {
	name := home(t)
	s := serve(t, name, pictures(t, 8), "--size", "16", "--batch", "4")
	top := inSession(t, command(t, "top", name, "--interval", "50ms"))
	top.await(name + ": pid ")
	top.typed("\x1a")
	top.until("stopped", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", top.command.Process.Pid))
		return err == nil && strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " T")
	})
	if got := top.mode(); got != top.before {
		t.Errorf("stopped: the terminal's mode is %+v, want %+v as before", got, top.before)
	}
	_ = top.command.Process.Signal(syscall.SIGCONT)
	top.until("with keys as they are typed", func() bool { return top.mode().Lflag&unix.ICANON == 0 })
	top.typed("q")
	if state := top.ended(); state.ExitCode() != exitOK {
		t.Errorf("exit code %d, want %d", state.ExitCode(), exitOK)
	}
	s.stop()
}

// In the background it shows what it does and leaves the terminal, and what is typed there, to others.
func TestTopInTheBackgroundReadsNothing(t *testing.T) {
	name := home(t)
	s := serve(t, name, pictures(t, 8), "--size", "16", "--batch", "4")
	inner := command(t, "top", name, "--interval", "50ms")
	c := exec.CommandContext(testContext(t), "sh", "-c", `set -m; "$0" "$@" & read line; echo "read $line"; kill -TERM $!; wait $!; echo "ended $?"`)
	c.Args, c.Env = append(c.Args, inner.Args...), inner.Env
	sh := inSession(t, c)
	sh.await(name + ": pid ")
	if got := sh.mode(); got != sh.before {
		t.Errorf("the terminal's mode is %+v, want %+v as before", got, sh.before)
	}
	sh.typed("q")
	sh.await(name + ": pid ")
	sh.await(name + ": pid ")
	sh.typed("uite\n")
	sh.await("read quite\r\n") // the line was the shell's
	sh.await("ended 0\r\n")
	sh.ended()
	s.stop()
}

// What isn't typed at a terminal isn't read.
func TestTopReadsNothingButATerminal(t *testing.T) {
	name := home(t)
	s := serve(t, name, pictures(t, 8), "--size", "16", "--batch", "4")
	screen, tty := terminal(t, 80, 24)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	if _, err := out.WriteString("q\nq\n"); err != nil {
		t.Fatal(err)
	}
	c := command(t, "top", name, "--interval", "50ms")
	c.Stdin, c.Stdout = in, tty
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	for buf := make([]byte, 4096); strings.Count(shown.String(), name+": pid ") < 3; {
		n, err := screen.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, shown.String())
		}
		shown.Write(buf[:n])
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	_ = c.Wait()
	if n, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCINQ); err != nil || n != 4 {
		t.Errorf("%d bytes are left to be read, %v, want all 4", n, err)
	}
	s.stop()
}
