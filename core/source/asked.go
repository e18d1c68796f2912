package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// ErrNumber is in what Feed.Give answers to what is no number, where an order is asked for.
var ErrNumber = errors.New("want the number of a sample as its label, or numbers from there on as bytes, 8 of each in the machine's order, or one of failure and end")

const (
	numberBytes = 8
	mostNumbers = 1 << 16 // that may be given at once
)

// Asked is an order of samples that the program around the engine says, through a feed.
type Asked struct {
	feed    *Feed
	samples int64
	stale   atomic.Bool   // what is below is of before a move
	turn    chan struct{} // one deep: who has put something in guards the rest, and asks
	answers [2]answer     // what was told last, and before that
	end     *answer       // nothing comes from there on; nil: nobody has said so
}

// answer is what comes from a place of an epoch on.
type answer struct {
	epoch   uint64
	from    int64
	numbers []int64
}

// NewAsked asks for numbers of samples through a feed that nobody takes from yet.
func NewAsked(f *Feed, samples int64) *Asked {
	a := &Asked{feed: f, samples: samples, turn: make(chan struct{}, 1)}
	f.asked = a
	f.used.Store(true)
	return a
}

// Number is the sample at a place of the epoch that WithEpoch says. It waits as long as that takes. After the last one the error is ErrEnd; others end the run.
func (a *Asked) Number(ctx context.Context, place int64) (int64, error) {
	select {
	case a.turn <- struct{}{}:
		defer a.pass()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if a.stale.Swap(false) {
		a.answers, a.end = [2]answer{}, nil
	}
	epoch := epochOf(ctx)
	if e := a.end; e != nil && e.epoch == epoch && place >= e.from {
		return 0, ErrEnd
	}
	for _, s := range a.answers {
		if s.epoch == epoch && place >= s.from && place-s.from < int64(len(s.numbers)) {
			return s.numbers[place-s.from], nil
		}
	}
	r, err := a.feed.ask(ctx, place, 0, nil)
	var bad *Error
	switch {
	case errors.Is(err, ErrEnd):
		a.end = &answer{epoch: epoch, from: place}
		return 0, ErrEnd
	case ctx.Err() != nil && err != nil:
		return 0, err
	case errors.As(err, &bad):
		return 0, fmt.Errorf("order.asked: the number at %d of epoch %d: %s", place, epoch, bad.Detail)
	case err != nil:
		return 0, err
	}
	if k := slices.IndexFunc(r.numbers, func(n int64) bool { return n < 0 || n >= a.samples }); k >= 0 {
		return 0, fmt.Errorf("order.asked: the number at %d of epoch %d: got %d, want 0 to %d: the source has %d samples", place+int64(k), epoch, r.numbers[k], a.samples-1, a.samples)
	}
	a.answers = [2]answer{{epoch, place, r.numbers}, a.answers[0]}
	return r.numbers[0], nil
}

func (a *Asked) pass() { <-a.turn }

// Forget has what was told so far dropped before the next number: who goes on elsewhere may be told another order.
func (a *Asked) Forget() { a.stale.Store(true) }

// checkNumbers checks an answer with so many of bytes, path, failure and end.
func (s *Sample) checkNumbers(said int) error {
	bytes := len(s.Bytes)
	if said > 1 || s.Path != "" || s.Bytes != nil && (bytes == 0 || bytes%numberBytes != 0 || bytes > mostNumbers*numberBytes) {
		return fmt.Errorf("source: give: got %d of bytes, path, failure and end, and %d bytes, %w, at most %d", said, bytes, ErrNumber, mostNumbers)
	}
	return nil
}

// numbers are those of an answer.
func (s *Sample) numbers() []int64 {
	if s.Bytes == nil {
		return []int64{s.Label}
	}
	all := make([]int64, len(s.Bytes)/numberBytes)
	for i := range all {
		all[i] = int64(binary.NativeEndian.Uint64(s.Bytes[i*numberBytes:]))
	}
	return all
}
