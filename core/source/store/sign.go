package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// signer signs requests without a body by version 4 of Amazon's signature. It covers the host and the x-amz headers, which is what a
// store demands: a range and a condition may still be set by whoever is in between. The key of a day is derived once.
type signer struct {
	region string

	mu   sync.Mutex // guards the rest
	of   string     // day and secret that key belongs to
	key  []byte
	last time.Time // second that stamp is of
	date string
}

const (
	dateForm = "20060102T150405Z"
	dayBytes = 8 // of a date
)

// sign puts the signature into the request's headers.
func (s *signer) sign(r *http.Request, keys *credentials.Value, now time.Time) {
	date, key := s.keyOf(keys.SecretAccessKey, now)
	r.Header["X-Amz-Date"] = []string{date}
	r.Header["X-Amz-Content-Sha256"] = []string{emptySum}
	if keys.SessionToken != "" {
		r.Header["X-Amz-Security-Token"] = []string{keys.SessionToken}
	}
	canonical, names := canonicalRequest(r)
	scope := date[:dayBytes] + "/" + s.region + "/s3/aws4_request"
	sum := sha256.Sum256([]byte(canonical))
	signature := keyed(key, "AWS4-HMAC-SHA256\n"+date+"\n"+scope+"\n"+hex.EncodeToString(sum[:]))
	r.Header["Authorization"] = []string{"AWS4-HMAC-SHA256 Credential=" + keys.AccessKeyID + "/" + scope + ", SignedHeaders=" + names +
		", Signature=" + hex.EncodeToString(signature)}
}

// keyOf is the date as it is written, and the key that signs on its day.
func (s *signer) keyOf(secret string, now time.Time) (date string, key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now = now.Truncate(time.Second); !now.Equal(s.last) {
		s.last, s.date = now, now.UTC().Format(dateForm)
	}
	if of := s.date[:dayBytes] + secret; of != s.of {
		s.of = of
		s.key = []byte("AWS4" + secret)
		for _, part := range []string{s.date[:dayBytes], s.region, "s3", "aws4_request"} {
			s.key = keyed(s.key, part)
		}
	}
	return s.date, s.key
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonicalRequest is the text that is signed, and the names of the headers in it.
func canonicalRequest(r *http.Request) (text, names string) {
	signed := []string{"host"}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-") {
			signed = append(signed, strings.ToLower(name))
		}
	}
	slices.Sort(signed)
	names = strings.Join(signed, ";")
	var b strings.Builder
	b.Grow(512)
	for _, line := range []string{r.Method, r.URL.EscapedPath(), canonicalQuery(r.URL)} {
		b.WriteString(line + "\n")
	}
	for _, name := range signed {
		value := r.URL.Host
		if name != "host" {
			value = strings.TrimSpace(r.Header.Get(name))
		}
		b.WriteString(name + ":" + value + "\n")
	}
	b.WriteString("\n" + names + "\n" + emptySum)
	return b.String(), names
}

// canonicalQuery is sorted, with a space as %20.
func canonicalQuery(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return strings.ReplaceAll(u.Query().Encode(), "+", "%20")
}
