package damage

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// PeakBytes is the most memory that the process had at once while f ran, above what it had before. It skips the test where the kernel does not
// tell.
func PeakBytes(t *testing.T, f func()) int64 {
	t.Helper()
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
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skip("the peak cannot be begun anew here: " + err.Error())
	}
	before := read("VmRSS:")
	f()
	return read("VmHWM:") - before
}
