package pack

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source/store"
)

// bucket is a store that speaks as much of S3 as packing into it needs.
type bucket struct {
	*httptest.Server
	mu      sync.Mutex
	objects map[string][]byte
	uploads map[string]map[string][]byte // parts by number, of each that is open
	begun   int
	fault   func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
}

func serveBucket(t *testing.T) *bucket {
	b := &bucket{objects: map[string][]byte{}, uploads: map[string]map[string][]byte{}}
	b.Server = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.Close)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	t.Setenv("AWS_ENDPOINT_URL_S3", b.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	return b
}

func (b *bucket) serve(w http.ResponseWriter, r *http.Request) {
	if b.fault != nil && b.fault(w, r) {
		return
	}
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	key, query := strings.TrimPrefix(r.URL.Path, "/bucket/"), r.URL.Query()
	id := query.Get("uploadId")
	switch {
	case r.Method == http.MethodPost && query.Has("uploads"):
		b.begun++
		id = fmt.Sprint(key, b.begun)
		b.uploads[id] = map[string][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case id != "" && b.uploads[id] == nil:
		http.Error(w, "<Error><Code>NoSuchUpload</Code></Error>", http.StatusNotFound)
	case r.Method == http.MethodPut:
		b.uploads[id][query.Get("partNumber")] = body
		w.Header().Set("ETag", fmt.Sprintf("%q", id+query.Get("partNumber")))
	case r.Method == http.MethodDelete:
		delete(b.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPost:
		b.complete(w, r, key, id, body)
	case query.Has("list-type"):
		fmt.Fprint(w, "<ListBucketResult>")
		for name := range b.objects {
			if strings.HasPrefix(name, query.Get("prefix")) {
				fmt.Fprintf(w, "<Contents><Key>%s</Key></Contents>", name)
			}
		}
		fmt.Fprint(w, "</ListBucketResult>")
	case b.objects[key] == nil:
		http.NotFound(w, r)
	default:
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.objects[key]))
	}
}

func (b *bucket) complete(w http.ResponseWriter, r *http.Request, key, id string, body []byte) {
	var wanted struct {
		Part []struct{ PartNumber, ETag string }
	}
	if err := xml.Unmarshal(body, &wanted); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.Header.Get("If-None-Match") == "*" && b.objects[key] != nil {
		http.Error(w, "<Error><Code>PreconditionFailed</Code></Error>", http.StatusPreconditionFailed)
		return
	}
	data := []byte{}
	for k, p := range wanted.Part {
		if p.PartNumber != fmt.Sprint(k+1) || p.ETag != fmt.Sprintf("%q", id+p.PartNumber) {
			http.Error(w, "<Error><Code>InvalidPart</Code></Error>", http.StatusBadRequest)
			return
		}
		data = append(data, b.uploads[id][p.PartNumber]...)
	}
	b.objects[key] = data
	delete(b.uploads, id)
	fmt.Fprint(w, "<CompleteMultipartUploadResult/>")
}

func (b *bucket) names() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.objects {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// into is a packing of n samples of sizes that make parts of several archives.
func into(t *testing.T, out string, n int) Config {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		put(t, filepath.Join(dir, "a", fmt.Sprintf("%d.png", i)), append(picture(i, 4, 4), bytes.Repeat([]byte{byte(i)}, 7<<20)...))
	}
	return Config{Source: folder(t, dir, nil), Samples: upTo(int64(n)), Parts: []Part{{}}, Out: out, MaxSamples: 4}
}

// Archives in a store are those that a directory has, byte for byte, and open from there.
func TestArchivesGoToAStore(t *testing.T) {
	b := serveBucket(t)
	dir := t.TempDir()
	c := into(t, dir+"/t-%02d.tar", 6)
	if _, err := Write(testContext(t), c); err != nil {
		t.Fatal(err)
	}
	c.Out = "s3://bucket/sets/t-%02d.tar"
	report, err := Write(testContext(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(report.Shards, []string{"s3://bucket/sets/t-00.tar", "s3://bucket/sets/t-01.tar"}) || report.Samples != 6 || len(b.uploads) != 0 {
		t.Errorf("report %+v, %d uploads are open", report, len(b.uploads))
	}
	var total int64
	for _, name := range []string{"t-00.tar", "t-01.tar"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if total += int64(len(want)); !bytes.Equal(b.objects["sets/"+name], want) || len(want) <= store.PartBytes && name == "t-00.tar" {
			t.Errorf("%s: %d bytes, want the %d of the file", name, len(b.objects["sets/"+name]), len(want))
		}
	}
	if report.Bytes != total {
		t.Errorf("report of %d bytes, want %d", report.Bytes, total)
	}
}

// An upload that fails ends the run with what the store said, and leaves nothing of its archive; those before it are whole. So it is when the run is
// cancelled, and when the store makes no object of the parts.
func TestUploadsThatFailLeaveNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	for want, fault := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		`pack: "s3://bucket/t-01.tar": "s3://bucket/t-01.tar": permission: got status 403 Forbidden (AccessDenied)`: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "t-01.tar") {
				http.Error(w, "<Error><Code>AccessDenied</Code></Error>", http.StatusForbidden)
				return true
			}
			return false
		},
		`the store did not make the object of its parts: got <Error> InternalError`: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") && strings.HasSuffix(r.URL.Path, "t-01.tar") {
				_, _ = io.WriteString(w, "<Error><Code>InternalError</Code></Error>") // status 200: it had begun to answer
				return true
			}
			return false
		},
		context.Canceled.Error(): func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "t-01.tar") {
				cancel()
			}
			return false
		},
	} {
		b := serveBucket(t)
		b.fault = fault
		report, err := Write(ctx, into(t, "s3://bucket/t-%02d.tar", 8))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if got := b.names(); !slices.Equal(got, []string{"t-00.tar"}) || len(b.uploads) != 0 || b.begun != 2 || !slices.Equal(report.Shards, []string{"s3://bucket/t-00.tar"}) {
			t.Errorf("%s: objects %q, %d open uploads of %d, reported %q", want, got, len(b.uploads), b.begun, report.Shards)
		}
		ctx, cancel = context.WithCancel(testContext(t))
		defer cancel()
	}
}

// A part that fails for a moment is written again.
func TestUploadsAreTriedAgain(t *testing.T) {
	b := serveBucket(t)
	failed := map[string]bool{}
	b.fault = func(w http.ResponseWriter, r *http.Request) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if again := failed[r.Method+r.URL.String()]; again || r.Method == http.MethodGet || r.Method == http.MethodHead {
			return false
		}
		failed[r.Method+r.URL.String()] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	if _, err := Write(testContext(t), into(t, "s3://bucket/t-%02d.tar", 4)); err != nil || len(b.names()) != 1 || len(b.uploads) != 0 {
		t.Errorf("%v, %q, %d uploads are open", err, b.names(), len(b.uploads))
	}
}

// Names that objects have are refused before anything is written, and one that somebody takes meanwhile when the archive would get it.
func TestNamesOfObjectsAreNotTakenTwice(t *testing.T) {
	b := serveBucket(t)
	b.objects["x/t-7.tar"], b.objects["x/t-8.tar.txt"], b.objects["x/t-deep/9.tar"] = []byte{}, []byte{}, []byte{}
	try := func(out string, kind error, want string) {
		t.Helper()
		if _, err := Write(testContext(t), into(t, out, 2)); !errors.Is(err, kind) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", out, err, want)
		}
	}
	try("s3://bucket/x/t-%02d.tar", ErrTaken, `the name is taken by "s3://bucket/x/t-7.tar"; remove what an earlier run wrote`)
	try("https://bucket/x/t-%02d.tar", ErrName, "archives are written to a directory or to s3://BUCKET/")
	try("gs://bucket/x/t-%02d.tar", ErrName, "nothing is written to gs://")
	b.fault = func(w http.ResponseWriter, r *http.Request) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if r.Method == http.MethodPut {
			b.objects["y-00.tar"] = []byte("another's")
		}
		return false
	}
	try("s3://bucket/y-%02d.tar", ErrTaken, "there is an object of that name")
	if string(b.objects["y-00.tar"]) != "another's" || len(b.uploads) != 0 {
		t.Errorf("the other's is %q, %d uploads are open", b.objects["y-00.tar"], len(b.uploads))
	}
	c := into(t, "s3://bucket/z-%02d.tar", 1)
	c.Beside = true
	if _, err := Write(testContext(t), c); !errors.Is(err, ErrName) || !strings.Contains(err.Error(), "indexes lie beside archives in a directory alone") {
		t.Errorf("got %v", err)
	}
}
