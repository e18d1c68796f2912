package device

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Program is the uploader's name.
const Program = "spdl-device"

// ErrNoProgram says that the uploader is not installed.
var ErrNoProgram = errors.New("no " + Program)

// Find looks for the uploader: $SPDL_DEVICE, beside this program, in $PATH.
func Find() (string, error) {
	if path := os.Getenv("SPDL_DEVICE"); path != "" {
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), Program)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath(Program)
	if err != nil {
		return "", fmt.Errorf("device: %w beside the engine or in $PATH; install it there, or name it in $SPDL_DEVICE", ErrNoProgram)
	}
	return path, nil
}

// Warning begins a line of an uploader's that is for the engine's log.
const Warning = "warning: "

// Process is a running uploader.
type Process struct {
	cmd     *exec.Cmd
	control *os.File // our end
	pidfd   *os.File
	said    tail
}

// Start begins an uploader. It has no descriptor of ours but its end of a socket pair and what it says, of which warn is called with each warning, by
// another goroutine, before Wait returns.
func Start(path string, p Plan, warn func(string)) (*Process, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("device: plan: %w", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("device: socket pair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	u := &Process{cmd: exec.Command(path, "--control-fd", "3", "--plan", string(text)), control: ours, said: tail{warn: warn}}
	u.cmd.ExtraFiles = []*os.File{theirs}
	u.cmd.Stdout, u.cmd.Stderr = &u.said, &u.said
	u.cmd.WaitDelay = time.Second
	if err := u.cmd.Start(); err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("device: start %q: %w", path, err)
	}
	// One of our own: whoever is given it may set it not to block, and os.Process waits on the file behind its own.
	pidfd, err := unix.PidfdOpen(u.cmd.Process.Pid, 0)
	if err != nil {
		_ = u.cmd.Process.Kill()
		_ = u.cmd.Wait()
		_ = ours.Close()
		return nil, fmt.Errorf("device: no pidfd of a child: %w; spdl needs Linux 5.14 or newer", err)
	}
	u.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
	return u, nil
}

// Control is this process's end of the socket pair, for who takes it first: it is the caller's then.
func (u *Process) Control() *os.File {
	f := u.control
	u.control = nil
	return f
}

// PID is the uploader's process.
func (u *Process) PID() int { return u.cmd.Process.Pid }

// PIDFD is a descriptor of the uploader's process, valid until Wait returns.
func (u *Process) PIDFD() *os.File { return u.pidfd }

// Stop asks the uploader to end, and Kill ends it. Neither waits.
func (u *Process) Stop() { _ = u.cmd.Process.Signal(unix.SIGTERM) }

// Kill: see Stop.
func (u *Process) Kill() { _ = u.cmd.Process.Kill() }

// Wait waits for the end and says how it came; nil: in good order. It is called once.
func (u *Process) Wait() error {
	err := u.cmd.Wait()
	if u.control != nil {
		_ = u.control.Close()
	}
	_ = u.pidfd.Close()
	if err == nil {
		return nil
	}
	end := &Exit{Code: -1, Text: err.Error(), Said: u.said.lastLine()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		end.Code = exit.ExitCode()
	}
	return end
}

// Exit is an uploader's end that was not in good order.
type Exit struct {
	Code int    // -1: by a signal
	Text string // such as "signal: killed"
	Said string // its last line
}

// Final says that trying again is of no use.
func (e *Exit) Final() bool { return e.Code == ExitFinal || e.Code == 126 || e.Code == 127 }

func (e *Exit) Error() string {
	if e.Said != "" {
		return "device: uploader: " + e.Said
	}
	return "device: uploader: " + e.Text
}

// tail keeps the end of what a process says, but for its warnings, which it passes on.
type tail struct {
	warn func(string)

	mu   sync.Mutex
	text []byte
	line []byte // that has no end yet, as much of it as is kept
}

const maxTail = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		t.line, rest = append(t.line, part[:min(len(part), maxTail-len(t.line))]...), after
		if ended {
			t.endLine()
		}
	}
	return len(p), nil
}

func (t *tail) endLine() {
	if text, is := strings.CutPrefix(string(t.line), Warning); is {
		t.warn(text)
	} else {
		t.text = append(append(t.text, t.line...), '\n')
		t.text = t.text[max(len(t.text)-maxTail, 0):]
	}
	t.line = t.line[:0]
}

func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(append(t.text, t.line...)), []byte("\n"))
	return strings.TrimSpace(string(lines[len(lines)-1]))
}
