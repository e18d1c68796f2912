package source

import (
	"context"
	"errors"
	"slices"
	"sort"
)

// Join is several sources one behind the other: the samples of parts[0], then those of parts[1], and so on. Labels are each
// part's own; classes are those of the parts when all have the same, else there are none. The column "part" is known: the
// number of the part. All parts must have the same columns. It has versions when all parts have. Closing it closes the parts.
func Join(parts []Source) Source {
	j := &joined{parts: parts, ends: make([]int64, len(parts))}
	n := int64(0)
	for i, p := range parts {
		n += p.Len()
		j.ends[i] = n
	}
	if slices.ContainsFunc(parts, func(p Source) bool { _, ok := p.(Versioned); return !ok }) {
		return j
	}
	return &joinedVersions{j}
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
	return j.parts[part].Label(k)
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

func (j *joined) Classes() []string {
	classes := j.parts[0].Classes()
	for _, p := range j.parts[1:] {
		if !slices.Equal(p.Classes(), classes) {
			return nil
		}
	}
	return classes
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
