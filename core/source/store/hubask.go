package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// onHub sends a request for a file, of which the answer tells the version: that of its Stat. Reads need not compare it, as the commit says it.
func (c *Client) onHub(ctx context.Context, method string, f *hubFile, header http.Header) (*http.Response, error) {
	commit, err := c.commit(ctx, f)
	if err != nil {
		return nil, err
	}
	header = header.Clone()
	header.Del("If-Match") // large storage has ETags of its own
	at := c.hub.file(f, commit)
	if method == http.MethodHead {
		return c.statOnHub(ctx, at, f, header)
	}
	a, err := c.readOnHub(ctx, method, at, f, header)
	if err != nil {
		return nil, err
	}
	a.Header.Del("ETag")
	a.Header.Del("Last-Modified")
	return a, nil
}

// readOnHub reads where the file lies, which the Hub says where it is not known.
func (c *Client) readOnHub(ctx context.Context, method string, at *url.URL, f *hubFile, header http.Header) (*http.Response, error) {
	if address := c.hub.place(at.String()); address != "" {
		a, err := c.elsewhere(ctx, method, address, header)
		var e *Error
		if !errors.As(err, &e) || e.Status < 400 || e.Status >= 500 || e.again {
			return a, err
		}
	}
	a, err := c.askHub(ctx, method, at, f, header)
	if err != nil || a.StatusCode < 300 {
		return a, err
	}
	discard(a.Body)
	address := a.Header.Get("Location")
	c.hub.keep(at.String(), address)
	return c.elsewhere(ctx, method, address, header)
}

// elsewhere asks where a file lies in large storage, whose business it is not who asks.
func (c *Client) elsewhere(ctx context.Context, method, address string, header http.Header) (*http.Response, error) {
	r, err := hubRequest(ctx, method, address, header)
	if err != nil {
		return nil, err
	}
	return c.do(r, c.http)
}

// statOnHub asks for a file's length and version: its object id in git, or its SHA-256 in large storage. The Hub tells of both before it leads there.
func (c *Client) statOnHub(ctx context.Context, at *url.URL, f *hubFile, header http.Header) (*http.Response, error) {
	a, err := c.askHub(ctx, http.MethodHead, at, f, header)
	if err != nil {
		return nil, err
	}
	tag, size := a.Header.Get("X-Linked-Etag"), a.Header.Get("X-Linked-Size")
	if a.StatusCode >= 300 && size == "" { // a mirror, perhaps
		discard(a.Body)
		return c.elsewhere(ctx, http.MethodHead, a.Header.Get("Location"), header)
	}
	a.StatusCode = http.StatusOK
	if tag != "" {
		a.Header.Set("ETag", tag)
	}
	if size != "" {
		if a.ContentLength, err = strconv.ParseInt(size, 10, 64); err != nil {
			a.ContentLength = -1
		}
	}
	return a, nil
}

// askHub sends a request to the Hub, and goes where it leads within the Hub, as of a repository that has another name by now. An answer that leads elsewhere is
// returned: who asks is the Hub's to know alone.
func (c *Client) askHub(ctx context.Context, method string, at *url.URL, f *hubFile, header http.Header) (*http.Response, error) {
	var via []*http.Request
	for {
		r, err := hubRequest(ctx, method, at.String(), header)
		if err != nil {
			return nil, err
		}
		via = append(via, r)
		token := c.hub.token()
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		c.counters.requests.Add(1)
		a, err := c.straight.Do(r)
		switch {
		case err != nil:
			return nil, unreachable(err)
		case a.StatusCode == http.StatusOK || a.StatusCode == http.StatusPartialContent:
			return a, nil
		}
		to, err := a.Location()
		if a.StatusCode < 300 || a.StatusCode >= 400 || err != nil {
			defer discard(a.Body)
			return nil, hubRefusal(a, f, token)
		}
		if err := follow(&http.Request{URL: to}, via); err != nil {
			discard(a.Body)
			return nil, unreachable(err)
		}
		if to.Host != at.Host {
			a.Header.Set("Location", to.String())
			return a, nil
		}
		discard(a.Body)
		at = to
	}
}

func hubRequest(ctx context.Context, method, address string, header http.Header) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, &Error{Cause: IO, Detail: "the Hub leads to what is no URL"}
	}
	for k, v := range header {
		r.Header[k] = v
	}
	r.Header.Set("Accept-Encoding", "identity")
	return r, nil
}

// noEntry is what the Hub calls a path without a file.
const noEntry = "EntryNotFound"

// hubRefusal is the error behind an answer of the Hub's.
func hubRefusal(a *http.Response, f *hubFile, token string) *Error {
	e := refusal(a)
	e.code = a.Header.Get("X-Error-Code")
	if e.code != "" {
		e.Detail += fmt.Sprintf(" (%.60s)", e.code)
	}
	closed := e.Cause == Permission || e.code == "RepoNotFound" || e.code == "GatedRepo"
	switch {
	case e.code == noEntry:
		e.Detail += fmt.Sprintf("; there is no such file in revision %q", f.revision)
	case e.code == "RevisionNotFound":
		e.Detail += fmt.Sprintf("; %s has no revision %q", f.id, f.revision)
	case closed && token == "":
		e.Detail += fmt.Sprintf("; is there %s of %s? If it is private or gated, set $HF_TOKEN to a token that may read it", f.id, f.kind)
	case closed:
		e.Detail += fmt.Sprintf("; is there %s of %s, and may your token read it? If it is gated, its page on the Hub says how to ask for it", f.id, f.kind)
	}
	return e
}
