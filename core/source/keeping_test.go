package source

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/tests/leak"
	"golang.org/x/sys/unix"
)

// waits calls open and says when it waits for another who makes something, by the steps that it makes; what open returned comes later.
func waits(t *testing.T, open func(p *Progress) (Source, error)) <-chan Source {
	t.Helper()
	var p Progress
	opened := make(chan Source, 1)
	go func() {
		s, err := open(&p)
		if err != nil {
			t.Error(err)
		}
		opened <- s
	}()
	for last, since := p.steps.Load(), 0; since < 3; time.Sleep(lockPause) { // three in a row while nothing comes of it
		select {
		case <-opened:
			t.Fatal("it did not wait")
		default:
		}
		if now := p.steps.Load(); now > last {
			last, since = now, since+1
		}
	}
	return opened
}

// Of those who want the same lists unpacked one does it, and the others wait for what comes of it.
func TestListsAreUnpackedOnce(t *testing.T) {
	dir := holding(t, 0)
	file := filepath.Join(t.TempDir(), "t.parquet")
	rows := tokensOf(0, 60)
	writeParquet(t, file, rows, 30)
	openTokens(t, file)
	kept := filepath.Join(dir, leak.Names(t, dir)[0])
	must(t, os.Rename(kept, kept+".away"))

	end, err := alone(background, kept, nil) // as if another made it
	must(t, err)
	opened := waits(t, func(p *Progress) (Source, error) {
		return OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: none, Columns: tokenColumns, Progress: p})
	})
	must(t, os.Rename(kept+".away", kept))
	end()
	s := (<-opened).(*parquetShards)
	defer s.Close()
	if s.made != 0 || tokensAt(t, s, 7) != rows[7].String() {
		t.Errorf("it was made again: %d", s.made)
	}
	// Who made it may have failed: then the next one does it.
	must(t, os.Remove(kept))
	end, err = alone(background, kept, nil)
	must(t, err)
	opened = waits(t, func(p *Progress) (Source, error) {
		return OpenList(ListConfig{File: file, Alone: true, Columns: tokenColumns, Progress: p})
	})
	end()
	table := (<-opened).(*table)
	defer table.Close()
	if table.made != 1 || tokensAt(t, table, 7) != rows[7].String() {
		t.Errorf("it was not made: %d", table.made)
	}
}

// The same of an archive's index; who waits is not taken for one that hangs, and can be stopped.
func TestIndexesAreMadeOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SPDL_CACHE_DIR", dir+"/cache")
	write(t, dir+"/a.tar", string(tarOf(t, tar.FormatGNU, pairs(0, 5)...)))
	c := ShardsConfig{Shards: []string{dir + "/a.tar"}}
	first, err := OpenShards(background, c)
	must(t, err)
	must(t, first.Close())
	kept := filepath.Join(dir, "cache", "index", leak.Names(t, dir+"/cache/index")[0])
	must(t, os.Rename(kept, kept+".away"))
	end, err := alone(background, kept, nil)
	must(t, err)
	opened := waits(t, func(p *Progress) (Source, error) {
		c := c
		c.Progress = p
		return OpenShards(background, c)
	})
	must(t, os.Rename(kept+".away", kept))
	end()
	s := (<-opened).(*shards)
	if len(s.notes) > 0 {
		t.Errorf("it was made again: %q", s.notes)
	}
	must(t, s.Close())

	must(t, os.Remove(kept))
	end, err = alone(background, kept, nil)
	must(t, err)
	ctx, stop := context.WithCancel(background)
	stop()
	if _, err := OpenShards(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := alone(ctx, kept, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	other, err := alone(background, kept+"x", nil) // of another file nobody waits
	must(t, err)
	other()
	end()
}

// Of a process that is killed while it makes something nothing is left that others would wait for.
func TestKilledMakersBlockNobody(t *testing.T) {
	const env = "SPDL_TEST_HOLDS"
	if path := os.Getenv(env); path != "" { // that process
		_, err := alone(background, path, nil)
		must(t, err)
		fmt.Println("held")
		time.Sleep(time.Hour)
	}
	path := filepath.Join(t.TempDir(), "index", "x"+indexEnding)
	holder := exec.Command(os.Args[0], "-test.run", "^TestKilledMakersBlockNobody$")
	holder.Env = append(os.Environ(), env+"="+path)
	out, err := holder.StdoutPipe()
	must(t, err)
	must(t, holder.Start())
	defer func() { _ = holder.Wait() }()
	defer func() { _ = holder.Process.Kill() }()
	if text, err := bufio.NewReader(out).ReadString('\n'); text != "held\n" {
		t.Fatal(text, err)
	}
	late, stop := context.WithTimeout(background, 5*lockPause)
	defer stop()
	if _, err := alone(late, path, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another process holds it: got %v", err)
	}
	end, err := aloneWithin(background, path, nil, 5*lockPause)
	must(t, err) // of one that does not end it is not waited for for ever
	end()
	must(t, holder.Process.Kill())
	end, err = alone(background, path, nil)
	must(t, err)
	end()
}

// Beyond the bound what was used longest ago is removed, but for what an engine uses, and what processes that died left. Other files stay.
func TestKeptFilesHaveABound(t *testing.T) {
	lists := holding(t, 0)
	base := filepath.Dir(lists)
	index := filepath.Join(base, "index")
	var files []string
	for k := range 4 {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("%d.parquet", k))
		writeParquet(t, file, tokensOf(0, 60), 30)
		files = append(files, file)
	}
	long := time.Now().Add(-48 * time.Hour)
	age := func(path string, hours int) {
		must(t, os.Chtimes(path, long, long.Add(time.Duration(hours)*time.Hour)))
	}
	named := map[string]string{}
	for k, file := range files[:3] {
		before := []string{}
		if k > 0 {
			before = leak.Names(t, lists)
		}
		s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: none, Columns: tokenColumns})
		must(t, err)
		if k != 0 { // the oldest is in use
			must(t, s.Close())
		} else {
			defer s.Close()
		}
		for _, name := range leak.Names(t, lists) {
			if !slices.Contains(before, name) {
				named[name] = filepath.Base(file)
				age(filepath.Join(lists, name), k)
			}
		}
	}
	write(t, base+"/other/a.tar", string(tarOf(t, tar.FormatGNU, pairs(0, 5)...)))
	other, err := OpenShards(background, ShardsConfig{Shards: []string{base + "/other/a.tar"}})
	must(t, err)
	must(t, other.Close())
	age(filepath.Join(index, leak.Names(t, index)[0]), -1) // older than all, and not in use
	write(t, index+"/.spdl-123", "a torn one")
	age(index+"/.spdl-123", 0)
	write(t, index+"/.spdl-124", "one that is being written")
	write(t, index+"/notes.txt", "another's")
	age(index+"/notes.txt", 0)
	size := func() (n int64) {
		for _, name := range leak.Names(t, lists) {
			st, err := os.Stat(filepath.Join(lists, name))
			must(t, err)
			n += st.Size()
		}
		return n
	}
	t.Setenv("SPDL_CACHE_BYTES", fmt.Sprint(size())) // the fourth, as large as the others, has room in place of one
	s := openTokens(t, files[3])
	if s.made != 1 || len(s.Notes()) != 1 {
		t.Errorf("made %d, %q", s.made, s.Notes())
	}
	var left []string
	for _, name := range leak.Names(t, lists) {
		if named[name] != "" {
			left = append(left, named[name])
		}
	}
	slices.Sort(left)
	if got := fmt.Sprint(left, leak.Names(t, index)); got != "[0.parquet 2.parquet] [.spdl-124 notes.txt]" {
		t.Errorf("left %s", got)
	}
	// A start that makes nothing removes nothing; one that uses a file makes it the latest.
	t.Setenv("SPDL_CACHE_BYTES", "1")
	before := len(leak.Names(t, lists))
	openTokens(t, files[2])
	if len(leak.Names(t, lists)) != before {
		t.Error("a start that made nothing removed something")
	}
	for name, file := range named {
		if st, err := os.Stat(filepath.Join(lists, name)); err == nil && file == "2.parquet" && time.Since(st.ModTime()) > time.Hour {
			t.Errorf("used, and still of %v", st.ModTime())
		}
	}
	t.Setenv("SPDL_CACHE_BYTES", "much")
	s = openTokens(t, files[1])
	if notes := s.Notes(); len(notes) != 2 || notes[1] != `nothing of what is kept is removed: SPDL_CACHE_BYTES: got "much", want a number of bytes such as 200GiB` {
		t.Errorf("notes %q", notes)
	}
}

// The index of an archive is locked while it is mapped, whose descriptor is closed.
func TestIndexesInUseStay(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.tar", string(tarOf(t, tar.FormatGNU, pairs(0, 5)...)))
	index := dir + "/kept/index"
	c := ShardsConfig{Shards: []string{dir + "/a.tar"}, IndexDir: index}
	s, err := OpenShards(background, c)
	must(t, err)
	if trimKept([]string{index}, 0); len(leak.Names(t, index)) != 1 {
		t.Error("an index in use was removed")
	}
	must(t, s.Close())
	if trimKept([]string{index, dir + "/none"}, 0); len(leak.Names(t, index)) != 0 {
		t.Error("an index that nobody uses stayed")
	}
}

// Indices of large videos are within the same bound, and brought within it whenever a ring of videos is opened.
func TestIndicesOfVideosHaveTheBoundOfAll(t *testing.T) {
	base := t.TempDir()
	t.Setenv("SPDL_CACHE_DIR", base)
	dir := VideoIndexDir()
	if want := filepath.Join(base, "video"); dir != want {
		t.Fatalf("got %q, want %q", dir, want)
	}
	long := time.Now().Add(-48 * time.Hour)
	for k, name := range []string{"a" + videoEnding, "b" + videoEnding, videoEnding + "-torn", "mine.txt"} {
		write(t, filepath.Join(dir, name), "of eight")
		must(t, os.Chtimes(filepath.Join(dir, name), long, long.Add(time.Duration(k)*time.Hour)))
	}
	t.Setenv("SPDL_CACHE_BYTES", "15")
	VideoIndexDir()
	if left := leak.Names(t, dir); !slices.Equal(left, []string{"b" + videoEnding, "mine.txt"}) {
		t.Errorf("left are %q, want the index used last and what is not ours", left)
	}
}

// The bound is what is said, or a part of the disk, and no more than is sensible.
func TestBoundOfWhatIsKept(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1000": 1000, "3KiB": 3 << 10, "200GiB": 200 << 30, "1TiB": 1 << 40, "": -1, "x": -1, "-1": -1, "1GB": -1, "9999999999TiB": -1, "1.5GiB": -1} {
		got, err := parseBytes(text)
		if want < 0 && (err == nil || !strings.Contains(err.Error(), "want a number of bytes such as 200GiB")) || want >= 0 && (err != nil || got != want) {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
	var st unix.Statfs_t
	dir := t.TempDir()
	must(t, unix.Statfs(dir, &st))
	if got, err := keptBound(dir, ""); err != nil || got != min(int64(st.Blocks)*int64(st.Bsize)/4, 256<<30) {
		t.Errorf("got %d, %v", got, err)
	}
}
