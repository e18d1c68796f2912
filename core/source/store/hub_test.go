package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hubServer answers as the Hub does for the dataset u/n, of which large.bin lies in a storage that answers on a port of its own.
type hubServer struct {
	*server
	storage *server
	commit  string            // of main
	files   map[string]string // in git, beside large.bin
	token   string            // that is asked for; "" none
	signed  int               // how often an address in the storage was signed; only the last is good
}

const (
	oldCommit = "00000000000000000000000000000000000000aa"
	newCommit = "00000000000000000000000000000000000000bb"
	largeSum  = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
)

// theHub starts one, and makes it that of the environment.
func theHub(t *testing.T) *hubServer {
	t.Helper()
	h := &hubServer{server: serve(t, nil), storage: serve(t, nil), commit: oldCommit, files: map[string]string{"README.md": "# n\n", "d/a b+%.jpg": "picture"}}
	h.always, h.storage.always = h.answer, h.large
	t.Setenv("HF_ENDPOINT", h.URL)
	t.Setenv("HF_TOKEN", "")
	t.Setenv("HUGGING_FACE_HUB_TOKEN", "")
	t.Setenv("HF_TOKEN_PATH", filepath.Join(t.TempDir(), "none"))
	return h
}

func (h *hubServer) refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Error-Code", code)
	http.Error(w, code, status)
}

func (h *hubServer) answer(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	commit, token := h.commit, h.token
	h.mu.Unlock()
	if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
		h.refuse(w, http.StatusUnauthorized, "RepoNotFound")
		return
	}
	at := r.URL.EscapedPath()
	switch {
	case strings.Contains(at, "/old/n"):
		w.Header().Set("Location", strings.Replace(r.URL.RequestURI(), "/old/n", "/u/n", 1))
		w.WriteHeader(http.StatusTemporaryRedirect)
	case at == "/api/datasets/u/n/revision/main" || at == "/api/datasets/u/n/revision/refs%2Fconvert%2Fparquet":
		fmt.Fprintf(w, `{"id": "u/n", "sha": %q}`, commit)
	case strings.HasPrefix(at, "/api/datasets/u/n/revision/"):
		h.refuse(w, http.StatusNotFound, "RevisionNotFound")
	case strings.HasPrefix(at, "/api/datasets/u/n/tree/"+commit):
		h.tree(w, r, strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/datasets/u/n/tree/"+commit), "/"))
	case strings.HasPrefix(at, "/datasets/u/n/resolve/"+oldCommit+"/"):
		h.resolve(w, r, strings.TrimPrefix(r.URL.Path, "/datasets/u/n/resolve/"+oldCommit+"/"))
	default:
		h.refuse(w, http.StatusNotFound, "RepoNotFound")
	}
}

// tree lists one entry a page.
func (h *hubServer) tree(w http.ResponseWriter, r *http.Request, dir string) {
	type large struct {
		OID  string `json:"oid"`
		Size int    `json:"size"`
	}
	type entry struct {
		Type string `json:"type"`
		Path string `json:"path"`
		OID  string `json:"oid"`
		Size int    `json:"size"`
		LFS  *large `json:"lfs,omitempty"`
	}
	entries := []entry{{Type: "directory", Path: "d"}, {Type: "file", Path: "d/large.bin", OID: "pointer", Size: 130, LFS: &large{largeSum, len(content)}}, {Type: "file", Path: "../up", OID: "x"}}
	for name, text := range h.files {
		entries = append(entries, entry{Type: "file", Path: name, OID: "git-" + name, Size: len(text)})
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return dir != "" && !strings.HasPrefix(e.Path, dir+"/") })
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(b.Path, a.Path) })
	at := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &at)
	switch {
	case len(entries) == 0:
		h.refuse(w, http.StatusNotFound, "EntryNotFound")
		return
	case at+1 < len(entries):
		w.Header().Set("Link", fmt.Sprintf(`<https://elsewhere.example/api/x?recursive=true&cursor=%d>; rel="next"`, at+1))
	}
	_ = json.NewEncoder(w).Encode(entries[at : at+1])
}

func (h *hubServer) resolve(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("X-Repo-Commit", oldCommit)
	if name == "d/large.bin" {
		h.mu.Lock()
		h.signed++
		signature := h.signed
		h.mu.Unlock()
		w.Header().Set("X-Linked-Etag", `"`+largeSum+`"`)
		w.Header().Set("X-Linked-Size", fmt.Sprint(len(content)))
		w.Header().Set("Location", fmt.Sprintf("%s/blob?X-Amz-Signature=%d", h.storage.URL, signature))
		w.WriteHeader(http.StatusFound)
		return
	}
	text, ok := h.files[name]
	if !ok {
		h.refuse(w, http.StatusNotFound, "EntryNotFound")
		return
	}
	w.Header().Set("ETag", `"git-`+name+`"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}

// large is the storage: like Amazon's it refuses what was not signed.
func (h *hubServer) large(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	signature := fmt.Sprint(h.signed)
	h.mu.Unlock()
	amz := false
	for k := range r.Header {
		amz = amz || strings.HasPrefix(k, "X-Amz-")
	}
	if r.URL.Query().Get("X-Amz-Signature") != signature || r.Header.Get("Authorization") != "" || amz {
		http.Error(w, "denied", http.StatusForbidden)
		return
	}
	w.Header().Set("ETag", `"of the storage"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// seenAt counts the requests to a path that begins so.
func (s *server) seenAt(method, prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.seen {
		if r.Method == method && strings.HasPrefix(r.URL.Path, prefix) {
			n++
		}
	}
	return n
}

// Names are those of the Hub's own file system for Python.
func TestHubNames(t *testing.T) {
	for name, want := range map[string]string{
		"hf://datasets/u/n/d/a.tar":                                      "datasets u/n main d/a.tar | hf://datasets/u/n",
		"hf://datasets/u/n":                                              "datasets u/n main  | hf://datasets/u/n",
		"hf://datasets/u/n@v1.0/a@b.tar":                                 "datasets u/n v1.0 a@b.tar | hf://datasets/u/n@v1.0",
		"hf://datasets/u/n@refs%2Fpr%2F3/x":                              "datasets u/n refs/pr/3 x | hf://datasets/u/n@refs%2Fpr%2F3",
		"hf://datasets/u/n@refs/convert/parquet/default/train/0.parquet": "datasets u/n refs/convert/parquet default/train/0.parquet | hf://datasets/u/n@refs/convert/parquet",
		"hf://datasets/u/n@refs/pr/3":                                    "datasets u/n refs/pr/3  | hf://datasets/u/n@refs/pr/3",
		"hf://spaces/u/n/x?y":                                            "spaces u/n main x?y | hf://spaces/u/n",
		"hf://u/n/a/b":                                                   "models u/n main a/b | hf://u/n",
	} {
		f, ok, err := cutHub(name)
		if got := fmt.Sprintf("%s %s %s %s | %s", f.kind, f.id, f.revision, f.path, f.repo); !ok || err != nil || got != want {
			t.Errorf("%s: got %s, %v, %v; want %s", name, got, ok, err, want)
		}
	}
	c := client(t, Options{})
	for _, name := range []string{"hf://datasets/u", "hf://u", "hf://datasets/u/", "hf://datasets/u/@main/x", "hf://datasets/u/n@/x", "hf://datasets/u/n@%zz/x", "hf://buckets/u/n/x", "hf://datasets/*/n/x", "hf://datasets/u/n@refs//pr/1"} {
		_, err := c.Stat(background, name)
		wantCause(t, err, IO, "want hf://datasets/USER/NAME/PATH, or hf://datasets/USER/NAME@REVISION/PATH")
		wantCause(t, c.List(background, name, nil), IO, "want hf://datasets/USER/NAME/PATH")
	}
	_, err := c.Stat(background, "hf://dataset/u/n/a.tar")
	wantCause(t, err, IO, `want hf://datasets/, in the plural; "dataset" is taken for the user of a model`)
	wantCause(t, c.List(background, "hf://space/u/n", nil), IO, "want hf://spaces/, in the plural")
	if _, ok, _ := cutHub("https://u/n"); ok {
		t.Error("https is the Hub")
	}
}

// All is read of the commit that the revision was first; of large storage the address is asked for once, by what the Hub says of the version, and
// in no way that the address is not signed for.
func TestHubFilesAreReadOfOneCommit(t *testing.T) {
	h := theHub(t)
	c := client(t, Options{})
	for name, want := range map[string]Object{
		"hf://datasets/u/n/d/large.bin":                        {Size: int64(len(content)), ETag: `"` + largeSum + `"`},
		"HF://datasets/u/n/d/a b+%.jpg":                        {Size: 7, ETag: `"git-d/a b+%.jpg"`},
		"hf://datasets/old/n/d/large.bin":                      {Size: int64(len(content)), ETag: `"` + largeSum + `"`},
		"hf://datasets/u/n@refs/convert/parquet/d/large.bin":   {Size: int64(len(content)), ETag: `"` + largeSum + `"`},
		"hf://datasets/u/n@" + oldCommit + "/README.md":        {Size: 4, ETag: `"git-README.md"`},
		"hf://datasets/u/n@refs%2Fconvert%2Fparquet/README.md": {Size: 4, ETag: `"git-README.md"`},
	} {
		o, err := c.Stat(background, name)
		if err != nil || o.URL != name || o.Size != want.Size || o.ETag != want.ETag {
			t.Fatalf("%s: %+v, %v", name, o, err)
		}
	}
	if h.storage.requests() != 0 {
		t.Fatalf("%d requests to the storage to know a length", h.storage.requests())
	}
	h.mu.Lock()
	h.commit = newCommit // of which this Hub has no file
	h.mu.Unlock()
	o := &Object{URL: "hf://datasets/u/n/d/large.bin", Size: int64(len(content)), ETag: `"` + largeSum + `"`}
	before := h.seenAt("GET", "/datasets/")
	for _, span := range [][2]int{{0, 1}, {511, 1024}, {len(content) - 1, 1}, {0, len(content)}} {
		p := make([]byte, span[1])
		if err := c.ReadAt(background, o, p, int64(span[0])); err != nil || !bytes.Equal(p, content[span[0]:][:span[1]]) {
			t.Fatalf("%v: %v", span, err)
		}
	}
	var got []byte
	n, _, err := c.ReadAll(background, o.URL, 1<<30, 0, func(n int) []byte { got = make([]byte, n); return got })
	if err != nil || !bytes.Equal(got[:n], content) {
		t.Fatal(n, err)
	}
	if asked := h.seenAt("GET", "/datasets/") - before; asked != 1 || h.storage.requests() != 5 {
		t.Fatalf("the Hub was asked %d times where the file lies, the storage %d times", asked, h.storage.requests())
	}
	if asked := h.seenAt("GET", "/api/datasets/u/n/revision/main"); asked != 2 {
		t.Fatalf("the commit was asked for %d times, want once by each of the repository's two names", asked)
	}
	small := &Object{URL: "hf://datasets/u/n/d/a b+%.jpg", Size: 7, ETag: `"whatever"`}
	p := make([]byte, 3)
	if err := c.ReadAt(background, small, p, 2); err != nil || string(p) != "ctu" {
		t.Fatalf("%q, %v", p, err)
	}
	short := &Object{URL: "hf://datasets/u/n/d/large.bin", Size: 999, ETag: `"x"`}
	wantCause(t, c.ReadAt(background, short, p, 2), Changed, "got length 1048576, want 999")
}

// An address that is good no more is asked for again.
func TestHubAddressesEnd(t *testing.T) {
	h := theHub(t)
	c := client(t, Options{})
	o := &Object{URL: "hf://datasets/u/n/d/large.bin", Size: int64(len(content))}
	for n := range 3 {
		p := make([]byte, 100)
		if err := c.ReadAt(background, o, p, 1000); err != nil || !bytes.Equal(p, content[1000:1100]) {
			t.Fatal(n, err)
		}
		h.mu.Lock()
		h.signed++ // the one that is kept is good no more
		h.mu.Unlock()
	}
	if asked := h.seenAt("GET", "/datasets/"); asked != 3 || c.Stats().Retries != 0 {
		t.Fatalf("the Hub was asked %d times, %+v", asked, c.Stats())
	}
	for at, p := range c.hub.places {
		c.hub.places[at] = hubPlace{p.address, time.Now().Add(-time.Second)}
	}
	if err := c.ReadAt(background, o, make([]byte, 1), 0); err != nil || h.seenAt("GET", "/datasets/") != 4 {
		t.Fatal(err, h.seenAt("GET", "/datasets/"))
	}
	for i := range hubPlaces + 1 {
		c.hub.keep(fmt.Sprint(i), "x")
	}
	if len(c.hub.places) > hubPlaces {
		t.Fatalf("%d addresses are kept", len(c.hub.places))
	}
}

// A listing goes through the pages of the commit, by this Hub alone.
func TestHubListing(t *testing.T) {
	theHub(t)
	c := client(t, Options{})
	list := func(prefix string) (names []string, err error) {
		err = c.List(background, prefix, func(o Object) error { names = append(names, fmt.Sprint(o.URL, o.Size, o.ETag)); return nil })
		return names, err
	}
	large := "hf://datasets/u/n/d/large.bin1048576\"" + largeSum + `"`
	picture, readme := `hf://datasets/u/n/d/a b+%.jpg7"git-d/a b+%.jpg"`, `hf://datasets/u/n/README.md4"git-README.md"`
	for prefix, want := range map[string][]string{
		"hf://datasets/u/n":       {large, picture, readme},
		"hf://datasets/u/n/d/":    {large, picture},
		"hf://datasets/u/n/d/lar": {large},
		"hf://datasets/u/n/none/": nil,
		"hf://datasets/u/n/d":     {large, picture},
	} {
		if got, err := list(prefix); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", prefix, got, err, want)
		}
	}
	got, err := list("hf://datasets/u/n@refs/convert/parquet/d/l")
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "hf://datasets/u/n@refs/convert/parquet/d/large.bin1048576") {
		t.Errorf("%q, %v", got, err)
	}
	_, err = list("hf://datasets/u/none/")
	wantCause(t, err, Missing, "RepoNotFound", "is there u/none of datasets?", "set $HF_TOKEN to a token that may read it")
	_, err = list("hf://datasets/u/n@none/d/")
	wantCause(t, err, Missing, `u/n has no revision "none"`)
	_, err = c.Stat(background, "hf://datasets/u/n/none.tar")
	wantCause(t, err, Missing) // to HEAD the Hub says it in a header, too
	if !strings.Contains(err.Error(), `there is no such file in revision "main"`) {
		t.Error(err)
	}
}

// Answers that are not the Hub's are refused, and so are listings without end.
func TestHubAnswersThatAreNone(t *testing.T) {
	h := theHub(t).server
	next := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", `<x?recursive=true>; rel="next"`)
			fmt.Fprint(w, body)
		}
	}
	long := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxListing+1)) }
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		cause  Cause
		text   string
	}{
		"circle":   {next("[]"), IO, "goes in a circle"},
		"no JSON":  {next("<html>"), IO, "is not the Hub's JSON; is $HF_ENDPOINT a Hub?"},
		"another":  {next(`{"a": 1}`), IO, "is not the Hub's JSON"},
		"long":     {long, TooLarge, "got an answer of more than"},
		"away":     {status(302, "Location", "http://127.0.0.1:1/"), IO, "leads away from the Hub"},
		"for ever": {status(302, "Location", "/again"), IO, "redirect refused: got more than 5"},
		"nowhere":  {status(302), IO, "got status 302"},
	} {
		h.always = c.answer
		err := client(t, Options{}).List(background, "hf://datasets/u/n@"+oldCommit+"/d/", nil)
		wantCause(t, err, c.cause, c.text)
		t.Log(what, err)
	}
	h.always = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"sha": "../../x"}`) }
	_, err := client(t, Options{}).Stat(background, "hf://datasets/u/n/x")
	wantCause(t, err, IO, `is commit "../../x", want 40 digits`)
	t.Setenv("HF_ENDPOINT", "ftp://x")
	_, err = client(t, Options{}).Stat(background, "hf://datasets/u/n/x")
	wantCause(t, err, IO, "$HF_ENDPOINT: want a URL such as https://huggingface.co")
}

// A secure Hub leads to nothing that is not.
func TestHubStaysSecure(t *testing.T) {
	h := httptest.NewTLSServer(status(302, "Location", "http://127.0.0.1:1/"))
	t.Cleanup(h.Close)
	t.Setenv("HF_ENDPOINT", h.URL)
	c := client(t, Options{})
	c.straight.Transport = h.Client().Transport
	_, err := c.Stat(background, "hf://datasets/u/n/x")
	wantCause(t, err, IO, "redirect refused: leads from https to http")
}

// The Hub is told who asks, and nobody else; a token is looked for where the Hub's own tools do.
func TestHubTokens(t *testing.T) {
	h := theHub(t)
	h.token = "hf_right"
	o := &Object{URL: "hf://datasets/u/n@" + oldCommit + "/d/large.bin", Size: int64(len(content))}
	read := func(o2 Options) error { return client(t, o2).ReadAt(background, o, make([]byte, 10), 5) }
	wantCause(t, read(Options{}), Permission, "401", "RepoNotFound", "is there u/n of datasets? If it is private or gated, set $HF_TOKEN")
	t.Setenv("HF_TOKEN", "hf_wrong")
	e := wantCause(t, read(Options{}), Permission, "may your token read it?")
	if strings.Contains(e.Error(), "hf_wrong") {
		t.Errorf("the token is told: %v", e)
	}
	t.Setenv("HF_TOKEN", "hf_right")
	if err := read(Options{}); err != nil { // the storage refuses what comes with a token
		t.Error(err)
	}
	wantCause(t, read(Options{Anonymous: true}), Permission, "set $HF_TOKEN")
	t.Setenv("HF_TOKEN", "")
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "token"), []byte("hf_right\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"HUGGING_FACE_HUB_TOKEN": "hf_right", "HF_TOKEN_PATH": filepath.Join(home, "token"), "HF_HOME": home} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HF_TOKEN_PATH", "")
			t.Setenv(name, value)
			if err := read(Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Of many at once one asks for the commit, and the others do not wait longer than their own time.
func TestHubCommitIsAskedForOnce(t *testing.T) {
	h := theHub(t)
	c := client(t, Options{})
	var all sync.WaitGroup
	for range 16 {
		all.Add(1)
		go func() {
			defer all.Done()
			if _, err := c.Stat(background, "hf://datasets/u/n/README.md"); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	if asked := h.seenAt("GET", "/api/"); asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	c = client(t, Options{Timeout: 300 * time.Millisecond})
	c.hub.turn <- struct{}{} // somebody asks, and gets no answer
	_, err := c.Stat(background, "hf://datasets/u/n/README.md")
	wantCause(t, err, Deadline)
}

// A name is taken apart without loss: what is before the path, and the path.
func FuzzHubNames(f *testing.F) {
	for _, seed := range []string{"hf://datasets/u/n@refs/pr/1/a", "hf://u/n@v%2F1//a", "hf://spaces/u/n", "hf://@/@", "hf://datasets//n/x", "hf://datasets/u/n@refs///pr/1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		file, ok, err := cutHub(name)
		if !ok || err != nil {
			return
		}
		if rest := strings.TrimPrefix(name, file.repo); !strings.HasPrefix(name, file.repo) || strings.TrimLeft(rest, "/") != file.path {
			t.Fatalf("%q: %+v", name, file)
		}
		again, _, err := cutHub(file.repo + "/" + file.path)
		if err != nil || again != file {
			t.Fatalf("%q: %+v, and of its parts %+v, %v", name, file, again, err)
		}
	})
}
