package store

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// writeProfile writes the credentials file, as whoever renews them does: whole, at once.
func writeProfile(t *testing.T, file, id, secret, token string) {
	t.Helper()
	text := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\naws_session_token = %s\n", id, secret, token)
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// expiring is a store that takes one session's requests and refuses others, as S3 does: by 400, or by the status said here, and to HEAD without a word.
type expiring struct {
	*server
	good    atomic.Value
	refused atomic.Int64
}

func serveSessions(t *testing.T, good string, status int, code string) *expiring {
	s := &expiring{server: serve(t, nil)}
	s.good.Store(good)
	s.always = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Security-Token") == s.good.Load() {
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-9/%d", len(content)))
			w.WriteHeader(206)
			if r.Method != http.MethodHead {
				_, _ = w.Write(content[:10])
			}
			return
		}
		s.refused.Add(1)
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
		}
	}
	return s
}

// sessions is a client whose credentials are those of a file.
func sessions(t *testing.T, s *expiring) (c *Client, file string) {
	noAmazon(t)
	file = filepath.Join(t.TempDir(), "credentials")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	writeProfile(t, file, "ID1", "secret1", "token1")
	return client(t, Options{Endpoint: s.URL, HedgeAfter: -1}), file
}

var bucketed = &Object{URL: "s3://bucket/x", Size: int64(len(content)), ETag: `"v1"`}

// Credentials that end while a client reads are looked for again where they came from: every read goes on, with as many refusals as sessions
// ended. Reads at the same time look once.
func TestCredentialsThatEndAreRenewed(t *testing.T) {
	for what, status := range map[string]int{"ExpiredToken": 400, "InvalidToken": 403, "Unauthorized": 401} {
		s := serveSessions(t, "token1", status, what)
		c, file := sessions(t, s)
		for session := 1; session <= 3; session++ {
			token := fmt.Sprintf("token%d", session)
			writeProfile(t, file, fmt.Sprintf("ID%d", session), fmt.Sprintf("secret%d", session), token)
			s.good.Store(token)
			if _, err := c.Stat(background, bucketed.URL); err != nil {
				t.Errorf("%s, session %d: HEAD: %v", what, session, err)
			}
			if err := c.ReadAt(background, bucketed, make([]byte, 10), 0); err != nil {
				t.Errorf("%s, session %d: %v", what, session, err)
			}
		}
		if n, r := c.Stats(), s.refused.Load(); r != 2 || n.Retries != 2 || n.Failures != 0 {
			t.Errorf("%s: %d refusals, %+v", what, r, n)
		}
	}
	s := serveSessions(t, "token1", 400, "ExpiredToken")
	c, file := sessions(t, s)
	if err := c.ReadAt(background, bucketed, make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	writeProfile(t, file, "ID2", "secret2", "token2")
	s.good.Store("token2")
	var all sync.WaitGroup
	for range 32 {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := c.ReadAt(background, bucketed, make([]byte, 10), 0); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	if r := s.refused.Load(); r < 1 || r > 32 {
		t.Errorf("%d refusals of 32 reads", r)
	}
}

// Where there are no others the refusal is final, says that they have ended, and shows neither secret nor token; a store that refuses everything
// does not make us look for credentials with each request.
func TestCredentialsThatEndForGoodAreAnErrorWithoutSecrets(t *testing.T) {
	s := serveSessions(t, "token9", 400, "ExpiredToken")
	c, file := sessions(t, s)
	err := c.ReadAt(background, bucketed, make([]byte, 10), 0)
	e := wantCause(t, err, Permission, "got status 400 Bad Request (ExpiredToken); the credentials have ended, and there are no others where they came from")
	if s.requests() != 1 || e.Attempts != 1 {
		t.Errorf("%d requests, %d attempts", s.requests(), e.Attempts)
	}
	for _, secret := range []string{"secret1", "token1", "ID1"} {
		if strings.Contains(fmt.Sprintf("%v %+v %q", err, err, e.Unwrap()), secret) {
			t.Errorf("%v shows %s", err, secret)
		}
	}
	writeProfile(t, file, "ID9", "secret9", "token9")
	looked := c.keys.looked
	if err := c.ReadAt(background, bucketed, make([]byte, 10), 0); err == nil || c.keys.looked != looked {
		t.Errorf("looked again at once: %v", err)
	}
	c.keys.looked = looked.Add(-lookAgain)
	if err := c.ReadAt(background, bucketed, make([]byte, 10), 0); err != nil {
		t.Errorf("did not look again: %v", err)
	}
	s.always = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(403)
		_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code></Error>")
	}
	wantCause(t, c.ReadAt(background, bucketed, make([]byte, 10), 0), Permission, "got status 403 Forbidden (AccessDenied)")
}

// A credentials file that is gone when it is looked for leaves the refusal as it was, and is looked for again.
func TestCredentialsThatCannotBeLookedForLeaveTheRefusal(t *testing.T) {
	s := serveSessions(t, "token1", 400, "ExpiredToken")
	c, file := sessions(t, s)
	if err := c.ReadAt(background, bucketed, make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	s.good.Store("token2")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	wantCause(t, c.ReadAt(background, bucketed, make([]byte, 10), 0), Permission, "the credentials have ended")
	c.keys.looked = time.Time{}
	writeProfile(t, file, "ID2", "secret2", "token2")
	if err := c.ReadAt(background, bucketed, make([]byte, 10), 0); err != nil {
		t.Errorf("a file that is back is not read: %v", err)
	}
}

// A credentials file is read when it has to be and not before every request; one that says when its credentials end is read again then.
func TestCredentialsAreReadOnce(t *testing.T) {
	s := serveSessions(t, "token1", 400, "ExpiredToken")
	c, file := sessions(t, s)
	read := func(want string) {
		t.Helper()
		err := c.ReadAt(background, bucketed, make([]byte, 10), 0)
		if got := s.seen[len(s.seen)-1].Header.Get("Authorization"); err != nil || !strings.Contains(got, "Credential="+want+"/") {
			t.Fatalf("%v, Authorization %.60s, want %s", err, got, want)
		}
	}
	read("ID1")
	writeProfile(t, file, "ID2", "secret2", "token1")
	read("ID1")

	process := filepath.Join(t.TempDir(), "process")
	script := `#!/bin/sh
echo x >> "$1"
n=$(wc -l < "$1")
[ $n = 1 ] && end=2001-01-01T00:00:00Z || end=2101-01-01T00:00:00Z
echo "{\"Version\": 1, \"AccessKeyId\": \"P$((n))\", \"SecretAccessKey\": \"s\", \"SessionToken\": \"token1\", \"Expiration\": \"$end\"}"
`
	for name, text := range map[string]string{process: script, file: "[default]\ncredential_process = " + process + " " + process + ".calls\n"} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c = client(t, Options{Endpoint: s.URL, HedgeAfter: -1})
	for _, want := range []string{"P1", "P2", "P2", "P2"} { // the first had ended by the time of the second
		read(want)
	}
	if calls, err := os.ReadFile(process + ".calls"); err != nil || len(calls) != 4 {
		t.Errorf("%d calls, %v", len(calls)/2, err)
	}
}

// Where there are no credentials the message says for each place why, and never what is in the file. Half of a pair is refused, and nothing is
// sent without a signature then.
func TestWhyThereAreNoCredentials(t *testing.T) {
	for _, c := range []struct{ id, secret, file, profile, want string }{
		{"ID", "", "", "", "(the environment: an access key id without its secret access key; set both)"},
		{"", "hidden", "", "", "(the environment: a secret access key without its access key id; set both)"},
		{"", "", "[default]\naws_access_key_id = ID\n", "", "credentials: [default]: an access key id without its secret access key; set both)"},
		{"", "", "[default]\naws_access_key_id = ID\naws_secret_access_key = hidden\n", "team", "credentials: no profile [team])"},
		{"", "", "[team]\nhidden\n", "team", "credentials: [team] cannot be read; want lines such as aws_access_key_id = ID)"},
		{"", "", "[team]\nrole_arn = hidden\n", "team", "`aws configure export-credentials --profile team --format env` makes keys of them)"},
		{"", "", "[team]\ncredential_process = /no/such hidden\n", "team", "credential_process of [team]: fork/exec /no/such: no such file or directory)"},
	} {
		noAmazon(t)
		s := serve(t, nil)
		file := filepath.Join(t.TempDir(), "credentials")
		if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
		t.Setenv("AWS_ACCESS_KEY_ID", c.id)
		t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
		_, err := client(t, Options{Endpoint: s.URL, Profile: c.profile, Retries: -1}).Stat(background, "s3://bucket/x")
		wantCause(t, err, Permission, "found no credentials (", c.want)
		if s.requests() != 0 || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%d requests, %v", s.requests(), err)
		}
	}
}
