package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// hubJSON reads an answer of the Hub's, and says which page of a listing follows: "" where none does.
func (c *Client) hubJSON(ctx context.Context, at *url.URL, f *hubFile, into any) (next string, err error) {
	a, err := c.askHub(ctx, http.MethodGet, at, f, nil)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	if a.StatusCode >= 300 {
		return "", &Error{Cause: IO, Status: a.StatusCode, Detail: "got an answer that leads away from the Hub, want one of its own; say in $HF_ENDPOINT where that is"}
	}
	text, err := io.ReadAll(io.LimitReader(a.Body, maxListing+1))
	switch {
	case err != nil:
		return "", &Error{Cause: IO, Err: err, again: true, Detail: "the answer broke off"}
	case len(text) > maxListing:
		return "", &Error{Cause: TooLarge, Detail: fmt.Sprintf("got an answer of more than %d bytes", maxListing)}
	}
	if err := json.Unmarshal(text, into); err != nil {
		return "", &Error{Cause: IO, Detail: "got an answer that is not the Hub's JSON; is $HF_ENDPOINT a Hub?"}
	}
	return nextPage(a.Header), nil
}

var linkNext = regexp.MustCompile(`<([^>]*)>\s*;[^,]*\brel="?next\b`)

// nextPage is the query of the page that a header says comes next.
func nextPage(h http.Header) string {
	for _, link := range h.Values("Link") {
		if m := linkNext.FindStringSubmatch(link); m != nil {
			if u, err := url.Parse(m[1]); err == nil {
				return u.RawQuery
			}
		}
	}
	return ""
}

// hubEntry is what a listing says of a file or directory.
type hubEntry struct {
	Type, Path, OID string
	Size            int64
	LFS             *struct {
		OID  string
		Size int64
	}
}

// listHub calls each for the files of a commit whose paths begin so.
func (c *Client) listHub(ctx context.Context, prefix string, f *hubFile, each func(o Object) error) error {
	dir := strings.TrimSuffix(f.path[:strings.LastIndexByte(f.path, '/')+1], "/")
	query := "recursive=true"
	for query != "" {
		var page []hubEntry
		var next string
		err := c.call(ctx, prefix, func(ctx context.Context, _ context.CancelFunc) error {
			commit, err := c.commit(ctx, f)
			if err != nil {
				return err
			}
			at := c.hub.api(f, "tree", commit, dir)
			at.RawQuery = query
			page = nil
			next, err = c.hubJSON(ctx, at, f, &page)
			return err
		})
		if e := (*Error)(nil); errors.As(err, &e) && e.code == noEntry {
			return nil // no such directory: nothing begins so
		}
		if err != nil {
			return err
		}
		for _, entry := range page {
			if entry.Type != "file" || !strings.HasPrefix(entry.Path, f.path) || path.Clean("/"+entry.Path) != "/"+entry.Path {
				continue
			}
			o := Object{URL: f.repo + "/" + entry.Path, Size: entry.Size, ETag: strconv.Quote(entry.OID)}
			if entry.LFS != nil {
				o.Size, o.ETag = entry.LFS.Size, strconv.Quote(entry.LFS.OID)
			}
			if err := each(o); err != nil {
				return err
			}
		}
		if next == query {
			return &Error{URL: prefix, Cause: IO, Detail: "the listing goes in a circle: got the page as that which comes next"}
		}
		query = next
	}
	return nil
}
