//go:build !noffmpeg

package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source/store"
)

// largeFromNow has media at addresses of so many bytes and more not be read whole, for the test.
func largeFromNow(t *testing.T, bytes int64) {
	was := largeBytes
	largeBytes = bytes
	t.Cleanup(func() { largeBytes = was })
}

// Large media at an address give what they give as files, in one piece, in chunks and probed, and what they were read with is gone then.
func TestLargeMediaAtAnAddressAreReadAsTheyAreDecoded(t *testing.T) {
	largeFromNow(t, 1)
	before := runtime.NumGoroutine()
	var heads, reads atomic.Int64
	files := http.FileServer(http.Dir("../media"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			reads.Add(1)
		} else {
			heads.Add(1)
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	for _, test := range []struct{ file, description string }{
		{"video/testdata/bframes.mp4", `{"video": {"select": {"kind": "indices", "indices": [3, 30]}}}`},
		{"video/testdata/bframes.mp4", `{"video": {}}`},
		{"video/testdata/opengroup.mkv", `{"video": {"select": {"kind": "keyframes"}}}`},
		{"video/testdata/bframes.mp4", `{"probe": "video"}`},
		{"audio/testdata/mono.flac", `{"audio": {}}`},
		{"audio/testdata/lame.mp3", `{"audio": {"rate": 8000}}`},
		{"audio/testdata/lame.mp3", `{"probe": "audio"}`},
	} {
		if _, err := os.Stat("../media/" + test.file); err != nil {
			t.Fatal(err)
		}
		want, err := Load([]byte(test.description), Source{Path: "../media/" + test.file}, nil)
		if err != nil {
			t.Fatal(err)
		}
		heads.Store(0)
		reads.Store(0)
		got, err := Load([]byte(test.description), Source{Path: server.URL + "/" + test.file}, nil)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s of %s: another sample (%v)", test.description, test.file, err)
		}
		if heads.Load() != 0 || reads.Load() != 1 { // the first answer said how large it is, and began with the block that is all of it
			t.Errorf("%s of %s: asked %d times for the version and %d for bytes", test.description, test.file, heads.Load(), reads.Load())
		}
	}
	open := func(path string) *Stream { return must(Open([]byte(`{"video": {"frames": 7}}`), Source{Path: path})) }
	near, far := open("../media/video/testdata/bframes.mp4"), open(server.URL+"/video/testdata/bframes.mp4")
	for {
		want, wantErr := near.Next(nil)
		got, err := far.Next(nil)
		if err != wantErr || err == nil && !reflect.DeepEqual(got.Tensors, want.Tensors) {
			t.Fatalf("another chunk (%v, %v)", err, wantErr)
		}
		if err == io.EOF {
			break
		}
	}
	near.Close()
	far.Close()
	server.CloseClientConnections()
	server.Close()
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, were %d", runtime.NumGoroutine(), before)
		}
	}
}

// spread is an MP4 with its tables more than a block behind its frames, so that it is asked for twice.
func spread(film []byte) []byte {
	tables := bytes.Index(film, []byte("moov")) - 4
	free := append(binary.BigEndian.AppendUint32(nil, 3<<20), "free"...)
	return slices.Concat(film[:tables], free, make([]byte, 3<<20-len(free)), film[tables:])
}

// What goes wrong on the way is said as the store says it, with the address and without what is secret in it.
func TestLargeMediaAtAnAddressThatFail(t *testing.T) {
	largeFromNow(t, 1)
	data := spread(must(os.ReadFile("../media/video/testdata/bframes.mp4")))
	requests := atomic.Int64{}
	etag := func(n int64) string { return `"v` + string(rune('0'+min(n, 3))) + `"` } // of the first, then the others
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", etag(requests.Add(1)))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}))
	defer server.Close()
	for _, description := range []string{`{"video": {}}`, `{"probe": "video"}`} {
		requests.Store(0)
		_, err := Load([]byte(description), Source{Path: server.URL + "/v.mp4?key=secret"}, nil)
		var why *store.Error
		if !errors.As(err, &why) || why.Cause != store.Changed || !strings.Contains(err.Error(), "/v.mp4?...") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", description, err)
		}
	}
	requests.Store(0)
	if _, err := Open([]byte(`{"video": {"frames": 2}}`), Source{Path: server.URL + "/v.mp4"}); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("got %v", err)
	}
}

// An index of what lies at an address is kept for its version.
func TestAnIndexOfLargeMediaIsKept(t *testing.T) {
	largeFromNow(t, 1)
	kept := t.TempDir()
	data := must(os.ReadFile("../media/video/testdata/bframes.mp4"))
	for round, etag := range []string{`"a"`, `"a"`, `"b"`, ""} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if etag != "" {
				w.Header().Set("ETag", etag)
			}
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		}))
		if _, err := Load([]byte(`{"video": {}, "cache": {"video_index_dir": "`+kept+`"}}`), Source{Path: server.URL + "/v.mp4"}, nil); err != nil {
			t.Fatal(err)
		}
		server.Close()
		if files := must(filepath.Glob(filepath.Join(kept, "*.spdlvidx"))); len(files) != min(round+1, 3) { // each server is another address
			t.Errorf("round %d: %d indices", round, len(files))
		}
	}
}

// What looks like an address of another scheme is named as that, whatever is to be decoded, and is a file's name where there is such a file.
func TestAddressesOfOtherSchemesAreNamedSo(t *testing.T) {
	for _, description := range []string{`{"image": {}}`, `{"video": {}}`, `{"audio": {}}`, `{"npy": {}}`, `{"wav": {}}`, `{"probe": "video"}`} {
		_, err := Load([]byte(description), Source{Path: "ftp://host/x"}, nil)
		if want := `load: "ftp://host/x": got an address of scheme "ftp" without a file of that name, want a file, or an address of http, https, s3, gs or hf with its host or bucket`; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", description, err, want)
		}
	}
	before := must(os.Getwd())
	if err := os.Chdir(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	defer os.Chdir(before)
	if err := errors.Join(os.MkdirAll("ftp:/host", 0o755), os.WriteFile("ftp:/host/x", picture(), 0o644)); err != nil {
		t.Fatal(err)
	}
	must(Load([]byte(`{"image": {}}`), Source{Path: "ftp://host/x"}, nil))
}
