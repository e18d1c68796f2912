package av

import (
	"errors"
	"fmt"
	"unsafe"
)

// ErrFlushed is returned for packets that come after Flush.
var ErrFlushed = errors.New("it was flushed; open another for more packets")

// Feed is one stream's packets on their way into a decoder, piece after piece. Each is held until it is used up.
type Feed struct {
	codec   Codec
	pieces  []*Packets
	next    int64 // packet of the first piece
	flushed bool
}

// NewFeed is a feed of packets of such a stream.
func NewFeed(codec Codec) *Feed { return &Feed{codec: codec} }

// Give appends a piece; the caller's own may be closed.
func (f *Feed) Give(p *Packets) error {
	if f.flushed {
		return fmt.Errorf("decoder of %v: %w", f.codec, ErrFlushed)
	}
	if err := p.Of(f.codec); err != nil {
		return fmt.Errorf("a decoder is given %w", err)
	}
	f.pieces = append(f.pieces, p.Hold())
	return nil
}

// Flush says that no more pieces will come.
func (f *Feed) Flush() { f.flushed = true }

// Step lets decode have the pieces (a media_packets, and where it is in it), one after the other as they are used up, which decode says by StatusAgain; at last, once
// flushed, nil. It returns what else decode says, or StatusAgain: another piece is wanted.
func (f *Feed) Step(decode func(piece unsafe.Pointer, next *int64) int) int {
	for {
		if len(f.pieces) == 0 {
			if !f.flushed {
				return StatusAgain
			}
			return decode(nil, &f.next)
		}
		if status := decode(f.pieces[0].Pointer(), &f.next); status != StatusAgain {
			return status
		}
		f.pieces[0].Close()
		f.pieces, f.next = f.pieces[1:], 0
	}
}

// Close lets go of the pieces that are left.
func (f *Feed) Close() {
	for _, p := range f.pieces {
		p.Close()
	}
	f.pieces = nil
}
