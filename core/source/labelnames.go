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

// join numbers another's names behind these, and makes these numbers of its labels.
func (n *labelNames) join(more *labelNames, labels []int64) error {
	numbers := make([]int64, len(more.all))
	for i, name := range more.all {
		v, err := n.number([]byte(name))
		if err != nil {
			return err
		}
		numbers[i] = v
	}
	for i, label := range labels {
		if label >= 0 {
			labels[i] = numbers[label]
		}
	}
	return nil
}

// rowsOf are no rows yet, whose labels are names where the config says so.
func rowsOf(c *ListConfig, columns []Column) rows {
	t := newRows(columns)
	if c.LabelNames {
		t.names = newLabelNames()
	}
	return t
}

// settleNames makes labels of names their places among all of them.
func (t *rows) settleNames() {
	if t.names != nil {
		t.classes, t.names = t.names.sort(t.labels), nil
	}
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
	if err != nil && t.names == nil && isName(text) {
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
