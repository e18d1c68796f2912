package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

// The file of an index, all numbers little-endian:
//
//	 0  magic, with the format's version in its last byte
//	 8  u64  xxh3 of everything from 16 on
//	16  u64  bytes of the archive            24  u64  its version: nanoseconds of its mtime, or a hash of its ETag
//	32  u64  samples                         40  u64  members
//	48  u64  parts                           56  u64  bytes of the keys       64  u64  bytes of the parts' names
//	72  samples + 1 times {u32 first member, u32 start of key}
//	    members times {u32 offset, low bits; u32 size; u16 part; u8 offset, bits 32-39; u8 flags; i32 number}
//	    parts times {u16 end of name}, names of parts, keys
const (
	indexMagic  = "SPDLIDX\x01"
	indexHeader = 72
	sampleBytes = 8
	memberBytes = 16
	maxParts    = 1024
	maxPartName = 128

	flagNumber = 1 // the member is a whole number, which the record holds
)

// indexEnding is that of an index beside its archive.
const indexEnding = ".spdl-index"

// version tells one state of an archive from another.
type version struct {
	size int64
	tag  uint64
}

// index says where the samples of one archive lie. Its memory is mapped, and has been checked whole before first use.
type index struct {
	data             []byte
	samples, members []byte
	keys             []byte
	parts            []string
	n                int64
}

var errIndex = errors.New("the index is damaged")

// encode writes the builder's samples down.
func (b *indexBuilder) encode(v version) []byte {
	le := binary.LittleEndian
	var names []byte
	for _, p := range b.parts {
		names = append(names, p...)
	}
	n := len(b.samples) / 2
	out := make([]byte, 16, indexHeader+(n+1)*sampleBytes+len(b.members)*memberBytes+2*len(b.parts)+len(names)+len(b.keys))
	copy(out, indexMagic)
	for _, x := range []int{int(v.size), int(v.tag), n, len(b.members), len(b.parts), len(b.keys), len(names)} {
		out = le.AppendUint64(out, uint64(x))
	}
	for _, x := range b.samples {
		out = le.AppendUint32(out, x)
	}
	out = le.AppendUint32(le.AppendUint32(out, uint32(len(b.members))), uint32(len(b.keys)))
	for _, m := range b.members {
		flags := byte(0)
		if m.number {
			flags = flagNumber
		}
		out = le.AppendUint32(le.AppendUint32(out, uint32(m.off)), m.size)
		out = append(le.AppendUint16(out, m.part), byte(m.off>>32), flags)
		out = le.AppendUint32(out, uint32(m.value))
	}
	end := 0
	for _, p := range b.parts {
		end += len(p)
		out = le.AppendUint16(out, uint16(end))
	}
	out = append(append(out, names...), b.keys...)
	le.PutUint64(out[8:], xxh3.Hash(out[16:]))
	return out
}

// parseIndex checks a whole index, so that nothing it says can lead outside of itself or of the archive.
func parseIndex(data []byte, want version) (*index, error) {
	le := binary.LittleEndian
	if len(data) < indexHeader || string(data[:8]) != indexMagic || le.Uint64(data[8:]) != xxh3.Hash(data[16:]) {
		return nil, errIndex
	}
	var h [7]uint64
	for i := range h {
		h[i] = le.Uint64(data[16+8*i:])
	}
	if int64(h[0]) != want.size || h[1] != want.tag {
		return nil, fmt.Errorf("%w: it is of another version of the archive", errIndex)
	}
	n, members, parts, keys, names := h[2], h[3], h[4], h[5], h[6]
	if n >= math.MaxUint32 || members > math.MaxUint32 || parts > maxParts || keys > math.MaxUint32 || names > math.MaxUint16 ||
		indexHeader+(n+1)*sampleBytes+members*memberBytes+2*parts+names+keys != uint64(len(data)) {
		return nil, errIndex
	}
	rest := data[indexHeader:]
	take := func(n uint64) (part []byte) {
		part, rest = rest[:n:n], rest[n:]
		return part
	}
	x := &index{data: data, n: int64(n)}
	x.samples, x.members = take((n+1)*sampleBytes), take(members*memberBytes)
	ends := take(2 * parts)
	text := take(names)
	x.keys = take(keys)
	if !x.holds(uint64(want.size), members, parts) || !x.name(ends, text) {
		return nil, errIndex
	}
	return x, nil
}

// holds checks every record.
func (x *index) holds(size, members, parts uint64) bool {
	le := binary.LittleEndian
	if le.Uint32(x.samples) != 0 || le.Uint32(x.samples[4:]) != 0 {
		return false
	}
	var member, key uint32
	for at := sampleBytes; at < len(x.samples); at += sampleBytes {
		m, k := le.Uint32(x.samples[at:]), le.Uint32(x.samples[at+4:])
		if m <= member || k < key {
			return false
		}
		member, key = m, k
	}
	if uint64(member) != members || int(key) != len(x.keys) {
		return false
	}
	for at := 0; at < len(x.members); at += memberBytes {
		m := x.members[at : at+memberBytes]
		off := uint64(le.Uint32(m)) | uint64(m[10])<<32
		if uint64(le.Uint16(m[8:])) >= parts || off+uint64(le.Uint32(m[4:])) > size {
			return false
		}
	}
	return true
}

func (x *index) name(ends, text []byte) bool {
	last := 0
	for ; len(ends) > 0; ends = ends[2:] {
		end := int(binary.LittleEndian.Uint16(ends))
		if end < last || end > len(text) {
			return false
		}
		x.parts = append(x.parts, string(text[last:end]))
		last = end
	}
	return last == len(text)
}

// sample is the range of sample i's members, and its key.
func (x *index) sample(i int64) (from, to int, key []byte) {
	le := binary.LittleEndian
	s := x.samples[i*sampleBytes : (i+2)*sampleBytes]
	return int(le.Uint32(s)), int(le.Uint32(s[8:])), x.keys[le.Uint32(s[4:]):le.Uint32(s[12:])]
}

func (x *index) member(k int) indexMember {
	le := binary.LittleEndian
	m := x.members[k*memberBytes : (k+1)*memberBytes]
	return indexMember{
		off: int64(le.Uint32(m)) | int64(m[10])<<32, size: le.Uint32(m[4:]), part: le.Uint16(m[8:]),
		number: m[11]&flagNumber != 0, value: int32(le.Uint32(m[12:])),
	}
}

// openIndex maps the index in a file. Any error means: there is none that can be used.
func openIndex(path string, want version) (*index, error) {
	fd, err := unix.Open(path, openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if !isRegular(&st) || st.Size < indexHeader {
		return nil, errIndex
	}
	// The file is replaced by rename and never written again, so a mapping of it stays whole.
	data, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(data, want)
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(data))
	}
	return x, nil
}

// close gives the mapping back; an index in plain memory has none.
func (x *index) close(mapped bool) error {
	if !mapped {
		return nil
	}
	return unix.Munmap(x.data)
}

// writeFile puts a file in place whole or not at all.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".spdl-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// partNamed is the place of a part, or -1.
func (x *index) partNamed(name string) int { return slices.Index(x.parts, name) }
