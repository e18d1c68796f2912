package source

import (
	"archive/tar"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source/store"
	"golang.org/x/sys/unix"
)

// behind is a source of shards on a server, behind a cache, and the server.
func behind(t *testing.T, k *Cache, n int) (Source, *objects) {
	t.Helper()
	var parts []part
	for i := range n {
		parts = append(parts, part{fmt.Sprintf("%03d.jpg", i), picture(i)}, part{fmt.Sprintf("%03d.cls", i), fmt.Sprint(i % 3)}, part{fmt.Sprintf("%03d.txt", i), strings.Repeat("t", i%5)})
	}
	o := serveObjects(t, map[string]string{"/s.tar": string(tarOf(t, tar.FormatGNU, parts...))})
	s, err := k.Wrap(openS(t, ShardsConfig{Shards: []string{o.URL + "/s.tar"}, Columns: []Column{{Name: "txt"}, {Name: "cls", Type: Int64}},
		Store: storeClient(t, store.Options{Retries: -1})}))
	must(t, err)
	o.change(func() { o.requests = 0 })
	return s, o
}

func picture(i int) string { return strings.Repeat(fmt.Sprintf("picture %03d ", i), 100) }

func openK(t testing.TB, c CacheConfig) *Cache {
	t.Helper()
	if c.MaxBytes == 0 {
		c.MaxBytes = 1 << 30
	}
	k, err := OpenCache(c)
	must(t, err)
	t.Cleanup(func() { must(t, k.Close()) })
	return k
}

// readAll reads every sample and checks it and its columns.
func readAll(t *testing.T, s Source) {
	t.Helper()
	var b, want Buffer
	for i := range s.Len() {
		must(t, s.Read(background, i, &b))
		want.drop()
		want.setInt(i % 3)
		if string(b.Bytes()) != picture(int(i)) || string(b.Value(0)) != strings.Repeat("t", int(i%5)) || string(b.Value(1)) != string(want.Value(0)) {
			t.Fatalf("sample %d: %.20q %q %q", i, b.Bytes(), b.Value(0), b.Value(1))
		}
		if after := b.afterPart(0); strings.Trim(string(after), "\x00") != "" {
			t.Fatalf("padding %q", after)
		}
	}
}

// entriesOf are the entries' files.
func entriesOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(dir + "/??/*")
	must(t, err)
	return files
}

// The second reading asks the store for nothing, in this process or in one after it.
func TestCacheAnswersTheSecondTime(t *testing.T) {
	dir := t.TempDir()
	k := openK(t, CacheConfig{Dir: dir})
	s, o := behind(t, k, 40)
	readAll(t, s)
	if o.requests != 40 || k.Stats().Stored != 40 {
		t.Fatalf("%d requests, %+v", o.requests, k.Stats())
	}
	readAll(t, s)
	warm := openK(t, CacheConfig{Dir: dir})
	again, err := warm.Wrap(s.(*cached).Source)
	must(t, err)
	readAll(t, again)
	if o.requests != 40 || warm.Stats().Hits != 40 || warm.Stats().Bytes != k.Stats().Bytes || k.Stats().Bytes < 40*1200 {
		t.Fatalf("%d requests, %+v", o.requests, warm.Stats())
	}
}

// A sample that several keep at once, in one process or in several, is one entry and counted once.
func TestSampleKeptTwiceIsCountedOnce(t *testing.T) {
	dir := t.TempDir()
	k, other := openK(t, CacheConfig{Dir: dir, Never: true}), openK(t, CacheConfig{Dir: dir, Never: true})
	s, _ := behind(t, k, 2)
	var b Buffer
	must(t, s.Read(background, 0, &b))
	sum, _ := s.(*cached).sum(0, &b)
	var all sync.WaitGroup
	for _, c := range []*Cache{k, other, k, other} {
		all.Add(1)
		go func() {
			defer all.Done()
			var b Buffer
			if err := s.(*cached).Source.Read(background, 0, &b); err != nil {
				t.Error(err)
			}
			c.store(&b, sum)
		}()
	}
	all.Wait()
	entries := entriesOf(t, dir)
	if len(entries) != 1 {
		t.Fatalf("entries %q", entries)
	}
	st, err := os.Stat(entries[0])
	must(t, err)
	if n := k.Stats(); n.Bytes != st.Size() || n.Stored+other.Stats().Stored != 1 || n.Failed+other.Stats().Failed != 0 {
		t.Errorf("%+v and %+v, on disk %d bytes", n, other.Stats(), st.Size())
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) > 0 {
		t.Errorf("left in tmp: %v", left)
	}
}

// Data sets that are mixed are kept when all of them have versions, and refused otherwise.
func TestCacheOfMixedDataSets(t *testing.T) {
	k := openK(t, CacheConfig{Dir: t.TempDir()})
	a, b := openS(t, ShardsConfig{Shards: []string{shardFile(t, 0, 5)}}), openS(t, ShardsConfig{Shards: []string{shardFile(t, 5, 9)}})
	s, err := k.Wrap(join(t, a, b))
	must(t, err)
	for range 2 {
		for i := range s.Len() {
			if _, text := read(t, s, i); text != fmt.Sprintf("picture %d", i) {
				t.Fatalf("%d: %q", i, text)
			}
		}
	}
	if n := k.Stats(); n.Hits != 9 || n.Misses != 9 {
		t.Fatalf("%+v", n)
	}
	if _, err := k.Wrap(join(t, a, openH(t, HostConfig{Samples: 1}))); err == nil {
		t.Fatalf("got %v", err)
	}
}

func shardFile(t testing.TB, from, to int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.tar")
	write(t, file, string(tarOf(t, tar.FormatGNU, pairs(from, to)...)))
	return file
}

// Once buffers have grown, an answer of the cache allocates nothing.
func TestCacheHitAllocatesNothing(t *testing.T) {
	s, _ := behind(t, openK(t, CacheConfig{Dir: t.TempDir()}), 3)
	readAll(t, s)
	var b Buffer
	must(t, s.Read(background, 2, &b))
	if n := testing.AllocsPerRun(50, func() { must(t, s.Read(background, 1, &b)) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// Damage of any kind is found and the sample fetched again.
func TestDamagedEntryIsFetchedAgain(t *testing.T) {
	dir := t.TempDir()
	k := openK(t, CacheConfig{Dir: dir})
	s, o := behind(t, k, 10)
	readAll(t, s)
	for n, file := range entriesOf(t, dir) {
		data, err := os.ReadFile(file)
		must(t, err)
		switch n % 5 {
		case 0:
			must(t, os.Truncate(file, 0))
		case 1:
			must(t, os.Truncate(file, int64(len(data)/2)))
		case 2:
			must(t, os.WriteFile(file, flip(data, len(data)-1), 0o600))
		case 3:
			must(t, os.WriteFile(file, flip(data, 17), 0o600))
		case 4:
			must(t, os.WriteFile(file, flip(data, 6), 0o600))
		}
	}
	readAll(t, s)
	if o.requests != 20 || k.Stats().Corrupt != 10 {
		t.Fatalf("%d requests, %+v", o.requests, k.Stats())
	}
	readAll(t, s)
	if o.requests != 20 {
		t.Fatalf("%d requests", o.requests)
	}
}

// A sound entry under another's name, as a disk's repair may leave it, is no sample of that name.
func TestEntryOfAnotherSampleIsFetchedAgain(t *testing.T) {
	dir := t.TempDir()
	k := openK(t, CacheConfig{Dir: dir})
	s, o := behind(t, k, 4)
	readAll(t, s)
	all := entriesOf(t, dir)
	must(t, os.Rename(all[0], dir+"/aside"))
	must(t, os.Rename(all[1], all[0]))
	must(t, os.Rename(dir+"/aside", all[1]))
	readAll(t, s)
	if got := k.Stats(); o.requests != 6 || got.Corrupt != 2 || got.Bytes != bytesIn(t, dir) {
		t.Fatalf("%d requests, %+v", o.requests, got)
	}
}

// An object that was written again is another one: the cache does not answer for it with the old bytes.
func TestCacheFollowsTheVersion(t *testing.T) {
	k := openK(t, CacheConfig{Dir: t.TempDir()})
	s, o := behind(t, k, 3)
	readAll(t, s)
	changed := tarOf(t, tar.FormatGNU, part{"000.jpg", "new"}, part{"000.cls", "0"}, part{"000.txt", ""})
	o.change(func() { o.data["/s.tar"], o.etag["/s.tar"] = string(changed), "+" })
	inner := openS(t, ShardsConfig{Shards: []string{o.URL + "/s.tar"}, Columns: []Column{{Name: "txt"}, {Name: "cls", Type: Int64}}, Store: s.(*cached).Source.(*shards).store})
	again, err := k.Wrap(inner)
	must(t, err)
	if _, text := read(t, again, 0); text != "new" {
		t.Fatalf("%.20q", text)
	}
}

// The limit holds: lru lets the entries go that were used longest ago, never keeps nothing more.
func TestCacheKeepsItsLimit(t *testing.T) {
	for _, never := range []bool{false, true} {
		dir := t.TempDir()
		const limit = 20000
		k := openK(t, CacheConfig{Dir: dir, MaxBytes: limit, Never: never})
		s, _ := behind(t, k, 60)
		for range 3 {
			readAll(t, s)
			k.work.Wait()
			total := bytesIn(t, dir)
			if total > limit || total != k.Stats().Bytes || total < limit/2 {
				t.Fatalf("never %v: %d bytes, counted %d, limit %d", never, total, k.Stats().Bytes, limit)
			}
		}
		n := k.Stats()
		if n.Bypassed == 0 || never != (n.Evicted == 0) {
			t.Fatalf("never %v: %+v", never, n)
		}
	}
}

// What goes is what was used longest ago.
func TestCacheEvictsTheLeastRecentlyUsed(t *testing.T) {
	dir := t.TempDir()
	k := openK(t, CacheConfig{Dir: dir, MaxBytes: 1 << 30})
	s, _ := behind(t, k, 20)
	readAll(t, s)
	old := time.Now().Add(-time.Hour)
	for _, f := range entriesOf(t, dir) {
		must(t, os.Chtimes(f, old, old))
	}
	var b Buffer
	for i := range int64(5) {
		must(t, s.Read(background, i, &b))
	}
	k.c.MaxBytes = k.Stats().Bytes / 3
	k.evict()
	before := k.Stats().Hits
	for i := range int64(5) {
		must(t, s.Read(background, i, &b))
	}
	if k.Stats().Hits != before+5 || k.Stats().Evicted < 10 {
		t.Fatalf("%+v", k.Stats())
	}
}

// A disk without room costs nothing but the cache: samples are read as without it, and counted.
func TestFullDiskIsBypassed(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	defer func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) }()
	k, err := OpenCache(CacheConfig{Dir: dir, MaxBytes: 1 << 30})
	must(t, err)
	s, _ := behind(t, k, 60)
	readAll(t, s)
	readAll(t, s)
	n := k.Stats()
	if n.Bypassed == 0 || n.Stored == 0 || n.Hits == 0 || n.Failed != 0 {
		t.Fatalf("%+v", n)
	}
	if left, _ := os.ReadDir(dir + "/tmp"); len(left) != 0 {
		t.Fatalf("%d files in tmp", len(left))
	}
	must(t, k.Close())
}

// A directory that is taken away, or may not be written, costs nothing but the cache.
func TestCacheThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	k := openK(t, CacheConfig{Dir: dir})
	s, _ := behind(t, k, 5)
	must(t, os.RemoveAll(dir))
	readAll(t, s)
	if n := k.Stats(); n.Failed != 5 {
		t.Fatalf("%+v", n)
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	if _, err := OpenCache(CacheConfig{Dir: file + "/cache"}); err == nil || !strings.Contains(err.Error(), "source: cache ") {
		t.Fatalf("got %v", err)
	}
	if _, err := k.Wrap(openH(t, HostConfig{Samples: 1})); err == nil || !strings.Contains(err.Error(), "samples that have a version") {
		t.Fatalf("got %v", err)
	}
}

// What a dead process left half written goes away in time.
func TestStraysAreRemoved(t *testing.T) {
	dir := t.TempDir()
	openK(t, CacheConfig{Dir: dir})
	write(t, dir+"/tmp/old", "x")
	write(t, dir+"/tmp/new", "x")
	old := time.Now().Add(-2 * strayAge)
	must(t, os.Chtimes(dir+"/tmp/old", old, old))
	openK(t, CacheConfig{Dir: dir})
	if left, _ := os.ReadDir(dir + "/tmp"); len(left) != 1 || left[0].Name() != "new" {
		t.Fatalf("%v", left)
	}
}

// Many processes on one directory, some of them killed while they write, leave nothing that a reader takes for a sample.
func TestCacheIsSharedByProcessesThatDie(t *testing.T) {
	if dir := os.Getenv("SPDL_CACHE_TEST"); dir != "" {
		hammer(t, dir)
		return
	}
	dir, scratch := t.TempDir(), t.TempDir()
	var all sync.WaitGroup
	for n := range 6 {
		all.Add(1)
		go func() {
			defer all.Done()
			cmd := exec.Command(os.Args[0], "-test.run", "^TestCacheIsSharedByProcessesThatDie$")
			cmd.Env = append(os.Environ(), "SPDL_CACHE_TEST="+dir, "TMPDIR="+scratch) // what the killed leave goes with it
			must(t, cmd.Start())
			if n%2 == 0 {
				time.Sleep(time.Duration(50+20*n) * time.Millisecond)
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			} else if err := cmd.Wait(); err != nil {
				t.Errorf("process %d: %v", n, err)
			}
		}()
	}
	all.Wait()
	k := openK(t, CacheConfig{Dir: dir, MaxBytes: hammerLimit})
	s, _ := behind(t, k, 60)
	readAll(t, s)
	k.work.Wait() // or entries go while they are looked at
	if n := k.Stats(); n.Corrupt != 0 {
		t.Fatalf("%+v", n)
	}
	if total := bytesIn(t, dir); total > hammerLimit+hammerLimit/4 {
		t.Fatalf("%d bytes, limit %d", total, hammerLimit)
	}
}

const hammerLimit = 50000

// hammer reads through a cache that is too small, again and again.
func hammer(t *testing.T, dir string) {
	k := openK(t, CacheConfig{Dir: dir, MaxBytes: hammerLimit})
	s, _ := behind(t, k, 60)
	for range 10 {
		readAll(t, s)
	}
	if n := k.Stats(); n.Corrupt != 0 {
		t.Fatalf("%+v", n)
	}
}
