package grid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

const (
	h5Magic = "\x89HDF\r\n\x1a\n"

	// maxH5Block is the largest structure that is read, far above what HDF5 writes.
	maxH5Block = 64 << 20
)

// HDF5 is an open file.
type HDF5 struct {
	r                        io.ReaderAt
	size                     int64
	base                     int64 // where in the file addresses count from
	offsetBytes, lengthBytes int
	root                     int64            // address of the root group's header
	end                      int64            // how long the file says that it is
	links                    map[int64][]link // of groups that were looked at, by the addresses of their headers
	left                     int64            // bytes that may still be read for what was asked for
	unchecked                bool             // structures with wrong checksums pass, for tests
}

// IsHDF5 says that a file is one by its first bytes, or by those behind a block of a user's own.
func IsHDF5(r io.ReaderAt, size int64) bool { return h5Begins(r, size) >= 0 }

// h5Begins is where the superblock lies: at 0, 512, 1024, 2048 and so on; -1: nowhere.
func h5Begins(r io.ReaderAt, size int64) int64 {
	var head [len(h5Magic)]byte
	for at := int64(0); at <= size-int64(len(head)); at = max(2*at, 512) {
		if _, err := r.ReadAt(head[:], at); err != nil {
			return -1
		}
		if string(head[:]) == h5Magic {
			return at
		}
	}
	return -1
}

// OpenHDF5 reads a file's superblock. The file stays the caller's.
func OpenHDF5(r io.ReaderAt, size int64) (*HDF5, error) {
	f := &HDF5{r: r, size: size, offsetBytes: 8, lengthBytes: 8, links: map[int64][]link{}}
	at := h5Begins(r, size)
	if at < 0 {
		return nil, errors.New("got no HDF5 file by its first bytes")
	}
	f.begin()
	head, err := f.bytes(at, min(size-at, 128))
	if err != nil {
		return nil, err
	}
	c := cursor{b: head, at: len(h5Magic)}
	switch version := c.number(1); version {
	case 0, 1:
		f.superblock0(&c, version == 1)
	case 2, 3:
		f.superblock2(&c)
	default:
		return nil, fmt.Errorf("got HDF5's superblock version %d, want 0 to 3; write it again with h5repack", version)
	}
	switch {
	case f.offsetBytes < 2 || f.offsetBytes > 8 || f.lengthBytes < 2 || f.lengthBytes > 8:
		return nil, fmt.Errorf("superblock: got addresses of %d bytes and lengths of %d, want 2 to 8", f.offsetBytes, f.lengthBytes)
	case c.short || f.root < 0:
		return nil, errors.New("superblock: truncated")
	case f.end > size:
		return nil, fmt.Errorf("truncated: got %d bytes, want %d; it was not closed, or not copied to its end", size, f.end)
	}
	// A user's block that was put before the file moves everything by its length.
	f.base = at
	return f, nil
}

func (f *HDF5) superblock0(c *cursor, version1 bool) {
	c.skip(4)
	f.offsetBytes, f.lengthBytes = int(c.number(1)), int(c.number(1))
	c.skip(1 + 2 + 2 + 4)
	if version1 {
		c.skip(4)
	}
	c.skip(2 * f.offsetBytes) // base, free space
	f.end = f.address(c)
	c.skip(2 * f.offsetBytes) // driver; name of the root in its heap
	f.root = f.address(c)
}

func (f *HDF5) superblock2(c *cursor) {
	f.offsetBytes, f.lengthBytes = int(c.number(1)), int(c.number(1))
	c.skip(1 + 2*f.offsetBytes)
	f.end = f.address(c)
	f.root = f.address(c)
}

// begin allows what a file may need to be read for one thing, and more: its structures lie side by side, and each is read a few times at most.
func (f *HDF5) begin() { f.left = 16*f.size + 1<<20 }

// bytes are n bytes of the file from an address on.
func (f *HDF5) bytes(addr, n int64) ([]byte, error) {
	switch {
	case addr < 0:
		return nil, errors.New("got an address that is none")
	case n < 0 || n > maxH5Block:
		return nil, fmt.Errorf("got a structure of %d bytes at %d, want at most %d", n, addr, maxH5Block)
	case addr > f.size-f.base-n:
		return nil, fmt.Errorf("truncated: got %d bytes, want %d from %d on", f.size, n, f.base+addr)
	case n > f.left:
		return nil, errors.New("its structures lie over each other")
	}
	f.left -= n
	b := make([]byte, n)
	_, err := f.r.ReadAt(b, f.base+addr)
	if err == io.EOF {
		err = nil // it ends right there
	}
	return b, err
}

// signed is a structure that begins with a name of four letters, and a cursor behind that and the version.
func (f *HDF5) signed(addr, n int64, name string) (cursor, error) {
	b, err := f.bytes(addr, n)
	if err == nil && (n < 5 || string(b[:4]) != name) {
		err = fmt.Errorf("got %q at %d, want %s", b[:min(4, len(b))], f.base+addr, name)
	}
	return cursor{b: b, at: 5}, err
}

// checked is signed of a structure whose last four bytes are its checksum.
func (f *HDF5) checked(addr, n int64, name string) (cursor, error) {
	c, err := f.signed(addr, n, name)
	if err == nil {
		c.b, err = f.summed(c.b, addr)
	}
	return c, err
}

// summed is a structure without the checksum behind it.
func (f *HDF5) summed(b []byte, addr int64) ([]byte, error) {
	n := len(b) - 4
	if n < 0 {
		return nil, errors.New("truncated")
	}
	if got, want := lookup3(b[:n]), binary.LittleEndian.Uint32(b[n:]); got != want && !f.unchecked {
		return nil, fmt.Errorf("the checksum of what lies at %d is %08x, want %08x", f.base+addr, got, want)
	}
	return b[:n:n], nil
}

// address reads one; -1: none.
func (f *HDF5) address(c *cursor) int64 {
	v := c.number(f.offsetBytes)
	if v > math.MaxInt64 || f.offsetBytes < 8 && v == 1<<(8*f.offsetBytes)-1 {
		return -1
	}
	return int64(v)
}

// length reads one; what no int64 holds is the largest.
func (f *HDF5) length(c *cursor) int64 { return int64(min(c.number(f.lengthBytes), math.MaxInt64)) }

// cursor reads a structure from its beginning on. Behind its end all is zero, and short is set.
type cursor struct {
	b     []byte
	at    int
	short bool
}

// number is a little-endian number of n bytes, up to 8.
func (c *cursor) number(n int) (v uint64) {
	for i, b := range c.bytes(n) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.b)-c.at {
		c.short = true
		return nil
	}
	c.at += n
	return c.b[c.at-n : c.at : c.at]
}

func (c *cursor) skip(n int) { c.bytes(n) }

// text is bytes up to a zero.
func (c *cursor) text() string {
	n := -1
	if c.at <= len(c.b) {
		n = bytes.IndexByte(c.b[c.at:], 0)
	}
	if n < 0 {
		c.short = true
		return ""
	}
	text := string(c.bytes(n))
	c.skip(1)
	return text
}

// bytesFor is how many bytes HDF5 takes for numbers up to most.
func bytesFor(most uint64) int { return (bits.Len64(max(most, 1))-1)/8 + 1 }

// lookup3 is Bob Jenkins' hash of that name, which HDF5 sums its structures with.
func lookup3(b []byte) uint32 {
	x := 0xdeadbeef + uint32(len(b))
	y, z := x, x
	for ; len(b) > 12; b = b[12:] {
		x += binary.LittleEndian.Uint32(b)
		y += binary.LittleEndian.Uint32(b[4:])
		z += binary.LittleEndian.Uint32(b[8:])
		x = (x - z) ^ bits.RotateLeft32(z, 4)
		z += y
		y = (y - x) ^ bits.RotateLeft32(x, 6)
		x += z
		z = (z - y) ^ bits.RotateLeft32(y, 8)
		y += x
		x = (x - z) ^ bits.RotateLeft32(z, 16)
		z += y
		y = (y - x) ^ bits.RotateLeft32(x, 19)
		x += z
		z = (z - y) ^ bits.RotateLeft32(y, 4)
		y += x
	}
	if len(b) == 0 {
		return z
	}
	var last [12]byte
	copy(last[:], b)
	x += binary.LittleEndian.Uint32(last[:])
	y += binary.LittleEndian.Uint32(last[4:])
	z += binary.LittleEndian.Uint32(last[8:])
	z = (z ^ y) - bits.RotateLeft32(y, 14)
	x = (x ^ z) - bits.RotateLeft32(z, 11)
	y = (y ^ x) - bits.RotateLeft32(x, 25)
	z = (z ^ y) - bits.RotateLeft32(y, 16)
	x = (x ^ z) - bits.RotateLeft32(z, 4)
	y = (y ^ x) - bits.RotateLeft32(x, 14)
	z = (z ^ y) - bits.RotateLeft32(y, 24)
	return z
}
