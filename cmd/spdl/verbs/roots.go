package verbs

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
)

// lookedObjects is how many objects of a store are looked at for media, where no shard is among them.
const lookedObjects = lookedDirectories * lookedNames

// contents are what a folder holds, here or in a store, as far as it was looked at.
type contents struct {
	media      map[spec.Media]bool
	endings    map[string]bool
	files      []string        // shards, by their paths below the folder
	catalogues map[string]bool // directories below it with an index.json
	tables     map[string]bool // and with shards that such a file lists, of MDS or litData
	saved      map[string]bool // directories with a state.json, as save_to_disk writes it
}

func (c *contents) see(name string) {
	ending := endingOf(name)
	c.endings[ending] = true
	if slices.Contains(source.ImageExtensions, ending) {
		c.media[spec.Pictures] = true
	} else if m, ok := spec.MediaOf(name); ok {
		c.media[m] = true
	}
}

// seeShard takes a path below the folder if it is a shard's. What begins with . or _ is none, as _temporary of Spark's.
func (c *contents) seeShard(file string) {
	hidden := func(part string) bool { return strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") }
	if slices.ContainsFunc(strings.Split(file, "/"), hidden) {
		return
	}
	dir, name := path.Dir(file), path.Base(file)
	if name == source.CatalogueName {
		c.catalogues[dir] = true
	} else if name == source.SavedName {
		c.saved[dir] = true
	} else if source.IsListed(name) {
		c.tables[dir] = true
	}
	if spec.LooksLikeShards(file) {
		c.files = append(c.files, file)
	}
}

// shards are what is to be read, by paths below the folder: of what a catalogue lists that, which may lie in directories above.
func (c *contents) shards() (all []string) {
	listed := map[string]bool{}
	for dir := range c.tables {
		if by, ok := c.listing(dir); ok {
			listed[path.Join(by, source.CatalogueName)] = true
		}
	}
	for _, file := range c.files {
		if dir := path.Dir(file); c.saved[dir] && path.Ext(file) == ".arrow" { // beside others may lie, of map
			listed[path.Join(dir, source.SavedName)] = true
			continue
		}
		if _, ok := c.listing(path.Dir(file)); !ok || !source.IsListed(path.Base(file)) {
			all = append(all, file)
		}
	}
	return slices.AppendSeq(all, maps.Keys(listed))
}

// listing is the topmost directory over one that has a catalogue, or that one.
func (c *contents) listing(dir string) (by string, ok bool) {
	for ; ; dir = path.Dir(dir) {
		if c.catalogues[dir] {
			by, ok = dir, true
		}
		if dir == "." {
			return by, ok
		}
	}
}

func newContents() *contents {
	return &contents{media: map[spec.Media]bool{}, endings: map[string]bool{}, catalogues: map[string]bool{}, tables: map[string]bool{}, saved: map[string]bool{}}
}

// contentsOf looks into a directory: at the first names in its first directories, and where these are no media at all names for shards.
func contentsOf(dir string) *contents {
	c := newContents()
	firstFiles(dir, func(name string) (more bool) {
		c.see(name)
		return !c.media[spec.Pictures]
	})
	if len(c.media) > 0 {
		return c
	}
	directories, names := 0, 0
	_ = fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error { // of what cannot be read the engine will say why
		switch {
		case err != nil || path == ".":
			return nil
		case e.IsDir():
			if directories++; strings.HasPrefix(e.Name(), ".") || directories > lookedShardDirectories {
				return fs.SkipDir
			}
			return nil
		}
		if names++; names > lookedShardNames {
			return fs.SkipAll
		}
		c.seeShard(path)
		return nil
	})
	return c
}

// How far shards are looked for on a disk.
const (
	lookedShardDirectories = 1024
	lookedShardNames       = 1 << 20
)

// remote is the form without a description for a URL that is not that of shards: a folder in a store, of media or shards.
func (d *description) remote(ctx context.Context, verb, root string) (*spec.Spec, error) {
	scheme, name, _ := strings.Cut(root, "://")
	if scheme != "hf" && (name == "" || name[0] == '/') {
		return nil, usage("%s: %q names no bucket, want %s://BUCKET or %s://BUCKET/PREFIX", verb, root, scheme, scheme)
	}
	shown := strings.TrimSuffix(store.Shown(root), "?...")
	if err := otherThanDescription(verb, shown); err != nil {
		return nil, err
	}
	switch {
	case isList(shown):
		return nil, listForDescription(verb, shown)
	case slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(shown))):
		return nil, usage("%s: %q: descriptions are read from files; copy it here", verb, shown)
	case strings.HasPrefix(scheme, "http"):
		return nil, usage("%s: %q: nothing can be listed over http; name the shards, by their endings (.tar, .zip, .parquet, .arrow, .rec, .tfrecord, .array_record), the index.json of MDS or litData, or a list of files in a description", verb, shown)
	}
	s, err := spec.FromFolder(root, spec.Zero{})
	if err != nil {
		return nil, usage("%s: %v", verb, err)
	}
	c, seen := newContents(), 0
	err = engine.List(ctx, s, func(below string) (more bool) {
		c.seeShard(below)
		if seen < lookedObjects && !strings.HasPrefix(below, ".") && !strings.Contains(below, "/.") {
			c.see(below)
		}
		seen++
		return len(c.media) == 0 || len(c.files)+len(c.tables) > 0 || seen < lookedObjects
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	if shards := c.shards(); len(c.media) > 0 && len(shards) > 0 {
		sets := dataSetsOf(root, shards)
		return nil, usage("%s: %q holds media and shards, want one of them; name the shards: %s; or the media: {source: {folder: %q}, image: {transform: [{resize: [224, 224]}]}}, "+
			"as a file or, in JSON, as --spec-json", verb, root, commandsFor(verb, sets), root)
	}
	return d.root(ctx, verb, root, c)
}

// root describes a folder, here or in a store, by what it holds: media, or the shards of one data set.
func (d *description) root(ctx context.Context, verb, dir string, c *contents) (*spec.Spec, error) {
	found := len(c.media) > 0
	if shards := c.shards(); !found && len(shards) > 0 && !strings.ContainsAny(dir, "{*?[") { // which would be read as a pattern
		sets := dataSetsOf(dir, shards)
		if len(sets) > 1 {
			return nil, usage("%s: %q holds shards of %d data sets, and nothing says which are meant; name one: %s", verb, dir, len(sets), commandsFor(verb, sets))
		}
		return d.shards(ctx, verb, sets[0].patterns)
	}
	if columns := columnsFor(slices.Sorted(maps.Keys(c.endings))); !found && columns != "" {
		return nil, withoutMedia(verb, dir, "{source: {folder: %q, %s}}", dir, columns)
	}
	d.media = best(c.media)
	return d.zero(verb, func(z spec.Zero) (*spec.Spec, error) { return spec.FromFolder(dir, z) })
}
