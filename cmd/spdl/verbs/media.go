package verbs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
)

// How far a folder is looked into for what it holds.
const (
	lookedDirectories = 64
	lookedNames       = 256 // of each
)

// mediaIn says what a folder holds, by the first names in its first directories: pictures if there are any, or else videos,
// or else sounds. A folder of neither is one of pictures, which the engine will not find.
func mediaIn(dir string) spec.Media {
	found := map[spec.Media]bool{}
	queue := []string{dir}
	for looked := 0; len(queue) > 0 && looked < lookedDirectories; looked++ {
		for _, e := range firstNames(queue[0]) {
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			if e.IsDir() {
				queue = append(queue, filepath.Join(queue[0], e.Name()))
				continue
			}
			if slices.Contains(source.ImageExtensions, strings.TrimPrefix(strings.ToLower(filepath.Ext(e.Name())), ".")) {
				return spec.Pictures
			}
			if m, ok := spec.MediaOf(e.Name()); ok {
				found[m] = true
			}
		}
		queue = queue[1:]
	}
	for _, m := range []spec.Media{spec.Videos, spec.Sounds} {
		if found[m] {
			return m
		}
	}
	return spec.Pictures
}

// firstNames are some entries of a directory; none of one that cannot be read, of which the engine will say why.
func firstNames(dir string) []os.DirEntry {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(lookedNames)
	return entries
}
