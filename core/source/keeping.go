package source

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

// What is found out about shards and large videos is kept for the next start in $SPDL_CACHE_DIR: indexes and what opening reads of Parquet files in index, lists of
// Parquet in lists, compressed shards unpacked in unpacked, indices of videos that are read as they are decoded in video. Of several engines that want the same one makes it, and the others wait. Who has made something removes what was used longest ago, until all of it
// is within a bound. A file's time is when it was last opened, and who reads from it has it locked (flock, shared).
const (
	keptShare             = 4         // of the disk that it lies on: one part of so many, and
	keptMost              = 256 << 30 // no more than that
	lockPause             = 20 * time.Millisecond
	videoDir, videoEnding = "video", ".spdlvidx"

	aloneMost = 5 * time.Minute // longest wait for another, which may be stopped: then both make it
)

// alone waits until nobody else, in whatever process, makes the file of a path, or ctx ends; the function that it returns lets others. The lock is a byte
// of one file for all, so of a process that was killed nothing is left. Where there are no locks nobody waits, and nobody longer than aloneMost.
func alone(ctx context.Context, path string, p *Progress) (end func(), err error) {
	return aloneWithin(ctx, path, p, aloneMost)
}

func aloneWithin(ctx context.Context, path string, p *Progress, most time.Duration) (end func(), err error) {
	dir := filepath.Dir(path)
	_ = os.MkdirAll(dir, 0o700) // who writes there will say what is wrong
	fd, err := unix.Open(filepath.Join(filepath.Dir(dir), "lock"), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return func() {}, nil
	}
	end = func() { _ = unix.Close(fd) }
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(xxh3.HashString(path) >> 2), Len: 1}
	late := time.NewTimer(most)
	defer late.Stop()
	for {
		p.Step() // to wait for another is not to hang
		err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &lock)
		if err != unix.EAGAIN && err != unix.EACCES && err != unix.EINTR {
			return end, nil
		}
		select {
		case <-ctx.Done():
			end()
			return nil, ctx.Err()
		case <-late.C:
			return end, nil
		case <-time.After(lockPause):
		}
	}
}

// inUse locks a kept file that is open, for as long as it is, or is mapped, and marks it as used.
func inUse(fd int) {
	lockKept(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && time.Since(time.Unix(st.Mtim.Unix())) > touchAfter {
		touch(fd)
	}
}

// hasRoom refuses to write so many bytes into a directory whose disk has fewer.
func hasRoom(dir string, most int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err == nil && uint64(most) > st.Bavail*uint64(st.Bsize) {
		return fmt.Errorf("%q has %d bytes free", dir, st.Bavail*uint64(st.Bsize))
	}
	return nil
}

// lockKept locks a kept file that is open, for as long as it is. Without locks it may be removed, and be made again at the next start.
func lockKept(fd int) { _ = unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) }

// keptFile is one as trimKept sees it.
type keptFile struct {
	path string
	size int64
	used time.Time
}

// tidy brings what is kept within its bound; index is the directory of indexes. It returns a note where it cannot tell the bound.
func tidy(index string) (notes []string) {
	if index == "" {
		return nil
	}
	most, err := keptBound(index, os.Getenv("SPDL_CACHE_BYTES"))
	if err != nil {
		return []string{fmt.Sprintf("nothing of what is kept is removed: SPDL_CACHE_BYTES: %v", err)}
	}
	beside := filepath.Dir(index)
	trimKept([]string{index, filepath.Join(beside, "lists"), filepath.Join(beside, unpackedDir), filepath.Join(beside, videoDir), filepath.Join(beside, sizesDir)}, most)
	return nil
}

// VideoIndexDir is where the indices of large videos are kept if a description does not say, within the bound of all that is kept; "": nowhere.
func VideoIndexDir() string {
	index, err := DefaultIndexDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(filepath.Dir(index), videoDir)
	if _, err := os.Stat(dir); err == nil { // of a run before, whose indices nothing has bounded yet
		tidy(index)
	}
	return dir
}

// keptBound is how many bytes may be kept on the disk of a directory: as said, or a part of it.
func keptBound(dir, said string) (int64, error) {
	if said != "" {
		return parseBytes(said)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return keptMost, nil
	}
	return min(int64(st.Blocks)*int64(st.Bsize)/keptShare, keptMost), nil
}

// parseBytes reads a number of bytes, or of KiB, MiB, GiB or TiB.
func parseBytes(text string) (int64, error) {
	number, shift := text, 0
	for k, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if cut, ok := strings.CutSuffix(text, unit); ok {
			number, shift = cut, 10*(k+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("got %.40q, want a number of bytes such as 200GiB", text)
	}
	return n << shift, nil
}

// trimKept removes from some directories what was used longest ago, until they have no more than most bytes, and what processes that died were writing.
func trimKept(dirs []string, most int64) {
	var all []keptFile
	total := int64(0)
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // it is not there: it takes no room
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			f := keptFile{filepath.Join(dir, e.Name()), info.Size(), info.ModTime()}
			switch {
			case slices.Contains([]string{indexEnding, keptEnding, tablesEnding, listEnding, videoEnding, sizesEnding}, filepath.Ext(f.path)), strings.Contains(e.Name(), unpackedEnding+"."):
				all, total = append(all, f), total+f.size
			case strings.HasPrefix(e.Name(), ".spdl") && time.Since(f.used) > strayAge:
				_ = os.Remove(f.path) // strays cost room, no more
			}
		}
	}
	slices.SortFunc(all, func(a, b keptFile) int {
		if c := a.used.Compare(b.used); c != 0 {
			return c
		}
		return strings.Compare(a.path, b.path)
	})
	for k := 0; k < len(all) && total > most; k++ {
		if removeUnused(all[k].path) == nil {
			total -= all[k].size
		}
	}
}

var errUsed = errors.New("an engine uses it")

// removeUnused removes a file that nobody has locked.
func removeUnused(path string) error {
	fd, err := unix.Open(path, openFlags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK {
		return errUsed
	}
	return os.Remove(path)
}
