package store

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sums are the checksums of a whole object that an answer may carry.
var sums = []struct {
	header string
	key    string // of one among several in the header; "": it is alone
	of     func(p []byte) []byte
}{
	{"X-Amz-Checksum-Crc32c", "", crc32c},
	{"X-Amz-Checksum-Crc32", "", func(p []byte) []byte { return binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(p)) }},
	{"X-Amz-Checksum-Sha256", "", func(p []byte) []byte { s := sha256.Sum256(p); return s[:] }},
	{"X-Amz-Checksum-Sha1", "", func(p []byte) []byte { s := sha1.Sum(p); return s[:] }},
	{"X-Goog-Hash", "crc32c=", crc32c},
	{"Content-Md5", "", func(p []byte) []byte { s := md5.Sum(p); return s[:] }},
}

func crc32c(p []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(p, castagnoli))
}

// sumIn is what a header says, or of several sums in it the one with a key.
func sumIn(h http.Header, header, key string) string {
	if key == "" {
		return h.Get(header)
	}
	for _, sum := range strings.Split(strings.Join(h.Values(header), ","), ",") {
		if text, is := strings.CutPrefix(strings.TrimSpace(sum), key); is {
			return text
		}
	}
	return ""
}

// checksum compares a whole object with the sums that came with it. A sum of sums (of an upload in parts) tells nothing here.
func checksum(h http.Header, p []byte) error {
	for _, s := range sums {
		want := sumIn(h, s.header, s.key)
		if want == "" || strings.Contains(want, "-") {
			continue
		}
		if got := base64.StdEncoding.EncodeToString(s.of(p)); got != want {
			return &Error{Cause: Checksum, again: true, Detail: fmt.Sprintf("%s: got %s, want %s", s.header, got, want)}
		}
		return nil
	}
	return nil
}
