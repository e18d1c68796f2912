package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// Join is several sources one behind the other: the samples of parts[0], then those of parts[1], and so on. The column "part" is known: the
// number of the part. All parts must have the same columns. It has versions when all parts have. Closing it closes the parts; after an
// error they are still the caller's.
//
// Classes are those of all parts: where they differ, their names together, sorted, and labels are places among these. A part whose labels
// are numbers without names keeps them, and takes the names away; beside parts with different classes it is an error.
func Join(parts []Source) (Source, error) {
	j := &joined{parts: parts, ends: make([]int64, len(parts)), labels: make([][]int64, len(parts))}
	n := int64(0)
	for i, p := range parts {
		n += p.Len()
		j.ends[i] = n
	}
	if err := j.unite(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(parts, func(p Source) bool { _, ok := p.(Versioned); return !ok }) {
		return j, nil
	}
	return &joinedVersions{j}, nil
}

// unite finds the classes of the whole, and what the labels of each part become.
func (j *joined) unite() error {
	first, other, numbered := -1, -1, -1 // parts: with classes, with others than these, with labels that have no names
	for i, p := range j.parts {
		switch classes := p.Classes(); {
		case len(classes) == 0 && !unlabelled(p):
			numbered = i
		case len(classes) == 0:
		case first < 0:
			first = i
		case other < 0 && !slices.Equal(classes, j.parts[first].Classes()):
			other = i
		}
	}
	switch {
	case first >= 0 && other < 0 && numbered < 0:
		j.classes = j.parts[first].Classes()
	case other >= 0 && numbered >= 0:
		return fmt.Errorf("parts %d and %d have different classes (%s), and the labels of part %d are numbers that do not say which class they mean; "+
			"want class directories in all, numbers in all (a list or table, or the part cls), or labels: none where they are not wanted",
			first, other, difference(j.parts[first].Classes(), j.parts[other].Classes()), numbered)
	case other >= 0:
		j.renumber()
	}
	return nil
}

// renumber makes labels the places among the names of all parts.
func (j *joined) renumber() {
	for _, p := range j.parts {
		j.classes = append(j.classes, p.Classes()...)
	}
	slices.Sort(j.classes)
	j.classes = slices.Compact(j.classes)
	for i, p := range j.parts {
		for _, class := range p.Classes() {
			place, _ := slices.BinarySearch(j.classes, class)
			j.labels[i] = append(j.labels[i], int64(place))
		}
	}
}

// difference is the first place where two lists of classes differ.
func difference(a, b []string) string {
	k := 0
	for k < min(len(a), len(b)) && a[k] == b[k] {
		k++
	}
	at := func(classes []string) string {
		if k < len(classes) {
			return fmt.Sprintf("%.60q", classes[k])
		}
		return "nothing"
	}
	return fmt.Sprintf("label %d is %s and %s", k, at(a), at(b))
}

// joinedVersions are joined sources that all have versions.
type joinedVersions struct{ *joined }

func (j *joinedVersions) Identity(i int64, dst []byte) []byte {
	part, k := j.find(i)
	return j.parts[part].(Versioned).Identity(k, dst)
}

type joined struct {
	parts []Source
	ends  []int64 // of each part

	classes []string
	labels  [][]int64 // of each part: what its labels become; nil: they stay
}

// find is the part of sample i and its number there.
func (j *joined) find(i int64) (part int, k int64) {
	part = sort.Search(len(j.ends), func(p int) bool { return j.ends[p] > i })
	return part, i - j.start(part)
}

func (j *joined) start(part int) int64 {
	if part == 0 {
		return 0
	}
	return j.ends[part-1]
}

func (j *joined) Len() int64 { return j.ends[len(j.ends)-1] }

func (j *joined) Key(i int64, dst []byte) []byte {
	part, k := j.find(i)
	return j.parts[part].Key(k, dst)
}

func (j *joined) Label(i int64) int64 {
	part, k := j.find(i)
	label := j.parts[part].Label(k)
	if places := j.labels[part]; label >= 0 && label < int64(len(places)) {
		return places[label]
	}
	return label
}

func (j *joined) Read(ctx context.Context, i int64, b *Buffer) error {
	part, k := j.find(i)
	err := j.parts[part].Read(ctx, k, b)
	var bad *Error
	if errors.As(err, &bad) {
		bad.Index = i
	}
	return err
}

func (j *joined) Classes() []string { return j.classes }

// Unlabelled reports whether no part has labels.
func (j *joined) Unlabelled() bool {
	return !slices.ContainsFunc(j.parts, func(p Source) bool { return !unlabelled(p) })
}

func (j *joined) Close() error {
	var errs []error
	for _, p := range j.parts {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

func (j *joined) Columns() []Column {
	if c, ok := j.parts[0].(Columnar); ok {
		return c.Columns()
	}
	return nil
}

func (j *joined) Known(column string) func(i int64) any {
	if column == "part" {
		return func(i int64) any {
			part, _ := j.find(i)
			return int64(part)
		}
	}
	each := make([]func(int64) any, len(j.parts))
	for p := range j.parts {
		k, ok := j.parts[p].(Knowing)
		if !ok {
			return nil
		}
		if each[p] = k.Known(column); each[p] == nil {
			return nil
		}
	}
	return func(i int64) any {
		part, k := j.find(i)
		return each[part](k)
	}
}

// Shards are the parts' shards; a part without shards is one.
func (j *joined) Shards() (all []int64) {
	for p := range j.parts {
		if s, ok := j.parts[p].(Sharded); ok {
			for _, first := range s.Shards() {
				all = append(all, j.start(p)+first)
			}
		} else {
			all = append(all, j.start(p))
		}
	}
	return all
}

// Ahead tells each part what is wanted of it.
func (j *joined) Ahead(samples []int64) {
	each := make([][]int64, len(j.parts))
	for _, i := range samples {
		part, k := j.find(i)
		each[part] = append(each[part], k)
	}
	for p := range j.parts {
		if s, ok := j.parts[p].(Planned); ok && len(each[p]) > 0 {
			s.Ahead(each[p])
		}
	}
}

func (j *joined) Notes() (all []string) {
	for _, p := range j.parts {
		if n, ok := p.(interface{ Notes() []string }); ok {
			all = append(all, n.Notes()...)
		}
	}
	return all
}
