package source

import (
	"os"
	"strings"
	"testing"
	"time"
)

// bytesIn is what the entries take on the disk.
func bytesIn(t *testing.T, dir string) (total int64) {
	t.Helper()
	for _, f := range entriesOf(t, dir) {
		info, err := os.Stat(f)
		must(t, err)
		total += info.Size()
	}
	return total
}

// A cache that lets nothing go keeps samples again when somebody has removed entries of it, and looks through the directory for that only if
// it has changed.
func TestCacheThatLetsNothingGoFindsTheRoomThatOthersMake(t *testing.T) {
	defer func(every time.Duration) { recountEvery = every }(recountEvery)
	recountEvery = 0
	dir := t.TempDir()
	const limit = 20000
	k := openK(t, CacheConfig{Dir: dir, MaxBytes: limit, Never: true})
	s, _ := behind(t, k, 60)
	readAll(t, s)
	k.work.Wait()
	before := len(entriesOf(t, dir))
	for _, f := range entriesOf(t, dir)[:before/2] {
		must(t, os.Remove(f))
	}
	readAll(t, s)
	k.work.Wait() // it has counted again
	readAll(t, s)
	k.work.Wait()
	if total, n := bytesIn(t, dir), k.Stats(); total > limit || total < limit*3/4 || n.Bytes != total {
		t.Fatalf("%d bytes in %d entries, %d of them removed; counted %d, limit %d", total, before, before/2, n.Bytes, limit)
	}
	counted := k.changed
	k.count(1) // which a count would put right
	readAll(t, s)
	k.work.Wait()
	if k.changed != counted || k.Stats().Bytes != bytesIn(t, dir)+1 {
		t.Error("counted again, and nothing has changed")
	}
}

// What is kept while somebody counts is counted, whether he has seen it or not.
func TestCountLosesNothingThatIsKeptMeanwhile(t *testing.T) {
	dir := t.TempDir()
	k := openK(t, CacheConfig{Dir: dir})
	s, _ := behind(t, k, 20)
	k.counting(func(_ []kept, total int64) int64 {
		readAll(t, s)
		return total
	})
	if total, n := bytesIn(t, dir), k.Stats(); total == 0 || n.Bytes != total {
		t.Fatalf("%d bytes, counted %d", total, n.Bytes)
	}
}

// A counter that nobody has counted for, as its maker was killed or as it was copied, is not believed.
func TestCounterOfAnotherFileIsNotBelieved(t *testing.T) {
	dir := t.TempDir()
	k := openK(t, CacheConfig{Dir: dir})
	s, _ := behind(t, k, 20)
	readAll(t, s)
	total := bytesIn(t, dir)
	copied, err := os.ReadFile(dir + "/usage")
	must(t, err)
	copied[1]++
	for what, bytes := range map[string][]byte{"not counted": make([]byte, usageBytes), "copied": copied, "cut off": copied[:100]} {
		write(t, dir+"/usage.new", string(bytes))
		must(t, os.Rename(dir+"/usage.new", dir+"/usage"))
		for range 2 {
			if n := openK(t, CacheConfig{Dir: dir}).Stats(); n.Bytes != total {
				t.Errorf("%s: counted %d bytes, %d are there", what, n.Bytes, total)
			}
		}
	}
}

// Where it cannot be told what is there the count stays as it is, and a cache that has none is refused.
func TestDirectoryThatCannotBeReadIsNotCountedAsEmpty(t *testing.T) {
	dir := t.TempDir()
	k := openK(t, CacheConfig{Dir: dir})
	s, _ := behind(t, k, 20)
	readAll(t, s)
	before := k.Stats().Bytes
	must(t, os.RemoveAll(dir+"/42"))
	write(t, dir+"/42", "no directory")
	k.c.MaxBytes = 1
	k.evict()
	if n := k.Stats(); n.Bytes != before || n.Evicted != 0 {
		t.Errorf("%+v, want %d bytes as before", n, before)
	}
	must(t, os.Remove(dir+"/usage"))
	if _, err := OpenCache(CacheConfig{Dir: dir, MaxBytes: 1}); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("got %v", err)
	}
}

// A counter that somebody cuts off under a running cache is made again, and what is there counted; where it cannot be, nothing more is kept.
func TestCounterThatIsCutOffIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	var said []string
	k := openK(t, CacheConfig{Dir: dir, Unkept: func(err error) { said = append(said, err.Error()) }})
	s, o := behind(t, k, 20)
	other := openK(t, CacheConfig{Dir: dir})
	for _, half := range []int64{0, 10} {
		for i := range int64(10) {
			read(t, s, half+i)
		}
		must(t, os.Truncate(dir+"/usage", 0))
		if got := other.Stats().Bytes; got != 0 {
			t.Errorf("without a counter %d bytes, want 0", got)
		}
	}
	removeEntries(t, dir)
	readAll(t, s)
	if got, want := k.Stats().Bytes, bytesIn(t, dir); got != want || want == 0 || other.Stats().Bytes != want {
		t.Errorf("counted %d and %d bytes, %d are there", got, other.Stats().Bytes, want)
	}
	readAll(t, s)
	if got := k.Stats(); got.Failed != 0 || got.Corrupt != 0 || got.Hits != 20 || o.requests != 40 || said != nil {
		t.Errorf("%d requests, %+v, said %q", o.requests, got, said)
	}

	removeEntries(t, dir)
	must(t, os.Truncate(dir+"/usage", 0))
	must(t, os.Rename(dir+"/usage", dir+"/was"))
	must(t, os.Mkdir(dir+"/usage", 0o700))
	readAll(t, s)
	if got := k.Stats(); got.Bypassed != 20 || len(said) == 0 || !strings.HasPrefix(said[0], "usage: ") {
		t.Errorf("%+v, said %q", got, said)
	}
}

// removeEntries empties the directories of entries.
func removeEntries(t *testing.T, dir string) {
	t.Helper()
	for _, e := range entriesOf(t, dir) {
		must(t, os.Remove(e))
	}
}
