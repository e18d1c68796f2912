package verbs

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// fileOf is the file that w writes into, if it is one.
func fileOf(w io.Writer) (*os.File, bool) {
	if o, ok := w.(*output); ok {
		w = o.to
	}
	f, ok := w.(*os.File)
	return f, ok
}

func isTerminal(w io.Writer) bool {
	f, ok := fileOf(w)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// screenOf is the size of the terminal behind w; zeros where it tells none.
func screenOf(w io.Writer) (columns, rows int) {
	f, ok := fileOf(w)
	if !ok {
		return 0, 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}

// onScreen cuts a page to a screen, so that no line wraps and the first one stays in sight. Of a size of 0 nothing is known.
func onScreen(page string, columns, rows int) string {
	lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
	if room := rows - 1; room > 1 && len(lines) > room { // the cursor's line is one of them
		lines = append(lines[:room-1], fmt.Sprintf("... and %s; make the window higher, or use --once", counted(len(lines)-room+1, "more line")))
	}
	for i := range lines {
		lines[i] = cutLine(lines[i], columns)
	}
	return strings.Join(lines, "\n") + "\n"
}

// cutLine is the beginning of a line, with an ellipsis where it is cut to so many columns; 0: all of it.
func cutLine(line string, columns int) string {
	if columns < 1 || len(line) <= columns {
		return line
	}
	if letters := []rune(line); len(letters) > columns {
		return string(letters[:columns-1]) + "…"
	}
	return line
}

// status keeps one line of the terminal up to date; where there is none nothing is written. clearStatus takes it off again.
func (a *app) status(format string, args ...any) {
	if isTerminal(a.err) {
		columns, _ := screenOf(a.err)
		fmt.Fprintf(a.err, "\r%s\x1b[K", cutLine(fmt.Sprintf(format, args...), columns-1))
	}
}

func (a *app) clearStatus() {
	if isTerminal(a.err) {
		fmt.Fprint(a.err, "\r\x1b[K")
	}
}
