package verbs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// A terminal that closes ends a service in good order; one that ignores that from its start, as nohup does, goes on.
func TestServeEndsWithItsTerminal(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	s := serve(t, name, dir, "--size", "16")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d, want %d", code, exitOK)
	}
	stays := command(t, "serve", "--name", name, dir, "--size", "16")
	stays.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, stays.Path}, stays.Args[1:]...)
	stays.Path = "/bin/sh"
	s = begin(t, name, stays).ready()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	_, ignored, _ := strings.Cut(string(status), "SigIgn:\t")
	ignored, _, _ = strings.Cut(ignored, "\n")
	if mask, bad := strconv.ParseUint(ignored, 16, 64); err != nil || bad != nil || mask>>(syscall.SIGHUP-1)&1 == 0 {
		t.Errorf("SIGHUP was ignored at the start, and is not now: %v, SigIgn %q", err, ignored)
	}
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if got := keys(t, s.attach(shm.AttachOptions{})); len(got) != 4 {
		t.Errorf("an epoch of %v behind the signal, want 4 samples", got)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("exit code %d, want %d", code, exitOK)
	}
}

// A folder is served without a description until SIGTERM, which ends it with code 0 and leaves nothing.
func TestServePublishesAFolderUntilItIsStopped(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	s := serve(t, name, dir, "--size", "16", "--batch", "4", "--epochs", "2", "--no-shuffle")
	r := s.attach(shm.AttachOptions{})
	if h := r.Header(); h.Access != uint32(shm.Shared) || h.Backing != uint32(shm.Posix) || h.BatchRows != 4 || h.NSamples != 10 || h.NEpochs != 2 {
		t.Errorf("header: %+v", h)
	}
	for range 2 {
		if got := keys(t, r); len(got) != 10 || !slices.IsSorted(got) || got[0] != "blue/000.jpg" || got[9] != "red/009.jpg" {
			t.Errorf("epoch: %v", got)
		}
	}
	if _, err := r.Acquire(testContext(t)); !errors.Is(err, shm.EndData) {
		t.Errorf("after the last epoch: %v", err)
	}
	s.await("attach of consumer 1, pid")
	if code := s.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if _, err := r.Acquire(testContext(t)); !errors.Is(err, shm.EndData) && !errors.Is(err, shm.ErrEngineStopped) {
		t.Errorf("after the stop: %v", err)
	}
}

// The line that says ready names what a user wants to know.
func TestReadyLineTellsWhereAndHowMuch(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	s := launch(t, name, dir, "--size", "16", "--batch", "4")
	line := s.await("ready:")
	for _, want := range []string{name + ": ready: socket " + os.Getenv("SPDL_RUNTIME_DIR") + "/" + name + ".sock", "10 samples", "3 batches an epoch",
		"8 slots x 4.0 KiB", "posix, shared access"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %q", want, line)
		}
	}
	s.stop()
}

// timeout(1) and terminals signal twice: the second signal does not cut the orderly end short.
func TestTwoSignalsAtOnceEndItInGoodOrder(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	for range 5 {
		s := serve(t, name, dir, "--size", "16")
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Process.Signal(syscall.SIGINT)
		if code := s.wait(); code != exitOK {
			t.Fatalf("exit code %d", code)
		}
	}
}

// An end that waits, here for who holds a batch, is cut short by a signal that comes when patience is over: it ends the process.
func TestALaterSignalEndsAnEndThatWaits(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	s := serve(t, name, dir, "--size", "16", "--journal", filepath.Join(t.TempDir(), "position"))
	r := s.attach(shm.AttachOptions{})
	if _, err := r.Acquire(testContext(t)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.wait()
	}()
	for {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			if w := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !w.Signaled() || w.Signal() != syscall.SIGTERM {
				t.Errorf("ended with %v, want the signal", s.cmd.ProcessState)
			}
			good(t, "clean", name) // it was killed
			return
		case <-time.After(patience / 20):
		}
	}
}

// A log that nobody reads any more does not end the service, and one whose reader is stopped does not hold it up: not its batches, not its end.
func TestServeOutlivesTheReaderOfItsLog(t *testing.T) {
	for name, stopped := range map[string]bool{"gone": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			name, dir := home(t), pictures(t, 10)
			c := command(t, "serve", dir, "--name", name, "--size", "16", "--epochs", "1")
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			if stopped {
				fill(t, write)
			} else {
				_ = read.Close()
			}
			c.Stderr = write
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			_ = write.Close()
			s := &service{t: t, cmd: c, name: name, log: make(chan string)}
			close(s.log)
			t.Cleanup(func() { _ = c.Process.Kill() })
			var r *shm.Reader
			for end := time.Now().Add(watchdog); r == nil; time.Sleep(5 * time.Millisecond) {
				if r, err = shm.Attach(testContext(t), name, shm.AttachOptions{}); err != nil && time.Now().After(end) {
					t.Fatal(err)
				}
			}
			defer r.Close()
			if got := keys(t, r); len(got) != 10 {
				t.Errorf("epoch: %v", got)
			}
			if code := s.stop(); code != exitOK {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// fill leaves no room in a pipe.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	fd := int(pipe.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for err := error(nil); err == nil; {
		_, err = unix.Write(fd, make([]byte, 4096))
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
}

// An endpoint that makes no sense is a wrong setting of what leads to s3://, and of nothing else.
func TestAWrongEndpointIsRefusedWhereItIsUsed(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	t.Setenv("AWS_ENDPOINT_URL", "minio:9000")
	refused(t, exitUsage, `store: $AWS_ENDPOINT_URL: got "minio:9000", want a URL such as https://`, "serve", "s3://b/p", "--name", name)
	refused(t, exitUsage, `store: $AWS_ENDPOINT_URL: got "minio:9000", want`, "pack", dir, "--out", "s3://b/p-%06d.tar")
	list := writeFile(t, filepath.Join(t.TempDir(), "list.txt"), "s3://b/a.jpg\n")
	lists := writeFile(t, filepath.Join(t.TempDir(), "lists.yaml"), "source: {list: "+list+"}\nimage: {transform: [{resize: 16}, {center_crop: 16}]}\nbatch: 1\n")
	refused(t, exitUsage, `store: $AWS_ENDPOINT_URL: got "minio:9000", want`, "check", lists)
	good(t, "check", describe(t, dir, name, "")) // a folder on this machine
}

func TestServeRefusesWhatItCannotServe(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	good := describe(t, dir, name, "")
	denied := filepath.Join(t.TempDir(), "locked")
	if err := os.Mkdir(denied, 0); err != nil {
		t.Fatal(err)
	}
	empty := writeFile(t, filepath.Join(t.TempDir(), "empty.json"), "")
	blank := writeFile(t, filepath.Join(t.TempDir(), "blank.json"), " \n")
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "serve: nothing to read; want a description (YAML or JSON), a folder of media or shards", nil},
		{exitUsage, "serve: got 2 arguments, want one", []string{dir, dir}},
		{exitNotFound, `serve: "/no/such": no such file or folder`, []string{"/no/such"}},
		{exitNotFound, "no samples: found no files; want files ending in", []string{t.TempDir()}},
		{exitNotFound, "no such directory", []string{describe(t, "/no/such", name, "")}},
		{exitUsage, "broken.yaml:1:1: soruce: unknown key; did you mean", []string{writeFile(t, filepath.Join(t.TempDir(), "broken.yaml"), "soruce: x\n")}},
		{exitUsage, "batch: got", []string{"--spec-json", `{"source": {"folder": "` + dir + `"}, "batch": "x", "image": {"transform": [{"resize": [8, 8]}]}}`}},
		{exitUsage, "serve: got --spec-json and", []string{dir, "--spec-json", "{}"}},
		{exitUsage, "serve: --size goes with a folder", []string{good, "--size", "8"}},
		{exitUsage, "serve: --size 0, want 1 or more", []string{dir, "--size", "0"}},
		{exitUsage, "serve: got --shuffle and --no-shuffle, want one", []string{dir, "--shuffle", "--no-shuffle"}},
		{exitUsage, "batch: got 0", []string{dir, "--batch", "0"}},
		{exitUsage, `serve: --dtype "i64", want u8, f16, bf16 or f32`, []string{dir, "--dtype", "i64"}},
		{exitUsage, `serve: --dtype "float", want u8, f16, bf16 or f32`, []string{dir, "--dtype", "float"}},
		{exitUsage, `serve: --layout "HWC", want NHWC or NCHW`, []string{dir, "--layout", "HWC"}},
		{exitUsage, "serve: --epochs -1, want 0 (endless) or more", []string{dir, "--epochs", "-1"}},
		{exitUsage, "serve: --cpus 0, want 0.01 to 4096, or a share of the host's from 1% to 100%", []string{dir, "--cpus", "0"}},
		{exitUsage, "serve: --cpus 101%, want", []string{dir, "--cpus", "101%"}},
		{exitUsage, "serve: --slots 2, want 3 to 65536", []string{dir, "--slots", "2"}},
		{exitUsage, "serve: --rank -1, want 0 or more", []string{dir, "--rank", "-1"}},
		{exitUsage, "world.size: got 1, want at least rank + lanes", []string{dir, "--rank", "3"}},
		{exitUsage, `name: got "a/b"`, []string{dir, "--name", "a/b"}},
		{exitUsage, `serve: --backing "disk", want posix or memfd`, []string{dir, "--backing", "disk"}},
		{exitUsage, `serve: --access "all", want shared or private`, []string{dir, "--access", "all"}},
		{exitUsage, `serve: --group "g:lanes=0": got "lanes=0", want NAME[:lanes=N]`, []string{dir, "--group", "g:lanes=0"}},
		{exitUsage, "serve: --state \"/dev\": want a file of JSON", []string{dir, "--state", "/dev"}},
		{exitNotFound, "serve: --state: stat /no/such.json: no such file", []string{dir, "--state", "/no/such.json"}},
		{exitUsage, "state:", []string{dir, "--state", `{"version": 99}`}},
		{exitUsage, "serve: --state is empty; leave it out, or give it a value: go on from", []string{dir, "--state", ""}},
		{exitUsage, `empty.json": the file is empty, want the JSON of a saved state`, []string{dir, "--state", empty}},
		{exitUsage, `blank.json": the file is empty, want the JSON of a saved state`, []string{dir, "--state", blank}},
		{exitUsage, "serve: --journal is empty; leave it out", []string{dir, "--journal", ""}},
		{exitNotFound, `engine: journal "/no/such/j": its directory: stat /no/such: no such file`, []string{dir, "--journal", "/no/such/j"}},
		{exitUsage, "serve: --name is empty; leave it out", []string{dir, "--name", ""}},
		{exitNoRoom, "lower ring.slots or batch", []string{dir, "--size", "4096", "--batch", "64", "--slots", "1000"}},
		{exitUsage, "no full batch", []string{describe(t, dir, name, "order: {last: drop}\n"), "--batch", "5"}},
		{exitUsage, "serve: --child needs --control-fd and --parent-fd", []string{dir, "--child"}},
	} {
		if !slices.Contains(c.args, "--name") && len(c.args) > 0 {
			c.args = append(c.args, "--name", name)
		}
		refused(t, c.code, c.want, append([]string{"serve"}, c.args...)...)
	}
	if os.Geteuid() != 0 {
		refused(t, exitDenied, "permission denied", "serve", denied, "--name", name)
	}
}

// A running engine keeps its name, whatever backing the other one wants.
func TestANameInUseIsRefused(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	s := serve(t, name, dir, "--size", "16")
	pid := fmt.Sprintf("a running engine (pid %d) owns the name; stop it", s.cmd.Process.Pid)
	t.Setenv("SPDL_LOG", "off")
	refused(t, exitBusy, pid, "serve", dir, "--name", name)
	refused(t, exitBusy, "a running engine answers there", "serve", dir, "--name", name, "--backing", "memfd")
	r := s.attach(shm.AttachOptions{})
	if got := keys(t, r); len(got) != 4 {
		t.Errorf("the first engine delivers %v", got)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// What kill -9 leaves under a name, /dev/shm and socket, is proved dead and gone on with or replaced, time after time. A ring of
// other groups is refused until --fresh.
func TestAnEngineStartsUnderTheNameOfAKilledOne(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	for i := range 20 {
		backing := []string{"posix", "memfd"}[i/10%2]
		s := serve(t, name, dir, "--size", "16", "--backing", backing, "--group", "g")
		s.kill()
	}
	refused(t, exitUsage, `a group "g", now none`, "serve", dir, "--name", name, "--size", "16", "--slots", "8")
	s := serve(t, name, dir, "--size", "16", "--fresh")
	if got := keys(t, s.attach(shm.AttachOptions{})); len(got) != 4 {
		t.Errorf("the last engine delivers %v", got)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// Of engines that start at the same moment under one name exactly one serves; the others say that it is in use.
func TestOneOfRacingEnginesGetsTheName(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	for round := range 6 {
		args := []string{dir, "--size", "16", "--backing", []string{"posix", "memfd"}[round%2]}
		racers := []*service{launch(t, name, args...), launch(t, name, args...), launch(t, name, args...)}
		var winner *service
		for _, s := range racers {
			line := s.await("ready:", "spdl: ")
			switch {
			case strings.Contains(line, "ready:") && winner == nil:
				winner = s
			case strings.Contains(line, "ready:"):
				t.Fatalf("two engines are ready: %s", line)
			default:
				if code := s.wait(); code != exitBusy {
					t.Fatalf("exit code %d: %s", code, line)
				}
			}
		}
		if winner == nil {
			t.Fatal("no engine is ready")
		}
		if got := keys(t, winner.attach(shm.AttachOptions{})); len(got) != 4 {
			t.Fatalf("the winner delivers %v", got)
		}
		if code := winner.stop(); code != exitOK {
			t.Fatalf("exit code %d", code)
		}
	}
}

func TestServeRefusesASocketDirectoryThatIsNotSafe(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	t.Setenv("SPDL_LOG", "off")
	base := t.TempDir()
	open := filepath.Join(base, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join("/tmp", strings.Repeat("x", 100))
	t.Cleanup(func() { _ = os.Remove(long) })
	for _, c := range []struct {
		dir  string
		code int
		want string
	}{
		{open, exitDenied, "every user may write it; chmod o-w"},
		{link, exitDenied, "it is a symbolic link"},
		{writeFile(t, filepath.Join(base, "file"), ""), exitDenied, "it is no directory"},
		{filepath.Join(base, "a", "b"), exitNotFound, "set SPDL_RUNTIME_DIR"},
		{long, exitUsage, "at most 107 fit; set SPDL_RUNTIME_DIR to a shorter one"},
	} {
		t.Setenv("SPDL_RUNTIME_DIR", c.dir)
		refused(t, c.code, c.want, "serve", dir, "--name", name, "--size", "16")
	}
}

func TestGroupsAreReadFromTheCommandLine(t *testing.T) {
	for text, want := range map[string]spec.Group{
		"a":                                     {Name: "a", Mode: spec.Shared, Lanes: 1, Slow: spec.Block, Redeliver: true},
		"train:lanes=4":                         {Name: "train", Mode: spec.Lanes, Lanes: 4, Slow: spec.Block, Redeliver: true},
		"eval,slow=drop":                        {Name: "eval", Mode: spec.Shared, Lanes: 1, Slow: spec.Drop, Redeliver: true},
		"x:lanes=2,slow=detach,redeliver=false": {Name: "x", Mode: spec.Lanes, Lanes: 2, Slow: spec.Detach},
	} {
		if got, err := parseGroup(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", ":", "a:lanes", "a:lanes=x", "a:lanes=65", "a,slow=later", "a,redeliver=perhaps", "a,color=red", "a:lanes=2,lanes=3"} {
		if _, err := parseGroup(text); exitCode(err) != exitUsage {
			t.Errorf("%q: %v, want a refusal", text, err)
		}
	}
}

// Groups of the command line are declared: they see every batch, lanes their slice of each step, and slots follow their number.
func TestDeclaredGroupsAndLanesAreServed(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	s := serve(t, name, dir, "--size", "16", "--batch", "2", "--epochs", "1", "--no-shuffle", "--group", "train:lanes=2", "--group", "eval")
	first, second := s.attach(shm.AttachOptions{Group: "train", Lane: 0}), s.attach(shm.AttachOptions{Group: "train", Lane: 1})
	eval := s.attach(shm.AttachOptions{Group: "eval"})
	if h := first.Header(); h.WorldSize != 2 || h.NLanes != 2 || h.NSlots != 16 {
		t.Errorf("world size %d, lanes %d, slots %d, want 2, 2, 16", h.WorldSize, h.NLanes, h.NSlots)
	}
	a, b, all := keys(t, first), keys(t, second), keys(t, eval)
	if len(a) != 4 || len(b) != 4 || len(all) != 8 {
		t.Fatalf("lane 0 %v, lane 1 %v, eval %v", a, b, all)
	}
	both := append(slices.Clone(a), b...)
	slices.Sort(both)
	slices.Sort(all)
	if !slices.Equal(both, all) || a[0] != "blue/000.jpg" || b[0] != "blue/002.jpg" {
		t.Errorf("lane 0 %v, lane 1 %v, eval %v", a, b, all)
	}
	s.stop()
}

// A saved state, as a file or as JSON, is where the next engine goes on.
func TestServeGoesOnFromAState(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	args := []string{dir, "--size", "16", "--batch", "2", "--epochs", "1", "--no-shuffle"}
	s := serve(t, name, args...)
	r := s.attach(shm.AttachOptions{})
	for range 2 {
		l, err := r.Acquire(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	state, err := r.SaveState(testContext(t), false)
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	padded := func(n int) string {
		return writeFile(t, filepath.Join(t.TempDir(), "padded.json"), string(state)+strings.Repeat(" ", n-len(state)))
	}
	for _, given := range []string{string(state), writeFile(t, filepath.Join(t.TempDir(), "state.json"), string(state)), padded(sampler.MaxStateBytes)} {
		s := serve(t, name, append(args, "--state", given)...)
		if got := keys(t, s.attach(shm.AttachOptions{})); !slices.Equal(got, []string{"red/004.jpg", "red/005.jpg", "red/006.jpg", "red/007.jpg"}) {
			t.Errorf("went on with %v", got)
		}
		s.stop()
	}
	refused(t, exitUsage, "want a file of JSON of at most 2097152 bytes", append([]string{"serve", "--name", name, "--state", padded(sampler.MaxStateBytes + 1)}, args...)...)
}

// Several rings share one engine; each is attached by its own name.
func TestServeServesEveryRingOfADescription(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	file := describe(t, dir, name, "order: {epochs: 1}\nrings: {train: {}, val: {batch: 2, order: {shuffle: false}}}\n")
	s := serve(t, name, file)
	train, err := shm.Attach(testContext(t), name+"/train", shm.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer train.Close()
	val, err := shm.Attach(testContext(t), name+"/val", shm.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer val.Close()
	if a, b := keys(t, train), keys(t, val); len(a) != 8 || len(b) != 8 || !slices.IsSorted(b) {
		t.Errorf("train %v, val %v", a, b)
	}
	if train.Header().BatchRows != 4 || val.Header().BatchRows != 2 {
		t.Errorf("rows %d and %d, want 4 and 2", train.Header().BatchRows, val.Header().BatchRows)
	}
	s.stop()
}

// ---- child ---------------------------------------------------------------------------------------

// child starts spdl serve --child with this process, or whom parent is a pidfd of, as its parent.
func child(t *testing.T, parent *os.File, args ...string) (*service, *os.File) {
	t.Helper()
	return childWith(t, parent, nil, args...)
}

// childWith is child with texts as files, from descriptor 5 on.
func childWith(t *testing.T, parent *os.File, texts []string, args ...string) (*service, *os.File) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	if parent == nil {
		self, err := unix.PidfdOpen(os.Getpid(), 0)
		if err != nil {
			t.Fatal(err)
		}
		parent = os.NewFile(uintptr(self), "self")
	}
	s := &service{t: t, log: make(chan string)}
	close(s.log)
	s.cmd = command(t, append(append([]string{"serve"}, args...), "--child", "--control-fd", "3", "--parent-fd", "4")...)
	s.cmd.ExtraFiles = []*os.File{theirs, parent}
	for _, text := range texts {
		file, err := os.Open(writeFile(t, filepath.Join(t.TempDir(), "text"), text))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, file)
	}
	s.cmd.Stderr = &s.seen
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = theirs.Close(), parent.Close()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	return s, ours
}

// A child serves its parent from private memory without names, and ends when the parent detaches.
func TestChildServesItsParentAlone(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	s, control := child(t, nil, dir, "--name", name, "--size", "16", "--epochs", "1")
	r, err := shm.AttachFD(testContext(t), control, shm.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if h := r.Header(); h.Access != uint32(shm.Private) || h.Backing != uint32(shm.Memfd) {
		t.Errorf("access %d, backing %d, want private memfd", h.Access, h.Backing)
	}
	if got := keys(t, r); len(got) != 8 {
		t.Errorf("epoch: %v", got)
	}
	if _, err := shm.Attach(testContext(t), name, shm.AttachOptions{}); !errors.Is(err, shm.ErrNotFound) {
		t.Errorf("attach by name: %v, want not found", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// A description and a state that are too long for a command line come as files, and are all the same to it.
func TestChildTakesTextsOfAnyLengthAsFiles(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	list := writeFile(t, filepath.Join(t.TempDir(), "list.csv"), "path\n"+strings.Repeat(dir+"/red/004.jpg\n", 2))
	long := strings.Repeat("1, 0, ", 30_000)
	text := `{"source": {"list": "` + list + `", "only": [` + long + `0]}, "batch": 30001, "order": {"epochs": 1, "shuffle": false}, "image": {"transform": [{"resize": [2, 2]}]}}`
	var state []byte
	for _, c := range []struct {
		texts []string
		args  []string
		want  uint64
	}{{[]string{text}, []string{"--spec-json-fd", "5"}, 0}, {[]string{text, ""}, []string{"--spec-json-fd", "5", "--state-fd", "6"}, 1}} {
		if c.want == 1 {
			c.texts[1] = string(state) + strings.Repeat(" ", 200_000)
		}
		s, control := childWith(t, nil, c.texts, append(c.args, "--name", name)...)
		r, err := shm.AttachFD(testContext(t), control, shm.AttachOptions{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := r.Acquire(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if l.Step != c.want {
			t.Errorf("step %d, want %d", l.Step, c.want)
		}
		_ = l.Release()
		if state, err = r.SaveState(testContext(t), false); err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		if code := s.wait(); code != exitOK {
			t.Errorf("exit code %d", code)
		}
	}
	s, control := childWith(t, nil, []string{`{"soruce": {}}`}, "--spec-json-fd", "5", "--name", name)
	if _, err := shm.AttachFD(testContext(t), control, shm.AttachOptions{}); !errors.Is(err, shm.ErrSpec) || !strings.Contains(err.Error(), "spec:1:2: soruce: unknown key") {
		t.Errorf("told %v", err)
	}
	s.wait()
	refused(t, exitUsage, "serve: --state-fd is for spdl_open, not for people; want --state", "serve", dir, "--state-fd", "0")
	refused(t, exitUsage, "serve: --spec-json-fd is for spdl_open, not for people; want --spec-json", "serve", "--spec-json-fd", "7")
}

// Under torchrun the first rank's child lets the other ranks attach by name.
func TestChildThatListensIsSharedByName(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	s, control := child(t, nil, "--spec-json", `{"source": {"folder": "`+dir+`"}, "batch": 2, "order": {"epochs": 1}, "image": {"transform": [{"resize": [8, 8]}]}}`,
		"--name", name, "--listen", "--group", "train:lanes=2", "--world-size", "4", "--rank", "2")
	r, err := shm.AttachFD(testContext(t), control, shm.AttachOptions{Group: "train", Lane: 0})
	if err != nil {
		t.Fatal(err)
	}
	other, err := shm.Attach(testContext(t), name, shm.AttachOptions{Group: "train", Lane: 1})
	if err != nil {
		t.Fatal(err)
	}
	if h := r.Header(); h.Access != uint32(shm.Shared) || h.Backing != uint32(shm.Memfd) || h.WorldSize != 4 || h.FirstRank != 2 {
		t.Errorf("header: %+v", h)
	}
	if a, b := keys(t, r), keys(t, other); len(a) != 2 || len(b) != 2 {
		t.Errorf("lane 0 %v, lane 1 %v", a, b)
	}
	_, _ = other.Close(), r.Close()
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// Whatever keeps a child from starting, its parent is told with the status and the text, and nothing is printed.
func TestChildTellsItsParentWhyItDidNotStart(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	for _, c := range []struct {
		status shm.Status
		want   string
		code   int
		args   []string
	}{
		{shm.ErrArgument, "no flag --sise; did you mean --size?", exitUsage, []string{dir, "--sise", "8"}},
		{shm.ErrArgument, "got --help or -h among the arguments, which prints the usage and starts no engine; leave it out", exitUsage, []string{dir, "--help"}},
		{shm.ErrArgument, "--dtype \"i64\"", exitUsage, []string{dir, "--dtype", "i64"}},
		{shm.ErrSpec, "spec:1:2: soruce: unknown key", exitUsage, []string{"--spec-json", `{"soruce": {}}`}},
		{shm.ErrSpec, "no full batch", exitUsage, []string{describe(t, dir, name, "order: {last: drop}\nworld: {size: 8}\n")}},
		{shm.ErrState, "state", exitUsage, []string{dir, "--state", `{"version": 99}`}},
		{shm.ErrEngineStart, "no such file or folder", exitNotFound, []string{"/no/such"}},
		{shm.ErrEngineStart, "no samples", exitNotFound, []string{t.TempDir()}},
		{shm.ErrNoMemory, "lower ring.slots or batch", exitNoRoom, []string{dir, "--size", "4096", "--batch", "64", "--slots", "1000"}},
	} {
		s, control := child(t, nil, append(c.args, "--name", name)...)
		_, err := shm.AttachFD(testContext(t), control, shm.AttachOptions{})
		if !errors.Is(err, c.status) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: told %v (%q), want %v with %q", c.args, errors.Unwrap(err), err, c.status, c.want)
		}
		if code := s.wait(); code != c.code {
			t.Errorf("%q: exit code %d, want %d", c.args, code, c.code)
		}
		if s.seen.Len() > 0 {
			t.Errorf("%q: printed %s", c.args, s.seen.String())
		}
	}
}

// A child ends with its parent's process, known by the pidfd, even if the parent said nothing.
func TestChildEndsWithItsParent(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	parent := command(t, "serve", dir, "--name", name+"-parent", "--size", "8", "--backing", "memfd") // any process that lives
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(parent.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, control := child(t, os.NewFile(uintptr(fd), "parent"), dir, "--name", name, "--size", "16")
	r, err := shm.AttachFD(testContext(t), control, shm.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, err := r.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Signal(syscall.SIGTERM)
	_ = parent.Wait()
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for !errors.Is(err, shm.ErrEngineStopped) { // what was published may still be taken
		l, failure := r.Acquire(testContext(t))
		if err = failure; err == nil {
			err = l.Release()
		}
		if err != nil && !errors.Is(err, shm.EndEpoch) && !errors.Is(err, shm.ErrEngineStopped) {
			t.Fatal(err)
		}
	}
}

// The log line of the first batch and the counters split the time since the process began.
func TestTheTimeToTheFirstBatchCountsFromTheProcessesStart(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	s := serve(t, name, dir, "--size", "16")
	r := s.attach(shm.AttachOptions{})
	if _, err := r.Acquire(testContext(t)); err != nil {
		t.Fatal(err)
	}
	text, err := r.Stats(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Rings []struct {
			First struct {
				Total float64 `json:"total_ms"`
				Load  float64 `json:"load_ms"`
			} `json:"first_batch"`
		} `json:"rings"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if first := got.Rings[0].First; first.Load <= 0 || first.Total <= first.Load {
		t.Errorf("first batch: %+v", first)
	}
	s.stop()
}

// A ring that gives up tells its consumers why and goes on to answer; the exit code is 1 in the end.
func TestServeOfARingThatGaveUpEndsWithAFailure(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	writeFile(t, filepath.Join(dir, "blue", "text.jpg"), "no picture")
	s := serve(t, name, describe(t, dir, name, "bad_sample: {policy: fail}\n"))
	r := s.attach(shm.AttachOptions{})
	for {
		l, err := r.Acquire(testContext(t))
		if errors.Is(err, shm.ErrEngineFailed) {
			if !strings.Contains(err.Error(), "blue/text.jpg") {
				t.Errorf("told %q, want the sample's name", err)
			}
			break
		}
		if err != nil && !errors.Is(err, shm.EndEpoch) {
			t.Fatal(err)
		}
		if l != nil {
			if err := l.Release(); err != nil {
				t.Fatal(err)
			}
		}
	}
	wants(t, good(t, "inspect", name, "--check"), name+": failed: ", "consistent")
	if code := s.stop(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
}
