package verbs

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/spec"
)

// dataSet is shards below one root that belong together, by what they are called.
type dataSet struct {
	patterns []string // one, if there is one that names these shards and no others; else their names
	files    int
}

// splits are words that say which part of a data set a file belongs to. A word of a path is letters between what are none.
var (
	splits = []string{"train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval", "evaluation"}
	word   = regexp.MustCompile(`[A-Za-z]+`)
	digits = regexp.MustCompile(`^[0-9]+$`)
)

// dataSetsOf parts shards, given by their paths below a root, into those that belong together: of one directory, with the same split in their
// names, and of one kind. Directories whose names are numbers alone are one.
func dataSetsOf(root string, shards []string) (sets []dataSet) {
	type set struct{ dir, split, kind string }
	of := map[set][]string{}
	shards = slices.Sorted(slices.Values(shards))
	for _, shard := range shards {
		dir, file := path.Split(shard)
		one := set{numberless(dir), splitOf(file), kindOf(file)}
		of[one] = append(of[one], shard)
	}
	root = strings.TrimRight(root, "/") + "/"
	for one, files := range of {
		s := dataSet{files: len(files)}
		if pattern := one.dir + patternOf(one.dir, one.split, one.kind, files, shards); pattern != one.dir {
			s.patterns = []string{root + pattern}
		} else {
			for _, file := range files {
				s.patterns = append(s.patterns, root+file)
			}
		}
		sets = append(sets, s)
	}
	slices.SortFunc(sets, func(a, b dataSet) int { return cmp.Compare(a.patterns[0], b.patterns[0]) })
	return sets
}

// numberless is a directory with * for the parts that are numbers.
func numberless(dir string) string {
	parts := strings.Split(dir, "/")
	for k, part := range parts {
		if digits.MatchString(part) {
			parts[k] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// splitOf is what of a file's name says which split it is.
func splitOf(file string) string {
	var found []string
	for _, w := range word.FindAllString(strings.TrimSuffix(file, path.Ext(file)), -1) {
		if w = strings.ToLower(w); slices.Contains(splits, w) && !slices.Contains(found, w) {
			found = append(found, w)
		}
	}
	return strings.Join(found, "-")
}

// kindOf is the ending of shards of one kind.
func kindOf(file string) string {
	ending := path.Ext(file)
	if kind := spec.Numbered(ending); kind != "" {
		return kind + "*"
	}
	return ending
}

// patternOf is a pattern of names in a directory that is true for these files, and for no other shard; "": there is none that is short.
func patternOf(dir, split, kind string, files, shards []string) string {
	names := make([]string, len(files))
	for k, file := range files {
		names[k] = path.Base(file)
	}
	if one := slices.Compact(slices.Clone(names)); len(one) == 1 && len(names) > strings.Count(dir, "*") && !strings.ContainsAny(one[0], "*?[{}") {
		return one[0]
	}
	common, _, _ := strings.Cut(commonOf(names), strings.TrimSuffix(kind, "*"))
	candidates := []string{"*" + kind}
	if at := strings.LastIndex(strings.ToLower(common), split); split != "" && at >= 0 {
		end := at + len(split)
		if end < len(common) && strings.ContainsRune("-_", rune(common[end])) {
			end++
		}
		candidates = append(candidates, common[:end]+"*"+kind)
	}
	for _, c := range append(candidates, common+"*"+kind, "*"+split+"*"+kind) {
		names := func(shard string) bool {
			ok, err := path.Match(dir+c, shard)
			return ok && err == nil
		}
		if !strings.ContainsAny(dir+common, "?[{}") && countOf(shards, names) == len(files) && countOf(files, names) == len(files) {
			return c
		}
	}
	return ""
}

func countOf(shards []string, is func(string) bool) (n int) {
	for _, shard := range shards {
		if is(shard) {
			n++
		}
	}
	return n
}

// commonOf is how all names begin.
func commonOf(names []string) string {
	first, last := slices.Min(names), slices.Max(names)
	n := 0
	for n < min(len(first), len(last)) && first[n] == last[n] {
		n++
	}
	return first[:n]
}

// shownDataSets is how many of them a refusal lists.
const shownDataSets = 16

// commandsFor says how each data set is named on a command line.
func commandsFor(verb string, sets []dataSet) string {
	var all []string
	for _, s := range sets[:min(len(sets), shownDataSets)] {
		names := "'" + strings.ReplaceAll(s.patterns[0], "'", `'\''`) + "'"
		if len(s.patterns) > 1 {
			names += " ..."
		}
		all = append(all, fmt.Sprintf("spdl %s %s (%s)", verb, names, counted(s.files, "file")))
	}
	if more := len(sets) - shownDataSets; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}
