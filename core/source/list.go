package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	maxListBytes = 4 << 30
	listStride   = 8 // samples between two offsets of the index
)

// ListConfig says what OpenList reads.
type ListConfig struct {
	File         string // the list
	Root         string // directory of relative paths; "" is the list's own, and lets absolute paths pass
	MaxFileBytes int64  // largest sample that is read; 0 is DefaultMaxFileBytes
}

// list is a list file in memory. Lines are cut into fields when somebody asks; opening has checked them all.
type list struct {
	root  root
	text  []byte
	index []int64 // offset of the line of every listStride-th sample
	n     int64
}

// OpenList reads a list file whole and checks every line. A wrong line is an error that names it.
func OpenList(c ListConfig) (Source, error) {
	l, err := openList(c)
	if err != nil {
		return nil, fmt.Errorf("source: list %q: %w", c.File, err)
	}
	return l, nil
}

func openList(c ListConfig) (*list, error) {
	dir := c.Root
	if dir == "" {
		dir = filepath.Dir(c.File)
	}
	text, err := readList(c.File)
	if err != nil {
		return nil, err
	}
	l := &list{text: bytes.TrimPrefix(text, []byte("\ufeff"))}
	if err := l.scan(c.Root == ""); err != nil {
		return nil, err
	}
	if l.n == 0 {
		return nil, fmt.Errorf("%w: got %d bytes without a line that names a file; want one PATH or PATH<TAB>LABEL a line",
			ErrNoSamples, len(text))
	}
	if l.root, err = openRoot(dir, c.MaxFileBytes); err != nil {
		return nil, fmt.Errorf("root %q: %w", dir, err)
	}
	l.root.absolute = c.Root == ""
	return l, nil
}

// readList reads the list into memory that belongs to this process: a mapping would die with a truncated file.
func readList(file string) ([]byte, error) {
	fd, err := unix.Open(file, openFlags, 0)
	if err != nil {
		return nil, listError(err)
	}
	defer unix.Close(fd)
	var b Buffer
	r := root{maxBytes: maxListBytes}
	n, err := r.fill(context.Background(), fd, &b)
	if err != nil {
		return nil, listError(err)
	}
	return b.mem[:n:n], nil
}

func listError(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		errors.As(readError(err), &e)
	}
	switch {
	case e.Cause == Missing:
		return errors.New("no such file")
	case e.Cause == Empty:
		return fmt.Errorf("%w: the file is empty; want one PATH or PATH<TAB>LABEL a line", ErrNoSamples)
	case e.Cause == TooLarge:
		return fmt.Errorf("%s; split it", e.Detail)
	case e.Err != nil:
		return e.Err
	}
	return errors.New(e.Detail)
}

// scan indexes the lines and checks each.
func (l *list) scan(absolute bool) error {
	// One fast look at everything spares a slow one at every line.
	lines := rules{absolute: absolute, zeros: bytes.IndexByte(l.text, 0) >= 0, climbs: bytes.Contains(l.text, []byte(".."))}
	line := 0
	for at := 0; at < len(l.text); {
		text, next := l.line(at)
		line++
		if isSample(text) {
			if err := lines.check(text); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
			if l.n%listStride == 0 {
				l.index = append(l.index, int64(at))
			}
			l.n++
		}
		at = next
	}
	return nil
}

// line is the text of the line that starts at an offset, without its end, and the offset of the next.
func (l *list) line(at int) (text []byte, next int) {
	text, next = l.text[at:], len(l.text)
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		text, next = text[:n], at+n+1
	}
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	return text, next
}

// isSample tells a line that names a file from a blank one and a comment.
func isSample(text []byte) bool {
	if len(text) == 0 || text[0] == '#' {
		return false
	}
	return text[0] > ' ' || len(bytes.TrimSpace(text)) > 0
}

// cut separates the path from the label; tab is false where the line has no second column.
func cut(text []byte) (path, label []byte, tab bool) {
	if n := bytes.IndexByte(text, '\t'); n >= 0 {
		return text[:n], text[n+1:], true
	}
	return text, nil, false
}

// rules says what a line may hold, and what somewhere in the file calls for a closer look.
type rules struct {
	absolute      bool // absolute paths are allowed
	zeros, climbs bool // the file holds a zero byte, two dots in a row
}

func (r *rules) check(text []byte) error {
	path, label, tab := cut(text)
	switch {
	case len(path) == 0:
		return errors.New("got a tab first; want PATH or PATH<TAB>LABEL")
	case len(path) >= maxPath:
		return fmt.Errorf("got a path of %d bytes, want at most %d", len(path), maxPath-1)
	case r.zeros && bytes.IndexByte(path, 0) >= 0:
		return errors.New("got a zero byte in the path; want text, one path a line")
	case path[0] == '/' && !r.absolute:
		return fmt.Errorf("path %.200q: got an absolute path, want one relative to root; leave root out to allow absolute paths", path)
	case r.climbs && hasDotDot(path):
		return fmt.Errorf("path %.200q: got \"..\", want a path that stays beneath root; name a higher root", path)
	}
	if tab {
		if _, ok := parseLabel(label); !ok {
			return fmt.Errorf("label: got %.40q, want one whole number, such as 17, after the tab", label)
		}
	}
	return nil
}

func hasDotDot(path []byte) bool {
	for len(path) > 0 {
		part, rest, _ := bytes.Cut(path, []byte("/"))
		if string(part) == ".." {
			return true
		}
		path = rest
	}
	return false
}

// parseLabel reads a decimal int64 without an allocation.
func parseLabel(text []byte) (int64, bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > 19 {
		return 0, false
	}
	var v uint64 // 19 digits stay below 10^19 < 2^64
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	if v > math.MaxInt64 {
		return 0, false
	}
	if negative {
		return -int64(v), true
	}
	return int64(v), true
}

// sample finds the line of sample i: from the offset before it, over the few lines between.
func (l *list) sample(i int64) []byte {
	if i < 0 || i >= l.n {
		panic(fmt.Sprintf("source: sample %d of %d", i, l.n))
	}
	at := int(l.index[i/listStride])
	for left := i % listStride; ; {
		text, next := l.line(at)
		if isSample(text) {
			if left == 0 {
				return text
			}
			left--
		}
		at = next
	}
}

func (l *list) Len() int64        { return l.n }
func (l *list) Classes() []string { return nil }
func (l *list) Close() error      { return l.root.close() }

func (l *list) Key(i int64, dst []byte) []byte {
	path, _, _ := cut(l.sample(i))
	return append(dst, path...)
}

func (l *list) Label(i int64) int64 {
	_, label, tab := cut(l.sample(i))
	if !tab {
		return -1
	}
	v, _ := parseLabel(label)
	return v
}

func (l *list) Read(ctx context.Context, i int64, b *Buffer) error {
	path, _, _ := cut(l.sample(i))
	if err := l.root.read(ctx, b, copy(b.path[:maxPath-1], path)); err != nil {
		return name(err, l, i)
	}
	return nil
}
