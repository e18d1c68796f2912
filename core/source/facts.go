package source

import (
	"context"
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

// Known tells a column of whole numbers from the indexes, where every sample has a number in that part. Other columns of Arrow are read whole.
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
	for k := range s.all {
		sh := &s.all[k]
		for i := range sh.index.n {
			if _, ok := s.number(sh, i, sh.column[c]); !ok {
				return nil
			}
		}
	}
	return func(i int64) any {
		sh, k := s.find(i)
		v, _ := s.number(sh, k, sh.column[c])
		return v
	}
}
