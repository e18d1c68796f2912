package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say how stores are reached. The zero value is the default.
type Options struct {
	Endpoint  string // of s3:// URLs: scheme and host; "" is $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL, else Amazon's
	Region    string // "" is $AWS_REGION, $AWS_DEFAULT_REGION, else us-east-1
	Profile   string // of the shared credentials file; "" is $AWS_PROFILE, else default
	Anonymous bool   // send no credentials
	VirtualHost,
	PathStyle bool // one of them: BUCKET.host or host/BUCKET; neither: path style where there is an endpoint

	Timeout    time.Duration // of one call with all its retries; 0 is DefaultTimeout
	Retries    int           // attempts after the first; 0 is DefaultRetries, negative none
	HedgeAfter time.Duration // ask twice after this; 0 chooses by what reads take, negative never
	KeepBytes  int64         // of what Readers have read last stays in memory; 0 is DefaultKeepBytes
}

// Defaults of Options.
const (
	DefaultTimeout   = 60 * time.Second
	DefaultRetries   = 5
	DefaultKeepBytes = 128 << 20
)

// Object is one version of an object.
type Object struct {
	URL      string
	Size     int64
	ETag     string // as the store gives it, quotes included; "" without
	Modified string // Last-Modified, as the store gives it
}

// Strong says that the ETag alone tells one version from any other.
func (o *Object) Strong() bool { return o.ETag != "" && !strings.HasPrefix(o.ETag, "W/") }

// Cause says in one word what went wrong. The values are those of core/source.
type Cause string

const (
	Missing    Cause = "missing"
	Permission Cause = "permission"
	Empty      Cause = "empty"
	TooLarge   Cause = "too_large"
	Changed    Cause = "changed"
	Deadline   Cause = "deadline"
	Checksum   Cause = "checksum"
	IO         Cause = "io"
)

// Error is why a call failed for good.
type Error struct {
	URL      string
	Cause    Cause
	Status   int    // of the last answer, or 0
	Attempts int    // made
	Detail   string // got and want
	Err      error  // what the network said, or nil

	again      bool          // another attempt may do better
	code       string        // the Hub's word for it, or none
	retryAfter time.Duration // as the server asked
}

func (e *Error) Error() string {
	s := string(e.Cause)
	if e.URL != "" {
		s = fmt.Sprintf("%q: %s", Shown(e.URL), e.Cause)
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Attempts > 1 {
		s += fmt.Sprintf(" (after %d attempts)", e.Attempts)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Client reads objects.
type Client struct {
	o        Options
	http     *http.Client // for plain URLs
	straight *http.Client // for signed requests and the Hub: follows no redirect
	keys     *keys
	endpoint *url.URL // of s3; nil: Amazon's
	misled   error    // what the environment says of the endpoint makes no sense; else nil
	hub      *hub
	gcs      *gcs
	pace     pace
	counters counters
	hedges   sync.WaitGroup // requests that lost and are being cancelled
	blocks   blocks         // of Readers
	larges   larges
}

// IsURL reports whether a name is one that a Client reads. Its scheme may be in any case.
func IsURL(name string) bool {
	scheme, rest, ok := strings.Cut(name, "://")
	return ok && rest != "" && rest[0] != '/' && slices.Contains(schemes, strings.ToLower(scheme))
}

var schemes = []string{"http", "https", "s3", "gs", "hf"}

// Plain is a name with the scheme of a URL in lower case.
func Plain(name string) string {
	if !IsURL(name) {
		return name
	}
	scheme, rest, _ := strings.Cut(name, "://")
	return strings.ToLower(scheme) + "://" + rest
}

// Shown is a URL as messages and logs may have it: without the password and the query, which may hold a signature.
func Shown(name string) string {
	name = Plain(name)
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok || !IsURL(name) || !strings.HasPrefix(scheme, "http") {
		return name
	}
	rest, _, signed := strings.Cut(rest, "?")
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	name = scheme + "://" + host + "/" + path
	if signed {
		name += "?..."
	}
	return name
}

// ErrOptions is what the errors of New and May are, and what those of reads wrap: the options, or the environment that completes them, make no sense.
var ErrOptions = errors.New("options that make no sense")

// optionsError is an error that is ErrOptions; its text says enough.
type optionsError struct{ error }

func (optionsError) Is(target error) bool { return target == ErrOptions }

// New makes a client. It reaches nothing yet. Errors are ErrOptions, and never for what the environment says: see May.
func New(o Options) (*Client, error) {
	c := &Client{o: o, hub: newHub(o.Anonymous), blocks: blocks{all: map[blockName]*block{}, most: cmp.Or(o.KeepBytes, DefaultKeepBytes)}}
	if c.o.Timeout == 0 {
		c.o.Timeout = DefaultTimeout
	}
	switch {
	case c.o.Retries == 0:
		c.o.Retries = DefaultRetries
	case c.o.Retries < 0:
		c.o.Retries = 0
	}
	if o.PathStyle && o.VirtualHost {
		return nil, optionsError{errors.New("store: got path style and virtual hosts, want one")}
	}
	if err := c.s3Options(); err != nil {
		return nil, err
	}
	c.gcs = newGCS(&c.o)
	t := &http.Transport{
		Proxy: proxy, MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: maxHeader,
		// HTTP/2 would put all ranges on one connection; many connections carry more.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	c.http = &http.Client{Transport: t, CheckRedirect: follow}
	c.straight = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

const (
	maxRedirects = 5
	maxHeader    = 256 << 10 // bytes of an answer's header
)

// errRedirect marks a refusal by follow.
var errRedirect = errors.New("redirect refused")

// follow is the redirect policy of plain URLs.
func follow(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: got more than %d", errRedirect, maxRedirects)
	case r.URL.Scheme != "http" && r.URL.Scheme != "https":
		return fmt.Errorf("%w: leads to %q, want http or https", errRedirect, r.URL.Scheme)
	case r.URL.Scheme == "http" && via[0].URL.Scheme == "https":
		return fmt.Errorf("%w: leads from https to http", errRedirect)
	}
	return nil
}

// Close ends the connections. Readers are not to be used any more, and their contexts have ended: what they read ahead is waited for.
func (c *Client) Close() {
	c.blocks.ahead.Wait()
	c.hedges.Wait()
	c.http.CloseIdleConnections()
}

// ReadAt fills p with the object's bytes from off on.
func (c *Client) ReadAt(ctx context.Context, o *Object, p []byte, off int64) error {
	return c.call(ctx, o.URL, func(ctx context.Context, cancel context.CancelFunc) error {
		var spare []byte
		won, err := c.hedged(ctx, cancel,
			func(ctx context.Context) error { return c.readOnce(ctx, o, p, off) },
			func(ctx context.Context) error {
				spare = make([]byte, len(p))
				return c.readOnce(ctx, o, spare, off)
			})
		if won {
			copy(p, spare)
		}
		return err
	})
}

// ReadAll reads an object of at most limit bytes whole, into what room gives for its length. room may be called again for each attempt. Of large
// bytes or more (0: never) no more is read than its beginning, which Readers have then, where the store gives parts of objects: it is o, else nil.
func (c *Client) ReadAll(ctx context.Context, name string, limit, large int64, room func(n int) []byte) (n int, o *Object, err error) {
	q := question{name: name, limit: limit, large: large, room: room}
	if large > 0 {
		version, likely := c.larges.of(name)
		if c.blocks.begin(version) {
			if o, err = c.Stat(ctx, name); err != nil || o.Size >= large {
				return 0, o, err
			}
			likely = false
		}
		q.beginning = likely
	}
	all, err := c.readHedged(ctx, q)
	if err == nil && all.unread {
		q.beginning = false
		all, err = c.readHedged(ctx, q)
	}
	if err == nil && all.large != nil {
		o, err = c.versionOf(ctx, all.large)
		return 0, o, err
	}
	if err == nil && large > 0 {
		c.larges.none()
	}
	return all.n, nil, err
}

// question is one for an object whose length is not known.
type question struct {
	name         string
	limit, large int64              // see ReadAll
	room         func(n int) []byte // as well
	beginning    bool               // its beginning alone is asked for, as it is probably large
}

// whole is what became of an object that was to be read whole: n bytes were, or it is large, or its beginning was asked for and it is not large.
type whole struct {
	n      int
	large  *Object // its version is not known where neither a tag nor a date is there
	unread bool
}

// versionOf is the object with its version, which it asks for where the answer that had its first bytes did not tell, as the Hub's does not.
func (c *Client) versionOf(ctx context.Context, o *Object) (_ *Object, err error) {
	if o.ETag == "" && o.Modified == "" {
		if o, err = c.Stat(ctx, o.URL); err != nil {
			return nil, err
		}
	}
	c.larges.add(o)
	return o, nil
}

// larges tells what is probably large: what was, and all names while the object read last was. Of such an object the beginning alone is asked for, as an
// answer that is broken off costs its connection and what of it is on its way.
type larges struct {
	mu       sync.Mutex
	versions map[string]string // by names
	latest   bool
}

const mostLarges = 4096 // names that are kept

// of is the version of a name that was large, or "", and whether it probably is.
func (l *larges) of(name string) (version string, likely bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	version = l.versions[name]
	return version, version != "" || l.latest
}

func (l *larges) add(o *Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.versions == nil || len(l.versions) == mostLarges {
		l.versions = map[string]string{}
	}
	l.versions[o.URL], l.latest = o.version(), true
}

// none says that an object was not large.
func (l *larges) none() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest = false
}

func (c *Client) readHedged(ctx context.Context, q question) (all whole, err error) {
	err = c.call(ctx, q.name, func(ctx context.Context, cancel context.CancelFunc) error {
		var spare []byte
		var other whole
		second := q
		second.room = func(n int) []byte {
			spare = make([]byte, n)
			return spare
		}
		won, err := c.hedged(ctx, cancel,
			func(ctx context.Context) (err error) {
				all, err = c.readWhole(ctx, q)
				return err
			},
			func(ctx context.Context) (err error) {
				other, err = c.readWhole(ctx, second)
				return err
			})
		if won {
			if all = other; all.n > 0 {
				copy(q.room(len(spare)), spare)
			}
		}
		return err
	})
	return all, err
}

// ReadLarge is ReadAll for what is no sample, and may be large: it is asked for once, and its time is no measure for other reads.
func (c *Client) ReadLarge(ctx context.Context, name string, limit int64, room func(n int) []byte) (n int, err error) {
	all, err := c.readLarge(ctx, question{name: name, limit: limit, room: room})
	return all.n, err
}

func (c *Client) readLarge(ctx context.Context, q question) (all whole, err error) {
	err = c.call(ctx, q.name, func(ctx context.Context, _ context.CancelFunc) (err error) {
		all, err = c.readWhole(ctx, q)
		return err
	})
	return all, err
}

// Stat asks for an object's present version.
func (c *Client) Stat(ctx context.Context, name string) (*Object, error) {
	var o *Object
	err := c.call(ctx, name, func(ctx context.Context, _ context.CancelFunc) (err error) {
		o, err = c.statOnce(ctx, name)
		return err
	})
	return o, err
}
