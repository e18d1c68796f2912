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
	of     func(p []byte) []byte
}{
	{"X-Amz-Checksum-Crc32c", func(p []byte) []byte { return binary.BigEndian.AppendUint32(nil, crc32.Checksum(p, castagnoli)) }},
	{"X-Amz-Checksum-Crc32", func(p []byte) []byte { return binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(p)) }},
	{"X-Amz-Checksum-Sha256", func(p []byte) []byte { s := sha256.Sum256(p); return s[:] }},
	{"X-Amz-Checksum-Sha1", func(p []byte) []byte { s := sha1.Sum(p); return s[:] }},
	{"Content-Md5", func(p []byte) []byte { s := md5.Sum(p); return s[:] }},
}

// checksum compares a whole object with the sums that came with it. A sum of sums (of an upload in parts) tells nothing here.
func checksum(h http.Header, p []byte) error {
	for _, s := range sums {
		want := h.Get(s.header)
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
