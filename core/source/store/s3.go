package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// contentSum is the header with the SHA-256 of a request's body; emptySum is that of none, as every request to read has it.
const contentSum = "X-Amz-Content-Sha256"

const emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// s3Options completes the options from the environment, as Amazon's tools do. An endpoint of the environment that makes no sense is an error of what
// is read from s3:// alone.
func (c *Client) s3Options() (err error) {
	o := &c.o
	said := ""
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		if o.Endpoint == "" {
			o.Endpoint, said = os.Getenv(name), "$"+name
		}
	}
	o.Region = cmp.Or(o.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
	c.keys = findKeys(o)
	if o.Endpoint == "" {
		return nil
	}
	if c.endpoint, err = parseEndpoint(cmp.Or(said, "the endpoint"), o.Endpoint); said != "" {
		c.misled, err = err, nil
	}
	return err
}

func parseEndpoint(said, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.User == nil {
		return u, nil
	}
	if strings.ContainsAny(text, "@?") { // which may hold what is secret
		text = "one with a user or a query"
	}
	return nil, optionsError{fmt.Errorf("store: %s: got %.80q, want a URL such as https://storage.example.com, without user, path and query", said, text)}
}

// May says whether the environment makes sense for a name, which may be none of a store; if not, the error is ErrOptions.
func (c *Client) May(name string) error {
	if strings.HasPrefix(Plain(name), "s3://") {
		return c.misled
	}
	return nil
}

// request makes the request for a name, and says who signs it; nil: nobody, and redirects are followed.
func (c *Client) request(ctx context.Context, method, name string, query url.Values) (*http.Request, signatory, error) {
	if !IsURL(name) {
		return nil, nil, &Error{Cause: IO, Detail: "want a URL of http, https, s3, gs or hf"}
	}
	if err := c.May(name); err != nil {
		return nil, nil, &Error{Cause: IO, Err: err}
	}
	name = Plain(name)
	by, target := signatory(nil), name
	if scheme, bucket, key, ok := cutBucket(name); ok {
		u, err := c.s3URL(bucket, key), error(nil)
		if by = c.keys; scheme == "gs" {
			by = c.gcs
			u, err = c.gcs.address(bucket, key)
		}
		if err != nil {
			return nil, nil, err
		}
		u.RawQuery = query.Encode()
		target = u.String()
	}
	r, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return nil, nil, &Error{Cause: IO, Detail: "not a URL that can be parsed; escape what must be escaped"}
	}
	r.Header.Set("Accept-Encoding", "identity") // without it a server may choose
	return r, by, nil
}

// s3URL is where a bucket's key lies. A key is taken as it stands: it has no
// escapes and no query.
func (c *Client) s3URL(bucket, key string) *url.URL {
	u := &url.URL{Scheme: "https", Host: "s3." + c.o.Region + ".amazonaws.com"}
	if c.endpoint != nil {
		u.Scheme, u.Host = c.endpoint.Scheme, c.endpoint.Host
	}
	byPath := c.o.PathStyle || !c.o.VirtualHost && (c.endpoint != nil || strings.Contains(bucket, "."))
	if key = cmp.Or(key, "/"); byPath {
		key = "/" + bucket + key
	} else {
		u.Host = bucket + "." + u.Host
	}
	u.Path, u.RawPath = key, s3utils.EncodePath(key)
	return u
}

// listing is an answer to ListObjectsV2.
type listing struct {
	IsTruncated           bool
	EncodingType          string
	NextContinuationToken string
	Contents              []struct {
		Key        string
		Size       int64
		ETag       string
		Generation string // of Google Cloud Storage
	}
}

// maxListing is the length of an answer with a page of a listing, which holds 1,000 keys of at most 1,024 bytes.
const maxListing = 8 << 20

// shallow are the tokens of a document that does not nest deeper than a listing: each open element costs many times its text.
type shallow struct {
	*xml.Decoder
	depth int
}

const maxDepth = 8

func (s *shallow) Token() (xml.Token, error) {
	t, err := s.Decoder.Token()
	switch t := t.(type) {
	case xml.StartElement:
		if s.depth++; s.depth == 1 && t.Name.Local != "ListBucketResult" {
			return nil, &Error{Cause: IO, Detail: fmt.Sprintf("got a document of <%.40s>, want the listing of a bucket; is the endpoint that of a store?", t.Name.Local)}
		}
		if s.depth > maxDepth {
			return nil, &Error{Cause: IO, Detail: fmt.Sprintf("got a listing that nests more than %d deep, want 3", maxDepth)}
		}
	case xml.EndElement:
		s.depth--
	}
	return t, err
}

// List calls each for every object whose name begins with a URL of s3://, gs:// or hf://, in the order of the
// store's answer: that of their keys, but not everywhere (Amazon's directory buckets).
func (c *Client) List(ctx context.Context, prefix string, each func(o Object) error) error {
	prefix = Plain(prefix)
	switch f, ok, err := cutHub(prefix); {
	case err != nil:
		return named(prefix, err)
	case ok:
		return c.listHub(ctx, prefix, &f, each)
	}
	scheme, bucket, start, ok := cutBucket(prefix)
	if !ok {
		return &Error{URL: prefix, Cause: IO, Detail: "only s3://BUCKET/PREFIX, gs://BUCKET/PREFIX and hf://datasets/USER/NAME/PATH can be listed; over http name the objects in a list"}
	}
	query := url.Values{"list-type": {"2"}, "prefix": {strings.TrimPrefix(start, "/")}, "encoding-type": {"url"}}
	for {
		var page listing
		err := c.call(ctx, prefix, func(ctx context.Context, _ context.CancelFunc) (err error) {
			page, err = c.listOnce(ctx, scheme+"://"+bucket, query)
			return err
		})
		if err != nil {
			return err
		}
		for _, o := range page.Contents {
			key, err := o.Key, error(nil)
			if page.EncodingType == "url" {
				key, err = url.QueryUnescape(o.Key)
			}
			if err != nil {
				return &Error{URL: prefix, Cause: IO, Err: err}
			}
			if o.Generation != "" && scheme == "gs" {
				o.ETag = gcsTag(o.Generation)
			}
			if err := each(Object{URL: scheme + "://" + bucket + "/" + key, Size: o.Size, ETag: o.ETag}); err != nil {
				return err
			}
		}
		if !page.IsTruncated {
			return nil
		}
		switch page.NextContinuationToken {
		case "":
			return &Error{URL: prefix, Cause: IO, Detail: "the listing is cut off without a token to go on with"}
		case query.Get("continuation-token"):
			return &Error{URL: prefix, Cause: IO, Detail: "the listing goes in a circle: got the token of a page as that of the next"}
		}
		query.Set("continuation-token", page.NextContinuationToken)
	}
}

// named says which name an error is about.
func named(name string, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		e.URL = name
	}
	return err
}

func (c *Client) listOnce(ctx context.Context, bucket string, query url.Values) (page listing, err error) {
	r, by, err := c.request(ctx, http.MethodGet, bucket, query)
	if err != nil {
		return page, err
	}
	a, err := c.exchange(r, by)
	if err != nil {
		return page, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxListing+1))
	if len(text) > maxListing {
		return page, &Error{Cause: TooLarge, Detail: fmt.Sprintf("got a page of a listing of more than %d bytes, want at most 1,000 keys", maxListing)}
	}
	if err == nil {
		err = xml.NewTokenDecoder(&shallow{Decoder: xml.NewDecoder(bytes.NewReader(text))}).Decode(&page)
	}
	var e *Error
	if err != nil && !errors.As(err, &e) {
		err = &Error{Cause: IO, Err: err, again: true, Detail: "the listing broke off"}
	}
	return page, err
}
