package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

func TestAMistypedVerbOrFlagIsNamedWithTheNearest(t *testing.T) {
	refused(t, exitUsage, `no verb "serv"; did you mean serve?`, "serv")
	refused(t, exitUsage, `no verb "foo" (spdl --help lists them)`, "foo")
	refused(t, exitUsage, `got "--" ahead of the verb "serve"; leave it out`, "--", "serve", "x")
	refused(t, exitUsage, `no verb "bogus" (spdl --help lists them)`, "help", "bogus")
	refused(t, exitUsage, `no verb "stats" (spdl --help lists them)`, "stats", "--help")
	refused(t, exitUsage, `help: got "check extra", want the name of one verb`, "help", "check", "extra")
	refused(t, exitUsage, `completion: "bsh", want one of bash, fish, powershell, zsh`, "completion", "bsh")
	refused(t, exitUsage, `completion bash: got "extra", want no argument`, "completion", "bash", "extra")
	wants(t, good(t, "completion"), "bash")
	wants(t, good(t, "completion", "bash"), "__start_spdl")
	wants(t, good(t, "help", "completion", "bash"), "bash")
	wants(t, good(t, "help"), "Exit codes:")
	wants(t, good(t, "help", "serve"), "spdl serve SPEC|FOLDER|SHARDS")
	wants(t, good(t, "--help"), "Exit codes:")
	refused(t, exitUsage, `serve: --seed "-1", want a whole number from 0`, "serve", "x", "--seed", "-1")
	refused(t, exitUsage, `serve: "s3://" names no bucket, want s3://BUCKET`, "serve", "s3://")
	refused(t, exitUsage, `replay: got "pics" alone, want a description`, "replay", "pics")
	refused(t, exitUsage, `no verb "qqqqq" (spdl --help lists them)`, "qqqqq")
	refused(t, exitUsage, `serve: no flag --sise; did you mean --size?`, "serve", "x", "--sise", "3")
	refused(t, exitUsage, `serve: no flag --batchsize; did you mean --batch?`, "serve", "x", "--batchsize", "3")
	refused(t, exitUsage, `bench: no flag --batch_size; did you mean --batch?`, "bench", "x", "--batch_size=3")
	refused(t, exitUsage, `serve: no flag --workers (spdl serve --help lists them)`, "serve", "x", "--workers", "3")
	refused(t, exitUsage, `serve: --batch "many", want a whole number`, "serve", "x", "--batch", "many")
	refused(t, exitUsage, `view: --timeout "soon", want a time such as 10s`, "view", "x", "--timeout", "soon")
	refused(t, exitUsage, `flag needs an argument: --batch`, "serve", "x", "--batch")
	refused(t, exitUsage, `serve: no flag -z: flags are whole words (spdl serve --help lists them)`, "serve", "-z")
	refused(t, exitUsage, `serve: no flag -b: flags are whole words; did you mean --backing or --batch? (spdl serve --help lists them)`, "serve", "x", "-b", "4")
	refused(t, exitUsage, `replay: step "-1", want a whole number from 0`, "replay", "x", "-1")
	refused(t, exitUsage, `replay: step "-12.5", want a whole number from 0`, "replay", "x", "-12.5")
	refused(t, exitUsage, `replay: step "-1", want a whole number from 0`, "replay", "x", "--", "-1")
	refused(t, exitUsage, `replay: no flag -z: flags are whole words (spdl replay --help lists them)`, "replay", "x", "-z1")
	refused(t, exitUsage, `replay: no flag --srate; did you mean --state?`, "replay", "x", "1", "--srate", "3")
	refused(t, exitUsage, `no flag --versoin; did you mean --version?`, "--versoin")
}

// Every verb has a manual with examples, and a shell can complete it.
func TestEveryVerbExplainsItself(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out, err: &out}
	verbs := 0
	for _, c := range a.root().Commands() {
		verbs++
		if c.Short == "" || len(c.Long) < 100 && c.Name() != "version" || !strings.Contains(c.Example, "spdl "+c.Name()) {
			t.Errorf("%s: short %q, long %q, example %q", c.Name(), c.Short, c.Long, c.Example)
		}
		help := good(t, c.Name(), "--help")
		if !strings.Contains(help, "Usage:") || !strings.Contains(help, "Examples:") || strings.Contains(help, "control-fd") {
			t.Errorf("%s --help:\n%s", c.Name(), help)
		}
	}
	if verbs != 16 {
		t.Errorf("%d verbs, want 16", verbs)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out := good(t, "completion", shell); len(out) < 1000 {
			t.Errorf("completion for %s: %q", shell, out)
		}
	}
	if out := good(t); !strings.Contains(out, "Exit codes:") {
		t.Errorf("without a verb: %s", out)
	}
}

func TestLogLevelIsChecked(t *testing.T) {
	t.Setenv("SPDL_LOG", "loud")
	refused(t, exitUsage, `SPDL_LOG: log level "loud": want off, error, warn, info or debug`, "serve", t.TempDir())
}

// Every kind of refusal has its exit code, and the status that a parent is told.
func TestEveryRefusalHasItsCodeAndStatus(t *testing.T) {
	for _, c := range []struct {
		err    error
		code   int
		status shm.Status
	}{
		{usage("x"), exitUsage, shm.ErrArgument},
		{&spec.Error{Text: "x"}, exitUsage, shm.ErrSpec},
		{fmt.Errorf("a: %w", sampler.ErrNoBatch), exitUsage, shm.ErrSpec},
		{fmt.Errorf("a: %w", engine.ErrDescription), exitUsage, shm.ErrSpec},
		{fmt.Errorf("a: %w", shm.ErrState), exitUsage, shm.ErrState},
		{fmt.Errorf("a: %w", store.ErrOptions), exitUsage, shm.ErrSpec},
		{fmt.Errorf("a: %w", source.ErrNoSamples), exitNotFound, shm.ErrEngineStart},
		{fmt.Errorf("a: %w", fs.ErrNotExist), exitNotFound, shm.ErrEngineStart},
		{&because{errors.New("a"), fs.ErrPermission}, exitDenied, shm.ErrEngineStart},
		{fmt.Errorf("a: %w", shm.ErrDenied), exitDenied, shm.ErrDenied},
		{fmt.Errorf("a: %w", shm.ErrNameInUse), exitBusy, shm.ErrBusy},
		{&shm.Error{Status: shm.ErrBusy, Cause: shm.ErrNameInUse}, exitBusy, shm.ErrBusy},
		{fmt.Errorf("a: %w", shm.ErrNoSpace), exitNoRoom, shm.ErrNoMemory},
		{shm.ErrVersion, exitMismatch, shm.ErrVersion},
		{shm.ErrFormat, exitMismatch, shm.ErrFormat},
		{shm.ErrEngineFailed, exitFailed, shm.ErrEngineFailed},
		{errors.New("a"), exitFailed, shm.ErrEngineStart},
	} {
		if code := exitCode(c.err); code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.err, code, c.code)
		}
		if got := told(c.err); !errors.Is(got, c.status) || got.Error() != c.err.Error() {
			t.Errorf("%v: told %v, want %v", c.err, got, c.status)
		}
	}
	if code := exitCode(nil); code != exitOK {
		t.Errorf("nil: exit code %d", code)
	}
}

// A signal is told as such, whatever was waited for; what else went wrong stays as it is.
func TestASignalIsToldAsAnInterruption(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	wrapped := fmt.Errorf("engine: order: %w", context.Canceled)
	if err := interrupted(ctx, wrapped); err != wrapped {
		t.Errorf("without a signal: %v", err)
	}
	cancel()
	if err := interrupted(ctx, wrapped); err.Error() != "interrupted" || exitCode(err) != exitInterrupted {
		t.Errorf("got %v, exit code %d", err, exitCode(err))
	}
	if err := interrupted(ctx, shm.ErrState); err != shm.ErrState {
		t.Errorf("another failure: %v", err)
	}
}

// What could not be printed is told, with exit code 1: a full disk is no success.
func TestOutputThatIsLostIsAFailure(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	spec, log := describe(t, dir, name, "order: {shuffle: false}\n"), filepath.Join(t.TempDir(), "log.jsonl")
	writeFile(t, log, `{"step": 0, "rank": 0, "world": 1, "n_bad": 0, "index": [0, 1, 2, 3]}`+"\n")
	t.Setenv("SPDL_LOG", "off")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range [][]string{
		{"help"}, {"--version"}, {"version"}, {"check", "--help"}, {"check", spec}, {"bench", spec}, {"bench", spec, "--json"}, {"profile", spec, "--seconds", "0.01"},
		{"replay", spec, "0"}, {"verify", spec, log}, {"inspect"}, {"clean", "--dry-run"}, {"completion", "bash"}, {"view", spec, "-o", "-"},
	} {
		c := command(t, args...)
		var said bytes.Buffer
		c.Stdout, c.Stderr = full, &said
		_ = c.Run()
		if code := c.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(said.String(), "spdl: standard output: no space left on device; what was printed is not complete\n") || strings.Count(said.String(), "\n") != 1 {
			t.Errorf("spdl %q into a full device: exit code %d, want %d\n%s", args, code, exitFailed, said.String())
		}
	}
}

// Nothing is waited for, read or recorded when its result could not be written.
func TestAnOutputThatCannotBeThereIsRefusedFirst(t *testing.T) {
	home(t)
	for _, args := range [][]string{{"view", "/no/such"}, {"trace", "nobody"}, {"replay", "/no/such", "0"}} {
		refused(t, exitNotFound, args[0]+`: --out "/absent/x.png": no such file or directory; make the directory first`, append(args, "--out", "/absent/x.png")...)
		refused(t, exitUsage, args[0]+`: --out "/" is a directory, want the name of a file`, append(args, "--out", "/")...)
	}
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 20: "3.0 MiB", 5 << 29: "2.5 GiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// What libraries write into Go's own log, as net/http does of answers that nobody asked for, is the log's, at level debug.
func TestLibrariesLogAtDebug(t *testing.T) {
	flags, out := log.Flags(), log.Writer()
	defer func() {
		log.SetFlags(flags)
		log.SetOutput(out)
	}()
	for level, want := range map[string]string{"off": "", "info": "", "debug": " debug engine: Unsolicited response\n"} {
		var text bytes.Buffer
		t.Setenv("SPDL_LOG", level)
		if _, err := (&app{err: &text}).logTo(engine.Info); err != nil {
			t.Fatal(err)
		}
		log.Printf("Unsolicited %s", "response")
		if got := text.String(); !strings.HasSuffix(got, want) || want == "" && got != "" {
			t.Errorf("SPDL_LOG=%s: %q", level, got)
		}
	}
}

// SPDL_LOG_FORMAT chooses the form of the log; another word is refused.
func TestLogFormatIsChosenByTheEnvironment(t *testing.T) {
	name := home(t)
	t.Setenv("SPDL_LOG_FORMAT", "json")
	s := launch(t, name, pictures(t, 4), "--batch", "2")
	line := s.await("ready:")
	var got struct{ Level, Ring, Text string }
	if err := json.Unmarshal([]byte(line), &got); err != nil || got.Level != "info" || got.Ring != name || !strings.HasPrefix(got.Text, "ready:") {
		t.Errorf("%v in %s", err, line)
	}
	s.stop()
	t.Setenv("SPDL_LOG_FORMAT", "xml")
	refused(t, exitUsage, `SPDL_LOG_FORMAT: "xml", want text or json`, "serve", "--name", name, pictures(t, 4))
}
