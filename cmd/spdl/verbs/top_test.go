package verbs

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
)

// consume keeps taking batches of the service until the test ends.
func consume(t *testing.T, s *service, group string) {
	t.Helper()
	r, ended := s.attach(shm.AttachOptions{Group: group, Client: "tester"}), make(chan struct{})
	ctx := testContext(t)
	stop := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			l, err := r.Acquire(ctx)
			switch {
			case errors.Is(err, shm.EndEpoch):
				continue
			case err != nil:
				return
			}
			_ = l.Release()
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
	})
}

// Top shows stages, queues, consumers and the verdict of what happens while it looks; as JSON it is an interval.
func TestTopSaysWhatIsSlow(t *testing.T) {
	name := home(t)
	s := serve(t, name, pictures(t, 40), "--size", "16", "--batch", "4")
	consume(t, s, "g")
	var got telemetry.Interval
	interval := "300ms"
	for end := time.Now().Add(watchdog); ; interval = "3s" { // longer where the machine stood still all the while
		if err := json.Unmarshal([]byte(good(t, "top", name, "--once", "--json", "--interval", interval)), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Rings) == 1 && got.Rings[0].Batches > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no batch in %+v", got)
		}
	}
	if got.Rings[0].Verdict.Text == "" || got.Seconds < 0.3 {
		t.Errorf("interval %+v", got)
	}
	out := good(t, "top", "--once", "--interval", interval) // the only engine there is
	for _, want := range []string{name + ": pid ", " samples/s", "plan ", "fetch ", "decode ", "publish ", "tester", "%"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("serve: exit code %d", code)
	}
}

// Top shows budgets beside what there is, and which number of workers the engine finds by itself.
func TestTopShowsBudgets(t *testing.T) {
	var page strings.Builder
	got := telemetry.Interval{
		Process: telemetry.ProcessLoad{CPUs: 1.6, CPUsThere: 4, CPUsUsed: 0.5, Memory: telemetry.Memory{RSS: 1 << 30}, MemoryLimit: 2 << 30},
		Rings:   []telemetry.RingLoad{{Name: "train", Stages: []telemetry.StageLoad{{Name: "fetch", Concurrency: 23, Auto: true}}}},
	}
	writeTop(&page, "train", &got, &telemetry.Snapshot{})
	for _, want := range []string{"0.50 of 1.6 CPUs (a budget, of 4)", "1.0 GiB of 2.0 GiB (PSS", "auto 23"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in\n%s", want, page.String())
		}
	}
}

// Top tells what was read from files from what came over the network, of which none is in the page cache.
func TestTopTellsFilesFromStores(t *testing.T) {
	for want, p := range map[string]telemetry.ProcessLoad{
		"rings), reads 2.0 MiB/s of files, 75 % from the page cache\n":                        {ReadPerS: 2 << 20, PageCacheShare: 0.75},
		"rings), reads 3.0 MiB/s from stores\n":                                               {StorePerS: 3 << 20},
		"rings), reads 2.0 MiB/s of files, 75 % from the page cache; 3.0 MiB/s from stores\n": {ReadPerS: 2 << 20, PageCacheShare: 0.75, StorePerS: 3 << 20},
	} {
		var page strings.Builder
		if writeTop(&page, "train", &telemetry.Interval{Process: p}, &telemetry.Snapshot{}); !strings.Contains(page.String(), want) {
			t.Errorf("no %q in\n%s", want, page.String())
		}
	}
}

// Top of NAME/RING shows that ring and no other.
func TestTopOfOneRingLeavesTheOthersOut(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	spec := writeFile(t, t.TempDir()+"/two.yaml", "rings:\n  train: {source: {folder: "+dir+"}, batch: 2, image: {transform: [{resize: [16, 16]}]}}\n"+
		"  val: {source: {folder: "+dir+"}, batch: 2, image: {transform: [{resize: [16, 16]}]}}\n")
	s := serve(t, name, spec)
	out := good(t, "top", name+"/val", "--once", "--interval", "100ms")
	if !strings.Contains(out, name+"/val: running") || strings.Contains(out, name+"/train: ") {
		t.Errorf("want ring val alone:\n%s", out)
	}
	there := `/test": the engine has no ring of this name; it has ` + name + "/train, " + name + "/val"
	refused(t, exitNotFound, there, "top", name+"/test", "--once")
	refused(t, exitNotFound, there, "trace", name+"/test", "-o", "-")
	if code := s.stop(); code != exitOK {
		t.Errorf("serve: exit code %d", code)
	}
}

// What is no service ends with 130 when it is interrupted, top with 0.
func TestInterruptedVerbsEndAsDocumented(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	s := serve(t, name, dir, "--size", "16", "--batch", "4", "--group", "idle")
	file := describe(t, dir, name, "")
	for _, c := range []struct {
		code   int
		signal os.Signal
		begun  string // what the verb has printed when it is at work
		args   []string
	}{
		{exitOK, os.Interrupt, name + ": pid ", []string{"top", name, "--interval", "50ms"}},
		{exitOK, syscall.SIGTERM, name + ": pid ", []string{"top", name, "--interval", "50ms"}},
		{exitInterrupted, syscall.SIGTERM, "first batch after", []string{"profile", file, "--seconds", "0.5"}},
	} {
		if code := signalled(t, c.begun, c.signal, c.args...); code != c.code {
			t.Errorf("spdl %q, %v: exit code %d, want %d", c.args, c.signal, code, c.code)
		}
	}
	looking := command(t, "view", name, "--timeout", "1m", "-o", filepath.Join(t.TempDir(), "v.png")) // at a ring that rests
	if err := looking.Start(); err != nil {
		t.Fatal(err)
	}
	s.await("attach of consumer")
	_ = looking.Process.Signal(syscall.SIGHUP)
	_ = looking.Wait()
	if code := looking.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("view, SIGHUP: exit code %d, want %d", code, exitInterrupted)
	}
	s.stop()
}

// signalled runs the command, sends the signal when it has printed a line with the text, and returns its exit code.
func signalled(t *testing.T, text string, signal os.Signal, args ...string) int {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	c := command(t, args...)
	c.Stdout, c.Stderr = write, write
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close() // the command's alone: reading ends with it
	sent := false
	for lines := bufio.NewScanner(read); lines.Scan(); {
		if !sent && strings.Contains(lines.Text(), text) {
			_ = c.Process.Signal(signal)
			sent = true
		}
	}
	_ = c.Wait()
	return c.ProcessState.ExitCode()
}

// When the engine goes away top says so and ends with exit code 1; Ctrl-C ends it with 0.
func TestTopEndsWithItsEngine(t *testing.T) {
	name := home(t)
	s := serve(t, name, pictures(t, 8), "--size", "16", "--batch", "4")
	c := command(t, "top", name, "--interval", "50ms")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaint strings.Builder
	c.Stderr = &complaint
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), name+": pid ") {
		t.Fatalf("first line %q", lines.Text())
	}
	s.stop()
	for lines.Scan() { // to its end
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(complaint.String(), "the engine of \""+name+"\" is gone; pid ") {
		t.Errorf("exit code %d, %s", code, complaint.String())
	}
}

// What top cannot look at is refused with its name and a remedy.
func TestTopRefuses(t *testing.T) {
	name := home(t)
	refused(t, exitNotFound, "no engine is running; start one with spdl serve", "top", "--once")
	refused(t, exitNotFound, "no engine of this name", "top", name, "--once")
	refused(t, exitUsage, "got 2 arguments", "top", "a", "b")
	refused(t, exitUsage, "--interval 1ms, want 50ms or more", "top", name, "--interval", "1ms")
	refused(t, exitUsage, "a time such as 10s", "top", name, "--interval", "soon")
	dir := pictures(t, 4)
	one, two := serve(t, name, dir, "--batch", "2"), serve(t, name+"b", dir, "--batch", "2")
	refused(t, exitUsage, "2 engines are running, want the name of one: "+name, "top", "--once")
	one.stop()
	two.stop()
}
