package verbs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Trace writes a recording that viewers read; --join puts it into a trace of PyTorch's profiler on that one's clock.
func TestTraceIsWrittenAndJoined(t *testing.T) {
	name := home(t)
	s := serve(t, name, pictures(t, 40), "--size", "16", "--batch", "4")
	consume(t, s, "g")
	dir := t.TempDir()
	file, both := filepath.Join(dir, "trace.json"), filepath.Join(dir, "both.json")
	events := func(text []byte) (names map[string]bool) {
		names = map[string]bool{}
		var f struct {
			TraceEvents []struct {
				Name, Ph string
				TS       float64
				Args     struct{ Name string }
			}
		}
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatalf("%v in %.300s", err, text)
		}
		for _, e := range f.TraceEvents {
			names[e.Name] = true
			if e.Ph == "M" {
				names[e.Args.Name] = true
			}
		}
		return names
	}
	record := func(seconds string) (missing []string) {
		if out := good(t, "trace", name, "--seconds", seconds, "-o", file); !strings.Contains(out, "ui.perfetto.dev") {
			t.Errorf("said %q", out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := events(text)
		for _, want := range []string{"decode", "fetch", "wait for a batch", "spdl engine " + name, name + " decode 0", name + " group g"} {
			if !names[want] {
				missing = append(missing, want)
			}
		}
		return missing
	}
	missing := record("0.3")
	if len(missing) > 0 { // the machine stood still
		missing = record("20")
	}
	if len(missing) > 0 {
		t.Errorf("no %q in the recording", missing)
	}
	torch := writeFile(t, filepath.Join(dir, "torch.json"), `{"schemaVersion":1,"baseTimeNanoseconds":1000,"traceEvents":[{"ph":"X","name":"aten::add","ts":7,"dur":1,"pid":1,"tid":1}]}`)
	good(t, "trace", file, "--join", torch, "-o", both)
	if text, err := os.ReadFile(both); err != nil || !events(text)["aten::add"] || !events(text)["decode"] {
		t.Errorf("joined: %v, %.300s", err, text)
	}
	if out := good(t, "trace", "--seconds", "0.1", "-o", "-"); !events([]byte(out))["spdl engine "+name] {
		t.Errorf("to standard output: %.300s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("serve: exit code %d", code)
	}
}

// What cannot be recorded, joined or written is refused with its name.
func TestTraceRefuses(t *testing.T) {
	name, dir := home(t), t.TempDir()
	noTrace := writeFile(t, filepath.Join(dir, "no.json"), "{}")
	refused(t, exitNotFound, "no engine of this name", "trace", name)
	refused(t, exitNotFound, "no engine is running", "trace")
	refused(t, exitUsage, "--seconds 0, want a number above 0 and up to 60", "trace", name, "--seconds", "0")
	refused(t, exitUsage, "--seconds NaN, want", "trace", name, "--seconds", "NaN")
	refused(t, exitUsage, "got 2 arguments", "trace", "a", "b")
	refused(t, exitUsage, "--join wants the file of a recording", "trace", "--join", noTrace)
	refused(t, exitNotFound, "absent.json", "trace", filepath.Join(dir, "absent.json"), "--join", noTrace)
	refused(t, exitUsage, "want one that spdl trace has written", "trace", noTrace, "--join", noTrace, "-o", filepath.Join(dir, "out.json"))
	if _, err := os.Stat(filepath.Join(dir, "out.json")); err == nil {
		t.Error("a refused join has written its file")
	}
	s := serve(t, name, pictures(t, 4), "--batch", "2")
	refused(t, exitNotFound, "no such file or directory", "trace", name, "--seconds", "0.05", "-o", filepath.Join(dir, "absent", "t.json"))
	s.stop()
}

// An engine that is killed while it records is told as gone, with exit code 1.
func TestTraceTellsOfAnEngineThatDies(t *testing.T) {
	name := home(t)
	s := serve(t, name, pictures(t, 4), "--batch", "2", "--backing", "memfd")
	c := command(t, "trace", name, "--seconds", "60", "-o", filepath.Join(t.TempDir(), "t.json"))
	var complaint strings.Builder
	c.Stderr = &complaint
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s.await("recording") // the engine says so in its log
	s.kill()
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(complaint.String(), "went away while it recorded") {
		t.Errorf("exit code %d, %s", code, complaint.String())
	}
	good(t, "clean")
}
