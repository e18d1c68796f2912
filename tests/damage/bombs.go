package damage

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// PeakBytes is the most memory that the process had at once while f ran, above what it had before. It skips the test where the kernel does not
// tell. Under the race detector, which keeps several bytes of its own for each of the program's, f runs and the answer is 0.
func PeakBytes(t *testing.T, f func()) int64 {
	t.Helper()
	if raceEnabled {
		f()
		return 0
	}
	read := func(field string) (kib int64) {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Skip("no /proc: " + err.Error())
		}
		_, after, _ := strings.Cut(string(status), field)
		if _, err := fmt.Sscan(after, &kib); err != nil {
			t.Skipf("%s of /proc/self/status: %v", field, err)
		}
		return kib << 10
	}
	debug.FreeOSMemory() // what tests before have left would make room for f
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skip("the peak cannot be begun anew here: " + err.Error())
	}
	before := read("VmRSS:")
	f()
	return read("VmHWM:") - before
}

// Zeros reads as zeros without end: what bombs are packed of.
type Zeros struct{}

func (Zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// PackedZeros is n of them by zlib, a thousandth of the bytes.
func PackedZeros(t *testing.T, n int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, Zeros{}, n); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// PackedTag is an ID3v2 tag, as before a sound, whose one frame unpacks to size zeros.
func PackedTag(t *testing.T, size int64) []byte {
	t.Helper()
	packed := PackedZeros(t, size)
	whole := len("TXXX") + 4 + 2 + 4 + len(packed)
	tag := append([]byte("ID3\x04\x00\x00"), sevenBits(whole)...)
	tag = append(append(tag, "TXXX"...), sevenBits(4+len(packed))...)
	tag = append(append(tag, 0, 9), sevenBits(int(size))...)
	return append(tag, packed...)
}

// sevenBits is n as ID3v2 writes sizes: 7 bits in each of four bytes.
func sevenBits(n int) []byte {
	return []byte{byte(n >> 21 & 127), byte(n >> 14 & 127), byte(n >> 7 & 127), byte(n & 127)}
}
