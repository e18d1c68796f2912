package store

import (
	"net/http"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	minio "github.com/minio/minio-go/v7/pkg/signer"
)

// A signature is the one that another implementation makes of the same request, on any day, with any key, also when the days alternate.
func TestSignatureIsThatOfAnotherImplementation(t *testing.T) {
	s := signer{region: "eu-west-1"}
	keys := []credentials.Value{{AccessKeyID: "A", SecretAccessKey: "secret"}, {AccessKeyID: "B", SecretAccessKey: "other", SessionToken: "token/+="}}
	for _, target := range []string{
		"http://127.0.0.1:9000/bucket/a.jpg", "https://bucket.s3.eu-west-1.amazonaws.com/a%20b/%C3%BC%2B%3F.tar",
		"http://h/bucket/?list-type=2&prefix=a+b%2Fc&encoding-type=url&continuation-token=x%3D%3D", "http://h/",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for k := range keys {
				r, err := http.NewRequest(method, target, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("X-Amz-Content-Sha256", emptySum)
				r.Header.Set("X-Amz-Checksum-Mode", "ENABLED")
				theirs := minio.SignV4(*r.Clone(background), keys[k].AccessKeyID, keys[k].SecretAccessKey, keys[k].SessionToken, s.region)
				now, err := time.Parse(dateForm, theirs.Header.Get("X-Amz-Date"))
				if err != nil {
					t.Fatal(err)
				}
				s.sign(r, &keys[1-k], now.AddDate(0, 0, -1)) // what it keeps of another day and key does no harm
				r.Header.Del("X-Amz-Security-Token")
				s.sign(r, &keys[k], now)
				if got, want := r.Header.Get("Authorization"), theirs.Header.Get("Authorization"); got != want {
					t.Errorf("%s %s:\ngot  %s\nwant %s", method, target, got, want)
				}
			}
		}
	}
}

// A range or a condition is not part of what is signed.
func TestSignatureLeavesTheRangeOpen(t *testing.T) {
	s, keys, now := signer{region: "x"}, credentials.Value{AccessKeyID: "A", SecretAccessKey: "s"}, time.Now()
	var got [2]string
	for k, header := range []http.Header{{}, {"Range": {"bytes=0-1"}, "If-Match": {`"e"`}}} {
		r, err := http.NewRequest(http.MethodGet, "http://h/b/k", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		s.sign(r, &keys, now)
		got[k] = r.Header.Get("Authorization")
	}
	if got[0] != got[1] {
		t.Fatalf("%q", got)
	}
}
