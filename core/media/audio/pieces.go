package audio

import (
	"io"
	"time"
)

// pieces are the bytes of a file, or of memory, and how long it may take to look through them.
type pieces struct {
	data  []byte // nil: the file
	file  io.ReaderAt
	size  int64
	piece []byte    // of the file
	from  int64     // where it begins
	until time.Time // zero: as long as it takes
	looks int
}

const pieceAhead = 1 << 16 // bytes read of a file at once

func (p *pieces) begin(in *input, budget time.Duration) {
	p.data, p.file, p.size, p.from = in.data, in.reader(), in.size, 0
	p.piece = p.piece[:0]
	p.until, p.looks = time.Time{}, 0
	if budget > 0 {
		p.until = time.Now().Add(budget)
	}
	if in.file != nil {
		p.data = nil
	}
}

// left is what is left of the budget; 0: there is none.
func (p *pieces) left() time.Duration {
	if p.until.IsZero() {
		return 0
	}
	return max(1, time.Until(p.until))
}

// inTime is asked with every frame, or page.
func (p *pieces) inTime() error {
	if p.looks++; p.looks%512 != 0 || p.until.IsZero() || time.Now().Before(p.until) {
		return nil
	}
	return &Error{cause: CauseTooSlow, Detail: "the budget of time for one sample is used up; raise timeout"}
}

func (p *pieces) end() {
	p.data, p.file = nil, nil
	if cap(p.piece) > 1<<20 {
		p.piece = nil
	}
}

// at is n bytes from byte `at` on, until the next call; at the end zeros follow.
func (p *pieces) at(at int64, n int) ([]byte, error) {
	if p.data != nil && at+int64(n) <= p.size {
		return p.data[at : at+int64(n)], nil
	}
	if at < p.from || at+int64(n) > p.from+int64(len(p.piece)) {
		if want := max(n, pieceAhead); cap(p.piece) < want {
			p.piece = make([]byte, want)
		}
		p.piece, p.from = p.piece[:cap(p.piece)], at
		got, err := p.file.ReadAt(p.piece, at)
		if err != nil && err != io.EOF {
			return nil, &Error{cause: CauseRead, Detail: err.Error(), err: err}
		}
		clear(p.piece[got:])
	}
	return p.piece[at-p.from:][:n], nil
}
