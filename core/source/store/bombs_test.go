package store

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// quiet is for servers whose complaints are what a test provokes.
var quiet = log.New(io.Discard, "", 0)

// packed is n zeros, a thousandth as long.
func packed(n int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(make([]byte, n))
	_ = z.Close()
	return b.Bytes()
}

// Compression is not asked for, and nothing unpacks what comes compressed all the same: it is refused, unless the name says that the file is. A
// bucket's object is taken as it is stored.
func TestCompressedAnswersAreNeverUnpacked(t *testing.T) {
	noAmazon(t)
	bomb := packed(64 << 20)
	s, coding := serve(t, nil), ""
	s.always = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", coding)
		w.Header().Set("Content-Length", fmt.Sprint(len(bomb)))
		_, _ = w.Write(bomb) // of a HEAD nothing
	}
	c := client(t, Options{HedgeAfter: -1, Retries: -1, Endpoint: s.URL, Anonymous: true})
	before := allocated()
	for _, c := range []struct {
		coding, name string
		refused      bool
		client       *Client
	}{
		{"gzip", s.URL + "/x", true, c}, {"br", s.URL + "/x.jpg?y.gz", true, c}, {"X-GZIP", s.URL + "/x.tar", true, c}, {"deflate", s.URL + "/a.gz/x", true, c},
		{"gzip", s.URL + "/x.csv.gz", false, c}, {"x-gzip", s.URL + "/X.TGZ?y=z", false, c}, {"zstd", s.URL + "/x.zst", false, c},
		{"", s.URL + "/x", false, c}, {"identity", s.URL + "/x", false, c}, {"aws-chunked", s.URL + "/x", false, c}, {"gzip", "s3://bucket/x", false, c},
	} {
		coding = c.coding
		var got []byte
		n, _, err := c.client.ReadAll(background, c.name, 1<<20, 0, func(n int) []byte { got = make([]byte, n); return got })
		_, unseen := c.client.Stat(background, c.name)
		if c.refused {
			want := "the answer is packed (Content-Encoding: " + strings.ToLower(c.coding) + "), which was not asked for"
			wantCause(t, err, IO, want)
			wantCause(t, unseen, IO, want)
		} else if err != nil || unseen != nil || n != len(bomb) || !bytes.Equal(got, bomb) {
			t.Errorf("%s, %q: got %d bytes of %d, %v, %v", c.name, c.coding, n, len(bomb), err, unseen)
		}
	}
	if took := allocated() - before; took > 16<<20 {
		t.Errorf("%d bytes of memory for answers of %d", took, len(bomb))
	}
	if asked := s.seen[0].Header.Get("Accept-Encoding"); asked != "identity" {
		t.Errorf("asked for %q, want identity", asked)
	}
}

// allocated is the memory asked for so far, given back or not.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A hundred thousand header lines, or one without end, end the attempt at a limit, in little memory.
func TestHeadersHaveALimit(t *testing.T) {
	for what, f := range map[string]http.HandlerFunc{
		"many": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100_000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), "value")
			}
		},
		"long": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", 4<<20)) },
	} {
		s := serve(t, nil)
		s.always = f
		s.Config.ErrorLog = quiet
		c := client(t, Options{Retries: -1, HedgeAfter: -1})
		_, err := c.Stat(background, s.URL+"/x")
		t.Logf("%s: %v", what, err)
		wantCause(t, err, IO, fmt.Sprintf("exceeded %d bytes", maxHeader))
	}
}

// A listing that would grow when it is read, that nests without end, that is too long, or that goes in a circle is an error.
func TestListingBombsAreRefused(t *testing.T) {
	noAmazon(t)
	laughs := `<!DOCTYPE l [<!ENTITY a "ha">`
	for c := 'b'; c <= 'z'; c++ {
		laughs += fmt.Sprintf(`<!ENTITY %c "%s">`, c, strings.Repeat(fmt.Sprintf("&%c;", c-1), 10))
	}
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		cause  Cause
		want   string
	}{
		"entities of entities": {text(laughs + "]><ListBucketResult><Contents><Key>&z;</Key></Contents></ListBucketResult>"), IO, "invalid character entity &z;"},
		"nested":               {text("<ListBucketResult>" + strings.Repeat("<a>", 1_000_000)), IO, "nests more than 8 deep"},
		"nested contents":      {text("<ListBucketResult>" + strings.Repeat("<Contents>", 500_000)), IO, "nests more than 8 deep"},
		"an entity of a file": {text(`<!DOCTYPE l [<!ENTITY f SYSTEM "file:///etc/passwd">]><ListBucketResult><Contents><Key>&f;</Key></Contents></ListBucketResult>`), IO,
			"invalid character entity &f;"},
		"long":     {text("<ListBucketResult>" + strings.Repeat(" ", maxListing)), TooLarge, "got a page of a listing of more than 8388608 bytes, want at most 1,000 keys"},
		"a circle": {text("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>"), IO, "goes in a circle"},
	} {
		s := serve(t, nil)
		s.always = c.answer
		k := client(t, Options{Endpoint: s.URL, Anonymous: true, Retries: -1})
		before := allocated()
		wantCause(t, k.List(background, "s3://bucket/p/", func(o Object) error { return fmt.Errorf("got %v", o) }), c.cause, c.want)
		if took := allocated() - before; took > 8*maxListing {
			t.Errorf("%s: %d bytes of memory", what, took)
		}
		t.Logf("%s: %d KiB of memory", what, (allocated()-before)>>10)
	}
}
