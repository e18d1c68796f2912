package spelling

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostBeside bounds how many names are looked at for the one that was meant.
const mostBeside = 4096

// NotThere is what helps with a path that is not there, to stand behind what says so: that no shell has changed it, where it was looked for, and
// which path was meant.
func NotThere(path string) (text string) {
	if strings.HasPrefix(path, "~") || strings.Contains(path, "/~/") || strings.Contains(path, "$") {
		return "; it is taken as it is written: ~ and $NAME are a shell's"
	}
	if !filepath.IsAbs(path) {
		text = fmt.Sprintf("; looked for as %q", absolute(path))
	}
	if near := meant(path); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// meant is a path that is there, and differs from one that is not in a slip in one of its names; "" where none does.
func meant(path string) string {
	below := ""
	if strings.ContainsAny(path, "*?[") {
		return ""
	}
	for at := filepath.Clean(path); ; {
		dir, name := filepath.Split(at)
		if names, err := namesIn(filepath.Clean(dir)); err == nil {
			near := Nearest(name, names)
			whole := filepath.Join(dir, near, below)
			if _, err := os.Stat(whole); near == "" || near == name || err != nil {
				return ""
			}
			return whole
		}
		up := filepath.Clean(dir)
		if up == at {
			return ""
		}
		at, below = up, filepath.Join(name, below)
	}
}

// namesIn are names in a directory, not all of a large one, without those that are hidden.
func namesIn(dir string) (names []string, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.Readdirnames(mostBeside)
	for _, name := range all {
		if !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	if len(all) == 0 && err != io.EOF {
		return nil, err
	}
	return names, nil
}

// NoneFits is what helps with a pattern that fits no file, to stand behind what says so: what lies in its directory.
func NoneFits(pattern string) string {
	dir := filepath.Dir(pattern)
	for strings.ContainsAny(dir, "*?[") {
		dir = filepath.Dir(dir)
	}
	names, err := namesIn(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("; there is no directory %q%s", dir, NotThere(dir))
	case err != nil:
		return ""
	case len(names) == 0:
		return fmt.Sprintf("; nothing is in %q", absolute(dir))
	}
	slices.Sort(names)
	if few := 3; len(names) > few {
		names = append(names[:few], "more")
	}
	return fmt.Sprintf("; in %q are %s", absolute(dir), strings.Join(names, ", "))
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
