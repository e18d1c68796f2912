package source

import (
	"context"
	"errors"
	"math"
	"slices"
)

// Knowing is a source that knows columns of its samples without reading them.
type Knowing interface {
	// Known finds a column by its name in the batch. The function it returns gives a sample's value: int64, float64 or
	// string. It is nil when the source has no such column, or has to read a sample to tell.
	Known(column string) func(i int64) any
}

func (t *rows) Known(column string) func(i int64) any {
	for c := range t.columns {
		if t.columns[c].Name != column {
			continue
		}
		switch t.columns[c].Type {
		case Int64:
			return func(i int64) any { return t.numbers[c][i] }
		case Float64:
			return func(i int64) any { return math.Float64frombits(uint64(t.numbers[c][i])) }
		case Array, List:
			return nil
		default:
			return func(i int64) any { return string(t.texts[c].at(i)) }
		}
	}
	return nil
}

// Known tells a column of whole numbers from the indexes, where every sample has a number in that part. Those of ArrayRecords, whose indexes do not have them, and other
// columns of Arrow are read whole.
func (s *shards) Known(column string) func(i int64) any {
	c := slices.IndexFunc(s.columns, func(c Column) bool { return c.Name == column && !c.Shaped() })
	if c < 0 {
		return nil
	}
	if known := s.knownWholes(c); known != nil {
		return known
	}
	all, err := s.readColumn(context.Background(), &s.columns[c])
	switch {
	case err != nil: // who reads a sample is told why
		return nil
	case s.columns[c].Type == Int64:
		return func(i int64) any { return all.numbers[i] }
	case s.columns[c].Type == Float64:
		return func(i int64) any { return math.Float64frombits(uint64(all.numbers[i])) }
	}
	return func(i int64) any { return string(all.texts.at(i)) }
}

func (s *shards) knownWholes(c int) func(i int64) any {
	if s.columns[c].Type != Int64 {
		return nil
	}
	read := map[*shard][]int64{}
	for k := range s.all {
		sh := &s.all[k]
		if sh.chunk >= 0 && sh.column[c] != sh.label {
			all, err := s.recordNumbers(context.Background(), sh, sh.column[c])
			if err != nil { // who reads a sample is told why
				return nil
			}
			read[sh] = all
			continue
		}
		for i := range sh.index.n {
			if _, ok := s.number(sh, i, sh.column[c]); !ok {
				return nil
			}
		}
	}
	return func(i int64) any {
		sh, k := s.find(i)
		if all := read[sh]; all != nil {
			return all[k]
		}
		v, _ := s.number(sh, k, sh.column[c])
		return v
	}
}

var errNoNumber = errors.New("not every record has one whole number there")

// recordNumbers reads all records of an ArrayRecord for the whole number that each has in a part.
func (s *shards) recordNumbers(ctx context.Context, sh *shard, part int) (all []int64, err error) {
	w, done, err := s.windowOf(ctx, sh)
	if done != nil {
		defer func() { err = errors.Join(err, done()) }()
	}
	a, at := arrayIndex{w: w}, int64(-1)
	var parser exampleParser
	for i := int64(0); i < sh.index.n && err == nil; i++ {
		members, failed := s.members(ctx, sh, i, nil)
		if failed != nil {
			return nil, failed
		}
		m := members[0]
		if m.off != at {
			if at, err = m.off, a.read(m.off, m.off+int64(m.size)); err != nil {
				return nil, err
			}
		}
		if m.value >= int64(a.of.n()) {
			return nil, errNoNumber
		}
		features, _ := parser.parse(a.of.record(int(m.value)), sh.partID)
		k := slices.IndexFunc(features, func(f indexMember) bool { return int(f.part) == part && f.number })
		if k < 0 {
			return nil, errNoNumber
		}
		all = append(all, features[k].value)
	}
	return all, err
}
