package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/grid"
	"github.com/spdl/spdl/core/source/store"
)

// maxShards is the most shards of one source.
const maxShards = 1 << 20

// Braces writes a pattern's {0000..1023} and {a,b,c} out, the last one fastest, as a shell does. Leading zeros set the
// width of numbers.
func Braces(pattern string) ([]string, error) {
	names, err := braces(nil, "", pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return names, nil
}

func braces(names []string, before, pattern string) ([]string, error) {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		if strings.IndexByte(pattern, '}') >= 0 {
			return nil, errors.New("got '}' without '{'")
		}
		if len(names) == maxShards {
			return nil, fmt.Errorf("got more than %d names", maxShards)
		}
		return append(names, before+pattern), nil
	}
	inside, after, ok := strings.Cut(pattern[open+1:], "}")
	if !ok || strings.IndexByte(inside, '{') >= 0 {
		return nil, errors.New("got '{' without its own '}'; braces do not nest")
	}
	choices, err := choicesOf(inside)
	if err != nil {
		return nil, err
	}
	for _, c := range choices {
		if names, err = braces(names, before+pattern[:open]+c, after); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func choicesOf(inside string) ([]string, error) {
	first, last, ok := strings.Cut(inside, "..")
	if !ok {
		choices := strings.Split(inside, ",")
		if len(choices) < 2 {
			return nil, fmt.Errorf("got {%.60s}, want {FIRST..LAST} or {A,B}", inside)
		}
		return choices, nil
	}
	from, err1 := strconv.ParseUint(first, 10, 32)
	to, err2 := strconv.ParseUint(last, 10, 32)
	if err1 != nil || err2 != nil || to < from || to-from >= maxShards {
		return nil, fmt.Errorf("got {%.60s}, want two whole numbers, the smaller one first, such as {0000..1023}", inside)
	}
	width := 0
	if len(first) > 1 && first[0] == '0' || len(last) > 1 && last[0] == '0' {
		width = max(len(first), len(last))
	}
	var choices []string
	for n := from; n <= to; n++ {
		choices = append(choices, fmt.Sprintf("%0*d", width, n))
	}
	return choices, nil
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
		return nil, fmt.Errorf("%w: pattern %q: no file is named so", ErrNoSamples, pattern)
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
		if i := slices.IndexFunc(inside, func(e os.DirEntry) bool { return endsAsShard(e.Name()) }); i >= 0 {
			ending, numbered, _ := strings.Cut(filepath.Ext(inside[i].Name()), "-") // .tfrecord-00000-of-01024
			if kind = "*" + ending; numbered != "" {
				kind += "-*"
			}
		}
		return fmt.Errorf("%w; name the files in it, such as %s", err, filepath.Join(name, kind))
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
