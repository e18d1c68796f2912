package source

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/spdl/spdl/core/source/store"
)

// Bundle is a part of a sample that is several pictures, or none: see Medium.Many. Its bytes are the pictures', in any order, each with Padding zero
// bytes behind it, then where each begins and how long it is, and last how many there are, little-endian u64s.
type Bundle struct {
	part  []byte
	table []byte
}

const bundleWord = 8

var errBundle = errors.New("damaged: its pictures do not lie within it")

// Bundled reads a part as a bundle.
func Bundled(part []byte) (b Bundle, err error) {
	end := len(part) - bundleWord
	if end < 0 {
		return b, errBundle
	}
	n := binary.LittleEndian.Uint64(part[end:])
	if n > uint64(end/(2*bundleWord)) {
		return b, errBundle
	}
	b = Bundle{part[:end-2*bundleWord*int(n)], part[end-2*bundleWord*int(n) : end]}
	for k := range b.Len() {
		if at, size := b.word(2*k), b.word(2*k+1); at > uint64(len(b.part)) || size > uint64(len(b.part))-at {
			return Bundle{}, errBundle
		}
	}
	return b, nil
}

func (b *Bundle) word(k int) uint64 { return binary.LittleEndian.Uint64(b.table[bundleWord*k:]) }

// Len is how many pictures there are.
func (b *Bundle) Len() int { return len(b.table) / (2 * bundleWord) }

// At is picture k, as Buffer.Part.
func (b *Bundle) At(k int) []byte {
	at, end := b.word(2*k), b.word(2*k)+b.word(2*k+1)
	return b.part[at:end:end]
}

// bundle makes one part of those from i up to j.
func (b *Buffer) bundle(i, j int) {
	n := j - i
	table := b.behind(bundleWord * (2*n + 1))
	from := b.end()
	begin := from
	for _, p := range b.parts[i:j] {
		begin = min(begin, p.at)
	}
	put := func(k, v int) { binary.LittleEndian.PutUint64(table[bundleWord*k:], uint64(v)) }
	for k, p := range b.parts[i:j] {
		put(2*k, p.at-begin)
		put(2*k+1, p.n)
	}
	put(2*n, n)
	clear(b.mem[from+len(table):][:Padding])
	whole := stretch{begin, from + len(table) - begin}
	if n == 0 {
		b.parts = append(b.parts, stretch{})
		copy(b.parts[i+1:], b.parts[i:])
	} else {
		b.parts = append(b.parts[:i+1], b.parts[j:]...)
	}
	b.parts[i] = whole
}

// tooMany refuses so many pictures of a sample, unless the first ones are taken; n is how many are taken.
func (m *Medium) tooMany(got int) (n int, err error) {
	if got <= m.Many || m.Cut {
		return min(got, m.Many), nil
	}
	return 0, &Error{Cause: TooLarge, Detail: fmt.Sprintf("%s: got %d pictures, want at most %d; raise many (or its most), or say over: cut, which takes the first ones", m.Name, got, m.Many)}
}

// picture says of an error which picture of a sample it is about, number k from 0 of n, and what the file or part is called that it lies in.
func (m *Medium) picture(err error, k, n int, what string, name []byte) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	of := *e
	of.Detail = fmt.Sprintf("%s: picture %d of %d: %s %q", m.Name, k+1, n, what, store.Shown(string(name)))
	if e.Detail != "" {
		of.Detail += ": " + e.Detail
	}
	return &of
}
