package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

// The file of an index, all numbers little-endian:
//
//	 0  magic, with the format's version in its last byte
//	 8  u64  xxh3 of the rest of the header: of everything from 16 to the body
//	16  u64  bytes of the archive            24  u64  its version: nanoseconds of its mtime, or a hash of its ETag
//	32  u64  samples                         40  u64  members
//	48  u64  parts                           56  u64  bytes of keys, numbers  64  u64  bytes of the parts' names
//	72  u64  bytes of the directories' names; all ones: there are too many to list
//	80  parts times {u16 end of name}, names of parts, names of the first-level directories, a zero byte behind each
//	    for each 64 KiB of the body {u64 xxh3 of them}
//	    the body:
//	    samples + 1 times {u32 first member, u32 start of key}
//	    members times {u32 offset, low bits; u32 size; u16 part; u8 offset, bits 32-39; u8 flags; i32 number}
//	    keys, and behind them i64s: numbers that take more than 32 bits, whose members have the place, from the first key on, as their number
//
// Opening reads the header. A block of the body is checked when it is first looked at, so that to open an index costs the
// same whatever it holds. The header from 32 on is part of a source's fingerprint, so states of another format's data sets do not
// compare: a new format needs a new version of sampler.Data.
const (
	indexMagic  = "SPDLIDX\x04"
	indexHeader = 80
	indexBlock  = 64 << 10
	sampleBytes = 8
	memberBytes = 16
	maxParts    = 1024
	maxPartName = 128

	maxDirBytes = 64 << 10 // of the directories' names that are listed
	manyDirs    = math.MaxUint64

	flagNumber  = 1 // the member is a whole number, which the record holds
	flagWide    = 2 // the record holds where the number is
	flagSeveral = 4 // the number is the first of several; the chunk has several records
	flagSplit   = 8 // the member is in parts, of RecordIO
	wideBytes   = 8
)

// indexEnding is that of an index beside its archive.
const indexEnding = ".spdl-index"

// version tells one state of an archive from another.
type version struct {
	size int64
	tag  uint64
}

// index says where the samples of one archive lie. Any number of goroutines may ask it.
type index struct {
	n       int64
	parts   []string
	dirs    []byte // names of the first-level directories, a zero byte behind each
	listed  bool   // dirs has all of them
	members int64
	keys    int64  // bytes of them, and of the numbers behind
	size    int64  // of the archive: no member reaches beyond
	header  []byte // checked; of the file, as the directories' names are: for the opening alone
	hash    uint64 // of the header
	sums    []byte // of the blocks; in plain memory, as the rest is not, of which there is much
	file    string // that holds it; "": plain memory does

	content atomic.Pointer[indexBody]

	mending sync.Mutex // guards the rest
	mended  bool       // the body is the second one: made again, since the first was damaged
	damage  error      // why that could not be done
	maps    [][]byte   // to unmap at the end, since others may be looking at any of them
}

// indexBody is everything but the header, and which blocks of it have been checked, a bit each.
type indexBody struct {
	data    []byte
	checked []atomic.Uint32
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
	dirs := uint64(len(b.dirs))
	if b.tooMany {
		b.dirs, dirs = nil, manyDirs
	}
	keys := len(b.keys) + wideBytes*b.wide
	start, blocks := indexLayout(n, len(b.members), len(b.parts), keys, len(names)+len(b.dirs))
	size := start + (n+1)*sampleBytes + len(b.members)*memberBytes + keys
	out := make([]byte, 16, size)
	copy(out, indexMagic)
	for _, x := range []int{int(v.size), int(v.tag), n, len(b.members), len(b.parts), keys, len(names)} {
		out = le.AppendUint64(out, uint64(x))
	}
	out = le.AppendUint64(out, dirs)
	end := 0
	for _, p := range b.parts {
		end += len(p)
		out = le.AppendUint16(out, uint16(end))
	}
	out = append(append(out, names...), b.dirs...)
	sums := len(out)
	out = b.appendBody(out[:start])
	for k := range blocks {
		le.PutUint64(out[sums+8*k:], xxh3.Hash(blockOf(out[start:], k)))
	}
	le.PutUint64(out[8:], xxh3.Hash(out[16:start]))
	return out
}

func (b *indexBuilder) appendBody(out []byte) []byte {
	le := binary.LittleEndian
	for _, x := range b.samples {
		out = le.AppendUint32(out, x)
	}
	out = le.AppendUint32(le.AppendUint32(out, uint32(len(b.members))), uint32(len(b.keys)))
	var wide []byte
	for _, m := range b.members {
		flags, value := byte(0), uint32(m.value)
		if m.number {
			flags = flagNumber
		}
		if m.wide() {
			flags, value = flagNumber|flagWide, uint32(len(b.keys)+len(wide))
			wide = le.AppendUint64(wide, uint64(m.value))
		}
		if m.several {
			flags |= flagSeveral
		}
		if m.split {
			flags |= flagSplit
		}
		out = le.AppendUint32(le.AppendUint32(out, uint32(m.off)), m.size)
		out = append(le.AppendUint16(out, m.part), byte(m.off>>32), flags)
		out = le.AppendUint32(out, value)
	}
	return append(append(out, b.keys...), wide...)
}

// indexLayout is where the body begins, and how many blocks it has. names are the bytes of the parts' and the directories'.
func indexLayout(samples, members, parts, keys, names int) (start, blocks int) {
	blocks = ((samples+1)*sampleBytes + members*memberBytes + keys + indexBlock - 1) / indexBlock
	return indexHeader + 2*parts + names + 8*blocks, blocks
}

// blockOf is a block of a body.
func blockOf(body []byte, k int) []byte {
	return body[k*indexBlock : min((k+1)*indexBlock, len(body))]
}

// parseIndex checks an index's header, so that nothing it says can lead outside of data.
func parseIndex(data []byte, want version) (*index, error) {
	le := binary.LittleEndian
	if len(data) < indexHeader || string(data[:8]) != indexMagic {
		return nil, errIndex
	}
	var h [8]uint64
	for i := range h {
		h[i] = le.Uint64(data[16+8*i:])
	}
	if int64(h[0]) != want.size || h[1] != want.tag {
		return nil, fmt.Errorf("%w: it is of another version of the archive", errIndex)
	}
	n, members, parts, keys, names, dirs := h[2], h[3], h[4], h[5], h[6], h[7]
	listed := dirs != manyDirs
	if !listed {
		dirs = 0
	}
	if n >= math.MaxUint32 || members > math.MaxUint32 || parts > maxParts || keys > math.MaxUint32 || names > math.MaxUint16 || dirs > maxDirBytes {
		return nil, errIndex
	}
	start, blocks := indexLayout(int(n), int(members), int(parts), int(keys), int(names+dirs))
	if start+int((n+1)*sampleBytes+members*memberBytes+keys) != len(data) || le.Uint64(data[8:]) != xxh3.Hash(data[16:start]) {
		return nil, errIndex
	}
	x := &index{
		n: int64(n), listed: listed, members: int64(members), keys: int64(keys), size: want.size,
		header: data[:start:start], hash: le.Uint64(data[8:]), sums: bytes.Clone(data[start-8*blocks : start]),
	}
	ends := data[indexHeader : indexHeader+2*parts]
	text := data[indexHeader+2*parts:][:names+dirs]
	if x.dirs = text[names:]; !x.name(ends, text[:names]) || dirs > 0 && x.dirs[dirs-1] != 0 {
		return nil, errIndex
	}
	x.hold(data[start:])
	return x, nil
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

// hold takes a body of which nothing has been checked.
func (x *index) hold(body []byte) {
	blocks := (len(body) + indexBlock - 1) / indexBlock
	x.content.Store(&indexBody{body, make([]atomic.Uint32, (blocks+31)/32)})
}

// look is a range of the body, which is as it was written. The range is not empty.
func (x *index) look(from, to int64) ([]byte, error) {
	c := x.content.Load()
	for k := int(from / indexBlock); k <= int((to-1)/indexBlock); k++ {
		if word, bit := &c.checked[k/32], uint32(1)<<(k%32); word.Load()&bit == 0 {
			if xxh3.Hash(blockOf(c.data, k)) != binary.LittleEndian.Uint64(x.sums[8*k:]) {
				return nil, errIndex
			}
			word.Or(bit)
		}
	}
	return c.data[from:to:to], nil
}

// caught makes a fault in a mapping, whose file was cut off, damage like any other; without it the process would end. It is deferred
// by what looks at a mapping, with what debug.SetPanicOnFault(true) returned.
func caught(before bool, err *error) {
	debug.SetPanicOnFault(before)
	switch fault := recover().(type) {
	case nil:
	case interface{ Addr() uintptr }:
		*err = errIndex
	default:
		panic(fault)
	}
}

// appendKey appends the key of sample i.
func (x *index) appendKey(i int64, dst []byte) (key []byte, err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	_, _, key, err = x.sample(i)
	return append(dst, key...), err
}

// sample is the range of sample i's members, and its key, in the mapping.
func (x *index) sample(i int64) (from, to int64, key []byte, err error) {
	s, err := x.look(i*sampleBytes, (i+2)*sampleBytes)
	if err != nil {
		return 0, 0, nil, err
	}
	le := binary.LittleEndian
	from, to = int64(le.Uint32(s)), int64(le.Uint32(s[8:]))
	first, end := int64(le.Uint32(s[4:])), int64(le.Uint32(s[12:]))
	if from >= to || to > x.members || first > end || end > x.keys {
		return 0, 0, nil, errIndex
	}
	if first < end {
		keys := (x.n+1)*sampleBytes + x.members*memberBytes
		key, err = x.look(keys+first, keys+end)
	}
	return from, to, key, err
}

// appendMembers appends the members of sample i.
func (x *index) appendMembers(i int64, dst []indexMember) (members []indexMember, err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	from, to, _, err := x.sample(i)
	if err != nil {
		return dst, err
	}
	le := binary.LittleEndian
	start := (x.n + 1) * sampleBytes
	all, err := x.look(start+from*memberBytes, start+to*memberBytes)
	for ; len(all) > 0; all = all[memberBytes:] {
		m := indexMember{
			off: int64(le.Uint32(all)) | int64(all[10])<<32, size: le.Uint32(all[4:]), part: le.Uint16(all[8:]),
			number: all[11]&flagNumber != 0, value: int64(int32(le.Uint32(all[12:]))),
			several: all[11]&flagSeveral != 0, split: all[11]&flagSplit != 0,
		}
		if all[11]&flagWide != 0 {
			if m.value, err = x.wide(int64(le.Uint32(all[12:]))); err != nil {
				return dst, err
			}
		}
		if int(m.part) >= len(x.parts) || m.off+int64(m.size) > x.size {
			return dst, errIndex
		}
		dst = append(dst, m)
	}
	return dst, err
}

// wide is the number at a place behind the keys.
func (x *index) wide(at int64) (int64, error) {
	if at+wideBytes > x.keys {
		return 0, errIndex
	}
	keys := (x.n+1)*sampleBytes + x.members*memberBytes
	v, err := x.look(keys+at, keys+at+wideBytes)
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(v)), nil
}

// openIndex maps the index in a file. Any error means: there is none that can be used. kept says that the file lies among those that are removed in time, and
// not beside an archive.
func openIndex(path string, want version, kept bool) (*index, error) {
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
	// The file is replaced by rename and never written again. Whoever cuts it off nevertheless does not end the process: see caught.
	data, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(data, want)
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(data))
	}
	x.file, x.maps = path, [][]byte{data}
	if x.ofOldRecords() {
		return nil, errors.Join(errIndex, x.close())
	}
	if kept {
		inUse(fd)
	}
	return x, nil
}

// close gives the mappings back; an index in plain memory has none.
func (x *index) close() error {
	var errs []error
	for _, m := range x.maps {
		errs = append(errs, unix.Munmap(m))
	}
	return errors.Join(errs...)
}

// mend replaces a damaged body by one that is made again, once. The header says what the body was, so the new one must have the same.
func (x *index) mend(again func() (*index, error)) error {
	x.mending.Lock()
	defer x.mending.Unlock()
	if x.mended {
		return x.damage
	}
	x.mended = true
	fresh, err := again()
	if err == nil && fresh.hash != x.hash {
		err = errors.Join(errors.New("the archive has another one now"), fresh.close())
	}
	if err != nil {
		x.damage = err
		return err
	}
	x.maps = append(x.maps, fresh.maps...)
	x.hold(fresh.content.Load().data)
	return nil
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
