package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A file of LMDB (0.9, of 64 bits) is pages. The first two are the roots of the last two transactions, of which the later one counts: the size of a page, and of the main
// database the depth of its tree, its number of values and its root. A page of the tree begins with its number, its kind, and the bounds of its free room, before
// which are the places of its nodes. A node of a branch has the page of a subtree; one of a leaf a key and a value, which is there or, where it is large, in pages
// of its own, one behind the other, with a head before it. So each value is a range of the file. Nothing is locked: a file that is written meanwhile is another version.
const (
	lmdbName    = "data.mdb" // in a directory
	lmdbMagic   = 0xbeefc0de
	lmdbVersion = 1
	lmdbHead    = 16 // of a page
	lmdbMeta    = lmdbHead + 136
	lmdbNode    = 8 // of a node, before its key
	lmdbDeepest = 32
	lmdbNone    = ^uint64(0) // the root of a tree without a page

	lmdbBranch, lmdbLeaf            = 1, 2    // kinds of a page,
	lmdbDirty                       = 16      // and what may be beside them, of one that was written through a map
	lmdbBig, lmdbSub, lmdbDuplicate = 1, 2, 4 // flags of a node
	lmdbDupSort                     = 4       // of a database

	asDump = "write it anew with mdb_dump there and mdb_load here"
)

// lmdbEndings are those of files of LMDB.
var lmdbEndings = []string{".mdb", ".lmdb"}

// lmdbNamed says that a shard is a file of LMDB by its name.
func lmdbNamed(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), "?")
	return slices.Contains(lmdbEndings, filepath.Ext(base))
}

// errFarLMDB refuses a database by an address: a walk over its tree would be a request a page.
var errFarLMDB = errors.New("LMDB is read from a disk alone, as each page of its tree would be a request; copy it here, or pack it into tar shards once (spdl pack) and read those from the store")

// lmdb is a database whose tree is walked.
type lmdb struct {
	w       *window
	page    int64 // bytes of one
	last    uint64
	depth   int
	flags   uint16
	entries uint64
	root    uint64
	txn     uint64
	reached []uint64                // a bit for each page
	levels  [lmdbDeepest + 1][]byte // the page in hand of each level
}

// lmdbValue is where a value lies.
type lmdbValue struct{ off, size int64 }

// openLMDB reads the later root that is one.
func openLMDB(w *window) (*lmdb, error) {
	best, err := lmdbRoot(w, 0)
	sizes := []int64{}
	if best != nil {
		sizes = append(sizes, best.page)
	} else {
		for size := int64(1 << 8); size <= 1<<16; size *= 2 {
			sizes = append(sizes, size)
		}
	}
	for _, size := range sizes {
		if other, _ := lmdbRoot(w, size); other != nil && other.page == size && (best == nil || other.txn > best.txn) {
			best = other
		}
	}
	if best == nil {
		return nil, err
	}
	if best.flags&lmdbDupSort != 0 {
		return nil, errors.New("its keys have several values each (DUPSORT), which is not read here; " + byLoop)
	}
	best.reached = make([]uint64, w.size/best.page/64+1)
	return best, nil
}

// lmdbRoot is the root at a place.
func lmdbRoot(w *window, at int64) (*lmdb, error) {
	head, err := w.bytes(at, lmdbMeta)
	if err != nil {
		return nil, cutShort(err, w.size)
	}
	le := binary.LittleEndian
	const free, main = 40, 88
	switch magic := le.Uint32(head[lmdbHead:]); {
	case magic != lmdbMagic && (binary.BigEndian.Uint32(head[lmdbHead:]) == lmdbMagic || le.Uint32(head[lmdbHead-4:]) == lmdbMagic):
		return nil, errors.New("it is LMDB's of another byte order or of 32 bits; " + asDump)
	case magic != lmdbMagic:
		return nil, fmt.Errorf("no LMDB, or damaged: got %08x at %d, want %08x; write or copy it again", magic, at+lmdbHead, uint32(lmdbMagic))
	}
	if v := le.Uint32(head[20:]); v != lmdbVersion {
		return nil, fmt.Errorf("got LMDB's format %d, want %d, as 0.9 has it; %s", v, lmdbVersion, asDump)
	}
	db := &lmdb{w: w, page: int64(le.Uint32(head[free:])), flags: le.Uint16(head[main+4:]), depth: int(le.Uint16(head[main+6:])), entries: le.Uint64(head[main+32:]),
		root: le.Uint64(head[main+40:]), last: le.Uint64(head[136:]), txn: le.Uint64(head[144:])}
	switch {
	case db.page < 1<<8 || db.page > 1<<16 || db.page&(db.page-1) != 0:
		return nil, fmt.Errorf("damaged: got pages of %d bytes, want a power of 2 from 256 to 65536; write or copy it again", db.page)
	case db.depth > lmdbDeepest || (db.depth == 0) != (db.root == lmdbNone):
		return nil, fmt.Errorf("damaged: got a tree %d pages deep with its root at page %d, want at most %d; write or copy it again", db.depth, db.root, lmdbDeepest)
	}
	return db, nil
}

// read is a page of the tree at a depth, of which 1 is the root's; it is valid until another of that depth is read.
func (d *lmdb) read(number uint64, deep int) ([]byte, error) {
	if number < 2 || number > d.last {
		return nil, fmt.Errorf("damaged: page %d, want one from 2 to %d; write or copy it again", number, d.last)
	}
	page, err := d.w.bytes(int64(number)*d.page, int(d.page))
	if number > uint64(d.w.size/d.page) || errors.Is(err, errEnd) {
		return nil, fmt.Errorf("truncated: page %d lies beyond the %d bytes; write or copy it again", number, d.w.size)
	}
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	kind, want := le.Uint16(page[10:]), uint16(lmdbBranch)
	if deep == d.depth {
		want = lmdbLeaf
	}
	lower, upper := int(le.Uint16(page[12:])), int(le.Uint16(page[14:]))
	switch {
	case le.Uint64(page) != number || kind&^lmdbDirty != want:
		return nil, fmt.Errorf("damaged: page %d says that it is number %d of kind %d, want kind %d; write or copy it again", number, le.Uint64(page), kind, want)
	case lower < lmdbHead || lower%2 != 0 || lower > upper || upper > int(d.page):
		return nil, fmt.Errorf("damaged: page %d has its free room from %d to %d; write or copy it again", number, lower, upper)
	}
	d.levels[deep] = append(d.levels[deep][:0], page...)
	return d.levels[deep], nil
}

// lmdbNodeAt is the k-th node of a page: its head, its key, and what is from there on in the page.
func lmdbNodeAt(page []byte, k int) (head, key, rest []byte, err error) {
	le := binary.LittleEndian
	at := int(le.Uint16(page[lmdbHead+2*k:]))
	if at < int(le.Uint16(page[14:])) || at+lmdbNode > len(page) || at+lmdbNode+int(le.Uint16(page[at+6:])) > len(page) {
		return nil, nil, nil, fmt.Errorf("damaged: node %d of page %d is at %d and leads out of the page; write or copy it again", k, le.Uint64(page), at)
	}
	end := at + lmdbNode + int(le.Uint16(page[at+6:]))
	return page[at : at+lmdbNode], page[at+lmdbNode : end], page[end:], nil
}

// lmdbNodes is how many a page has.
func lmdbNodes(page []byte) int { return (int(binary.LittleEndian.Uint16(page[12:])) - lmdbHead) / 2 }

// subtree is the page that a node of a branch has.
func lmdbSubtree(head []byte) uint64 {
	return binary.LittleEndian.Uint64(head) & (1<<48 - 1)
}

// reach notes so many pages as reached: none is twice, whatever they say, so a walk ends.
func (d *lmdb) reach(first, n uint64) error {
	for p := first; p < first+n; p++ {
		if d.reached[p/64]&(1<<(p%64)) != 0 {
			return fmt.Errorf("damaged: two ways lead to page %d; write or copy it again", p)
		}
		d.reached[p/64] |= 1 << (p % 64)
	}
	return nil
}

// walk calls take with every key, in their order, and where its value lies, until ctx ends.
func (d *lmdb) walk(ctx context.Context, take func(key []byte, v lmdbValue) error) error {
	n := uint64(0)
	counting := func(key []byte, v lmdbValue) error {
		n++
		return take(key, v)
	}
	if d.root != lmdbNone {
		if err := d.walkFrom(ctx, d.root, 1, counting); err != nil {
			return err
		}
	}
	if n != d.entries {
		return fmt.Errorf("damaged: got %d keys, want %d; write or copy it again", n, d.entries)
	}
	return nil
}

func (d *lmdb) walkFrom(ctx context.Context, number uint64, deep int, take func(key []byte, v lmdbValue) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	page, err := d.read(number, deep)
	if err == nil {
		err = d.reach(number, 1)
	}
	if err != nil {
		return err
	}
	for k := range lmdbNodes(page) {
		head, key, rest, err := lmdbNodeAt(page, k)
		if err != nil {
			return err
		}
		if deep < d.depth {
			err = d.walkFrom(ctx, lmdbSubtree(head), deep+1, take)
		} else {
			var v lmdbValue
			if v, err = d.value(page, head, key, rest); err == nil {
				err = take(key, v)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// value is where that of a leaf's node lies. The head before a large one is not looked at: its place and its size are told by the node.
func (d *lmdb) value(page, head, key, rest []byte) (v lmdbValue, err error) {
	le := binary.LittleEndian
	flags := le.Uint16(head[4:])
	v.size = int64(le.Uint32(head))
	number := le.Uint64(page)
	switch {
	case flags&lmdbDuplicate != 0:
		return v, fmt.Errorf("key %.60q has several values (DUPSORT), which is not read here; %s", key, byLoop)
	case flags&lmdbSub != 0:
		return v, fmt.Errorf("it holds databases in the database, such as %.60q, which are not read here; %s", key, byLoop)
	case flags&^lmdbBig != 0:
		return v, fmt.Errorf("damaged: key %.60q in page %d has the flags %x; write or copy it again", key, number, flags)
	case flags&lmdbBig == 0:
		if v.off = int64(number)*d.page + int64(len(page)-len(rest)); v.size > int64(len(rest)) {
			return v, fmt.Errorf("damaged: the value of %.60q leads out of page %d; write or copy it again", key, number)
		}
		return v, nil
	case len(rest) < 8:
		return v, fmt.Errorf("damaged: the value of %.60q leads out of page %d; write or copy it again", key, number)
	}
	first := le.Uint64(rest)
	pages := uint64(lmdbHead+v.size+d.page-1) / uint64(d.page)
	switch {
	case first < 2 || first > d.last || pages > d.last-first+1:
		return v, fmt.Errorf("damaged: the value of %.60q is in %d pages from %d on, want pages from 2 to %d; write or copy it again", key, pages, first, d.last)
	case first > uint64(d.w.size/d.page) || int64(first)*d.page+lmdbHead+v.size > d.w.size:
		return v, fmt.Errorf("truncated: the value of %.60q lies beyond the %d bytes; write or copy it again", key, d.w.size)
	}
	v.off = int64(first)*d.page + lmdbHead
	return v, d.reach(first, pages)
}

// find is the value of a key, in a database whose keys are in the order of their bytes; false where there is none.
func (d *lmdb) find(key string) (v lmdbValue, found bool, err error) {
	for number, deep := d.root, 1; d.root != lmdbNone; deep++ {
		page, err := d.read(number, deep)
		if err != nil {
			return v, false, err
		}
		below := false
		for k := range lmdbNodes(page) {
			head, other, rest, err := lmdbNodeAt(page, k)
			switch {
			case err != nil:
				return v, false, err
			case deep == d.depth && string(other) == key:
				clear(d.reached)
				v, err = d.value(page, head, other, rest)
				clear(d.reached)
				return v, err == nil, err
			case deep < d.depth && (k == 0 || bytes.Compare(other, []byte(key)) <= 0):
				number, below = lmdbSubtree(head), true
			}
		}
		if !below {
			break
		}
	}
	return v, false, nil
}

// areLMDB says that a file begins as one of LMDB does.
func areLMDB(w *window) bool {
	head, err := w.bytes(0, lmdbMeta)
	return err == nil && binary.LittleEndian.Uint32(head[lmdbHead:]) == lmdbMagic
}
