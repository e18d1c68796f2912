package source

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	tarBlock      = 512
	maxTarMeta    = 1 << 20   // bytes of one long name or PAX header
	maxMemberSize = 1<<32 - 1 // bytes of one member
	maxArchive    = 1 << 40   // bytes of one archive
)

// tarScanner walks the headers of a tar archive: ustar, GNU (long names, base-256 numbers) and PAX (path and size).
type tarScanner struct {
	w    *window
	at   int64  // of the next header
	name []byte // given by a header before the member's own
	size int64  // likewise; -1: none
}

// scanTar calls each for every regular file, in the archive's order, with where its bytes lie. The name is valid during
// the call. An error names the member and the offset.
func scanTar(w *window, each func(name []byte, off, size int64) error) error {
	size := w.size
	if size > maxArchive {
		return fmt.Errorf("got %d bytes, want at most %d; split the archive", size, int64(maxArchive))
	}
	s := tarScanner{w: w, size: -1}
	for {
		at := s.at
		done, err := s.next(each)
		if errors.Is(err, errEnd) {
			return fmt.Errorf("truncated: it ends at %d bytes, before the end-of-archive mark (header at %d); write or copy it again", size, at)
		}
		if err != nil {
			return fmt.Errorf("header at %d: %w", at, err)
		}
		if done {
			return s.onlyZeros()
		}
	}
}

// next reads one header and steps over its data.
func (s *tarScanner) next(each func(name []byte, off, size int64) error) (done bool, err error) {
	h, err := s.w.bytes(s.at, tarBlock)
	if errors.Is(err, errEnd) && s.at == 0 { // of less than a header, which may be what was packed small
		if b, begins := s.w.bytes(0, int(s.w.size)); begins == nil && isCompressed(b) {
			return false, errCompressed
		}
	}
	if err != nil {
		return false, err
	}
	if isZero(h) {
		return true, s.endMark()
	}
	if err := checkSum(h); err != nil {
		return false, err
	}
	size, err := tarNumber(h[124:136])
	if err != nil {
		return false, fmt.Errorf("size: %w", err)
	}
	kind, data := h[156], s.at+tarBlock
	if kind == 'x' || kind == 'L' || kind == 'K' || kind == 'g' {
		if size > maxTarMeta {
			return false, fmt.Errorf("type %q: got %d bytes of names, want at most %d", kind, size, maxTarMeta)
		}
		s.at = data + padded(size)
		return false, s.extended(kind, data, size)
	}
	name := s.name
	if name == nil {
		name = tarName(h)
	}
	if s.size >= 0 {
		size = s.size
	}
	s.name, s.size = nil, -1
	if size > maxMemberSize {
		return false, fmt.Errorf("member %.200q: got %d bytes, want at most %d", name, size, int64(maxMemberSize))
	}
	switch kind {
	case '0', 0, '7':
		if bytes.HasSuffix(name, []byte("/")) { // how archives older than ustar say directory
			s.at = data + padded(size)
			return false, nil
		}
		if s.at = data + padded(size); s.at > s.w.size {
			return false, errEnd
		}
		name = append([]byte(nil), name...)
		return false, each(name, data, size)
	case '5':
		s.at = data
		return false, nil
	}
	return false, fmt.Errorf("member %.200q: %s; want regular files only", name, tarKind(kind))
}

func tarKind(kind byte) string {
	switch kind {
	case '1', '2':
		return "a link; archive the file itself (tar --dereference --hard-dereference)"
	case 'S':
		return "a sparse file; archive it without --sparse"
	case '3', '4', '6':
		return "a device or fifo"
	}
	return fmt.Sprintf("type %q, which is not known", kind)
}

// extended takes note of what a header says about the member after it.
func (s *tarScanner) extended(kind byte, data, size int64) error {
	text, err := s.w.bytes(data, int(size))
	if err != nil {
		return err
	}
	switch kind {
	case 'L':
		name, _, _ := bytes.Cut(text, []byte{0})
		s.name = append([]byte{}, name...)
	case 'x', 'g':
		return s.pax(kind, text)
	}
	return nil
}

// pax reads records of "LENGTH KEY=VALUE\n".
func (s *tarScanner) pax(kind byte, text []byte) error {
	for len(text) > 0 && text[0] != 0 {
		digits, _, ok := bytes.Cut(text, []byte(" "))
		n, err := strconv.Atoi(string(digits))
		if !ok || err != nil || n <= len(digits)+1 || n > len(text) || text[n-1] != '\n' {
			return errors.New("got a PAX header that is damaged")
		}
		key, value, ok := bytes.Cut(text[len(digits)+1:n-1], []byte("="))
		if !ok {
			return errors.New("got a PAX record without '='")
		}
		text = text[n:]
		switch k := string(key); {
		case strings.HasPrefix(k, "GNU.sparse."):
			return errors.New("got a sparse file; archive it without --sparse")
		case k != "path" && k != "size":
		case kind == 'g':
			return fmt.Errorf("got %s in a global PAX header, want it in the member's own", k)
		case k == "path":
			s.name = append([]byte{}, value...)
		default:
			if s.size, err = strconv.ParseInt(string(value), 10, 64); err != nil || s.size < 0 {
				return fmt.Errorf("PAX size: got %.40q, want a whole number", value)
			}
		}
	}
	return nil
}

// endMark checks the second of the two zero blocks.
func (s *tarScanner) endMark() error {
	second, err := s.w.bytes(s.at+tarBlock, tarBlock)
	if err != nil {
		return err
	}
	if !isZero(second) {
		return errors.New("got one zero block, want two or none; the archive is damaged")
	}
	s.at += 2 * tarBlock
	return nil
}

// mostFill is how much an archive is filled up to a whole record with at most: tar's records have 10 KiB, and on tapes up to this.
const mostFill = 1 << 20

// onlyZeros checks what follows the end mark: other archives, joined by cat, would be lost in silence, and so would the rest of a file that was made in its
// full size and never filled.
func (s *tarScanner) onlyZeros() error {
	end := s.at
	for s.at < s.w.size {
		n := int(min(int64(max(s.w.chunk, tarBlock)), s.w.size-s.at))
		rest, err := s.w.bytes(s.at, n)
		if err != nil {
			return err
		}
		if !isZero(rest) {
			return fmt.Errorf("got data after the end-of-archive mark at %d; joined archives need tar --concatenate, not cat", s.at)
		}
		s.at += int64(n)
	}
	if fill := s.at - end; fill > mostFill {
		return fmt.Errorf("got %d bytes of zeros after the end-of-archive mark at %d, want at most %d: so ends a copy that was broken off in a file of the full size; copy it again, or where it is whole cut them off: truncate -s %d FILE",
			fill, end, mostFill, end)
	}
	return nil
}

func padded(n int64) int64 { return (n + tarBlock - 1) / tarBlock * tarBlock }

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// isCompressed knows gzip, zstd, bzip2 and xz by their first bytes; none is one of a name.
func isCompressed(b []byte) bool {
	for _, magic := range []string{"\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh9\x31\x41\x59", "\xfd7zXZ"} {
		if bytes.HasPrefix(b, []byte(magic)) {
			return true
		}
	}
	return false
}

var errCompressed = errors.New("not a tar header; the archive is compressed, so it cannot be read in any order; unpack it to a plain .tar")

// checkSum proves a block to be a header: the sum of its bytes, with blanks in place of the sum.
func checkSum(h []byte) error {
	want, err := tarNumber(h[148:156])
	if isCompressed(h) {
		return errCompressed
	}
	if err != nil {
		return errors.New("not a tar header; the archive is damaged or no tar archive")
	}
	var sum, signed int64
	for i, c := range h {
		if i >= 148 && i < 156 {
			c = ' '
		}
		sum += int64(c)
		signed += int64(int8(c))
	}
	if want != sum && want != signed {
		return fmt.Errorf("not a tar header: check sum got %d, want %d; the archive is damaged or no tar archive", want, sum)
	}
	return nil
}

// tarNumber reads octal text, or GNU's base-256.
func tarNumber(field []byte) (int64, error) {
	if field[0]&0x80 != 0 {
		var v int64
		for i, c := range field {
			if i == 0 {
				c &= 0x7f
			}
			if v >= 1<<54 || field[0]&0x40 != 0 {
				return 0, errors.New("got a number beyond 2^62 or below 0")
			}
			v = v<<8 | int64(c)
		}
		return v, nil
	}
	text := bytes.Trim(field, " \x00")
	if len(text) == 0 {
		return 0, nil
	}
	v, err := strconv.ParseInt(string(text), 8, 64)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("got %.20q, want an octal number", text)
	}
	return v, nil
}

// tarName is the name in a header, with ustar's prefix.
func tarName(h []byte) []byte {
	name, _, _ := bytes.Cut(h[:100], []byte{0})
	if string(h[257:263]) != "ustar\x00" {
		return name
	}
	prefix, _, _ := bytes.Cut(h[345:500], []byte{0})
	if len(prefix) == 0 {
		return name
	}
	return bytes.Join([][]byte{prefix, name}, []byte("/"))
}
