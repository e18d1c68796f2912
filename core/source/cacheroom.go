package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapUsage maps the counter of bytes. Whoever makes the file counts what is there.
func (k *Cache) mapUsage() error {
	fd, err := unix.Openat(k.root.fd, "usage", unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Flock(fd, unix.LOCK_EX); err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	if st.Size != usageBytes {
		// Written, not truncated to its size: a hole that the disk has no room for would end the process.
		if err := errors.Join(unix.Ftruncate(fd, 0), writeAll(fd, make([]byte, usageBytes))); err != nil {
			return fmt.Errorf("usage: %w", err)
		}
	}
	// The mapping keeps the file open, and with it the lock, unless it is given back.
	defer func() { _ = unix.Flock(fd, unix.LOCK_UN) }()
	if k.usage, err = unix.Mmap(fd, 0, usageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	// A page that a dying disk cannot give back would end the process. Where so little may not be locked, it is as likely as ever.
	_ = unix.Mlock(k.usage)
	if st.Size != usageBytes {
		_, total := k.entries()
		k.used().Store(total)
	}
	return nil
}

// used is the counter in shared memory. Every process adds; an eviction stores what it counted.
func (k *Cache) used() *atomic.Int64 { return (*atomic.Int64)(unsafe.Pointer(&k.usage[0])) }

// admit says whether so many bytes more may be kept, and has room made where there is none.
func (k *Cache) admit(size int64) bool {
	if size > k.c.MaxBytes || int64(time.Since(k.begun)) < k.pausedUntil.Load() {
		return false
	}
	if k.used().Load()+size <= k.c.MaxBytes {
		return true
	}
	if !k.c.Never && k.evicting.CompareAndSwap(false, true) {
		k.work.Add(1)
		go func() {
			defer k.work.Done()
			defer k.evicting.Store(false)
			k.evict()
		}()
	}
	return false
}

func (k *Cache) remove(path string, size int64) {
	if unix.Unlinkat(k.root.fd, path, 0) == nil {
		k.used().Add(-size)
	}
}

// kept is an entry as an eviction sees it.
type kept struct {
	path string
	size int64
	used time.Time
}

// entries goes through the directory.
func (k *Cache) entries() (all []kept, total int64) {
	for n := range 256 {
		dir := fmt.Sprintf("%02x", n)
		files, err := os.ReadDir(filepath.Join(k.c.Dir, dir))
		if err != nil {
			continue // somebody removed it; what is not there takes no room
		}
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				all = append(all, kept{dir + "/" + f.Name(), info.Size(), info.ModTime()})
				total += info.Size()
			}
		}
	}
	return all, total
}

// evict removes the entries used longest ago, until a tenth is free. One process does it at a time; entries may go while
// somebody reads them, who keeps what he has opened.
func (k *Cache) evict() {
	fd, err := unix.Openat(k.root.fd, "usage", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return // without the lock nothing is evicted, and so nothing more kept
	}
	defer unix.Close(fd)
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return // another process is at it
	}
	all, total := k.entries()
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
	k.used().Store(total)
}
