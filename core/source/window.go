package source

import (
	"errors"
	"io"
	"sync"
	"time"
)

// window is a moving view of an archive, in which headers are looked for from its beginning to its end. Of a remote one it reads
// either everything, many bytes at a time, or only the headers, a few bytes at a time, whichever is sooner done: that depends on
// how far they lie apart, and on how many bytes arrive in the time that a request takes.
type window struct {
	r     io.ReaderAt
	size  int64
	chunk int   // bytes read at a time
	pace  *pace // nil: always whole chunks
	at    int64
	buf   []byte // r's bytes from at on

	// What was asked for since the last read, as if every read was small.
	jumps    int64 // small reads that would have been needed
	smallEnd int64 // end of the last of them
}

// headerBytes is a small read: a tar header, a long name or PAX header before it, and the next members' where they are small.
const headerBytes = 8 << 10

// errEnd is an archive's end where more of it must be. A connection that breaks off is another error.
var errEnd = errors.New("the archive ends here")

// bytes are n bytes at an offset, valid until the next call; errEnd where the archive has fewer.
func (w *window) bytes(off int64, n int) ([]byte, error) {
	if off < 0 || off > w.size-int64(n) {
		return nil, errEnd
	}
	if end := off + int64(n); off < w.smallEnd-headerBytes || end > w.smallEnd {
		w.jumps++
		w.smallEnd = off + max(int64(n), headerBytes)
	}
	if off < w.at || off+int64(n) > w.at+int64(len(w.buf)) {
		if err := w.read(off, n); err != nil {
			return nil, err
		}
	}
	return w.buf[off-w.at:][:n], nil
}

// read moves the window.
func (w *window) read(off int64, n int) error {
	want := int(min(int64(max(n, w.next(off))), w.size-off))
	w.jumps = 0
	if cap(w.buf) < want {
		w.buf = make([]byte, want)
	}
	w.buf, w.at = w.buf[:want], off
	began := w.pace.time()
	if got, err := w.r.ReadAt(w.buf, off); got < want {
		w.buf = w.buf[:0]
		if err == io.EOF {
			return errEnd
		}
		return unnamed(err)
	}
	w.pace.note(want, w.pace.time().Sub(began))
	return nil
}

// next is how many bytes to read from an offset on: the headers alone where they lay so far apart, since the last read, that what is
// between them takes longer than asking anew.
func (w *window) next(off int64) int {
	if w.pace == nil {
		return w.chunk
	}
	if w.buf == nil {
		return headerBytes // nothing is known yet
	}
	if apart := (off - w.at) / max(w.jumps, 1); apart > w.pace.worth() || off < w.at {
		return headerBytes
	}
	return w.chunk
}

// pace is what reads of a store take, learned from those of all archives.
type pace struct {
	mu      sync.Mutex
	latency float64 // seconds of a small read
	perByte float64 // seconds beyond that, of a large one
	now     func() time.Time
}

// The first guess: 10 ms, and 100 MB/s. What is worth a request is never less than a small read costs anyway, and never more than a chunk.
const (
	guessLatency = 0.01
	guessPerByte = 1e-8
	paceShare    = 8 // of the latest read in the mean: one of so many
	smallRead    = 64 << 10
	leastWorth   = 4 * headerBytes
)

func newPace() *pace { return &pace{latency: guessLatency, perByte: guessPerByte, now: time.Now} }

// time is the time by p's clock.
func (p *pace) time() (now time.Time) {
	if p != nil {
		now = p.now()
	}
	return now
}

// note takes a read into the means.
func (p *pace) note(bytes int, took time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if bytes <= smallRead {
		p.latency += (took.Seconds() - p.latency) / paceShare
	} else if each := (took.Seconds() - p.latency) / float64(bytes); each > 0 {
		p.perByte += (each - p.perByte) / paceShare
	}
}

// worth is how many bytes arrive in the time that a request takes.
func (p *pace) worth() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(min(max(p.latency/p.perByte, leastWorth), remoteChunk))
}

// windowReader is a window as zip archives are read.
type windowReader struct{ *window }

func (w windowReader) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), w.size-off))
	if n <= 0 {
		return 0, io.EOF
	}
	b, err := w.bytes(off, n)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return copy(p, b), err
}
