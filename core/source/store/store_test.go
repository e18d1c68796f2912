package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var background = context.Background()

// content is what the server under test holds: a megabyte in which every place tells itself.
var content = func() []byte {
	var b bytes.Buffer
	for b.Len() < 1<<20 {
		fmt.Fprintf(&b, "%08d", b.Len())
	}
	return b.Bytes()[:1<<20]
}()

// server answers well, unless the script has something else for the n-th request (from 0).
type server struct {
	*httptest.Server
	mu     sync.Mutex
	n      int
	etag   string
	script map[int]http.HandlerFunc
	always http.HandlerFunc // for every request that the script says nothing about
	seen   []*http.Request
}

func serve(t *testing.T, script map[int]http.HandlerFunc) *server {
	t.Helper()
	before := runtime.NumGoroutine()
	s := &server{etag: `"v1"`, script: script}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				buf := make([]byte, 1<<16)
				t.Fatalf("goroutines are left\n%s", buf[:runtime.Stack(buf, true)])
			}
		}
	})
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f, etag := s.script[s.n], s.etag
	if f == nil {
		f = s.always
	}
	s.n++
	s.seen = append(s.seen, r)
	s.mu.Unlock()
	if f != nil {
		f(w, r)
		return
	}
	w.Header().Set("ETag", etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func (s *server) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

func client(t *testing.T, o Options) *Client {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

// reset cuts the connection after n bytes of a good answer.
func reset(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var from, to int
		_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(content)))
		w.Header().Set("Content-Length", strconv.Itoa(to-from+1))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(content[from:][:n])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// hang says nothing until the client goes away.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func (s *server) object() *Object {
	return &Object{URL: s.URL + "/x", Size: int64(len(content)), ETag: `"v1"`}
}

func wantCause(t *testing.T, err error, cause Cause, texts ...string) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Cause != cause {
		t.Fatalf("got %v, want %s", err, cause)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Fatalf("got %v, want %s with %q", err, cause, text)
		}
	}
	return e
}

// Stat tells length and version, and a read gives exactly the bytes asked for, of exactly that version.
func TestReadGivesTheRange(t *testing.T) {
	s := serve(t, nil)
	c := client(t, Options{})
	o, err := c.Stat(background, s.URL+"/x")
	if err != nil || o.Size != int64(len(content)) || o.ETag != `"v1"` {
		t.Fatalf("%+v %v", o, err)
	}
	for _, span := range [][2]int{{0, 1}, {511, 1024}, {len(content) - 1, 1}, {0, len(content)}, {1, len(content) - 1}} {
		p := make([]byte, span[1])
		if err := c.ReadAt(background, o, p, int64(span[0])); err != nil || !bytes.Equal(p, content[span[0]:][:span[1]]) {
			t.Fatalf("%v: %v", span, err)
		}
	}
	if got := s.seen[len(s.seen)-1].Header.Get("If-Match"); got != `"v1"` {
		t.Fatalf("If-Match %q", got)
	}
}

// What passes by itself is tried again, and the bytes are right in the end.
func TestPassingFaultsAreTriedAgain(t *testing.T) {
	for what, f := range map[string]http.HandlerFunc{
		"500": status(500), "503": status(503), "429": status(429, "Retry-After", "0"), "408": status(408),
		"reset at once": reset(0), "reset in the body": reset(700),
		"another range": status(206, "Content-Range", "bytes 0-999/1048576", "ETag", `"v1"`),
		"no range":      status(206, "ETag", `"v1"`),
		"truncated": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 100-1099/1048576")
			w.WriteHeader(206)
			_, _ = w.Write(content[100:600])
		},
	} {
		s := serve(t, map[int]http.HandlerFunc{0: f, 1: f})
		c := client(t, Options{HedgeAfter: -1})
		p := make([]byte, 1000)
		if err := c.ReadAt(background, s.object(), p, 100); err != nil || !bytes.Equal(p, content[100:1100]) {
			t.Errorf("%s: %v", what, err)
		}
		if n := c.Stats(); n.Retries != 2 || n.Requests != 3 || n.Failures != 0 {
			t.Errorf("%s: %+v", what, n)
		}
	}
}

// What does not pass by itself is said at once, with its cause.
func TestLastingFaultsAreNotTriedAgain(t *testing.T) {
	whole := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		_, _ = w.Write(content)
	}
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		cause  Cause
		text   string
	}{
		"404": {status(404), Missing, "got status 404"}, "410": {status(410), Missing, "410"},
		"403": {status(403), Permission, "got status 403"}, "401": {status(401), Permission, "401"},
		"412": {status(412), Changed, "412"}, "416": {status(416), Changed, "416"}, "400": {status(400), IO, "got status 400"},
		"another ETag":   {status(206, "ETag", `"v2"`, "Content-Range", "bytes 0-99/1048576"), Changed, `got ETag "v2", want "v1" as when it was opened`},
		"another length": {status(206, "ETag", `"v1"`, "Content-Range", "bytes 0-99/7"), Changed, "got length 7, want 1048576"},
		"no ranges":      {whole, IO, "the server ignores Range"},
	} {
		s := serve(t, nil)
		s.always = c.answer
		k := client(t, Options{HedgeAfter: -1})
		e := wantCause(t, k.ReadAt(background, s.object(), make([]byte, 100), 0), c.cause, c.text)
		if s.requests() != 1 || e.Attempts != 1 || k.Stats().Failures != 1 {
			t.Errorf("%s: %d requests, %+v", what, s.requests(), e)
		}
	}
}

// Where S3 says why it refuses, the message does too.
func TestRefusalHasTheCode(t *testing.T) {
	s := serve(t, nil)
	s.always = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(403)
		_, _ = io.WriteString(w, "<Error><Code>InvalidAccessKeyId</Code></Error>")
	}
	c := client(t, Options{HedgeAfter: -1})
	wantCause(t, c.ReadAt(background, s.object(), make([]byte, 9), 0), Permission, "got status 403 Forbidden (InvalidAccessKeyId)")
}

// Retries end after so many, and with the last cause.
func TestRetriesEnd(t *testing.T) {
	s := serve(t, nil)
	s.always = status(503)
	c := client(t, Options{Retries: 2, HedgeAfter: -1})
	wantCause(t, c.ReadAt(background, s.object(), make([]byte, 9), 0), IO, "got status 503 Service Unavailable (after 3 attempts)")
	if s.requests() != 3 {
		t.Fatalf("%d requests", s.requests())
	}
}

// A store that says nothing costs the deadline and no more; so does one that asks for patience beyond it.
func TestDeadlineEndsEveryWait(t *testing.T) {
	for what, f := range map[string]http.HandlerFunc{"silence": hang, "trickle": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Range", "bytes 0-999/1048576")
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(206)
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	}} {
		s := serve(t, nil)
		s.always = f
		c := client(t, Options{Timeout: 300 * time.Millisecond, HedgeAfter: -1})
		began := time.Now()
		last := map[string]string{"silence": "last: no answer within 100ms", "trickle": "last: no whole answer within 100ms: got "}[what]
		wantCause(t, c.ReadAt(background, s.object(), make([]byte, 1000), 0), Deadline, "no good answer within 300ms", last)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: %v", what, took)
		}
	}
}

// Where nobody answers, the deadline's text has why the last attempt failed, once.
func TestDeadlineSaysWhyNobodyAnswered(t *testing.T) {
	c := client(t, Options{Timeout: 300 * time.Millisecond, HedgeAfter: -1})
	err := c.ReadAt(background, &Object{URL: "http://127.0.0.1:1/a", Size: 9}, make([]byte, 9), 0)
	wantCause(t, err, Deadline, "no good answer within 300ms; last: dial tcp 127.0.0.1:1: connect: connection refused")
}

// A store that asks for more patience than there is gets none: the call ends at once and says so.
func TestLongRetryAfterEndsTheCallAtOnce(t *testing.T) {
	day := time.Now().Add(24 * time.Hour).UTC().Format(http.TimeFormat)
	for after, want := range map[string]string{"7200": "2h0m0s", "99999999999999999999": "596523h14m7s", day: "h"} {
		s := serve(t, nil)
		s.always = status(503, "Retry-After", after)
		c := client(t, Options{Timeout: time.Hour, HedgeAfter: -1})
		began := time.Now()
		err := c.ReadAt(background, s.object(), make([]byte, 1000), 0)
		wantCause(t, err, Deadline, "got status 503 Service Unavailable, and asks to wait ")
		if !strings.Contains(err.Error(), want+" (Retry-After), beyond the deadline of 1h0m0s; ") && want != "h" || s.requests() != 1 || time.Since(began) > 20*time.Second {
			t.Errorf("%s: %d requests, %v", after, s.requests(), err)
		}
	}
}

// Retry-After in seconds and as a date: by the server's clock, which may be wrong.
func TestRetryAfterIsObeyed(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	date := func(t time.Time) string { return t.Format(http.TimeFormat) }
	for _, c := range []struct {
		after, date string
		want        time.Duration
	}{
		{"0", "", 0}, {"7", "", 7 * time.Second}, {" 4000 ", "", 4000 * time.Second}, {"-1", "", 0}, {"soon", "", 0}, {"", "", 0},
		{date(now.Add(3 * time.Second)), "", 3 * time.Second},
		{date(now.Add(-time.Hour)), "", 0},
		{date(now.Add(time.Hour + 3*time.Second)), date(now.Add(time.Hour)), 3 * time.Second},
		{date(now.Add(3 * time.Second)), "yesterday", 3 * time.Second},
		{now.Add(3 * time.Second).Format(time.ANSIC), "", 3 * time.Second},
	} {
		h := http.Header{}
		h.Set("Retry-After", c.after)
		h.Set("Date", c.date)
		if got := retryAfter(h, now); got != c.want {
			t.Errorf("%q at %q: got %v, want %v", c.after, c.date, got, c.want)
		}
	}
	for limit, want := range map[string]time.Duration{`"resolvers";r=0;t=153`: 153 * time.Second, `"api"; r=12; t=9`: 9 * time.Second, `"api";r=0`: 0, "t": 0} {
		if got := retryAfter(http.Header{"Ratelimit": {limit}}, now); got != want {
			t.Errorf("%q: got %v, want %v", limit, got, want)
		}
		if got := retryAfter(http.Header{"Ratelimit": {limit}, "Retry-After": {"1"}}, now); got != time.Second {
			t.Errorf("%q beside Retry-After: got %v, want 1s", limit, got)
		}
	}
	for _, after := range []string{"1", date(time.Now().Add(2 * time.Second).UTC())} {
		s := serve(t, map[int]http.HandlerFunc{0: status(503, "Retry-After", after)})
		c := client(t, Options{HedgeAfter: -1})
		began := time.Now()
		if err := c.ReadAt(background, s.object(), make([]byte, 100), 0); err != nil || time.Since(began) < 900*time.Millisecond || s.requests() != 2 {
			t.Errorf("%s: %v after %v, %d requests", after, err, time.Since(began), s.requests())
		}
	}
}

// The caller's end is the caller's, not a fault of the store.
func TestCallersEndIsReturnedAsItIs(t *testing.T) {
	s := serve(t, nil)
	s.always = hang
	c := client(t, Options{})
	ctx, cancel := context.WithCancel(background)
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := c.ReadAt(ctx, s.object(), make([]byte, 10), 0); err != context.Canceled {
		t.Fatalf("got %v", err)
	}
}

// hedgedInTurn reads with a hedge until the server has the first request first, and returns what the client counted. A script goes by
// the order of arrival, and where the machine stands still between the two a second request may overtake the first: then the hedge
// comes four times as late. Whichever comes first, the bytes are right.
func hedgedInTurn(t *testing.T, script func() map[int]http.HandlerFunc, inTurn func(Stats) bool) Stats {
	t.Helper()
	var n Stats
	for after := 10 * time.Millisecond; after < 5*time.Second; after *= 4 {
		s := serve(t, script())
		c := client(t, Options{HedgeAfter: after})
		p := make([]byte, 1000)
		if err := c.ReadAt(background, s.object(), p, 5000); err != nil || !bytes.Equal(p, content[5000:6000]) {
			t.Fatal(err)
		}
		if n = c.Stats(); inTurn(n) {
			break
		}
	}
	return n
}

// A straggler is asked for again, and the second answer counts; the first is not waited for.
func TestStragglerIsHedged(t *testing.T) {
	n := hedgedInTurn(t, func() map[int]http.HandlerFunc { return map[int]http.HandlerFunc{0: hang} },
		func(n Stats) bool { return n.HedgeWon == 1 })
	if n.Hedges != 1 || n.HedgeWon != 1 || n.Retries != 0 {
		t.Fatalf("%+v", n)
	}
}

// So is one of whole objects, whose length nobody knows before: of the lists' samples.
func TestStragglersReadWholeAreHedged(t *testing.T) {
	whole := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }
	chunked := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		whole(w, r)
	}
	stalls := func(w http.ResponseWriter, r *http.Request) { // in the middle: the first read has written to its room
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(make([]byte, 100_000))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for what, script := range map[string][2]http.HandlerFunc{"silence": {hang, whole}, "no length": {hang, chunked}, "half": {stalls, whole}} {
		var n Stats
		for after := 10 * time.Millisecond; after < 5*time.Second && n.HedgeWon == 0; after *= 4 { // as in hedgedInTurn
			s := serve(t, map[int]http.HandlerFunc{0: script[0], 1: script[1]})
			s.always = script[1]
			c := client(t, Options{HedgeAfter: after})
			var got []byte
			size, _, err := c.ReadAll(background, s.URL+"/x", 2<<20, 0, func(n int) []byte { got = make([]byte, n); return got })
			if err != nil || size != len(content) || !bytes.Equal(got, content) {
				t.Fatalf("%s: %d bytes, %v", what, size, err)
			}
			n = c.Stats()
		}
		if n.Hedges != 1 || n.HedgeWon != 1 || n.Retries != 0 {
			t.Errorf("%s: %+v", what, n)
		}
	}
}

// What is large is asked for once, however long it takes.
func TestLargeReadsAreNotHedged(t *testing.T) {
	s := serve(t, nil)
	s.always = func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(50 * time.Millisecond)
		_, _ = w.Write(content)
	}
	c := client(t, Options{HedgeAfter: time.Millisecond})
	n, err := c.ReadLarge(background, s.URL+"/x", 2<<20, func(n int) []byte { return make([]byte, n) })
	if st := c.Stats(); err != nil || n != len(content) || st.Requests != 1 || c.pace.n != 0 {
		t.Fatalf("%d bytes, %v, %+v", n, err, st)
	}
}

// A hedge that fails leaves the first answer to count; one where both fail is one failed attempt.
func TestHedgeThatFails(t *testing.T) {
	n := hedgedInTurn(t, func() map[int]http.HandlerFunc {
		hedged := make(chan struct{})
		slow := func(w http.ResponseWriter, r *http.Request) {
			<-hedged
			w.Header().Set("ETag", `"v1"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		}
		fails := func(w http.ResponseWriter, r *http.Request) {
			defer close(hedged)
			status(404)(w, r)
		}
		return map[int]http.HandlerFunc{0: slow, 1: fails}
	}, func(n Stats) bool { return n.HedgeWon == 0 })
	if n.Hedges != 1 || n.HedgeWon != 0 {
		t.Fatalf("%+v", n)
	}
}

// A store that is slow as a whole is not asked for everything twice.
func TestHedgesAreFew(t *testing.T) {
	s := serve(t, nil)
	s.always = func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(10 * time.Millisecond)
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}
	c := client(t, Options{HedgeAfter: time.Millisecond})
	for range 40 {
		if err := c.ReadAt(background, s.object(), make([]byte, 10), 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.Stats(); n.Hedges == 0 || n.Hedges > n.Requests/hedgeShare+1 {
		t.Fatalf("%+v", n)
	}
}

// Without ETags the date tells versions apart; a weak ETag is compared but not sent.
func TestVersionsWithoutStrongETags(t *testing.T) {
	dated := func(date string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Last-Modified", date)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		}
	}
	s := serve(t, map[int]http.HandlerFunc{2: dated("Tue, 02 Jan 2024 00:00:00 GMT")})
	s.always = dated("Mon, 01 Jan 2024 00:00:00 GMT")
	c := client(t, Options{HedgeAfter: -1})
	o, err := c.Stat(background, s.URL+"/x")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ReadAt(background, o, make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	wantCause(t, c.ReadAt(background, o, make([]byte, 10), 0), Changed, `got date "Tue, 02 Jan 2024 00:00:00 GMT"`)
	s.always = func(w http.ResponseWriter, r *http.Request) { // some say it of the whole alone
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}
	if err := c.ReadAt(background, o, make([]byte, 10), 0); err != nil {
		t.Errorf("an answer without a date: %v", err)
	}
	weak := serve(t, nil)
	weak.etag = `W/"a"`
	o = &Object{URL: weak.URL + "/x", Size: int64(len(content)), ETag: `W/"a"`}
	if err := c.ReadAt(background, o, make([]byte, 10), 0); err != nil || weak.seen[0].Header.Get("If-Match") != "" {
		t.Fatalf("%v, If-Match %q", err, weak.seen[0].Header.Get("If-Match"))
	}
	weak.etag = `W/"b"`
	wantCause(t, c.ReadAt(background, o, make([]byte, 10), 0), Changed, "got ETag")
}

// A URL that is signed for GET alone is asked for its first byte; a server that hides the length is refused.
func TestStatWithoutHead(t *testing.T) {
	s := serve(t, nil)
	s.script = map[int]http.HandlerFunc{0: status(403)}
	c := client(t, Options{})
	if o, err := c.Stat(background, s.URL+"/x"); err != nil || o.Size != int64(len(content)) {
		t.Fatalf("%+v %v", o, err)
	}
	s.script = map[int]http.HandlerFunc{2: status(403), 3: status(403)}
	_, err := c.Stat(background, s.URL+"/x")
	wantCause(t, err, Permission, "403")
	s.script = map[int]http.HandlerFunc{4: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Transfer-Encoding", "chunked") }}
	_, err = c.Stat(background, s.URL+"/x")
	wantCause(t, err, IO, "does not tell the object's length")
}

// A checksum that comes with a whole object is compared.
func TestChecksumIsCompared(t *testing.T) {
	var good atomic.Bool
	s := serve(t, nil)
	s.always = func(w http.ResponseWriter, _ *http.Request) {
		sum := "AAAAAA=="
		if good.Load() {
			sum = "yZRlqg==" // CRC-32C of "hello world", a known value
		}
		w.Header().Set("X-Amz-Checksum-Crc32c", sum)
		_, _ = io.WriteString(w, "hello world")
	}
	c := client(t, Options{Retries: 1, HedgeAfter: -1})
	o := &Object{URL: s.URL + "/x", Size: 11}
	wantCause(t, c.ReadAt(background, o, make([]byte, 11), 0), Checksum, "X-Amz-Checksum-Crc32c: got yZRlqg==, want AAAAAA== (after 2 attempts)")
	good.Store(true)
	if err := c.ReadAt(background, o, make([]byte, 11), 0); err != nil {
		t.Fatal(err)
	}
}

// Reading whole: known length, unknown length, nothing, too much.
func TestReadAll(t *testing.T) {
	s := serve(t, nil)
	c := client(t, Options{Retries: 1})
	var got []byte
	room := func(n int) []byte { got = make([]byte, n); return got }
	if n, _, err := c.ReadAll(background, s.URL+"/x", 2<<20, 0, room); err != nil || n != len(content) || !bytes.Equal(got, content) {
		t.Fatalf("%d %v", n, err)
	}
	_, _, err := c.ReadAll(background, s.URL+"/x", 1000, 0, room)
	wantCause(t, err, TooLarge, "got 1048576 bytes, want at most 1000")
	s.always = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(content[:5])
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write(content[5:2000])
	}
	if n, _, err := c.ReadAll(background, s.URL+"/x", 2000, 0, room); err != nil || !bytes.Equal(got, content[:2000]) {
		t.Fatalf("%d %v", n, err)
	}
	_, _, err = c.ReadAll(background, s.URL+"/x", 1999, 0, room)
	wantCause(t, err, TooLarge, "want at most 1999")
	s.always = status(200)
	_, _, err = c.ReadAll(background, s.URL+"/x", 1999, 0, room)
	wantCause(t, err, Empty, "got 0 bytes")
}

// A part of an object in answer to a question for all of it is not taken for the object, unless it is all of it.
func TestPartsThatNobodyAskedForAreNoObjects(t *testing.T) {
	part := func(span string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if span != "" {
				w.Header().Set("Content-Range", span)
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(body)
		}
	}
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		want   string // "": the object
	}{
		"all of it":      {part("bytes 0-1048575/1048576", content), ""},
		"its beginning":  {part("bytes 0-999/1048576", content[:1000]), `got Content-Range "bytes 0-999/1048576"`},
		"its end":        {part("bytes 1000-1048575/1048576", content[1000:]), `got Content-Range "bytes 1000-1048575/1048576"`},
		"of any size":    {part("bytes 0-999/*", content[:1000]), `got Content-Range "bytes 0-999/*"`},
		"without a word": {part("", content[:1000]), `got Content-Range ""`},
		"a shorter one":  {part("bytes 0-1048575/1048576", content[:1000]), "got 1000 of 1048576 bytes"},
	} {
		s := serve(t, nil)
		s.always = c.answer
		k := client(t, Options{Retries: 1, HedgeAfter: -1})
		var got []byte
		n, _, err := k.ReadAll(background, s.URL+"/x", 2<<20, 0, func(n int) []byte { got = make([]byte, n); return got })
		switch {
		case c.want == "" && (err != nil || n != len(content) || !bytes.Equal(got, content)):
			t.Errorf("%s: got %d bytes, %v", what, n, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || s.requests() != 2):
			t.Errorf("%s: got %d bytes, %v after %d requests, want %s after 2", what, n, err, s.requests(), c.want)
		}
	}
}

// Redirects are followed a few times over, not in circles, and not to other schemes.
func TestRedirects(t *testing.T) {
	s := serve(t, nil)
	to := func(where string) http.HandlerFunc { return status(302, "Location", where) }
	s.script = map[int]http.HandlerFunc{0: to("/y")}
	c := client(t, Options{})
	if o, err := c.Stat(background, s.URL+"/x"); err != nil || o.Size != int64(len(content)) {
		t.Fatal(err)
	}
	for where, want := range map[string]string{"/x": "got more than 5", "file:///etc/passwd": `leads to "file"`, "ftp://h/x": `leads to "ftp"`} {
		s.always = to(where)
		before := s.requests()
		_, err := c.Stat(background, s.URL+"/x")
		wantCause(t, err, IO, want)
		if n := s.requests() - before; n > maxRedirects+1 {
			t.Errorf("%s: %d requests", where, n)
		}
	}
	if err := follow(&http.Request{URL: mustParse("http://h/")}, []*http.Request{{URL: mustParse("https://h/")}}); err == nil {
		t.Error("from https to http")
	}
}

// Only http, https, s3, gs and hf are spoken.
func TestOtherSchemesAreRefused(t *testing.T) {
	c := client(t, Options{Retries: -1})
	for _, name := range []string{"file:///etc/passwd", "ftp://h/x", "/etc/passwd", "http://", "s3:///x", "gs:///x", "https:///x"} {
		_, err := c.Stat(background, name)
		wantCause(t, err, IO, "want a URL of http, https, s3, gs or hf")
		if IsURL(name) {
			t.Errorf("%s is a URL", name)
		}
	}
}

// A message shows neither a password nor a signature.
func TestMessagesHoldNoSecrets(t *testing.T) {
	for name, want := range map[string]string{
		"https://me:secret@h:1/a/b.tar?X-Amz-Signature=secret": "https://h:1/a/b.tar?...", "http://h/a": "http://h/a", "s3://b/a?b": "s3://b/a?b", "/a?b": "/a?b",
		"https://secret@h?secret": "https://h/?...",
	} {
		if got := Shown(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	c := client(t, Options{Retries: -1, HedgeAfter: -1})
	for _, name := range []string{"http://me:secret@127.0.0.1:1/x?secret", "http://me:secret@127.0.0.1:1/%zz?secret"} {
		if _, err := c.Stat(background, name); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v", err)
		}
	}
}

// Options that make no sense are refused.
func TestOptionsThatCannotBe(t *testing.T) {
	for want, o := range map[string]Options{
		"want a URL such as https://": {Endpoint: "storage.example.com"}, "without user, path and query": {Endpoint: "http://h/bucket"}, `the endpoint: got "one with a user or a query", want`: {Endpoint: "http://me:secret@h?x"}, "want one": {PathStyle: true, VirtualHost: true},
	} {
		if _, err := New(o); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} { // the second comes first
		t.Setenv(name, "minio:9000")
		c := client(t, Options{})
		want := "store: $" + name + `: got "minio:9000", want a URL such as https://`
		_, err := c.Stat(background, "s3://b/k")
		for _, err := range []error{err, c.May("s3://b/k"), c.May("S3://b/k"), c.List(background, "s3://b/k", func(Object) error { return nil })} {
			if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
		if s := c.Stats(); s.Requests+s.Retries > 0 {
			t.Errorf("%s: %+v: what cannot be asked was asked for", name, s)
		}
	}
}

// An endpoint of the environment that makes no sense is none of what is not read from s3://, nor where the options name another.
func TestAWrongEndpointIsOfS3Alone(t *testing.T) {
	noAmazon(t)
	s := serve(t, nil)
	t.Setenv("AWS_ENDPOINT_URL", "minio:9000")
	c := client(t, Options{})
	for _, name := range []string{"", "/data/train", "gs://b/k", "hf://datasets/a/b/c", s.URL + "/b/k"} {
		if err := c.May(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := c.Stat(background, s.URL+"/b/k"); err != nil {
		t.Error(err)
	}
	if _, err := client(t, Options{Endpoint: s.URL, Anonymous: true}).Stat(background, "s3://b/k"); err != nil {
		t.Error(err)
	}
}

// Back-off grows and is never the same for all.
func TestBackOffGrowsWithJitter(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 50 {
		seen[backOff(3, 0)] = true
	}
	if len(seen) < 10 {
		t.Errorf("%d different waits of 50", len(seen))
	}
	if w := backOff(0, 0); w < firstWait/2 || w > firstWait {
		t.Errorf("first wait %v", w)
	}
	if w := backOff(60, 0); w > longestWait {
		t.Errorf("wait %v", w)
	}
	if w := backOff(0, time.Minute); w != time.Minute {
		t.Errorf("asked for a minute, got %v", w)
	}
}

// An address that is signed is asked for without what was not signed with it: S3 would refuse it.
func TestSignedAddressesGetNoOtherHeaders(t *testing.T) {
	s := serve(t, nil)
	for query, want := range map[string]string{"": "ENABLED", "?X-Amz-Signature=0": ""} {
		c := client(t, Options{})
		o := s.object()
		o.URL += query
		n, _, err := c.ReadAll(background, o.URL, 1<<30, 0, func(n int) []byte { return make([]byte, n) })
		if err == nil {
			err = c.ReadAt(background, o, make([]byte, n), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.seen {
			if got := r.Header.Get("X-Amz-Checksum-Mode"); got != want {
				t.Errorf("%q: got %q, want %q", query, got, want)
			}
		}
		s.seen = nil
	}
}
