package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/grid"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spelling"
)

// maxShards is the most shards of one source.
const maxShards = 1 << 20

// maxNamesBytes is the most that the names of one list of patterns take together: a pattern of a few bytes may stand for any number of long ones.
const maxNamesBytes = 1 << 30

// Braces writes a pattern's {0000..1023} and {a,b,c} out, the last one fastest, as a shell does. Leading zeros set the
// width of numbers.
func Braces(pattern string) ([]string, error) {
	var w written
	if err := w.add(pattern); err != nil {
		return nil, fmt.Errorf("pattern %.200q: %w", pattern, err)
	}
	return w.names, nil
}

// written are the names of patterns, at most maxShards of maxNamesBytes.
type written struct {
	names []string
	bytes int // at most, as if all names of a pattern were as long as its longest
}

// add writes a pattern out, or nothing where that were too much.
func (w *written) add(pattern string) error {
	var parts []choice
	all, longest := 1, 0
	for rest := pattern; rest != ""; {
		c, after, err := choiceOf(rest)
		if err != nil {
			return err
		}
		if all *= c.n; all > maxShards-len(w.names) {
			return fmt.Errorf("got more than %d names", maxShards)
		}
		parts, rest, longest = append(parts, c), after, longest+c.longest()
	}
	if w.bytes += all * longest; w.bytes > maxNamesBytes {
		return fmt.Errorf("got %d names of up to %d bytes, want at most %d MiB of all names", all, longest, maxNamesBytes>>20)
	}
	var name []byte
	for i := range all {
		name = name[:0]
		for k, each := 0, all; k < len(parts); k++ {
			each /= parts[k].n
			name = parts[k].append(name, i/each%parts[k].n)
		}
		w.names = append(w.names, string(name))
	}
	return nil
}

// choice is a piece of a pattern: texts, of which each name has one, or numbers from first on, width digits at least.
type choice struct {
	n     int
	texts []string // nil: numbers
	first uint64
	width int
}

func (c *choice) longest() (n int) {
	for _, text := range c.texts {
		n = max(n, len(text))
	}
	if c.texts == nil {
		n = max(c.width, len(strconv.FormatUint(c.first+uint64(c.n-1), 10)))
	}
	return n
}

func (c *choice) append(name []byte, i int) []byte {
	if c.texts != nil {
		return append(name, c.texts[i]...)
	}
	return fmt.Appendf(name, "%0*d", c.width, c.first+uint64(i))
}

// choiceOf is a pattern's next piece, plain text or a pair of braces, and what comes after.
func choiceOf(pattern string) (c choice, after string, err error) {
	switch open := strings.IndexAny(pattern, "{}"); {
	case open < 0:
		return choice{n: 1, texts: []string{pattern}}, "", nil
	case pattern[open] == '}':
		return c, "", errors.New("got '}' without '{'")
	case open > 0:
		return choice{n: 1, texts: []string{pattern[:open]}}, pattern[open:], nil
	}
	inside, after, ok := strings.Cut(pattern[1:], "}")
	if !ok || strings.IndexByte(inside, '{') >= 0 {
		return c, "", errors.New("got '{' without its own '}'; braces do not nest")
	}
	c, err = choicesOf(inside)
	return c, after, err
}

func choicesOf(inside string) (choice, error) {
	first, last, ok := strings.Cut(inside, "..")
	if !ok {
		choices := strings.Split(inside, ",")
		if len(choices) < 2 {
			return choice{}, fmt.Errorf("got {%.60s}, want {FIRST..LAST} or {A,B}", inside)
		}
		return choice{n: len(choices), texts: choices}, nil
	}
	from, err1 := strconv.ParseUint(first, 10, 32)
	to, err2 := strconv.ParseUint(last, 10, 32)
	if err1 != nil || err2 != nil || to < from || to-from >= maxShards {
		return choice{}, fmt.Errorf("got {%.60s}, want two whole numbers, the smaller one first, such as {0000..1023}", inside)
	}
	c := choice{n: int(to-from) + 1, first: from}
	if len(first) > 1 && first[0] == '0' || len(last) > 1 && last[0] == '0' {
		c.width = max(len(first), len(last))
	}
	return c, nil
}

// shardNames are the shards of the config's patterns: see filesNamed. Objects that a listing has told of are noted, and not asked for again.
func (c *ShardsConfig) shardNames(ctx context.Context) ([]string, error) {
	c.listed, c.said = map[string]*store.Object{}, map[string]listedShard{}
	names, err := filesNamed(ctx, "shard", c.Shards, c.Store, func(o store.Object) {
		if o.Strong() {
			c.listed[o.URL] = &o
		}
	})
	if err == nil {
		names, err = c.written(ctx, names)
	}
	if err == nil {
		err = onceEach("shard", names)
	}
	if err == nil {
		err = c.mayUnpack()
	}
	return names, err
}

// stat is a shard's object: as it was listed, or as the store has it now.
func (c *ShardsConfig) stat(ctx context.Context, name string) (*store.Object, error) {
	if o := c.listed[name]; o != nil {
		return o, nil
	}
	o, err := c.Store.Stat(ctx, name)
	return o, unnamed(err)
}

// filesNamed writes patterns out, of files that messages call by what they are: braces, then globs against what is there, each pattern's names sorted. A local file of a pattern's very
// name is meant itself. The same name twice is an error: its samples would come twice. listed is told of every object that a pattern found.
func filesNamed(ctx context.Context, what string, patterns []string, c *store.Client, listed func(store.Object)) ([]string, error) {
	var names []string
	for _, p := range patterns {
		if isThere(p) {
			names = append(names, p)
			continue
		}
		expanded, err := Braces(p)
		if err != nil {
			return nil, err
		}
		for _, name := range expanded {
			if names, err = appendGlob(ctx, names, store.Plain(name), c, listed); err != nil {
				return nil, err
			}
		}
	}
	return names, onceEach(what, names)
}

// onceEach refuses names of which one is there twice, or that are too many.
func onceEach(what string, names []string) error {
	seen := make(map[string]struct{}, len(names))
	for _, n := range names {
		if _, twice := seen[n]; twice {
			return fmt.Errorf("%s %q: named twice", what, store.Shown(n))
		}
		seen[n] = struct{}{}
	}
	if len(names) > maxShards {
		return fmt.Errorf("got %d %ss, want at most %d", len(names), what, maxShards)
	}
	return nil
}

// isThere says that a name which could be a pattern is that of a local file.
func isThere(name string) bool {
	if !strings.ContainsAny(name, "*?[{}") || store.IsURL(name) {
		return false
	}
	_, err := os.Lstat(name)
	return err == nil
}

func appendGlob(ctx context.Context, names []string, pattern string, c *store.Client, listed func(store.Object)) ([]string, error) {
	switch {
	case !strings.ContainsAny(pattern, "*?["), isThere(pattern), store.IsURL(pattern) && strings.HasPrefix(pattern, "http"): // nobody lists these
		return append(names, pattern), nil
	case store.IsURL(pattern):
		return globObjects(ctx, names, pattern, c, listed)
	}
	found, err := filepath.Glob(pattern)
	if err == nil && len(found) == 0 {
		found, err = zipped(pattern)
	}
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: pattern %q: no file is named so%s", ErrNoSamples, pattern, spelling.NoneFits(pattern))
	}
	slices.Sort(found)
	return append(names, found...), nil
}

// zipped are the arrays in archives of Zarr by a pattern, with the archives' own names ahead.
func zipped(pattern string) (names []string, err error) {
	archives, within, is := strings.Cut(pattern, grid.ZipEnding+"/")
	if !is {
		return nil, nil
	}
	found, err := filepath.Glob(archives + grid.ZipEnding)
	if err != nil {
		return nil, err
	}
	for _, archive := range found {
		arrays, err := grid.ZarrsInZip(archive, within)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", archive, err)
		}
		for _, name := range arrays {
			names = append(names, archive+"/"+name)
		}
	}
	return names, nil
}

// unlisted is why a shard cannot be opened: one that is not there may have been meant as a pattern, a directory for what is in it.
func unlisted(name string, err error) error {
	if info, e := os.Stat(name); e == nil && info.IsDir() {
		kind := "*.tar"
		inside, _ := os.ReadDir(name)
		i := slices.IndexFunc(inside, func(e os.DirEntry) bool { return endsAsShard(e.Name()) })
		if i >= 0 {
			ending, numbered, _ := strings.Cut(filepath.Ext(inside[i].Name()), "-") // .tfrecord-00000-of-01024
			if kind = "*" + ending; numbered != "" {
				kind += "-*"
			}
		}
		other := ""
		if i < 0 {
			other = ", or, of media, say folder in place of shards"
		}
		return fmt.Errorf("%w; name the files in it, such as %s%s", err, filepath.Join(name, kind), other)
	}
	if errors.Is(err, fs.ErrNotExist) && !store.IsURL(name) {
		return fmt.Errorf("%w%s", err, spelling.NotThere(name))
	}
	var e *store.Error
	path, _, _ := strings.Cut(name, "?")
	if store.IsURL(name) && filepath.Ext(path) == "" && errors.As(err, &e) && e.Cause == store.Missing {
		return fmt.Errorf("%w; of a data set of MDS or litData name its %s, or end with a slash; of one of Hugging Face's save_to_disk its %s", err, CatalogueName, SavedName)
	}
	if !strings.HasPrefix(name, "http") || !strings.Contains(path, "*") || !errors.As(err, &e) || e.Cause != store.Missing {
		return err
	}
	return fmt.Errorf("%w; nothing can be listed over http: name each object, or a range such as {0..9}", err)
}

// globObjects lists what begins with the pattern's plain part.
func globObjects(ctx context.Context, names []string, pattern string, c *store.Client, listed func(store.Object)) ([]string, error) {
	before := len(names)
	err := c.List(ctx, pattern[:strings.IndexAny(pattern, "*?[")], func(o store.Object) error {
		ok, err := path.Match(pattern, o.URL)
		if ok {
			names = append(names, o.URL)
			listed(o)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(names) == before {
		return nil, fmt.Errorf("%w: pattern %q: no object is named so", ErrNoSamples, pattern)
	}
	slices.Sort(names[before:])
	return names, nil
}
