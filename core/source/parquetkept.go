package source

import (
	"encoding/binary"
	"io"
	"os"
	"slices"
	"sort"
	"sync"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

// What opening reads of a Parquet file in a store, its end and the pages of columns that are held in memory, is kept on a disk as it is. The next opening
// of the same version asks the store for that version, and nothing else.
//
// It is kept in a file: keptMagic; the xxh3 of all behind it; the object's size and version; and for each stretch where it begins, its length, and its
// bytes. All numbers are little-endian u64s.
const (
	keptMagic  = "SPDLPQT\x01"
	keptHead   = len(keptMagic) + 3*8
	keptEnding = ".spdl-parquet"
	keptBytes  = 16 << 20 // of one Parquet file; what is read beyond is read again the next time
)

// keptRange is some neighbouring bytes of a file.
type keptRange struct {
	from int64
	data []byte
}

// keptReader reads an object of a store, until the opening is over from what is kept of it. Any number of goroutines may use it.
type keptReader struct {
	object  objectReader
	path    string // of the file; "": nothing is kept
	version version

	mu    sync.Mutex  // guards the rest
	known []keptRange // ascending
	bytes int         // of them
	fresh bool        // some are not in the file
	over  bool
}

// newKeptReader takes what an opening before has kept of this version.
func newKeptReader(o objectReader, path string) *keptReader {
	k := &keptReader{object: o, path: path, version: versionOfObject(o.o), over: path == ""}
	if k.over {
		return k
	}
	st, err := os.Stat(path)
	if err != nil || st.Size() > 2*keptBytes {
		return k
	}
	data, err := os.ReadFile(path)
	if err == nil && !k.parse(data) {
		k.known, k.bytes = nil, 0
	} else if err == nil {
		markUsed(path)
	}
	return k
}

// markUsed says of a kept file that it was used now.
func markUsed(path string) {
	now := unix.Timespec{Nsec: unix.UTIME_NOW}
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{now, now}, 0)
}

// parse takes the stretches of a file, or says that it is not of this version, or damaged.
func (k *keptReader) parse(data []byte) bool {
	le, head := binary.LittleEndian, len(keptMagic)
	if len(data) < keptHead || string(data[:head]) != keptMagic || le.Uint64(data[head:]) != xxh3.Hash(data[head+8:]) ||
		int64(le.Uint64(data[head+8:])) != k.version.size || le.Uint64(data[head+16:]) != k.version.tag {
		return false
	}
	for data = data[keptHead:]; len(data) > 0; {
		if len(data) < 16 || le.Uint64(data[8:]) > uint64(len(data)-16) {
			return false
		}
		n, from := int(le.Uint64(data[8:])), int64(le.Uint64(data))
		if from < 0 || from > k.version.size-int64(n) {
			return false
		}
		k.known = append(k.known, keptRange{from, data[16:][:n:n]})
		k.bytes, data = k.bytes+n, data[16+n:]
	}
	return slices.IsSortedFunc(k.known, func(a, b keptRange) int { return int(a.from - b.from) })
}

func (k *keptReader) ReadAt(p []byte, off int64) (int, error) {
	if n := min(int64(len(p)), k.version.size-off); n > 0 && k.find(p[:n], off) {
		if n < int64(len(p)) {
			return int(n), io.EOF
		}
		return int(n), nil
	}
	n, err := k.object.ReadAt(p, off)
	if err == nil || err == io.EOF {
		k.keep(p[:n], off)
	}
	return n, err
}

// place is where a stretch that begins behind off stands, or would stand.
func (k *keptReader) place(off int64) int {
	return sort.Search(len(k.known), func(i int) bool { return k.known[i].from > off })
}

// find fills p with what is kept.
func (k *keptReader) find(p []byte, off int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := k.place(off) - 1
	if at < 0 || off+int64(len(p)) > k.known[at].from+int64(len(k.known[at].data)) {
		return false
	}
	copy(p, k.known[at].data[off-k.known[at].from:])
	return true
}

// keep takes a stretch that was read during the opening.
func (k *keptReader) keep(p []byte, off int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over || len(p) == 0 || k.bytes+len(p) > keptBytes {
		return
	}
	k.known = slices.Insert(k.known, k.place(off), keptRange{off, slices.Clone(p)})
	k.bytes, k.fresh = k.bytes+len(p), true
}

// save ends the opening: it writes down what was read, if there is anything that is not there yet, and lets go of it.
func (k *keptReader) save() (fresh bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, fresh := k.known, k.fresh
	if k.known, k.over = nil, true; !fresh {
		return false, nil
	}
	le := binary.LittleEndian
	data := make([]byte, len(keptMagic)+8, keptHead+k.bytes+16*len(known))
	copy(data, keptMagic)
	data = le.AppendUint64(le.AppendUint64(data, uint64(k.version.size)), k.version.tag)
	for _, s := range known {
		data = append(le.AppendUint64(le.AppendUint64(data, uint64(s.from)), uint64(len(s.data))), s.data...)
	}
	le.PutUint64(data[len(keptMagic):], xxh3.Hash(data[len(keptMagic)+8:]))
	return true, writeFile(k.path, data)
}
