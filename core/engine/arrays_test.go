package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spdl/spdl/shm"
)

// Whole arrays on a network's file system are kept in both caches on a disk, by the versions of their files: an engine that is started again
// has them from there, and nothing old of a file that was written again.
func TestArraysOfANetworkAreKeptByVersion(t *testing.T) {
	leavesNothing(t)
	before := networkFileSystem
	networkFileSystem = func(string) string { return "nfs" }
	defer func() { networkFileSystem = before }()
	const n = 12
	for _, kind := range []string{"dir: %q", "rows_bytes: 1MiB, rows_dir: %q"} {
		dir := t.TempDir()
		cache := fmt.Sprintf(kind, filepath.Join(dir, "kept"))
		write := func(name string, first int) {
			var all []int
			for i := range n {
				all = append(all, first+i)
			}
			path := filepath.Join(dir, name)
			must(os.WriteFile(path+".new", npyOf(t, []int64{n}, all...), 0o600))
			must(os.Rename(path+".new", path))
		}
		values := func(first int) (got []int, s SourceStats) {
			r := startAgain(t, parsed(t, fmt.Sprintf("name: %s\nsource: {arrays: [{name: x, file: %s/x.npy}, {name: y, file: %s/y.npy}]}\nbatch: 4\norder: {seed: %d, epochs: 2}\ncache: {%s}\n", testName(), dir, dir, first, cache)), nil)
			reader := r.attach(shm.AttachOptions{})
			for ends := 0; ends < 2; {
				l, err := reader.Acquire(testContext(t))
				if errors.Is(err, shm.EndEpoch) {
					ends++
					continue
				}
				must(err)
				for row := range l.Rows {
					x := l.Tensor(0)[2*row:]
					got = append(got, int(x[0])|int(x[1])<<8)
				}
				must(l.Release())
			}
			s = r.Stats().Rings[0].Source
			must(r.end())
			slices.Sort(got)
			return slices.Compact(got), s
		}
		want := func(first int, got []int) {
			t.Helper()
			if len(got) != n || got[0] != first || got[n-1] != first+n-1 {
				t.Errorf("%s: got %v, want %d to %d", cache, got, first, first+n-1)
			}
		}
		write("x.npy", 100)
		write("y.npy", 500)
		for run := range 3 {
			got, s := values(0)
			want(100, got)
			if run > 0 && (s.Cache != nil && s.Cache.Hits != 2*n || s.Rows != nil && (s.Rows.Hits != 2*n || s.Rows.Stale != 0)) || s.Cache == nil && s.Rows == nil {
				t.Errorf("%s: run %d: %+v %+v", cache, run, s.Cache, s.Rows)
			}
		}
		write("y.npy", 700) // the second array's file counts, too
		if got, s := values(0); s.Cache != nil && s.Cache.Misses < n || s.Rows != nil && s.Rows.Stale != n {
			t.Errorf("%s: %v %+v %+v", cache, got, s.Cache, s.Rows)
		}
		write("x.npy", 300)
		got, _ := values(0)
		want(300, got)
	}
}

// On a disk they are refused, with the reason: a sample of them is one read, which a copy makes slower. Rows in memory are not.
func TestArraysOnADiskNeedNoCacheOnOne(t *testing.T) {
	dir := t.TempDir()
	must(os.WriteFile(dir+"/x.npy", npyOf(t, []int64{4}, 1, 2, 3, 4), 0o600))
	describe := func(cache string) string {
		return fmt.Sprintf("name: %s\nsource: {arrays: [{name: x, file: %s/x.npy}]}\nbatch: 4\ncache: {%s}\n", testName(), dir, cache)
	}
	for key, cache := range map[string]string{"cache.dir": fmt.Sprintf("dir: %q", dir+"/c"), "cache.rows_dir": fmt.Sprintf("rows_bytes: 1MiB, rows_dir: %q", dir+"/r")} {
		_, err := New(parsed(t, describe(cache)), nil)
		wantError(t, err, ErrDescription, key+": keeps on a disk what source.arrays reads from one already", "it goes with arrays on a network's file system; leave it out")
	}
	e, err := New(parsed(t, describe("rows_bytes: 1MiB")), nil)
	must(err)
	must(serve(t, e).end())
}
