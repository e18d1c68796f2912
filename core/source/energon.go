package source

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/source/store"
	"go.yaml.in/yaml/v3"
)

// A data set of Megatron-Energon is tar archives as webdataset has them, and a directory .nv-meta beside them, whose split.yaml, or split.json, lists which of
// them are of which split, by names with braces, and which are left out.
const (
	energonDir      = ".nv-meta"
	energonSplit    = "train" // unless another is asked for
	maxEnergonBytes = 16 << 20
)

// energonNames are what its list of splits is called, in a directory of its data set.
var energonNames = []string{filepath.Join(energonDir, "split.yaml"), filepath.Join(energonDir, "split.json")}

// isEnergon tells a list of splits by where it lies: it may be called otherwise than usual.
func isEnergon(name string) bool {
	if store.IsURL(name) {
		name, _ = parted(name)
		name = strings.TrimSuffix(name, "/")
	}
	ending := filepath.Ext(name)
	return filepath.Base(filepath.Dir(name)) == energonDir && (ending == ".yaml" || ending == ".yml" || ending == ".json")
}

// energonSplits is what a list of splits says.
type energonSplits struct {
	Parts   map[string][]string `yaml:"split_parts"`
	Exclude []string            `yaml:"exclude"` // shards, or samples of them, SHARD/NUMBER
}

// appendEnergon appends the shards of a split, which lie below the directory over .nv-meta.
func appendEnergon(names []string, text []byte, split, dir, query string) ([]string, error) {
	var of energonSplits
	if err := yaml.Unmarshal(text, &of); err != nil {
		return nil, fmt.Errorf("no list of splits of Megatron-Energon, or damaged: %w", err)
	}
	patterns, ok := of.Parts[split]
	if !ok {
		if len(of.Parts) == 0 {
			return nil, errors.New("it has no split_parts, as `energon prepare` writes them; write it again")
		}
		return nil, lacking("it has no split %q; want source.split: one of %s", split, splitsText(slices.Sorted(maps.Keys(of.Parts))))
	}
	left, err := writtenOut("exclude", of.Exclude)
	if err != nil {
		return nil, err
	}
	shards, err := writtenOut("split_parts."+split, patterns)
	if err != nil {
		return nil, err
	}
	out, samples := map[string]bool{}, map[string]string{} // the latter by their shards, where they are such
	for _, name := range left {
		out[name] = true
		if i := strings.LastIndexByte(name, '/'); i > 0 {
			samples[name[:i]] = name
		}
	}
	before := len(names)
	for _, shard := range shards {
		if out[shard] {
			continue
		}
		if sample := samples[shard]; sample != "" {
			return nil, fmt.Errorf("exclude has %q, a sample of a shard; whole shards alone are left out here: take it out, and name the samples there are in source.only", sample)
		}
		name, err := below(shard, dir, query)
		if err == nil && len(names) == maxShards {
			err = fmt.Errorf("got more than %d shards", maxShards)
		}
		if err != nil {
			return nil, fmt.Errorf("split_parts.%s: %q: %w", split, shard, err)
		}
		names = append(names, name)
	}
	if len(names) == before {
		return nil, fmt.Errorf("%w: its split %q has no shard that is not left out by exclude", ErrNoSamples, split)
	}
	return names, nil
}

// over is the directory over one, which of a URL ends with a slash.
func over(dir string) string {
	if store.IsURL(dir) {
		return strings.TrimSuffix(dir, energonDir+"/")
	}
	return filepath.Dir(dir)
}

// writtenOut is a list of names with their braces written out.
func writtenOut(key string, patterns []string) ([]string, error) {
	var w written
	for _, pattern := range patterns {
		if err := w.add(pattern); err != nil {
			return nil, fmt.Errorf("%s: pattern %.200q: %w", key, pattern, err)
		}
	}
	return w.names, nil
}

// splitsText lists splits by their names.
func splitsText(all []string) string {
	text := strings.Join(all[:min(len(all), maxNamedSplits)], ", ")
	if more := len(all) - maxNamedSplits; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
