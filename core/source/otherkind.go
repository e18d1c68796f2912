package source

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/source/store"
)

// mediaEndings are those that most sounds and videos have; of pictures there is ImageExtensions.
var mediaEndings = []string{".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a", ".mp4", ".mkv", ".webm", ".avi", ".mov"}

// readBy says of a file's name that stands under one key of a source which other one reads such files, to stand behind what was wrong; "" where
// its name does not tell, or tells that key.
func readBy(name, key string) string {
	path := name
	if store.IsURL(name) {
		path, _, _ = strings.Cut(name, "?")
	}
	ending := strings.ToLower(filepath.Ext(path))
	other, example := "", store.Shown(name)
	switch {
	case ending == "":
	case endsAsShard(strings.ToLower(path)) && !(key == "list" && ending == ".parquet"):
		other = "shards"
	case tableEnding(name) != "" || ending == ".tsv" || ending == ".txt":
		other = "list"
	case ending == ".npy":
		return "; arrays are read by arrays in place of " + key + ", such as arrays: [{name: x, file: " + example + "}]"
	case slices.Contains(mediaEndings, ending) || slices.Contains(ImageExtensions, ending[1:]):
		if other, example = "folder", filepath.Dir(path); store.IsURL(name) {
			other, example = "list", "FILE, of such addresses"
		}
	}
	if other == "" || other == key {
		return ""
	}
	return fmt.Sprintf("; it is read by %s in place of %s, such as %[1]s: %[3]s", other, key, example)
}
