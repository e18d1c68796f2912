package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxNumberText is the most bytes of a member that may be a label: any number of 64 bits, its sign, and blanks around it.
const maxNumberText = 32

// indexBuilder groups the members of an archive into samples. Neighbouring members that are equal up to the first dot of
// their base name are one sample; what follows the dot names the part.
type indexBuilder struct {
	keys    []byte
	samples []uint32 // pairs: first member, start of its key
	members []indexMember
	wide    int      // members that are numbers beyond 32 bits
	parts   []string // names of parts, in order of appearance
	partID  map[string]int
	fixed   bool                // there are no other parts than those in partID
	seen    map[string]struct{} // keys before the one in hand
	last    []byte              // key in hand

	dirs    []byte              // names of the first-level directories, a zero byte behind each
	dirSeen map[string]struct{} // what is in dirs
	tooMany bool                // there is no room for them in the header
}

// indexMember is where one part of a sample lies.
type indexMember struct {
	off     int64
	size    uint32
	part    uint16
	number  bool // the content is a whole number, value,
	value   int64
	several bool // or the first of several is; of a chunk of records, it has several
	split   bool // it is a record of RecordIO in several parts, with their heads between them
}

// wide says that a number takes more than 32 bits.
func (m *indexMember) wide() bool { return m.value != int64(int32(m.value)) }

func newIndexBuilder() *indexBuilder {
	return &indexBuilder{partID: map[string]int{}, seen: map[string]struct{}{}, dirSeen: map[string]struct{}{}}
}

// splitMember cuts a member's name into the sample's key and the part: "a/0001.seg.png" is "a/0001" and "seg.png".
// ok is false for what is passed over: hidden files and "__...__", which hold facts about the archive.
func splitMember(name []byte) (key, part []byte, ok bool) {
	base := name[bytes.LastIndexByte(name, '/')+1:]
	if base[0] == '.' || bytes.HasPrefix(base, []byte("__")) && bytes.Contains(base[2:], []byte("__")) {
		return nil, nil, false
	}
	dot := bytes.IndexByte(base, '.')
	if dot < 0 {
		return name, nil, true
	}
	return name[:len(name)-len(base)+dot], bytes.ToLower(base[dot+1:]), true
}

// checkMember refuses names that would be somewhere else than below the archive.
func checkMember(name []byte) ([]byte, error) {
	clean := name
	for bytes.HasPrefix(clean, []byte("./")) {
		clean = clean[2:]
	}
	switch {
	case len(clean) == 0 || clean[len(clean)-1] == '/':
		return nil, fmt.Errorf("member %.200q: got an empty name", name)
	case len(clean) >= maxPath:
		return nil, fmt.Errorf("member %.200q: got a name of %d bytes, want at most %d", name, len(clean), maxPath-1)
	case bytes.IndexByte(clean, 0) >= 0:
		return nil, fmt.Errorf("member %.200q: got a zero byte in the name", name)
	case clean[0] == '/' || hasDotDot(clean):
		return nil, fmt.Errorf("member %.200q: the name leaves the archive, want a relative path without \"..\"", name)
	}
	return clean, nil
}

// add takes the archive's next member. read gives its content; it is asked for short ones only.
func (b *indexBuilder) add(name []byte, off, size int64, read func(off int64, n int) ([]byte, error)) error {
	clean, err := checkMember(name)
	if err != nil {
		return err
	}
	key, part, ok := splitMember(clean)
	if !ok {
		return nil
	}
	if len(b.samples) == 0 || !bytes.Equal(key, b.last) {
		if err := b.begin(key); err != nil {
			return err
		}
	}
	id, err := b.part(part)
	if err != nil {
		return err
	}
	for _, m := range b.members[b.samples[len(b.samples)-2]:] {
		if m.part == id {
			return fmt.Errorf("sample %.200q: part %.60q is there twice", key, part)
		}
	}
	m := indexMember{off: off, size: uint32(size), part: id}
	if size > 0 && size <= maxNumberText {
		text, err := read(off, int(size))
		if err != nil {
			return err
		}
		if m.value, m.number = parseLabel(bytes.TrimSpace(text)); m.wide() {
			b.wide++
		}
	}
	b.members = append(b.members, m)
	if len(b.members) > math.MaxUint32/2 {
		return errors.New("got more than 2^31 members; split the archive")
	}
	if len(b.keys)+wideBytes*b.wide > math.MaxUint32 {
		return errors.New("got more than 4 GiB of names and of numbers beyond 32 bits; split the archive")
	}
	return nil
}

func (b *indexBuilder) begin(key []byte) error {
	if len(b.keys)+len(key) > math.MaxUint32 {
		return errors.New("got more than 4 GiB of names; split the archive")
	}
	if _, twice := b.seen[string(key)]; twice {
		return fmt.Errorf("sample %.200q: its key is there again after other samples; the parts of a sample must be neighbours (tar --sort=name; find . -type f | sort | zip -0 -@)", key)
	}
	b.seen[string(key)] = struct{}{}
	b.last = append(b.last[:0], key...)
	b.named(key)
	return nil
}

// named begins a sample of that key.
func (b *indexBuilder) named(key []byte) {
	b.samples = append(b.samples, uint32(len(b.members)), uint32(len(b.keys)))
	b.keys = append(b.keys, key...)
	b.directory(key)
}

// numbered begins a sample whose key is its number in the file.
func (b *indexBuilder) numbered(n int64) error {
	if len(b.keys) > math.MaxUint32-20-wideBytes*b.wide || len(b.members) > math.MaxUint32/2 {
		return errors.New("got more samples or values than an index holds; split the file")
	}
	b.samples = append(b.samples, uint32(len(b.members)), uint32(len(b.keys)))
	b.keys = strconv.AppendInt(b.keys, n, 10)
	return nil
}

// directory lists a key's first-level directory, if it is a new one.
func (b *indexBuilder) directory(key []byte) {
	name, ok := class(key)
	if !ok || b.tooMany {
		return
	}
	if _, known := b.dirSeen[string(name)]; known {
		return
	}
	if b.tooMany = len(b.dirs)+len(name)+1 > maxDirBytes; b.tooMany {
		b.dirSeen = nil
		return
	}
	b.dirSeen[string(name)] = struct{}{}
	b.dirs = append(append(b.dirs, name...), 0)
}

// errOtherPart is part's where the parts are fixed.
var errOtherPart = errors.New("no part of that name is known")

func (b *indexBuilder) part(name []byte) (uint16, error) {
	id, ok := b.partID[string(name)]
	if !ok {
		if b.fixed {
			return 0, errOtherPart
		}
		if len(b.parts) == maxParts {
			return 0, fmt.Errorf("part %.60q: got more than %d different parts; keys must not hold dots in their base name", name, maxParts)
		}
		if len(name) > maxPartName {
			return 0, fmt.Errorf("part %.60q: got a name of %d bytes, want at most %d", name, len(name), maxPartName)
		}
		id = len(b.parts)
		b.parts = append(b.parts, string(name))
		b.partID[string(name)] = id
	}
	return uint16(id), nil
}

// buildTarIndex walks a tar archive until ctx ends.
func buildTarIndex(ctx context.Context, w *window) (*indexBuilder, error) {
	b := newIndexBuilder()
	err := scanTar(w, func(name []byte, off, size int64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return b.add(name, off, size, w.bytes)
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// describeParts is what an index holds, for a message: "jpg, cls, json".
func describeParts(parts []string) string {
	const shown = 12
	text := strings.Join(parts[:min(len(parts), shown)], ", ")
	if len(parts) > shown {
		text += ", ..."
	}
	return text
}
