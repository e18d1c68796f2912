package verbs

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
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
	media   map[spec.Media]bool
	endings map[string]bool
	shards  []string // paths below the folder
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
func (c *contents) seeShard(path string) {
	hidden := func(part string) bool { return strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") }
	if spec.LooksLikeShards(path) && !slices.ContainsFunc(strings.Split(path, "/"), hidden) {
		c.shards = append(c.shards, path)
	}
}

func newContents() *contents {
	return &contents{media: map[spec.Media]bool{}, endings: map[string]bool{}}
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
func (d *description) remote(ctx context.Context, verb, path string) (*spec.Spec, error) {
	scheme, name, _ := strings.Cut(path, "://")
	if scheme != "hf" && (name == "" || name[0] == '/') {
		return nil, usage("%s: %q names no bucket, want %s://BUCKET or %s://BUCKET/PREFIX", verb, path, scheme, scheme)
	}
	shown := strings.TrimSuffix(store.Shown(path), "?...")
	if err := otherThanDescription(verb, shown); err != nil {
		return nil, err
	}
	switch {
	case isList(shown):
		return nil, listForDescription(verb, shown)
	case slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(shown))):
		return nil, usage("%s: %q: descriptions are read from files; copy it here", verb, shown)
	case strings.HasPrefix(scheme, "http"):
		return nil, usage("%s: %q: nothing can be listed over http; name the shards, by their endings (.tar, .zip, .parquet, .tfrecord), or a list of files in a description", verb, shown)
	}
	s, err := spec.FromFolder(path, spec.Zero{})
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
		return len(c.media) == 0 || len(c.shards) > 0 || seen < lookedObjects
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	if len(c.media) > 0 && len(c.shards) > 0 {
		sets := dataSetsOf(path, c.shards)
		return nil, usage("%s: %q holds media and shards, want one of them; name the shards: %s; or the media: {source: {folder: %q}, image: {transform: [{resize: [224, 224]}]}}, "+
			"as a file or, in JSON, as --spec-json", verb, path, commandsFor(verb, sets), path)
	}
	return d.root(ctx, verb, path, c)
}

// root describes a folder, here or in a store, by what it holds: media, or the shards of one data set.
func (d *description) root(ctx context.Context, verb, path string, c *contents) (*spec.Spec, error) {
	found := len(c.media) > 0
	if !found && len(c.shards) > 0 && !strings.ContainsAny(path, "{*?[") { // which would be read as a pattern
		sets := dataSetsOf(path, c.shards)
		if len(sets) > 1 {
			return nil, usage("%s: %q holds shards of %d data sets, and nothing says which are meant; name one: %s", verb, path, len(sets), commandsFor(verb, sets))
		}
		return d.shards(ctx, verb, sets[0].patterns)
	}
	if columns := columnsFor(slices.Sorted(maps.Keys(c.endings))); !found && columns != "" {
		return nil, withoutMedia(verb, path, "{source: {folder: %q, %s}}", path, columns)
	}
	d.media = best(c.media)
	return d.zero(verb, func(z spec.Zero) (*spec.Spec, error) { return spec.FromFolder(path, z) })
}
