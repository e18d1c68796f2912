package store

import (
	"cmp"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// Google Cloud Storage, by its XML API: it lists as S3 does, and its objects lie at HOST/BUCKET/KEY. A version of an object has a number there, its
// generation, which stands in the place of an ETag here: those that the store gives need not be the same in a listing and in an answer.
const (
	gcsEndpoint = "https://storage.googleapis.com"
	gcsVersion  = `"generation `

	gcsGeneration = "X-Goog-Generation"
	gcsCondition  = "X-Goog-If-Generation-Match"
)

// gcs is what a client knows of Google Cloud Storage.
type gcs struct {
	endpoint *url.URL // nil: it is none
	*tokens
}

// newGCS goes by $STORAGE_EMULATOR_HOST, as Google's own libraries do: such a store is asked without credentials.
func newGCS(o *Options) *gcs {
	emulator := os.Getenv("STORAGE_EMULATOR_HOST")
	g := &gcs{tokens: newTokens(o.Anonymous || emulator != "", o.Timeout)}
	if emulator != "" && !strings.Contains(emulator, "://") {
		emulator = "http://" + emulator
	}
	u, err := url.Parse(cmp.Or(emulator, gcsEndpoint))
	if err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.User == nil {
		g.endpoint = u
	}
	return g
}

// address is where a bucket's key lies, which is taken as it stands.
func (g *gcs) address(bucket, key string) (*url.URL, error) {
	if g.endpoint == nil {
		return nil, &Error{Cause: IO, Detail: "$STORAGE_EMULATOR_HOST: want HOST:PORT, or a URL without user, path and query"}
	}
	u := &url.URL{Scheme: g.endpoint.Scheme, Host: g.endpoint.Host, Path: "/" + bucket + key}
	u.RawPath = s3utils.EncodePath(u.Path)
	return u, nil
}

// gcsTag is a generation as the ETag of an Object.
func gcsTag(generation string) string { return gcsVersion + generation + `"` }

// ofGeneration asks for a version by its generation.
func ofGeneration(h http.Header) {
	if tag, ok := strings.CutPrefix(h.Get("If-Match"), gcsVersion); ok {
		h.Del("If-Match")
		h.Set(gcsCondition, strings.TrimSuffix(tag, `"`))
	}
}

// fromGCS makes an answer one with an Object's ETag, but where the store was asked for an ETag of its own. An object that the store unpacks
// as it sends it has no ranges.
func fromGCS(a *http.Response, asked http.Header) error {
	if coded := a.Header.Get("X-Goog-Stored-Content-Encoding"); coded != "" && coded != "identity" && a.Header.Get("Content-Encoding") == "" {
		return &Error{Cause: IO, Status: a.StatusCode, Detail: "the object is stored with Content-Encoding: " + coded + ", and the store sends it unpacked, without ranges; store it as it is to be read, without that"}
	}
	if generation := a.Header.Get(gcsGeneration); generation != "" && asked.Get("If-Match") == "" {
		a.Header.Set("ETag", gcsTag(generation))
	}
	return nil
}

// cutBucket parts a URL of s3://BUCKET/KEY or gs://BUCKET/KEY. The key begins with a slash, or is empty.
func cutBucket(name string) (scheme, bucket, key string, ok bool) {
	scheme, bucket, ok = strings.Cut(name, "://")
	if n := strings.IndexByte(bucket, '/'); n >= 0 {
		bucket, key = bucket[:n], bucket[n:]
	}
	return scheme, bucket, key, ok && bucket != "" && (scheme == "s3" || scheme == "gs")
}
