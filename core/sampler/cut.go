package sampler

// A Cut says which positions of an epoch each step holds. It is a pure function of (epoch, step), and any number of goroutines
// may ask.
type Cut interface {
	// Steps is the number of steps of an epoch, at least 1 and the same in every epoch. All are full but for the last,
	// perhaps, or, where buckets stay apart, as many of the last as there are buckets.
	Steps() int64

	// Step is what a step of an epoch holds; 0 <= step < Steps. No position is in two steps of an epoch, or in none.
	Step(epoch, step int64) Span

	// Multiple divides the rows of every full step: so many ranks share each of them evenly, and so do as many as divide it.
	Multiple() int64
}

// A Span is the positions [From, To) that the ranks of one step share.
type Span struct {
	From, To int64
	Rows     int64 // of the step when it is full
	Again    int64 // what fills it up, where that is wanted, is the positions [Again, To), again and again
}

// Full tells whether no row is missing.
func (s Span) Full() bool { return s.To-s.From == s.Rows }

// even cuts an epoch into steps of one size, one behind the other.
type even struct{ rows, global int64 }

func (c even) Steps() int64    { return (c.rows-1)/c.global + 1 }
func (c even) Multiple() int64 { return c.global }

func (c even) Step(_, step int64) Span {
	from := step * c.global
	return Span{From: from, To: min(from+c.global, c.rows), Rows: c.global}
}
