package source

import (
	"bytes"
	"fmt"
	"slices"
)

// ShardLabels says where the labels of shards come from.
type ShardLabels string

const (
	LabelsOfPart      ShardLabels = ""          // the part that ShardsConfig.Label names
	LabelsOfDirectory ShardLabels = "directory" // a member's first-level directory, as a folder's
	LabelsOff         ShardLabels = "none"      // every label is -1
)

// maxClasses bounds what a mistaken directory for each sample would take.
const maxClasses = 1 << 20

// class is the first-level directory of a key; ok is false where there is none.
func class(key []byte) (name []byte, ok bool) {
	at := bytes.IndexByte(key, '/')
	return key[:max(at, 0)], at >= 0
}

// findClasses collects the directories that samples lie in, over all shards, sorted by name. It looks at every key once.
func (s *shards) findClasses() error {
	seen, last := map[string]struct{}{}, []byte(nil)
	for k := range s.all {
		for i := range s.all[k].index.n {
			name, ok := class(s.key(&s.all[k], i))
			if !ok || last != nil && bytes.Equal(name, last) {
				continue
			}
			last = name
			if _, known := seen[string(name)]; !known && len(seen) == maxClasses {
				return fmt.Errorf("source.labels: got more than %d directories, want one for each class; leave labels out", maxClasses)
			} else if !known {
				seen[string(name)] = struct{}{}
			}
		}
	}
	s.classes = make([]string, 0, len(seen))
	for name := range seen {
		s.classes = append(s.classes, name)
	}
	slices.Sort(s.classes)
	if len(s.classes) == 0 {
		return fmt.Errorf("source.labels: no member lies in a directory, so there are no classes; leave labels out, or archive the class directories")
	}
	return nil
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
