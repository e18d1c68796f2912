package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/signer"
	"github.com/spdl/spdl/core/source/store"
)

// objects is an HTTP server of named objects, each of a version.
type objects struct {
	*httptest.Server
	mu       sync.Mutex
	data     map[string]string
	etag     map[string]string
	requests int
	fault    func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
}

func serveObjects(t testing.TB, data map[string]string) *objects {
	o := &objects{data: data, etag: map[string]string{}}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.requests++
		text, ok := o.data[r.URL.Path]
		etag, fault := o.etag[r.URL.Path], o.fault
		o.mu.Unlock()
		if fault != nil && fault(w, r) {
			return
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf("%q", "v1"+etag))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *objects) change(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
}

// storeClient asks for nothing twice: tests count requests, and a machine that is busy makes a read slow.
func storeClient(t testing.TB, o store.Options) *store.Client {
	t.Helper()
	o.HedgeAfter = -1
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Minute
	}
	c, err := store.New(o)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func remoteCause(t *testing.T, s Source, i int64, cause Cause) {
	t.Helper()
	var b Buffer
	var e *Error
	if err := s.Read(background, i, &b); !errors.As(err, &e) || e.Cause != cause || e.Index != i || len(b.Bytes()) != 0 {
		t.Fatalf("sample %d: got %v, want %s", i, err, cause)
	}
}

// Shards over HTTP are read by range; their index is made once, and each fault of the server is a bad sample with its cause.
func TestShardsOverHTTP(t *testing.T) {
	o := serveObjects(t, map[string]string{
		"/d/s-0.tar": string(tarOf(t, tar.FormatGNU, pairs(0, 20)...)), "/d/s-1.tar": string(tarOf(t, tar.FormatGNU, pairs(20, 30)...)),
	})
	c := ShardsConfig{Shards: []string{o.URL + "/d/s-{0..1}.tar"}, IndexDir: t.TempDir(), Columns: []Column{{Name: "cls"}},
		Store: storeClient(t, store.Options{Retries: 1})}
	s := openS(t, c)
	for i := range s.Len() {
		if b, text := read(t, s, i); text != fmt.Sprintf("picture %d", i) || s.Label(i) != i%7 || string(b.Value(0)) != fmt.Sprintf("%d\n", i%7) {
			t.Fatalf("%d: %q", i, text)
		}
	}
	before := o.requests
	if s := openS(t, c); s.Len() != 30 || o.requests-before != 2 {
		t.Fatalf("%d requests to open two shards whose indexes are kept, want one each", o.requests-before)
	}
	short := c
	short.Store = storeClient(t, store.Options{Retries: 1, Timeout: 3 * time.Second})
	hasty := openS(t, short)
	answer := func(code int) {
		o.change(func() {
			o.fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(code); return true }
		})
	}
	for code, cause := range map[int]Cause{404: Missing, 403: Permission, 500: IO, 412: Changed} {
		answer(code)
		remoteCause(t, s, 3, cause)
	}
	o.change(func() {
		o.fault = func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	})
	remoteCause(t, hasty, 3, Deadline)
	o.change(func() { o.fault, o.etag["/d/s-1.tar"] = nil, "+" })
	remoteCause(t, s, 25, Changed)
	if _, text := read(t, s, 3); text != "picture 3" {
		t.Fatal(text)
	}
	// Opened again, the changed shard has another index.
	if s := openS(t, c); s.Len() != 30 {
		t.Fatal(s.Len())
	}
	o.change(func() { delete(o.data, "/d/s-1.tar") })
	if _, err := OpenShards(background, c); err == nil || !strings.Contains(err.Error(), `s-1.tar": `) || !strings.Contains(err.Error(), "404") || strings.Contains(err.Error(), "listed") {
		t.Fatalf("got %v", err)
	}
	c.Shards = []string{o.URL + "/d/s-*.tar"} // goes to the server as a name
	if _, err := OpenShards(background, c); err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), "name each object, or a range such as {0..9}") {
		t.Fatalf("got %v", err)
	}
}

// An error of a store names the object, without the signature in its URL, and has no gaps where a part is missing.
func TestAStoresErrorNamesItsObject(t *testing.T) {
	o := serveObjects(t, nil)
	client, dir := storeClient(t, store.Options{Retries: 1}), t.TempDir()
	listed := func(line, root string) Source {
		file := filepath.Join(dir, "list.txt")
		must(t, os.WriteFile(file, []byte(line+"\n"), 0o600))
		s, err := OpenList(ListConfig{File: file, Root: root, Store: client})
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		return s
	}
	both := []Source{listed("bird/0015.jpg", o.URL+"/"), listed(o.URL+"/cat/1.jpg?X-Signature=secret", "")}
	said := func(i int) string {
		var b Buffer
		err := both[i].Read(background, 0, &b)
		if err == nil {
			t.Fatal("it was read")
		}
		return err.Error()
	}
	o.change(func() {
		o.fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true }
	})
	if got, want := said(0), `"bird/0015.jpg": io: "`+o.URL+`/bird/0015.jpg": got status 503 Service Unavailable (after 2 attempts)`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := said(1), `"`+o.URL+`/cat/1.jpg?...": got status 503`; !strings.Contains(got, want) || strings.Contains(got, "secret") {
		t.Errorf("got %s, want %s", got, want)
	}
	o.Close()
	if got, want := said(0), `io: "`+o.URL+`/bird/0015.jpg" (after 2 attempts): dial tcp`; !strings.Contains(got, want) || strings.Contains(got, "  ") {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := said(1); strings.Contains(got, "secret") {
		t.Errorf("got %s", got)
	}
}

// A damaged index of a remote archive is made again from the archive when it is first looked at.
func TestDamagedIndexOfARemoteShardIsMadeAgain(t *testing.T) {
	o := serveObjects(t, map[string]string{"/s.tar": string(tarOf(t, tar.FormatGNU, pairs(0, 20)...))})
	c := ShardsConfig{Shards: []string{o.URL + "/s.tar"}, IndexDir: t.TempDir(), Store: storeClient(t, store.Options{})}
	x := openS(t, c).(*shards).all[0].index
	good, err := os.ReadFile(x.file)
	must(t, err)
	must(t, os.Remove(x.file))
	write(t, x.file, string(flip(good, len(x.header)+50)))
	s := openS(t, c)
	for i := range s.Len() {
		if _, text := read(t, s, i); text != fmt.Sprintf("picture %d", i) || s.Label(i) != i%7 {
			t.Fatalf("%d: %q, label %d", i, text, s.Label(i))
		}
	}
	if mended, err := os.ReadFile(x.file); err != nil || !bytes.Equal(mended, good) {
		t.Fatalf("the file is not as it was: %v", err)
	}
}

// A connection that breaks off while an archive is indexed is the network's fault: the archive is not called damaged.
func TestAConnectionThatBreaksOffIsNoDamagedArchive(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "a.jpg", Method: zip.Store})
	must(t, err)
	_, err = f.Write(make([]byte, 4000))
	must(t, err)
	must(t, w.Close())
	o := serveObjects(t, map[string]string{"/s.tar": string(tarOf(t, tar.FormatGNU, pairs(0, 20)...)), "/s.zip": b.String()})
	o.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		size := len(o.data[r.URL.Path])
		from, to := 0, size-1
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); n == 2 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, size))
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write([]byte(o.data[r.URL.Path])[from : (from+to)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	for name, where := range map[string]string{"/s.tar": `/s.tar": header at 0: io: got `, "/s.zip": `/s.zip": zip: io: got `} {
		_, err := OpenShards(background, ShardsConfig{Shards: []string{o.URL + name}, IndexDir: t.TempDir(), Store: storeClient(t, store.Options{Retries: 1})})
		if err == nil || !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), "EOF (after 2 attempts)") || strings.Contains(err.Error(), "truncated") {
			t.Errorf("%s: got %v, want %q", name, err, where)
		}
	}
	o.data["/l.txt"] = "one.jpg\ntwo.jpg\n"
	_, err = OpenList(ListConfig{File: o.URL + "/l.txt", Store: storeClient(t, store.Options{Retries: 1})})
	if err == nil || !strings.Contains(err.Error(), "(after 2 attempts): unexpected EOF") {
		t.Errorf("a list: got %v, want how often it was tried", err)
	}
}

// A list may lie on a server, name paths beside itself and URLs anywhere; with a root it may not leave it.
func TestListsOverHTTP(t *testing.T) {
	o := serveObjects(t, map[string]string{"/d/p/a b.jpg": "A", "/e/c.jpg": "C", "/d/p/empty.jpg": ""})
	o.data["/d/l.tsv"] = "p/a b.jpg\t1\n" + o.URL + "/e/c.jpg\t2\np/none.jpg\np/empty.jpg\n"
	o.data["/d/t.csv"] = "path,label\np/a b.jpg,1\n" + o.URL + "/e/c.jpg,2\n"
	client := storeClient(t, store.Options{})
	for _, list := range []string{"/d/l.tsv", "/d/t.csv", "/d/l.tsv?signature=x/y"} {
		s := openL(t, ListConfig{File: o.URL + list, Store: client})
		_, a := read(t, s, 0)
		if _, c := read(t, s, 1); a != "A" || c != "C" || s.Label(1) != 2 {
			t.Fatalf("%s: %q %q", list, a, c)
		}
		if s.Len() == 4 {
			remoteCause(t, s, 2, Missing)
			remoteCause(t, s, 3, Empty)
		}
	}
	local := filepath.Join(t.TempDir(), "l.tsv")
	write(t, local, "a b.jpg\n")
	if _, a := read(t, openL(t, ListConfig{File: local, Root: o.URL + "/d/p/", Store: client}), 0); a != "A" {
		t.Fatal(a)
	}
	if _, err := OpenList(ListConfig{File: o.URL + "/d/l.tsv", Root: o.URL + "/d", Store: client}); err == nil || !strings.Contains(err.Error(), "line 2: path") || !strings.Contains(err.Error(), "got a URL") {
		t.Fatalf("got %v", err)
	}
	signed := filepath.Join(t.TempDir(), "signed.tsv")
	write(t, signed, o.URL+"/d/a.jpg?sig=secret\n")
	if _, err := OpenList(ListConfig{File: signed, Root: o.URL + "/d", Store: client}); err == nil || !strings.Contains(err.Error(), "/d/a.jpg?...") || strings.Contains(err.Error(), "secret") {
		t.Fatalf("a signed URL where none is wanted: got %v", err)
	}
	// A directory as root confines files; a URL is none.
	for ending, text := range map[string]string{".tsv": o.URL + "/e/c.jpg\t4\nb.jpg\t5\n", ".csv": "path,label\n" + o.URL + "/e/c.jpg,4\nb.jpg,5\n"} {
		mixed := filepath.Join(t.TempDir(), "mixed"+ending)
		write(t, mixed, text)
		write(t, filepath.Join(filepath.Dir(mixed), "files", "b.jpg"), "B")
		s := openL(t, ListConfig{File: mixed, Root: filepath.Join(filepath.Dir(mixed), "files"), Store: client})
		_, c := read(t, s, 0)
		if _, b := read(t, s, 1); b != "B" || c != "C" || s.Label(0) != 4 || s.Label(1) != 5 {
			t.Fatalf("%s: %q %q", ending, c, b)
		}
	}
	if _, err := OpenList(ListConfig{File: o.URL + "/none.tsv", Store: client}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Fatalf("got %v", err)
	}
	s := openL(t, ListConfig{File: o.URL + "/d/l.tsv", Store: client, MaxFileBytes: 1})
	o.change(func() { o.data["/e/c.jpg"] = "CC" })
	remoteCause(t, s, 1, TooLarge)
}

// The query of a root, a signature say, goes behind each path; messages do not tell it, and the identity of a sample does not change with it.
func TestARootsQueryGoesBehindThePaths(t *testing.T) {
	o := serveObjects(t, map[string]string{"/d/p/a b?.jpg": "A", "/d/a.jpg": "B"})
	asked := ""
	o.fault = func(w http.ResponseWriter, r *http.Request) bool {
		asked = r.URL.RawQuery
		if asked != "sv=1&sig=a/b%3D" {
			w.WriteHeader(http.StatusForbidden)
		}
		return asked != "sv=1&sig=a/b%3D"
	}
	client, dir := storeClient(t, store.Options{}), t.TempDir()
	write(t, filepath.Join(dir, "l.tsv"), "p/a b?.jpg\na.jpg\n")
	write(t, filepath.Join(dir, "t.csv"), "path\np/a b?.jpg\na.jpg\n")
	for _, list := range []string{"l.tsv", "t.csv"} {
		for _, root := range []string{"/d?", "/d/?"} {
			s := openL(t, ListConfig{File: filepath.Join(dir, list), Root: o.URL + root + "sv=1&sig=a/b%3D", Store: client})
			_, a := read(t, s, 0)
			if _, b := read(t, s, 1); a != "A" || b != "B" {
				t.Fatalf("%s, %s: %q %q", list, root, a, b)
			}
			other := openL(t, ListConfig{File: filepath.Join(dir, list), Root: o.URL + root + "sv=2&sig=secret", Store: client})
			var b Buffer
			if err := other.Read(background, 0, &b); err == nil || strings.Contains(err.Error(), "secret") || asked != "sv=2&sig=secret" {
				t.Errorf("%s: asked for %q, %v", list, asked, err)
			}
			if x, y := s.(Versioned).Identity(0, nil), other.(Versioned).Identity(0, nil); !bytes.Equal(x, y) {
				t.Errorf("%s: identities %q and %q", list, x, y)
			}
		}
	}
}

// Parquet over HTTP: the footer and the pages are read, not the file.
func TestParquetOverHTTP(t *testing.T) {
	file := t.TempDir() + "/a.parquet"
	writeParquet(t, file, pictureRows(0, 30), 10)
	data, err := os.ReadFile(file)
	must(t, err)
	o := serveObjects(t, map[string]string{"/a.parquet": string(data)})
	client := storeClient(t, store.Options{Retries: -1})
	s, err := OpenParquet(background, ShardsConfig{Shards: []string{o.URL + "/a.parquet"}, Store: client})
	must(t, err)
	defer s.Close()
	if _, text := read(t, s, 25); len(text) != 1025 || s.Label(25) != 1 {
		t.Fatalf("%d bytes", len(text))
	}
	o.change(func() { o.etag["/a.parquet"] = "+" })
	remoteCause(t, s, 5, Changed)
}

// gateway is a real S3 server on loopback, over a directory of the test.
type gateway struct{ url, key, secret string }

// startGateway starts versitygw from build/tools, or skips.
func startGateway(t *testing.T) *gateway {
	t.Helper()
	program, err := filepath.Abs("../../build/tools/versitygw")
	must(t, err)
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("versitygw"); err != nil {
			t.Skip("no S3 server: make store-server builds versitygw into build/tools")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	must(t, l.Close())
	g := &gateway{url: "http://" + address, key: "testkey", secret: "testsecret"}
	cmd := exec.Command(program, "--port", address, "--access", g.key, "--secret", g.secret, "posix", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			must(t, c.Close())
			return g
		}
		if time.Now().After(end) {
			t.Fatalf("versitygw does not listen: %s", out.String())
		}
	}
}

// put writes an object, or makes a bucket when there is no key.
func (g *gateway) put(t *testing.T, path string, data string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPut, g.url+"/"+path, strings.NewReader(data))
	must(t, err)
	sum := sha256.Sum256([]byte(data))
	r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	a, err := http.DefaultClient.Do(signer.SignV4(*r, g.key, g.secret, "", "us-east-1"))
	must(t, err)
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		t.Fatalf("put %s: %s", path, a.Status)
	}
}

// bucket is a store that speaks as much of S3 as a folder needs: pages of a listing, and objects by range.
type bucket struct {
	*objects
	lists    int
	backward bool // it lists the last key first
}

// serveBucket serves objects, by their keys, as s3://bucket/KEY.
func serveBucket(t testing.TB, data map[string]string) *bucket {
	b := &bucket{objects: serveObjects(t, map[string]string{})}
	for key, text := range data {
		b.data["/bucket/"+key] = text
	}
	const page = 7
	b.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/bucket" && r.URL.Path != "/bucket/" {
			return false
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lists++
		var keys []string
		for path := range b.data {
			if key := strings.TrimPrefix(path, "/bucket/"); strings.HasPrefix(key, r.URL.Query().Get("prefix")) {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		if b.backward {
			slices.Reverse(keys)
		}
		from := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("continuation-token"), &from)
		to := min(from+page, len(keys))
		fmt.Fprintf(w, "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%v</IsTruncated><NextContinuationToken>%d</NextContinuationToken>", to < len(keys), to)
		for _, key := range keys[from:to] {
			fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size><ETag>&quot;v1%s&quot;</ETag></Contents>", url.QueryEscape(key), len(b.data["/bucket/"+key]), b.etag["/bucket/"+key])
		}
		fmt.Fprint(w, "</ListBucketResult>")
		return true
	}
	return b
}

// client reaches the bucket.
func (b *bucket) client(t testing.TB) *store.Client {
	return storeClient(t, store.Options{Endpoint: b.URL, Anonymous: true, PathStyle: true, Retries: -1})
}

// put writes an object again, or a new one.
func (b *bucket) put(key, text string) {
	b.change(func() {
		path := "/bucket/" + key
		b.data[path] = text
		b.etag[path] += "+"
	})
}

// A store may list in any order, as Amazon's directory buckets do: samples, classes and labels are those of the sorted names.
func TestAListingInAnyOrder(t *testing.T) {
	keys := []string{"t/b/2.jpg", "t/a/9.jpg", "t/b/10.jpg", "t/a-b/1.jpg", "t/b/note.txt", "t/a/1.jpg", "s-2.tar", "s-1.tar"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<ListBucketResult>")
		for i, k := range keys {
			if strings.HasPrefix(k, r.URL.Query().Get("prefix")) {
				fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size><ETag>&quot;%d&quot;</ETag></Contents>", k, i+1, i+1)
			}
		}
		fmt.Fprint(w, "</ListBucketResult>")
	}))
	defer server.Close()
	client := storeClient(t, store.Options{Endpoint: server.URL, Anonymous: true})
	f := openF(t, FolderConfig{Dir: "s3://bucket/t", Labels: true, Store: client}).(*prefix)
	var got []string
	for i := range f.Len() {
		got = append(got, fmt.Sprintf("%s %d of %d bytes", f.Key(i, nil), f.Label(i), f.objects[i].size))
	}
	want := []string{"a-b/1.jpg 1 of 4 bytes", "a/1.jpg 0 of 6 bytes", "a/9.jpg 0 of 2 bytes", "b/10.jpg 2 of 3 bytes", "b/2.jpg 2 of 1 bytes"}
	if !slices.Equal(got, want) || !slices.Equal(f.Classes(), []string{"a", "a-b", "b"}) {
		t.Errorf("got %q, classes %q", got, f.Classes())
	}
	names, err := appendGlob(background, nil, "s3://bucket/s-*.tar", client, func(store.Object) {})
	if err != nil || !slices.Equal(names, []string{"s3://bucket/s-1.tar", "s3://bucket/s-2.tar"}) {
		t.Errorf("%q %v", names, err)
	}
}

// A real S3 server: signed requests, prefixes, shards by brace and glob, lists, objects that change, keys that are wrong.
func TestRealS3(t *testing.T) {
	g := startGateway(t)
	t.Setenv("AWS_ACCESS_KEY_ID", g.key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", g.secret)
	g.put(t, "bucket", "")
	for i := range 12 {
		g.put(t, fmt.Sprintf("bucket/train/class%d/p%%20%02d.jpg", i%3, i), fmt.Sprint("picture ", i))
	}
	g.put(t, "bucket/train/readme.txt", "x")
	g.put(t, "bucket/shards/s-0.tar", string(tarOf(t, tar.FormatGNU, pairs(0, 20)...)))
	g.put(t, "bucket/shards/s-1.tar", string(tarOf(t, tar.FormatGNU, pairs(20, 30)...)))
	g.put(t, "bucket/lists/l.tsv", "../x")
	g.put(t, "bucket/lists/l.tsv", "train/class0/p 00.jpg\t4\ns3://bucket/train/class1/p 01.jpg\t5\n")
	client := storeClient(t, store.Options{Endpoint: g.url})

	folder := openF(t, FolderConfig{Dir: "s3://bucket/train", Labels: true, Store: client})
	if folder.Len() != 12 || !slices.Equal(folder.Classes(), []string{"class0", "class1", "class2"}) {
		t.Fatalf("%q", keys(folder))
	}
	for i := range folder.Len() {
		key, n := string(folder.Key(i, nil)), 0
		_, text := read(t, folder, i)
		if _, err := fmt.Sscanf(text, "picture %d", &n); err != nil || key != fmt.Sprintf("class%d/p %02d.jpg", n%3, n) || folder.Label(i) != int64(n%3) {
			t.Fatalf("%d: %q %q", i, key, text)
		}
	}
	indexes := t.TempDir()
	for k, pattern := range []string{"s3://bucket/shards/s-{0..1}.tar", "s3://bucket/shards/s-?.tar"} {
		s := openS(t, ShardsConfig{Shards: []string{pattern}, Store: client, IndexDir: indexes})
		if notes := s.(*shards).notes; k > 0 && len(notes) > 0 {
			t.Errorf("by the listing they are of other versions than by name: %q", notes)
		}
		for _, i := range []int64{29, 0, 19, 20} {
			if _, text := read(t, s, i); text != fmt.Sprintf("picture %d", i) {
				t.Fatalf("%s %d: %q", pattern, i, text)
			}
		}
	}
	list := openL(t, ListConfig{File: "s3://bucket/lists/l.tsv", Store: client})
	if _, text := read(t, list, 1); text != "picture 1" || list.Label(1) != 5 {
		t.Fatal(text)
	}
	if _, err := OpenFolder(FolderConfig{Dir: "s3://bucket/lists", Store: client}); !errors.Is(err, ErrNoSamples) || !strings.Contains(err.Error(), "1 .tsv") {
		t.Fatalf("got %v", err)
	}

	g.put(t, "bucket/train/class0/p%2000.jpg", "another picture of the same name")
	remoteCause(t, folder, 0, Changed)

	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	var e *store.Error
	_, err := storeClient(t, store.Options{Endpoint: g.url}).Stat(background, "s3://bucket/shards/s-0.tar")
	if !errors.As(err, &e) || e.Cause != store.Permission {
		t.Fatalf("with a wrong key: %v", err)
	}
	if _, err := client.Stat(background, "s3://bucket/none"); !errors.As(err, &e) || e.Cause != store.Missing {
		t.Fatalf("no such key: %v", err)
	}
}
