package source

import "math"

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
		default:
			return func(i int64) any { return string(t.texts[c].at(i)) }
		}
	}
	return nil
}
