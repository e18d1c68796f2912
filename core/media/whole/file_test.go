package whole

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
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
	if err := f.Finish(); err == nil {
		t.Error("a directory was replaced")
	}
	if got := leak.Names(t, dir); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q, want the directory alone", got)
	}
	if _, err := Create(filepath.Join(dir, "nowhere", "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such directory", err)
	}
}
