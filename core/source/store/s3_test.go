package store

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustParse(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

// noAmazon clears the environment of what Amazon's tools read.
func noAmazon(t *testing.T) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
}

// A bucket's key lies where addressing says; a key is taken as it stands.
func TestS3Addresses(t *testing.T) {
	noAmazon(t)
	for want, o := range map[string]Options{
		"https://bucket.s3.us-east-1.amazonaws.com/a%20b/%C3%BC%2B%3F.tar": {},
		"https://s3.eu-west-1.amazonaws.com/bucket/a%20b/%C3%BC%2B%3F.tar": {Region: "eu-west-1", PathStyle: true},
		"http://h:9000/bucket/a%20b/%C3%BC%2B%3F.tar":                      {Endpoint: "http://h:9000"},
		"http://bucket.h:9000/a%20b/%C3%BC%2B%3F.tar":                      {Endpoint: "http://h:9000", VirtualHost: true},
	} {
		r, _, err := client(t, o).request(background, "GET", "s3://bucket/a b/ü+?.tar", nil)
		if err != nil || r.URL.String() != want {
			t.Errorf("got %v %v, want %s", r.URL, err, want)
		}
	}
}

// Requests are signed by what the environment, a profile or nothing says; without any the remedy is named.
func TestS3Credentials(t *testing.T) {
	noAmazon(t)
	s := serve(t, nil)
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = DEF\naws_secret_access_key = x\n[other]\naws_access_key_id = OTH\naws_secret_access_key = y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	signedBy := func(o Options, want string) {
		t.Helper()
		o.Endpoint, o.Retries = s.URL, -1
		if _, err := client(t, o).Stat(background, "s3://bucket/x"); err != nil {
			t.Fatal(err)
		}
		if got := s.seen[len(s.seen)-1].Header.Get("Authorization"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Fatalf("Authorization %q, want %q", got, want)
		}
	}
	signedBy(Options{Anonymous: true}, "")
	_, err := client(t, Options{Endpoint: s.URL, Retries: -1}).Stat(background, "s3://bucket/x")
	wantCause(t, err, Permission, "the environment: no keys; the credentials file: ", "no such file", "name a profile that has both, or say anonymous: true")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	signedBy(Options{}, "Credential=DEF/")
	signedBy(Options{Profile: "other", Region: "eu-west-1"}, "Credential=OTH/")
	signedBy(Options{Profile: "other", Region: "eu-west-1"}, "/eu-west-1/s3/aws4_request")
	t.Setenv("AWS_ACCESS_KEY_ID", "ENV")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "z")
	signedBy(Options{}, "Credential=ENV/")
	signedBy(Options{Profile: "other"}, "Credential=OTH/")
}

// A signed request is not led elsewhere; where a bucket of another region says so, the message does too.
func TestS3RedirectNamesTheRegion(t *testing.T) {
	noAmazon(t)
	s := serve(t, nil)
	s.always = status(301, "Location", "http://127.0.0.1:1/", "X-Amz-Bucket-Region", "eu-north-1")
	_, err := client(t, Options{Endpoint: s.URL, Anonymous: true, Retries: -1}).Stat(background, "s3://bucket/x")
	wantCause(t, err, IO, `the bucket is in region "eu-north-1", say so in source.remote.region`)
	if s.requests() != 1 {
		t.Fatalf("%d requests", s.requests())
	}
}

// A listing goes on from page to page, survives faults, and says when it is cut off.
func TestListGoesThroughThePages(t *testing.T) {
	noAmazon(t)
	page := func(token string, keys ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%v</IsTruncated><NextContinuationToken>%s</NextContinuationToken>", token != "", token)
			for _, k := range keys {
				fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size><ETag>&quot;e&quot;</ETag></Contents>", k, len(k))
			}
			fmt.Fprint(w, "</ListBucketResult>")
		}
	}
	broken := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<ListBucketResult><Conte") }
	s := serve(t, map[int]http.HandlerFunc{0: page("t1", "p/a", "p/b+c%2B"), 1: broken, 2: status(500), 3: page("", "p/d")})
	c := client(t, Options{Endpoint: s.URL, Anonymous: true})
	var got []string
	err := c.List(background, "s3://bucket/p/", func(o Object) error { got = append(got, fmt.Sprint(o.URL, o.Size, o.ETag)); return nil })
	if err != nil || strings.Join(got, " ") != `s3://bucket/p/a3"e" s3://bucket/p/b c+8"e" s3://bucket/p/d3"e"` {
		t.Fatalf("%q %v", got, err)
	}
	if q := s.seen[3].URL.Query(); q.Get("continuation-token") != "t1" || q.Get("prefix") != "p/" || q.Get("list-type") != "2" || s.seen[3].URL.Path != "/bucket/" {
		t.Fatalf("%v", s.seen[3].URL)
	}
	s.always = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")
	}
	wantCause(t, c.List(background, "s3://bucket/p/", nil), IO, "cut off without a token")
	wantCause(t, c.List(background, "http://h/p", nil), IO, "only s3://BUCKET/PREFIX, gs://BUCKET/PREFIX and hf://datasets/USER/NAME/PATH can be listed")
	s.always = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!DOCTYPE html><html><head><title>Welcome</title></head></html>")
	}
	wantCause(t, c.List(background, "s3://bucket/p/", nil), IO, "got a document of <html>, want the listing of a bucket; is the endpoint that of a store?")
}

// A scheme is one in any case.
func TestSchemesInAnyCase(t *testing.T) {
	for name, want := range map[string]string{"S3://B/K": "s3://B/K", "HTTPS://u:p@H/x?q": "https://H/x?...", "Http://h/": "http://h/", "s3:///x": "s3:///x", "GS://b": "gs://b", "AZ://b": "AZ://b", "a": "a"} {
		if got := Shown(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if IsURL(name) != (want != name) {
			t.Errorf("%s: %v", name, IsURL(name))
		}
	}
	s := serve(t, nil)
	c := client(t, Options{Endpoint: s.URL, Anonymous: true})
	if o, err := c.Stat(background, "S3://bucket/x"); err != nil || o.Size != int64(len(content)) {
		t.Errorf("%+v, %v", o, err)
	}
	if err := c.ReadAt(background, &Object{URL: strings.Replace(s.URL, "http", "HTTP", 1) + "/x", Size: int64(len(content)), ETag: `"v1"`}, make([]byte, 9), 0); err != nil {
		t.Error(err)
	}
}
