package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// whole is every batch of an epoch as a consumer sees it, columns included, and what the cache of rows has counted.
func whole(t *testing.T, pattern, columns, more string) (batches []string, rows RowStats, fetched uint64) {
	t.Helper()
	r := startAgain(t, describeShards(t, pattern, columns, "batch: 8\norder: {seed: 3}\n"+more), nil)
	reader := r.attach(shm.AttachOptions{})
	for range 8 { // two epochs of four steps
		l, err := reader.Acquire(testContext(t))
		if err == shm.EndEpoch {
			l, err = reader.Acquire(testContext(t))
		}
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%+v", look(l))
		for c := range r.rings[0].columns {
			at := len(reader.Schema()) - len(r.rings[0].columns) + c
			text += fmt.Sprintf(" %x %v", l.Tensor(at), l.Offsets(at))
		}
		batches = append(batches, text)
		must(l.Release())
	}
	s := r.Stats().Rings[0]
	must(r.end())
	return batches, *s.Source.Rows, s.Bytes["fetch"]
}

// Rows with their columns are the same from memory, from the file that is being written, and from that of an engine before, which
// fetches nothing.
func TestRowsWithColumnsAreTheSameFromMemoryAndFile(t *testing.T) {
	leavesNothing(t)
	pattern, dir := shardsOf(t, 30, 7, nil), filepath.Join(t.TempDir(), "rows")
	want, memory, _ := whole(t, pattern, shardColumns, "cache: {rows_bytes: 1MiB}\n")
	if memory.Hits == 0 {
		t.Fatalf("%+v", memory)
	}
	file := fmt.Sprintf("cache: {rows_bytes: 1MiB, rows_dir: %q}\n", dir)
	for run := range 2 {
		got, n, fetched := whole(t, pattern, shardColumns, file)
		if !slices.Equal(got, want) {
			t.Fatalf("run %d: other batches:\n%s\n%s", run, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if run == 0 && (n.Warm != 0 || fetched == 0) || run == 1 && (n.Warm != 30 || fetched != 0 || n.Misses != 0) || n.Stale+n.Corrupt+n.Failed != 0 {
			t.Errorf("run %d: %+v, %d bytes fetched", run, n, fetched)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files", len(files))
	}
}

// Of the room that the longest values would take only what a sample's values take is written: the rest of the file is holes.
func TestOfTheRoomForValuesOnlyTheValuesAreWritten(t *testing.T) {
	leavesNothing(t)
	pattern, dir := shardsOf(t, 30, 7, nil), t.TempDir()
	columns := "[{name: caption, from: txt, max_bytes: 256KiB}]"
	want, _, _ := whole(t, pattern, columns, "cache: {rows_bytes: 16MiB}\n")
	for run := range 2 {
		got, n, _ := whole(t, pattern, columns, fmt.Sprintf("cache: {rows_bytes: 16MiB, rows_dir: %q}\n", dir))
		if !slices.Equal(got, want) {
			t.Fatalf("run %d: other batches:\n%s\n%s", run, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if n.Warm != uint64(30*run) || n.Stale+n.Corrupt+n.Failed != 0 {
			t.Errorf("run %d: %+v", run, n)
		}
	}
	files, err := filepath.Glob(dir + "/*.rows")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	var st unix.Stat_t
	must(unix.Stat(files[0], &st))
	if took := st.Blocks * 512; st.Size < 7<<20 || took > 1<<20 {
		t.Errorf("a file of %d bytes takes %d of the disk, want less than 1 MiB", st.Size, took)
	}
}

// A sample that is another than it was, a row that is damaged, and a file that is cut off are decoded again, counted, and kept again.
func TestRowsThatAreStaleOrDamagedAreMadeAgain(t *testing.T) {
	leavesNothing(t)
	data, dir := folder(t, 20, nil), filepath.Join(t.TempDir(), "rows")
	name := testName()
	run := func() (RowStats, []seen) {
		s := describe(t, data, fmt.Sprintf("batch: 5\norder: {epochs: 1, shuffle: false}\ncache: {rows_bytes: 1MiB, rows_dir: %q}\n", dir))
		s.Name = name
		r := startAgain(t, s, nil)
		got := epoch(t, r.attach(shm.AttachOptions{}))
		n := *r.Stats().Rings[0].Source.Rows
		must(r.end())
		return n, got
	}
	_, first := run()
	files, err := filepath.Glob(dir + "/*.rows")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	// Sample 3 becomes another picture, the row of sample 7 has a bit turned over.
	path := filepath.Join(data, "a", "00003.jpg")
	must(os.WriteFile(path, picture(t, 250, 24), 0o644))
	later := time.Now().Add(time.Hour)
	must(os.Chtimes(path, later, later))
	each := int64(recordBytes + 192)
	turnBit(t, files[0], rowPage+7*each+100)
	n, second := run()
	if n.Warm != 18 || n.Stale != 1 || n.Corrupt != 1 {
		t.Errorf("%+v", n)
	}
	for k := range second {
		for row, i := range second[k].Index {
			same := bytes.Equal(second[k].Image[row*192:(row+1)*192], first[k].Image[row*192:(row+1)*192])
			if same == (i == 3) {
				t.Errorf("sample %d: the same as before: %v", i, same)
			}
		}
	}
	if n, _ := run(); n.Warm != 20 || n.Stale+n.Corrupt != 0 {
		t.Errorf("not kept again: %+v", n)
	}
	must(os.Truncate(files[0], rowPage+10*each+5))
	if n, _ := run(); n.Warm != 10 {
		t.Errorf("of a file that is cut off: %+v", n)
	}
	turnBit(t, files[0], 20) // the page that says what the file is of
	if n, _ := run(); n.Warm != 0 || n.Corrupt != 1 {
		t.Errorf("of a file of something else: %+v", n)
	}
	if n, again := run(); n.Warm != 20 || fmt.Sprint(again[0].Image) != fmt.Sprint(second[0].Image) {
		t.Errorf("%+v", n)
	}
}

// What becomes of the file while an engine uses it costs rows, and changes none: they are decoded and kept again.
func TestRowsDamagedUnderARunningEngineAreMadeAgain(t *testing.T) {
	leavesNothing(t)
	data := folder(t, 20, nil)
	each := int64(recordBytes + 192)
	for name, damage := range map[string]func(file string){
		"truncated":   func(file string) { must(os.Truncate(file, 0)) },
		"overwritten": func(file string) { must(os.WriteFile(file, make([]byte, rowPage+20*each), 0o600)) },
		"one row":     func(file string) { turnBit(t, file, rowPage+7*each+100) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := describe(t, data, fmt.Sprintf("batch: 5\norder: {epochs: 8, shuffle: false}\ncache: {rows_bytes: 1MiB, rows_dir: %q}\n", dir))
			r := startAgain(t, s, nil)
			reader := r.attach(shm.AttachOptions{})
			first := epoch(t, reader)
			files, err := filepath.Glob(dir + "/*.rows")
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			damage(files[0])
			for n := 1; n < 8; n++ {
				for k, b := range epoch(t, reader) {
					if !bytes.Equal(b.Image, first[k].Image) || b.NBad > 0 {
						t.Fatalf("epoch %d, step %d: other pixels, or %d bad", n, k, b.NBad)
					}
				}
			}
			rows := *r.Stats().Rings[0].Source.Rows
			if rows.Corrupt == 0 {
				t.Errorf("%+v", rows)
			}
			must(r.end())
			if name == "one row" { // in the others the page that says what the file is of is lost
				r = startAgain(t, s, nil)
				epoch(t, r.attach(shm.AttachOptions{}))
				if rows := *r.Stats().Rings[0].Source.Rows; rows.Warm != 20 {
					t.Errorf("not kept again: %+v", rows)
				}
				must(r.end())
			}
		})
	}
}

// turnBit turns a bit of a file over.
func turnBit(t *testing.T, file string, at int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(err)
	defer f.Close()
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	must(err)
	b[0] ^= 4
	_, err = f.WriteAt(b[:], at)
	must(err)
}

// Another transform, or other columns, have a file of their own.
func TestRowsOfAnotherDescriptionAreNotTaken(t *testing.T) {
	leavesNothing(t)
	pattern, dir := shardsOf(t, 30, 7, nil), t.TempDir()
	file := fmt.Sprintf("cache: {rows_bytes: 1MiB, rows_dir: %q}\n", dir)
	whole(t, pattern, shardColumns, file)
	if _, n, _ := whole(t, pattern, "[{name: score, type: f64}]", file); n.Warm != 0 {
		t.Errorf("%+v", n)
	}
}

// A directory in which nothing can be made is refused by its name, of rows as of samples.
func TestCacheThatCannotBeIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(os.WriteFile(file, nil, 0o600))
	for cache, want := range map[string]string{"{rows_bytes: 1MiB, rows_dir: %q}": "cache.rows_dir: ", "{dir: %q}": "source: cache "} {
		_, err := New(describe(t, folder(t, 4, nil), fmt.Sprintf("cache: "+cache+"\n", file+"/below")), nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) || !strings.HasSuffix(err.Error(), cacheRemedy) {
			t.Errorf("%s: got %v", cache, err)
		}
	}
}

const cacheRemedy = "; make room, or name a directory in which this user may make files"

// A disk that is full when the engine starts, so that a cache cannot be begun there, is refused with what to do.
func TestCacheThatHasNoRoomToBeginIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	defer func() { must(unix.Unmount(dir, unix.MNT_DETACH)) }()
	if err := os.WriteFile(filepath.Join(dir, "full"), make([]byte, 128<<10), 0o600); err == nil {
		t.Fatal("128 KiB are in 64")
	}
	for _, cache := range []string{"{rows_bytes: 1MiB, rows_dir: %q}", "{dir: %q}"} {
		_, err := New(describe(t, folder(t, 4, nil), fmt.Sprintf("cache: "+cache+"\n", dir+"/below")), nil)
		if err == nil || !strings.Contains(err.Error(), dir+"/below") || !strings.HasSuffix(err.Error(), "no space left on device"+cacheRemedy) {
			t.Errorf("%s: got %v", cache, err)
		}
	}
}

// With rows from a file, too, the engine makes no Go allocation per sample.
func TestRowFileAllocatesNothingPerSample(t *testing.T) {
	allocationsPerBatch(t, describe(t, folder(t, 100, nil), fmt.Sprintf("batch: 50\ncache: {rows_bytes: 1MiB, rows_dir: %q}\n", t.TempDir())))
}

// A cache whose disk is full costs nothing but the cache, and says so: one warning for the cause, with the directory and the remedy, and counters
// that Prometheus reads.
func TestCacheWithoutRoomSaysSoOnce(t *testing.T) {
	for key, c := range map[string]struct{ more, counter string }{
		"cache.dir":      {"cache: {dir: %q, max_bytes: 1GiB}\n", `spdl_cache_samples_total{ring="%s",outcome="bypassed"} `},
		"cache.rows_dir": {"cache: {rows_bytes: 1MiB, rows_dir: %q}\n", `spdl_cache_rows_total{ring="%s",outcome="failed"} `},
	} {
		t.Run(key, func(t *testing.T) {
			leavesNothing(t)
			dir := t.TempDir()
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
				t.Skipf("a small file system needs root: %v", err)
			}
			defer func() { must(unix.Unmount(dir, unix.MNT_DETACH)) }()
			out, s := &lockedBuffer{}, describe(t, folder(t, 400, nil), "batch: 8\norder: {epochs: 1}\n"+fmt.Sprintf(c.more, dir))
			r := startAgain(t, s, &Options{Log: NewLog(out, Warn)})
			if n := len(indexes(epoch(t, r.attach(shm.AttachOptions{})))); n != 400 {
				t.Errorf("%d samples, want 400", n)
			}
			stats := r.Stats()
			snapshot := stats.Snapshot()
			must(r.end())
			if said := out.String(); !strings.Contains(said, fmt.Sprintf("%s %q: no space left on device; ", key, dir)) || strings.Count(said, "\n") != 1 {
				t.Errorf("the log says %q, want the cause and the directory once", said)
			}
			var metrics bytes.Buffer
			must(telemetry.WriteMetrics(&metrics, &snapshot))
			_, count, found := strings.Cut(metrics.String(), fmt.Sprintf(c.counter, s.FullName()))
			if !found || strings.HasPrefix(count, "0") {
				t.Errorf("the metrics say %q", strings.SplitN(count, "\n", 2)[0])
			}
		})
	}
}
