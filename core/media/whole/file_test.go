package whole

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spdl/spdl/tests/leak"
)

func begin(t *testing.T, path, text string) *File {
	t.Helper()
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f
}

// A file has its name when it is whole; until then, and when it is given up, the one before stays.
func TestFileAppearsWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, text := range []string{"first", "second"} {
		before, _ := os.ReadFile(path)
		begin(t, path, "given up").Abandon()
		f := begin(t, path, text)
		if now, _ := os.ReadFile(path); string(now) != string(before) {
			t.Errorf("before Finish it is %q, want %q", now, before)
		}
		if err := f.Finish(); err != nil {
			t.Fatal(err)
		}
		if now, err := os.ReadFile(path); string(now) != text {
			t.Errorf("got %q (%v), want %q", now, err, text)
		}
	}
	if got := leak.Names(t, dir); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q, want the file alone", got)
	}
}

// A FIFO takes the bytes and keeps its name, whether the file is finished or given up.
func TestSpecialFileIsWrittenAsItIs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	for _, finish := range []bool{true, false} {
		read := make(chan string)
		go func() {
			text, _ := os.ReadFile(path)
			read <- string(text)
		}()
		f := begin(t, path, "text")
		if !f.Special() {
			t.Error("a FIFO was taken for a file")
		}
		if !finish {
			f.Abandon()
		} else if err := f.Finish(); err != nil {
			t.Error(err)
		}
		if got := <-read; got != "text" {
			t.Errorf("the reader got %q", got)
		}
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 || len(leak.Names(t, dir)) != 1 {
		t.Errorf("the FIFO is %v now (%v), beside %q", info, err, leak.Names(t, dir))
	}
}

// What cannot be given its name leaves nothing; what cannot be made says why.
func TestFailuresLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	f := begin(t, path, "text")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Finish(); err == nil || !strings.HasPrefix(err.Error(), "create "+path+": ") || strings.Contains(err.Error(), ".part") {
		t.Errorf("a directory in the way: got %v, want it by the name that was asked for", err)
	}
	if got := leak.Names(t, dir); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q, want the directory alone", got)
	}
	_, err := Create(filepath.Join(dir, "nowhere", "a"))
	want := "create " + dir + "/nowhere/a: no such file or directory; there is no directory " + strconv.Quote(dir+"/nowhere")
	if !errors.Is(err, os.ErrNotExist) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Whatever fails on the way is told of the name that was asked for: nobody knows of another.
func TestErrorsNameTheFileThatWasAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f := begin(t, path, "text")
	defer f.Abandon()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4, Max: limit.Max}); err != nil {
		t.Skip(err)
	}
	_, err := f.WriteString("more")
	if back := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); back != nil {
		t.Fatal(back)
	}
	if !errors.Is(err, syscall.EFBIG) || err.Error() != "write "+path+": file too large" {
		t.Errorf("got %v, want that %q is too large", err, path)
	}
}

// What a process left that died is swept away, and what one is writing is not: neither before it is finished nor between that and its name.
func TestSweepTakesTheDeadAlone(t *testing.T) {
	dir := t.TempDir()
	all := func(string) bool { return true }
	live := begin(t, filepath.Join(dir, "a.tar"), "live")
	dead := []string{".a.tar.0123456789abcdef.part", ".b.tar.ffffffffffffffff.part"}
	for _, name := range append(dead, ".c.txt.0123456789abcdef.part", ".a.tar.xyz.part", "a.tar.0123456789abcdef.part") {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.tar.0123456789abcdef.part", filepath.Join(dir, ".d.tar.0123456789abcdef.part")); err != nil {
		t.Fatal(err)
	}
	if got, err := Sweep(dir, func(name string) bool { return filepath.Ext(name) == ".tar" }); !slices.Equal(got, []string{live.part}) || err != nil {
		t.Errorf("live are %q (%v), want %q", got, err, live.part)
	}
	if got := leak.Names(t, dir); len(got) != 5 || !slices.Contains(got, filepath.Base(live.part)) {
		t.Errorf("left %q", got)
	}
	if err := live.Finish(); err != nil {
		t.Error(err)
	}
	if got, err := Sweep(dir, all); len(got) != 0 || err != nil || len(leak.Names(t, dir)) != 4 {
		t.Errorf("live are %q (%v), beside %q", got, err, leak.Names(t, dir))
	}
	if _, err := Sweep(filepath.Join(dir, "nowhere"), all); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	// Whoever creates and finishes while others sweep loses nothing.
	stop, swept := make(chan bool), make(chan bool)
	go func() {
		defer close(swept)
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = Sweep(dir, all)
			}
		}
	}()
	for range 300 {
		if err := begin(t, filepath.Join(dir, "busy"), "text").Finish(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-swept
}
