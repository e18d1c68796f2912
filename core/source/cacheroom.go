package source

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// recountEvery is how often, at most, a cache that keeps nothing more looks whether somebody else has removed entries.
var recountEvery = 10 * time.Second

// usage is the counter of bytes, mapped and shared by all processes: of all entries and of those that are being written, and the inode of the file
// whose counter it is, written when it has been counted for the first time. Every process adds; who has counted adds what the count was wrong by, so
// that nothing is lost that others have added meanwhile.
type usage struct{ data []byte }

func (u *usage) bytes() *atomic.Int64  { return (*atomic.Int64)(unsafe.Pointer(&u.data[0])) }
func (u *usage) inode() *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&u.data[8])) }

// mapUsage maps the counter of bytes. Whoever makes the file counts what is there, and so does who finds one that was copied from elsewhere, or
// whose maker died before it had counted: it does not bear its own inode.
func (k *Cache) mapUsage() (u *usage, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("usage: %w", err)
		}
	}()
	fd, err := unix.Openat(k.root.fd, "usage", unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Flock(fd, unix.LOCK_EX); err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Size != usageBytes {
		// Written, not truncated to its size: a hole that the disk has no room for would end the process. What others have mapped of it is never away.
		if err := errors.Join(writeAll(fd, make([]byte, usageBytes)), unix.Ftruncate(fd, usageBytes)); err != nil {
			return nil, err
		}
	}
	// The mapping keeps the file open, and with it the lock, unless it is given back.
	defer func() { _ = unix.Flock(fd, unix.LOCK_UN) }()
	data, err := unix.Mmap(fd, 0, usageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	// A page that a dying disk cannot give back would end the process. Where so little may not be locked, it is as likely as ever.
	_ = unix.Mlock(data)
	u = &usage{data}
	if err := k.begin(u, st.Ino); err != nil {
		return nil, errors.Join(err, unix.Munmap(data))
	}
	return u, nil
}

// begin counts what is there, for a counter that is not of the file of that inode. The file is locked.
func (k *Cache) begin(u *usage, inode uint64) (err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	if u.inode().Load() == inode {
		return nil
	}
	_, total, err := k.entries()
	if err != nil {
		return err
	}
	u.bytes().Store(total)
	u.inode().Store(inode)
	return nil
}

// count adds to the counter, and is what it says then. A file that somebody has cut off is made again; where it cannot be, the cache is full.
func (k *Cache) count(n int64) (now int64) {
	u := k.usage.Load()
	now, err := u.add(n)
	if err == nil {
		return now
	}
	if u, err = k.mend(u); err == nil {
		now, err = u.add(n)
	}
	if err != nil {
		if k.c.Unkept != nil {
			k.c.Unkept(err)
		}
		return math.MaxInt64
	}
	return now
}

// errUsage is a counter whose file somebody has cut off.
var errUsage = errors.New("usage: the counter of bytes is cut off")

func (u *usage) add(n int64) (now int64, err error) {
	defer func() {
		if err != nil {
			err = errUsage
		}
	}()
	defer caught(debug.SetPanicOnFault(true), &err)
	return u.bytes().Add(n), nil
}

// mend is a counter in place of one whose file is cut off.
func (k *Cache) mend(lost *usage) (*usage, error) {
	k.mending.Lock()
	defer k.mending.Unlock()
	if u := k.usage.Load(); u != lost { // somebody else has been here
		return u, nil
	}
	u, err := k.mapUsage()
	if err == nil {
		k.old = append(k.old, lost)
		k.usage.Store(u)
	}
	return u, err
}

// admit takes room for so many bytes more, and says whether there was any. Where there is none it has room made, or looks for some.
func (k *Cache) admit(size int64) bool {
	now := int64(time.Since(k.begun))
	if size > k.c.MaxBytes || now < k.pausedUntil.Load() {
		return false
	}
	if k.count(size) <= k.c.MaxBytes { // before the entry is there: a process that dies meanwhile leaves a count that is too high
		return true
	}
	k.count(-size)
	makeRoom := k.evict
	if k.c.Never {
		makeRoom = k.recount
	}
	if (!k.c.Never || now >= k.recountAt.Load()) && k.busy.CompareAndSwap(false, true) {
		k.work.Add(1)
		go func() {
			defer k.work.Done()
			defer k.busy.Store(false)
			makeRoom()
		}()
	}
	return false
}

func (k *Cache) remove(path string) {
	var st unix.Stat_t
	if unix.Fstatat(k.root.fd, path, &st, 0) == nil && unix.Unlinkat(k.root.fd, path, 0) == nil {
		k.count(-st.Size)
	}
}

// kept is an entry as an eviction sees it.
type kept struct {
	path string
	size int64
	used time.Time
}

// entries goes through the directory. What somebody removes meanwhile takes no room; an error says that what is there cannot be told.
func (k *Cache) entries() (all []kept, total int64, err error) {
	for n := range entryDirs {
		dir := entryDir(n)
		files, err := os.ReadDir(filepath.Join(k.c.Dir, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, err
		}
		for _, f := range files {
			info, err := f.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, 0, err
			}
			all = append(all, kept{dir + "/" + f.Name(), info.Size(), info.ModTime()})
			total += info.Size()
		}
	}
	return all, total, nil
}

// counting calls f with what is there, and puts the counter right by the bytes that are there behind it. One process does it at a time. Without
// the lock, or where it cannot be told what is there, nothing happens: nothing more is kept then.
func (k *Cache) counting(f func(all []kept, total int64) (left int64)) {
	fd, err := unix.Openat(k.root.fd, "usage", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return // another process is at it
	}
	u := k.usage.Load() // one that is cut off is not made again here, who has its lock
	before, err := u.add(0)
	if err != nil {
		return
	}
	all, total, err := k.entries()
	if err != nil {
		return
	}
	_, _ = u.add(f(all, total) - before)
}

// evict removes the entries used longest ago, until a tenth is free. Entries may go while somebody reads them, who keeps what he has opened.
func (k *Cache) evict() {
	k.counting(func(all []kept, total int64) int64 {
		slices.SortFunc(all, func(a, b kept) int {
			if c := a.used.Compare(b.used); c != 0 {
				return c
			}
			return strings.Compare(a.path, b.path)
		})
		for _, e := range all {
			if total <= k.c.MaxBytes/10*keepShare {
				break
			}
			if unix.Unlinkat(k.root.fd, e.path, 0) == nil {
				total -= e.size
				k.evicted.Add(1)
			}
		}
		return total
	})
}

// recount counts again what a cache that lets nothing go holds, if any of its directories has changed since it did so last: somebody else has
// removed entries.
func (k *Cache) recount() {
	k.recountAt.Store(int64(time.Since(k.begun) + recountEvery))
	var changed [entryDirs]unix.Timespec
	for n := range changed {
		var st unix.Stat_t
		if unix.Fstatat(k.root.fd, entryDir(n), &st, 0) == nil {
			changed[n] = st.Mtim
		}
	}
	if changed == k.changed {
		return
	}
	k.counting(func(_ []kept, total int64) int64 {
		k.changed = changed
		return total
	})
}
