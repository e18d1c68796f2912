package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// send makes a request and returns an answer whose status says that it went well.
func (c *Client) send(ctx context.Context, method, name string, header http.Header) (*http.Response, error) {
	switch f, ok, err := cutHub(Plain(name)); {
	case err != nil:
		return nil, err
	case ok:
		return c.onHub(ctx, method, &f, header)
	}
	r, by, err := c.request(ctx, method, name, nil)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		r.Header[k] = v
	}
	if by != signatory(c.gcs) {
		return c.exchange(r, by)
	}
	ofGeneration(r.Header)
	a, err := c.exchange(r, by)
	if err == nil {
		if err = fromGCS(a, r.Header); err != nil {
			_ = a.Body.Close() // the error says enough
			a = nil
		}
	}
	return a, err
}

// signatory is what signs the requests to a store.
type signatory interface {
	// sign signs a request anew. again says, of a request that was refused, whether it is worth another signature: there is something else to sign with.
	sign(r *http.Request) (again func(refused error) bool, err error)
}

// exchange sends a request. One that is signed by somebody is led nowhere else, and where it is refused it is sent once more if there are other credentials by now.
func (c *Client) exchange(r *http.Request, by signatory) (*http.Response, error) {
	if by == nil {
		return c.do(r, c.http)
	}
	again, err := by.sign(r)
	if err != nil {
		return nil, err
	}
	a, err := c.do(r, c.straight)
	if err == nil || !again(err) {
		return a, err
	}
	if _, err := by.sign(r); err != nil {
		return nil, err
	}
	if r.GetBody != nil {
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	c.counters.retries.Add(1)
	return c.do(r, c.straight)
}

func (c *Client) do(r *http.Request, client *http.Client) (*http.Response, error) {
	c.counters.requests.Add(1)
	a, err := client.Do(r)
	if err != nil {
		return nil, unreachable(err)
	}
	if a.StatusCode == http.StatusOK || a.StatusCode == http.StatusPartialContent || a.StatusCode == http.StatusNoContent && r.Method == http.MethodDelete {
		if client == c.http {
			err = asItIs(a, r.URL.Path)
		}
		if err != nil {
			_ = a.Body.Close() // the error says enough
			a = nil
		}
		return a, err
	}
	defer discard(a.Body)
	return nil, refusal(a)
}

// asItIs refuses an answer that a server, or a cache on the way, has packed although it was asked for none: its length and its parts are not the
// file's. Where the name says that the file is packed, servers say of its own bytes that they are. Of a signed request to a bucket the header is
// what the object was stored with, and its bytes are as they are stored, as the stores' own tools take them.
func asItIs(a *http.Response, path string) error {
	switch coding := strings.ToLower(strings.TrimSpace(a.Header.Get("Content-Encoding"))); coding {
	case "gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress":
		if packedName.MatchString(path) || packedName.MatchString(a.Request.URL.Path) {
			return nil
		}
		return &Error{Cause: IO, Status: a.StatusCode, Detail: fmt.Sprintf("the answer is packed (Content-Encoding: %s), which was not asked for, and so has neither the file's length nor its parts; have the server send such files as they are", coding)}
	}
	return nil
}

// packedName is the path of a file that is packed by its name.
var packedName = regexp.MustCompile(`(?i)\.(t?gz|taz|z|br|zst)$`)

// unreachable is the error of a request without an answer.
func unreachable(err error) *Error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the URL, which the caller names
	}
	e := &Error{Cause: IO, Err: err, again: true}
	var name *net.DNSError
	var authority x509.UnknownAuthorityError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, errRedirect) || errors.Is(err, errProxy):
		e.again = false
	case errors.As(err, &name) && name.IsTimeout:
		e.Err, e.Detail = nil, fmt.Sprintf("the name service says nothing about %q", name.Name)
	case errors.As(err, &authority):
		e.again, e.Detail = false, "the server's certificate is of nobody we know; $SSL_CERT_FILE may name whom to trust"
	case errors.As(err, &certificate):
		e.again = false
	case errors.As(err, &record): // as Python's http.server answers, without HTTP's version before its refusal
		e.again, e.Detail = false, "the server does not speak TLS; write http, not https, if it speaks that"
	case errors.Is(err, http.ErrSchemeMismatch):
		e.again, e.Detail = false, "the server speaks http, not https"
	}
	return e
}

// discard lets the connection be used again, unless the rest is long.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10) // an answer we do not need; Close says nothing either
	_ = body.Close()
}

const maxRefusal = 4 << 10

// refusal is the error behind a status.
func refusal(a *http.Response) *Error {
	e, ended := &Error{Cause: IO, Status: a.StatusCode, Detail: "got status " + a.Status}, false
	if text, err := io.ReadAll(io.LimitReader(a.Body, maxRefusal)); err == nil {
		if _, code, ok := strings.Cut(string(text), "<Code>"); ok { // how S3 says why
			code, _, _ = strings.Cut(code, "<")
			e.Detail += fmt.Sprintf(" (%.60s)", code)
			ended = code == "ExpiredToken" || code == "TokenRefreshRequired"
		}
	}
	switch s := a.StatusCode; {
	case ended:
		e.Cause = Permission
		e.Detail += "; the credentials have ended, and there are no others where they came from"
	case s == http.StatusNotFound || s == http.StatusGone:
		e.Cause = Missing
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		e.Cause = Permission
	case s == http.StatusPreconditionFailed || s == http.StatusRequestedRangeNotSatisfiable:
		e.Cause = Changed
	case s == http.StatusRequestTimeout || s == http.StatusTooManyRequests || s >= 500 && s != http.StatusNotImplemented:
		e.again = true
		e.retryAfter = retryAfter(a.Header, time.Now())
	case s >= 300 && s < 400:
		if region := a.Header.Get("X-Amz-Bucket-Region"); region != "" {
			e.Detail += fmt.Sprintf("; the bucket is in region %q, say so in source.remote.region", region)
		}
	}
	return e
}

// rateLimit is what an answer says of a limit of requests: in t the seconds until there are some again.
var rateLimit = regexp.MustCompile(`;\s*t=(\d+)`)

// retryAfter is how long an answer asks to wait: Retry-After in seconds, or as a date, by the answer's own clock where it tells one, or else what
// RateLimit says, as the Hugging Face Hub does; 0 where it asks for nothing. now is the time here.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if m := rateLimit.FindStringSubmatch(h.Get("RateLimit")); m != nil && text == "" {
		text = m[1]
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(n, math.MaxInt32)) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(until.Sub(now), 0)
}

// statOnce asks with HEAD, or where that is not allowed (signed URLs) for the first byte.
func (c *Client) statOnce(ctx context.Context, name string) (*Object, error) {
	a, err := c.send(ctx, http.MethodHead, name, nil)
	var e *Error
	if errors.As(err, &e) && (e.Status == http.StatusForbidden || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented) {
		first := err
		a, err = c.send(ctx, http.MethodGet, name, http.Header{"Range": {"bytes=0-0"}})
		if err != nil {
			return nil, first
		}
	}
	if err != nil {
		return nil, err
	}
	defer discard(a.Body)
	o := &Object{URL: name, Size: a.ContentLength, ETag: a.Header.Get("ETag"), Modified: a.Header.Get("Last-Modified")}
	if a.StatusCode == http.StatusPartialContent {
		if _, _, o.Size, err = contentRange(a.Header.Get("Content-Range")); err != nil {
			return nil, &Error{Cause: IO, Detail: err.Error()}
		}
	}
	if o.Size < 0 {
		return nil, &Error{Cause: IO, Detail: "the server does not tell the object's length"}
	}
	return o, nil
}

// readOnce reads one range of one version.
func (c *Client) readOnce(ctx context.Context, o *Object, p []byte, off int64) error {
	header, whole := http.Header{}, off == 0 && int64(len(p)) == o.Size
	if !whole {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(len(p))-1))
	} else {
		header = wholeHeader(o.URL)
	}
	if o.Strong() {
		header.Set("If-Match", o.ETag)
	}
	a, err := c.send(ctx, http.MethodGet, o.URL, header)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if err := sameVersion(a, o, int64(len(p)), off); err != nil {
		return err
	}
	if err := c.body(a.Body, p); err != nil {
		return err
	}
	if whole {
		return checksum(a.Header, p)
	}
	return nil
}

// wholeHeader asks for the checksums that S3 holds of whole objects. An address with a query may be signed, and is then refused with any such header that was not
// signed with it; so may be what the Hub leads to.
func wholeHeader(name string) http.Header {
	if name = Plain(name); strings.HasPrefix(name, "hf") || strings.HasPrefix(name, "gs") || strings.HasPrefix(name, "http") && strings.Contains(name, "?") {
		return http.Header{}
	}
	return http.Header{"X-Amz-Checksum-Mode": {"ENABLED"}}
}

// sameVersion compares an answer with what was asked for.
func sameVersion(a *http.Response, o *Object, n, off int64) error {
	changed := func(what, got, want string) error {
		return &Error{Cause: Changed, Status: a.StatusCode, Detail: fmt.Sprintf("got %s %s, want %s as when it was opened", what, got, want)}
	}
	if tag := a.Header.Get("ETag"); o.ETag != "" && tag != "" && tag != o.ETag {
		return changed("ETag", tag, o.ETag)
	}
	if date := a.Header.Get("Last-Modified"); o.ETag == "" && o.Modified != "" && date != "" && date != o.Modified {
		return changed("date", strconv.Quote(date), strconv.Quote(o.Modified))
	}
	if a.StatusCode == http.StatusOK {
		if a.ContentLength >= 0 && a.ContentLength != o.Size {
			return changed("length", fmt.Sprint(a.ContentLength), fmt.Sprint(o.Size))
		}
		if n != o.Size {
			return &Error{Cause: IO, Status: a.StatusCode, Detail: "the server ignores Range and sends the whole object; use one that does ranges, or copy the data"}
		}
		return nil
	}
	from, to, size, err := contentRange(a.Header.Get("Content-Range"))
	switch {
	case err != nil:
		return &Error{Cause: IO, Status: a.StatusCode, Detail: err.Error(), again: true}
	case size >= 0 && size != o.Size:
		return changed("length", fmt.Sprint(size), fmt.Sprint(o.Size))
	case from != off || to != off+n-1:
		return &Error{Cause: IO, Status: a.StatusCode, again: true, Detail: fmt.Sprintf("asked for bytes %d-%d, got %d-%d", off, off+n-1, from, to)}
	}
	return nil
}

// contentRange reads "bytes 0-99/1234"; the size is -1 for "*".
func contentRange(text string) (from, to, size int64, err error) {
	span, total, ok := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	first, last, both := strings.Cut(span, "-")
	if !ok || !both || !strings.HasPrefix(text, "bytes ") {
		return 0, 0, 0, fmt.Errorf("got Content-Range %.60q, want bytes FROM-TO/SIZE", text)
	}
	from, err1 := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	size, err3 := int64(-1), error(nil)
	if total != "*" {
		size, err3 = strconv.ParseInt(total, 10, 64)
	}
	if err := errors.Join(err1, err2, err3); err != nil || from < 0 || to < from {
		return 0, 0, 0, fmt.Errorf("got Content-Range %.60q, want bytes FROM-TO/SIZE", text)
	}
	return from, to, size, nil
}

// body fills p; a body that ends early is a fault of the way here.
func (c *Client) body(r io.Reader, p []byte) error {
	n, err := io.ReadFull(r, p)
	c.counters.bytes.Add(uint64(n))
	if err != nil {
		return &Error{Cause: IO, Err: err, again: true, Detail: fmt.Sprintf("got %d of %d bytes", n, len(p))}
	}
	return nil
}

// readWhole reads an object that nobody has asked the length of, unless it is a large one.
func (c *Client) readWhole(ctx context.Context, q question) (all whole, err error) {
	header := wholeHeader(q.name)
	if q.beginning {
		header = http.Header{"Range": {fmt.Sprintf("bytes=0-%d", blockBytes-1)}}
	}
	a, err := c.send(ctx, http.MethodGet, q.name, header)
	if e := (*Error)(nil); q.beginning && errors.As(err, &e) && e.Status == http.StatusRequestedRangeNotSatisfiable {
		return whole{unread: true}, nil // there are no bytes
	}
	if err != nil {
		return all, err
	}
	defer a.Body.Close()
	n, inParts := a.ContentLength, a.Header.Get("Accept-Ranges") == "bytes"
	if a.StatusCode == http.StatusPartialContent {
		n, err = sizeOf(a, q.beginning)
		switch {
		case q.beginning && (err != nil || n < q.large):
			return whole{unread: true}, nil
		case err != nil:
			return all, err
		}
		inParts = inParts || q.beginning
	}
	switch {
	case n < 0:
		all.n, err = c.readUnknown(a, q.limit, q.room)
		return all, err
	case n == 0:
		return all, &Error{Cause: Empty, Detail: "got 0 bytes"}
	case q.large > 0 && n >= q.large && inParts:
		all.large = &Object{URL: q.name, Size: n, ETag: a.Header.Get("ETag"), Modified: a.Header.Get("Last-Modified")}
		return all, c.readBeginning(all.large, a.Body)
	case n > q.limit:
		return all, tooLarge(n, q.limit)
	}
	p := q.room(int(n))
	if err := c.body(a.Body, p); err != nil {
		return all, err
	}
	all.n = int(n)
	return all, checksum(a.Header, p)
}

// sizeOf is the size of an object of which a part has come. That has to be what was asked for: the first block, or, without a range, all of it.
func sizeOf(a *http.Response, beginning bool) (int64, error) {
	from, to, size, err := contentRange(a.Header.Get("Content-Range"))
	last := size - 1
	if beginning {
		last = min(last, blockBytes-1)
	}
	switch {
	case err != nil:
		return 0, &Error{Cause: IO, Status: a.StatusCode, Detail: err.Error(), again: true}
	case from != 0 || to != last:
		return 0, &Error{Cause: IO, Status: a.StatusCode, Detail: fmt.Sprintf("asked for it from its first byte on, got Content-Range %.60q", a.Header.Get("Content-Range")), again: true}
	}
	return size, nil
}

// readBeginning keeps the first block of a large object for Readers, who want it first; the rest of the answer is not taken.
func (c *Client) readBeginning(o *Object, body io.Reader) error {
	if o.ETag == "" && o.Modified == "" {
		return nil // of which version it is will not be known
	}
	first := make([]byte, min(blockBytes, o.Size))
	if err := c.body(body, first); err != nil {
		return err
	}
	c.blocks.keep(o, first)
	return nil
}

func tooLarge(n, limit int64) error {
	return &Error{Cause: TooLarge, Detail: fmt.Sprintf("got %d bytes, want at most %d", n, limit)}
}

// readUnknown reads a body whose length only its end tells.
func (c *Client) readUnknown(a *http.Response, limit int64, room func(n int) []byte) (int, error) {
	all, err := io.ReadAll(io.LimitReader(a.Body, limit+1))
	c.counters.bytes.Add(uint64(len(all)))
	switch {
	case err != nil:
		return 0, &Error{Cause: IO, Err: err, again: true, Detail: fmt.Sprintf("the answer broke off after %d bytes", len(all))}
	case len(all) == 0:
		return 0, &Error{Cause: Empty, Detail: "got 0 bytes"}
	case int64(len(all)) > limit:
		return 0, tooLarge(int64(len(all)), limit)
	}
	return copy(room(len(all)), all), nil
}
