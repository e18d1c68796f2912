package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxDepth     = 128 // directories below each other, each an open descriptor during the walk
	maxExtension = 16  // bytes of an ending that is told apart
	maxOthers    = 64  // different endings that are counted apart
	direntBytes  = 64 << 10
	direntHeader = 19 // inode 8, offset 8, length 2, type 1
)

// walker collects a tree's files in the order of their paths.
type walker struct {
	f      *folder
	wanted map[string]struct{}
	long   []string // wanted endings that have dots in them, or are long, a dot before each
	beside []string // endings of files beside the samples, a dot before each
	seen   []bool   // of each: there is a file that ends so
	path   []byte   // of the directory in hand, below the root, with its slash
	names  []byte   // the names in the directories from the root to the one in hand; each level cuts its own off again
	dirent []byte   // what one getdents64 call returned

	progress *Progress

	others map[string]int64 // files that are not wanted, by ending
	format string           // what a file among them is of, and what to do, where that is a format that is not read here
	hidden int64            // names that begin with a dot
}

// entry is a name in walker.names; that of a directory has a slash at its end, so that sorting names sorts paths.
type entry struct {
	at  uint32
	len uint16
	dir bool
}

func newWalker(f *folder, extensions []string) *walker {
	w := &walker{f: f, wanted: map[string]struct{}{}, others: map[string]int64{}, dirent: make([]byte, direntBytes)}
	for _, e := range extensions {
		if e = strings.ToLower(strings.TrimPrefix(e, ".")); strings.Contains(e, ".") || len(e) > maxExtension {
			w.long = append(w.long, "."+e)
		}
		w.wanted[e] = struct{}{}
	}
	return w
}

// lieBeside says which endings, a dot before each, those files have that lie beside the samples'.
func (w *walker) lieBeside(endings []string) { w.beside, w.seen = endings, make([]bool, len(endings)) }

// see notes of what lies beside samples that there is some.
func (w *walker) see(name []byte) {
	for k, ending := range w.beside {
		w.seen[k] = w.seen[k] || len(name) > len(ending) && string(name[len(name)-len(ending):]) == ending
	}
}

// misspelt refuses an ending that no file has: what is read from such files would be bad in all samples, or a default.
func (w *walker) misspelt() error {
	k := slices.Index(w.seen, false)
	if k < 0 {
		return nil
	}
	ending := w.beside[k]
	where, remedy := "source.columns", ""
	if m := slices.IndexFunc(w.f.media, func(m Medium) bool { return "."+m.From[0] == ending }); m >= 0 {
		where = w.f.media[m].Name + ".from"
	}
	column := slices.IndexFunc(w.f.columns, func(c Column) bool { return "."+c.From == ending })
	if column >= 0 && w.others["json"] > 0 && w.f.columns[column].Type != Array {
		remedy = fmt.Sprintf("; a value in the files that end in .json is from: json[%s]", w.f.columns[column].From)
	}
	return lacking("%s: no file ends in %s, small and large letters told apart; beside files that are samples there are %s%s", where, ending, w.found(), remedy)
}

// directory adds everything below the open directory fd, whose path is w.path.
func (w *walker) directory(fd, depth int) error {
	names := len(w.names)
	defer func() { w.names = w.names[:names] }()
	entries, err := w.list(fd)
	if err != nil {
		return w.wrap("", err)
	}
	w.progress.Work()
	entries = w.withoutBeside(entries)
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(w.name(a), w.name(b)) })
	dir := string(w.path)
	for _, e := range entries {
		if len(w.path)+int(e.len) >= maxPath {
			return w.wrap(string(w.name(e)), fmt.Errorf("the path is longer than %d bytes", maxPath-1))
		}
		if !e.dir {
			err = w.f.add(dir, w.name(e))
		} else {
			err = w.descend(fd, e, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutBeside leaves out what another medium or a column of a sample is read from: files with its ending and, before that, the name of another
// file. Those of which there is no other are samples themselves, as videos are whose sound is in the same file.
func (w *walker) withoutBeside(entries []entry) []entry {
	if len(w.beside) == 0 {
		return entries
	}
	samples := map[string]struct{}{} // names without endings
	for _, e := range entries {
		if name := w.name(e); !e.dir && w.stemBeside(name) == nil {
			samples[string(name[:max(bytes.LastIndexByte(name, '.'), 0)])] = struct{}{}
		}
	}
	return slices.DeleteFunc(entries, func(e entry) bool {
		if e.dir {
			return false
		}
		_, is := samples[string(w.stemBeside(w.name(e)))]
		return is
	})
}

// stemBeside is what a file's name has before the ending of another medium or a column; nil of other files.
func (w *walker) stemBeside(name []byte) []byte {
	for _, ending := range w.beside {
		if at := len(name) - len(ending); at > 0 && strings.EqualFold(string(name[at:]), ending) {
			return name[:at]
		}
	}
	return nil
}

func (w *walker) descend(parent int, e entry, depth int) error {
	name := string(w.name(e)[:e.len-1])
	if depth > maxDepth {
		return w.wrap(name, fmt.Errorf("more than %d directories below each other", maxDepth))
	}
	w.progress.Step()
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return w.wrap(name, err)
	}
	defer unix.Close(fd)
	length := len(w.path)
	w.path = append(w.path, w.name(e)...)
	defer func() { w.path = w.path[:length] }()
	return w.directory(fd, depth)
}

// list reads the names in a directory: of directories, and of files that are wanted.
func (w *walker) list(fd int) ([]entry, error) {
	var entries []entry
	for {
		w.progress.Step()
		n, err := unix.Getdents(fd, w.dirent)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return entries, nil
		}
		for rest := w.dirent[:n]; len(rest) > direntHeader; {
			length, kind := binary.NativeEndian.Uint16(rest[16:]), rest[18]
			name, _, _ := bytes.Cut(rest[direntHeader:length], []byte{0})
			if entries, err = w.enter(entries, fd, name, kind); err != nil {
				return nil, err
			}
			rest = rest[length:]
		}
	}
}

// enter appends one name if it is a directory or a wanted file, and counts it if it is neither.
func (w *walker) enter(entries []entry, fd int, name []byte, kind uint8) ([]entry, error) {
	if string(name) == "." || string(name) == ".." {
		return entries, nil
	}
	if name[0] == '.' {
		w.hidden++
		return entries, nil
	}
	dir, err := w.isDirectory(fd, name, kind)
	if err != nil {
		return nil, err
	}
	if !dir {
		w.see(name)
	}
	if !dir && !w.wants(name) {
		return entries, nil
	}
	e := entry{at: uint32(len(w.names)), len: uint16(len(name)), dir: dir}
	w.names = append(w.names, name...)
	if dir {
		w.names = append(w.names, '/')
		e.len++
	}
	if len(w.names) > 1<<31 {
		return nil, errors.New("more than 2 GiB of names in one directory; split it")
	}
	return append(entries, e), nil
}

// isDirectory asks the file system only when the directory does not say. A link to a directory is an error.
func (w *walker) isDirectory(fd int, name []byte, kind uint8) (bool, error) {
	var st unix.Stat_t
	if kind == unix.DT_UNKNOWN {
		if err := unix.Fstatat(fd, string(name), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return false, fmt.Errorf("%q: %w", name, err)
		}
		kind = uint8(st.Mode & unix.S_IFMT >> 12) // the DT_ constants are these four bits
	}
	if kind == unix.DT_LNK {
		// A link that leads nowhere is not a directory; reading it as a sample will say so.
		if err := unix.Fstatat(fd, string(name), &st, 0); err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return false, fmt.Errorf("%q: a link to a directory, which is not followed; put the directory itself there (a bind mount "+
				"will do), or name the files in a list", name)
		}
	}
	return kind == unix.DT_DIR, nil
}

// wants tells a file with a wanted ending; it counts the others.
func (w *walker) wants(name []byte) bool {
	if w.isWanted(name) {
		return true
	}
	var lower [maxExtension]byte
	ending := shortEnding(name, &lower)
	_, known := w.others[string(ending)]
	if !known && w.format == "" { // one of each ending tells
		w.format = Foreign(string(name))
	}
	if known || len(w.others) < maxOthers {
		w.others[string(ending)]++
	} else {
		w.others[""]++
	}
	return false
}

// shortEnding is what stands behind a name's last dot, in small letters; empty where that is long.
func shortEnding(name []byte, lower *[maxExtension]byte) []byte {
	dot := bytes.LastIndexByte(name, '.')
	if dot < 0 || len(name)-dot-1 > maxExtension {
		return nil
	}
	ending := lower[:copy(lower[:], name[dot+1:])]
	for i, c := range ending {
		if 'A' <= c && c <= 'Z' {
			ending[i] = c + 'a' - 'A'
		}
	}
	return ending
}

// isWanted says that a name ends as samples do.
func (w *walker) isWanted(name []byte) bool {
	var lower [maxExtension]byte
	if _, ok := w.wanted[string(shortEnding(name, &lower))]; ok {
		return true
	}
	for _, e := range w.long {
		if at := len(name) - len(e); at > 0 && strings.EqualFold(string(name[at:]), e) {
			return true
		}
	}
	return false
}

func (w *walker) name(e entry) []byte { return w.names[e.at : e.at+uint32(e.len)] }

// wrap adds the path below the root to an error about the directory in hand, or about a name in it.
func (w *walker) wrap(name string, err error) error {
	path := strings.TrimSuffix(string(w.path)+name, "/")
	if path == "" {
		return err
	}
	return fmt.Errorf("directory %.200q: %w", path, err)
}

// archives says, where a tree without samples has archives, what reads these, and of other formats what to do.
func (w *walker) archives() string {
	for _, ending := range []string{"tar", "zip", "parquet", "arrow"} {
		if w.others[ending] > 0 {
			return fmt.Sprintf("; archives are read by shards in place of folder, such as shards: DIR/*.%s", ending)
		}
	}
	if w.format != "" {
		return "; " + w.format
	}
	for _, ending := range []string{"csv", "tsv", "jsonl", "ndjson"} {
		if w.others[ending] > 0 {
			return fmt.Sprintf("; a table of paths is read by list in place of folder, such as list: DIR/NAME.%s", ending)
		}
	}
	if len(w.others) > 0 {
		return "; name the directory that has them, or in source.extensions the endings of yours"
	}
	return ""
}

// found describes a tree without samples: "12 other files (10 .txt, 2 .csv)".
func (w *walker) found() string {
	var total int64
	endings := make([]string, 0, len(w.others))
	for e, n := range w.others {
		total += n
		endings = append(endings, e)
	}
	s := "no files"
	if total > 0 {
		slices.SortFunc(endings, func(a, b string) int {
			if w.others[a] != w.others[b] {
				return int(w.others[b] - w.others[a])
			}
			return strings.Compare(a, b)
		})
		for i, e := range endings {
			kind := "." + e
			if e == "" {
				kind = "without a short ending"
			}
			endings[i] = fmt.Sprintf("%d %s", w.others[e], kind)
		}
		s = fmt.Sprintf("%d other files (%s)", total, strings.Join(endings[:min(5, len(endings))], ", "))
		if total == 1 {
			s = fmt.Sprintf("1 other file (%s)", endings[0])
		}
	}
	switch {
	case w.hidden == 1:
		s += " and 1 name that begins with a dot"
	case w.hidden > 1:
		s += fmt.Sprintf(" and %d names that begin with a dot", w.hidden)
	}
	return s
}
