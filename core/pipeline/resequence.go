package pipeline

import "context"

// ResequenceOptions describe a stage that restores an order.
type ResequenceOptions struct {
	Name string
	// Window is how far an item may be ahead of the one that is missing: at
	// least the number of items that can be in flight. It is also the number of
	// items that may wait for the next stage. Needed, 1 or more.
	Window int
	// First is the number of the first item.
	First uint64
	// Ahead is how many numbers early an item may be passed on while an
	// earlier one is missing; 0 keeps the order strictly. Nothing overtakes
	// the end of an epoch. The reader tells by number(v) what it got.
	Ahead int
}

// Resequence adds a stage that passes items on in the order of number(v), which
// counts First, First+1 ... without gaps. What bounds the items in flight (a
// source that waits for a free slot, say) bounds Window: an item that arrives
// further ahead ends the run with a *SequenceError, because waiting could wait
// for ever. So do a number that comes twice and one that never comes.
//
// Use it where Output: Input does not reach: behind several stages that work in
// completion order, or behind an aggregate. Items keep the Discard of their
// port.
func Resequence[T any](in *Port[T], o ResequenceOptions, number func(T) uint64) *Port[T] {
	s := newStage(in.stage.p, "resequence", o.Name, 1)
	if number == nil {
		s.p.note(s.errorf("number is nil"))
	}
	if o.Window < 1 {
		s.p.note(s.errorf("window %d, want 1 or more", o.Window))
	}
	if o.Ahead < 0 || o.Ahead > 0 && o.Ahead >= o.Window {
		s.p.note(s.errorf("ahead %d, want 0 or more and less than window %d", o.Ahead, o.Window))
	}
	c := newConsumer[struct{}, T, T](s, in, Failures{})
	s.refuseTraced()
	c.do = func(_ context.Context, _ struct{}, h *hand[T]) (T, bool, error) { return h.v, true, nil }
	out := newPort(s, max(o.Window, 1), in.discard)
	out.queue.ordered = true
	s.alone = alonePassing(out, in)
	out.queue.startAt(o.First)
	out.queue.ahead = uint64(min(max(o.Ahead, 0), max(o.Window, 1)-1))
	c.out, c.many = out, true
	c.emit = func(_ place, v T) bool { return out.place(number, v) }
	c.mark = func(place, uint64) bool { return out.queue.placeMark() }
	c.flush = func(context.Context) (none T, more bool, err error) {
		return none, false, out.queue.gap()
	}
	return out
}

// place puts v in its place; on false v is discarded and the run over.
func (o *Port[T]) place(number func(T) uint64, v T) (placed bool) {
	defer func() {
		if !placed {
			o.drop(v)
		}
	}()
	err := o.queue.place(number(v), v)
	if err != nil && err != errHalted {
		o.stage.fatal(err)
	}
	return err == nil
}
