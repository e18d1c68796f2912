package source

import (
	"errors"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// labelNames numbers labels that are the names of classes: as they come first, and in the names' order once all are known.
type labelNames struct {
	numbers map[string]int64
	all     []string
}

func newLabelNames() *labelNames { return &labelNames{numbers: map[string]int64{}} }

// number is a name's, for now.
func (n *labelNames) number(name []byte) (int64, error) {
	if len(name) == 0 {
		return 0, errors.New("got nothing, want the name of a class")
	}
	if v, known := n.numbers[string(name)]; known {
		return v, nil
	}
	if len(n.all) == maxClasses {
		return 0, fmt.Errorf("got more than %d names, want one for each class; text that differs from row to row is a column's, with source.labels: none", maxClasses)
	}
	v := int64(len(n.all))
	n.all = append(n.all, string(name))
	n.numbers[n.all[v]] = v
	return v, nil
}

// sort gives the names in their order, and makes of each label that has one the name's place there.
func (n *labelNames) sort(labels []int64) []string {
	sorted := slices.Sorted(slices.Values(n.all))
	places := make([]int64, len(sorted))
	for place, name := range sorted {
		places[n.numbers[name]] = int64(place)
	}
	for i, label := range labels {
		if label >= 0 {
			labels[i] = places[label]
		}
	}
	return sorted
}

// readLabel makes a label of its text. strict: there has to be one; else a row without it has -1.
func (t *rows) readLabel(text []byte, strict bool) (v int64, err error) {
	text = trim(text)
	if len(text) == 0 && !strict {
		return -1, nil
	}
	if t.names != nil {
		v, err = t.names.number(text)
	} else if v, err = wholeNumber(text); err != nil && !strict {
		err = fmt.Errorf("%w; source.label names another column, and source.labels: none leaves labels out", err)
	}
	if err != nil && t.named && t.names == nil && isName(text) {
		err = fmt.Errorf("%w; source.labels: names takes them as names of classes", err)
	}
	if err != nil {
		return 0, fmt.Errorf("label: %w", err)
	}
	return v, nil
}

// isName tells a name from a number that is misspelt.
func isName(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return unicode.IsLetter(r)
}
