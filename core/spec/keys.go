package spec

import (
	"slices"
	"strings"
	"sync"
)

// Key is one line of the description's reference.
type Key struct {
	Path    string // dotted; [] is an entry of a list, NAME a name of the user's choice
	Type    string // what a value looks like
	Default string // as it would be written, or words in parentheses
	Doc     string // one line
}

// Keys is the reference of the description, in the order of the page. The caller may keep and change it.
func Keys() []Key { return append([]Key(nil), keys...) }

var keys = withFrames(slices.Concat(sourceKeys, imageKeys, mediaKeys, ringKeys))

// withFrames adds what a video's transform has, which is what a picture's has.
func withFrames(keys []Key) (all []Key) {
	for _, k := range keys {
		all = append(all, k)
		if k.Path != "video.transform" {
			continue
		}
		for _, of := range keys {
			if rest, below := strings.CutPrefix(of.Path, "image.transform[]"); below && !isByBoxes(rest) && rest != "."+remapClasses { // frames have no boxes, and no classes
				all = append(all, Key{"video.transform[]" + rest, of.Type, of.Default, "As image's."})
			}
		}
	}
	return all
}

// isByBoxes says that a key is of an operation that goes by boxes.
func isByBoxes(rest string) bool {
	return slices.ContainsFunc(byBoxes, func(name string) bool { return strings.HasPrefix(rest, "."+name) })
}

// inRing are the sections that a ring of several may say for itself.
var inRing = []string{"source", "order", "batch", "image", "video", "audio", "fields", "bad_sample", "ring", "cache", "device"}

// inField are the keys of one of fields.
var inField = append(slices.Clone(modalities), "draw")

// children are the names of the keys directly below a path of the table; "" is the top level.
func children(path string) []string {
	if path == "rings.NAME" {
		return inRing
	}
	if path == "fields.NAME" {
		return inField
	}
	return slices.Clip(namesBelow()[path])
}

// namesBelow are the names of the keys directly below each path, in the table's order. They are asked for at every key of a description, and a
// description of one sample is read as often as there are samples.
var namesBelow = sync.OnceValue(func() map[string][]string {
	names := map[string][]string{}
	for _, k := range keys {
		at := strings.LastIndexByte(k.Path, '.') + 1
		if last := k.Path[at:]; !strings.Contains(last, "[") {
			within := strings.TrimSuffix(k.Path[:at], ".")
			names[within] = append(names[within], last)
		}
	}
	return names
})

// elsewhere finds the path that begins with within and ends in a key, for who wrote it one level too high or too low.
func elsewhere(name, within string) string {
	for _, k := range keys {
		if strings.HasPrefix(k.Path, within) && (strings.HasSuffix(k.Path, "."+name) || k.Path == name) {
			return k.Path
		}
	}
	return ""
}
