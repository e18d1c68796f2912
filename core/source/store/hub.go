package store

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// The Hugging Face Hub's files, by the names of its own file system for Python: hf://datasets/USER/NAME@REVISION/PATH, hf://spaces/USER/NAME/PATH, and
// of a model hf://USER/NAME/PATH.
//
// A revision is looked up once, and all is read of that commit: what is pushed later is not seen. Where a file lies in large storage the Hub
// answers with a redirect, to an address that is signed for an hour. It counts these answers, and allows so many in five minutes; so the address
// is kept for a while, and further ranges are asked for there.
const (
	hubEndpoint = "https://huggingface.co"
	hubMain     = "main"

	hubPlaceKept = 10 * time.Minute
	hubPlaces    = 4096 // addresses that are kept, of 1 to 2 KiB each
)

// hub is what a client knows of the Hub.
type hub struct {
	endpoint  *url.URL // nil: it is none
	anonymous bool

	turn    chan struct{}     // who has it may look up a commit
	commits map[string]string // of revisions, by hubFile.repo

	mu     sync.Mutex
	places map[string]hubPlace // by the address that led there
}

// hubPlace is where a file in large storage lies.
type hubPlace struct {
	address string
	until   time.Time
}

func newHub(anonymous bool) *hub {
	h := &hub{anonymous: anonymous, turn: make(chan struct{}, 1), commits: map[string]string{}, places: map[string]hubPlace{}}
	u, err := url.Parse(cmp.Or(os.Getenv("HF_ENDPOINT"), hubEndpoint))
	if err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.RawQuery == "" && u.User == nil {
		h.endpoint = u
	}
	return h
}

// hubFile is a file, or a beginning of files' paths.
type hubFile struct {
	kind     string // models, datasets or spaces
	id       string // USER/NAME
	revision string // or a commit
	path     string // without a slash at its beginning

	repo string // the name up to the path, as it was written
}

// hubRevision are the revisions that may have slashes in them as they are, as the Hub's own tools take them.
var hubRevision = regexp.MustCompile(`^refs/(convert/\w+|pr/\d+)(/|$)`)

// cutHub parts a name; ok says that it is one of the Hub, right or wrong.
func cutHub(name string) (f hubFile, ok bool, err error) {
	rest, ok := strings.CutPrefix(name, "hf://")
	if !ok {
		return f, false, nil
	}
	f.kind = "models"
	for _, kind := range []string{"datasets", "spaces", "buckets"} {
		if after, is := strings.CutPrefix(rest, kind+"/"); is {
			f.kind, rest = kind, after
		}
	}
	user, rest, _ := strings.Cut(rest, "/")
	if plural := user + "s"; f.kind == "models" && (plural == "datasets" || plural == "spaces") {
		return f, true, &Error{Cause: IO, Detail: fmt.Sprintf("want hf://%s/, in the plural; %q is taken for the user of a model", plural, user)}
	}
	end := strings.IndexAny(rest, "/@")
	if end < 0 {
		end = len(rest)
	}
	f.id, f.revision = user+"/"+rest[:end], hubMain
	if rest = rest[end:]; strings.HasPrefix(rest, "@") {
		rest = rest[1:]
		end = strings.IndexByte(rest+"/", '/')
		if m := hubRevision.FindString(rest); m != "" {
			end = len(strings.TrimSuffix(m, "/"))
		} else if hubRevision.MatchString(rest[:end] + "/" + strings.TrimLeft(rest[end:], "/")) { // refs//pr/1 would be another name once it is put together again
			end = 0
		}
		f.revision, err = url.PathUnescape(rest[:end])
		rest = rest[end:]
	}
	f.repo, f.path = name[:len(name)-len(rest)], strings.TrimLeft(rest, "/")
	if err != nil || f.kind == "buckets" || user == "" || strings.HasSuffix(f.id, "/") || f.revision == "" || strings.ContainsAny(f.id, "@*?[") {
		return f, true, &Error{Cause: IO, Detail: "want hf://datasets/USER/NAME/PATH, or hf://datasets/USER/NAME@REVISION/PATH; without datasets/ it is a model's"}
	}
	return f, true, nil
}

// api is the address of a question about the repository.
func (h *hub) api(f *hubFile, question ...string) *url.URL {
	return h.address(append([]string{"api", f.kind, f.id}, question...)...)
}

// file is the address of a file in a commit.
func (h *hub) file(f *hubFile, commit string) *url.URL {
	id := f.id
	if f.kind != "models" {
		id = f.kind + "/" + id
	}
	return h.address(id, "resolve", commit, f.path)
}

// address is below the endpoint. Parts are taken as they stand: they have no escapes.
func (h *hub) address(parts ...string) *url.URL {
	u := *h.endpoint
	u.Path = strings.TrimRight(strings.TrimRight(u.Path, "/")+"/"+strings.Join(parts, "/"), "/")
	u.RawPath = s3utils.EncodePath(u.Path)
	return &u
}

// token is what says who asks; "" where nobody does. It is looked for as the Hub's own tools do, at every request: the file may be another by then.
func (h *hub) token() string {
	if h.anonymous {
		return ""
	}
	if t := cmp.Or(os.Getenv("HF_TOKEN"), os.Getenv("HUGGING_FACE_HUB_TOKEN")); t != "" {
		return strings.TrimSpace(t)
	}
	file := os.Getenv("HF_TOKEN_PATH")
	if file == "" {
		home := os.Getenv("HF_HOME")
		if home == "" {
			cache, err := os.UserCacheDir()
			if err != nil {
				return ""
			}
			home = filepath.Join(cache, "huggingface")
		}
		file = filepath.Join(home, "token")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "" // most have none, and need none
	}
	return strings.TrimSpace(string(text))
}

// place is where a file lies, if that was learned lately.
func (h *hub) place(at string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.places[at]
	if time.Now().After(p.until) {
		delete(h.places, at)
		return ""
	}
	return p.address
}

func (h *hub) keep(at, address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.places) >= hubPlaces {
		clear(h.places)
	}
	h.places[at] = hubPlace{address, time.Now().Add(hubPlaceKept)}
}

// commitID is how a commit is called.
var commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// commit is the one that a file's revision was when it was wanted first.
func (c *Client) commit(ctx context.Context, f *hubFile) (string, error) {
	if c.hub.endpoint == nil {
		return "", &Error{Cause: IO, Detail: "$HF_ENDPOINT: want a URL such as " + hubEndpoint}
	}
	if commitID.MatchString(f.revision) {
		return f.revision, nil
	}
	select {
	case c.hub.turn <- struct{}{}:
		defer func() { <-c.hub.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if commit := c.hub.commits[f.repo]; commit != "" {
		return commit, nil
	}
	at := c.hub.api(f, "revision")
	at.RawPath += "/" + url.PathEscape(f.revision)
	at.Path += "/" + f.revision
	at.RawQuery = "expand=sha"
	var about struct{ SHA string }
	if _, err := c.hubJSON(ctx, at, f, &about); err != nil {
		return "", err
	}
	if !commitID.MatchString(about.SHA) {
		return "", &Error{Cause: IO, Detail: fmt.Sprintf("the Hub says that revision %q is commit %.60q, want 40 digits; is $HF_ENDPOINT a Hub?", f.revision, about.SHA)}
	}
	c.hub.commits[f.repo] = about.SHA
	return about.SHA, nil
}
