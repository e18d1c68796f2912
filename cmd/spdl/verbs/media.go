package verbs

import (
	"fmt"
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

func endingOf(name string) string {
	return strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), ".")
}

// firstFiles goes through the first files in a folder's first directories until look says that it has seen enough.
func firstFiles(dir string, look func(name string) (more bool)) {
	queue := []string{dir}
	for looked := 0; len(queue) > 0 && looked < lookedDirectories; looked++ {
		for _, e := range firstNames(queue[0]) {
			switch {
			case strings.HasPrefix(e.Name(), "."):
			case e.IsDir():
				queue = append(queue, filepath.Join(queue[0], e.Name()))
			case !look(e.Name()):
				return
			}
		}
		queue = queue[1:]
	}
}

// shownColumns is how many columns a description has that is proposed.
const shownColumns = 6

// columnsFor proposes the columns of samples that have no media: arrays, and texts; "" where there is no array among the parts, which are what
// is looked for.
func columnsFor(parts []string) string {
	var columns []string
	arrays := false
	for _, part := range parts {
		switch ending := part[strings.LastIndexByte(part, '.')+1:]; {
		case ending == "npy":
			arrays = true
			columns = append(columns, fmt.Sprintf("{name: %s, type: npy}", part))
		case ending == "npz":
			arrays = true
			columns = append(columns, fmt.Sprintf("{name: %s, from: \"%s[NAME]\", type: npy}", part, part))
		case ending == "txt" || ending == "json":
			columns = append(columns, part)
		}
	}
	if !arrays {
		return ""
	}
	return "columns: [" + strings.Join(columns[:min(len(columns), shownColumns)], ", ") + "]"
}

// best is what a data set is taken for that has several kinds of media, or none.
func best(found map[spec.Media]bool) spec.Media {
	for _, m := range []spec.Media{spec.Pictures, spec.Videos, spec.Sounds} {
		if found[m] {
			return m
		}
	}
	return spec.Pictures
}

// mediaOfParts says what samples of shards are by their parts: endings of members, or columns of bytes, such as audio or audio.bytes. ok is false
// where none is a medium, which is taken for pictures that are not found.
func mediaOfParts(parts []string) (m spec.Media, ok bool) {
	found := map[spec.Media]bool{}
	for _, part := range parts {
		switch column := strings.TrimSuffix(part, ".bytes"); {
		case column == "video":
			found[spec.Videos] = true
		case column == "audio":
			found[spec.Sounds] = true
		case column == "image" || slices.Contains(source.ImageExtensions, part):
			found[spec.Pictures] = true
		case !strings.Contains(part, "."):
			if m, ok := spec.MediaOf("x." + part); ok {
				found[m] = true
			}
		}
	}
	return best(found), len(found) > 0
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
