package array

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"
)

const (
	maxDeflate = 1032 // bytes that one byte of a deflated member can become, at most
	encrypted  = 1    // bit of a member's flags
	npyEnding  = ".npy"
)

// NPZ is a zip archive of arrays in memory.
type NPZ struct {
	b     []byte
	names []string
	files map[string]*zip.File
}

// OpenNPZ reads the directory of a .npz file. Members that are no .npy file are passed over.
func OpenNPZ(b []byte) (*NPZ, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are looked up, never opened
		return nil, fmt.Errorf("array: npz: %w", noArchive(b, err))
	}
	n := &NPZ{b: b, files: map[string]*zip.File{}}
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, npyEnding)
		if !ok {
			continue
		}
		if n.files[name] != nil {
			return nil, fmt.Errorf("array: npz: member %.200q is there twice", f.Name)
		}
		n.files[name] = f
		n.names = append(n.names, name)
	}
	return n, nil
}

// noArchive is what archive/zip says of bytes without an archive's directory, and what they are.
func noArchive(b []byte, err error) error {
	if !errors.Is(err, zip.ErrFormat) {
		return err
	}
	return fmt.Errorf("no directory of an archive at the end of %d bytes that begin with %.8q, which are cut short or something else: %w", len(b), b, err)
}

// Names are those of the arrays, in the archive's order, without their ending. The caller must not change them.
func (n *NPZ) Names() []string { return n.names }

// Array is one of the arrays. It allocates only what a deflated member becomes.
func (n *NPZ) Array(name string) (Array, error) { return n.ArrayWithin(name, math.MaxInt64-maxHeader) }

// ArrayWithin is Array, where the array has size bytes at most: a deflated member that becomes more, 1,032 times what it is at most, is
// an error, and not unpacked.
func (n *NPZ) ArrayWithin(name string, size int64) (Array, error) {
	f := n.files[name]
	if f == nil {
		return Array{}, fmt.Errorf("array: npz: no member %.200q; there are %s", name+npyEnding, shown(n.names))
	}
	data, err := n.member(f, size+maxHeader)
	var a Array
	if err == nil {
		err = a.Parse(data)
	}
	if err != nil {
		return Array{}, fmt.Errorf("array: npz: member %.200q: %w", f.Name, err)
	}
	return a, nil
}

func shown(names []string) string {
	const most = 8
	if len(names) == 0 {
		return "none"
	}
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += ", ..."
	}
	return text
}

// member is a member's bytes, checked against its CRC-32: where they lie, if they are stored.
func (n *NPZ) member(f *zip.File, most int64) ([]byte, error) {
	switch {
	case f.Flags&encrypted != 0:
		return nil, errors.New("it is encrypted")
	case f.Method == zip.Store:
		return n.stored(f)
	case f.Method != zip.Deflate:
		return nil, fmt.Errorf("got compression method %d, want stored (0) or deflated (8)", f.Method)
	case f.CompressedSize64 > uint64(len(n.b)) || f.UncompressedSize64 > f.CompressedSize64*maxDeflate+maxDeflate:
		return nil, fmt.Errorf("got %d bytes deflated to %d, which cannot be", f.UncompressedSize64, f.CompressedSize64)
	case f.UncompressedSize64 > uint64(most):
		return nil, fmt.Errorf("got %d bytes, deflated to %d, want at most %d", f.UncompressedSize64, f.CompressedSize64, most)
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	data, err := unpacked(r, f.UncompressedSize64)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // its end compares the CRC-32, and there is an end: a byte more is an error
	}
	if closed := r.Close(); err == nil { // which says again what reading said
		err = closed
	}
	return data, err
}

// unpacked is size bytes of r. Memory is taken for what comes, not for what is claimed.
func unpacked(r io.Reader, size uint64) ([]byte, error) {
	const first = 1 << 20
	data := make([]byte, 0, min(size, first))
	for uint64(len(data)) < size {
		data = slices.Grow(data, 1)
		n, err := io.ReadFull(r, data[len(data):min(uint64(cap(data)), size)])
		data = data[:len(data)+n]
		if err != nil {
			return nil, err
		}
	}
	return data[:size:size], nil
}

func (n *NPZ) stored(f *zip.File) ([]byte, error) {
	at, err := f.DataOffset()
	if err != nil {
		return nil, err
	}
	size := f.UncompressedSize64
	if at < 0 || at > int64(len(n.b)) || size > uint64(int64(len(n.b))-at) {
		return nil, fmt.Errorf("truncated: got %d bytes, want %d", max(int64(len(n.b))-at, 0), size)
	}
	end := at + int64(size)
	data := n.b[at:end:end]
	if got := crc32.ChecksumIEEE(data); got != f.CRC32 {
		return nil, fmt.Errorf("damaged: CRC-32 got %08x, want %08x", got, f.CRC32)
	}
	return data, nil
}
