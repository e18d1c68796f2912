package source

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// ShardLabels says where the labels of shards come from.
type ShardLabels string

const (
	LabelsOfPart      ShardLabels = ""          // the part that ShardsConfig.Label names
	LabelsOfDirectory ShardLabels = "directory" // a member's first-level directory, as a folder's
	LabelsOfNames     ShardLabels = "names"     // a column of Parquet or Arrow, which holds the names of classes
	LabelsOff         ShardLabels = "none"      // every label is -1
)

// maxClasses bounds what a mistaken directory for each sample would take.
const maxClasses = 1 << 20

// class is the first-level directory of a key; ok is false where there is none.
func class(key []byte) (name []byte, ok bool) {
	at := bytes.IndexByte(key, '/')
	return key[:max(at, 0)], at >= 0
}

// findClasses collects the directories that samples lie in, over all shards, sorted by name. The indexes list them; only of a shard with very
// many is every key looked at.
func (s *shards) findClasses() error {
	seen := map[string]struct{}{}
	for k := range s.all {
		sh := &s.all[k]
		each := sh.index.directories
		if !sh.index.listed {
			each = func(yield func([]byte) bool) { s.directories(sh, yield) }
		}
		for name := range each {
			if _, known := seen[string(name)]; known || bytes.Contains(name, []byte(classMark)) {
				continue
			}
			if len(seen) == maxClasses {
				return fmt.Errorf("source.labels: got more than %d directories, want one for each class; leave labels out", maxClasses)
			}
			seen[string(name)] = struct{}{}
		}
	}
	s.classes = slices.Sorted(maps.Keys(seen))
	if len(s.classes) == 0 {
		return fmt.Errorf("source.labels: no member lies in a directory, so there are no classes; leave labels out, or archive the class directories")
	}
	return nil
}

// directories yields those that the index lists.
func (x *index) directories(yield func([]byte) bool) {
	for rest := x.dirs; len(rest) > 0; {
		name, after, _ := bytes.Cut(rest, []byte{0})
		if !yield(name) {
			return
		}
		rest = after
	}
}

// directories yields the directory of every key of a shard that has one, neighbours once.
func (s *shards) directories(sh *shard, yield func([]byte) bool) {
	var key, last []byte
	for i := range sh.index.n {
		key = s.key(sh, i, key[:0])
		name, ok := class(key)
		if !ok || last != nil && bytes.Equal(name, last) {
			continue
		}
		if last = append(last[:0], name...); !yield(name) {
			return
		}
	}
}

// classOf is the place of a key's directory among the classes, or -1.
func (s *shards) classOf(key []byte) int64 {
	name, ok := class(key)
	if !ok {
		return -1
	}
	place, _ := slices.BinarySearchFunc(s.classes, name, func(c string, name []byte) int {
		switch {
		case c < string(name): // neither conversion allocates
			return -1
		case c > string(name):
			return 1
		}
		return 0
	})
	return int64(place)
}
