package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// gcsScope is what a token is asked for.
const gcsScope = "https://www.googleapis.com/auth/devstorage.read_only"

// tokens sign requests to Google with a token of the Application Default Credentials. It is got when it is wanted first, when it ends, and when the
// store refuses it.
type tokens struct {
	none   bool // nothing is signed
	client *http.Client

	mu     sync.Mutex // guards the rest
	held   *oauth2.Token
	looked time.Time // when a refusal last made somebody look
}

func newTokens(none bool, timeout time.Duration) *tokens {
	return &tokens{none: none, client: &http.Client{Timeout: timeout / attemptShare, Transport: &http.Transport{Proxy: proxy, DisableKeepAlives: true}}}
}

func (t *tokens) sign(r *http.Request) (again func(error) bool, err error) {
	if t.none {
		return never, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.held.Valid() {
		if err := t.look(); err != nil {
			return nil, err
		}
	}
	used := t.held.AccessToken
	r.Header.Set("Authorization", "Bearer "+used)
	return func(refused error) bool {
		var e *Error
		return errors.As(refused, &e) && e.Status == http.StatusUnauthorized && t.others(used)
	}, nil
}

// look gets a token from where the credentials are now. What was got before stays where that fails.
func (t *tokens) look() error {
	// The token's source keeps its context, so it is nobody's request.
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, t.client)
	found, err := google.FindDefaultCredentials(ctx, gcsScope)
	if err != nil {
		return &Error{Cause: Permission, Detail: fmt.Sprintf("found no Application Default Credentials (%s); say `gcloud auth application-default login`, set GOOGLE_APPLICATION_CREDENTIALS "+
			"to the file of a service account, or say anonymous: true; with HMAC keys read s3://BUCKET/KEY, with remote: {endpoint: %s, region: auto}", oneLine(err), gcsEndpoint)}
	}
	token, err := found.TokenSource.Token()
	if err != nil {
		return noToken(err)
	}
	t.held = token
	return nil
}

// noToken is why credentials gave none: they are refused, or who gives them could not be asked, which may pass.
func noToken(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500 {
		return &Error{Cause: Permission, Detail: fmt.Sprintf("the Application Default Credentials are refused (%s %.60s); are they still there?", refused.Response.Status, refused.ErrorCode)}
	}
	if refused != nil && refused.Response != nil {
		err = fmt.Errorf("got status %s", refused.Response.Status)
	}
	return &Error{Cause: IO, again: true, Detail: fmt.Sprintf("no token for the Application Default Credentials: %s", oneLine(err))}
}

// oneLine is an error of somebody else's for a message.
func oneLine(err error) string {
	return fmt.Sprintf("%.300s", strings.Join(strings.Fields(err.Error()), " "))
}

// others reports whether there is another token now than one that was refused.
func (t *tokens) others(refused string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held.AccessToken != refused {
		return true // somebody has looked meanwhile
	}
	if !t.looked.IsZero() && time.Since(t.looked) < lookAgain {
		return false
	}
	t.looked = time.Now()
	return t.look() == nil && t.held.AccessToken != refused
}
