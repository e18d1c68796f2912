package verbs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/spdl/spdl/shm"
)

// watchdog is the most that any wait in a test may take; a test that gets there has failed.
const watchdog = 2 * time.Minute

// TestMain lets the test binary be the command, so that tests see what a shell sees: exit codes, signals, kills.
func TestMain(m *testing.M) {
	if os.Getenv("SPDL_TEST_COMMAND") != "" {
		if within, err := time.ParseDuration(os.Getenv("SPDL_TEST_INSPECT_TIME")); err == nil {
			inspectTime = within
		}
		if os.Getenv("SPDL_TEST_COMMAND") == "panic" {
			ctx, leave := untilTyped(context.Background(), os.Stdin, 'q')
			defer leave()
			fmt.Println(ctx.Err())
			panic("on purpose")
		}
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	// Under the race detector a process waits a second at its end, and the tests run hundreds of commands.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	if signal.Ignored(syscall.SIGHUP) { // under nohup; the commands that are started are to hear it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	os.Exit(m.Run())
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	t.Cleanup(cancel)
	return ctx
}

var testNames atomic.Int64

// home gives the test a runtime directory and a name of its own, and fails it if anything of that name is left behind.
func home(t *testing.T) (name string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "spdl")
	if err != nil {
		t.Fatal(err)
	}
	name = fmt.Sprintf("v%d.%d", os.Getpid(), testNames.Add(1))
	t.Setenv("SPDL_RUNTIME_DIR", dir)
	t.Setenv("SPDL_LOG", "info")
	t.Cleanup(func() {
		left, _ := filepath.Glob("/dev/shm/spdl." + name + "*")
		sockets, _ := filepath.Glob(dir + "/*")
		if left = append(left, sockets...); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		_ = os.RemoveAll(dir)
	})
	return name
}

func command(t *testing.T, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(testContext(t), self, args...)
	c.Env = append(os.Environ(), "SPDL_TEST_COMMAND=1")
	return c
}

// result is a run of the command that has ended.
type result struct {
	out, err string
	code     int
}

// spdl runs the command to its end.
func spdl(t *testing.T, args ...string) result {
	t.Helper()
	c := command(t, args...)
	var out, err bytes.Buffer
	c.Stdout, c.Stderr = &out, &err
	failure := c.Run()
	var exit *exec.ExitError
	if failure != nil && !errors.As(failure, &exit) {
		t.Fatal(failure)
	}
	return result{out.String(), err.String(), c.ProcessState.ExitCode()}
}

// good runs the command, which must succeed, and returns what it printed.
func good(t *testing.T, args ...string) string {
	t.Helper()
	r := spdl(t, args...)
	if r.code != exitOK {
		t.Fatalf("spdl %q: exit code %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// refused runs the command, which must fail with the code, print one line on standard error and nothing else.
func refused(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	r := spdl(t, args...)
	if r.code != code || !strings.HasPrefix(r.err, "spdl: ") || !strings.Contains(r.err, want) || strings.Count(r.err, "\n") != 1 || r.out != "" {
		t.Errorf("spdl %q: exit code %d, want %d with %q\nout: %s\nerr: %s", args, r.code, code, want, r.out, r.err)
	}
}

// inDir has the rest of the test in this working directory.
func inDir(t *testing.T, dir string) {
	t.Helper()
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chdir(before); err != nil {
			t.Error(err)
		}
	})
}

// service is a running spdl serve.
type service struct {
	t    *testing.T
	cmd  *exec.Cmd
	name string
	log  chan string
	seen strings.Builder
}

// serve starts an engine and waits until it is ready. It is stopped with the test, if it was not before.
func serve(t *testing.T, name string, args ...string) *service {
	t.Helper()
	return launch(t, name, args...).ready()
}

// ready waits until programs may attach.
func (s *service) ready() *service {
	s.t.Helper()
	if line := s.await("ready:", "spdl: "); !strings.Contains(line, "ready:") {
		s.t.Fatalf("not ready: %s", line)
	}
	return s
}

func launch(t *testing.T, name string, args ...string) *service {
	t.Helper()
	return begin(t, name, command(t, append([]string{"serve", "--name", name}, args...)...))
}

// begin starts the command, which is spdl serve.
func begin(t *testing.T, name string, cmd *exec.Cmd) *service {
	t.Helper()
	s := &service{t: t, name: name, cmd: cmd, log: make(chan string, 1024)}
	log, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.log)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			s.log <- lines.Text()
		}
		_, _ = io.Copy(io.Discard, log)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	return s
}

// await returns the next line of the log with one of the texts in it; "" when the log ends first.
func (s *service) await(texts ...string) string {
	s.t.Helper()
	end := time.After(watchdog)
	for {
		select {
		case line, ok := <-s.log:
			if !ok {
				return ""
			}
			s.seen.WriteString(line + "\n")
			for _, text := range texts {
				if strings.Contains(line, text) {
					return line
				}
			}
		case <-end:
			s.t.Fatalf("waited in vain for %q in\n%s", texts, s.seen.String())
		}
	}
}

// stop ends the engine in good order and returns its exit code.
func (s *service) stop() int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	return s.wait()
}

func (s *service) wait() int {
	for range s.log { // until it is closed: Wait must not overtake the reader
	}
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

func (s *service) kill() {
	_ = s.cmd.Process.Kill()
	s.wait()
}

func (s *service) attach(opts shm.AttachOptions) *shm.Reader {
	s.t.Helper()
	r, err := shm.Attach(testContext(s.t), s.name, opts)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = r.Close() })
	return r
}

// keys reads one epoch and returns the names of its samples in order.
func keys(t *testing.T, r *shm.Reader) (all []string) {
	t.Helper()
	c := columnsOf(r.Schema())
	for {
		l, err := r.Acquire(testContext(t))
		if errors.Is(err, shm.EndEpoch) || errors.Is(err, shm.EndData) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rowsOf(l, l.Rows, c) {
			all = append(all, row.key)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	red  = color.RGBA{200, 30, 30, 255}
	blue = color.RGBA{30, 30, 200, 255}
)

// pictures makes a folder of n pictures of 32 x 24: the first half in class "blue", the rest in class "red", each of its colour.
func pictures(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		class, shade := "blue", blue
		if i >= n/2 {
			class, shade = "red", red
		}
		m := image.NewRGBA(image.Rect(0, 0, 32, 24))
		for k := range m.Pix {
			m.Pix[k] = [4]uint8{shade.R, shade.G, shade.B, 255}[k%4]
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, class, fmt.Sprintf("%03d.jpg", i)), b.String())
	}
	return dir
}

// writeFile makes a file and the directories above it.
func writeFile(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// describe writes a description of the folder, called name.yaml, with more keys.
func describe(t testing.TB, folder, name, more string) string {
	t.Helper()
	return writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), fmt.Sprintf(
		"name: %s\nsource: {folder: %s}\nbatch: 4\nimage: {transform: [{resize: [16, 16]}]}\n%s", name, folder, more))
}
