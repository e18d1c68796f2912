package source

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

// An entry of the cache is one sample: magic, xxh3 of the rest with the first half of what names the entry, number of parts, number of columns, the bytes of each part, the end of
// each column's value, the values, the parts, each but the last with Padding zero bytes behind it. All numbers are little-endian.
const (
	entryMagic  = "SPDLCE\x00\x03"
	entryHeader = 24
	touchAfter  = time.Minute      // an entry is marked as used at most so often
	fullPause   = 10 * time.Second // nothing is written for so long after the disk was full
	keepShare   = 9                // of ten: what stays after an eviction
	strayAge    = time.Hour        // a file in tmp that is older was left by a process that died
	usageBytes  = 4096
	entryDirs   = 256 // by the first byte of an entry's name
)

// noBytes is the padding of a part.
var noBytes [Padding]byte

// CacheConfig says where a cache is and how much it holds.
type CacheConfig struct {
	Dir      string
	MaxBytes int64
	Never    bool            // never evict: when it is full nothing more is kept
	Unkept   func(err error) // is told why the system did not let a sample be kept; nil: nobody. Of several goroutines
}

// CacheStats count what a cache has done in this process.
type CacheStats struct {
	Hits     uint64 `json:"hits"`
	Misses   uint64 `json:"misses"`
	Stored   uint64 `json:"stored"`
	Corrupt  uint64 `json:"corrupt"`  // entries that were damaged, and fetched again
	Bypassed uint64 `json:"bypassed"` // samples not kept: the cache or the disk was full
	Failed   uint64 `json:"failed"`   // samples not kept: the system refused
	Evicted  uint64 `json:"evicted"`
	Bytes    int64  `json:"bytes"` // of all entries, whoever stored them
}

// Cache keeps the bytes of samples as files in a directory, for any number of processes. An entry is named by what it is
// of: archive, version, sample and the parts asked for; it is put in place by a rename and checked by a hash when it is
// read, so a process may die at any moment. Nothing is synced: what a power cut leaves is found by the hash.
type Cache struct {
	c     CacheConfig
	root  root
	usage atomic.Pointer[usage]
	old   []*usage // those before it; guarded by mending
	tmp   atomic.Uint64

	hits, misses, stored, corrupt, bypassed, failed, evicted atomic.Uint64

	pausedUntil atomic.Int64 // nanoseconds since begun
	begun       time.Time
	mending     sync.Mutex               // who makes the counter again
	busy        atomic.Bool              // an eviction or a count is under way
	work        sync.WaitGroup           // those
	recountAt   atomic.Int64             // nanoseconds since begun: not before
	changed     [entryDirs]unix.Timespec // when the directories had changed last at a count; of whoever is busy
}

// OpenCache opens a directory, making it if it is not there.
func OpenCache(c CacheConfig) (*Cache, error) {
	k := &Cache{c: c, begun: time.Now()}
	if err := k.open(); err != nil {
		return nil, fmt.Errorf("source: cache %q: %w; make room, or name a directory in which this user may make files", c.Dir, err)
	}
	return k, nil
}

func (k *Cache) open() error {
	if err := os.MkdirAll(filepath.Join(k.c.Dir, "tmp"), 0o700); err != nil {
		return err
	}
	for n := range entryDirs {
		if err := os.Mkdir(filepath.Join(k.c.Dir, entryDir(n)), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	var err error
	if k.root, err = openRoot(k.c.Dir, 1<<40); err != nil {
		return err
	}
	u, err := k.mapUsage()
	if err != nil {
		return errors.Join(err, k.root.close())
	}
	k.usage.Store(u)
	k.removeStrays()
	return nil
}

func (k *Cache) removeStrays() {
	dir := filepath.Join(k.c.Dir, "tmp")
	files, err := os.ReadDir(dir)
	if err != nil {
		return // strays cost room, no more
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > strayAge {
			_ = os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

// Stats reads the counters.
func (k *Cache) Stats() CacheStats {
	used, _ := k.usage.Load().add(0)
	return CacheStats{k.hits.Load(), k.misses.Load(), k.stored.Load(), k.corrupt.Load(), k.bypassed.Load(), k.failed.Load(), k.evicted.Load(), used}
}

// Close waits for an eviction or a count under way. The sources that use the cache are closed before.
func (k *Cache) Close() error {
	k.work.Wait()
	err := k.root.close()
	for _, u := range append(k.old, k.usage.Load()) {
		err = errors.Join(err, unix.Munmap(u.data))
	}
	return err
}

// Wrap is the source with its samples kept. It is refused for a source without versions.
func (k *Cache) Wrap(s Source) (Source, error) {
	v, ok := s.(Versioned)
	if !ok {
		return nil, errors.New("source: cache: keeps samples that have a version, and those of source.host have none; leave cache.dir out")
	}
	c := &cached{outer: outer{s}, versions: v, cache: k}
	c.columns = len(c.Columns())
	return c, nil
}

// cached is a source behind a cache.
type cached struct {
	outer
	versions Versioned
	cache    *Cache
	columns  int
}

// Identity is that of the source behind it.
func (c *cached) Identity(i int64, dst []byte) []byte { return c.versions.Identity(i, dst) }

func (c *cached) Read(ctx context.Context, i int64, b *Buffer) error {
	sum, known := c.sum(i, b)
	if !known {
		return c.Source.Read(ctx, i, b) // which will say what is wrong with it
	}
	n := entryPath(b.path[:0], sum)
	if c.cache.load(ctx, b, n, c.columns, sum) {
		c.cache.hits.Add(1)
		return nil
	}
	c.cache.misses.Add(1)
	if err := c.Source.Read(ctx, i, b); err != nil {
		return err
	}
	// A file may have been written again between the look at its version and the reading.
	if now, known := c.sum(i, b); known && now == sum {
		c.cache.store(b, sum)
	}
	return nil
}

// sum names the entry of a sample; known is false where its version cannot be told.
func (c *cached) sum(i int64, b *Buffer) (sum [16]byte, known bool) {
	b.identity = c.versions.Identity(i, b.identity[:0])
	return xxh3.Hash128(b.identity).Bytes(), len(b.identity) > 0
}

// entryDir is the name of the nth directory of entries.
func entryDir(n int) string { return fmt.Sprintf("%02x", n) }

// entryPath writes "ab/abcdef..." and returns its length.
func entryPath(dst []byte, sum [16]byte) int {
	dst = append(hex.AppendEncode(dst, sum[:1]), '/')
	return len(hex.AppendEncode(dst, sum[:]))
}

// load reads the entry b.path[:n] into the buffer; false: there is none that can be used.
func (k *Cache) load(ctx context.Context, b *Buffer, n, columns int, sum [16]byte) bool {
	b.drop()
	fd, err := k.root.open(b, n)
	if err != nil {
		return false
	}
	size, err := k.root.fill(ctx, fd, b)
	if err == nil && !b.entry(size, columns, sum) {
		err = errIndex
	}
	if err == nil && time.Since(time.Unix(b.stat[0].Mtim.Unix())) > touchAfter {
		touch(fd) // the order of eviction may be wrong by as much
	}
	unix.Close(fd)
	if err == nil {
		return true
	}
	b.drop()
	if ctx.Err() == nil {
		k.corrupt.Add(1)
		k.remove(string(b.path[:n]))
	}
	return false
}

// touch sets a file's time to now.
func touch(fd int) {
	_, _, _ = unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0, 0, 0)
}

// entry checks an entry that lies in the buffer's memory, and is of that name, and makes it the buffer's sample.
func (b *Buffer) entry(size, columns int, sum [16]byte) bool {
	le, e := binary.LittleEndian, b.mem[:size]
	if size < entryHeader || string(e[:8]) != entryMagic || le.Uint64(e[8:]) != xxh3.Hash(e[16:])^le.Uint64(sum[:]) {
		return false
	}
	parts, n := int(le.Uint32(e[16:])), int(le.Uint32(e[20:]))
	if parts+n == 0 || parts > maxMedia || n != columns || size < entryHeader+4*parts+4*n {
		return false
	}
	lens, ends := e[entryHeader:], e[entryHeader+4*parts:]
	at := size
	for k := range parts {
		at -= int(le.Uint32(lens[4*k:])) + min(k, 1)*Padding
	}
	if at < entryHeader+4*parts+4*n {
		return false
	}
	values := e[entryHeader+4*parts+4*n : at]
	last := 0
	for c := range n {
		end := int(le.Uint32(ends[4*c:]))
		if end < last || end > len(values) {
			return false
		}
		b.columns = append(b.columns, value{lies: values[last:end:end]})
		last = end
	}
	for k := range parts {
		b.hold(at, int(le.Uint32(lens[4*k:])))
		at += b.parts[k].n + Padding
	}
	return last == len(values)
}

// store keeps the buffer's sample, if there is room and the system lets it.
func (k *Cache) store(b *Buffer, sum [16]byte) {
	size := b.entrySize()
	if !k.admit(size) {
		k.bypassed.Add(1)
		return
	}
	err := k.write(b, sum)
	if err == nil {
		k.stored.Add(1)
		return
	}
	k.count(-size)
	if errors.Is(err, unix.EEXIST) { // somebody else has kept it meanwhile, and counted it
		return
	}
	if k.c.Unkept != nil {
		k.c.Unkept(err)
	}
	switch {
	case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT):
		k.pausedUntil.Store(int64(time.Since(k.begun) + fullPause))
		k.bypassed.Add(1)
	default:
		k.failed.Add(1)
	}
}

// entrySize is the bytes of the sample's entry.
func (b *Buffer) entrySize() int64 {
	n := entryHeader + 4*len(b.parts) + 4*len(b.columns) + max(len(b.parts)-1, 0)*Padding
	for k := range b.parts {
		n += b.parts[k].n
	}
	for c := range b.columns {
		n += len(b.Value(c))
	}
	return int64(n)
}

// write puts the entry in place; unix.EEXIST: it is there.
func (k *Cache) write(b *Buffer, sum [16]byte) error {
	le := binary.LittleEndian
	head := b.scratch[:0]
	head = append(head, entryMagic...)
	head = le.AppendUint64(head, 0)
	head = le.AppendUint32(le.AppendUint32(head, uint32(len(b.parts))), uint32(len(b.columns)))
	for _, p := range b.parts {
		head = le.AppendUint32(head, uint32(p.n))
	}
	end := 0
	for c := range b.columns {
		end += len(b.Value(c))
		head = le.AppendUint32(head, uint32(end))
	}
	b.scratch = head
	h := xxh3.New()
	_, _ = h.Write(head[16:]) // a hash takes everything
	all := [][]byte{head}
	for c := range b.columns {
		all = append(all, b.Value(c))
	}
	for k := range b.parts {
		if k > 0 {
			all = append(all, noBytes[:])
		}
		all = append(all, b.Part(k))
	}
	for _, data := range all[1:] {
		_, _ = h.Write(data)
	}
	le.PutUint64(head[8:], h.Sum64()^le.Uint64(sum[:]))

	tmp := fmt.Sprintf("tmp/%d-%d-%d", os.Getpid(), k.begun.UnixNano(), k.tmp.Add(1))
	fd, err := unix.Openat(k.root.fd, tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	err = writeAll(fd, all...)
	err = errors.Join(err, unix.Close(fd))
	if err == nil {
		var path [40]byte
		err = k.place(tmp, string(path[:entryPath(path[:0], sum)]))
	}
	if err != nil {
		_ = unix.Unlinkat(k.root.fd, tmp, 0) // removeStrays comes later
	}
	return err
}

// place gives a file in tmp its name, unless there is one of that name. Where the file system cannot tell the two together, two who keep one
// sample at the same moment count it twice, until an eviction.
func (k *Cache) place(tmp, path string) error {
	err := unix.Renameat2(k.root.fd, tmp, k.root.fd, path, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	if unix.Faccessat(k.root.fd, path, unix.F_OK, 0) == nil {
		return unix.EEXIST
	}
	return unix.Renameat(k.root.fd, tmp, k.root.fd, path)
}

func writeAll(fd int, parts ...[]byte) error {
	for _, p := range parts {
		for len(p) > 0 {
			n, err := unix.Write(fd, p)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				return err
			}
			p = p[n:]
		}
	}
	return nil
}
