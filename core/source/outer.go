package source

// outer is a source around another, which has what that one has beside Source's own methods.
type outer struct{ Source }

// Columns are those of the source within.
func (o outer) Columns() []Column {
	if c, ok := o.Source.(Columnar); ok {
		return c.Columns()
	}
	return nil
}

// Shards are those of the source within; nil where it has none.
func (o outer) Shards() []int64 {
	if s, ok := o.Source.(Sharded); ok {
		return s.Shards()
	}
	return nil
}

// Known is that of the source within.
func (o outer) Known(column string) func(i int64) any {
	if s, ok := o.Source.(Knowing); ok {
		return s.Known(column)
	}
	return nil
}

// Lengths are those of the source within.
func (o outer) Lengths(column string) func(i int64) int64 {
	if s, ok := o.Source.(Measured); ok {
		return s.Lengths(column)
	}
	return nil
}

// Ahead is that of the source within.
func (o outer) Ahead(samples []int64) {
	if s, ok := o.Source.(Planned); ok {
		s.Ahead(samples)
	}
}

// Notes are those of the source within.
func (o outer) Notes() []string {
	if s, ok := o.Source.(interface{ Notes() []string }); ok {
		return s.Notes()
	}
	return nil
}

// Unlabelled is that of the source within.
func (o outer) Unlabelled() bool { return unlabelled(o.Source) }
