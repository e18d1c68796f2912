package engine

import (
	"archive/tar"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// shardsOf writes n pictures into shards of per, each with its label, a text, a number and a score, and returns the pattern.
// The index goes into a directory of the test.
func shardsOf(t testing.TB, n, per int, without map[string]bool) string {
	t.Helper()
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	for shard := range (n + per - 1) / per {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for i := shard * per; i < min(n, (shard+1)*per); i++ {
			for _, p := range []struct {
				part string
				data []byte
			}{{"jpg", picture(t, grey(i), 24)}, {"cls", []byte(fmt.Sprint(i % 5))}, {"txt", bytes.Repeat([]byte{'x'}, i%4)},
				{"score", []byte(fmt.Sprint(float64(i) / 2))}} {
				name := fmt.Sprintf("%05d.%s", i, p.part)
				if without[name] {
					continue
				}
				must(w.WriteHeader(&tar.Header{Name: name, Size: int64(len(p.data)), Mode: 0o644}))
				_, err := w.Write(p.data)
				must(err)
			}
		}
		must(w.Close())
		must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("s-%03d.tar", shard)), b.Bytes(), 0o644))
	}
	return fmt.Sprintf("%s/s-{000..%03d}.tar", dir, (n+per-1)/per-1)
}

const shardColumns = "[{name: caption, from: txt, max_bytes: 8}, {name: number, from: cls, type: i64}, {name: score, type: f64}]"

func describeShards(t testing.TB, pattern, columns, more string) *spec.Spec {
	t.Helper()
	text := fmt.Sprintf("name: %s\nsource: {shards: %q, columns: %s}\nimage: {transform: [{resize: [8, 8]}]}\n", testName(), pattern, columns) + more
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// Samples of shards come as those of a folder do, and their parts as fields of the batch.
func TestPartsOfShardsBecomeFields(t *testing.T) {
	pattern := shardsOf(t, 30, 7, nil)
	r := start(t, describeShards(t, pattern, shardColumns, "batch: 8\norder: {epochs: 1}\n"), nil)
	reader := r.attach(shm.AttachOptions{MaxLeases: 1})
	var all []int64
	for len(all) < 30 {
		l, err := reader.Acquire(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		captions, offsets := l.Tensor(firstSide), l.Offsets(firstSide)
		numbers, scores := batch.Int64s(l.Tensor(firstSide+1)), batch.Int64s(l.Tensor(firstSide+2))
		s := look(l)
		for row, i := range s.Index {
			caption := string(captions[offsets[row]:offsets[row+1]])
			if len(caption) != int(i%4) || numbers[row] != i%5 || s.Label[row] != i%5 || math.Float64frombits(uint64(scores[row])) != float64(i)/2 {
				t.Fatalf("sample %d: %q %d %d", i, caption, numbers[row], s.Label[row])
			}
			if got, want := int(s.Image[row*192]), int(grey(int(i))); got < want-2 || got > want+2 || s.Keys[row] != fmt.Sprintf("%05d", i) {
				t.Fatalf("sample %d: level %d, want %d; key %s", i, got, want, s.Keys[row])
			}
		}
		all = append(all, s.Index...)
		must(l.Release())
	}
	slices.Sort(all)
	if !slices.Equal(all, sequence(30)) {
		t.Fatalf("%v", all)
	}
}

// A sample that lacks a part is a bad sample, counted with its cause and named with its shard.
func TestMissingPartIsCounted(t *testing.T) {
	pattern := shardsOf(t, 12, 6, map[string]bool{"00007.jpg": true, "00009.score": true})
	r := start(t, describeShards(t, pattern, shardColumns, "batch: 6\norder: {epochs: 1, shuffle: false}\nbad_sample: {policy: mask}\n"), nil)
	batches := epoch(t, r.attach(shm.AttachOptions{}))
	if len(batches) != 2 || batches[1].NBad != 2 || !bytes.Equal(batches[1].Status, []byte{0, batch.Masked, 0, batch.Masked, 0, 0}) {
		t.Fatalf("%+v", batches)
	}
	bad := r.Stats().Rings[0].Bad
	if bad.Causes["part"] != 2 || !bytes.Contains([]byte(bad.Last[0]), []byte(`sample 7 "00007" of "`)) {
		t.Fatalf("%+v", bad)
	}
}

// With shards, too, the engine makes no Go allocation per sample.
func TestShardsAllocateNothingPerSample(t *testing.T) {
	allocationsPerBatch(t, describeShards(t, shardsOf(t, 100, 30, nil), shardColumns, "batch: 50\n"))
}

// sequence is 0, 1, ... n-1.
func sequence(n int64) (all []int64) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// Reads of local files get the deadline that the description says, with the store's beside it where objects may be read as well; on
// a disk there is none by itself. Batches are the same.
func TestLocalTimeoutIsOfFilesAlone(t *testing.T) {
	remote := spec.Remote{Timeout: time.Minute}
	for _, c := range []struct {
		source spec.Source
		want   time.Duration
	}{
		{spec.Source{Folder: "/proc"}, 0}, // by itself: no network's
		{spec.Source{Folder: "/proc", LocalTimeout: time.Second}, time.Second},
		{spec.Source{Folder: "/proc", LocalTimeout: -1}, 0},
		{spec.Source{Folder: "s3://b/p", LocalTimeout: time.Second}, 0},
		{spec.Source{Shards: []string{"/a.tar", "s3://b/b.tar"}, LocalTimeout: time.Second, Remote: remote}, time.Second + time.Minute},
		{spec.Source{List: "/l.tsv", LocalTimeout: time.Second, Remote: remote}, time.Second + time.Minute},
		{spec.Source{List: "/l.tsv", Root: "http://h/", LocalTimeout: time.Second}, 0},
	} {
		if got := localTimeout(&c.source); got != c.want {
			t.Errorf("%+v: %v, want %v", c.source, got, c.want)
		}
	}
	dir := folder(t, 12, nil)
	var before string
	for _, timeout := range []string{"never", "30s"} {
		text := fmt.Sprintf("name: %s\nsource: {folder: %s, local_timeout: %s}\nimage: {transform: [{resize: [8, 8]}]}\nbatch: 4\norder: {epochs: 1}\ncache: {dir: %q}\n",
			testName(), dir, timeout, t.TempDir())
		s, err := spec.Parse([]byte(text), "")
		must(err)
		r := start(t, s, nil)
		got := fmt.Sprint(epoch(t, r.attach(shm.AttachOptions{})))
		if before != "" && got != before {
			t.Error("other batches behind a deadline")
		}
		before = got
		must(r.end())
	}
}

// While samples are looked for each step has the deadline that was said, and the time of a store only where one may be asked.
func TestOpeningHasTheTimeOfWhatItAsks(t *testing.T) {
	remote := spec.Remote{Timeout: time.Minute}
	for _, c := range []struct {
		s    spec.Source
		want time.Duration
	}{
		{spec.Source{Folder: "/proc", LocalTimeout: time.Second, Remote: remote}, time.Second},
		{spec.Source{Folder: "/proc", Remote: remote}, networkTimeout},
		{spec.Source{Shards: []string{"/a.tar", "s3://b/b.tar"}, LocalTimeout: time.Second, Remote: remote}, time.Second + time.Minute},
		{spec.Source{List: "/l.tsv", LocalTimeout: time.Second, Remote: remote}, time.Second + time.Minute},
	} {
		if got := openingTimeout(&c.s); got != c.want {
			t.Errorf("%+v: %v, want %v", c.s, got, c.want)
		}
	}
}
