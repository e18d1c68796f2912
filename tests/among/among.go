// Package among puts what a test reads between bytes that are none of it.
package among

import (
	"os"
	"slices"
	"testing"
)

// Others is an open file with data in it from an offset on, and other bytes before and behind. It is closed when the test ends.
func Others(t testing.TB, data []byte) (f *os.File, offset int64) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	around := []byte("bytes that are none of the sample's")
	if _, err := f.Write(slices.Concat(around, data, around)); err != nil {
		t.Fatal(err)
	}
	return f, int64(len(around))
}
