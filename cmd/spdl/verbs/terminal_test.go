package verbs

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// No line of a page is longer than the screen, and no more lines are shown than it has; of both it says that something is missing.
func TestPageIsCutToItsScreen(t *testing.T) {
	page := "µµµµµµ\n123456\n12345\n\n5\n6\n"
	for _, c := range []struct {
		columns, rows int
		want          string
	}{
		{0, 0, page},
		{80, 24, page},
		{6, 7, page}, // the cursor has a line
		{5, 0, "µµµµ…\n1234…\n12345\n\n5\n6\n"},
		{1, 0, "…\n…\n…\n\n5\n6\n"},
		{12, 4, "µµµµµµ\n123456\n... and 4 m…\n"},
		{0, 6, "µµµµµµ\n123456\n12345\n\n... and 2 more lines; make the window higher, or use --once\n"},
	} {
		if got := onScreen(page, c.columns, c.rows); got != c.want {
			t.Errorf("%d columns, %d rows: %q, want %q", c.columns, c.rows, got, c.want)
		}
	}
}

// terminal is a new one of that size: whoever has tty writes what screen reads.
func terminal(t *testing.T, columns, rows uint16) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	n, err := unix.IoctlGetUint32(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		t.Fatal(err)
	}
	return screen, tty
}

// On a terminal top shows one screen, cut to the window, again and again.
func TestTopFitsItsTerminal(t *testing.T) {
	const columns, rows = 50, 9
	screen, tty := terminal(t, columns, rows)
	name := home(t)
	s := serve(t, name, pictures(t, 8), "--size", "16", "--batch", "4")
	consume(t, s, "g")
	c := command(t, "top", name, "--interval", "50ms")
	c.Stdout = tty
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close() // the command's alone: reading ends with it
	const home = "\x1b[H\x1b[J"
	var shown bytes.Buffer
	for buf := make([]byte, 4096); strings.Count(shown.String(), home) < 3; {
		n, err := screen.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, shown.String())
		}
		shown.Write(buf[:n])
	}
	_ = c.Process.Signal(os.Interrupt)
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitOK { // Ctrl-C is how one leaves
		t.Errorf("exit code %d, want %d", code, exitOK)
	}
	page := strings.Split(shown.String(), home)[1]
	lines := strings.Split(strings.TrimSuffix(page, "\r\n"), "\r\n")
	if len(lines) != rows-1 || !strings.HasPrefix(lines[0], name+": pid ") || !strings.HasPrefix(lines[len(lines)-1], "... and ") {
		t.Errorf("%d lines, want %d:\n%s", len(lines), rows-1, page)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > columns {
			t.Errorf("%d letters, want at most %d: %s", n, columns, line)
		}
	}
	s.stop()
}
