package store

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// A part's bytes are the caller's again when Part has returned, although net/http may go on to write a body whose answer it has: nothing reads them then.
func TestPartsAreNotReadBehindTheirAnswer(t *testing.T) {
	noAmazon(t)
	c := client(t, Options{Endpoint: "http://store.test", Anonymous: true})
	answers := []int{http.StatusOK, http.StatusServiceUnavailable, http.StatusOK} // of Create, and of the part's two attempts
	var late []io.Reader
	c.http.Transport = transport(func(r *http.Request) (*http.Response, error) {
		head := make([]byte, 4)
		if r.Body != nil {
			if _, err := io.ReadFull(r.Body, head); err != nil || string(head) != "mine" {
				t.Errorf("while it is asked for the body is %q, %v", head, err)
			}
			late = append(late, r.Body)
		}
		code := answers[0]
		answers = answers[1:]
		return &http.Response{StatusCode: code, Header: http.Header{"Etag": {`"1"`}}, Request: r,
			Body: io.NopCloser(strings.NewReader("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"))}, nil
	})
	c.straight.Transport = c.http.Transport
	u, err := c.Create(context.Background(), "s3://bucket/key")
	if err != nil {
		t.Fatal(err)
	}
	part := bytes.Repeat([]byte("mine"), 1000)
	if err := u.Part(context.Background(), part); err != nil || len(late) != 2 {
		t.Fatalf("%v, %d attempts", err, len(late))
	}
	copy(part, bytes.Repeat([]byte("next"), 1000))
	for i, body := range late {
		if got, err := io.ReadAll(body); len(got) > 0 || err == nil {
			t.Errorf("attempt %d reads %d bytes more, %.8q, %v", i, len(got), got, err)
		}
	}
}
