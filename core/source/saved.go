package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// What save_to_disk of Hugging Face's datasets writes: a directory with the shards of a split, which state.json lists in their order, or one with such a directory for each
// split, which dataset_dict.json lists.
const (
	SavedName   = "state.json"
	savedFiles  = "_data_files"
	savedSplits = "dataset_dict.json"
)

// savedState is what a state.json says of the shards.
type savedState struct {
	Files []struct {
		Name string `json:"filename"`
	} `json:"_data_files"`
	Indices     json.RawMessage `json:"_indices_files"`
	IndicesThen json.RawMessage `json:"_indices_data_files"` // of old
}

// appendSaved appends the shards that a state.json lists, which lie in a directory.
func appendSaved(names []string, text []byte, dir, query string) ([]string, error) {
	var state savedState
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, fmt.Errorf("no %s of save_to_disk, or damaged: %w", SavedName, err)
	}
	for _, indices := range []json.RawMessage{state.Indices, state.IndicesThen} {
		if !isNull(indices) && string(indices) != "[]" {
			return nil, errors.New("its rows are chosen by a mapping of indices, which is not read; save it again: load_from_disk(...).flatten_indices().save_to_disk(...)")
		}
	}
	if len(state.Files) == 0 {
		return nil, fmt.Errorf("%w: its %q lists no file; if it is no data set that save_to_disk wrote, name the shards", ErrNoSamples, savedFiles)
	}
	for k := range state.Files {
		name, err := below(state.Files[k].Name, dir, query)
		if err == nil && len(names) == maxShards {
			err = fmt.Errorf("got more than %d shards", maxShards)
		}
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", savedFiles, k, err)
		}
		names = append(names, name)
	}
	return names, nil
}

// savedSplit is the state.json of a split of a data set that has several, of which one has to be named.
func savedSplit(text []byte, split, dir string) (string, error) {
	var of struct{ Splits []string }
	if err := json.Unmarshal(text, &of); err != nil || len(of.Splits) == 0 {
		return "", errors.Join(errors.New("it lists no splits, as save_to_disk writes them; name the directory of one"), err)
	}
	switch {
	case split == "":
		return "", lacking("it is a data set of %d splits; want source.split: one of %s, or the directory of one in source.shards", len(of.Splits), splitsText(of.Splits))
	case !slices.Contains(of.Splits, split):
		return "", lacking("it has no split %q; want source.split: one of %s", split, splitsText(of.Splits))
	}
	return below(split+"/"+SavedName, dir, "")
}

// maxNamedSplits is how many splits a refusal names.
const maxNamedSplits = 16
