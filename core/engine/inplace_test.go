//go:build !noffmpeg

package engine

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// inPlaceFromNow has media of so many bytes and more stay in their files, for the test.
func inPlaceFromNow(t *testing.T, bytes int64) {
	was := inPlaceBytes
	inPlaceBytes = bytes
	t.Cleanup(func() { inPlaceBytes = was })
}

// films are n samples of a video of i + 5 frames and a sound of i + 5 samples.
func films(n int) (all []file) {
	for i := range n {
		name := fmt.Sprintf("%03d", i)
		all = append(all, file{name + ".y4m", y4m(i + 5)}, file{name + ".txt", []byte("text")}, file{name + ".wav", wav(i + 5)})
	}
	return all
}

// hashesOf serves two epochs of films in a place, which may be one on a server, and gives every batch's hash. As the ring holds no more than an
// epoch, the last sample is read when those of the first epoch are decoded.
func hashesOf(t *testing.T, place, more string) (all []uint64, s RingStats) {
	t.Helper()
	t.Run(place, func(t *testing.T) {
		dir := t.TempDir()
		kind, served := strings.CutPrefix(place, "served ")
		source, _, _ := strings.Cut(places[kind](t, dir, films(5)), "|")
		if served {
			source = strings.Replace(source, dir, serveDirectory(t, dir), 1)
		}
		media := "video: {frames: 3, transform: [resize: [8, 8]], select: {kind: clips_at_random_indices, num_frames_per_clip: 3}}\naudio: {rate: 8000, length: 3, select: [0], crop: random%s}\n"
		media = fmt.Sprintf(media, map[string]string{"folder": ", from: wav"}[place])
		if place == "folder" {
			source = strings.Replace(source, "columns: [txt]", "extensions: [y4m]", 1)
		}
		text := fmt.Sprintf("name: %s\nsource: %s\nbatch: 2\norder: {epochs: 2, seed: 4}\nring: {slots: 3, hash: xxh3}\n%s%s", testName(), source, media, more)
		described, err := spec.Parse([]byte(text), "")
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		r := start(t, described, nil)
		reader := r.attach(shm.AttachOptions{})
		for len(all) < 6 {
			l, err := reader.Acquire(testContext(t))
			if errors.Is(err, shm.EndEpoch) {
				continue
			}
			if err != nil {
				t.Fatal(err, r.Stats().Rings[0].Bad)
			}
			all = append(all, l.Hash)
			must(l.Release())
		}
		s = r.Stats().Rings[0]
	})
	return all, s
}

// serveDirectory is the address of a server of a directory's files, in ranges.
func serveDirectory(t testing.TB, dir string) string {
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL
}

// Videos and sounds that stay in their files give the same batches as those that are read whole; indices of videos are made once for all epochs, in the
// user's cache unless the description says where. What a cache of samples keeps is read whole.
func TestMediaInPlaceGiveTheSameBatches(t *testing.T) {
	kept := t.TempDir()
	t.Setenv("SPDL_CACHE_DIR", kept)
	for _, place := range []string{"folder", "tar", "zip", "served tar", "served zip"} {
		want, s := hashesOf(t, place, "")
		if s.Video != nil || len(want) == 0 {
			t.Fatalf("%s: %+v", place, s.Video)
		}
		inPlaceFromNow(t, 1)
		got, s := hashesOf(t, place, "")
		if c := s.Video; !slices.Equal(got, want) || c == nil || c.IndexMade+c.IndexRead != 10 || c.IndexRead < 1 || c.IndexUnkept > 0 {
			t.Errorf("%s: got %x, want %x, and indices made once: %+v", place, got, want, c)
		}
		cached, s := hashesOf(t, place, "cache: {dir: "+t.TempDir()+"}\n")
		if !slices.Equal(cached, want) || s.Video != nil || s.Source.Cache.Stored == 0 {
			t.Errorf("%s: behind a cache: got %x, want %x, and no index: %+v", place, cached, want, s.Video)
		}
		own := t.TempDir()
		if got, _ := hashesOf(t, place, "cache: {video_index_dir: "+own+"}\n"); !slices.Equal(got, want) {
			t.Errorf("%s: with a directory of indices: got %x, want %x", place, got, want)
		}
		if files, _ := os.ReadDir(own); len(files) != 5 {
			t.Errorf("%s: %d indices in the description's directory, want 5", place, len(files))
		}
		inPlaceBytes = 1 << 40
	}
	if files, _ := filepath.Glob(filepath.Join(kept, "video", "*")); len(files) != 25 {
		t.Errorf("%d indices in the user's cache, want one for each of the 25 videos", len(files))
	}
}

// A plan's source reads large media whole, as who packs them wants their bytes.
func TestPlansReadLargeMediaWhole(t *testing.T) {
	inPlaceFromNow(t, 1)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	for _, place := range []string{"folder", "tar", "zip"} {
		text, _, _ := strings.Cut(places[place](t, t.TempDir(), films(1)), "|")
		s, err := spec.Parse([]byte(fmt.Sprintf("name: %s\nsource: %s\naudio: {rate: 8000, length: 8}\n", testName(), text)), "")
		must(err)
		p, err := OpenPlan(testContext(t), s)
		must(err)
		var pool source.Pool
		b := pool.Get()
		must(p.Source().Read(testContext(t), 0, b))
		if !bytes.Equal(b.Part(0), wav(5)) || b.InPlace(0) != nil {
			t.Errorf("%s: got %d bytes, in place %v; want all %d", place, len(b.Part(0)), b.InPlace(0) != nil, len(wav(5)))
		}
		pool.Put(b)
		must(p.Close())
	}
}

// A file that is written while its sample waits to be decoded makes a bad sample, cause changed, which a journal is told of, whatever its decoder says.
func TestMediaThatChangeInPlaceAreBadSamples(t *testing.T) {
	inPlaceFromNow(t, 1)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	r := startVideos(t, "{frames: 3, transform: [resize: [8, 8]]}", 5, 6)
	ring := r.rings[0]
	for sample, change := range []func(path string) error{
		func(path string) error { return os.Truncate(path, 700) },
		func(path string) error { return os.WriteFile(path, y4m(7), 0o644) },
	} {
		on, w := fetched(t, ring, int64(sample))
		must(change(w.bufs[0].InPlace(0).Name))
		ring.decodeRow(on, w, 0)
		bad := w.faults[0]
		if named := fmt.Sprintf(`source: sample %d "%03d.y4m": changed: `, sample, sample); bad.Cause != "changed" || !bad.Timed || w.bufs[0] != nil || !strings.HasPrefix(bad.Err.Error(), named) {
			t.Errorf("got %+v, want %s", bad, named)
		}
	}
}

// fetched is a batch of one sample of a ring, read but not decoded, and who decodes it.
func fetched(t *testing.T, r *ring, sample int64) (*worker, *work) {
	t.Helper()
	on, err := openWorker(r.samples)
	must(err)
	t.Cleanup(on.Close)
	w := newWork(1, r.samples.fields, nil)
	for f := range w.fields {
		w.fields[f].Data = make([]byte, w.fields[f].RowBytes)
	}
	w.Begin(batch.Memory{Fields: w.fields}, []int64{sample}, 0)
	w.seq = 1 // no slot
	_, err = r.fetchRow(testContext(t), w, 0)
	must(err)
	return on, w
}

// openServed opens a ring of videos that lie in an archive on a server, which has an answer of its own to each request from `answer` on.
func openServed(t *testing.T, remote string) (e *Engine, answer func(http.HandlerFunc)) {
	t.Helper()
	inPlaceFromNow(t, 1)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	places["tar"](t, dir, films(6))
	var own atomic.Pointer[http.HandlerFunc]
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if f := own.Load(); f != nil {
			(*f)(w, q)
			return
		}
		files.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	text := fmt.Sprintf("name: %s\nsource: {shards: %s/a.tar, remote: %s}\nbatch: 2\norder: {shuffle: false, epochs: 2}\nvideo: {frames: 3, transform: [resize: [8, 8]]}\n", testName(), server.URL, remote)
	described, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	leavesNothing(t)
	if e, err = New(described, nil); err != nil {
		t.Skip(err) // of a build without FFmpeg
	}
	return e, func(f http.HandlerFunc) { own.Store(&f) }
}

// What a store does not give to a decoder makes a bad sample with the store's cause, and not with what the decoder makes of it.
func TestStoreThatFailsADecoderMakesABadSample(t *testing.T) {
	for cause, answer := range map[string]http.HandlerFunc{
		"missing":    http.NotFound,
		"permission": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"changed":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPreconditionFailed) },
		"io":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"deadline":   func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() },
	} {
		e, become := openServed(t, "{retries: 1, timeout: 600ms, hedge_after: never}")
		ring := e.rings[0]
		on, w := fetched(t, ring, 3)
		become(answer)
		must(e.cpus.Acquire(testContext(t))) // its turn
		must(ring.decodeJob(testContext(t), on, &job{w: w, from: 0, to: 1}))
		e.cpus.Release()
		named := fmt.Sprintf("source: sample 3 %q: %s: ", ring.source.Key(3, nil), cause)
		if bad := w.faults[0]; bad.Cause != cause || !strings.HasPrefix(bad.Err.Error(), named) || !strings.Contains(bad.Err.Error(), "a.tar") {
			t.Errorf("got %+v, want %s", bad, named)
		}
		must(e.Close())
	}
}

// An engine is stopped at once while its decoders wait for a store, and no sample is bad for that.
func TestEngineStopsWhileDecodersWaitForAStore(t *testing.T) {
	e, become := openServed(t, "{timeout: 1h, hedge_after: never}")
	waits := make(chan struct{}, 100)
	become(func(_ http.ResponseWriter, q *http.Request) {
		waits <- struct{}{}
		<-q.Context().Done()
	})
	r := serve(t, e)
	select {
	case <-waits:
	case <-time.After(watchdog):
		t.Fatal("nothing is read")
	}
	must(r.end())
	if bad := r.Stats().Rings[0].Bad; bad.Total > 0 {
		t.Errorf("bad samples: %+v", bad)
	}
}

// Decoders that wait for a store leave their turns to others, and there are more of them: none of two, each in want of a block, waits for the other's.
func TestDecodersWaitForAStoreOutOfTurn(t *testing.T) {
	e, become := openServed(t, "{hedge_after: never}")
	defer e.Close()
	ring := e.rings[0]
	if want := min(waitingDecoders*e.may.decoders, maxFetch); ring.decoders != want {
		t.Errorf("%d decoders, want %d", ring.decoders, want)
	}
	free := func() int64 { s := e.cpus.Stats(); return s.Limit - s.Used }
	all := free()
	on, w := fetched(t, ring, 0)
	var during atomic.Int64
	become(func(w http.ResponseWriter, _ *http.Request) {
		during.Store(free())
		w.WriteHeader(http.StatusNotFound)
	})
	must(e.cpus.Acquire(testContext(t)))
	must(ring.decodeJob(testContext(t), on, &job{w: w, from: 0, to: 1}))
	if during.Load() != all || free() != all-1 {
		t.Errorf("%d turns were free while a decoder waited, and %d are now, of %d", during.Load(), free(), all)
	}
	e.cpus.Release()
	local := startVideos(t, "{frames: 3, transform: [resize: [8, 8]]}", 5, 6)
	if got := local.rings[0].decoders; got != local.may.decoders {
		t.Errorf("%d decoders of local files, want %d", got, local.may.decoders)
	}
}
