package store

import (
	"bytes"
	"context"
	"crypto"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// gcsServer answers as Google Cloud Storage does for the bucket b, by its XML API, and gives tokens as Google does, whose requests it checks. Each token
// that it gives makes the one before worthless, as far as the store is concerned.
type gcsServer struct {
	*httptest.Server
	t   *testing.T
	key *rsa.PrivateKey // of the service account

	mu       sync.Mutex // guards the rest
	objects  map[string]string
	version  map[string]int // generations
	gzipped  map[string]bool
	open     bool     // anybody may read
	given    int      // tokens
	refuse   int      // status of the answer to who wants a token; 0: he gets one
	asked    []string // of the store
	noNumber bool     // listings have no generations
	tokens   []string // that came with requests
}

func theGCS(t *testing.T) *gcsServer {
	t.Helper()
	g := &gcsServer{t: t, objects: map[string]string{"a/1": "first object", "a/2 +%ü.tar": "second", "a/3": "third", "b": strings.Repeat("x", 3000)}, version: map[string]int{}, gzipped: map[string]bool{}}
	g.Server = httptest.NewServer(http.HandlerFunc(g.answer))
	t.Cleanup(g.Close)
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("HOME", t.TempDir())
	g.user("")
	return g
}

// user makes the credentials those of a person, as gcloud keeps them, in a file or where gcloud has it.
func (g *gcsServer) user(file string) {
	g.write(file, map[string]string{"type": "authorized_user", "client_id": "id", "client_secret": "se-cret", "refresh_token": "re-fresh", "token_uri": g.URL + "/token"})
}

// service makes them those of a service account.
func (g *gcsServer) service(file string) {
	g.t.Helper()
	if g.key == nil {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			g.t.Fatal(err)
		}
		g.key = key
	}
	der, err := x509.MarshalPKCS8PrivateKey(g.key)
	if err != nil {
		g.t.Fatal(err)
	}
	g.write(file, map[string]string{"type": "service_account", "client_email": "robot@p", "private_key_id": "1", "token_uri": g.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))})
}

func (g *gcsServer) write(file string, credentials map[string]string) {
	g.t.Helper()
	if file == "" {
		file = filepath.Join(os.Getenv("HOME"), ".config/gcloud/application_default_credentials.json")
	}
	text, err := json.Marshal(credentials)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600))
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// client is one that takes the server for Google's.
func (g *gcsServer) client(o Options) *Client {
	g.t.Helper()
	c := client(g.t, o)
	c.gcs.endpoint = mustParse(g.URL)
	return c
}

func (g *gcsServer) change(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

func (g *gcsServer) token() string { return fmt.Sprint("ya29.to-ken-", g.given) }

func (g *gcsServer) answer(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	bucket, key, _ := strings.Cut(r.URL.Path[1:], "/")
	if bucket == "token" || bucket == "computeMetadata" {
		g.give(w, r)
		return
	}
	g.asked, g.tokens = append(g.asked, r.Method+" "+r.RequestURI), append(g.tokens, r.Header.Get("Authorization"))
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-") {
			g.t.Errorf("%s: got the header %s", r.URL, name)
		}
	}
	text, there := g.objects[key]
	switch {
	case !g.open && r.Header.Get("Authorization") != "Bearer "+g.token():
		g.fail(w, http.StatusUnauthorized, "AuthenticationRequired")
	case bucket == "moved":
		http.Redirect(w, r, "http://localhost:1/b/"+key, http.StatusTemporaryRedirect)
	case bucket != "b":
		g.fail(w, http.StatusNotFound, "NoSuchBucket")
	case key == "":
		g.list(w, r.URL.Query())
	case !there:
		g.fail(w, http.StatusNotFound, "NoSuchKey")
	case r.Header.Get("X-Goog-If-Generation-Match") != "" && r.Header.Get("X-Goog-If-Generation-Match") != g.generation(key):
		g.fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
	default:
		h := w.Header()
		sum := md5.Sum([]byte(text))
		h.Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", sum)))
		h.Set("X-Goog-Generation", g.generation(key))
		h.Set("X-Goog-Stored-Content-Encoding", "identity")
		h.Add("X-Goog-Hash", "md5="+base64.StdEncoding.EncodeToString(sum[:]))
		h.Add("X-Goog-Hash", "crc32c="+base64.StdEncoding.EncodeToString(crc32c([]byte(g.objects[key]))))
		if g.gzipped[key] {
			h.Set("X-Goog-Stored-Content-Encoding", "gzip")
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}
}

func (g *gcsServer) fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version='1.0'?><Error><Code>%s</Code></Error>", code)
}

func (g *gcsServer) generation(key string) string {
	return fmt.Sprint(1360887697105000 + g.version[key])
}

// list has two keys a page. The ETags are not those of answers.
func (g *gcsServer) list(w http.ResponseWriter, q url.Values) {
	if q.Get("list-type") != "2" || q.Get("encoding-type") != "url" {
		g.t.Errorf("listing: got %v", q)
	}
	var keys []string
	for key := range g.objects {
		if strings.HasPrefix(key, q.Get("prefix")) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	from, _ := strconv.Atoi(q.Get("continuation-token"))
	to := min(from+2, len(keys))
	fmt.Fprint(w, "<ListBucketResult xmlns='http://doc.s3.amazonaws.com/2006-03-01'><EncodingType>url</EncodingType>")
	for _, key := range keys[from:to] {
		fmt.Fprintf(w, "<Contents><Key>%s</Key>", url.QueryEscape(key))
		etag := "listed"
		if g.noNumber {
			etag = fmt.Sprintf("%x", md5.Sum([]byte(g.objects[key])))
		} else {
			fmt.Fprintf(w, "<Generation>%s</Generation><MetaGeneration>1</MetaGeneration>", g.generation(key))
		}
		fmt.Fprintf(w, "<ETag>&quot;%s&quot;</ETag><Size>%d</Size></Contents>", etag, len(g.objects[key]))
	}
	if to < len(keys) {
		fmt.Fprintf(w, "<IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>", to)
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

// give gives a token to who shows credentials of the server's.
func (g *gcsServer) give(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	switch {
	case g.refuse != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(g.refuse)
		fmt.Fprint(w, `{"error": "invalid_grant", "error_description": "se-cret"}`)
		return
	case strings.HasPrefix(r.URL.Path, "/computeMetadata/"):
		if r.Header.Get("Metadata-Flavor") != "Google" {
			g.t.Errorf("the metadata server is asked without its header: %v", r.Header)
		}
		if !strings.HasSuffix(r.URL.Path, "/token") {
			fmt.Fprint(w, "p")
			return
		}
	case r.Form.Get("grant_type") == "refresh_token":
		if r.Form.Get("refresh_token") != "re-fresh" {
			g.t.Errorf("a token for %v", r.Form)
		}
	default:
		g.checkJWT(r.Form.Get("assertion"))
	}
	g.given++
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token": %q, "expires_in": 3600, "token_type": "Bearer"}`, g.token())
}

// checkJWT: the service account asks for a token to read, and signs that.
func (g *gcsServer) checkJWT(text string) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		g.t.Errorf("got no JWT: %.60q", text)
		return
	}
	claims, err1 := base64.RawURLEncoding.DecodeString(parts[1])
	signature, err2 := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := errors.Join(err1, err2, rsa.VerifyPKCS1v15(&g.key.PublicKey, crypto.SHA256, sum[:], signature)); err != nil {
		g.t.Error(err)
	}
	if !bytes.Contains(claims, []byte(`"scope":"`+gcsScope+`"`)) || !bytes.Contains(claims, []byte("robot@p")) {
		g.t.Errorf("claims %s", claims)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readObject(t *testing.T, c *Client, o *Object) string {
	t.Helper()
	p := make([]byte, o.Size)
	if err := c.ReadAt(context.Background(), o, p, 0); err != nil {
		t.Fatal(err)
	}
	return string(p)
}

// Objects of gs:// are listed in pages, read whole and in ranges, each in the version that was listed or asked for, with one token for all.
func TestGCSIsListedAndRead(t *testing.T) {
	for _, noNumber := range []bool{false, true} {
		g := theGCS(t)
		g.noNumber = noNumber
		c := g.client(Options{Endpoint: "http://127.0.0.1:1", Retries: -1}) // which is S3's
		var all []Object
		if err := c.List(context.Background(), "GS://b/a/", func(o Object) error {
			all = append(all, o)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, o := range all {
			names = append(names, o.URL)
			if got := readObject(t, c, &o); got != g.objects[strings.TrimPrefix(o.URL, "gs://b/")] || !o.Strong() {
				t.Errorf("%s, %s: got %q", o.URL, o.ETag, got)
			}
			part := make([]byte, 3)
			if err := c.ReadAt(context.Background(), &o, part, 2); err != nil || string(part) != g.objects[strings.TrimPrefix(o.URL, "gs://b/")][2:5] {
				t.Errorf("%s: got %q, %v", o.URL, part, err)
			}
		}
		if want := []string{"gs://b/a/1", "gs://b/a/2 +%ü.tar", "gs://b/a/3"}; !slices.Equal(names, want) {
			t.Errorf("listed %q, want %q", names, want)
		}
		o, err := c.Stat(context.Background(), "gs://b/a/1")
		if err != nil || o.Size != 12 || o.ETag != gcsTag(g.generation("a/1")) {
			t.Fatalf("got %+v, %v", o, err)
		}
		if !noNumber && all[0].ETag != o.ETag {
			t.Errorf("listed as version %s, and asked for as %s", all[0].ETag, o.ETag)
		}
		// Written again with the same bytes it is another version, and so it is for who has its ETag where the bytes differ.
		g.change(func() { g.version["a/1"]++; g.objects["a/1"] = "fresh object" })
		for _, o := range []*Object{o, &all[0]} {
			wantCause(t, c.ReadAt(context.Background(), o, make([]byte, 4), 0), Changed, "got status 412")
		}
		g.change(func() { delete(g.objects, "a/1") })
		wantCause(t, c.ReadAt(context.Background(), o, make([]byte, 4), 0), Missing, "NoSuchKey")
		if g.given != 1 {
			t.Errorf("%d tokens were got, want one", g.given)
		}
	}
}

// What a whole object's CRC-32C does not fit is an error; an object that the store unpacks as it sends it is refused by that.
func TestGCSObjectsThatAreNotWhatTheySay(t *testing.T) {
	g := theGCS(t)
	c := g.client(Options{Retries: -1})
	if err := checksum(http.Header{"X-Goog-Hash": {"md5=x", "crc32c=" + base64.StdEncoding.EncodeToString(crc32c([]byte("a")))}}, []byte("b")); err == nil || !strings.Contains(err.Error(), "X-Goog-Hash: got ") {
		t.Errorf("got %v", err)
	}
	if crc32.Checksum([]byte("a"), castagnoli) == 0 {
		t.Fatal("no sum")
	}
	g.change(func() { g.gzipped["b"] = true })
	_, err := c.Stat(context.Background(), "gs://b/b")
	wantCause(t, err, IO, "stored with Content-Encoding: gzip")
	_, _, err = c.ReadAll(context.Background(), "gs://b/b", 1<<20, 0, func(n int) []byte { return make([]byte, n) })
	wantCause(t, err, IO, "stored with Content-Encoding: gzip")
}

// Credentials come from the file that the environment names, or gcloud's, of a person or a service account, or from the machine's own service.
func TestGCSCredentials(t *testing.T) {
	for what, set := range map[string]func(g *gcsServer){
		"gcloud's": func(*gcsServer) {},
		"named": func(g *gcsServer) {
			file := filepath.Join(t.TempDir(), "key.json")
			g.service(file)
			must(t, os.Remove(filepath.Join(os.Getenv("HOME"), ".config/gcloud/application_default_credentials.json")))
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
		},
		"the machine's": func(g *gcsServer) {
			must(t, os.Remove(filepath.Join(os.Getenv("HOME"), ".config/gcloud/application_default_credentials.json")))
			t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(g.URL, "http://"))
		},
	} {
		g := theGCS(t)
		set(g)
		if _, err := g.client(Options{Retries: -1}).Stat(context.Background(), "gs://b/b"); err != nil || g.given != 1 {
			t.Errorf("%s: %d tokens, %v", what, g.given, err)
		}
	}
}

// A token that the store refuses is got anew, once; where that does not help the refusal stays, and nobody asks for tokens again for a while.
func TestGCSTokensAreRenewed(t *testing.T) {
	g := theGCS(t)
	c := g.client(Options{Retries: -1})
	stat := func() error {
		_, err := c.Stat(context.Background(), "gs://b/b")
		return err
	}
	must(t, stat())
	g.change(func() { g.given = 7 }) // the first is worthless
	must(t, stat())
	if g.given != 8 || len(g.asked) != 3 {
		t.Errorf("%d tokens, %q", g.given, g.asked)
	}
	g.change(func() { g.given = 20 })
	wantCause(t, stat(), Permission, "got status 401")
	if g.given != 20 {
		t.Error("a token was got at once again")
	}
	// A token that has ended is replaced before it is sent.
	c.gcs.tokens.held.Expiry = time.Now().Add(-time.Minute)
	must(t, stat())
	if g.given != 21 {
		t.Errorf("%d tokens", g.given)
	}
}

// Why there is no token is said without what the credentials are, and what may pass is tried again.
func TestWhyThereIsNoGCSToken(t *testing.T) {
	g := theGCS(t)
	missing := filepath.Join(t.TempDir(), "none.json")
	for _, c := range []struct {
		set   func()
		cause Cause
		text  string
	}{
		{func() { g.change(func() { g.refuse = 400 }) }, Permission, "the Application Default Credentials are refused (400 Bad Request invalid_grant)"},
		{func() { g.change(func() { g.refuse = 503 }) }, IO, "no token for the Application Default Credentials: got status 503"},
		{func() { t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", missing) }, Permission, "found no Application Default Credentials"},
		{func() {
			must(t, os.WriteFile(missing, []byte(`{"type": "service_account", "private_key": "se-cret" x`), 0o600))
		}, Permission, "found no Application Default Credentials"},
	} {
		c.set()
		_, err := g.client(Options{Retries: 1}).Stat(context.Background(), "gs://b/b")
		e := wantCause(t, err, c.cause, c.text)
		if text := err.Error(); strings.Contains(text, "se-cret") || strings.Contains(text, "re-fresh") || strings.Contains(text, "\n") {
			t.Errorf("got %s", text)
		}
		if want := map[Cause]int{IO: 2, Permission: 1}[c.cause]; e.Attempts != want {
			t.Errorf("%s: %d attempts, want %d", c.text, e.Attempts, want)
		}
	}
	if len(g.asked) != 0 {
		t.Errorf("the store was asked: %q", g.asked)
	}
}

// A token goes to the store alone: over no redirect, not to an emulator, not where nobody is to be named, and into no message.
func TestGCSTokensGoNowhereElse(t *testing.T) {
	g := theGCS(t)
	c := g.client(Options{Retries: -1})
	_, err := c.Stat(context.Background(), "gs://moved/b")
	e := wantCause(t, err, IO, "got status 307")
	if strings.Contains(e.Error(), "ya29") {
		t.Error(e)
	}
	g.change(func() { g.open = true; g.tokens = nil })
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(g.URL, "http://"))
	for _, c := range []*Client{client(t, Options{}), g.client(Options{Anonymous: true})} {
		if _, err := c.Stat(context.Background(), "gs://b/b"); err != nil {
			t.Error(err)
		}
	}
	if strings.Join(g.tokens, "") != "" {
		t.Errorf("sent %q", g.tokens)
	}
	t.Setenv("STORAGE_EMULATOR_HOST", "http://u:p@h/x")
	_, err = client(t, Options{}).Stat(context.Background(), "gs://b/b")
	wantCause(t, err, IO, "$STORAGE_EMULATOR_HOST: want HOST:PORT")
}

// Nothing is written to gs://.
func TestGCSIsNotWritten(t *testing.T) {
	_, err := client(t, Options{Anonymous: true}).Create(context.Background(), "gs://b/x")
	wantCause(t, err, IO, "want s3://BUCKET/KEY to write an object")
}
