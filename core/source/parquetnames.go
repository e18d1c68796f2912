package source

import (
	"encoding/json"
	"fmt"
	"slices"
)

// classNames are those that the file has for a column of labels; nil: none.
func (f *parquetFile) classNames(column string) []string {
	for _, pair := range f.meta.KeyValueMetadata {
		if pair.Key == "huggingface" {
			return namesOfClasses([]byte(pair.Value), column)
		}
	}
	return nil
}

// namesOfClasses are those that Hugging Face's datasets has written into a file for a column of labels (its ClassLabel): n is the class names[n]. nil:
// none, or none that tell classes apart.
func namesOfClasses(features []byte, column string) []string {
	var said struct {
		Info struct{ Features map[string]json.RawMessage }
	}
	var feature struct {
		Type  string `json:"_type"`
		Names []string
	}
	if json.Unmarshal(features, &said) != nil || json.Unmarshal(said.Info.Features[column], &feature) != nil || feature.Type != "ClassLabel" {
		return nil
	}
	if sorted := slices.Sorted(slices.Values(feature.Names)); len(sorted) > maxClasses || len(slices.Compact(sorted)) != len(feature.Names) {
		return nil
	}
	return feature.Names
}

// settleClasses names the classes as the files do, if all say the same and every label is one of them.
func (s *parquetShards) settleClasses(said []string, differ bool) {
	switch {
	case differ:
		s.notes = append(s.notes, "labels are numbers without names: the files have different names for them (ClassLabel)")
	case len(said) > 0 && len(s.labels) > 0 && (slices.Max(s.labels) >= int64(len(said)) || slices.Min(s.labels) < -1):
		s.notes = append(s.notes, fmt.Sprintf("labels are numbers without names: the files have names for 0 to %d (ClassLabel), and labels from %d to %d", len(said)-1, slices.Min(s.labels), slices.Max(s.labels)))
	default:
		s.said = said
	}
}
